"""Makes what a simulated person says of the two summaries of each incident report in `../incidents`.

    python make_person.py

The person prefers the summary that tells more of the reference's words and figures, and calls it a tie where both tell
as many. `answers.csv` has all 240 answers, as somebody would give them when asked; `labels.csv` has 30 of them, drawn
at random, as somebody would write them into a spreadsheet beforehand.
"""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

HERE = Path(__file__).parent
INCIDENTS = HERE.parent / "incidents"
WORDS = re.compile(r"\b(?:\w{5,}|\d[\d,.]*)\b")
LABELS, SEED = 30, 2
VOTES = {1.0: "A", 0.5: "tie", 0.0: "B"}  # A is lead-2, B is centrality


def read(name: str) -> list[dict[str, str]]:
    """The rows of a file of the example."""
    return [json.loads(line) for line in (INCIDENTS / name).read_text(encoding="utf-8").splitlines()]


def told(reference: str, output: str) -> int:
    """How many of the reference's words and figures a summary has."""
    return len(set(WORDS.findall(reference.lower())) & set(WORDS.findall(output.lower())))


def write(name: str, header: list[str], rows: list[list[object]]) -> None:
    """Write a table."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main() -> None:
    """Write both tables."""
    scores = {}
    for item, lead, central in zip(read("items.jsonl"), read("lead.jsonl"), read("central.jsonl"), strict=True):
        first, second = (told(item["reference"], row["output"]) for row in (lead, central))
        scores[item["id"]] = 0.5 + 0.5 * ((first > second) - (first < second))
    answers = [[item, "lead-2", "centrality", score] for item, score in scores.items()]
    write("answers.csv", ["item_id", "model_a", "model_b", "score"], answers)
    drawn = sorted(random.Random(SEED).sample(list(scores), LABELS))
    write("labels.csv", ["Incident", "Which is better?"], [[item, VOTES[scores[item]]] for item in drawn])


if __name__ == "__main__":
    main()
