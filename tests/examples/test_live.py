"""The example of two prompts runs against a server on this machine, with the commands of its page."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.chat_server import completion, used
from support.commandline import judgeloop

EXAMPLE = Path(__file__).parents[2] / "examples" / "live"


def summary(request, _=0):
    """Summarise by the first words of the report, or with a system prompt by its reference."""
    report = request["messages"][-1]["content"].partition("\n\n")[2]
    references = {
        row["prompt"]: row["reference"]
        for row in map(json.loads, Path("../incidents/items.jsonl").read_text().splitlines())
    }
    told = request["messages"][0]["role"] in {"system", "developer"}
    return completion(references[report] if told else " ".join(report.split()[:8]), usage=used(request))


@pytest.fixture
def server(chat_server, incidents, tmp_path, monkeypatch):
    chat_server.respond = summary
    shutil.copytree(incidents, tmp_path / "incidents")
    shutil.copytree(EXAMPLE, tmp_path / "live")
    monkeypatch.chdir(tmp_path / "live")
    return chat_server


def typed(server):
    """The first command of the page, with the server's address and price for each system."""
    page = (EXAMPLE / "README.md").read_text()
    command = shlex.split(re.search(r"^    judgeloop (.*)$", page, re.MULTILINE)[1])
    for name in ("first.toml", "second.toml"):
        for key in (f"base-url={server.url}", "price=0.4,1.6", "version=1"):
            command += ["--system", f"{name}.{key}"]
    return command


def test_the_better_prompt_wins_and_few_outputs_are_paid_for(server):
    result = json.loads(judgeloop(*typed(server), "--json").stdout)
    assert result["winner"] == "tomorrow"
    assert len(server.requests) == 2 * result["judged"] < result["items"]
    assert result["generating_usd"] == result["spent_usd"] > 0


def test_after_a_change_the_other_prompts_outputs_are_not_paid_for_again(server):
    judgeloop(*typed(server))
    sent = len(server.requests)
    Path("second.toml").write_text(Path("second.toml").read_text().replace("one", "a single"))
    result = json.loads(judgeloop(*typed(server), "--json").stdout)
    first, second = result["generated"]
    # One output of the first prompt shows that the same model answers still.
    assert (first["asked"], second["remembered"]) == (1, 0)
    assert len(server.requests) == sent + 1 + second["asked"]
