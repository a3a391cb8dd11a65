"""What is shown while a run goes on: a bar that fits its terminal, lines in a log, or nothing."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest

from judgeloop.cli.progress import SECONDS_BETWEEN_LINES, Watched, counting, watching
from judgeloop.cli.progress_line import Seen, Speed, fitted, sentence
from judgeloop.core.outcomes import Estimate, Tally
from judgeloop.engine.loop import Progress
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stats.strata import Strata
from judgeloop.questions.compare.text import so_far
from judgeloop.questions.estimate.text import so_far as mean_so_far
from judgeloop.questions.select.text import so_far as best_so_far

EVIL = "[red]gpt\x1b[31m\u202e\n4"
USD = 10**12


def leads(systems=("gpt-4o", "mistral"), wins=(14, 9)):
    return lambda most: so_far(Tally(200, wins=wins), systems, most)


SEEN = Seen(41, 200, elapsed_s=12, left_s=48, spent_p=12_300_000_000, budget_p=USD, leads=leads())
SLOWED = replace(SEEN, slowed_to=4)


class Clock:
    """Stands until it is told to go on."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A terminal of 80 columns."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("width", "bar", "text"),
    [
        (
            120,
            20,
            "41 of at most 200 judgments · 0:12, at most 0:48 left · $0.012 of $1.00 · leads: gpt-4o, 14 to 9",
        ),
        (100, 10, "41/200 · 0:12, at most 0:48 left · $0.012 of $1.00 · leads: gpt-4o, 14 to 9"),
        (80, 10, "41/200 · 0:12 · $0.012 of $1.00 · leads: gpt-4o, 14 to 9"),
        (60, 10, "41/200 · 0:12 · $0.012 · leads: gpt-4o, 14 to 9"),
        (51, 10, "41/200 · $0.012 · leads: gpt-4o, 14 to 9"),
        (40, 6, "41/200 · leads: gpt-4o, 14 to 9"),
    ],
)
def test_the_wider_the_terminal_the_more_is_said(width, bar, text):
    assert fitted(SEEN, width) == (bar, text)


@pytest.mark.parametrize("width", range(20, 160))
@pytest.mark.parametrize("seen", [SEEN, SLOWED, replace(SLOWED, leads=leads(("x" * 99, "y")))])
def test_a_line_never_exceeds_its_terminal(seen, width):
    bar, text = fitted(seen, width)
    assert bar + 1 + len(text) <= width


def test_a_server_that_slows_the_run_down_is_said_at_every_width():
    assert fitted(SLOWED, 170)[1].endswith("slowed down by the judge's server, 4 calls at a time")
    for width in (60, 80):
        assert fitted(SLOWED, width)[1].endswith("slowed to 4 at a time")


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
        items=9, baseline=0, wins=counts, ties=np.array([4, 0, 0]), losses=np.array([0, 1, 1]),
        silent=np.zeros(3, dtype=np.int64), race=None, scores=(np.zeros(3),) * 4,
    )  # fmt: skip
    assert best_so_far(standings, ("base", "best", "poor"), 9) == "leads: best, 2 of 3 in the race"
    assert best_so_far(replace(standings, scores=()), ("base", "best", "poor"), 9) == ""
    ratings = Ratings(Strata(np.zeros(4, dtype=np.int64)), np.array([0, 1]), np.array([1.0, 0.5]))
    assert mean_so_far(ratings, ("m",), 9) == "mean 0.750 so far"
    assert mean_so_far(replace(ratings, drawn=False), ("m",), 9) == "mean 0.750 of those picked"


def test_no_risk_is_stated_before_the_end():
    assert "risk" not in sentence(SLOWED)
    assert sentence(SLOWED) == (
        "41 of at most 200 judgments, $0.012 of $1.00, leads: gpt-4o, 14 to 9, slowed down by the judge's server, "
        "4 calls at a time"
    )


def test_the_speed_is_that_of_the_judge_and_not_of_the_ledger():
    speed = Speed()
    speed.note(0.1, 500)
    speed.note(0.2, 1000)
    assert speed.left_s(0.2, 1100) is None
    for second in range(3, 23):
        speed.note(float(second), 1000 + second)
    assert speed.left_s(22.0, 1122) == pytest.approx(100, rel=0.1)
    assert speed.left_s(32.0, 1122) == pytest.approx(90, rel=0.1), "it falls while none answers"


def watched(stream, clock, **changes):
    run = Watched(
        "compare: 2 systems, 200 items, at most 200 judgments",
        200,
        USD,
        lambda tally, most: so_far(tally, ("gpt-4o", "mistral"), most),
    )
    return watching(replace(run, **changes), stream, clock)


def progress(asked, **more):
    return Progress(asked, 10**10, Estimate(Tally(200, wins=(asked, 0)), 1.0), **more)


def test_a_log_gets_a_line_at_the_start_and_then_one_now_and_then():
    stream, clock = io.StringIO(), Clock()
    with watched(stream, clock) as observe:
        for asked in range(1, 10):
            observe(progress(asked))
        clock.now += SECONDS_BETWEEN_LINES
        observe(progress(10))
        observe(progress(11))
    assert stream.getvalue().splitlines() == [
        "judgeloop: compare: 2 systems, 200 items, at most 200 judgments",
        "judgeloop: 10 of at most 200 judgments, $0.010 of $1.00, leads: gpt-4o, 10 to 0",
    ]


def test_a_log_holds_no_control_characters():
    stream, clock = io.StringIO(), Clock()
    with watched(stream, clock) as observe:
        clock.now += SECONDS_BETWEEN_LINES
        observe(progress(1, slowed_to=1))
    assert "1 call at a time" in stream.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", stream.getvalue())


def on_terminal(monkeypatch, term="xterm", **environment):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": term, "COLUMNS": "80", **environment}.items():
        monkeypatch.setenv(name, value)
    stream, clock = Terminal(), Clock()
    with watched(stream, clock) as observe:
        observe(progress(41))
        clock.now = 100.0
    return stream.getvalue()


def test_a_terminal_gets_a_bar_that_is_cleared_at_the_end(monkeypatch):
    shown = on_terminal(monkeypatch)
    assert "━" in shown
    assert "leads: gpt-4o, 41 to 0" in shown
    assert "\x1b[?25h" in shown, "the cursor is back"
    assert shown.rstrip().endswith("\x1b[2K"), "the line is cleared"


def test_no_color_is_respected(monkeypatch):
    coloured = re.compile(r"\x1b\[[\d;]*m")
    assert coloured.search(on_terminal(monkeypatch))
    assert not re.search(r"\x1b\[[\d;]*3\d", on_terminal(monkeypatch, NO_COLOR="1"))


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch):
    shown = on_terminal(monkeypatch, term="dumb")
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
