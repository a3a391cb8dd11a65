"""The map of columns that a user types: reads and checks it, follows its paths, and proposes one.

`columns.py` says which column is what, with the map where there is one. A proposal is for the message
of an error: nothing is ever read by it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import fmean
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.formats.columns import FIELDS, ID, JOINER, OUTPUT, PROMPT, UNTYPABLE, Map, found_text
from judgeloop.formats.row import Row

_EXPECTED = f"expected FIELD=COLUMN, such as prompt=question,output=answer, where FIELD is one of {', '.join(FIELDS)}"
Table = Sequence[Mapping[str, Any]]  # the fields of each row
DEEPEST = 7  # objects and lists within each other
NO_QUESTION = re.compile(r"[\w.:/-]*", re.ASCII)  # an id, a number, a time, the name of a model
_ABSENT = object()


def parse_map(text: str | None) -> Map:
    """Parse `prompt=question,output=answer` to fields, each with the columns whose texts it joins.

    A field may be named again for files in which its column has another name.

    Raises:
        ValueError: this is no such list, or names an unknown field.

    >>> parse_map("prompt=instruction+input,output=answer,output=reply")
    (('prompt', ('instruction', 'input')), ('output', ('answer',)), ('output', ('reply',)))
    """
    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    found = {
        (field.strip(), tuple(column.strip() for column in columns.split(JOINER))): None for field, _, columns in pairs
    }
    if not all(field in FIELDS and all(columns) for field, columns in found):
        raise ValueError(_EXPECTED)
    return tuple(found)


def map_text(value: object) -> str | None:
    """Check a map, or several that add up, and return it as text; a mapping is written out.

    Raises:
        ValueError: it is no map.
    """
    several = value if isinstance(value, list | tuple) else [value or ""]
    texts = [
        ",".join(f"{field}={columns}" for field, columns in one.items()) if isinstance(one, Mapping) else str(one)
        for one in several
    ]
    found = parse_map(",".join(texts))
    return ",".join(f"{field}={JOINER.join(columns)}" for field, columns in found) or None


def check_map(mapped: Map, found: Iterable[Iterable[str]]) -> None:
    """Refuse a map that names a column which no file has.

    Raises:
        InputError: there is such a column.
    """
    names = {name: None for columns in found for name in columns}
    for field, columns in mapped:
        missing = next((column for column in columns if column not in names), None)
        if missing is not None:
            raise InputError(
                f"`map={field}={JOINER.join(columns)}`: no file has the column {missing!r}; found {found_text(names)}"
            )


def along_paths(rows: Iterable[Row], mapped: Map) -> Iterator[Row]:
    """Yield rows, each with a field for every dotted path of a map that leads to a value in it.

    `output.text` is the field `text` of the object `output`, or of the JSON text there;
    `choices.0` is the first entry of a list. A column that has the whole name is taken as it is.
    """
    paths = [name for _, columns in mapped for name in columns if "." in name]
    for row in rows:
        new = {path: _along(row.fields, path) for path in paths if path not in row.fields}
        found = {path: value for path, value in new.items() if value is not _ABSENT}
        yield replace(row, fields={**row.fields, **found}) if found else row


def _along(fields: Mapping[str, Any], path: str) -> Any:
    """Return the value to which a dotted path leads; `_ABSENT` where a part of it is missing."""
    value: Any = fields
    for part in path.split("."):
        value = opened(value)
        if isinstance(value, list):
            value = {str(number): entry for number, entry in enumerate(value)}
        value = value.get(part, _ABSENT) if isinstance(value, Mapping) else _ABSENT
    return value


def opened(value: object) -> object:
    """Return the object or list that a JSON text holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def suggested_map(tables: Sequence[Table]) -> dict[str, str]:
    """Return the columns that probably hold id, prompt and output; empty if they cannot be told.

    The output is the longest text that differs between the tables. The prompt is the longest that all
    share and that differs between the rows. The id is the shortest of what else does both.

    >>> july = [{"Nr": 1, "Frage": "2 + 2?", "Antwort": "It is 4."}]
    >>> suggested_map([[{"Nr": 1, "Frage": "2 + 2?", "Antwort": "4"}], july])
    {'id': 'Nr', 'prompt': 'Frage', 'output': 'Antwort'}
    """
    columns = [_texts(table) for table in tables]
    names = [
        name
        for name in (columns[0] if columns else {})
        if all(name in one for one in columns) and not UNTYPABLE & set(name)
    ]
    shared = [name for name in names if len({frozenset(one[name]) for one in columns}) == 1]
    lengths = {name: fmean(len(text) for one in columns for text in one[name]) for name in names}
    first = columns[0] if columns else {}
    # A column of exactly the name is what it says.
    prompts = [name for name in shared if name == PROMPT or (name != ID and _asks(first[name]))]
    prompt = max(prompts, key=lambda name: (name == PROMPT, lengths[name]), default=None)
    ids = [name for name in shared if name != prompt and len(set(first[name])) == len(tables[0])]
    found = {
        ID: min(ids, key=lambda name: (name != ID, name.count("."), lengths[name]), default=None),
        PROMPT: prompt,
        OUTPUT: max(set(names) - set(shared), key=lengths.__getitem__, default=None),
    }
    told = found[OUTPUT] and (found[ID] or found[PROMPT])
    return {field: name for field, name in found.items() if name} if told else {}


def _asks(texts: Sequence[str]) -> bool:
    """Return whether texts may be prompts: most differ, and some say more than a name does."""
    return 2 * len(set(texts)) > len(texts) and not all(map(NO_QUESTION.fullmatch, texts))


def _texts(table: Table) -> dict[str, list[str]]:
    """Return the columns that hold a text or a number in every row, those within objects too."""
    rows = [dict(_leaves(row, lists=len(table) > 1)) for row in table]
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ()) if all(name in row for row in rows)}


def _leaves(fields: Mapping[str, Any], above: str = "", *, lists: bool) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a row, by name or dotted path (`along_paths`).

    Of `lists` the first entry counts; in a single row they may be the rows themselves.
    """
    for name, given in fields.items():
        path, value = f"{above}{name}", opened(given)
        if isinstance(value, list):
            value = {"0": value[0]} if value and lists else {}
        if isinstance(value, Mapping) and path.count(".") < DEEPEST:
            yield from _leaves(value, f"{path}.", lists=lists)
        elif isinstance(value, str | int | float):
            yield path, str(value)
