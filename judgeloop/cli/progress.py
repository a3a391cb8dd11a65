"""Shows progress and errors on standard error; standard output holds only the result.

On a terminal progress is a bar on one line, which is cleared at the end. A log gets a line at the
start and then one now and then. Errors become a line and an exit code.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TextIO, cast, final

import click

from judgeloop.cli.output import PLAIN_TERMINALS, Guarded, as_flags, logged, logs_json, say
from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE, InputError, JudgeloopError, NoFileError
from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.work import listening, shown_by
from judgeloop.report.words import visible

if TYPE_CHECKING:
    from judgeloop.engine.state import Progress

SECONDS_BETWEEN_LINES = 30.0
REDRAWN_A_SECOND = 8
NARROW = 60  # a terminal with fewer columns gets a short bar
# Widths of the bar and of a system's name, in characters.
BAR, SHORT_BAR = 10, 6
LONG_NAME, NAME, SHORT_NAME = 32, 16, 8
# What the ledger answers comes in the first seconds, and says nothing about the judge's speed.
WARM_UP_S = 2.0
PATIENCE_S = 10.0  # after which a log says that calls fail
SPEED_OF_S = 60.0  # the speed is that of the last minute

Clock = Callable[[], float]  # returns seconds


class Alarm(Protocol):
    """What will be done later, unless it is cancelled."""

    def cancel(self) -> None:
        """Do it not."""
        ...


Later = Callable[[float, Callable[[], None]], Alarm]  # does something after so many seconds


@dataclass(frozen=True, slots=True)
class Seen:
    """A state to show.

    `done` of at most `most` things are done: judgments, or `what` is counted; without a `most`, `what` is done and not
    counted. `uncalled` of those done took no call. `spent_p` and `budget_p` are in picodollars, None if there is none
    to show. `leads` says who leads, with names of at most so many characters. `slowed_to` is the number of calls in
    flight to which a crowded server has slowed the run; None if it has not. `waited` says for what of other runs it
    waits, `trouble` why the last call failed.
    """

    done: int
    most: int
    what: str = ""
    spent_p: int | None = None
    budget_p: int | None = None
    leads: Callable[[int], str] | None = None
    slowed_to: int | None = None
    waited: str = ""
    trouble: str = ""
    uncalled: int = 0


@contextmanager
def watching(
    opening: str,
    most: int,
    budget_p: int | None,
    so_far: Callable[[Any, int], str],
    *,
    before_p: int = 0,
    pair: str | None = None,
    stream: TextIO | None = None,
    now: Clock = time.monotonic,
) -> Iterator[Callable[[Progress[Any]], None]]:
    """Yield a function that shows the progress of a run.

    `opening` says what is to be done, and `pair` of which pair of a suite. `most` is the most queries
    that the run may take, and `budget_p` its budget in picodollars, None without one, of which earlier commands have
    spent `before_p`. `so_far` says who leads, given the counts and the most characters of a name.
    """
    with closing(_shown_on(stream, now, opening, pair)) as shown:
        shown.show(Seen(0, most, spent_p=before_p, budget_p=budget_p))

        def observe(progress: Progress[Any]) -> None:
            shown.show(
                Seen(
                    progress.asked,
                    most,
                    spent_p=before_p + progress.spent_p,
                    budget_p=budget_p,
                    leads=lambda longest: so_far(progress.tally, longest),
                    slowed_to=progress.slowed_to,
                    waited=progress.waited,
                    trouble=progress.trouble,
                    uncalled=progress.uncalled,
                )
            )

        yield observe


@contextmanager
def counting(
    what: str, stream: TextIO | None = None, now: Clock = time.monotonic, *, quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the number done and the number of all; nothing if `quiet`."""
    if quiet:
        yield lambda *_: None
        return
    with ExitStack() as stack:
        shown: _Bar | _Lines | None = None  # begun with the first figure: other work may be shown before

        def observe(done: int, total: int) -> None:
            nonlocal shown
            if shown is None:
                shown = stack.enter_context(closing(_shown_on(stream, now)))
            shown.show(Seen(done, total, what))

        yield observe


@contextmanager
def computing(
    stream: TextIO | None = None, now: Clock = time.monotonic, *, quiet: bool = False, told_from_s: float = 0.0
) -> Iterator[None]:
    """Show how far computations before the first judgment are, what they found, and the seconds; nothing if `quiet`.

    Of those that took less than `told_from_s`, nothing is said at the end.
    """
    if quiet:
        yield
        return
    shown = _Computing(stream, now, told_from_s)
    with listening(shown), closing(shown):
        yield


def _alarm(seconds: float, act: Callable[[], None]) -> Alarm:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def seen_while_it_lasts(
    stream: TextIO | None = None, now: Clock = time.monotonic, later: Later = _alarm, *, quiet: bool = False
) -> Iterator[None]:
    """Show on a terminal how far each step is that lasts; nothing in a log, at its end, or if `quiet`."""
    guarded = Guarded(stream or sys.stderr, drops=True)
    if quiet or not _has_bars(guarded):
        yield
        return
    with ExitStack() as steps:  # a generator that an error holds does not end its step

        def begin(what: str, of: int) -> _Lasting:
            return steps.enter_context(closing(_Lasting(guarded, now, later, Seen(0, of, what))))

        with shown_by(begin):
            yield


@final
class _Lasting:
    """Shows a step from `WARM_UP_S` after its beginning, unless a bar is there already."""

    def __init__(self, stream: Guarded, now: Clock, later: Later, seen: Seen) -> None:
        self._stream, self._now, self._began, self._seen = stream, now, now(), seen
        self._bar: _Bar | None = None
        self._over, self._lock = False, threading.Lock()
        self._alarm = later(WARM_UP_S, self._draw)

    def _draw(self) -> None:
        with self._lock:  # the alarm has a thread of its own
            if not (self._over or _Bar.drawn):
                self._bar = _Bar(self._stream, self._now, self._began)
                self._bar.show(self._seen)

    def done(self, more: int) -> None:
        with self._lock:
            self._seen = replace(self._seen, done=self._seen.done + more)
            if self._bar is not None:
                self._bar.show(self._seen)

    def close(self) -> None:
        self._alarm.cancel()
        with self._lock:
            self._over, bar, self._bar = True, self._bar, None
            if bar is not None:
                bar.close()


@final
class _Computing:
    """Shows one kind of work after another."""

    def __init__(self, stream: TextIO | None, now: Clock, told_from_s: float) -> None:
        self._stream, self._now, self._told_from_s = stream, now, told_from_s
        self._what, self._said = "", ""
        self._began = self._told = 0.0
        self._shown: _Bar | _Lines | None = None

    def progress(self, what: str, done: int, of: int) -> None:
        if what != self._what:
            self.close()
            self._what, self._began = what, self._now()
            self._shown = _shown_on(self._stream, self._now)
        self._said, self._told = f"{done:,} of {of:,} {what}", self._now()
        if self._shown is not None:
            self._shown.show(Seen(done, of, what))
        if done >= of:
            self.close()  # what comes next may have a bar of its own

    def found(self, sentence: str) -> None:
        self.close()
        say(visible(as_flags(sentence)))

    def close(self) -> None:
        """End the work that is shown, and say how long it took."""
        if self._shown is not None:
            self._shown.close()
            if self._told - self._began >= self._told_from_s:
                say(f"{self._said}, {self._told - self._began:,.1f} s")
        self._what, self._shown = "", None


@contextmanager
def explained() -> Iterator[None]:
    """Turn a `JudgeloopError` or an interruption into a line of text and an exit code."""
    try:
        yield
    except JudgeloopError as error:
        from judgeloop.cli.output import where_named

        named = where_named(error.path) if isinstance(error, NoFileError) else ""
        say(visible(as_flags(f"{error}{named}")))
        raise click.exceptions.Exit(EXIT_USAGE if isinstance(error, InputError) else EXIT_ERROR) from None
    except KeyboardInterrupt:
        say("interrupted; what was paid for is kept")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


def _shown_on(stream: TextIO | None, now: Clock, opening: str = "", pair: str | None = None) -> _Bar | _Lines:
    """A bar for a terminal, lines for a log."""
    guarded = Guarded(stream or sys.stderr, drops=True)
    if _has_bars(guarded):
        return _Bar(guarded, now, now())
    named = {} if pair is None else {"pair": pair}
    if opening:
        guarded.write(f"{logged(opening, 'start', **named)}\n")
    return _Lines(guarded, now, named)


def _has_bars(stream: Guarded) -> bool:
    return stream.isatty() and not logs_json() and os.environ.get("TERM") not in PLAIN_TERMINALS


@final
class Outages:
    """Says that no call has been answered for a while, and when one is again; once for all runs that it observes."""

    def __init__(self, now: Clock = time.monotonic) -> None:
        """No call has failed yet."""
        self._now, self._said = now, False
        self._since: float | None = None

    def observe(self, progress: Progress[Any]) -> None:
        """Note whether the last call failed."""
        if not progress.trouble:
            if self._said and self._since is not None:
                say(f"calls are answered again, after {clock(self._now() - self._since)}")
            self._since, self._said = None, False
        elif self._since is None:
            self._since = self._now()
        elif not self._said and self._now() - self._since >= PATIENCE_S:
            self._said = True
            at = f"{datetime.now(UTC).astimezone():%H:%M:%S}"
            say(f"{at}: the last calls failed, and are tried again: {visible(progress.trouble)}")


@final
class _Bar:
    """Redraws a bar on a single line, and clears it at the end."""

    drawn: ClassVar[int] = 0  # bars that are there now

    def __init__(self, stream: Guarded, now: Clock, began: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, Task
        from rich.text import Text

        console = Console(file=cast("TextIO", stream), highlight=False)
        narrow, bar = console.width < NARROW, self

        class Words(ProgressColumn):
            """The words beside the bar; what does not fit is cut off."""

            def render(self, task: Task) -> Text:
                text = bar.words(task.time_remaining, narrow=narrow)
                return Text(text, no_wrap=True, overflow="ellipsis")

        self._now, self._began = now, began
        self._seen: Seen | None = None
        self._progress = Progress(
            BarColumn(SHORT_BAR if narrow else BAR),
            Words(),
            console=console,
            transient=True,
            refresh_per_second=REDRAWN_A_SECOND,
            speed_estimate_period=SPEED_OF_S,
            redirect_stdout=False,
            get_time=now,
        )
        self._task = self._progress.add_task("", total=None)
        self._progress.start()
        _Bar.drawn += 1

    def words(self, left_s: float | None, *, narrow: bool) -> str:
        """What is said of the latest state; `left_s` are the seconds left, if known."""
        if self._seen is None:
            return ""
        return words(self._seen, self._now() - self._began, left_s, narrow=narrow)

    def show(self, seen: Seen) -> None:
        self._seen = seen
        if self._now() - self._began >= WARM_UP_S:
            self._progress.update(self._task, completed=seen.done, total=seen.most or None)

    def close(self) -> None:
        self._progress.stop()
        _Bar.drawn -= 1


@final
class _Lines:
    """Prints a line at most every `SECONDS_BETWEEN_LINES`; `named` are values that each has."""

    def __init__(self, stream: Guarded, now: Clock, named: dict[str, str]) -> None:
        self._stream, self._named = stream, named
        self._now = now
        self._due = now() + SECONDS_BETWEEN_LINES

    def show(self, seen: Seen) -> None:
        if self._now() >= self._due:
            self._due = self._now() + SECONDS_BETWEEN_LINES
            line = logged(sentence(seen), "progress", **self._named, **figures(seen))
            self._stream.write(f"{line}\n")

    def close(self) -> None:
        """Do nothing: every line is printed already."""


def words(seen: Seen, elapsed_s: float, left_s: float | None, *, narrow: bool) -> str:
    """A state as the words beside a bar, those that matter most first."""
    count = f"{seen.done:,}/{seen.most:,} {seen.what}".rstrip() if seen.most else seen.what
    count += _uncalled(seen)
    slowed = "" if seen.slowed_to is None else f"slowed to {seen.slowed_to} at a time"
    if seen.waited:
        return _joined(" · ", count, _waits(seen))
    if narrow:
        return _joined(" · ", count, slowed, _leads(seen, SHORT_NAME))
    time_ = clock(elapsed_s)
    if left_s is not None:
        # A run may stop early; what is counted does not.
        time_ += f", {'about' if seen.what else 'at most'} {clock(left_s)} left"
    return _joined(" · ", count, slowed, _fails(seen), _leads(seen, NAME), _money(seen), time_)


def sentence(seen: Seen) -> str:
    """A state as a line for a log."""
    count = f"{seen.done:,} of {seen.most:,} {seen.what}"
    if not seen.what:
        count = f"{seen.done:,} of at most {seen.most:,} judgments{_uncalled(seen)}"
    slowed = ""
    if seen.slowed_to is not None:
        calls = "1 call" if seen.slowed_to == 1 else f"{seen.slowed_to} calls"
        slowed = f"slowed down by the judge's server to {calls} at a time"
    return _joined(", ", count, _money(seen), _leads(seen, LONG_NAME), slowed, _waits(seen), _fails(seen))


def figures(seen: Seen) -> dict[str, Any]:
    """The numbers of a state, for a program that reads a log."""
    money = {"spent_usd": seen.spent_p, "budget_usd": seen.budget_p}
    usd = {name: None if pico is None else float(to_usd(pico)) for name, pico in money.items()}
    return {"done": seen.done, "most": seen.most, "uncalled": seen.uncalled, **usd, "slowed_to": seen.slowed_to}


def clock(seconds: float) -> str:
    """A duration as minutes and seconds, from an hour on with hours.

    >>> clock(72.6), clock(3672)
    ('1:12', '1:01:12')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _joined(between: str, *parts: str) -> str:
    return between.join(part for part in parts if part)


def _uncalled(seen: Seen) -> str:
    """How many took no call, behind the number done: it jumps by them."""
    return f" ({seen.uncalled:,} without a call)" if seen.uncalled else ""


def _waits(seen: Seen) -> str:
    return f"waits {visible(seen.waited)}" if seen.waited else ""


def _fails(seen: Seen) -> str:
    return f"the last call failed: {visible(seen.trouble)}" if seen.trouble else ""


def _leads(seen: Seen, longest: int) -> str:
    return "" if seen.leads is None else seen.leads(longest)


def _money(seen: Seen) -> str:
    if seen.spent_p is None:
        return ""
    of = "" if seen.budget_p is None else f" of {show_usd(seen.budget_p)}"
    return f"{show_usd(seen.spent_p)}{of}"
