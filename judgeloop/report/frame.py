"""Makes a data frame of a result's judged items, in the library that the caller uses.

The library and narwhals, which knows them all, are imported only when a data frame is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from judgeloop.core.errors import InputError

LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """Return a data frame of `library` with these columns.

    Raises:
        InputError: the library is not one of `LIBRARIES`, or it is not installed.
    """
    if library not in LIBRARIES:
        raise InputError(f"`library`: expected {', '.join(LIBRARIES)}, found {library!r}")
    try:
        import_module(library)
    except ImportError as error:
        raise InputError(
            f"`library={library}` cannot be imported ({error}): install it, name another of "
            f"{', '.join(LIBRARIES)}, or use to_dict()['labels']"
        ) from None
    import narwhals

    backend: Any = library  # checked above, where mypy does not see it
    return narwhals.from_dict(dict(columns), backend=backend).to_native()
