"""A person at the terminal as the judge: blinded, the order shuffled, one key an answer.

Names are never shown, and which output comes first is drawn anew for every item (`--order random`). An answer counts once the
next one is given, so that one can go back one; quitting keeps all that counted, and the same command resumes there. It draws
on standard error, because standard output holds the result.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, final

from judgeloop.errors import JudgeQuitError, JudgeRejectedError
from judgeloop.records import Abstention, Answer, Call, JudgeIdentity, Quote, Reply, Verdict
from judgeloop.report.escaping import visible_lines

ANSWERS: dict[str, Answer] = {
    "a": Verdict(1.0),
    "b": Verdict(0.0),
    "t": Verdict(0.5),
    "s": Abstention("skipped"),
}
BACK, QUIT = "z", "q"
KEYS = "a: A is better   b: B is better   t: tie   s: skip   z: back one   q: quit"
SECONDS_TO_GATHER = 0.05  # a round's calls arrive together, but not at once
WIDEST = 96  # characters
RULE = "─" * 78


@dataclass(slots=True)
class _Sheet:
    """A call on the desk, with its answer once there is one."""

    call: Call
    settled: asyncio.Future[Answer]
    answer: Answer | None = None


@final
class HumanJudge:
    """Asks a person, one call after another, however many are in flight."""

    order_matters = True
    blind = True
    priced = True

    def __init__(self, *, read_key: Callable[[], str] | None = None, screen: TextIO | None = None) -> None:
        """`read_key` returns the next key, or an empty string at the end of input."""
        self._read_key = read_key or read_key_from_terminal
        self._screen = screen
        self._sheets: list[_Sheet] = []
        self._desk: asyncio.Task[None] | None = None
        self._left = False

    @property
    def identity(self) -> JudgeIdentity:
        """A person; which one is not known."""
        return JudgeIdentity("human", "")

    def quote(self, call: Call) -> Quote:
        """Nothing that is known."""
        del call
        return Quote(0, 0)

    async def judge(self, call: Call) -> Reply:
        """Put the call on the desk and wait for its answer.

        Raises:
            JudgeQuitError: the person has left.
        """
        if self._left:
            raise JudgeQuitError
        sheet = _Sheet(call, asyncio.get_running_loop().create_future())
        self._sheets.append(sheet)
        if self._desk is None or self._desk.done():
            self._desk = asyncio.create_task(self._work_through())
        return Reply(await sheet.settled, cost_p=0)

    async def aclose(self) -> None:
        """Nothing is open."""

    async def _work_through(self) -> None:
        """Work, and let nobody wait for ever if the terminal is gone."""
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001 - whatever it is, a person has no timeout
            for sheet in self._sheets:
                if not sheet.settled.done():
                    sheet.settled.set_exception(
                        JudgeRejectedError(f"the terminal cannot be read: {error}", billed=False)
                    )
            self._sheets.clear()

    async def _work(self) -> None:
        """Go through the sheets of a round; the last answer counts when the person moves on from it."""
        await asyncio.sleep(SECONDS_TO_GATHER)
        at = 0
        while True:
            over = at == len(self._sheets)
            if over:
                self._show(f"\n{RULE}\nThat is all for now. Any key: go on   z: back one   q: quit\n")
            else:
                self._show_sheet(at)
            key = await self._key(any_key=over)
            if key == QUIT:
                self._leave(at)
                return
            if key == BACK:
                at = max(self._first_open(), at - 1)
                continue
            if over and at == len(self._sheets):
                break
            if over:
                continue  # another call has come meanwhile
            self._sheets[at].answer = ANSWERS[key]
            self._settle(at - 1)
            at += 1
        self._settle(at - 1)
        self._sheets.clear()

    async def _key(self, *, any_key: bool) -> str:
        """A key that means something here; the end of input means quitting."""
        while True:
            key = (await asyncio.to_thread(self._read_key)).lower() or QUIT
            if key in {BACK, QUIT} or key in ANSWERS or any_key:
                return key
            self._show(f"{KEYS}\n")

    def _first_open(self) -> int:
        return next((i for i, sheet in enumerate(self._sheets) if not sheet.settled.done()), 0)

    def _settle(self, at: int) -> None:
        if at >= 0 and not self._sheets[at].settled.done():
            answer = self._sheets[at].answer
            assert answer is not None
            self._sheets[at].settled.set_result(answer)

    def _leave(self, at: int) -> None:
        """Keep what was answered, and give the rest back unanswered."""
        self._left = True
        for sheet in self._sheets[:at]:
            if sheet.answer is not None and not sheet.settled.done():
                sheet.settled.set_result(sheet.answer)
        for sheet in self._sheets[at:]:
            if not sheet.settled.done():
                sheet.settled.set_exception(JudgeQuitError())
        self._sheets.clear()

    def _show_sheet(self, at: int) -> None:
        call = self._sheets[at].call
        parts = [("Task", call.item.prompt), ("A", call.outputs[0]), ("B", call.outputs[1])]
        if call.item.reference is not None:
            parts.insert(1, ("Reference", call.item.reference))
        shown = "\n".join(f"── {name} {'─' * (74 - len(name))}\n{_wrapped(text)}\n" for name, text in parts)
        self._show(f"\n{RULE}\n{at + 1} of {len(self._sheets)} in this round\n\n{shown}\n{KEYS}\n")

    def _show(self, text: str) -> None:
        print(text, file=self._screen or sys.stderr, flush=True)


def _wrapped(text: str) -> str:
    """`text` made visible and broken between words, as wide as the screen but no wider than one reads with ease."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    lines = visible_lines(text).split("\n")
    return "\n".join(
        line if len(line) <= width else textwrap.fill(line, width, expand_tabs=False, break_on_hyphens=False)
        for line in lines
    )


def read_key_from_terminal() -> str:
    """The next key, without Enter on a terminal, by line otherwise; empty at the end of input."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip()[:1] or ("" if not line else "?")
    import click

    try:
        return click.getchar()
    except (EOFError, KeyboardInterrupt):
        return QUIT
