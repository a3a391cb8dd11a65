"""`judgeloop select` as people use it, with a real SDK against a judge on loopback."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.chat_server import candidates, goodness, verdict
from support.commandline import judgeloop, shown_and_found, timeless
from support.text import unwrapped

from judgeloop.core.errors import InputError
from judgeloop.methods.estimators.win_rates import SCOUTED
from judgeloop.questions.select.settings import SelectSettings

ITEMS = 40
SHARES = {"best": 0.9, "able": 0.6, "fair": 0.5, "poor": 0.2, "base": 0.5}  # of items with a good answer
PICKERS = ["llm-selector", "bradley-terry", "most-draws", "confidence", "uncertainty"]


@cache
def texts():
    """Output files of five systems, by name; the judge prefers an answer with "good" in it."""
    rng, found = np.random.default_rng(4), {}
    for name, share in SHARES.items():
        rows = []
        for i in range(ITEMS):
            text = f"a good answer to {i} " if rng.random() < share else f"an answer to {i} "
            rows.append({"id": f"i{i}", "prompt": f"p{i}", "model": name,
                         "output": text + " ".join(rng.choice(["well", "so", "then", "ok"], size=1 + i % 7)) + name})  # fmt: skip
        found[name] = "".join(json.dumps(row) + "\n" for row in rows)
    return found


@pytest.fixture
def systems(tmp_path):
    """The files of all systems."""
    for name, text in texts().items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    return [tmp_path / f"{name}.jsonl" for name in SHARES]


def live(server, files, *more):
    return ["select", *files, "--baseline", "base", "--judge", "openai/judge", "--judge-base-url", server.url,
            "--judge-price", "1,10", "--order", "fixed", *more]  # fmt: skip


def outcome_of(result):
    assert result.exit_code in {0, 3}, result.output
    return json.loads(result.stdout)


@pytest.mark.smoke
def test_a_race_names_the_best_with_its_risk_and_the_standings(systems, chat_server):
    result = judgeloop(*live(chat_server, systems))
    assert result.exit_code == 0, result.output
    first, *rest = result.stdout.splitlines()
    assert first == "✓ DECIDED: best is the best of 5 systems, each compared with base, on these 40 items."
    assert re.search(
        r"judged \d+ judgments on \d+ of 40 items, by openai/judge win rates .+ risk 0\.1, guaranteed: ",
        unwrapped(result.stdout),
    )
    assert "each round waited for all answers" in unwrapped(result.stdout)
    assert "only 40 items" in result.stdout.partition("\nWin rates")[0]
    assert "Win rates against base; bounds for all items, each at a risk of 0.1" in rest
    bounds = re.search(r"best +(\d+\.\d) % +(\d+\.\d) % +(\d+\.\d) %", result.stdout)
    assert float(bounds[2]) < float(bounds[1]) < float(bounds[3])
    assert any(re.search(r"base \(baseline\) +50\.0 %$", line) for line in rest)
    assert any(re.search(r"poor +\S+ % +\S+ % +\S+ % ", line) for line in rest)
    assert result.stderr == (
        "judgeloop: ledger: new, at .judgeloop/ledger.sqlite\n"
        "judgeloop: select: best, able, fair, poor, base, 40 items, judged by openai/judge, at most 160 judgments "
        "and $5.00\n"
    )


def test_who_is_ruled_out_is_asked_about_no_more(systems, chat_server):
    outcome = outcome_of(judgeloop(*live(chat_server, systems, "--json")))
    queries = {row["system"]: row["queries"] for row in outcome["standings"]}
    assert queries["poor"] < queries["best"] == outcome["queries"]
    assert outcome["near_best"] == ["best"]
    assert outcome["gap"] == 0.0
    assert outcome["judged"] == sum(n for name, n in queries.items() if name != "base")
    asked = {candidates(request)["answer_A"] for request in chat_server.requests}
    asked |= {candidates(request)["answer_B"] for request in chat_server.requests}
    assert sum("poor" in text for text in asked) == queries["poor"]


@pytest.mark.parametrize("selector", ["race", "random", *PICKERS])
def test_every_selector_runs_through_the_session(systems, chat_server, selector):
    command = live(chat_server, systems, "--selector", selector, "--max-judgments", 80, "--json")
    found = outcome_of(judgeloop(*command))
    assert found["judged"] <= 80
    assert found["selector"] == selector
    if selector in PICKERS:
        assert found["winner"] is not None
        assert found["risk"] is None
        assert found["near_best"] is None
        assert found["win_rates_biased"]


@pytest.mark.parametrize("selector", ["race", "llm-selector"])
def test_concurrency_changes_nothing(systems, chat_server, selector, tmp_path):
    command = live(chat_server, systems, "--selector", selector, "--max-judgments", 40, "--json")
    first, second = (
        outcome_of(judgeloop(*command, "--concurrency", n, "--ledger", tmp_path / f"{n}.sqlite")) for n in (1, 16)
    )
    assert timeless(first) == timeless(second)


def test_money_that_ends_within_a_query_leaves_whole_queries(systems, chat_server):
    strict = live(chat_server, systems, "--selector", "random", "--risk", "1e-9")
    shown, outcome = shown_and_found(*strict, "--budget", "0.06")
    assert outcome["stop_reason"] == "budget"
    asked = {row["queries"] for row in outcome["standings"] if row["system"] != "base"}
    assert asked == {outcome["queries"]}
    assert outcome["judged"] == 4 * outcome["queries"] <= outcome["asked"]
    assert outcome["run_spent_usd"] <= 0.06
    assert "near best  best" in shown.stdout
    more = outcome_of(judgeloop(*strict, "--json"))
    assert more["stop_reason"] in {"all_judged", "risk_met"}, "the same command goes on"


@pytest.mark.parametrize(("budget", "chosen"), [("0.011", 0), ("0.051", 12)])
def test_of_a_search_cut_short_no_answer_was_needless(systems, chat_server, budget, chosen):
    command = live(chat_server, systems, "--budget", budget, "--json")
    command = [part for part in command if part not in {"--baseline", "base"}]
    outcome = outcome_of(judgeloop(*command))
    assert (outcome["stop_reason"], outcome["ahead"]) == ("budget", 0)
    assert outcome["chosen_by"] == chosen, "a choice that was cut short chose nothing"
    assert outcome["asked"] > outcome["judged"] + chosen, "some are of a round that is not finished"


def test_a_gap_stops_sooner_and_is_stated(systems, chat_server):
    command = live(chat_server, systems, "--risk", "0.02")
    exact = outcome_of(judgeloop(*command, "--json"))
    near, sooner = shown_and_found(*command, "--min-gap", "0.9")
    assert near.exit_code == 0
    assert re.match(
        r"✓ DECIDED: choose best: no other of 5 systems is more than \d[\d.]* points better on these 40 items\. "
        r"judged .* risk 0\.02, guaranteed",
        unwrapped(near.stdout),
    )
    assert sooner["judged"] <= exact["judged"]
    assert 0 < sooner["gap"] <= 0.9 == sooner["min_gap"]
    assert len(sooner["near_best"]) > 1


def test_a_run_cut_off_at_once_states_no_gap(systems, chat_server):
    command = live(chat_server, systems, "--risk", "0.001", "--max-judgments", "4")
    shown, outcome = shown_and_found(*command)
    assert "nothing yet near best best" in unwrapped(shown.stdout)
    assert (outcome["leader"], outcome["gap"], outcome["risk"]) == (None, None, None)
    assert set(outcome["near_best"]) == set(SHARES)


@pytest.mark.parametrize("selector", ["race", "random"])
def test_a_run_whose_money_is_gone_names_its_leader_and_the_gap(systems, chat_server, selector):
    command = live(chat_server, systems, "--selector", selector, "--risk", "0.02")
    result, outcome = shown_and_found(*command, "--max-judgments", "70")
    assert result.exit_code == 3
    first, _, *rest = result.stdout.splitlines()
    assert first.startswith("? OPEN: no winner yet among 5 systems, each compared with base, on these 40 items:")
    said = " ".join(rest)
    assert re.search(
        r"no system is more than \d+[\d.]* points better than best \(a win rate at most [\d.]+ points higher\), at a risk of 0\.02",
        unwrapped(said),
    )
    assert "near best  best" in said
    assert outcome["winner"] is None
    assert outcome["leader"] == "best"
    assert 0 < outcome["gap"] < 1
    assert outcome["risk"] == 0.02


def test_a_required_winner_that_did_not_win_exits_5(systems, chat_server):
    result = judgeloop(*live(chat_server, systems, "--require-winner", "able", "--controls", "off"))
    assert result.exit_code == 5
    assert result.stdout.startswith("✗ FAILED: able was required, and best is the best")
    assert re.search(r"^  lost +\d+ of \d+ items to base, the first: ", result.stdout, re.MULTILINE), (
        "not to the winner"
    )


def test_abstentions_are_shown_and_count_for_nobody(systems, chat_server):
    def respond(request, number):
        first, second = (candidates(request)[f"answer_{at}"] for at in "AB")
        silent = "poor" in first + second and "to 3 " in first
        return verdict("neither" if silent else goodness(request))

    chat_server.respond = respond
    command = live(chat_server, systems, "--selector", "random", "--risk", "1e-9", "--json")
    rows = {row["system"]: row for row in outcome_of(judgeloop(*command))["standings"]}
    assert rows["poor"]["abstentions"] == 1
    poor = rows["poor"]
    assert poor["wins"] + poor["ties"] + poor["losses"] == poor["queries"] - 1
    assert poor["win_rate"] == (poor["wins"] + poor["ties"] / 2) / (poor["queries"] - 1)


BAD = [
    (["--selector", "confidence", "--rule", "separated"], "--rule separated holds only for random draws"),
    (["--rule", "fixed-budget"], "with a limit, --rule separated names its leader and the gap"),
    (["--selector", "confidence", "--min-gap", "0.1"], "it applies to --rule separated"),
    (["--epsilon", "0.1,0.2"], "--epsilon 0.1,0.2 has no effect with --selector race and --rule separated; it applies to --selector llm-selector"),
    (["--selector", "llm-selector", "--epsilon", "0.1"], "--epsilon: expected auto, or E1,E2"),
    (["--selector", "llm-selector", "--epsilon", "0.6,0.4"], "with a sum under 1"),
    (["--max-judgments", 3], "one item takes 4 judgments, one for each system except the baseline; allow at least 4"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "message"), BAD)
def test_what_makes_no_sense_is_one_clear_line_and_nothing_is_asked(systems, chat_server, more, message):
    result = judgeloop(*live(chat_server, systems, *more))
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not chat_server.requests


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([4], "at least 2 systems, the baseline's among them; found 1"),
        ([0, 1, 2, 3], "--baseline: expected one of best, able, fair, poor, or its file, found 'base'"),
        ([0, 1, 2, 3, 4, 5], "best and copy gave the same output on all 40 items"),
    ],
)
def test_systems_that_make_no_search_are_refused(systems, chat_server, tmp_path, chosen, message):
    copy = tmp_path / "copy.jsonl"
    copy.write_text(systems[0].read_text().replace('"model": "best"', '"model": "copy"'))
    result = judgeloop(*live(chat_server, [[*systems, copy][at] for at in chosen]))
    assert result.exit_code == 2
    assert message in result.stderr
    assert not chat_server.requests


def test_systems_with_different_items_are_refused_with_counts(systems, chat_server):
    lines = systems[0].read_text().splitlines()
    systems[0].write_text("\n".join(lines[:30]) + "\n")
    result = judgeloop(*live(chat_server, systems))
    assert result.exit_code == 2
    assert "30 matched" in result.stderr
    assert "--allow-partial" in result.stderr
    assert judgeloop(*live(chat_server, systems, "--allow-partial")).exit_code == 0


def recorded(path, shares):
    """A table of verdicts against "base", which has no rows of its own."""
    rng = np.random.default_rng(5)
    rows = [f"i{i},{name},{int(rng.random() < share)}\n" for name, share in shares.items() for i in range(ITEMS)]
    path.write_text("item_id,model,score\n" + "".join(rows))
    return path


def replayed(systems, tmp_path, *more):
    shares = {name: share for name, share in SHARES.items() if name != "base"}
    table = recorded(tmp_path / "verdicts.csv", shares)
    return ["select", *systems, "--baseline", "base", "--judge", f"replay:{table}", *more]


def test_a_belief_stands_in_the_standings(systems, tmp_path):
    flags = ["--selector", "llm-selector", "--epsilon", "0.2,0.05", "--max-judgments", "160"]
    arguments = replayed(systems, tmp_path, *flags)
    result, outcome = shown_and_found(*arguments)
    assert result.exit_code == 0, result.output
    assert re.search(r"^ +best +[0-9.]+ % .* (9\d\.\d|over 99\.9) %$", result.stdout, re.MULTILINE)
    beliefs = {row["system"]: row["belief"] for row in outcome["standings"]}
    assert sum(beliefs.values()) == pytest.approx(1)
    assert outcome["winner"] == "best"
    assert beliefs["best"] > 0.9
    assert outcome["level_since"] is None


def test_a_belief_that_no_longer_moves_is_reported(systems, tmp_path):
    flags = ["--selector", "llm-selector", "--epsilon", "0.01,0.98", "--max-judgments", "160"]
    arguments = replayed(systems, tmp_path, *flags)
    result, outcome = shown_and_found(*arguments)
    assert result.exit_code == 0, result.output
    since = outcome["level_since"]
    assert 0 < since < ITEMS
    assert f"after {since} items all others promised the same" in unwrapped(result.stdout)
    baseline = next(line for line in result.stdout.splitlines() if "(baseline)" in line)
    assert baseline.endswith("over 99.9 %")


@pytest.mark.parametrize("selector", ["race", "llm-selector"])
def test_a_dry_run_forecasts_up_to_the_limit(systems, chat_server, selector):
    command = live(chat_server, systems, "--selector", selector, "--max-judgments", 120, "--json")
    forecast = outcome_of(judgeloop(*command, "--dry-run"))
    assert not chat_server.requests
    assert forecast["job"] == "select"
    judgments = forecast["judgments"]
    assert 0 < judgments["low"] <= judgments["expected"] <= judgments["worst"] == 120
    outcome = outcome_of(judgeloop(*command))
    assert outcome["spent_usd"] <= forecast["usd"]["worst"]
    assert outcome["judged"] >= judgments["low"] or selector != "race"


def test_without_a_baseline_one_is_chosen_and_named(systems, chat_server):
    command = live(chat_server, systems, "--order", "fixed")
    del command[command.index("--baseline") : command.index("--baseline") + 2]
    foreseen = outcome_of(judgeloop(*command, "--json", "--dry-run"))["judgments"]
    assert foreseen["low"] <= foreseen["expected"] <= foreseen["worst"] == 4 * ITEMS
    shown, outcome = shown_and_found(*command)
    assert outcome["baseline"] in SHARES
    assert outcome["chosen_on"] == SCOUTED
    assert outcome["asked"] == outcome["judged"] + SCOUTED * 4, "the choice is in the total"
    assert outcome["chosen_by"] == SCOUTED * 4
    rows = {row["system"]: row for row in outcome["standings"]}
    assert max(row["queries"] for row in rows.values()) <= ITEMS - SCOUTED
    text = shown.stdout
    against = "" if outcome["winner"] == outcome["baseline"] else f", each compared with {outcome['baseline']},"
    assert (
        f"5 systems{against} on {ITEMS - SCOUTED} of these {ITEMS} items (the other {SCOUTED} served to choose the baseline)"
        in unwrapped(text)
    )
    assert f"Win rates against {outcome['baseline']}" in text
    assert "chosen by 12 judgments on 3 items, which are not in the decision" in unwrapped(text)
    again = outcome_of(judgeloop(*command, "--json", "--concurrency", "1"))
    assert again["attempts"] == 0, "the same comparisons, in the same order"
    assert again["standings"] == outcome["standings"]


def test_of_two_systems_the_first_is_the_baseline_without_a_choice(systems, chat_server):
    command = live(chat_server, [systems[3], systems[0]])
    del command[command.index("--baseline") : command.index("--baseline") + 2]
    shown, outcome = shown_and_found(*command)
    assert (outcome["winner"], outcome["baseline"], outcome["chosen_on"]) == ("best", "poor", 0)
    assert "baseline poor, the first system, as" in unwrapped(shown.stdout)


@pytest.mark.parametrize("given", ["other", "other.jsonl", "{folder}/other.jsonl", "base"])
def test_a_baseline_is_found_by_its_name_or_its_file(given, systems, chat_server, tmp_path):
    renamed = tmp_path / "other.jsonl"
    renamed.write_text(systems[4].read_text())
    command = live(chat_server, [*systems[:4], renamed], "--json", "--max-judgments", "4")
    command[command.index("base")] = given.format(folder=tmp_path)
    outcome = outcome_of(judgeloop(*command))
    assert (outcome["baseline"], outcome["chosen_on"], outcome["chosen_by"]) == ("base", None, 0)


def test_a_file_name_that_two_systems_share_names_no_baseline():
    config = SelectSettings.of(outputs=["a/x.jsonl", "b/x.jsonl"], judge="human", baseline="x.jsonl")
    with pytest.raises(InputError, match=r"`baseline=x.jsonl`: old, new are in files of this name"):
        config.against(("old", "new"))
    assert replace(config, baseline="./b/x.jsonl").against(("old", "new")) == "new"


def test_an_unknown_baseline_is_answered_with_a_few_of_many_names():
    names = tuple(f"s{number}" for number in range(54))
    config = SelectSettings.of(outputs=names, judge="human", baseline="nope")
    with pytest.raises(InputError, match=r"expected one of s0, s1, s2, s3, s4 and 49 more, or its"):
        config.against(names)


def test_a_limit_below_the_choice_of_a_baseline_is_refused_with_the_least(systems, chat_server):
    command = live(chat_server, systems, "--max-judgments", "5")
    del command[command.index("--baseline") : command.index("--baseline") + 2]
    result = judgeloop(*command)
    assert result.exit_code == 2
    assert "--max-judgments 5: one item takes 4 judgments, one for each system except the baseline, and the choice of a baseline those of 3 items; allow at least 16" in unwrapped(result.stderr)  # fmt: skip
    assert not chat_server.requests
    command[command.index("5")] = "16"
    outcome = outcome_of(judgeloop(*command, "--json"))
    assert (outcome["asked"], outcome["judged"], outcome["chosen_by"]) == (16, 4, 12)


def test_only_a_race_chooses_its_baseline(systems, chat_server):
    command = live(chat_server, systems, "--selector", "confidence")
    del command[command.index("--baseline") : command.index("--baseline") + 2]
    result = judgeloop(*command)
    assert result.exit_code == 2
    assert "--selector confidence needs a --baseline" in result.stderr


def test_about_items_like_these_the_race_says_so_and_is_never_certain(systems, chat_server):
    command = live(chat_server, systems, "--about", "like-these", "--min-gap", "0.5")
    shown, outcome = shown_and_found(*command)
    first, *rest = shown.stdout.splitlines()
    assert first.startswith("✓ DECIDED: choose best: no other of 5 systems is more than ")
    assert first.endswith(" points better on items like these")
    assert "verdicts on items like these" in " ".join(rest)
    assert (outcome["about"], outcome["winner"]) == ("like-these", "best")
    assert 0 < outcome["gap"] <= 0.5


def test_when_the_items_are_used_up_the_leader_has_its_gap(systems, chat_server):
    command = live(chat_server, systems, "--about", "like-these", "--min-gap", "0.01")
    strict = [*command, "--risk", "0.0001"]
    result, outcome = shown_and_found(*strict)
    assert result.exit_code == 3
    assert result.stdout.startswith(
        "? OPEN: no winner yet among 5 systems, each compared with base, on items like these 40:"
    )
    assert re.search(
        r"no system is more than [\d.]+ points better than best \(a win rate at most [\d.]+ points higher\), at",
        unwrapped(result.stdout),
    )
    assert outcome["stop_reason"] == "pool_exhausted"


@pytest.mark.parametrize("more", [["--selector", "llm-selector"], ["--rule", "fixed-budget"]])
def test_who_speaks_of_these_items_alone_is_refused_for_others(more, systems, chat_server):
    more = [*more, "--selector", "random"] if "--rule" in more else more
    result = judgeloop(*live(chat_server, systems, "--about", "like-these", *more))
    assert result.exit_code == 2
    assert "speaks of these items alone; use --selector race" in unwrapped(result.stderr)


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ([], "names one only if it is clearly ahead, and else none"),
        (["--min-gap", "0.02"], "with a gap of 2 points often names none"),
        (["--min-gap", "0.05"], "with a gap of 5 points often names none"),
    ],
)
def test_before_the_first_call_many_systems_are_warned_that_they_may_stay_open(
    gap, said, systems, chat_server, tmp_path
):
    copies = []
    for number in range(4):
        copy = tmp_path / f"more{number}.jsonl"
        text = systems[1].read_text().replace('"model": "able"', f'"model": "more{number}"')
        copy.write_text(text.replace('able"', f'able {number}"'))
        copies.append(copy)
    command = live(chat_server, [*systems, *copies], "--about", "like-these", *gap)
    forecast = unwrapped(judgeloop(*command, "--dry-run").stdout)
    said = f"for items like these, a search among 9 systems {said}"
    assert f"{said}, after up to 320 judgments; with --min-gap 0.1 it ends far sooner" in forecast
    assert chat_server.requests == []
    warned = gap != ["--min-gap", "0.05"]
    cut = judgeloop(*command, "--max-judgments", "8")
    assert (said in unwrapped(cut.stderr)) == warned
    assert not warned or "usually enough" not in cut.stdout
