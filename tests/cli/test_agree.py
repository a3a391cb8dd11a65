"""`judgeloop agree` as people use it: a spreadsheet of labels, ratings, a person at the terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.chat_server import used, verdict
from support.commandline import judged_by, judgeloop
from support.text import unwrapped

from judgeloop.judges import human

ITEMS = 60
WORDS = {1.0: "A is better", 0.5: "about the same", 0.0: "B"}


def truth(at):
    return (1.0, 0.0, 0.0, 0.5, 0.0)[at % 5]


@pytest.fixture(autouse=True)
def files():
    """Two systems, a table of a judge's verdicts, and a sheet of labels under headers that nobody foresaw."""
    for name in ("old", "new"):
        rows = ({"id": f"t{at}", "prompt": f"Question {at}?", "output": f"{name} {at}"} for at in range(ITEMS))
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    verdicts = (f"t{at},old,new,{truth(at) if at % 6 else 0.5}\n" for at in range(ITEMS))
    Path("judge.csv").write_text("item_id,model_a,model_b,score\n" + "".join(verdicts))
    labels = "".join(f"t{at};{WORDS[truth(at)]};fine\n" for at in range(40))
    Path("labels.csv").write_text(f"Ticket #;Which answer is better?;Comment\n{labels}", encoding="utf-8-sig")


def values_of(done):
    return json.loads(done.stdout)


@pytest.fixture
def keys(monkeypatch):
    """The keys that a person presses, the last one for ever."""

    def press(*pressed):
        left = [*pressed]
        monkeypatch.setattr(human, "read_key_from_terminal", lambda: left.pop(0) if left[1:] else left[0])

    return press


def agree(*more, judge="replay:judge.csv", **settings):
    return judgeloop("agree", "old.jsonl", "new.jsonl", "--judge", judge, *more, **settings)


def test_sixty_labels_of_a_spreadsheet_are_read_and_the_first_sentence_answers():
    done = agree("--truth", "labels.csv")
    assert done.exit_code == 0, done.output
    shown = unwrapped(done.stdout)
    assert "judge.csv agrees with you on 85 % of the 40 pairs you labelled" in shown
    assert "labels in 'which_answer_is_better?', items by 'ticket_#'; A is old, B new" in shown
    assert "20 items of the outputs, which count for nothing here" in shown


def test_the_json_and_every_file_have_the_figures_and_the_ledger_shows_them_again():
    files = [word for form in ("json", "html", "md", "csv", "xml", "tex", "txt") for word in ("-o", f"one.{form}")]
    done = agree("--truth", "labels.csv", "--json", *files)
    found = values_of(done)
    assert (found["job"], found["judged"], found["equal"]) == ("agree", 40, 0.85)
    assert json.loads(Path("one.json").read_text())["kappa_interval"] == found["kappa_interval"]
    assert "May this judge be trusted?" in Path("one.html").read_text()
    assert len(Path("one.csv").read_text().splitlines()) == 41
    shown = judgeloop("runs", "show", found["run"])
    assert "agrees with you on 85 %" in unwrapped(shown.stdout)


@pytest.mark.parametrize(("least", "code"), [("0.6", 0), ("0.85", 5), ("0.8", 3)])
def test_a_gate_is_the_exit_code(least, code):
    done = agree("--truth", "labels.csv", "--require-agreement", least, "--zone", "0.11")
    assert done.exit_code == code, done.output


def test_a_dry_run_asks_nobody():
    done = agree("--truth", "labels.csv", "--dry-run", judge="openai/gpt-4.1-mini")
    assert done.exit_code == 0, done.output
    assert "40" in done.stdout
    assert not Path(".judgeloop").exists()


def test_a_person_is_asked_until_the_gate_has_an_answer_and_is_not_asked_again(keys):
    keys("t")
    done = agree("--truth", "human", "--require-agreement", "0.6", "--json")
    assert done.exit_code == 5, done.output
    found = values_of(done)
    assert found["gates"] == [{"name": "agreement", "worst": 0.6, "best": 0.7, "state": "failed"}]
    assert found["judged"] < 30
    assert (found["chosen"], found["looked_at_once"]) == (False, False)
    keys("")  # nobody is there
    again = agree("--truth", "human", "--require-agreement", "0.6", "--json")
    assert again.exit_code == 5
    assert values_of(again)["equal"] == found["equal"]
    assert (
        values_of(agree("--truth", "human", "--require-agreement", "0.6", "--dry-run", "--json"))["calls"]["worst"] == 0
    )


@pytest.mark.parametrize("truth", ["human", "labels.csv"])
def test_a_dry_run_counts_the_controls_of_the_judge_whoever_is_believed(truth):
    for name in ("old.jsonl", "new.jsonl"):
        rows = [json.loads(line) for line in Path(name).read_text().splitlines()]
        longer = [one | {"reference": f"{one['id']} is the answer to this question alone"} for one in rows]
        Path(name).write_text("".join(f"{json.dumps(one)}\n" for one in longer))
    plain, controlled = (
        values_of(agree("--truth", truth, "--controls", asked, "--dry-run", "--json", judge="openai/gpt-4.1-mini"))
        for asked in ("off", "on")
    )
    more = {case: calls - plain["calls"][case] for case, calls in controlled["calls"].items()}
    assert 0 < more["low"] == more["expected"] < more["worst"]
    assert controlled["judgments"] == plain["judgments"]


def test_a_dry_run_counts_the_judge_people_and_their_second_readings(keys):
    flags = ("--truth", "human", "--max-judgments", "20")
    plain = values_of(agree(*flags, "--dry-run", "--json"))
    assert (plain["judgments"]["low"], plain["calls"]["expected"]) == (20, 40)
    gated = ("--require-agreement", "0.6")
    few = values_of(agree(*flags, *gated, "--dry-run", "--json"))
    assert few["judgments"]["low"] < few["judgments"]["expected"] == 20, "the gate may end it earlier"
    read_twice = ("--page", "--people", "anna,ben", "--shared", "0.3")
    twice = values_of(agree(*flags, *read_twice, "--dry-run", "--json"))
    assert twice["by_people"]["again"]["expected"] == 6
    assert twice["calls"]["expected"] == 46
    assert twice["by_people"]["hours"]["expected"] > plain["by_people"]["hours"]["expected"]

    keys(*"abatbab", "q")
    left = agree(*flags)
    assert left.exit_code == 130, left.output
    assert "replay:judge.csv" in judgeloop("runs").stdout, "the judge that is tested, also while people are asked"
    rest = values_of(agree(*flags, "--dry-run", "--json"))
    assert rest["calls"]["expected"] == rest["judgments"]["expected"] == 20 - rest["answered_from_ledger"] < 20


def test_a_person_who_leaves_goes_on_where_they_left(keys):
    keys("a", "b", "q")
    left = agree("--truth", "human", "--half-width", "0.2")
    assert left.exit_code in {4, 130}, left.output
    keys("t")
    done = agree("--truth", "human", "--half-width", "0.2", "--json")
    found = values_of(done)
    assert found["judged"] % 5 == 0
    assert sum(said != "tie" and items > 0 for _, said, items in found["table"]) in {1, 2}, "the two answers stay"
    low, high = found["equal_interval"]
    assert max(high - found["equal"], found["equal"] - low) <= 0.2


def test_ratings_within_a_step_are_the_same():
    rows = "".join(f"t{at},old,{at % 5 / 4}\n" for at in range(ITEMS))
    Path("ratings.csv").write_text(f"item_id,model,score\n{rows}")
    labels = "".join(f"t{at},{1 + min(4, at % 5 + (at % 2) + (at % 7 == 0))}\n" for at in range(ITEMS))
    Path("stars.csv").write_text(f"id,Stars\n{labels}")
    done = judgeloop(
        "agree", "old.jsonl", "--judge", "replay:ratings.csv", "--truth", "stars.csv", "--scale", "1,5", "--json"
    )
    assert done.exit_code == 0, done.output
    found = values_of(done)
    apart = [min(4, at % 5 + (at % 2) + (at % 7 == 0)) - at % 5 for at in range(ITEMS)]
    assert found["equal"] == pytest.approx(sum(one <= 1 for one in apart) / ITEMS)
    assert found["off"] == pytest.approx(-sum(apart) / 4 / ITEMS)
    assert 0 < found["rank_correlation"] < 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--truth", "nothing.csv"), "nothing.csv: there is no such file"),
        ((), "--truth: expected a value, found none"),
        (("--truth", "judge.csv", "--scale", "1,5"), "--scale is that of ratings"),
        (("--truth", "human", "--truth", "metric:exact"), "expected one who is asked"),
        (("--truth", "labels.csv", "--half-width", "0.1"), "labels in files are looked at once"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(given, said):
    done = agree(*given)
    assert done.exit_code == 2
    assert said in unwrapped(done.stderr)


def test_a_model_is_asked_anew_about_thirty_labelled_items_and_the_forecast_says_so(chat_server):
    chat_server.respond = lambda request, _: verdict("tie", usage=used(request))
    asked = ("--truth", "labels.csv", "--budget", "1")
    command = ["agree", "old.jsonl", "new.jsonl", *judged_by(chat_server), *asked]
    first = judgeloop(*command, "--json")
    assert first.exit_code == 0, first.output
    assert len(chat_server.requests) == 40
    planned = json.loads(judgeloop(*command, "--again", "--dry-run", "--json").stdout)
    assert planned["judgments"]["worst"] == 30
    done = judgeloop(*command, "--again", "--json")
    assert done.exit_code == 0, done.output
    assert len(chat_server.requests) == 70
    found = values_of(done)
    assert (found["anew"]["asked"], found["anew"]["changed"]) == (30, 0)
    assert found["equal"] == values_of(first)["equal"] == 0.2
    assert found["spent_usd"] > 0


def test_what_people_said_before_is_in_the_ledger_and_is_looked_at_once_in_whatever_order(keys):
    assert agree("--truth", "ledger").exit_code == 2
    keys("t")
    judgeloop("compare", "old.jsonl", "new.jsonl", "--judge", "human", "--max-judgments", "12", "--seed", "5",
              JUDGELOOP_MIN_JUDGMENTS="12")  # fmt: skip
    keys("")
    gated = ("--truth", "ledger", "--require-agreement", "0.6", "--json")
    found, again = (values_of(agree(*gated, "--seed", seed)) for seed in ("1", "2"))
    assert found["judged"] == 12
    assert found["looked_at_once"]
    assert all(found[name] == again[name] for name in ("equal", "equal_interval", "gates"))
    assert all(people == "tie" for _, people, items in found["table"] if items)


def test_a_rubric_is_that_of_the_people_who_are_believed_where_the_judge_reads_none(keys):
    rubric = ("--rubric", "Which is kinder?")
    keys("t")
    judgeloop("compare", "old.jsonl", "new.jsonl", "--judge", "human", "--max-judgments", "12", *rubric,
              JUDGELOOP_MIN_JUDGMENTS="12")  # fmt: skip
    keys("")
    assert values_of(agree("--truth", "ledger", *rubric, "--json"))["judged"] == 12
    assert agree("--truth", "ledger").exit_code == 2, "no label without that rubric"
    assert agree("--truth", "human", *rubric, "--dry-run").exit_code == 0
    assert "has no effect" in agree("--truth", "labels.csv", *rubric).stderr


def test_what_was_measured_of_a_model_is_not_said_of_another_behind_its_name(chat_server):
    def answers(name):
        def reply(request, number):
            del number
            reply = verdict("A", usage=used(request))
            return replace(reply, body=reply.body.replace(b"judge-2026-01-01", name.encode()))

        chat_server.respond = reply

    def ask(question, *more):
        return values_of(judgeloop(question, "old.jsonl", "new.jsonl", *judged_by(chat_server), "--json", *more))

    answers("judge-1")
    ask("agree", "--truth", "labels.csv")
    assert "labelled items" in ask("compare", "--max-judgments", "20")["measured"]
    answers("judge-2")
    assert ask("compare", "--not-worse", "0.2", "--controls", "off", "--seed", "9")["measured"] == ""


def test_doctor_says_in_a_line_how_often_the_judge_agrees_and_the_ledger_keeps_it():
    asked = ("old.jsonl", "new.jsonl", "--judge", "replay:judge.csv", "--truth", "labels.csv")
    done = judgeloop("doctor", *asked)
    assert done.exit_code == 0, done.output
    assert "ok labels replay:judge.csv agrees with you on 85 % of the 40 pairs you labelled" in unwrapped(done.stdout)
    assert "agrees with you on 85 %" in unwrapped(judgeloop("runs", "show").stdout)
    again = judgeloop("agree", *asked, "--json")
    assert values_of(again)["equal"] == 0.85


def test_doctor_asks_about_the_labelled_items_as_far_as_the_budget_reaches(chat_server):
    chat_server.respond = lambda request, _: verdict("tie", usage=used(request))
    asked = ("doctor", "old.jsonl", "new.jsonl", *judged_by(chat_server), "--truth", "labels.csv")
    poor = judgeloop(*asked, "--budget", "0.02")
    assert "agrees with you on 20 % of 5 of the 40 pairs you labelled" in unwrapped(poor.stdout)
    done = judgeloop(*asked, "--budget", "1")
    assert done.exit_code == 0, done.output
    assert "agrees with you on 20 %" in unwrapped(done.stdout)
    assert len(chat_server.requests) == 2 + 40, "a call each time, and the labelled items once"


@pytest.mark.parametrize("given", [("--truth", "labels.csv"), ("old.jsonl", "new.jsonl")])
def test_doctor_takes_labels_and_the_outputs_that_they_are_about(given):
    done = judgeloop("doctor", "--judge", "replay:judge.csv", *given)
    assert (done.exit_code, "expected labels, the outputs" in unwrapped(done.stderr)) == (2, True)


def test_one_file_of_labels_is_no_second_person():
    at = ("agree", "old.jsonl", "new.jsonl", "--judge", "replay:judge.csv", "--truth", "labels.csv")
    done = judgeloop(*at, "--truth", "./labels.csv")
    assert (done.exit_code, "the same file twice" in unwrapped(done.stderr)) == (2, True)
