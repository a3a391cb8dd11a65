"""The base class of the rules that compare two systems, when a rule is met, and the sentences for why it ends a run.

Each rule's own file computes its stated risk. Sentences for other ends (money, limits, an empty pool) are written where
those ends happen.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Observed, StopKind, StopReason, Tally, WithProxy, scores_of
from judgeloop.methods.stats.betting import Controls, interval_of_bounds
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.corrected import Aside, controls
from judgeloop.methods.stats.predictive import ItemsToDecide, chance_of_lead, further_decisive

LEAST_RISK_SHOWN = 0.001  # a smaller risk is not shown in digits
MOST_DIGITS = 18  # of a floating-point number
ROUNDING = 1e-6

NO_DIFFERENCE = StopReason(StopKind.NO_DIFFERENCE, "the gap is close enough to zero to make no practical difference")


@dataclass(frozen=True)
class Rule(ABC):
    """A rule for two systems that stops once its stated risk is at most its threshold.

    A subclass computes the risk. By default a rule claims no near-ties.
    """

    threshold: float

    @property
    @abstractmethod
    def name(self) -> str:
        """The rule's name as typed on the command line."""

    @property
    @abstractmethod
    def needs_draws(self) -> bool:
        """Whether the rule is valid only for uniform draws."""

    @property
    @abstractmethod
    def guarantee(self) -> str | None:
        """What the stated risk promises; None for a heuristic."""

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The halts at which the leader is named: enough evidence, or all items judged."""
        return frozenset({StopKind.RISK_MET, StopKind.ALL_JUDGED})

    @abstractmethod
    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""

    def is_met(self, tally: Tally) -> bool:
        """Whether the leader of `tally` is named the winner."""
        return tally.leader is not None and self.risk(tally) <= self.threshold

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """Whether verdicts on `unknown` further items could meet the rule.

        Not every sequence of verdicts is tried. For a guaranteed rule only wins of the same system
        are tried: nothing is better for that system. For a heuristic, mixtures of wins and ties are
        tried as well.
        """
        wins = (unknown,) if self.guarantee else range(unknown + 1)
        return any(self.is_met(with_wins(tally, side, won, unknown)) for side in (0, 1) for won in wins)

    def chance(self, tally: Tally, more: int) -> float:
        """The probability that the rule stops within `more` further verdicts: by default 1 where it can be met."""
        return float(self.can_be_met(tally, more))

    @property
    def expects_lead(self) -> bool:
        """Whether who asks expects a system to be ahead: not for "is the second not worse?"."""
        return True

    @property
    def goes_on(self) -> bool:
        """Whether more judgments than its limit can decide, by another test."""
        return True

    def interval(self, tally: Tally) -> None:
        """None: `bounds_by_draw` bounds the gap after the run."""
        del tally

    def bounds_by_draw(self, tally: Tally, items: float, limit: int) -> NDArray[np.float64]:
        """Bounds of the gap after each draw: that of the first system from below, and that of the second.

        Shape (2, draws). They are those of `lower_bounds`, so they hold at every look, whatever rule ends the run, if
        draws are uniform. `items` is inf for items like these.
        """
        scores = np.array([scores_for(tally, side) for side in (0, 1)])
        return lower_bounds(scores, self.threshold, limit, items, controls=controls_of(tally))

    def chance_at_the_end(self, tally: Tally, within: int) -> float:
        """About how probable an answer is after so many further judgments, if verdicts go on as before.

        Ties come at the rate so far, and decisive verdicts by a uniform prior. By default leads decide that are large
        enough to name the leader.
        """
        drawn, decisive = asked(tally), sum(tally.wins)
        further = further_decisive(decisive, drawn, within)
        total = decisive + further
        ties = drawn + within - tally.abstentions - total

        def in_the_end(lead: int) -> Tally:
            wins = (total + lead) // 2, (total - lead) // 2
            return replace(tally, wins=wins, ties=ties, preferences=(), propensities=())

        leads = [*range(total % 2, total + 1, 2), total + 2]  # the last cannot be reached
        most = len(leads) - 1
        named = bisect_left(leads, True, hi=most, key=lambda lead: self.is_met(in_the_end(lead)))
        return chance_of_lead(*tally.wins, further, leads[named])

    def first_met(self, tally: Tally, shares: Tally, most: int) -> int | None:
        """After how many of `most` further items the rule is met; None if it is not.

        As many of them are skipped as so far, and the others have the shares of `shares`, spread evenly. The result is
        a projection without a promise.
        """

        def is_met(further: int) -> bool:
            skipped = round((asked(tally) + further) * share_skipped(tally))
            return self.reason_to_stop(_scaled(shares, asked(tally) + further - skipped, skipped)) is not None

        if not shares.judged or most < 1:
            return None
        least = enough = 1
        while not is_met(enough):
            if enough == most:
                return None
            least, enough = enough + 1, min(most, 2 * enough)
        return bisect_left(range(enough), True, lo=least, key=is_met)

    def items_to_decide(self, tally: Tally) -> ItemsToDecide | None:
        """How many further items would decide, once no item is left: None by default."""
        del tally
        return None

    def no_difference(self, tally: Tally) -> bool:
        """Whether the systems are shown to be nearly equal: False by default."""
        del tally
        return False

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Where the rule names a leader along sequences, shape (thresholds, sequences, looks).

        `preferences` has the shape (sequences, looks). Entry (t, s, n) is what `is_met` says after the
        first n + 1 of sequence s on a pool of `items`, for threshold t. It serves replays over arrays;
        a rule may override it with a faster method.
        """
        met = np.zeros((len(thresholds), *preferences.shape), dtype=np.bool_)
        rules = [replace(self, threshold=float(threshold)) for threshold in thresholds]
        for at, sequence in enumerate(preferences.tolist()):
            tally = Tally(items)
            for look, preference in enumerate(sequence):
                tally = _with(tally, [preference])
                met[:, at, look] = [rule.is_met(tally) for rule in rules]
        return met

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Why to stop: the risk is met, or the systems are nearly equal."""
        if self.no_difference(tally):
            return NO_DIFFERENCE
        return risk_met(self.risk(tally), self.threshold) if self.is_met(tally) else None


def in_order(tally: Tally) -> bool:
    """Whether the order of the verdicts is known, and not only their counts."""
    return len(tally.preferences) >= asked(tally)


def asked(tally: Tally) -> int:
    """The number of items asked about."""
    return tally.judged + tally.abstentions


def share_skipped(tally: Tally) -> float:
    """The share of the items asked about that have no verdict.

    >>> share_skipped(Tally(9, (2, 1), abstentions=1)), share_skipped(Tally(9))
    (0.25, 0.0)
    """
    return tally.abstentions / max(1, asked(tally))


def verdicts_of(tally: Tally) -> Sequence[Observed]:
    """The verdicts in the order drawn, as in `Tally.preferences`; spread evenly where only their counts are known."""
    if in_order(tally):
        return tally.preferences
    ahead = 1 if tally.leader == 1 else 0
    first, second = ((1, -1), (-1, 1))[ahead]
    counts = {first: tally.wins[ahead], second: tally.wins[1 - ahead], None: tally.abstentions, 0: tally.ties}
    places = [((at + 0.5) / count, value) for value, count in counts.items() for at in range(count)]
    return [value for _, value in sorted(places, key=lambda place: place[0])]


def scores_for(tally: Tally, side: int) -> NDArray[Any]:
    """The verdicts as `verdicts_of` has them, as scores for `side`.

    1 is a win of `side`, -1 a win of the other system or an abstention, 0 a tie; a family's mean lies between.
    """
    scores = [scores_of(observed)[side] for observed in verdicts_of(tally)]
    return np.array(scores, dtype=np.int8 if tally.total is None else np.float64)


def asides_of(tally: Tally) -> list[tuple[int | None, Aside]]:
    """The verdicts in the order drawn, each with what a proxy says beside it; [] without one."""
    return [(one.observed, Aside(*one.proxy)) for one in tally.preferences if isinstance(one, WithProxy)]


def controls_of(tally: Tally) -> Controls | None:
    """What a proxy takes off the verdicts of a tally; None without one, or where only counts are known."""
    both = asides_of(tally)
    if not both or len(both) < len(tally.preferences):
        return None
    return controls(*zip(*both, strict=True))


def gap_bounds(tally: Tally, items: int, risk: float) -> tuple[float, float] | None:
    """Bounds for the gap over all `items`, first minus second, whatever rule ended the run.

    Each bound is ever wrong, at any number of looks, with probability at most `risk`: it rules out
    the gaps against which bets have reached 1/risk, and against the true gap they ever do so with at
    most that probability (Ville 1939). So it holds at any time at which a run may end. An abstention
    counts against each bound. The bounds depend on the order of the verdicts, too: what an earlier
    look ruled out stays ruled out. What a proxy foresees is taken off the verdicts. Of
    `core.records.UNLIMITED` items, draws are independent. None without a verdict, or if the draws were not uniform.
    """
    if tally.judged == items and tally.gap is not None:
        return tally.gap, tally.gap
    if not tally.judged or tally.picked or tally.propensities:
        return None
    return interval_of_bounds(scores_for(tally, 0), scores_for(tally, 1), items, risk, controls_of(tally))


def with_seen(bounds: tuple[float, float] | None, seen: float | None) -> tuple[float, float] | None:
    """Widen bounds to the gap, or the mean, that was `seen`, where one of them excludes it and so is probably wrong.

    Wider bounds are wrong in fewer runs.
    """
    if bounds is None or seen is None:
        return bounds
    return min(bounds[0], seen), max(bounds[1], seen)


def with_wins(tally: Tally, side: int, wins: int, unknown: int) -> Tally:
    """`tally` with `unknown` verdicts added: `wins` of one side, and ties."""
    sign = 1 if side == 0 else -1
    return _with(tally, [sign] * wins + [0] * (unknown - wins))


def _with(tally: Tally, more: list[int]) -> Tally:
    first, second = tally.wins
    return replace(
        tally,
        wins=(first + more.count(1), second + more.count(-1)),
        ties=tally.ties + more.count(0),
        preferences=(*tally.preferences, *more),
        total=None if tally.total is None else tally.total + sum(more),
    )


def _scaled(tally: Tally, judged: int, skipped: int) -> Tally:
    share = judged / tally.judged
    first, second = (round(wins * share) for wins in tally.wins)
    ties = max(0, judged - first - second)
    return replace(tally, wins=(first, second), ties=ties, abstentions=skipped, preferences=())


def show_risk(risk: float) -> str:
    """A risk as text.

    >>> show_risk(0.0861), show_risk(0.00002)
    ('0.086', 'under 0.001')
    """
    return f"{risk:.3f}" if risk >= LEAST_RISK_SHOWN else f"under {LEAST_RISK_SHOWN}"


def show_risk_under(risk: float, threshold: float) -> str:
    """A risk of at most `threshold` with as many digits as show that it is.

    >>> show_risk_under(0.0861, 0.1), show_risk_under(5.31e-8, 1e-7)
    ('0.086', '5.3e-08')
    >>> show_risk_under(0.09996, 0.09998), show_risk_under(0.0, 1e-7)
    ('0.09996', '0')
    """
    shown = show_risk(risk)
    limit = LEAST_RISK_SHOWN if risk < LEAST_RISK_SHOWN else float(shown)
    digits = 2
    while limit > threshold and digits < MOST_DIGITS:
        shown = f"{risk:.{digits}g}"
        limit, digits = float(shown), digits + 1
    return shown


def at_most(risk: float) -> str:
    """A risk as a bound, in per cent.

    >>> at_most(0.1), at_most(1e-7)
    ('at most 10 %', 'at most 1e-05 %')
    """
    return f"at most {100 * risk:g} %"


def risk_met(risk: float, threshold: float, of: str = "") -> StopReason:
    """The reason that the stated risk, of at most `threshold`, is low enough.

    `of` says which risk it is, if it is not that of the worse system.

    >>> risk_met(0.04, 0.1, "passing a system that is worse").sentence
    'the stated risk of passing a system that is worse, 0.040, is at most the risk asked for, 0.1'
    """
    shown = show_risk_under(risk, threshold)
    of = f" of {of}" if of else ""
    return StopReason(StopKind.RISK_MET, f"the stated risk{of}, {shown}, is at most the risk asked for, {threshold:g}")


def none_better(gap: float, risk: float) -> StopReason:
    """The reason that no system can be more than `gap` better than the leader.

    >>> none_better(0.05, 0.1).sentence
    'no system is more than 5 points better than the leader, at a risk of 0.1'
    """
    return StopReason(StopKind.RISK_MET, f"{show_gap(gap)} than the leader, at a risk of {risk:g}")


def show_gap(gap: float, others: str = "no system") -> str:
    """By how much no other system is better, in points: share won less share lost, times 100.

    >>> show_gap(0.0), show_gap(0.0712)
    ('no system is better', 'no system is more than 7.2 points better')
    """
    rounded = math.ceil(1000 * gap - ROUNDING) / 1000
    return f"{others} is {f'more than {points(rounded)} ' if rounded else ''}better"


def points(gap: float) -> str:
    """A gap in points, which are hundredths.

    >>> points(0.1), points(0.025), points(0.01)
    ('10 points', '2.5 points', '1 point')
    """
    number = f"{100 * gap:.10g}"
    return f"{number} point{'s' * (number != '1')}"


def far_behind(gap: float) -> str:
    """How a system is behind the other one of a pair by a gap that matters.

    >>> far_behind(0.1)
    '10 points or more behind the other'
    """
    return f"{points(gap)} or more behind the other"


def given_up(likely: float, chance: float, limit: int) -> StopReason:
    """The reason that a decision within the limit is too unlikely."""
    return StopReason(
        StopKind.FUTILITY,
        f"gave up, as the chance of a decision within {limit:,} judgments is about {likely:.2f}, under {chance:g}",
    )
