"""Shares one sum of money among the pairs of a suite. Pure: amounts in, budgets out.

A pair's money is counted in the ledger under its run, and a run is never charged more than its budget.
So a suite shares its sum by the budgets that it gives, in rounds. In a round each open pair may be charged the
same amount in all, the level, but for a pair that was charged more before or has a limit of its own. The
level is the highest at which

    sum of the budgets of open pairs  +  sum of what closed pairs were charged  <=  the sum.      (1)

**Hard cap.** Budgets are set when no pair runs, and a pair is charged at most its budget until the next
round. So (1) holds at every moment, with charges in the place of budgets. A crash changes nothing: the
next start reads the charges from the ledger, and (1) begins with them. As for a single run, only a reply that is
dearer than its worst case could exceed it.

**Fair.** A pair that is decided leaves the rest of its share, and the next round raises the level of the
others by equal parts. That is max-min fairness (Bertsekas and Gallager, Data Networks, 1992, section
6.5.2): no pair could have more without taking it from one that has no more. When the level pays for no pair's
next query, the pair with the dearest one gives up its part, until one of the others is paid.

Each round charges at least one query, or closes a pair. So the rounds end.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a pair's money, in picodollars.

    - `charged_p`: what its run has been charged, on all nights' starts together.
    - `limit_p`: the limit of its own; None without one.
    - `given_p`: its budget in the last round; None before its first.
    - `need_p`: the worst case of its next query, which that budget did not cover; 0 if it is not known.
    - `closed`: whether it has ended, and not for lack of its share.
    """

    charged_p: int = 0
    limit_p: int | None = None
    given_p: int | None = None
    need_p: int = 0
    closed: bool = False

    def at(self, level_p: int) -> int:
        """Return its budget at a level: at least what it was charged, at most its own limit."""
        most_p = level_p if self.limit_p is None else min(level_p, self.limit_p)
        return max(self.charged_p, most_p)

    def goes_on(self, budget_p: int) -> bool:
        """Return whether it can do more with a budget; in its first round it looks what is known."""
        if self.given_p is None:
            return True
        return budget_p > self.given_p and budget_p >= self.charged_p + max(1, self.need_p)


def allot(sum_p: int, accounts: Mapping[str, Account]) -> dict[str, int]:
    """Return the budgets of the next round, by pair; empty once no pair can go on.

    A pair that is not in it does not run, and is charged nothing.
    """
    open_ = {name: one for name, one in accounts.items() if not one.closed}
    left_p = sum_p - sum(one.charged_p for one in accounts.values() if one.closed)
    while open_:
        level_p = _level(left_p, list(open_.values()))
        budgets = {name: one.at(level_p) for name, one in open_.items()}
        able = {name: p for name, p in budgets.items() if open_[name].goes_on(p)}
        if able:
            return able
        dearest = max(open_, key=lambda name: open_[name].need_p)
        left_p -= open_.pop(dearest).charged_p
    return {}


def _level(left_p: int, accounts: list[Account]) -> int:
    """Return the highest level whose budgets are together at most `left_p`; 0 if there is none."""
    low, high = 0, max(0, left_p)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(one.at(middle) for one in accounts) <= left_p:
            low = middle
        else:
            high = middle - 1
    return low
