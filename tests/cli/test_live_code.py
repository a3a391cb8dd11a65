"""Systems that run code, in whole runs; `tests/systems` has what they are told, and how they fail."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest
from support.code import command, function
from support.commandline import judged_by, judgeloop, result_of
from support.live import ITEMS

import judgeloop as judgeloop_api
from judgeloop.core.errors import InputError

ECHO = "import sys\nprint('good', sys.stdin.read())\n"


pytestmark = pytest.mark.usefixtures("files", "own_modules")


def comparison(server, system, *more, cost="0"):
    given = ["--system", f"{system}.max-cost={cost}"] if cost else []
    base = ["compare", "old.jsonl", system, "--items", "items.jsonl", *judged_by(server)]
    return [*base, "--allow-plugins", *given, *more]


@pytest.mark.parametrize("kind", ["command", "function"])
def test_code_gets_the_prompt_and_its_output_is_judged(server, kind):
    source = "def answer(prompt):\n    return 'good ' + prompt\n"
    system = command(ECHO) if kind == "command" else function(source, "echo")
    result = result_of(*comparison(server, system))
    assert (result["winner"], result["generated"][0]["failed"]) == (system, 0)
    shown = json.dumps([one["messages"] for one in server.requests])
    assert re.search(r"good What is \d+ and \d+\?", shown)
    assert result["generated"][0]["asked"] == result["judged"] < ITEMS


def test_what_a_function_prints_and_where_it_goes_changes_no_result(server):
    source = (
        "import os\ndef answer(prompt):\n    print('noise')\n    os.makedirs('away', exist_ok=True)\n"
        "    os.chdir('away')\n    return 'good'\n"
    )
    done = judgeloop(*comparison(server, function(source, "noisy"), "--json", "-o", "result.md"))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["exit_code"] == 0
    assert Path("result.md").exists()
    assert Path(".judgeloop/ledger.sqlite").exists()


def test_a_reported_cost_is_booked_and_one_above_the_maximum_stops_the_run(server):
    source = "def answer(prompt):\n    return {'output': 'good ' + prompt, 'cost': %s, 'model': 'm-1'}\n"
    cheap = function(source % 0.001, "cheap")
    result = result_of(*comparison(server, cheap, cost="0.002"))
    (one,) = result["generated"]
    assert one["models"] == ["m-1"]
    assert one["usd"] == pytest.approx(0.001 * one["asked"])
    dear = judgeloop(*comparison(server, function(source % 0.003, "dear"), cost="0.002"))
    assert dear.exit_code == 4
    assert "a call cost $0.0030, more than the worst case of $0.0020; no budget" in re.sub(r"\s+", " ", dear.stderr)


def test_code_without_a_version_serves_its_own_run_alone(server):
    source = "calls = []\ndef answer(prompt):\n    calls.append(prompt)\n    return 'good ' + prompt\n"
    system = function(source, "runs")
    first = result_of(*comparison(server, system))
    calls = sys.modules["own_runs"].calls
    assert len(calls) == first["judged"]
    again = result_of(*comparison(server, system))
    assert (len(calls), again["run"] != first["run"]) == (2 * first["judged"], True)
    version = ["--system", f"{system}.version=1"]
    result_of(*comparison(server, system, *version))
    asked = len(calls)
    result_of(*comparison(server, system, *version))
    assert len(calls) == asked


def test_python_takes_a_function_as_a_system(server):
    system = function("async def answer(prompt):\n    return 'good ' + prompt\n", "direct")
    sys.path.insert(0, str(Path.cwd()))
    answer = importlib.import_module("own_direct").answer
    given = {
        "items": "items.jsonl", "judge": "openai/judge", "judge_base_url": server.url,
        "judge_price": "1,10", "system": [f"{system}.max-cost=0"],
    }  # fmt: skip
    assert judgeloop_api.compare("old.jsonl", answer, **given).winner == system
    assert judgeloop_api.compare("old.jsonl", ("mine", answer), **given).winner == "mine"
    unnamed = {"<lambda>": lambda prompt: prompt, "partial": partial(answer), "Path": Path().joinpath}
    for found, one in unnamed.items():
        with pytest.raises(InputError, match=rf"found .*{found}.*, which no name leads to.* with `def`"):
            judgeloop_api.compare("old.jsonl", one, **given)
    with pytest.raises(InputError, match="what may a call cost"):
        judgeloop_api.compare("old.jsonl", answer, **given | {"system": []})


@pytest.mark.parametrize("version", [[], ["1", "2"]])
def test_after_code_that_failed_is_mended_the_command_goes_on(server, version):
    """With a version another one is needed, as what it gave is remembered."""
    system = command("import sys\nsys.exit('no key')\n")
    first, second = ([] if not version else ["--system", f"{system}.version={n}"] for n in "12")
    done = judgeloop(*comparison(server, system, *first))
    said = re.sub(r"\s+", " ", done.stderr)
    assert (done.exit_code, server.requests) == (4, []), "no judge is asked"
    assert "more than 5 %; the last reason: it ended with exit code 1: no key" in said
    assert ("version=TEXT' has it asked anew" in said) == bool(version)
    assert command(ECHO) == system, "the same name"
    assert result_of(*comparison(server, system, *second))["winner"] == system


def test_a_dry_run_forecasts_code_and_runs_none(server):
    system = command("open('ran', 'w')\nprint('x')\n")
    plan = json.loads(judgeloop(*comparison(server, system, "--dry-run", "--json", cost="0.01")).stdout)
    assert plan["outputs"]["worst"] == ITEMS
    assert plan["usd_of_outputs"]["worst"] == pytest.approx(0.01 * ITEMS)
    assert not Path("ran").exists()


def test_a_command_answers_inside_of_a_running_event_loop(server):
    system = command(ECHO)

    async def asked():
        return judgeloop_api.compare(
            "old.jsonl", system, items="items.jsonl", judge="openai/judge", judge_price="1,10",
            judge_base_url=server.url, system=[f"{system}.max-cost=0"], allow_plugins=True,
        )  # fmt: skip

    assert asyncio.run(asked()).winner == system


def test_one_command_generates_and_another_compares_without_the_judges_key(server):
    system = command(ECHO)
    flags = ["--allow-plugins", "--system", f"{system}.max-cost=0"]
    done = judgeloop("generate", system, "--items", "items.jsonl", "-o", "new.jsonl", *flags)
    assert done.exit_code == 0, done.output
    assert server.requests == []
    items = ["--items", "items.jsonl", *judged_by(server)]
    assert result_of("compare", "old.jsonl", "new.jsonl", *items)["winner"] == "new"
