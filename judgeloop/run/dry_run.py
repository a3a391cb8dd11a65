"""The result of a dry run: what a question would take, as text and as JSON values.

Holds a `Plan` and the result so far. Computes no figure: `plan.py` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.core.part import Say
from judgeloop.ledger.opening import is_ledger
from judgeloop.report.groups import LONGEST_NAME, MOST_SHOWN, NO_GROUP
from judgeloop.report.notes import Note, NoteCode
from judgeloop.report.result import SCHEMA_VERSION, RunResult
from judgeloop.report.terminal import render, wrapped
from judgeloop.report.words import WIDTH, as_python, count, dollars, per_cent, sentence, shortened, visible
from judgeloop.run.drive import systems_of
from judgeloop.run.plan import EVEN, EqualSystem, Plan, Range, usual
from judgeloop.run.prepared import Prepared

PREPARED = TypeVar("PREPARED", bound=Prepared[Any])
FORESEEN = {NoteCode.ALL_IDENTICAL, NoteCode.SEARCHED}  # doubts that need no further verdict
OPENING = "Forecast only: a dry run does not call the judge and costs nothing."


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a question would take. No judge was asked, and nothing was spent.

    - `plan`: the low, expected and worst case of judgments, calls and cost.
    - `result`: what the verdicts in the ledger and identical outputs say already.
    - `unpriced`: the judges whose price is not known; `unpriced_systems`: the systems.
    - `settings`: which files set something; empty if none did.
    """

    plan: Plan
    result: RunResult
    unpriced: tuple[str, ...] = ()
    unpriced_systems: tuple[str, ...] = ()
    settings: str = ""

    @classmethod
    def of(cls, prepared: Prepared[Any], plan: Plan, result: RunResult, settings: str = "") -> DryRun:
        """Return the dry run of a question."""
        judges = [one.identity.name for one in prepared.judges if not one.priced]
        systems = [name for name, one in systems_of(prepared).items() if not one.priced]
        return cls(plan, result, tuple(judges), tuple(systems), settings)

    @property
    def priced(self) -> bool:
        """Whether the price of every judge and system is known."""
        return not (self.unpriced or self.unpriced_systems)

    @property
    def decided(self) -> bool:
        """Whether what is known decides, or needs no call."""
        return self.plan.calls.worst == 0 or self.result.stop_reason is not StopKind.DRY_RUN

    @property
    def warnings(self) -> list[str]:
        """What to be careful of, in sentences: the chance of an answer, prices and data."""
        plan, result = self.plan, self.result
        passes = [] if self.decided else unlikely_to_pass(plan.equal, result.items)
        stays = [f"Warning: {plan.stays_open}"] if plan.stays_open else []
        return [*passes, *stays, *(f"Warning: {one.message}" for one in self._notes)]

    @property
    def _notes(self) -> list[Note]:
        doubts = (one for one in self.result.doubts() if one.code in FORESEEN)
        return [*doubts, *self.result.setup.warnings, *self.result.data.warnings]

    def text(self, width: int = WIDTH) -> str:
        """Return the text for a terminal of `width` columns."""
        plan, result = self.plan, self.result
        if self.decided:
            parts = [wrapped(_decided(plan), width), *_equal(plan, width)]
            return "\n\n".join([*parts, render(result.page, width=width)])
        paragraphs = [
            self.basis,
            *self._all(),
            *_without_calls(plan, result),
            *_both_orders(result),
            *_controls(plan),
            _affordable(plan, result),
            *self.warnings,
            *_groups(plan, self.usd_of_all),
            *(f"{visible(one)} has no known price." for one in (*self.unpriced, *self.unpriced_systems)),
            *_outputs(plan),
            *_data_and_price(result, self.settings),
        ]
        parts = [wrapped(OPENING, width), self._table(), *_equal(plan, width)]
        return "\n\n".join([*parts, "\n".join(wrapped(text, width) for text in paragraphs)])

    @property
    def usd_of_all(self) -> float | None:
        """The probable cost of all judgments, as those so far or their quotes say; None if that is not known."""
        quoted_p = self.plan.all_p if self.priced else 0
        return self.result.usd_of_all or (float(to_usd(quoted_p)) if quoted_p else None)

    @property
    def basis(self) -> str:
        """What the expected and the worst case assume."""
        plan = self.plan
        basis = plan.assumed or "that further verdicts are like those in the ledger"
        if plan.judgments.low == plan.judgments.worst:
            basis = "that all allowed judgments are made, as this rule does"
        worst = "The worst case makes every allowed judgment at its maximum cost."
        return f"The expected case assumes {basis}. {worst}"

    def _all(self) -> list[str]:
        """Return what it would cost never to stop; nothing if that is not known, or no more than is expected."""
        usd, number = self.usd_of_all, self.result.queries_in_all
        if usd is None or float(to_usd(self.plan.cost_p.expected)) >= usd:
            return []
        return [f"All {count(number, 'judgment')} would cost about {dollars(usd)}."]

    def _table(self) -> str:
        """Return the low, expected and worst case of judgments, calls and cost, in columns."""
        plan = self.plan
        rows = [
            ("", "low", "expected", "worst"),
            ("judgments", *_three(plan.judgments)),
            ("calls", *_three(plan.calls)),
            *([("  outputs", *_three(plan.outputs))] if plan.outputs else []),
            ("cost", *_three_costs(plan.cost_p, known=self.priced)),
        ]
        if plan.outputs_cost_p is not None and plan.judging_cost_p is not None:
            outputs = _three_costs(plan.outputs_cost_p, known=not self.unpriced_systems)
            judging = _three_costs(plan.judging_cost_p, known=not self.unpriced)
            rows += [("  outputs", *outputs), ("  judging", *judging)]
        return "\n".join(f"  {a:<10}{b:>10}{c:>10}{d:>10}" for a, b, c, d in rows)

    def to_dict(self, say: Say = str) -> dict[str, Any]:
        """Return the forecast as JSON values: amounts in dollars, null without a price."""
        plan, result = self.plan, self.result
        setup, data = result.setup.to_json(say), result.data.to_json(say)
        kept = ("tier", "prices", "old_prices", "run", "rule", "selector")
        return {
            "schema_version": SCHEMA_VERSION,
            "job": result.job,
            "dry_run": True,
            "about": str(result.about),
            "items": result.items,
            "decided_by_ledger": result.winner,
            "answered_from_ledger": result.asked,
            "judgments": asdict(plan.judgments),
            "calls": asdict(plan.calls),
            "outputs": None if plan.outputs is None else asdict(plan.outputs),
            "usd_of_outputs": None if self.unpriced_systems else _dollars(plan.outputs_cost_p),
            "usd_of_judging": None if self.unpriced else _dollars(plan.judging_cost_p),
            "questions": plan.questions,
            "questions_without_a_call": plan.unasked,
            "usd": _dollars(plan.cost_p) if self.priced else None,
            "usd_of_all": self.usd_of_all,
            "expected_is_assumed": plan.assumed is not None,
            "budget_usd": result.spend.budget_usd,
            "budget_pays_for": plan.affordable,
            "stays_open": say(plan.stays_open) if plan.stays_open else None,
            "warnings": [one.to_json(say) for one in self._notes],
            "equal_system": [asdict(one) for one in plan.equal],
            "groups": [asdict(one) for one in plan.groups],
            "guessed": data["guessed"],
            "empty": data["empty"],
            **{name: setup[name] for name in kept},
        }

    def __repr__(self) -> str:
        """The text, with settings as Python writes them; `str()` is the same."""
        return as_python(self.text())

    def _repr_html_(self) -> str:
        """Return the text as HTML; notebooks call this to show it."""
        return f"<pre style='font-family: monospace'>{escape(str(self))}</pre>"


@contextmanager
def without_a_trace(ready: PREPARED) -> Iterator[PREPARED]:
    """Let a forecast look into an empty ledger where there is none: it creates no file."""
    if not ready.booked or is_ledger(ready.config.ledger):
        yield ready
        return
    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.sqlite"
        yield replace(ready, config=replace(ready.config, ledger=ledger))


def _decided(plan: Plan) -> str:
    """Return that the question is decided, and what controls and open groups still cost at most."""
    if plan.calls.worst == 0:
        return "No calls are needed: known verdicts or identical outputs already decide."
    calls, cost = count(plan.calls.worst, "call"), show_usd(plan.cost_p.worst)
    left = ["controls"] if plan.calls.low else []
    left += ["open groups"] if plan.judgments.worst else []
    untested = " Until the controls are asked, no gate is passed." if plan.calls.low else ""
    return (
        f"{OPENING} Known verdicts or identical outputs already decide. "
        f"The {' and '.join(left)} still need {calls} at most, for {cost} at most.{untested}"
    )


def _dollars(cost_p: Range | None) -> dict[str, float] | None:
    """Return the cases of a cost in dollars."""
    if cost_p is None:
        return None
    return {name: float(to_usd(one_p)) for name, one_p in asdict(cost_p).items()}


def _equal(plan: Plan, width: int) -> list[str]:
    """Return what happens to an equal system, as a table with its title; nothing if not asked."""
    if (common := usual(plan.equal)) is None:
        return []
    rows = [("ties", "judgments", "passes", "fails", "no answer", "items for 80 %")]
    rows += [
        (per_cent(one.ties), f"{one.judgments:,.0f}", per_cent(one.passes), per_cent(one.fails),
         per_cent(one.none), f"{one.limit_for_80:,}")
        for one in plan.equal
    ]  # fmt: skip
    table = [f"  {a:>5}{b:>11}{c:>9}{d:>8}{e:>11}{f:>16}" for a, b, c, d, e, f in rows]
    if not common.margin_for_80:  # all items are judged
        return ["\n".join(["How often an equal system would pass:", *table])]
    said = (
        f"With {per_cent(common.ties)} ties and this limit, an equal system passes in 80 % of the runs at a margin "
        f"of about {common.margin_for_80:.2f}."
    )
    return ["\n".join(["How often an equal system would pass:", *table]), wrapped(said, width)]


def _groups(plan: Plan, usd_of_all: float | None) -> list[str]:
    """Return what the groups add, and which gap each can show; nothing if none is tested."""
    if not plan.groups:
        return []
    cost = f", for about {dollars(usd_of_all)} in all" if usd_of_all else ""
    said = (
        "The groups are tested beside that: the expected case leaves their further judgments out. Where some stay "
        f"open, nearly every item is judged{cost}."
    )
    found = [
        f"{shortened(one.group or NO_GROUP, LONGEST_NAME)} ({count(one.items, 'item')}) {one.gap_found:.2f}"
        for one in plan.groups[:MOST_SHOWN]
        if one.gap_found is not None
    ]
    if not found:
        return [f"{said} A group that is judged whole is decided, unless it is level."]
    more = len(plan.groups) - len(found)
    left = f", and {count(more, 'smaller group')} more" if more else ""
    return [f"{said} The gap that is found in 90 % of the runs, about: {', '.join(found)}{left}."]


def unlikely_to_pass(equal: Sequence[EqualSystem], items: int) -> list[str]:
    """Return a warning if an equal system passes with less than an even chance, else nothing.

    `items` are those that there are.
    """
    common = usual(equal)
    if common is None or common.passes >= EVEN:
        return []
    limit = f"`max_judgments={common.limit_for_80}`"
    if common.limit_for_80 > items:
        limit = f"{common.limit_for_80:,} items, of which there are {items:,}"
    chance = f"a chance of only {per_cent(common.passes)} ({per_cent(common.ties)} ties)"
    if common.passes_at_most is not None:
        every = "all " if common.most == items else ""
        chance += f"; with {every}{common.most:,} it is {per_cent(common.passes_at_most)}"
    wider = f"or a margin of about {common.margin_for_80:.2f}"
    return [
        (
            f"Warning: with at most {count(common.limit, 'judgment')} an equal system passes with {chance}. "
            f"For 80 %: {limit}, {wider}."
        )
    ]


def _outputs(plan: Plan) -> list[str]:
    """Return what the forecast supposes of outputs that are not known; nothing without any."""
    if plan.outputs is None or not plan.outputs.worst:
        return []
    return [
        (
            "How long the missing outputs will be is not known: the expected case supposes 400 tokens "
            "each, the worst case the limit of tokens."
        )
    ]


def _both_orders(result: RunResult) -> list[str]:
    """Return a sentence on the second calls, which may not be needed, if there are any."""
    if result.setup.order != "both":
        return []
    return ["The figures count two calls an item. Ties need only one call, so expect fewer."]


def _controls(plan: Plan) -> list[str]:
    """Return a sentence on the calls for controls, if there are any."""
    expected, worst = plan.controls
    return [f"The calls include {expected:,} to {worst:,} for controls, which test the judge first."] if worst else []


def _without_calls(plan: Plan, result: RunResult) -> list[str]:
    """Return a sentence on the questions that take no call, and on what is judged already."""
    if plan.unasked:
        alike = f"{plan.unasked:,} of {count(plan.questions, 'question')} need no call"
        return [f"{alike} (known verdicts, identical or oversized outputs)."]
    return [sentence(f"{count(result.asked, 'verdict')} already known")] if result.asked else []


def _data_and_price(result: RunResult, settings: str) -> list[str]:
    """Return sentences on prices, guessed columns and files with settings, if any."""
    setup = result.setup
    named = {
        "Price": visible(setup.prices),
        "Tier": visible(setup.tier),
        "Columns": visible(result.data.guessed),
        "Settings": visible(settings),
    }
    return [f"{name}: {text}." for name, text in named.items() if text]


def _affordable(plan: Plan, result: RunResult) -> str:
    left, budget = result.spend.left_p, result.spend.budget_p
    if left is None:
        return "No budget limits the cost."
    shown = f"budget of {show_usd(budget or 0)}"
    if result.spend.ledger_is_short:
        shown = f"{show_usd(left)} left of a budget of the ledger"
    if plan.affordable is None or plan.affordable >= plan.judgments.worst:
        if plan.cost_p.worst <= left:
            return f"The {shown} is enough."
        return f"The {shown} is enough at likely costs, but not at maximum costs."
    if plan.affordable == 0:
        needs = f"A judgment reserves its maximum cost, about {show_usd(plan.reserved_p)}"
        first = f", after other calls for about {show_usd(plan.beside_p)}" if plan.beside_p else ""
        return f"The {shown} covers no further judgment. {needs}{first}."
    short = plan.affordable < plan.judgments.expected
    ends = "probably too few to decide" if short else "enough unless the run takes longer"
    return f"The {shown} covers about {count(plan.affordable, 'judgment')}: {ends}."


def _three(cases: Range) -> tuple[str, str, str]:
    return f"{cases.low:,}", f"{cases.expected:,}", f"{cases.worst:,}"


def _three_costs(cases: Range, *, known: bool) -> tuple[str, str, str]:
    if not known:
        return ("not known",) * 3
    return show_usd(cases.low), show_usd(cases.expected), show_usd(cases.worst)
