"""Texts that pairs of a suite have in common: said once, with the systems of all.

Pure: texts of pairs in, rows of a page out.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judgeloop.core.errors import MOST_NAMED, some
from judgeloop.core.records import PAIR
from judgeloop.report.words import sentence, visible

Rows = tuple[tuple[str, str], ...]  # pairs of a name and a text
FIRST, EACH = "\1", "\0"  # stand in a text for the first and the last system of each pair


class PairText(NamedTuple):
    """A text about a pair: what pairs may have in common, and its own; `FIRST` and `EACH` are two of its systems."""

    name: str
    common: str
    own: str
    systems: tuple[str, ...] = ()


def grouped(said: Iterable[PairText], pairs: int) -> Rows:
    """A row for each name and text; those with a text in common are one row, the most of them the last.

    `pairs` is the number of all.
    """
    groups: dict[str, list[PairText]] = {}
    for one in said:
        groups.setdefault(one.common, []).append(one)
    most = max(reversed(groups.values()), key=len, default=[])  # of equals the last, as trouble comes first
    every = [one.name for group in groups.values() for one in group]
    whole, rows = len(every) == len(set(every)) == pairs, list[tuple[str, str]]()
    for common, group in sorted(groups.items(), key=lambda one: one[1] is most and len(most) > 1):
        text = _of_all(visible(common), [one.systems for one in group if one.systems])
        if len(group) == 1:
            rows.append((visible(group[0].name), visible(group[0].own)))
        elif len(group) == pairs:
            rows.append((f"all {pairs} pairs", text))
        elif group is most and whole:
            rows.append((f"the other {len(group)} pairs", text))
        else:
            names = [visible(one.name) for one in group]
            # Pairs that are called as their systems stand in the text already.
            named = EACH in common and len(names) <= MOST_NAMED and names == [visible(one.systems[-1]) for one in group]
            rows.append((f"{len(group)} pairs", text if named else f"{text} ({', '.join(names)})"))
    return tuple(rows)


def _of_all(text: str, pairs: Sequence[tuple[str, ...]]) -> str:
    """Sentences with all systems in the place of each pair's own: of those of which something is not shown, any.

    >>> _of_all(f"It is not shown that {visible(EACH)} is worse. {visible(EACH)} is ahead.", [("o", "a"), ("o", "b")])
    'It is not shown that any of a and b is worse. Each of a and b is ahead.'
    >>> _of_all(f"{visible(EACH)} is better than {visible(FIRST)}.", [("o", "a"), ("p", "b")])
    'Each of a and b is better than the first system of its pair.'
    >>> _of_all(f"{visible(EACH)} is ahead.", [("o", "a"), ("o", "b"), ("p", "a")])
    'Each of a and b is ahead.'
    >>> _of_all(f"{visible(EACH)} is better than {visible(FIRST)}.", [("o", "a"), ("o", "a")])
    'a is better than o.'
    >>> _of_all(f"{visible(FIRST)} is better than {visible(EACH)}.", [("o", "a"), ("o", "b")])
    'o is better than each of a and b.'
    """
    if not pairs:
        return text
    firsts = {visible(one[0]) for one in pairs}
    names = list(dict.fromkeys(visible(one[-1]) for one in pairs))  # one may stand in pairs by several judges
    systems = " and ".join(names) if len(names) == PAIR else some(names)
    alike = firsts.pop() if len(firsts) == 1 else ""
    text = text.replace(visible(FIRST), alike or "the first system of its pair")
    named = tuple(f"{visible(name)} " for one in pairs for name in one)
    fails = text.startswith("FAILED")  # which each of them does
    said = []
    for one in re.split(r"(?<=\.) ", text):
        word = "any" if "not shown" in one and not fails else "each"
        whole = one.replace(visible(EACH), names[0] if len(names) == 1 else f"{word} of {systems}")
        # A name stays as it is, also where it begins a sentence.
        said.append(whole if whole.startswith(named) else sentence(whole))
    return " ".join(said)
