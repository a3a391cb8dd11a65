from __future__ import annotations

import json

import pytest
from support.commandline import in_a_command
from support.results import SPEND, make_result, undecided

from judgeloop.cli.files import render_json, write_output
from judgeloop.core.outcomes import Control, ControlTally, StopKind, StopReason, Tally
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.core.spend import Spend
from judgeloop.methods.stats.intervals import wilson_interval
from judgeloop.report.labels import render_csv


def strict_json(text):
    def refuse(name):
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def test_the_json_has_these_fields(snapshot):
    assert render_json(make_result()) == snapshot


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (make_result(), 0),
        (make_result(required_winner="large"), 0),
        (make_result(required_winner="small"), 5),
        (undecided(), 3),
        (undecided(required_winner="small"), 3),
        (undecided(StopKind.JUDGMENT_LIMIT), 3),
        (undecided(StopKind.JUDGE_FAILED), 4),
        (undecided(StopKind.ABSTENTIONS), 4),
        (undecided(StopKind.INTERRUPTED), 130),
    ],
)
def test_the_json_has_the_exit_code(result, code):
    assert strict_json(render_json(result))["exit_code"] == result.exit_code == code


def test_a_panels_votes_its_agreement_and_controls_are_in_the_json():
    votes = [(1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.0, None, 0.0)]
    labels = tuple(Label(Choice(n, None), Verdict(three[0], votes=three)) for n, three in enumerate(votes))
    result = make_result(
        judge="a/1 + b/2 + c/3", vote="mean", labels=labels, judge_models=(("1",), (), ("3", "4")),
        controls=(ControlTally(1, 2, 3, 4, Control.FAILED), None, None),
    )  # fmt: skip
    fields = strict_json(render_json(result))
    assert fields["agreement"] == {
        "name": "Fleiss' kappa", "value": 1.0, "items": 2, "same": 2, "interval": list(wilson_interval(2, 2))
    }  # fmt: skip
    assert fields["judge_models"] == [["1"], [], ["3", "4"]]
    first, *others = fields["controls"]
    found = {"right": 1, "tied": 2, "wrong": 3, "abstained": 4, "end": "failed", "number": 1, "model": ""} | {
        "flipped": 0
    }
    assert first == found
    assert others == [None, None]
    assert [row.votes for row in result.labels] == votes


def test_amounts_that_nobody_knows_are_null_in_json():
    fields = strict_json(render_json(undecided(spend=Spend(known=False))))
    amounts = ("spent_usd", "run_spent_usd", "more_usd", "budget_usd")
    assert [fields[name] for name in amounts] == [None] * 4


def test_a_result_without_any_verdict_is_still_json():
    fields = strict_json(render_json(undecided(tally=Tally(items=100), more_judgments=None)))
    assert (fields["leader"], fields["gap"], fields["flip_rate"]) == (None, None, None)


def test_json_is_ascii_and_gives_strangers_text_back_exactly():
    name = "x\x1b[31m\u202e\u200b\n\ud800"
    text = render_json(make_result(systems=(name, "b"), winner=0))
    assert text.isascii()
    assert "\x1b" not in text
    assert strict_json(text)["winner"] == name


def test_a_setting_that_a_sentence_names_is_a_flag_in_json():
    stop = StopReason(StopKind.BUDGET, "with a higher `budget` it goes on")
    with in_a_command():
        fields = strict_json(render_json(make_result(winner=None, stop=stop, asked_anew="see `max_judgments=9`")))
    assert fields["stop_sentence"] == "with a higher --budget it goes on"
    assert fields["asked_anew"] == "see --max-judgments 9"


def test_a_system_called_like_a_setting_keeps_its_name_in_json():
    with in_a_command():
        fields = strict_json(render_json(make_result(systems=("`seed`", "b"), winner=0)))
    assert fields["winner"] == fields["systems"][0] == "`seed`"


FORMS = {
    ".json": render_json,
    ".md": lambda result: f"<!-- judgeloop -->\n\n{result.to_markdown()}",
    ".txt": lambda result: f"{result.to_text()}\n",
    ".html": lambda result: result.to_html(),
    ".csv": lambda result: render_csv(result.labels),
    ".tex": lambda result: result.to_latex(),
}


@pytest.mark.parametrize("ending", FORMS)
def test_a_result_is_written_in_the_form_of_the_files_ending(tmp_path, ending):
    path = tmp_path / f"result{ending}"
    path.write_text("an older and much longer result" * 1000, encoding="utf-8")
    write_output(path, make_result())
    assert path.read_text(encoding="utf-8") == FORMS[ending](make_result())
    assert list(tmp_path.iterdir()) == [path]


def test_what_more_judgments_would_cost_rests_on_this_runs_mean():
    # 10 items were asked for $0.042, so 5 more cost half of that.
    # 5 judgments of 1.9 calls: 9 of the 10 verdicts were asked in both orders.
    mean_p = SPEND.run_p / SPEND.paid_attempts
    assert undecided(more_judgments=5).more_usd == pytest.approx(mean_p * 5 * 1.9 / 10**12)
