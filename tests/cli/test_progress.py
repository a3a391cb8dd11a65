"""What is shown while a run goes on: a bar that fits its terminal, lines in a log, or nothing."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from functools import partial

import click
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.cli.output import LOG, TONES, paint, say
from judgeloop.cli.progress import (
    PATIENCE_S,
    SECONDS_BETWEEN_LINES,
    WARM_UP_S,
    Outages,
    Seen,
    computing,
    counting,
    seen_while_it_lasts,
    watching,
    words,
)
from judgeloop.core import work
from judgeloop.core.outcomes import Outcome, Tally
from judgeloop.engine.state import Progress
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stats.strata import Strata
from judgeloop.questions.compare.page import so_far
from judgeloop.questions.estimate.page import so_far as mean_so_far
from judgeloop.questions.select.page import so_far as best_so_far

EVIL = "[red]gpt\x1b[31m\u202e\n4"
USD = 10**12
STYLE = re.compile(r"\x1b\[[\d;]*m")
STEERING = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


class Clock:
    """Stands until it is told to go on."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A terminal; `COLUMNS` is its width."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Show a run on a terminal of a width, and return what was written."""
    with monkeypatch.context() as patch:

        def shown(width=80, systems=("gpt-4o", "mistral"), term="xterm", slowed_to=None, **more):
            for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
                patch.delenv(name, raising=False)
            for name, value in {"TERM": term, "COLUMNS": str(width), **more}.items():
                patch.setenv(name, value)
            stream, clock = Terminal(), Clock()
            with watched(stream, clock, systems) as observe:
                clock.now = 12.0
                observe(progress(41, slowed_to=slowed_to))
            return stream.getvalue()

        yield shown


def watched(stream, clock, systems=("gpt-4o", "mistral")):
    return watching(
        "compare: 2 systems, 200 items, at most 200 judgments",
        200,
        USD,
        lambda tally, longest: so_far(tally, systems, longest),
        stream=stream,
        now=clock,
    )


def progress(asked, **more):
    return Progress(asked, 10**10, Tally(200, wins=(asked, 0)), lambda tally: 1.0, **more)


def last_line(shown):
    """The last line that stood on the terminal, without colours and movements of the cursor."""
    drawn = [STEERING.sub("", part).strip() for part in re.split(r"[\r\n]", shown)]
    return [line for line in drawn if line][-1]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (120, "41/200 · slowed to 4 at a time · leads: gpt-4o, 41 to 0 · $0.010 of $1.00 · 0:12"),
        (80, "41/200 · slowed to 4 at a time · leads: gpt-4o, 41 to 0 · $0.010 of …"),
        (60, "41/200 · slowed to 4 at a time · leads: gpt-4o, …"),
        (40, "41/200 · slowed to 4 at a time ·…"),
    ],
)
def test_what_does_not_fit_is_cut_off_and_the_count_comes_first(terminal, width, line):
    bar, _, said = last_line(terminal(width, slowed_to=4)).partition(" ")
    assert said == line
    assert len(bar) == (6 if width < 60 else 10)


@settings(max_examples=60)
@given(
    width=st.integers(20, 160),
    name=st.text("abcdefgh -[]", min_size=1, max_size=99),
    slowed_to=st.none() | st.integers(1, 64),
)
def test_a_bar_is_one_line_of_its_terminal_whatever_the_width(width, name, slowed_to):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", str(width))
        stream, clock = Terminal(), Clock()
        with watched(stream, clock, (name, "b")) as observe:
            observe(progress(41, slowed_to=slowed_to))
    assert stream.getvalue().count("\n") == 1, "the one with which the bar is left"
    assert len(last_line(stream.getvalue())) <= width


def test_the_time_left_is_a_bound_for_a_run_and_a_guess_for_a_count():
    seen = Seen(41, 200)
    assert words(seen, 12, 48, narrow=False) == "41/200 · 0:12, at most 0:48 left"
    assert words(seen, 12, 48, narrow=True) == "41/200"
    assert words(replace(seen, uncalled=40), 12, None, narrow=True) == "41/200 (40 without a call)"
    assert words(replace(seen, what="pairs"), 3672, 48, narrow=False) == ("41/200 pairs · 1:01:12, about 0:48 left")


def test_a_long_name_is_cut_with_an_ellipsis_and_strangers_text_steers_nothing():
    tally = Tally(200, wins=(14, 9))
    assert so_far(tally, ("a-system-with-a-long-name", "b"), 10) == "leads: a-system-…, 14 to 9"
    shown = so_far(tally, (EVIL, "b"), 40)
    assert not {"\x1b", "\u202e", "\n"} & set(shown)
    assert "[red]" in shown


def test_each_question_says_who_leads():
    assert so_far(Tally(200), ("a", "b"), 9) == ""
    assert so_far(Tally(200, wins=(3, 3)), ("a", "b"), 9) == "level, 3 to 3"
    counts = np.array([0, 3, 1])
    standings = Standings(
        items=9, baseline=0, wins=counts, ties=np.array([0, 0, 0]), losses=np.array([0, 1, 1]),
        silent=np.zeros(3, dtype=np.int64), levels=None,
    )  # fmt: skip
    names = ("base", "best", "poor")
    assert best_so_far(standings, names, 9) == "leads: best, 2 of 3 may be the best"
    nothing = replace(standings, wins=0 * counts, ties=0 * counts, losses=0 * counts)
    assert best_so_far(nothing, names, 9) == ""
    ratings = Ratings(Strata(np.zeros(4, dtype=np.int64)), np.array([0, 1]), np.array([1.0, 0.5]))
    assert mean_so_far(ratings, ("m",), 9) == "mean 0.750 so far"
    assert mean_so_far(replace(ratings, drawn=False), ("m",), 9) == "mean 0.750 of those picked"


def test_a_log_gets_a_line_at_the_start_and_then_one_now_and_then():
    stream, clock = io.StringIO(), Clock()
    with watched(stream, clock) as observe:
        for asked in range(1, 10):
            observe(progress(asked))
        clock.now += SECONDS_BETWEEN_LINES
        observe(progress(10, slowed_to=1, uncalled=3))
        observe(progress(11))
    assert stream.getvalue().splitlines() == [
        "judgeloop: compare: 2 systems, 200 items, at most 200 judgments",
        "judgeloop: 10 of at most 200 judgments (3 without a call), $0.010 of $1.00, leads: gpt-4o, 10 to 0, slowed down by the judge's server to 1 call at a time",
    ]


def test_a_log_of_json_has_the_figures_of_a_run_also_on_a_terminal():
    stream, clock = Terminal(), Clock()
    with click.Context(click.Command("compare")) as context:
        context.meta[LOG] = "json"
        with watched(stream, clock) as observe:
            clock.now += SECONDS_BETWEEN_LINES
            observe(progress(10, slowed_to=1))
    start, line = map(json.loads, stream.getvalue().splitlines())
    assert (start["event"], start["message"][:8]) == ("start", "compare:")
    figures = {"done": 10, "most": 200, "uncalled": 0, "spent_usd": 0.01, "budget_usd": 1.0, "slowed_to": 1}
    assert line.items() >= (figures | {"event": "progress"}).items()


def test_a_terminal_gets_a_bar_that_is_cleared_at_the_end(terminal):
    shown = terminal()
    assert "━" in shown
    assert "\x1b[?25h" in shown, "the cursor is back"
    assert shown.rstrip().endswith("\x1b[2K"), "the line is cleared"


def test_no_color_is_respected(terminal):
    assert STYLE.search(terminal())
    assert not re.search(r"\x1b\[[\d;]*3\d", terminal(NO_COLOR="1"))


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(terminal):
    shown = terminal(term="dumb")
    assert "\x1b" not in shown
    assert shown.startswith("judgeloop: compare: ")


def test_what_is_counted_is_shown_now_and_then_and_not_at_all_if_quiet():
    stream, clock = io.StringIO(), Clock()
    with counting("pairs", stream, clock) as observe:
        observe(1, 40)
        clock.now += SECONDS_BETWEEN_LINES
        observe(12, 40)
    assert stream.getvalue() == "judgeloop: 12 of 40 pairs\n"
    silent = io.StringIO()
    with counting("pairs", silent, clock, quiet=True) as observe:
        clock.now += SECONDS_BETWEEN_LINES
        observe(12, 40)
    assert not silent.getvalue()


def test_computations_before_the_first_judgment_are_shown_with_their_seconds(capsys):
    stream, clock = io.StringIO(), Clock()
    with computing(stream, clock):
        read, search = work.Work("prompts read", 40), work.Work("prompts searched", 9)
        read.done(0)
        clock.now += SECONDS_BETWEEN_LINES
        read.done(12)
        clock.now += 5
        read.done(28)
        clock.now += 100  # of other work, which nobody tells of
        search.done(0)
        clock.now += 2.5
        search.done(9)
        work.found("`layer=auto`: layer 3 of 4")
    assert stream.getvalue() == "judgeloop: 12 of 40 prompts read\n"
    assert capsys.readouterr().err.splitlines() == [
        f"judgeloop: 40 of 40 prompts read, {SECONDS_BETWEEN_LINES + 5:.1f} s",
        "judgeloop: 9 of 9 prompts searched, 2.5 s",
        "judgeloop: `layer=auto`: layer 3 of 4",
    ]
    with computing(stream, clock, quiet=True):
        work.Work("prompts read", 40).done(40)
    assert not capsys.readouterr().err


def test_each_outcome_has_a_tone():
    assert set(Outcome) < set(TONES)


@pytest.mark.parametrize(
    ("text", "tone", "shown"),
    [
        ("a is best\nof all.", "bold", "\x1b[1ma is best\x1b[0m\n\x1b[1mof all.\x1b[0m"),
        ("FAILED: b", "failed", "\x1b[1;31mFAILED: b\x1b[0m"),
        ("Warning: few", "warning", "\x1b[33mWarning: few\x1b[0m"),
    ],
)
def test_decision_and_warnings_have_colours_where_they_are_wanted(monkeypatch, text, tone, shown):
    for name, value, colours in (("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)):
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", Terminal())
            patch.delenv("NO_COLOR", raising=False)
            patch.setenv("TERM", "xterm")
            patch.setenv(name, value)
            assert paint(text, tone) == (shown if colours else text)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert paint(text, tone) == text, "a pipe gets plain text"


def test_why_there_is_no_result_is_seen_in_the_colour_of_its_outcome(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        monkeypatch.setattr("sys.stderr", stream)
        say("! BROKEN, no result: why", tone=Outcome.BROKEN)
    assert terminal.getvalue() == f"\x1b[{TONES[Outcome.BROKEN]}mjudgeloop: ! BROKEN, no result: why\x1b[0m\n"
    assert pipe.getvalue() == "judgeloop: ! BROKEN, no result: why\n"


def test_a_log_says_once_that_no_call_is_answered_and_when_one_is_again(capsys):
    clock = Clock()
    outages = Outages(clock)

    def seen(at, trouble=""):
        clock.now = at
        outages.observe(Progress(3, 0, Tally(9), lambda _: 1.0, trouble=trouble))
        return capsys.readouterr().err

    assert not seen(0) + seen(1, "HTTP 503") + seen(5, "HTTP 503") + seen(6) + seen(100), "a moment"
    assert not seen(101, "HTTP 503")
    said = seen(101 + PATIENCE_S, "nothing answers")
    assert "the last calls failed, and are tried again: nothing answers" in said
    assert not seen(120, "nothing answers")
    assert "answered again, after 0:59" in seen(160)
    assert not seen(161)


def test_what_takes_a_moment_is_shown_and_not_told_of(capsys):
    times = iter([0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 9.0, 9.0])
    with computing(now=lambda: next(times), told_from_s=2.0):
        assert list(work.counted("quick things", [1])) == [1]
        assert list(work.counted("slow things", [1])) == [1]
    said = capsys.readouterr().err
    assert "quick" not in said
    assert "1 of 1 slow things" in said


class Alarms:
    """Go off when the clock is told to go on."""

    def __init__(self, clock):
        self.clock, self.set = clock, []

    def __call__(self, seconds, act):
        one = [self.clock.now + seconds, act]
        self.set.append(one)
        return type("Alarm", (), {"cancel": lambda _: one in self.set and self.set.remove(one)})()

    def go_on(self, seconds):
        self.clock.now += seconds
        for one in [one for one in self.set if one[0] <= self.clock.now]:
            self.set.remove(one)
            one[1]()


class Stepped(Terminal):
    """A terminal that shows steps, and whose time goes on."""

    def __init__(self):
        super().__init__()
        clock = Clock()
        self.alarms = Alarms(clock)
        self.go_on = self.alarms.go_on
        self.shown = partial(seen_while_it_lasts, self, clock, self.alarms)


@pytest.fixture
def steps(monkeypatch):
    """A terminal on which steps are seen that last."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Stepped()
    yield stream
    assert not stream.alarms.set, "an alarm is left"


def test_a_step_is_seen_after_two_seconds_then_how_long_it_takes_and_nothing_at_its_end(steps):
    with steps.shown(), work.lasting("rows joined", 400) as step:
        step.done(100)
        steps.go_on(WARM_UP_S - 0.1)
        assert not steps.getvalue()
        steps.go_on(0.1)
        step.done(100)
        steps.go_on(8)
        step.done(100)
        steps.go_on(4)
    assert "300/400 rows joined · 0:14, about 0:04 left" in last_line(steps.getvalue())
    assert steps.getvalue().endswith("\x1b[2K"), "the line is cleared"


def test_a_quick_step_is_not_seen_and_one_without_a_number_has_its_seconds(steps):
    with steps.shown():
        with work.lasting("rows joined", 9) as step:
            step.done(9)
            steps.go_on(1.9)
        assert not steps.getvalue()
        with work.lasting("shrinking the file"):
            steps.go_on(70)
    assert "shrinking the file · 1:10" in last_line(steps.getvalue())
    assert "left" not in steps.getvalue()


def test_a_step_within_a_bar_has_none_of_its_own_and_an_error_ends_both(steps):
    held = work.lasting("lines read", 9)

    def fails():
        with steps.shown():
            held.__enter__()  # as in a generator that nobody asks again
            steps.go_on(3)
            with work.lasting("rows joined", 9):
                steps.go_on(3)
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert "lines read" in steps.getvalue()
    assert "rows joined" not in steps.getvalue()
    assert steps.getvalue().endswith("\x1b[2K")


@pytest.mark.parametrize("silent", ["quiet", "log", "dumb"])
def test_no_step_is_seen_in_a_log_or_if_quiet(steps, monkeypatch, silent):
    monkeypatch.setenv("TERM", "dumb" if silent == "dumb" else "xterm")
    stream, set_ = io.StringIO() if silent == "log" else steps, []
    shown = seen_while_it_lasts(stream, later=lambda *one: set_.append(one), quiet=silent == "quiet")
    with shown, work.lasting("rows joined", 9) as step:
        step.done(9)
    assert not set_
    assert not stream.getvalue()
