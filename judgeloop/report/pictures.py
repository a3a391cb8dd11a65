"""The pictures of a result, as values: lines over judgments, a bar of counts, a scale with an interval.

Holds numbers and the words beside them. A question's own `text.py` makes them and `svg.py` draws them.
Computes nothing.
"""

from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
# The part that a line plays: of the system named, a boundary, another system.
Role = Literal["lead", "bound", "other"]
# Whose a part of a bar is: the second system's or a win, a tie, the first system's or a loss, no verdict.
Side = Literal["won", "tie", "lost", "none"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line through `points`; `name` stands at its end, and may be empty."""

    name: str
    role: Role
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a number of judgments or items, with whole numbers on both axes.

    `said` tells in words what is to be seen. `above` and `below` say what the sides of zero mean, empty
    without any. `band` is the area between two lines. `stop` marks where the run ended.
    """

    title: str
    said: str
    across: str
    lines: tuple[Line, ...]
    note: str = ""
    above: str = ""
    below: str = ""
    band: tuple[tuple[Point, ...], tuple[Point, ...]] | None = None
    stop: Point | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """Counts beside each other: a name, a number and a side each."""

    title: str
    said: str
    parts: tuple[tuple[str, int, Side], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """A value with its interval between `low` and `high`.

    `marks` are values with a name, such as a gap of 0 or a score that is required.
    """

    title: str
    said: str
    low: float
    high: float
    value: float
    interval: tuple[float, float] | None = None
    marks: tuple[tuple[float, str], ...] = ()
    form: str = "{:.2f}"
    note: str = ""


Picture = Chart | Bar | Scale
