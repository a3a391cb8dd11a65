"""What a question is, and what is the same for all: it is prepared, run, forecast, and its result is kept.

A question says what a run is made of, what is left of it, and what its result is. It has no state; the catalogue
(`catalogue.py`) imports it when it is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from judgeloop.core.outcomes import Finished
from judgeloop.core.protocols import SoFar, T
from judgeloop.core.work import lasting
from judgeloop.engine.controls import NAME as CONTROL
from judgeloop.engine.session import check_draws
from judgeloop.engine.state import Interruption, Observe, Terms, unobserved
from judgeloop.ledger.records import RecordedRun
from judgeloop.methods.stats.hedged import Limits
from judgeloop.report.labels import Texts
from judgeloop.report.page import Page
from judgeloop.report.people import ByPeople, by_people
from judgeloop.report.result import RunResult
from judgeloop.runs.begin import conducted, opened
from judgeloop.runs.forecast import Forecast, Left, forecast
from judgeloop.runs.inputs import Inputs, read_inputs
from judgeloop.runs.kept_tables import keep_tables_in
from judgeloop.runs.known import answered_beyond
from judgeloop.runs.peoples_time import read_twice
from judgeloop.runs.prepared import Command, Ids, Parts, Prepared, ids_of
from judgeloop.runs.telling import standing_of, told
from judgeloop.settings.run_settings import RunSettings, within_ceiling

PROMISES = {"risk", "means", "interval"}  # the facts that promise something: nothing does that broke off
S = TypeVar("S", bound=RunSettings)
R = TypeVar("R", bound=RunResult)


@dataclass(frozen=True, slots=True)
class Ran(Generic[S, T]):
    """A run that has ended: the parts that it was made of in the end, how it ended, and all runs of its ledger."""

    run: Prepared[S]
    parts: Parts[T]
    finished: Finished[T]
    runs: Sequence[RecordedRun] = ()


class Question(ABC, Generic[S, T, R]):
    """A question: `S` are its settings, `T` counts its labels, `R` is its result."""

    name: ClassVar[str]
    result: ClassVar[type[Any]]

    @abstractmethod
    def check(self, config: S) -> None:
        """Refuse settings that do not go together.

        Raises:
            InputError: says which, and what to do instead.
        """

    @abstractmethod
    def parts(self, config: S, inputs: Inputs) -> Parts[T]:
        """What a session is made of; refuses inputs that do not go with the settings."""

    @abstractmethod
    def left(self, ran: Ran[S, T]) -> Left:
        """What is left of a run that asked nothing."""

    @abstractmethod
    def result_of(self, ran: Ran[S, T]) -> R:
        """The figures of a run, without a page."""

    @abstractmethod
    def page(self, result: R) -> Page:
        """A result in sentences and tables."""

    def so_far(self, tally: T, systems: tuple[str, ...], longest: int) -> str:
        """Who leads during a run, in words, with at most `longest` characters of a name."""
        del tally, systems, longest
        return ""

    def notice(self, run: Prepared[S]) -> str | None:
        """What the user should know before anything is spent; None if there is nothing."""
        del run
        return None

    def identity(self, config: S, inputs: Inputs) -> dict[str, Any]:
        """What the run reads beside its inputs, by the name of the setting that names it: a part of its id."""
        del config, inputs
        return {}

    def limit_moves(self, config: S, parts: Parts[T]) -> bool:
        """Whether a run that has not ended may go on with another limit: what it says holds whatever the limit is."""
        del config, parts
        return False

    def inputs(self, config: S, environment: Mapping[str, str], *, offline: bool) -> Inputs:
        """What is read: files, judges, systems."""
        return read_inputs(config, environment, offline=offline)

    def settled(self, config: S, inputs: Inputs) -> tuple[S, Inputs]:
        """Settings and limits, where what was read says more of them."""
        return config, inputs

    async def with_others(self, ran: Ran[S, T], result: R) -> R:
        """A result that notes what else the ledger says of it."""
        del ran
        return result

    def prepare(
        self, config: S, environment: Mapping[str, str], *, offline: bool = False, within: str = ""
    ) -> Prepared[S]:
        """Read and check everything that a run needs; nothing is spent.

        `environment` holds the judges' API keys. With `offline`, only a forecast is made, which needs no key. `within`
        names the night that the run is of: other nights have runs of their own.

        Raises:
            InputError: a setting or a file is wrong.
        """
        self.check(config)
        keep_tables_in(config.cache_dir)  # before the parts are made, which need some
        config = within_ceiling(config, environment)
        config, inputs = self.settled(config, self.inputs(config, environment, offline=offline))
        # Here, and not in the run, which cannot be interrupted while clusters are computed.
        parts = self.parts(config, inputs)
        check_draws(parts.selector, parts.rule)
        return Prepared(config, inputs, parts, *self._ids(config, inputs, parts, within))

    def drawn_with(self, run: Prepared[S], seed: int) -> Prepared[S]:
        """The same run with the draws of another seed, and so the asking of one that had it."""
        config = replace(run.config, seed=seed)
        parts = self.parts(config, run.inputs)
        return replace(run, config=config, parts=parts, asking=self._ids(config, run.inputs, parts).asking)

    def _ids(self, config: S, inputs: Inputs, parts: Parts[T], within: str = "") -> Ids:
        # How many members of each, and not which are drawn: a question is the same for every seed.
        families = {"families": (inputs.pool.families, [*map(len, parts.members)])} if parts.members else {}
        with lasting("reading what is asked"):
            moves = self.limit_moves(config, parts)
            content = families | self.identity(config, inputs)
            return ids_of(self.name, config, inputs, limit_moves=moves, within=within, **content)

    async def run(
        self, run: Prepared[S], *, interruption: Interruption | None = None, observe: Observe[T] = unobserved
    ) -> R:
        """Ask the judges until the question is answered, or money, judgments or items run out."""
        with opened(run) as begun:
            observe = await self._telling(begun, observe)
            return await self._concluded(await self._ran(begun, begun.terms(), interruption, observe))

    def of_people(self, run: Prepared[S]) -> Prepared[S]:
        """The run as it asks people, if they judge."""
        return run

    def more(self, run: Prepared[S], tally: T) -> int | None:
        """About how many more judgments decide, if it goes on like this; None if no number is known to."""
        del run, tally
        return None

    def needs(self, run: Prepared[S]) -> int | None:
        """As `SoFar.needs`, by what is known before the first answer."""
        del run
        return None

    async def _telling(self, run: Prepared[S], observe: Observe[T]) -> Observe[T]:
        """An observer that also tells people how far the run is, and what a dry run says before the first answer."""
        if run.people is None:
            return observe
        twice = read_twice(run.most_judgments, run.config)
        first = SoFar(0, run.most_judgments + twice, again=twice)
        if run.pool.live:
            return told(run, observe, partial(self.more, run), first)
        parts = self.parts(run.config, run.inputs)  # a proxy's verdicts are of one session
        found = await self.forecast(replace(run, command=Command(foresees=True), parts=parts))
        return told(run, observe, partial(self.more, run), standing_of(found, first), found)

    async def forecast(self, run: Prepared[S]) -> Forecast:
        """What a run would take, with the result from the ledger's verdicts alone; asks no judge, spends nothing."""
        if not run.booked:  # all is known
            return Forecast(await self.run(run))
        with opened(run, offline=True) as begun:
            terms = begun.terms(offline=True)
            ran = await self._ran(begun, terms)
            result = await self._concluded(ran)
            found = await forecast(ran.run, terms, self.left(ran), result, ran.finished)
            open_ = run.by_hand and not (found.decided or found.equal)  # of an equal system a table tells
            return replace(found, needs=self.needs(run)) if open_ else found

    async def ask(
        self, run: Prepared[S], terms: Terms, interruption: Interruption | None = None, observe: Observe[T] = unobserved
    ) -> tuple[Parts[T], Finished[T]]:
        """How a run ends, and the parts that it was made of in the end."""
        return run.parts, await conducted(run.session(), run, terms, interruption=interruption, observe=observe)

    async def _ran(
        self, run: Prepared[S], terms: Terms, interruption: Interruption | None = None, observe: Observe[T] = unobserved
    ) -> Ran[S, T]:
        run = await self._with_limits(run)
        parts, finished = await self.ask(run, terms, interruption, observe)
        return Ran(run, parts, finished, await run.look(lambda reader: reader.runs()) if run.booked else ())

    async def _with_limits(self, run: Prepared[S]) -> Prepared[S]:
        """A run with all limits that held in it: what was drawn keeps the limit that it was drawn under.

        Where it goes on with another limit than the last, that begins after all draws which the ledger has verdicts of,
        and after all that the run asked about: some had no answer when it broke off.
        """
        runs = await run.look(lambda reader: reader.runs()) if run.any_limit else ()
        before = next((one for one in runs if one.id == run.run_id and one.note.limits), None)
        if before is None:
            return run
        held, limit = before.note.limits, run.limits.max_judgments
        if held[-1][1] == limit:
            return self._under(run, held)
        # What the ledger knows is drawn once more under the old limits; nothing is asked, and judges stay open.
        known = self._under(replace(run, command=Command(foresees=True)), held)
        _, finished = await self.ask(known, known.terms(offline=True))
        tally: Any = finished.ending.estimate.tally
        asked = await run.look(lambda reader: reader.asked(run.run_id, CONTROL))
        ids = {place for place, item in enumerate(run.pool.items) if item.id in asked}
        draws = enumerate(run.session().draws(), start=1)
        last = max((number for number, step in draws if any(one.position in ids for one in step.choices)), default=0)
        drawn = max(tally.judged + tally.abstentions, last)
        return self._under(run, (*(one for one in held if one[0] < drawn), (drawn, limit)))

    def _under(self, run: Prepared[S], held: Limits) -> Prepared[S]:
        """The run with parts of its own for the limits that `held`, where they are not the one that it was made for."""
        if held == run.limits.held or (len(held) == 1 and held[0][1] == run.limits.max_judgments):
            return run
        limits = replace(run.limits, max_judgments=held[-1][1], held=held)
        config, inputs = replace(run.config, max_judgments=held[-1][1]), replace(run.inputs, limits=limits)
        return replace(run, config=config, inputs=inputs, parts=self.parts(config, inputs))

    async def _concluded(self, ran: Ran[S, T]) -> R:
        result, pool = await self.with_others(ran, self.result_of(ran)), ran.finished.pool
        people = by_people(ran.finished, rates=ran.run.config.rates)
        if ran.run.by_hand and not ran.run.pool.live:
            beyond = await answered_beyond(self.of_people(ran.run), ran.finished)
            people = replace(people or ByPeople(0, 0.0, 0.0), beyond=beyond) if people or beyond else None
        result = replace(result, by_people=people)
        page = self.page(result)
        if result.outcome.broke_off:
            page = replace(page, facts=tuple(one for one in page.facts if one.key not in PROMISES))
        return replace(result, page=page, texts=None if pool is None else Texts(pool))
