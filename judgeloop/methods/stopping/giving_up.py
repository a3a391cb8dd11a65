"""A check that ends a run undecided when its rule is unlikely to decide within the limit.

It goes beside any rule for two systems, which says how likely it is to decide.
"""

from dataclasses import dataclass
from typing import final

from judgeloop.core.outcomes import StopReason, Tally
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

    The chance assumes that verdicts go on as before (`Rule.chance_at_the_end`). For selectors whose labels leave the
    decision, it is a rough guess. If the limit covers all items and the decision is about these, the last
    judgment decides, and no run gives up. With `sampled`, the decision is about items like these.
    It looks from `since` draws on: so many were asked before the limit of now held.
    """

    rule: Rule
    chance: float
    limit: int
    sampled: bool = False
    since: int = 0

    def looks(self, tally: Tally, unknown: int = 0) -> bool:
        """Whether a look is due once `unknown` further items are asked about."""
        drawn, certain = asked(tally) + unknown, self.limit >= tally.items and not self.sampled
        return drawn % LOOK_EVERY == 0 and self.since <= drawn < self.limit and not certain

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """That a decision is unlikely; None if it is not, or no look is due."""
        if not self.looks(tally):
            return None
        likely = self.rule.chance_at_the_end(tally, self.limit - asked(tally))
        return given_up(likely, self.chance, self.limit) if likely < self.chance else None
