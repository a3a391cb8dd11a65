"""Renders a result as a page of its own for a browser, or as a fragment for a notebook.

Reads a result: its `Page`, its judged items and their texts; all text is escaped. The page is one file
that loads nothing. It is whole without its script, which filters and searches what is there. The template,
the style sheets and the script are in `web/`. Computes no figure and writes no file.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from itertools import filterfalse
from string import Template
from typing import Protocol
from urllib.parse import quote

from judgeloop.core.choices import Shown
from judgeloop.core.records import IDENTICAL
from judgeloop.report.escaping import visible, visible_lines
from judgeloop.report.groups import LONGEST_NAME
from judgeloop.report.labels import LabelRow, Texts
from judgeloop.report.page import WARNING, Page, Section, Table
from judgeloop.report.pictures import Bar, Picture
from judgeloop.report.records import Setup
from judgeloop.report.svg import draw, styles
from judgeloop.report.words import count, shortened

LONGEST_PEEK = 160  # characters of a prompt beside a judged item
MOST_TEXT = 20_000_000  # characters of prompts and outputs on a page, so that a browser still opens it
LONG = 28  # characters of a name that may be broken
_SIGNS = re.compile(r"[-/]")
_CODE = re.compile(r"(?<!\w)`([a-z][^`]*)`(?!\w)")  # a setting or a command in a sentence
NARROW = 5  # columns beside other cards
NOTHING: Mapping[str, str] = {}
ASIDE = "not counted"  # what is said of an item that is not in the decision
SCORED = "rated"  # the kind of an item with a score of one output


class Shows(Protocol):
    """What a page reads of a result."""

    @property
    def job(self) -> str: ...  # noqa: D102 - as `RunResult` says
    @property
    def page(self) -> Page: ...  # noqa: D102
    @property
    def setup(self) -> Setup: ...  # noqa: D102
    @property
    def labels(self) -> tuple[LabelRow, ...]: ...  # noqa: D102
    @property
    def texts(self) -> Texts | None: ...  # noqa: D102
    def favoured(self, label: LabelRow) -> str: ...  # noqa: D102
    def shows(self, label: LabelRow) -> bool: ...  # noqa: D102


def render_html(result: Shows, written: str = "") -> str:
    """Return the page: the decision, the evidence, the judged items, and how to do it again.

    `written` is the date that the page names, by default that of the result. Of items whose texts the
    result holds, and a report may show, each opens to its prompt and the outputs, up to `MOST_TEXT`
    characters of all.
    """
    page, board = result.page, result.page.board
    style, script = styles() + _web("page.css"), _web("page.js")
    items = list(_items(result))
    again = board.again or Section("How to do it again", ())
    tables = [one for one in page.notes if isinstance(one, Table)]
    standing, *rest = page.summary or ("",)
    figures = [Section("In figures", (("", standing),))] if board.plain else []
    return Template(_web("page.html")).substitute(
        style_hash=_hash(style),
        script_hash=_hash(script),
        style=style,
        script=script,
        asks=escape(" · ".join(filter(None, (board.asks, written or board.written)))),
        title=escape(page.headline),
        headline=_words(page.headline),
        plain=_words(board.plain or standing),
        advice="\n".join(map(_paragraph, filterfalse(_warns, rest))),
        warnings="\n".join(map(_paragraph, filter(_warns, rest))),
        pictures="\n".join(_pictures(board.pictures)),
        required="".join(map(_card, filter(None, [page.required]))),
        cards="\n".join(map(_card, (*page.tables, *board.cards, *tables))),
        notes="\n".join(_body(one) for one in (*figures, *page.notes) if one not in tables),
        figures=_body(Section("", page.details)),
        filters="\n".join(_filters(result)),
        about_items=escape(_about_items(result, items)),
        job=result.job,
        items="\n".join(items),
        again_heading=escape(again.heading),
        again=_again(again),
    )


@cache
def _web(name: str) -> str:
    return (files("judgeloop.report") / "web" / name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return what a policy names a script or a style sheet by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _paragraph(line: str) -> str:
    kind = ' class="warning"' if _warns(line) else ""
    return f"<p{kind}>{_words(line)}</p>"


def _warns(line: str) -> bool:
    return line.startswith(WARNING)


def _words(line: str) -> str:
    """Return a line in which no short name with a hyphen or a slash is broken."""
    return _coded(line, _unbroken)


def _coded(line: str, plain: Callable[[str], str] = escape) -> str:
    """Return a line with what is between backticks as code, and the rest as `plain` says."""
    parts = enumerate(_CODE.split(line))
    return "".join(f"<code>{escape(text)}</code>" if at % 2 else plain(text) for at, text in parts)


def _unbroken(line: str) -> str:
    return " ".join(
        f"<span>{escape(word)}</span>" if _SIGNS.search(word) and len(word) < LONG else escape(word)
        for word in line.split(" ")
    )


def _pictures(cards: Iterable[Iterable[Picture]]) -> Iterable[str]:
    """Yield a card for pictures that stand together."""
    for card in filter(None, ("".join(map(_figure, pictures)) for pictures in cards)):
        yield f'<section class="card">{card}</section>'


def _figure(picture: Picture) -> str:
    legend = ""
    if isinstance(picture, Bar):
        named = "".join(f"<li>{escape(part)}</li>" for part in picture.legend)
        legend = f'<ul class="legend">{named}</ul>'
    note = f'<figcaption class="note">{escape(picture.note)}</figcaption>' if picture.note else ""
    return f"<h2>{escape(picture.title)}</h2><figure>{draw(picture)}{legend}{note}</figure>"


def _card(card: Section | Table) -> str:
    if isinstance(card, Section):
        return f'<section class="card">{_body(card)}</section>'
    wide = " wide" if len(card.columns) > NARROW else ""
    named = f'tabindex="0" aria-label="{escape(card.heading)}"'
    return f'<section class="card{wide}" {named}>{_body(card)}</section>'


def _body(card: Section | Table, level: str = "h2") -> str:
    """Return columns as a table, named rows as a list, and rows without names as paragraphs."""
    heading = f"<{level}>{escape(card.heading)}</{level}>\n" if card.heading else ""
    if isinstance(card, Table):
        return heading + _table(card)
    if not any(name for name, _ in card.rows):
        return heading + "\n".join(f"<p>{_words(text)}</p>" for _, text in card.rows)
    rows = [f"<dt>{escape(name)}</dt><dd>{_coded(text)}</dd>" for name, text in card.rows]
    return "\n".join([f"{heading}<dl>", *rows, "</dl>"])


def _table(table: Table, links: Mapping[str, str] = NOTHING, tones: Mapping[str, str] = NOTHING) -> str:
    """Return a table; a name may lead to a link, and a cell of one of the `tones` is a chip."""
    kinds = ["" if figure else ' class="word"' for figure in table.figures]
    named = list(zip(kinds, table.columns, strict=True))
    linked = {name: f'<a href="{escape(quote(link))}">{escape(name)}</a>' for name, link in links.items()}
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for kind, name in named)
    body = "\n".join(
        f'<tr><th scope="row">{linked.get(name) or escape(name)}</th>'
        + "".join(
            f'<td{kind} data-name="{escape(column)}">{_toned(cell, tones)}</td>'
            for cell, (kind, column) in zip(cells, named[1:], strict=True)
        )
        + "</tr>"
        for name, *cells in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>{note}"


def _toned(cell: str, tones: Mapping[str, str]) -> str:
    return f'<span class="chip {tones[cell]}">{escape(cell)}</span>' if cell in tones else escape(cell)


def _again(section: Section) -> str:
    """Return the command as it can be copied, and the rest as a list."""
    command = "".join(f"<pre>{escape(text)}</pre>" for name, text in section.rows if name == "command")
    rest = tuple((name, text) for name, text in section.rows if name != "command")
    return command + _body(Section("", rest))


def _filters(result: Shows) -> Iterable[str]:
    """Yield a button for each kind of verdict that there is."""
    kinds = Counter(_kind(label, result) for label in result.labels)
    names = {"won": "won", "tie": "tie", "lost": "lost", "none": "no verdict", "aside": ASIDE}
    if result.job == "select":
        names |= {"won": "beat the baseline", "lost": "lost to the baseline"}
    if result.job == "compare" and result.labels:
        own = result.favoured(result.labels[0])
        names |= {"won": own, "lost": next(name for name in result.setup.systems if name != own)}
    yield f'<button type="button" value="all" aria-pressed="true">All {len(result.labels):,}</button>'
    found = [(kind, name, kinds[kind]) for kind, name in names.items()]
    found.append(("flipped", "changed with the order", sum(label.flipped for label in result.labels)))
    for kind, name, number in found:
        if number:
            said = f"{escape(visible(name))} {number:,}"
            yield f'<button type="button" value="{kind}" aria-pressed="false">{said}</button>'


def _kind(label: LabelRow, result: Shows) -> str:
    if result.job == "select" and not label.in_decision:
        return "aside"  # it may be about another baseline
    if label.score is None:
        return "none"
    if label.against is None:
        return SCORED
    if label.winner is None:
        return "tie"
    return "won" if label.winner == result.favoured(label) else "lost"


def _verdict(label: LabelRow, result: Shows) -> str:
    """Return what is said of an item; where there are many pairs, of which pair."""
    if label.against is None:
        return "no verdict" if label.score is None else f"{label.score:.3f}"
    pair = result.job == "select"
    if label.score is None:
        return f"{label.system} against {label.against}: no verdict" if pair else "no verdict"
    changed = ", order changed it" if label.flipped else ""
    if label.winner is None:
        return f"{label.system} tied with {label.against}{changed}" if pair else f"tie{changed}"
    loser = label.against if label.winner == label.system else label.system
    return f"{label.winner}{f' beat {loser}' if pair else ''}{changed}"


def _about_items(result: Shows, items: list[str]) -> str:
    """Return what is to be known of the list of items."""
    texts, said = result.texts, [f"{count(len(items), 'judged item')}, in the order asked."]
    opened = sum(item.startswith("<details") for item in items)
    if opened:
        said.append("An item opens to show its prompt and outputs.")
    if opened < len(items) and texts is not None:
        why = "the others were left out" if texts.shown is not Shown.ALL else "the page would be too large"
        said.append(f"{opened:,} have their texts; {why}.")
    if not all(label.in_decision for label in result.labels):
        said.append(f"Items marked “{ASIDE}” were judged, but do not count in the decision.")
    return " ".join(said)


def _items(result: Shows) -> Iterable[str]:
    """Yield the judged items, which open to their texts while there is room."""
    left = MOST_TEXT
    for label in result.labels:
        inside, peek = "", ""
        hidden = result.texts is not None and not result.shows(label)
        if result.texts is not None and not hidden and left > 0:
            inside, peek = _texts(label, result)
            left -= len(inside)
        yield _item(label, result, inside, peek or ("" if hidden else visible(" ".join(label.reason.split()))))


def _item(label: LabelRow, result: Shows, inside: str, peek: str) -> str:
    """Return an item with what its filters read; all that is not a kind of its own is escaped."""
    kind = _kind(label, result)
    data = f' data-kind="{kind}" data-id="{_attribute(label.item_id)}"'
    data += f' data-score="{label.score}"' if label.score is not None else ""
    group = "" if label.group is None else shortened(label.group, LONGEST_NAME)
    data += f' data-group="{escape(group)}"'
    data += f' data-system="{_attribute(label.system)}"' if result.job == "select" else ""
    data += " data-flipped" if label.flipped else ""
    aside = "" if label.in_decision else " aside"
    mark = f" <small>{ASIDE}</small>" if aside else ""
    cells = (
        f"<span>{escape(visible(label.item_id))}{mark}</span>"
        f'<span class="chip {kind}">{escape(visible(_verdict(label, result)))}</span>'
        f'<span class="peek" dir="auto">{escape(f"{group}: {peek}" if group else peek)}</span>'
    )
    if not inside:
        return f'<div class="item bare{aside}"{data}>{cells}</div>'
    return f'<details class="item{aside}"{data}><summary>{cells}</summary>\n{inside}</details>'


def _texts(label: LabelRow, result: Shows) -> tuple[str, str]:
    """Return prompt, outputs and reason of an item, and the beginning of the prompt."""
    assert result.texts is not None, "the caller looks first"
    (_, prompt), *reference = result.texts.of_item(label)
    parts = [f'<p class="text prompt" dir="auto" tabindex="0">{_shown(prompt)}</p>']
    parts += [f'<h3>{name}</h3><p class="text" dir="auto">{_shown(text)}</p>' for name, text in reference]
    outputs = "".join(
        f"<section><h3>{_letter(system, label, result)}{escape(visible(system))}</h3>"
        f'<p class="text output" dir="auto">{_shown(text)}</p></section>'
        for system, text in result.texts.of_systems(label)
    )
    return (
        f'<div class="open">{"".join(parts)}<div class="two">{outputs}</div>{_reasons(label, result)}</div>',
        visible(" ".join(prompt[: 2 * LONGEST_PEEK].split())[:LONGEST_PEEK]),
    )


def _reasons(label: LabelRow, result: Shows) -> str:
    """Return what the judge wrote, in both orders if they disagreed, and who was A and B for it."""
    swapped = label.shown_first == label.against
    pair = (label.against, label.system) if swapped else (label.system, label.against)
    orders = ((label.reason, pair), (label.other_reason, pair[::-1]))
    return "".join(
        f'<h3>{_asked(names, label, result)}</h3><p class="text" dir="auto">{_shown(reason)}</p>'
        for reason, names in orders
        if reason
    )


def _asked(names: tuple[str | None, ...], label: LabelRow, result: Shows) -> str:
    if label.reason == IDENTICAL:
        return "No judge was asked"
    if not _has_letters(label, result):
        return "Judge"
    known = (_badge(letter) + escape(visible(name or "")) for letter, name in zip("AB", names))  # noqa: B905 - two
    return f"Judge <small>who saw {' '.join(known)}</small>"


def _has_letters(label: LabelRow, result: Shows) -> bool:
    """Whether the judge knew the systems by letters: where the order could change the verdict."""
    return None not in {result.setup.order, label.shown_first, label.against}


def _letter(system: str, label: LabelRow, result: Shows) -> str:
    """Return which letter the judge knew a system by, unless it knew it by both."""
    if label.flipped or not _has_letters(label, result):
        return ""
    return _badge("A" if system == label.shown_first else "B")


def _badge(letter: str) -> str:
    return f'<b class="letter">{letter}</b> '


def _shown(text: str) -> str:
    return escape(visible_lines(text), quote=False)


def _attribute(text: str) -> str:
    return escape(visible(text))


def render_index(page: Page, links: Mapping[str, str], tones: Mapping[str, str]) -> str:
    """Return a page of tables; a name in their first column leads to its link, if it has one.

    `tones` are the classes of cells with a colour, such as `won`.
    """
    style = _web("page.css")
    return Template(_web("index.html")).substitute(
        style_hash=_hash(style),
        style=style,
        title=escape(page.headline),
        summary="\n".join(map(_paragraph, page.summary)),
        cards="\n".join(
            f'<div class="card wide">{_body(one) if isinstance(one, Section) else _table(one, links, tones)}</div>'
            for one in page.sections
        ),
    )


def render_notebook(page: Page) -> str:
    """Return the headline, the summary and the sections as a fragment, with small headings and without any style."""
    summary = "".join(f"<p>{_coded(line)}</p>" for line in page.summary)
    sections = "".join(_body(section, "h5") for section in page.sections)
    return f"<div><h4>{_coded(page.headline)}</h4>{summary}{sections}</div>"
