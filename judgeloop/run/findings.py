"""What `doctor` and `ledger explain` found, as text.

Nothing is looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgeloop.core.money import show_usd
from judgeloop.ledger.reading import RecordedAttempt
from judgeloop.report.escaping import visible
from judgeloop.run.doctor import Finding
from judgeloop.run.explain import Explanation

MARKS = {True: "ok", False: "FAILED", None: "note"}
LONGEST_VALUE = 16  # of a hash or another ingredient


def render_findings(findings: Sequence[Finding]) -> str:
    """One line a thing looked at: its mark, its name, a sentence."""
    return "\n".join(
        f"{MARKS[one.fine]:<8}{one.what:<10}{visible(one.sentence)}" for one in findings
    )


def render_explanation(found: Explanation) -> str:
    """Why one call was, or was not, answered from the ledger."""
    call = f"{visible(found.judge)}, {visible(found.shown_first)} shown first"
    if found.verdict is not None:
        verdict = f"score {found.verdict.score:g} ({visible(found.verdict.reason)})"
        return f"{call}: answered from the ledger, {verdict}"
    if found.attempts:
        tried = map(_attempt, found.attempts)
        return "\n".join([f"{call}: asked before, but no attempt brought a verdict", *tried])
    if found.differences is None:
        return f"{call}: never asked, nor was any other question on this item"
    differs = _differences(found.differences)
    return "\n".join(
        [f"{call}: never asked; the nearest question on this item differs in", *differs]
    )


def _attempt(attempt: RecordedAttempt) -> str:
    """When, how it ended, what was charged, what was said."""
    charged = f"{show_usd(attempt.charged_p)} charged"
    return f"    {attempt.began_at}  {attempt.state}, {charged}: {visible(attempt.outcome)}"


def _differences(differences: Mapping[str, tuple[str, str]]) -> list[str]:
    return [
        f"    {visible(name)}: then {_short(then)}, now {_short(now)}"
        for name, (then, now) in differences.items()
    ]


def _short(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[:LONGEST_VALUE]}…"
