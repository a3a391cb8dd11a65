"""Formats the results of `doctor` and `ledger explain` as text.

Reads the records of `doctor.py` and `explain.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgeloop.core.money import show_usd
from judgeloop.diagnostics.doctor import Finding
from judgeloop.diagnostics.explain import Explanation
from judgeloop.ledger.reading import RecordedAttempt
from judgeloop.report.escaping import visible
from judgeloop.report.page import WIDTH, wrapped

MARKS = {True: "ok", False: "FAILED", None: "note"}
LONGEST_VALUE = 16  # number of characters shown of a hash or another ingredient


def render_findings(findings: Sequence[Finding], width: int = WIDTH) -> str:
    """Return a paragraph for each finding: mark, name and sentence, wrapped to `width` columns."""
    return "\n".join(
        wrapped(
            visible(finding.sentence),
            width,
            before=f"{MARKS[finding.fine]:<8}{finding.what:<10}",
            after=" " * 18,
        )
        for finding in findings
    )


def render_explanation(found: Explanation) -> str:
    """Return as text why a call was, or was not, answered from the ledger."""
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
    """Return a line on an attempt: its start time, state, charge and outcome."""
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
