"""Draws pictures as SVG: numbers in, text out, with no style but the names of classes.

A chart grows with its place. A bar and a scale are as wide as their place, in letters of one size: their
places are in per cent of the width. `web/pictures.css` gives the classes colours, light and dark; a picture
that stands alone is light. Names are escaped; unseen characters are expected to be visible already.
"""

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import accumulate, pairwise

from judgeloop.report.pictures import Bar, Chart, Curve, IntervalRow, Picture, Point, Scale
from judgeloop.report.words import shortened

WIDE, HEIGHT, LEFT, TOP, BOTTOM = 520, 250, 58, 14, 46  # a chart, and its margins
BAR_HEIGHT = 30
ROW, AXIS, TICKS, EDGE = (40, 26, 24, 2)  # of a scale: a row, its line, what is below; an edge in per cent
TITLE, AROUND, LONGEST_TITLE = 30, 12, 68  # of a picture that stands alone: pixels, and letters
LEADING, LONGEST_NOTE = 18, 76  # the lines of its note
NARROWEST = 320  # pixels of a bar or a scale: a phone
LETTER = 10.4  # the width of a letter of a chart on a phone, where letters are larger
SMALL_LETTER = 7.4  # that of a bar or a scale, in pixels
MOST_TICKS = 6
LONGEST_NAME = 18  # letters at the end of a line
ROOM = 0.1  # of the height of the points, beyond them for the name of a side
FEWEST_APART = 19  # units between two names
ORDER = ("other", "third", "second", "first", "bound", "lead")  # of lines, the uppermost last


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that a notebook shows; `str()` is the SVG, which stands alone in a file."""

    picture: Picture

    def __str__(self) -> str:
        """The picture between its title and its note, with its colours and a ground."""
        title = _text(0, TITLE - 9, shortened(self.picture.title, LONGEST_TITLE), "jl-title")
        legend = ", ".join(self.picture.legend) if isinstance(self.picture, Bar) else ""
        texts, inner = (legend, self.picture.note), _height(self.picture)
        note = [line for text in texts for line in textwrap.wrap(text, LONGEST_NOTE)]
        wide, height = WIDE + 2 * AROUND, TITLE + inner + len(note) * LEADING + AROUND
        below = "\n".join(_text(0, TITLE + inner + at * LEADING, line) for at, line in enumerate(note, start=1))
        parts = "\n".join(_parts(self.picture))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="jl" width="{wide}" height="{height}" '
            f'viewBox="-{AROUND} 0 {wide} {height}" {_named(self.picture)}>'
            f"<style>{_plain_styles()}</style>\n"
            f'<rect x="-{AROUND}" y="0" width="{wide}" height="{height}" fill="#fff"/>\n{title}\n'
            f'<svg x="0" y="{TITLE}" width="{WIDE}" height="{inner}">\n{parts}\n</svg>\n{below}</svg>'
        )

    def for_paper(self, inches: float = 5.5) -> str:
        """The SVG at a width in inches, without title and note, which a paper says in its caption.

        Texts are 9.5 points high at 5.5 inches, and as much smaller as the picture is narrower.
        """
        wide, height = WIDE + 2 * AROUND, _height(self.picture)
        parts = "\n".join(_parts(self.picture))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="jl" width="{inches:g}in" '
            f'height="{inches * height / wide:.3f}in" viewBox="-{AROUND} 0 {wide} {height}" {_named(self.picture)}>'
            f"<style>{_plain_styles()}</style>\n"
            f'<svg x="0" y="0" width="{WIDE}" height="{height}">\n{parts}\n</svg></svg>'
        )

    def _repr_svg_(self) -> str:
        """The SVG; notebooks call this."""
        return str(self)

    def __repr__(self) -> str:
        return f"<Drawing: {self.picture.said}>"


def styles() -> str:
    """The style sheet of the pictures."""
    return (files("judgeloop.report") / "web" / "pictures.css").read_text("utf-8")


def _plain_styles() -> str:
    """The light ones without variables and conditions: not every viewer of a file knows these."""
    plain = re.sub(r"@media.*?\}\s*\}\n", "", styles(), flags=re.DOTALL)
    light = dict(re.findall(r"--(\w+): (\S+); ", plain))
    plain = re.sub(r"--\w+: \S+; ", "", plain)
    return re.sub(r"var\(--(\w+)\)", lambda name: light[name[1]], plain)


def draw(picture: Picture) -> str:
    """The picture as SVG, with its words as title and description."""
    size, parts = f'class="jl" width="100%" height="{_height(picture)}"', _parts(picture)
    if isinstance(picture, Chart):
        size = f'class="jl jl-chart" viewBox="0 0 {WIDE} {HEIGHT}"'
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_named(picture)}>\n'
        f"<title>{escape(picture.title)}</title>\n{inside}\n</svg>"
    )


def _named(picture: Picture) -> str:
    return f'role="img" aria-label="{escape(picture.said)}"'


def _height(picture: Picture) -> int:
    if isinstance(picture, Scale):
        return len(picture.rows) * ROW + TICKS
    return HEIGHT if isinstance(picture, Chart) else BAR_HEIGHT


def _parts(picture: Picture) -> Iterator[str]:
    match picture:
        case Chart():
            return _chart(picture)
        case Bar():
            return _bar(picture)
        case Scale():
            return _scale(picture)


def path(points: Iterable[Point]) -> str:
    """The data of a path through points, rounded to a tenth.

    >>> path([(0, 1), (2.25, 3)])
    'M0 1L2.2 3'
    """
    return "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)


def ticks(low: float, high: float, most: int = MOST_TICKS) -> list[int]:
    """Round whole numbers from `low` to `high`, at most about `most`.

    >>> ticks(-17, 17, 5), ticks(0, 3)
    ([-10, 0, 10], [0, 1, 2, 3])
    """
    step = max(1.0, (high - low) / most)
    size = 10 ** math.floor(math.log10(step))
    step = next(size * by for by in (1, 2, 5, 10) if size * by >= step - 1e-9)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def spread(places: Sequence[float], apart: float, lowest: float) -> list[float]:
    """The places moved, as little as a pass down and one up take, until they are `apart`.

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
    return _placed(_short(x), y, text, kind, anchor)


def _placed(x: str, y: float, text: str, kind: str = "jl-soft", anchor: str = "") -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{_short(y)}" class="{kind}"{anchored}>{escape(text)}</text>'


def _chart(chart: Chart) -> Iterator[str]:
    """Yield the parts of a chart: axes, band, lines from the least to the most important, the stop."""
    points = [point for line in chart.lines for point in line.points]
    most_x = max((x for x, _ in points), default=1) or 1
    low, high = chart.view or (min(y for _, y in points), max(y for _, y in points))
    low, high = (low, high) if high > low else (low - 1, high + 1)
    if chart.view is None:  # the names of the sides stand beyond all points
        more = ROOM * (high - low)
        low, high = low - more * bool(chart.below), high + more * bool(chart.above)
    longest = max(min(len(line.name), LONGEST_NAME) for line in chart.lines)
    right = round(WIDE - (longest + 2) * LETTER)

    def placed(point: Point) -> Point:
        x, y = point
        across = LEFT + x / most_x * (right - LEFT)
        return across, TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    signed = "{:+,}" if chart.below else "{:,}"
    for level in ticks(low, high):
        at = placed((0, level))[1]
        yield f'<path d="M{LEFT} {_short(at)}H{right}" class="jl-grid"/>'
        named = "0" if not level else signed.format(level).replace("-", "\N{MINUS SIGN}")
        yield _text(LEFT - 6, at + 4, f"{named}{chart.unit}", anchor="end")
    for number in ticks(0, most_x):
        yield _text(placed((number, 0))[0], HEIGHT - BOTTOM + 16, f"{number:,}", anchor="middle")
    yield _text((LEFT + right) / 2, HEIGHT - 6, chart.across, anchor="middle")
    if chart.up:
        yield _text(WIDE, TOP - 3, chart.up, anchor="end")
    yield from _within(right, _lines(chart, placed))
    yield from _ends(chart, placed, right)
    if chart.stop:
        x, y = placed(chart.stop)
        yield f'<circle cx="{_short(x)}" cy="{_short(y)}" r="6" class="jl-stop jl-lead"/>'
    zero = placed((0, 0))[1]  # a side without room is not named
    for y, text, room in (
        (TOP + 10, chart.above, zero - TOP),
        (HEIGHT - BOTTOM - 3, chart.below, HEIGHT - BOTTOM - zero),
    ):
        if text and room > FEWEST_APART:
            yield _text(right - 8, y, text, anchor="end")  # where bounds are narrow


def _within(right: float, parts: Iterable[str]) -> Iterator[str]:
    """Yield parts that are cut at the edges of a chart: an SVG in another one hides what is outside."""
    x, y, width, height = LEFT - 4, TOP - 4, right - LEFT + 8, HEIGHT - TOP - BOTTOM + 8
    yield f'<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{x} {y} {width} {height}">'
    yield from parts
    yield "</svg>"


def _lines(chart: Chart, placed: Callable[[Point], Point]) -> Iterator[str]:
    if chart.band:
        lower, upper = ([placed(point) for point in side] for side in chart.band)
        yield f'<path d="{path([*upper, *reversed(lower)])}Z" class="jl-band jl-lead"/>'
    for line in sorted(chart.lines, key=lambda line: ORDER.index(line.role)):
        yield f'<path d="{path(map(placed, line.points))}" class="jl-line jl-{line.role}"/>'


def _ends(chart: Chart, placed: Callable[[Point], Point], right: float) -> Iterator[str]:
    """Yield the names of lines beside the chart, none over another, each led to the end of its line.

    Without an order, of lines that end at about one height the lead is the first, then those that end the farthest to
    the right.
    """
    ends = [(line, *placed(line.points[-1])) for line in chart.lines if line.name]

    def rank(one: tuple[Curve, float, float]) -> tuple[float, bool, float]:
        line, x, y = one
        at = chart.order.index(line.name) if line.name in chart.order else len(chart.order) + y / FEWEST_APART
        return round(at), line.role != "lead", -x

    named = sorted((one for one in ends if TOP <= one[2] <= HEIGHT - BOTTOM), key=rank)
    highest = TOP + (FEWEST_APART - 3) * bool(chart.up)  # below the name of the axis
    tops = accumulate((max(highest, y) for _, _, y in named), max)
    heights = spread([*tops], FEWEST_APART, HEIGHT - BOTTOM)
    for (line, x, end), y in zip(named, heights, strict=True):
        if line.role != "lead" or abs(y - end) > 1:
            yield f'<path d="{path([(x, end), (right + 10, y)])}" class="jl-led jl-{line.role}"/>'
            yield f'<circle cx="{_short(x)}" cy="{_short(end)}" r="3" class="jl-dot jl-{line.role}"/>'
        yield _text(right + 13, y + 4, shortened(line.name, LONGEST_NAME), f"jl-name jl-{line.role}")


def _bar(bar: Bar) -> Iterator[str]:
    """Yield a part of the bar for each count above 0, with the number in it if there is room."""
    at = 0.0
    total = sum(number for _, number, _ in bar.parts) or 1
    for name, number, side in bar.parts:
        width = 100 * number / total
        if number:
            yield f'<rect x="{at:.2f}%" y="0" width="{width:.2f}%" height="{BAR_HEIGHT}" class="jl-{side}">'
            yield f"<title>{escape(name)}: {number:,}</title></rect>"
        if len(f"{number:,}") * 2 * SMALL_LETTER < width / 100 * NARROWEST:
            yield _placed(f"{at + width / 2:.2f}%", BAR_HEIGHT / 2 + 5, f"{number:,}", "jl-number", "middle")
        at += width


def _scale(scale: Scale) -> Iterator[str]:
    """Yield the marks, the rows over them, and the names of the marks below."""
    bottom = len(scale.rows) * ROW

    def at(value: float) -> float:
        share = (min(max(value, scale.low), scale.high) - scale.low) / (scale.high - scale.low)
        return EDGE + share * (100 - 2 * EDGE)

    for value, _ in scale.marks:
        yield _upright(at(value), AXIS - 6, bottom + 4, "jl-grid")
    if scale.bound:
        yield _upright(at(scale.bound[0]), AXIS - 6, bottom + 4, "jl-line jl-bound")
    room = NARROWEST / SMALL_LETTER
    whole = all(len(row.name) + len(row.said) + 1 <= room for row in scale.rows)
    for number, row in enumerate(scale.rows):
        yield from _row(row, number * ROW, at, round(room), whole=whole)
    named = [(at(v), name) for v, name in ([scale.bound] if scale.bound else []) + [*scale.marks]]
    yield from _beside(bottom + TICKS - 5, named)


def _row(row: IntervalRow, top: float, at: Callable[[float], float], room: int, *, whole: bool) -> Iterator[str]:
    """Yield a row: the name and its figures, if there is room for all, and below it the interval."""
    kind = "jl-name jl-lead" if row.role == "lead" else "jl-name"
    yield _placed("0", top + 14, shortened(row.name, room), kind)
    if whole:
        yield _placed("100%", top + 14, row.said, kind, "end")
    y = top + AXIS
    yield f'<line x1="{EDGE}%" x2="{100 - EDGE}%" y1="{y}" y2="{y}" class="jl-grid"/>'
    if row.interval:
        low, high = map(at, row.interval)
        width = max(0.4, high - low)
        yield f'<rect x="{low:.2f}%" y="{y - 4}" width="{width:.2f}%" height="8" rx="4" class="jl-range jl-{row.role}"/>'
    if row.value is not None:
        yield _upright(at(row.value), y - 7, y + 7, f"jl-line jl-upright jl-{row.role}")


def _upright(x: float, top: float, bottom: float, kind: str) -> str:
    return f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{_short(top)}" y2="{_short(bottom)}" class="{kind}"/>'


def _beside(y: float, texts: Iterable[tuple[float, str]]) -> Iterator[str]:
    """Yield texts in a row within the picture; of those that would touch, the first."""
    taken: list[tuple[float, float]] = []
    for at, text in texts:
        wide = (len(text) + 1) * SMALL_LETTER / NARROWEST * 100
        anchor = "start" if at < wide / 2 else "end" if at > 100 - wide / 2 else "middle"
        begin = at - wide * ("start", "middle", "end").index(anchor) / 2
        if all(begin + wide <= low or high <= begin for low, high in taken):
            taken.append((begin, begin + wide))
            yield _placed(f"{at:.2f}%", y, text, "jl-soft", anchor)
