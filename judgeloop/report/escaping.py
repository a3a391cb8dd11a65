"""Escapes untrusted text for terminals, logs and spreadsheets: unseen characters and commands.

Only the shown text is escaped. The text that is judged and stored is not changed.
"""

import re
import unicodedata

# Control, format (bidi, zero width), surrogate, private use, unassigned, and the separators of
# lines and paragraphs.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Commands to a CI system: GitHub reads them at the beginning of a line, Azure anywhere.
_COMMAND = re.compile(r"\A\s*::|##(?=\[|vso\[)")
# Letters and marks without a glyph: fillers, joiners, variation selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# The selector of the picture of an emoji, behind a sign that can be one. It shows, and is no place to hide a text.
_OF_EMOJI = re.compile(
    "((?<=[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff])\ufe0f(?![\ufe00-\ufe0f]))"
)

# What begins a formula, also as a full-width sign, behind blanks, and behind a semicolon or a tab. A tab is not among
# the blanks: it begins a match itself, so that a text of tabs is searched once.
_FORMULA = re.compile("((?:\\A|[;\\t])[^\\S\\t]*)([-=+@\uff1d\uff0b\uff0d\uff20])")


class _Shown(dict[int, str]):
    """How each letter is shown, found once: pages hold millions of letters."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        unseen = unicodedata.category(letter) in _UNSEEN or _BLANK.match(letter)
        self[number] = letter.encode("unicode_escape").decode("ascii") if unseen else letter
        return self[number]


_SHOWN = _Shown()


def visible(text: str) -> str:
    r"""Return `text` on a single line, with unseen characters and CI commands escaped, but for an emoji's own.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    parts = _OF_EMOJI.split(text) if "\ufe0f" in text else [text]
    shown = "".join(part if at % 2 else part.translate(_SHOWN) for at, part in enumerate(parts))
    return _COMMAND.sub(lambda match: f"\\x{ord(match[0][0]):02x}{match[0][1:]}", shown)


def visible_lines(text: str) -> str:
    """Return `text` as `visible` does, but keep its line breaks and tabs."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def csv_cell(text: str) -> str:
    """Return `text` as a spreadsheet cell, with a quote before what looks like a formula.

    A formula may also begin behind blanks, behind a semicolon or a tab, which separate cells in some
    programs, and with a full-width sign.

    >>> csv_cell("=1+1"), csv_cell("a;=1+1"), csv_cell("a=1")
    ("'=1+1", "a;'=1+1", 'a=1')
    """
    return _FORMULA.sub(r"\1'\2", visible_lines(text))
