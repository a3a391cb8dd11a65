"""A check that ends a run undecided when its rule is unlikely to decide within the limit.

It goes beside any rule for two systems. `methods/stats/predictive.py` computes how likely further verdicts
lead to a given lead; the rule says what a lead means.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import final

from judgeloop.core.outcomes import StopReason, Tally
from judgeloop.methods.stats.predictive import chance_of_lead, further_decisive
from judgeloop.methods.stopping.rule import Rule, asked, given_up

LOOK_EVERY = 10  # judgments between looks; queries between two looks can run in parallel


@final
@dataclass(frozen=True)
class GivingUp:
    """Ends a run undecided once `rule` is too unlikely to decide it within `limit` judgments.

    "Too unlikely" is a chance under `chance`. A run looks at the rule first, so the check only adds
    undecided ends: if a system is named, the rule names it too, at the same judgment. So an upper
    bound for how often the wrong system is named still holds, whether it was proved or found on past
    comparisons without giving up.

    The chance assumes that verdicts go on as before: ties at the rate so far, and decisive verdicts
    by a uniform prior. For selectors whose labels leave the decision, it is a rough guess. If the
    limit covers all items and the decision is about these, the last judgment decides, and no run
    gives up. With `sampled`, the decision is about items like these.
    """

    rule: Rule
    chance: float
    limit: int
    sampled: bool = False

    def looks(self, tally: Tally, unknown: int = 0) -> bool:
        """Whether a look is due once `unknown` further items are asked about."""
        drawn, certain = asked(tally) + unknown, self.limit >= tally.items and not self.sampled
        return drawn % LOOK_EVERY == 0 and drawn < self.limit and not certain

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """That a decision is unlikely; None if it is not, or no look is due."""
        if not self.looks(tally):
            return None
        likely = self.chance_to_decide(tally)
        return given_up(likely, self.chance, self.limit) if likely < self.chance else None

    def chance_to_decide(self, tally: Tally) -> float:
        """The predictive chance that the lead at the limit decides the run.

        Small leads decide if the rule then claims no difference, large leads if it names the
        leader. The leads between leave the run undecided.
        """
        drawn, decisive = asked(tally), sum(tally.wins)
        further = further_decisive(decisive, drawn, self.limit - drawn)
        total = decisive + further
        ties = self.limit - tally.abstentions - total

        def at_limit(lead: int) -> Tally:
            wins = (total + lead) // 2, (total - lead) // 2
            return replace(tally, wins=wins, ties=ties, preferences=(), propensities=())

        leads = [*range(total % 2, total + 1, 2), total + 2]  # the last cannot be reached
        most = len(leads) - 1
        named = bisect_left(leads, True, hi=most, key=lambda lead: self.rule.is_met(at_limit(lead)))
        level = bisect_left(leads, True, hi=named, key=lambda lead: not self.rule.no_difference(at_limit(lead)))
        reached, left = (chance_of_lead(*tally.wins, further, leads[at]) for at in (named, level))
        return max(0.0, 1 + reached - left)
