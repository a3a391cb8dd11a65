"""Asks all pairs of a suite within one sum: in rounds, at the same time, through one open ledger.

Takes the pairs and the suite's settings; returns how each pair ended. `allot` says what each may cost.
A pair that fails, whatever the reason, is an end like others. The ledger knows which runs a night has had, and a
lock of it, which ends with its process, keeps a second start away.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, final

from judgeloop.core.errors import EXIT_ERROR, EXIT_USAGE, InputError, JudgeloopError, LedgerError, NoKeyError
from judgeloop.core.keys import digest
from judgeloop.core.money import to_pico, to_usd
from judgeloop.core.outcomes import Control, Outcome, StopKind
from judgeloop.core.records import USUAL_FLIPS
from judgeloop.engine.state import Interruption, Observe
from judgeloop.formats.rows import each_file_once
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.opening import open_reader, runs_of
from judgeloop.ledger.records import RunNote
from judgeloop.questions.kept import result_of
from judgeloop.report.facts import ended
from judgeloop.report.notes import DOUBTED, NoteCode
from judgeloop.report.result import FLIPS, RunResult
from judgeloop.report.words import count, sentence, visible
from judgeloop.runs.judging import WITHOUT_LIMIT
from judgeloop.runs.prepared import LENGTH, Prepared
from judgeloop.suite.changes import models_of
from judgeloop.suite.line import DATE, NOTHING, Line, one_output_of
from judgeloop.suite.settings import Pair, SuiteSettings

# Of a judge that failed: each pair has tried it for a time of its own.
TRIED_FOR = re.compile(r" \(the last was tried for \d+ s\)")
SWAYED = "more than {} of the verdicts changed with the order"
OF_ALL = ("night", "ledger", "charge_to", "ledger_must_exist")  # settings that each pair gets
Watch = Callable[[Pair, Prepared[Any]], AbstractContextManager[Observe[Any]]]
OPEN = {Outcome.UNDECIDED, Outcome.NOT_SHOWN}
MORE = {NoteCode.MORE_JUDGMENTS, NoteCode.TOO_EARLY, NoteCode.LEAD_STAYS, NoteCode.USUAL_JUDGMENTS}
SAME_OUTPUT = {NoteCode.OUTPUT_REPEATED, NoteCode.OUTPUTS_EMPTY}
NOT_KNOWN = {NoteCode.NO_FORECAST, NoteCode.LEVEL}
HOPELESS = {NoteCode.OUT_OF_REACH, NoteCode.FEWER_SKIPS}
SHARED = ("concurrency", "rpm", "tpm")  # limits that pairs share that run at the same time


# How pairs share one sum.
#
# A pair's money is counted in the ledger under its run, and a run is never charged more than its budget.
# So a suite shares its sum by the budgets that it gives, in rounds. In a round each open pair may be charged the
# same amount in all, the level, but for a pair that was charged more before or has a limit of its own. The
# level is the highest at which
#
#     sum of the budgets of open pairs  +  sum of what closed pairs were charged  <=  the sum.      (1)
#
# **Hard cap.** Budgets are set when no pair runs, and a pair is charged at most its budget until the next
# round. So (1) holds at every moment, with charges in the place of budgets. A crash changes nothing: the
# next start reads the charges from the ledger, and (1) begins with them. As for a single run, only a reply that is
# dearer than its worst case could exceed it.
#
# **Fair.** A pair that is decided leaves the rest of its share, and the next round raises the level of the
# others by equal parts. That is max-min fairness (Bertsekas and Gallager, Data Networks, 1992, section
# 6.5.2): no pair could have more without taking it from one that has no more. When the level pays for no pair's
# next query, the pair with the dearest one gives up its part, until one of the others is paid.
#
# Each round charges at least one query, or closes a pair. So the rounds end.


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a pair's money, in picodollars.

    - `charged_p`: what its run has been charged, on all nights' starts together.
    - `limit_p`: the limit of its own; None without one.
    - `given_p`: its budget in the last round; None before its first.
    - `need_p`: the worst case of a query, where that budget did not cover the next; 0 if it is not known.
    - `closed`: whether it has ended, and not for lack of its share.
    """

    charged_p: int = 0
    limit_p: int | None = None
    given_p: int | None = None
    need_p: int = 0
    closed: bool = False

    def at(self, level_p: int) -> int:
        """Its budget at a level: at least what it was charged, at most its own limit."""
        most_p = level_p if self.limit_p is None else min(level_p, self.limit_p)
        return max(self.charged_p, most_p)

    def goes_on(self, budget_p: int) -> bool:
        """Whether it can do more with a budget; in its first round it looks what is known."""
        if self.given_p is None:
            return True
        return budget_p > self.given_p and budget_p >= self.charged_p + max(1, self.need_p)


def allot(sum_p: int, accounts: Mapping[str, Account]) -> dict[str, int]:
    """The budgets of the next round, by pair; empty once no pair can go on.

    A pair that is not in it does not run, and is charged nothing.
    """
    open_ = {name: one for name, one in accounts.items() if not one.closed}
    left_p = sum_p - sum(one.charged_p for one in accounts.values() if one.closed)
    while open_:
        level_p = _level(left_p, list(open_.values()))
        budgets = {name: one.at(level_p) for name, one in open_.items()}
        able = {name: p for name, p in budgets.items() if open_[name].goes_on(p)}
        if able:
            return able
        dearest = max(open_, key=lambda name: open_[name].need_p)
        left_p -= open_.pop(dearest).charged_p
    return {}


def _level(left_p: int, accounts: list[Account]) -> int:
    """The highest level whose budgets are together at most `left_p`; 0 if there is none."""
    low, high = 0, max(0, left_p)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(one.at(middle) for one in accounts) <= left_p:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pair ended: with a result, or with an `error`. `ready` is what ran; None if nothing could."""

    pair: Pair
    ready: Prepared[Any] | None = None
    result: RunResult | None = None
    error: Exception | None = None
    charged_p: int = 0
    unconfirmed_p: int = 0

    @property
    def ran(self) -> Prepared[Any]:
        """What ran, of a pair that could be prepared."""
        assert self.ready is not None, "a pair that could not be prepared has no account"
        return self.ready

    @property
    def line(self) -> Line:
        """Its line of the summary."""
        result, error = self.result, self.error
        known = f"unexpected {type(error).__name__}: " * (not isinstance(error, JudgeloopError))
        line = Line(
            name=self.pair.name,
            question=self.pair.question.name,
            exit_code=EXIT_USAGE if isinstance(error, InputError) else EXIT_ERROR,
            headline=f"{known}{error}".removesuffix(WITHOUT_LIMIT),  # a suite has a budget
            no_key=isinstance(error, NoKeyError),
            why="" if error is None else f"{known}{error}".removesuffix(WITHOUT_LIMIT),
            systems=self.ready.pool.systems if self.ready else (),
            charged_p=self.charged_p,
            unconfirmed_p=self.unconfirmed_p,
            run=self.ready.run_id if self.ready else "",
            gate=self.pair.gate,
            table=self.pair.table,
        )
        if result is None:
            return line
        one_output = one_output_of(result.data)
        doubts = tuple(one_output.values())
        warnings = [
            _without_risk(one.message)
            if one.code is NoteCode.NEIGHBOURS and not result.answer.answered
            else one.message
            for one in sorted(result.warnings, key=lambda one: one.code not in DOUBTED)
            if one.code is not NoteCode.JUDGE_REPLACED
            and not (one.code in SAME_OUTPUT and one.values["system"] in one_output)
        ]
        certain = result.whole or result.risk == 0.0
        cut = result.outcome is Outcome.INTERRUPTED  # its figures are of what it had read again by then
        return replace(
            line,
            exit_code=result.exit_code,
            outcome=result.outcome,
            headline=result.page.headline,
            winner=result.named if len(result.setup.systems) > 1 else None,
            gap=result.page.value("gap", "bounds"),
            nights=tuple(float(one) / 100 for one in (result.page.value("gap", "gap"),) if one and not cut),
            shown="" if cut else NOTHING if result.alike else _shown(result),
            why=_why(result),
            judged=result.judged_items,
            judged_by=_judged_by(result),
            risk=0.0 if certain else _risk(result),
            certain=certain and _stands(result),
            flips=result.counts.flips,
            both_orders=result.counts.both_orders,
            answered_by=models_of(result),
            warnings=(*doubts, *warnings),
            one_output=doubts,
            replaced=tuple(one.message for one in result.warnings if one.code is NoteCode.JUDGE_REPLACED),
            advice=_advice(result),
            goes_on=_goes_on(result),
            used_up=result.halt.kind is StopKind.BUDGET,
            by_ledger=result.halt.kind is StopKind.BUDGET and result.spend.ledger_is_short,
            hopeless=_hopeless(result),
            likely_p=_likely_p(result),
            guess=any(one.code in NOT_KNOWN for one in result.advice),
            next_p=result.spend.next_p,
            own_p=to_pico(str(own)) if (own := self.pair.values.get("budget")) is not None else 0,
            stopped=_stopped(result) if result.outcome in OPEN else "",
            doubtful=result.doubtful or bool(one_output),
            asked=result.spend.attempts,
        )


def _why(result: RunResult) -> str:
    """Why a pair has no result that counts, without figures that pairs do not share; empty with one."""
    if result.answer.broke_off:
        why = ended(result) if result.lost_to_failures else result.stop_sentence
        _, some_failed, last = why.partition("; the last: ")  # behind how many items they were
        why = f"the judge failed: {last}" if some_failed else TRIED_FOR.sub("", why)
        return why.replace("the judge failed", f"{visible(result.setup.judge)} failed", 1)
    broken = (one for one in result.conditions[1:] if one.outcome is result.outcome is Outcome.BROKEN)
    most: float = getattr(result.options, "max_flips", None) or USUAL_FLIPS
    swayed = SWAYED.format("half" if most == USUAL_FLIPS else f"{100 * most:.3g} %")
    said = (
        swayed if one.name == FLIPS else f"not held: {one.requires}" if one.requires else one.sentence for one in broken
    )
    return next(said, "")


def _without_risk(message: str) -> str:
    """A warning without what it says of the risk, as a pair that is open states none."""
    cause, _, more = message.partition(": ")
    return sentence(f"{cause}. {more.partition('. ')[2]}".strip())


def _hopeless(result: RunResult) -> bool:
    """Whether all items would not decide if the shares stay, so that no sum is enough."""
    return any(one.code in HOPELESS for one in result.advice)


def _likely_p(result: RunResult) -> int:
    """What its advice expects to finish it, the last judgment at its maximum; 0 if that is not known."""
    usd = next((one.values["usd"] for one in result.advice if one.code in MORE), None)
    return to_pico(str(usd)) + result.spend.next_p if usd else 0


def _shown(result: RunResult) -> str:
    """The gap of a comparison and its bounds, in points; a score that is answered, and its interval."""
    gap, bounds = result.page.value("gap", "gap"), result.page.value("gap", "bounds")
    score, *ends = (
        result.page.value(*one) for one in (("score", "score"), ("interval", "at least"), ("interval", "at most"))
    )
    if gap:
        return gap + f" ({bounds})" * bool(bounds)
    interval = f" ({' to '.join(ends)})" * all(ends)
    return f"score {score}{interval}" if score and (interval or result.answer.answered) else ""


def _stopped(result: RunResult) -> str:
    """Why a pair was asked no further, and why all items would not decide; of items, that all are judged."""
    if result.halt.kind is StopKind.POOL_EXHAUSTED:
        units = result.data.units
        which = f"one item of each of the {units} is" if units else f"all {count(result.items, 'item')} are"
        return f"{which} judged, without a decision"
    if result.outcome is Outcome.NOT_SHOWN:
        return result.page.parted[1]
    vain = [one.message for one in result.advice if one.code in HOPELESS]
    return " ".join(vain) or ended(result)


def _goes_on(result: RunResult) -> bool:
    """Whether the same command may ask more, as something cut this one short."""
    again = {NoteCode.RESUME, NoteCode.THEN_RESUME, NoteCode.SILENT, NoteCode.BEGIN_ANEW, NoteCode.OTHER_MODEL}
    again |= {NoteCode.OTHER_JUDGE}
    return any(one.code in again for one in result.advice)


def _advice(result: RunResult) -> str:
    """What would answer a question that is undecided; "" where the same command asks more."""
    if result.outcome not in OPEN or _goes_on(result):
        return ""
    return " ".join(one.message for one in result.advice if one.code is not NoteCode.RAISE_NIGHT)


def _stands(result: RunResult) -> bool:
    """Whether it is an answer, and is relied on."""
    answered = result.answer in {Outcome.PASSED, Outcome.DECIDED, Outcome.FAILED}
    return answered and result.outcome is not Outcome.BROKEN


def _risk(result: RunResult) -> float:
    """The proved risk of an answer; 0 without one."""
    return result.setup.risk_threshold if _stands(result) and result.setup.guarantee else 0.0


def _judged_by(result: RunResult) -> str:
    """The judge and the risk, and how the judge's controls ended, as far as they did."""
    said = f"{result.setup.judge}; each answer at a risk of {result.setup.risk_threshold:g}"
    ends = {one.end for one in result.counts.controls if one is not None}
    # That they passed says nothing of a judge that refuses.
    refuses = result.answer.broke_off and ends == {Control.PASSED}
    if not result.setup.controlled or not ends or None in ends or refuses:
        return said
    flips = any(one.code is NoteCode.MANY_FLIPS for one in result.warnings)
    how = f"passed{', but many verdicts changed with the order' * flips}"
    return f"{said}; controls {how if ends == {Control.PASSED} else 'not passed'}"


def prepared(
    pair: Pair, config: SuiteSettings, environment: Mapping[str, str], *, offline: bool = False
) -> Prepared[Any]:
    """A pair that is ready to run, or for a forecast if `offline`.

    Raises:
        InputError: it cannot be asked.
    """
    _check(not pair.problem, pair.problem)
    values = {name: getattr(config, name) for name in ("budget", *OF_ALL)}
    given = {name: one for name, one in pair.values.items() if one is not None}
    settings = pair.question.settings().of(**values | given)
    question = pair.question.load()
    # A pair that two suites ask on one day is a run of each: what one has paid is no cost of the other.
    within = config.name_of_night
    ready: Prepared[Any] = question.prepare(settings, environment, offline=offline, within=within)
    _check(not ready.by_hand, "`judge`: a person judges in a command of its own, not in a suite")
    first = first_night(ready)
    if first is None:
        return ready
    return question.drawn_with(ready, pair.question.settings().of(**values | given | {"night": first}).seed)


def first_night(ready: Prepared[Any]) -> str | None:
    """The first night that asked the same of the same outputs; None if this is it.

    Its draws are those of each later night. To draw anew from verdicts that are known is no new evidence, and
    would sooner or later turn an answer by chance.
    """
    if ready.pool.live:
        return None
    nights = (
        run.note.night[:DATE]
        for run in runs_of(ready.config.ledger)
        if run.note.question == ready.question and run.note.night
    )
    return next(nights, None)


@contextmanager
def alone(config: SuiteSettings, ledger: Ledger, night: str) -> Iterator[None]:
    """Keep every other process from a night until the context ends.

    Raises:
        LedgerError: another process works on it; says which.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(ledger.only_run(night))
        except LedgerError:
            with open_reader(config.ledger) as reader:
                notes = [run.note for run in reader.runs() if run.note.night == night]
            last = max(notes, key=lambda note: note.since, default=None)
            who = f"{last.process}, since {last.since}" if last else "another process"
            raise LedgerError(
                f"the night {night} is being worked on by {who}; wait until it ends. The same command then "
                "gives its result, and no verdict is paid twice"
            ) from None
        yield


async def run_suite(
    pairs: Sequence[Pair],
    config: SuiteSettings,
    environment: Mapping[str, str],
    ledger: Ledger,
    night: str,
    *,
    interruption: Interruption,
    tell: Callable[[Ended], None],
    watch: Watch,
) -> tuple[list[Ended], int]:
    """How each pair ended, in their order, and what other runs of the night were charged before.

    `tell` gets each end as soon as it is final, and `watch` is a context for each part of a pair that runs.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    suite = _Suite(config, environment, ledger, night, interruption, tell, watch)
    with interruption.within(config.deadline):
        return await suite.run(pairs)


@final
@dataclass(slots=True)
class _Suite:
    """A suite that runs: what is known of each pair by its name."""

    config: SuiteSettings
    environment: Mapping[str, str]
    ledger: Ledger
    night: str
    interruption: Interruption
    tell: Callable[[Ended], None]
    watch: Watch
    accounts: dict[str, Account] = field(default_factory=dict)
    ends: dict[str, Ended] = field(default_factory=dict)

    async def run(self, pairs: Sequence[Pair]) -> tuple[list[Ended], int]:
        """Prepare all pairs, and let them run in rounds until none can go on."""
        with open_reader(self.config.ledger) as reader:
            runs = {run.id: run for run in reader.runs()}
        charged = {run: one.charged_p for run, one in runs.items()}
        with each_file_once():
            for pair in pairs:
                await self._open(pair, charged)
        own = {self.ends[name].ran.run_id for name in self.accounts}
        before_p = sum(one.charged_p for one in runs.values() if one.note.night == self.night and one.id not in own)
        while budgets := allot((self.config.budget_p or 0) - before_p, self.accounts):
            at_once = min(len(budgets), self.config.concurrency, self.config.rpm or len(budgets))
            places = asyncio.Semaphore(at_once)
            rounds = (self._round(*each, at_once, places) for each in budgets.items())
            for failed in await asyncio.gather(*rounds, return_exceptions=True):
                if failed is not None:  # the ledger's, and nothing is in flight any more
                    raise failed
        for name, account in self.accounts.items():
            if not account.closed:
                self.tell(self.ends[name])
        return [self.ends[pair.name] for pair in pairs], before_p

    async def _open(self, pair: Pair, charged: Mapping[str, int]) -> None:
        """Prepare a pair; one that cannot be asked ends, and the ledger has why for the next night."""
        try:
            ready = self._prepared(pair)
            for other in self.ends.values():
                _check(
                    other.ready is None or other.ready.run_id != ready.run_id,
                    f"asks the same as the pair {other.pair.name}; remove one of the two",
                )
        except Exception as error:  # noqa: BLE001 - one pair's failure does not stop the others
            self.ends[pair.name] = end = Ended(pair, error=error)
            self.tell(end)
            refused = RunNote(
                night=self.night, pair=pair.name, exit_code=end.line.exit_code, refused=end.line.why, how=end.line.state
            )
            await self.ledger.note(digest([self.night, pair.name])[:LENGTH], refused)
            return
        limit_p = None if pair.values.get("budget") is None else ready.config.budget_p
        self.ends[pair.name] = Ended(pair, ready)
        self.accounts[pair.name] = Account(charged.get(ready.run_id, 0), limit_p)

    def _prepared(self, pair: Pair) -> Prepared[Any]:
        """A pair that is ready to run."""
        ready = prepared(pair, self.config, self.environment)
        return replace(ready, ledger=self.ledger, night=self.night, pair=pair.name)

    async def _round(self, name: str, budget_p: int, at_once: int, places: asyncio.Semaphore) -> None:
        """Let a pair run up to its budget, and note what is known of it then."""
        account, last = self.accounts[name], self.ends[name]
        async with places:
            end = await self._end_of(last, budget_p, at_once, again=account.given_p is not None)
            spent = await self.ledger.spend(last.ran.run_id, None)
        short = end.result is not None and end.result.halt.kind is StopKind.BUDGET
        self.ends[name] = replace(end, charged_p=spent.charged_p, unconfirmed_p=spent.unconfirmed_p)
        self.accounts[name] = replace(
            account,
            charged_p=spent.charged_p,
            given_p=budget_p,
            need_p=end.result.spend.next_p if end.result is not None else 0,
            closed=not short,
        )
        if not short:
            self.tell(self.ends[name])

    async def _end_of(self, last: Ended, budget_p: int, at_once: int, *, again: bool) -> Ended:
        """Run a pair; after its first round it is prepared anew, as its parts have been used."""
        pair, ready = last.pair, last.ran
        limits = {name: getattr(self.config, name) for name in SHARED}
        pace = {name: max(1, most // at_once) for name, most in limits.items() if most is not None}
        try:
            if again:
                ready = replace(self._prepared(pair), command=ready.command)
                same = ready.run_id == last.ran.run_id
                _check(same, "its files were changed while the suite ran; start it again")
            config = replace(ready.config, budget=to_usd(budget_p), deadline=None, **pace)
            ready = replace(ready, config=config)
            run = pair.question.load().run
            with self.watch(pair, ready) as observe:
                result = await run(ready, interruption=self.interruption, observe=observe)
            if result.outcome is Outcome.INTERRUPTED and not result.spend.attempts:
                result = self._answer_of(ready.run_id) or result
        except Exception as error:  # noqa: BLE001 - one pair's failure does not stop the others
            return replace(last, result=None, error=error)
        return replace(last, ready=ready, result=result, error=None)

    def _answer_of(self, run: str) -> RunResult | None:
        """The answer that an earlier start of the night found; None without one."""
        with open_reader(self.config.ledger) as reader:
            kept = reader.result(run)
        known = result_of(kept) if kept else None
        return known if known and known.outcome.answered else None


def _check(holds: bool, problem: str) -> None:  # noqa: FBT001 - what must hold
    if not holds:
        raise InputError(problem)
