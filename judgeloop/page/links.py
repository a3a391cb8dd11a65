"""Links and sessions: who may judge, and in which window; and who may watch, in as many as they like.

A link holds a token in its fragment, which is in no log and no referrer. It is made of the journal's secret, so that
it works again after a restart. One window of a person judges at a time: the one that entered last.
"""

import hmac
import secrets
from collections.abc import Sequence
from typing import final

OWNER = "/owner"  # no name of a person; whoever runs this, who watches and does not judge
TOKEN_BYTES = 24
FAILURES_A_MINUTE = 10
MINUTE_S = 60.0


@final
class Links:
    """The tokens of people, and the sessions that they have entered with them."""

    def __init__(self, people: Sequence[str], secret: str) -> None:
        """Make a token for each, and one for the owner."""
        self.tokens = {name: self._token(secret, name) for name in people}
        self.owner = self._token(secret, OWNER)
        self._sessions: dict[str, str] = {}  # the name, by the secret of the session
        self._ended: set[str] = set()
        self._failures: list[float] = []

    @staticmethod
    def _token(secret: str, name: str) -> str:
        return hmac.new(bytes.fromhex(secret), name.encode(), "sha256").hexdigest()[: 2 * TOKEN_BYTES]

    def enter(self, token: str, now: float) -> tuple[str, str] | None:
        """The name and the new session of a token; None if it is nobody's."""
        given = token.encode("utf-8", "replace")
        everybody = {**self.tokens, OWNER: self.owner}.items()
        found = [name for name, own in everybody if hmac.compare_digest(given, own.encode())]
        if not found:
            self._failures.append(now)
            return None
        session, (name,) = secrets.token_urlsafe(TOKEN_BYTES), found
        ended = {one for one, of in self._sessions.items() if of == name != OWNER}
        self._ended |= ended
        self._sessions = {one: of for one, of in self._sessions.items() if one not in ended} | {session: name}
        return name, session

    def is_flooded(self, now: float) -> bool:
        """Whether too many wrong tokens came in the last minute."""
        self._failures = [one for one in self._failures if now - one < MINUTE_S]
        return len(self._failures) >= FAILURES_A_MINUTE

    def name_of(self, session: str) -> str | None:
        """Whose session it is; None if it is nobody's."""
        return self._sessions.get(session)

    def is_elsewhere(self, session: str) -> bool:
        """Whether the person has entered in another window since."""
        return session in self._ended
