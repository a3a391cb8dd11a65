"""Joins the rows of output files into a pool, by id or by the exact prompt.

A join that leaves out an item or a row is an error with counts, unless the user allows a partial
join. This module reads no files (see `formats/rows.py`).
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from judgeloop.core.errors import MOST_NAMED, DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.core.records import Item
from judgeloop.formats.known_items import UNICODE, KnownItems
from judgeloop.formats.row import Place
from judgeloop.formats.rows import ItemRow, Located, OutputRow, Outputs, stem

EXAMPLES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Joined:
    """The pool, and the counts of what a partial join left out, in words (empty: nothing).

    `beyond` are rows, in words, of items that an items file with all others does not ask for.
    """

    pool: Pool
    left_out: str
    beyond: str = ""


@dataclass(frozen=True, slots=True)
class Aligned:
    """All items of the files, and each file's row on each item; None where it has none."""

    items: tuple[Item, ...]
    rows: tuple[tuple[OutputRow | None, ...], ...]


def align(
    outputs: Sequence[Outputs],
    items: Sequence[Located[ItemRow]] | None = None,
    items_path: Place | None = None,
    *,
    texts: bool = True,
) -> Aligned:
    """Align the rows of files on their items, of which each may lack some.

    Without `texts` no judge reads them. Then prompts may be missing, or differ between two rows with
    one id and the same reference: harnesses write the prompt as they sent it, with the chat template
    of the model.

    Raises:
        DataError: as `join`.
    """
    catalogue, answers = _matched(outputs, items, items_path, texts=texts)
    keys = catalogue.entries.keys()
    return Aligned(tuple(map(catalogue.item, keys)), tuple(tuple(map(found.get, keys)) for found in answers))


def join(
    outputs: Sequence[Outputs],
    items: Sequence[Located[ItemRow]] | None,
    items_path: Place | None,
    *,
    allow_partial: bool,
) -> Joined:
    """Join the outputs of the systems on their items.

    Raises:
        DataError: an item appears twice in a file, has no prompt, or has two different prompts.
        InputError: the join is partial and `allow_partial` is False, or no item matches.
    """
    names = name_apart([(file.system, file.path) for file in outputs])
    catalogue, answers = _matched(outputs, items, items_path)
    left_out = _left_out(names, catalogue, answers, outputs)
    matched = [key for key in catalogue.entries if all(key in found for found in answers)]
    if not matched:
        raise InputError(
            f"no item is in all files: {left_out}.{_form(catalogue, matched)} "
            f"Outputs join {'each other' if items is None else 'the items file'} by the same id or "
            "the exact same prompt: say which column has it, as in `map=id=COLUMN`, or write it to all files"
        )
    if left_out and not allow_partial:
        raise InputError(
            f"the files cover different items: {left_out}.{_form(catalogue, matched)} Correct the files, or judge only the "
            f"{len(matched):,} matched items with `allow_partial`"
        )
    return Joined(
        Pool(
            items=tuple(catalogue.item(key) for key in matched),
            systems=names,
            outputs=tuple(tuple(found[key].output for key in matched) for found in answers),
        ),
        left_out,
        "" if left_out else ", ".join(_first(_strange(catalogue.strangers))),
    )


def _matched(
    outputs: Sequence[Outputs],
    items: Sequence[Located[ItemRow]] | None,
    items_path: Place | None,
    *,
    texts: bool = True,
) -> tuple[KnownItems, list[dict[int, OutputRow]]]:
    catalogue = KnownItems(closed=items is not None, texts=texts)
    for located in items or ():
        catalogue.define(items_path or "", located)
    return catalogue, [catalogue.match(file) for file in outputs]


def _form(catalogue: KnownItems, matched: Sequence[int]) -> str:
    """Return a sentence on what was not matched only because of its Unicode normalization."""
    left = catalogue.entries.keys() - set(matched)
    names = [catalogue.entries[key].id or catalogue.entries[key].prompt or "" for key in left]
    return same_but_for_form(chain(names, *catalogue.strangers.values()))


def _left_out(
    names: Sequence[str], catalogue: KnownItems, answers: Sequence[dict[int, OutputRow]], outputs: Sequence[Outputs]
) -> str:
    """Return the counts of a partial join, in words; empty if every file has every item."""
    failed = [f"{file.failed:,} of {file.path} without an output" for file in outputs if file.failed]
    full = all(len(found) == len(catalogue.entries) for found in answers)
    if full and not failed:
        return ""
    everywhere = set.intersection(*(set(found) for found in answers))
    anywhere = set.union(*(set(found) for found in answers))
    counts = [f"{len(everywhere):,} matched"]
    counts += _apart(catalogue, dict(zip(names, map(set, answers), strict=True)), everywhere)
    nowhere = sorted(set(catalogue.entries) - anywhere)
    if nowhere:
        counts.append(f"{len(nowhere):,} only in the items file{_examples(catalogue, nowhere)}")
    return ", ".join([*counts, *_first(_strange(catalogue.strangers)), *_first(failed)])


def _strange(strangers: Mapping[Place, Sequence[str]]) -> list[str]:
    """Return how many rows of the files are not in the items file; of several with as many once."""
    paths: dict[int, list[Place]] = {}
    for path, names in strangers.items():
        paths.setdefault(len(names), []).append(path)
    return [
        f"{rows:,} rows of {first}{f' and of each of {len(more):,} more' if more else ''} that are not in the items file"
        for rows, (first, *more) in paths.items()
    ]


def _first(counts: list[str]) -> list[str]:
    """Return the counts of the first files, and of how many more there are some."""
    more = len(counts) - MOST_NAMED
    return counts[:MOST_NAMED] + ([f"and likewise in {more:,} more"] if more > 0 else [])


def _apart(catalogue: KnownItems, found: Mapping[str, set[int]], everywhere: set[int]) -> list[str]:
    """Return what each file has alone; of many files what those lack that lack most."""
    if len(found) <= MOST_NAMED:
        alone = {name: sorted(keys - everywhere) for name, keys in found.items()}
        return [f"{len(keys):,} only in {name}{_examples(catalogue, keys)}" for name, keys in alone.items() if keys]
    anywhere = set.union(*found.values())
    lack = {name: sorted(anywhere - keys) for name, keys in found.items() if anywhere - keys}
    most = sorted(lack, key=lambda name: -len(lack[name]))
    return _first([f"{len(lack[name]):,} not in {name}{_examples(catalogue, lack[name])}" for name in most])


def _examples(catalogue: KnownItems, keys: Sequence[int]) -> str:
    shown = [catalogue.entries[key].name for key in keys[:EXAMPLES_SHOWN]]
    return f" ({', '.join(shown)}{', …' if len(keys) > len(shown) else ''})" if shown else ""


def same_but_for_form(names: Iterable[str]) -> str:
    """Return a sentence on the names that only their Unicode normalization tells apart, or ""."""
    forms = Counter(unicodedata.normalize("NFC", name) for name in set(names))
    apart = sum(count for count in forms.values() if count > 1)
    if not apart:
        return ""
    return f" {apart} of these ids and prompts {UNICODE}: write all files in one form."


def name_apart(files: Sequence[tuple[str, Place]]) -> tuple[str, ...]:
    """Return a distinct name for each file's system: its name, else the file's name, else its path.

    Raises:
        DataError: two of the paths are the same.
    """
    paths = tuple(str(path) for _, path in files)
    if len(set(paths)) < len(paths):
        raise DataError(files[0][1], "this file is given twice; a system cannot be compared with itself")
    names = tuple(system for system, _ in files), tuple(stem(path) for _, path in files), paths
    return next(each for each in names if len(set(each)) == len(each))
