"""`judgeloop replay --job select` as people use it, and what its tables say."""

from __future__ import annotations

import numpy as np
import pytest
from support.commandline import judgeloop
from support.outputs import write_outputs
from support.replaying import recorded, replay, rows_of

from judgeloop.replay.select import Field, realise
from judgeloop.replay.settings import ReplaySelectSettings
from judgeloop.replay.tables import by_calls, by_queries, needed, races

ITEMS, SYSTEMS = 60, 6
ALL = "race,random,llm-selector,bradley-terry,most-draws,confidence,uncertainty"


@pytest.fixture
def data(tmp_path):
    """Six systems, each better than the one before, with scores against a baseline."""
    rng = np.random.default_rng(0)
    scores = {}
    for number in range(SYSTEMS):
        won = (rng.random(ITEMS) < number / 6).astype(float)
        scores[f"s{number}"] = np.where(rng.random(ITEMS) < 0.5, rng.choice([0, 0.5, 1], ITEMS), won)
    files = recorded(tmp_path, scores | {"base": [None] * ITEMS})
    return [*files, "--job", "select", "--baseline", "base"]


def test_every_selector_is_measured_by_calls_and_queries(data, tmp_path):
    out = tmp_path / "out"
    result = replay(*data, "--pool", 40, "--seeds", 3, "-o", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "against_random" in result.stdout
    calls, queries = rows_of(out / "calls.csv"), rows_of(out / "queries.csv")
    assert {row["selector"] for row in calls} == set(ALL.split(","))
    assert {row["selector"] for row in queries} == set(ALL.split(",")) - {"race"}
    last = {row["selector"]: row for row in queries}
    assert all(float(row["identified"]) == 1.0 for row in last.values()), "with every item judged the best is known"
    assert {row["goal"] for row in rows_of(out / "needed.csv")} == {"best", "0.01", "0.005", "0.001"}
    assert rows_of(out / "races.csv")[0]["runs"] == "3"


def test_fewer_calls_than_random_are_negative_as_is_less_error():
    steps = {"random": [[40, 8, 1.0, 0.0]], "confidence": [[10, 2, 1.0, 0.0]], "uncertainty": [[60, 12, 1.0, 0.0]]}
    rows = [{"selector": name, "steps": own} for name, own in steps.items()]
    found = {row["selector"]: row["against_random"] for row in needed(rows) if row["goal"] == "best"}
    assert found == {"random": 0, "confidence": -0.75, "uncertainty": 0.5}


def test_the_win_rates_are_those_of_the_recorded_verdicts(data, tmp_path):
    out = tmp_path / "out"
    result = replay(*data, "--pool", 10, "--seeds", 1, "--selectors", "random", "-o", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    recorded: dict[str, list[float]] = {}
    for row in rows_of(data[4]):
        won = 0.5 if row["score"] == "0.5" else float(float(row["score"]) > 0.5)
        recorded.setdefault(row["model"], []).append(won)
    rates = {row["system"]: float(row["win_rate"]) for row in rows_of(out / "rates.csv")}
    assert rates == {name: pytest.approx(np.mean(found)) for name, found in recorded.items()}
    assert list(rates.values()) == sorted(rates.values(), reverse=True)
    assert not (out / "races.csv").exists(), "no race was run"


def test_an_interrupted_replay_goes_on_and_says_the_same(data, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    flags = ["--pool", 30, "--selectors", "race,random", "--jobs", 1]
    assert replay(*data, *flags, "--seeds", 4, "-o", whole).exit_code == 0
    assert replay(*data, *flags, "--seeds", 2, "-o", parts).exit_code == 0
    assert replay(*data, *flags, "--seeds", 4, "-o", parts, "--resume").exit_code == 0
    assert (whole / "calls.csv").read_text() == (parts / "calls.csv").read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [(["--iterative"], "--iterative: --job select has no such choice"), (["--selectors", "diffuse"], "--selectors: ")],
)
def test_what_the_job_does_not_take_is_refused(data, tmp_path, more, message):
    result = replay(*data, *more, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_job_without_a_baseline_or_of_another_name_is_refused(data, tmp_path):
    without = replay(*data[:-2], "-o", tmp_path / "out")
    assert (without.exit_code, without.stderr) == (
        2,
        "judgeloop: --baseline: expected a value, found none (System that all others are compared with)\n",
    )
    data[-3] = "rank"
    assert "--job: expected compare, select or estimate, found 'rank'" in replay(*data, "-o", tmp_path / "out").stderr
    plain = [*data[:5], "--pool", "9"]
    assert "--pool: --job compare has no such choice" in replay(*plain, "-o", tmp_path / "out").stderr


def field_of(scores):
    """Systems with these scores, and a baseline behind them."""
    whole = np.vstack([scores, np.full(len(scores[0]), 0.5)])
    return Field(tuple(f"s{n}" for n in range(len(whole))), len(scores), whole)


def plan(*selectors, **more):
    paths = dict.fromkeys(("outputs", "items", "verdicts", "output"), "x")
    return ReplaySelectSettings.of(**paths, baseline="b", selectors=selectors, **more)


PLAN = plan("random", "race", pool=4)


def test_the_steps_of_a_realisation_are_those_worked_out_by_hand():
    """Two systems and four items: s0 wins all, s1 loses all; so s0 leads from the first query, of
    two calls, on."""
    rows = realise(field_of([[1.0] * 4, [0.0] * 4]), 0, PLAN)
    by_name = {row["selector"]: row for row in rows}
    assert by_name["random"]["steps"] == [[2, 1, 1.0, 0.0]]
    assert by_name["random"]["calls"] == 8
    assert by_name["race"]["winner_gap"] == 0.0
    assert by_calls(rows, [1, 2])[0]["identified"] == 0.0, "with one call no whole query is judged"
    assert by_calls(rows, [1, 2])[1]["identified"] == 1.0
    assert [row["identified"] for row in by_queries(rows, [1, 2])] == [1.0, 1.0]
    assert races(rows)[0]["error"] == 0.0


def test_a_race_to_a_gap_ends_sooner_and_is_wrong_only_beyond_it():
    scores = np.tile([[1.0] * 9 + [0.0], [1.0] * 8 + [0.0] * 2, [0.0] * 10], 20)
    exact, near = (realise(field_of(scores), 0, plan("race", pool=200, min_gap=gap))[0] for gap in (None, 0.4))
    assert near["calls"] < exact["calls"]
    assert not near["too_far"]
    wrong = {**near, "winner_gap": 0.3, "too_far": True}
    assert [row["error"] for row in (*races([near]), *races([near, wrong]))] == [0.0, 0.5]


@pytest.mark.parametrize("selector", ["random", "race"])
def test_too_many_abstentions_end_a_search_as_they_end_a_live_one(selector, tmp_path):
    """A third of the calls have no verdict, and more than 5 % may not; a replay may allow more."""
    rng = np.random.default_rng(0)
    scores = (rng.random((3, 40)) < [[0.6], [0.5], [0.4]]).astype(float)
    scores[:, ::3] = np.nan
    (ended,) = realise(field_of(scores), 0, plan(selector, pool=40))
    assert ended["winner_gap"] is None
    assert selector == "random" or ended["calls"] < 60, "random asks for all at once"
    (whole,) = realise(field_of(scores), 0, plan(selector, pool=40, max_abstentions=1.0))
    assert whole["calls"] > ended["calls"] or selector == "random"
    table = tmp_path / "verdicts.csv"
    rows = [f"i{item},s{system},{'' if np.isnan(scores[system, item]) else scores[system, item]}"
            for system in range(3) for item in range(40)]  # fmt: skip
    table.write_text("item_id,model,score\n" + "\n".join(rows) + "\n")
    texts = {f"s{system}": [f"{system} {item}" for item in range(40)] for system in range(3)}
    files = [write_outputs(tmp_path / f"{name}.jsonl", own) for name, own in texts.items()]
    flags = ["--baseline", "s2", "--judge", f"replay:{table}", "--allow-partial", "--selector", selector]
    rule = ["--rule", "fixed-budget"] if selector == "random" else []
    live = judgeloop("select", *files, *flags, *rule, "--max-judgments", "80")
    assert live.exit_code == 4, live.output


def test_level_leaders_share_the_credit():
    """s0 and s1 win the first two items each, s0 alone the third: until then the best is named by
    half."""
    rows = realise(field_of([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), 1, PLAN)
    assert rows[0]["steps"][0][2] == 1.0, "two best ones: naming either is right"
    rows = realise(field_of([[1.0, 0.5], [0.5, 0.5]]), 3, plan("random", pool=2))
    first = rows[0]["steps"][0]
    assert first[2] in {1.0, 1 / 3}, "the tie among both and the baseline, or the win, whichever comes first"
    assert rows[0]["steps"][-1][2] == 1.0


def run_of(selector, *steps):
    """A row of a replay; each step: calls, queries, best named, gap."""
    return {"selector": selector, "calls": 90, "steps": [list(step) for step in steps]}


def test_the_calls_needed_count_from_the_last_time_the_goal_was_missed():
    rows = [
        run_of("random", (3, 1, 1.0, 0.0)),
        run_of("random", (3, 1, 0.0, 0.2), (12, 4, 1.0, 0.0), (21, 7, 0.5, 0.1), (30, 10, 1.0, 0.0)),
    ]
    found = {(row["goal"], row["level"]): row["calls"] for row in needed(rows)}
    assert found["best", 0.7] == 12
    assert found["best", 0.8] == found["best", 1.0] == 30
    assert found[0.01, 0.7] == 30


def test_calls_that_never_suffice_are_none():
    assert {row["calls"] for row in needed([run_of("random", (3, 1, 0.0, 0.2))])} == {None}
