"""The judge `human`: a person at the terminal, who answers each call with one key.

The person never sees the systems' names. `runs/begin.py` has the outputs of a comparison shown in
random order. An answer becomes final when the person answers the next call, so that the last answer
can be corrected. Quitting keeps the answers given, and the same command resumes the run. The screen
is standard error, because standard output holds the result.
"""

import asyncio
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO, final

from judgeloop.core import records
from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.keys import digest
from judgeloop.judges.base import BaseJudge, JudgeOptions
from judgeloop.report.words import visible_lines

SKIP, BACK, QUIT = "s", "z", "q"
SECONDS_TO_GATHER = 0.05  # wait before showing a round, because its calls arrive one by one
WIDEST = 96  # characters per line: longer lines are hard to read
RULE = "─" * 78


@dataclass(frozen=True, slots=True)
class _Form:
    """The layout of a question: headings of the outputs, and the score of each key."""

    names: tuple[str, ...]
    scores: Mapping[str, float]
    keys: str  # the line that explains all keys

    def answer(self, key: str) -> records.Answer | None:
        """The answer for `key`; None if the key is not an answer."""
        if key == SKIP:
            return records.Abstention("skipped")
        return records.Verdict(self.scores[key]) if key in self.scores else None


_OTHERS = f"{SKIP}: skip  {BACK}: back  {QUIT}: quit"
COMPARISON = _Form(("A", "B"), {"a": 1.0, "b": 0.0, "t": 0.5}, f"a: A is better  b: B is better  t: tie  {_OTHERS}")
RATING = _Form(
    ("Answer",),
    {"1": 0.0, "2": 0.25, "3": 0.5, "4": 0.75, "5": 1.0},
    f"1: useless or wrong  2  3  4  5: could not be better  {_OTHERS}",
)


@dataclass(slots=True)
class _Sheet:
    """A pending call and its answer, if given; `settled` is done once the answer is final."""

    call: records.Call
    settled: asyncio.Future[records.Answer]
    answer: records.Answer | None = None

    @property
    def form(self) -> _Form:
        """The form for a rating if the call has one output, else for a comparison."""
        return RATING if len(self.call.outputs) == 1 else COMPARISON


@final
class HumanJudge(BaseJudge):
    """Asks a person, one call at a time, also when several calls are in flight."""

    by_hand = True

    def __init__(
        self, *, rubric: str | None = None, read_key: Callable[[], str] | None = None, screen: TextIO | None = None
    ) -> None:
        """`rubric` is what to judge by, shown above each question.

        `read_key` returns the next key, or an empty string at the end of input. `screen` is where to print;
        standard error by default.
        """
        self._rubric = rubric
        self._read_key = read_key or read_key_from_terminal
        self._screen = screen
        self._sheets: list[_Sheet] = []
        self._worker: asyncio.Task[None] | None = None
        self._has_quit = False
        self._pressed = False  # whether any key was

    @property
    def identity(self) -> records.JudgeIdentity:
        """A person, and the rubric: all persons who judge by the same one have the same identity."""
        by = {} if self._rubric is None else {"rubric": digest({"rubric": self._rubric})}
        return records.JudgeIdentity("human", "", by)

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
        return records.Reply(await sheet.settled, cost_p=0)

    async def _work_through(self) -> None:
        """Ask all pending calls; on an error, fail them so that no caller waits forever."""
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001 - a person has no timeout
            why = f"the terminal cannot be read: {error}"
            self._fail(0, JudgeError(ErrorKind.REJECTED, why, billed=False))

    async def _work(self) -> None:
        """Ask the calls of a round.

        An answer is final once the person has answered the next call or ended the round.
        """
        await asyncio.sleep(SECONDS_TO_GATHER)
        at = 0
        while True:
            over = at == len(self._sheets)
            if over:
                self._show(f"\n{RULE}\nEnd of this round. Any key: continue   z: back   q: quit\n")
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
                continue  # another call arrived while the person was asked
            self._sheets[at].answer = self._sheets[at].form.answer(key)
            self._settle(at - 1)
            at += 1
        self._settle(at - 1)
        self._sheets.clear()

    async def _key(self, form: _Form | None) -> str:
        """Read keys until one is valid on `form`, and return it; without a form any key is valid.

        The end of input counts as quitting.
        """
        while True:
            key = (await asyncio.to_thread(self._read_key)).lower()
            if not key and not self._pressed:
                raise EOFError("standard input ended before any key was pressed; a person has to judge at a terminal")
            self._pressed = True
            key = key or QUIT
            if form is None or key in {BACK, QUIT} or form.answer(key) is not None:
                return key
            self._show(f"{key!a} is none of these keys: {form.keys}\n")

    def _first_open(self) -> int:
        return next((i for i, sheet in enumerate(self._sheets) if not sheet.settled.done()), 0)

    def _settle(self, at: int) -> None:
        if at >= 0 and not self._sheets[at].settled.done():
            answer = self._sheets[at].answer
            assert answer is not None
            self._sheets[at].settled.set_result(answer)

    def _leave(self, at: int) -> None:
        """Settle the answers before the call at `at`; raise QUIT in the other calls."""
        self._has_quit = True
        for answered in range(at):
            self._settle(answered)
        self._fail(at, _left())

    def _fail(self, begin: int, error: JudgeError) -> None:
        """Raise `error` in the calls from `begin` on that wait, and forget all calls."""
        for sheet in self._sheets[begin:]:
            if not sheet.settled.done():
                sheet.settled.set_exception(error)
        self._sheets.clear()

    def _show_sheet(self, at: int) -> None:
        call, form = self._sheets[at].call, self._sheets[at].form
        parts = [("Task", call.item.prompt), *zip(form.names, call.outputs, strict=True)]
        if call.item.reference is not None:
            parts.insert(1, ("Reference", call.item.reference))
        if self._rubric is not None:
            parts.insert(0, ("Rubric", self._rubric))
        shown = "\n".join(f"── {name} {'─' * (74 - len(name))}\n{_wrapped(text)}\n" for name, text in parts)
        self._show(f"\n{RULE}\n{at + 1} of {len(self._sheets)} in this round\n\n{shown}\n{form.keys}\n")

    def _show(self, text: str) -> None:
        print(text, file=self._screen or sys.stderr, flush=True)


def _left() -> JudgeError:
    return JudgeError(ErrorKind.QUIT, "the judge has left", billed=False)


def _wrapped(text: str) -> str:
    """`text` with control characters visible, wrapped to the screen and to `WIDEST`."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    lines = visible_lines(text).split("\n")
    return "\n".join(
        line if len(line) <= width else textwrap.fill(line, width, expand_tabs=False, break_on_hyphens=False)
        for line in lines
    )


def read_key_from_terminal() -> str:
    """Read the next key: without Enter on a terminal, else the first character of a line.

    Empty at the end of input.
    """
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip()[:1] or ("" if not line else "?")
    import click

    try:
        return click.getchar()
    except (EOFError, KeyboardInterrupt):
        return QUIT


def make_judge(rest: str, options: JudgeOptions) -> HumanJudge:
    """Create the judge `human`."""
    del rest
    return HumanJudge(rubric=options.template.rubric)
