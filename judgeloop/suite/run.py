"""Asks all pairs of a suite within one sum: in rounds, at the same time, through one open ledger.

Takes the pairs and the suite's settings; returns how each pair ended. `shares.py` says what each may cost.
A pair that fails, whatever the reason, is an end like others. Prints nothing and writes no file.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

from judgeloop.core.errors import EXIT_ERROR, EXIT_USAGE, InputError, JudgeloopError
from judgeloop.core.ledger import Ledger
from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.engine.state import Interruption, unobserved
from judgeloop.report.run_result import RunResult
from judgeloop.suite.config import SuiteConfig
from judgeloop.suite.night import Night
from judgeloop.suite.pairs import Pair
from judgeloop.suite.shares import Account, allot
from judgeloop.suite.summary import Line


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pair ended: with a result, or with an `error`. `ready` is what ran; None if nothing could."""

    pair: Pair
    ready: Any = None
    result: RunResult | None = None
    error: Exception | None = None
    charged_p: int = 0


OF_ALL = ("night", "ledger", "ledger_budget", "ledger_must_exist")  # settings that each pair gets
Tell = Callable[[Ended], None]


async def run_suite(
    pairs: Sequence[Pair],
    config: SuiteConfig,
    environment: Mapping[str, str],
    ledger: Ledger,
    night: Night,
    *,
    interruption: Interruption | None = None,
    tell: Tell = lambda _: None,
) -> tuple[list[Ended], int]:
    """Return how each pair ended, in their order, and what other runs of the night were charged before.

    `tell` gets each end as soon as it is final.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    suite = _Suite(config, environment, ledger, night, interruption or Interruption(), tell)
    with suite.interruption.within(config.deadline):
        return await suite.run(pairs)


@final
@dataclass(slots=True)
class _Suite:
    """A suite that runs: what is known of each pair by its name."""

    config: SuiteConfig
    environment: Mapping[str, str]
    ledger: Ledger
    night: Night
    interruption: Interruption
    tell: Tell
    accounts: dict[str, Account] = field(default_factory=dict)
    ends: dict[str, Ended] = field(default_factory=dict)

    async def run(self, pairs: Sequence[Pair]) -> tuple[list[Ended], int]:
        """Prepare all pairs, and let them run in rounds until none can go on."""
        for pair in pairs:
            await self._open(pair)
        runs = (self.ends[name].ready.run_id for name in self.accounts)
        before = [await self.ledger.spend(run, None) for run in self.night.begins(runs)]
        before_p = sum(spent.charged_p for spent in before)
        while budgets := allot((self.config.budget_p or 0) - before_p, self.accounts):
            at_once = min(len(budgets), self.config.concurrency, self.config.rpm or len(budgets))
            places = asyncio.Semaphore(at_once)
            done = await asyncio.gather(
                *(self._round(*each, at_once, places) for each in budgets.items()),
                return_exceptions=True,
            )
            for failed in done:  # once nothing is in flight any more
                if failed is not None:
                    raise failed
        for name, account in self.accounts.items():
            if not account.closed:
                self.tell(self.ends[name])
        return [self.ends[pair.name] for pair in pairs], before_p

    async def _open(self, pair: Pair) -> None:
        """Prepare a pair and read what it was charged; one that cannot be asked ends."""
        try:
            ready = self._prepared(pair)
            self._check_new(ready.run_id)
        except Exception as error:  # noqa: BLE001 - one pair's failure does not stop the others
            self.ends[pair.name] = Ended(pair, error=error)
            self.tell(self.ends[pair.name])
            return
        spent = await self.ledger.spend(ready.run_id, None)
        limit_p = None if pair.values.get("budget") is None else ready.config.budget_p
        self.ends[pair.name] = Ended(pair, ready)
        self.accounts[pair.name] = Account(spent.charged_p, limit_p)

    def _check_new(self, run: str) -> None:
        """Refuse a run that another pair is: two at once would wait for each other."""
        for other in self.ends.values():
            if other.ready is not None and other.ready.run_id == run:
                raise InputError(
                    f"it asks the same as the pair {other.pair.name}, which answers it"
                )

    def _prepared(self, pair: Pair) -> Any:
        """Return a pair that is ready to run."""
        if pair.problem:
            raise InputError(pair.problem)
        config, values = self.config, dict(pair.values)
        values["budget"] = config.budget if values.get("budget") is None else values["budget"]
        values |= {name: getattr(config, name) for name in OF_ALL}
        checked = pair.question.settings().of(**values)
        ready = pair.question.load().prepare(checked, self.environment)
        if ready.by_hand:
            raise InputError("`judge`: a person judges in a command of his own, and not in a suite")
        return ready

    async def _round(
        self, name: str, budget_p: int, at_once: int, places: asyncio.Semaphore
    ) -> None:
        """Let a pair run up to its budget, and note what is known of it then."""
        account, last = self.accounts[name], self.ends[name]
        async with places:
            end = await self._end_of(last, budget_p, at_once, again=account.given_p is not None)
            spent = await self.ledger.spend(last.ready.run_id, None)
        result = end.result
        short = result is not None and result.stop_reason is StopKind.BUDGET
        self.ends[name] = replace(end, charged_p=spent.charged_p)
        self.accounts[name] = replace(
            account,
            charged_p=spent.charged_p,
            given_p=budget_p,
            need_p=result.spend.next_p if result is not None else 0,
            closed=not short,
        )
        if not short:
            self.tell(self.ends[name])

    async def _end_of(self, last: Ended, budget_p: int, at_once: int, *, again: bool) -> Ended:
        """Run a pair; after its first round it is prepared anew, as its parts have been used."""
        pair, ready = last.pair, last.ready
        try:
            if again:
                ready = self._prepared(pair)
                _check_same(ready.run_id, last.ready.run_id)
            pace = {
                name: max(1, limit // at_once)
                for name in ("concurrency", "rpm", "tpm")
                if (limit := getattr(self.config, name)) is not None
            }
            config = replace(ready.config, budget=to_usd(budget_p), deadline=None, **pace)
            ready = replace(ready, config=config, ledger=self.ledger)
            run = pair.question.load().run
            result = await run(ready, interruption=self.interruption, observe=unobserved)
        except Exception as error:  # noqa: BLE001 - one pair's failure does not stop the others
            return Ended(pair, last.ready, error=error)
        return Ended(pair, ready, result)


def _check_same(run: str, before: str) -> None:
    if run != before:
        raise JudgeloopError("its files were changed while the suite ran; start it again")


def line_of(end: Ended) -> Line:
    """Return how a pair ended, as its line of the summary."""
    pair, result = end.pair, end.result
    line = Line(
        name=pair.name,
        question=pair.question.name,
        exit_code=EXIT_USAGE if isinstance(end.error, InputError) else EXIT_ERROR,
        headline=str(end.error),
        systems=end.ready.pool.systems if end.ready else (),
        charged_p=end.charged_p,
        run=end.ready.run_id if end.ready else "",
        gate=pair.gate,
    )
    if result is None:
        known = isinstance(end.error, JudgeloopError)
        said = line.headline if known else f"unexpected {type(end.error).__name__}: {end.error}"
        return replace(line, headline=said)
    return replace(
        line,
        exit_code=result.exit_code,
        headline=result.page.headline,
        winner=result.winner,
        judged=result.judged,
    )
