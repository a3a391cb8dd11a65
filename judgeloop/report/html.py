"""Renders a result as a single HTML page, without scripts or external files.

Reads the result and its `Page`; all text is escaped. Computes no figure and writes no file.
"""

from __future__ import annotations

from html import escape

from judgeloop.report.escaping import visible
from judgeloop.report.page import Page as Words
from judgeloop.report.page import Section
from judgeloop.report.reported import Reported
from judgeloop.report.run_result import LabelRow

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>judgeloop: {title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1a1a1a; }}
h1 {{ font-size: 1.35rem; }}
h2 {{ font-size: 1.1rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid #ddd; }}
th {{ font-weight: 600; white-space: nowrap; }}
.aside {{ color: #777; }}
</style>
</head>
<body>
<h1>{headline}</h1>
{summary}
{sections}
<h2>Judged items, in the order asked</h2>
<table>
<tr><th>item</th><th>judged</th><th>verdict</th><th>reason</th></tr>
{labels}
</table>
<p class="aside">judgeloop {version}, run {run}. Greyed items were judged and left the decision.</p>
</body>
</html>
"""


def render_html(result: Reported, words: Words) -> str:
    """Return the page: headline, summary, sections, and a table of all judged items."""
    return PAGE.format(
        title=escape(words.headline),
        headline=escape(words.headline),
        summary="\n".join(f"<p>{escape(line)}</p>" for line in words.summary),
        sections="\n".join(map(_section, words.sections)),
        labels="\n".join(map(_label, result.labels)),
        version=escape(result.setup.version),
        run=escape(result.setup.run),
    )


def _section(section: Section) -> str:
    """Return a table; paragraphs for rows without names."""
    heading = f"<h2>{escape(section.heading)}</h2>\n" if section.heading else ""
    if not any(name for name, _ in section.rows):
        return heading + "\n".join(f"<p>{escape(text)}</p>" for _, text in section.rows)
    rows = "\n".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in section.rows
    )
    return f"{heading}<table>\n{rows}\n</table>"


def _label(label: LabelRow) -> str:
    judged = f"{label.system} : {label.against}" if label.against else label.system
    cells = "".join(
        f"<td>{escape(visible(text))}</td>"
        for text in (label.item_id, judged, _verdict(label), label.reason)
    )
    return f"<tr{'' if label.in_decision else ' class=aside'}>{cells}</tr>"


def _verdict(label: LabelRow) -> str:
    if label.score is None:
        return "no verdict"
    if label.against is None:
        return f"{label.score:.3f}"
    return label.winner or ("tie, flipped" if label.flipped else "tie")
