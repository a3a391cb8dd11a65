"""What a run would still take: the calls that the ledger does not answer, with their quotes.

Reads a `Prepared` and its ledger, returns a `Plan`. Asks no judge, and runs nothing.
"""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from judgeloop.core.outcomes import ControlTally
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Query, Quote
from judgeloop.engine.asks import Ask, Planned
from judgeloop.engine.controls import calls_each
from judgeloop.engine.generating import Sources
from judgeloop.engine.presentation import settles
from judgeloop.engine.terms import Terms
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.stats.controls import MOST, USUAL
from judgeloop.run.drive import look_up, silent_of, systems_of
from judgeloop.run.plan import Plan, Range, priced
from judgeloop.run.prepared import Prepared

LOOKED_UP = 10_000  # queries of which the ledger is asked; of the others none is taken as known


async def planned(
    prepared: Prepared[Any],
    terms: Terms,
    queries: Iterable[Query],
    judgments: tuple[Range, str | None],
    left_p: int | None,
    *,
    done: int,
    first: tuple[Judge, ...] = (),
    controls: Sequence[ControlTally | None] = (),
) -> Plan:
    """Return the plan for further `judgments`, given with what they assume.

    `queries` are those that may be asked yet, beside the number of those that the run has `done`, and `left_p` is the
    rest of the budget. Before them come the rest of the controls, of which `controls` are known, and the
    same queries to the judges in `first`. Asks no judge.
    """
    every, judges = list(queries), prepared.judges
    sources = Sources(systems_of(prepared), judges, terms)
    beside, perhaps = [
        await _quotes_left(prepared, sources, _controls_left(terms, controls, *numbers), judges)
        for numbers in ((0, USUAL), (USUAL, MOST))
    ]
    controlled = sum(map(len, beside)), sum(map(len, (*beside, *perhaps)))
    if first:
        beside += await _quotes_left(prepared, Sources(systems_of(prepared), first, terms), every, first)
    plans, whole = await _left(prepared, sources, every)
    outputs = [list(map(sources.quote, each.outputs)) for each in plans]
    judging = [_judging(sources, each, judges) for each in plans]
    likely, assumed = judgments
    quotes = [[*one, *other] for one, other in zip(outputs, judging, strict=True)]
    judged = partial(priced, likely, beside=beside, perhaps=perhaps, assumed=assumed)
    plan = judged(quotes=quotes, left_p=left_p)
    plan = replace(plan, controls=controlled, questions=done + len(every), unasked=done + plan.unasked)
    if not sources.systems:
        calls = [call.likely_cost_p for one in quotes for call in one]
        times = whole / len(calls) * plan.questions / len(every) if calls else 0
        return replace(plan, all_p=round(sum(calls) * times))
    alone = priced(likely, quotes=outputs, left_p=None, assumed=None)
    return replace(
        plan,
        outputs=alone.calls,
        outputs_cost_p=alone.cost_p,
        judging_cost_p=judged(quotes=judging, left_p=None).cost_p,
    )


def _controls_left(terms: Terms, known: Sequence[ControlTally | None], begin: int, end: int) -> list[Query]:
    """Return the controls `begin` to `end` of each judge whose test is not over, without known ones."""
    return [
        query
        for queries, tally in zip(terms.controls, known, strict=True)
        if tally is not None and tally.end is None
        for query in queries[: end * calls_each(queries)][max(begin, tally.asked) * calls_each(queries) :]
    ]


async def _quotes_left(
    prepared: Prepared[Any], sources: Sources, queries: Sequence[Query], judges: tuple[Judge, ...]
) -> list[list[Quote]]:
    """Return the quotes of the calls that the ledger does not answer, by query."""
    return [
        [*map(sources.quote, each.outputs), *_judging(sources, each, judges)]
        for each in (await _left(prepared, sources, queries))[0]
    ]


async def _left(prepared: Prepared[Any], sources: Sources, queries: Sequence[Query]) -> tuple[list[Planned], int]:
    """Return the plans for queries, the first of them without the calls that the ledger answers, and all calls."""
    await look_up(prepared, sources, queries)
    sources.forget_failures()
    plans = [sources.plan(query) for query in queries]
    async with aclosing(open_ledger(prepared.config.ledger)) as ledger:
        held = await ledger.verdicts([key for each in plans[:LOOKED_UP] for key in each.keys])
    known = silent_of(prepared) | held
    settled = {key for key, answer in known.items() if settles(answer)}
    left = [
        replace(each, asks=tuple(ask for ask in each.asks if ask.key not in known and ask.after not in settled))
        for each in plans
    ]
    return left, sum(len(each.asks) for each in plans)


def _judging(sources: Sources, planned: Planned, judges: Sequence[Judge]) -> list[Quote]:
    """Return the quotes of the judges' calls of a plan, or of those that its outputs will take."""
    if planned.outputs:
        return sources.judging(planned.query)
    return _quoted(judges, planned.asks)


def _quoted(judges: Sequence[Judge], asks: Iterable[Ask]) -> list[Quote]:
    return [judges[ask.judge].quote(ask.call) for ask in asks]
