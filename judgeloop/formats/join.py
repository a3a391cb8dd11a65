"""Joins files into a pool, by id or by the exact prompt: outputs to judge, or the scores of finished runs.

`KnownItems` gathers what the rows of all files say of each item: its id, prompt, reference, group and family. A row
that contradicts another is an error with both places. A join that leaves out an item or a row is an error with
counts, unless the user allows a partial join. Several outputs of a file to one item are samples, each an item of its
own: the second of one file meets the second of another.
"""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import MOST_NAMED, DataError, InputError
from judgeloop.core.records import Item, Pool
from judgeloop.core.work import Lasting, lasting
from judgeloop.formats.columns import ID, PROMPT, candidates_of, found_text, remedy
from judgeloop.formats.rows import NO_MAP, ItemRow, Located, OutputRow, Outputs, R, at, stem
from judgeloop.formats.tables import Place

EXAMPLES_SHOWN = 3
WHITE_SPACE = "differ only in white space (line ends as CRLF and LF, or blanks)"
UNICODE = "differ only in Unicode normalization (NFC, NFD)"
AROUND = 20  # characters shown on each side of the place where two texts begin to differ
PROMPTS = "give the file of prompts, as in `items=requests.jsonl`"
BATCH_ID = "custom_id"  # of the requests and replies of a batch
LONGEST_SHOWN = 40  # characters of an id or a prompt in a message
SAMPLE = "#"  # between the id of an item and the number of a further output to it

Scores = dict[tuple[str, str], float]  # by the ids of items and the names of systems


@dataclass(slots=True)
class Entry:
    """What is known of an item so far, and the file and line where it appeared first.

    Of a further output to an item, the `sample` says which it is, and `of` the key of the first.
    """

    path: Place
    line: int
    unit: str = "line"
    id: str | None = None
    prompt: str | None = None
    reference: str | None = None
    group: str | None = None
    family: str | None = None
    sample: int = 1
    of: int | None = None

    @property
    def name(self) -> str:
        """How messages name the item."""
        text = self.id or self.prompt or ""
        return repr(f"{text if len(text) <= LONGEST_SHOWN else f'{text[:LONGEST_SHOWN]}…'}{self.mark}")

    @property
    def mark(self) -> str:
        """What tells a further output from the first, behind the id."""
        return f"{SAMPLE}{self.sample}" if self.sample > 1 else ""


@dataclass
class KnownItems:
    """The items by key; `closed` if an items file lists all items, `texts` if anybody reads them.

    Without `texts`, prompts may be missing, or differ between two rows with one id and the same reference: harnesses
    write the prompt as they sent it, with the chat template of the model. `samples` holds the keys of the outputs to an
    item of which a file has several, and `spare` those that need no counterpart in every file.
    """

    closed: bool
    texts: bool = True
    entries: dict[int, Entry] = field(default_factory=dict)
    by_id: dict[str, int] = field(default_factory=dict)
    by_prompt: dict[str, list[int]] | None = None  # made when a row is first looked up so
    samples: dict[int, list[int]] = field(default_factory=dict)
    spare: set[int] = field(default_factory=set)
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

    def match(self, outputs: Outputs, step: Lasting) -> dict[int, OutputRow]:
        """The rows of a file by key.

        A row about an unknown item adds the item; if the items are closed, the row is counted in
        `strangers` instead. A file joins by id if any of its ids is known. Otherwise its ids are
        its own, and it joins by prompt: of items with one prompt, each row is about the next.

        A further row about an item is another sample of its output. A copy of a row is an error, unless there are
        samples in the file that differ, or it says that they are samples.
        """
        self.columns[outputs.path] = outputs.columns
        by_id = not self.entries or any(located.row.id in self.by_id for located in outputs.rows)
        alike = Counter[str | None]() if by_id else Counter(located.row.prompt for located in outputs.rows)
        found: dict[int, OutputRow] = {}
        first: dict[int, Located[OutputRow]] = {}
        taken, copies, differ = Counter[int](), list[DataError](), False
        for located in step.over(outputs.rows):
            keys = self._keys(outputs.path, located, by_id=by_id, alike=alike)
            if not keys:
                name = located.row.id or located.row.prompt or ""
                self.strangers.setdefault(outputs.path, []).append(name)
                continue
            before = first.setdefault(keys[0], located)
            key = keys[taken[keys[0]]] if taken[keys[0]] < len(keys) else self._sample(outputs.path, located, keys[0])
            taken[keys[0]] += 1
            found[key] = located.row
            if self.entries[key].of is None:
                self._learn(outputs.path, located, key, outputs.rows)
                continue
            twice = located.wrong(
                outputs.path,
                f"the item {self.entries[keys[0]].name} appears twice, first {at(before.line, before.unit)}; "
                f"{_twice(before.row, located.row)}",
            )
            texts = ((located.row.prompt, before.row.prompt), (located.row.reference, before.row.reference))
            if any(None not in pair and pair[0] != pair[1] for pair in texts):
                raise twice
            differ = differ or located.row.output != before.row.output
            copies += [twice] if located.row.output == before.row.output else []
        if copies and not (differ or outputs.repeats):
            raise copies[0]
        if not by_id and self.by_prompt:
            self.spare.update(*(keys[taken[keys[0]] :] for keys in self.by_prompt.values() if taken[keys[0]]))
        return found

    def item(self, key: int) -> Item:
        """An item; raise DataError if it needs a prompt and has none."""
        sample = self.entries[key]
        entry = sample if sample.of is None else self.entries[sample.of]
        if entry.prompt is None and self.texts:
            raise DataError(
                entry.path,
                f"the item {entry.name} has no field 'prompt', and no `items` file gives its prompt"
                + self._remedy(entry.path),
                line=entry.line,
                unit=entry.unit,
            )
        prompt = entry.prompt or ""
        name = f"{entry.id or id_of(prompt)}{sample.mark}"
        while sample.mark and name in self.by_id:
            name += SAMPLE
        place = "" if entry.id else f"{entry.unit} {entry.line}"
        return Item(name, prompt, entry.reference, entry.group, family=entry.family, place=place)

    def _remedy(self, path: Place) -> str:
        """What mends rows without a prompt: the file of prompts, or the column that holds it."""
        names = self.columns.get(path, ())
        candidates = candidates_of(names, NO_MAP)
        if candidates[ID]:
            return f"; found {found_text(names)}; {PROMPTS}, or say which column it is with `map`"
        if BATCH_ID in names:
            return f"; found {found_text(names)}; {PROMPTS}, and say `map=id={BATCH_ID}`"
        return f"; {remedy(PROMPT, dict.fromkeys(names), candidates)}" if names else ""

    def _keys(self, path: Place, located: Located[R], *, by_id: bool, alike: Mapping[str | None, int]) -> Sequence[int]:
        """The item that a row is about and its known samples, or all items with its prompt; () for a stranger.

        `alike` counts the rows with each prompt in a file that joins by prompt.
        """
        row = located.row
        if row.id is None and row.prompt is None:
            raise located.wrong(path, f"a row needs the field 'id' or 'prompt'{self._remedy(path)}")
        key = self.by_id.get(row.id) if row.id is not None else None
        if key is None and not (by_id and row.id is not None):
            keys = self._by_prompt(row.prompt or "")
            items = [one for one in keys if self.entries[one].of is None]
            if len(items) > 1 and (by_id or (self.closed and alike[row.prompt] < len(items))):
                raise located.wrong(
                    path,
                    f"{len(items):,} items have this prompt, {self.entries[items[0]].name} and others; add ids to the rows",
                )
            if len(items) > 1:
                return keys
            key = items[0] if items else None
        if key is None and not self.closed:
            key = self.define(path, located)
        return () if key is None else self.samples.get(key) or (key,)

    def _sample(self, path: Place, located: Located[R], of: int) -> int:
        """Add a further output to an item, as an item of its own, and return its key."""
        known, key, item = self.samples.setdefault(of, [of]), len(self.entries), self.entries[of]
        self.entries[key] = replace(item, path=path, line=located.line, unit=located.unit, sample=len(known) + 1, of=of)
        known.append(key)
        self.spare.add(key)
        if self.by_prompt is not None and item.prompt is not None:
            self.by_prompt.setdefault(item.prompt, []).append(key)
        return key

    def _by_prompt(self, prompt: str) -> Sequence[int]:
        """The items with a prompt, and their samples."""
        if self.by_prompt is None:
            self.by_prompt = {}
            for key, entry in self.entries.items():
                if entry.prompt is not None:
                    self.by_prompt.setdefault(entry.prompt, []).append(key)
        return self.by_prompt.get(prompt, ())

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
                    f"of {entry.path}: {_differing(name, theirs, mine, self._contradict(name, rows))}",
                )
        if self.by_prompt is not None and entry.prompt is None and row.prompt is not None:
            self.by_prompt.setdefault(row.prompt, []).append(key)
        if entry.id is None and row.id is not None:
            self.by_id[row.id] = key
        for name in ("id", "prompt", "reference", "group", "family"):
            if getattr(entry, name) is None:
                setattr(entry, name, getattr(row, name))

    def _contradict(self, name: str, rows: Sequence[Located[R]]) -> int:
        """How many rows have another text in a field than the item with their id."""
        count = 0
        for located in rows:
            key = self.by_id.get(located.row.id or "")
            mine = getattr(self.entries[key], name) if key is not None else None
            theirs = getattr(located.row, name)
            count += mine is not None and theirs is not None and mine != theirs
        return count


def id_of(prompt: str) -> str:
    """The id of an item that has none."""
    return f"prompt-{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"


def _twice(first: ItemRow, second: ItemRow) -> str:
    """Whether two rows about one item are the same, and what mends it."""
    names = [field.name for field in fields(first) if getattr(first, field.name) != getattr(second, field.name)]
    if not names:
        return "both rows are the same: take one of them out"
    differ = f"the rows differ in {', '.join(map(repr, names))}"
    if first.id is not None and second.id is not None:
        return f"{differ}: take one of them out, or give them different ids"
    return f"{differ}: take one of them out, or give every row of all files an 'id' that tells them apart"


def _differing(name: str, here: str, there: str, count: int) -> str:
    """Two texts of a field around their first difference, and what mends it."""
    # The first position at which they differ, or at which one of them ends.
    pairs = enumerate(zip(here, there, strict=False))
    differ = next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(here), len(there)))
    start = max(0, differ - AROUND)
    form = unicodedata.normalize("NFC", here) == unicodedata.normalize("NFC", there)
    notes = [f"{_part(here, start)} here, {_part(there, start)} there"]
    notes += [f"they {UNICODE}"] if form else []
    notes += [f"they {WHITE_SPACE}"] if here.split() == there.split() else []
    notes += [f"{count} items differ so"] if count > 1 else []
    return (
        f"{'; '.join(notes)}. Correct one of the files, take the field out of one of them, or name "
        f"another column with `map={name}=COLUMN`"
    )


def _part(text: str, start: int) -> str:
    """A text from `start` on, in quotes, with marks where more of it was left out."""
    end = start + 2 * AROUND
    before, behind = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{text[start:end]!r}{behind}"


@dataclass(frozen=True, slots=True)
class Joined:
    """The pool, and the counts of what a partial join left out, in words (empty: nothing).

    `beyond` are rows, in words, that nobody asks for: of items that an items file with all others does not have, and
    further outputs to an item of which another file has fewer. `scores` are those of
    finished runs; empty where outputs are judged.
    """

    pool: Pool
    left_out: str
    beyond: str = ""
    scores: Scores = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aligned:
    """All items of the files, and each file's row on each item; None where it has none."""

    items: tuple[Item, ...]
    rows: tuple[tuple[OutputRow | None, ...], ...]


def align(
    outputs: Sequence[Outputs], items: Sequence[Located[ItemRow]] | None = None, items_path: Place | None = None
) -> Aligned:
    """Align the rows of files on their items, of which each may lack some.

    Raises:
        DataError: as `join`.
    """
    known, answers = _matched(outputs, items, items_path)
    keys = known.entries.keys()
    return Aligned(tuple(map(known.item, keys)), tuple(tuple(map(found.get, keys)) for found in answers))


def join(
    outputs: Sequence[Outputs],
    items: Sequence[Located[ItemRow]] | None = None,
    items_path: Place | None = None,
    *,
    allow_partial: bool,
) -> Joined:
    """Join the outputs of the systems, or the recorded scores of finished runs, on their items.

    Raises:
        DataError: an item appears twice in a file, has no prompt, or has two different prompts.
        InputError: the join is partial and `allow_partial` is False, or no item matches.
    """
    names = name_apart([(file.system, file.path) for file in outputs])
    known, answers = _matched(outputs, items, items_path)
    further = _without_counterpart(names, known, answers)
    left_out = _left_out(names, known, answers, outputs)
    matched = [key for key in known.entries if all(key in found for found in answers)]
    if not known.texts and not matched:
        raise InputError(f"no item has a score in both files: {left_out}")
    if not known.texts and left_out and not allow_partial:
        raise InputError(
            f"the runs scored different items: {left_out}. Compare only the {len(matched):,} that both "
            "scored with `allow_partial`"
        )
    if not matched:
        raise InputError(
            f"no item is in all files: {left_out}.{_form(known, matched)} "
            f"Outputs join {'each other' if items is None else 'the items file'} by the same id or "
            "the exact same prompt: say which column has it, as in `map=id=COLUMN`, or write it to all files"
        )
    if left_out and not allow_partial:
        raise InputError(
            f"the files cover different items: {left_out}.{_form(known, matched)} Correct the files, or judge only the "
            f"{len(matched):,} matched items with `allow_partial`"
        )
    pool = Pool(
        items=tuple(known.item(key) for key in matched),
        systems=names,
        outputs=tuple(tuple(found[key].output for key in matched) for found in answers),
        ends={
            (system, position): found[key].ended
            for system, found in enumerate(answers)
            for position, key in enumerate(matched)
            if found[key].ended is not OutputEnd.WHOLE
        },
    )
    scores = {
        (item.id, system): score
        for key, item in zip(matched, pool.items, strict=True)
        for system, found in zip(names, answers, strict=True)
        if (score := found[key].score) is not None
    }
    beyond = [*([] if left_out else _strange(known.strangers)), *further]
    return Joined(pool, left_out, ", ".join(_first(beyond)), scores)


def _matched(
    outputs: Sequence[Outputs], items: Sequence[Located[ItemRow]] | None, items_path: Place | None
) -> tuple[KnownItems, list[dict[int, OutputRow]]]:
    # No judge reads the texts of runs whose scores are compared.
    known = KnownItems(closed=items is not None, texts=not any(file.scorer for file in outputs))
    with lasting("rows joined", len(items or ()) + sum(len(file.rows) for file in outputs)) as step:
        for located in step.over(items or ()):
            known.define(items_path or "", located)
        return known, [known.match(file, step) for file in outputs]


def _without_counterpart(names: Sequence[str], known: KnownItems, answers: Sequence[dict[int, OutputRow]]) -> list[str]:
    """Take out the samples that not every file has; say how many there are of each."""
    spare = [key for key in sorted(known.spare) if not all(key in found for found in answers)]
    said = []
    for name, found in zip(names, answers, strict=True):
        if own := [key for key in spare if found.pop(key, None) is not None]:
            many = f"{len(own):,} further outputs" if len(own) > 1 else "1 further output"
            said.append(f"{many} of {name} without a counterpart{_examples(known, own)}")
    for key in spare:
        del known.entries[key]
    return said


def _form(known: KnownItems, matched: Sequence[int]) -> str:
    """A sentence on what was not matched only because of its Unicode normalization or white space, or ""."""
    left = known.entries.keys() - set(matched)
    names = [known.entries[key].id or known.entries[key].prompt or "" for key in left]
    forms = Counter(unicodedata.normalize("NFC", name) for name in {*names, *chain(*known.strangers.values())})
    apart = sum(count for count in forms.values() if count > 1)
    if apart:
        return f" {apart} of these ids and prompts {UNICODE}: write all files in one form."
    folded = Counter(" ".join(name.split()) for name in {*names, *chain(*known.strangers.values())})
    apart = sum(count for count in folded.values() if count > 1)
    return f" {apart} of these ids and prompts {WHITE_SPACE}: write them alike in all files." if apart else ""


def _left_out(
    names: Sequence[str], known: KnownItems, answers: Sequence[dict[int, OutputRow]], outputs: Sequence[Outputs]
) -> str:
    """The counts of a partial join, in words; empty if every file has every item."""
    what = "an output" if known.texts else "a score"
    failed = [f"{file.failed:,} of {file.path} without {what}" for file in outputs if file.failed]
    full = all(len(found) == len(known.entries) for found in answers)
    if full and not failed:
        return ""
    everywhere = set.intersection(*(set(found) for found in answers))
    anywhere = set.union(*(set(found) for found in answers))
    counts = [f"{len(everywhere):,} {'matched' if known.texts else 'scored in both'}"]
    counts += _apart(known, dict(zip(names, map(set, answers), strict=True)), everywhere)
    nowhere = sorted(set(known.entries) - anywhere)
    if nowhere:
        counts.append(f"{len(nowhere):,} only in the items file{_examples(known, nowhere)}")
    return ", ".join([*counts, *_first(_strange(known.strangers)), *_first(failed)])


def _strange(strangers: Mapping[Place, Sequence[str]]) -> list[str]:
    """How many rows of the files are not in the items file; of several with as many once."""
    paths: dict[int, list[Place]] = {}
    for path, names in strangers.items():
        paths.setdefault(len(names), []).append(path)
    return [
        f"{rows:,} rows of {first}{f' and of each of {len(more):,} more' if more else ''} that are not in the items file"
        for rows, (first, *more) in paths.items()
    ]


def _first(counts: list[str]) -> list[str]:
    """The counts of the first files, and of how many more there are some."""
    more = len(counts) - MOST_NAMED
    return counts[:MOST_NAMED] + ([f"and likewise in {more:,} more"] if more > 0 else [])


def _apart(known: KnownItems, found: Mapping[str, set[int]], everywhere: set[int]) -> list[str]:
    """What each file has alone; of many files what those lack that lack most."""
    if len(found) <= MOST_NAMED:
        alone = {name: sorted(keys - everywhere) for name, keys in found.items()}
        return [f"{len(keys):,} only in {name}{_examples(known, keys)}" for name, keys in alone.items() if keys]
    anywhere = set.union(*found.values())
    lack = {name: sorted(anywhere - keys) for name, keys in found.items() if anywhere - keys}
    most = sorted(lack, key=lambda name: -len(lack[name]))
    return _first([f"{len(lack[name]):,} not in {name}{_examples(known, lack[name])}" for name in most])


def _examples(known: KnownItems, keys: Sequence[int]) -> str:
    shown = [known.entries[key].name for key in keys[:EXAMPLES_SHOWN]]
    return f" ({', '.join(shown)}{', …' if len(keys) > len(shown) else ''})" if shown else ""


def name_apart(files: Sequence[tuple[str, Place]]) -> tuple[str, ...]:
    """A distinct name for each file's system: its name, else the file's name, else its path.

    Raises:
        DataError: two of the paths are the same.
    """
    paths = tuple(str(path) for _, path in files)
    if len(set(paths)) < len(paths):
        raise DataError(files[0][1], "this file is given twice; a system cannot be compared with itself")
    names = tuple(system for system, _ in files), tuple(stem(path) for _, path in files), paths
    return next(each for each in names if len(set(each)) == len(each))
