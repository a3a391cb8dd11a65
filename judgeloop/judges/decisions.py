"""A judge that is a decision model: its questions, and what verdict follows from the probabilities of their options.

`openai-decisions/MODEL`, `typesafe/MODEL` and `systemone/NAME` are such judges; `providers/decisions.py` asks them. The
prompt has no random marker, as one would move the probabilities. All probabilities are kept with the verdict. So the
margin within which two answers tie is no part of a verdict's key: `engine/presentation.py` applies it on reading.
"""

from functools import cached_property
from typing import Any, final

from judgeloop.core.records import ROUNDING, Abstention, Answer, Call, JudgeIdentity
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.chat import LEAST_MASS, ModelJudge, unlikely
from judgeloop.judges.criteria import COMPARED, OVERALL, RATED, VERDICT, WEIGHTED, Criteria
from judgeloop.judges.prompt import Template, template_for
from judgeloop.providers.catalogue import DECISION
from judgeloop.providers.chat import REFUSED, Chat, ChatSpec, Said
from judgeloop.providers.decisions import MOST_OUTPUT, Decided, Kind, Shares, TypedQuestion, TypedQuestions
from judgeloop.providers.endpoint import endpoint_for
from judgeloop.providers.pricing import model_price, published_at

# Part of every verdict's key. Raise it when the same probabilities could give another verdict.
READER_VERSION = 1
ROUNDED = 0.005  # what rounding to two decimals changes in a probability


@final
class DecisionJudge(ModelJudge):
    """A decision model; each call of `judge` sends one HTTP request with all questions about one call."""

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The model, and everything else that can change a verdict; the provider's name says the wire form."""
        spec = self.chat.spec
        return JudgeIdentity(
            provider=self.chat.provider.name,
            model=spec.model,
            parameters={**spec.endpoint.identity, "prompt": self.template.digest, "reader": str(READER_VERSION)},
        )

    def _messages(self, call: Call) -> list[tuple[str, str]]:
        return super()._messages(call)[1:]  # the instructions are part of the questions

    def _answer(self, said: Said) -> Answer:
        assert isinstance(said, Decided), "a decision model was asked"
        if said.unreadable:
            return Abstention(f"unparsable: {said.unreadable}", again=True)
        if said.mass < LEAST_MASS:
            return unlikely(said.mass)
        found: dict[str, Shares] = {}
        for name, shares in said.shares.items():
            if shares is None:
                continue
            total = sum(shares.values())
            if min(shares.values()) < 0 or abs(total - 1) > ROUNDED * (len(shares) + 1) + ROUNDING:
                return Abstention(f"not a distribution: the probabilities add up to {total:.2f}")
            found[name] = shares
        return self._verdict(found)

    def _verdict(self, found: dict[str, Shares]) -> Answer:
        """The verdict by the questions that were answered; a criterion that does not decide alone may be missing."""
        criteria, labels = self.template.criteria, self.template.labels if self.template.rates else {}
        weighted = criteria is not None and criteria.decide == WEIGHTED
        overall = found.pop(VERDICT, None)
        if (overall is None) is not weighted or (weighted and criteria and len(found) < len(criteria.each)):
            return Abstention(REFUSED)
        said = found if overall is None else {"": overall}
        words = {
            name: ", ".join(f"{option} {share:.2f}" for option, share in own.items()) for name, own in said.items()
        }
        reason = "; ".join(f"{name}: {shares}" if name else shares for name, shares in words.items())
        # The mean of a rating's levels is computed, never taken from the server, which rounds it.
        return (criteria or Criteria((), OVERALL)).verdict(found, overall, labels, reason)


def decision_judge(kind: type[Chat[Any]], model: str, options: JudgeOptions) -> DecisionJudge:
    """Create the judge `PROVIDER/MODEL`, asked by a `kind` of decisions.

    Raises:
        InputError: the address, the key or the price is missing or wrong.
    """
    provider, endpoint = kind.provider, endpoint_for(kind.provider, options)
    url = endpoint.base_url
    template = options.deciding or template_for(DECISION, None, None, rating=options.template.rates)
    spec = ChatSpec(
        model,
        endpoint,
        model_price(provider, model, url, given=options.price, tier=options.tier),
        questions_of(template),
        max_output_tokens=MOST_OUTPUT,
        published=published_at(provider, url),
    )
    return DecisionJudge(kind(spec), template)


def questions_of(template: Template) -> TypedQuestions:
    """What a template asks: the overall question unless a weighted sum decides, and one for each criterion."""
    schema, criteria = template.schema, template.criteria
    asked = []
    if criteria is None or criteria.decide == OVERALL:
        asked.append(TypedQuestion(VERDICT, Kind(schema["question"]), template.system, schema["options"]))
    words, options = RATED if template.rates else COMPARED
    kind = Kind.SCORE if template.rates else Kind.CHOICE
    each = criteria.each if criteria else ()
    return TypedQuestions.of(
        [*asked, *(TypedQuestion(one.name, kind, f"{one.question}{words}", options) for one in each)]
    )
