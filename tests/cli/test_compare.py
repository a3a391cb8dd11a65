"""The command line as people use it: exit codes, one clear line for bad input, JSON and nothing
else, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.chat_server import Response, candidates, completion, error, goodness, used, verdict
from support.commandline import judged_by, judgeloop
from support.patience import PATIENCE_S
from support.text import unwrapped

from judgeloop.engine import pace
from judgeloop.ledger.opening import open_ledger

COMMAND = [sys.executable, "-m", "judgeloop"]


@pytest.fixture
def files(tmp_path):
    """Two output files of 30 items; "good" answers better on two thirds of them."""
    rows = {"first": [], "second": []}
    for i in range(30):
        better = i % 3 > 0
        rows["first"].append({"id": f"i{i}", "prompt": f"p{i}", "model": "good-model", "reference": f"ref {i}",
                              "output": f"a good answer {i}" if better else f"an answer {i}"})  # fmt: skip
        rows["second"].append({"id": f"i{i}", "prompt": f"p{i}", "model": "poor-model",
                               "output": f"answer {i}" if better else f"one good answer {i}"})  # fmt: skip
    paths = []
    for name, lines in rows.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        paths.append(path)
    table = tmp_path / "verdicts.csv"
    table.write_text(
        "item_id,model_a,model_b,score,cost_usd\n"
        + "".join(f"i{i},good-model,poor-model,{float(i % 3 > 0)},0.01\n" for i in range(30))
    )
    return *paths, f"replay:{table}"


@pytest.fixture
def recorded(files):
    """A comparison by recorded verdicts, as its arguments."""
    first, second, replay = files
    return ["compare", first, second, "--judge", replay]


@pytest.fixture
def judged(files, tmp_path):
    """A comparison by these scores of the items, as its arguments."""

    def by(scores):
        rows = [f"i{i},good-model,poor-model,{score}\n" for i, score in enumerate(scores)]
        (tmp_path / "scores.csv").write_text("item_id,model_a,model_b,score\n" + "".join(rows))
        return ["compare", *files[:2], "--judge", f"replay:{tmp_path / 'scores.csv'}"]

    return by


def live(server, *files):
    return [*files, *judged_by(server)]


def started(server, files):
    """The same as the command of a process of its own, with four calls at a time."""
    return [*COMMAND, "compare", *map(str, live(server, *files[:2])), "--concurrency", "4"]


@pytest.mark.smoke
def test_a_decision_is_the_first_line_and_exit_0(recorded):
    result = judgeloop(*recorded)
    assert result.exit_code == 0, result.output
    first_line, *lines = result.stdout.splitlines()
    assert first_line == "✓ DECIDED: good-model is better than poor-model on items like these 30."
    assert [line.split()[0] for line in lines if re.match(r"  \w", line)][:5] == [
        "judged", "votes", "gap", "risk", "cost",
    ]  # fmt: skip
    assert any(line.startswith("Warning: The set has only 30 items.") for line in lines)
    assert result.stderr.splitlines() == [
        "judgeloop: ledger: new, at .judgeloop/ledger.sqlite",
        (
            "judgeloop: compare: good-model and poor-model, 30 items, judged by replay:verdicts.csv, "
            "at most 30 judgments and $5.00 of recorded costs"
        ),
    ]


def test_a_quiet_run_shows_no_progress_and_only_decision_cost_and_warnings(recorded):
    judgeloop(*recorded)
    whole = judgeloop(*recorded).stdout
    for quiet in ("-q", "--quiet"):
        result = judgeloop(*recorded, quiet)
        assert not result.stderr
        assert whole.startswith(result.stdout.rstrip("\n"))
        assert result.stdout.count("\n\n") == 2, "the decision, what is seen first, and the warnings"


@pytest.mark.smoke
def test_json_is_one_object_and_nothing_else(recorded):
    result = judgeloop(*recorded, "--json")
    outcome = json.loads(result.stdout)
    assert not result.stderr
    assert outcome["winner"] == "good-model"
    assert (outcome["about"], outcome["items"]) == ("like-these", 30)
    assert outcome["headline"] == "good-model is better than poor-model on items like these 30."
    assert set(outcome["wins"]) == set(outcome["systems"]) == {"good-model", "poor-model"}
    assert outcome["judged"] == sum(outcome["wins"].values()) + outcome["ties"]
    assert outcome["rule"] == "bets"
    assert "at most 30 judgments" in outcome["guarantee"]
    assert outcome["risk"] <= outcome["risk_threshold"] == 0.1
    assert outcome["stop_reason"] == "risk_met"
    assert (outcome["spent_usd"], outcome["budget_usd"]) == (0.0, 5.0)
    assert outcome["rehearsed_usd"] == pytest.approx(0.01 * outcome["asked"])


def test_a_ceiling_that_lowers_the_budget_is_named(recorded):
    done = judgeloop(*recorded, JUDGELOOP_MAX_USD="2")
    assert "judgeloop: JUDGELOOP_MAX_USD lowers the budget to $2.00" in done.stderr
    assert "of $2.00" in done.stdout
    assert "lowers" not in judgeloop(*recorded, "--budget", "2", JUDGELOOP_MAX_USD="2").stderr
    refused = judgeloop(*recorded, "--budget", "5", JUDGELOOP_MAX_USD="2")
    assert (refused.exit_code, "allows no run more than $2" in refused.stderr) == (2, True)


@pytest.mark.smoke
def test_undecided_says_why_and_what_would_decide_and_exits_3(recorded):
    limited = [*recorded, "--max-judgments", 6, "--risk", 0.01]
    result = judgeloop(*limited)
    assert result.exit_code == 3
    assert unwrapped(result.stdout).startswith(
        "? OPEN: no winner yet between good-model and poor-model on items like these 30: the limit of 6 judgments is reached."
    )
    assert re.search(
        r"Perhaps --max-judgments \d+ would decide \(expected cost \$0\.\d+\), a rough guess\.",
        unwrapped(result.stdout),
    )
    assert "The limit of 6 judgments is reached." in result.stdout
    outcome = json.loads(judgeloop(*limited, "--json").stdout)
    assert (outcome["winner"], outcome["stop_reason"]) == (None, "judgment_limit")
    assert outcome["more_judgments"] > 0
    assert outcome["more_usd"] == pytest.approx(0.01 * outcome["more_judgments"])


@pytest.mark.parametrize(("required", "code"), [("good-model", 0), ("poor-model", 5)])
def test_require_winner_turns_the_winner_into_an_exit_code(recorded, required, code):
    gate = [*recorded, "--require-winner", required]
    assert judgeloop(*gate).exit_code == code
    undecided = judgeloop(*gate, "--max-judgments", 5, "--risk", "1e-9")
    assert undecided.exit_code == 3, "undecided is undecided, whoever is required"


@pytest.mark.smoke
def test_the_true_bill_never_exceeds_the_budget(files, chat_server):
    result = judgeloop("compare", *live(chat_server, *files[:2]), "--budget", "0.04", "--risk", 0.001,
                       "--concurrency", 64, "--json")  # fmt: skip
    outcome = json.loads(result.stdout)
    assert result.exit_code == 3
    assert outcome["stop_reason"] == "budget"
    bill = len(chat_server.requests) * 0.0006
    assert outcome["spent_usd"] == pytest.approx(bill)
    assert 0.04 - 2 * 0.00861 < bill <= 0.04


@pytest.mark.smoke
def test_an_unpriced_model_under_a_budget_is_refused_before_the_first_call(files, chat_server):
    arguments = ["compare", *live(chat_server, *files[:2])[:-2]]
    result = judgeloop(*arguments)
    assert result.exit_code == 2
    assert "no price is known" in result.stderr
    assert "--judge-price" in result.stderr
    assert not chat_server.requests
    result = judgeloop(*arguments, "--budget", "none", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["spent_usd"] is None, "an unknown price is not zero dollars"


def test_a_servers_own_message_is_shown_on_one_line_without_the_key_and_shortened(files, chat_server):
    key = "sk-secret-key-0123456789"
    message = f"model \x1b[31m{key}\n::error::not for you " + "y" * 600
    body = {"error": {"message": message, "type": "permission_error"}}
    chat_server.respond = lambda request, number: Response(403, json.dumps(body).encode())
    result = judgeloop("compare", *live(chat_server, *files[:2]), JUDGELOOP_JUDGE_API_KEY=key)
    assert result.exit_code == 4
    (why,) = [line for line in result.stderr.splitlines() if "no result" in line]
    assert 'the server says: "model \\x1b[31m[masked key] ::error::not for you yyy' in why
    assert why.endswith('y…".')
    assert "secret" not in result.stderr
    assert len(why) < 600


def test_a_dry_run_counts_no_calls_for_identical_outputs_and_names_guessed_columns(tmp_path, chat_server):
    for name in ("a", "b"):
        rows = [f"q{i},{name if i < 10 else 'the same'}" for i in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["Question,answer", *rows]) + "\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    arguments = ["compare", *live(chat_server, *files), "--dry-run"]
    forecast = json.loads(judgeloop(*arguments, "--json").stdout)
    assert (forecast["questions"], forecast["questions_without_a_call"]) == (40, 30)
    assert forecast["judgments"]["worst"] + forecast["answered_from_ledger"] == 40
    assert forecast["calls"]["worst"] == 2 * 10
    text = unwrapped(judgeloop(*arguments).stdout)
    judged, free = (int(n) for n in re.search(r"(\d+) of 40 items have .* (\d+) items need no call", text).groups())
    assert (judged, judged + free) == (forecast["answered_from_ledger"], 30)
    assert "Columns: prompt from 'Question', output from 'answer' (" in text
    assert "--map sets them." in text
    assert chat_server.requests == []
    result = judgeloop("compare", *live(chat_server, *files), "--json")
    assert json.loads(result.stdout)["guessed"].endswith("--map sets them")


def test_a_dry_run_says_what_a_small_budget_pays_for_as_the_run_finds_it(files, chat_server):
    arguments = ["compare", *live(chat_server, *files[:2])]
    forecast = json.loads(judgeloop(*arguments, "--dry-run", "--json").stdout)
    worst = forecast["usd"]["worst"] / forecast["judgments"]["worst"]
    for budget, pays in ((worst / 2, 0), (worst * 1.05, 1)):
        more = ["--budget", f"{budget:.6f}"]
        forecast = json.loads(judgeloop(*arguments, *more, "--dry-run", "--json").stdout)
        text = unwrapped(judgeloop(*arguments, *more, "--dry-run").stdout)
        assert ("covers no further judgment" in text) == (not pays)
        judged = json.loads(judgeloop(*arguments, *more, "--json").stdout)["judged"]
        assert min(1, forecast["budget_pays_for"]) == min(1, judged) == pays


def test_an_address_without_a_path_is_told_where_servers_are(files, chat_server):
    arguments = live(chat_server, *files[:2])
    arguments[arguments.index(chat_server.url)] = chat_server.root
    chat_server.respond = lambda request, number: error(404)
    result = judgeloop("compare", *arguments)
    assert result.exit_code == 4
    assert "the address has no path, and most servers want one, such as /v1" in result.stderr


# What else a file may have is in `tests/formats`.
BAD_INPUT = {
    "no such file": (None, "there is no such file"),
    "no JSON": (b'{"id": "i0", "prompt": "p", "output": "x"}\n{"id"\n', "line 2: this is no JSON"),
    "a partial join": (
        b'{"id": "i0", "prompt": "p0", "output": "x"}\n{"id": "z", "prompt": "z", "output": "x"}\n',
        "1 matched, 29 only in good-model ('i1', 'i2', 'i3', …), 1 only in bad ('z')",
    ),
}


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_bad_input_is_one_clear_line_exit_2_and_nothing_spent(files, chat_server, tmp_path, kind):
    content, message = BAD_INPUT[kind]
    bad = tmp_path / "bad.jsonl"
    if content is not None:
        bad.write_bytes(content)
    result = judgeloop("compare", *live(chat_server, files[0], bad))
    assert result.exit_code == 2
    assert not result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert "bad" in result.stderr
    assert not chat_server.requests
    assert not (tmp_path / ".judgeloop").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "gpt-4"], "there is no such judge"),
        (["--judge", "metric:bleu"], "unknown metric"),
        (["--judge", "replay:nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--judge", "openai/gpt-4.1"], "set OPENAI_API_KEY"),
        (["--judge", "openai/m", "--judge-price", "1"], "--judge-price"),
        (["--judge", "openai/m", "--prompt", "rating.v1"], "rates one answer"),
        (["JUDGELOOP_MIN_JUDGMENTS=9", "--max-judgments", "8"], "JUDGELOOP_MIN_JUDGMENTS"),
        (["--give-up", "1"], "--give-up: "),
        (["--deadline=-3m"], "--deadline"),
        (["--near-tie", "0.1", "--rule", "tie-aware"], "it applies to --rule bets"),
        (["--represent", "minilm"], "has no effect with --selector random and --rule bets; it applies to"),
        (["--selector", "diffuse", "--rule", "bets"], "use --selector random, or a rule that does not need uniform draws"),
        (["--require-winner", "nobody"], "--require-winner"),
        (["--items", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["--budgets", "5"], "No such option"),
    ],
)  # fmt: skip
def test_a_wrong_flag_is_named_exit_2_and_nothing_spent(files, tmp_path, arguments, message):
    judge = [] if "--judge" in arguments else ["--judge", files[2]]
    result = judgeloop("compare", *files[:2], *judge, *arguments)
    assert result.exit_code == 2, result.output
    assert message in re.sub(r"[│\s]+", " ", result.stderr)
    assert not (tmp_path / ".judgeloop" / "ledger.sqlite").exists()


def test_a_metric_without_references_is_refused(files, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(files[1].read_text().replace("poor-model", "other").replace("answer", "reply"))
    result = judgeloop("compare", other, files[1], "--judge", "metric:exact")
    assert result.exit_code == 2
    assert "'reference'" in result.stderr


def test_a_file_that_is_no_ledger_is_a_wrong_file_and_exit_2(recorded, tmp_path):
    (tmp_path / "bad.sqlite").write_text("no database " * 100)
    result = judgeloop(*recorded, "--ledger", "bad.sqlite")
    assert result.exit_code == 2
    said = "bad.sqlite is not a ledger, nor any SQLite database; name another file (--ledger)"
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.processes
def test_a_terminal_sees_one_live_line_and_a_pipe_plain_text(files, chat_server):
    chat_server.respond = lambda request, n: Response(200, verdict(goodness(request)).body, delay_s=0.1)
    master, slave = pty.openpty()
    process = subprocess.Popen(started(chat_server, files), stdout=subprocess.PIPE, stderr=slave,
                               text=True, env=os.environ | {"TERM": "xterm", "COLUMNS": "120"})  # fmt: skip
    os.close(slave)
    seen = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    out, _ = process.communicate(timeout=PATIENCE_S)
    os.close(master)
    assert process.returncode == 0
    assert "━".encode() in seen
    assert b"leads: good-model" in seen
    assert b"risk" not in seen
    assert "\x1b" not in out
    assert out.startswith("✓ DECIDED: good-model is better than poor-model")


def test_an_unreadable_reply_names_the_flag_in_every_file(files, chat_server, tmp_path):
    chat_server.respond = lambda request, n: completion("Answer A, by its `verdict`.")
    pages = [tmp_path / f"page.{ending}" for ending in ("html", "csv")]
    more = ["--max-judgments", "3", *(f"-o{page}" for page in pages)]
    judgeloop("compare", *live(chat_server, *files[:2]), *more, JUDGELOOP_MAX_ABSTENTIONS="1")
    for page in pages:
        text = page.read_text()
        assert "try another form with --verdict" in text
        assert "(Expecting value)" in text
        assert "by its `verdict`." in text, "the reply is quoted as it was"


def test_a_deadline_ends_a_run_undecided_and_the_same_command_resumes(files, chat_server, clock):
    def respond(request, n):
        if n == 1:
            clock.skip(3600)
        return verdict("A")

    chat_server.respond = respond
    command = ["compare", *live(chat_server, *files[:2]), "--concurrency", "1", "--order", "fixed"]
    done = judgeloop(*command, "--deadline", "1h")
    assert done.exit_code == 3, done.stderr
    assert "on items like these 30: the deadline has passed." in unwrapped(done.stdout)
    assert "The deadline of 3600 s is reached." in done.stdout
    assert "Rerun the command to resume." in done.stdout
    assert judgeloop(*command).exit_code == 0
    asked = [json.dumps(candidates(request)) for request in chat_server.requests]
    assert len(set(asked)) == len(asked), "what the first command learned is not asked again"


def test_a_judge_that_only_answered_earlier_commands_has_failed_at_the_deadline(files, chat_server, clock):
    chat_server.respond = lambda request, n: verdict("A")
    command = ["compare", *live(chat_server, *files[:2]), "--concurrency", "1", "--order", "fixed"]
    judgeloop(*command, "--max-judgments", "1")

    def down(request, n):
        clock.skip(3600)
        return error(503, "down")

    chat_server.respond = down
    assert judgeloop(*command, "--deadline", "1h").exit_code == 4


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (["--selector", "input-cluster"], "input-cluster on lexical vectors"),
    ],
)  # fmt: skip
def test_a_selector_that_picks_runs_by_a_heuristic_and_is_named(recorded, flags, shown):
    result = judgeloop(*recorded, *flags, "--seed", 3)
    assert result.exit_code in {0, 3}, result.output
    assert shown in unwrapped(result.stdout)
    assert "rule      tie-aware" in result.stdout


def test_a_run_shows_bounds_and_may_end_with_no_practical_difference(judged):
    scores = [[0.5, 1.0, 0.0][i % 3 if i < 3 else 0] for i in range(30)]
    arguments = [*judged(scores), "--risk", "0.2", "--near-tie", "0.3"]
    arguments += ["--about", "items", "--max-judgments", "29"]
    result = judgeloop(*arguments)
    assert result.exit_code == 0, result.output
    expected = "✓ DECIDED: good-model and poor-model differ by at most 30 points on these 30 items."
    assert result.stdout.startswith(expected)
    bound = "Each bound is wrong with a chance of at most 0.2, so both hold in at least 60 % of runs."
    assert bound in unwrapped(result.stdout)
    required = judgeloop(*arguments, "--require-winner", "good-model", "--json")
    assert required.exit_code == 3
    low, high = json.loads(required.stdout)["gap_interval"]
    assert -0.3 <= low <= high <= 0.3


def test_systems_that_are_level_on_every_item_have_no_difference_and_pass(judged):
    arguments = [*judged([i % 2 for i in range(30)]), "JUDGELOOP_MIN_JUDGMENTS=30", "--about", "items"]
    result = judgeloop(*arguments)
    assert result.exit_code == 0, result.output
    said = "✓ DECIDED: good-model and poor-model are level on these 30 items."
    assert unwrapped(result.stdout).startswith(said)
    assert judgeloop(*arguments, "--require-winner", "good-model").exit_code == 3


def test_a_table_of_verdicts_on_some_items_goes_with_allow_partial(judged):
    arguments = [*judged([1.0, 0.0] * 4), "JUDGELOOP_MIN_JUDGMENTS=200"]
    refused = judgeloop(*arguments)
    assert refused.exit_code == 2
    assert refused.stderr.endswith("judge only the items that it has with --allow-partial\n")
    result = unwrapped(judgeloop(*arguments, "--allow-partial").stdout)
    assert "judged all 8 items, by replay:scores.csv" in result
    assert "The answer is about 8 items; others are left out: 22 without a verdict in " in result


@pytest.fixture
def level(judged):
    """A comparison of two systems that are level, by its arguments."""
    return [*judged([[1, 0, 0.5][i % 3] for i in range(30)]), "--max-judgments", 24]


def test_a_level_pair_is_given_up_when_asked_for_and_exits_3(level, tmp_path):
    page = tmp_path / "page.html"
    result = judgeloop(*level, "--give-up", "0.3", "-o", page)
    assert result.exit_code == 3, result.output
    why = "Gave up, as the chance of a decision within 24 judgments is about 0."
    assert ": a decision within the maximum number of judgments is unlikely." in unwrapped(result.stdout)
    assert why in unwrapped(result.stdout)
    assert "; gives up if a decision is less likely than 0.3" in unwrapped(result.stdout)
    assert why in page.read_text()
    without = judgeloop(*level)
    assert ": the limit of 24 judgments is reached." in unwrapped(without.stdout)
    assert "gives up" not in without.stdout


@pytest.mark.parametrize("rule", ["bets", "tie-aware"])
def test_a_run_by_any_rule_is_given_up(level, rule):
    result = json.loads(judgeloop(*level, "--rule", rule, "--give-up", "0.5", "--json").stdout)
    assert result["stop_reason"] == "futility"


def test_looking_ahead_gives_the_same_decision_and_says_what_it_cost(recorded):
    plain, faster = (
        json.loads(judgeloop(*recorded, *more, "--json").stdout)
        for more in ([], ["JUDGELOOP_AHEAD=10", "--ledger", "other.sqlite"])
    )
    same = ("winner", "risk", "judged", "wins", "ties", "stop_reason", "run")
    assert [faster[name] for name in same] == [plain[name] for name in same]
    assert faster["asked"] == plain["asked"] + faster["ahead"]
    assert faster["ahead"] > plain["ahead"] == 0
    assert faster["rounds"] < plain["rounds"]
    assert faster["ahead_usd"] == pytest.approx(0.01 * faster["ahead"])
    shown = judgeloop(*recorded, "JUDGELOOP_AHEAD=10", "--ledger", "third.sqlite").stdout
    assert re.search(r"\d items more than needed \(about \$0\.\d+\)", unwrapped(shown))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--ahead", "soon"], "a number from 0, or auto"),
        (["--ahead", "-1"], "a number from 0, or auto"),
        (["JUDGELOOP_LOOKAHEAD=4"], "JUDGELOOP_AHEAD"),
    ],
)
def test_a_number_ahead_that_is_none_and_its_old_name_are_refused(recorded, given, said):
    result = judgeloop(*recorded, *given)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.processes
def test_ctrl_c_twice_gives_up_what_is_in_flight_leaves_it_charged_and_exits_130(files, chat_server):
    chat_server.respond = lambda request, n: Response(200, verdict("A").body, delay_s=20)
    process = subprocess.Popen(started(chat_server, files), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(chat_server.requests) < 4:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    while "stopping" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert not out
    assert "INTERRUPTED, no result" in err
    assert "judgeloop ledger show --unknown" in err


def test_two_commands_at_once_do_not_pay_for_the_same_question(files, chat_server, monkeypatch):
    monkeypatch.setattr("judgeloop.ledger.ledger.PATIENCE_S", 0.05)
    command = ["compare", *live(chat_server, *files[:2])]
    run = json.loads(judgeloop(*command, "--dry-run", "--json").stdout)["run"]
    other = open_ledger(Path(".judgeloop/ledger.sqlite"))
    with other.only_run(run):
        done = judgeloop(*command)
    asyncio.run(other.aclose())
    assert done.exit_code == 1
    assert "another judgeloop process is working on this run" in done.stderr
    assert not chat_server.requests


def test_a_result_file_never_overwrites_an_input(files):
    before = files[0].read_bytes()
    copy = files[0].with_suffix(".json")
    copy.write_bytes(before)
    result = judgeloop("compare", copy, files[1], "--judge", files[2], "-o", copy)
    assert result.exit_code == 2
    assert copy.read_bytes() == before


@pytest.mark.smoke
def test_doctor_finds_a_fit_judge_fit_with_one_call(doctor, chat_server):
    chat_server.respond = lambda request, n: verdict("A")
    result = judgeloop(*doctor)
    assert result.exit_code == 0, result.output
    assert len(chat_server.requests) == 1
    assert "the right answer was preferred" in result.stdout
    chat_server.respond = lambda request, n: error(401, "invalid_api_key")
    result = judgeloop(*doctor, "--prompt", "pairwise-reference.v1")
    assert (result.exit_code, len(chat_server.requests)) == (4, 2)
    assert "no key was sent" in unwrapped(result.stdout)
    result = judgeloop(*doctor[:-2])
    unpriced = "an unpriced judge is not asked under a budget"
    assert (result.exit_code, len(chat_server.requests)) == (4, 2), unpriced


def test_doctor_shows_what_the_ledger_is_kept_by_and_on(doctor, chat_server):
    chat_server.respond = lambda request, n: verdict("A")
    for calls in (1, 2):  # a verdict of before is not taken for an answer of today
        result = judgeloop(*doctor)
        assert len(chat_server.requests) == calls
    assert f"SQLite {sqlite3.sqlite_version}, .judgeloop/ledger.sqlite on " in result.stdout


def test_a_ledger_that_is_new_or_that_others_may_change_is_said(chat_server, files):
    command = ["compare", *live(chat_server, *files[:2]), "--max-judgments", 5]
    assert "judgeloop: ledger: new, at .judgeloop/ledger.sqlite" in judgeloop(*command).stderr
    again = judgeloop(*command).stderr
    assert "ledger: new" not in again
    assert "can be changed" not in again
    Path(".judgeloop").chmod(0o777)
    assert "can be changed by every user of this machine" in judgeloop(*command).stderr


def test_doctor_has_a_judge_rate_where_it_is_to_rate(doctor, chat_server, tmp_path):
    def rated(said, ledger):
        chat_server.respond = lambda request, n: said
        return judgeloop(*doctor, "--rating", "--ledger", tmp_path / ledger)

    result = rated(completion('{"reason": "so", "rating": "10"}'), "1.sqlite")
    assert result.exit_code == 0, result.output
    assert "the right answer was rated 1.00 of 1" in result.stdout
    assert candidates(chat_server.requests[0]).keys() == {"task", "reference", "answer"}
    low = rated(completion('{"reason": "so", "rating": "2"}'), "2.sqlite")
    assert "it rated the right answer (Paris) 0.11 of 1" in low.stdout
    refused = rated(verdict("A"), "3.sqlite")
    assert refused.exit_code == 4
    assert "the reply is no verdict" in refused.stdout


def test_ctrl_c_outside_of_a_run_says_so_and_exits_with_130(files, monkeypatch):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("judgeloop.questions.compare.question.read_inputs", interrupted)
    result = judgeloop("compare", *files[:2], "--judge", "metric:rouge2")
    assert result.exit_code == 130
    assert result.stderr == "judgeloop: interrupted; what was paid for is kept\n"


@pytest.fixture
def doctor(chat_server):
    """The command `doctor` for a judge that answers as the test says."""
    return ["doctor", *live(chat_server)]


def test_a_dry_run_leaves_out_the_calls_that_the_ledger_answers(files, chat_server):
    first, second, _ = files
    chat_server.respond = lambda request, number: verdict("tie" if number % 2 else "A")
    arguments = ["compare", *live(chat_server, first, second), "--risk", "0.001"]

    def worst(*more):
        forecast = judgeloop(*arguments, "--dry-run", "--json", "--controls", "off", *more)
        return json.loads(forecast.stdout)["calls"]["worst"]

    assert worst() == 60
    judgeloop(*arguments, "--max-judgments", 12, "--controls", "off")
    assert worst() == worst("--seed", 1) < 60 - len(chat_server.requests), "a tie settles two calls"


def test_a_judge_that_never_answers_is_given_up_soon_though_verdicts_are_known(files, chat_server, monkeypatch):
    first, second, _ = files
    arguments = ["compare", *live(chat_server, first, second)]
    assert judgeloop(*arguments, "--max-judgments", 12).exit_code in {0, 3}
    known, begin = list[bool](), pace.Retries.__init__

    def beginning(retries, policy, *, answered):
        known.append(answered)
        begin(retries, policy, answered=answered)

    monkeypatch.setattr(pace.Retries, "__init__", beginning)
    monkeypatch.setattr(pace, "UNREACHED_S", 0.5)
    chat_server.close()
    done = judgeloop(*arguments, "--max-judgments", 12, "--seed", 5)
    assert done.exit_code == 4
    assert "nothing answers at" in done.stderr
    assert known
    assert not any(known)


def test_a_run_on_known_verdicts_says_what_they_cost_and_what_all_would(files, chat_server):
    command = ["compare", *live(chat_server, *files[:2]), "--order", "fixed"]
    first = json.loads(judgeloop(*command, "--json").stdout)
    assert first["answers_usd"] == pytest.approx(first["spent_usd"])
    known = json.loads(judgeloop(*command, "--risk", "0.2", "--json").stdout)
    assert known["run_spent_usd"] == 0 < known["answers_usd"] <= first["answers_usd"]
    each = known["answers_usd"] / known["judged"]
    assert known["usd_of_all"] == pytest.approx(each * known["items"], rel=0.01)
    page = judgeloop(*command, "--risk", "0.2", "--details", "-o", "known.html").stdout
    assert "other runs paid $0.0" in unwrapped(page)
    told = Path("known.html").read_text()
    assert told.count("other runs paid $0.0") >= 1, "also where the command is repeated"


def test_a_reply_without_a_verdict_is_paid_for_once_by_a_run(files, chat_server):
    first, second, _ = files
    plain = verdict("A")
    chat_server.respond = lambda request, n: (
        completion("I cannot say.", usage=used(request)) if "p7" in str(request["messages"]) else plain
    )
    arguments = ["compare", *live(chat_server, first, second), "JUDGELOOP_MAX_ABSTENTIONS=0.1"]
    arguments += ["--order", "fixed", "--max-judgments", "30", "JUDGELOOP_MIN_JUDGMENTS=30"]
    told = json.loads(judgeloop(*arguments, "--json").stdout)
    assert told["abstentions"] > 0
    sent = len(chat_server.requests)
    forecast = json.loads(judgeloop(*arguments, "--dry-run", "--json").stdout)
    assert forecast["calls"]["worst"] == 0
    again = json.loads(judgeloop(*arguments, "--json").stdout)
    assert (again["attempts"], len(chat_server.requests)) == (0, sent)
    assert again["abstentions"] == told["abstentions"]
    judgeloop(*arguments, "--seed", "1")
    assert len(chat_server.requests) > sent, "another run asks once more"
