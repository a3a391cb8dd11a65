"""Files that lie in the working folder may be a stranger's: what they can and cannot set."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.chat_server import ChatServer
from support.commandline import judged_by, judgeloop
from support.outputs import write_outputs

PLUGIN = """
from pathlib import Path

Path("code-ran").touch()


def judge(**given):
    return 1.0
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two systems' outputs in the working folder, by relative names; and a stranger's code."""
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    for name in ("a", "b"):
        write_outputs(Path(f"{name}.jsonl"), [f"{name} good"] * 6, reference="a good")
    Path("evil.py").write_text(PLUGIN)
    return ["a.jsonl", "b.jsonl"]


def found(text: str, table: str = "compare") -> None:
    """A judgeloop.toml in the working folder."""
    Path("judgeloop.toml").write_text(f"[{table}]\n{text}\n")


METRIC = ["--judge", "metric:rouge1"]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('judge-price = "0,0"', "judge-price"),
        ('judge-base-url = "https://elsewhere.example/v1"', "judge-base-url"),
        ("allow-plugins = true", "allow-plugins"),
        ('judge = "python:evil:judge"', "runs code"),
        ('judge = ["metric:rouge1", "python:evil:judge"]', "runs code"),
        ('judge = "replay:../verdicts.csv"', "outside"),
        ('rubric = "/proc/self/environ"', "outside"),
        ('prompt = "../prompt.md"', "outside"),
        ('items = "/etc/passwd"', "outside"),
        ('ledger = "ledger.sqlite"', "only the caller"),
        ('cache-dir = "../cache"', "outside"),
        ('output = "../x.json"', "outside"),
        ('rubric = ".env"', "hidden"),
        ('rubric = "./.git/../.git/config"', "hidden"),
        ('rubric = "link.txt"', "hidden"),
        ('judge = "replay:.env"', "hidden"),
        ('items = ".env"', "hidden"),
        ('output = ".git/x.json"', "hidden"),
        ('represent = "minilm:model"', "only the caller"),
        ("budget = 50", "not raise"),
        ('budget = "none"', "not raise"),
        ('names = ["b", "a"]', "only the caller"),  # a gate would let the other pass
        ('judge-name = "lab"', "only the caller"),
    ],
)
def test_a_found_settings_file_cannot_set_what_harms(line: str, named: str, files: list[str], tmp_path: Path) -> None:
    for name in ("prompt.md", "past.csv"):
        (tmp_path.parent / name).write_text("x")
    Path(".git").mkdir()
    Path(".git/config").write_text("secret")
    Path(".env").write_text("OPENAI_API_KEY=sk-secret\n")
    Path("link.txt").symlink_to(".env")
    found(line)

    result = judgeloop("compare", *files, *METRIC)

    assert result.exit_code == 2, result.output
    assert "judgeloop.toml" in result.stderr
    assert named in result.stderr
    assert "--config judgeloop.toml" in result.stderr, "it says how to allow it"
    assert "secret" not in result.stderr
    assert not Path(".judgeloop").exists()
    assert not Path("code-ran").exists()


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_file_that_the_caller_names_is_trusted_as_a_whole(way: str, files: list[str]) -> None:
    found('judge = "python:evil:judge"\nallow-plugins = true\nbudget = "none"')
    given = ["--config", "judgeloop.toml"] if way == "option" else []
    environment = {} if given else {"JUDGELOOP_CONFIG": "judgeloop.toml"}

    result = judgeloop("compare", *files, *given, **environment)

    assert result.exit_code in {0, 3}, result.output
    assert Path("code-ran").exists()


def test_a_named_file_takes_the_place_of_the_found_one(files: list[str]) -> None:
    found("risk = 0.3")
    Path("mine.toml").write_text("[compare]\nseed = 5\n")
    result = judgeloop("compare", *files, *METRIC, "--config", "mine.toml", "--json")
    assert json.loads(result.stdout)["settings_files"] == {"mine.toml": ["seed"]}


@pytest.mark.parametrize("way", ["option", "variable"])
def test_an_env_file_does_not_change_the_question_of_a_file_that_the_caller_names(way: str, files: list[str]) -> None:
    """In the checkout of a pull request, it belongs to a stranger."""
    Path("gate.toml").write_text('[compare]\njudge = "metric:rouge1"\nrequire-winner = "b"\n')
    Path(".env").write_text("JUDGELOOP_REQUIRE_WINNER=a\nJUDGELOOP_DRY_RUN=1\nJUDGELOOP_RISK=0.4\nX_API_KEY=k\n")
    given = ["--config", "gate.toml"] if way == "option" else []
    environment = {} if given else {"JUDGELOOP_CONFIG": "gate.toml"}

    result = judgeloop("compare", *files, *given, "--json", **environment)

    assert result.exit_code == 5, result.output
    why = "(not taken: --config names the settings file)"
    assert json.loads(result.stdout)["settings_files"][".env"] == [
        "X_API_KEY",
        *(f"{name} {why}" for name in ("require-winner", "dry-run", "risk")),
    ]


def test_no_config_reads_nothing(files: list[str]) -> None:
    found('judge-price = "0,0"')
    Path(".env").write_text("OPENAI_BASE_URL=https://elsewhere.example\nJUDGELOOP_RISK=0.3\n")
    result = judgeloop("compare", *files, *METRIC, "--config", "none", "--json")
    assert result.exit_code in {0, 3}, result.output
    assert json.loads(result.stdout)["settings_files"] == {}


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_found_proxy_runs_no_code_though_the_caller_allows_his_own(more: list[str], files: list[str]) -> None:
    Path("mine.py").write_text("def judge(item, output):\n    return 0.5\n")
    found('proxy = "python:evil:judge"', "estimate")
    own = ["--judge", "python:mine:judge", "--allow-plugins"]
    result = judgeloop("estimate", "a.jsonl", *own, *more)
    assert result.exit_code == 2
    assert not Path("code-ran").exists()


def test_what_harms_nobody_is_set_and_the_result_says_so(files: list[str]) -> None:
    found('judge = "metric:rouge1"\nrisk = 0.3\nseed = 3\nbudget = 1')
    text = judgeloop("compare", *files, "--no-dry-run")
    assert "settings" in text.stdout
    assert "judgeloop.toml sets judge, risk, seed, budget" in " ".join(text.stdout.split())
    shown = judgeloop("compare", *files, "--dry-run", "--json")
    assert json.loads(shown.stdout)["settings_files"]["judgeloop.toml"][0] == "judge"


@pytest.mark.parametrize(
    "line",
    [
        "JUDGELOOP_JUDGE=python:evil:judge",
        "JUDGELOOP_RUBRIC=/proc/self/environ",
        "JUDGELOOP_BUDGET=100",
        "JUDGELOOP_BUDGET=none",
    ],
)
def test_an_env_file_cannot_set_what_harms(line: str, files: list[str]) -> None:
    """What only the caller may set is in `docs/test_environment.py`."""
    Path(".env").write_text(f"{line}\n")
    result = judgeloop("compare", *files, *METRIC)
    assert result.exit_code == 2, result.output
    assert line.split("=", maxsplit=1)[0] in result.stderr
    assert not Path(".judgeloop").exists()


def test_the_callers_own_variable_is_not_touched_by_an_env_file(files: list[str]) -> None:
    Path(".env").write_text("JUDGELOOP_BUDGET=100\n")
    result = judgeloop("compare", *files, *METRIC, "--json", JUDGELOOP_BUDGET="2")
    assert json.loads(result.stdout)["budget_usd"] == 2


def test_an_env_file_gives_keys_and_settings_and_nothing_reaches_the_process(
    files: list[str], chat_server: ChatServer
) -> None:
    names = ("HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "JUDGELOOP_JUDGE_API_KEY")
    Path(".env").write_text("\n".join(f"{name}=http://127.0.0.1:9" for name in names))
    before = dict(os.environ)

    result = judgeloop("compare", *files, *judged_by(chat_server), "--json")

    assert result.exit_code in {0, 3}, result.output
    assert dict(os.environ) == before
    assert chat_server.headers[0]["authorization"] == "Bearer http://127.0.0.1:9"
    assert json.loads(result.stdout)["settings_files"] == {".env": ["JUDGELOOP_JUDGE_API_KEY"]}


def test_an_env_file_takes_in_no_other_variable(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "sk-secret")
    found("")
    Path(".env").write_text("JUDGELOOP_RUBRIC=${SECRET}\n")
    result = judgeloop("compare", *files, *METRIC)
    assert "sk-secret" not in result.output


def test_an_env_file_of_a_parent_folder_is_not_read(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("JUDGELOOP_RISK=0.3\nOPENAI_BASE_URL=https://elsewhere.example\n")
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    result = judgeloop("compare", "../a.jsonl", "../b.jsonl", *METRIC, "--json")
    assert result.exit_code in {0, 3}, result.output
    assert json.loads(result.stdout)["settings_files"] == {}


def test_a_ledger_that_lost_attempts_is_refused_before_anything_is_asked(
    files: list[str], chat_server: ChatServer
) -> None:
    judgeloop("compare", *files, *judged_by(chat_server))
    before = len(chat_server.requests)
    with closing(sqlite3.connect(".judgeloop/ledger.sqlite")) as connection:
        connection.executescript("DELETE FROM verdicts; UPDATE runs SET charged_p = charged_p + 1")
    result = judgeloop("compare", *files, *judged_by(chat_server))
    assert result.exit_code == 1
    assert "is not charged the sum of its attempts" in result.stderr
    assert len(chat_server.requests) == before > 0


def test_a_ledger_without_its_triggers_is_refused(files: list[str]) -> None:
    judgeloop("compare", *files, *METRIC)
    with closing(sqlite3.connect(".judgeloop/ledger.sqlite")) as connection:
        connection.executescript("DROP TRIGGER charge_delete; DELETE FROM verdicts; DELETE FROM attempts")
    result = judgeloop("compare", *files, *METRIC)
    assert (result.exit_code, "not as this judgeloop makes a ledger" in result.stderr) == (2, True)
