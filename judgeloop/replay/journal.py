"""What a replay has finished so far, on disk: a line a pair, so that an interrupted one goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from judgeloop.core.errors import InputError, JudgeloopError
from judgeloop.replay.compare import Row

Part = tuple[
    int, int
]  # of a replay: two systems; or twice the number of a realisation; or a system and its part


@final
class Journal:
    """The rows of finished pairs in one file, under the settings that made them."""

    def __init__(self, path: Path, settings: Mapping[str, Any], *, resume: bool) -> None:
        """Go on with the file that is there, or begin one with the first pair: what is refused before leaves none behind.

        Raises:
            InputError: there is one and nobody said to go on with it, or it was made with other settings; or none can be written there.
        """
        self._path = path
        self._head: Mapping[str, Any] | None = None  # to be written first
        self.finished: dict[Part, list[Row]] = {}
        settings = json.loads(json.dumps(settings))
        if path.exists():
            if not resume:
                raise InputError(
                    f"-o: {path} is there already; go on with it by `resume`, or name another folder"
                )
            self._read(settings)
        else:
            self._prepare_folder()
            self._head = {"settings": settings}

    def add(self, part: Part, rows: list[Row]) -> None:
        """Keep the rows of a finished pair."""
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
            raise InputError(f"-o: the folder {folder} cannot be made: {error.strerror}") from None
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
        whole = text[: text.rfind("\n") + 1]  # the last line may be torn
        if whole != text:
            self._path.write_text(whole, encoding="utf-8")
        try:
            head, *entries = [json.loads(line) for line in whole.splitlines()]
            before = head["settings"]
            self.finished = {tuple(entry["pair"]): entry["rows"] for entry in entries}
        except (ValueError, LookupError, TypeError):
            raise InputError(
                f"`resume`: {self._path} is no journal of a replay; name another folder"
            ) from None
        changed = sorted(
            name for name in settings.keys() | before if settings.get(name) != before.get(name)
        )
        if changed:
            raise InputError(
                f"`resume`: {self._path} was made with other settings ({', '.join(changed)}); name another folder"
            )
