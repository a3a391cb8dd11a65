"""Reads the files of replays: recorded scores, outputs of many systems, and vectors.

Joins them into a `Recorded`. The file formats are in `formats/`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import selector_row
from judgeloop.core.errors import DataError, InputError, some
from judgeloop.core.records import Item
from judgeloop.formats.join import align
from judgeloop.formats.rows import Outputs, read_items, read_outputs
from judgeloop.formats.verdicts import VerdictTable, read_verdicts
from judgeloop.methods.stats.strata import Floats
from judgeloop.papers.recorded import VectorFile, read_vectors
from judgeloop.replay.settings import ReplaySettings

Texts = Sequence[str | None]  # a system's outputs by item; None where it has none


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What is recorded of `systems` on `items`; `table` holds the scores of all systems.

    `scores` has the shape (systems, items), NaN without a score. `vectors`, shape (systems, items,
    dimensions), are those of a file, `states` the hidden states in one. All three are empty or None if nothing uses
    them.
    """

    table: VerdictTable
    systems: tuple[str, ...]
    items: tuple[Item, ...]
    scores: Floats
    outputs: tuple[Texts, ...] = ()
    vectors: NDArray[np.floating] | None = None
    states: VectorFile | None = None

    @property
    def ids(self) -> list[str]:
        """The ids of the items."""
        return [item.id for item in self.items]

    def answered(self) -> Self:
        """What is recorded on the items on which every system has an output.

        Raises:
            InputError: there is no such item.
        """
        kept = [at for at, texts in enumerate(zip(*self.outputs, strict=True)) if None not in texts]
        if not kept:
            raise InputError(f"no item has an output of all of {some(sorted(self.systems))}")
        return replace(
            self,
            items=tuple(self.items[at] for at in kept),
            scores=self.scores[:, kept],
            outputs=tuple([own[at] for at in kept] for own in self.outputs),
        )


def vectors_of(question: str, selectors: Collection[str]) -> frozenset[str]:
    """What the vectors are of that any of the `selectors` of a question looks at (`SelectorRow.vectors`)."""
    return frozenset(selector_row(question, name).vectors for name in selectors) - {""}


def takes(question: str, selectors: Collection[str], setting: str) -> bool:
    """Whether any of the `selectors` of a question takes a setting, and so the data that it is about."""
    return any(setting in selector_row(question, name).takes for name in selectors)


def read_recorded(
    config: ReplaySettings,
    *,
    also: Collection[str] = (),
    items: bool = False,
    outputs: bool = False,
    vectors: Path | None = None,
) -> Recorded:
    """Read the verdicts and what else is asked for, and join them.

    The systems are those with verdicts and `also`, without those to leave out, by name; with
    `vectors`, they are those in that file. The items are those with verdicts, by id. With `items`,
    `outputs` or `vectors` they are those of the items file, in its order.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    table = read_scores(config.verdicts)
    if unknown := sorted(set(config.leave_out) - table.systems):
        raise InputError(f"`leave_out={unknown[0]}`: the verdicts contain no such system")
    systems = sorted((table.systems | set(also)) - set(config.leave_out))
    known, texts = [Item(name, "") for name in table.items], dict[str, Texts]()
    given: NDArray[np.floating] | None = None
    states: VectorFile | None = None
    if items or outputs or vectors is not None:
        rows = [located.row for located in read_items(config.items).rows]
        known = [Item(row.id or "", row.prompt or "") for row in rows]
    if vectors is not None:
        systems, given, states = _vectors_in(vectors, config, systems, known)
    if len(systems) < config.FEWEST:
        raise InputError(
            f"{config.verdicts}: expected scores of at least {config.FEWEST} of the systems, found "
            f"{some(sorted(systems)) or 'none'}"
        )
    if outputs:
        known, texts = read_texts(config.outputs, config.items, systems)
        if missing := [name for name in systems if name not in texts]:
            raise InputError(
                f"{config.outputs}: no outputs of {missing[0]!r}, which has verdicts or is the "
                "baseline; leave it out with `leave_out`"
            )
    scores = table.scores(systems, [item.id for item in known])
    if np.isnan(scores).all():
        raise InputError(
            f"{config.verdicts}: expected scores on the items of `items={config.items}`, found none; they are on "
            f"items such as {table.items[0]!r}: give the rows of items such ids, in the field `id`"
        )
    return Recorded(
        table, tuple(systems), tuple(known), scores, tuple(texts[name] for name in systems if outputs), given, states
    )


def _vectors_in(
    path: Path, config: ReplaySettings, systems: list[str], items: Sequence[Item]
) -> tuple[list[str], NDArray[np.floating] | None, VectorFile | None]:
    """The systems of which a file has vectors, and these; or the file, if it holds a model's hidden states."""
    file = read_vectors(path)
    if file.layers and config.FEWEST == 1:
        if len(systems) > 1:
            raise InputError(
                f"`vectors`: {path} holds the hidden states of one model, and the verdicts {some(systems)}; leave out "
                "the others with `leave_out`"
            )
        return systems, None, file
    found = {name: own for name in systems if (own := file.of_system(name)) is not None}
    if len(found) < config.FEWEST <= len(systems):
        raise InputError(
            f"`vectors`: {path} names {some(sorted(file.embeddings)) or 'none'}, and the verdicts "
            f"{some(sorted(systems)) or 'none'}; the vectors of {config.FEWEST} systems with verdicts are needed"
        )
    places = file.places([item.id for item in items])
    return list(found), np.stack([own[places] for own in found.values()]) if found else None, None


def read_scores(path: Path) -> VerdictTable:
    """Read a table with a score for each system and item.

    Raises:
        DataError: the file holds verdicts on pairs.
    """
    table = read_verdicts(path)
    if table.paired:
        raise DataError(path, "expected a score for each system and item (item_id, model, score), found pairs")
    return table


def outputs_of(place: Path, systems: Sequence[str]) -> dict[str, Outputs]:
    """Read the output files of `systems` in a folder, or one file; hidden files are passed over.

    A single file belongs to a single system of any name.

    Raises:
        DataError: a file is not an output file.
    """
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    found = [read_outputs(path) for path in files if not path.name.startswith(".")]
    if len(found) == len(systems) == 1:
        return {systems[0]: found[0]}
    return {outputs.system: outputs for outputs in found if outputs.system in systems}


def read_texts(place: Path, items: Path, systems: Sequence[str]) -> tuple[list[Item], dict[str, Texts]]:
    """The items of a file, and the outputs of each of `systems` that has some, by item.

    Raises:
        DataError: as `outputs_of`, or an output file does not match the items.
    """
    found = outputs_of(place, systems)
    aligned = align(list(found.values()), read_items(items).rows, items)
    texts = ([row.output if row else None for row in rows] for rows in aligned.rows)
    return list(aligned.items), dict(zip(found, texts, strict=True))
