"""What `doctor` and `ledger explain` found, as text.

Nothing is looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgeloop.core.money import show_usd
from judgeloop.core.records import Verdict
from judgeloop.report.escaping import visible

MARKS = {True: "ok", False: "FAILED", None: "note"}
LONGEST_VALUE = 16  # of a hash or another ingredient


def render_findings(findings: Sequence[tuple[str, bool | None, str]]) -> str:
    """One line a thing looked at: its mark, its name, a sentence."""
    return "\n".join(
        f"{MARKS[fine]:<8}{what:<10}{visible(sentence)}" for what, fine, sentence in findings
    )


def render_held(judge: str, shown_first: str, verdict: Verdict) -> str:
    """A call that the ledger answers."""
    return f"{_call(judge, shown_first)}: answered from the ledger, score {verdict.score:g} ({visible(verdict.reason)})"


def render_failed(
    judge: str, shown_first: str, attempts: Sequence[tuple[str, str, str, int]]
) -> str:
    """A call that was attempted without a verdict: when, how it ended, what was said, what it was charged."""
    lines = [
        f"    {when}  {state}, {show_usd(charged_p)} charged: {visible(outcome)}"
        for when, state, outcome, charged_p in attempts
    ]
    return "\n".join(
        [f"{_call(judge, shown_first)}: asked before, but no attempt brought a verdict", *lines]
    )


def render_unknown(
    judge: str, shown_first: str, differences: Mapping[str, tuple[str, str]] | None
) -> str:
    """A call that was never made, and what is different from the nearest that was."""
    start = f"{_call(judge, shown_first)}: never asked"
    if differences is None:
        return f"{start}, nor was any other question on this item"
    lines = [
        f"    {visible(name)}: then {_short(then)}, now {_short(now)}"
        for name, (then, now) in differences.items()
    ]
    return "\n".join([f"{start}; the nearest question on this item differs in", *lines])


def _call(judge: str, shown_first: str) -> str:
    return f"{visible(judge)}, {visible(shown_first)} shown first"


def _short(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[:LONGEST_VALUE]}…"
