"""Simulates whole runs under faults, and checks what judgeloop promises.

    python benchmarks/simulate.py --seed 123 [--requests]
    python benchmarks/simulate.py --count 20000 [--first 0]
    python benchmarks/simulate.py --planted

The first repeats one seed, and shows where it fails. The second runs many, up to the first that
fails. The third plants each fault of `tests/simulation/planted.py` in a copy of the code, and says
after how many seeds it is found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from simulation.planted import PLANTED
from simulation.runs import Plan, scratch, simulate
from simulation.world import BrokenError

MOST = 2000  # seeds in which a planted fault is to be found


def one(seed: int, *, requests: bool) -> None:
    """Run one seed, with the traceback of what fails."""
    print(Plan.of(seed))
    with scratch() as folder:
        history = simulate(seed, folder)
    if requests:
        for request in history.requests:
            print(request.life.name, request.run, request.mark, request.billed_p, request.score)


def many(first: int, count: int) -> int:
    """Run many seeds; return 1 at the first that fails."""
    began, totals = time.process_time(), Counter[str]()
    with scratch() as folder:
        for seed in range(first, first + count):
            try:
                history = simulate(seed, folder)
            except BrokenError as error:
                print(error)
                return 1
            totals["requests"] += len(history.requests)
            totals["processes"] += len({request.life for request in history.requests})
    print(f"{count} seeds, {dict(totals)}, {time.process_time() - began:.0f} s of one core")
    return 0


def planted() -> int:
    """Plant each fault; return how many are not found."""
    missed = 0
    for fault in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            seeds = fault.found_at(Path(folder), MOST)
        missed += seeds is None
        print(f"| {fault.what} | {seeds or 'not found'} |", flush=True)
    return missed


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--requests", action="store_true")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--planted", action="store_true")
    given = parser.parse_args()
    if given.planted:
        return planted()
    if given.seed is not None:
        one(given.seed, requests=given.requests)
        return 0
    return many(given.first, given.count)


if __name__ == "__main__":
    sys.exit(main())
