"""Guesses which columns of several tables are id, prompt and output, for the message of an error.

It compares the tables: a question is the same in all, and outputs are what differs. Nothing is ever
read by these guesses; the user types them.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from judgeloop.formats.columns import ID, JOINER, OUTPUT, PROMPT, opened

Table = Sequence[Mapping[str, Any]]  # the fields of each row
DEEPEST = 4  # objects within objects
UNTYPABLE = {",", JOINER}  # characters that part columns in a map


def suggested_map(tables: Sequence[Table]) -> str:
    """Return a map such as `id=Nr,prompt=Frage,output=Antwort`; empty if none can be told.

    The output is the longest text that differs between the tables, the prompt the longest that all
    share, and the id the shortest of what else they share and what no two rows have in common.

    >>> july = [{"Nr": 1, "Frage": "2 + 2?", "Antwort": "It is 4."}]
    >>> suggested_map([[{"Nr": 1, "Frage": "2 + 2?", "Antwort": "4"}], july])
    'id=Nr,prompt=Frage,output=Antwort'
    """
    columns = [_texts(table) for table in tables]
    names = [
        name
        for name in (columns[0] if columns else {})
        if all(name in one for one in columns) and not UNTYPABLE & set(name)
    ]
    shared = [name for name in names if len({frozenset(one[name]) for one in columns}) == 1]
    lengths = {name: fmean(len(text) for one in columns for text in one[name]) for name in names}
    outputs = sorted(set(names) - set(shared), key=lambda name: -lengths[name])
    prompts = sorted(shared, key=lambda name: -lengths[name])
    ids = [name for name in prompts[1:] if len(set(columns[0][name])) == len(tables[0])]
    if not (outputs and prompts):
        return ""
    found = {ID: ids[-1:], PROMPT: prompts[:1], OUTPUT: outputs[:1]}
    pairs = [(field, name) for field, chosen in found.items() for name in chosen if name != field]
    return ",".join(f"{field}={name}" for field, name in pairs)


def _texts(table: Table) -> dict[str, list[str]]:
    """Return the columns that hold a text or a number in every row, those within objects too."""
    rows = [dict(_leaves(row)) for row in table]
    return {
        name: [row[name] for row in rows]
        for name in (rows[0] if rows else ())
        if all(name in row for row in rows)
    }


def _leaves(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a row, by name or dotted path (`columns.along_paths`)."""
    for name, given in fields.items():
        path, value = f"{above}{name}", opened(given)
        if isinstance(value, Mapping) and path.count(".") < DEEPEST:
            yield from _leaves(value, f"{path}.")
        elif isinstance(value, str | int | float):
            yield path, str(value)
