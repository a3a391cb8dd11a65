"""How a comparison buys a proxy's verdicts beside those of a dear judge: on every item, in blocks, or not at all.

Its verdicts on all N items take N c, and save labels worth about R²/2 of their price P; a block of k a label takes
k c more for each label. What is cheapest follows from the prices and the numbers of items before the first call, with
an R² that is supposed, so that the same command buys the same.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from judgeloop.core.money import show_usd
from judgeloop.core.records import UNLIMITED
from judgeloop.judges.wage import HOUR_S
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.selectors.blocks import LEAST_BLOCK, Blocks
from judgeloop.methods.selectors.families import Members
from judgeloop.methods.stopping.bets import Bets
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.report.words import count, visible
from judgeloop.runs.inputs import Inputs
from judgeloop.runs.proxies import SUPPOSED, Known, Prices, best_block, prices_of_a_plan

AHEAD, TIES = 0.2, 0.3  # the gap, and the share of ties, for which labels are reckoned
USELESS = "you pay its price and 1 to 3 % more labels"  # benchmarks/people.py


@dataclass(frozen=True, slots=True)
class Way:
    """A way to buy: `each` verdicts of the proxy a label; 0 on every item, 1 for none. With what it probably takes."""

    each: int
    labels: float
    verdicts: float
    cost_p: float


@dataclass(frozen=True, slots=True)
class Buying:
    """The ways to buy the verdicts of a proxy, of which `chosen` is the cheapest that the theorems allow.

    `alone` is the number of labels without it, `items` that of the items, and `most` the limit of labels. `fits` is the
    largest block of fresh items that leaves no label short, None where all items may be rated. `of_these`: nothing is
    bought for items like these, and something would be for these items.
    """

    items: int
    alone: float
    prices: Prices
    fits: int | None
    most: int
    of_these: bool = False

    def way(self, each: int, r2: float = SUPPOSED) -> Way:
        """What a way probably takes, if the judge explains this much of the labels."""
        labels, verdicts = self.alone * (1 - r2 / 2 * (each != 1)), 0.0 if each else float(self.items)
        if each > 1:
            # Each further label without replacement says more than the one before; with it some items come again.
            left = 1.0 if self.fits is not None else max(1 - self.alone / self.items, 1 / self.items)
            drawn = self.alone / left * (1 - r2 / 2 * (1 - 1 / each))
            labels, verdicts = self._different(drawn), self._different(drawn * each)
        return Way(each, labels, verdicts, labels * self.prices.label_p + verdicts * self.prices.proxy_p)

    def _different(self, drawn: float) -> float:
        """How many items are among so many that are drawn for blocks: with replacement some are known already."""
        return drawn if self.fits is not None else self.items * -math.expm1(-drawn / self.items)

    @property
    def ways(self) -> tuple[Way, ...]:
        """Those that there are, without the judge last."""
        best = round(best_block(*self.prices[:2]))
        each = best if self.fits is None else min(best, self.fits)
        return *([self.way(0)] if self.fits is None else []), *([self.way(each)] if each > 1 else []), self.way(1)

    @property
    def chosen(self) -> Way:
        """The first that costs less than labels alone do."""
        *ways, none = self.ways
        return next((one for one in ways if one.cost_p < none.cost_p or not self.prices.proxy_p), none)

    @property
    def further(self) -> int:
        """How many more items would make the judge worth its price, at this limit; 0 where they would not."""
        worth = self.fits is not None and self.chosen.each == 1 and self.way(LEAST_BLOCK).cost_p < self.way(1).cost_p
        return LEAST_BLOCK * self.most - self.items if worth else 0


def buying(config: CompareSettings, inputs: Inputs, members: Members = ()) -> Buying:
    """What is bought: for these items on all of them or in blocks, for items like these in blocks of fresh ones."""
    items, sampled = len(members) or len(inputs.pool), inputs.sampled
    limit = min(config.max_judgments, items)
    rule = Bets(config.risk, UNLIMITED if sampled else items, limit, config.min_gap, config.not_worse)
    alone = float(round(rule.outlook(0.0 if config.not_worse else AHEAD, TIES).judgments))  # as the table has it
    if config.by_group is not None and not sampled:  # open groups may take every item, and all its verdicts help them
        alone = float(items)
    fits = items // limit if sampled else None
    found = Buying(items, alone, prices_of_a_plan(config, inputs), fits, config.max_judgments)
    if found.chosen.each != 1 or not sampled or (config.order.draws_order and not inputs.by_hand):
        return found
    return replace(found, of_these=buying(config, replace(inputs, population=None)).chosen.each != 1)


def proxy_verdicts(config: CompareSettings, inputs: Inputs, members: Members) -> ProxyVerdicts | None:
    """What the run asks the proxy; None where it is not worth its price, or there is none."""
    if inputs.proxy is None:
        return None
    each, items = buying(config, inputs, members).chosen.each, len(inputs.pool)
    if each == 1:
        return None
    if each == 0:
        return ProxyVerdicts(items)
    if inputs.sampled:
        places = [family[0] for family in members] if members else range(items)
        return ProxyVerdicts(items, Blocks.fresh(places, each, config.seed))
    return ProxyVerdicts(items, Blocks.again(items, each, config.max_judgments, config.seed))


class Offer(NamedTuple):
    """A proxy, the ways to buy its verdicts, and what the ledger knows of it, None if too little."""

    proxy: str
    buying: Buying
    known: Known | None = None

    @property
    def likely(self) -> Way:
        """What the way that a run takes probably takes, as far as the ledger knows what the judge is worth."""
        return self.buying.way(self.buying.chosen.each, self.known.r2 if self.known else SUPPOSED)


def ways_of(offers: Sequence[Offer], judge: str) -> tuple[str, ...]:
    """The ways to decide by a dear judge, as lines of tables for people, and of several the better buy."""
    lines = [line for one in offers for line in _said_of(one, judge)]
    if len(offers) > 1 and all(one.buying.chosen.each == 1 for one in offers):
        lines.append(f"{'None' if len(offers) > 2 else 'Neither'} would be asked here.")  # noqa: PLR2004 - of two
    elif len(offers) > 1:
        cheapest, *others = sorted(offers, key=lambda one: one.likely.cost_p)
        known = all(one.known for one in offers)
        rest = "; ".join(f"{visible(one.proxy)} {_sum_of(one.buying, one.likely)}" for one in others)
        way = _name(cheapest.likely)
        lines.append(
            f"The better buy{'' if known else ', as far as it is known'}: {visible(cheapest.proxy)}, {way}, "
            f"{_sum_of(cheapest.buying, cheapest.likely)} ({rest})."
        )
    return tuple(lines)


def _said_of(offer: Offer, judge: str) -> Iterator[str]:
    """The ways as lines, with what they suppose."""
    found, proxy = offer.buying, visible(offer.proxy)
    price, seconds = found.prices.of_a_label, found.prices.seconds
    calls = f", cheap verdicts with {count(found.prices.calls, 'call')} each" if found.prices.calls > 1 else ""
    yield (
        f"Ways to decide from the start by {visible(judge)} with the help of {proxy}; labels at {price}{calls}, R² "
        f"supposed {SUPPOSED}:"
    )
    for one in found.ways:
        hours = f"{one.labels * seconds / HOUR_S:.1f} h" if seconds else ""
        yield (
            f"  {_name(one):<24}{f'{one.labels:,.0f} labels':>12}{f'{one.verdicts:,.0f} cheap':>14}"
            f"{show_usd(round(one.cost_p)):>10}{hours:>8}{'  <- chosen' if one == found.chosen else ''}"
        ).rstrip()
    if found.chosen.each != 1:
        yield f"If {proxy} does not foresee the verdicts, {USELESS}."
    if offer.known is not None:
        r2, items = offer.known
        likely = f", with which it takes {_sum_of(found, offer.likely)}" if found.chosen.each != 1 else ""
        yield f"The ledger has both on {count(items, 'item')}: R² {r2:.2f}{likely}."
    yield from not_bought(found, offer.proxy)


def _sum_of(found: Buying, way: Way) -> str:
    """The labels, dollars and hours of a way."""
    seconds = found.prices.seconds
    hours = f", {way.labels * seconds / HOUR_S:.1f} h" if seconds else ""
    return f"about {way.labels:,.0f} labels, {show_usd(round(way.cost_p))}{hours}"


def not_bought(found: Buying, proxy: str) -> Sequence[str]:
    """That the proxy is not bought, and why; () where it is."""
    if found.chosen.each != 1:
        return ()
    why = "it would save less than it costs"
    if found.further:
        these = ", or `about=items`," if found.of_these else ""
        why = f"the items are too few for it; {count(found.further, 'more item')} with other prompts{these} would do"
    return (f"{visible(proxy)} is not asked: {why}.",)


def _name(way: Way) -> str:
    if way.each == 0:
        return "on every item"
    return "without it" if way.each == 1 else f"in blocks of {way.each} a label"
