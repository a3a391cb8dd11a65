"""Pictures: numbers to drawings that carry their own words."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.report.pictures import Bar, Chart, Curve, IntervalRow, Scale
from judgeloop.report.svg import Drawing, draw, spread, ticks

LEAD = Curve("+2", "lead", ((0, 0), (1, 1), (2, 2)))
BOUND = Curve("", "bound", ((1, 2), (2, 2)))
CHART = Chart("Lead", "It rises to 2.", "judgments", (LEAD, BOUND), above="a", below="b", stop=(2, 2))
BAR = Bar("Votes", "3 to 1", (("a", 3, "won"), ("none", 0, "tie"), ("b", 1, "lost")))
ROW = IntervalRow("large", "+0.50", 0.5, (0.25, 0.75))
SCALE = Scale("Gap", "It is 0.5.", -1, 1, (ROW,), ((0.0, "level"),))


def parts(picture, kind):
    root = ET.fromstring(draw(picture))
    return [one for one in root.iter() if set(kind.split()) <= set((one.get("class") or "").split())]


@pytest.mark.parametrize("picture", [CHART, BAR, SCALE])
def test_a_picture_has_its_words_for_who_does_not_see_it(picture):
    root = ET.fromstring(draw(picture))
    assert root.get("role") == "img"
    assert root.get("aria-label") == picture.said


def test_a_lead_meets_its_boundary_where_the_run_stopped():
    ends = [re.split("[ML]", one.get("d"))[-1] for one in parts(CHART, "jl-line jl-lead")]
    (bound,) = parts(CHART, "jl-bound")
    (stop,) = parts(CHART, "jl-stop")
    assert ends == [re.split("[ML]", bound.get("d"))[-1]] == [f"{stop.get('cx')} {stop.get('cy')}"]


def test_a_side_of_zero_that_no_line_is_on_is_not_named():
    below = replace(CHART, lines=(LEAD, Curve("", "bound", ((0, -2), (2, -2)))))
    assert [one.text for one in parts(CHART, "jl-soft") if one.text in {"a", "b"}] == ["a"]
    assert [one.text for one in parts(below, "jl-soft") if one.text in {"a", "b"}] == ["a", "b"]


def test_a_bar_shares_its_width_by_the_counts():
    widths = [parts(BAR, f"jl-{side}")[0].get("width") for side in ("won", "lost")]
    assert widths == ["75.00%", "25.00%"]
    assert not parts(BAR, "jl-tie"), "a count of 0 takes no room"


def test_an_interval_lies_around_its_value():
    (span,) = parts(SCALE, "jl-range")
    begin, width = (float(span.get(name).rstrip("%")) for name in ("x", "width"))
    (value,) = parts(SCALE, "jl-upright")
    assert float(value.get("x1").rstrip("%")) == pytest.approx(begin + width / 2, abs=0.1)


def test_a_name_stands_whole_and_figures_are_left_out_without_room():
    long = IntervalRow("a-name-of-forty-letters-which-some-have-x", "0.25 to 0.75", None, (0.25, 0.75))
    drawn = draw(replace(SCALE, rows=(ROW, long)))
    assert long.name in drawn
    assert ROW.said not in drawn
    assert ROW.said in draw(SCALE)


def test_names_beside_a_chart_stand_outside_of_it_and_are_led_to_their_lines():
    short, other = (Curve("early", "first", ((0, 2), (1, 2))), Curve("late", "lead", ((0, 0), (2, 1.9))))
    chart = replace(CHART, lines=(short, other), stop=None)
    (edge,) = {float(re.search(r"H([\d.]+)", one.get("d"))[1]) for one in parts(chart, "jl-grid")}
    names = {one.text: float(one.get("x")) for one in parts(chart, "jl-name")}
    assert set(names) == {"early", "late"}
    assert all(x > edge for x in names.values())
    (led,) = parts(chart, "jl-led jl-first")
    assert led.get("d").startswith(re.search(r"[\d.]+ [\d.]+$", parts(chart, "jl-line jl-first")[0].get("d"))[0], 1)


def test_what_the_values_are_stands_above_all_names_and_lines_that_end_apart_are_led_apart():
    lines = tuple(Curve(name, "other", ((0, 9), (end, 9))) for name, end in (("early", 2), ("late", 4)))
    chart = Chart("Bounds", "Both end at 9.", "judgments", lines, up="highest win rate")
    (up,) = [one for one in parts(chart, "jl-soft") if one.text == "highest win rate"]
    assert all(float(one.get("y")) - float(up.get("y")) >= 15 for one in parts(chart, "jl-name"))
    leads = [[point.split()[0] for point in re.split("[ML]", one.get("d"))[1:]] for one in parts(chart, "jl-led")]
    assert len({begin for begin, _ in leads}) == len(lines)


def test_what_is_out_of_view_is_cut_and_the_axis_has_what_is_in_it():
    chart = replace(CHART, below="", unit=" %", view=(10, 20), lines=(Curve("a", "lead", ((0, 100), (9, 12))),))
    levels = [one.text for one in parts(chart, "jl-soft") if one.text.endswith("%")]
    assert levels == ["10 %", "12 %", "14 %", "16 %", "18 %", "20 %"]
    (inner,) = ET.fromstring(draw(chart)).findall("{http://www.w3.org/2000/svg}svg")
    assert inner.get("viewBox").split()[:2] == [inner.get("x"), inner.get("y")]


def test_a_strangers_name_is_no_markup():
    evil = "<script>alert(1)</script>"
    drawn = draw(Bar(evil, evil, ((evil, 1, "won"),)))
    assert "<script" not in drawn
    ET.fromstring(drawn)


def test_a_drawing_stands_alone_with_colours_that_any_viewer_knows():
    drawn = Drawing(CHART)
    assert drawn._repr_svg_() == str(drawn)
    assert ">Lead</text>" in str(drawn)
    assert not re.search(r"var\(|--|@media", str(drawn))
    for inner in ET.fromstring(str(drawn)).iter("{http://www.w3.org/2000/svg}svg"):
        assert {"width", "height"} <= set(inner.attrib)
    assert repr(drawn) == "<Drawing: It rises to 2.>"


@given(st.integers(-5000, 5000), st.integers(1, 100_000), st.integers(2, 12))
def test_ticks_are_few_even_whole_and_within(low, size, most):
    found = ticks(low, low + size, most)
    assert len(found) <= most + 1
    assert all(low <= one <= low + size for one in found)
    assert len({b - a for a, b in itertools.pairwise(found)}) <= 1


@given(st.lists(st.floats(0, 200), max_size=10))
def test_names_at_the_ends_of_lines_are_apart(places):
    found = spread(places, 16, 200)
    ordered = sorted(found)
    assert all(b - a > 15.9 for a, b in itertools.pairwise(ordered))
    assert all(one <= 200 for one in found)
    ranks = sorted(range(len(places)), key=places.__getitem__)
    assert [found[one] for one in ranks] == ordered


def test_a_picture_for_a_paper_has_a_width_in_inches_and_no_title():
    drawn = Drawing(CHART)
    paper = ET.fromstring(drawn.for_paper(3.4))
    assert paper.get("width") == "3.4in"
    *_, wide, height = map(float, paper.get("viewBox").split())
    assert float(paper.get("height").removesuffix("in")) == pytest.approx(3.4 * height / wide, abs=1e-3)
    assert CHART.title in str(drawn)
    assert f">{CHART.title}<" not in drawn.for_paper()
