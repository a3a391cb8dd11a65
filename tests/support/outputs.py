"""Output files of two systems, of which one is better by what `chat_server.goodness` reads."""

from __future__ import annotations

import json
from pathlib import Path


def write_good_and_poor(folder: Path, items: int, **fields: str) -> None:
    """Write `a.jsonl`, whose outputs are good, and `b.jsonl`, whose are poor."""
    for name, word in (("a", "good"), ("b", "poor")):
        rows = [
            {"id": f"i{n}", "prompt": f"Question {n}", "output": f"A {word} answer {n}.", **fields}
            for n in range(items)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
