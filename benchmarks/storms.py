"""Storms on one ledger: processes are killed, connections end, a disk fills up; then the books are compared.

    python benchmarks/storms.py file [--processes 8] [--in-flight 32] [--kills 24] [--items 200] [--budget 30]
    python benchmarks/storms.py server
    python benchmarks/storms.py full-disk

A provider on loopback keeps the true bill: a request is billed when its body has arrived. Processes run `judgeloop
compare` under one budget of a day, in a file or on a PostgreSQL server of this program's own. Again and again one of
them is killed (SIGKILL) after some requests, and started again at once; on a server the connections of all are
ended, too (`pg_terminate_backend`). In the end

- the true bill is covered by what is booked, and that by the budget, of which nothing is held back;
- each request has a charged attempt of its own: the same model, item and order;
- each kept verdict is what the provider answered, and `ledger verify` finds the ledger sound.

How many attempts are charged that no server saw is counted: a process that is killed between its note and its first
byte leaves one, and nobody else may. "full-disk" fills the disk of a run with a live system, and gives it room again.
Any broken promise ends with exit code 1. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.chat_server import ChatServer, Response, candidates, completion  # noqa: E402 - after the path
from support.database import opened  # noqa: E402
from support.postgres import running  # noqa: E402

from judgeloop.core.money import show_usd, to_pico  # noqa: E402
from judgeloop.ledger.opening import open_ledger  # noqa: E402
from judgeloop.ledger.periods import MIDNIGHT  # noqa: E402
from judgeloop.ledger.records import End  # noqa: E402
from judgeloop.ledger.upkeep import verify  # noqa: E402

IN_P, OUT_P = 15 * 10**6, 120 * 10**6  # picodollars a token
PRICE = "15,120"
MOST_TOKENS = 30  # in a reply
ENDS, FAILED = (0, 3), 4  # decided, undecided; without a result
NO_MONEY = "does not cover the worst case of the next query"
SHOWN = 1500  # characters of what a process said
END_S = 1.5  # between two times at which all connections are ended
END_ALL = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name LIKE 'judgeloop %' AND datname = current_database()"""
CHARGED = "SELECT item_id, judge, note, ended, charged_p FROM attempts WHERE charged_p > 0 AND ended IS NOT NULL"
KEPT = "SELECT a.item_id, a.judge, a.note, v.score FROM verdicts v JOIN attempts a ON a.id = v.attempt"
HANG_S = 2400.0
# Then the command is repeated: the server has not noticed yet that it was killed; its first connection was ended.
AGAIN = ("another judgeloop process is working on this run", "could not be opened")
FAILING = 0.03  # of the requests are billed, and answered by HTTP 500
LIVE = "openai/better"
MOUNTED = 32 * 2**20  # bytes of the disk that fills up


class Call(NamedTuple):
    """What a request asks: a model about an item, with this system's output first; of a system, without."""

    model: str
    item: str
    first: str


@dataclass
class Provider(ChatServer):
    """Bills every request when its body has arrived; the verdict on a call is always the same."""

    reply_s: float
    seed: int = 0
    bill_p: int = 0
    seen: Counter[Call] = field(default_factory=Counter)
    answered: Counter[Call] = field(default_factory=Counter)
    by_key: Counter[str] = field(default_factory=Counter)  # requests by the key of the judge, which names the process

    def __post_init__(self) -> None:
        super().__init__(self.billed)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a killed client is no news
        self._fate = random.Random(self.seed)

    def billed(self, request: dict[str, Any], number: int) -> Response:
        """Bill a request, and answer it."""
        call, usage = asked(request), {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
        with self._lock:
            self.bill_p += 400 * IN_P + 20 * OUT_P
            self.seen[call] += 1
            self.by_key[self.headers[number].get("authorization", "").removeprefix("Bearer ")] += 1
            fails, wait_s = self._fate.random() < FAILING, self._fate.uniform(0.2, 1.8) * self.reply_s
        time.sleep(wait_s)
        if fails:
            return Response(500, b"{}")
        with self._lock:
            self.answered[call] += 1
        said = f"better {call.item}" if not call.first else json.dumps({"reason": "because", "winner": winner(call)})
        reply = json.loads(completion(said, usage=usage).body) | {"model": call.model}
        return Response(body=json.dumps(reply).encode())

    @property
    def answered_twice(self) -> int:
        """How many calls were answered more than once."""
        return sum(count > 1 for count in self.answered.values())


def asked(request: dict[str, Any]) -> Call:
    """What a request asks."""
    if "response_format" not in request:
        return Call(request["model"], request["messages"][-1]["content"], "")
    material = candidates(request)
    return Call(request["model"], material["task"], material["answer_A"].split()[0])


def winner(call: Call) -> str:
    """The verdict on a call: by the name of the item, whichever system is first."""
    liked = "old" if int(re.findall(r"\d+", call.item)[0]) % 2 else "better"
    return "A" if call.first == liked else "B"


def write_files(folder: Path, items: int) -> None:
    """Write the items, and the outputs of two systems."""
    for name in ("items", "old", "better"):
        rows = (
            {"id": f"i{n}", "prompt": f"task {n}"} | ({} if name == "items" else {"output": f"{name} {n}"})
            for n in range(items)
        )
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@dataclass
class Runs:
    """The processes of a storm; what they say is kept apart from their folder, whose disk may be full."""

    folder: Path
    ledger: str
    provider: Provider
    in_flight: int
    items: int
    said: Path

    def start(self, number: int, *systems: str) -> subprocess.Popen[bytes]:
        """Start the process of this number; two share a model, and so their verdicts."""
        judge = ["--judge", f"openai/judge-{number // 2}", "--judge-base-url", self.provider.url]
        judge += ["--judge-price", PRICE, "--judge-max-tokens", str(MOST_TOKENS)]
        limits = ["--max-judgments", str(self.items), "--risk", "0.000001", "--budget", "1000"]
        how = ["--concurrency", str(self.in_flight), "--seed", str(number), "--ledger", self.ledger]
        files = systems or ("old.jsonl", "better.jsonl")
        command = [sys.executable, "-m", "judgeloop", "compare", *files, *judge, *limits, *how]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUDGELOOP_", "OPENAI_"))}
        own = {"JUDGELOOP_JUDGE_API_KEY": key_of(number), "JUDGELOOP_MIN_JUDGMENTS": str(self.items)}
        with (self.said / str(number)).open("wb") as said:
            return subprocess.Popen(command, cwd=self.folder, env=kept | own, stdout=said, stderr=said)

    def ended(self, number: int, child: subprocess.Popen[bytes]) -> str:
        """Wait for the end of a process; return what is wrong with it, and an empty text if nothing is."""
        try:
            code = child.wait(HANG_S)
        except subprocess.TimeoutExpired:
            child.kill()
            return f"process {number} hung"
        said = (self.said / str(number)).read_text("utf-8", "replace")
        if code in ENDS or (code == FAILED and NO_MONEY in said):
            return ""
        return f"process {number} ended with {code}: {said[-SHOWN:]}"


def key_of(number: int) -> str:
    """The key of a process's judge, by which the provider knows it."""
    return f"process-{number}"


class Books(NamedTuple):
    """What a storm came to; money is in picodollars."""

    requests: int
    true_p: int
    booked_p: int
    budget_p: int
    unseen: int
    broken: tuple[str, ...]


def books(ledger: str, provider: Provider, budget_p: int) -> Books:
    """Close what dead processes left open, and compare the ledger with what the provider saw."""
    with closing(open_ledger(ledger)) as here:
        here.unknown()
    broken = [f"not sound: {problem}" for problem in verify(ledger).problems]
    with opened(ledger) as db:
        attempts = db.execute(CHARGED).fetchall()
        verdicts = db.execute(KEPT).fetchall()
        (open_,) = db.execute("SELECT count(*) FROM attempts WHERE ended IS NULL").fetchone()
    charged = Counter(call_of(*row) for *row, _, _ in attempts)
    lost = Counter(call_of(*row) for *row, ended, _ in attempts if ended == End.LOST)
    booked_p = sum(charged_p for *_, charged_p in attempts)
    if not provider.bill_p <= booked_p <= budget_p:
        broken.append(f"billed {show_usd(provider.bill_p)}, booked {show_usd(booked_p)} of {show_usd(budget_p)}")
    for call, count in provider.seen.items():
        if count > charged[call]:
            broken.append(f"{call} was asked {count} times, and charged {charged[call]} times")
    for *row, score in verdicts:
        if score != (winner(call_of(*row)) == "A"):
            broken.append(f"{call_of(*row)} is kept as {score:g}")
    broken += [f"{open_} attempts stay open"] if open_ else []
    unseen = {call: count - provider.seen[call] for call, count in charged.items() if count > provider.seen[call]}
    for call, count in unseen.items():
        if count > lost[call]:
            broken.append(f"{call} was charged {count} times more than asked, by no process that was killed")
    requests = sum(provider.seen.values())
    return Books(requests, provider.bill_p, booked_p, budget_p, sum(unseen.values()), tuple(broken))


def call_of(item: str, judge: str, note: str) -> Call:
    """The call of an attempt."""
    model, systems = judge.removeprefix("openai/"), json.loads(note).get("systems", ())
    first = Path(systems[0]).stem if systems else ""
    return Call(model, f"task {item.removeprefix('i')}", first)


def storm(runs: Runs, processes: int, kills: int, rng: random.Random) -> tuple[int, list[str]]:
    """Kill each process after some more of its requests, and start it again, until all have ended.

    Returns how many were killed, and what went wrong.
    """
    seen, until = runs.provider.by_key, time.monotonic() + HANG_S
    living = {number: runs.start(number) for number in range(processes)}
    ends = {number: rng.randint(1, 2 * runs.in_flight) for number in living}
    killed, wrong = 0, list[str]()
    while living:
        for number, child in list(living.items()):
            if child.poll() is not None:
                why = runs.ended(number, child)
                if any(said in why for said in AGAIN):
                    living[number] = runs.start(number)
                else:
                    del living[number]
                    wrong += [why] if why else []
            elif killed < kills and seen[key_of(number)] >= ends[number]:
                child.send_signal(signal.SIGKILL)
                child.wait()
                killed += 1
                ends[number] = seen[key_of(number)] + rng.randint(1, 2 * runs.in_flight)
                living[number] = runs.start(number)
            elif time.monotonic() > until:
                child.kill()
        time.sleep(0.005)
    return killed, wrong


@contextmanager
def connections_end(address: str) -> Iterator[list[int]]:
    """End all connections of judgeloop to a database again and again; yields how many, each time."""
    over, ended = threading.Event(), list[int]()

    def end() -> None:
        while not over.wait(END_S):
            with opened(address) as db:
                ended.append(db.execute(END_ALL).rowcount)

    thread = threading.Thread(target=end)
    thread.start()
    try:
        yield ended
    finally:
        over.set()
        thread.join()


@contextmanager
def disk() -> Iterator[tuple[Path, bool]]:
    """Yield a folder on a small disk of its own where this user may mount one, and whether it is one."""
    with tempfile.TemporaryDirectory() as name:
        command = ["/bin/mount", "-t", "tmpfs", "-o", f"size={MOUNTED}", "judgeloop-storm", name]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        try:
            yield Path(name), mounted
        finally:
            if mounted:
                subprocess.run(["/bin/umount", "-l", name], check=True)


def full_disk(runs: Runs, *, mounted: bool) -> list[str]:
    """Fill the disk while a system and its judge answer, give it room again, and resume; return what went wrong.

    Where no disk could be mounted, no file of the process can grow any more.
    """
    settings = {"base-url": runs.provider.url, "price": PRICE, "version": "1", "max-tokens": str(MOST_TOKENS)}
    system = [part for name, value in settings.items() for part in ("--system", f"{LIVE}.{name}={value}")]
    given = ["old.jsonl", LIVE, "--items", "items.jsonl", *system]
    child, filler = runs.start(0, *given), runs.folder / "filler"
    while child.poll() is None and runs.provider.by_key[key_of(0)] < 3 * runs.in_flight:
        time.sleep(0.005)
    if mounted:
        fill(filler)
    else:
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (0, 0))
    first = runs.ended(0, child)
    filler.unlink(missing_ok=True)
    wrong = [] if first and "hung" not in first else [first or "the disk was full, and the command ended well"]
    print(f"  on the full disk: {first}", file=sys.stderr)
    resumed = runs.ended(0, runs.start(0, *given))
    # So many calls are in flight to the judge, and so many to the system.
    twice, in_flight = runs.provider.answered_twice, 2 * runs.in_flight
    wrong += [resumed] if resumed else []
    wrong += [f"{twice} calls were answered twice, of {in_flight} in flight"] if twice > in_flight else []
    return wrong


def fill(path: Path) -> None:
    """Write a file until no byte fits."""
    with path.open("wb", buffering=0) as file:
        for size in (2**16, 2**9, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue


def main() -> int:
    """Raise the storm, and print a row of what it came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["file", "server", "full-disk"])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--budget", default="30", help="dollars a day, for all processes together")
    parser.add_argument("--reply", type=float, default=0.3, help="mean seconds of a reply")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder, mounted = stack.enter_context(disk()) if given.kind == "full-disk" else (temporary(stack), False)
        ledger = str(folder / "ledger.sqlite")
        if given.kind == "server":
            ledger = stack.enter_context(running()).ledger()
        provider = Provider(given.reply, given.seed)
        stack.callback(provider.close)
        write_files(folder, given.items)
        budget_p = to_pico(given.budget)
        with closing(open_ledger(ledger)) as here:
            here.set_budget("", budget_p, "day", MIDNIGHT)
        runs = Runs(folder, ledger, provider, given.in_flight, given.items, temporary(stack))
        killed, ended = 0, list[int]()
        if given.kind == "full-disk":
            wrong = full_disk(runs, mounted=mounted)
        else:
            with connections_end(ledger) if given.kind == "server" else nullcontext(ended) as ended:
                killed, wrong = storm(runs, given.processes, given.kills, random.Random(given.seed))
        found = books(ledger, provider, budget_p)
    print("| storm | killed | connections ended | requests | true bill | booked | budget | charged and unseen |")
    print("|---|---|---|---|---|---|---|---|")
    money = " | ".join(map(show_usd, (found.true_p, found.booked_p, found.budget_p)))
    print(f"| {given.kind} | {killed} | {sum(ended)} | {found.requests} | {money} | {found.unseen} |")
    for said in (*wrong, *found.broken):
        print(f"BROKEN: {said}")
    return 1 if wrong or found.broken else 0


def temporary(stack: ExitStack) -> Path:
    """A folder that is removed in the end."""
    return Path(stack.enter_context(tempfile.TemporaryDirectory()))


if __name__ == "__main__":
    sys.exit(main())
