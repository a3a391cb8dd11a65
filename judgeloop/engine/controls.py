"""Controls: a judge is shown a question with its own answer and the answer to another question.

Draws the controls of a judge, asks them before the run begins, and says which judges do not pass.
`methods/stats/controls.py` has the test, and what it proves. A judge that rates gets the two answers in
two calls. Each judge of a panel is tested by itself. The draw follows the judge and the answers, not
the run or its seed: the same judge gets the same controls, whose verdicts the ledger remembers. Those
from a system that answers live are made of its outputs to the items that are drawn first. Controls
count against the budget, and never enter a decision.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from judgeloop.core.keys import digest
from judgeloop.core.outcomes import Control, ControlTally, StopKind, StopReason
from judgeloop.core.protocols import Judge
from judgeloop.core.records import NOBODY, Abstention, Answer, Item, JudgeIdentity, Pool, Query, Verdict
from judgeloop.engine.asks import size_of
from judgeloop.engine.batch import Oracle, answers
from judgeloop.engine.state import Recipe
from judgeloop.methods.stats.controls import MOST, NO_CONTROLS, counted, fewest_left

NAME = "judgeloop's control"  # the system that the answer to another question is from
FEWEST_ITEMS = 10
MOST_FIRST = 20  # items that a live system is asked about for controls
# An answer with fewer characters and fewer words may be right for another question, too.
SHORT_CHARACTERS, SHORT_WORDS = 20, 4
TRIES = 200  # for a pair of questions whose answers differ
INSTEAD = "give the items references, or set `controls=off`"
NOT_PASSED = {
    Control.FAILED: "{0} cannot tell an answer to the question from an answer to another question ({1} of "
    "{2} controls right)",
    Control.NOT_SHOWN: "it was not shown in {2} controls that {0} can tell an answer to the question from "
    "an answer to another question ({1} right)",
}
NO_VERDICT = "{0} gave no verdict on {1} of {2} controls; the last reason: {3}"


def is_short(answer: str) -> bool:
    """Whether an answer is so short that it may be right for another question, too.

    >>> is_short("yes"), is_short("It is in Peru."), is_short("42")
    (True, False, True)
    """
    return len(answer.strip()) < SHORT_CHARACTERS and len(answer.split()) < SHORT_WORDS


def calls_each(queries: Sequence[Query]) -> int:
    """How many of a judge's queries make a control: two ratings, or one comparison."""
    return 2 // len(queries[0].systems) if queries else 1


def control_queries(
    source: str,
    answered: Iterable[tuple[Item, str]],
    identity: JudgeIdentity,
    number: int,
    most_bytes: int,
    *,
    rates: bool = False,
) -> tuple[Query, ...]:
    """The controls of judge `number` from the items and their answers of `source`.

    `most_bytes` is the most that the texts of a control may take. A judge that `rates` gets two
    queries for each, first about the question's own answer.

    Pairs of items are drawn with replacement from those whose prompts and whose answers differ; two
    coins say whose question is asked and which answer stands first. () if there are too few.
    """
    # By content, so that ids and the order of a file change nothing.
    texts = {
        (item.prompt, item.reference or "", answer): item
        for item, answer in answered
        if 2 * size_of(Query(item, (source,), (answer,))) <= most_bytes
    }
    kept = sorted(texts.items(), key=lambda one: one[0])
    by = [identity.provider, identity.model, dict(identity.parameters)]
    rng = np.random.default_rng(int(digest([by, [key for key, _ in kept]]), 16))
    queries: list[Query] = []
    for _ in range(MOST * TRIES if len(kept) >= FEWEST_ITEMS else 0):
        (own, item), (other, _) = (kept[n] for n in rng.choice(len(kept), 2, replace=False))
        if not (_differ(own[0], other[0]) and _differ(own[2], other[2])):
            continue
        outputs, systems = (own[2], other[2]), (source, NAME)
        if rates:
            queries += [Query(item, (NAME,), (output,), alone=number) for output in outputs]
        elif rng.integers(2):
            queries.append(Query(item, systems[::-1], outputs[::-1], alone=number))
        else:
            queries.append(Query(item, systems, outputs, alone=number))
        if len(queries) == MOST * calls_each(queries):
            return tuple(queries)
    return ()


def controls_by(
    recipe: Recipe, answered: Sequence[tuple[Item, str]], judges: Sequence[Judge]
) -> tuple[tuple[Query, ...], ...]:
    """The controls of each judge, () for one that is no model; () if there are too few."""
    source, models = recipe.source, recipe.models
    drawn = tuple(
        control_queries(source, answered, judge.identity, number, recipe.most_bytes, rates=recipe.rates)
        if model
        else ()
        for number, (judge, model) in enumerate(zip(judges, models, strict=True))
    )
    return drawn if [bool(queries) for queries in drawn] == list(models) else ()


async def made_of_first(
    oracle: Oracle, pool: Pool, recipe: Recipe, first: Sequence[int]
) -> tuple[tuple[Query, ...], ...]:
    """Controls from a live system's outputs to the items at the positions `first`.

    It is asked about as many as that takes, at most `MOST_FIRST`. The run halts if these are too few,
    or if the system fails on too many.
    """
    system, state, sources = pool.systems.index(recipe.source), oracle.state, oracle.sources
    number = FEWEST_ITEMS
    while True:
        queries = [replace(pool.query(at, (system,)), alone=NOBODY) for at in first[:number]]
        await answers(oracle, queries, counted=False)
        found = [(query.item, sources.output_of(query)) for query in queries]
        usable = [(item, one.text) for item, one in found if one and not is_short(one.text or "")]
        made = controls_by(recipe, [(item, text) for item, text in usable if text], oracle.judges)
        if made:
            sources.judged(queries)
            return made
        if state.is_over():
            return ()
        if number >= MOST_FIRST:
            few = f"of the outputs of {recipe.source} to the {len(queries)} items that were drawn first"
            why = f"{few}, too few differ and are long enough for controls; {INSTEAD}"
            wrong = sources.wrong(queries, state.terms.max_failed)
            state.halt(wrong or StopReason(StopKind.CONTROLS, why))
            return ()
        number = min(MOST_FIRST, number + max(1, FEWEST_ITEMS - len(usable)))


def _differ(one: str, other: str) -> bool:
    """Whether neither text contains the other, whatever the case and the spaces."""
    first, second = (" ".join(text.casefold().split()) for text in (one, other))
    return first not in second and second not in first


async def shown(oracle: Oracle, controls: Sequence[Sequence[Query]]) -> tuple[ControlTally | None, ...]:
    """Ask the controls of each judge until its test ends, and halt the run if one has to pass and does not.

    None for a judge without controls. The controls that are asked at once follow from the results
    so far, not from the pace.
    """
    told: list[list[Answer]] = [[] for _ in controls]
    tallies = [NO_CONTROLS for _ in controls]
    terms, before = oracle.state.terms, set(oracle.state.terms.seen)
    while not oracle.state.is_over():
        asked = [
            query
            for queries, own, tally in zip(controls, told, tallies, strict=True)
            for query in queries[len(own) :][: fewest_left(tally) * calls_each(queries)]
        ]
        if not asked:
            break
        for query, answer in zip(asked, await answers(oracle, asked, counted=False), strict=False):
            assert query.alone is not None, "a control is for one judge"
            told[query.alone].append(answer)
        tallies = [counted(_results(queries, own)) for queries, own in zip(controls, told, strict=True)]
    terms.tested.update(terms.seen - before)
    failures = [
        _failure(judge.identity.name, tally, own)
        for judge, tally, own in zip(oracle.judges, tallies, told, strict=False)
        if tally.end in NOT_PASSED
    ]
    if failures and not terms.controls_advise:
        kinds = {one.kind for one in failures}
        kind = StopKind.CONTROLS if StopKind.CONTROLS in kinds else StopKind.ABSTENTIONS
        oracle.state.halt(StopReason(kind, "; ".join(one.sentence for one in failures)))
    return tuple(tally if queries else None for queries, tally in zip(controls, tallies, strict=True))


def _failure(name: str, tally: ControlTally, told: Sequence[Answer]) -> StopReason:
    """What a judge did not pass: most replies may be none that can be read."""
    reasons = [one.reason for one in told if isinstance(one, Abstention)]
    if reasons and 2 * tally.abstained > tally.asked:
        text = NO_VERDICT.format(name, tally.abstained, tally.asked, reasons[-1])
        return StopReason(StopKind.ABSTENTIONS, text)
    assert tally.end is not None, "the test has ended"
    text = NOT_PASSED[tally.end].format(name, tally.right, tally.asked)
    return StopReason(StopKind.CONTROLS, text)


def _results(queries: Sequence[Query], told: Sequence[Answer]) -> list[int | None]:
    """The results of the controls that are answered whole, in order."""
    each = calls_each(queries)
    return [_result(queries[at], told[at : at + each]) for at in range(0, len(told) - each + 1, each)]


def _result(query: Query, told: Sequence[Answer]) -> int | None:
    """1 if the question's own answer was preferred, -1 the other, 0 a tie; None without."""
    verdicts = [answer for answer in told if isinstance(answer, Verdict)]
    if len(verdicts) < len(told):
        return None
    if len(verdicts) > 1:
        own, other = (verdict.score for verdict in verdicts)
        return (own > other) - (own < other)
    return -verdicts[0].preference if query.systems[0] == NAME else verdicts[0].preference
