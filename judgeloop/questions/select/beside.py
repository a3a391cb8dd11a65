"""A cheap judge beside a dear one in a search: whether it is worth its price, and what it was worth.

It is asked about every item for each other system against the baseline, before the first label of that pair.
`methods/stats/levels.py` has the proof that the search stays right whatever it says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgeloop.core.jsonable import Part
from judgeloop.core.money import show_usd
from judgeloop.core.records import Label
from judgeloop.judges.wage import HOUR_S
from judgeloop.methods.estimators.win_rates import Beside, score_of
from judgeloop.report.words import count, visible
from judgeloop.runs.proxies import SUPPOSED, Prices

# The share of R² that is saved of the labels, and the gap at which nothing is (`benchmarks/people.py --select`).
SAVES, UP_TO = 0.3, 0.1
USELESS = "it costs its price, and up to 5 % more labels"


def saves(r2: float, gap: float) -> float:
    """About which share of the labels a cheap judge saves that explains so much of them.

    >>> saves(0.5, 0.0), saves(0.5, 0.05), saves(0.5, 0.2)
    (0.15, 0.075, 0.0)
    """
    return SAVES * r2 * max(0.0, 1 - gap / UP_TO)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search takes without a cheap judge, and what one takes and saves that has the R² which is supposed."""

    prices: Prices
    alone: int
    verdicts: int
    gap: float

    @property
    def labels(self) -> float:
        """The labels with it."""
        return self.alone * (1 - saves(SUPPOSED, self.gap))

    @property
    def costs_p(self) -> tuple[float, float]:
        """What the search probably costs, in picodollars, with it and without it."""
        label_p, cheap_p = self.prices[:2]
        return self.labels * label_p + self.verdicts * cheap_p, self.alone * label_p

    @property
    def bought(self) -> bool:
        """Whether it is asked: where it costs nothing, or less than it saves."""
        with_it, without = self.costs_p
        return with_it < without or not self.prices.cheap_p

    def said(self, proxy: str, judge: str) -> tuple[str, ...]:
        """Both ways, as lines of a table for people, and which one is taken."""
        with_it, without = self.costs_p
        seconds = self.prices.seconds
        rows = (("on every item", self.labels, self.verdicts, with_it), ("without it", self.alone, 0, without))
        lines = [f"Ways to decide by {visible(judge)} with {visible(proxy)} beside it; labels at "]
        lines[0] += f"{self.prices.of_a_label}, R² supposed {SUPPOSED}:"
        for (name, labels, verdicts, cost_p), chosen in zip(rows, (self.bought, not self.bought), strict=True):
            hours = f"{labels * seconds / HOUR_S:.1f} h" if seconds else ""
            lines.append(
                f"  {name:<24}{f'{labels:,.0f} labels':>12}{f'{verdicts:,} cheap':>14}{show_usd(round(cost_p)):>10}"
                f"{hours:>8}{'  <- chosen' if chosen else ''}".rstrip()
            )
        last = f"Where {visible(proxy)} says nothing of it, {USELESS}." if self.bought else not_asked(proxy)
        return (*lines, last)


def not_asked(proxy: str) -> str:
    """That the proxy is not bought, and why."""
    return f"{visible(proxy)} is not asked: it would save less than it costs."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyWorth(Part):
    """What the verdicts of a cheap judge on all items were worth to a search.

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
            worth = f"R² {self.r2:.2f} with {visible(judge)}; it saved about {count(round(self.saved), 'label')}"
        return f"{visible(self.proxy)} on all items, {count(self.verdicts, 'verdict')}{silent}: {worth}"


def worth_of(labels: Sequence[Label], cheap: Beside, proxy: str, gap: float) -> ProxyWorth | None:
    """What a cheap judge was worth beside the `labels` of a decision; None if it was not asked."""
    verdicts = sum(len(one.scores) for one in cheap.values())
    if not verdicts:
        return None
    together = square = other = 0.0
    for systems, own in cheap.items():
        both = [(score_of(one), own.scores[one.choice.position]) for one in labels if one.choice.systems == systems]
        known = np.array([pair for pair in both if not np.isnan(pair[0])], dtype=np.float64).reshape(-1, 2)
        dear, said = (known - known.mean(axis=0)).T if len(known) else known.T
        together, square, other = together + float(dear @ said), square + float(dear @ dear), other + float(said @ said)
    r2 = together**2 / (square * other) if square * other > 0 else None
    share = None if r2 is None else saves(r2, gap)
    return ProxyWorth(
        proxy=proxy,
        verdicts=verdicts,
        silent=sum(len(one.silent) for one in cheap.values()),
        r2=r2,
        saved=None if share is None else len(labels) * share / (1 - share),
    )
