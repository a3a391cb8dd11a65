"""Judgeloop's own files: finds what it ships, and writes files whole and never through a link.

A repository may hold links at the places where files are written by default. A file that is written
here replaces such a link, and a folder that leads elsewhere by a link is refused.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from judgeloop.core.errors import InputError, JudgeloopError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

HOME = Path(".judgeloop")  # holds the ledger and the cache by default
LEDGER = HOME / "ledger.sqlite"
REPOSITORY = ".git"  # what the root of a repository holds
LONGEST = 100  # characters of a file's name in the name of its draft, which the system limits


def searched(working: Path) -> list[Path]:
    """The folders to search, the nearest first: up to the root of the repository, the nearest folder with `.git`.

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
    """Where the ledger lies that nobody named: for all folders of a repository it is one."""
    return Path(os.path.relpath(searched(working)[-1] / LEDGER, working))


def outside(path: str, folder: Path) -> str | None:
    """Why `path`, as written in `folder`, may not be used; None if it is inside.

    Hidden files hold the caller's secrets: keys in `.env`, the token of a checkout in
    `.git/config`. A rubric is sent to the judge, and messages quote lines of a file.
    """
    real, own = (folder / path).resolve(), folder.resolve()
    if not real.is_relative_to(own):
        return f"{path!r} lies outside the folder"
    hidden = {part for part in real.relative_to(own).parts if part.startswith(".")}
    return f"{path!r} is hidden" if hidden - {HOME.name} else None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old file or the whole new file.

    Raises:
        JudgeloopError: the file cannot be written.
    """
    draft = path.with_name(f".{path.name[:LONGEST]}.{os.urandom(8).hex()}")
    try:
        # A new file, at a name that nobody can foresee, and not what a link there points to.
        new = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
        with os.fdopen(new, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        draft.replace(path)
    except (OSError, UnicodeError) as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise JudgeloopError(f"{path} cannot be written: {error}") from error


def check_writable(path: Path) -> None:
    """Try whether a file can be written, by a draft beside it that is removed.

    Raises:
        InputError: it cannot be written.
    """
    draft = path.with_name(f".{path.name[:LONGEST]}.{os.urandom(8).hex()}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        draft.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def check_folder(folder: Path) -> None:
    """Refuse a folder for files of judgeloop's own that is a link or no folder, or cannot be written.

    Files in a link's folder would be written, and removed, elsewhere. One that is not there is made by `make_folder`.

    Raises:
        InputError: says what is there.
    """
    if folder.is_symlink():
        raise InputError(f"{folder} is a link, to {folder.readlink()}; expected a folder, or none: remove the link")
    if folder.is_dir():
        check_writable(folder / "page")
    elif folder.exists():
        raise InputError(f"{folder} is a file; expected a folder, or none: remove or rename the file")


def make_folder(folder: Path) -> None:
    """Make a folder for files of judgeloop's own, if it is not there.

    Raises:
        JudgeloopError: it cannot be made, or is refused as `check_folder` does.
    """
    check_folder(folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise JudgeloopError(f"{folder} cannot be made: {error}") from error


def read_own(path: Path) -> str:
    """The text of a file that judgeloop wrote; one that is a link was not.

    Raises:
        OSError: it cannot be read, or it is a link or no file.
        ValueError: it is no UTF-8.
        InputError: it is at a default place, below a link.
    """
    check_place(path.parent)
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(opened, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(f"{path} is no file")
        return file.read()


def check_place(path: Path) -> None:
    """Refuse a default place in the working folder, or in one above it, that is a link, or below one.

    A path that the caller chose may be a link: it does not begin with `HOME`.

    Raises:
        InputError: names the link.
    """
    if [part for part in path.parts if part != os.pardir][:1] != [*HOME.parts]:
        return
    for part in (*reversed(path.parents), path):
        if part.is_symlink():
            raise InputError(
                f"{part} is a link, to {part.readlink()}; expected a file or folder of judgeloop's own. "
                "Remove the link, or name a place of yours (`ledger`)"
            )


def shipped(folder: str) -> "Traversable":
    """The shipped folder `folder`, such as `prompts`.

    In an installed package it is inside the package, under a name with an underscore; in a checkout
    it is beside it.
    """
    from importlib.resources import files  # 7 ms, which `--help` need not wait for

    installed = files("judgeloop") / f"_{folder}"
    return installed if installed.is_dir() else Path(__file__).parent.parent.parent / folder
