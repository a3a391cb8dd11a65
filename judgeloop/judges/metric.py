"""The judge `metric:NAME`: scores outputs against the item's reference with a text metric.

ROUGE is computed by Google's rouge-score; exact match and token F1 follow the SQuAD evaluation. In
a comparison the output with the higher score is better; in a rating the score is the verdict. An
item without a reference gives an abstention. Metrics cost nothing and ignore the prompt.
"""

import asyncio
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, final

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import Questions
from judgeloop.core.records import (
    FOR_A,
    FOR_B,
    Abstention,
    Call,
    Item,
    JudgeIdentity,
    Reply,
    Verdict,
    as_score,
    preference,
)
from judgeloop.judges.base import BaseJudge

Metric = Callable[[str, str], float]  # (reference, output) -> score in [0, 1]

ROUGE = ("rouge1", "rouge2", "rougeL")
METRICS = (*ROUGE, "exact", "token-f1")


@final
class MetricJudge(BaseJudge):
    """Scores outputs against the item's reference.

    The score of a single output is its rating. Of two outputs the higher score wins; scores that
    differ by at most `tie_margin` are a tie.
    """

    order_matters = False

    def __init__(self, name: str, *, tie_margin: float = 0.0) -> None:
        """Create the judge.

        Raises:
            InputError: there is no metric `name`.
        """
        self._name = name
        self._tie_margin = tie_margin
        self._metric = metric_named(name)

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The metric, the tie margin, and for ROUGE the version of rouge-score."""
        parameters = {"tie_margin": repr(self._tie_margin)}
        if self._name in ROUGE:
            parameters["rouge-score"] = version("rouge-score")
        return JudgeIdentity("metric", self._name, parameters, mark=":")

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Check that at least one item has a reference.

        Raises:
            InputError: no item has a reference.
        """
        del questions, max_missing
        if not any(item.reference for item in items):
            raise InputError(
                f"`judge=metric:{self._name}`: a metric compares with references, and no item has "
                "the field 'reference'; give it in the items file or the output files"
            )

    async def judge(self, call: Call) -> Reply:
        """Score the outputs in a thread, so that the event loop is not blocked."""
        if call.item.reference is None:
            return Reply(Abstention("the item has no reference"), cost_p=0)
        references = [call.item.reference] * len(call.outputs)
        scores = await asyncio.to_thread(lambda: [*map(self._metric, references, call.outputs)])
        whose = [""] if len(scores) == 1 else [FOR_A, FOR_B]
        reason = f"{self._name} {', '.join(f'{score:.4f}{one}' for score, one in zip(scores, whose, strict=True))}"
        score = as_score(preference(scores[0] - scores[1], self._tie_margin)) if scores[1:] else scores[0]
        return Reply(Verdict(score, reason=reason), cost_p=0)


def metric_named(name: str) -> Metric:
    """The metric called `name`; its library is imported when it is first used.

    Raises:
        InputError: there is no such metric.
    """
    plain = {"exact": exact, "token-f1": token_f1}
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}; known: {', '.join(METRICS)}")
    return _rouge(name) if name in ROUGE else plain[name]


def exact(reference: str, output: str) -> float:
    """1 if both texts are equal after normalising as SQuAD does, else 0."""
    return float(normalise(reference) == normalise(output))


def token_f1(reference: str, output: str) -> float:
    """The F1 score of the words after normalising (Rajpurkar et al. 2016).

    F1 is the harmonic mean of precision and recall.

    >>> token_f1("the cat sat", "a cat sat down")
    0.8
    """
    expected, found = normalise(reference).split(), normalise(output).split()
    if not expected or not found:
        return float(expected == found)
    common = (Counter(expected) & Counter(found)).total()
    return 2 * common / (len(expected) + len(found))


def normalise(text: str) -> str:
    """`text` in lower case, without punctuation, articles and extra white space."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def _rouge(name: str) -> Metric:
    @cache
    def scorer() -> Any:
        from rouge_score.rouge_scorer import RougeScorer

        return RougeScorer([name], use_stemmer=True)

    return lambda reference, output: float(scorer().score(reference, output)[name].fmeasure)
