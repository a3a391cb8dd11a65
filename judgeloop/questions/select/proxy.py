"""What a proxy was worth to a search: a part of a result."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeloop.core.jsonable import Part
from judgeloop.core.records import Label
from judgeloop.methods.estimators.win_rates import ProxyByPair, score_of
from judgeloop.report.words import count, per_cent, visible

# The share of R² that is saved of the labels, and the gap at which nothing is (`benchmarks/people.py --select`).
SAVES, UP_TO = 0.25, 0.1


def saves(r2: float, gap: float) -> float:
    """About which share of the labels a proxy saves that explains so much of them.

    >>> saves(0.5, 0.0), saves(0.5, 0.05), saves(0.5, 0.2)
    (0.125, 0.0625, 0.0)
    """
    return SAVES * r2 * max(0.0, 1 - gap / UP_TO)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyWorth(Part):
    """What the verdicts of a proxy on all items were worth to a search.

    - `proxy`: the cheap judge. `verdicts`: of all systems against the baseline; `silent`: how often it gave none, which
      counts as a tie
    - `r2`: how much of the labels' variance within the systems the proxy explains, 0 to 1; null where it is not defined
    - `saved`: about how many labels it saved, by what such searches saved on recorded verdicts; null without R²
    """

    proxy: str
    verdicts: int
    silent: int
    r2: float | None
    saved: float | None

    def said(self, judge: str) -> str:
        """What it was worth, in words."""
        silent = f", {self.silent:,} of them without a verdict" if self.silent else ""
        worth = "what it is worth is not known"
        if self.r2 is not None and self.saved is not None:
            worth = f"explains {per_cent(self.r2)} of what {visible(judge)} said (R²); it saved about {count(round(self.saved), 'label')}"
        return f"{visible(self.proxy)} on all items, {count(self.verdicts, 'verdict')}{silent}: {worth}"


def worth_of(labels: Sequence[Label], verdicts: ProxyByPair, proxy: str, gap: float) -> ProxyWorth | None:
    """What a proxy was worth beside the `labels` of a decision; None if it was not asked."""
    asked = sum(len(one.scores) for one in verdicts.values())
    if not asked:
        return None
    together = square = other = 0.0
    for systems, own in verdicts.items():
        both = [(score_of(one), own.scores[one.choice.position]) for one in labels if one.choice.systems == systems]
        known = np.array([pair for pair in both if not np.isnan(pair[0])], dtype=np.float64).reshape(-1, 2)
        dear, said = (known - known.mean(axis=0)).T if len(known) else known.T
        together, square, other = together + float(dear @ said), square + float(dear @ dear), other + float(said @ said)
    r2 = together**2 / (square * other) if square * other > 0 else None
    share = None if r2 is None else saves(r2, gap)
    return ProxyWorth(
        proxy=proxy,
        verdicts=asked,
        silent=sum(len(one.silent) for one in verdicts.values()),
        r2=r2,
        saved=None if share is None else len(labels) * share / (1 - share),
    )
