"""Caches vectors on disk, so that no text is embedded twice. The folder is safe to delete.

The folder may come from an untrusted source, and diskcache unpickles by default (CVE-2025-69872).
So this cache stores and reads raw bytes only, and treats all other content as absent. diskcache
comes with the extras `judgeloop[cache]` and `judgeloop[embed]`; without it nothing is cached.
"""

import functools
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import install

Embed = Callable[[Sequence[str]], NDArray[np.floating]]
F = TypeVar("F", bound=np.floating)
S = TypeVar("S")
Store = Any  # an open `diskcache.Cache`, which has no types


class UnusableError(Exception):
    """The cache cannot be opened, read or written; what it would hold has to be computed."""


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the cache in `folder`, which is created if missing; entries are never evicted.

    Raises:
        UnusableError: diskcache is not installed, or the folder cannot be read or written.
    """
    try:
        import diskcache
    except ModuleNotFoundError as error:
        raise UnusableError(f"a cache needs {install('cache')}") from error
    try:
        _check_database(folder / diskcache.core.DBNAME)
        with diskcache.Cache(folder, disk=raw_disk(), eviction_policy="none", cull_limit=0) as cache:
            yield cache
    except (sqlite3.DatabaseError, diskcache.Timeout) as error:
        raise UnusableError(f"the cache in {folder} cannot be used: {error}") from error


def _check_database(path: Path) -> None:
    """Raise `sqlite3.DatabaseError` if the file is no database.

    diskcache finds that out, too, but leaves its connection open then.
    """
    if path.exists():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA schema_version")


@functools.cache
def raw_disk() -> type:
    """Return the class that stores and reads for diskcache, which is imported only here.

    It stores text keys and bytes values in the database; it never unpickles or reads other files.
    """
    import diskcache
    from diskcache.core import MODE_RAW

    class RawDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
        def put(self, key: object) -> tuple[Any, bool]:
            if not isinstance(key, str):
                raise TypeError(f"a cache key is text, not {key!r}")
            return key, True

        def get(self, key: Any, raw: bool) -> Any:  # noqa: FBT001 - diskcache's signature
            del raw
            return key

        def store(self, value: object, read: bool, key: Any = None) -> tuple[int, int, None, Any]:  # noqa: FBT001
            del read, key
            if not isinstance(value, bytes):
                raise TypeError(f"a cache value is bytes, not {type(value).__name__}")
            return 0, MODE_RAW, None, value

        def fetch(self, mode: int, filename: Any, value: Any, read: bool) -> bytes | None:  # noqa: FBT001
            del read
            if mode != MODE_RAW or filename is not None or not isinstance(value, bytes):
                return None
            return value

        def remove(self, file_path: str) -> None:
            """Do nothing: this cache stores no values in files."""

    return RawDisk


def cached(embed: Embed, *, model: str, folder: Path) -> Embed:
    """Return `embed` with a cache in `folder`, keyed by `model` and text; vectors are float32."""

    def embed_new(texts: Sequence[str]) -> NDArray[np.floating]:
        keys = [hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        found = kept(dict(zip(keys, texts, strict=True)), _as_float32(embed), _read, folder)
        return np.stack([found[key] for key in keys])

    return embed_new


def _as_float32(embed: Embed) -> Embed:
    return lambda texts: np.asarray(embed(texts), dtype=np.float32)


def _read(data: bytes | None, text: str) -> NDArray[np.float32] | None:
    del text
    return np.frombuffer(data, dtype=np.float32) if data else None


def kept(
    sources: Mapping[str, S],
    compute: Callable[[Sequence[S]], Iterable[NDArray[F]]],
    read: Callable[[bytes | None, S], NDArray[F] | None],
    folder: Path,
) -> dict[str, NDArray[F]]:
    """Return an array for each source by its key: from the cache, or computed and stored there.

    `read` makes an array of what is stored for a source; None of what cannot be one. If the cache in
    `folder` cannot be used, all are computed, and the folder is left as it is.
    """

    def computed(missing: Mapping[str, S]) -> dict[str, NDArray[F]]:
        return dict(zip(missing, compute(list(missing.values())), strict=True))

    try:
        with opened(folder) as cache:
            with cache.transact():
                stored = {key: read(cache.get(key), of) for key, of in sources.items()}
            found = {key: array for key, array in stored.items() if array is not None}
            missing = {key: of for key, of in sources.items() if key not in found}
            new = computed(missing) if missing else {}
            with cache.transact():
                for key, array in new.items():
                    cache.set(key, array.tobytes())
            return found | new
    except UnusableError:
        return computed(sources)
