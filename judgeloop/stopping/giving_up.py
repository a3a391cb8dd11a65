"""When to leave it undecided: where a decision within the limit of judgments is unlikely, whatever rule would make it.

How likely further verdicts make a lead stands in `stats/predictive.py`; what a lead means, the rule says that is wrapped.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Self, final

from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import StopKind, StopReason, Tally
from judgeloop.stats.predictive import chance_of_lead, further_decisive
from judgeloop.stopping.reasons import given_up

LOOK_EVERY = 10  # judgments: so many queries can be asked side by side between looks


@final
@dataclass(frozen=True)
class GivingUp:
    """A rule that also ends a run undecided, once the chance that `rule` decides it within `limit` judgments is under `chance`.

    It only ever adds undecided ends, and changes none of what `rule` says before: whoever is named is named by `rule` too, at the same
    judgment. So a bound for how often a wrong system is named, proved or found on the past without giving up, holds with it.

    The chance supposes that verdicts go on as they are, ties as often as so far and the rest by a uniform prior, and it is a plain guess
    for labels that leave the decision. Where the limit covers all items, the last of them decides, and nothing is given up.
    """

    rule: StoppingRule[Tally]
    chance: float
    limit: int

    @property
    def name(self) -> str:
        """That of the rule."""
        return self.rule.name

    @property
    def guarantee(self) -> str | None:
        """What the rule promises; it holds for fewer namings as well."""
        return self.rule.guarantee

    @property
    def needs_draws(self) -> bool:
        """Whether the rule needs random draws."""
        return self.rule.needs_draws

    @property
    def threshold(self) -> float:
        """That of the rule."""
        return self.rule.threshold

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """Where the rule does; to give up decides nothing."""
        return self.rule.decides_at

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        return self.rule.risk(tally)

    def is_met(self, tally: Tally) -> bool:
        """Whether the rule names the leader of `tally`."""
        return self.rule.is_met(tally)

    def interval(self, tally: Tally) -> tuple[float, float] | None:
        """Bounds for the win distance, from a rule that has them."""
        return self.rule.interval(tally)

    def for_limit(self, limit: int) -> Self:
        """The rule as it would be for another limit of judgments."""
        return replace(self, rule=self.rule.for_limit(limit), limit=limit)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """Whether the rule could be met, or a look is due that might give up."""
        return self._looks(tally, _drawn(tally) + unknown) or self.rule.can_be_met(tally, unknown)

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """The rule's, or else that a decision is unlikely."""
        reason = self.rule.reason_to_stop(tally)
        if reason is not None or not self._looks(tally, _drawn(tally)):
            return reason
        likely = self.chance_to_decide(tally)
        return given_up(likely, self.chance, self.limit) if likely < self.chance else None

    def chance_to_decide(self, tally: Tally) -> float:
        """The predictive chance that, at the limit, the lead is one at which the rule ends the run.

        Undecided are the leads from where the rule no longer calls the systems level, if it ever does, to where it names the leader.
        """
        drawn, decisive = _drawn(tally), sum(tally.wins)
        further = further_decisive(decisive, drawn, self.limit - drawn)
        total = decisive + further
        ties = self.limit - tally.abstentions - total

        def at_limit(lead: int) -> Tally:
            wins = (total + lead) // 2, (total - lead) // 2
            return replace(tally, wins=wins, ties=ties, history=(), propensities=())

        leads = [*range(total % 2, total + 1, 2), total + 2]  # the last is out of reach
        most = len(leads) - 1
        named = bisect_left(leads, True, hi=most, key=lambda lead: self.rule.is_met(at_limit(lead)))
        level = bisect_left(
            leads, True, hi=named, key=lambda lead: self.rule.reason_to_stop(at_limit(lead)) is None
        )
        reached, left = (chance_of_lead(*tally.wins, further, leads[one]) for one in (named, level))
        return max(0.0, 1 + reached - left)

    def _looks(self, tally: Tally, drawn: int) -> bool:
        return drawn % LOOK_EVERY == 0 and drawn < self.limit < tally.items


def _drawn(tally: Tally) -> int:
    return tally.judged + tally.abstentions
