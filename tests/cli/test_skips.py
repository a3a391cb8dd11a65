"""A person who skips says that an item is not theirs to judge: few skips end no run, many do, as with models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop

from judgeloop.core.records import MODELS_ABSTAIN, PEOPLE_SKIP
from judgeloop.engine.session import ABSTENTION_GRACE
from judgeloop.judges import human
from judgeloop.report.words import only_again

ITEMS = 40
COMPARED = ("compare", "old.jsonl", "new.jsonl", "--judge", "human", "--max-judgments", str(ITEMS))
RATED = ("estimate", "new.jsonl", "--judge", "human", "--max-judgments", str(ITEMS))
CHECKED = ("agree", "old.jsonl", "new.jsonl", "--judge", "metric:exact", "--truth", "human")
MOST = int(PEOPLE_SKIP * ABSTENTION_GRACE)  # skips at the beginning that end no run


@pytest.fixture(autouse=True)
def _files():
    for name in ("old", "new"):
        rows = (
            {"id": f"t{at}", "prompt": f"Question {at}?", "output": name, "reference": "new"} for at in range(ITEMS)
        )
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def run(monkeypatch):
    """A command whose person presses these keys, the last one for ever."""

    def run(command, keys, *more):
        left = [*keys]
        monkeypatch.setattr(human, "read_key_from_terminal", lambda: left.pop(0) if left[1:] else left[0])
        done = judgeloop(*command, *more, "--json")
        return done.exit_code, json.loads(done.stdout)

    return run


@pytest.mark.parametrize(("command", "key"), [(COMPARED, "t"), (RATED, "3"), (CHECKED, "t")])
def test_few_skips_end_no_run_and_the_share_that_held_is_in_the_result(run, command, key):
    code, found = run(command, ["s"] * MOST + [key])
    assert (code, found["stop_reason"]) in {(0, "all_judged"), (0, "pool_exhausted"), (3, "pool_exhausted")}, found
    assert (found["judged"], found["abstentions"]) == (ITEMS - MOST, MOST)
    assert found["max_abstentions"] == PEOPLE_SKIP


@pytest.mark.parametrize(("command", "key"), [(COMPARED, "t"), (RATED, "3"), (CHECKED, "t")])
def test_many_skips_end_it_and_the_same_command_asks_them_again(run, command, key):
    code, found = run(command, ["s"] * (MOST + 1) + [key])
    assert (code, found["stop_reason"], found["abstentions"]) == (4, "too_many_abstentions", MOST + 1)
    assert [one["code"] for one in found["advice"]] == ["judge_skipped"]
    _, found = run(command, [key])
    assert (found["judged"], found["abstentions"]) == (ITEMS, 0)


@pytest.mark.parametrize(("command", "key"), [(COMPARED, "t"), (RATED, "3"), (CHECKED, "t")])
def test_a_skip_is_asked_again_only_when_the_run_has_ended_by_itself(run, command, key):
    _, found = run(command, [key, "s", key, "q"])
    assert (found["stop_reason"], found["judged"], found["abstentions"]) == ("interrupted", 2, 1)
    if command is not CHECKED:
        forecast = json.loads(judgeloop(*command, "--dry-run", "--json").stdout)
        assert (forecast["answered_from_ledger"], forecast["calls"]["worst"]) == (3, ITEMS - 3)
    code, found = run(command, [key])
    assert (found["judged"], found["abstentions"]) == (ITEMS - 1, 1)
    again, kept = run(command, ["q"])
    assert (again, kept["stop_reason"]) == (code, found["stop_reason"]), "who stops there keeps the answer"
    assert (kept["judged"], kept["abstentions"]) == (ITEMS - 1, 1)
    _, found = run(command, [key])
    assert (found["judged"], found["abstentions"]) == (ITEMS, 0)


def test_a_dry_run_counts_what_is_known_behind_a_skip_and_the_skips_that_are_asked_again(run, monkeypatch):
    _, found = run(COMPARED, ["s", "t", "s", "t"])
    assert (found["judged"], found["abstentions"]) == (ITEMS - 2, 2)
    forecast = json.loads(judgeloop(*COMPARED, "--dry-run", "--json").stdout)
    assert (forecast["answered_from_ledger"], set(forecast["calls"].values())) == (ITEMS, {2})
    said = []
    monkeypatch.setattr(human.HumanJudge, "_show", lambda _, text: said.append(text))
    run(COMPARED, ["t"])
    heads = [text.splitlines()[2] for text in said if human.RULE in text]
    assert heads == [f"{ITEMS - again} judged; {only_again(again)}" for again in (2, 1)]


def test_who_stops_while_skips_are_asked_again_keeps_all_verdicts(run):
    _, found = run(COMPARED, ["s", "t", "s", "t"])
    assert (found["stop_reason"], found["judged"], found["abstentions"]) == ("pool_exhausted", ITEMS - 2, 2)
    _, found = run(COMPARED, ["t", "q"])
    assert (found["stop_reason"], found["judged"], found["abstentions"]) == ("pool_exhausted", ITEMS - 1, 1)


def test_a_terminal_that_is_gone_while_skips_are_asked_again_keeps_the_answer(run, monkeypatch):
    def gone():
        raise OSError("tty gone")

    code, found = run(COMPARED, ["s", "t", "s", "t"])
    monkeypatch.setattr(human, "read_key_from_terminal", gone)
    done = judgeloop(*COMPARED, "--json")
    again = json.loads(done.stdout)
    names = ("stop_reason", "judged", "abstentions", "ties")
    assert (done.exit_code, *(again[name] for name in names)) == (code, *(found[name] for name in names))
    assert json.loads(judgeloop(*COMPARED, "--dry-run", "--json").stdout)["answered_from_ledger"] == ITEMS


def test_the_share_is_the_callers(run, monkeypatch):
    monkeypatch.setenv("JUDGELOOP_MAX_ABSTENTIONS", str(MODELS_ABSTAIN))
    code, found = run(COMPARED, ["s", "s", "t"])
    assert (code, found["abstentions"], found["max_abstentions"]) == (4, 2, MODELS_ABSTAIN)


def test_who_is_no_person_may_leave_out_as_few_as_before(run):
    rows = [json.loads(line) for line in Path("new.jsonl").read_text().splitlines()]
    for at in (0, 1, 2):
        del rows[at]["reference"]  # without which the metric gives no verdict
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("old.jsonl").write_text("".join(json.dumps(row | {"output": "old"}) + "\n" for row in rows))
    by_metric = ("compare", "old.jsonl", "new.jsonl", "--judge", "metric:exact", "--risk", "0.001", "--about", "items")
    for command, advised in ((by_metric, "silent"), (CHECKED, "no_verdicts")):
        code, found = run(command, ["t"])
        assert (code, found["stop_reason"], found["max_abstentions"]) == (4, "too_many_abstentions", MODELS_ABSTAIN)
        assert [one["code"] for one in found["advice"]] == [advised]


def test_a_limit_that_skips_have_reached_says_how_many_were_judged(run):
    code, found = run((*COMPARED[:-1], "30"), ["s"] * 5 + ["t"])
    assert (code, found["stop_reason"], found["judged"], found["abstentions"]) == (3, "judgment_limit", 25, 5)
    shown = judgeloop("runs", "show", found["run"]).stdout
    assert "the limit of 30 judgments is reached with 25 judged and 5 skipped" in " ".join(shown.split())


def test_an_answer_to_what_was_skipped_may_decide_earlier_and_the_rest_was_not_needed(run, monkeypatch):
    shown = []
    monkeypatch.setattr(human.HumanJudge, "_show", lambda _, text: shown.append(text))

    def judged(skips):
        def key():
            if skips:
                return skips.pop()
            text = next(text for text in reversed(shown) if human.RULE in text).partition("── A")[2]
            return "a" if text.index("new") < text.index("old") else "b"

        monkeypatch.setattr(human, "read_key_from_terminal", key)
        return json.loads(judgeloop(*COMPARED, "--about", "like-these", "--json").stdout)

    first = judged(["s"] * 3)
    assert (first["winner"], first["abstentions"], first["by_people"]["beyond"]) == ("new", 3, 0)
    found = judged([])
    assert (found["winner"], found["abstentions"]) == ("new", 0)
    more = found["by_people"]["beyond"]
    assert 0 < more == found["by_people"]["answers"] - 3 - found["judged"]
    assert f"{more} further answers came after the decision" in " ".join(
        judgeloop("runs", "show", found["run"]).stdout.split()
    )


def test_what_the_judge_said_ahead_is_no_answer_of_people_and_labels_that_are_not_needed_are(run):
    _, found = run(CHECKED, ["t", "t", "q"])
    assert (found["judged"], found["by_people"]["beyond"]) == (2, 0)
    run(CHECKED, ["t"])
    code, found = run(CHECKED, ["q"], "--require-agreement", "0.5")  # whose labels are all in the ledger
    people = found["by_people"]
    assert (code, found["judged"] < ITEMS) == (5, True)
    assert (people["answers"], people["beyond"]) == (0, ITEMS - found["judged"])
    assert f"of the first {found['judged']} pairs" in " ".join(judgeloop("runs", "show", found["run"]).stdout.split())


def test_a_dry_run_counts_no_judgment_that_is_known_behind_what_is_asked(run):
    run((*COMPARED[:-1], "10"), ["s", "t"])
    forecast = json.loads(judgeloop(*COMPARED[:-1], "30", "--dry-run", "--json").stdout)
    assert forecast["judgments"]["worst"] == forecast["calls"]["worst"] == 30 - 9
    assert forecast["judgments"]["expected"] == forecast["calls"]["expected"] <= 30 - 9
