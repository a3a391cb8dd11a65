"""Time and peak memory of runs as judgments, remembered verdicts and items grow.

    python benchmarks/growth.py [--judgments 2000 20000] [--verdicts 10000 1000000]
                                [--items 10000 1000000]

Each figure is of a whole command in its own process, from its start to its exit: seconds by the
clock and of the processor, and peak memory. On a machine that others use too, compare the
processor's. "Judgments" is a comparison by a metric that never decides, with every rule that grows
in proportion. "Verdicts" is `calibrate`, and a comparison that draws by history, with a ledger of
so many verdicts of an earlier baseline with other systems.
"Items" is a comparison of so many items that stops after the first query. The last columns are
ratios to the smallest number: of the numbers and of the processor's seconds.
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
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from judgeloop.core.ledger import End
from judgeloop.core.records import JudgeIdentity
from judgeloop.core.verdict_key import KeyedJudge, as_text, digest
from judgeloop.ledger.charges import charge_run, run_row, summed
from judgeloop.ledger.rows import (
    NUMBER,
    TABLES,
    AttemptRow,
    SumRow,
    TextRow,
    VerdictRow,
    insert,
    next_number,
    statement_of,
)
from judgeloop.ledger.sqlite import SqliteConnection, connect

JUDGE = JudgeIdentity("metric", "exact", {"tie_margin": "0.0"}, mark=":")
OUTPUTS = np.array(["yes", "no", "perhaps"])  # the reference is "yes": a metric sees many ties
PAST_ITEMS = 5000
WHEN = "2026-01-01T00:00:00.000+00:00"
EXITS = (0, 3)  # decided, undecided
MEBI = 2**10  # kibibytes


class Figure(NamedTuple):
    """What a command took: seconds by the clock and of the processor, peak memory in MiB."""

    seconds: float
    processor: float
    peak: float


def figure(arguments: Sequence[str], folder: Path) -> Figure:
    """Run a command of judgeloop in `folder` and measure it."""
    began = time.perf_counter()
    with (folder / "said").open("w+") as said:
        command = [sys.executable, "-m", "judgeloop", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in EXITS:
            said.seek(0)
            raise SystemExit(f"{' '.join(arguments)}\n{said.read()}")
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
    return figure(
        ["compare", *write_outputs(folder, items), "--judge", "metric:exact", *limits], folder
    )


def by_verdicts(command: Callable[[Path], Figure]) -> Callable[[Path, int], Figure]:
    """Return what measures `command` on so many verdicts."""

    def measured(folder: Path, verdicts: int) -> Figure:
        write_ledger(folder / "ledger.sqlite", verdicts)
        return command(folder)

    return measured


def calibrated(folder: Path) -> Figure:
    """Measure `calibrate`."""
    return figure(["calibrate", "--ledger", "ledger.sqlite"], folder)


def with_history(folder: Path) -> Figure:
    """Measure a run by history."""
    files = write_outputs(folder, PAST_ITEMS)
    how = ["--judge", "metric:exact", "--selector", "decisive", "--max-judgments", "10"]
    return figure(["compare", *files, *how, "--ledger", "ledger.sqlite"], folder)


def write_ledger(path: Path, verdicts: int) -> None:
    """Write a ledger of comparisons in both orders, of a baseline with one system after another.

    Each system is a run. The notes of attempts are left out: what is measured does not read them.
    """
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        written = Written(connection)
        for candidate, of_run in groupby(past_calls(verdicts), lambda call: call.candidate):
            connection.execute("BEGIN")
            written.run(f"{candidate:016x}", list(of_run))
            connection.execute("COMMIT")


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


class Written:
    """Writes rows in batches, with numbers for the texts that they name."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._texts: dict[str, int] = {}
        self._new: list[TextRow] = []
        self._attempts = 0

    def run(self, run: str, calls: Sequence[PastCall]) -> None:
        """Write the calls of a run, and what they were charged."""
        run_row(self._connection, run)
        judge = KeyedJudge.of(JUDGE)
        attempts, verdicts = [], []
        for call in calls:
            self._attempts += 1
            number, key = self._attempts, f"{self._attempts:064x}"
            item, other = f"i{call.at}", f"system{call.candidate}"
            shown = [("base", f"text {call.at}"), (other, f"text {call.at} of {call.candidate}")]
            (first, one), (second, two) = shown[::-1] if call.turned else shown
            place = item, digest(f"prompt {call.at}"), digest("yes")
            named = run, judge, place, first, second, digest(one), digest(two)
            numbers = np.array([self._number(as_text(text)) for text in named], NUMBER)
            attempts.append(attempt_of(number, run, key, item))
            verdicts.append(
                VerdictRow(number, number, 10**6, call.score, key, "why", numbers.tobytes())
            )
        self._insert(self._new)
        self._new = []
        self._insert(attempts)
        self._insert(verdicts)
        for row in summed(attempts).values():
            insert(self._connection, row._replace(seq=next_number(self._connection, SumRow)))
        charge_run(self._connection, run, 10**6 * len(attempts))

    def _number(self, text: str) -> int:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = len(self._texts) + 1
            self._new.append(TextRow(known, text))
        return known

    def _insert(self, rows: Sequence[Any]) -> None:
        kind = type(rows[0])
        seals = self._connection.sealer.seals(TABLES[kind], [tuple(row) for row in rows])
        statement, _ = statement_of(kind, None, (*rows[0], b""))
        self._connection.executemany(
            statement, ((*row, seal) for row, seal in zip(rows, seals, strict=True))
        )


def attempt_of(number: int, run: str, key: str, item: str) -> AttemptRow:
    """Return a settled attempt by the judge of the new comparison."""
    return AttemptRow(
        id=number,
        run=run,
        opener="opener",
        key=key,
        item_id=item,
        judge=JUDGE.name,
        note="{}",
        state="settled",
        ended=End.VERDICT.value,
        reserved_p=10**6,
        charged_p=10**6,
        rehearsed=0,
        outcome="verdict",
        usage=None,
        model="",
        request_id="",
        began_at=WHEN,
        ended_at=WHEN,
    )


def show(name: str, numbers: Sequence[int], measure: Callable[[Path, int], Figure]) -> None:
    """Print a line for each number, with the ratios to the first."""
    first: Figure | None = None
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), number)
        first = first or found
        ratio = found.processor / first.processor
        times = f"{found.seconds:>10.1f}{found.processor:>11.1f}{found.peak:>10.0f}"
        print(
            f"{name:<32}{number:>11,}{times}{number / numbers[0]:>11.0f}{ratio:>11.1f}", flush=True
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judgments", type=int, nargs="*", default=[2000, 20_000])
    parser.add_argument("--rules", nargs="+", default=["sequential", "tie-aware", "anytime"])
    parser.add_argument("--verdicts", type=int, nargs="*", default=[10_000, 1_000_000])
    parser.add_argument("--items", type=int, nargs="*", default=[10_000, 1_000_000])
    arguments = parser.parse_args()
    head = f"{'number':>11}{'seconds':>10}{'processor':>11}{'peak MiB':>10}{'to first':>11}{'in time':>11}"
    print(f"{'what grows':<32}{head}", flush=True)
    for rule in arguments.rules:
        show(f"judgments, {rule}", arguments.judgments, by_judgments(rule))
    for name, command in (("calibrate", calibrated), ("a run", with_history)):
        show(f"verdicts, {name}", arguments.verdicts, by_verdicts(command))
    show("items", arguments.items, by_items)


if __name__ == "__main__":
    main()
