"""Runs the session of any question: opens the ledger, has the run to itself, starts the engine.

Reads a `Prepared`. The question makes the session and the result (`questions/question.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from judgeloop.core.outcomes import CUT_OFF, Finished, StopKind
from judgeloop.core.protocols import Judge, StoppingRule, System, T
from judgeloop.core.records import Answer, Call, Output
from judgeloop.core.spend import Spend
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Session
from judgeloop.engine.state import CommandCalls, Interruption, Observe, OneModel, ProxyTerms, Terms, unobserved
from judgeloop.formats.own_files import HOME
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.opening import MEMORY, is_ledger, open_ledger
from judgeloop.ledger.records import RunNote
from judgeloop.methods.stats.hedged import VERSION
from judgeloop.providers.pricing import Metered
from judgeloop.runs.known import LOOKED_UP, all_silent_of, answered_before, checked_of, controls_of, silent_of
from judgeloop.runs.prepared import Prepared
from judgeloop.settings.run_settings import ANY_MODEL, MoneySettings
from judgeloop.systems.catalogue import files_of

P = TypeVar("P", bound=Prepared[Any])
MARGINS = ("min_gap", "not_worse", "near_tie", "half_width")  # settings
# Ends of a run while people are asked. What they had judged is known, and may decide without what is asked again.
STOPPED = CUT_OFF | {StopKind.JUDGE_FAILED}


@contextmanager
def opened(run: P, *, offline: bool = False) -> Iterator[P]:
    """A run with its ledger, opened once for all that a command asks, reads and keeps; that of a suite is open already.

    Raises:
        LedgerError: as `ledger_of`.
    """
    if run.ledger is not None or not run.booked:
        yield run
        return
    with closing(ledger_of(run.config, offline=offline)) as ledger:
        yield replace(run, ledger=ledger)


def ledger_of(config: MoneySettings, *, offline: bool = False) -> Ledger:
    """The ledger of a command, opened. A forecast creates no file: where there is none, it looks into an empty one.

    Raises:
        LedgerError: it cannot be created or opened.
    """
    empty = offline and not is_ledger(config.ledger)
    return open_ledger(MEMORY if empty else config.ledger, config.charge_to)


async def conducted(
    session: Session[T],
    prepared: Prepared[Any],
    terms: Terms,
    *,
    judges: tuple[Judge, ...] | None = None,
    proxy: ProxyTerms | None = None,
    interruption: Interruption | None = None,
    observe: Observe[T] = unobserved,
) -> Finished[T]:
    """Run a session to its end through the ledger, which is open, and close judges and systems.

    No other process can run under the same run id meanwhile, unless the terms are offline. What
    processes that ended have left open of the run is closed first. Judges learn the lengths of their earlier replies
    from the ledger, before the first call and where the money would end. `judges` replace the run's judges, and `proxy`
    says how its proxy is asked. A run that is not booked has no ledger.
    """
    deciding, systems = prepared.judges if judges is None else judges, prepared.systems
    asking = deciding if proxy is None or prepared.inputs.proxy is None else (*deciding, prepared.inputs.proxy)
    if not prepared.booked:
        (judge,) = asking
        return await _answered(session, prepared, judge)
    ledger, command = prepared.open_ledger, prepared.command
    try:
        # Two processes would pay for the same verdicts.
        with nullcontext() if terms.offline else ledger.only_run(terms.run_id):
            if not terms.offline:
                await _begin(prepared, session, deciding, terms)
            models = [judge for judge in asking if isinstance(judge, Metered)]

            async def reserve_less() -> bool:
                """By the lengths of all replies so far; whether any call reserves less now."""
                replies = await prepared.look(lambda reader: [reader.reply_lengths(one.identity) for one in models])
                lower = [one.learn_lengths(lengths) for one, lengths in zip(models, replies, strict=True)]
                return any(lower)

            await reserve_less()
            # A dry run takes what people skipped as it stands: what they judged behind it is known.
            skips = all_silent_of if terms.offline and prepared.by_hand else silent_of
            silent, answered = await prepared.look(
                lambda reader: (skips(prepared, reader), reader.models(terms.run_id))
            )
            one_model = _one_model(prepared, answered) if judges is None else ()
            terms = replace(terms, silent=silent, one_model=one_model, proxy=proxy)
            driven = partial(
                drive, pool=prepared.pool, judges=asking, ledger=ledger, systems=systems, calls=command.calls
            )
            unnamed = not terms.offline and any(one and not one.model for one in one_model)
            if not systems and (unnamed or (silent and not prepared.by_hand)):
                known = await driven(session.anew(), terms=replace(terms, offline=True), calls=CommandCalls())
                ended = known.ending.stop.kind
                if ended is StopKind.ABSTENTIONS:  # nothing would be asked: a judge that answers now had no chance to
                    terms = replace(terms, silent={})
                elif unnamed and ended is not StopKind.DRY_RUN:
                    terms = replace(terms, one_model=_supposed(one_model, known.counting))
            finished = await driven(
                session, terms=terms, interruption=interruption, observe=observe, reserve_less=reserve_less
            )
            if prepared.by_hand and not terms.offline and finished.ending.stop.kind in STOPPED:
                # What people judged behind a skip that waits is known, and belongs to the result.
                silent = await prepared.look(partial(all_silent_of, prepared))
                known = await driven(session.anew(), terms=replace(terms, silent=silent, offline=True))
                finished = _as_known(known, finished)
    finally:
        closed: list[Judge | System] = [] if command.foresees else [*asking, *systems.values()]
        for one in closed:
            await one.aclose()
    command.spend = finished.spend.after(command.spend)
    return await _with_earlier(replace(finished, spend=command.spend), prepared, deciding, terms)


def _as_known(known: Finished[T], stopped: Finished[T]) -> Finished[T]:
    """How a run ended that people stopped, by all verdicts that are `known`: those after a skip that waits, too.

    Where they were asked again only what they had skipped, it has ended by itself, as before.
    """
    known = replace(known, spend=known.spend.after(stopped.spend))
    if known.ending.stop.kind is not StopKind.DRY_RUN:
        return known
    spend = replace(known.spend, next_p=stopped.spend.next_p)
    return replace(known, ending=replace(known.ending, stop=stopped.ending.stop), spend=spend)


async def _begin(prepared: Prepared[Any], session: Session[Any], judges: tuple[Judge, ...], terms: Terms) -> None:
    """Note a run, close what ended processes have left open of it, and let people begin."""
    ledger = prepared.open_ledger
    if prepared.people is not None:
        before = list[tuple[Call, str]]()
        if len(judges) > 1:  # two people an item: the second is another one than the first, of any run
            ahead = islice(session.ahead(), LOOKED_UP)
            queries = [prepared.pool.query(choice.position, choice.systems) for choice in ahead]
            before = await prepared.look(lambda reader: answered_before(reader, queries, judges, terms))
        address = prepared.config.ledger
        prepared.people.begin(terms.run_id, str(address.parent if isinstance(address, Path) else HOME), before)
    await ledger.note(terms.run_id, _note(prepared, session.rule))
    await ledger.recover(terms.run_id)


async def _with_earlier(
    finished: Finished[T], prepared: Prepared[Any], judges: tuple[Judge, ...], terms: Terms
) -> Finished[T]:
    """How a run ended, with what the ledger knows of earlier commands: who answered, and what is not asked again."""
    controlled = terms.offline or terms.controls or terms.controls_of
    named, given, kept = await prepared.look(
        lambda reader: (
            reader.models(terms.run_id),
            reader.given(terms.run_id),
            None if finished.spend.asked_anything and controlled else reader.result(terms.run_id),
        )
    )
    checked = () if prepared.people is None else tuple(prepared.people.checked())
    if not checked and kept is not None:  # the journal may be gone
        checked = checked_of(kept)
    finished = replace(
        finished,
        # Those of this command, and of commands before whose verdicts count.
        models=tuple(tuple(named.get(judge.identity.name, ())) for judge in judges),
        people=given,
        checked=checked,
    )
    if kept is None:
        return finished
    return replace(
        finished,
        controls=finished.controls if controlled else controls_of(kept),
        decided_at="" if finished.spend.asked_anything else kept.at,
    )


def _one_model(prepared: Prepared[Any], answered: Mapping[str, Sequence[str]]) -> tuple[OneModel | None, ...]:
    """Of which judges the verdicts of one model alone count: of models, in a gate, and where controls speak for one.

    The caller may say which, or that all count. Else it is supposed to be the one that `answered` this run last.
    """
    config, given = prepared.config, prepared.config.models
    if prepared.by_hand:
        return ()
    found: list[OneModel | None] = []
    for judge, spec in zip(prepared.judges, config.judge, strict=True):
        name = given.get(spec, "") if isinstance(spec, str) else ""
        if not isinstance(judge, Metered) or name == ANY_MODEL or not (name or config.is_gate):
            found.append(None)
        else:
            before = answered.get(judge.identity.name, ())
            found.append(OneModel(name or (before[-1] if before else ""), pinned=bool(name)))
    return tuple(found)


def _supposed(one_model: Sequence[OneModel | None], counting: Sequence[str]) -> tuple[OneModel | None, ...]:
    """Of which judges one model counts, with those whose verdicts are enough: a run of them asks nothing."""
    return tuple(one and replace(one, model=one.model or model) for one, model in zip(one_model, counting, strict=True))


async def _answered(session: Session[T], prepared: Prepared[Any], judge: Judge) -> Finished[T]:
    """Run a session on the verdicts of a judge that knows them all."""
    while choices := session.ask():
        answers: list[Answer] = []
        for choice in choices:
            query = prepared.pool.query(choice.position, choice.systems)
            reply = await judge.judge(Call(query.item, query.systems, query.outputs))
            assert not isinstance(reply.answer, Output), "a judge gives no output"
            answers.append(reply.answer)
        session.tell(answers)
    return Finished(session.ending(), Spend(), models=((),))


def _note(prepared: Prepared[Any], rule: StoppingRule[Any]) -> RunNote:
    """What a list of runs says of this one, and what tells how often its question was asked."""
    return RunNote(
        systems=prepared.pool.systems,
        judges=tuple(judge.identity.name for judge in prepared.inputs.named),
        night=prepared.night or prepared.config.night or "",
        pair=prepared.pair,
        risk=1.0 if rule.guarantee is None else rule.threshold,
        asked=prepared.asked,
        question=prepared.question,
        met=prepared.met,
        asking=prepared.asking,
        seed=prepared.config.seed,
        outputs=prepared.digests,
        files=tuple(map(str, files_of(prepared.config.output_files))),
        limits=prepared.limits.held or ((0, prepared.limits.max_judgments),),
        any_limit=prepared.any_limit,
        margins=tuple((name, float(one)) for name in MARGINS if (one := getattr(prepared.config, name, None))),
        stakes=VERSION if hasattr(rule, "limits") else 0,
    )
