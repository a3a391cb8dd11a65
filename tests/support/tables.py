"""Three systems and their outputs in memory, and the same in files."""

from __future__ import annotations

import json

ITEMS = 40
ROWS = {
    system: [
        {
            "id": f"i{number}",
            "prompt": f"Question {number}, with a “quote”?",
            "reference": f"answer {number}" if number % 3 else None,
            "model": system,
            "output": f"answer {number}" + " and so on" * (number % length),
        }
        for number in range(ITEMS)
    ]
    for system, length in (("terse", 2), ("chatty", 7), ("middling", 4))
}


def write(folder, tables):
    """Write each table to a file of its own, and return the files by system."""
    files = {name: folder / f"{name}.jsonl" for name in tables}
    for name, rows in tables.items():
        files[name].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return files
