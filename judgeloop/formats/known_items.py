"""The items of some files by key: what rows say of each, and whether they agree.

Takes located rows; keeps each item's id, prompt, reference and group. A row that contradicts another is an
error with both places. Joins no systems (`join.py`).
"""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from judgeloop.core.errors import DataError
from judgeloop.core.records import Item
from judgeloop.formats.columns import ID, PROMPT, candidates_of, found_text, remedy
from judgeloop.formats.row import Place
from judgeloop.formats.rows import NO_MAP, ItemRow, Located, OutputRow, Outputs, R, at

UNICODE = "differ only in Unicode normalization (NFC, NFD)"
AROUND = 20  # characters shown on each side of the place where two texts begin to differ
PROMPTS = "give the file of prompts, as in `items=requests.jsonl`"
BATCH_ID = "custom_id"  # of the requests and replies of a batch
LONGEST_SHOWN = 40  # characters of an id or a prompt in a message


@dataclass(slots=True)
class Entry:
    """What is known of an item so far, and the file and line where it appeared first."""

    path: Place
    line: int
    unit: str = "line"
    id: str | None = None
    prompt: str | None = None
    reference: str | None = None
    group: str | None = None

    @property
    def name(self) -> str:
        """How messages name the item."""
        text = self.id or self.prompt or ""
        return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…")


@dataclass
class KnownItems:
    """The items by key; `closed` if an items file lists all items, `texts` if anybody reads them."""

    closed: bool
    texts: bool = True
    entries: dict[int, Entry] = field(default_factory=dict)
    by_id: dict[str, int] = field(default_factory=dict)
    by_prompt: dict[str, list[int]] | None = None  # made when a row is first looked up so
    strangers: dict[Place, list[str]] = field(default_factory=dict)
    columns: dict[Place, tuple[str, ...]] = field(default_factory=dict)  # of each file, for errors

    def define(self, path: Place, located: Located[R]) -> int:
        """Add the item of a row, and return its key; raise DataError if its id is there already."""
        known = self.by_id.get(located.row.id) if located.row.id is not None else None
        if known is not None:
            first = self.entries[known]
            raise located.wrong(
                path,
                f"the id {first.name} appears twice, first {at(first.line, first.unit)}; take one of "
                "the rows out, or give them different ids",
            )
        key = len(self.entries)
        self.entries[key] = Entry(path, located.line, located.unit)
        self._learn(path, located, key)
        return key

    def match(self, outputs: Outputs) -> dict[int, OutputRow]:
        """Return the rows of a file by key.

        A row about an unknown item adds the item; if the catalogue is closed, the row is counted in
        `strangers` instead. A file joins by id if any of its ids is known. Otherwise its ids are
        its own, and it joins by prompt.
        """
        self.columns[outputs.path] = outputs.columns
        by_id = not self.entries or any(located.row.id in self.by_id for located in outputs.rows)
        found: dict[int, OutputRow] = {}
        for located in outputs.rows:
            key = self._key(outputs.path, located, by_id=by_id)
            if key is None:
                name = located.row.id or located.row.prompt or ""
                self.strangers.setdefault(outputs.path, []).append(name)
                continue
            if key in found:
                raise self._twice(outputs, located, key, by_id=by_id)
            self._learn(outputs.path, located, key, outputs.rows)
            found[key] = located.row
        return found

    def _twice(self, outputs: Outputs, located: Located[OutputRow], key: int, *, by_id: bool) -> DataError:
        """Return the error for the second row about an item in one file."""
        first = next(row for row in outputs.rows if self._key(outputs.path, row, by_id=by_id) == key)
        return located.wrong(
            outputs.path,
            f"the item {self.entries[key].name} appears twice, first {at(first.line, first.unit)}; "
            f"{twice(first.row, located.row)}",
        )

    def item(self, key: int) -> Item:
        """Return an item; raise DataError if it needs a prompt and has none."""
        entry = self.entries[key]
        if entry.prompt is None and self.texts:
            raise DataError(
                entry.path,
                f"the item {entry.name} has no field 'prompt', and no `items` file gives its prompt"
                + self._remedy(entry.path),
                line=entry.line,
                unit=entry.unit,
            )
        prompt = entry.prompt or ""
        return Item(entry.id or id_of(prompt), prompt, entry.reference, entry.group)

    def _remedy(self, path: Place) -> str:
        """Return what mends rows without a prompt: the file of prompts, or the column that holds it."""
        names = self.columns.get(path, ())
        candidates = candidates_of(names, NO_MAP)
        if candidates[ID]:
            return f"; found {found_text(names)}; {PROMPTS}, or say which column it is with `map`"
        if BATCH_ID in names:
            return f"; found {found_text(names)}; {PROMPTS}, and say `map=id={BATCH_ID}`"
        return f"; {remedy(PROMPT, dict.fromkeys(names), candidates)}" if names else ""

    def _key(self, path: Place, located: Located[R], *, by_id: bool) -> int | None:
        row = located.row
        if row.id is None and row.prompt is None:
            raise located.wrong(path, f"a row needs the field 'id' or 'prompt'{self._remedy(path)}")
        key = self.by_id.get(row.id) if row.id is not None else None
        if key is None and not (by_id and row.id is not None):
            key = self._by_prompt(path, located)
        if key is None and not self.closed:
            return self.define(path, located)
        return key

    def _by_prompt(self, path: Place, located: Located[R]) -> int | None:
        if self.by_prompt is None:
            self.by_prompt = {}
            for key, entry in self.entries.items():
                if entry.prompt is not None:
                    self.by_prompt.setdefault(entry.prompt, []).append(key)
        keys = self.by_prompt.get(located.row.prompt or "", [])
        if len(keys) > 1:
            raise located.wrong(
                path,
                f"{len(keys):,} items have this prompt, {self.entries[keys[0]].name} and others; add ids to the rows",
            )
        return keys[0] if keys else None

    def _learn(self, path: Place, located: Located[R], key: int, rows: Sequence[Located[R]] = ()) -> None:
        """Add the fields of a row that its item lacks; raise DataError if fields contradict.

        Of the `rows` of the file, the error counts those that contradict so too.
        """
        entry, row = self.entries[key], located.row
        both = ("prompt", entry.prompt, row.prompt), ("reference", entry.reference, row.reference)
        same = not self.texts and any(mine == theirs is not None for _, mine, theirs in both)
        for name, mine, theirs in both[: 2 if self.texts else 1]:
            if mine is not None and theirs is not None and mine != theirs and not same:
                raise located.wrong(
                    path,
                    f"the field {name!r} of the item {entry.name} differs from {entry.unit} {entry.line} "
                    f"of {entry.path}: {differing(name, theirs, mine, self._contradict(name, rows))}",
                )
        if self.by_prompt is not None and entry.prompt is None and row.prompt is not None:
            self.by_prompt.setdefault(row.prompt, []).append(key)
        if entry.id is None and row.id is not None:
            self.by_id[row.id] = key
        for name in ("id", "prompt", "reference", "group"):
            if getattr(entry, name) is None:
                setattr(entry, name, getattr(row, name))

    def _contradict(self, name: str, rows: Sequence[Located[R]]) -> int:
        """Return how many rows have another text in a field than the item with their id."""
        count = 0
        for located in rows:
            key = self.by_id.get(located.row.id or "")
            mine = getattr(self.entries[key], name) if key is not None else None
            theirs = getattr(located.row, name)
            count += mine is not None and theirs is not None and mine != theirs
        return count


def id_of(prompt: str) -> str:
    """Return the id of an item that has none."""
    return f"prompt-{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"


def twice(first: ItemRow, second: ItemRow) -> str:
    """Return whether two rows about one item are the same, and what mends it."""
    names = [field.name for field in fields(first) if getattr(first, field.name) != getattr(second, field.name)]
    if not names:
        return "both rows are the same: take one of them out"
    differ = f"the rows differ in {', '.join(map(repr, names))}"
    if first.id is not None and second.id is not None:
        return f"{differ}: take one of them out, or give them different ids"
    return f"{differ}: take one of them out, or give every row of all files an 'id' that tells them apart"


def differing(name: str, here: str, there: str, count: int) -> str:
    """Return two texts of a field around their first difference, and what mends it."""
    start = max(0, _first_difference(here, there) - AROUND)
    form = unicodedata.normalize("NFC", here) == unicodedata.normalize("NFC", there)
    notes = [f"{_part(here, start)} here, {_part(there, start)} there"]
    notes += [f"they {UNICODE}"] if form else []
    notes += [f"{count} items differ so"] if count > 1 else []
    return (
        f"{'; '.join(notes)}. Correct one of the files, take the field out of one of them, or name "
        f"another column with `map={name}=COLUMN`"
    )


def _first_difference(here: str, there: str) -> int:
    """Return the first position at which two texts differ, or at which one of them ends."""
    pairs = enumerate(zip(here, there, strict=False))
    differences = (index for index, (mine, theirs) in pairs if mine != theirs)
    return next(differences, min(len(here), len(there)))


def _part(text: str, start: int) -> str:
    """Return a text from `start` on, in quotes, with marks where more of it was left out."""
    end = start + 2 * AROUND
    before, behind = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{text[start:end]!r}{behind}"
