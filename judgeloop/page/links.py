"""Links and sessions: who may judge, and in which window; and who may watch, in as many as they like.

A link holds a token in its fragment, which is in no log and no referrer. It is made of the journal's secret, so that
it works again after a restart; the owner may make another, and the first works no more. One window of a person judges
at a time: the one that entered last.
"""

import hmac
import re
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import final

from judgeloop.page.journal import PageJournal

OWNER = "/owner"  # no name of a person; whoever runs this, who watches and does not judge
PERSON = re.compile(r"[^\W_][\w .-]{0,39}")  # of a person
TOKEN_BYTES = 24
FAILURES_A_MINUTE = 10
MINUTE_S = 60.0


@final
class Links:
    """The tokens of people, and the sessions that they have entered with them."""

    def __init__(self, people: Sequence[str], journal: PageJournal) -> None:
        """Make a token for each, the latest that the journal knows of, and one for the owner."""
        self._journal = journal
        self._renewed = Counter(line["by"] for line in journal.lines if line["what"] == "link")
        self.tokens = {name: self._token(name) for name in people}
        self.owner = self._token(OWNER)
        self._sessions: dict[str, str] = {}  # the name, by the secret of the session
        self._ended: set[str] = set()
        self._failures: list[float] = []

    def _token(self, name: str) -> str:
        said = f"{name}\n{self._renewed[name]}" if self._renewed[name] else name
        secret = bytes.fromhex(self._journal.secret)
        return hmac.new(secret, said.encode(), "sha256").hexdigest()[: 2 * TOKEN_BYTES]

    def make(self, name: str) -> None:
        """Make a person's first link, or another, with which the one before and its window end."""
        if name in self.tokens:
            self._journal.write("link", by=name)
            self._renewed[name] += 1
            self._sessions = {one: of for one, of in self._sessions.items() if of != name}
        self.tokens[name] = self._token(name)

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
