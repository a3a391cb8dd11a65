"""Attempts of unknown cost are listed, and settled by hand or from a file; a wrong file settles nothing."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.commandline import judgeloop
from support.database import opened

from judgeloop.core.errors import LedgerError
from judgeloop.core.money import to_pico
from judgeloop.core.records import Abstention, Reply, Verdict
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation, Settlement
from judgeloop.ledger.upkeep import verify

WORST = "0.01"


@pytest.fixture
def ledger(address):
    """Attempts 1, 2 and 3 of a dead process that were sent, 4 that was not, 5 and 6 that are settled."""

    async def story():
        ledger = open_ledger(address)
        wanted = [[Reservation(f"k{at}", to_pico(WORST), f"i{at}", "openai/m", {})] for at in range(1, 7)]
        tickets = [ticket for (ticket,) in await ledger.reserve("run", wanted, None)]
        for ticket in (*tickets[:3], *tickets[4:]):
            await ledger.sending(ticket)
        await ledger.settle(tickets[4], Reply(Verdict(1.0), cost_p=to_pico("0.002"), request_id="req-5"))
        await ledger.settle(tickets[5], Reply(Abstention("no"), cost_p=to_pico("0.002"), request_id="req-6"))
        await ledger.aclose()

    asyncio.run(story())
    return address


def command(ledger, *given):
    return judgeloop("ledger", *given, "--ledger", ledger)


def charged(ledger):
    assert verify(ledger).problems == ()
    with opened(ledger) as connection:
        found = connection.execute("SELECT id, state, charged_p FROM attempts ORDER BY id").fetchall()
        assert connection.execute("SELECT charged_p FROM runs").fetchall() == [(sum(one[2] for one in found),)]
    return {number: (state, charged_p / 10**12) for number, state, charged_p in found}


UNTOUCHED = {**dict.fromkeys((1, 2, 3), ("abandoned", 0.01)), **dict.fromkeys((5, 6), ("settled", 0.002))}


def test_what_may_be_settled_is_listed(ledger):
    told = json.loads(command(ledger, "show", "--unknown", "--json").stdout)
    assert [(one["attempt"], one["item"], one["charged_usd"]) for one in told] == [
        (n, f"i{n}", 0.01) for n in (1, 2, 3)
    ]
    assert set(told[0]) == {"attempt", "began_at", "ended_at", "run", "judge", "item", "charged_usd", "outcome"}
    assert command(ledger, "show", "--unknown").stdout.count("openai/m") == 3
    assert charged(ledger) == UNTOUCHED


def test_one_is_settled_at_what_it_cost_or_at_nothing(ledger):
    assert command(ledger, "settle", "2", "$0.003").exit_code == 0
    assert command(ledger, "settle", "3", "0").exit_code == 0
    assert charged(ledger) == UNTOUCHED | {2: ("settled", 0.003), 3: ("released", 0.0)}


REFUSED = [
    (["2"], "expected ATTEMPT and DOLLARS"),
    ([], "expected ATTEMPT and DOLLARS"),
    (["2", "-1"], "dollars from 0"),
    (["2", "much"], "dollars from 0"),
    (["two", "1"], "expected a number of"),
    (["5", "1"], "it is settled, at $0.002"),
    (["99", "1"], "the ledger has no such attempt"),
    (["2", "1", "--others", "0"], "expected with"),
    (["2", "1", "--run", "run"], "or --run RUN and DOLLARS"),
]


def test_all_of_a_run_are_settled_at_once_and_none_of_another(ledger):
    command(ledger, "show", "--unknown")
    assert command(ledger, "settle", "--run", "other", "0").exit_code == 2
    assert charged(ledger) == UNTOUCHED
    done = command(ledger, "settle", "--run", "ru", "$0.001")
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 1)
    assert charged(ledger) == UNTOUCHED | dict.fromkeys((1, 2, 3), ("settled", 0.001))
    assert command(ledger, "settle", "--run", "ru", "0").exit_code == 2, "what is settled stays so"
    assert charged(ledger) == UNTOUCHED | dict.fromkeys((1, 2, 3), ("settled", 0.001))


def test_what_cannot_be_settled_is_refused(ledger):
    command(ledger, "show", "--unknown")
    for given, said in REFUSED:
        done = judgeloop("ledger", "settle", "--ledger", ledger, *given[2:], "--", *given[:2])
        assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True), (given, done.output)
        assert charged(ledger) == UNTOUCHED, given


def settled_by(ledger, tmp_path, text, *more):
    (tmp_path / "settled.csv").write_text(text)
    return command(ledger, "settle", "--file", tmp_path / "settled.csv", *more)


def test_a_file_settles_what_it_names_and_leaves_what_is_unknown(ledger, tmp_path):
    text = "attempt,cost,provider\n1,0.004,x\n3,0,y\n1,0.004,again\n"
    assert settled_by(ledger, tmp_path, text).exit_code == 0
    assert charged(ledger) == UNTOUCHED | {1: ("settled", 0.004), 3: ("released", 0.0)}


def test_an_export_of_all_requests_is_such_a_file(ledger, tmp_path):
    with opened(ledger) as connection:
        connection.execute("UPDATE attempts SET request_id = 'req-2' WHERE id = 2")
    command(ledger, "show", "--unknown")
    done = settled_by(ledger, tmp_path, "request_id,model,cost\nreq-5,m,0.002\nreq-2,m,0.005\nreq-other,m,7\n")
    assert done.exit_code == 0, done.output
    assert "1 request of the file are of no call here" in done.stdout
    assert charged(ledger) == UNTOUCHED | {2: ("settled", 0.005)}


WRONG_ROWS = [
    ("attempt,cost\n1,0.004\n5,0.004\n", "line 3: 5: expected a call of unknown cost, but it is settled"),
    ("attempt,cost\n1,0.004\n1,0.005\n", "line 3: 1: expected one cost"),
    ("attempt,cost\n1,0.004\n2,-1\n", "line 3: cost: expected dollars"),
    ("attempt,cost\n1,0.004\n2,much\n", "line 3: cost: expected dollars"),
    ("attempt,cost\n1,0.004\n2,\n", "line 3: cost: expected dollars"),
    ("attempt\n1\n", "no such column"),
    ("item,cost\n1,0.004\n", "expected the column attempt or request_id"),
    ("attempt,cost\n1,0.004\n99,1\n", "no such attempt"),
    ("attempt,cost\n1,0.004\n1e3,1\n", "expected a number of"),
]


def test_a_wrong_row_settles_nothing(ledger, tmp_path):
    command(ledger, "show", "--unknown")
    for text, said in WRONG_ROWS:
        done = settled_by(ledger, tmp_path, text)
        assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True), (text, done.output)
        assert charged(ledger) == UNTOUCHED, text


def test_an_attempt_that_is_open_is_refused(ledger, tmp_path):
    other = open_ledger(ledger)

    async def sent():
        ((ticket,),) = await other.reserve("living", [[Reservation("k9", 7, "i9", "j", {})]], None)
        await other.sending(ticket)
        return ticket.attempt

    with other.only_run("living"):
        number = asyncio.run(sent())
        done = settled_by(ledger, tmp_path, f"attempt,cost\n1,0.004\n{number},1\n")
        assert (done.exit_code, "it is open" in done.stderr) == (2, True), done.output
    other.close()


def test_others_are_those_between_the_first_and_the_last_that_the_file_names(ledger, tmp_path):
    with opened(ledger) as connection:
        for number, year in ((1, 2020), (2, 2021), (3, 2999)):
            connection.execute(f"UPDATE attempts SET began_at = '{year}-11-01T12:00:00.000+00:00' WHERE id = {number}")
    text = "attempt,request_id,cost\n1,,0.004\n,req-5,0.002\n"
    assert settled_by(ledger, tmp_path, text, "--others", "0").exit_code == 0
    assert charged(ledger) == UNTOUCHED | {1: ("settled", 0.004), 2: ("released", 0.0)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("request_id,cost\nreq-5,0.002\nreq-other,0.002\n", "are of no attempt here, and may be those"),
        ("request_id,cost\nreq-other,0.002\n", "are of no attempt here"),
    ],
)
def test_others_are_not_settled_by_a_file_that_may_have_them_under_other_names(ledger, tmp_path, text, said):
    done = settled_by(ledger, tmp_path, text, "--others", "0")
    assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True), done.output
    assert charged(ledger) == UNTOUCHED


@pytest.mark.parametrize("cost", ["0", "0.003"])
def test_a_reply_that_comes_after_all_is_charged_what_was_settled_or_what_it_costs(address, cost):
    """What an invoice said stays; where nothing was billed, as somebody thought, the reply says better."""

    async def story():
        ledger = open_ledger(address)
        ((ticket,),) = await ledger.reserve("run", [[Reservation("k", to_pico(WORST), "i", "j", {})]], None)
        await ledger.sending(ticket)
        other = open_ledger(address)
        await other.recover("run")
        request = None if cost == "0" else ""
        other.settle_unknown([Settlement(ticket.attempt, to_pico(cost), request, "by hand")])
        with pytest.raises(LedgerError, match="settled meanwhile"):
            other.settle_unknown([Settlement(ticket.attempt, 5, "again", "by hand")])
        assert await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=to_pico("0.002"))) == Verdict(1.0)
        spend = await ledger.spend("run", None)
        await ledger.aclose()
        await other.aclose()
        return spend.charged_p

    assert asyncio.run(story()) == to_pico("0.002" if cost == "0" else "0.003")
