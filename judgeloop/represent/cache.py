"""Keeps arrays on disk, so that nothing is computed twice. The folder is safe to delete.

The folder may come from an untrusted source, so only raw bytes are stored and read, and nothing is
unpickled. All other content counts as absent. If the cache cannot be used, everything is computed.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

FILE = "cache.sqlite"
Embed = Callable[[Sequence[str]], NDArray[np.floating]]
F = TypeVar("F", bound=np.floating)
S = TypeVar("S")


def cached(embed: Embed, *, model: str, folder: Path) -> Embed:
    """Return `embed` with a cache in `folder`, keyed by `model` and text; vectors are float32."""

    def embed_new(texts: Sequence[str]) -> NDArray[np.floating]:
        keys = [
            hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
            for text in texts
        ]
        found = kept(dict(zip(keys, texts, strict=True)), _as_float32(embed), _read, folder)
        return np.stack([found[key] for key in keys])

    return embed_new


def _as_float32(embed: Embed) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    return lambda texts: np.asarray(embed(texts), dtype=np.float32)


def _read(data: bytes, text: str) -> NDArray[np.float32] | None:
    del text
    return np.frombuffer(data, dtype=np.float32) if data else None


def kept(
    sources: Mapping[str, S],
    compute: Callable[[Sequence[S]], Iterable[NDArray[F]]],
    read: Callable[[bytes, S], NDArray[F] | None],
    folder: Path,
) -> dict[str, NDArray[F]]:
    """Return an array for each source by its key: from the cache, or computed and stored there.

    `read` makes an array of what is stored for a source; None of what cannot be one.
    """
    stored = _stored(sources, folder)
    arrays = {key: read(data, sources[key]) for key, data in stored.items()}
    found = {key: array for key, array in arrays.items() if array is not None}
    missing = {key: source for key, source in sources.items() if key not in found}
    if not missing:
        return found
    new = dict(zip(missing, compute(list(missing.values())), strict=True))
    with suppress(sqlite3.Error, OSError), _opened(folder) as connection:
        rows = [(key, array.tobytes()) for key, array in new.items()]
        connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)
    return found | new


def _stored(keys: Iterable[str], folder: Path) -> dict[str, bytes]:
    """Return the bytes that are stored under these keys; none if the cache cannot be used."""
    found: dict[str, bytes] = {}
    with suppress(sqlite3.Error, OSError), _opened(folder) as connection:
        for key in keys:
            row = connection.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
            if row and isinstance(row[0], bytes):
                found[key] = row[0]
    return found


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the cache, which is created if missing, for one transaction."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB)")
        yield connection
