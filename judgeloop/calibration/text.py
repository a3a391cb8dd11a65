"""Formats the result of `calibrate` as text and as JSON values.

Reads a `CalibrationFigures`; `result.py` chooses what to advise.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from judgeloop.calibration import result
from judgeloop.core.money import show_usd, to_usd
from judgeloop.methods.stats.risk_control import fewest_comparisons
from judgeloop.methods.stopping.catalogue import RuleRow, rule_row, rules_of
from judgeloop.report.escaping import visible
from judgeloop.report.page import lines
from judgeloop.report.run_result import SCHEMA_VERSION
from judgeloop.report.words import count, per_cent

COLUMNS = ("", "risk", "selector", "rule", "judgments", "dollars", "wrong %", "undecided %")
LEFT = 4  # the first columns hold words, aligned left; the others hold numbers
BEST = (
    "advised: the fewest judgments for each right winner, if clearly fewer than the default's, of those wrong no more often than the risk; "
    "of rules that promise nothing, with one more wrong"
)


def render_calibration(figures: result.CalibrationFigures) -> str:
    """Return the advice for each risk, then the table of figures with the advised rows marked."""
    risks = tuple(dict.fromkeys(strategy.risk for strategy in figures.strategies))
    winners = [result.advised(figures, risk) for risk in risks]
    rows = [COLUMNS, *(_row(figures, strategy, marked=strategy in winners) for strategy in figures.strategies)]
    advice = "\n".join(_advice(figures, risk) for risk in risks)
    table = "\n".join(
        [
            _columns(rows),
            *(_too_few(figures, risk) for risk in risks if any(strategy.instead for strategy in figures.at(risk))),
        ]
    )
    return f"{advice}\n\n{lines(_headline(figures), tuple(_details(figures)))}\n\n{table}\n\n{_rests_on(figures)}"


def calibration_json(figures: result.CalibrationFigures) -> dict[str, Any]:
    """Return the figures and the advice as JSON values.

    Amounts are in dollars, and shares from 0 to 1. A value that is not known is null.
    """
    risks = dict.fromkeys(strategy.risk for strategy in figures.strategies)
    winners = {risk: result.advised(figures, risk) for risk in risks}
    head = asdict(figures)
    for name in ("strategies", "item_cost_p", "looking_back", "always"):
        head.pop(name)
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "calibrate",
        **head,
        "usd_per_item": _usd(figures.item_cost_p),
        "tried": [
            {**asdict(strategy), "usd": _usd(figures.cost_p(strategy)), "best": strategy is winners[strategy.risk]}
            for strategy in figures.strategies
        ],
        "advice": [
            {"risk": risk, "settings": None if best is None else result.settings_of(figures, best)}
            for risk, best in winners.items()
        ],
    }


def _usd(cost_p: int | None) -> float | None:
    return None if cost_p is None else float(to_usd(cost_p))


def _headline(figures: result.CalibrationFigures) -> str:
    return (
        f"{count(figures.comparisons, 'past comparison')} replayed, {figures.repetitions} times each, as if each were new; "
        "nobody was asked"
    )


def _details(figures: result.CalibrationFigures) -> list[tuple[str, str]]:
    replayed = f"{count(figures.systems, 'system')} on {count(figures.items, 'item')}"
    if figures.baseline is not None:
        replayed += f", each with {visible(figures.baseline)}"
    if figures.found > figures.comparisons:
        replayed += f"; drawn from {figures.found:,} comparisons"
    details = [("from", visible(figures.source)), ("replayed", replayed)]
    if figures.judge is not None:
        details.append(("judge", visible(figures.judge)))
    details += [("left out", visible(what)) for what in figures.beside]
    learned = f"{count(figures.known_verdicts, 'verdict')} of {count(figures.known_comparisons, 'comparison')}"
    details.append(("decisive", f"by the exponent {figures.exponent:.2g}. It learns from {learned}"))
    details.append(("*", BEST))
    return details


def _row(figures: result.CalibrationFigures, strategy: result.Strategy, *, marked: bool) -> tuple[str, ...]:
    rule = f"{strategy.rule}, {per_cent(strategy.instead)} sequential" if 0 < strategy.instead < 1 else strategy.rule
    head = ("*" if marked else "", f"{strategy.risk:g}", strategy.selector, rule)
    if strategy.judgments is None or strategy.wrong is None or strategy.undecided is None:
        return (*head, "too few", "-", "-", "-")
    cost_p = figures.cost_p(strategy)
    dollars = "-" if cost_p is None else show_usd(cost_p)
    return (*head, _shown(strategy.judgments), dollars, _shown(strategy.wrong, 100), _shown(strategy.undecided, 100))


def _shown(figure: result.Figure, times: int = 1) -> str:
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


def _too_few(figures: result.CalibrationFigures, risk: float) -> str:
    needed, has = fewest_comparisons(risk), figures.most_with_one
    said = (
        f"too few: at a risk of {risk:g}, {_by_past()} needs {needed} others like the comparison that it is tried on, with a baseline in common, or "
        "that share no system"
    )
    if has < needed:
        return said
    new = (
        f"a new one with {visible(figures.baseline)} has"
        if figures.baseline
        else "a new one with one of these systems has up to"
    )
    return f"{said}; {new} {has}, and may go by it untried"


def _advice(figures: result.CalibrationFigures, risk: float) -> str:
    """Return the settings to use at a risk, and what they would have saved."""
    chosen, today = result.advised(figures, risk), result.default(figures, risk)
    if chosen is None:
        return f"at a risk of {risk:g} {_why_none(figures, risk)}; stay with random and sequential, whose promise does not rest on the past"
    if chosen is today:
        return f"at a risk of {risk:g} nothing would have served clearly better than today's default, random with sequential"
    return (
        f"at a risk of {risk:g}: {_flags(figures, chosen)}\n"
        f"  {_taken(figures, chosen)}; today's default (random, sequential) {_taken(figures, today)}{_saved(chosen, today)}; "
        f"{_promise(chosen)}"
    )


def _why_none(figures: result.CalibrationFigures, risk: float) -> str:
    named = [strategy for strategy in figures.at(risk) if strategy.undecided and strategy.undecided.mean < 1]
    return "none that named a winner was wrong seldom enough to be advised" if named else "none named a winner"


def _taken(figures: result.CalibrationFigures, strategy: result.Strategy) -> str:
    assert strategy.judgments is not None
    assert strategy.undecided is not None
    return f"{strategy.judgments.mean:.0f} judgments{_for_money(figures, strategy)} a comparison, {per_cent(strategy.undecided.mean)} undecided"


def _saved(chosen: result.Strategy, today: result.Strategy) -> str:
    """Return the share saved for each right winner; fewer decisions alone also save judgments."""
    if math.isinf(today.judgments_a_right_winner):
        return ""
    saved = 1 - chosen.judgments_a_right_winner / today.judgments_a_right_winner
    return f": {per_cent(saved)} saved for each right winner"


def _flags(figures: result.CalibrationFigures, strategy: result.Strategy) -> str:
    """Return the settings with which a run does what was replayed."""
    return " ".join(f"`{name}={visible(value)}`" for name, value in result.settings_of(figures, strategy).items())


def _for_money(figures: result.CalibrationFigures, strategy: result.Strategy) -> str:
    cost_p = figures.cost_p(strategy)
    return "" if cost_p is None else f" ({show_usd(cost_p)})"


def _promise(strategy: result.Strategy) -> str:
    if _rule(strategy).guaranteed:
        return "its promise holds for each comparison"
    if not _rule(strategy).by_past:
        assert strategy.wrong is not None
        return f"it promises nothing, and {_shown(strategy.wrong, 100)} % of these runs were wrong"
    beside = (
        f"; {per_cent(strategy.instead)} had too few others like them, and went by the default"
        if strategy.instead
        else ""
    )
    return f"its promise holds on average over comparisons like these{beside}"


def _rests_on(figures: result.CalibrationFigures) -> str:
    return (
        "wrong: who was named does not lead over all items of the comparison. "
        f"This rests on {count(figures.comparisons, 'comparison')} of {count(figures.systems, 'system')}, which for ± are taken to be "
        "independent; the best of so many looks better than it is, and it is no promise for another judge, prompt or test set"
    )


def _rule(strategy: result.Strategy) -> RuleRow:
    return rule_row(result.QUESTION, strategy.rule)


def _by_past() -> str:
    """Return the name of the rule whose threshold past comparisons choose."""
    return next(row.name for row in rules_of(result.QUESTION) if row.by_past)
