"""`ledger prune`: old rows go, what was charged stays counted, verdicts go only if asked."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from support.commandline import judgeloop
from support.database import opened

from judgeloop.core.errors import InputError
from judgeloop.core.records import Abstention, Reply, Usage, Verdict
from judgeloop.ledger import postgres, sqlite
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.records import End, Reservation
from judgeloop.ledger.upkeep import day_before, prune, verify

CUT = "2026-03-01"
OLD, NEW = "2026-02-10T12:00:00.000+00:00", "2026-03-02T12:00:00.000+00:00"
OTHER_DAY = "2026-01-05T12:00:00.000+00:00"
UNREAD = 20


def wanted(key):
    note = {"ingredients": {"x": "y" * 600}}
    return [[Reservation(key, 10, item_id=f"item of {key}", judge="j", note=note)]]


@pytest.fixture
def path(address, monkeypatch):
    """A ledger with attempts of every end from three days, of which two are old."""

    def set_clock(when):
        monkeypatch.setattr(sqlite, "now", lambda: when)
        monkeypatch.setattr(postgres.PostgresConnection, "time", f"'{when}'")

    async def story():
        ledger = open_ledger(address)

        async def begin(key):
            ((ticket,),) = await ledger.reserve("run", wanted(key), None)
            await ledger.sending(ticket)
            return ticket

        for when in (OTHER_DAY, OLD, NEW):
            set_clock(when)
            usage = Usage(3, 1)
            reply = Reply(Verdict(1.0, "why"), cost_p=3, usage=usage)
            await ledger.settle(await begin(f"verdict {when}"), reply)
            unread = Reply(Abstention("unreadable"), cost_p=2, usage=usage)
            tickets = await asyncio.gather(*(begin(f"unread {at} {when}") for at in range(UNREAD)))
            await ledger.settle_all([(ticket, unread) for ticket in tickets])
            await ledger.release(await begin(f"failed {when}"), End.FAILED, "not connected")
        set_clock(OTHER_DAY)
        await ledger.abandon(await begin("unknown"), End.TIMED_OUT, "timed out")
        await begin("in flight")
        await ledger.aclose()

    asyncio.run(story())
    return address


def money(path):
    with open_reader(path) as reader:
        found = reader.spending()
    return {
        kind: {name: (group.attempts, group.charged_p, group.tokens) for name, group in groups.items()}
        for kind, groups in found.items()
    }


def keys(path, table="attempts"):
    with opened(path) as connection:
        return [key for (key,) in connection.execute(f"SELECT key FROM {table} ORDER BY 1")]


def test_old_attempts_become_one_a_day_and_all_sums_stay(path):
    before = money(path)
    found = prune(path, CUT)
    assert (found.attempts, found.verdicts) == (UNREAD + 1, 0)
    assert money(path) == before
    left = keys(path)
    assert left.count("") == 2, "one for the day, the run, the judge and each state"
    assert {f"unread {at} {NEW}" for at in range(UNREAD)} < set(left)
    assert {"unknown", "in flight", f"verdict {OLD}"} < set(left)
    assert f"unread 0 {OTHER_DAY}" in left, "a day with a call of unknown cost stays"
    if isinstance(path, str):
        assert found.sizes is None, "a server shrinks its own"
    else:
        assert found.sizes[1] < found.sizes[0]
    assert verify(path).problems == ()


def test_pruning_twice_changes_nothing_more(path):
    prune(path, CUT, verdicts=True)
    before = money(path), keys(path)
    assert prune(path, CUT, verdicts=True).attempts == 0
    assert (money(path), keys(path)) == before


def test_verdicts_go_only_if_asked(path):
    prune(path, CUT)
    assert len(keys(path, "verdicts")) == 3
    before = money(path)
    assert prune(path, CUT, verdicts=True).verdicts == 2
    assert keys(path, "verdicts") == [f"verdict {NEW}"]
    assert money(path) == before
    assert verify(path).problems == ()


def test_a_pruned_ledger_goes_on_and_gives_no_number_twice(path):
    with opened(path) as connection:
        (last,) = connection.execute("SELECT max(id) FROM attempts").fetchone()
    prune(path, "2027-01-01", verdicts=True)

    async def story():
        ledger = open_ledger(path)
        ((ticket,),) = await ledger.reserve("run", wanted("new"), None)
        assert await ledger.settle(ticket, Reply(Verdict(0.0), cost_p=1)) == Verdict(0.0)
        spend = await ledger.spend("run", None)
        await ledger.aclose()
        return ticket.attempt, spend

    number, spend = asyncio.run(story())
    assert number > last
    assert spend.charged_p == 3 * 3 + 3 * UNREAD * 2 + 10 + 10 + 1
    assert spend.replies_without_usage == 0


@pytest.mark.parametrize("given", ["soon", "-1", "1.5", "١٢", "999999", "99999999999", "2026-13-01", ""])
def test_what_is_neither_days_nor_a_date_is_refused(given):
    with pytest.raises(InputError, match="a number of days, such as 90, or a date"):
        day_before(given, date(2026, 3, 1))


def test_the_command_says_what_went(path):
    done = judgeloop("ledger", "prune", "--older-than", CUT, "--ledger", path)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(
        f"{UNREAD + 1} calls and 0 verdicts from before 2026-03-01 deleted; what was charged stays counted\n"
    )


def test_what_is_not_there_is_not_pruned(tmp_path):
    missing = judgeloop("ledger", "prune", "--older-than", "30", "--ledger", tmp_path / "none")
    assert missing.exit_code == 2
    assert "there is no ledger there" in missing.stderr
    assert not (tmp_path / "none").exists()
