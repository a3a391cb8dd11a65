"""Formats the result of `calibrate` as text and as JSON values.

Reads a `PastFared`; `advice.py` chooses what to advise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from judgeloop.calibration.advice import advised, default, settings_of
from judgeloop.calibration.result import Figure, PastFared, Tried
from judgeloop.calibration.study import QUESTION
from judgeloop.core.money import show_usd, to_usd
from judgeloop.report.escaping import visible
from judgeloop.report.page import lines
from judgeloop.report.run_result import SCHEMA_VERSION
from judgeloop.report.sentences import count
from judgeloop.stats.risk_control import fewest_comparisons
from judgeloop.stopping.catalogue import RuleRow, rule_row, rules_of

COLUMNS = ("", "risk", "selector", "rule", "judgments", "dollars", "wrong %", "undecided %")
LEFT = 4  # the first columns hold words, aligned left; the others hold numbers
BEST = (
    "advised: the fewest judgments for each right winner, if clearly fewer than the default's, of those wrong no more often than the risk; "
    "of rules that promise nothing, with one more wrong"
)


def render_calibration(fared: PastFared) -> str:
    """Return the advice for each risk, then the table of figures with the advised rows marked."""
    risks = tuple(dict.fromkeys(tried.risk for tried in fared.tried))
    winners = [advised(fared, risk) for risk in risks]
    rows = [COLUMNS, *(_row(fared, tried, marked=tried in winners) for tried in fared.tried)]
    advice = "\n".join(_advice(fared, risk) for risk in risks)
    table = "\n".join(
        [_columns(rows), *(_too_few(fared, risk) for risk in risks if _has_too_few(fared, risk))]
    )
    return f"{advice}\n\n{lines(_headline(fared), tuple(_details(fared)))}\n\n{table}\n\n{_rests_on(fared)}"


def calibration_json(fared: PastFared) -> dict[str, Any]:
    """Return the figures and the advice as JSON values.

    Amounts are in dollars, and shares from 0 to 1. A value that is not known is null.
    """
    risks = dict.fromkeys(tried.risk for tried in fared.tried)
    winners = {risk: advised(fared, risk) for risk in risks}
    head = asdict(fared)
    for name in ("tried", "item_cost_p", "looking_back", "always"):
        head.pop(name)
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "calibrate",
        **head,
        "usd_per_item": _usd(fared.item_cost_p),
        "tried": [
            {
                **asdict(tried),
                "usd": _usd(fared.cost_p(tried)),
                "best": tried is winners[tried.risk],
            }
            for tried in fared.tried
        ],
        "advice": [
            {"risk": risk, "settings": None if best is None else settings_of(fared, best)}
            for risk, best in winners.items()
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
    details += [("left out", visible(what)) for what in fared.beside]
    learned = f"{count(fared.known_verdicts, 'verdict')} of {count(fared.known_comparisons, 'comparison')}"
    own = f"by its own exponent, {fared.exponent:.2g}; no run can be told the others"
    details.append(("decisive", f"{own}. It learns from {learned}"))
    if fared.give_up is not None:
        details.append(("gives up", _gives_up(fared)))
    details.append(("*", BEST))
    return details


def _gives_up(fared: PastFared) -> str:
    if any(tried.gives_up for tried in fared.tried):
        return f"where a decision is less likely than {fared.give_up:g}, in the rows that say so"
    return "never, as the judgments allowed cover all items"


def _row(fared: PastFared, one: Tried, *, marked: bool) -> tuple[str, ...]:
    name = one.selector if one.power is None else f"{one.selector}, exponent {one.power:g}"
    rule = f"{one.rule}, {one.instead:.0%} sequential" if 0 < one.instead < 1 else one.rule
    rule += ", giving up" if one.gives_up else ""
    head = ("*" if marked else "", f"{one.risk:g}", name, rule)
    if one.judgments is None or one.wrong is None or one.undecided is None:
        return (*head, "too few", "-", "-", "-")
    cost_p = fared.cost_p(one)
    dollars = "-" if cost_p is None else show_usd(cost_p)
    return (
        *head,
        _shown(one.judgments),
        dollars,
        _shown(one.wrong, 100),
        _shown(one.undecided, 100),
    )


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
    return any(tried.risk == risk and tried.instead for tried in fared.tried)


def _too_few(fared: PastFared, risk: float) -> str:
    needed, has = fewest_comparisons(risk), fared.most_with_one
    said = (
        f"too few: at a risk of {risk:g}, {_by_past()} needs {needed} others like the comparison that it is tried on, with a baseline in common, or "
        "that share no system"
    )
    if has < needed:
        return said
    new = (
        f"a new one with {visible(fared.baseline)} has"
        if fared.baseline
        else "a new one with one of these systems has up to"
    )
    return f"{said}; {new} {has}, and may go by it untried"


def _advice(fared: PastFared, risk: float) -> str:
    """Return the settings to use at a risk, and what they would have saved."""
    chosen, today = advised(fared, risk), default(fared, risk)
    if chosen is None:
        return f"at a risk of {risk:g} {_why_none(fared, risk)}; stay with random and sequential, whose promise does not rest on the past"
    if chosen is today:
        return f"at a risk of {risk:g} nothing would have served clearly better than today's default, random with sequential{_and_giving_up(fared, today)}"
    return (
        f"at a risk of {risk:g}: {_flags(fared, chosen)}\n"
        f"  {_taken(fared, chosen)}; today's default (random, sequential) {_taken(fared, today)}{_saved(chosen, today)}; "
        f"{_promise(chosen)}{_and_giving_up(fared, chosen)}"
    )


def _why_none(fared: PastFared, risk: float) -> str:
    named = [
        tried
        for tried in fared.tried
        if tried.risk == risk and tried.undecided and tried.undecided.mean < 1
    ]
    return (
        "none that named a winner was wrong seldom enough to be advised"
        if named
        else "none named a winner"
    )


def _taken(fared: PastFared, one: Tried) -> str:
    assert one.judgments is not None
    assert one.undecided is not None
    return f"{one.judgments.mean:.0f} judgments{_for_money(fared, one)} a comparison, {one.undecided.mean:.0%} undecided"


def _saved(chosen: Tried, today: Tried) -> str:
    """Return the share saved for each right winner; fewer decisions alone also save judgments."""
    if math.isinf(today.judgments_a_right_winner):
        return ""
    saved = 1 - chosen.judgments_a_right_winner / today.judgments_a_right_winner
    return f": {saved:.0%} saved for each right winner"


def _and_giving_up(fared: PastFared, one: Tried) -> str:
    other = fared.giving_up(one)
    return "" if other is None else f"\n  with `give_up={fared.give_up:g}`: {_taken(fared, other)}"


def _flags(fared: PastFared, one: Tried) -> str:
    """Return the settings with which a run does what was replayed."""
    return " ".join(f"`{name}={visible(value)}`" for name, value in settings_of(fared, one).items())


def _for_money(fared: PastFared, one: Tried) -> str:
    cost_p = fared.cost_p(one)
    return "" if cost_p is None else f" ({show_usd(cost_p)})"


def _promise(one: Tried) -> str:
    if _rule(one).guaranteed:
        return "its promise holds for each comparison"
    if not _rule(one).by_past:
        assert one.wrong is not None
        return f"it promises nothing, and {_shown(one.wrong, 100)} % of these runs were wrong"
    beside = (
        f"; {one.instead:.0%} had too few others like them, and went by the default"
        if one.instead
        else ""
    )
    return f"its promise is one on average over comparisons like these{beside}"


def _rests_on(fared: PastFared) -> str:
    return (
        "wrong: who was named does not lead over all items of the comparison. "
        f"This rests on {count(fared.comparisons, 'comparison')} of {count(fared.systems, 'system')}, which for ± are taken to be "
        "independent; the best of so many looks better than it is, and it is no promise for another judge, prompt or test set"
    )


def _rule(one: Tried) -> RuleRow:
    return rule_row(QUESTION, one.rule)


def _by_past() -> str:
    """Return the name of the rule whose threshold past comparisons choose."""
    return next(row.name for row in rules_of(QUESTION) if row.by_past)
