"""Run a session against recorded answers.

It exercises the very rules that spend money live, so that a simulation says something about a run. It asks no judge,
keeps no ledger and knows no presentation order.
"""

from __future__ import annotations

from collections.abc import Callable

from judgeloop.records import Answer, Outcome
from judgeloop.session import Session


def replay(session: Session, oracle: Callable[[int], Answer]) -> Outcome:
    """Answer every question of `session` from `oracle`, which maps a position to its answer."""
    while choices := session.ask():
        session.tell([oracle(choice.position) for choice in choices])
    return session.outcome()
