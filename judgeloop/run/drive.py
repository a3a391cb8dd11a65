"""Runs the session of any question: makes the terms, opens the ledger, and starts the engine.

Reads a `Prepared`. The question's own `run.py` makes the session and the result.
"""

import json
from collections.abc import Sequence
from contextlib import aclosing, nullcontext
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from judgeloop.core.choices import Order
from judgeloop.core.ledger import KeptResult, RunNote
from judgeloop.core.outcomes import Control, ControlTally, Finished, StopKind
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Check, Estimator, Further, Judge, Selector, StoppingRule, System, T
from judgeloop.core.records import Abstention, Answer, Call, Output, Query
from judgeloop.core.spend import Spend
from judgeloop.core.verdict_key import digest
from judgeloop.engine.generating import Sources
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.engine.terms import Terms
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.providers.pricing import Metered, old_prices, price_sentence, today
from judgeloop.report.records import DataNotes, Setup
from judgeloop.run.inputs import required_winner
from judgeloop.run.live import since_of
from judgeloop.run.prepared import LENGTH, Prepared
from judgeloop.settings.fields import ABSTAIN
from judgeloop.settings.run_settings import ContestSettings, RunSettings

# An output counts as repeated from this many items and this share of the items on.
FEWEST_REPEATS, REPEATED_SHARE = 3, 0.2


def terms_of(prepared: Prepared[Any], *, offline: bool = False) -> Terms:
    """Return the terms of a run.

    With a human judge, a whole round is asked at once, comparisons are shown in random order, and
    attempts have no time limit.
    """
    config, by_hand = prepared.config, prepared.by_hand
    return Terms(
        run_id=prepared.run_id,
        order=Order.RANDOM if by_hand and not config.rates else config.order,
        vote=config.vote,
        seed=config.seed,
        budget_p=config.budget_p,
        concurrency=config.max_judgments if by_hand else config.concurrency,
        calls_a_minute=config.rpm,
        tokens_a_minute=config.tpm,
        timeout_s=None if by_hand else config.judge_timeout,
        deadline_s=config.deadline,
        controls=prepared.inputs.controls,
        controls_of=prepared.inputs.controls_of,
        offline=offline,
        max_item_bytes=config.max_item_bytes,
        missing_abstains=config.missing == ABSTAIN,
        max_failed=config.max_abstentions,
        outputs_since={prepared.pool.systems[n]: day for n, day in since_of(config).items()},
    )


def session_of(
    prepared: Prepared[Any],
    selector: Selector[Any],
    estimator: Estimator[T],
    rule: StoppingRule[T],
    rng: np.random.Generator | None = None,
    *,
    check: Check[T] | None = None,
    further: Further | None = None,
) -> Session[T]:
    """Return the session of a run; `rng` is by default the generator of the seed."""
    config = prepared.config
    return Session(
        items=len(prepared.pool),
        selector=selector,
        estimator=estimator,
        rule=rule,
        limits=prepared.limits,
        rng=np.random.default_rng(config.seed) if rng is None else rng,
        lookahead=config.lookahead,
        check=check,
        further=further,
    )


async def drive_session(
    session: Session[T],
    prepared: Prepared[Any],
    terms: Terms,
    *,
    judges: tuple[Judge, ...] | None = None,
    interruption: Interruption | None = None,
    observe: Observe[T] = unobserved,
) -> Finished[T]:
    """Run a session to its end through the ledger, and close the judges, and the ledger if it opens it.

    No other process can run under the same run id meanwhile, unless the terms are offline. What
    processes that ended have left open of the run is closed first. Judges learn the lengths of their
    earlier replies from the ledger. `judges` replace the run's judges. A run that is not booked has
    no ledger.
    """
    if not prepared.booked:
        return await _answered(session, prepared)
    asked, systems = prepared.judges if judges is None else judges, systems_of(prepared)
    given = prepared.ledger
    ledger = given or open_ledger(prepared.config.ledger, prepared.config.charge_to)
    try:
        with nullcontext() if terms.offline else ledger.only_run(terms.run_id):
            if not terms.offline:
                await ledger.note(terms.run_id, _note(prepared, session.rule))
                await ledger.recover(terms.run_id)
            with open_reader(prepared.config.ledger) as reader:
                for judge in asked:
                    if isinstance(judge, Metered):
                        judge.learn_lengths(reader.reply_lengths(judge.identity))
            command = prepared.command
            silent, seen, tested = silent_of(prepared), command.seen, command.tested
            terms = replace(terms, silent=silent, seen=seen, tested=tested)
            finished = await drive(
                session,
                prepared.pool,
                asked,
                ledger,
                terms,
                systems=systems,
                interruption=interruption,
                observe=observe,
            )
            command.spend = finished.spend.after(command.spend)
            finished = replace(finished, spend=command.spend)
        with open_reader(prepared.config.ledger) as reader:
            models = reader.models(terms.run_id)
            known = terms.offline or terms.controls or terms.controls_of
            kept = None if finished.spend.attempts and known else reader.result(terms.run_id)
    finally:
        for judge in asked:
            await judge.aclose()
        for system in systems.values():
            await system.aclose()
        if given is None:
            await ledger.aclose()
    # Those of this command, and of commands before whose verdicts count.
    named = tuple(tuple(models.get(judge.identity.name, ())) for judge in asked)
    finished = replace(finished, models=named)
    if kept is None:
        return finished
    controls = finished.controls if known else _controls_of(kept)
    at = "" if finished.spend.attempts else kept.at
    return replace(finished, controls=controls, decided_at=at)


def silent_of(prepared: Prepared[Any]) -> dict[str, Abstention]:
    """Return the calls to which earlier commands of a run got no verdict, by key; a person is asked them again.

    A run that ended for too many of them asks them again, too: something may be better now.
    """
    if prepared.by_hand:
        return {}
    with open_reader(prepared.config.ledger) as reader:
        kept, said = reader.result(prepared.run_id), reader.silent(prepared.run_id)
    if kept and json.loads(kept.document)["result"]["stop_reason"] == StopKind.ABSTENTIONS:
        return {}
    return {key: Abstention(why.removeprefix("abstained: ")) for key, why in said.items()}


def _controls_of(kept: KeptResult) -> tuple[ControlTally | None, ...]:
    """Return what judges made of the controls that an earlier command of a run asked."""
    found = json.loads(kept.document)["result"]["counts"]["controls"]
    return tuple(one and ControlTally(**one | {"end": one["end"] and Control(one["end"])}) for one in found)


async def _answered(session: Session[T], prepared: Prepared[Any]) -> Finished[T]:
    """Run a session on the verdicts of a judge that knows them all."""
    (judge,) = prepared.judges
    while choices := session.ask():
        answers: list[Answer] = []
        for choice in choices:
            query = prepared.pool.query(choice.position, choice.systems)
            reply = await judge.judge(Call(query.item, query.systems, query.outputs))
            assert not isinstance(reply.answer, Output), "a judge gives no output"
            answers.append(reply.answer)
        session.tell(answers)
    return Finished(session.outcome(), Spend(), models=((),))


def _note(prepared: Prepared[Any], rule: StoppingRule[Any]) -> RunNote:
    """Return what a list of runs says of this one, and what tells how often its question was asked."""
    return RunNote(
        systems=prepared.pool.systems,
        judges=tuple(judge.identity.name for judge in prepared.judges),
        night=prepared.night or prepared.config.night or "",
        risk=1.0 if rule.guarantee is None else rule.threshold,
        asked=prepared.asked,
        question=prepared.question,
        seed=prepared.config.seed,
        outputs=tuple(
            "" if place in prepared.inputs.systems else digest(texts)[:LENGTH]
            for place, texts in enumerate(prepared.pool.outputs)
        ),
    )


def systems_of(prepared: Prepared[Any]) -> dict[str, System]:
    """Return the systems of a run that answer live, by name."""
    names = prepared.pool.systems
    return {names[place]: system for place, system in prepared.inputs.systems.items()}


async def look_up(prepared: Prepared[Any], sources: Sources, queries: Sequence[Query]) -> None:
    """Let `sources` know which outputs the ledger has."""
    if sources.systems:
        async with aclosing(open_ledger(prepared.config.ledger)) as ledger:
            await sources.look_up(queries, ledger)


def setup_of(prepared: Prepared[Any], rule: StoppingRule[Any], selector: str, *, represent: str | None = None) -> Setup:
    """Return what is known of a run before its first judgment."""
    config, judges, terms = prepared.config, prepared.judges, terms_of(prepared)
    prompt, systems = prepared.inputs.prompt, tuple(prepared.inputs.systems.values())
    swayed = [judge for judge in judges if judge.order_matters]
    twice = len(swayed) if terms.order is Order.BOTH else 0
    return Setup(
        systems=prepared.pool.systems,
        judges=tuple(judge.identity.name for judge in judges),
        judge_parameters=tuple(dict(judge.identity.parameters) for judge in judges),
        vote=config.vote.value if len(judges) > 1 else None,
        rule=rule.name,
        risk_threshold=rule.threshold,
        guarantee=rule.guarantee,
        selector=selector,
        represent=represent,
        prompt=prompt.id if prompt else "",
        rubric=prepared.inputs.rubric,
        order=terms.order.value if swayed and not config.rates else None,
        seed=config.seed,
        calls_per_item=len(judges) + twice,
        required_winner=required_winner(config, prepared.pool.systems),
        controlled=config.controlled,
        max_abstentions=config.max_abstentions,
        fail_on_warning=config.fail_on_warning,
        old_prices=old_prices((*judges, *systems), today()),
        prices=price_sentence(judges, systems),
        tier=_tiers(judges),
        asked_anew=_asked_anew(config),
        about=prepared.population,
        run=terms.run_id,
        night=prepared.night,
        most_usd=None if (most := prepared.inputs.most_usd) is None else float(most),
        version=version("judgeloop"),
    )


def data_notes(prepared: Prepared[Any]) -> DataNotes:
    """Return what is to be known of a run's data."""
    pool = prepared.pool
    return DataNotes(
        items=len(pool),
        left_out=prepared.inputs.joined.left_out,
        beyond=prepared.inputs.joined.beyond,
        guessed=prepared.inputs.guessed,
        repeated=_repeated(pool),
        empty=_empty(pool),
        usual_empty=_usual_empty(prepared.config, pool),
    )


def _asked_anew(config: RunSettings) -> str:
    """Return which judges of the caller's have no identity, so that they are asked anew."""
    return "; ".join(
        f"{judge.identity.name} was asked anew, because {why}: give `version` to have its verdicts remembered"
        for judge in config.asked
        if not isinstance(judge, str) and (why := getattr(judge, "unknown", None))
    )


def _tiers(judges: Sequence[Judge]) -> str:
    """Return which judges are asked at another tier than the standard one, and at what price."""
    notes = [(judge, judge.tier_note) for judge in judges if isinstance(judge, Metered)]
    return "; ".join(f"{judge.identity.name} at {text}" for judge, text in notes if text)


def _repeated(pool: Pool) -> dict[str, int]:
    """Return the systems that gave the same output to many items, with the number of items."""
    many = max(FEWEST_REPEATS, REPEATED_SHARE * len(pool))
    counts = {name: pool.most_repeated(number) for number, name in enumerate(pool.systems)}
    return {name: count for name, count in counts.items() if count >= many}


def _usual_empty(config: RunSettings, pool: Pool) -> int:
    """Return on how many items the baseline's output has no text; 0 without a baseline."""
    if not isinstance(config, ContestSettings):
        return 0
    return pool.count_empty(pool.systems.index(config.trusted(pool.systems)))


def _empty(pool: Pool) -> dict[str, int]:
    """Return the systems that gave outputs without text, with the number of items."""
    counts = {name: pool.count_empty(number) for number, name in enumerate(pool.systems)}
    return {name: count for name, count in counts.items() if count}
