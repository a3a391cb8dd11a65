"""Vectors on disk, so that no text is embedded twice. Losing the folder costs time and nothing else.

The folder may come from anywhere, and diskcache unpickles by default (CVE-2025-69872): this cache stores and reads raw
bytes only, and treats everything else that it finds as absent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

import diskcache
import numpy as np
from diskcache.core import MODE_RAW
from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], NDArray[np.floating]]


@final
class RawDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Keys are text, values bytes inside the database; nothing is ever unpickled or read from another file."""

    def put(self, key: object) -> tuple[Any, bool]:
        """Store the key as it is."""
        if not isinstance(key, str):
            raise TypeError(f"a cache key is text, not {key!r}")
        return key, True

    def get(self, key: Any, raw: bool) -> Any:  # noqa: FBT001 - diskcache's signature
        """Read the key as it is."""
        del raw
        return key

    def store(self, value: object, read: bool, key: Any = None) -> tuple[int, int, None, Any]:  # noqa: FBT001
        """Store bytes inside the database."""
        del read, key
        if not isinstance(value, bytes):
            raise TypeError(f"a cache value is bytes, not {type(value).__name__}")
        return 0, MODE_RAW, None, value

    def fetch(self, mode: int, filename: Any, value: Any, read: bool) -> bytes | None:  # noqa: FBT001
        """Read bytes inside the database; anything else is absent."""
        del read
        if mode != MODE_RAW or filename is not None or not isinstance(value, bytes):
            return None
        return value

    def remove(self, file_path: str) -> None:
        """Delete no file: this cache has none."""


def opened(folder: Path) -> diskcache.Cache:
    """The cache in `folder`, which it makes if need be; nothing is ever evicted from it."""
    return diskcache.Cache(folder, disk=RawDisk, eviction_policy="none", cull_limit=0)


def cached(embed: Embed, *, model: str, folder: Path) -> Embed:
    """`embed` with its vectors kept in `folder`, under the model and the text."""

    def embed_new(texts: Sequence[str]) -> NDArray[np.floating]:
        with opened(folder) as cache:
            keys = [_key(model, text) for text in texts]
            found = {key: vector for key in keys if (vector := _read(cache, key)) is not None}
            missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in found}
            if missing:
                vectors = np.asarray(embed(list(missing.values())), dtype=np.float32)
                with cache.transact():
                    for key, vector in zip(missing, vectors, strict=True):
                        cache.set(key, vector.tobytes())
                        found[key] = vector
            return np.stack([found[key] for key in keys])

    return embed_new


def _key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _read(cache: diskcache.Cache, key: str) -> NDArray[np.float32] | None:
    data = cache.get(key)
    return np.frombuffer(data, dtype=np.float32) if data else None
