"""Renders a result as Markdown, for a comment on a pull request or a CI summary.

Reads the `Page` of a result, whose texts have no unseen characters, and escapes them for Markdown.
Computes no figure and writes no file.
"""

from __future__ import annotations

import re

from judgeloop.report.page import Page

# Text that begins a link or a mention. An empty comment behind it prevents the link.
_LINKING = re.compile(r"(@|https?:|www)", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!&~])")


def render_markdown(page: Page) -> str:
    """Return the headline as a heading and the details as a table."""
    rows = "\n".join(f"| {name} | {escape(text)} |" for name, text in page.details)
    return f"### {escape(page.headline)}\n\n| | |\n|---|---|\n{rows}\n"


def escape(text: str) -> str:
    """Return `text` with Markdown and HTML markup, mentions and links escaped."""
    return _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", text))
