"""The synchronous driver: runs a session on recorded answers.

A replay runs the same session, selector and stopping rule as a run that spends money.
"""

from collections.abc import Callable

from judgeloop.core.outcomes import Ending
from judgeloop.core.protocols import T
from judgeloop.core.records import Answer, Choice
from judgeloop.engine.session import Session


def replay(session: Session[T], oracle: Callable[[Choice], Answer], *, places: int = 0) -> Ending[T]:
    """Run `session` to its end with the answers of `oracle`, and return the outcome.

    So many `places` are there for what is asked ahead.
    """
    while choices := session.ask(places):
        session.tell([oracle(choice) for choice in choices])
    return session.ending()
