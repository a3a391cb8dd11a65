"""Finds `judgeloop.toml` upwards from the working folder, and refuses what it may not set.

The search goes up to the root of the repository, the nearest folder with `.git`. Without one it
does not leave the working folder. It goes no higher than the home folder. A file above the working
folder has to belong to the user or to root, as its folder has to: anybody may write to a folder
such as /tmp, above folders of other users.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from judgeloop.cli.naming import variable

if TYPE_CHECKING:
    import click

SETTINGS_FILE, REPOSITORY = "judgeloop.toml", ".git"
OF_CALLERS = "only the caller may set it"
ROOT = 0  # the user id


class NotTaken(enum.Enum):
    """In place of the value of a setting that a found file does not set, and is no error: why."""

    LIMIT = "only the caller may remove it"  # a budget of none: the default stays
    NAMED = "--config names the settings file"  # which a stranger's .env must not change


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found in `folder`, which is the working folder or above it.

    It may be a stranger's. `path` is relative to the working folder. Paths in the file are relative
    to the file's own folder.
    """

    path: Path
    folder: Path
    working: Path

    def value(self, where: str, parameter: click.Parameter, value: object) -> object:
        """Return a value for a parameter, with its paths relative to the working folder.

        Raises:
            DataError: such a file may not set it; says why, and how to set it all the same.
        """
        from judgeloop.settings.trust import located, refusal

        declared = getattr(parameter, "declared", None)
        reason = refusal(declared, value, self.folder, self.working) if declared else OF_CALLERS
        if reason is not None:
            self.refuse(where, reason, variable(str(parameter.name)))
        return located(declared, value, self.folder, self.working) if declared else value

    def refuse(self, where: str, reason: str, name: str) -> None:
        """Refuse what stands at `where`; the caller may set the variable `name`.

        Raises:
            DataError: always.
        """
        from judgeloop.core.errors import DataError

        trusted = (
            f", or trust the file with --config {self.path}"
            if self.path.name == SETTINGS_FILE
            else ""
        )
        place = "in" if self.folder == self.working else "above"
        raise DataError(
            self.path,
            f"{where}: {reason}, because this file was found {place} the working folder; give it "
            f"on the command line, or as {name} in the environment{trusted}",
        )


def found_settings_file(working: Path) -> FoundFile | None:
    """Return the nearest `judgeloop.toml`, in the working folder or above; None without any.

    Raises:
        DataError: the nearest is above the working folder and belongs to another user.
    """
    for folder in searched(working):
        file = folder / SETTINGS_FILE
        if os.path.isfile(file):  # noqa: PTH113 - unlike Path.is_file, False for a closed folder
            if folder != working:
                _check_owner(file)
            return FoundFile(Path(os.path.relpath(file, working)), folder, working)
    return None


def searched(working: Path) -> list[Path]:
    """Return the folders to search, the nearest first: up to the repository's root.

    It is the working folder alone if that is in no repository, or if the repository's root lies
    above the home folder.
    """
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home() may raise
    folders: list[Path] = []
    for folder in (working, *working.parents):
        if folder != working and folder in home.parents:
            break
        folders.append(folder)
        if os.path.lexists(folder / REPOSITORY):
            return folders
    return [working]


def _check_owner(file: Path) -> None:
    """Refuse a file of another user, or in another user's folder, on a system with user ids.

    Of a link, both the link and the file that it leads to are checked.

    Raises:
        DataError: says how to go on.
    """
    from judgeloop.core.errors import DataError

    if not hasattr(os, "geteuid"):
        return
    owners = {file.lstat().st_uid, file.stat().st_uid, file.parent.stat().st_uid}
    if owners - {ROOT, os.geteuid()}:
        raise DataError(
            os.path.relpath(file),
            "it was found above the working folder, and it or its folder belongs to another user; "
            "trust it with --config FILE, or read no file with --no-config",
        )
