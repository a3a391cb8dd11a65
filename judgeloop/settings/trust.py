"""Finds `judgeloop.toml` upwards from the working folder, and says what a found file may set.

The search goes up to the root of the repository, the nearest folder with `.git`. Without one it
does not leave the working folder. It goes no higher than the home folder.

A found file belongs to the repository's author, who may be a stranger. It must not send a key
or a text elsewhere, load code, read or write outside its own folder, or raise the cost of a run.
Each setting says in its declaration which kind it is (`Source` in `setting.py`). This module refuses
the others, and makes the paths of a file above the working folder relative to that. `sources.py`
reads the files.
"""

import enum
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.own_files import LEDGER, outside
from judgeloop.judges.catalogue import JudgeRow, parse_spec
from judgeloop.settings.setting import Declared, Source
from judgeloop.settings.written import amount, listed

SETTINGS_FILE, REPOSITORY = "judgeloop.toml", ".git"
OF_CALLERS = "only the caller may set it"
ROOT = 0  # the user id
HARMLESS_VECTORS = ("lexical", "minilm")


class NotTaken(enum.Enum):
    """In place of the value of a setting that a found file does not set, and is no error: why."""

    LIMIT = "only the caller may remove it"  # a budget of none: the default stays
    NAMED = "--config names the settings file"  # which a stranger's .env must not change


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found in `folder`, which is the working folder or above it.

    It may be a stranger's. `path` is relative to the working folder. Paths in the file are relative
    to the file's own folder. If it is `named` by the caller, as data, it may be in any folder.
    """

    path: Path
    folder: Path
    working: Path
    named: bool = False

    def value(self, where: str, field: Declared, value: object) -> object:
        """Return a setting's value, with its paths relative to the working folder.

        `where` names the place in the file.

        Raises:
            DataError: such a file may not set it; says why, and how to set it all the same.
        """
        if field.setting.source is Source.LOWER and _amount(value) is None:
            return NotTaken.LIMIT
        reason = refusal(field, value, self.folder, self.working)
        if reason is not None:
            self.refuse(where, reason, field.variable, "" if field.setting.file_only else f" (--{field.key})")
        return located(field, value, self.folder, self.working)

    def refuse(self, where: str, reason: str, name: str, flag: str = "") -> NoReturn:
        """Refuse what stands at `where`; the caller may set the variable `name`, or give the `flag`.

        Raises:
            DataError: always.
        """
        trusted = (
            f", or trust the file with --config {self.path}" if self.named or self.path.name == SETTINGS_FILE else ""
        )
        place = "in" if self.folder == self.working else "above"
        why = "is data" if self.named else f"was found {place} the working folder"
        raise DataError(
            self.path,
            f"{where}: {reason}, because this file {why}; set it "
            f"on the command line{flag}, or as {name} in the environment{trusted}",
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


def default_ledger(working: Path) -> Path:
    """Return where the ledger lies that nobody named: for all folders of a repository it is one."""
    return Path(os.path.relpath(searched(working)[-1] / LEDGER, working))


def _check_owner(file: Path) -> None:
    """Refuse a file of another user, or in another user's folder, on a system with user ids.

    Of a link, both the link and the file that it leads to are checked.

    Raises:
        DataError: says how to go on.
    """
    if not hasattr(os, "geteuid"):
        return
    owners = {file.lstat().st_uid, file.stat().st_uid, file.parent.stat().st_uid}
    if owners - {ROOT, os.geteuid()}:
        raise DataError(
            os.path.relpath(file),
            "it was found above the working folder, and it or its folder belongs to another user; "
            "trust it with --config FILE, or read no file with --config none",
        )


def refusal(field: Declared, value: object, folder: Path, working: Path) -> str | None:
    """Return why a file found in `folder` may not set `field` to `value`; None if it may.

    `working` is the working folder, which is `folder` or below it.
    """
    match field.setting.source:
        case Source.CALLER:
            return OF_CALLERS
        case Source.INSIDE:
            return _outside(field, value, folder, working)
        case Source.SPEC:
            return _unsafe_judge(value, folder)
        case Source.VECTORS:
            return None if value in HARMLESS_VECTORS else "only the caller may name a model"
        case Source.LOWER:
            return _higher(field, value)
        case Source.FOUND:
            return None


def located(field: Declared, value: object, folder: Path, working: Path) -> object:
    """Return a value that was not refused, with paths in `folder` relative to `working`."""
    if folder == working:
        return value
    if isinstance(value, list):
        return [located(field, one, folder, working) for one in value]
    if not isinstance(value, str):
        return value
    if field.setting.source is Source.SPEC:
        file = _file_of(value)
        return value if file is None else value.removesuffix(file) + _from(working, folder / file)
    is_path = field.setting.source is Source.INSIDE and (not _may_be_text(field) or _exists(folder / value))
    return _from(working, folder / value) if is_path else value


def _from(working: Path, path: Path) -> str:
    """Return the real path, relative to the working folder."""
    return os.path.relpath(path.resolve(), working)


def _outside(field: Declared, value: object, folder: Path, working: Path) -> str | None:
    """Check paths: all of a setting of type Path, and texts that name an existing file.

    A text that names a file of the working folder alone would be read from there, unchecked.
    """
    for path in _texts(value):
        if "://" in path:  # a server, which would be told what is paid for
            return OF_CALLERS
        if _may_be_text(field) and not _exists(folder / path):
            if _exists(working / path):
                return f"{path!r} is in the working folder, not in the folder of this file"
            continue
        if reason := outside(path, folder):
            return reason
    return None


def _may_be_text(field: Declared) -> bool:
    return field.type in {str, str | None}


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a null: a text
        return False


def _unsafe_judge(value: object, folder: Path) -> str | None:
    for spec in _texts(value):
        found = _judge(spec)
        if found is not None and found[0].runs_code:
            return f"{spec!r} runs code, which only the caller may allow"
        file = _file_of(spec)
        if file is not None and (reason := outside(file, folder)):
            return reason
    return None


def _file_of(spec: str) -> str | None:
    """Return the file that a judge reads; None if it reads none."""
    found = _judge(spec)
    return found[1] if found is not None and found[0].reads_file else None


def _judge(spec: str) -> tuple[JudgeRow, str] | None:
    try:
        return parse_spec(spec)
    except InputError:
        return None  # `confidence` as a proxy; or wrong, which is reported where judges are made


def _higher(field: Declared, value: object) -> str | None:
    given, default = _amount(value), _amount(field.default)
    if given is None or default is None or given <= default:
        return None
    return f"it may lower the default of {default}, not raise it"


def _amount(value: object) -> Any:
    """Return dollars; a wrong value counts as 0, because checking the configuration refuses it."""
    try:
        return amount(value)
    except ValueError:
        return amount(0)


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str) and "\n" in value:
        return [value, *listed(value)]  # type: ignore[misc]
    return [str(entry) for entry in value] if isinstance(value, list) else [str(value)]
