"""Draws pictures as SVG: numbers in, text out, with no style but the names of classes.

`web/pictures.css` gives the classes colours, light and dark. Names are escaped; unseen characters are
expected to be visible already. Reads no file but that style sheet.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import pairwise

from judgeloop.report.pictures import Bar, Chart, Line, Picture, Point, Scale
from judgeloop.report.words import shortened

WIDE, HEIGHT, LEFT, TOP, BOTTOM = 520, 250, 58, 14, 46  # a chart, and its margins
WIDTH, BAR_HEIGHT, SCALE_HEIGHT, AXIS, EDGE = 380, 30, 64, 30, 20  # a bar, and a scale
LETTER = 9.2  # the width of a letter on a phone, where letters are larger
MOST_TICKS = 6
LONGEST_NAME = 11  # letters at the end of a line
FEWEST_APART = 16  # units between two names
NAME_WIDTH = 100  # about that of a short name
MOST_NAMED = 10  # lines, the highest at their end


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that a notebook shows; `str()` is the SVG, which stands alone in a file."""

    picture: Picture

    def __str__(self) -> str:
        return draw(self.picture, style=styles())

    def _repr_svg_(self) -> str:
        """Return the SVG; notebooks call this."""
        return str(self)

    def __repr__(self) -> str:
        return f"<Drawing: {self.picture.said}>"


def styles() -> str:
    """Return the style sheet of the pictures."""
    return (files("judgeloop.report") / "web" / "pictures.css").read_text("utf-8")


def draw(picture: Picture, *, style: str = "") -> str:
    """Return the picture as SVG, with its words as title and description; `style` stands inside."""
    drawn: dict[type, tuple[Callable[..., Iterable[str]], str, int, int]] = {
        Chart: (_chart, "jl", WIDE, HEIGHT),
        Bar: (_bar, "jl jl-small", WIDTH, BAR_HEIGHT),
        Scale: (_scale, "jl jl-small", WIDTH, SCALE_HEIGHT),
    }
    parts, kind, width, height = drawn[type(picture)]
    inside = "\n".join(parts(picture))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(picture.said)}">\n{f"<style>{style}</style>" if style else ""}'
        f"<title>{escape(picture.title)}</title>\n{inside}\n</svg>"
    )


def path(points: Iterable[Point]) -> str:
    """Return the data of a path through points, rounded to a tenth.

    >>> path([(0, 1), (2.25, 3)])
    'M0 1L2.2 3'
    """
    return "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)


def ticks(low: float, high: float, most: int = MOST_TICKS) -> list[int]:
    """Return round whole numbers from `low` to `high`, at most about `most`.

    >>> ticks(-17, 17, 5), ticks(0, 3)
    ([-10, 0, 10], [0, 1, 2, 3])
    """
    step = max(1.0, (high - low) / most)
    size = 10 ** math.floor(math.log10(step))
    step = next(size * by for by in (1, 2, 5, 10) if size * by >= step - 1e-9)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def spread(places: Sequence[float], apart: float, lowest: float) -> list[float]:
    """Return the places moved, as little as a pass down and one up take, until they are `apart`.

    They are in their order from the top, and none ends below `lowest`.

    >>> spread([10, 11, 40], 10, 100), spread([95, 96], 10, 100)
    ([10, 20, 40], [90, 100])
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for above, here in pairwise(order):
        moved[here] = max(moved[here], moved[above] + apart)
    for place, here in enumerate(reversed(order)):
        moved[here] = min(moved[here], lowest - place * apart)
    return moved


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, kind: str = "jl-soft", anchor: str = "") -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{_short(x)}" y="{_short(y)}" class="{kind}"{anchored}>{escape(text)}</text>'


def _chart(chart: Chart) -> Iterator[str]:
    """Yield the parts of a chart: axes, band, lines from the least to the most important, the stop."""
    points = [point for line in chart.lines for point in line.points]
    most_x = max((x for x, _ in points), default=1) or 1
    low, high = min(y for _, y in points), max(y for _, y in points)
    low, high = (low, high) if high > low else (low - 1, high + 1)
    longest = max(min(len(line.name), LONGEST_NAME) for line in chart.lines)
    right = round(WIDE - (longest + 2) * LETTER)

    def placed(point: Point) -> Point:
        x, y = point
        across = LEFT + x / most_x * (right - LEFT)
        return across, TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    signed = "{:+,}" if chart.above else "{:,}"
    for level in ticks(low, high):
        at = placed((0, level))[1]
        yield f'<path d="M{LEFT} {_short(at)}H{right}" class="jl-grid"/>'
        named = "0" if not level else signed.format(level).replace("-", "\N{MINUS SIGN}")
        yield _text(LEFT - 6, at + 4, f"{named}{chart.unit}", anchor="end")
    for number in ticks(0, most_x):
        yield _text(placed((number, 0))[0], HEIGHT - BOTTOM + 16, f"{number:,}", anchor="middle")
    yield _text((LEFT + right) / 2, HEIGHT - 6, chart.across, anchor="middle")
    if chart.band:
        lower, upper = ([placed(point) for point in side] for side in chart.band)
        yield f'<path d="{path([*upper, *reversed(lower)])}Z" class="jl-band"/>'
    for line in sorted(chart.lines, key=lambda line: ("other", "bound", "lead").index(line.role)):
        drawn = path(map(placed, line.points))
        yield f'<path d="{drawn}" class="jl-{line.role}"/>'
    yield from _ends(chart.lines, placed)
    if chart.stop:
        x, y = placed(chart.stop)
        yield f'<circle cx="{_short(x)}" cy="{_short(y)}" r="5" class="jl-stop"/>'
    if chart.above:
        yield _text(LEFT + 8, TOP + 8, chart.above)
        yield _text(LEFT + 8, HEIGHT - BOTTOM - 6, chart.below)


def _ends(lines: Sequence[Line], placed: Callable[[Point], Point]) -> Iterator[str]:
    """Yield the names of the lines at their ends, none over another."""
    named = [(line, *placed(line.points[-1])) for line in lines if line.name]
    named = sorted(named, key=lambda one: (one[0].role != "lead", one[2]))[:MOST_NAMED]
    beside: list[list[tuple[Line, float, float]]] = []
    for one in sorted(named, key=lambda one: one[1]):
        if not beside or one[1] - beside[-1][-1][1] > NAME_WIDTH:
            beside.append([])
        beside[-1].append(one)
    for group in beside:
        heights = spread([y for _, _, y in group], FEWEST_APART, HEIGHT - BOTTOM)
        for (line, x, _), y in zip(group, heights, strict=True):
            kind = "jl-mark" if line.role == "lead" else "jl-soft"
            yield _text(x + 9, y + 4, shortened(line.name, LONGEST_NAME), kind)


def _bar(bar: Bar) -> Iterator[str]:
    """Yield a part of the bar for each count above 0, with the number in it if there is room."""
    at = 0.0
    total = sum(number for _, number, _ in bar.parts) or 1
    for name, number, side in bar.parts:
        width = number / total * WIDTH
        if number:
            yield f'<rect x="{_short(at)}" y="0" width="{_short(width)}" height="{BAR_HEIGHT}" class="jl-{side}">'
            yield f"<title>{escape(name)}: {number:,}</title></rect>"
        if len(f"{number:,}") * 2 * LETTER < width:
            yield _text(at + width / 2, BAR_HEIGHT / 2 + 5, f"{number:,}", "jl-number", "middle")
        at += width


def _scale(scale: Scale) -> Iterator[str]:
    """Yield the axis, its marks, the interval and the value, whose number stands above it."""

    def at(value: float) -> float:
        share = (min(max(value, scale.low), scale.high) - scale.low) / (scale.high - scale.low)
        return EDGE + share * (WIDTH - 2 * EDGE)

    yield f'<path d="M{EDGE} {AXIS}H{WIDTH - EDGE}" class="jl-axis"/>'
    for value, _ in scale.marks:
        yield f'<path d="M{_short(at(value))} {AXIS - 9}V{AXIS + 9}" class="jl-axis"/>'
    if scale.interval:
        low, high = map(at, scale.interval)
        width = max(1.0, high - low)
        yield f'<rect x="{_short(low)}" y="{AXIS - 4}" width="{_short(width)}" height="8" rx="4" class="jl-range"/>'
    x = at(scale.value)
    yield f'<path d="M{_short(x)} {AXIS - 9}V{AXIS + 9}" class="jl-lead"/>'
    named = [(x, _figure(scale, scale.value), "jl-mark")]
    yield from _beside(AXIS - 16, [*named, *((at(v), name, "jl-soft") for v, name in scale.marks)])
    if scale.interval:
        low, high = scale.interval
        said = f"{_figure(scale, low)} to {_figure(scale, high)}"
        yield from _beside(SCALE_HEIGHT - 6, [(at((low + high) / 2), said, "jl-soft")])


def _figure(scale: Scale, value: float) -> str:
    return scale.form.format(value).replace("-", "\N{MINUS SIGN}")


def _beside(y: float, texts: Iterable[tuple[float, str, str]]) -> Iterator[str]:
    """Yield texts in a row within the picture; of those that would touch, the first."""
    taken: list[tuple[float, float]] = []
    for at, text, kind in texts:
        half = (len(text) + 1) * LETTER / 2
        x = min(max(at, half), WIDTH - half)
        if all(x + half <= low or high <= x - half for low, high in taken):
            taken.append((x - half, x + half))
            yield _text(x, y, text, kind, "middle")
