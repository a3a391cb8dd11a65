"""How long recorded outputs are, by system and item: all that a replay of `decisive` looks at in them.

What lengths say of an item is the business of `stats/decision_model.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.formats.join import join
from judgeloop.formats.outputs import read_items, read_outputs


def output_lengths(
    folder: Path, items_path: Path, systems: Sequence[str], items: Sequence[str]
) -> NDArray[np.float64]:
    """The lengths in characters, shape (systems, items); NaN where `folder` has no output.

    Raises:
        InputError: there is no such folder, or an output file does not go with the items.
        DataError: a file cannot be read.
    """
    rows, columns = (
        {name: place for place, name in enumerate(names)} for names in (systems, items)
    )
    lengths = np.full((len(systems), len(items)), np.nan)
    for system, item, text in recorded_outputs(folder, items_path, systems):
        if item in columns:
            lengths[rows[system], columns[item]] = len(text)
    return lengths


def recorded_outputs(
    folder: Path, items_path: Path, systems: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """System, item and text of every output that `folder` has of `systems`; raises as `output_lengths` does."""
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder of output files, one a system")
    known = read_items(items_path)
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        found = read_outputs(path)
        if found.system in systems:
            pool = join([found], known, items_path, allow_partial=True).pool
            for item, text in zip(pool.items, pool.outputs[0], strict=True):
                yield found.system, item.id, text
