"""A result as Markdown, for a pull request's comment or a job's summary.

Nothing is worked out here; strangers' text is escaped twice, for the reader's eye and for Markdown.
"""

from __future__ import annotations

import re

from judgeloop.report.page import Page

_LINKING = re.compile(
    r"(@|https?:|www)", re.IGNORECASE
)  # an empty comment behind it keeps it from linking
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!&~])")


def render_markdown(page: Page) -> str:
    """The decision as a heading, and what it rests on as a table."""
    rows = "\n".join(f"| {name} | {escape(text)} |" for name, text in page.details)
    return f"### {escape(page.headline)}\n\n| | |\n|---|---|\n{rows}\n"


def escape(text: str) -> str:
    """`text` with everything escaped that Markdown or HTML would read as markup, a mention or a link."""
    return _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", text))
