"""Renders a result as Markdown, for a comment on a pull request or a CI summary.

Reads the `Page` of a result, whose texts have no unseen characters, and escapes them for Markdown.
Computes no figure and writes no file.
"""

import re

from judgeloop.report.page import Page, Section, Table

# Text that begins a link, a mention or a reference to an issue ("#1", "GH-1"). An empty comment
# behind it prevents the link, which GitHub makes of the text as it is shown.
_LINKING = re.compile(r"(@|\\#|https?:|www|\bGH-(?=\d))", re.IGNORECASE)
# What begins a list, or underlines a heading, at the start of a line: "-", "+", "=", "1.", "1)".
_LEADING = re.compile(r"^(\s*\d*)([-+=.)])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!&~])")


def render_markdown(page: Page) -> str:
    """Return the headline as a heading, the summary as paragraphs, and a table for each section."""
    parts = [f"### {escape(page.headline)}", *map(_paragraph, page.summary)]
    parts += map(_section, page.sections)
    return "\n\n".join(parts) + "\n"


def _section(section: Section | Table) -> str:
    """Return a table; paragraphs for rows without names."""
    heading = [f"#### {escape(section.heading)}\n"] if section.heading else []
    if isinstance(section, Table):
        ruler = "|".join(["", *("--:" if figure else "---" for figure in section.figures), ""])
        first, *rows = (f"| {' | '.join(map(escape, cells))} |" for cells in (section.columns, *section.rows))
        note = ["", _paragraph(section.note)] if section.note else []
        return "\n".join([*heading, first, ruler, *rows, *note])
    if not any(name for name, _ in section.rows):
        return "\n".join([*heading, "\n\n".join(_paragraph(text) for _, text in section.rows)])
    rows = [f"| {escape(name)} | {escape(text)} |" for name, text in section.rows]
    return "\n".join([*heading, "| | |", "|---|---|", *rows])


def _paragraph(text: str) -> str:
    """Return an escaped text that begins no list and no underlined heading."""
    return _LEADING.sub(r"\1\\\2", escape(text))


def escape(text: str) -> str:
    """Return `text` with Markdown and HTML markup, mentions and links escaped."""
    return _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", text))
