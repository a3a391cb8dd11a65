"""Renders a result for a notebook: the decision, its summary, and tables of the details.

Reads the `Page` of a result; all text is escaped. Has no scripts, no style sheet that could reach
other cells, and no external files. Computes no figure.
"""

from __future__ import annotations

from html import escape

from judgeloop.report.page import Page, Section

NAME = "text-align: left; vertical-align: top; white-space: nowrap; font-weight: 600"
# The figures of standings are aligned by spaces.
TEXT = "text-align: left; vertical-align: top; white-space: pre-wrap; font-family: monospace"


def render_notebook(page: Page) -> str:
    """Return the headline, the summary and the sections as a fragment of HTML."""
    summary = "".join(f"<p>{escape(line)}</p>" for line in page.summary)
    sections = "".join(map(_section, page.sections))
    return f"<div><p><strong>{escape(page.headline)}</strong></p>{summary}{sections}</div>"


def _section(section: Section) -> str:
    """Return a table; paragraphs for rows without names."""
    heading = f"<p><strong>{escape(section.heading)}</strong></p>" if section.heading else ""
    if not any(name for name, _ in section.rows):
        return heading + "".join(f"<p>{escape(text)}</p>" for _, text in section.rows)
    rows = "".join(
        f'<tr><th style="{NAME}">{escape(name)}</th><td style="{TEXT}">{escape(text)}</td></tr>'
        for name, text in section.rows
    )
    return f"{heading}<table>{rows}</table>"
