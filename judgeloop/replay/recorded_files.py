"""Reads the files of replays: recorded scores, outputs of many systems, and vectors.

The file formats are in `formats/`.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.formats.join import join
from judgeloop.formats.rows import Outputs, read_items, read_outputs
from judgeloop.formats.verdicts import VerdictTable, read_verdicts
from judgeloop.methods.selectors.catalogue import Need, selector_row


def needs_of(question: str, selectors: Collection[str]) -> frozenset[Need]:
    """Return what any of the `selectors` of a question reads."""
    rows = [selector_row(question, name) for name in selectors]
    return frozenset[Need]().union(*(row.needs for row in rows))


def read_scores(path: Path) -> VerdictTable:
    """Read a table with a score for each system and item.

    Raises:
        DataError: the file holds verdicts on pairs.
    """
    table = read_verdicts(path)
    if table.paired:
        raise DataError(
            path, "expected a score for each system and item (item_id, model, score), found pairs"
        )
    return table


def systems_of(table: VerdictTable, leave_out: Collection[str]) -> list[str]:
    """Return the systems of a table that are not left out, in alphabetical order.

    Raises:
        InputError: a name in `leave_out` is not in the table.
    """
    if unknown := sorted(set(leave_out) - table.systems):
        raise InputError(f"`leave_out={unknown[0]}`: the verdicts contain no such system")
    return sorted(table.systems - set(leave_out))


def read_folder(folder: Path) -> list[Outputs]:
    """Read every output file of a folder; hidden files are passed over.

    Raises:
        InputError: there is no such folder, or a file in it is not an output file.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder of output files, one per system")
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [read_outputs(path) for path in files]


def read_pool(folder: Path, items: Path, systems: Sequence[str]) -> Pool:
    """Read the outputs of all `systems`, in their order, on the items that all of them have.

    Raises:
        InputError: there is no such folder, or a system has no outputs in it.
    """
    found = {
        outputs.system: outputs for outputs in read_folder(folder) if outputs.system in systems
    }
    if missing := [name for name in systems if name not in found]:
        raise InputError(
            f"{folder}: no outputs of {missing[0]!r}, which has verdicts or is the baseline; leave it "
            "out with `leave_out`"
        )
    rows = [found[name] for name in systems]
    return join(rows, read_items(items).rows, items, allow_partial=True).pool


def recorded_outputs(
    folder: Path, items: Path, systems: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield system, item id and text of every output of `systems` in `folder`.

    Raises:
        InputError: there is no such folder, or an output file does not match the items.
    """
    known = read_items(items).rows
    for found in read_folder(folder):
        if found.system in systems:
            pool = join([found], known, items, allow_partial=True).pool
            for item, text in zip(pool.items, pool.outputs[0], strict=True):
                yield found.system, item.id, text


def output_lengths(
    folder: Path, items_file: Path, systems: Sequence[str], items: Sequence[str]
) -> NDArray[np.float64]:
    """Return the lengths of outputs in characters, shape (systems, items); NaN without an output.

    Raises:
        InputError: as in `recorded_outputs`.
    """
    rows, columns = (
        {name: place for place, name in enumerate(names)} for names in (systems, items)
    )
    lengths = np.full((len(systems), len(items)), np.nan)
    for system, item, text in recorded_outputs(folder, items_file, systems):
        if item in columns:
            lengths[rows[system], columns[item]] = len(text)
    return lengths


def read_vectors(path: Path, items: Sequence[str]) -> dict[str, NDArray[np.floating]]:
    """Read the vectors of each system's outputs, shape (items, dimensions), from an .npz file.

    The file holds the arrays `models`, shape (systems,), and `embeddings`, shape (systems, items,
    dimensions).

    Raises:
        DataError: an array is missing, or has another shape.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names, vectors = arrays["models"], arrays["embeddings"]
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            path, f"expected an .npz with the arrays models and embeddings: {error}"
        ) from None
    if vectors.shape[:-1] != (len(names), len(items)):
        raise DataError(
            path,
            f"expected embeddings of the shape ({len(names)}, {len(items)}, …), "
            f"found {vectors.shape}",
        )
    return dict(zip(map(str, names), np.asarray(vectors, dtype=np.float32), strict=True))


def item_ids(path: Path) -> list[str]:
    """Return the ids of an items file, in its order."""
    return [located.row.id or "" for located in read_items(path).rows]
