"""The pipelines of the pages: a gate reads a ledger that only trusted jobs write."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from string import Template

import pytest
import yaml
from support.chat_server import goodness, verdict
from support.commandline import judged_by, judgeloop
from support.outputs import write_good_and_poor

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "pipeline.md").read_text(encoding="utf-8")
ITEMS = 12


def gitlab():
    """The job for GitLab of the page."""
    (job,) = (
        one for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if (one := yaml.safe_load(block)).get("gate")
    )
    return job["gate"]


def holds(rule, given):
    """Whether a rule's `if` holds: of this page, that a merge request is a fork's."""
    assert rule == "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID && $CI_MERGE_REQUEST_SOURCE_PROJECT_ID != $CI_PROJECT_ID"
    source = given.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    return bool(source) and source != given["CI_PROJECT_ID"]


class Runner:
    """Carries jobs out as GitLab does: restores the cache that the job names, and saves it if its policy says so."""

    def __init__(self, folder):
        self.caches, self.number = folder / "caches", 0
        self.folder = folder

    def run(self, monkeypatch, chat_server, **given):
        job, self.number = gitlab(), self.number + 1
        variables = job["variables"] | {"CI_PROJECT_ID": "1"} | given
        for rule in job["rules"]:
            if "if" not in rule or holds(rule["if"], variables):
                variables |= rule.get("variables", {})
                break
        cache = {name: Template(str(value)).safe_substitute(variables) for name, value in job["cache"].items()}
        (path,) = job["cache"]["paths"]
        work = self.folder / f"job{self.number}"
        work.mkdir(parents=True)
        write_good_and_poor(work, ITEMS)
        kept = self.caches / cache["key"]
        if kept.exists():
            shutil.copytree(kept, work / path)
        monkeypatch.chdir(work)
        before = len(chat_server.requests)
        done = judgeloop(
            "compare", "a.jsonl", "b.jsonl", *judged_by(chat_server), "--json", JUDGELOOP_MIN_JUDGMENTS=str(ITEMS),
            JUDGELOOP_LEDGER=variables["JUDGELOOP_LEDGER"],
        )  # fmt: skip
        if "push" in cache["policy"]:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(work / path, kept)
        assert done.stdout, done.output
        return json.loads(done.stdout), len(chat_server.requests) - before


@pytest.fixture
def runner(tmp_path, monkeypatch, chat_server):
    runner = Runner(tmp_path)

    def run(answers, **given):
        chat_server.respond = lambda request, number: verdict(answers(goodness(request)))
        return runner.run(monkeypatch, chat_server, **given)

    return run


def turned(label):
    return {"A": "B", "B": "A"}.get(label, label)


def test_what_a_merge_request_writes_no_gate_of_a_protected_branch_reads(runner):
    planted, asked = runner(turned, CI_COMMIT_REF_PROTECTED="false", CI_MERGE_REQUEST_SOURCE_PROJECT_ID="1")
    assert asked > 0
    _, again = runner(str, CI_COMMIT_REF_PROTECTED="false", CI_MERGE_REQUEST_SOURCE_PROJECT_ID="1")
    assert again == 0, "the planted verdicts are in the cache of branches that are not protected"
    gate, asked = runner(str, CI_COMMIT_REF_PROTECTED="true")
    assert asked > 0, "the gate asks the judge"
    assert gate["winner"] != planted["winner"]
    assert runner(turned, CI_COMMIT_REF_PROTECTED="true")[1] == 0, "and keeps what it was told"


def test_a_forks_merge_request_leaves_nothing(runner):
    fork = {"CI_COMMIT_REF_PROTECTED": "false", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "99"}
    assert [runner(turned, **fork)[1] > 0, runner(turned, **fork)[1] > 0] == [True, True]
