"""The names of settings in texts: as Python writes them, or as a caller of these functions says them.

Texts put the name of a setting between backticks, alone or with a value, as in `selector=random`.
`cli/output.py` has the form for the command line.
"""

import json
import re
from dataclasses import replace

from judgeloop.core.part import Say
from judgeloop.report.page import Page, Rows, Section, Table

NAMED = re.compile(r"`(?P<name>[a-z][a-z_]*)(?:=(?P<value>[^`]*))?`")
# What Python writes without quotes: numbers, and what stands for a value, such as FILE.
_PLAIN = r"(-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[A-Z]+)"
PLAIN = re.compile(rf"{_PLAIN}(,{_PLAIN})*")


def as_python(text: str) -> str:
    """Return `text` with the values of settings as Python writes them.

    >>> as_python("`budget=none`, `risk=0.05` or `judge_price=IN,OUT`")
    '`budget="none"`, `risk=0.05` or `judge_price=(IN, OUT)`'
    """
    return NAMED.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if value is None:
        return match[0]
    if not PLAIN.fullmatch(value):
        value = json.dumps(value, ensure_ascii=False)
    elif "," in value:
        value = f"({value.replace(',', ', ')})"
    return f"`{name}={value}`"


def page_said(page: Page, say: Say) -> Page:
    """Return a page with its texts as `say` says them; the names of its rows stay."""
    return replace(
        page,
        headline=say(page.headline),
        summary=tuple(map(say, page.summary)),
        details=_rows_said(page.details, say),
        notes=tuple(_card_said(card, say) for card in page.notes),
        board=replace(page.board, cards=tuple(_card_said(card, say) for card in page.board.cards)),
    )


def _card_said(card: Section | Table, say: Say) -> Section | Table:
    return replace(card, rows=_rows_said(card.rows, say)) if isinstance(card, Section) else card


def _rows_said(rows: Rows, say: Say) -> Rows:
    return tuple((name, say(text)) for name, text in rows)
