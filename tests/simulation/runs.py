"""Whole runs under faults, each from its seed: several processes, their ends, and what is checked.

In the storm every process has a fault, and starts again after its end. In the clear weather that
follows each run is resumed to its end, and has to decide what an undisturbed run decides.
"""

from __future__ import annotations

import asyncio
import random
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simulation.history import History
from simulation.provider import Judge, Provider, System
from simulation.stores import CALLS, PLANS, STATEMENTS, Fault, Store, Wire, without_threads
from simulation.world import LIFE, BrokenError, KilledError, Life, World
from support.pools import make_pool, make_session

from judgeloop.core.errors import LedgerError
from judgeloop.core.outcomes import Finished, StopKind
from judgeloop.core.records import Order, Query
from judgeloop.engine.loop import FAILED_TEST, drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Interruption, Terms
from judgeloop.methods.stats.controls import MOST

REPEAT = "python benchmarks/simulate.py --seed {seed}"
TURNS = (
    "is killed",
    "is cancelled",
    "is interrupted",
    "is interrupted twice",
    "stands still",
    "the clock jumps",
    "is taken for dead",
)
LATEST = {**dict.fromkeys(TURNS, 3000), **dict.fromkeys(STATEMENTS, 400), **dict.fromkeys(CALLS, 60)}
SHARED_MEMORY = Path("/dev/shm")
LONGEST_S = 20.0  # of the processor, for a seed, which takes a tenth to half of a second
CHARGED = "SELECT CAST(coalesce(sum(charged_p), 0) AS BIGINT) FROM attempts"


@dataclass(frozen=True)
class Controls:
    """The controls of the first judge; printed, the same in every process."""

    def __call__(self, attempt: int) -> tuple[Query, ...]:
        """Draw the same in every attempt."""
        return tuple(replace(make_pool().query(n), alone=0) for n in range(MOST))


@dataclass(frozen=True)
class Job:
    """One question: its run and its judges."""

    name: str
    terms: Terms
    judges: tuple[str, ...]
    free: bool
    session_seed: int
    live: tuple[int, ...] = ()  # the systems that answer live


@dataclass
class Plan:
    """What a seed stands for."""

    seed: int
    items: int
    storm: float
    lives: int
    jobs: list[Job]
    ledger_budget_p: int | None
    rng: random.Random = field(repr=False)
    only: Fault | None = None  # the fault of every process in the storm

    @classmethod
    def of(cls, seed: int) -> Plan:
        """Draw the plan of a seed."""
        rng = random.Random(seed)
        items = rng.randint(5, 12)
        judges = rng.choice([("one",), ("one",), ("one", "two")])
        jobs = [_job(number, judges, rng) for number in range(rng.choice([1, 1, 2, 3]))]
        budget_p = rng.choice([None, None, rng.randint(200, 3000)])
        storm = rng.choice([0.0, 0.1, 0.3, 0.6])
        return cls(seed, items, storm, rng.randint(1, 3), jobs, budget_p, rng)

    def fault(self) -> Fault:
        """Draw the fault of the next process; small numbers are as likely as large ones."""
        if self.only is not None:
            return replace(self.only)
        kind = self.rng.choice(["none", *LATEST])
        return Fault(kind, int(LATEST.get(kind, 1) ** self.rng.random()))


def _job(number: int, judges: tuple[str, ...], rng: random.Random) -> Job:
    terms = Terms(
        f"run-{number}",
        order=rng.choice([Order.BOTH, Order.BOTH, Order.RANDOM]),
        seed=number,
        budget_p=rng.choice([None, rng.randint(100, 2500)]),
        concurrency=rng.choice([1, 2, 3, 8, 64]),
        calls_a_minute=rng.choice([None, None, 30]),
        timeout_s=30.0,
        deadline_s=rng.choice([None, None, rng.uniform(0.1, 200.0)]),
        controls=rng.choice([(), (), (Controls(),)]),
    )
    free, session_seed = rng.random() < 0.05, rng.randint(0, 9)
    live: tuple[int, ...] = () if free else rng.choice([(), (), (1,), (0, 1)])
    return Job(terms.run_id, terms, judges, free, session_seed, live)


class Simulation:
    """One simulated world with its provider, its store and its history."""

    def __init__(self, plan: Plan, store: Store, world: World, storm: float) -> None:
        self.plan = plan
        self.store = store
        self.world = world
        self.history = History()
        self.provider = Provider(plan.seed, self.history, storm)
        self.number = 0
        # The processes that live, each with its main task, its fault, and how it is interrupted.
        self.living: dict[Life, tuple[asyncio.Task[Any], Fault, Interruption, Job]] = {}

    def session(self, job: Job) -> Session[Any]:
        """Return the session of a job, which depends on nothing but the job."""
        limits = Limits(min_judgments=3, max_judgments=self.plan.items, max_abstentions=1.0)
        ahead = (0, None, 3)[(self.plan.seed + job.session_seed) % 3]
        return make_session(self.plan.items, limits=limits, seed=job.session_seed, ahead=ahead)

    async def live(self, job: Job, terms: Terms, interruption: Interruption) -> Finished[Any]:
        """Do what a command does, from opening the ledger to closing it (`runs/begin.py`)."""
        life = LIFE.get()
        reads = bool(job.live)
        judges = [Judge(self.provider, job.name, name, job.free, reads) for name in job.judges]
        pool = make_pool(self.plan.items)
        nothing = ("",) * self.plan.items
        outputs = (nothing if n in job.live else texts for n, texts in enumerate(pool.outputs))
        pool = replace(pool, outputs=tuple(outputs), live=job.live)
        names = [pool.systems[number] for number in job.live]
        systems = {name: System(self.provider, job.name, name) for name in names}
        ledger = self.store.open()
        wire = Wire(ledger, life, job.name, self.history)
        try:
            with ledger.only_run(job.name):
                await wire.recover(job.name)
                await wire.spend(job.name, None)
                return await drive(
                    self.session(job), pool, judges, wire, terms, systems=systems, interruption=interruption
                )
        finally:
            await wire.aclose()

    async def process(self, job: Job, terms: Terms, fault: Fault) -> Finished[Any] | None:
        """Start a process, let its fault happen, and check what it leaves behind."""
        self.number += 1
        life, stop = Life(f"process {self.number} ({fault.kind} at {fault.at})"), Interruption()
        PLANS.by_life[life] = fault
        main = self.world.start(life, self.live(job, terms, stop))
        self.living[life] = (main, fault, stop, job)
        try:
            return await asyncio.shield(main)
        except (KilledError, asyncio.CancelledError, LedgerError) as error:
            expected = self.history.recovered_alive or fault.kind in {*STATEMENTS, *CALLS}
            if isinstance(error, LedgerError) and not expected:
                raise
            return None
        finally:
            del self.living[life], PLANS.by_life[life]
            if life.alive:
                cancelled = fault.kind == "is cancelled"
                self.history.check_end(life, cancelled=cancelled)
                life.alive = False
                if life.began and not (life.failed or self.history.recovered_alive):
                    await self.check_closed(job, life)
            await self.check_money(job)

    async def check_closed(self, job: Job, life: Life) -> None:
        """Check that a process has left no attempt open: its worst case would stay reserved."""
        ledger = self.store.open()
        left = await ledger.recover(job.name)
        await ledger.aclose()
        if left != (0, 0):
            raise BrokenError(f"{life.name} left open what it never sent, and what it sent: {left}")

    def each_turn(self) -> None:
        """Let happen what happens between two steps of tasks."""
        for life, (main, fault, stop, job) in list(self.living.items()):
            match fault.comes(*TURNS):
                case "":
                    continue
                case "is killed":
                    life.kill()
                case "is cancelled":
                    main.cancel()
                case "is interrupted" | "is interrupted twice" as how:
                    stop.request()
                    life.over = "it was interrupted"
                    if how.endswith("twice"):
                        stop.request()
                case "stands still":
                    self.world.now_s += self.plan.rng.expovariate(1 / 600)
                case "the clock jumps":
                    self.world.wall_jumps_s += self.plan.rng.choice([-1, 1]) * 3.2e7
                case "is taken for dead":
                    self.history.recovered_alive = True
                    self.world.create_task(self.take_for_dead(job))

    async def take_for_dead(self, job: Job) -> None:
        """Close the attempts of a run that lives, as happens where there are no locks."""
        ledger = self.store.open()
        await ledger.recover(job.name)
        await ledger.aclose()

    async def check_money(self, job: Job, *, idle: bool = False) -> None:
        """Check that the bill is covered by what is booked, and that within the budgets."""
        history = self.history
        # Others go on while the ledger is read.
        bills_p = {one.name: history.bill_p(one.name) for one in self.plan.jobs}
        known = dict(history.held)
        ledger = self.store.open()
        spends = {one.name: await ledger.spend(one.name, None) for one in self.plan.jobs}
        # In one moment: between two, what a run gives back another may take.
        total_p = await ledger._do(lambda db: db.execute(CHARGED).rows[0][0])
        budgets = await ledger.balances()
        held = {**await ledger.verdicts(list(known)), **await ledger.outputs(list(known))}
        await ledger.aclose()
        for name, spend in spends.items():
            if bills_p[name] > spend.charged_p:
                raise BrokenError(f"{name}: billed {bills_p[name]}, booked {spend.charged_p}")
        most_p = self.store.budget_p
        if most_p is not None and total_p > most_p + history.over_p:
            raise BrokenError(f"booked {total_p} in a ledger with a budget of {most_p}")
        own_p, budget_p = spends[job.name].charged_p, job.terms.budget_p
        if budget_p is not None and own_p > budget_p + history.over_p:
            raise BrokenError(f"{job.name}: booked {own_p} of a budget of {budget_p}")
        for key, reason in known.items():
            if key not in held:
                raise BrokenError(f"the verdict of {reason} was lost")
            history.acknowledged(key, held[key])
        if idle and [total_p] != [one.charged_p for one in budgets]:
            raise BrokenError(f"booked {total_p}, but taken from the ledger's budget: {budgets}")
        if idle and not history.recovered_alive:
            low_p = history.charged_p[job.name]
            if not low_p <= own_p <= low_p + history.maybe_p[job.name]:
                raise BrokenError(f"{job.name}: booked {own_p}, but what was sent makes {low_p}")

    async def storm(self, job: Job) -> None:
        """Let the processes of a job come and go."""
        for _ in range(self.plan.lives):
            await asyncio.sleep(self.plan.rng.random() * 3)
            await self.process(job, job.terms, self.plan.fault())

    async def story(self) -> None:
        """Live through the storm, then resume each run, and once more: then nothing is asked."""
        if self.store.budget_p is not None:
            self.store.limit(self.store.budget_p)
        await asyncio.gather(*map(self.storm, self.plan.jobs))
        self.provider.storm = 0.0
        self.store.limit(10**15)
        self.plan.jobs = [replace(job, terms=clear(job.terms)) for job in self.plan.jobs]
        for job in self.plan.jobs:
            resumed = await self.process(job, job.terms, Fault())
            await self.check_money(job, idle=True)
            if resumed is not None and resumed.ending.stop.kind in FAILED_TEST:
                continue  # the next command tries the judge once more
            sent = len(self.history.requests)
            again = await self.process(job, job.terms, Fault())
            if len(self.history.requests) > sent:
                raise BrokenError(f"{job.name}: asked again, though everything was known")
            if _decision(again) != _decision(resumed):
                raise BrokenError(f"{job.name}, repeated: {_decision(again)}, not {_decision(resumed)}")
            calm = await undisturbed(self, job)
            # A process that was ended may have failed a try of the controls, so that the next draws others; and a
            # control that it asked twice in vain stays without a verdict.
            others = resumed is not None and any(one and (one.number > 1 or one.abstained) for one in resumed.controls)
            if others or calm.ending.stop.kind is StopKind.CONTROLS:
                continue
            if _decision(resumed) != _decision(calm):
                raise BrokenError(f"{job.name}, resumed: {_decision(resumed)}, not {_decision(calm)}")

    def run(self) -> History:
        """Run it to its end.

        Raises:
            BrokenError: a promise was broken.
        """
        self.world.each_turn = self.each_turn
        with without_threads(self.world), that_ends():
            try:
                self.world.run_until_complete(self.story())
            finally:
                self.world.end()
        if self.world.unseen:
            raise BrokenError(f"nobody looked at an error: {self.world.unseen}")
        return self.history


@contextmanager
def that_ends() -> Iterator[None]:
    """Raise `BrokenError` in a step that comes back to the loop no more: turns and seconds of the world stand still."""

    def ends(*_: object) -> None:
        raise BrokenError(f"a step has no end: {LONGEST_S:.0f} s of the processor")

    before = signal.signal(signal.SIGVTALRM, ends)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def clear(terms: Terms) -> Terms:
    """Return the same terms without limits."""
    return replace(terms, budget_p=None, deadline_s=None, calls_a_minute=None)


def _decision(finished: Finished[Any] | None) -> object:
    if finished is None:
        return None
    found = finished.ending
    answers = [(one.choice.key, replace(one.answer, reason="")) for one in found.labels]
    return found.winner, found.stop.kind, answers


async def undisturbed(simulation: Simulation, job: Job) -> Finished[Any]:
    """Return how a run ends that nothing disturbs, in a ledger of its own."""
    world = simulation.world
    calm = Simulation(simulation.plan, Store(":memory:", None), world, storm=0.0)
    return await world.start(Life("calm"), calm.live(job, job.terms, Interruption()))


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder where writing is quick."""
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def simulate(seed: int, folder: Path, only: Fault | None = None, *, address: str | None = None) -> History:
    """Run the simulation of a seed in `folder`; `only` is then the fault of every process.

    Its ledger is a file there, or that of a server, which has to be empty.

    Raises:
        BrokenError: a promise was broken; the message has the command that repeats it.
    """
    random.seed(seed)  # the random waits before another attempt
    path = folder / f"{seed} {only}" / "ledger.sqlite"
    plan = replace(Plan.of(seed), only=only)
    try:
        store = Store(address or path, plan.ledger_budget_p)
        return Simulation(plan, store, World(), plan.storm).run()
    except Exception as error:
        raise BrokenError(f"{error}\n{REPEAT.format(seed=seed)}") from error
