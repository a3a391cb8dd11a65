"""What a question would take: judgments, calls and dollars, in a low, an expected and the worst case; asks no judge.

Takes what the question says is left (`Left`), prices the calls that the ledger does not answer, and returns a
`Forecast`, as text and as JSON values. The worst case is an upper bound; the low and expected cases are guesses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import chain
from typing import Any, NamedTuple

from judgeloop.core.jsonable import Say
from judgeloop.core.money import budget_over, show_usd, to_pico, to_usd
from judgeloop.core.outcomes import ControlTally, Finished, StopKind
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Abstention, Query, Quote
from judgeloop.core.work import counted
from judgeloop.engine.answering import AnsweringModel
from judgeloop.engine.asks import Planned
from judgeloop.engine.controls import calls_each
from judgeloop.engine.generating import Sources
from judgeloop.engine.state import OneModel, Terms
from judgeloop.judges.catalogue import is_decision
from judgeloop.judges.wage import Wage
from judgeloop.methods.stats.controls import MOST, USUAL
from judgeloop.report.facts import abstained, thing_of
from judgeloop.report.groups import LONGEST_NAME, MOST_SHOWN, NO_GROUP
from judgeloop.report.notes import Note, NoteCode
from judgeloop.report.result import SCHEMA_VERSION, RunResult
from judgeloop.report.terminal import render, wrapped
from judgeloop.report.words import WIDTH, about, as_python, count, dollars, per_cent, shortened, visible
from judgeloop.runs.known import LOOKED_UP, in_the_other_order, not_known
from judgeloop.runs.peoples_time import PeoplesTime, peoples_time, read_twice
from judgeloop.runs.prepared import Prepared

EVEN = 0.5
FREE = "identical or oversized outputs"
FORESEEN = {NoteCode.ALL_IDENTICAL, NoteCode.SEARCHED}  # doubts that need no further verdict
OPENING = "Forecast only: a dry run does not call the judge and costs nothing."
Quotes = Sequence[Sequence[Quote]]  # the quotes of every call, by query


class Range(NamedTuple):
    """The low, expected and worst case of a number."""

    low: int
    expected: int
    worst: int


NOTHING = Range(0, 0, 0)


@dataclass(frozen=True, slots=True)
class EqualSystem:
    """What `not_worse` does with a system that is equal, at a share of ties.

    The chances that it passes, fails and gets no answer, the expected `judgments`, and
    (approximately) the limit and the margin with which it passes in 80 % of the runs. If it passes with
    less than an even chance at this `limit`, and no limit up to `most` makes it 80 %, `passes_at_most` is its
    chance at that.
    """

    ties: float
    judgments: float
    passes: float
    fails: float
    none: float
    limit_for_80: int
    margin_for_80: float
    limit: int
    most: int
    passes_at_most: float | None


def usual(equal: Sequence[EqualSystem]) -> EqualSystem | None:
    """The one with the share of ties in the middle; None of none."""
    return equal[len(equal) // 2] if equal else None


@dataclass(frozen=True, slots=True)
class GroupOutlook:
    """A group's number of items, and the smallest gap that is found in it in 90 % of the runs.

    The gap is approximate, and None where judging all items finds any.
    """

    group: str | None
    items: int
    gap_found: float | None


@dataclass(frozen=True, slots=True)
class Left:
    """What a question says is left of its run.

    - `judgments`: further ones. `assumed`: in words what the expected case assumes; None if it rests on verdicts.
    - `queries`: those that may be asked yet, beside the number that is `done`; `in_order`: as they are drawn.
    - `stays_open`, `equal`, `groups`: as in `Forecast`, the largest group first.
    - `first`: the judges that are asked all queries before. `by_proxy`: of each query those that a judge of these is
      asked about before it, and of no other. `tested`: the judges whose controls come first, if not the run's own.
    """

    judgments: Range
    assumed: str | None
    queries: Sequence[Query]
    done: int
    stays_open: str = ""
    equal: tuple[EqualSystem, ...] = ()
    groups: tuple[GroupOutlook, ...] = ()
    first: tuple[Judge, ...] = ()
    by_proxy: Sequence[Sequence[Query]] | None = None
    tested: tuple[Judge, ...] = ()
    in_order: bool = False

    @property
    def within(self) -> int:
        """How many of the queries, from the first on, the judgments are among."""
        return self.judgments.worst if self.in_order else len(self.queries)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a question would take. No judge was asked, and nothing was spent.

    - `result`: what the verdicts in the ledger and identical outputs say already.
    - `judgments`, `calls`, `cost_p`: further ones, and their cost in picodollars, in the low, expected and worst case.
      `unknown`: these judgments without those that the ledger has.
    - `assumed`: in words what the expected case assumes; None if it rests on verdicts.
    - `affordable`: the number of judgments that the rest of the budget probably pays for; None without a budget, or if
      calls cost nothing. Each is set aside at its worst case, `reserved_p`, after the calls that are made in any case
      have cost about `beside_p`. `controls`: the calls for controls, expected and in the worst case.
    - `of_controls`: the judges' calls among these by their keys, the expected ones and the others: pairs of a night may
      share them.
    - `questions`: the number of queries that may be asked, of which `unasked` take no call: their outputs are
      identical, or too large. All would probably cost `all_p`; 0 if that is not known.
    - `stays_open`: a sentence on why the question will probably have no answer; empty if one is expected.
    - `equal`: what happens to an equal system, by the share of ties, if that is asked. `groups`: those that are tested.
    - `outputs`: the part of `calls` for the outputs of systems that answer live. `outputs_cost_p` is their cost, and
      `judging_cost_p` that of all other calls; None without such systems.
    - `again`: how many of these calls ask again what another model had judged, and their probable cost.
    - `unpriced`: the judges whose price is not known; `unpriced_systems`: the systems.
    - `ways`: how the verdicts of a proxy may be bought, line by line, and which way is chosen.
    - `settings`: which files set something; empty if none did.
    - `known`: how many of those that may be drawn have a verdict already, beside those in the result. `skipped`: how
      many in the result have none, and are asked again. `turned`: of how many others people have judged the outputs in
      the other order, as another seed has it.
    - `people`: the time that people probably take, and what it costs; None if none judge. `needs`: as in `SoFar`.
    """

    result: RunResult
    judgments: Range = NOTHING
    calls: Range = NOTHING
    cost_p: Range = NOTHING
    assumed: str | None = None
    affordable: int | None = None
    reserved_p: int = 0
    beside_p: int = 0
    controls: tuple[int, int] = (0, 0)
    of_controls: Sequence[Mapping[str, Quote]] = ()
    questions: int = 0
    unasked: int = 0
    all_p: int = 0
    stays_open: str = ""
    equal: tuple[EqualSystem, ...] = ()
    groups: tuple[GroupOutlook, ...] = ()
    outputs: Range | None = None
    outputs_cost_p: Range | None = None
    judging_cost_p: Range | None = None
    again: tuple[int, int] = (0, 0)
    unpriced: tuple[str, ...] = ()
    unpriced_systems: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    settings: str = ""
    people: PeoplesTime | None = None
    needs: int | None = None
    known: int = 0
    skipped: int = 0
    turned: int = 0
    unknown: Range = NOTHING

    @property
    def priced(self) -> bool:
        """Whether the price of every judge and system is known."""
        return not (self.unpriced or self.unpriced_systems)

    @property
    def decided(self) -> bool:
        """Whether what is known decides, or needs no call."""
        return self.calls.worst == 0 or self.result.stop_reason is not StopKind.DRY_RUN

    @property
    def falls_short(self) -> bool:
        """Whether the budget probably ends before a decision."""
        return self.affordable is not None and self.affordable < self.judgments.expected

    @property
    def warnings(self) -> list[str]:
        """What to be careful of, in sentences: the chance of an answer, prices and data."""
        passes = [] if self.decided else unlikely_to_pass(self.equal, self.result.items)
        stays = [f"Warning: {self.stays_open}"] if self.stays_open else []
        return [*passes, *stays, *(f"Warning: {one.message}" for one in self._notes)]

    @property
    def _notes(self) -> list[Note]:
        doubts = (one for one in self.result.doubts() if one.code in FORESEEN)
        return [*doubts, *self.result.setup.warnings, *self.result.data.warnings]

    @property
    def usd_of_all(self) -> float | None:
        """The probable cost of all judgments, as those so far or their quotes say; None if that is not known."""
        quoted_p = self.all_p and self.all_p + self.beside_p if self.priced else 0
        return self.result.usd_of_all or (float(to_usd(quoted_p)) if quoted_p else None)

    @property
    def basis(self) -> str:
        """What the expected and the worst case assume."""
        basis = self.assumed or "that further verdicts are like those in the ledger"
        if self.judgments.low == self.judgments.worst:
            basis = "that all allowed judgments are made, as this rule does"
        return f"The expected case assumes {basis}. The worst case makes every allowed judgment at its maximum cost."

    def text(self, width: int = WIDTH) -> str:
        """The text for a terminal of `width` columns."""
        if self.decided:
            settings = f" Settings: {visible(self.settings)}." if self.settings else ""
            return render(self.result.page, width=width, short=True, more=f"{self._decided()}{settings}")
        paragraphs = [
            *self._supposed(),
            *self._sentences(),
            self._affordable(),
            *self.warnings,
            *self._after_warnings(),
        ]
        parts = [wrapped(OPENING, width), self._table(), *self._ways(width), *self._equal(width)]
        return "\n\n".join([*parts, "\n".join(wrapped(text, width) for text in paragraphs)])

    def _decided(self) -> str:
        """That the question is decided, and what controls and open groups still cost at most."""
        if self.calls.worst == 0:
            known = "known verdicts or identical outputs already decide"
            return (
                f"Nothing would be asked: {known if self.result.answer.answered else 'all that may be asked is known'}."
            )
        again, _, most_again = (0, 0, 0) if self.people is None else self.people.again
        controls = self.calls.low > again + self.skipped
        left = ["controls"] if controls else []
        left += ["open groups"] if self.judgments.worst else []
        left += ["second readings"] if most_again else []
        left += [f"skipped {thing_of(self.result)}s"] if self.skipped else []
        decides = "Known verdicts or identical outputs already decide."
        decides = decides if self.result.answer.answered else "All else is known."
        untested = " Until the controls are asked, no gate is passed." if controls else ""
        return (
            f"{OPENING} {decides} The {' and '.join(left)} still need "
            f"{count(self.calls.worst, 'call')} at most, for {show_usd(self.cost_p.worst)} at most.{untested}"
        )

    def _supposed(self) -> Iterator[str]:
        """What is assumed, of people's time, too, and whether the limit probably ends it open."""
        yield self.basis
        if self.people is not None:
            yield self.people.said
        if self.needs is not None:
            decide = f" (with {self.needs:,}, most would decide)" if self.needs else ""
            yield (
                f"It takes {self.judgments.expected:,} on average, decided or not; most runs reach the limit of {self.result.limit:,} "
                f"undecided{decide}."
            )

    def _sentences(self) -> Iterator[str]:
        """What it would cost never to stop, what of it takes no call, and what else is asked."""
        usd, result = self.usd_of_all, self.result
        if usd is not None and float(to_usd(self.cost_p.expected)) < usd:
            yield f"All {count(result.queries_in_all, 'judgment')} would cost about {dollars(usd)}."
        thing, free = thing_of(result), self.unasked - result.asked
        thing = result.data.unit if thing == "item" else thing
        if known := result.asked - result.counts.abstentions + self.known:
            silent, free = abstained(result), free - self.known
            have = f"{'has' if known == 1 else 'have'} a verdict already{silent and f' ({silent})'}"
            yield f"{known:,} of {count(result.queries_in_all, thing)} {have}; the table has what is to come."
        elif paid_p := result.spend.run_p:
            yield f"The run has cost {show_usd(paid_p)} so far; the table has what is to come."
        if self.turned:
            yield f"Verdicts on {count(self.turned, thing)} in the other order, of another seed, do not count."
        if free > 0:
            yield f"{count(free, thing)} need{'s' * (free == 1)} no call ({FREE})."
        if result.setup.order == "both" and self.people is None:
            fewer = (
                ""
                if all(map(is_decision, result.setup.judges))
                else "; one that ties at once takes one, so expect fewer"
            )
            yield f"Each item counts as two calls{fewer}."
        expected, worst = self.controls
        if worst:
            yield f"The calls include {expected:,} to {worst:,} for controls, which test the judge first."
        if asked := self.result.page.text("asked"):
            yield f"Asked before: {asked}."
        if self.again[0]:
            yield (
                f"Up to {count(self.again[0], 'verdict')} of another model than the one that answers now would be asked "
                f"again{about(float(to_usd(self.again[1])))}: a gate counts those of one model."
            )

    def _affordable(self) -> str:
        """How far the budget goes."""
        left, budget = self.result.spend.left_p, self.result.spend.budget_p
        if left is None:
            return "No budget limits the cost."
        shown = f"budget of {show_usd(budget or 0)}"
        if self.result.spend.ledger_is_short:
            shown = f"{show_usd(left)} left of a budget of the ledger"
        if self.affordable is None or self.affordable >= self.judgments.worst:
            if not self.cost_p.worst and self.people is not None:
                return "People have no price here, and nothing counts against the budget."
            if self.cost_p.worst <= left:
                return f"The {shown} is enough."
            return f"The {shown} is enough at likely costs, but not at maximum costs."
        if self.affordable == 0:
            needs = f"A judgment reserves its maximum cost, about {show_usd(self.reserved_p)}."
            what = "The controls beforehand cost" if self.controls[1] else "What is asked before costs"
            first = f" {what} about {show_usd(self.beside_p)}." if self.beside_p else ""
            return f"The {shown} covers no further judgment. {needs}{first}{self._probably_enough}"
        enough = "the expected case, not for the worst"
        if self.unknown == self.judgments:  # the table has these numbers
            enough = f"the expected {self.judgments.expected:,}, not for all {self.judgments.worst:,}"
        ends = "probably too few to decide" if self.falls_short else f"enough for {enough}"
        more = self._probably_enough if self.falls_short else ""
        return f"The {shown} covers about {count(self.affordable, 'judgment')}: {ends}.{more}"

    @property
    def _probably_enough(self) -> str:
        """A budget of the run for all that it may judge at likely costs; the last, too, is held at its maximum."""
        spend, most, items = self.result.spend, self.judgments.worst, self.questions - self.result.asked
        if spend.ledger_is_short or not self.priced or self.result.setup.night:
            return ""
        rest_p = max(0, round(to_pico(str(self.usd_of_all or 0))) - self.beside_p)
        every_p = self.beside_p + round(rest_p * min(1, most / max(1, items)))
        enough = budget_over(spend.charged_p + max(self.cost_p.expected, every_p) + self.reserved_p)
        which = "all items" if most >= items else f"these {most:,}"
        return f" `budget={enough}` is enough for {which} at likely costs."

    def _after_warnings(self) -> Iterator[str]:
        """What groups can show, what has no price, and where prices, columns and settings are from."""
        if self.groups:
            yield self._groups()
        yield from (f"{visible(one)} has no known price." for one in (*self.unpriced, *self.unpriced_systems))
        if self.outputs is not None and self.outputs.worst:
            yield (
                "How long the missing outputs will be is not known: the expected case supposes 400 tokens "
                "each, the worst case the limit of tokens."
            )
        setup, data = self.result.setup, self.result.data
        named = {"Price": setup.prices, "Tier": setup.tier, "Columns": data.guessed, "Settings": self.settings}
        yield from (f"{name}: {visible(text)}." for name, text in named.items() if text)

    def _groups(self) -> str:
        """What the groups add, and which gap each can show."""
        cost = f", for about {dollars(self.usd_of_all)} in all" if self.usd_of_all else ""
        said = (
            "The groups are tested beside that: the expected case leaves their further judgments out. Where some stay "
            f"open, nearly every item is judged{cost}."
        )
        found = [
            f"{shortened(one.group or NO_GROUP, LONGEST_NAME)} ({count(one.items, 'item')}) {one.gap_found:.2f}"
            for one in self.groups[:MOST_SHOWN]
            if one.gap_found is not None
        ]
        if not found:
            return f"{said} A group that is judged whole is decided, unless it is level."
        more = len(self.groups) - len(found)
        left = f", and {count(more, 'smaller group')} more" if more else ""
        return f"{said} The gap that is found in 90 % of the runs, about: {', '.join(found)}{left}."

    def _table(self) -> str:
        """The low, expected and worst case of judgments, calls and cost, in columns."""

        def costs(cases: Range, *, known: bool) -> tuple[str, ...]:
            return tuple(map(show_usd, cases)) if known else ("not known",) * 3

        rows: list[tuple[str, ...]] = [
            ("", *Range._fields),
            ("judgments", *(f"{one:,}" for one in self.unknown)),
            ("calls", *(f"{one:,}" for one in self.calls)),
            *([("  outputs", *(f"{one:,}" for one in self.outputs))] if self.outputs else []),
            ("cost", *costs(self.cost_p, known=self.priced)),
        ]
        if self.outputs_cost_p is not None and self.judging_cost_p is not None:
            rows.append(("  outputs", *costs(self.outputs_cost_p, known=not self.unpriced_systems)))
            rows.append(("  judging", *costs(self.judging_cost_p, known=not self.unpriced)))
        return "\n".join(f"  {a:<10}{b:>10}{c:>10}{d:>10}" for a, b, c, d in rows)

    def _ways(self, width: int) -> list[str]:
        """How a proxy's verdicts may be bought, as a table with its title, or why not; nothing without one."""
        none = sum(one.startswith(" ") for one in self.ways) == 1  # besides that without it; why is said below
        lines = [one if one.startswith(" ") else wrapped(one, width) for one in self.ways[2 * none :]]
        return ["\n".join(lines)] if lines else []

    def _equal(self, width: int) -> list[str]:
        """What happens to an equal system, as a table with its title; nothing if not asked."""
        if (common := usual(self.equal)) is None:
            return []
        rows: list[tuple[str, ...]] = [("ties", "judgments", "passes", "fails", "no answer", "items for 80 %")]
        for one in self.equal:
            chances = map(per_cent, (one.passes, one.fails, one.none))
            rows.append((per_cent(one.ties), f"{one.judgments:,.0f}", *chances, f"{one.limit_for_80:,}"))
        lines = (f"  {a:>5}{b:>11}{c:>9}{d:>8}{e:>11}{f:>16}" for a, b, c, d, e, f in rows)
        began = ", from the first judgment on" if self.result.asked else ""
        table = "\n".join([f"How often an equal system would pass{began}:", *lines])
        if not common.margin_for_80:  # all items are judged
            return [table]
        said = (
            f"With {per_cent(common.ties)} ties and this limit, an equal system passes in 80 % of the runs at a margin "
            f"of about {common.margin_for_80:.2f}."
        )
        return [table, wrapped(said, width)]

    def to_dict(self, say: Say = str) -> dict[str, Any]:
        """The forecast as JSON values: amounts in dollars, null without a price."""
        result = self.result
        setup, data = result.setup.to_json(say), result.data.to_json(say)
        kept = ("tier", "prices", "old_prices", "run", "rule", "selector")

        def in_dollars(cost_p: Range | None) -> dict[str, float] | None:
            return None if cost_p is None else {name: float(to_usd(p)) for name, p in cost_p._asdict().items()}

        return {
            "schema_version": SCHEMA_VERSION,
            "job": result.job,
            "dry_run": True,
            "about": str(result.about),
            "items": result.items,
            "decided_by_ledger": result.winner,
            "answered_from_ledger": result.asked,
            "judgments": self.unknown._asdict(),
            "calls": self.calls._asdict(),
            "outputs": None if self.outputs is None else self.outputs._asdict(),
            "usd_of_outputs": None if self.unpriced_systems else in_dollars(self.outputs_cost_p),
            "usd_of_judging": None if self.unpriced else in_dollars(self.judging_cost_p),
            "questions": self.questions,
            "questions_without_a_call": self.unasked,
            "usd": in_dollars(self.cost_p) if self.priced else None,
            "usd_of_all": self.usd_of_all,
            "expected_is_assumed": self.assumed is not None,
            "budget_usd": result.spend.budget_usd,
            "budget_pays_for": self.affordable,
            "stays_open": say(self.stays_open) if self.stays_open else None,
            "warnings": [one.to_json(say) for one in self._notes],
            "equal_system": [asdict(one) for one in self.equal],
            "groups": [asdict(one) for one in self.groups],
            "ways": list(self.ways),
            "by_people": None if self.people is None else self.people.to_json(),
            "guessed": data["guessed"],
            "empty": data["empty"],
            "ended": data["ended"],
            **{name: setup[name] for name in kept},
        }

    def __repr__(self) -> str:
        """The text, with settings as Python writes them; `str()` is the same."""
        return as_python(self.text())

    def _repr_html_(self) -> str:
        """The text as HTML; notebooks call this to show it."""
        return f"<pre style='font-family: monospace'>{escape(str(self))}</pre>"


def unlikely_to_pass(equal: Sequence[EqualSystem], items: int, *, planned: bool = True) -> list[str]:
    """A warning if an equal system passes with less than an even chance, else nothing.

    `items` are those that there are. What it takes is said where that can still be chosen: of a run that is `planned`.
    """
    common = usual(equal)
    if common is None or common.passes >= EVEN:
        return []
    limit = f"`max_judgments={common.limit_for_80}`"
    if common.limit_for_80 > items:
        limit = f"{common.limit_for_80:,} items (there are {items:,}) and {limit}"
    more = ""
    if common.passes_at_most is not None:
        every = "all " if common.most == items else ""
        more = f", and with {every}{common.most:,} in {per_cent(common.passes_at_most)}"
    often = f"in only {per_cent(common.passes)} of the runs{more} (if {per_cent(common.ties)} are ties)"
    said = f"Warning: with at most {count(common.limit, 'judgment')} an equal system passes {often}."
    if not planned:
        return [f"{said} A dry run says what it takes."]
    wider = f"or a margin of about {common.margin_for_80:.2f}"
    return [
        f"{said} For 80 % it takes {limit}, {wider}. Choose now: to judge more for another margin is a second test."
    ]


async def forecast(
    run: Prepared[Any], terms: Terms, left: Left, result: RunResult, finished: Finished[Any]
) -> Forecast:
    """What a run would take from here, of which the ledger is open.

    Before what is `left` come the rest of the controls. The rest of the budget bounds no figure, and only says what is
    affordable. Retries are not included.
    """
    left_p = finished.spend.left_p
    queries, judges, judgments, systems = left.queries, run.judges, left.judgments, run.systems
    sources = Sources(systems, judges, terms)
    counting = finished.counting or ("",) * len(judges)
    answering = [
        AnsweringModel(judge, OneModel(model) if model else None) for judge, model in zip(judges, counting, strict=True)
    ]
    (beside, perhaps), of_controls = await _tests(run, sources, terms, left, finished.controls, answering=answering)
    controlled = sum(map(len, beside)), sum(map(len, (*beside, *perhaps)))
    blocks: list[list[Quote]] = []
    if left.first:
        asked = queries if left.by_proxy is None else [*chain.from_iterable(left.by_proxy)]
        by_proxy = Sources(systems, left.first, replace(terms, order=run.config.order))
        plans, *_ = await not_known(run, by_proxy, asked, [AnsweringModel(judge, None) for judge in left.first])
        found_p = _quotes(by_proxy, plans, left.first)
        if left.by_proxy is None:
            beside += found_p
        else:
            each = iter(found_p)
            blocks = [[quote for _ in block for quote in next(each)] for block in left.by_proxy]
    beside += (skipped := await _skipped(run, sources, finished, answering))
    plans, whole, known = await not_known(run, sources, queries, answering)
    again = [ask for each in plans[: judgments.worst] for ask in each.asks if ask.ingredients.again_of]
    again_p = sum(judges[ask.judge].quote(ask.call).likely_cost_p for ask in again)
    whose = [judge.identity for judge in judges if judge.by_hand]
    pace = await run.look(lambda reader: reader.pace(whose, rates=run.config.rates)) if whose else (0, 0.0)
    outputs = [list(map(sources.quote, each.outputs)) for each in plans]
    judging = [_judging(sources, each, judges) for each in counted("queries priced", plans)]
    if pace[0]:  # how long people take is known, of whichever run
        known_p = Wage(run.config.human_price).cost_p(pace[1])
        judging = [[replace(one, likely_cost_p=known_p) for one in quoted] for quoted in judging]
    quotes = [[*one, *other] for one, other in zip(outputs, judging, strict=True)]
    quotes = [[*one, *other] for one, other in zip(quotes, blocks, strict=True)] if blocks else quotes
    calls, cost_p = _cases(judgments, quotes[: left.within], beside, perhaps)
    readings = NOTHING
    if terms.reads_again:
        read = len(finished.read_again)
        readings = Range(*(max(0, read_twice(left.done + number, run.config) - read) for number in judgments))
        calls, cost_p = (
            Range(*map(sum, zip(*pair, strict=True)))
            for pair in zip((calls, cost_p), _cases(readings, quotes), strict=True)
        )
    within, to_read = min(left.within, len(quotes)), sum(map(bool, judging[: left.within]))  # the others take no call
    to_people = Range(*(number + len(skipped) for number in _of_these(judgments, to_read, within)))
    likely = [call.likely_cost_p for one in quotes for call in one]
    each_p, beside_p = sum(likely) / max(1, len(quotes)), sum(call.likely_cost_p for one in beside for call in one)
    dear = list(filter(None, (sum(call.cost_p for call in one) for one in quotes)))  # of what is asked at all
    reserved_p = round(sum(dear) / len(dear)) if dear else 0
    found = Forecast(
        result,
        judgments,
        calls,
        cost_p,
        left.assumed,
        None if left_p is None else _affordable(left_p - beside_p, each_p, reserved_p),
        reserved_p,
        beside_p,
        controlled,
        of_controls,
        questions=left.done + len(queries),
        unasked=left.done + sum(not one for one in quotes),
        stays_open=left.stays_open,
        equal=left.equal,
        groups=left.groups,
        known=sum(known),
        skipped=len(skipped),
        turned=await in_the_other_order(run, plans),
        unknown=_of_these(judgments, within - sum(known[:within]), within),
        again=(len(again), again_p),
        people=peoples_time(
            (ask.call for each in plans[:LOOKED_UP] for ask in each.asks), to_people, readings, run.config, pace
        )
        if run.by_hand
        else None,
        unpriced=tuple(one.identity.name for one in (*judges, *left.first) if not one.priced),
        unpriced_systems=tuple(name for name, one in systems.items() if not one.priced),
    )
    if not systems:
        times = whole / len(likely) * found.questions / len(queries) if likely else 0
        twice = read_twice(found.questions, run.config) if terms.reads_again else 0
        return replace(found, all_p=round(sum(likely) * times + twice * each_p))
    of_outputs, outputs_cost_p = _cases(judgments, outputs)
    _, judging_cost_p = _cases(judgments, judging, beside, perhaps)
    return replace(found, outputs=of_outputs, outputs_cost_p=outputs_cost_p, judging_cost_p=judging_cost_p)


def _of_these(judgments: Range, some: int, within: int) -> Range:
    """How many of the judgments are among `some` of those `within` which all are; at least one, if any."""
    low, expected = (
        max(round(one), math.ceil(min(one, 1))) for one in (n * some / max(1, within) for n in judgments[:2])
    )
    return Range(low, expected, min(judgments.worst, some))


def _cases(judgments: Range, quotes: Quotes, beside: Quotes = (), perhaps: Quotes = ()) -> tuple[Range, Range]:
    """The calls of so many judgments, and their cost in picodollars.

    `quotes` holds the quotes of every query that may be asked, `beside` those of queries that are asked first, in any
    case (controls, a proxy), and `perhaps` those that only the worst case has. The low and expected cases use the mean
    number of calls, at likely costs. The worst case has all judgments that the limit allows, on the queries with the
    most calls and the highest worst-case costs.
    """
    most = judgments.worst
    calls_of = sorted(map(len, quotes), reverse=True)
    dearest = sorted((sum(call.cost_p for call in calls) for calls in quotes), reverse=True)
    calls_each = sum(calls_of) / max(1, len(quotes))
    likely_p = sum(call.likely_cost_p for calls in quotes for call in calls) / max(1, len(quotes))
    extra_calls = sum(map(len, beside))
    extra_p = sum(call.likely_cost_p for calls in beside for call in calls)
    most_beside = [call for calls in (*beside, *perhaps) for call in calls]
    low, expected = (
        # A mean number of calls as a whole one: where some cost something, at least one.
        max(round(number * calls_each), math.ceil(min(number * calls_each, 1))) + extra_calls
        for number in judgments[:2]
    )
    low_p, expected_p = (round(number * likely_p) + extra_p for number in judgments[:2])
    return (
        Range(low, expected, sum(calls_of[:most]) + len(most_beside)),
        Range(low_p, expected_p, sum(dearest[:most]) + sum(call.cost_p for call in most_beside)),
    )


def _affordable(left_p: int, likely_p: float, reserved_p: int) -> int | None:
    """How many judgments `left_p` probably pays for; None if they cost nothing.

    The last one must still be set aside at its worst case, `reserved_p`.
    """
    if left_p < 0:
        return 0
    if likely_p == 0:
        return None
    return 0 if left_p < reserved_p else int((left_p - reserved_p) / likely_p) + 1


async def _tests(
    run: Prepared[Any],
    sources: Sources,
    terms: Terms,
    left: Left,
    known: Sequence[ControlTally | None],
    *,
    answering: Sequence[AnsweringModel],
) -> tuple[list[list[list[Quote]]], list[dict[str, Quote]]]:
    """The quotes of the controls that are left, the usual ones and the others: by query, and by their keys."""
    judges = left.tested or run.judges
    if left.tested:
        sources = Sources(run.systems, judges, replace(terms, order=run.config.order))
        answering = [AnsweringModel(judge, None) for judge in judges]
    tests = [
        (await not_known(run, sources, _controls_left(terms, known, *ends), answering))[0]
        for ends in ((0, USUAL), (USUAL, MOST))
    ]
    by_key = [{ask.key: judges[ask.judge].quote(ask.call) for each in plans for ask in each.asks} for plans in tests]
    return [_quotes(sources, plans, judges) for plans in tests], by_key


def _controls_left(terms: Terms, known: Sequence[ControlTally | None], begin: int, end: int) -> list[Query]:
    """The controls `begin` to `end` of each judge whose test is not over, without known ones."""
    drawn = (
        (draw(tally.number), tally)
        for draw, tally in zip(terms.controls, known, strict=True)
        if draw is not None and tally is not None and tally.end is None
    )
    return [
        query
        for queries, tally in drawn
        for query in queries[: end * calls_each(queries)][max(begin, tally.asked) * calls_each(queries) :]
    ]


def _quotes(sources: Sources, plans: Sequence[Planned], judges: Sequence[Judge]) -> list[list[Quote]]:
    """The quotes of all calls of plans, by query."""
    return [[*map(sources.quote, each.outputs), *_judging(sources, each, judges)] for each in plans]


async def _skipped(
    run: Prepared[Any], sources: Sources, finished: Finished[Any], answering: Sequence[AnsweringModel]
) -> list[list[Quote]]:
    """The quotes of what people skipped, by query, where it is asked again."""
    labels = finished.ending.labels if run.by_hand else ()
    silent = [one.choice for one in labels if isinstance(one.answer, Abstention) or None in one.answer.votes]
    queries = [run.pool.query(one.position, one.systems) for one in silent]
    plans, *_ = await not_known(run, sources, queries, answering)
    return [one for one in _quotes(sources, plans, run.judges) if one]


def _judging(sources: Sources, planned: Planned, judges: Sequence[Judge]) -> list[Quote]:
    """The quotes of the judges' calls of a plan, or of those that its outputs will take."""
    if planned.outputs:
        return sources.judging(planned.query)
    return [judges[ask.judge].quote(ask.call) for ask in planned.asks]
