"""How selectors and rules fared, as text and JSON: the best marked, what to put on the command
line, what it rests on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from judgeloop.calibration.result import CalibrationFigures, Figure, Strategy, advised, keeps_its_risk
from judgeloop.calibration.text import calibration_json, render_calibration


def tried(selector, rule, judgments, wrong, risk=0.1, **more):
    figures = (Figure(judgments, 1.25), Figure(wrong, 0.01), Figure(0.05, 0.02))
    return Strategy(risk, selector, rule, judgments=figures[0], wrong=figures[1], undecided=figures[2], **more)


TODAY = tried("random", "sequential", 80, 0.02)
TIE_AWARE = tried("decisive", "tie-aware", 40, 0.025)
CALIBRATED = tried("decisive", "calibrated", 20, 0.1)


def fared(*rows, **more):
    values = {
        "source": "the ledger", "judge": "openai/gpt-4.1", "beside": (), "baseline": "prod", "comparisons": 12, "found": 12,
        "most_with_one": 12, "known_verdicts": 1200, "known_comparisons": 12, "systems": 13, "items": 100, "repetitions": 10,
        "exponent": 1.5411, "item_cost_p": 4 * 10**9, "looking_back": {}, "always": {}, "strategies": rows,
    }  # fmt: skip
    return CalibrationFigures(**(values | more))


def deciding(rule, judgments, undecided):
    return replace(tried("random", rule, judgments, 0.0), undecided=Figure(undecided, 0.0))


WRONG, NEVER = replace(TODAY, wrong=Figure(0.3, 0.1)), deciding("calibrated", 10, 1.0)
TOO_FEW = Strategy(0.1, "decisive", "calibrated", instead=1.0)
LOOKING_BACK = {"looking_back": {"history": "my past.csv"}, "always": {"max_judgments": "50"}}
PAGES = {
    "advice": fared(TODAY, TIE_AWARE, CALIBRATED),
    "a heuristic": fared(TODAY, TIE_AWARE),
    "nothing clearly better": fared(TODAY, tried("decisive", "tie-aware", 90, 0.02)),
    "all wrong too often": fared(WRONG, NEVER),
    "none named a winner": fared(deciding("sequential", 50, 1.0)),
    "too few": fared(TODAY, TOO_FEW),
    "too few for a new one, too": fared(TODAY, TOO_FEW, most_with_one=8),
    "too few, without a baseline": fared(TODAY, TOO_FEW, baseline=None),
    "a part fell back": fared(TODAY, replace(CALIBRATED, instead=0.25)),
    "settings of a rule that looks back": fared(TODAY, CALIBRATED, **LOOKING_BACK),
    "settings of one that does not": fared(TODAY, TIE_AWARE, **LOOKING_BACK),
    "nothing charged": fared(TODAY, item_cost_p=None),
    "left out, and drawn": fared(TODAY, beside=("x, 40 verdicts",), found=300, baseline=None),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name, snapshot):
    assert render_calibration(PAGES[name]) == snapshot


def test_nothing_charged_is_null_in_json():
    assert calibration_json(PAGES["nothing charged"])["tried"][0]["usd"] is None


def test_a_choice_wrong_more_often_than_stated_is_never_the_best():
    rows = (TODAY, TIE_AWARE, tried("decisive", "calibrated", 20, 0.101))
    assert advised(fared(*rows), 0.1) is TIE_AWARE


def test_a_heuristic_rule_is_best_only_if_one_more_error_keeps_the_risk():
    # Twelve comparisons: (12 · 0.025 + 1) / 13 = 0.1.
    assert advised(fared(TODAY, TIE_AWARE), 0.1) is TIE_AWARE
    assert advised(fared(TODAY, replace(TIE_AWARE, wrong=Figure(0.026, 0.01))), 0.1) is TODAY


def test_the_best_takes_the_fewest_judgments_for_each_right_winner_that_it_names():
    often, seldom, never = map(deciding, ("tie-aware", "hypergeometric", "calibrated"), (40, 30, 10), (0.1, 0.5, 1.0))
    # 44 a winner, where the others take 60 and name none.
    assert advised(fared(TODAY, often, seldom, never), 0.1) is often
    assert advised(fared(never), 0.1) is None


def test_another_than_the_default_is_advised_only_if_clearly_better():
    near, clear = (tried("decisive", "calibrated", 79, 0.02), tried("decisive", "calibrated", 78, 0.02))
    assert advised(fared(TODAY, near), 0.1) is TODAY
    assert advised(fared(TODAY, clear), 0.1) is clear


def test_a_mean_that_rounding_lifts_over_the_risk_keeps_it():
    mean = (0.1 + 0.1 + 0.1) / 3
    assert mean > 0.1
    assert keeps_its_risk(replace(CALIBRATED, wrong=Figure(mean, 0.0)), 3)
    assert not keeps_its_risk(replace(CALIBRATED, wrong=Figure(0.1001, 0.0)), 3)


def test_a_wrong_winner_is_no_saving():
    wrong, right = tried("decisive", "calibrated", 48, 0.1), tried("random", "calibrated", 49, 0.04)
    assert advised(fared(TODAY, wrong, right), 0.1) is right


def test_each_risk_has_its_own_best():
    rows = (TODAY, CALIBRATED, tried("random", "sequential", 60, 0.02, risk=0.2))
    assert advised(fared(*rows), 0.1) is CALIBRATED
    assert advised(fared(*rows), 0.2) is rows[2]


def test_names_that_steer_a_terminal_are_taken_apart():
    assert "\x1b" not in render_calibration(
        fared(TODAY, source="a\x1b[2J", judge="b\x1b", baseline="c\x1b", beside=("d\x1b",))
    )


def test_json_has_dollars_shares_and_settings():
    found = json.loads(json.dumps(calibration_json(fared(TODAY, CALIBRATED)), allow_nan=False))
    assert (found["job"], found["usd_per_item"], found["baseline"]) == ("calibrate", 0.004, "prod")
    assert [one["usd"] for one in found["tried"]] == pytest.approx([0.32, 0.08])
    assert [one["best"] for one in found["tried"]] == [False, True]
    assert found["tried"][1]["wrong"] == {"mean": 0.1, "error": 0.01}
    assert found["advice"] == [{"risk": 0.1, "settings": {"selector": "decisive", "rule": "calibrated", "risk": "0.1"}}]
