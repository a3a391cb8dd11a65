"""Caches vectors on disk, so that no text is embedded twice. The folder is safe to delete.

The cache is a table of blobs in a SQLite file. The folder may come from a stranger: what is read is
bytes, of which callers make numbers. A file that is no cache is left as it is, and everything is
computed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], NDArray[np.floating]]

FILE = "cache.sqlite"
WAIT_S = 60.0  # for another process that writes


class UnusableError(Exception):
    """The cache cannot be opened, read or written; what it would hold has to be computed."""


@dataclass(frozen=True, slots=True)
class Store:
    """An open cache: bytes by key. Entries are never evicted."""

    connection: sqlite3.Connection

    def get(self, key: str) -> bytes | None:
        """Return what is stored under `key`; None if nothing is."""
        found = self.connection.execute("SELECT value FROM cache WHERE key = ?", (key,)).fetchone()
        return found[0] if found and isinstance(found[0], bytes) else None

    def add(self, entries: Mapping[str, bytes]) -> None:
        """Store all `entries`, in one transaction."""
        with self.connection:
            self.connection.executemany(
                "INSERT OR REPLACE INTO cache VALUES (?, ?)", entries.items()
            )


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the cache in `folder`, which is created if missing.

    Raises:
        UnusableError: the folder cannot be read or written, or holds another file of this name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnusableError(f"the folder {folder} cannot be created: {error}") from error
    try:
        with closing(sqlite3.connect(folder / FILE, timeout=WAIT_S)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value)")
            yield Store(connection)
    except sqlite3.Error as error:
        raise UnusableError(f"the cache in {folder} cannot be used: {error}") from error


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
        new = dict(zip(missing, vectors, strict=True))
        cache.add({key: vector.tobytes() for key, vector in new.items()})
        found |= new
    return np.stack([found[key] for key in keys])


def _key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _read(cache: Store, key: str) -> NDArray[np.float32] | None:
    data = cache.get(key)
    return np.frombuffer(data, dtype=np.float32) if data and not len(data) % 4 else None
