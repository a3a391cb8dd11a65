"""Strangers' text made harmless to show: what cannot be seen is made visible, what steers is taken apart.

Only what is shown is changed; what is judged and stored stays as it is.
"""

from __future__ import annotations

import unicodedata

# Control, format (bidi, zero width), surrogate, private use, unassigned, line and paragraph separators.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""`text` on one line, with every character that a terminal or a reader would not see as its escape.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if unicodedata.category(letter) in _UNSEEN else letter
        for letter in text
    )
