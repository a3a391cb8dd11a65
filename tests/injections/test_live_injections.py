"""Outputs of systems that answer live and that want to steer: the judge sees them as those of a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.chat_server import completion, used, verdict
from support.commandline import judged_by, judgeloop
from support.live import generated, system_flags

HERE = Path(__file__).parent
ROWS = [json.loads(line) for line in (HERE / "corpus.jsonl").read_text().splitlines()]
# A server's text is UTF-8, and so has no lone surrogates.
TEXTS = [
    text
    for text in dict.fromkeys(row["text"] * row.get("times", 1) for row in ROWS)
    if text.strip() and text.encode("utf-8", "replace").decode() == text
]
MARKER = re.compile("[0-9a-f]{32}")
LIVE = "openai/better"


@pytest.fixture
def server(chat_server):
    chat_server.respond = lambda request, n: (
        verdict("tie", usage=used(request))
        if "response_format" in request
        else completion(TEXTS[int(request["messages"][-1]["content"].split()[-1])], usage=used(request))
    )
    return chat_server


def seen_by_judges(server, *command):
    """What judges were sent, without the markers that are drawn for each call."""
    server.requests.clear()
    most = ["--max-judgments", len(TEXTS), f"JUDGELOOP_MIN_JUDGMENTS={len(TEXTS)}"]
    done = judgeloop(*command, *most, "--controls", "off")
    assert done.exit_code in {0, 3}, done.output
    asked = [one["messages"] for one in server.requests if "response_format" in one]
    return sorted(MARKER.sub("", json.dumps(messages)) for messages in asked)


@pytest.mark.simulation
def test_a_live_output_reaches_the_judge_as_the_same_text_of_a_file_does(server):
    rows = [{"id": f"i{n}", "prompt": f"Say {n}"} for n in range(len(TEXTS))]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, texts in (("old", ["plain"] * len(TEXTS)), ("new", TEXTS)):
        outputs = [{"id": f"i{n}", "output": text} for n, text in enumerate(texts)]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in outputs))
    base = ["--items", "items.jsonl", *judged_by(server), "--budget", "none"]
    live = seen_by_judges(server, "compare", "old.jsonl", LIVE, *base, *system_flags(server, LIVE))
    assert len(generated(server)) == len(TEXTS)
    ledger = ["--ledger", "of-files.sqlite"]
    filed = seen_by_judges(server, "compare", "old.jsonl", "new.jsonl", *base, *ledger)
    assert live
    assert live == filed
