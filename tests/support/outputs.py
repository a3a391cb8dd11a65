"""Output files of two systems, of which one is better by what `chat_server.goodness` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path


def write_good_and_poor(folder: Path, items: int, **fields: str) -> None:
    """Write `a.jsonl`, whose outputs are good, and `b.jsonl`, whose are poor."""
    for name, word in (("a", "good"), ("b", "poor")):
        texts = [f"A {word} answer {n}." for n in range(items)]
        write_outputs(folder / f"{name}.jsonl", texts, **fields)


def write_outputs(path: Path, texts: Iterable[str], **fields: object) -> Path:
    """Write a file of outputs, one for each of the items i0, i1, …, with more fields."""
    rows = ({"id": f"i{n}", "prompt": f"p{n}", "output": text, **fields} for n, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def two_files(folder: Path, items: int) -> list[str]:
    """Write the outputs of two systems, `first.jsonl` and `second.jsonl`; their paths."""
    return [
        str(write_outputs(folder / f"{name}.jsonl", [f"{name} {n}" for n in range(items)]))
        for name in ("first", "second")
    ]
