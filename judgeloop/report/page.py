"""The text of a result, a headline with details, and its form for the terminal.

A question's own `text.py` makes the `Page`. `html.py` and `markdown.py` render it in other forms.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """The decision as a headline, and the details as pairs of a name and a sentence."""

    headline: str
    details: tuple[tuple[str, str], ...]


def render(page: Page, files: str | None = None) -> str:
    """Return the text for a terminal or a log; `files` is the folder of the result's files."""
    rows = page.details if files is None else (*page.details, ("files", files))
    return lines(page.headline, rows)


def lines(headline: str, details: tuple[tuple[str, str], ...]) -> str:
    """Return the headline with the details below it, their names in a column."""
    width = max(len(name) for name, _ in details)
    return "\n".join([headline, *(f"  {name:<{width}}  {text}" for name, text in details)])
