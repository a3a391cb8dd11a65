"""A person at the terminal as the judge: blinded, the order shuffled, one key an answer.

Names are never shown, and which of two outputs comes first is drawn anew for every item (`--order random`). An answer counts
once the next one is given, so that one can go back one; quitting keeps all that counted, and the same command resumes there. It
draws on standard error, because standard output holds the result.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO, final

from judgeloop.core.errors import JudgeQuitError, JudgeRejectedError
from judgeloop.core.protocols import Questions
from judgeloop.core.records import (
    Abstention,
    Answer,
    Call,
    Item,
    JudgeIdentity,
    Quote,
    Reply,
    Verdict,
)
from judgeloop.judges.options import JudgeOptions
from judgeloop.report.escaping import visible_lines

SKIP, BACK, QUIT = "s", "z", "q"
SECONDS_TO_GATHER = 0.05  # a round's calls arrive together, but not at once
WIDEST = 96  # characters
RULE = "─" * 78


@dataclass(frozen=True, slots=True)
class _Form:
    """How a question is put: what its outputs are called, the score that each key gives, and what the keys mean."""

    names: tuple[str, ...]
    scores: Mapping[str, float]
    meaning: str

    @property
    def keys(self) -> str:
        """The line that explains every key."""
        return f"{self.meaning}   {SKIP}: skip   {BACK}: back one   {QUIT}: quit"

    def answer(self, key: str) -> Answer | None:
        """The answer that a key gives; None for a key that gives none."""
        if key == SKIP:
            return Abstention("skipped")
        return Verdict(self.scores[key]) if key in self.scores else None


COMPARISON = _Form(
    ("A", "B"), {"a": 1.0, "b": 0.0, "t": 0.5}, "a: A is better   b: B is better   t: tie"
)
RATING = _Form(
    ("Answer",),
    {"1": 0.0, "2": 0.25, "3": 0.5, "4": 0.75, "5": 1.0},
    "1: useless or wrong   2   3   4   5: could not be better",
)


@dataclass(slots=True)
class _Sheet:
    """A call on the desk, with its answer once there is one."""

    call: Call
    settled: asyncio.Future[Answer]
    answer: Answer | None = None

    @property
    def form(self) -> _Form:
        """One output is rated, two are compared."""
        return RATING if len(self.call.outputs) == 1 else COMPARISON


@final
class HumanJudge:
    """Asks a person, one call after another, however many are in flight."""

    order_matters = True
    blind = True
    priced = True
    by_hand = True

    def __init__(
        self, *, read_key: Callable[[], str] | None = None, screen: TextIO | None = None
    ) -> None:
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

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Any question can be asked."""
        del questions, items, max_missing

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
                self._show(
                    f"\n{RULE}\nThat is all for now. Any key: go on   z: back one   q: quit\n"
                )
            else:
                self._show_sheet(at)
            key = await self._key(None if over else self._sheets[at].form)
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
            self._sheets[at].answer = self._sheets[at].form.answer(key)
            self._settle(at - 1)
            at += 1
        self._settle(at - 1)
        self._sheets.clear()

    async def _key(self, form: _Form | None) -> str:
        """A key that means something on this form, or any where there is none; the end of input means quitting."""
        while True:
            key = (await asyncio.to_thread(self._read_key)).lower() or QUIT
            if form is None or key in {BACK, QUIT} or form.answer(key) is not None:
                return key
            self._show(f"{form.keys}\n")

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
        call, form = self._sheets[at].call, self._sheets[at].form
        parts = [("Task", call.item.prompt), *zip(form.names, call.outputs, strict=True)]
        if call.item.reference is not None:
            parts.insert(1, ("Reference", call.item.reference))
        shown = "\n".join(
            f"── {name} {'─' * (74 - len(name))}\n{_wrapped(text)}\n" for name, text in parts
        )
        self._show(
            f"\n{RULE}\n{at + 1} of {len(self._sheets)} in this round\n\n{shown}\n{form.keys}\n"
        )

    def _show(self, text: str) -> None:
        print(text, file=self._screen or sys.stderr, flush=True)


def _wrapped(text: str) -> str:
    """`text` made visible and broken between words, as wide as the screen but no wider than one reads with ease."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    lines = visible_lines(text).split("\n")
    return "\n".join(
        line
        if len(line) <= width
        else textwrap.fill(line, width, expand_tabs=False, break_on_hyphens=False)
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


def make_judge(rest: str, options: JudgeOptions) -> HumanJudge:
    """The judge `human`."""
    del rest, options
    return HumanJudge()
