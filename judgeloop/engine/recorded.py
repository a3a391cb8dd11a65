"""Run a session against recorded answers.

It exercises the very rules that spend money live, so that a simulation says something about a run. It asks no judge,
keeps no ledger and knows no presentation order.
"""

from __future__ import annotations

from collections.abc import Callable

from judgeloop.core.protocols import T
from judgeloop.core.records import Answer, Choice, Outcome
from judgeloop.engine.session import Session


def replay(session: Session[T], oracle: Callable[[Choice], Answer]) -> Outcome[T]:
    """Answer every question of `session` from `oracle`."""
    while choices := session.ask():
        session.tell([oracle(choice) for choice in choices])
    return session.outcome()
