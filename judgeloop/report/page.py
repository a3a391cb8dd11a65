"""The text of a result, and its form for the terminal.

A question's own `text.py` makes the `Page`. `html.py`, `markdown.py`, `latex.py` and `junit.py`
render it in other forms.
"""

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from judgeloop.report.pictures import Picture
from judgeloop.report.words import WIDTH, shortened

INDENT = 2
TOGETHER = "\N{NO-BREAK SPACE}"
NARROW = 3  # a column of names takes at most this part of the width

_FIGURE = re.compile(r"((under|over) )?[-+$]?\d")  # how a cell begins that is a figure

Rows = tuple[tuple[str, str], ...]  # pairs of a name and a text


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and below it rows of a name and a text; a text without a name is a paragraph."""

    heading: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class Table:
    """Cells below the names of their columns; the first column holds names; a note below."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @property
    def figures(self) -> tuple[bool, ...]:
        """Which columns hold figures, to stand below each other's digits; the others hold words."""
        later = range(1, len(self.columns))
        return (False, *(any(_FIGURE.match(row[n]) for row in self.rows) for n in later))


@dataclass(frozen=True, slots=True)
class Board:
    """What a page in a browser, or a paper, shows beside the text, for readers who know no terminal.

    - `asks`: the question in words.
    - `plain`: what the decision is about, how likely it is wrong and what it took, without statistics.
    - `pictures`: the evidence, the most important first; those of a card stand together.
    - `cards`: the cost, the judge, the groups and the systems, in few figures each.
    - `again`: how to do it again.
    - `written`: when the result was decided.
    - `row`: the main figures in a row, as a paper has them; None where the page has such a table.
    """

    asks: str = ""
    plain: str = ""
    pictures: tuple[tuple[Picture, ...], ...] = ()
    cards: tuple[Section | Table, ...] = ()
    again: Section | None = None
    written: str = ""
    row: Table | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a result.

    - `headline`: the decision, in a sentence.
    - `details`: the evidence, as pairs of a name and a text.
    - `summary`: the sentences after the headline: what was judged, the cost, what comes next, and
      warnings.
    - `required`: what must hold, each row after whether it does; None if nothing must.
    - `tables`: what stands before the details.
    - `notes`: what stands after them: groups, and long sentences, each under its heading.
    - `board`: what only a page in a browser or a paper shows.
    """

    headline: str
    details: Rows
    summary: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Section | Table, ...] = ()
    board: Board = Board()
    required: Section | None = None

    @property
    def sections(self) -> tuple[Section | Table, ...]:
        """What must hold, tables, details and notes, in the order shown."""
        figures = Section("", self.details) if self.details else None
        return tuple(filter(None, (self.required, *self.tables, figures, *self.notes)))


NO_PAGE = Page("", ())
WARNING = "Warning:"  # how a line of the summary begins that warns
Paint = Callable[[str, bool], str]  # colours a text, which is a warning or a decision


def _plain(text: str, _: bool) -> str:  # noqa: FBT001 - as `Paint`
    return text


def render(page: Page, files: str | None = None, width: int = WIDTH, paint: Paint = _plain) -> str:
    """Return the text for a terminal or a log, wrapped at words to `width` columns.

    `files` are the folder of the result's files, and files of its own. `paint` colours the decision and the
    warnings.
    """
    if files is not None:
        page = replace(page, details=(*page.details, ("files", files)))
    parts = [render_short(page, width, paint), *(_section(one, width) for one in page.sections)]
    return "\n\n".join(parts)


def render_short(page: Page, width: int = WIDTH, paint: Paint = _plain) -> str:
    """Return the decision and the summary, wrapped at words."""
    decision, *rest = (wrapped(line, width) for line in (page.headline, *page.summary))
    said = (paint(line, True) if line.startswith(WARNING) else line for line in rest)
    return "\n".join([paint(decision, False), *said])


def lines(headline: str, details: Rows) -> str:
    """Return the headline with the details below it, names in a column, unwrapped."""
    width = max(len(name) for name, _ in details)
    return "\n".join([headline, *(f"  {name:<{width}}  {text}" for name, text in details)])


def _section(section: Section | Table, width: int) -> str:
    heading = [wrapped(section.heading, width)] if section.heading else []
    if isinstance(section, Table):
        indent = " " * INDENT
        note = [wrapped(section.note, width, indent, indent)] if section.note else []
        return "\n".join([*heading, *_columns(section, width), *note])
    return "\n".join([*heading, *_rows(section.rows, width)])


def _columns(table: Table, width: int) -> Iterable[str]:
    """Yield the lines of a table; a name is cut where the figures leave no room for it."""
    rows = (table.columns, *table.rows)
    longest, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
    room = width - INDENT - sum(INDENT + size for size in sizes)
    longest = min(longest, max(room, width // NARROW))
    forms = [f"{'>' if figure else '<'}{size}" for figure, size in zip(table.figures[1:], sizes, strict=True)]
    for name, *cells in rows:
        more = (f"{'':{INDENT}}{cell:{form}}" for cell, form in zip(cells, forms, strict=True))
        yield f"{'':{INDENT}}{shortened(name, longest):<{longest}}{''.join(more)}".rstrip()


def _rows(rows: Rows, width: int) -> Iterable[str]:
    longest = max((len(name) for name, _ in rows), default=0)
    column = min(longest, width // NARROW)
    indent = " " * INDENT
    for name, text in rows:
        before = f"{indent}{name:<{column}}{indent}" if longest else indent
        after = " " * (2 * INDENT + column) if longest else indent
        yield wrapped(text, width, before=before, after=after)


def wrapped(text: str, width: int, before: str = "", after: str = "") -> str:
    """Return `text` wrapped at words, with `before` on the first line and `after` on the others.

    A word that is longer than a line is not broken: it may be a path or a command. Nor is "5 %".
    """
    return textwrap.fill(
        re.sub(r"(?<=\d) (?=%)", TOGETHER, text),
        width,
        initial_indent=before,
        subsequent_indent=after,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(TOGETHER, " ")
