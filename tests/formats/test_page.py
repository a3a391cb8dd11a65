"""The tables of docs/reference/file-formats.md are made from the catalogue; run this to write."""

from __future__ import annotations

import re
from pathlib import Path

from judgeloop.formats.catalogue import FORMATS
from judgeloop.formats.columns import FIELDS, GUESSES, KNOWN
from judgeloop.formats.tables import MOST_BYTES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md"


def formats():
    return [f"| {row.title} | {row.files} | {row.scores or '—'} |" for row in FORMATS]


def columns():
    rows = []
    for field in FIELDS:
        known, guessed = (", ".join(f"`{name}`" for name in names[field]) for names in (KNOWN, GUESSES))
        rows.append(f"| {field} | {known}; {guessed} |")
    return rows


def readings():
    rows = []
    for row in FORMATS:
        said = row.reading
        rows.append(
            f"| {row.title} | "
            + " | ".join(one or "—" for one in (said.tried, said.repeats, said.errors, said.ends))
            + " |"
        )
    return rows


TABLES = {"formats": formats, "readings": readings, "columns": columns}


def written(text):
    """The page with its tables made anew."""
    for name, rows in TABLES.items():
        table = "\n".join([*rows(), f"<!-- {name} -->"])
        text = re.sub(rf"(?<=\|---\|\n)(\|[^\n]*\n)*<!-- {name} -->", lambda _, table=table: table, text)
    return text


def test_the_tables_of_the_page_are_those_of_the_catalogue():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in TABLES)
    assert written(text) == text


def test_the_limit_of_decompressed_size_is_the_pages():
    assert f"at most {MOST_BYTES >> 20:,} MiB" in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
