"""How selectors and rules fared, as text and JSON: the best marked, what to put on the command
line, what it rests on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from judgeloop.calibration.result import (
    CalibrationFigures,
    Figure,
    Strategy,
    advised,
    keeps_its_risk,
)
from judgeloop.calibration.text import calibration_json, render_calibration


def tried(selector, rule, judgments, wrong, risk=0.1, **more):
    figures = (Figure(judgments, 1.25), Figure(wrong, 0.01), Figure(0.05, 0.02))
    return Strategy(
        risk, selector, rule, judgments=figures[0], wrong=figures[1], undecided=figures[2], **more
    )


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


def advice(*rows, **more):
    return render_calibration(fared(*rows, **more)).split("\n\n")[0] + "\n"


def test_all_of_it():
    assert render_calibration(fared(TODAY, TIE_AWARE, replace(CALIBRATED, rule="calibrated"))) == (
        "at a risk of 0.1: `selector=decisive` `rule=calibrated` `risk=0.1`\n"
        "  20 judgments ($0.080) a comparison, 5% undecided; today's default (random, sequential) 80 judgments ($0.32) a comparison, 5% undecided: "
        "73% saved for each right winner; its promise holds on average over comparisons like these\n"
        "\n"
        "12 past comparisons replayed, 10 times each, as if each were new; nobody was asked\n"
        "  from      the ledger\n"
        "  replayed  13 systems on 100 items, each with prod\n"
        "  judge     openai/gpt-4.1\n"
        "  decisive  by the exponent 1.5. It learns from 1,200 verdicts of 12 comparisons\n"
        "  *         advised: the fewest judgments for each right winner, if clearly fewer than the default's, of those wrong no more often than "
        "the risk; of rules that promise nothing, with one more wrong\n"
        "\n"
        "   risk  selector  rule         judgments  dollars     wrong %  undecided %\n"
        "   0.1   random    sequential  80.0 ± 1.2    $0.32   2.0 ± 1.0    5.0 ± 2.0\n"
        "   0.1   decisive  tie-aware   40.0 ± 1.2    $0.16   2.5 ± 1.0    5.0 ± 2.0\n"
        "*  0.1   decisive  calibrated  20.0 ± 1.2   $0.080  10.0 ± 1.0    5.0 ± 2.0\n"
        "\n"
        "wrong: who was named does not lead over all items of the comparison. This rests on 12 comparisons of 13 systems, which for ± are "
        "taken to be independent; the best of so many looks better than it is, and it is no promise for another judge, prompt or test set"
    )


def test_a_choice_wrong_more_often_than_stated_is_never_the_best():
    rows = (TODAY, TIE_AWARE, tried("decisive", "calibrated", 20, 0.101))
    assert advised(fared(*rows), 0.1) is TIE_AWARE


def test_a_heuristic_rule_is_best_only_if_one_more_error_keeps_the_risk():
    # Twelve comparisons: (12 · 0.025 + 1) / 13 = 0.1.
    assert advised(fared(TODAY, TIE_AWARE), 0.1) is TIE_AWARE
    assert advised(fared(TODAY, replace(TIE_AWARE, wrong=Figure(0.026, 0.01))), 0.1) is TODAY


def deciding(rule, judgments, undecided):
    return replace(tried("random", rule, judgments, 0.0), undecided=Figure(undecided, 0.0))


def test_the_best_takes_the_fewest_judgments_for_each_right_winner_that_it_names():
    often, seldom, never = map(
        deciding, ("tie-aware", "hypergeometric", "calibrated"), (40, 30, 10), (0.1, 0.5, 1.0)
    )
    # 44 a winner, where the others take 60 and name none.
    assert advised(fared(TODAY, often, seldom, never), 0.1) is often
    assert advised(fared(never), 0.1) is None


def test_why_nothing_is_advised_is_said():
    wrong, never = replace(TODAY, wrong=Figure(0.3, 0.1)), deciding("calibrated", 10, 1.0)
    assert "none that named a winner was wrong seldom enough to be advised" in advice(wrong, never)
    assert "at a risk of 0.1 none named a winner; stay with random and sequential" in advice(
        deciding("sequential", 50, 1.0), never
    )


def test_another_than_the_default_is_advised_only_if_clearly_better():
    near, clear = (
        tried("decisive", "calibrated", 79, 0.02),
        tried("decisive", "calibrated", 78, 0.02),
    )
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


def test_where_nothing_is_better_the_default_is_said_to_be_best():
    assert advice(TODAY, tried("decisive", "tie-aware", 90, 0.02)).startswith(
        "at a risk of 0.1 nothing would have served clearly better than today's default, random with sequential\n"
    )


def test_a_heuristic_is_advised_with_what_may_be_held_against_it():
    assert (
        "50% saved for each right winner; it promises nothing, and 2.5 ± 1.0 % of these runs were wrong"
        in advice(TODAY, TIE_AWARE)
    )


def test_too_few_comparisons_show_no_figures_and_how_many_it_takes():
    text = render_calibration(fared(TODAY, Strategy(0.1, "decisive", "calibrated", instead=1.0)))
    row = next(line for line in text.splitlines() if "calibrated" in line)
    assert row.split() == ["0.1", "decisive", "calibrated", "too", "few", "-", "-", "-"]
    assert (
        "too few: at a risk of 0.1, calibrated needs 9 others like the comparison that it is tried on"
        in text
    )
    assert "; a new one with prod has 12, and may go by it untried" in text
    assert "untried" not in render_calibration(
        replace(fared(TODAY, Strategy(0.1, "decisive", "calibrated", instead=1.0)), most_with_one=8)
    )


def test_without_a_baseline_a_new_comparison_has_as_many_as_one_system_took_part_in():
    few = fared(TODAY, Strategy(0.1, "decisive", "calibrated", instead=1.0), baseline=None)
    assert (
        "; a new one with one of these systems has up to 12, and may go by it untried"
        in render_calibration(few)
    )


def test_a_part_that_fell_back_is_said():
    text = render_calibration(fared(TODAY, replace(CALIBRATED, instead=0.25)))
    assert "calibrated, 25% sequential" in text
    assert "; 25% had too few others like them, and went by the default" in text


def test_settings_that_only_a_look_back_needs_stand_only_there():
    more = {"looking_back": {"history": "my past.csv"}, "always": {"max_judgments": "50"}}
    assert "`rule=calibrated` `risk=0.1` `history=my past.csv` `max_judgments=50`\n" in advice(
        TODAY, CALIBRATED, **more
    )
    plain = replace(TIE_AWARE, selector="random")
    assert "`rule=tie-aware` `risk=0.1` `max_judgments=50`\n" in advice(TODAY, plain, **more)


def test_nothing_charged_is_no_price_and_not_a_price_of_nothing():
    text = render_calibration(fared(TODAY, item_cost_p=None))
    assert "$" not in text
    assert calibration_json(fared(TODAY, item_cost_p=None))["tried"][0]["usd"] is None


def test_what_was_left_out_and_drawn_from_is_said():
    text = render_calibration(
        fared(TODAY, beside=("metric:rouge2, 40 verdicts",), found=300, baseline=None)
    )
    assert "  left out  metric:rouge2, 40 verdicts\n" in text
    assert "  replayed  13 systems on 100 items; drawn from 300 comparisons\n" in text


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
    assert found["advice"] == [
        {"risk": 0.1, "settings": {"selector": "decisive", "rule": "calibrated", "risk": "0.1"}}
    ]
