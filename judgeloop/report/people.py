"""What people gave to a run: their time, what it cost, and how well they agree with each other and with themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from judgeloop.core.money import PICO_PER_DOLLAR, show_usd, to_usd
from judgeloop.core.outcomes import Checked, Finished, ReadAgain
from judgeloop.core.records import as_score
from judgeloop.methods.stats.intervals import wilson_interval
from judgeloop.methods.stats.with_people import linear_kappa
from judgeloop.report.words import count, hours, per_cent, seconds

ROUNDING = 1e-9
IN_SECONDS = 90  # shorter times are in seconds


@dataclass(frozen=True, slots=True)
class Twice:
    """What people said of items that were read twice, which decide nothing.

    Of `items` the same verdict was given on a share `equal`, whose 95 % interval is `interval`. `kappa` is linearly
    weighted; null where one verdict is all there is.
    """

    items: int
    equal: float
    interval: tuple[float, float]
    kappa: float | None


@dataclass(frozen=True, slots=True)
class ByPeople:
    """What people gave to a run, over all its commands.

    - `answers`: number of their answers, skips among them
    - `seconds`, `usd`: their time, and what it cost
    - `each`: of these answers how many each person gave, by name
    - `beyond`: number of their verdicts that the ledger has on draws after those that count, whichever run asked them
    - `another`: what two people said of the same items, of which the second had the outputs the other way round; null
      if no item was read by two
    - `same`: what one person said of the same item twice; null if none was asked again
    - `asked_again`: number of second readings that were asked for
    - `checks`: what came of items with a known answer that people were given among the others; empty without any
    """

    answers: int
    seconds: float
    usd: float
    another: Twice | None = None
    same: Twice | None = None
    checks: tuple[Checked, ...] = ()
    each: Mapping[str, int] = field(default_factory=dict)
    beyond: int = 0
    asked_again: int = 0

    @property
    def cost(self) -> str:
        """Their part of the cost, and for how long, in words."""
        time = seconds(self.seconds) if self.seconds < IN_SECONDS else hours(self.seconds)
        time = f"{time} of people's time for {count(self.answers, 'answer')}"
        return f"people {show_usd(self.cost_p)} ({time})" if self.usd else time

    @property
    def cost_p(self) -> int:
        """What their time cost, in picodollars."""
        return round(self.usd * PICO_PER_DOLLAR)

    @property
    def said_another(self) -> str:
        """How well two people agree, in words; empty if no item was read by two."""
        return "" if self.another is None else f"the same verdict on {_said(self.another)}"

    @property
    def said_each(self) -> str:
        """How many answers each of several people gave, in words; empty for one person."""
        shares = ", ".join(f"{name} {number:,}" for name, number in self.each.items())
        return f"{shares} of {count(self.answers, 'answer')}" if len(self.each) > 1 else ""

    @property
    def said_same(self) -> str:
        """How often a person says the same again, in words; empty if none was asked again."""
        return "" if self.same is None else f"asked again, a person says the same on {_said(self.same)}"

    @property
    def said_missing(self) -> str:
        """How many of the second readings that were asked for there are, in words; empty if all are, or none was."""
        made = sum(one.items for one in (self.another, self.same) if one is not None)
        return f"{made:,} of {self.asked_again:,} asked for" if made < self.asked_again else ""

    @property
    def said_checks(self) -> str:
        """What came of checks, in words; empty without any."""
        return "; ".join(
            f"{one.name} {one.right:,} of {one.asked:,} right{', and asked no more' if one.asked_no_more else ''}"
            for one in self.checks
        )


def _said(one: Twice) -> str:
    low, high = map(per_cent, one.interval)
    kappa = "" if one.kappa is None else f", kappa {one.kappa:.2f}"
    of = f"{round(one.equal * one.items):,} of {count(one.items, 'item')}"
    return f"{of} ({per_cent(one.equal)}, 95 % interval {low} to {high}{kappa})"


def by_people(finished: Finished[Any], *, rates: bool) -> ByPeople | None:
    """What people gave to a run; None if they gave nothing."""
    if not finished.people.answers:
        return None
    again, gave = finished.read_again, finished.people
    another, same = ([one for one in again if one.same is wanted] for wanted in (False, True))
    usd = float(to_usd(gave.cost_p))
    return ByPeople(
        gave.answers,
        gave.seconds,
        usd,
        twice(another, rates=rates),
        twice(same, rates=rates),
        finished.checked,
        gave.each,
        asked_again=finished.to_read_again,
    )


def twice(again: Sequence[ReadAgain], *, rates: bool) -> Twice | None:
    """How often the two readings of each item say the same; None without any."""
    if not again:
        return None
    first, second = (
        np.array([one.score if rates else as_score(one.preference) for one in said])
        for said in ([one.first for one in again], [one.second for one in again])
    )
    equal = int((np.abs(first - second) < ROUNDING).sum())
    items = len(again)
    return Twice(items, equal / items, wilson_interval(equal, items), linear_kappa(first, second))
