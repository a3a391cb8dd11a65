"""The journal of a replay: a file with the rows of every finished part, to resume a replay.

The first line holds the settings, each further line a part. Does not decide which parts to run
(`run.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from judgeloop.core.errors import InputError, JudgeloopError
from judgeloop.replay.compare import Row

# A part of a replay: two systems; the number of a realisation, twice; or a system and its part.
Part = tuple[int, int]


@final
class Journal:
    """The rows of finished parts in one file, with the settings that made them."""

    def __init__(self, path: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        """Read the file to resume, or prepare a new journal.

        A new file is written with the first finished part, so that a replay that is refused before
        leaves no file.

        Raises:
            InputError: there is a file and `resume` is False, or the file was made with other
                settings, or the folder cannot be written.
        """
        self._path = path
        self._head: Mapping[str, Any] | None = None  # written before the first part
        self.finished: dict[Part, list[Row]] = {}
        settings = json.loads(json.dumps(settings))
        if path.exists():
            if not resume:
                raise InputError(
                    f"-o: {path} exists already; continue it with `resume`, or name another folder"
                )
            self._read(settings)
        else:
            self._prepare_folder()
            self._head = {"settings": settings}

    def add(self, part: Part, rows: list[Row]) -> None:
        """Write the rows of a finished part."""
        if self._head is not None:
            self._append(self._head)
            self._head = None
        self._append({"pair": part, "rows": rows})
        self.finished[part] = rows

    def _prepare_folder(self) -> None:
        folder = self._path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"-o: the folder {folder} cannot be created: {error.strerror}"
            ) from None
        if not os.access(folder, os.W_OK):
            raise InputError(f"-o: the folder {folder} cannot be written; name another")

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise JudgeloopError(f"{self._path} cannot be written: {error}") from error

    def _read(self, settings: Mapping[str, Any]) -> None:
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]  # the last line may be incomplete
        if whole != text:
            self._path.write_text(whole, encoding="utf-8")
        try:
            head, *entries = [json.loads(line) for line in whole.splitlines()]
            before = head["settings"]
            self.finished = {tuple(entry["pair"]): entry["rows"] for entry in entries}
        except (ValueError, LookupError, TypeError):
            raise InputError(
                f"`resume`: {self._path} is not the journal of a replay; name another folder"
            ) from None
        changed = sorted(
            name for name in settings.keys() | before if settings.get(name) != before.get(name)
        )
        if changed:
            raise InputError(
                f"`resume`: {self._path} was made with other settings ({', '.join(changed)}); name another folder"
            )
