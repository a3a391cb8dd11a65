"""Commands whose questions people answer on a page, as processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.patience import PATIENCE_S

SYSTEMS = ("secret-old.jsonl", "secret-new.jsonl")
COMPARE = ("compare", *SYSTEMS, "--judge", "human")
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/#([0-9a-f]+)")


def write_outputs(folder: Path, items: int = 40, alike: int = 0) -> None:
    """Two systems, whose names and items are secrets; the second is better, but one of `alike` items is a tie."""
    for name, text in (("secret-old", "worse"), ("secret-new", "better")):
        rows = [
            {
                "id": f"secret-item-{at}",
                "prompt": f"task {at}",
                "output": f"answer {at} is {'as good' if alike and at % alike == 0 else text}{'.' * (text == 'better')}",
            }
            for at in range(items)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


class PageRun:
    """A command whose page people open: its links, by the order of the people, that of its owner, and its end."""

    def __init__(self, folder: Path, *flags: str, command: Sequence[str] = COMPARE, **variables: str) -> None:
        """Start it in a folder, and wait for its links."""
        self._errors, self._out = folder / "stderr", folder / "result.json"
        with self._errors.open("wb") as errors, self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "judgeloop", *command, "--page", "--ledger", "l.sqlite", "--json", *flags],
                cwd=folder, stdout=out, stderr=errors, env=os.environ | {"JUDGELOOP_PAGE_PORT": "0"} | variables,
            )  # fmt: skip
        until = time.monotonic() + PATIENCE_S
        while not (self.said.count("Ctrl-C stops") or self.process.poll() is not None) and time.monotonic() < until:
            time.sleep(0.05)
        assert self.process.poll() is None, self.said
        found = LINK.findall(self.said)
        self.url, self.tokens = found[0][0], [token for _, token in found]
        self.owner = f"{self.url}/#{self.tokens.pop()}" if "yours, " in self.said else ""

    @property
    def said(self) -> str:
        """What it has said on standard error."""
        return self._errors.read_text(encoding="utf-8")

    def link(self, at: int = 0) -> str:
        """The link of a person."""
        return f"{self.url}/#{self.tokens[at]}"

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(PATIENCE_S)

    def result(self) -> dict:
        """What it printed."""
        return json.loads(self._out.read_text(encoding="utf-8"))

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it as the system does when it has no memory left."""
        self.process.kill()
        self.process.wait()


@contextmanager
def page_run(folder: Path, *flags: str, command: Sequence[str] = COMPARE, **variables: str) -> Iterator[PageRun]:
    """A run that is gone at the end."""
    one = PageRun(folder, *flags, command=command, **variables)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.kill()


def answered(folder: Path) -> list[dict]:
    """The answers that the journal has, without those that were taken back."""
    (journal,) = folder.glob("people-*.jsonl")
    found: dict[str, dict] = {}
    for line in map(json.loads, journal.read_text(encoding="utf-8").splitlines()):
        if line["what"] == "undo":
            found.pop(line["key"], None)  # none of a check
        elif line["what"] == "answer":
            assert line["key"] not in found, "asked twice"
            found[line["key"]] = line
    return list(found.values())
