"""The warnings of a comparison: verdicts that are all ties, and a lead that others may not share.

Reads a `Result`, returns sentences. Computes no figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeloop.core.records import IDENTICAL
from judgeloop.methods.stopping.reasons import show_risk

if TYPE_CHECKING:
    from judgeloop.questions.compare.result import Result

FEWEST_TIES = 10  # so many verdicts, and no other, are worth a warning


def all_ties(result: Result) -> list[str]:
    """Return a warning if the judge preferred nothing, else none."""
    if result.recorded is not None or result.judged < FEWEST_TIES or result.ties < result.judged:
        return []
    if alike_in(result) == result.judged:
        same = (
            f"all {result.judged:,} pairs of outputs are identical, so nobody was asked about them"
        )
        return [f"Warning: {same}: is it twice the same file?"]
    return [
        f"Warning: all {result.judged:,} verdicts are ties, so this judge may not fit these outputs."
    ]


def on_others(result: Result) -> list[str]:
    """Return a warning if a lead on these items may be chance on others like them, else none."""
    beyond = result.p_value_beyond
    early = result.judged < result.items / 2  # more judgments may show a lead that holds on others
    if (
        result.recorded is not None
        or beyond is None
        or beyond <= result.setup.risk_threshold
        or early
    ):
        return []
    most, least = sorted(result.wins.values(), reverse=True)
    lead = f"{most:,} to {least:,} may be chance (p-value {show_risk(beyond)}, sign test)"
    return [f"Warning: the decision is about these items. On others like them, {lead}."]


def alike_in(result: Result) -> int:
    """Return how many ties of the decision are of identical outputs."""
    return sum(row.reason == IDENTICAL and row.in_decision for row in result.labels)
