"""Vectors that are recorded in a file (.npz), in place of those that a model computes.

Reads the arrays `models` and `embeddings` (vectors of systems' outputs), or `layer1`, `layer2`, … (a causal model's
hidden states of the prompts), and `ids`, the items' ids. The page of file formats has their shapes.
"""

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import DataError, some
from judgeloop.core.records import Pool

LAYER = re.compile(r"layer(\d+)")
# What the names of published output files have beside the system's: abs-bart_out.txt.
FILE_ENDING = re.compile(r"(_out)?\.(txt|out|csv|jsonl?)$")

Vectors = NDArray[np.float32]


@final
@dataclass(frozen=True, slots=True, eq=False)
class VectorFile:
    """The vectors of a file: `embeddings` by the systems' names there, or `layers` by number.

    Each array has the shape (items, dimensions). `ids` are those of the items; None if they are in the order of the
    items file.
    """

    path: Path
    ids: tuple[str, ...] | None
    embeddings: Mapping[str, Vectors]
    layers: Mapping[int, Vectors]

    def of_system(self, system: str) -> Vectors | None:
        """The vectors of a system's outputs: under its name, or under that of its file."""
        exact = self.embeddings.get(system)
        if exact is not None:
            return exact
        by_file = (name for name in self.embeddings if FILE_ENDING.sub("", name) == system)
        return self.embeddings.get(next(by_file, ""))

    def at_layer(self, layer: str) -> Vectors:
        """The hidden states at a layer: its number, `last` (the highest), or `middle` (half of that).

        Raises:
            DataError: the file has no such layer.
        """
        last = max(self.layers)
        number = int(layer) if layer.isdigit() else {"last": last, "middle": last // 2}.get(layer)
        if number is None or number not in self.layers:
            why = "; a search for the layer needs the model (`represent=hidden:MODEL`)" if number is None else ""
            raise DataError(self.path, f"expected the layer {layer}, found {some(map(str, sorted(self.layers)))}{why}")
        return self.layers[number]

    def places(self, items: Sequence[str]) -> NDArray[np.int64]:
        """The rows of these items, by their ids; without ids in the file, all rows, in the order of the items.

        Raises:
            DataError: an item has no row, or there are more or fewer rows than items.
        """
        if self.ids is None:
            rows = len(next(iter([*self.embeddings.values(), *self.layers.values()])))
            if rows != len(items):
                raise DataError(
                    self.path,
                    f"expected a vector for each of {len(items):,} items, in their order, found {rows:,}; an array "
                    "`ids` says which items they are of",
                )
            return np.arange(rows)
        known = {name: place for place, name in enumerate(self.ids)}
        if missing := [name for name in items if name not in known]:
            raise DataError(self.path, f"no vectors for {len(missing):,} items, such as {missing[0]!r}")
        return np.array([known[name] for name in items], dtype=np.int64)


def read_vectors(path: Path) -> VectorFile:
    """Read a file of vectors.

    Raises:
        DataError: the file is no .npz, an array is missing or has another shape, or a vector is not finite.
    """
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays: dict[str, NDArray[Any]] = {name: file[name] for name in file.files if _is_known(name)}
    except (OSError, ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise DataError(path, f"expected an .npz file of vectors: {error}") from None
    ids = None if "ids" not in arrays else arrays["ids"].ravel()
    if {"models", "embeddings"} <= arrays.keys():
        names, stacked = arrays["models"], arrays["embeddings"]
        rows = len(ids) if ids is not None else stacked.shape[1] if stacked.ndim > 1 else 1
        if stacked.ndim != 3 or stacked.shape[:2] != (np.size(names), rows):  # noqa: PLR2004 - systems, items, dimensions
            raise DataError(
                path, f"expected embeddings of the shape ({np.size(names)}, {rows}, …), found {stacked.shape}"
            )
        embeddings, layers = dict(zip(map(str, names.tolist()), stacked, strict=True)), dict[int, NDArray[Any]]()
    else:
        embeddings = {}
        layers = {int(found[1]): array for name, array in arrays.items() if (found := LAYER.fullmatch(name))}
        if not layers:
            raise DataError(path, "expected the arrays models and embeddings, or layer1, layer2, …")
        rows = len(next(iter(layers.values())) if ids is None else ids)
        for number, array in layers.items():
            if array.ndim != 2 or len(array) != rows:  # noqa: PLR2004 - items, dimensions
                raise DataError(path, f"expected layer{number} of the shape ({rows}, …), found {array.shape}")
    return VectorFile(
        path,
        None if ids is None else tuple(map(str, ids.tolist())),
        {name: _finite(path, name, array) for name, array in embeddings.items()},
        {number: _finite(path, f"layer{number}", array) for number, array in layers.items()},
    )


def of_outputs(path: Path, pool: Pool) -> list[Vectors]:
    """The vectors of each system's outputs in a pool, shape (items, dimensions).

    Raises:
        DataError: as `read_vectors`, or there are no vectors of a system or item.
    """
    file, found = read_vectors(path), list[Vectors]()
    places = file.places([item.id for item in pool.items])
    for system in pool.systems:
        if (vectors := file.of_system(system)) is None:
            raise DataError(
                path, f"expected vectors of the outputs of {system!r}, found those of {some(file.embeddings) or 'none'}"
            )
        found.append(vectors[places])
    return found


def of_states(path: Path, pool: Pool, layer: str) -> Vectors:
    """What stands for a system's states on the items of a pool: hidden states at `layer`, else its outputs' vectors.

    Raises:
        DataError: as `of_outputs`, or there is no such layer.
    """
    file = read_vectors(path)
    if not file.layers:
        return of_outputs(path, pool)[0]
    return file.at_layer(layer)[file.places([item.id for item in pool.items])]


def holds_layers(path: Path | None) -> bool:
    """Whether a file holds hidden states by layer; False of a file that cannot be read, which is said elsewhere."""
    try:
        return path is not None and any(map(LAYER.fullmatch, np.load(path, allow_pickle=False).files))
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile):
        return False


def _is_known(name: str) -> bool:
    return name in {"ids", "models", "embeddings"} or bool(LAYER.fullmatch(name))


def _finite(path: Path, name: str, array: NDArray[Any]) -> Vectors:
    vectors = np.asarray(array, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise DataError(path, f"the vectors of {name} hold a value that is not finite")
    return vectors
