"""What the ledger knows of what a run asks: verdicts of any run, and what earlier commands of this one found."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from judgeloop.core.keys import KeyIngredients
from judgeloop.core.outcomes import Checked, Control, ControlTally, Finished, StopKind
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Abstention, Answer, Call, Query, Verdict
from judgeloop.core.work import counted
from judgeloop.engine.answering import AnsweringModel, replanned
from judgeloop.engine.asks import Planned, answered_by, plan_for
from judgeloop.engine.generating import Sources
from judgeloop.engine.presentation import settles
from judgeloop.engine.state import OneModel, Terms
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import KeptResult
from judgeloop.runs.prepared import Prepared

LOOKED_UP = 10_000  # items of whose verdicts the ledger is asked


async def known_verdicts(prepared: Prepared[Any], finished: Finished[Any]) -> tuple[int, int]:
    """How many of the verdicts that the ledger holds on two systems' outputs prefer each, whichever run asked them.

    Not those that the run itself had beside its decision: they are not about all items alike.
    """
    answers = await known_answers(prepared, prepared.judges, prepared.terms(), finished.counting)
    beside = {label.choice.position for label in finished.ending.further}
    preferred = [one.preference for at, one in enumerate(answers) if isinstance(one, Verdict) and at not in beside]
    return preferred.count(1), preferred.count(-1)


async def known_answers(
    prepared: Prepared[Any], judges: Sequence[Judge], terms: Terms, models: Sequence[str] = ()
) -> list[Answer | None]:
    """What these judges say of two systems' outputs, item by item, as far as the ledger holds it from any run.

    `models` names the model whose verdicts count, judge by judge; an empty name any.
    """
    pool = prepared.pool
    plans = [plan_for(pool.query(at), judges, terms) for at in range(min(len(pool), LOOKED_UP))]
    known: dict[str, Verdict] = {}

    async def look_up(keys: set[str]) -> dict[str, Verdict]:
        known.update(await prepared.open_ledger.verdicts(sorted(keys - known.keys())))
        return known

    models = models or ("",) * len(judges)
    whose = [AnsweringModel(one, OneModel(model) if model else None) for one, model in zip(judges, models, strict=True)]
    plans = await replanned(plans, whose, look_up)
    return [answered_by(planned, known, len(judges), terms) for planned in plans]


async def answered_beyond(prepared: Prepared[Any], finished: Finished[Any]) -> int:
    """How many of the draws that are not in a result have a verdict in the ledger."""
    judges, terms = prepared.judges, prepared.terms()
    done = {label.choice.key for label in (*finished.ending.labels, *finished.ending.further)}
    choices = islice((one for one in prepared.session().ahead() if one.key not in done), LOOKED_UP)
    plans = [plan_for(prepared.pool.query(one.position, one.systems), judges, terms) for one in choices]
    known = await prepared.open_ledger.verdicts(sorted({ask.key for one in plans for ask in one.asks}))
    return sum(isinstance(answered_by(one, known, len(judges), terms), Verdict) for one in plans if one.asks)


def answered_before(
    reader: LedgerReader, queries: Iterable[Query], judges: Sequence[Judge], terms: Terms
) -> list[tuple[Call, str]]:
    """Which calls people answered already, whichever run asked them, and who; of a panel of people."""
    asks = [ask for query in queries for ask in plan_for(query, judges, terms).asks]
    by = reader.people([ask.key for ask in asks])
    return [(ask.call, by[ask.key]) for ask in asks if ask.key in by]


def silent_of(prepared: Prepared[Any], reader: LedgerReader) -> dict[str, Abstention]:
    """The calls to which earlier commands of a run got no verdict, by key.

    Those of a run that ended for too many of them are asked again, as something may be better now, and people are asked
    again whatever the run ended for by itself.
    """
    kept = reader.result(prepared.run_id)
    ended = kept and json.loads(kept.document)["result"]["stop_reason"]
    if ended == StopKind.ABSTENTIONS or (prepared.by_hand and ended not in {None, StopKind.INTERRUPTED}):
        return {}
    return all_silent_of(prepared, reader)


def all_silent_of(prepared: Prepared[Any], reader: LedgerReader) -> dict[str, Abstention]:
    """The calls to which a run got no verdict, by key, whether or not they are asked again."""
    said = reader.silent(prepared.run_id)
    return {key: Abstention(why.removeprefix("abstained: ")) for key, why in said.items()}


def checked_of(kept: KeptResult) -> tuple[Checked, ...]:
    """What came of the checks of people whom an earlier command of a run asked."""
    by_people = json.loads(kept.document)["result"]["by_people"] or {}
    return tuple(Checked(**one) for one in by_people.get("checks", ()))


def controls_of(kept: KeptResult) -> tuple[ControlTally | None, ...]:
    """What judges made of the controls that an earlier command of a run asked."""
    found = json.loads(kept.document)["result"]["counts"]["controls"]
    return tuple(one and ControlTally(**one | {"end": one["end"] and Control(one["end"])}) for one in found)


async def in_the_other_order(run: Prepared[Any], plans: Sequence[Planned]) -> int:
    """How many items of plans that are not known people have judged in the other order, where each is shown in one."""
    if not run.by_hand or run.config.rates or len(run.judges) > 1:
        return 0
    (judge,) = run.judges
    calls = [one.call for each in plans[:LOOKED_UP] for one in each.asks]
    turned = (replace(one, systems=one.systems[::-1], outputs=one.outputs[::-1]) for one in calls)
    keys = [KeyIngredients.of(judge.identity, one, blind=judge.blind).key for one in turned]
    return len(await run.open_ledger.verdicts(sorted({*keys})))


async def not_known(
    run: Prepared[Any], sources: Sources, queries: Sequence[Query], answering: Sequence[AnsweringModel]
) -> tuple[list[Planned], int, list[bool]]:
    """The plans for queries, the first of them without the calls that the ledger answers.

    With them the number of calls, and of the first queries whether the ledger answers them whole.
    """
    ledger = run.open_ledger
    await sources.look_up(queries, ledger)
    sources.forget_failures()
    plans = [sources.plan(query) for query in counted("queries planned", queries)]
    held: dict[str, Verdict] = {}

    async def look_up(keys: set[str]) -> dict[str, Verdict]:
        held.update(await ledger.verdicts(sorted(keys - held.keys())))
        return held

    plans[:LOOKED_UP] = await replanned(plans[:LOOKED_UP], answering, look_up)
    known = await run.look(lambda reader: silent_of(run, reader)) | held
    settled = {key for key, answer in known.items() if settles(answer)}
    left = [
        replace(each, asks=tuple(ask for ask in each.asks if ask.key not in known and ask.after not in settled))
        for each in plans
        if known
    ]
    found = [bool(whole.asks) and not rest.asks for whole, rest in zip(plans, left, strict=False)]
    return left or plans, sum(len(each.asks) for each in plans), found
