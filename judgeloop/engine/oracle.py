"""Whom a run may ask: its judges, and its systems that answer live, each with its pace and ledger."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, final

from judgeloop.core.protocols import Judge, Served, System
from judgeloop.engine.accounts import Accounts
from judgeloop.engine.attempts import Asked, Attempts
from judgeloop.engine.generating import Sources
from judgeloop.engine.pace import Pace
from judgeloop.engine.state import RunState
from judgeloop.ledger.ledger import Ledger

NO_SYSTEMS: Mapping[str, System] = MappingProxyType({})


@final
class Oracle:
    """The judges of a run with their ledger; after a halt, no further query is admitted."""

    def __init__(
        self, judges: Sequence[Judge], ledger: Ledger, state: RunState[Any], systems: Mapping[str, System] = NO_SYSTEMS
    ) -> None:
        """`judges` holds a single judge or the judges of a panel; `systems` answer live."""
        self.judges = judges
        self.ledger = ledger
        self.state = state
        self.sources = Sources(systems, judges, state.terms)
        self.accounts = Accounts(judges, ledger, state, self.sources)
        self._paces: dict[object, Pace] = {}
        timeout_s = state.terms.timeout_s
        self.attempts = [self._attempts(one, Asked.judge(one, timeout_s)) for one in judges]
        self.generating = {name: self._attempts(one, Asked.system(name, one)) for name, one in systems.items()}

    def _attempts(self, one: Judge | System, asked: Asked) -> Attempts:
        """Return the attempts at a judge or a system; those of one server share its pace."""
        place = one.server if isinstance(one, Served) else asked
        terms = self.state.terms
        most = min(terms.concurrency, asked.at_once or terms.concurrency)
        pace = Pace(most, terms.calls_a_minute, terms.tokens_a_minute)
        return Attempts(asked, self.accounts, self._paces.setdefault(place, pace), self.state)
