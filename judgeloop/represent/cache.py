"""Caches vectors on disk, so that no text is embedded twice. The folder is safe to delete.

The folder may come from an untrusted source, and diskcache unpickles by default (CVE-2025-69872).
So this cache stores and reads raw bytes only, and treats all other content as absent.
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
    """Stores text keys and bytes values in the database; never unpickles or reads other files."""

    def put(self, key: object) -> tuple[Any, bool]:
        """Return the key unchanged, as it is stored.

        Raises:
            TypeError: the key is not text.
        """
        if not isinstance(key, str):
            raise TypeError(f"a cache key is text, not {key!r}")
        return key, True

    def get(self, key: Any, raw: bool) -> Any:  # noqa: FBT001 - diskcache's signature
        """Return the stored key unchanged."""
        del raw
        return key

    def store(self, value: object, read: bool, key: Any = None) -> tuple[int, int, None, Any]:  # noqa: FBT001
        """Return how to store bytes in the database.

        Raises:
            TypeError: the value is not bytes.
        """
        del read, key
        if not isinstance(value, bytes):
            raise TypeError(f"a cache value is bytes, not {type(value).__name__}")
        return 0, MODE_RAW, None, value

    def fetch(self, mode: int, filename: Any, value: Any, read: bool) -> bytes | None:  # noqa: FBT001
        """Return bytes stored in the database; None for anything else."""
        del read
        if mode != MODE_RAW or filename is not None or not isinstance(value, bytes):
            return None
        return value

    def remove(self, file_path: str) -> None:
        """Do nothing: this cache stores no values in files."""


def opened(folder: Path) -> diskcache.Cache:
    """Open the cache in `folder`, which is created if missing; entries are never evicted."""
    return diskcache.Cache(folder, disk=RawDisk, eviction_policy="none", cull_limit=0)


def cached(embed: Embed, *, model: str, folder: Path) -> Embed:
    """Return `embed` with a cache in `folder`, keyed by `model` and text; vectors are float32."""

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
