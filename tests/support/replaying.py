"""Recorded verdicts in files, `judgeloop replay` on them, and the tables that it writes."""

from __future__ import annotations

import csv

import numpy as np
from click.testing import CliRunner

from judgeloop.cli.app import app
from support.tables import write

WORDS = ["apple", "river", "stone", "cloud", "music", "paper", "light", "green"]


def recorded(folder, scores, more=lambda rng, score: {}):
    """Write outputs of random words, items, and the scores that there are; the arguments of a
    replay."""
    rng, outputs, items = (np.random.default_rng(0), folder / "outputs", len(next(iter(scores.values()))))
    outputs.mkdir()
    rows = {
        name: [
            {"id": f"i{at}", "model": name, "output": " ".join(rng.choice(WORDS, rng.integers(3, 12)))}
            | more(rng, score)
            for at, score in enumerate(own)
        ]
        for name, own in scores.items()
    }
    write(outputs, rows)
    write(folder, {"items": [{"id": f"i{at}", "prompt": f"p {at}"} for at in range(items)]})
    return [outputs, "--items", folder / "items.jsonl", "--verdicts", verdicts(folder, scores)]


def verdicts(folder, scores):
    """Write a table of the scores that are not None."""
    table = [
        f"i{at},{name},{score}" for name, own in scores.items() for at, score in enumerate(own) if score is not None
    ]
    path = folder / "verdicts.csv"
    path.write_text("\n".join(["item_id,model,score", *table]) + "\n")
    return path


def replay(*arguments):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
