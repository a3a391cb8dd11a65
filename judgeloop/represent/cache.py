"""Caches vectors on disk, so that no text is embedded twice. The folder is safe to delete.

The folder may come from an untrusted source, and diskcache unpickles by default (CVE-2025-69872).
So this cache stores and reads raw bytes only, and treats all other content as absent. diskcache
comes with the extras `judgeloop[cache]` and `judgeloop[embed]`; without it nothing is cached.
"""

import functools
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import install

Embed = Callable[[Sequence[str]], NDArray[np.floating]]


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
        with diskcache.Cache(
            folder, disk=raw_disk(), eviction_policy="none", cull_limit=0
        ) as cache:
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
    """Return `embed` with a cache in `folder`, keyed by `model` and text; vectors are float32.

    If the cache cannot be used, all vectors are computed, and the folder is left as it is.
    """

    def embed_new(texts: Sequence[str]) -> NDArray[np.floating]:
        try:
            with opened(folder) as cache:
                return _embedded(texts, embed, [_key(model, text) for text in texts], cache)
        except UnusableError:
            return np.asarray(embed(texts), dtype=np.float32)

    return embed_new


def _embedded(
    texts: Sequence[str], embed: Embed, keys: Sequence[str], cache: Store
) -> NDArray[np.float32]:
    """Return the vectors of `texts`, from `cache` or computed and stored there."""
    found = {key: vector for key in keys if (vector := _read(cache, key)) is not None}
    missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in found}
    if missing:
        vectors = np.asarray(embed(list(missing.values())), dtype=np.float32)
        with cache.transact():
            for key, vector in zip(missing, vectors, strict=True):
                cache.set(key, vector.tobytes())
                found[key] = vector
    return np.stack([found[key] for key in keys])


def _key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _read(cache: Store, key: str) -> NDArray[np.float32] | None:
    data = cache.get(key)
    return np.frombuffer(data, dtype=np.float32) if data else None
