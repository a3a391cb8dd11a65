"""Controls: a judge is shown a question with its own answer and the answer to another question.

Draws the controls of a judge, asks them before the run begins, and says which judges do not pass.
`methods/stats/controls.py` has the test, and what it proves. A judge that rates gets the two answers in
two calls. Each judge of a panel is tested by itself, in the orders of presentation that the run asks.

The draw follows the judge and the answers, not the run or its seed: the same judge gets the same controls, whose
verdicts the ledger remembers. They speak for the model that answered them: another one behind the same name is asked
them again. One that did not pass is tried again by the next command, with other controls and more of them.

Controls from a system that answers live are made of its outputs to the items that are drawn first. Controls
count against the budget, and never enter a decision.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import final

import numpy as np

from judgeloop.core.keys import digest
from judgeloop.core.outcomes import TELL, Control, ControlTally, StopKind, StopReason
from judgeloop.core.protocols import Judge
from judgeloop.core.records import NOBODY, Abstention, Answer, Item, JudgeIdentity, Pool, Query, Verdict
from judgeloop.engine.answering import AnsweringModel
from judgeloop.engine.asks import plan_for, size_of
from judgeloop.engine.batch import Oracle, answers
from judgeloop.engine.state import Draw, OneModel, Recipe, RunState
from judgeloop.ledger.reader import LedgerReader
from judgeloop.methods.stats.controls import MOST, MOST_TRIES, counted, fewest_left

NAME = "judgeloop's control"  # the system that the answer to another question is from
FEWEST_ITEMS = 10
MOST_FIRST = 20  # items that a live system is asked about for controls
# An answer with fewer characters and fewer words may be right for another question, too.
SHORT_CHARACTERS, SHORT_WORDS = 20, 4
TRIES = 200  # for a pair of questions whose answers differ
INSTEAD = "give the items references, or set `controls=off`"
NOT_PASSED = {
    Control.FAILED: f"{{0}} cannot {TELL} ({{1}} of {{2}} controls right, {{3}})",
    Control.NOT_SHOWN: f"it was not shown in {{2}} controls that {{0}} can {TELL} ({{1}} right, {{3}})",
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


def control_queries(  # noqa: PLR0917 - the last is what `Draw` takes
    source: str,
    answered: Iterable[tuple[Item, str]],
    identity: JudgeIdentity,
    number: int,
    most_bytes: int,
    attempt: int = 1,  # the last by place, so that the others can be given beforehand
    *,
    rates: bool = False,
) -> tuple[Query, ...]:
    """The controls of judge `number` from the items and their answers of `source`; each attempt has others.

    `most_bytes` is the most that the texts of a control may take. A judge that `rates` gets two
    queries for each, first about the question's own answer.

    Pairs of items are drawn with replacement from those whose prompts and whose answers differ, and of which no family
    says that they belong together: an answer to a variant of a question answers the question, too. Two
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
    further = [attempt] if attempt > 1 else []
    rng = np.random.default_rng(int(digest([by, [key for key, _ in kept], *further]), 16))
    queries: list[Query] = []
    several = len({item.family for _, item in kept}) > 1
    for _ in range(MOST * TRIES if len(kept) >= FEWEST_ITEMS else 0):
        (own, item), (other, beside) = (kept[n] for n in rng.choice(len(kept), 2, replace=False))
        related = several and item.family is not None and item.family == beside.family
        if related or not (_differ(own[0], other[0]) and _differ(own[2], other[2])):
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


_drawn_once = lru_cache(maxsize=8)(control_queries)  # a try is looked at several times, by each pair of a night


def controls_by(
    recipe: Recipe, answered: Sequence[tuple[Item, str]], judges: Sequence[Judge]
) -> tuple[Draw | None, ...]:
    """What draws the controls of each judge, None for one that is no model; () if there are too few."""
    drawn = tuple(
        partial(
            _drawn_once, recipe.source, tuple(answered), judge.identity, number, recipe.most_bytes, rates=recipe.rates
        )
        if model
        else None
        for number, (judge, model) in enumerate(zip(judges, recipe.models, strict=True))
    )
    return drawn if all(draw is None or draw(1) for draw in drawn) else ()


async def made_of_first(oracle: Oracle, pool: Pool, recipe: Recipe, first: Sequence[int]) -> tuple[Draw | None, ...]:
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


@final
class _Test:
    """The test of a judge by controls: the answers of its present try."""

    def __init__(self, number: int, queries: tuple[Query, ...], told: list[Answer]) -> None:
        self.queries, self.told, self._number = queries, told, number

    @property
    def tally(self) -> ControlTally:
        found = counted(_results(self.queries, self.told), self._number)
        told = self.told[: found.asked * calls_each(self.queries)]
        return replace(found, flipped=sum(isinstance(one, Verdict) and one.flipped for one in told))

    @property
    def next(self) -> tuple[Query, ...]:
        """The controls that a judge that is always right would still need."""
        return self.queries[len(self.told) :][: fewest_left(self.tally) * calls_each(self.queries)]


async def tested(oracle: Oracle, controls: Sequence[Draw | None]) -> tuple[ControlTally | None, ...]:
    """Ask the controls of each judge until its test ends, and halt the run if one has to pass and does not.

    None for a judge without controls. The controls that are asked at once follow from the results
    so far, not from the pace. One without a verdict is asked once more.
    """
    terms, calls = oracle.state.terms, oracle.state.calls
    before = set(calls.seen)
    tests = [draw and await _next_try(oracle, judge, draw) for judge, draw in enumerate(controls)]
    while not oracle.state.is_over():
        asked = [query for test in tests if test for query in test.next]
        if not asked:
            break
        told = await answers(oracle, asked, counted=False)
        lacking = [at for at, answer in enumerate(told) if isinstance(answer, Abstention)]
        if lacking and not terms.offline and not oracle.state.is_over():
            again = await answers(oracle, [asked[at] for at in lacking], counted=False)
            for at, answer in zip(lacking, again, strict=False):
                told[at] = answer
        for query, answer in zip(asked, told, strict=False):
            test = tests[query.alone] if query.alone is not None else None
            assert test is not None, "a control is for one judge"
            test.told.append(answer)
    calls.tested.update(calls.seen - before)
    of_each = list(zip(oracle.answering, tests, strict=False))
    failures = [
        _failure(whose.judge.name, test.tally, test.told)
        for whose, test in of_each
        if test and test.tally.end in NOT_PASSED
    ]
    if failures and not terms.controls_advise:
        kinds = {one.kind for one in failures}
        kind = StopKind.CONTROLS if StopKind.CONTROLS in kinds else StopKind.ABSTENTIONS
        oracle.state.halt(StopReason(kind, "; ".join(one.sentence for one in failures)))
    return tuple(test and replace(test.tally, model=whose.present) for whose, test in of_each)


async def _next_try(oracle: Oracle, number: int, draw: Draw) -> _Test:
    """The try of a judge's controls that is next: the first that its answering model has not failed.

    One that failed since the ledger was opened is no other than the present one: the pairs of a night share it. A
    judge that is only warned of is not tried again, nor one that has failed so often that no test can be passed. While
    the model is not known, it is taken to be the one that answered for the judge last.
    """
    terms, whose = oracle.state.terms, oracle.answering[number]
    for attempt in range(1, MOST_TRIES + 1):
        queries = draw(attempt)
        asks = [ask for query in queries for ask in plan_for(query, oracle.judges, terms).asks]
        if attempt == 1 and whose.one and not whose.model:
            whose.supposes(await oracle.ledger.read(lambda db: LedgerReader(db).last_model(whose.judge.name)))
        model = whose.model or whose.supposed
        keys = [ask.key for ask in asks]
        keys += [replace(ask.ingredients, again_of=model).key for ask in asks if model]
        lacking = await oracle.ledger.read(lambda db, keys=keys: LedgerReader(db).unanswered(keys))  # type: ignore[misc]
        replay = Oracle(oracle.judges, oracle.ledger, RunState(replace(terms, offline=True)))
        replay.answering[number] = AnsweringModel(oracle.judges[number], OneModel(model) if whose.one else None)
        replay.silent = {
            one.key: Abstention(one.outcome)
            for one in lacking
            if one.times > 1 and (not whose.one or whose.name_of(one.model) == model)
        }
        test = _Test(attempt, queries, await answers(replay, queries, counted=False))
        used = replay.answering[number].used.values()
        last = max([*(one.at for one in used), *(one.at for one in lacking if one.key in replay.silent)], default="")
        known = test.tally.end in NOT_PASSED and not terms.controls_advise and last < oracle.ledger.opened_at
        if not known or attempt == MOST_TRIES:
            for key in keys:
                oracle.silent.pop(key, None)
            oracle.silent |= replay.silent
            test.told.clear()  # what is known is answered again, and counts as used
            return test
    raise AssertionError("the last try is taken as it is")


def _failure(name: str, tally: ControlTally, told: Sequence[Answer]) -> StopReason:
    """What a judge did not pass: most replies may be none that can be read."""
    reasons = [one.reason for one in told if isinstance(one, Abstention)]
    if reasons and tally.abstained > tally.wrong + tally.tied:
        text = NO_VERDICT.format(name, tally.abstained, tally.asked, reasons[-1])
        return StopReason(StopKind.ABSTENTIONS, text)
    assert tally.end is not None, "the test has ended"
    text = NOT_PASSED[tally.end].format(name, tally.right, tally.asked, tally.level)
    return StopReason(StopKind.CONTROLS, f"{text}, in try {tally.number}" if tally.number > 1 else text)


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
