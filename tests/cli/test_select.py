"""`judgeloop select` as people use it, with a real SDK against a judge on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from support.chat_server import Response, candidates, error, goodness, verdict
from support.patience import PATIENCE_S
from support.text import unwrapped

from judgeloop.api.questions import select
from judgeloop.cli.app import app
from judgeloop.questions.select.config import SelectConfig
from judgeloop.settings.validation import checked

ITEMS = 40
SHARES = {
    "best": 0.9,
    "able": 0.6,
    "fair": 0.5,
    "poor": 0.2,
    "base": 0.5,
}  # of items with a good answer
PICKERS = ["halving", "llm-selector", "bradley-terry", "most-draws", "confidence", "uncertainty"]


def judgeloop(*arguments, env=None):
    """Run the command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)


@pytest.fixture
def systems(tmp_path):
    """Output files of five systems; the judge prefers an answer with "good" in it."""
    rng = np.random.default_rng(4)
    for name, share in SHARES.items():
        rows = []
        for i in range(ITEMS):
            text = f"a good answer to {i} " if rng.random() < share else f"an answer to {i} "
            rows.append({"id": f"i{i}", "prompt": f"p{i}", "model": name,
                         "output": text + " ".join(rng.choice(["well", "so", "then", "ok"], size=1 + i % 7)) + name})  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [tmp_path / f"{name}.jsonl" for name in SHARES]


def live(server, files, *more):
    return ["select", *files, "--baseline", "base", "--judge", "openai/judge", "--judge-base-url", server.url,
            "--judge-price", "1,10", *more]  # fmt: skip


def outcome_of(result):
    assert result.exit_code in {0, 3}, result.output
    return json.loads(result.stdout)


@pytest.mark.smoke
def test_a_race_names_the_best_with_its_risk_and_the_standings(systems, chat_server):
    result = judgeloop(*live(chat_server, systems))
    assert result.exit_code == 0, result.output
    first, *rest = result.stdout.splitlines()
    assert first == "best is the best of 5 systems on these 40 items."
    assert re.match(
        r"Judgments by openai/judge: \d+, on \d+ of 40 items\. Stated risk: 0\.\d+ \(guaranteed\)",
        rest[0],
    )
    assert "only 40 items" in " ".join(rest[1:3])
    assert rest[4] == "Win rates against base"
    assert any("the baseline itself" in line for line in rest)
    assert any("poor" in line and "not the best" in line for line in rest)
    assert result.stderr == (
        "judgeloop: ledger: new, at .judgeloop/ledger.sqlite\n"
        "judgeloop: select: 5 systems, 40 items, at most 160 judgments and $5.00\n"
    )


def test_who_is_out_is_asked_about_no_more(systems, chat_server):
    outcome = outcome_of(judgeloop(*live(chat_server, systems, "--json")))
    queries = {row["system"]: row["queries"] for row in outcome["standings"]}
    assert queries["poor"] < queries["best"] == outcome["queries"]
    assert outcome["near_best"] == ["best"]
    assert outcome["judged"] == sum(n for name, n in queries.items() if name != "base")
    asked = {candidates(request)["answer_A"] for request in chat_server.requests}
    asked |= {candidates(request)["answer_B"] for request in chat_server.requests}
    assert sum("poor" in text for text in asked) == queries["poor"]


@pytest.mark.parametrize("selector", ["race", "random", "credible", *PICKERS])
def test_every_selector_runs_through_the_session_and_concurrency_changes_nothing(
    systems, chat_server, selector, tmp_path
):
    outcomes = []
    for concurrency in (1, 16):
        more = (
            "--selector",
            selector,
            "--max-judgments",
            80,
            "--order",
            "fixed",
            "--concurrency",
            concurrency,
            "--json",
        )
        outcomes.append(
            outcome_of(
                judgeloop(
                    *live(
                        chat_server, systems, *more, "--ledger", tmp_path / f"{concurrency}.sqlite"
                    )
                )
            )
        )
    volatile = {"rounds"}
    first, second = ({k: v for k, v in one.items() if k not in volatile} for one in outcomes)
    assert first == second
    assert first["judged"] <= 80
    assert first["selector"] == selector
    if selector in PICKERS:
        assert first["winner"] is not None
        assert first["risk"] is None
        assert first["near_best"] is None
        assert first["win_rates_biased"]


def test_the_calls_of_a_query_fly_together(systems, chat_server):
    chat_server.respond = lambda request, number: Response(
        body=verdict(goodness(request)).body, delay_s=0.05
    )
    judgeloop(
        *live(
            chat_server,
            systems,
            "--selector",
            "llm-selector",
            "--max-judgments",
            8,
            "--concurrency",
            16,
        )
    )
    assert chat_server.most_in_flight >= 4, (
        "four systems, each compared with the baseline in both orders"
    )


def test_a_second_run_asks_nothing_and_another_selector_reuses_what_is_known(systems, chat_server):
    once = outcome_of(judgeloop(*live(chat_server, systems, "--json")))
    asked = len(chat_server.requests)
    again = outcome_of(judgeloop(*live(chat_server, systems, "--json")))
    assert len(chat_server.requests) == asked
    assert again["standings"] == once["standings"]
    assert again["spent_usd"] == 0
    other = outcome_of(judgeloop(*live(chat_server, systems, "--selector", "random", "--json")))
    assert other["remembered"] > 0


def test_money_that_ends_within_a_query_leaves_whole_queries(systems, chat_server):
    result = judgeloop(
        *live(
            chat_server,
            systems,
            "--selector",
            "random",
            "--risk",
            "1e-9",
            "--budget",
            "0.06",
            "--json",
        )
    )
    outcome = outcome_of(result)
    assert result.exit_code == 3
    assert outcome["stop_reason"] == "budget"
    assert {row["queries"] for row in outcome["standings"]} == {outcome["queries"]}
    assert outcome["judged"] == 4 * outcome["queries"] <= outcome["asked"]
    assert outcome["run_spent_usd"] <= 0.06
    assert (
        "Still in the race: best"
        in judgeloop(
            *live(
                chat_server, systems, "--selector", "random", "--risk", "1e-9", "--budget", "0.06"
            )
        ).stdout
    )
    more = outcome_of(
        judgeloop(*live(chat_server, systems, "--selector", "random", "--risk", "1e-9", "--json"))
    )
    assert more["stop_reason"] in {"all_judged", "risk_met"}, (
        "with a higher budget the same command goes on"
    )


def test_near_best_stops_sooner(systems, chat_server):
    exact = outcome_of(judgeloop(*live(chat_server, systems, "--json", "--risk", "0.02")))
    near = judgeloop(*live(chat_server, systems, "--near-best", "0.45", "--risk", "0.02"))
    assert near.exit_code == 0
    assert "is within 0.45 of the best win rate of 5 systems" in near.stdout.splitlines()[0]
    sooner = outcome_of(
        judgeloop(*live(chat_server, systems, "--near-best", "0.45", "--risk", "0.02", "--json"))
    )
    assert sooner["judged"] <= exact["judged"]


def test_a_required_winner_that_did_not_win_exits_5(systems, chat_server):
    result = judgeloop(*live(chat_server, systems, "--require-winner", "able"))
    assert result.exit_code == 5
    assert result.stdout.startswith("FAILED: able was required, and best is the best")


def test_the_baseline_itself_may_be_the_best(systems, chat_server):
    result = judgeloop(*live(chat_server, [systems[3], systems[2], systems[4]]), "--risk", "0.3")
    arguments = ["select", systems[3], systems[0], "--baseline", "best", "--judge", "openai/judge",
                 "--judge-base-url", chat_server.url, "--judge-price", "1,10"]  # fmt: skip
    assert result.exit_code in {0, 3}
    alone = judgeloop(*arguments)
    assert alone.stdout.startswith("best is the best of 2 systems"), alone.output


def test_a_judge_that_fails_exits_4(systems, chat_server):
    chat_server.respond = lambda request, number: error(401, "invalid_api_key")
    result = judgeloop(*live(chat_server, systems))
    assert result.exit_code == 4
    assert not result.stdout
    assert "no result: the judge failed: HTTP 401" in result.stderr


def test_abstentions_are_shown_and_count_for_nobody(systems, chat_server):
    def respond(request, number):
        material = candidates(request)
        silent = (
            "poor" in material["answer_A"] + material["answer_B"]
            and "to 3 " in material["answer_A"]
        )
        return verdict("neither" if silent else goodness(request))

    chat_server.respond = respond
    outcome = outcome_of(
        judgeloop(*live(chat_server, systems, "--selector", "random", "--risk", "1e-9", "--json"))
    )
    rows = {row["system"]: row for row in outcome["standings"]}
    assert rows["poor"]["abstentions"] == 1
    poor = rows["poor"]
    assert poor["wins"] + poor["ties"] + poor["losses"] == poor["queries"] - 1
    assert poor["win_rate"] == (poor["wins"] + poor["ties"] / 2) / (poor["queries"] - 1)


@pytest.mark.parametrize("selector", ["race", "halving", "llm-selector"])
def test_a_dry_run_forecasts_and_asks_nobody(systems, chat_server, selector):
    arguments = live(
        chat_server, systems, "--selector", selector, "--max-judgments", 120, "--dry-run"
    )
    text = judgeloop(*arguments)
    assert text.exit_code == 0, text.output
    assert text.stdout.startswith("Forecast only")
    forecast = json.loads(judgeloop(*arguments, "--json").stdout)
    assert not chat_server.requests
    assert forecast["job"] == "select"
    assert (
        0
        < forecast["judgments"]["low"]
        <= forecast["judgments"]["expected"]
        <= forecast["judgments"]["worst"]
        == 120
    )
    outcome = outcome_of(judgeloop(*arguments[:-1], "--json"))
    assert outcome["spent_usd"] <= forecast["usd"]["worst"]
    assert outcome["judged"] >= forecast["judgments"]["low"] or selector != "race"


def test_the_result_is_written_in_every_form(systems, chat_server, tmp_path):
    for ending in (".json", ".md", ".txt", ".html", ".csv"):
        path = tmp_path / f"result{ending}"
        result = judgeloop(*live(chat_server, systems, "-o", path))
        assert result.exit_code == 0, result.output
        text = path.read_text(encoding="utf-8")
        assert "best" in text
    assert text.splitlines()[0].startswith("item_id,system,against,score")
    assert {line.split(",")[2] for line in text.splitlines()[1:]} == {"base"}


def test_a_program_selects_without_the_command_line(systems, chat_server, tmp_path):
    config = checked(
        SelectConfig,
        {
            "outputs": tuple(systems),
            "baseline": "base",
            "judge": "openai/judge",
            "judge_base_url": chat_server.url,
            "judge_price": "1,10",
            "ledger": tmp_path / "l.sqlite",
        },
    )
    assert select(config).winner == "best"


def renamed(path, **changes):
    rows = [json.loads(line) | changes for line in path.read_text().splitlines()]
    other = path.with_name("other.jsonl")
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return other


BAD = {
    "one system": (
        lambda files: [files[4]],
        [],
        "at least 2 systems, the baseline's among them; found 1",
    ),
    "a baseline that is not there": (
        lambda files: files[:4],
        [],
        "--baseline: expected one of best, able, fair, poor, found 'base'; its outputs have to be among those given",
    ),
    "the same outputs twice": (
        lambda files: [*files, renamed(files[0], model="copy")],
        [],
        "best and copy gave the same output on all 40 items",
    ),
    "separated with a selector that picks": (
        lambda files: files,
        ["--selector", "confidence", "--rule", "separated"],
        "--rule separated holds only for random draws",
    ),
    "a race to the end of a budget": (
        lambda files: files,
        ["--rule", "fixed-budget"],
        "for a fixed number of judgments use --selector halving",
    ),
    "near-best without a risk": (
        lambda files: files,
        ["--selector", "halving", "--near-best", "0.1"],
        "it applies to --rule separated",
    ),
    "epsilon for another selector": (
        lambda files: files,
        ["--epsilon", "0.1,0.2"],
        "--epsilon 0.1,0.2 has no effect with --selector race and --rule separated; it applies to --selector llm-selector",
    ),
    "one epsilon": (
        lambda files: files,
        ["--selector", "llm-selector", "--epsilon", "0.1"],
        "--epsilon: expected auto, or E1,E2",
    ),
    "epsilons that leave no room": (
        lambda files: files,
        ["--selector", "llm-selector", "--epsilon", "0.6,0.4"],
        "with a sum under 1",
    ),
    "no such selector": (lambda files: files, ["--selector", "best"], "--selector: "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line_and_nothing_is_asked(systems, chat_server, case):
    files, more, message = BAD[case]
    result = judgeloop(*live(chat_server, files(systems), *more))
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not chat_server.requests


def test_systems_with_different_items_are_refused_with_counts(systems, chat_server):
    lines = systems[0].read_text().splitlines()
    systems[0].write_text("\n".join(lines[:30]) + "\n")
    result = judgeloop(*live(chat_server, systems))
    assert result.exit_code == 2
    assert "30 matched" in result.stderr
    assert "--allow-partial" in result.stderr
    assert judgeloop(*live(chat_server, systems, "--allow-partial")).exit_code == 0


@pytest.mark.processes
def test_ctrl_c_keeps_what_was_paid_for_and_the_same_command_goes_on(systems, chat_server):
    chat_server.respond = lambda request, number: Response(
        body=verdict(goodness(request)).body, delay_s=0.05
    )
    arguments = [
        *live(chat_server, systems, "--selector", "random", "--risk", "1e-9", "--concurrency", 2)
    ]
    command = [sys.executable, "-m", "judgeloop", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        while len(chat_server.requests) < 12:
            time.sleep(0.02)
            assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert not out
    assert "no result: interrupted; what was paid for is kept" in err
    paid = len(chat_server.requests)
    chat_server.respond = lambda request, number: verdict(goodness(request))
    outcome = outcome_of(judgeloop(*arguments, "--json"))
    assert outcome["stop_reason"] in {"all_judged", "risk_met"}
    assert outcome["remembered"] >= paid - 2


def test_a_limit_below_one_whole_item_is_refused(systems, chat_server):
    done = judgeloop(*live(chat_server, systems, "--max-judgments", 3))
    assert done.exit_code == 2
    assert "one item takes 4 judgments" in done.stderr
    assert not chat_server.requests


def recorded(path, shares):
    """A table of verdicts against "base", which has no rows of its own."""
    rng = np.random.default_rng(5)
    rows = [
        f"i{i},{name},{int(rng.random() < share)}\n"
        for name, share in shares.items()
        for i in range(ITEMS)
    ]
    path.write_text("item_id,model,score\n" + "".join(rows))
    return path


def replayed(systems, tmp_path, *more):
    shares = {name: share for name, share in SHARES.items() if name != "base"}
    table = recorded(tmp_path / "verdicts.csv", shares)
    return ["select", *systems, "--baseline", "base", "--judge", f"replay:{table}", *more]


def test_recorded_verdicts_against_a_baseline_without_rows_are_taken(systems, tmp_path):
    outcome = outcome_of(judgeloop(*replayed(systems, tmp_path, "--json")))
    assert outcome["winner"] == "best"


def test_a_belief_stands_in_the_standings(systems, tmp_path):
    arguments = replayed(systems, tmp_path, "--selector", "credible")
    result = judgeloop(*arguments)
    assert result.exit_code == 0, result.output
    assert re.search(r"^ +best +[0-9.]+ % .*; belief 9\d\.\d %", result.stdout, re.MULTILINE)
    outcome = outcome_of(judgeloop(*arguments, "--json"))
    beliefs = {row["system"]: row["belief"] for row in outcome["standings"]}
    assert sum(beliefs.values()) == pytest.approx(1)
    assert beliefs["best"] > 0.9
    assert outcome["level_since"] is None


def test_a_belief_that_no_longer_moves_is_reported(systems, tmp_path):
    flags = ["--selector", "llm-selector", "--epsilon", "0.01,0.98", "--max-judgments", "160"]
    arguments = replayed(systems, tmp_path, *flags)
    result = judgeloop(*arguments)
    assert result.exit_code == 0, result.output
    since = outcome_of(judgeloop(*arguments, "--json"))["level_since"]
    assert 0 < since < ITEMS
    assert f"after {since} items all others promised the same" in unwrapped(result.stdout)
    baseline = next(line for line in result.stdout.splitlines() if "the baseline itself" in line)
    assert "; belief over 99.9 %" in baseline


def test_a_selector_without_a_belief_has_none(systems, tmp_path):
    outcome = outcome_of(judgeloop(*replayed(systems, tmp_path, "--json")))
    assert {row["belief"] for row in outcome["standings"]} == {None}


def test_a_guarantee_is_refused_where_systems_are_left_out_without_a_stated_risk(systems, tmp_path):
    result = judgeloop(
        *replayed(systems, tmp_path, "--selector", "credible", "--rule", "separated")
    )
    assert result.exit_code == 2
    assert "--selector credible leaves systems out without a stated risk" in result.stderr
