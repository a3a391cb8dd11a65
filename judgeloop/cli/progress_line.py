"""What a progress bar says: its parts, and which of them fit on one line of a terminal.

Takes figures and returns text. Reads no clock and prints nothing (`progress.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

from judgeloop.core.money import show_usd

APART = " · "  # between two parts
# Widths of the bar and of a system's name, in characters, from the roomiest line to the tightest.
LONG_BAR, BAR, SHORT_BAR = 20, 10, 6
LONG_NAME, NAME, SHORT_NAME = 32, 16, 8
# What the ledger answers comes in the first seconds, and says nothing about the judge's speed.
WARM_UP_S = 2.0
WINDOW_S = 60.0  # the speed is that of the last minute
FEWEST_S = 3.0  # and no speed is told from less than this

Leads = Callable[[int], str]  # who leads, with names of at most so many characters


def nobody(most: int) -> str:
    """Return nothing, where nobody can lead."""
    del most
    return ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A state of a run to show.

    - `done`, `most`: queries answered, and the most that the run may take.
    - `what`: what is counted, if the count stands alone.
    - `elapsed_s`, `left_s`: seconds since the beginning, and until `most` is reached at today's
      speed; None if it is not known.
    - `spent_p`, `budget_p`: money in picodollars; None if there is none to show.
    - `leads`: who leads.
    - `slowed_to`: the calls in flight to which a crowded server has slowed the run; None if it has
      not.
    """

    done: int
    most: int
    what: str = ""
    elapsed_s: float = 0.0
    left_s: float | None = None
    spent_p: int | None = None
    budget_p: int | None = None
    leads: Leads = nobody
    slowed_to: int | None = None


def fitted(seen: Seen, width: int) -> tuple[int, str]:
    """Return the width of the bar and the text beside it, together at most `width` characters.

    The parts that say least are left out first: the time left, the budget, the time, the money.
    """
    bar, text = 0, ""
    for bar, parts in _forms(seen):
        text = APART.join(part for part in parts if part)
        if bar + 1 + len(text) <= width:
            return bar, text
    return bar, text[: max(0, width - bar - 1)]


def _forms(seen: Seen) -> Iterator[tuple[int, list[str]]]:
    """Yield ever shorter lines: the width of the bar, and the parts."""
    long, short = _count(seen), f"{seen.done:,}/{seen.most:,}"
    time, money, slowed = _time(seen), _money(seen), _slowed(seen)
    elapsed, spent = clock(seen.elapsed_s), "" if seen.spent_p is None else show_usd(seen.spent_p)
    leads = seen.leads
    yield LONG_BAR, [long, time, money, leads(LONG_NAME), slowed]
    yield BAR, [short, time, money, leads(NAME), slowed]
    slowed = "" if seen.slowed_to is None else f"slowed to {seen.slowed_to} at a time"
    yield BAR, [short, elapsed, money, leads(NAME), slowed]
    yield BAR, [short, elapsed, spent, leads(NAME), slowed]
    yield BAR, [short, spent, leads(NAME), slowed]
    yield SHORT_BAR, [short, spent, leads(SHORT_NAME), slowed]
    yield SHORT_BAR, [short, leads(SHORT_NAME), slowed]
    yield SHORT_BAR, [short, slowed]


def sentence(seen: Seen) -> str:
    """Return a state as a line for a log."""
    parts = [_count(seen), _money(seen), seen.leads(LONG_NAME), _slowed(seen)]
    return ", ".join(part for part in parts if part)


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds, from an hour on with hours.

    >>> clock(72.6), clock(3672)
    ('1:12', '1:01:12')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _count(seen: Seen) -> str:
    if seen.what:
        return f"{seen.done:,} of {seen.most:,} {seen.what}"
    return f"{seen.done:,} of at most {seen.most:,} judgments"


def _time(seen: Seen) -> str:
    """Return the time so far, and the time left: an upper bound where a run may stop early."""
    if seen.left_s is None:
        return clock(seen.elapsed_s)
    bound = "about" if seen.what else "at most"
    return f"{clock(seen.elapsed_s)}, {bound} {clock(seen.left_s)} left"


def _money(seen: Seen) -> str:
    if seen.spent_p is None:
        return ""
    of = "" if seen.budget_p is None else f" of {show_usd(seen.budget_p)}"
    return f"{show_usd(seen.spent_p)}{of}"


def _slowed(seen: Seen) -> str:
    if seen.slowed_to is None:
        return ""
    calls = "1 call" if seen.slowed_to == 1 else f"{seen.slowed_to} calls"
    return f"slowed down by the judge's server, {calls} at a time"


@final
class Speed:
    """The seconds that an answer takes, by the answers of the last minute."""

    def __init__(self) -> None:
        """Nothing is answered yet."""
        self._samples: deque[tuple[float, int]] = deque()  # (seconds since the beginning, answers)

    def note(self, elapsed_s: float, done: int) -> None:
        """Note the number of answers after so many seconds."""
        samples = self._samples
        if elapsed_s < WARM_UP_S:
            samples.clear()
        samples.append((elapsed_s, done))
        while len(samples) > 1 and elapsed_s - samples[1][0] >= WINDOW_S:
            samples.popleft()

    def left_s(self, elapsed_s: float, most: int) -> float | None:
        """Return the seconds until `most` answers; None if the speed is not known."""
        if not self._samples:
            return None
        (since, before), (last, done) = self._samples[0], self._samples[-1]
        if last - since < FEWEST_S or done == before:
            return None
        left = (most - done) * (last - since) / (done - before)
        return max(0.0, left - (elapsed_s - last))
