"""Files and servers are merged into each other; copies that went on apart; a merge that is killed."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time

import pytest
from support.booked import COST_P, WORST_P, key_of, known, name_of, spent, write
from support.commandline import judgeloop
from support.database import opened
from support.patience import PATIENCE_S

from judgeloop.core.errors import InputError, NoLedgerError
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger import merging, postgres_server, upkeep
from judgeloop.ledger.merging import merge
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.records import Reservation, Settlement
from judgeloop.ledger.upkeep import prune, verify

KINDS = ("file", "server")
ITEMS = {f"k{number}": number % 2 for number in range(60)}


@pytest.fixture(params=[f"{source} into {target}" for source in KINDS for target in KINDS])
def pair(request, tmp_path):
    """The addresses of a source and a target."""
    source, _, target = request.param.split()

    def made(kind, name):
        return tmp_path / f"{name}.sqlite" if kind == "file" else request.getfixturevalue("postgres").ledger()

    return made(source, "source"), made(target, "target")


def verdict_of(address, item):
    async def look():
        ledger = open_ledger(address)
        (verdict,) = (await ledger.verdicts([key_of(item)])).values()
        await ledger.aclose()
        return verdict

    return asyncio.run(look())


def test_all_is_taken_once_and_keeps_who_answered_through_a_merge_and_a_pruning(pair):
    source, target = pair
    write(source, ITEMS, outputs=["o", "p"], unknown=2, in_flight=3)
    write(target, {"own": 1.0}, outputs=["p"], limit_p=1_000)
    looking = source.replace("//owner@", "//looking@") if isinstance(source, str) else source
    (found,) = merge(target, [looking])
    assert (found.attempts, found.verdicts, found.outputs, found.open) == (64, 60, 1, 3)
    assert (found.spent_p, found.disputed) == (62 * COST_P + 2 * WORST_P, ())
    assert known(target, [*ITEMS, "own"]) == {**ITEMS, "own": 1.0}
    told = spent(target)
    assert (told["state"], told["elsewhere"]) == (2 * COST_P, found.spent_p)
    with open_reader(target) as reader:
        (budget,) = reader.balances()
        run, *_ = (run for run in reader.runs() if "@" in run.id)
        assert (budget.charged_p, run.charged_p) == (2 * COST_P, found.spent_p)
        assert set(reader.result(run.id).texts.values()) == {"a", name_of(source)}
    assert [merge(target, [looking])[0].attempts, merge(target, [looking])[0].verdicts] == [0, 0]
    prune(target, "2999-01-01")
    assert [verify(one).problems for one in pair] == [(), ()]
    one = verdict_of(target, "k7")
    assert (one.score, one.reason, one.probabilities) == (1.0, "why", {"first": 1})
    assert (one.model, one.at[:2]) == (f"model of {name_of(source)}", "20")


@pytest.mark.parametrize("pair", ["server into file", "file into server"], indirect=True)
def test_verdicts_that_differ_are_used_by_nobody_until_one_is_preferred(pair):
    source, target = pair
    write(source, {"a": 1.0, "b": 0.0, "c": 0.0})
    write(target, {"a": 1.0, "b": 1.0})
    for _ in range(2):
        (found,) = merge(target, [source])
        assert len(found.disputed) == 1
        assert known(target, "abc") == {"a": 1.0, "c": 0.0}
    for preferred, score in ((source, 0.0), (target, 1.0), (source, 0.0)):
        done = judgeloop("ledger", "merge", source, "--ledger", target, "--prefer", preferred)
        assert (done.exit_code, known(target, "b")) == (0, {"b": score}), done.output
    assert verify(target).problems == ()


@pytest.fixture
def siblings(tmp_path):
    """Two copies of one ledger that went on apart: they differ in one of two verdicts that both have brought."""
    base, one, other = (tmp_path / f"{name}.sqlite" for name in ("base", "one", "other"))
    write(base, {"common": 1.0}, run="before")
    for path, score in ((one, 0.0), (other, 1.0)):
        shutil.copy(base, path)
        write(path, {"same": 0.5, "differs": score, path.stem: 1.0}, outputs=[f"output of {path.stem}"], unknown=1)
    return tmp_path / "team.sqlite", one, other


@pytest.mark.parametrize("turned", [False, True])
def test_copies_of_one_ledger_that_went_on_apart_do_not_decide_by_their_order(siblings, turned):
    team, *both = siblings
    one, other = sorted(both, reverse=turned)
    items = ["common", "same", "differs", "one", "other"]
    agreed = {"common": 1.0, "same": 0.5, "one": 1.0, "other": 1.0}
    for _ in range(2):
        done = judgeloop("ledger", "merge", one, other, "--ledger", team)
        assert (done.exit_code, "differs, and is not used: item differs" in done.stdout) == (1, True), done.output
        assert known(team, items) == agreed
    before = team.read_bytes()
    merge(team, [other, one])
    assert team.read_bytes() == before, "twice changes nothing"
    with opened(team) as connection:
        ids = connection.execute(
            "SELECT count(*), count(DISTINCT opener) FROM attempts WHERE key = ?", [key_of("common")]
        )
        assert ids.fetchone() == (1, 1), "what was paid for before is one attempt"
    done = judgeloop("ledger", "merge", one, other, "--ledger", team, "--prefer", other)
    assert (done.exit_code, known(team, items)) == (0, agreed | {"differs": float(other.stem == "other")})
    assert verify(team).problems == ()


def test_a_copy_is_merged_into_the_other_and_back(siblings):
    _, one, other = siblings
    (found,) = merge(one, [other])
    assert (found.attempts, found.verdicts, found.outputs, len(found.disputed)) == (5, 1, 1, 1)
    assert known(one, ["same", "differs", "other"]) == {"same": 0.5, "other": 1.0}
    (back,) = merge(other, [one])
    assert (back.verdicts, len(back.disputed)) == (1, 1)
    assert known(other, ["same", "differs", "one"]) == {"same": 0.5, "one": 1.0}
    merge(other, [one], prefer=other)
    assert known(other, ["differs"]) == {"differs": 1.0}
    assert merge(other, [one])[0].disputed == (), "it stays settled"
    assert [verify(path).problems for path in (one, other)] == [(), ()]


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("recovered", ["before the merge", "after it"])
def test_a_copy_that_was_made_while_a_call_was_in_flight_learns_how_it_ended(tmp_path, sent, recovered):
    path, copy = tmp_path / "original.sqlite", tmp_path / "copy.sqlite"

    async def booked():
        ledger = open_ledger(path)
        ((ticket,),) = await ledger.reserve("night", [[Reservation(key_of("a"), WORST_P, "a", "judge", {})]], None)
        if sent:
            await ledger.sending(ticket)
        shutil.copy(path, copy)
        if not sent:
            await ledger.sending(ticket)
        await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=COST_P, model="model"))
        await ledger.aclose()

    async def recover():
        ledger = open_ledger(copy)
        await ledger.recover("night")
        await ledger.aclose()

    asyncio.run(booked())
    steps = [lambda: asyncio.run(recover()), lambda: merge(copy, [path])]
    for step in steps if recovered == "before the merge" else reversed(steps):
        step()
    verdict = verdict_of(copy, "a")
    assert (verdict.score, verdict.model) == (1.0, "model")
    told, found = spent(copy), verify(copy)
    assert told["state"] + told.get("elsewhere", 0) == COST_P
    assert (found.rows["attempts"], found.problems) == (1, ())


@pytest.mark.parametrize("pair", ["server into file", "file into server"], indirect=True)
def test_what_was_settled_after_a_merge_is_settled_by_the_next(pair):
    source, target = pair
    write(source, {"a": 1.0}, unknown=2)
    assert merge(target, [source])[0].spent_p == COST_P + 2 * WORST_P
    ledger = open_ledger(source)
    one, other = ledger.unknown()
    billed, free = (
        Settlement(one.number, COST_P, "request", "invoice"),
        Settlement(other.number, 0, None, "never billed"),
    )
    ledger.settle_unknown([billed, free])
    ledger.close()
    for _ in range(2):
        assert merge(target, [source])[0].attempts == 0
        assert spent(target)["elsewhere"] == 2 * COST_P
    assert verify(target).problems == ()


def test_a_ledger_is_no_source_of_itself(siblings):
    _, one, _ = siblings
    with pytest.raises(InputError, match="is the ledger itself"):
        merge(one, [one.parent / "." / one.name])


def test_a_server_is_no_source_of_itself_under_another_role(postgres):
    owners = postgres.ledger()
    with pytest.raises(InputError, match="is the ledger itself"):
        merge(owners, [owners.replace("//owner@", "//looking@")])


CHILD = """
import sys
from judgeloop.ledger import merging, postgres_server, upkeep
merging.ROWS = 7

def told(rows, chunks=merging.chunks):
    for some in chunks(rows):
        print("chunk", flush=True)
        yield some

merging.chunks = told
merging.merge(sys.argv[1], sys.argv[2:])
"""


@pytest.mark.parametrize(("pair", "after"), [("server into file", 2), ("file into server", 14)], indirect=["pair"])
def test_a_merge_that_is_killed_is_ended_by_the_next(pair, after):
    source, target = pair
    write(source, ITEMS, outputs=["o", "p"], unknown=2)
    write(target, {"k3": 0.0})
    given = [sys.executable, "-c", CHILD, str(target), str(source)]
    child = subprocess.Popen(given, stdout=subprocess.PIPE, text=True)
    for _ in range(after):
        assert child.stdout.readline() == "chunk\n"
    child.kill()
    child.communicate(timeout=PATIENCE_S)
    assert verify(target).problems == ()
    (found,) = merge(target, [source])
    assert len(found.disputed) == 1
    assert known(target, ITEMS) == {item: score for item, score in ITEMS.items() if item != "k3"}
    with open_reader(target) as reader:
        charged = {run.id.partition("@")[0]: run.charged_p for run in reader.runs() if "@" in run.id}
    assert charged == {"night": 62 * COST_P + 2 * WORST_P}
    assert verify(target).rows["attempts"] == 65


@pytest.mark.parametrize("pair", ["server into file"], indirect=True)
def test_a_server_is_still_read_when_another_source_took_long(pair, tmp_path, monkeypatch):
    source, target = pair
    write(source, {"a": 1.0})
    write(other := tmp_path / "other.sqlite", {"b": 0.0})

    def slowly(db, look=upkeep.inspected):
        time.sleep(0.5)
        return look(db)

    monkeypatch.setattr(
        postgres_server,
        "SETTINGS",
        (
            "SET idle_in_transaction_session_timeout = '100ms'",
            *(one for one in postgres_server.SETTINGS if "idle" not in one),
        ),
    )
    monkeypatch.setattr(merging, "inspected", slowly)
    assert [found.verdicts for found in merge(target, [source, other])] == [1, 1]
    assert known(target, "ab") == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize("pair", ["server into server", "file into file"], indirect=True)
@pytest.mark.parametrize("where", ["judged.text", "verdicts.probabilities", "attempts.request_id", "runs.note"])
def test_a_text_that_is_too_long_is_refused_before_it_is_read(pair, monkeypatch, where):
    source, target = pair
    write(source, {"a": 1.0})
    monkeypatch.setattr(merging, "LONGEST", 2**16)
    table, column = where.split(".")
    with opened(source) as connection:
        connection.execute(f"UPDATE {table} SET {column} = '{'x' * 2**17}'")
    with pytest.raises(NoLedgerError, match="which judgeloop never writes"):
        merge(target, [source])
