from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results import make_result, undecided

from judgeloop.core.outcomes import Control, ControlTally, Outcome, StopKind, StopReason, Tally
from judgeloop.report.forms import render_junit

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
    case, *others = suite.iter("testcase")
    found = [part.tag for part in case if part.tag != "system-out"]
    assert found == ([] if ends is None else [ends])
    assert (ends is None) == (result.exit_code == 0)
    assert (suite.get("failures"), suite.get("errors")) == counts
    assert suite.get("tests") == str(1 + len(others))
    if ends is not None:
        message = case.find(ends).get("message")
        assert message == result.page.head
        assert ("the judge failed: HTTP 401" in message) == (result.stop_reason is FAILED.kind)


def test_it_names_the_question_and_the_systems_and_holds_the_whole_text():
    (case,) = read(make_result()).iter("testcase")
    assert case.get("classname") == "judgeloop.compare"
    assert case.get("name") == "small or large"
    assert "What it cost" in case.findtext("system-out")


@given(name=st.text(min_size=1))
def test_any_name_makes_xml_that_can_be_read(name):
    case, *_ = read(make_result(systems=(name, "large"), required_winner="small")).iter("testcase")
    assert case.find("failure") is not None


def cases(result):
    """The tests of a suite: the kind of the element that says why each did not pass."""
    return {
        case.get("name"): next((one.tag for one in case if not one.tag.startswith("system")), None)
        for case in read(result).iter("testcase")
    }


GATE = {"required_winner": "large"}
FLIPPED = Tally(items=100, wins=(1, 8), ties=1, both=10, flips=3)


def test_abstentions_and_cost_are_tests_of_a_gate_and_of_no_other_result():
    assert cases(make_result()) == {"small or large": None}
    gate = {"large is better than small": None, "flips": None, "abstentions": None, "cost": None}
    assert cases(make_result(**GATE)) == gate
    used_up = undecided(StopKind.BUDGET, "the budget is used up", **GATE)
    assert cases(used_up)["cost"] == "failure"
    failed = undecided(StopKind.ABSTENTIONS, "too many", **GATE)
    assert cases(failed)["abstentions"] == "error"
    assert failed.exit_code == 4


@pytest.mark.parametrize(("most", "code", "kind"), [(0.2, 0, None), (0.05, 4, "error")])
def test_more_flips_than_allowed_fail_a_gate_where_they_are_shown(most, code, kind):
    result = make_result(tally=FLIPPED, order="both", max_flips=most)
    assert (result.exit_code, cases(result)["flips"]) == (code, kind)
    assert result.answer is Outcome.DECIDED, "the result stands; the judge is not to be trusted"
    answer = next(read(result).iter("testcase"))
    assert answer.find("failure") is None
    assert not answer.findtext("system-out").startswith("FAILED"), "a test that passes"
    assert result.outcome is (Outcome.BROKEN if kind else Outcome.PASSED)


def test_verdicts_for_groups_count_among_the_flips():
    counts = replace(make_result(tally=FLIPPED, order="both").counts, both_in_all=99, flips_in_all=29)
    held = replace(make_result(tally=FLIPPED, order="both", max_flips=0.2), counts=counts)
    flips = next(one for one in held.conditions if one.name == "flips")
    assert flips.outcome is Outcome.BROKEN
    assert flips.said == (
        "29 of 99 verdicts that named a system changed in the other order: shown to be more than 20 % (95 % interval 21 % to 39 %; p = 0.017, and "
        "0.05 or less fails)"
    )


def test_where_no_verdict_could_flip_the_gate_holds():
    result = make_result(order="both", max_flips=0.0)
    assert (result.exit_code, cases(result)["flips"]) == (0, None)


def test_the_controls_of_each_judge_are_a_test():
    passed, cut = ControlTally(right=9, end=Control.PASSED), ControlTally(right=2)
    gate = {**GATE, "judge": "openai/a + openai/b", "controlled": True}
    result = make_result(controls=(passed, cut), **gate)
    found = cases(result)
    assert (found["controls of openai/a"], found["controls of openai/b"]) == (None, "failure")
    assert result.exit_code == 3


def test_a_budget_that_left_the_answer_open_fails_both_and_says_so_in_a_word():
    open_ = make_result(winner=None, stop=StopReason(StopKind.BUDGET, "the budget is used up"), required_winner="large")
    assert [name for name, case in cases(open_).items() if case == "failure"] == ["large is better than small", "cost"]
    assert read(open_).find(".//failure").get("message").startswith("OPEN: ")
