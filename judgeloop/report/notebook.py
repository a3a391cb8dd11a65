"""Renders a result for a notebook: the decision, and a table of the details.

Reads the `Page` of a result; all text is escaped. Has no scripts, no style sheet that could reach
other cells, and no external files. Computes no figure.
"""

from __future__ import annotations

from html import escape

from judgeloop.report.page import Page

NAME = "text-align: left; vertical-align: top; white-space: nowrap; font-weight: 600"
# The rows of standings are aligned by spaces.
TEXT = "text-align: left; vertical-align: top; white-space: pre-wrap; font-family: monospace"


def render_notebook(page: Page) -> str:
    """Return the headline and the details as a fragment of HTML."""
    rows = "".join(
        f'<tr><th style="{NAME}">{escape(name)}</th><td style="{TEXT}">{escape(text)}</td></tr>'
        for name, text in page.details
    )
    return f"<div><p><strong>{escape(page.headline)}</strong></p><table>{rows}</table></div>"
