"""The result of comparing two finished runs by their recorded scores: all figures, computed once.

Nothing is read or formatted here (`recorded.py`, `recorded_text.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from judgeloop.core.errors import EXIT_OTHER_WON, EXIT_UNDECIDED
from judgeloop.core.outcomes import About
from judgeloop.core.records import TIE
from judgeloop.methods.stats.proportions import p_value, share_interval
from judgeloop.questions.compare import recorded_text
from judgeloop.report.json_fields import SCHEMA_VERSION
from judgeloop.report.labels import LabelRow
from judgeloop.report.page import Page
from judgeloop.report.shown import Shown

TEST = "exact sign test"
RECORDED = "of recorded scores"  # in place of a run's id: such a comparison is not booked


@dataclass(frozen=True, slots=True)
class RecordedSetup:
    """What was compared: the systems, their scorers, and the settings that count."""

    systems: tuple[str, str]
    scorers: tuple[str, str]
    risk_threshold: float
    tie_margin: float
    required_winner: str | None
    left_out: str
    version: str
    run: str = RECORDED


@dataclass(frozen=True, slots=True)
class RecordedResult(Shown):
    """A comparison of all items by recorded scores.

    - `wins`: the items on which each system has the higher score; `ties`: the others.
    - `means`: each system's mean score; `mean_difference`: first minus second.
    - `p_value`: two-sided, of the exact sign test on the items that are no ties.
    - `win_share`: the first system's share of those items; None if all are ties.
    - `win_share_interval`: bounds of its chance to win such an item, at 1 - `risk_threshold`.
    - `winner`: None unless `p_value` is at most `risk_threshold`.
    """

    job: ClassVar[str] = "compare"

    setup: RecordedSetup
    winner: str | None
    leader: str | None
    items: int
    wins: dict[str, int]
    ties: int
    win_distance: float
    means: dict[str, float]
    mean_difference: float
    test: str
    p_value: float
    win_share: float | None
    win_share_interval: tuple[float, float]
    labels: tuple[LabelRow, ...]

    @property
    def about(self) -> About:
        """The items that the decision is about: the test takes the set for a random sample."""
        return About.ITEMS_LIKE_THESE

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        if self.winner is None:
            return EXIT_UNDECIDED
        return EXIT_OTHER_WON if self.setup.required_winner not in {None, self.winner} else 0

    @property
    def page(self) -> Page:
        """The result as text: the headline, and the details."""
        return recorded_text.page(self)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without the labels."""
        figures = asdict(self)
        setup = figures.pop("setup")
        figures.pop("labels")
        return {
            "schema_version": SCHEMA_VERSION,
            "job": self.job,
            "recorded": True,
            "about": str(self.about),
            **figures,
            **setup,
            "spent_usd": 0.0,
            "exit_code": self.exit_code,
        }


def recorded_result(
    setup: RecordedSetup, ids: Sequence[str], first: Sequence[float], second: Sequence[float]
) -> RecordedResult:
    """Compute the result from each system's scores, in the order of `ids`."""
    preferences = [
        _preference(mine - theirs, setup.tie_margin)
        for mine, theirs in zip(first, second, strict=True)
    ]
    won, lost, items = preferences.count(1), preferences.count(-1), len(preferences)
    leader = None if won == lost else setup.systems[0 if won > lost else 1]
    p = p_value(won, lost)
    means = [sum(scores) / items for scores in (first, second)]
    return RecordedResult(
        setup=setup,
        winner=leader if p <= setup.risk_threshold else None,
        leader=leader,
        items=items,
        wins=dict(zip(setup.systems, (won, lost), strict=True)),
        ties=items - won - lost,
        win_distance=abs(won - lost) / items,
        means=dict(zip(setup.systems, means, strict=True)),
        mean_difference=means[0] - means[1],
        test=TEST,
        p_value=p,
        win_share=won / (won + lost) if won + lost else None,
        win_share_interval=share_interval(won, lost, setup.risk_threshold),
        labels=tuple(
            _label(setup.systems, *row) for row in zip(ids, first, second, preferences, strict=True)
        ),
    )


def _preference(difference: float, margin: float) -> int:
    return 0 if abs(difference) <= margin else 1 if difference > 0 else -1


def _label(
    systems: tuple[str, str], item: str, mine: float, theirs: float, preference: int
) -> LabelRow:
    return LabelRow(
        item_id=item,
        system=systems[0],
        against=systems[1],
        score=TIE + preference / 2,
        winner={1: systems[0], 0: None, -1: systems[1]}[preference],
        flipped=False,
        reason=f"scores {mine:g} and {theirs:g}",
        propensity=1.0,
        in_decision=True,
        votes=(),
    )
