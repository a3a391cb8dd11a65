"""Strangers' text made harmless to show: what cannot be seen is made visible, what steers is taken apart.

Only what is shown is changed; what is judged and stored stays as it is.
"""

from __future__ import annotations

import re
import unicodedata

# Control, format (bidi, zero width), surrogate, private use, unassigned, line and paragraph separators.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# What a CI system reads as a command: GitHub's at the beginning of a line, Azure's anywhere.
_COMMAND = re.compile(r"\A\s*::|##(?=\[|vso\[)")
# Letters and marks that show nothing: fillers, joiners, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    r"""`text` on one line, with every character that a terminal, a reader or a CI log would not show as its escape.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    shown = "".join(_escaped(letter) if _is_unseen(letter) else letter for letter in text)
    return _COMMAND.sub(lambda match: f"\\x{ord(match[0][0]):02x}{match[0][1:]}", shown)


def visible_lines(text: str) -> str:
    """`text` with its line breaks and tabs kept, and every other unseen character made visible."""
    return "\n".join(
        "\t".join(visible(part) for part in line.split("\t")) for line in text.split("\n")
    )


def _is_unseen(letter: str) -> bool:
    return unicodedata.category(letter) in _UNSEEN or bool(_BLANK.match(letter))


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def csv_cell(text: str) -> str:
    """`text` as a cell that no spreadsheet takes for a formula: one that begins like one gets a quote before it."""
    shown = visible(text)
    return f"'{shown}" if shown[:1] in {"=", "+", "-", "@"} else shown
