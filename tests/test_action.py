"""The action for GitHub: its steps are run by bash, with a runner's files, as five events would run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_workflows import PINNED

ROOT = Path(__file__).parent.parent
ACTION = ROOT / ".github" / "actions" / "gate" / "action.yml"
GATE = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
COMMAND = "compare old.jsonl 'new one.jsonl' --judge metric:exact --items items.jsonl --require-winner new"
GH = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(os.environ["GH_FOLDER"])
with open(here / "calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if "--jq" in sys.argv and (here / "comment").exists():
    print((here / "comment").read_text())
"""

PYTHON = """case "$*" in *venv*) set -- "$@" --without-pip; esac
exec "{python}" "$@"
"""


def git(folder: Path, *words: str) -> str:
    """What git prints."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class Runner:
    """What a runner gives to the steps of a composite action, and what they leave."""

    def __init__(self, folder: Path, event: str, **github: str) -> None:
        self.work, self.temp, self.gh = (folder / name for name in ("work", "temp", "gh"))
        for made in (self.work, self.temp / "judgeloop" / "bin", self.gh):
            made.mkdir(parents=True)
        self._script(self.temp / "judgeloop" / "bin" / "judgeloop", 'exec "{python}" -I -m judgeloop "$@"')
        self._script(self.temp / "judgeloop" / "bin" / "pip", "true")  # judgeloop is installed already
        (folder / "bin").mkdir()
        self._script(folder / "bin" / "python3", PYTHON)
        self._script(folder / "bin" / "gh", GH)
        self.path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.github = {"repository": "team/models", "run_id": "7", "run_attempt": "1", **github}
        self.server = folder / "server"
        self.event, self.steps, self.saved, self.failing = event, {}, False, ()
        self.summary = folder / "summary.md"
        self.summary.write_text("")

    @staticmethod
    def _script(path: Path, text: str) -> None:
        text = text.replace("{python}", sys.executable)
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _value(self, name: str) -> str:
        kind, _, rest = name.strip().partition(".")
        if kind == "github":
            return self.github.get(rest, "")
        if kind == "inputs":
            return self.inputs[rest]
        step, _, rest = rest.partition(".")
        found = self.steps.get(step, {})
        return found.get(rest.removeprefix("outputs."), "")

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self._value(found[1]), text)

    def _wanted(self, condition: str, *, failed: bool) -> bool:
        if failed and "always()" not in condition:
            return False
        checks = re.findall(r"([\w.-]+) == '(\w+)'", condition)
        assert re.fullmatch(r"(always\(\)|[\w.-]+ == '\w+'|success\(\)| && )+", condition)
        return all(self._value(name) == value for name, value in checks)

    def proposes(self, base: dict[str, str | None] | None = None) -> None:
        """Let the working folder be the checkout of a pull request, and its base commit have other files."""
        there = self.server / "team" / "models"
        shutil.copytree(self.work, there, symlinks=True)
        for name, text in (base or {}).items():
            (there / name).unlink(missing_ok=True)
            if text is not None:
                (there / name).parent.mkdir(parents=True, exist_ok=True)
                (there / name).write_text(text)
        git(there, "init", "--quiet")
        for message in ("base", "pull request"):
            git(there, "add", "--all", "--force")
            git(there, "commit", "--quiet", "--allow-empty", "-m", message)
            self._empty(there)
            shutil.copytree(self.work, there, symlinks=True, dirs_exist_ok=True)
        self._empty(self.work)
        git(self.work, "init", "--quiet")
        git(self.work, "fetch", "--quiet", "--depth", "1", f"file://{there}", "main")
        git(self.work, "checkout", "--quiet", "--detach", "FETCH_HEAD")
        self.github |= of_a_pull_request() | {"event.pull_request.base.sha": git(there, "rev-parse", "main~1")}

    @staticmethod
    def _empty(folder: Path) -> None:
        for one in folder.iterdir():
            if one.is_symlink() or one.is_file():
                one.unlink()
            elif one.name != ".git":
                shutil.rmtree(one)

    def run(self, **inputs: str) -> int:
        """Run the steps and return the exit code of the last that failed."""
        given = {name: str(one.get("default", "")) for name, one in GATE["inputs"].items()}
        outputs = "old.jsonl\nnew one.jsonl\n"
        self.inputs = {**given, "command": COMMAND, "budget": "2", "judged": outputs, **inputs}
        code = 0
        for step in GATE["runs"]["steps"]:
            if self._wanted(step.get("if", "success()"), failed=code != 0):
                code = self._used(step) if "uses" in step else self._ran(step) or code
        return code

    def _used(self, step: dict) -> int:
        kind = next(one for one in ("restore", "save", "upload-artifact") if f"{one}@" in step["uses"])
        if kind == "upload-artifact":
            pages = {one.name for one in Path(self._filled(step["with"]["path"])).iterdir()}
            self.steps[step["id"]] = {"artifact-url": "https://pages/9"} if pages == {"report.html"} else {}
            return 0
        self.saved |= kind == "save" and Path(self._filled(step["with"]["path"])).is_dir()
        failed = kind in self.failing
        self.steps[step.get("id", kind)] = {"outcome": "failure" if failed else "success"}
        return 1 if failed and not step["continue-on-error"] else 0

    def _ran(self, step: dict) -> int:
        output = self.temp / "output"
        output.write_text("")
        env = {
            "PATH": self.path,
            "GH_FOLDER": str(self.gh),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_REPOSITORY": self.github["repository"],
            "GITHUB_RUN_ID": self.github["run_id"],
            "GITHUB_SERVER_URL": f"file://{self.server}",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            **{name: self._filled(str(text)) for name, text in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], env=env, cwd=self.work, check=False
        )
        found = dict(line.split("=", 1) for line in output.read_text().splitlines())
        self.steps[step.get("id", "")] = found
        return done.returncode

    def comments(self) -> list[list[str]]:
        """The calls that wrote a comment."""
        calls = self.gh / "calls"
        made = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        return [one for one in made if "-F" in one]


@pytest.fixture
def runner(tmp_path):
    """A function that makes a runner with two systems, of which the second is better."""

    def make(event="push", **github):
        made = Runner(tmp_path, event, **{"event.repository.private": "true", **github})
        for name in ("old", "new one"):
            model = name.split()[0]
            rows = [{"id": f"i{n}", "model": model, "output": f"{name} {n}"} for n in range(60)]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (made.work / f"{name}.jsonl").write_text(text)
        items = [{"id": f"i{n}", "prompt": f"p{n}", "reference": f"new one {n}"} for n in range(60)]
        text = "".join(f"{json.dumps(item)}\n" for item in items)
        (made.work / "items.jsonl").write_text(text)
        return made

    return make


def of_a_pull_request(head="team/models"):
    return {"event.pull_request.head.repo.full_name": head, "event.pull_request.number": "5"}


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the steps are for bash")


def test_what_it_uses_is_pinned_and_no_text_becomes_a_command():
    for step in GATE["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    used = re.findall(r"uses: (.+)", ACTION.read_text(encoding="utf-8"))
    assert len(used) == 3
    assert all(PINNED.fullmatch(one.replace("cache/", "cache_", 1)) for one in used)


@needs_bash
@pytest.mark.processes
@pytest.mark.parametrize("event", ["push", "schedule"])
def test_a_gate_that_holds_passes_keeps_its_ledger_and_shows_the_result(runner, event):
    made = runner(event)
    assert made.run() == 0
    assert made.saved
    assert "new is better" in made.summary.read_text()
    assert made.comments() == []


@needs_bash
@pytest.mark.processes
@pytest.mark.parametrize("event", ["push", "pull_request"])
def test_no_module_of_the_checkout_is_run(runner, event):
    made = runner(event)
    for name in ("shlex", "os", "venv", "subprocess", "sitecustomize", "usercustomize", "judgeloop", "click", "pip"):
        (made.work / f"{name}.py").write_text(
            f"open({str(made.temp / 'run')!r}, 'a').write({name!r}); raise SystemExit"
        )
    if event == "pull_request":
        made.proposes()
    assert made.run() == 0
    assert not (made.temp / "run").exists()


@needs_bash
@pytest.mark.processes
def test_a_gate_that_does_not_hold_fails_last_with_the_exit_code(runner):
    made = runner()
    assert made.run(command=COMMAND.replace("winner new", "winner old")) == 5
    assert made.saved
    assert "new is better" in made.summary.read_text()


@needs_bash
@pytest.mark.processes
def test_a_pull_request_is_judged_by_the_settings_of_its_base_commit(runner):
    made = runner("pull_request")
    (made.work / "judgeloop.toml").write_text("[compare]\nmax-judgments = 'what the request wants'\n")
    (made.work / ".env").write_text("JUDGELOOP_RISK=what the request wants\n")
    made.proposes({"judgeloop.toml": "[compare]\nrisk = 0.01\noutput = 'gate.xml'\n", ".env": None})
    assert made.run(command=f"{COMMAND} -o gate.json") == 0
    assert "0.01" in made.summary.read_text()
    assert (made.work / "gate.xml").exists()
    assert (made.work / "gate.json").exists()
    assert not (made.work / ".env").exists()


RULES = ("judgeloop.toml", "night.toml", "rules/rubric.md", "rules/prompt.md", "prices.toml", "past.csv", "items.jsonl")
OF_THE_BASE = {"rules": None} | dict.fromkeys(RULES, "of the base commit")


@needs_bash
@pytest.mark.processes
def test_every_file_is_that_of_the_base_commit_but_what_is_judged(runner):
    made = runner("pull_request")
    elsewhere = made.temp / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "rubric.md").write_text("not the checkout's")
    (made.work / "rules").symlink_to(elsewhere)
    added = ("Which answer is better?", "outputs")  # the first would be a rubric's file
    for name in (*added, "prices.toml", "items.jsonl"):
        (made.work / name).write_text("of the pull request")
    made.proposes(OF_THE_BASE | dict.fromkeys((*added, "old.jsonl")))
    (made.work / "items-of-a-job").write_text("of an earlier step")
    (made.work / "new one.jsonl").write_text("of an earlier step")
    made.run(judged="outputs\n\n./new one.jsonl\n")
    found = {
        path.relative_to(made.work).as_posix(): path.read_text()
        for path in made.work.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    assert found == dict.fromkeys(RULES, "of the base commit") | {
        "outputs": "of the pull request",
        "items-of-a-job": "of an earlier step",
        "new one.jsonl": "of an earlier step",
    }
    assert not (made.work / "rules").is_symlink()
    assert (elsewhere / "rubric.md").read_text() == "not the checkout's"


@needs_bash
@pytest.mark.processes
def test_a_candidate_that_a_request_brings_is_judged_against_the_baseline_of_the_base_commit(runner):
    made = runner("pull_request")
    baseline = (made.work / "old.jsonl").read_text()
    items = (made.work / "items.jsonl").read_text()
    for worse in ("old.jsonl", "items.jsonl"):
        (made.work / worse).write_text((made.work / worse).read_text().replace("old", "bad").replace("one ", ""))
    made.proposes({"old.jsonl": baseline, "items.jsonl": items, "new one.jsonl": None})
    assert made.run(judged="new one.jsonl") == 0
    assert (made.work / "old.jsonl").read_text() == baseline
    assert (made.work / "items.jsonl").read_text() == items


@needs_bash
@pytest.mark.processes
@pytest.mark.parametrize(
    "judged", ["", "\n", ".", "..", "old.jsonl\nnone.jsonl", "../temp/output", "elsewhere", ".git/HEAD", "secret"]
)
def test_what_is_judged_is_named_and_lies_in_the_checkout(runner, judged):
    made = runner("pull_request")
    (made.work / "elsewhere").symlink_to(made.temp)
    (made.work / "secret").symlink_to(".git/config")
    made.proposes()
    assert made.run(judged=judged) != 0
    assert "exit-code" not in made.steps.get("judge", {}), "it is not run"


@needs_bash
@pytest.mark.processes
def test_a_second_gate_of_a_job_is_told_to_check_out_again(runner):
    made = runner("pull_request")
    made.proposes({"new one.jsonl": "of the base commit"})
    head = git(made.work, "rev-parse", "HEAD")
    assert made.run(judged="old.jsonl\nnew one.jsonl") == 0
    made.steps.clear()
    assert made.run() != 0
    assert "exit-code" not in made.steps.get("judge", {})
    git(made.work, "checkout", "--quiet", "--force", "--detach", head)
    assert made.run() == 0


@needs_bash
@pytest.mark.processes
def test_the_file_of_a_suite_and_what_it_is_trusted_by_are_those_of_the_base_commit(runner):
    made = runner("pull_request")
    for file in ("night.toml", "gate.toml"):
        (made.work / file).write_text("risk = 'what the request wants'\n")
    suite = "[suite]\njudge = 'metric:exact'\nitems = 'items.jsonl'\n"
    suite += "[pairs.x]\nsystems = ['old.jsonl', 'new one.jsonl']\n"
    made.proposes({"gate.toml": "[suite]\nrequire-winner = 'new'\n", "night.toml": suite})
    assert made.run(command="suite night.toml --config=gate.toml") == 0
    assert "require\\-winner = new (gate" in made.summary.read_text().replace("-", "\\-")


@needs_bash
@pytest.mark.processes
def test_a_suite_that_the_base_commit_has_not_is_an_error(runner):
    made = runner("pull_request")
    (made.work / "night.toml").write_text("[suite]\nbudget = 1\n")
    made.proposes({"night.toml": None})
    assert made.run(command="suite night.toml") == 2
    said = made.summary.read_text()
    assert "suite has no result: night.toml: there is no such file" in said


@needs_bash
@pytest.mark.processes
@pytest.mark.parametrize(("there", "does"), [("", "POST"), ("42", "PATCH")])
def test_only_its_own_comment_is_written_anew(runner, there, does):
    made = runner("pull_request")
    made.proposes()
    if there:
        (made.gh / "comment").write_text(there)
    assert made.run(comment="true") == 0
    ((*call,),) = made.comments()
    assert ("repos/team/models/issues/comments/42" in call) == (does == "PATCH")
    text = (made.temp / "comment.md").read_text()
    assert text.startswith("<!-- judgeloop: judgeloop -->\n")
    assert "new is better" in text
    assert (
        f"[The run](file://{made.server}/team/models/actions/runs/7) has the log and the artifacts.\n\n<details>"
        in text
    )


@needs_bash
@pytest.mark.processes
def test_the_comment_leads_to_the_report(runner):
    made = runner("pull_request")
    made.proposes()
    assert made.run(comment="true", report="true") == 0
    first, _, rest = (made.temp / "comment.md").read_text().partition("\n<details>")
    assert first.rstrip().endswith("/actions/runs/7) has the log.")
    assert "[The report](https://pages/9) shows every judged item." in first
    assert rest.rstrip().endswith("</details>")


@needs_bash
@pytest.mark.processes
def test_a_pull_request_from_a_fork_is_never_green_and_never_judged(runner):
    made = runner("pull_request", **of_a_pull_request("stranger/models"))
    assert made.run() == 1
    assert "comes from a fork" in made.summary.read_text()
    assert not made.saved
    assert not (made.gh / "calls").exists()


@needs_bash
@pytest.mark.processes
def test_a_ledger_that_cannot_be_restored_is_told_and_the_gate_goes_on(runner):
    made = runner()
    made.failing = ("restore",)
    assert made.run() == 0
    assert "could not be restored" in made.summary.read_text()


@needs_bash
@pytest.mark.processes
@pytest.mark.parametrize(("allowed", "kept"), [("false", False), ("true", True)])
def test_the_ledger_of_a_public_repository_is_kept_only_where_that_is_asked(runner, allowed, kept):
    made = runner(**{"event.repository.private": "false"})
    assert made.run(**{"public-ledger": allowed}) == 0
    assert made.saved is kept
    assert ("everybody can read" in made.summary.read_text()) is not kept


@needs_bash
@pytest.mark.processes
def test_a_long_result_is_cut_with_a_count(runner):
    made = runner("pull_request")
    made.proposes()
    fake = "import os, pathlib; pathlib.Path(os.environ['RUNNER_TEMP'], 'result.md').write_text('a line of text\\n' * 90000)"
    Runner._script(made.temp / "judgeloop" / "bin" / "judgeloop", f'exec "{{python}}" -c "{fake}"')
    assert made.run(comment="true") == 0
    assert len(made.summary.read_text()) < 2**20
    comment = (made.temp / "comment.md").read_text()
    assert len(comment) < 65_536
    assert "86,000 more lines" in comment.replace("86000", "86,000")
