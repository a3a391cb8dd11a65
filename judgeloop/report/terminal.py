"""Renders what a result says for a terminal or a log: facts in columns, what is to be seen first above the rest."""

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from judgeloop.report.page import BADGES, COST, TITLES, Fact, Page, PageTable, Section
from judgeloop.report.words import BOLD, WARNED, WIDTH, clipped, count, shortened

INDENT = 2
TOGETHER = "\N{NO-BREAK SPACE}"
NARROW = 3  # a column of names takes at most this part of the width
MOST_LINES = 12  # of what is shown first, with the empty ones
# What gives way to keep to them, after the empty lines and in this order: `more` says where it stands. Who judged,
# votes, gap and what was paid do not, and what is shown is the last to do so. Of what is in `BEGINS` the beginning
# stays, until its second turn.
JUDGED, VOTES, NEXT, ASKED, RISK, LOST, PROXY = "judged", "votes", "next", "asked", "risk", "lost.1", "proxy"
GIVE_WAY = (
    "lost.3",
    "lost.2",
    VOTES,  # moves into the line of who judged
    "near_best",
    "trust",
    "halve",
    "kappa",
    PROXY,
    "groups.found",
    RISK,
    COST,
    "widened",
    "holds",
    ASKED,
    NEXT,
    ASKED,
    RISK,
    LOST,
    PROXY,
    NEXT,
    "leader",
)
_SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z`-])")
# Where it ends.
BEGINS = {
    NEXT: _SENTENCES,
    ASKED: re.compile("; "),
    COST: re.compile("; "),
    PROXY: re.compile("; "),
    RISK: re.compile(": "),
}
_UNBROKEN = re.compile(r"`judgeloop [^`]*`|(?<=\d) (?=%)")
_PROMPT = re.compile(
    "\N{LEFT DOUBLE QUOTATION MARK}(.{12})[^\N{RIGHT DOUBLE QUOTATION MARK}]+\N{RIGHT DOUBLE QUOTATION MARK}:"
)
WARNING = "Warning:"  # how a line begins that warns
Paint = Callable[[str, str], str]  # colours a text in a tone: an outcome, or one of these


def _plain(text: str, _: str) -> str:
    return text


def render(
    page: Page,
    files: str | None = None,
    width: int = WIDTH,
    paint: Paint = _plain,
    *,
    short: bool = False,
    more: str | None = None,
) -> str:
    """The text, wrapped at words to `width` columns; if `short`, only what is shown first.

    `files` are the folder of the result's files, and files of its own. `more` says where the rest is, perhaps nothing:
    then at most `MOST_LINES` are shown, and what is least needed gives way.
    """
    if files is not None:
        page = page.with_facts(Fact("files", Section.DATA, "files", files))
    first = page.first
    head = [_headed(page, width, paint)] if page.headline else []
    head += [wrapped(one.text, width) for one in first if not one.label and one.section is Section.DECISION]
    if more is None:
        warnings = (wrapped(_warning(one.text), width) for one in first if one.section is Section.WARNING)
        rows = columns(_named(first, ()), width)
        parts = ["\n".join(block) for block in (head, rows, (paint(line, WARNED) for line in warnings))]
    else:
        parts = _in_few_lines(first, head, width, paint, [wrapped(more, width)] if more else [])
    for section, facts, tables in () if short else page.parts():
        if section is not Section.AGAIN:
            parts += [_table(table, width, paint) for table in tables]
            parts.append("\n".join([*filter(None, [TITLES[section]] * bool(facts)), *columns(facts, width)]))
    return "\n\n".join(filter(None, parts))


def _in_few_lines(first: Sequence[Fact], head: list[str], width: int, paint: Paint, last: list[str]) -> list[str]:
    """What is decided, what is found, and what warns, in at most `MOST_LINES` with the `last`; one block if it is long.

    At first warnings keep their first sentence alone. Then facts give way, and those come back that have room at last.
    """
    warned = [one.text for one in first if one.section is Section.WARNING]
    warnings, gone = [wrapped(_warning(text), width) for text in warned], list[str]()
    rows = list(columns(_named(first, gone), width, capped=True))

    def over(apart: str = "") -> int:
        """By how many lines all is too long; with a new line `apart` there are empty ones."""
        blocks = ("\n".join(block) for block in (head, rows, [*warnings, *last]) if block)
        return f"\n{apart}".join(blocks).count("\n") + 1 - MOST_LINES

    apart = "\n" if over("\n") <= 0 else ""
    if over(apart) > 0:
        warnings = [wrapped(_warning(_SENTENCES.split(text)[0]), width) for text in warned]
    for key in GIVE_WAY:
        if key == "halve":  # a second warning gives way before what holds, money and risk
            warnings = _as_fit(warnings, over())
        if over(apart) <= 0:
            break
        gone.append(key)
        rows = list(columns(_named(first, gone), width, capped=True))
    for at in range(len(gone) - 2, -1, -1):
        before, rows = rows, list(columns(_named(first, [*gone[:at], *gone[at + 1 :]]), width, capped=True))
        if over(apart) <= 0:
            del gone[at]
        else:
            rows = before
    warnings = [paint(line, WARNED) for line in _as_fit(warnings, over(apart))]
    parts = ["\n".join(block) for block in (head, rows, [*warnings, *last]) if block]
    return parts if apart else ["\n".join(parts)]


def _warning(text: str) -> str:
    return f"{WARNING} {text}"


def _named(first: Sequence[Fact], gone: Sequence[str]) -> list[Fact]:
    """The facts that have a label, but for some.

    Votes that are gone end the line of who judged, if there is one.
    """
    votes = next((one.text.partition("; ")[0] for one in first if one.key == VOTES and VOTES in gone), "")
    judged = any(one.key == JUDGED for one in first)
    stay = {*BEGINS, *([] if judged else [VOTES])}

    def said(one: Fact) -> str:
        if one.key == JUDGED and votes:
            text, *silent = one.text.split("; ")
            return "; ".join([f"{text}: {votes}", *silent])
        return BEGINS[one.key].split(one.text)[0] if one.key in BEGINS and one.key in gone else one.text

    kept = (one for one in first if one.label and gone.count(one.key) <= (one.key in stay))
    return [replace(one, text=said(one)) for one in kept]


def _headed(page: Page, width: int, paint: Paint) -> str:
    """The headline: the sign and the word of the outcome in its colour, the rest bold."""
    if page.outcome is None:
        return "\n".join(paint(line, BOLD) for line in wrapped(page.headline, width).split("\n"))
    first, *others = wrapped(f"{BADGES[page.outcome].sign} {page.head}", width).split("\n")
    word, colon, rest = first.partition(":")
    lines = [
        paint(word + colon, page.outcome) + (paint(rest, BOLD) if rest else ""),
        *(paint(one, BOLD) for one in others),
    ]
    return "\n".join(lines)


def _as_fit(warnings: list[str], over: int) -> list[str]:
    """The first warnings, at least one, so that they take so many lines less; of the others how many they are."""
    kept, taken, lines = list[str](), 0, sum(one.count("\n") + 1 for one in warnings) - over
    for at, one in enumerate(warnings):
        left = len(warnings) - at
        taken += one.count("\n") + 1
        if kept and taken + (left > 1) > lines:
            return [*kept, f"{count(left, 'more warning')}: --details"]
        kept.append(one)
    return kept


def columns(facts: Iterable[Fact], width: int, *, capped: bool = False) -> Iterable[str]:
    """Yield facts with their names in a column; if `capped`, items that were lost are cut to a line each."""
    rows = [(one.label, one.text, capped and one.key.startswith(LOST[:-1])) for one in facts]
    longest = max((len(label) for label, *_ in rows), default=0)
    column = min(longest, width // NARROW)
    indent = " " * INDENT
    for label, text, in_a_line in rows:
        before = f"{indent}{label:<{column}}{indent}" if longest else indent
        room = width - len(before)
        said = text
        if in_a_line and len(text) > room:  # rather less of the prompt than nothing of the reason
            fewer = "\N{LEFT DOUBLE QUOTATION MARK}\\1…\N{RIGHT DOUBLE QUOTATION MARK}:"
            said = clipped(_PROMPT.sub(fewer, text), room)
        yield wrapped(said, width, before, " " * (2 * INDENT + column) if longest else indent)


def _toned(cell: str, paint: Paint) -> str:
    """A cell in the colour of the outcome whose sign it begins with."""
    outcome = next((one for one, badge in BADGES.items() if cell.startswith(f"{badge.sign} ")), None)
    return cell if outcome is None else paint(cell, outcome)


def _table(table: PageTable, width: int, paint: Paint) -> str:
    """A table; a name is cut where the figures leave no room for it."""
    rows = (table.columns, *table.rows)
    longest, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
    room = width - INDENT - sum(INDENT + size for size in sizes)
    longest = min(longest, max(room, width // NARROW))
    forms = [f"{'>' if figure else '<'}{size}" for figure, size in zip(table.figures[1:], sizes, strict=True)]
    indent = " " * INDENT
    lines = [wrapped(table.heading, width)] if table.heading else []
    for name, *cells in rows:
        more = (f"{indent}{_toned(f'{cell:{form}}', paint)}" for cell, form in zip(cells, forms, strict=True))
        lines.append(f"{indent}{shortened(name, longest):<{longest}}{''.join(more)}".rstrip())
    return "\n".join([*lines, *([wrapped(table.note, width, indent, indent)] if table.note else [])])


def wrapped(text: str, width: int, before: str = "", after: str = "") -> str:
    """`text` wrapped at words, with `before` on the first line and `after` on the others.

    A word that is longer than a line is not broken: it may be a path. Nor is a command between backticks, or "5 %".
    """
    return textwrap.fill(
        _UNBROKEN.sub(lambda one: one[0].replace(" ", TOGETHER), text),
        width,
        initial_indent=before,
        subsequent_indent=after,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(TOGETHER, " ")
