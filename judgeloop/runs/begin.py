"""Runs the session of any question: opens the ledger, makes the terms, starts the engine; and how to do it again.

Reads a `Prepared`. The question makes the session and the result (`questions/question.py`).
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from judgeloop.core.keys import digest
from judgeloop.core.outcomes import Checked, Control, ControlTally, Ending, Finished, StopKind
from judgeloop.core.protocols import Judge, StoppingRule, System, T
from judgeloop.core.records import (
    DECISION_MARGIN,
    Abstention,
    Answer,
    Call,
    Order,
    Output,
    Pool,
    Population,
    Query,
    Verdict,
)
from judgeloop.core.spend import Spend
from judgeloop.engine.answering import AnsweringModel, counting
from judgeloop.engine.asks import answered_by, plan_for
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Session
from judgeloop.engine.state import Beside, Interruption, Observe, OneModel, Terms, unobserved
from judgeloop.formats.own_files import HOME
from judgeloop.ledger.opening import MEMORY, is_ledger, open_ledger
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import KeptResult, RecordedRun, RunNote
from judgeloop.methods.stats.neighbours import neighbours_risk
from judgeloop.providers.pricing import Metered, old_prices, price_sentence, today
from judgeloop.providers.redaction import MASK, redact
from judgeloop.report.page import Fact, Section
from judgeloop.report.records import AskedBefore, DataNotes, Setup
from judgeloop.report.result import RunResult
from judgeloop.report.words import visible
from judgeloop.runs.earlier import ANSWERED, askings
from judgeloop.runs.inputs import required_winner, since_of
from judgeloop.runs.prepared import LENGTH, Prepared
from judgeloop.settings.fields import ABSTAIN
from judgeloop.settings.run_settings import ANY_MODEL, ContestSettings
from judgeloop.settings.values import secrets_of

R = TypeVar("R", bound=RunResult)
P = TypeVar("P", bound=Prepared[Any])
# An output counts as repeated from this many items and this share of the items on.
FEWEST_REPEATS, REPEATED_SHARE = 3, 0.2
LOOKED_UP = 10_000  # items of whose verdicts the ledger is asked

# The user and the query of an address may hold a secret.
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=\?)[^#\s'\"]+")
# A key by the look of it: a known beginning, or a long word of capitals, small letters and figures. In the name of
# a model, parts are letters alone, or a number.
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|AIza|AKIA)[-_]?[\w-]{16,}"
    r"|(?<![\w/.])(?!(?:(?:[A-Za-z]+|v?\d+[A-Za-z]?)(?:[-_]|(?![\w-])))+(?![\w-]))(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{24,}(?![\w/.])"
)


@contextmanager
def opened(run: P, *, offline: bool = False) -> Iterator[P]:
    """A run with its ledger, opened once for all that a command asks, reads and keeps.

    That of a suite is open already. A forecast creates no file: where there is no ledger, it looks into an empty one.

    Raises:
        LedgerError: the ledger cannot be created or opened.
    """
    if run.ledger is not None or not run.booked:
        yield run
        return
    address = run.config.ledger
    if offline and not is_ledger(address):
        address = MEMORY
    with closing(open_ledger(address, run.config.charge_to)) as ledger:
        yield replace(run, ledger=ledger)


def terms_of(prepared: Prepared[Any], *, offline: bool = False) -> Terms:
    """The terms of a run.

    People are given as many calls as they can have in hand, see comparisons in random order, and have no time limit.
    """
    config, by_hand, people = prepared.config, prepared.by_hand, prepared.people
    return Terms(
        run_id=prepared.run_id,
        order=Order.RANDOM if by_hand and not config.rates else config.order,
        vote=config.vote,
        seed=config.seed,
        budget_p=config.budget_p,
        concurrency=people.at_once if people else config.concurrency,
        calls_a_minute=config.rpm,
        tokens_a_minute=config.tpm,
        timeout_s=None if by_hand else config.judge_timeout,
        deadline_s=config.deadline,
        controls=prepared.inputs.controls,
        controls_of=prepared.inputs.controls_of,
        controls_advise=config.advised,
        offline=offline,
        max_item_bytes=config.max_item_bytes,
        missing_abstains=config.missing == ABSTAIN,
        max_failed=config.most_abstentions(),
        tie_margin=DECISION_MARGIN if config.tie_margin is None else config.tie_margin,
        outputs_since={prepared.pool.systems[n]: day for n, day in since_of(config).items()},
        shared=config.shared or 0.0 if people else 0.0,
        repeated=config.repeated or 0.0 if people else 0.0,
    )


async def conducted(
    session: Session[T],
    prepared: Prepared[Any],
    terms: Terms,
    *,
    judges: tuple[Judge, ...] | None = None,
    beside: Beside | None = None,
    interruption: Interruption | None = None,
    observe: Observe[T] = unobserved,
) -> Finished[T]:
    """Run a session to its end through the ledger, which is open, and close judges and systems.

    No other process can run under the same run id meanwhile, unless the terms are offline. What
    processes that ended have left open of the run is closed first. Judges learn the lengths of their
    earlier replies from the ledger. `judges` replace the run's judges, and `beside` says how its proxy
    is asked. A run that is not booked has no ledger.
    """
    deciding, systems = prepared.judges if judges is None else judges, systems_of(prepared)
    proxy = prepared.inputs.proxy if beside else None
    asking = deciding if proxy is None else (*deciding, proxy)
    if not prepared.booked:
        (judge,) = asking
        return await _answered(session, prepared, judge)
    ledger, command = prepared.open_ledger, prepared.command
    models = [judge for judge in asking if isinstance(judge, Metered)]
    try:
        # Two processes would pay for the same verdicts.
        with nullcontext() if terms.offline else ledger.only_run(terms.run_id):
            if not terms.offline:
                if prepared.people is not None:
                    address, before = prepared.config.ledger, list[tuple[Call, str]]()
                    if len(deciding) > 1:  # two people an item: the second is another one than the first, of any run
                        ahead = islice(session.ahead(), LOOKED_UP)
                        queries = [prepared.pool.query(choice.position, choice.systems) for choice in ahead]
                        before = await prepared.look(lambda reader: answered_before(reader, queries, deciding, terms))
                    folder = str(address.parent if isinstance(address, Path) else HOME)
                    prepared.people.begin(terms.run_id, folder, before)
                await ledger.note(terms.run_id, _note(prepared, session.rule))
                await ledger.recover(terms.run_id)
            replies, silent, answered = await prepared.look(
                lambda reader: (
                    [reader.reply_lengths(judge.identity) for judge in models],
                    silent_of(prepared, reader),
                    reader.models(terms.run_id),
                )
            )
            for model, lengths in zip(models, replies, strict=True):
                model.learn_lengths(lengths)
            one_model = _one_model(prepared, answered) if judges is None else ()
            terms = replace(
                terms, silent=silent, seen=command.seen, tested=command.tested, one_model=one_model, beside=beside
            )
            finished = await drive(
                session,
                prepared.pool,
                asking,
                ledger,
                terms,
                systems=systems,
                interruption=interruption,
                observe=observe,
            )
            command.spend = finished.spend.after(command.spend)
            finished = replace(finished, spend=command.spend)
        known = terms.offline or terms.controls or terms.controls_of
        named, given, kept = await prepared.look(
            lambda reader: (
                reader.models(terms.run_id),
                reader.given(terms.run_id),
                None if finished.spend.asked_anything and known else reader.result(terms.run_id),
            )
        )
    finally:
        for judge in asking:
            await judge.aclose()
        for system in systems.values():
            await system.aclose()
    # Those of this command, and of commands before whose verdicts count.
    answering = tuple(tuple(named.get(judge.identity.name, ())) for judge in deciding)
    checked = () if prepared.people is None else tuple(prepared.people.checked())
    if not checked and kept is not None:  # the journal may be gone
        checked = _checked_of(kept)
    finished = replace(finished, models=answering, people=given, checked=checked)
    if kept is None:
        return finished
    controls = finished.controls if known else _controls_of(kept)
    at = "" if finished.spend.asked_anything else kept.at
    return replace(finished, controls=controls, decided_at=at)


def answered_before(
    reader: LedgerReader, queries: Iterable[Query], judges: Sequence[Judge], terms: Terms
) -> list[tuple[Call, str]]:
    """Which calls people answered already, whichever run asked them, and who; of a panel of people."""
    asks = [ask for query in queries for ask in plan_for(query, judges, terms).asks]
    by = reader.people([ask.key for ask in asks])
    return [(ask.call, by[ask.key]) for ask in asks if ask.key in by]


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


def silent_of(prepared: Prepared[Any], reader: LedgerReader) -> dict[str, Abstention]:
    """The calls to which earlier commands of a run got no verdict, by key; a person is asked them again.

    A run that ended for too many of them asks them again, too: something may be better now.
    """
    kept = reader.result(prepared.run_id)
    ended_for_them = kept and json.loads(kept.document)["result"]["stop_reason"] == StopKind.ABSTENTIONS
    if prepared.by_hand or ended_for_them:
        return {}
    said = reader.silent(prepared.run_id)
    return {key: Abstention(why.removeprefix("abstained: ")) for key, why in said.items()}


def _checked_of(kept: KeptResult) -> tuple[Checked, ...]:
    """What came of the checks of people whom an earlier command of a run asked."""
    by_people = json.loads(kept.document)["result"]["by_people"] or {}
    return tuple(Checked(**one) for one in by_people.get("checks", ()))


def _controls_of(kept: KeptResult) -> tuple[ControlTally | None, ...]:
    """What judges made of the controls that an earlier command of a run asked."""
    found = json.loads(kept.document)["result"]["counts"]["controls"]
    return tuple(one and ControlTally(**one | {"end": one["end"] and Control(one["end"])}) for one in found)


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
        judges=tuple(judge.identity.name for judge in prepared.judges),
        night=prepared.night or prepared.config.night or "",
        pair=prepared.pair,
        risk=1.0 if rule.guarantee is None else rule.threshold,
        asked=prepared.asked,
        question=prepared.question,
        met=prepared.met,
        asking=prepared.asking,
        seed=prepared.config.seed,
        outputs=tuple(
            "" if place in prepared.inputs.systems else digest(texts)[:LENGTH]
            for place, texts in enumerate(prepared.pool.outputs)
        ),
    )


def asked_before(prepared: Prepared[Any], runs: Iterable[RecordedRun]) -> AskedBefore:
    """How often the outputs of a run met before, and at which risks; nothing where all scores are recorded."""
    note = RunNote(met=prepared.met, asking=prepared.asking)
    found = askings(runs, prepared.run_id, note) if prepared.booked else []
    return AskedBefore(
        tuple(one.note.risk for one in found), answered=sum(one.note.exit_code in ANSWERED for one in found)
    )


async def known_verdicts(prepared: Prepared[Any], finished: Finished[Any]) -> tuple[int, int]:
    """How many of the verdicts that the ledger holds on two systems' outputs prefer each, whichever run asked them."""
    answers = await known_answers(prepared, prepared.judges, terms_of(prepared), finished.counting)
    preferred = [answer.preference for answer in answers if isinstance(answer, Verdict)]
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
    plans = await counting(plans, whose, look_up)
    return [answered_by(planned, known, len(judges), terms) for planned in plans]


def systems_of(prepared: Prepared[Any]) -> dict[str, System]:
    """The systems of a run that answer live, by name."""
    names = prepared.pool.systems
    return {names[place]: system for place, system in prepared.inputs.systems.items()}


def setup_of(prepared: Prepared[Any], rule: StoppingRule[Any], selector: str, *, represent: str | None = None) -> Setup:
    """What is known of a run before its first judgment."""
    config, judges, terms = prepared.config, prepared.judges, terms_of(prepared)
    prompt, systems = prepared.inputs.prompt, tuple(prepared.inputs.systems.values())
    swayed = [judge for judge in judges if judge.order_matters]
    tiers = [(judge, judge.tier_note) for judge in judges if isinstance(judge, Metered)]
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
        controlled=config.must_pass or (bool(prepared.inputs.controls) and not config.advised),
        advised=config.advised and bool(prepared.inputs.controls),
        max_abstentions=prepared.limits.max_abstentions,
        fail_on_warning=config.fail_on_warning,
        old_prices=old_prices((*judges, *systems), today()),
        prices=price_sentence(judges, systems),
        tier="; ".join(f"{judge.identity.name} at {text}" for judge, text in tiers if text),
        asked_anew="; ".join(
            f"{judge.identity.name} was asked anew, because {why}: give `version` to have its verdicts remembered"
            for judge in config.every_judge
            if not isinstance(judge, str) and (why := getattr(judge, "unknown", None))
        ),
        about=Population.ITEMS_LIKE_THESE if prepared.sampled else Population.THESE_ITEMS,
        run=terms.run_id,
        night=prepared.night,
        most_usd=None if (most := prepared.inputs.most_usd) is None else float(most),
        version=version("judgeloop"),
    )


def neighbours_alike(prepared: Prepared[Any], outcome: Ending[Any]) -> float | None:
    """The p-value of a test of whether verdicts on neighbours in the files agree more than others.

    None where the result is about these items alone, and for few verdicts.
    """
    first = {members[0] for members in prepared.parts.members}  # those of one family may agree
    deciding = [
        label
        for label in outcome.labels
        if label.choice.key in outcome.deciding and (not first or label.choice.position in first)
    ]
    judged = [
        (label.choice.position, label.answer.score if prepared.config.rates else label.answer.preference)
        for label in deciding
        if isinstance(label.answer, Verdict)
    ]
    if not prepared.sampled or not judged:
        return None
    lines, values = zip(*judged, strict=True)
    rng = np.random.default_rng(prepared.config.seed)
    return neighbours_risk(np.array(lines), np.array(values, dtype=np.float64), rng)


def data_notes(prepared: Prepared[Any], answered: Pool | None = None, neighbours: float | None = None) -> DataNotes:
    """What is to be known of a run's data; `answered` holds the outputs of systems that answer live.

    `neighbours` is as in the notes.
    """
    pool, config, joined = prepared.pool, prepared.config, prepared.inputs.joined
    families = len(prepared.parts.members) or None
    repeated = {name: pool.most_repeated(number) for number, name in enumerate(pool.systems)}
    many = max(FEWEST_REPEATS, REPEATED_SHARE * len(pool))
    whole = answered or pool
    empty = {name: whole.count_empty(number) for number, name in enumerate(pool.systems)}
    ends = {name: whole.count_ends(number) for number, name in enumerate(pool.systems)}
    thoughts = {name: pool.count_thoughts(n) for n, name in enumerate(pool.systems) if n not in pool.live}
    baseline = config.trusted(pool.systems) if isinstance(config, ContestSettings) else ""
    return DataNotes(
        items=len(pool),
        neighbours=neighbours,
        families=families,
        drawn=families and len(prepared.places),
        by_prompt=bool(families) and not any(item.family for item in pool.items),
        left_out=joined.left_out,
        beyond=joined.beyond,
        guessed=prepared.inputs.guessed,
        repeated={name: count for name, count in repeated.items() if count >= many},
        empty={name: count for name, count in empty.items() if count},
        # The baseline's outputs say what is usual.
        usual_empty=empty.get(baseline, 0),
        ended={name: found for name, found in ends.items() if found},
        thoughts={name: some for name, (some, _) in thoughts.items() if some},
        unanswered={name: without for name, (some, without) in thoughts.items() if some},
        usual_ends=sum(ends.get(baseline, {}).values()),
    )


def repeatable(ready: Prepared[Any], result: R, call: str) -> R:
    """A result whose page has the `call`, masked, the files with hashes, and the date as all readers take it alike."""
    decided, facts = result.counts.decided_at, [Fact("command", Section.AGAIN, "command", call)]
    for path in ready.config.files_read():
        if path != ready.config.ledger and path.is_file():
            with path.open("rb") as file:
                digits = hashlib.file_digest(file, "sha256").hexdigest()
            facts.append(Fact(f"file.{path}", Section.AGAIN, visible(str(path)), f"sha256 {digits}"))
    when = datetime.fromisoformat(decided) if decided else datetime.now(UTC)
    date = f"{'result of ' if decided else ''}{when:%d %B %Y, %H:%M UTC}"
    return replace(result, page=replace(result.page.with_facts(*facts), written=date))


def called(function: str, places: Iterable[object], names: Mapping[str, object]) -> str:
    """A call in Python as it was written; what has no short form is `…`.

    >>> called("judgeloop.compare", ["a.jsonl", [{"id": 1}]], {"judge": print, "risk": 0.05})
    "judgeloop.compare('a.jsonl', …, judge=print, risk=0.05)"
    """
    named = (f"{name}={_written(value)}" for name, value in names.items())
    return f"{function}({', '.join([*map(_written, places), *named])})"


def _written(value: object) -> str:
    if isinstance(value, Path):
        return repr(str(value))
    if isinstance(value, tuple | list) and all(isinstance(one, str | Path | float | int) for one in value):
        return f"[{', '.join(map(_written, value))}]"
    if value is None or isinstance(value, str | float | int):
        return repr(value)
    return getattr(value, "__name__", "…") if callable(value) else "…"


def masked(text: str, environment: Mapping[str, str]) -> str:
    """A text without the values of secret variables, parts of addresses, and likely keys.

    >>> masked("--judge-base-url https://me:word@host/v1?k=1", {})
    '--judge-base-url https://[masked key]@host/v1?[masked key]'
    """
    for secret in secrets_of(environment):
        text = redact(text, secret)
    return _KEY_LIKE.sub(MASK, _IN_ADDRESS.sub(MASK, text))
