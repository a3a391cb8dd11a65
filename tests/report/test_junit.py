from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results import make_result, undecided

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.report.junit import render_junit

FAILED = StopReason(StopKind.JUDGE_FAILED, "the judge failed: HTTP 401")


def read(result):
    """The suite as a CI system reads it."""
    return ET.fromstring(render_junit(result))


@pytest.mark.parametrize(
    ("result", "ends", "counts"),
    [
        (make_result(), None, ("0", "0")),
        (make_result(required_winner="large"), None, ("0", "0")),
        (make_result(required_winner="small"), "failure", ("1", "0")),
        (undecided(StopKind.BUDGET, "the budget is used up"), "failure", ("1", "0")),
        (make_result(winner=None, stop=FAILED), "error", ("0", "1")),
        (undecided(StopKind.INTERRUPTED, "interrupted"), "error", ("0", "1")),
    ],
)
def test_the_test_passes_exactly_if_the_command_exits_with_0(result, ends, counts):
    suite = read(result)
    (case,) = suite.iter("testcase")
    found = [part.tag for part in case if part.tag != "system-out"]
    assert found == ([] if ends is None else [ends])
    assert (ends is None) == (result.exit_code == 0)
    assert (suite.get("failures"), suite.get("errors")) == counts
    assert suite.get("tests") == "1"
    if ends is not None:
        assert case.find(ends).get("message") == result.page.headline


def test_it_names_the_question_and_the_systems_and_holds_the_whole_text():
    (case,) = read(make_result()).iter("testcase")
    assert case.get("classname") == "judgeloop.compare"
    assert case.get("name") == "small or large"
    assert "What the stated risk means" in case.findtext("system-out")


@given(name=st.text(min_size=1))
def test_any_name_makes_xml_that_can_be_read(name):
    (case,) = read(make_result(systems=(name, "large"), required_winner="small")).iter("testcase")
    assert case.find("failure") is not None
