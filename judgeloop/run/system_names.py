"""The names that a caller gives the systems, in place of those in their files. Pure.

Only the caller may give them (`setting.py`): a repository's file could swap two names, and with
them which system a gate lets pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from judgeloop.core.errors import InputError


def names_for(names: Sequence[str], files: Sequence[object]) -> Sequence[str | None]:
    """Return the name of each file's system; None where the file names it.

    Raises:
        InputError: there are other than so many names, or two are the same.

    >>> names_for(["june", "july"], ["a.jsonl", "b.jsonl"])
    ['june', 'july']
    """
    if not names:
        return [None] * len(files)
    if len(names) != len(files):
        raise _wrong(names, f"expected as many names as files, {len(files)}; found {len(names)}")
    if not all(names):
        raise _wrong(names, "expected names, and one is empty")
    if len(set(names)) < len(names):
        raise _wrong(names, "two systems have the same name")
    return names


def _wrong(names: Sequence[str], problem: str) -> InputError:
    return InputError(f"`names={','.join(names)}`: {problem}")
