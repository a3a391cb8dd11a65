"""What a judge leans to: a place, its own word, length. Read off the verdicts of a run on two outputs each.

Pure: labels and texts in, counts and a sentence out. No test of the run depends on it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judgeloop.core.records import PAIR, Label, Pool, Verdict
from judgeloop.methods.stats.intervals import chance_of_so_many
from judgeloop.report.words import count, per_cent, visible

FEWEST = 20  # decided items of which it is said that neither place is favoured
SHOWN = 0.05  # p-value, two-sided, at which a place is said to be preferred
HALF = 0.5


@dataclass(frozen=True, slots=True)
class Leanings:
    """What a judge leans to, by its verdicts on two outputs.

    - `first`, `second`: how many of the verdicts that changed with the order kept to the output shown first, or second.
      Where each pair is shown in one random order: how many of those that prefer one
    - `agreed`: of the verdicts that are the same in both orders, how many each system won, in the order of systems
    - `longer`, `shorter`: how many verdicts the longer output won, and the shorter one, by characters
    """

    first: int = 0
    second: int = 0
    agreed: tuple[int, ...] = ()
    longer: int = 0
    shorter: int = 0


def leanings_of(labels: Sequence[Label], pool: Pool | None = None, *, one_order: bool = False) -> Leanings:
    """What the verdicts on two outputs lean to; of a panel's votes no place is known, without a pool no length.

    `one_order`: each pair was shown in one random order.
    """
    places, lengths, agreed = Counter[bool](), Counter[bool](), Counter[int]()
    for label in labels:
        verdict, systems = label.answer, label.choice.systems
        if not isinstance(verdict, Verdict) or len(systems) != PAIR:
            continue
        won = verdict.preference
        if verdict.flipped:
            places.update([verdict.place > 0] if verdict.place else [])
        elif won and verdict.both:
            agreed[systems[won < 0]] += 1
        elif won and one_order and verdict.swapped is not None:
            places[(won > 0) is not verdict.swapped] += 1
        if won and pool is not None:
            first, second = (len(pool.outputs[system][label.choice.position]) for system in systems)
            lengths.update([(first > second) is (won > 0)] if first != second else [])
    by_system = tuple(agreed[system] for system in range(max(agreed, default=-1) + 1))
    return Leanings(places[True], places[False], by_system, lengths[True], lengths[False])


def said_of(found: Leanings, systems: Sequence[str], flips: int, both: int, *, one_order: bool) -> str:
    """The sentence on a judge: how often it contradicts itself, and what it prefers.

    >>> said = said_of(Leanings(9, 1, (7, 26)), ("old", "new"), 10, 43, one_order=False)
    >>> said.split("; ")  # doctest: +NORMALIZE_WHITESPACE
    ['contradicts itself on 10 of 43, 9 of them for the output shown first',
     'where it agrees with itself, new won 26 and old 7']
    >>> said_of(Leanings(longer=41, shorter=19), ("a", "b", "c"), 0, 0, one_order=False)
    'the longer answer won 68 % of 60 decided items with answers of unequal length'
    """
    places = found.first + found.second
    more = max(found.first, found.second)
    preferred = "first" if found.first >= found.second else "second"
    leans = places > 0 and 2 * chance_of_so_many(more, places, HALF) <= SHOWN
    neither = "favours neither place" if places >= FEWEST else ""
    if one_order:
        place = f"prefers the output shown {preferred} ({more:,} of {places:,})" if leans else neither
        said = ["shown each pair in one order, so that it is unknown how often it contradicts itself", place]
    elif both:
        often = "each time" if more == flips else f"{more:,} of them"
        place = f"{often} for the output shown {preferred}" if leans else neither and f"and {neither}"
        said = [f"contradicts itself on {flips:,} of {both:,}{f', {place}' if place else ''}"]
    else:
        said = []
    if len(systems) == PAIR and any(found.agreed) and not one_order:
        won = dict(zip(systems, (*found.agreed, 0), strict=False))
        best, other = sorted(systems, key=lambda system: -won[system])
        said.append(
            f"where it agrees with itself, {visible(best)} won {won[best]:,} and {visible(other)} {won[other]:,}"
        )
    if decided := found.longer + found.shorter:
        share = per_cent(found.longer / decided)
        said.append(f"the longer answer won {share} of {count(decided, 'decided item')} with answers of unequal length")
    return "; ".join(filter(None, said))
