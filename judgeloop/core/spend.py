"""What a run has spent. Money is in integer picodollars (`money.py`)."""

from dataclasses import dataclass, replace
from typing import Self

from judgeloop.core.jsonable import Part
from judgeloop.core.money import to_usd
from judgeloop.core.records import NO_TOKENS, Usage


@dataclass(frozen=True, slots=True)
class Spend(Part):
    """Money spent, in picodollars (`_p`), and numbers of attempts; its JSON is in dollars.

    - `now_p`: spent by this command
    - `outputs_p`: the part of it for attempts at outputs of systems that answer live
    - `run_p`: spent by the run since it began, over all commands that continued it
    - `rehearsed_p`: recorded cost, which counts against the budget but is not paid
    - `unconfirmed_p`: the part of `run_p` for attempts without a reply, which are charged at their
      worst case and may turn out unbilled
    - `held_p`: what calls in flight hold of the budget
    - `budget_p`: the budget; None without a budget
    - `attempts`: requests that this command made
    - `replies`: replies that this command got, to these requests
    - `looked_up`: verdicts that this command took from a table, without a request
    - `paid_attempts`: attempts of the run that were charged for a reply
    - `remembered`: calls to judges that were answered from the ledger, those of second orders and controls, too
    - `known`: False when calls were made to a model without a price
    - `cached_p`: what the providers' caches of prompts took off the cost of this command
    - `tokens`: the tokens of this command, as replies reported them
    - `over_p`: what replies of the run cost above their worst case, against their quotes
    - `next_p`: the worst case of a query, the highest so far, if the budget did not cover the next
    - `replies_without_usage`: replies of the run that are charged at their worst case
    - `answers_p`: what all calls behind the answer cost, whichever run paid for them; `answers`: how many these are, of
      each run by themselves, as each asks again about what had no verdict
    - `again`: verdicts that this command asked again, as another model had given them, but for controls; `again_p`:
      their cost
    - `controls_p`: the part of `answers_p` for the calls that were made for controls; `controls`: how many these are
    - `proxy_p`: the part of `answers_p` for the calls to a proxy beside the judges; `proxy`: how many these are
    - `people_p`: the part of `answers_p` for people's answers; `people`: how many these are, second readings among them
    - `ledger_left_p`: the least that is left of the budgets of the ledger; None without any
    """

    HIDDEN = frozenset({"now_p", "outputs_p", "run_p", "rehearsed_p", "unconfirmed_p", "held_p", "budget_p"})
    HIDDEN |= {"cached_p", "over_p", "next_p", "ledger_left_p", "paid_attempts", "known", "replies"}
    HIDDEN |= {"answers", "answers_p", "controls", "controls_p", "proxy", "proxy_p", "again_p", "people", "people_p"}
    COMPUTED = (
        "spent_usd",
        "run_spent_usd",
        "rehearsed_usd",
        "budget_usd",
        "unconfirmed_usd",
        "cached_usd_saved",
        "answers_usd",
        "again_usd",
    )

    now_p: int = 0
    run_p: int = 0
    rehearsed_p: int = 0
    unconfirmed_p: int = 0
    held_p: int = 0
    budget_p: int | None = None
    attempts: int = 0
    paid_attempts: int = 0
    remembered: int = 0
    known: bool = True
    cached_p: int = 0
    tokens: Usage = NO_TOKENS
    over_p: int = 0
    next_p: int = 0
    replies_without_usage: int = 0
    ledger_left_p: int | None = None
    outputs_p: int = 0
    answers_p: int = 0
    answers: int = 0
    controls_p: int = 0
    controls: int = 0
    proxy_p: int = 0
    proxy: int = 0
    people_p: int = 0
    people: int = 0
    again: int = 0
    again_p: int = 0
    looked_up: int = 0
    replies: int = 0

    def after(self, earlier: Self) -> Self:
        """The spend of a command of which `earlier` parts have ended, and this is the last."""
        return replace(
            self,
            now_p=earlier.now_p + self.now_p,
            outputs_p=earlier.outputs_p + self.outputs_p,
            attempts=earlier.attempts + self.attempts,
            looked_up=earlier.looked_up + self.looked_up,
            replies=earlier.replies + self.replies,
            remembered=earlier.remembered + self.remembered,
            known=earlier.known and self.known,
            cached_p=earlier.cached_p + self.cached_p,
            tokens=earlier.tokens + self.tokens,
            again=earlier.again + self.again,
            again_p=earlier.again_p + self.again_p,
        )

    @property
    def asked_anything(self) -> bool:
        """Whether this command asked for a verdict or an output."""
        return bool(self.attempts or self.looked_up)

    @property
    def spent_usd(self) -> float | None:
        """What this command has paid; null if a price is unknown."""
        return _usd(self.now_p) if self.known else None

    @property
    def run_spent_usd(self) -> float | None:
        """What the run has paid since it began; null if a price is unknown."""
        return _usd(self.run_p) if self.known else None

    @property
    def rehearsed_usd(self) -> float:
        """Recorded cost that counts against the budget, not paid."""
        return _usd(self.rehearsed_p)

    @property
    def budget_usd(self) -> float | None:
        """The budget; null without one."""
        return None if self.budget_p is None else _usd(self.budget_p)

    @property
    def unconfirmed_usd(self) -> float:
        """Charged for attempts without a reply; perhaps not billed."""
        return _usd(self.unconfirmed_p)

    @property
    def cached_usd_saved(self) -> float:
        """What the providers' caches of prompts took off the cost of this command."""
        return _usd(self.cached_p)

    @property
    def answers_usd(self) -> float | None:
        """What all calls behind the answer cost, whichever run paid for them; null if a price is unknown."""
        return _usd(self.answers_p) if self.known else None

    @property
    def again_usd(self) -> float | None:
        """What this command paid for verdicts that another model had given before; null if a price is unknown."""
        return _usd(self.again_p) if self.known else None

    @property
    def charged_p(self) -> int:
        """The cost of the run, rehearsed cost included."""
        return self.run_p + self.rehearsed_p

    @property
    def beyond(self) -> bool:
        """Whether the run cost more than its budget, whatever the budget was before."""
        if self.budget_p is None or not self.run_p:
            return False
        return self.charged_p > self.budget_p

    @property
    def left_p(self) -> int | None:
        """The rest of the budget, or of one of the ledger if that is less; None without any."""
        return min((left for left in (self._own_left_p, self.ledger_left_p) if left is not None), default=None)

    @property
    def ledger_is_short(self) -> bool:
        """Whether less is left of a budget of the ledger than of the run's own."""
        own = self._own_left_p
        return self.ledger_left_p is not None and (own is None or self.ledger_left_p < own)

    @property
    def _own_left_p(self) -> int | None:
        if self.budget_p is None:
            return None
        return max(0, self.budget_p - self.charged_p)


def _usd(pico: int) -> float:
    return float(to_usd(pico))
