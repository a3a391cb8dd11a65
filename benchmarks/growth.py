"""Time and peak memory of runs as judgments, remembered verdicts and items grow.

    python benchmarks/growth.py [--judgments 2000 20000] [--items 10000 1000000]
                                [--verdicts 10000 1000000 10000000] [--on-server 10000 100000]
                                [--replays 10000 100000 1000000]

Each figure is of a whole command in its own process, from its start to its exit: seconds by the
clock and of the processor, and peak memory. On a machine that others use too, compare the
processor's. "Judgments" is a comparison by a metric that never decides, with every rule that grows
in proportion. "Items" is a comparison of so many items that stops after the first query. The last
columns are ratios to the smallest number: of the numbers and of the processor's seconds.
"Verdicts" is a ledger of so many verdicts of an earlier baseline with other systems: what has been
spent, 5,000 verdicts by their keys, and a comparison. "On a server" is the same on PostgreSQL; the server's memory
is not counted. "Replays" are of uniform draws from a table of so many
items: by a plain loop of NumPy, with two processes of joblib, and with two workers of a Dask cluster, of which
only the process that asks it counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Call, Item, JudgeIdentity
from judgeloop.ledger.answers import checksum
from judgeloop.ledger.records import End
from judgeloop.ledger.sqlite import connect

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.postgres import running

JUDGE = JudgeIdentity("metric", "exact", {"tie_margin": "0.0"}, mark=":")
OUTPUTS = np.array(["yes", "no", "perhaps"])  # the reference is "yes": a metric sees many ties
PAST_ITEMS = 5000
WHEN = "2026-01-01T00:00:00.000+00:00"
EXITS = (0, 3)  # decided, undecided
# Looks verdicts up in the ledger at an address, so many.
LOOK_UP = """
import asyncio, sys
from judgeloop.ledger.opening import open_ledger

async def look():
    ledger = open_ledger(sys.argv[1])
    wanted = [f"{number:064x}" for number in range(1, int(sys.argv[2]) + 1)]
    found = await ledger.verdicts(wanted)
    await ledger.aclose()
    assert len(found) == len(wanted), len(found)

asyncio.run(look())
"""
# What a replay does by numbers of judgments, and no more: reads a table of scores, and draws.
PLAIN = """
import csv, sys
import numpy as np

scores = {}
with open("verdicts.csv", newline="") as file:
    for row in csv.DictReader(file):
        scores.setdefault(row["model"], []).append(float(row["score"]))
first, second = map(np.array, scores.values())
preferences = np.sign(first - second)
for seed in range(int(sys.argv[1])):
    order = np.random.default_rng(seed).permutation(len(preferences))
    for size in range(10, 101, 10):
        print(preferences[order[:size]].mean())
"""
REPETITIONS, JOBS = 10, 2
MEBI = 2**10  # kibibytes


class Figure(NamedTuple):
    """What a command took: seconds by the clock and of the processor, peak memory in MiB."""

    seconds: float
    processor: float
    peak: float


def figure(arguments: Sequence[str], folder: Path) -> Figure:
    """Run a command of judgeloop in `folder` and measure it."""
    return measured([sys.executable, "-m", "judgeloop", *arguments], folder)


def measured(command: Sequence[str], folder: Path) -> Figure:
    """Run a command in `folder` and measure it."""
    began = time.perf_counter()
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in EXITS:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{said.read()}")
    processor = used.ru_utime + used.ru_stime
    return Figure(time.perf_counter() - began, processor, used.ru_maxrss / MEBI)


def write_outputs(folder: Path, items: int) -> list[str]:
    """Write the outputs of two level systems on so many items; return the names of the files."""
    for system, seed in (("a", 1), ("b", 2)):
        outputs = OUTPUTS[np.random.default_rng(seed).integers(0, len(OUTPUTS), items)].tolist()
        with (folder / f"{system}.jsonl").open("w", encoding="utf-8") as file:
            for at, output in enumerate(outputs):
                row = {"id": f"i{at}", "prompt": f"prompt {at}", "reference": "yes"}
                file.write(json.dumps(row | {"output": output}) + "\n")
    return ["a.jsonl", "b.jsonl"]


def by_judgments(rule: str) -> Callable[[Path, int], Figure]:
    """Return what measures a run of so many judgments with `rule`."""

    def measured(folder: Path, judgments: int) -> Figure:
        files = write_outputs(folder, judgments)
        limits = ["--max-judgments", str(judgments), "--risk", "0.000001"]
        how = ["--judge", "metric:exact", "--selector", "random", "--rule", rule]
        return figure(["compare", *files, *how, *limits], folder)

    return measured


def by_items(folder: Path, items: int) -> Figure:
    """Measure a run that ends after the first query on one of so many items."""
    limits = ["--max-judgments", "1"]
    return figure(["compare", *write_outputs(folder, items), "--judge", "metric:exact", *limits], folder)


def by_replay(engine: Sequence[str] | None) -> Callable[[Path, int], Figure]:
    """Return what measures a replay of so many items on an engine, or by a plain loop."""

    def measure(folder: Path, items: int) -> Figure:
        (folder / "outputs").mkdir()
        write_outputs(folder / "outputs", items)
        scores = np.random.default_rng(3).integers(0, 10, (2, items)).tolist()
        with (folder / "verdicts.csv").open("w", encoding="utf-8") as file:
            file.write("item_id,model,score\n")
            for system, row in zip("ab", scores, strict=True):
                file.writelines(f"i{at},{system},{score}\n" for at, score in enumerate(row))
        if engine is None:
            return measured([sys.executable, "-c", PLAIN, str(REPETITIONS)], folder)
        table = ["replay", "outputs", "--verdicts", "verdicts.csv", "--items", "outputs/a.jsonl", "-o", "out"]
        draws = ["--selectors", "random", "--sizes", "10:100:10", "--seeds", str(REPETITIONS), "--subset", "1"]
        return figure([*table, *draws, "--pairs", "1", *engine], folder)

    return measure


@contextmanager
def dask() -> Iterator[str]:
    """Yield the address of a Dask cluster with two workers on this machine."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=JOBS, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        yield local.scheduler_address.replace("tcp://", "dask://")


def of_ledger(folder: Path, address: str, verdicts: int) -> Iterator[tuple[str, Figure]]:
    """Measure each command on a ledger of so many verdicts."""
    files = write_outputs(folder, PAST_ITEMS)
    compare = ["compare", *files, "--judge", "metric:exact", "--max-judgments", "10"]
    commands = {"what was spent": ["ledger", "show"], "a comparison": [*compare, "--selector", "random"]}
    looked_up = min(5000, verdicts)
    yield f"{looked_up:,} by their keys", measured([sys.executable, "-c", LOOK_UP, address, str(looked_up)], folder)
    for name, command in commands.items():
        yield name, figure([*command, "--ledger", address], folder)


@contextmanager
def on_server(verdicts: int) -> Iterator[str]:
    """Yield the address of a ledger of so many verdicts on a server."""
    with running("max_wal_size=2GB") as server:
        address = server.ledger()
        apart(fill, address, verdicts)
        yield address


def apart(function: Callable[..., Any], *given: Any) -> None:
    """Call a function in a process of its own: what is measured later would inherit its peak memory."""
    process = get_context("spawn").Process(target=function, args=given)
    process.start()
    process.join()
    assert process.exitcode == 0, function


def by_verdicts(numbers: Sequence[int], *, server: bool) -> None:
    """Print a line for each command and number."""
    where, smallest = ", on a server" if server else "", dict[str, Figure]()
    for number in numbers:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            file = folder / "ledger.sqlite"
            if not server:
                apart(write_ledger, file, number)
            with on_server(number) if server else nullcontext(str(file)) as address:
                for what, found in of_ledger(folder, address, number):
                    first = smallest.setdefault(what, found)
                    line(f"verdicts{where}: {what}", number, numbers[0], found, first)


ATTEMPT = {
    "run": "", "opener": "opener", "key": "", "item_id": "", "judge": JUDGE.name, "note": "", "state": "settled",
    "ended": End.VERDICT.value, "reserved_p": 1_000_000, "charged_p": 1_000_000, "rehearsed": 0, "outcome": "verdict",
    "model": "", "request_id": "", "began_at": WHEN, "ended_at": WHEN, "charge_to": "",
}  # fmt: skip
VERDICT = ("attempt", "key", "score", "reason", "crc")
INTO_ATTEMPTS, INTO_VERDICTS = (
    f"{table} ({', '.join(columns)})" for table, columns in (("attempts", ATTEMPT), ("verdicts", VERDICT))
)
# What the triggers would have kept, but that a server's take as many versions of a row as a run has attempts.
SUMS = (
    """INSERT INTO sums SELECT substr(began_at, 1, 10), run, judge, state, count(*), sum(charged_p), 0, 0
    FROM attempts GROUP BY 1, 2, 3, 4""",
    """UPDATE runs SET charged_p = s.charged_p FROM (SELECT run, sum(charged_p) AS charged_p FROM sums GROUP BY run) s
    WHERE s.run = runs.id""",
    "UPDATE budgets SET charged_p = (SELECT sum(charged_p) FROM sums) WHERE name = ''",
    "SELECT setval(pg_get_serial_sequence('attempts', 'id'), max(id)) FROM attempts",
    "SELECT setval(pg_get_serial_sequence('verdicts', 'seq'), max(seq)) FROM verdicts",
)
Rows = list[tuple[Any, ...]]


def of_runs(verdicts: int) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield the runs of comparisons in both orders, of a baseline with one system after another.

    A run has its id, its attempts and its verdicts.
    """
    number = 0
    for candidate, of_run in groupby(past_calls(verdicts), lambda call: call.candidate):
        run, attempts, found = f"{candidate:016x}", list[Any](), list[Any]()
        for call in of_run:
            number += 1
            key = f"{number:064x}"
            attempt = ATTEMPT | {"run": run, "key": key, "item_id": f"i{call.at}", "note": note(call)}
            attempts.append(tuple(attempt.values()))
            found.append((number, key, call.score, "why", checksum(key, call.score, "why", None)))
        yield run, attempts, found


def write_ledger(path: Path, verdicts: int) -> None:
    """Write a ledger of so many verdicts; the triggers keep the sums."""
    with closing(connect(path)) as connection:
        connection.raw("PRAGMA synchronous = OFF")
        for run, attempts, found in of_runs(verdicts):
            connection.raw("BEGIN")
            connection.raw("INSERT INTO runs (id, created_at) VALUES (?, ?)", (run, WHEN))
            for into, rows in ((INTO_ATTEMPTS, attempts), (INTO_VERDICTS, found)):
                places = ", ".join("?" * len(rows[0]))
                connection.file.executemany(f"INSERT INTO {into} VALUES ({places})", rows)  # noqa: S608 - of our own
            connection.raw("COMMIT")


def fill(address: str, verdicts: int) -> None:
    """Fill a ledger on a server with so many verdicts, without its triggers; then make the sums."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as server:
        server.execute("SET session_replication_role = replica")
        server.execute("SET search_path = judgeloop")
        for run, attempts, found in of_runs(verdicts):
            server.execute("INSERT INTO runs (id, created_at) VALUES (%s, %s)", (run, WHEN))
            for into, rows in ((INTO_ATTEMPTS, attempts), (INTO_VERDICTS, found)):
                with server.cursor().copy(f"COPY {into} FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
        for statement in (*SUMS, "ANALYZE"):
            server.execute(statement)


def note(call: PastCall) -> str:
    """Return what the key of a call is made of, as an attempt notes it."""
    other = f"system{call.candidate}"
    shown = [("base", f"text {call.at}"), (other, f"text {call.at} of {call.candidate}")]
    (first, one), (second, two) = shown[::-1] if call.turned else shown
    item = Item(f"i{call.at}", f"prompt {call.at}", "yes")
    ingredients = KeyIngredients.of(JUDGE, Call(item, (first, second), (one, two)), blind=True)
    return json.dumps({"ingredients": ingredients.to_note(), "systems": (first, second)})


class PastCall(NamedTuple):
    """A call of the past: of a baseline and a candidate, on an item, in one order."""

    candidate: int
    at: int
    turned: bool
    score: float


def past_calls(verdicts: int) -> Iterator[PastCall]:
    """Yield so many calls about a baseline and further systems."""
    items = min(PAST_ITEMS, verdicts // 8)
    rng = np.random.default_rng(0)
    scores = rng.choice([0.0, 0.5, 1.0], p=[0.3, 0.35, 0.35], size=verdicts // 2).tolist()
    for number, score in enumerate(scores):
        candidate, at = divmod(number, items)
        yield PastCall(candidate, at, turned=False, score=score)
        yield PastCall(candidate, at, turned=True, score=1 - score)


def show(name: str, numbers: Sequence[int], measure: Callable[[Path, int], Figure]) -> None:
    """Print a line for each number, with the ratios to the first."""
    first: Figure | None = None
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), number)
        first = first or found
        line(name, number, numbers[0], found, first)


def line(name: str, number: int, least: int, found: Figure, first: Figure) -> None:
    """Print a line."""
    ratio = found.processor / first.processor
    times = f"{found.seconds:>10.1f}{found.processor:>11.1f}{found.peak:>10.0f}"
    print(f"{name:<48}{number:>11,}{times}{number / least:>11.0f}{ratio:>11.1f}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, nargs="*", default=[2000, 20_000])
    parser.add_argument("--rules", nargs="+", default=["bets", "tie-aware"])
    parser.add_argument("--verdicts", type=int, nargs="*", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--on-server", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--replays", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--items", type=int, nargs="*", default=[10_000, 1_000_000])
    arguments = parser.parse_args()
    head = f"{'number':>11}{'seconds':>10}{'processor':>11}{'peak MiB':>10}{'to first':>11}{'in time':>11}"
    print(f"{'what grows':<48}{head}", flush=True)
    for rule in arguments.rules:
        show(f"judgments, {rule}", arguments.judgments, by_judgments(rule))
    show("items", arguments.items, by_items)
    if arguments.replays:
        show("a replay's draws, by a plain loop", arguments.replays, by_replay(None))
        show("a replay, joblib", arguments.replays, by_replay(["--jobs", str(JOBS)]))
        with dask() as address:
            show("a replay, Dask", arguments.replays, by_replay(["--engine", address]))
    by_verdicts(arguments.verdicts, server=False)
    by_verdicts(arguments.on_server, server=True)


if __name__ == "__main__":
    main()
