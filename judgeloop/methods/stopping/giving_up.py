"""A wrapper that ends a run undecided when its rule is unlikely to decide within the limit.

It works with any rule for two systems. `methods/stats/predictive.py` computes how likely further verdicts
lead to a given lead; the wrapped rule says what a lead means.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Self, final

from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.methods.stats.predictive import chance_of_lead, further_decisive
from judgeloop.methods.stopping.reasons import given_up
from judgeloop.methods.stopping.rule import PairRule, Rule

LOOK_EVERY = 10  # judgments between looks; queries between two looks can run in parallel


@final
@dataclass(frozen=True)
class GivingUp:
    """Ends a run undecided once `rule` is too unlikely to decide it within `limit` judgments.

    "Too unlikely" is a chance under `chance`. The wrapper only adds undecided ends: when it names a
    system, `rule` names the same system at the same judgment. So an upper bound for how often the
    wrong system is named holds with the wrapper too, whether it was proved or found on past
    comparisons without giving up.

    The chance assumes that verdicts go on as before: ties at the rate so far, and decisive verdicts
    by a uniform prior. For selectors whose labels leave the decision, it is a rough guess. If the
    limit covers all items and the decision is about these, the last judgment decides, and the
    wrapper never gives up. With `sampled`, the decision is about items like these.
    """

    rule: PairRule
    chance: float
    limit: int
    sampled: bool = False

    @property
    def name(self) -> str:
        """The wrapped rule's name."""
        return self.rule.name

    @property
    def deciding(self) -> Rule:
        """The wrapped rule: giving up names no system."""
        return self.rule.deciding

    @property
    def expects_lead(self) -> bool:
        """As the wrapped rule."""
        return self.rule.expects_lead

    @property
    def guarantee(self) -> str | None:
        """What the wrapped rule promises; it also holds when fewer systems are named."""
        return self.rule.guarantee

    @property
    def needs_draws(self) -> bool:
        """Whether the wrapped rule needs random draws."""
        return self.rule.needs_draws

    @property
    def threshold(self) -> float:
        """The wrapped rule's threshold."""
        return self.rule.threshold

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The halts at which the wrapped rule decides; giving up decides nothing."""
        return self.rule.decides_at

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`."""
        return self.rule.risk(tally)

    def is_met(self, tally: Tally) -> bool:
        """Whether the wrapped rule names the leader of `tally`."""
        return self.rule.is_met(tally)

    def interval(self, tally: Tally) -> tuple[float, float] | None:
        """Return bounds for the gap, if the wrapped rule has them."""
        return self.rule.interval(tally)

    def for_limit(self, limit: int) -> Self:
        """Return the rule for another limit of judgments."""
        return replace(self, rule=self.rule.for_limit(limit), limit=limit)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """Whether the wrapped rule could be met, or a look is due that might give up."""
        return self._looks(tally, _drawn(tally) + unknown) or self.rule.can_be_met(tally, unknown)

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Return the wrapped rule's reason, or else that a decision is unlikely."""
        reason = self.rule.reason_to_stop(tally)
        if reason is not None or not self._looks(tally, _drawn(tally)):
            return reason
        likely = self.chance_to_decide(tally)
        return given_up(likely, self.chance, self.limit) if likely < self.chance else None

    def chance_to_decide(self, tally: Tally) -> float:
        """Return the predictive chance that the lead at the limit decides the run.

        Small leads decide if the rule then claims no difference, large leads if it names the
        leader. The leads between leave the run undecided.
        """
        drawn, decisive = _drawn(tally), sum(tally.wins)
        further = further_decisive(decisive, drawn, self.limit - drawn)
        total = decisive + further
        ties = self.limit - tally.abstentions - total

        def at_limit(lead: int) -> Tally:
            wins = (total + lead) // 2, (total - lead) // 2
            return replace(tally, wins=wins, ties=ties, preferences=(), propensities=())

        leads = [*range(total % 2, total + 1, 2), total + 2]  # the last cannot be reached
        most = len(leads) - 1
        named = bisect_left(leads, True, hi=most, key=lambda lead: self.rule.is_met(at_limit(lead)))
        level = bisect_left(
            leads, True, hi=named, key=lambda lead: self.rule.reason_to_stop(at_limit(lead)) is None
        )
        reached, left = (chance_of_lead(*tally.wins, further, leads[at]) for at in (named, level))
        return max(0.0, 1 + reached - left)

    def _looks(self, tally: Tally, drawn: int) -> bool:
        certain = self.limit >= tally.items and not self.sampled
        return drawn % LOOK_EVERY == 0 and drawn < self.limit and not certain


def _drawn(tally: Tally) -> int:
    return tally.judged + tally.abstentions
