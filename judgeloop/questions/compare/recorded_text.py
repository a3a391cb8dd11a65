"""The result of a comparison by recorded scores as text. Computes no figures and prints nothing."""

from __future__ import annotations

from judgeloop.methods.stopping.reasons import show_risk
from judgeloop.questions.compare.recorded_result import RecordedResult
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page, Section
from judgeloop.report.run_result import few_items
from judgeloop.report.sentences import on_items
from judgeloop.report.words import count

WHAT_P_MEANS = (
    "The p-value says how often two equally good systems would differ at least so much by chance, "
    "if these items are a random sample of the items that count. It does not say how probable it "
    "is that the decision is right."
)


def page(result: RecordedResult) -> Page:
    """Return the result as text."""
    rows = [
        ("votes", _votes(result)),
        ("test", _test(result)),
        ("mean", _means(result)),
        ("scores", _scores(result)),
    ]
    rows += [("left out", visible(result.setup.left_out))] if result.setup.left_out else []
    warned = (f"Warning: {one.message}" for one in few_items(result.about, result.items))
    return Page(
        headline(result),
        tuple(rows),
        summary=(_standing(result), *warned),
        notes=(Section("What the p-value means", (("", WHAT_P_MEANS),)),),
    )


def headline(result: RecordedResult) -> str:
    """Return the decision in a sentence that needs no statistics."""
    first, second = map(visible, result.setup.systems)
    where = on_items(result.about, result.items)
    if result.winner is None:
        lead = f"{visible(result.leader)} leads" if result.leader else "the systems are level"
        chance = ", but that may be chance" if result.leader else ""
        return f"No winner between {first} and {second} {where}: {lead}{chance}."
    loser = next(name for name in result.setup.systems if name != result.winner)
    line = f"{visible(result.winner)} is better than {visible(loser)} {where}."
    required = result.setup.required_winner
    if required not in {None, result.winner}:
        return f"FAILED: {visible(required or '')} was required, and {line}"
    return line


def _standing(result: RecordedResult) -> str:
    p = f"p-value: {show_risk(result.p_value)}"
    wanted = "" if result.winner else f"; at most {result.setup.risk_threshold:g} decides"
    compared = f"Compared: all {count(result.items, 'item')}, by recorded scores."
    return f"{compared} {p}{wanted}. Cost: $0.00, as nobody was asked."


def _votes(result: RecordedResult) -> str:
    wins = ", ".join(f"{won} for {visible(name)}" for name, won in result.wins.items())
    return f"{wins}, {count(result.ties, 'tie')}"


def _test(result: RecordedResult) -> str:
    low, high = result.win_share_interval
    text = f"{result.test}, two-sided (McNemar's exact test for scores of 0 and 1), made once"
    if result.win_share is None:
        return f"{text}; every item is a tie"
    first = visible(result.setup.systems[0])
    return (
        f"{text}; {first} wins {result.win_share:.1%} of the items that are no ties "
        f"({100 * (1 - result.setup.risk_threshold):.4g} % interval {low:.1%} to {high:.1%}, exact)"
    )


def _means(result: RecordedResult) -> str:
    means = ", ".join(f"{mean:.3f} for {visible(name)}" for name, mean in result.means.items())
    return f"{means}; difference {result.mean_difference:+.3f}"


def _scores(result: RecordedResult) -> str:
    first, second = map(visible, result.setup.scorers)
    text = f"recorded by {first}" if first == second else f"recorded by {first} and by {second}"
    margin = result.setup.tie_margin
    return f"{text}; scores within {margin:g} are a tie" if margin else text
