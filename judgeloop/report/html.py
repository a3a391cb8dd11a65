"""Renders a result as a page of its own for a browser, or as a fragment for a notebook.

Reads a result: its facts, its judged items and their texts; all text is escaped. The page is one file
that loads nothing. It is whole without its script, which filters and searches what is there. The template,
the style sheets and the script are in `web/`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Protocol
from urllib.parse import quote

from judgeloop.core.records import IDENTICAL, PAIR, TIE, Shown
from judgeloop.report.labels import LabelRow, Texts
from judgeloop.report.page import BADGES, SEALED, TITLES, Fact, Page, PageTable, Section
from judgeloop.report.pictures import Bar, Picture
from judgeloop.report.records import Setup
from judgeloop.report.svg import draw, styles
from judgeloop.report.terminal import WARNING
from judgeloop.report.words import count, shortened, visible, visible_lines

LONGEST_NAME = 40  # characters of a group
LONGEST_PEEK = 160  # characters of a prompt beside a judged item
MOST_TEXT = 20_000_000  # characters of prompts and outputs on a page, so that a browser still opens it
LONG = 28  # characters of a name that may be broken
_SIGNS = re.compile(r"[-/]")
_OF_SHARES = re.compile(r"(?<=\d) (?=%)")
_CODE = re.compile(r"(?<!\w)`([a-z][^`]*)`(?!\w)")  # a setting or a command in a sentence
NARROW = 5  # columns beside other cards
TEXTS = '<section class="card">'  # a card without a table, which stands beside others, below those as wide as the page
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
    def people_said(self, label: LabelRow) -> float | None: ...  # noqa: D102
    def shows(self, label: LabelRow) -> bool: ...  # noqa: D102


def render_html(result: Shows, written: str = "") -> str:
    """The page: the decision, the evidence, the judged items, and how to do it again.

    `written` is the date that the page names, by default that of the result. Of items whose texts the
    result holds, and a report may show, each opens to its prompt and the outputs, up to `MOST_TEXT`
    characters of all.
    """
    page, items = result.page, list(_items(result))
    style, script = styles() + _web("page.css"), _web("page.js")
    again = [one for one in page.facts if one.section is Section.AGAIN]
    cards = {part[0]: _card(*part) for part in page.parts() if part[0] is not Section.AGAIN}
    return Template(_web("page.html")).substitute(
        style_hash=_hash(style),
        script_hash=_hash(script),
        style=style,
        script=script,
        asks=escape(" · ".join(filter(None, (page.asks, written or page.written)))),
        title=escape(page.head),
        badge=_badge_of(page),
        headline=_words(page.parted[1]),
        first=_first(page),
        required=cards.pop(Section.GATE, ""),
        pictures="\n".join(_pictures(page.pictures)),
        cards="\n".join(sorted(cards.values(), key=lambda card: card.startswith(TEXTS))),
        filters="\n".join(_filters(result)),
        about_items=escape(_about_items(result, items)),
        job=result.job,
        items="\n".join(items),
        again_heading=escape(TITLES[Section.AGAIN]),
        again="".join(f"<pre>{_unbroken(one.text)}</pre>" for one in again if one.key == "command")
        + _list([one for one in again if one.key != "command"]),
    )


@cache
def _web(name: str) -> str:
    return (files("judgeloop.report") / "web" / name).read_text("utf-8")


def _hash(text: str) -> str:
    """What a policy names a script or a style sheet by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _badge_of(page: Page) -> str:
    """The sign and the word of the outcome, in its colour."""
    if page.outcome is None:
        return ""
    return f'<p class="badge {page.outcome}">{BADGES[page.outcome].sign} {escape(page.parted[0])}</p>'


def _first(page: Page) -> str:
    """What is shown above all else: named facts, other sentences, and warnings."""
    first = page.first
    return "\n".join(
        [
            *(f"<p>{_words(one.text)}</p>" for one in first if not one.label and one.section is not Section.WARNING),
            _list([one for one in first if one.label]),
            *(
                f'<p class="warning">{_words(f"{WARNING} {one.text}")}</p>'
                for one in first
                if one.section is Section.WARNING and not one.label
            ),
        ]
    )


def _list(facts: Sequence[Fact]) -> str:
    rows = (f"<dt>{escape(one.label)}</dt><dd>{_coded(one.text)}</dd>" for one in facts)
    return "\n".join(["<dl>", *rows, "</dl>"]) if facts else ""


def _words(line: str) -> str:
    """A line in which no share and no short name with a hyphen or a slash is broken."""
    return _coded(_OF_SHARES.sub("\N{NO-BREAK SPACE}", line), _unbroken)


def _coded(line: str, plain: Callable[[str], str] = escape) -> str:
    """A line with what is between backticks as code, and the rest as `plain` says."""
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


def _card(section: Section, facts: Sequence[Fact], tables: Sequence[PageTable]) -> str:
    """What is said of one thing: its tables, and the facts that are not shown first."""
    wide = any(len(table.columns) > NARROW for table in tables)
    named = f' tabindex="0" aria-label="{escape(TITLES[section])}"' if tables else ""
    shown = (f"{f'<h3>{escape(table.heading)}</h3>' if table.heading else ''}{_table(table)}" for table in tables)
    inside = "\n".join([f"<h2>{escape(TITLES[section])}</h2>", *shown, _list(facts)])
    opening = f'<section class="card full{" wide" * wide}"{named}>' if tables else TEXTS
    return f"{opening}{inside}</section>"


def _table(table: PageTable, links: Mapping[str, str] = NOTHING, tones: Mapping[str, str] = NOTHING) -> str:
    """A table; a name may lead to a link, and a cell of one of the `tones` is a chip."""
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
    """A cell, as a chip if it has a tone: its sign and its first word stay together."""
    if cell not in tones:
        return escape(cell)
    together = escape(cell.replace(" ", "\N{NO-BREAK SPACE}", 1))
    return f'<span class="chip {tones[cell]}">{together}</span>'


def _filters(result: Shows) -> Iterable[str]:
    """Yield a button for each kind of verdict that there is."""
    kinds = Counter(_kind(label, result) for label in result.labels)
    names = {"won": "won", "tie": "tie", "lost": "lost", "none": "no verdict", "aside": ASIDE}
    if result.job == "select":
        names |= {"won": "beat the baseline", "lost": "lost to the baseline"}
    if result.job != "select" and result.labels and len(result.setup.systems) == PAIR:
        own = result.favoured(result.labels[0])
        names |= {"won": own, "lost": next(name for name in result.setup.systems if name != own)}
    yield f'<button type="button" value="all" aria-pressed="true">All {len(result.labels):,}</button>'
    found = [(kind, name, kinds[kind]) for kind, name in names.items()]
    found.append(("differs", "people differ", sum(_differs(label, result) for label in result.labels)))
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


def _differs(label: LabelRow, result: Shows) -> bool:
    """Whether the verdict on a pair is another than that of people."""
    people = result.people_said(label)
    return label.against is not None and None not in {label.score, people} and label.score != people


def _said(label: LabelRow, result: Shows) -> str:
    """The verdict on an item, and beside it what people said where the judge is compared with them."""
    said, people = _verdict(label, result), result.people_said(label)
    if people is None:
        return said
    theirs = f"{people:.3f}"
    if label.against is not None:
        theirs = label.system if people > TIE else label.against if people < TIE else "tie"
    return f"judge: {said}; people: {theirs}"


def _verdict(label: LabelRow, result: Shows) -> str:
    """What is said of an item; where there are many pairs, of which pair."""
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
    """What is to be known of the list of items."""
    if not items:
        return result.page.text(SEALED) or "No item was judged."
    first = "" if any(label.against is None for label in result.labels) else ", wins and losses first"
    if any(_differs(label, result) for label in result.labels):
        first = ", those where people differ first"
    found, different = count(len(items), "judged item"), len({label.item_id for label in result.labels})
    if different < len(items):
        found = f"{count(len(items), 'judgment')} on {count(different, 'item')}"
    texts, said = result.texts, [f"{found}{first}, in the order asked."]
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
    """Yield the judged items, what decided first; they open to their texts while there is room."""
    left = MOST_TEXT
    beside = any(_differs(label, result) for label in result.labels)

    def later(label: LabelRow) -> tuple[bool, bool]:
        """Behind those of the decision stand the others; of pairs, those that tell least."""
        tied = label.against is not None and label.winner is None
        return not label.in_decision, not _differs(label, result) if beside else tied

    for label in sorted(result.labels, key=later):
        inside, peek = "", ""
        hidden = result.texts is not None and not result.shows(label)
        if result.texts is not None and not hidden and left > 0:
            inside, peek = _texts(label, result)
            left -= len(inside)
        yield _item(
            label, result, inside, peek or ("" if hidden else visible(" ".join(label.by_name(label.reason).split())))
        )


def _item(label: LabelRow, result: Shows, inside: str, peek: str) -> str:
    """An item with what its filters read; all that is not a kind of its own is escaped."""
    kind = _kind(label, result)
    data = f' data-kind="{kind}" data-id="{_attribute(label.item_id)}"'
    data += f' data-score="{label.score}"' if label.score is not None else ""
    group = "" if label.group is None else shortened(label.group, LONGEST_NAME)
    data += f' data-group="{escape(group)}"'
    data += f' data-system="{_attribute(label.system)}"' if result.job == "select" else ""
    data += " data-flipped" if label.flipped else ""
    data += " data-differs" if _differs(label, result) else ""
    aside = "" if label.in_decision else " aside"
    mark = f" <small>{ASIDE}</small>" if aside else ""
    cells = (
        f"<span>{escape(visible(result.texts.name(label) if result.texts else label.item_id))}{mark}</span>"
        f'<span class="chip {kind}">{escape(visible(_said(label, result)))}</span>'
        f'<span class="peek" dir="auto">{escape(f"{group}: {peek}" if group else peek)}</span>'
    )
    if not inside:
        return f'<div class="item bare{aside}"{data}>{cells}</div>'
    return f'<details class="item{aside}"{data}><summary>{cells}</summary>\n{inside}</details>'


def _texts(label: LabelRow, result: Shows) -> tuple[str, str]:
    """Prompt, outputs and reason of an item, and the beginning of the prompt."""
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
    """What the judge wrote, in both orders if they disagreed, and who was A and B for it."""
    swapped = label.shown_first == label.against
    pair = (label.against, label.system) if swapped else (label.system, label.against)
    own = label.reason if _has_letters(label, result) else label.by_name(label.reason)
    orders = ((own, pair), (label.other_reason, pair[::-1]))
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
    """Which letter the judge knew a system by, unless it knew it by both."""
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
    """A page of tables and facts; a name in a table's first column leads to its link, if it has one.

    `tones` are the classes of cells with a colour, such as `won`.
    """
    style = _web("page.css")
    cards = []
    for section, facts, tables in page.parts():
        shown = "".join(_table(table, links, tones) for table in tables)
        heading = f"<h2>{escape(TITLES[section])}</h2>" if facts and TITLES[section] else ""
        cards.append(f'<div class="card wide">{shown}{heading}{_list(facts)}</div>')
    return Template(_web("index.html")).substitute(
        style_hash=_hash(style),
        style=style,
        title=escape(page.head),
        badge=_badge_of(page),
        headline=_words(page.parted[1]),
        summary=_first(page),
        cards="\n".join(cards),
    )


def render_notebook(page: Page) -> str:
    """What a page says as a fragment, with small headings and without any style."""
    parts = [_first(page)]
    for section, facts, tables in page.parts():
        if section is not Section.AGAIN:
            parts += [f"<h5>{escape(table.heading)}</h5>{_table(table)}" for table in tables]
            parts += [f"<h5>{escape(TITLES[section])}</h5>{_list(facts)}"] if facts else []
    sign = "" if page.outcome is None else f"{BADGES[page.outcome].sign} "
    return f"<div><h4>{sign}{_coded(page.head)}</h4>{''.join(parts)}</div>"
