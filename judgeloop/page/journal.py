"""The journal of a page: a line of JSON for each answer, on the disk before the person is told that it is saved.

What was answered and not booked when the process died is read again, and nobody is asked it twice. A line that was
cut off is dropped. The first line holds the secret of which links are made, so that they last: the file is the owner's
alone. Once the run is over, the file can be deleted.
"""

import json
import os
import secrets
from pathlib import Path
from typing import Any, final

SECRET_BYTES = 32


@final
class PageJournal:
    """A file to which lines are added; those of before are its `lines`."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._file = os.fdopen(number, "r+b")
        whole, _, _ = self._file.read().rpartition(b"\n")
        self.lines = [one for line in whole.split(b"\n") if (one := _read(line)) is not None]
        self._file.truncate(self._file.seek(len(whole) + bool(whole)))
        first = next((line for line in self.lines if line["what"] == "began"), None)
        self.secret: str = first["secret"] if first else secrets.token_hex(SECRET_BYTES)
        if first is None:
            self.write("began", secret=self.secret)

    def write(self, what: str, **values: Any) -> None:
        """Add a line, and return once the disk has it."""
        line = {"what": what, **values}
        self.lines.append(line)
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def usual(self, now: tuple[int, int] | None) -> tuple[int, int] | None:
        """How many judgments decide, by what was known before the first answer: not `now`, but when the run began."""
        for line in self.lines:
            if line["what"] == "usual":
                least, most = line["usual"]
                return least, most
        if now is not None:
            self.write("usual", usual=now)
        return now

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "what" in found else None
