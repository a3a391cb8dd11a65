"""The words of a result, whatever form they take: a headline, and what it rests on.

A question's own `text.py` makes them; terminal, HTML and Markdown show them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """The decision in one line, and what it rests on as pairs of a name and a sentence."""

    headline: str
    details: tuple[tuple[str, str], ...]


def render(page: Page, files: str | None = None) -> str:
    """The whole result for a terminal or a log, and where its `files` are."""
    rows = page.details if files is None else (*page.details, ("files", files))
    return lines(page.headline, rows)


def lines(headline: str, details: tuple[tuple[str, str], ...]) -> str:
    """A headline, and under it the details, their names in a column."""
    width = max(len(name) for name, _ in details)
    return "\n".join([headline, *(f"  {name:<{width}}  {text}" for name, text in details)])
