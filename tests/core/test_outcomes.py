"""How a run stands to what was asked, and the exit code that follows, in every state that it may end in."""

from __future__ import annotations

from itertools import product

from judgeloop.core.outcomes import Outcome, StopKind, outcome_of

# Without a winner, the exit code by what was required and whether failures took the budget:
# nothing; nothing, lost; a winner; a winner, lost.
WITHOUT = {
    "risk_met": (3, 4, 3, 4),
    "precise_enough": (3, 4, 3, 4),
    "all_judged": (3, 4, 3, 4),
    "no_difference": (0, 0, 3, 4),
    "not_worse": (0, 0, 0, 0),
    "futility": (3, 4, 3, 4),
    "pool_exhausted": (3, 4, 3, 4),
    "judgment_limit": (3, 4, 3, 4),
    "budget": (3, 4, 3, 4),
    "too_many_abstentions": (4, 4, 4, 4),
    "judge_failed": (4, 4, 4, 4),
    "system_failed": (4, 4, 4, 4),
    "controls_not_passed": (4, 4, 4, 4),
    "judge_changed": (4, 4, 4, 4),
    "other_model": (4, 4, 4, 4),
    "interrupted": (130, 130, 130, 130),
    "deadline": (3, 4, 3, 4),
    "dry_run": (3, 4, 3, 4),
}
# With one, whatever ended the run: by whether any winner fails, and whether less is shown of it than was required;
# for no system required, the winner, and the other one.
WITH = {(False, False): (0, 0, 5), (False, True): (3, 3, 3), (True, False): (5, 5, 5), (True, True): (3, 3, 3)}


def test_the_exit_code_of_every_state_is_that_of_the_table():
    seen = 0
    for stop, winner, required in product(StopKind, (None, "a", "b"), (None, "a", "b")):
        for fails, short, lost in product((False, True), repeat=3):
            found = outcome_of(stop, winner, required, fails=fails, short=short, lost=lost)
            if winner is None:
                expected = WITHOUT[stop][2 * (required is not None) + lost]
            else:
                expected = WITH[fails, short][0 if required is None else 1 if required == winner else 2]
            assert found.exit_code == expected, (stop, winner, required, fails, short, lost)
            seen += 1
    assert seen == 1296


def test_of_several_outcomes_the_worst_one_counts():
    order = ["interrupted", "broken", "failed", "not_shown", "undecided", "passed", "decided"]
    assert list(Outcome) == order
    for better, worse in zip(order[1:], order, strict=False):
        assert Outcome.worst([Outcome(better), Outcome(worse), Outcome.DECIDED]) == worse
    assert [Outcome(name).exit_code for name in order] == [130, 4, 5, 3, 3, 0, 0]


def test_a_run_that_broke_off_has_no_answer_and_one_that_failed_a_gate_has():
    assert [one for one in Outcome if one.answered] == ["failed", "not_shown", "passed", "decided"]
    assert [one for one in Outcome if one.broke_off] == ["interrupted", "broken"]
    assert outcome_of(StopKind.NO_DIFFERENCE, None, "a") is Outcome.NOT_SHOWN
    assert outcome_of(StopKind.RISK_MET, "a", "a") is Outcome.PASSED
    assert outcome_of(StopKind.RISK_MET, "a", None) is Outcome.DECIDED
