"""The example of a judge and a person does what its page says, with the commands of the page."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commandline import judgeloop

EXAMPLES = Path(__file__).parents[2] / "examples"
TRUST, BETTER = re.findall(
    r"```sh\njudgeloop (.*?)```", (EXAMPLES / "people" / "README.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.fixture(autouse=True)
def examples(tmp_path, monkeypatch):
    for name in ("people", "incidents"):
        shutil.copytree(EXAMPLES / name, tmp_path / "examples" / name)
    monkeypatch.chdir(tmp_path)


def asked(command, *more):
    done = judgeloop(*shlex.split(command.replace("\\\n", " ")), *more, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_its_tables_are_remade_byte_for_byte():
    made = {name: (EXAMPLES / "people" / name).read_bytes() for name in ("labels.csv", "answers.csv")}
    for name in made:
        Path("examples/people", name).unlink()
    subprocess.run([sys.executable, "examples/people/make_person.py"], check=True)
    assert {name: Path("examples/people", name).read_bytes() for name in made} == made


def test_thirty_labels_say_how_far_the_judge_agrees_and_not_which_is_better():
    found = asked(TRUST)
    assert (found["judged"], found["equal"], found["looked_at_once"]) == (30, 0.8, True)
    assert found["equal_interval"] == pytest.approx((0.64, 0.91), abs=0.005)
    assert [round(100 * -one) for one in found["corrected"]["interval"]] == [38, -31]


def test_the_candidate_is_better_by_people_after_fewer_labels_with_the_judge():
    found = asked(BETTER)
    assert (found["winner"], found["judged"]) == ("centrality", 41)
    assert (found["corrected"]["verdicts"], found["risk"]) == (240, 0.05)
    alone = asked(BETTER.replace("--proxy metric:rouge2", "--rule bets"))
    assert (alone["winner"], alone["judged"]) == ("centrality", 63)
