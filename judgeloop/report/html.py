"""Renders a result as a single HTML page, or as a fragment for a notebook, without scripts.

Reads the result's `Page`, its judged items and their texts; all text is escaped. Uses no external
file, and no style sheet that could reach other cells of a notebook. Computes no figure and writes
no file.
"""

from collections.abc import Iterable, Sequence
from html import escape

from judgeloop.report.escaping import visible, visible_lines
from judgeloop.report.labels import MOST, LabelRow, Texts
from judgeloop.report.page import Page, Section

WHOLE = """<!doctype html>
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
td {{ white-space: pre-wrap; font-variant-numeric: tabular-nums; }}
.aside {{ color: #777; }}
.row {{ display: grid; grid-template-columns: 4fr 5fr 3fr 8fr; gap: .9rem; padding: .3rem 0; border-bottom: 1px solid #ddd; overflow-wrap: anywhere; }}
.head {{ font-weight: 600; }}
summary {{ cursor: pointer; }}
summary span:first-child::before {{ content: "▸ "; }}
details[open] span:first-child::before {{ content: "▾ "; }}
.texts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 0 2rem; margin: 0 1rem; }}
.texts p {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0 1rem; }}
h3 {{ font-size: 1rem; margin: .5rem 0 0; }}
</style>
</head>
<body>
<h1>{headline}</h1>
{summary}
{sections}
<h2>Judged items, in the order asked</h2>
<div class="row head"><span>item</span><span>judged</span><span>verdict</span><span>reason</span></div>
{labels}
<p class="aside">{origin}.{about_items}</p>
</body>
</html>
"""
# The styles of a notebook's tables. The figures of standings are aligned by spaces.
NAME = "text-align: left; vertical-align: top; white-space: nowrap; font-weight: 600"
TEXT = "text-align: left; vertical-align: top; white-space: pre-wrap; font-family: monospace"
_GREY = " Items in grey were judged, but do not count in the decision."


def render_html(
    page: Page, labels: Sequence[LabelRow], *, origin: str, texts: Texts | None = None
) -> str:
    """Return the page: headline, summary, sections, and all judged items.

    `origin` says where it is from. With `texts`, each item opens to show its prompt and the
    outputs.
    """
    return WHOLE.format(
        title=escape(page.headline),
        headline=escape(page.headline),
        summary="\n".join(f"<p>{escape(line)}</p>" for line in page.summary),
        sections="\n".join(map(_section, page.sections)),
        labels="\n".join(
            _label(label, texts if number < MOST else None) for number, label in enumerate(labels)
        ),
        about_items=_about_items(labels, texts),
        origin=escape(origin),
    )


def _section(section: Section, *, inline: bool = False) -> str:
    """Return a table; paragraphs for rows without names. `inline`: styles stand in the tags."""
    before, after = ("<p><strong>", "</strong></p>") if inline else ("<h2>", "</h2>")
    heading = f"{before}{escape(section.heading)}{after}\n" if section.heading else ""
    if not any(name for name, _ in section.rows):
        return heading + "\n".join(f"<p>{escape(text)}</p>" for _, text in section.rows)
    th, td = (f' style="{NAME}"', f' style="{TEXT}"') if inline else ("", "")
    rows = "\n".join(
        f"<tr><th{th}>{escape(name)}</th><td{td}>{escape(text)}</td></tr>"
        for name, text in section.rows
    )
    return f"{heading}<table>\n{rows}\n</table>"


def _about_items(labels: Sequence[LabelRow], texts: Texts | None) -> str:
    """Return what is to be known of the list of items."""
    grey = "" if all(label.in_decision for label in labels) else _GREY
    if texts is None:
        return grey
    only = f" The first {MOST:,} have their texts." if len(labels) > MOST else ""
    return f"{grey} An item opens to show its prompt and outputs.{only}"


def _label(label: LabelRow, texts: Texts | None) -> str:
    """Return the row of a judged item, which opens to show its texts, if there are any."""
    judged = f"{label.system} : {label.against}" if label.against else label.system
    cells = "".join(
        f"<span>{escape(visible(text))}</span>"
        for text in (label.item_id, judged, _verdict(label), label.reason)
    )
    aside = "" if label.in_decision else " aside"
    if texts is None:
        return f'<div class="row{aside}">{cells}</div>'
    item, outputs = _texts(texts.of_item(label)), _texts(texts.of_systems(label))
    return f'<details><summary class="row{aside}">{cells}</summary>{item}{outputs}</details>'


def _texts(named: Iterable[tuple[str, str]]) -> str:
    """Return texts beside each other, each under its name."""
    parts = "".join(
        f"<div><h3>{escape(visible(name))}</h3><p>{escape(visible_lines(text))}</p></div>"
        for name, text in named
    )
    return f'<div class="texts">{parts}</div>'


def _verdict(label: LabelRow) -> str:
    if label.score is None:
        return "no verdict"
    if label.against is None:
        return f"{label.score:.3f}"
    return label.winner or ("tie, flipped" if label.flipped else "tie")


def render_notebook(page: Page) -> str:
    """Return the headline, the summary and the sections as a fragment of HTML."""
    summary = "".join(f"<p>{escape(line)}</p>" for line in page.summary)
    sections = "".join(_section(section, inline=True) for section in page.sections)
    return f"<div><p><strong>{escape(page.headline)}</strong></p>{summary}{sections}</div>"
