"""The judge `human`: a person at the terminal, who answers each call with one key.

The person never sees the systems' names. `runs/prepared.py` has the outputs of a comparison shown in
random order. An answer becomes final, and is in the ledger, `HELD_S` after it was given, so that a slip can be
corrected, or when the person answers the next call or there is nothing else to answer. Quitting keeps the answers
given, and the same command resumes the run. The screen is standard error, because standard output holds the result.
"""

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TextIO, final

from judgeloop.core import records
from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.keys import digest
from judgeloop.core.outcomes import Checked, StopKind
from judgeloop.core.protocols import SoFar
from judgeloop.judges.base import BaseJudge
from judgeloop.judges.wage import LONGEST_S, Wage
from judgeloop.report.words import only_again, visible_lines

SKIP, BACK, QUIT, VIEW, HELP = "s", "z", "q", "v", "?"
SECONDS_TO_GATHER = 0.05  # wait before showing calls, because they arrive one by one
HELD_S = 5.0  # in which an answer can be taken back; it is lost if the process dies meanwhile
AT_ONCE = (
    4  # calls that a person is given: the one in hand, the next, the last, which may be taken back, and a spare one
)
WIDEST = 96  # characters per line: longer lines are hard to read
RULE = "─" * 78
UNPAID = Wage()
EMPTY = "(This text is empty.)"


@dataclass(frozen=True, slots=True)
class _Form:
    """The layout of a question: headings of the outputs, the score of each key, and what it says in words."""

    names: tuple[str, ...]
    scores: Mapping[str, float]
    words: Mapping[str, str]
    keys: str  # the lines that explain all keys

    def answer(self, key: str) -> records.Answer | None:
        """The answer for `key`; None if the key is not an answer."""
        if key == SKIP:
            return records.Abstention(records.SKIPPED)
        return records.Verdict(self.scores[key]) if key in self.scores else None


_OTHERS = f"{SKIP}: skip  {BACK}: back  {VIEW}: pager  {QUIT}: quit  {HELP}: help"
COMPARISON = _Form(
    ("A", "B"),
    {"a": 1.0, "b": 0.0, "t": 0.5},
    {"a": "A is better", "b": "B is better", "t": "A tie", SKIP: "Skipped"},
    f"a: A is better  b: B is better  t: tie\n{_OTHERS}",
)
RATING = _Form(
    ("Answer",),
    {"1": 0.0, "2": 0.25, "3": 0.5, "4": 0.75, "5": 1.0},
    {str(one): f"{one} of 5" for one in range(1, 6)} | {SKIP: "Skipped"},
    f"1: useless or wrong  2  3  4  5: could not be better\n{_OTHERS}",
)
_HELP = f"""
{SKIP}: no verdict on this one
{BACK}: takes the last answer back, until you answer the next, for {HELD_S:g} seconds at most
{VIEW}: shows this one in your pager, for long texts; PAGER names it
{QUIT}: ends; what you answered is kept, and the same command goes on
"""


@dataclass(slots=True)
class _Sheet:
    """A pending call and its answer, if given; `settled` is done once the answer is final."""

    call: records.Call
    settled: asyncio.Future[records.Answer]
    answer: records.Answer | None = None
    seconds: float = 0.0  # on the screen

    @property
    def form(self) -> _Form:
        """The form for a rating if the call has one output, else for a comparison."""
        return RATING if len(self.call.outputs) == 1 else COMPARISON

    @property
    def judged(self) -> bool:
        """Whether the answer is a verdict; a skip is none."""
        return isinstance(self.answer, records.Verdict)


@final
class HumanJudge(BaseJudge):
    """Asks a person, one call at a time, also when several calls are in flight."""

    by_hand = True
    at_once = AT_ONCE

    def __init__(
        self,
        *,
        rubric: str | None = None,
        wage: Wage = UNPAID,
        read_key: Callable[[], str] | None = None,
        screen: TextIO | None = None,
    ) -> None:
        """`rubric` is what to judge by, shown above each question, and `wage` what the person's time costs.

        `read_key` returns the next key, or an empty string at the end of input. `screen` is where to print;
        standard error by default.
        """
        self._rubric = rubric
        self._read_key = read_key or read_key_from_terminal
        self._screen = screen
        self._sheets: list[_Sheet] = []
        self._worker: asyncio.Task[None] | None = None
        self._at = 0  # which of the sheets is on the screen
        self._has_quit = False
        self._pressed = False  # whether any key was
        self._wage = wage
        self._standing: SoFar | None = None
        self._settled, self._counted = Counter[bool](), Counter[bool]()  # what is final, and what the standing counts
        self._seconds: list[float] = []  # of each answer
        self._terminal: list[Any] | None = None  # its settings before a key was read
        self._counts: asyncio.TimerHandle | None = None  # makes the last answer final

    @property
    def identity(self) -> records.JudgeIdentity:
        """A person, and the rubric: all persons who judge by the same one have the same identity."""
        by = {} if self._rubric is None else {"rubric": digest({"rubric": self._rubric})}
        return records.JudgeIdentity("human", "", by)

    def quote(self, call: records.Call) -> records.Quote:
        """The price of the person's time."""
        return self._wage.quote(call)

    def hear(self, standing: SoFar) -> None:
        """Show it above the next question."""
        self._standing, self._counted = standing, self._settled.copy()

    async def judge(self, call: records.Call) -> records.Reply:
        """Add the call to the pending calls and wait until its answer is final.

        Raises:
            JudgeError: the person has quit, or the terminal cannot be read.
        """
        if self._has_quit:
            raise _left()
        sheet = _Sheet(call, asyncio.get_running_loop().create_future())
        self._sheets.append(sheet)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work_through())
        answer = await sheet.settled
        return records.Reply(answer, cost_p=self._wage.cost_p(sheet.seconds), seconds=round(sheet.seconds, 1))

    async def _work_through(self) -> None:
        """Ask all pending calls; on an error, fail them so that no caller waits forever."""
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001 - a person has no timeout
            why = f"nobody can judge at this terminal: {error}"
            self._fail(0, JudgeError(ErrorKind.REJECTED, why, billed=False))

    async def _work(self) -> None:
        """Ask the calls that wait."""
        await asyncio.sleep(SECONDS_TO_GATHER)
        while not self._has_quit and self._at < len(self._sheets):
            sheet, began = self._sheets[self._at], time.monotonic()
            self._show_sheet(self._at)
            key = await self._key(sheet.form)
            if sheet.settled.done():  # let go meanwhile
                return
            sheet.seconds = min(LONGEST_S, sheet.seconds + time.monotonic() - began)
            if key == QUIT:
                self._leave()
            elif key == VIEW:
                await asyncio.to_thread(self._view, sheet)
            elif key == BACK:
                self._hold(None)
                self._at -= 1
                self._show("Your last answer is taken back.")
            else:
                sheet.answer = sheet.form.answer(key)
                self._seconds.append(sheet.seconds)
                self._show(f"{sheet.form.words[key]}.")
                self._settle(self._at - 1)
                self._at += 1
                self._hold(sheet)
            if self._at == len(self._sheets):
                self._settle(self._at - 1)
                await asyncio.sleep(SECONDS_TO_GATHER)
        self._sheets.clear()
        self._at = 0

    async def _key(self, form: _Form) -> str:
        """Read keys until one is valid on `form`, and return it; the end of input counts as quitting."""
        while True:
            key = (await self._pressed_key()).lower()
            if not key and not self._pressed:
                raise EOFError("standard input ended before any key was pressed")
            self._pressed = True
            key = key or QUIT
            if key == HELP:
                self._show(f"{form.keys}\n{_HELP}")
            elif key == BACK and self._first_open() == self._at:
                self._show("There is nothing to take back: what you answered counts already.\n")
            elif key in {BACK, QUIT, VIEW} or form.answer(key) is not None:
                return key
            else:
                self._show(f"{key!a} is none of these keys:\n{form.keys}\n")

    async def _pressed_key(self) -> str:
        """The next key. It is read in a thread that may outlive the run: nobody can be made to press one."""
        if self._terminal is None and self._read_key is read_key_from_terminal:
            self._terminal = _silenced()
        loop, key = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

        def tell(set_one: Callable[[Any], None], value: object) -> None:
            with contextlib.suppress(RuntimeError):  # the run is over
                loop.call_soon_threadsafe(lambda: None if key.done() else set_one(value))

        def read() -> None:
            try:
                tell(key.set_result, self._read_key())
            except Exception as error:  # noqa: BLE001 - it is raised where the key is awaited
                tell(key.set_exception, error)

        threading.Thread(target=read, daemon=True).start()
        pressed: str = await key
        return pressed

    def _first_open(self) -> int:
        return next((i for i, sheet in enumerate(self._sheets) if not sheet.settled.done()), 0)

    def _hold(self, sheet: _Sheet | None) -> None:
        """Make the answer of a sheet final after a while, and of no other."""
        if self._counts is not None:
            self._counts.cancel()
        loop = asyncio.get_running_loop()
        self._counts = None if sheet is None else loop.call_later(HELD_S, self._stands, sheet)

    def _settle(self, at: int) -> None:
        if at >= 0:
            self._stands(self._sheets[at])

    def _stands(self, sheet: _Sheet) -> None:
        if not sheet.settled.done():
            assert sheet.answer is not None
            sheet.settled.set_result(sheet.answer)
            self._settled[sheet.judged] += 1

    def begin(self, run: str, folder: str, before: Sequence[tuple[records.Call, str]] = ()) -> None:
        """The terminal needs neither."""

    def lacks_money(self, lacks: bool) -> None:  # noqa: FBT001 - the one thing that it says
        """Nothing is held here once no other call waits."""

    def let_go(self) -> None:
        """Raise QUIT in the calls after the one on the screen."""
        for sheet in self._sheets[self._at + 1 :]:
            if not sheet.settled.done():
                sheet.settled.set_exception(_left())
        del self._sheets[self._at + 1 :]

    def checked(self) -> tuple[Checked, ...]:
        """None: one person at the terminal is whoever runs this."""
        return ()

    def leave(self, why: StopKind | None = None, *, left: bool = False) -> None:
        """Settle the answers before the call on the screen; raise QUIT in the other calls."""
        if self._at < len(self._sheets) and why is not StopKind.INTERRUPTED and not left:
            self._show("\nThis one is not needed any more.")
        self._leave()

    def _leave(self) -> None:
        self._has_quit = True
        for answered in range(self._at):
            self._settle(answered)
        self._fail(self._at, _left())

    def _fail(self, begin: int, error: JudgeError) -> None:
        """Raise `error` in the calls from `begin` on that wait, and forget all calls."""
        for sheet in self._sheets[begin:]:
            if not sheet.settled.done():
                sheet.settled.set_exception(error)
        self._sheets.clear()
        self._at = 0

    async def aclose(self) -> None:
        """Give the terminal back as it was, without the keys that nobody has read."""
        self._hold(None)
        if self._worker is not None and not self._worker.done():
            self._worker.cancel()
        if self._terminal is not None:
            import termios

            with contextlib.suppress(termios.error):  # it has gone
                termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, self._terminal)

    def _view(self, sheet: _Sheet) -> None:
        """Show a question in the user's pager, for texts that are longer than the screen."""
        pager = shlex.split(os.environ.get("PAGER") or "less")
        if not (self._screen or sys.stderr).isatty() or shutil.which(pager[0]) is None:
            self._show("There is no pager, or no terminal; PAGER names one.\n")
            return
        text = self._text_of(sheet)
        subprocess.run(pager, input=text, text=True, errors="replace", stdout=sys.stderr, check=False)  # noqa: S603 - the user's own

    def _so_far(self) -> str:
        """How far the run is, and how long it may take, in words."""
        if self._standing is None:
            return ""
        held = Counter(sheet.judged for sheet in self._sheets[: self._at] if not sheet.settled.done())
        new = {kind: self._settled[kind] - self._counted[kind] + held[kind] for kind in (True, False)}
        judged, skipped, since = (
            self._standing.judged + new[True],
            self._standing.skipped + new[False],
            sum(new.values()),
        )
        if self._standing.only_again:  # how many may follow if an answer turns the decision is not known
            more = self._standing.left(since)
            return f"{judged:,} judged{f'; {only_again(more)}' if more else ''}\n\n"
        most = f"of at most {self._standing.most:,}"
        said = f"{judged:,} judged, {skipped:,} skipped, {most}" if skipped else f"{judged:,} {most} judged"
        if (likely := self._standing.likely(since)) is not None:
            said += f", about {_range(*likely)} more"
            if self._seconds:
                pace = median(self._seconds) / 60
                said += f", in about {_range(*(max(1, round(one * pace)) for one in likely))} min"
        elif self._standing.is_near(since):
            said += ", a decision may be near"
        return f"{said}\n\n"

    def _show_sheet(self, at: int) -> None:
        sheet = self._sheets[at]
        self._show(f"\n{RULE}\n{self._so_far()}{self._text_of(sheet)}\n{sheet.form.keys}\n")

    def _text_of(self, sheet: _Sheet) -> str:
        call, form = sheet.call, sheet.form
        parts = [("Task", call.item.prompt), *zip(form.names, call.outputs, strict=True)]
        if call.item.reference is not None:
            parts.insert(1, ("Reference", call.item.reference))
        if self._rubric is not None:
            parts.insert(0, ("Rubric", self._rubric))
        return "\n".join(
            f"── {name} {'─' * (74 - len(name))}\n{_wrapped(text) if text.strip() else EMPTY}\n" for name, text in parts
        )

    def _show(self, text: str) -> None:
        print(text, file=self._screen or sys.stderr, flush=True)


def _range(few: int, many: int) -> str:
    return f"{few:,} to {many:,}" if few < many else f"{many:,}"


def _left() -> JudgeError:
    return JudgeError(ErrorKind.QUIT, "the person who judges has stopped", billed=False)


def _wrapped(text: str) -> str:
    """`text` with control characters visible, wrapped to the screen and to `WIDEST`."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    lines = visible_lines(text).split("\n")
    return "\n".join(
        line if len(line) <= width else textwrap.fill(line, width, expand_tabs=False, break_on_hyphens=False)
        for line in lines
    )


def _silenced() -> list[Any] | None:
    """Show no key on the terminal of standard input; its settings before, None without one."""
    if not sys.stdin.isatty():
        return None
    try:
        import termios
    except ImportError:  # Windows
        return None
    before = termios.tcgetattr(sys.stdin)
    flags = 3
    termios.tcsetattr(
        sys.stdin, termios.TCSADRAIN, [*before[:flags], before[flags] & ~termios.ECHO, *before[flags + 1 :]]
    )
    return before


def read_key_from_terminal() -> str:
    """Read the next key: without Enter on a terminal, else the first character of a line.

    Empty at the end of input.
    """
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip()[:1] or ("" if not line else "?")
    import click

    try:
        return click.getchar() or ""  # a terminal that has gone gives nothing
    except (EOFError, KeyboardInterrupt):
        return QUIT
