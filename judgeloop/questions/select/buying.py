"""Whether a search buys a proxy's verdicts beside those of a dear judge: on every item, or not at all.

It is asked about every item for each other system against the baseline, before the first label of that pair.
`methods/stats/levels.py` has the proof that the search stays right whatever it says.
"""

from dataclasses import dataclass

from judgeloop.core.money import show_usd
from judgeloop.judges.wage import HOUR_S
from judgeloop.questions.select.proxy import saves
from judgeloop.report.words import visible
from judgeloop.runs.proxies import SUPPOSED, Prices

USELESS = "you pay its price and up to 5 % more labels"  # benchmarks/people.py --select


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search takes without a proxy, and what one takes and saves that has the R² which is supposed."""

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
        label_p, proxy_p = self.prices[:2]
        return self.labels * label_p + self.verdicts * proxy_p, self.alone * label_p

    @property
    def bought(self) -> bool:
        """Whether it is asked: where it saves something, and costs nothing, or less than that."""
        with_it, without = self.costs_p
        return with_it < without or (not self.prices.proxy_p and self.labels < self.alone)

    def said(self, proxy: str, judge: str) -> tuple[str, ...]:
        """Both ways, as lines of a table for people, and which one is taken."""
        with_it, without = self.costs_p
        seconds = self.prices.seconds
        rows = (("on every item", self.labels, self.verdicts, with_it), ("without it", self.alone, 0, without))
        lines = [f"Ways to decide from the start by {visible(judge)} with the help of {visible(proxy)}; labels at "]
        lines[0] += f"{self.prices.of_a_label}, R² supposed {SUPPOSED}:"
        for (name, labels, verdicts, cost_p), chosen in zip(rows, (self.bought, not self.bought), strict=True):
            hours = f"{labels * seconds / HOUR_S:.1f} h" if seconds else ""
            lines.append(
                f"  {name:<24}{f'{labels:,.0f} labels':>12}{f'{verdicts:,} cheap':>14}{show_usd(round(cost_p)):>10}"
                f"{hours:>8}{'  <- chosen' if chosen else ''}".rstrip()
            )
        last = f"If {visible(proxy)} does not foresee the verdicts, {USELESS}." if self.bought else not_asked(proxy)
        return (*lines, last)


def not_asked(proxy: str) -> str:
    """That the proxy is not bought, and why."""
    return f"{visible(proxy)} is not asked: it would save less than it costs."
