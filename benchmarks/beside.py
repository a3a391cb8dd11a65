"""judgeloop beside other tools that limit what calls cost: what each does when it is put to the test.

    python benchmarks/beside.py [--only plain,judgeloop] [--conditions "16 in flight"] [--environments FOLDER]

A provider on loopback keeps its own books: a request is billed when its body has arrived, whether or not
its reply comes in time. The same job, to rate 300 items for at most a dollar, which is enough for about
100, is written with each tool (`beside_jobs.py`). Each tool has an environment of its own, made by pip
with the versions of `TOOLS`; judgeloop is the one that runs this program. Linux only: at "full disk",
no file can be written by the process from the 50th reply on.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import resource
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from beside_jobs import IN_USD, MILLION, OUT_USD, Job  # noqa: E402 - after the path
from support.chat_server import ChatServer, Response, completion  # noqa: E402

TOOLS = {  # what the table calls it, and its packages
    "plain": ("tenacity and the SDK", ("openai==3.57.0", "tenacity==9.2.1")),
    "budget_manager": ("litellm, BudgetManager", ("litellm==1.110.2",)),
    "proxy": ("litellm, proxy", ("litellm[proxy]==1.108.7", "openai==3.57.0", "tenacity==9.2.1")),
    "inspect_ai": ("inspect_ai", ("inspect-ai==0.3.285", "openai==3.57.0")),
    "judgeloop": ("judgeloop", ()),
}
USED = (400, range(20, 47))  # tokens in, and out by the number of the item
SILENT = 4  # at "time-outs", the first request for every fourth item is billed and not answered
JOBS = str(ROOT / "benchmarks" / "beside_jobs.py")
SAID: int | None = None if os.environ.get("SAY") else subprocess.DEVNULL
QUIET_S = 1.0  # between the last reply and the kill, so that every reply has been read
HANG_S = 120.0


class Size(NamedTuple):
    """How large the job is; `half` is the number of replies at which a fault comes."""

    items: int = 300
    limit: float = 1.0
    half: int = 50
    reply_s: float = 0.03
    timeout_s: float = 30.0
    short_s: float = 5.0  # the clients' time-out where calls time out


class Condition(NamedTuple):
    """What the job is put to."""

    in_flight: int
    processes: int = 1
    fault: str = ""

    def __str__(self) -> str:
        shared = f", {self.processes} processes" if self.processes > 1 else ""
        return f"{self.in_flight} in flight{shared}" + (f", {self.fault}" if self.fault else "")


KILL, DISK, TIMEOUTS = "kill -9 and resume", "full disk", "time-outs"
CONDITIONS = (
    *(Condition(many, processes) for processes in (1, 4) for many in (1, 16, 256)),
    *(Condition(many, fault=fault) for fault in (KILL, DISK, TIMEOUTS) for many in (16, 256)),
)


@dataclass
class Charge:
    """A billed request; `answered` is when its reply was sent, if it was."""

    item: str
    usd: float
    asked: float = field(default_factory=time.monotonic)
    answered: float | None = None


class Provider(ChatServer):
    """Bills every request for what it uses, and answers it as `fault` says."""

    def __init__(self, fault: str, size: Size) -> None:
        super().__init__(self.billed)
        self.fault, self.size = fault, size
        self.timeout_s = size.short_s if fault == TIMEOUTS else size.timeout_s
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a killed client is no news
        self.books: list[Charge] = []
        self.half, self.over = threading.Event(), threading.Event()

    def billed(self, request: dict[str, Any], _: int) -> Response:
        """Bill it, and answer it as the fault says."""
        number = int(re.findall(r"item-(\d+)", request["messages"][-1]["content"])[0])
        sent, received = USED[0], USED[1][number % len(USED[1])]
        charge = Charge(f"item-{number}", (sent * IN_USD + received * OUT_USD) / MILLION)
        with self._lock:
            first = all(each.item != charge.item for each in self.books)
            self.books.append(charge)
            held = self.fault == KILL and len(self.books) > self.size.half
        if self.fault == TIMEOUTS and first and number % SILENT == 0:
            self.over.wait(3 * self.size.short_s)
            return Response(503)
        if held and not self.over.is_set():
            self.over.wait()
            return Response(503)
        time.sleep(self.size.reply_s)
        charge.answered = time.monotonic()
        if sum(each.answered is not None for each in self.books) >= self.size.half:
            self.half.set()
        usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}  # fmt: skip
        reply = completion(json.dumps({"reason": "because", "rating": "7"}), usage=usage)
        said = json.loads(reply.body) | {"model": request["model"]}
        return Response(body=json.dumps(said).encode())


class Row(NamedTuple):
    """What came of it: dollars over the limit, ratings found, paid twice and lost; hangs; seconds."""

    over: float
    found: int
    twice: int
    lost: int
    hung: int
    seconds: float

    def __str__(self) -> str:
        said = [f"{self.found} in {self.seconds:.0f} s"]
        said += [f"+${self.over:.2f}"] if self.over > 0 else []
        counts = ((self.twice, "paid twice"), (self.lost, "lost"), (self.hung, "hung"))
        return "; ".join(said + [f"{count} {what}" for count, what in counts if count])


def measured(tool: str, condition: Condition, size: Size, python: str = sys.executable) -> Row:
    """Run a tool's job to its end, and compare what it kept with the provider's books."""
    with tempfile.TemporaryDirectory() as name:
        folder, provider = Path(name), Provider(condition.fault, size)
        try:
            with served(tool, python, provider, folder) as (url, key):
                prepare(tool, folder, condition, provider, url=url, key=key)
                began = time.monotonic()
                hung, died = run(tool, python, folder, provider, condition)
            kept = set(json.loads(call([python, JOBS, "found", tool], folder)))
        finally:
            provider.over.set()
            provider.close()
    delivered = [each for each in provider.books if each.answered and each.answered < died]
    first = {each.item: each.answered or 0.0 for each in reversed(delivered)}
    twice = sum(first.get(each.item, each.asked) < each.asked for each in provider.books)
    over = max(0.0, sum(each.usd for each in provider.books) - size.limit)
    return Row(over, len(kept), twice, len(first.keys() - kept), hung, died - began)


def prepare(tool: str, folder: Path, condition: Condition, provider: Provider, *, url: str, key: str) -> None:  # fmt: skip
    """Write the job, or each process's share of it; set the limit that processes share, where a tool can."""
    size = provider.size
    names = [f"item-{n}" for n in range(size.items)]
    items = [{"id": name, "prompt": f"Task {name}?", "output": f"On {name}."} for name in names]
    for part in range(condition.processes):
        share = items[part :: condition.processes]
        patience = provider.timeout_s * (2 if tool == "proxy" else 1)  # the proxy gives up first
        job = Job(url, key, share, size.limit, condition.in_flight, patience, part)
        (folder / f"job-{part}.json").write_text(json.dumps(asdict(job)), encoding="utf-8")
    if tool == "judgeloop":
        command = [sys.executable, "-m", "judgeloop", "budget", "set", f"{size.limit}"]
        call([*command, "--ledger", "ledger.sqlite"], folder)


def run(tool: str, python: str, folder: Path, provider: Provider, condition: Condition) -> tuple[int, float]:  # fmt: skip
    """Run all processes to their ends, through the fault; return how many hung, and when the last ended."""

    def start() -> list[subprocess.Popen[bytes]]:
        return [
            subprocess.Popen(
                [python, JOBS, "run", tool, f"job-{part}.json"],
                cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, stderr=SAID,
            )
            for part in range(condition.processes)
        ]  # fmt: skip

    processes = start()
    if condition.fault in {KILL, DISK}:
        provider.half.wait(HANG_S)
    if condition.fault == DISK:
        resource.prlimit(processes[0].pid, resource.RLIMIT_FSIZE, (0, 0))
    if condition.fault == KILL:
        time.sleep(QUIET_S)
        os.kill(processes[0].pid, signal.SIGKILL)
        processes[0].wait()
        provider.over.set()
        processes = start()
    hung, until = 0, time.monotonic() + HANG_S
    for process in processes:
        try:
            process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            hung += 1
    return hung, time.monotonic()


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of a process: a home of its own, and no way out."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def call(command: list[str], folder: Path) -> str:
    """Run a command in a folder, and return what it prints."""
    return subprocess.check_output(command, cwd=folder, env=environment(folder), text=True)


GATE = """
from litellm.proxy._types import UserAPIKeyAuth, hash_token
from litellm.proxy.proxy_server import ProxyDBLogger

settle = ProxyDBLogger()  # the proxy registers it itself when it has a database

async def check(request, api_key):
    return UserAPIKeyAuth(api_key=hash_token(api_key), token=hash_token(api_key), max_budget={limit})
"""


@contextmanager
def served(tool: str, python: str, provider: Provider, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the address and the key that the job is given: the provider's, or those of litellm's proxy."""
    if tool != "proxy":
        yield provider.url, "key"
        return
    # https://docs.litellm.ai/docs/proxy/users (the budget of a key, which the proxy reserves before a call)
    # https://docs.litellm.ai/docs/proxy/access_management/custom_auth_permissions (keys without a database)
    # https://docs.litellm.ai/docs/proxy/custom_pricing
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    model = {
        "model": "openai/judge", "api_base": provider.url, "api_key": "key", "timeout": provider.timeout_s,
        "max_retries": 0, "input_cost_per_token": IN_USD / MILLION, "output_cost_per_token": OUT_USD / MILLION,
    }  # fmt: skip
    settings = {
        "model_list": [{"model_name": "judge", "litellm_params": model}], "router_settings": {"num_retries": 0},
        "general_settings": {"custom_auth": "gate.check", "custom_auth_run_common_checks": True},
        "litellm_settings": {"enable_post_custom_auth_checks": True, "callbacks": ["gate.settle"]},
    }  # fmt: skip
    (folder / "gate.py").write_text(GATE.format(limit=provider.size.limit), encoding="utf-8")
    (folder / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    program, key = str(Path(python).with_name("litellm")), f"sk-{secrets.token_hex(32)}"
    process = subprocess.Popen(
        [program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
        cwd=folder, env=environment(folder) | {"LITELLM_MASTER_KEY": key}, stdout=SAID, stderr=SAID,
    )  # fmt: skip
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if process.poll() is not None:
                raise ChildProcessError("the proxy did not start; with SAY=1 in the environment it says why")
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1", key
    finally:
        process.kill()
        process.wait()


@functools.cache
def python_of(tool: str, environments: Path) -> str:
    """Return the Python of a tool's environment, which is made if it is not there."""
    packages = TOOLS[tool][1]
    if not packages:
        return sys.executable
    python = environments / tool / "bin" / "python"
    if not python.exists():
        venv.create(environments / tool, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return str(python)


def cell(tool: str, condition: Condition, environments: Path) -> str:
    """Return what the table says of a tool's job; also where it does not install, or start."""
    try:
        said = str(measured(tool, condition, Size(), python_of(tool, environments)))
    except (OSError, subprocess.CalledProcessError) as error:
        said = f"failed: {type(error).__name__}"
    print(f"  {condition}, {TOOLS[tool][0]}: {said}", file=sys.stderr, flush=True)
    return said


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(TOOLS), help="tools, with commas between them")
    parser.add_argument("--conditions", default="", help="only those whose name has this")
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "beside")
    given = parser.parse_args()
    tools = given.only.split(",")
    print(f"| calls | {' | '.join(TOOLS[tool][0] for tool in tools)} |\n|{'---|' * (len(tools) + 1)}")
    for condition in (each for each in CONDITIONS if given.conditions in str(each)):
        said = [cell(tool, condition, given.environments) for tool in tools]
        print(f"| {condition} | {' | '.join(said)} |", flush=True)
    for name, packages in (TOOLS[tool] for tool in tools):
        print(f"\n{name}: {', '.join(packages) or 'this checkout'}")


if __name__ == "__main__":
    main()
