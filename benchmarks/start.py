"""What is computed before the first call, and before a forecast: seconds of the processor and memory.

    python benchmarks/start.py [--items 5000] [--limits 200 805 2400 5000] [--asked winner not-worse …] [--turns 2]
        [--kept]
    python benchmarks/start.py --night 50 [--items 200] [--turns 3]

Each figure is of a process of its own, after its imports: the files are read (`read`), then a run is begun up to its
first call by a judge that answers nothing, and a forecast is made of a run by a model, which prices every item. Shown
is the least of the turns. Memory is the peak above that of reading. `select` has five systems. With `--night` it is the
whole command that forecasts a night of so many pairs, imports included, in each turn. Each process makes its tables of
stakes; with `--kept` it finds those of the turn before in the cache folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from judgeloop.core.records import Call, JudgeIdentity, Reply
from judgeloop.judges.base import BaseJudge
from judgeloop.questions.catalogue import COMPARE, ESTIMATE, SELECT

MEBI = 2**10  # kibibytes
SYSTEMS = 5
ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "winner": (COMPARE, {}),
    "not-worse": (COMPARE, {"not_worse": 0.1}),
    "min-gap": (COMPARE, {"min_gap": 0.1}),
    "near-tie": (COMPARE, {"near_tie": 0.1}),
    "select": (SELECT, {}),
    "estimate": (ESTIMATE, {}),
}
MODEL = "openai/gpt-4.1-mini"


def used() -> tuple[float, float]:
    """Seconds of the processor, and the peak memory in MiB, of this process so far."""
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEBI


def told(*marks: tuple[float, float]) -> None:
    """Print what lies between three marks, and end the process."""
    (begin, _), (read, held), (end, peak) = marks
    print(json.dumps([read - begin, end - read, peak - held]), flush=True)
    os._exit(0)


class First(BaseJudge):
    """Ends the process at its first call."""

    identity = JudgeIdentity("test", "first", {})

    def __init__(self, marks: list[tuple[float, float]]) -> None:
        self.marks = marks

    async def judge(self, call: Call) -> Reply:
        """Print what came before this call."""
        told(*self.marks, used())
        raise AssertionError(call)


def measured_here(asked: str, limit: int, folder: Path, cache: Path, *, dry: bool) -> None:
    """Begin a run or forecast it in this process, and print what it took."""
    row, settings = ASKED[asked]
    question, files = row.load(), sorted(folder.glob("*.jsonl"))
    outputs = {COMPARE: {"first": files[0], "second": files[1]}, SELECT: {"outputs": files}}
    places = outputs.get(row, {"outputs": files[0]})
    marks: list[tuple[float, float]] = []

    ledger = folder / f"{os.getpid()}.sqlite"
    config = row.settings().of(
        **places,
        judge=[MODEL if dry else First(marks)],
        ledger=ledger,
        cache_dir=cache,
        max_judgments=limit,
        budget="5",
        **settings,
    )
    marks.append(used())
    ready = question.prepare(config, {"OPENAI_API_KEY": "none"}, offline=dry)
    marks.append(used())
    if dry:
        str(asyncio.run(question.forecast(ready)))
        told(*marks, used())
    question.notice(ready)
    asyncio.run(question.run(ready))


def measured(asked: str, limit: int, folder: Path, *, dry: bool, turns: int, kept: bool) -> list[float]:
    """Seconds to read, seconds after it and MiB above it, each the least of the turns."""
    found = []
    for turn in range(turns):
        cache = folder / f"cache-{asked}-{limit}{'' if kept else f'-{dry}-{turn}'}"
        given = [asked, str(limit), str(folder), str(cache), *(["--dry"] if dry else [])]
        found.append(subprocess.check_output([sys.executable, __file__, "--here", *given], text=True))
    return np.min([json.loads(one.splitlines()[-1]) for one in found], axis=0).tolist()


def of_a_night(pairs: int, folder: Path, cache: str) -> float:
    """Seconds of the processor that the forecast of a night takes, in which all candidates meet one baseline."""
    (folder / "night.toml").write_text(
        f"[suite]\ncache-dir = '{cache}'\nbudget = 5.0\njudge = '{MODEL}'\nnot-worse = 0.1\nmax-judgments = 200\n"
        "[pairs.candidate]\nsystems = ['s0.jsonl', 's*.jsonl']\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "judgeloop", "suite", "night.toml", "--dry-run", "--json"]
    found = json.loads(subprocess.check_output(command, cwd=folder, text=True))
    assert len(found["pairs"]) == pairs, "each candidate is a pair"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_files(folder: Path, items: int, systems: int = SYSTEMS) -> None:
    """Write the outputs of systems on so many items."""
    rng = np.random.default_rng(0)
    for system in range(systems):
        words = rng.choice(["alpha", "beta", "gamma", "delta"], size=(items, 60)).tolist()
        with (folder / f"s{system}.jsonl").open("w", encoding="utf-8") as file:
            for at, said in enumerate(words):
                row = {"id": f"i{at}", "prompt": f"question {at} {'word ' * 30}", "output": " ".join(said)}
                file.write(json.dumps(row) + "\n")


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--here"]:
        asked, limit, folder, cache, *dry = sys.argv[2:]
        measured_here(asked, int(limit), Path(folder), Path(cache), dry=bool(dry))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, help="by default 5,000, and 200 of a night")
    parser.add_argument("--night", type=int, metavar="PAIRS")
    parser.add_argument("--limits", type=int, nargs="+", default=[200, 805, 2400, 5000])
    parser.add_argument("--asked", nargs="+", choices=ASKED, default=list(ASKED))
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--kept", action="store_true")
    arguments = parser.parse_args()
    if arguments.night:
        with tempfile.TemporaryDirectory() as name:
            write_files(Path(name), arguments.items or 200, arguments.night + 1)
            caches = [f"cache{'' if arguments.kept else turn}" for turn in range(arguments.turns)]
            turns = [of_a_night(arguments.night, Path(name), cache) for cache in caches]
            print(", ".join(f"{one:.2f} s" for one in turns))
        return
    print("| asked | limit | read | then to the first call | MiB more | to a forecast | MiB more |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, arguments.items or 5000)
        for asked in arguments.asked:
            for limit in arguments.limits:
                begun, foreseen = (
                    measured(asked, limit, folder, dry=dry, turns=arguments.turns, kept=arguments.kept)
                    for dry in (False, True)
                )
                times = (f"{one:.2f} s | {mib:.0f}" for _, one, mib in (begun, foreseen))
                print(f"| {asked} | {limit:,} | {begun[0]:.2f} s |", " | ".join(times), "|", flush=True)


if __name__ == "__main__":
    main()
