"""The pictures of a result, as values: lines over judgments, a bar of counts, intervals on a scale.

Holds numbers and the words beside them. A question's own `page.py` makes them and `svg.py` draws them.
"""

from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
# The part that a line plays: of the system named, a bound, a rival with a colour of its
# own, another system.
Role = Literal["lead", "bound", "first", "second", "third", "other"]
# Whose a part of a bar is: the second system's or a win, a tie, the first system's or a loss, no verdict.
Side = Literal["won", "tie", "lost", "none"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through `points`; `name` stands at its end, and may be empty."""

    name: str
    role: Role
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a number of judgments or items, with whole numbers on both axes.

    `said` tells in words what is to be seen, `across` and `up` what the numbers on the axes are. `above` and `below`
    say what the sides of zero mean. `band` is the area between two lines. `stop` marks where the run ended. `view`
    are the lowest and the highest value shown; None shows all. `order` has names of lines in the order in which they
    stand; without it, they stand where their lines end.
    """

    title: str
    said: str
    across: str
    lines: tuple[Curve, ...]
    note: str = ""
    above: str = ""
    below: str = ""
    band: tuple[tuple[Point, ...], tuple[Point, ...]] | None = None
    stop: Point | None = None
    unit: str = ""
    up: str = ""
    view: tuple[float, float] | None = None
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """Counts beside each other: a name, a number and a side each."""

    title: str
    said: str
    parts: tuple[tuple[str, int, Side], ...]
    note: str = ""

    @property
    def legend(self) -> tuple[str, ...]:
        """What each part is, in their order."""
        return tuple(f"{name} {number:,}" for name, number, _ in self.parts)


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A value with its interval, of which either may be unknown; `said` are its figures in words."""

    name: str
    said: str
    value: float | None
    interval: tuple[float, float] | None = None
    role: Role = "lead"


@dataclass(frozen=True, slots=True)
class Scale:
    """Values with their intervals below each other, between `low` and `high`.

    `marks` are values with a name, such as a gap of 0. `bound` is one that decides, such as a score that
    is required.
    """

    title: str
    said: str
    low: float
    high: float
    rows: tuple[IntervalRow, ...]
    marks: tuple[tuple[float, str], ...] = ()
    bound: tuple[float, str] | None = None
    note: str = ""


Picture = Chart | Bar | Scale
