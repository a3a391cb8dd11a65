"""What the commands on the pages need: a reader's folder, and a judge that costs nothing."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zlib
from functools import cache
from pathlib import Path

import pytest
from support.chat_server import ChatServer, candidates, completion, used, verdict
from support.pages import ROOT

INCIDENTS = ROOT / "examples" / "incidents"
PRICES = """\
["openai/gpt-4.1"]
input_per_mtok = 2.0
output_per_mtok = 8.0
cache_read_per_mtok = 0.5
["openai/gpt-4.1-mini"]
input_per_mtok = 0.4
output_per_mtok = 1.6
cache_read_per_mtok = 0.1
"""


def figures(text):
    """How many figures a text has."""
    return sum(letter.isdigit() for letter in text)


def reply(request):
    """A judge's reply: the answer with more figures is better, and more of them are."""
    material = candidates(request)
    if "answer" in material and '"verdict"' in request["messages"][0]["content"]:
        said = "yes" if figures(material["answer"]) else "no"
        return completion(json.dumps({"reason": "by its figures", "verdict": said}), usage=used(request))
    if "answer" in material:
        rating = min(10, 1 + figures(material["answer"]))
        words = {"reason": "by its figures", "rating": str(rating)}
        return completion(json.dumps(words), usage=used(request))
    shown = [material[name] for name in ("answer_A", "answer_B")]
    own = [text in outputs_on().get(material["task"], ()) for text in shown]
    # An answer to the question goes before one to another question, whatever its figures.
    first, second = own if own[0] != own[1] else map(figures, shown)
    winner = "tie" if first == second else "A" if first > second else "B"
    return verdict(winner, usage=used(request))


@cache
def outputs_on():
    """The outputs of all of the example's systems, by prompt."""
    found = {}
    prompts = {row["id"]: row["prompt"] for row in read(INCIDENTS / "items.jsonl")}
    for path in [*INCIDENTS.glob("systems/*.jsonl"), *INCIDENTS.glob("[lc]e*.jsonl")]:
        for row in read(path):
            found.setdefault(prompts[row["id"]], set()).add(row["output"])
    return found


def written(path, rows):
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def reader(tmp_path):
    """A reader's folder: the examples, and the files that the pages name."""
    folder = tmp_path / "reader"
    shutil.copytree(ROOT / "examples", folder / "examples")
    prompts = {row["id"]: row["prompt"] for row in read(INCIDENTS / "items.jsonl")}
    for name, source in (("old", "central"), ("new", "lead"), ("earlier", "systems/figures")):
        rows = read(INCIDENTS / f"{source}.jsonl")
        written(
            folder / f"{name}.jsonl",
            [{"id": row["id"], "prompt": prompts[row["id"]], "output": row["output"]} for row in rows],
        )
    for name, source in (("a", "old"), ("b", "new")):  # two items of each document
        rows = read(folder / f"{source}.jsonl")
        written(folder / f"{name}.jsonl", [{**row, "document": f"d{n // 2}"} for n, row in enumerate(rows)])
    written(folder / "prompts.jsonl", [{"id": one, "prompt": text} for one, text in prompts.items()])
    _command(folder, prompts)
    for day, source in (("monday", "old"), ("tuesday", "new")):
        (folder / day).mkdir()
        shutil.copy(folder / f"{source}.jsonl", folder / day / "outputs.jsonl")
    _foreign(folder)
    systems = [path.stem for path in sorted((INCIDENTS / "systems").glob("*.jsonl"))]
    _recorded(folder / "verdicts.csv", systems, prompts)
    _labels(folder)
    return folder


def _command(folder, prompts):
    """A system that is a command: it answers as the new one does."""
    answers = {prompts[row["id"]]: row["output"] for row in read(INCIDENTS / "lead.jsonl")}
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    command = folder / "answer"
    command.write_text(
        f"#!{sys.executable} -SE\nimport json, sys\n"
        "print(json.load(open('answers.json', encoding='utf-8'))[sys.stdin.read()])\n"
    )
    command.chmod(0o755)


def _foreign(folder):
    """Files of other forms: other columns, recorded scores, several systems in one."""
    for name, word in (("a", "two"), ("b", "three 3")):
        table = "".join(f"{n},How many is {n}?,{word}\n" for n in range(60))
        (folder / f"{name}.csv").write_text(f"id,question,reply\n{table}", encoding="utf-8")
        scores = [{"id": n, "prompt": f"{n}?", "output": word, "score": float(n % 3 < len(word) // 3)}
                  for n in range(60)]  # fmt: skip
        written(folder / f"scored-{name}.jsonl", scores)
    shutil.copy(ROOT / "tests" / "formats" / "files" / "promptfoo.json", folder / "results.json")


def _recorded(path, systems, prompts):
    """Recorded scores of the example's systems."""
    names = [read(INCIDENTS / "systems" / f"{system}.jsonl")[0]["model"] for system in systems]
    rows = [
        f"{item},{name},{(hash_of(item) + number) % 5 / 4}" for item in prompts for number, name in enumerate(names)
    ]
    path.write_text("item_id,model,score\n" + "\n".join(rows) + "\n", encoding="utf-8")


def _labels(folder):
    """A reader's own labels of some items: what the judge says, but for a few."""
    pairs = zip(read(folder / "new.jsonl"), read(folder / "old.jsonl"), strict=True)
    rows = ["item_id,model_a,model_b,score\n"]
    for new, old in [*pairs][7::8]:
        lead = figures(new["output"]) - figures(old["output"]) + hash_of(new["id"]) % 4
        rows.append(f"{new['id']},new,old,{1 if lead > 0 else 0 if lead else 0.5}\n")
    for name in ("mine", "labels"):
        (folder / f"{name}.csv").write_text("".join(rows), encoding="utf-8")
    sheet = ["Ticket;Winner;Comment"]
    for at, (new, old) in enumerate([*zip(read(folder / "new.jsonl"), read(folder / "old.jsonl"), strict=True)][2::4]):
        lead = figures(old["output"]) - figures(new["output"]) + hash_of(old["id"]) % 4 - 2
        vote = "" if at % 20 == 1 else "A" if lead > 0 else "B" if lead else "tie"
        sheet.append(f"{old['id']};{vote};")
    # As a German Excel writes it.
    (folder / "sheet.csv").write_text("\r\n".join(sheet), encoding="utf-8-sig")


def hash_of(text):
    """A number that looks random and is the same everywhere."""
    return zlib.crc32(text.encode())


def answered(request, number):
    """The reply, with the name that OpenAI gives its model."""
    del number
    response = reply(request)
    response.body = response.body.replace(b"judge-2026-01-01", b"gpt-4.1-mini-2025-04-14")
    return response


@pytest.fixture
def environment(tmp_path):
    """The reader's environment: a key, and the judge's address on this machine."""
    server = ChatServer(answered)
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES, encoding="utf-8")
    scripts = str(Path(sys.executable).parent)
    yield os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "JUDGELOOP_JOBS": "1",
        "JUDGELOOP_AHEAD": "0",  # how much is asked ahead, and costs, depends on the clock
        "OPENAI_API_KEY": "sk-reader-0123456789",
        "OPENAI_BASE_URL": server.url,
        "JUDGELOOP_JUDGE_PRICE": str(prices),
    }
    server.close()
