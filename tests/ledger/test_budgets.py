"""Budgets that runs draw on: their periods, who takes from them, and what changes them later."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.database import opened

from judgeloop.core.errors import InputError, LedgerError
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger import postgres, sqlite
from judgeloop.ledger.merging import merge
from judgeloop.ledger.opening import budgets_of, open_ledger, open_reader
from judgeloop.ledger.periods import MIDNIGHT, PERIODS, began, ends
from judgeloop.ledger.records import End, Reservation
from judgeloop.ledger.upkeep import prune, verify

MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
OFFSETS = st.builds(
    "{:02}:{:02}{}{:02}:{:02}".format,
    *(st.integers(0, 23), st.integers(0, 59), st.sampled_from("+-")),
    *(st.integers(0, 14), st.sampled_from([0, 30, 45])),
)


def text(moment):
    return moment.isoformat(timespec="milliseconds")


@given(MOMENTS, st.sampled_from(PERIODS[:-1]), OFFSETS)
def test_each_moment_is_in_one_period_and_the_next_begins_where_it_ends(at, per, day_starts):
    since = began(per, day_starts, text(at))
    until = ends(per, day_starts, since)
    assert since <= text(at) < until
    assert began(per, day_starts, since) == since
    assert began(per, day_starts, until) == until
    just_before = datetime.fromisoformat(until) - timedelta(milliseconds=1)
    assert began(per, day_starts, text(just_before)) == since


@given(MOMENTS, OFFSETS)
def test_periods_begin_at_the_hour_of_a_monday_or_the_first(at, day_starts):
    offset = datetime.fromisoformat(f"2000-01-01T{day_starts}").utcoffset()
    local = {per: datetime.fromisoformat(began(per, day_starts, text(at))) + offset for per in PERIODS[:-1]}
    assert {f"{one:%H:%M}" for one in local.values()} == {day_starts[:5]}
    assert (local["week"].weekday(), local["month"].day) == (0, 1)


@pytest.mark.parametrize(
    ("per", "day_starts", "at", "since", "until"),
    [
        ("month", MIDNIGHT, "2028-02-29T23:59", "2028-02-01T00:00", "2028-03-01T00:00"),
        ("month", MIDNIGHT, "2026-12-31T23:59", "2026-12-01T00:00", "2027-01-01T00:00"),
        ("month", "12:00+01:00", "2026-03-01T10:59", "2026-02-01T11:00", "2026-03-01T11:00"),
        ("week", MIDNIGHT, "2026-11-22T23:59", "2026-11-16T00:00", "2026-11-23T00:00"),
        ("week", MIDNIGHT, "2027-01-01T00:00", "2026-12-28T00:00", "2027-01-04T00:00"),
        ("day", "12:00+01:00", "2026-11-24T02:00", "2026-11-23T11:00", "2026-11-24T11:00"),
        ("day", "23:30-12:00", "2026-11-24T11:29", "2026-11-23T11:30", "2026-11-24T11:30"),
    ],
)
def test_ends_of_months_weeks_and_nights(per, day_starts, at, since, until):
    found = began(per, day_starts, f"{at}:00.000+00:00")
    assert (found[:16], ends(per, day_starts, found)[:16]) == (since, until)


@pytest.fixture
def clock(monkeypatch):
    """Set the store's clock to a time of November 2026."""

    def set_to(day, hour=12):
        at = f"2026-11-{day:02}T{hour:02}:00:00.000+00:00"
        monkeypatch.setattr(sqlite, "now", lambda: at)
        monkeypatch.setattr(postgres.PostgresConnection, "time", f"'{at}'")

    set_to(24)
    return set_to


@pytest.fixture
def path(address):
    return address


def limit(path, limit_p, per="day", name="", day_starts=MIDNIGHT):
    with closing(open_ledger(path)) as ledger:
        ledger.set_budget(name, limit_p, per, day_starts)


def wanted(run, number=1, cost_p=10):
    return [[Reservation(f"{run} {at}", cost_p, f"i{at}", "judge", {})] for at in range(number)]


async def reserved(ledger, run, number=1, budget_p=None, cost_p=10):
    groups = await ledger.reserve(run, wanted(run, number, cost_p), budget_p)
    return [ticket for (ticket,) in groups]


def book(path, run="run", number=1, charge_to=(), budget_p=None, cost_p=None):
    """Reserve as much as there is room for, settle it for `cost_p` each, and return how many."""

    async def story():
        ledger = open_ledger(path, charge_to)
        try:
            tickets = await reserved(ledger, run, number, budget_p)
            if cost_p is not None:
                await ledger.settle_all([(one, Reply(Verdict(1.0), cost_p=cost_p)) for one in tickets])
        finally:  # its thread would keep the process
            await ledger.aclose()
        return len(tickets)

    return asyncio.run(story())


def charged(path):
    with open_reader(path) as reader:
        return {one.name: one.charged_p for one in reader.balances()}


@pytest.mark.parametrize(("own", "granted"), [(20, 2), (500, 6), (None, 6)])
def test_the_smaller_of_both_limits_holds(path, own, granted):
    limit(path, 60, "total")

    async def story():
        ledger = open_ledger(path)
        assert len(await reserved(ledger, "a", 9, own)) == granted
        assert (await ledger.spend("a", own)).left_p == min(60, own or 60) - 10 * granted
        await ledger.aclose()

    asyncio.run(story())


def test_a_run_takes_from_each_of_its_budgets_and_all_must_have_room(path, clock):
    limit(path, 50)
    limit(path, 30, "week", "nightly")
    assert book(path, "a", 9, ["nightly"]) == 3
    assert book(path, "b", 9) == 2, "it is not charged to the other budget"
    assert charged(path) == {"": 50, "nightly": 30}
    assert book(path, "c", 1, ["nightly"]) == 0
    clock(25)
    assert book(path, "c", 1, ["nightly"]) == 0, "the week goes on"
    assert book(path, "d", 9) == 5
    clock(30)
    assert book(path, "e", 9, ["nightly"]) == 3, "nothing is carried over"


def test_an_unknown_name_is_refused_before_anything_is_made(path):
    with pytest.raises(InputError, match=r"no budget (of this name|either)"):
        budgets_of(path, ["nightly"])
    assert isinstance(path, str) or not path.exists()
    limit(path, 30, name="nightly")
    with pytest.raises(InputError, match="did you mean nightly"):
        budgets_of(path, ["nightyl"])
    assert [one.name for one in budgets_of(path, ["nightly"])] == ["nightly"]
    with pytest.raises(LedgerError, match="no budget named 'gone'"):
        book(path, charge_to=["gone"])


def test_what_is_settled_later_corrects_the_period_of_its_reservation(path, clock):
    limit(path, 50)

    async def story():
        ledger, other = open_ledger(path), open_ledger(path)
        early = await reserved(ledger, "early", 5)
        await ledger.sending(early[1])
        clock(25)
        late = await reserved(ledger, "late", 5)
        assert len(late) == 5
        await ledger.settle(early[0], Reply(Verdict(1.0), cost_p=1))
        await ledger.abandon(early[1], End.TIMED_OUT, "timed out")
        await ledger.release(early[2], End.UNSENT, "never sent")
        assert await reserved(other, "more") == [], "what yesterday gives back is not today's"
        await other.recover("late")
        assert len(await reserved(other, "more", 9)) == 5, "today's is given back today"
        await ledger.aclose()
        await other.aclose()

    asyncio.run(story())
    with opened(path) as connection:
        days = connection.execute("SELECT substr(began_at, 1, 10), sum(charged_p) FROM attempts GROUP BY 1 ORDER BY 1")
        assert days.fetchall() == [("2026-11-24", 31), ("2026-11-25", 50)]
    assert charged(path) == {"": 50}


def test_an_earmark_that_is_exchanged_frees_only_its_own_period(path, clock):
    limit(path, 20)

    async def story():
        ledger = open_ledger(path)
        (earmark,) = await reserved(ledger, "a", cost_p=20)
        ((exact,),) = await ledger.reserve("a", wanted("b", cost_p=15), None, instead=earmark)
        clock(25)
        assert await ledger.reserve("a", wanted("c", cost_p=21), None, instead=exact) == []
        assert await ledger.reserve("a", wanted("c", cost_p=20), None, instead=exact) != []
        await ledger.aclose()

    asyncio.run(story())
    assert charged(path) == {"": 20}


def test_a_clock_that_jumps_back_opens_no_second_period(path, clock):
    limit(path, 50)
    clock(25)
    assert book(path, "a", 3) == 3
    clock(24)
    assert book(path, "b", 9) == 2
    clock(25)
    assert book(path, "c", 9) == 0
    with open_reader(path) as reader:
        (found,) = reader.balances()
    assert (found.since[:10], found.until[:10], found.left_p) == ("2026-11-25", "2026-11-26", 0)
    clock(26)
    assert book(path, "d", 9) == 5


@given(st.lists(st.integers(-60, 60), max_size=8))
def test_however_the_clock_jumps_a_day_that_it_has_passed_is_no_second_one(hours):
    at = datetime(2026, 11, 24, 12, tzinfo=UTC)
    latest, days, granted = at.date(), 1, 0
    with pytest.MonkeyPatch.context() as patched, closing(open_ledger(":memory:")) as ledger:
        patched.setattr(sqlite, "now", lambda: text(at))
        ledger.set_budget("", 20, "day", MIDNIGHT)
        for number, jump in enumerate([0, *hours]):
            at += timedelta(hours=jump)
            days += at.date() > latest
            latest = max(latest, at.date())
            granted += 10 * len(asyncio.run(reserved(ledger, f"run {number}", 5)))
    assert granted == 20 * days


def test_a_new_budget_counts_what_its_period_was_charged_before(path, clock):
    clock(23)
    book(path, "yesterday", 2, cost_p=4)
    clock(24)
    book(path, "today", 3, cost_p=4)
    limit(path, 100)
    assert charged(path) == {"": 12}
    limit(path, 90)
    assert charged(path) == {"": 12}, "another limit changes nothing else"
    limit(path, 100, "total")
    assert charged(path) == {"": 20}
    limit(path, 100, "week", name="nightly")
    assert charged(path) == {"": 20, "nightly": 0}
    book(path, "night", 1, ["nightly"], cost_p=5)
    limit(path, 100, "month", name="nightly")
    assert charged(path) == {"": 25, "nightly": 5}
    with closing(open_ledger(path)) as ledger:
        ledger.remove_budget("nightly")
        with pytest.raises(InputError, match="no budget named 'nightly'"):
            ledger.remove_budget("nightly")
    assert charged(path) == {"": 25}


def test_what_was_open_when_a_budget_was_set_is_corrected(path, clock):
    async def story():
        ledger = open_ledger(path)
        (ticket,) = await reserved(ledger, "open")
        limit(path, 100)
        await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=3))
        await ledger.aclose()

    asyncio.run(story())
    assert charged(path) == {"": 3}


def test_who_holds_how_much_is_told(path, clock):
    limit(path, 100)
    book(path, "spent", cost_p=7)
    book(path, "held", 3)
    with open_reader(path) as reader:
        (found,) = reader.balances()
    assert (found.charged_p, found.held, found.left_p) == (37, {"held": 30}, 63)
    assert found.title.startswith("budget of $0.0")
    assert found.again == "it starts again at 2026-11-25 00:00 UTC"


def test_pruning_and_a_merge_leave_budgets_right(path, tmp_path, clock):
    limit(path, 100, "month")
    limit(path, 100, "total", "nightly")
    book(path, "a", 5, ["nightly"], cost_p=4)
    clock(25)
    prune(path, "2026-11-25", verdicts=True)
    assert charged(path) == {"": 20, "nightly": 20}
    team, ours = tmp_path / "team.sqlite", tmp_path / "ours.sqlite"
    limit(team, 50, "month")
    merge(team, [path])
    assert charged(team) == {"": 0}, "the money of others, and not their budgets"
    limit(ours, 50, "month")
    merge(ours, [path], own=True)
    assert charged(ours) == {"": 20}
    assert not any(verify(one).problems for one in (path, team, ours))


def test_what_is_pruned_stays_in_the_period_that_began_within_its_day(path, clock):
    clock(24, 11)
    limit(path, 100, "day", day_starts="12:00+00:00")
    book(path, "before", 2, cost_p=3)
    clock(24, 13)
    book(path, "after", 3, cost_p=3)
    assert charged(path) == {"": 9}
    prune(path, "2026-11-26", verdicts=True)
    assert (charged(path), verify(path).problems) == ({"": 9}, ())


def test_a_budget_that_is_set_anew_under_its_name_counts_what_was_charged_to_it(path, clock):
    limit(path, 100, "day", "nightly")
    book(path, "a", 2, ["nightly"], cost_p=4)
    with closing(open_ledger(path)) as ledger:
        ledger.remove_budget("nightly")
    limit(path, 100, "day", "nightly")
    assert charged(path) == {"nightly": 8}


def test_sums_that_somebody_changed_are_found(path, clock):
    limit(path, 100)
    book(path, "a", 2, cost_p=4)
    assert verify(path).problems == ()
    for change in ("budgets SET charged_p = 3", "runs SET charged_p = 3", "sums SET charged_p = 3"):
        with opened(path) as connection:
            connection.execute(f"UPDATE {change}")
    assert len(verify(path).problems) == 3


CHILD = """
import asyncio, sys
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation
from judgeloop.core.records import Reply, Verdict

async def story(run):
    ledger = open_ledger(sys.argv[1], ["nightly"])
    for number in range(60):
        call = Reservation(f"{run} {number}", 7, item_id="i", judge="j", note={})
        for tickets in await ledger.reserve(run, [[call]], None):
            await ledger.settle(tickets[0], Reply(Verdict(1.0), cost_p=5))
    await ledger.aclose()

asyncio.run(story(sys.argv[2]))
"""


@pytest.mark.processes
def test_many_processes_stay_under_the_limit_of_a_day(path):
    limit(path, 500, "total")
    limit(path, 400, "day", "nightly")
    children = [subprocess.Popen([sys.executable, "-c", CHILD, str(path), f"run{number}"]) for number in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    found = charged(path)
    with opened(path) as connection:
        (total,) = connection.execute("SELECT sum(charged_p) FROM attempts").fetchone()
    assert found == {"": total, "nightly": total}
    assert 400 - 7 < total <= 400, "all that fits was spent, and not more"
