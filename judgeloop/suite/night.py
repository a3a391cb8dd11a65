"""A night of a suite: who works on it, and what its folder keeps.

The folder `nights/SUITE/DATE` beside the ledger has the summary, and `night.json`, which says who began, with
which runs, and how it ended. A lock of the ledger keeps a second start away. It ends with its process, and so
does not outlive a crash.
"""

import json
import os
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judgeloop.core.errors import EXIT_INTERRUPTED, LedgerError
from judgeloop.core.ledger import Ledger
from judgeloop.formats.own_files import make_folder, read_own, write_whole

STATE, FOLDER = "night.json", "nights"
LONGEST = 80  # characters of the name of a folder and a lock


@dataclass(frozen=True, slots=True)
class Night:
    """A night of a suite: `suite` names its file, `ledger` is beside its folder."""

    suite: str
    date: str
    ledger: Path

    @property
    def folder(self) -> Path:
        """Where what is known of the night is kept."""
        return self.ledger.parent / FOLDER / self.suite / self.date

    @contextmanager
    def alone(self, ledger: Ledger) -> Iterator[None]:
        """Keep every other process from this night until the context ends, and say who works on it.

        Raises:
            LedgerError: another process works on it; says which.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(ledger.only_run(f"{self.suite}-{self.date}"))
            except LedgerError:
                raise LedgerError(self._taken()) from None
            if (self.folder / STATE).exists() and not self._state():
                raise LedgerError(
                    f"{self.folder / STATE} cannot be read, and says which runs share the night's budget; restore "
                    "it, or remove it to count from zero"
                )
            self._write({**self._state(), **_who(), "state": "running"})
            yield

    def begins(self, runs: Iterable[str]) -> list[str]:
        """Note the runs of this night before anything is spent; return those of before, noted by an earlier file.

        Their money counts: a file that was changed during the night begins other runs, and no second sum.
        """
        state, own = self._state(), list(runs)
        others = [run for run in state.get("runs", []) if run not in own]
        self._write({**state, "runs": [*others, *own]})
        return others

    def ended(self, exit_code: int) -> None:
        """Note that the night has ended, or was interrupted, with the exit code of its command."""
        state = "interrupted" if exit_code == EXIT_INTERRUPTED else "ended"
        self._write({**self._state(), "state": state, "exit_code": exit_code, "ended_at": _now()})

    def unended(self) -> list[str]:
        """Return the dates of earlier nights of this suite that were begun and did not end."""
        others = (
            Night(self.suite, place.name, self.ledger) for place in self.folder.parent.glob("*")
        )
        return sorted(
            one.date
            for one in others
            if one.date < self.date and one._state().get("state") != "ended"  # noqa: SLF001
        )

    def _taken(self) -> str:
        who = self._state()
        return (
            f"the night {self.date} of {self.suite} is being worked on by process {who.get('process', '?')} on "
            f"{who.get('host', '?')}, since {who.get('began_at', '?')}; wait until it ends. The same command then "
            "gives its result, and pays for nothing twice"
        )

    def _state(self) -> dict[str, Any]:
        try:
            found = json.loads(read_own(self.folder / STATE))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, state: dict[str, Any]) -> None:
        make_folder(self.folder)
        write_whole(self.folder / STATE, json.dumps(state, indent=2) + "\n")


def night_of(file: Path, given: str | None, ledger: Path) -> Night:
    """Return the night that is `given`, or that of the local date, for the suite in `file`.

    >>> night_of(Path("eval/nightly.toml"), "2026-11-24", Path("ledger.sqlite")).suite
    'eval-nightly'
    """
    date = given or datetime.now().astimezone().date().isoformat()
    return Night(slug(str(file.with_suffix(""))), date, ledger)


def slug(name: str) -> str:
    """Return a name as a part of a path: letters, figures and hyphens.

    >>> slug("../eval: new")
    'eval-new'
    """
    return re.sub(r"[^\w]+", "-", name).strip("-")[:LONGEST] or "suite"


def _who() -> dict[str, Any]:
    return {"process": os.getpid(), "host": socket.gethostname(), "began_at": _now()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
