"""Columns as a data frame of the caller's library, which is imported only then."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from judgeloop.core.errors import InputError

LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """Return a data frame of `library` with these columns."""
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
