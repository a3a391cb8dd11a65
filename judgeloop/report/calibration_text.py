"""How selectors and rules would have fared on past comparisons: as text, and as JSON values.

No comparison is replayed here.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judgeloop.money import show_usd, to_usd
from judgeloop.report.escaping import visible
from judgeloop.report.run_result import SCHEMA_VERSION
from judgeloop.report.sentences import count, lines
from judgeloop.stats.risk_control import fewest_comparisons
from judgeloop.stopping import GUARANTEED

CALIBRATED = "calibrated"
TODAY = ("random", "sequential")  # what compare does when it is told neither selector nor rule
COLUMNS = ("", "risk", "selector", "rule", "judgments", "dollars", "wrong %", "undecided %")
LEFT = 4  # columns of words
BEST = "fewest judgments for each right winner, of those wrong no more often than the risk; if they promise nothing, with one more wrong"
PROMISING = {*GUARANTEED, CALIBRATED}
NONE = 1e-9  # of the runs, so that rounding makes no winner


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over comparisons, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True, slots=True)
class Tried:
    """How one selector with one rule fared at one stated risk; no figures where there were too few comparisons for it.

    `power` is an exponent of the weights that is tried beside the selector's own, which no run can be told. `wrong` and `undecided`
    are shares of runs, wrong those that named a system which does not lead over all items of the comparison. `gives_up` says that runs ended
    undecided where a decision was unlikely. `instead` is the share of comparisons that fell back to today's default, with too few
    others like them.
    """

    risk: float
    selector: str
    rule: str
    power: float | None = None
    judgments: Figure | None = None
    wrong: Figure | None = None
    undecided: Figure | None = None
    gives_up: bool = False
    instead: float = 0.0

    def keeps_its_risk(self, comparisons: int) -> bool:
        """Whether the share of wrong names is at most the risk, and a run can be told to do the same.

        Of a rule that promises nothing, also with one more comparison counted as wrong: as for a threshold that the past chooses.
        """
        if self.power is not None or self.wrong is None:
            return False
        if self.rule in PROMISING:
            return self.wrong.mean <= self.risk
        return (comparisons * self.wrong.mean + 1) / (comparisons + 1) <= self.risk

    @property
    def judgments_a_right_winner(self) -> float:
        """How many judgments there were for each right winner named; infinite for none, so that to decide nothing is no saving."""
        if self.judgments is None or self.wrong is None or self.undecided is None:
            return math.inf
        right = 1 - self.undecided.mean - self.wrong.mean
        return self.judgments.mean / right if right > NONE else math.inf


@dataclass(frozen=True, slots=True)
class PastFared:
    """What was replayed, on what it rests, and how each choice fared.

    `source`, `judge` and `beside` say where the comparisons are from; `baseline` is the system that takes part in all of them, if one
    does; `found` is how many comparisons there were to choose from, and `new_has` the system with most of them, and how many: as many as
    a new comparison with it has. `learned` are the verdicts and comparisons that decisive learns from, `exponent` is that of its weights. `always` are
    flags that a command needs beside selector, rule and risk, `looking_back` those that it needs if these look at earlier
    comparisons. Some runs were given up where a decision was less likely than `give_up`. Costs in picodollars.
    """

    source: str
    judge: str | None
    beside: tuple[str, ...]
    baseline: str | None
    comparisons: int
    found: int
    new_has: tuple[str, int]
    learned: tuple[int, int]
    systems: int
    items: int
    repetitions: int
    exponent: float
    item_cost_p: int | None
    looking_back: tuple[str, ...]
    always: tuple[str, ...]
    tried: tuple[Tried, ...]
    give_up: float | None = None

    def cost_p(self, one: Tried) -> int | None:
        """What a comparison would have cost on average."""
        if self.item_cost_p is None or one.judgments is None:
            return None
        return round(self.item_cost_p * one.judgments.mean)


def best(fared: PastFared, risk: float) -> Tried | None:
    """The one with the fewest judgments for each right winner, of those that kept the stated risk; the first of several.

    None where no such named any.
    """
    kept = [one for one in fared.tried if one.risk == risk and one.keeps_its_risk(fared.comparisons)]
    chosen = min(kept, key=lambda one: one.judgments_a_right_winner, default=None)
    return chosen if chosen and chosen.judgments_a_right_winner < math.inf else None


def render_calibration(fared: PastFared) -> str:
    """What to put on the command line; then the table that it rests on, the best of each risk marked."""
    risks = tuple(dict.fromkeys(one.risk for one in fared.tried))
    winners = [best(fared, risk) for risk in risks]
    rows = [COLUMNS, *(_row(fared, one, marked=one in winners) for one in fared.tried)]
    advice = "\n".join(_advice(fared, risk) for risk in risks)
    table = "\n".join(
        [_columns(rows), *(_too_few(fared, risk) for risk in risks if _has_too_few(fared, risk))]
    )
    return f"{advice}\n\n{lines(_headline(fared), _details(fared))}\n\n{table}\n\n{_rests_on(fared)}"


def calibration_json(fared: PastFared) -> dict[str, Any]:
    """The same as JSON values; amounts in dollars, shares from 0 to 1, null where nothing is known."""
    risks = dict.fromkeys(one.risk for one in fared.tried)
    winners = {risk: best(fared, risk) for risk in risks}
    head = asdict(fared)
    for name in ("tried", "item_cost_p", "looking_back", "always"):
        head.pop(name)
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "calibrate",
        **head,
        "usd_per_item": _usd(fared.item_cost_p),
        "tried": [
            {**asdict(one), "usd": _usd(fared.cost_p(one)), "best": one is winners[one.risk]}
            for one in fared.tried
        ],
        "advice": [
            {"risk": risk, "flags": None if one is None else _flags(fared, one)}
            for risk, one in winners.items()
        ],
    }


def _usd(cost_p: int | None) -> float | None:
    return None if cost_p is None else float(to_usd(cost_p))


def _headline(fared: PastFared) -> str:
    return (
        f"{count(fared.comparisons, 'past comparison')} replayed, {fared.repetitions} times each, as if each were new; "
        "nobody was asked"
    )


def _details(fared: PastFared) -> list[tuple[str, str]]:
    replayed = f"{count(fared.systems, 'system')} on {count(fared.items, 'item')}"
    if fared.baseline is not None:
        replayed += f", each with {visible(fared.baseline)}"
    if fared.found > fared.comparisons:
        replayed += f"; drawn from {fared.found:,} comparisons"
    details = [("from", visible(fared.source)), ("replayed", replayed)]
    if fared.judge is not None:
        details.append(("judge", visible(fared.judge)))
    details += [("left out", visible(one)) for one in fared.beside]
    learned = " of ".join(map(count, fared.learned, ("verdict", "comparison")))
    own = (
        f"by its own exponent, {fared.exponent:.2g}; no run can be told the others. It learns from {learned}"
    )
    details.append(("decisive", own))
    if fared.give_up is not None:
        details.append(("gives up", f"where a decision is less likely than {fared.give_up:g}, if it says so"))
    details.append(("*", BEST))
    return details


def _row(fared: PastFared, one: Tried, *, marked: bool) -> tuple[str, ...]:
    name = one.selector if one.power is None else f"{one.selector}, exponent {one.power:g}"
    rule = f"{one.rule}, {one.instead:.0%} sequential" if 0 < one.instead < 1 else one.rule
    rule += ", giving up" if one.gives_up else ""
    head = ("*" if marked else "", f"{one.risk:g}", name, rule)
    if one.judgments is None or one.wrong is None or one.undecided is None:
        return (*head, "too few", "-", "-", "-")
    cost_p = fared.cost_p(one)
    dollars = "-" if cost_p is None else show_usd(cost_p)
    return (*head, _shown(one.judgments), dollars, _shown(one.wrong, 100), _shown(one.undecided, 100))


def _shown(figure: Figure, times: int = 1) -> str:
    return f"{times * figure.mean:.1f} ± {times * figure.error:.1f}"


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if column < LEFT else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _has_too_few(fared: PastFared, risk: float) -> bool:
    return any(one.risk == risk and one.instead for one in fared.tried)


def _too_few(fared: PastFared, risk: float) -> str:
    needed, (name, has) = fewest_comparisons(risk), fared.new_has
    said = (
        f"too few: at a risk of {risk:g}, {CALIBRATED} needs at least {needed} comparisons like the one it is tried on, beside that, "
        "with a baseline in common or with no system in common"
    )
    return (
        f"{said}; a new one with {visible(name)} has {has}, and may go by it untried"
        if has >= needed
        else said
    )


def _advice(fared: PastFared, risk: float) -> str:
    """What to put on the command line, and what it would have saved."""
    chosen = best(fared, risk)
    if chosen is None or chosen.judgments is None or chosen.undecided is None:
        return f"at a risk of {risk:g} none that named a winner kept its word; stay with random and sequential, whose promise does not rest on the past"
    today = next(
        one
        for one in fared.tried
        if one.risk == risk and (one.selector, one.rule) == TODAY and not one.gives_up
    )
    assert today.judgments is not None
    assert today.undecided is not None
    if chosen is today:
        return f"at a risk of {risk:g} nothing would have served better than today's default, random with sequential"
    saved = 1 - chosen.judgments.mean / today.judgments.mean
    return (
        f"at a risk of {risk:g}: {_flags(fared, chosen)}\n"
        f"  {chosen.judgments.mean:.0f} judgments{_for_money(fared, chosen)} a comparison and not {today.judgments.mean:.0f}"
        f"{_for_money(fared, today)} as by today's default (random, sequential): {saved:.0%} saved; "
        f"{chosen.undecided.mean:.0%} undecided, by the default {today.undecided.mean:.0%}; {_promise(chosen)}"
    )


def _flags(fared: PastFared, one: Tried) -> str:
    flags = ["--selector", one.selector, "--rule", one.rule, "--risk", f"{one.risk:g}"]
    if one.gives_up:
        flags += ["--give-up", f"{fared.give_up:g}"]
    looks_back = one.selector == "decisive" or one.rule == CALIBRATED
    return visible(shlex.join([*flags, *(fared.looking_back if looks_back else ()), *fared.always]))


def _for_money(fared: PastFared, one: Tried) -> str:
    cost_p = fared.cost_p(one)
    return "" if cost_p is None else f" ({show_usd(cost_p)})"


def _promise(one: Tried) -> str:
    if one.rule in GUARANTEED:
        return "its promise holds for each comparison"
    if one.rule != CALIBRATED:
        assert one.wrong is not None
        return f"it promises nothing, and {_shown(one.wrong, 100)} % of these runs were wrong"
    beside = (
        f"; {one.instead:.0%} had too few others like them, and went by the default" if one.instead else ""
    )
    return f"its promise is one on average over comparisons like these{beside}"


def _rests_on(fared: PastFared) -> str:
    return (
        "wrong: who was named does not lead over all items of the comparison. "
        f"This rests on {count(fared.comparisons, 'comparison')} of {count(fared.systems, 'system')}, which for ± are taken to be "
        "independent; the best of so many looks better than it is, and it is no promise for another judge, prompt or test set"
    )
