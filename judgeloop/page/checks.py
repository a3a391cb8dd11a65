"""Checks: items with a known answer that a person is given among the others, and when.

One of the two answers is to another question, or the one that is rated is. Nothing on the page tells a check from an
item that counts. What a person says of it enters no decision. Whoever chooses the foreign answer `MOST_WRONG` times is
asked no more, and the owner is told; what they said before stays. That depends on checks alone, so it does not move
the risk.
"""

import hmac
from collections.abc import Sequence
from typing import NamedTuple

from judgeloop.core.outcomes import Checked
from judgeloop.core.records import Call

MOST_WRONG = 2
# After so many answers, at a place drawn among so many: two in a person's first eight, then one in twenty.
FIRST, LATER = ((1, 3), (4, 4)), 20
RIGHT, NEITHER, WRONG = 1, 0, -1
_OF_RATING = {"1": RIGHT, "2": RIGHT, "4": WRONG, "5": WRONG}


class CheckItem(NamedTuple):
    """A call, and the place of the answer that is to another question."""

    call: Call
    foreign: int

    def result(self, key: str) -> int:
        """What an answer says of whoever gave it; a tie and a skip are neither right nor wrong."""
        if len(self.call.outputs) == 1:
            return _OF_RATING.get(key, NEITHER)
        if key not in {"a", "b"}:
            return NEITHER
        return WRONG if "ab".index(key) == self.foreign else RIGHT


def failed(results: Sequence[int]) -> bool:
    """Whether a person is asked no more."""
    return results.count(WRONG) >= MOST_WRONG


def counted(name: str, results: Sequence[int]) -> Checked:
    """What came of a person's checks."""
    right, tied, wrong = (results.count(one) for one in (RIGHT, NEITHER, WRONG))
    return Checked(name, right, tied, wrong, asked_no_more=failed(results))


def place(secret: str, name: str, number: int) -> int:
    """After how many answers a person gets check `number`, from 0; nobody without the secret can tell."""
    low, width = FIRST[number] if number < len(FIRST) else (8 + LATER * (number - len(FIRST)), LATER)
    return low + hmac.digest(bytes.fromhex(secret), f"{name} check {number}".encode(), "sha256")[0] % width


def checks_among(answers: int) -> int:
    """About how many checks a person gets who gives so many other answers."""
    return min(len(FIRST), answers // 4) + max(0, answers - 8) // LATER
