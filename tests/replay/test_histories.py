"""Replays with histories: of other systems, the same for all rules, without effect where there are
none, and worth it among ties."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.replaying import replay, verdicts
from support.tables import write

from judgeloop.history.past import prospects_of
from judgeloop.replay.compare import Recordings, prospects_for, run_pair
from judgeloop.replay.config import ReplayConfig
from judgeloop.replay.tables import by_rule

ITEMS, SYSTEMS = 300, 12


def mostly_ties(seed=0, items=ITEMS, systems=SYSTEMS):
    """A fifth of the items tell systems apart, by their quality and chance; on the others all are
    level."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(0, 1, systems)[:, None]
    apart = rng.random(items) < 0.2
    scores = np.where(apart, quality + rng.normal(scale=0.7, size=(systems, items)), 0.5)
    return Recordings(tuple(f"s{number}" for number in range(systems)), scores)


def protocol(**changes):
    paths = dict.fromkeys(("outputs", "items", "verdicts", "output"), "x")
    settings = {
        "selectors": ("random", "decisive"), "seeds": 3, "subset": 1.0, "iterative": True, "rules": ("tie-aware",),
        "risk": (0.1,), "max_judgments": 100,
    }  # fmt: skip
    return ReplayConfig.of(**paths | settings | changes)


def past_of(recordings, pair, count, seed=0):
    contest = recordings.contest(pair, 1.0, np.random.default_rng(0))
    return recordings.past(contest, count, np.random.default_rng(seed))


@given(
    pair=st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda pair: pair[0] < pair[1]),
    count=st.integers(2, 10),
    seed=st.integers(0, 1000),
)
def test_a_history_holds_every_comparison_of_so_many_systems_and_none_of_the_pair(pair, count, seed):
    past = past_of(mostly_ties(items=20), pair, count, seed)
    assert len(past.systems) == count
    assert len(past) == count * (count - 1) // 2
    assert not past.systems & {f"s{number}" for number in pair}


def test_a_history_is_on_the_contests_items_and_ties_within_the_margin():
    scores = np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.5, 1.0, 0.0], [0.3, 0.0, 0.9, 0.5], [0.0, 0.0, 0.1, 0.46]])
    data = Recordings(("a", "b", "c", "d"), scores, tie_margin=0.05)
    contest = data.contest((0, 1), 0.5, np.random.default_rng(3))
    past = data.past(contest, 2, np.random.default_rng(0))
    (first, _), sign = past.pairs[0], np.array([1, 0, 1, 0])[contest.positions]
    assert past.preferences[0].tolist() == (sign if first == "c" else -sign).tolist()


def known_of(recordings, contest, seed, run):
    """What the selector that goes by a history is told of the items, in one repetition."""
    return prospects_for(recordings, contest, seed, run.history_systems)


def without_selector(rows, selector):
    kept = [row for row in rows if row["selector"] == selector]
    return [{name: value for name, value in row.items() if name != "selector"} for row in kept]


@pytest.mark.parametrize("run", [{}, {"iterative": False, "sizes": (5, 20, 60)}])
def test_without_a_history_decisive_is_random_row_for_row(run):
    rows = run_pair(mostly_ties(), (2, 7), protocol(**run))
    assert without_selector(rows, "decisive") == without_selector(rows, "random") != []


def test_with_a_history_it_is_not():
    rows = run_pair(mostly_ties(), (2, 7), protocol(history_systems=8))
    assert without_selector(rows, "decisive") != without_selector(rows, "random")


def test_all_rules_and_risks_see_the_same_draws_whatever_else_is_run():
    data, many = (mostly_ties(), protocol(history_systems=8, rules=("tie-aware", "hypergeometric"), risk=(0.1, 0.1)))
    rows = run_pair(data, (2, 7), many)
    alone = run_pair(data, (2, 7), protocol(history_systems=8, selectors=("decisive",)))
    tie_aware = [row for row in rows if (row["selector"], row["rule"]) == ("decisive", "tie-aware")]
    assert tie_aware[::2] == tie_aware[1::2] == alone


def test_what_is_known_is_that_of_the_history_of_the_pair_and_repetition():
    data = mostly_ties()
    contest = data.contest((2, 7), 1.0, np.random.default_rng(0))
    past = data.past(contest, 8, np.random.default_rng([2, 7, 1, 2]))
    expected, found = (prospects_of(past, ()), known_of(data, contest, 1, protocol(history_systems=8)))
    assert (found.power, found.distances) == (expected.power, None)
    np.testing.assert_array_equal(found.shares, expected.shares)
    np.testing.assert_array_equal(found.agreements, expected.agreements)
    other = known_of(data, contest, 2, protocol(history_systems=8))
    assert not np.array_equal(other.agreements, expected.agreements)


def test_among_ties_a_history_saves_a_third_of_the_judgments_without_more_errors():
    data = mostly_ties()
    rows = [
        row for pair in data.pairs(20, np.random.default_rng(0)) for row in run_pair(data, pair, protocol(history_systems=8))
    ]  # fmt: skip
    random, decisive = by_rule(rows)
    assert (random["selector"], decisive["selector"]) == ("random", "decisive")
    assert decisive["judgments"] < 0.67 * random["judgments"]
    assert decisive["inconclusive"] < random["inconclusive"]
    assert decisive["error"] <= random["error"] + 2 * random["error_se"]


@pytest.fixture
def files(tmp_path):
    """The arguments of a replay of recorded verdicts, whose outputs nobody has."""
    data = mostly_ties(items=40, systems=6)
    table = verdicts(tmp_path, dict(zip(data.systems, data.scores.round(4), strict=True)))
    items = tmp_path / "items.jsonl"
    return [tmp_path / "outputs", "--items", items, "--verdicts", table, "--jobs", 1]


DRAWN = ["--selectors", "random,decisive", "--seeds", 2, "--subset", 1]
RULES = [*DRAWN, "--iterative", "--risk", 0.2, "--max-judgments", 30]
HISTORY = ["--history-systems", 4]


def test_a_replay_takes_a_history_and_no_outputs(files, tmp_path):
    result = replay(*files, *RULES, *HISTORY, "--rules", "tie-aware", "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    random, decisive = json.loads(result.stdout)
    assert (random["selector"], decisive["selector"]) == ("random", "decisive")
    assert random["judgments"] != decisive["judgments"]
    assert "not run" not in result.stderr
    alone = replay(*files, *RULES, "--rules", "tie-aware", "-o", tmp_path / "alone")
    said = "without --history-systems decisive draws as random does"
    assert said in " ".join(alone.stderr.split())
    assert said not in " ".join(result.stderr.split())


def test_where_there_are_outputs_their_lengths_count(files, tmp_path):
    folder, items = files[0], range(40)
    asked = [*files, *RULES, *HISTORY, "--rules", "tie-aware", "--json", "-o"]
    without = replay(*asked, tmp_path / "without")
    assert f"judgeloop: {folder} is not a folder: decisive uses the history alone" in without.stderr
    folder.mkdir()
    write(tmp_path, {"items": [{"id": f"i{one}", "prompt": f"p{one}"} for one in items]})
    outputs = {f"s{n}": [{"id": f"i{one}", "output": "x" * (37 * one * n % 101)} for one in items] for n in range(5)}
    write(folder, outputs)
    with_lengths = replay(*asked, tmp_path / "with")
    assert (with_lengths.exit_code, with_lengths.stderr) == (0, "")
    random, decisive = json.loads(without.stdout)
    assert json.loads(with_lengths.stdout)[0] == random
    assert json.loads(with_lengths.stdout)[1] != decisive


def test_a_rule_that_a_selector_cannot_go_with_is_named(files, tmp_path):
    rules = ["--rules", "anytime,tie-aware"]
    result = replay(*files, *RULES, *HISTORY, *rules, "-o", tmp_path / "out", "--json")
    assert [(row["rule"], row["selector"]) for row in json.loads(result.stdout)] == [
        ("anytime", "random"), ("tie-aware", "random"), ("tie-aware", "decisive"),
    ]  # fmt: skip
    assert "judgeloop: anytime not run with decisive: " in result.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--history-systems", 5], "--history-systems 5: 6 systems are recorded, which leaves 4 besides a pair"),
        (["--history-systems", 1], "--history-systems: expected 0 or at least 2"),
        (["--history-systems", -1], "--history-systems"),
        ([*HISTORY, "--selectors", "random"], "only the selector decisive uses a history"),
        (["--iterative", "--rules", "anytime", "--selectors", "decisive"], "--rules: expected a rule that holds"),
    ],
)
def test_what_is_wrong_with_a_history_is_said_in_a_line(files, tmp_path, flags, message):
    result = replay(*files, *DRAWN, *flags, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
