"""What only a server has to promise: broken connections, roles, what it must be, and its addresses."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import subprocess
import sys
import threading
from contextlib import closing

import psycopg
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.booked import known, write
from support.database import opened
from support.patience import PATIENCE_S
from support.postgres import ROLES, memory, running

from judgeloop.cli.app import app
from judgeloop.core.errors import InputError, LedgerError, NoLedgerError
from judgeloop.core.keys import digest
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger import opening, postgres
from judgeloop.ledger.merging import merge
from judgeloop.ledger.opening import create_ledger, is_ledger, open_ledger, open_reader, place_of
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.ledger.postgres_server import escaped, restored
from judgeloop.ledger.records import KeptResult, Reservation

STATEMENTS = 14  # of a reservation and what follows, at most
END_THEM = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name LIKE 'judgeloop %' AND datname = current_database()"
)


@pytest.fixture
def ledger_at(postgres):
    return postgres.ledger()


def wanted(key="k", cost_p=10):
    return [[Reservation(key, cost_p, item_id="i", judge="j", note={"systems": ["\0", "\ue000"]})]]


async def bought(ledger, key="k", cost_p=10, run="run"):
    """Reserve, send and settle one call."""
    ((ticket,),) = await ledger.reserve(run, wanted(key, cost_p), 1000)
    await ledger.sending(ticket)
    await ledger.settle(ticket, Reply(Verdict(1.0, f"why {key} \0 \ue000 \ue0000"), cost_p=4))


class Breaking:
    """Ends the sessions of a database before one of the statements that psycopg sends."""

    def __init__(self, address, at):
        self.address, self.at, self.seen = address, at, 0

    def __call__(self):
        self.seen += 1
        if self.seen == self.at:
            with opened(self.address) as other:
                other.execute(END_THEM)


@pytest.fixture
def before_each_statement(monkeypatch):
    """Let something happen before each statement of a ledger's connection."""
    happens = []

    class Connection(psycopg.Connection):
        def execute(self, *given, **more):
            if happens and self.info.parameter_status("application_name").startswith("judgeloop "):
                happens[0]()
            return super().execute(*given, **more)

    def connect(*given, **more):
        return Connection.connect(*given, **more)

    monkeypatch.setattr(psycopg, "connect", connect)
    return happens


def test_a_connection_that_ends_between_two_statements_books_nothing_twice(ledger_at, before_each_statement):
    """A run and its keys for each statement at which it ends."""

    async def story(at):
        ledger = open_ledger(ledger_at)
        breaking = Breaking(ledger_at, at)
        before_each_statement[:] = [breaking]
        with ledger.only_run(f"run {at}"):
            for key in "ab":
                await bought(ledger, f"{key} {at}", run=f"run {at}")
        before_each_statement.clear()
        await ledger.aclose()
        return breaking.seen

    for at in range(1, STATEMENTS * 3):
        seen = asyncio.run(story(at))
        with opened(ledger_at) as connection:
            rows = connection.execute(f"SELECT key, state, charged_p FROM attempts WHERE key LIKE '% {at}' ORDER BY id")
            assert rows.fetchall() == [(f"a {at}", "settled", 4), (f"b {at}", "settled", 4)], at
            assert connection.execute(f"SELECT charged_p FROM runs WHERE id = 'run {at}'").fetchall() == [(8,)], at
            assert connection.execute("SELECT sum(attempts), sum(charged_p) FROM sums").fetchall() == [
                (2 * at, 8 * at)
            ], at
        assert seen >= STATEMENTS, "as many statements as the test goes through"


@pytest.mark.anyio
async def test_a_commit_whose_answer_is_lost_is_looked_up(ledger_at, monkeypatch):
    """The server carries the COMMIT out, and the connection breaks before it says so."""
    real, broken = psycopg.Connection.execute, []

    def execute(self, query, *given, **more):
        done = real(self, query, *given, **more)
        if query == "COMMIT" and not broken and self.info.parameter_status("application_name").startswith("judgeloop "):
            broken.append(True)
            self.close()
            raise psycopg.OperationalError("the connection is lost")
        return done

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    ledger = open_ledger(ledger_at)
    await bought(ledger)
    assert broken
    assert (await ledger.spend("run", None)).charged_p == 4
    await ledger.aclose()
    with opened(ledger_at) as connection:
        assert connection.execute("SELECT count(*) FROM attempts").fetchone() == (1,)


@pytest.mark.anyio
async def test_who_lost_its_run_to_another_process_sends_nothing_and_settles(ledger_at):
    one, other = open_ledger(ledger_at), open_ledger(ledger_at)
    with one.only_run("run"):
        ((sent,),) = await one.reserve("run", wanted("sent"), None)
        await one.sending(sent)
        ((unsent,),) = await one.reserve("run", wanted("unsent"), None)
        with opened(ledger_at) as connection:
            connection.execute(f"{END_THEM} AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")
        with other.only_run("run"):
            assert await other.recover("run") == (10, 10)
            with pytest.raises(LedgerError, match=r"another process works on the run run now"):
                await one.sending(unsent)
            held = await one.settle(sent, Reply(Verdict(1.0), cost_p=3))
    assert held == Verdict(1.0), "its reply is paid for, and counts"
    assert (await other.spend("run", None)).charged_p == 3
    await one.aclose()
    await other.aclose()


@pytest.mark.anyio
async def test_who_waits_for_a_call_does_not_take_a_process_whose_connection_broke_for_dead(ledger_at, monkeypatch):
    monkeypatch.setattr(postgres.PostgresConnection, "grace_s", 0.5)
    one, other = open_ledger(ledger_at), open_ledger(ledger_at)
    with one.only_run("run"):
        ((sent,),) = await one.reserve("run", wanted("k"), None)
        await one.sending(sent)
        ((unsent,),) = await one.reserve("run", wanted("unsent"), None)
        with opened(ledger_at) as connection:
            connection.execute(f"{END_THEM} AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")
        ((waits,),) = await other.reserve("other run", wanted("k"), None)
        assert (await other.sending(waits)).busy == "run"
        assert not (await one.sending(unsent)).busy, "it has connected again, and is what it was"
        await asyncio.sleep(0.6)
        assert (await other.sending(waits)).busy == "run", "it has its lock"
    assert (await other.sending(waits)).busy == "run", "since a moment only"
    await asyncio.sleep(0.6)
    await one.reserve("run", wanted("more"), None)
    assert (await other.sending(waits)).busy == "run", "it has booked meanwhile"
    await asyncio.sleep(0.6)
    assert not (await other.sending(waits)).busy
    await one.aclose()
    await other.aclose()


@pytest.mark.anyio
async def test_a_server_that_is_gone_is_one_clear_error(ledger_at, monkeypatch):
    monkeypatch.setattr(postgres, "PATIENCE_S", 0.2)
    with running(within=memory()) as server:
        ledger = open_ledger(server.ledger())
        await bought(ledger)
    with pytest.raises(LedgerError, match=r"could not be written: no connection for") as told:
        await ledger.reserve("run", wanted(), None)
    assert "\n" not in str(told.value)
    await ledger.aclose()


@pytest.mark.anyio
async def test_what_a_server_refuses_fails_alone(ledger_at):
    ledger = open_ledger(ledger_at)
    calls = [bought(ledger, "a"), bought(ledger, "b", cost_p=-1), bought(ledger, "c")]
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(one, LedgerError) for one in done] == [False, True, False]
    assert "violates check constraint" in str(done[1])
    assert set(await ledger.verdicts(["a", "b", "c"])) == {"a", "c"}
    await ledger.aclose()


@pytest.mark.anyio
async def test_texts_with_nul_come_back_as_they_were(ledger_at):
    ledger = open_ledger(ledger_at)
    await bought(ledger)
    assert (await ledger.verdicts(["k"]))["k"].reason == "why k \0 \ue000 \ue0000"
    texts = {digest("judged \0"): "judged \0"}
    ledger.keep("run", KeptResult("h\0", "t", "{}", texts))
    with open_reader(ledger_at) as reader:
        assert reader.result("run").texts == texts
    await ledger.aclose()


@given(st.text(alphabet="ab\0\ue00001"))
def test_every_text_can_be_held(text):
    held = escaped(text)
    assert "\0" not in held
    assert restored((1, held, None)) == (1, text, None)


def test_a_database_without_a_ledger_says_how_to_make_one(postgres):
    address = postgres.empty()
    assert not is_ledger(address)
    with pytest.raises(NoLedgerError, match=r"judgeloop ledger create postgresql://owner@/d\d+"):
        open_ledger(address)
    create_ledger(address)
    assert is_ledger(address)
    assert place_of(address)[0].startswith("PostgreSQL ")
    with pytest.raises(InputError, match="there is a ledger already"):
        create_ledger(address)


def test_another_version_is_refused(postgres):
    address = postgres.ledger()
    for told, said in (
        ("judgeloop ledger, version 9", "of a later judgeloop"),
        ("judgeloop ledger, version 1", "whose verdicts and spending this one does not read"),
        ("a shop", "found: a shop"),
    ):
        postgres.sql(f"COMMENT ON SCHEMA judgeloop IS '{told}'", name_of(address))
        with pytest.raises(NoLedgerError, match=said):
            open_ledger(address)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE VIEW v AS SELECT 1",
        "CREATE RULE r AS ON DELETE TO attempts DO INSTEAD NOTHING",
        "CREATE OR REPLACE FUNCTION charge() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER more AFTER INSERT ON runs EXECUTE FUNCTION charge()",
        "ALTER TABLE attempts DISABLE TRIGGER charge",
        "DROP TRIGGER charge ON attempts",
    ],
)
def test_a_database_that_somebody_changed_is_refused(postgres, change):
    address = postgres.ledger()
    postgres.sql(f"SET search_path = judgeloop; {change}", name_of(address))
    with pytest.raises(NoLedgerError, match="not as this judgeloop makes a ledger"):
        open_ledger(address)


def name_of(address):
    return address.split("/")[3].split("?")[0]


def test_a_server_that_does_not_wait_for_its_disk_is_refused():
    with (
        running("fsync=off", within=memory()) as server,
        pytest.raises(LedgerError, match="does not wait for its disk"),
    ):
        create_ledger(server.empty())


# Each command that takes a ledger, and the least of the roles that may carry it out.
FILES = ("lead.jsonl", "central.jsonl", "items.jsonl")
COMPARE = ("compare", *FILES[:2], "--items", FILES[2], "--judge")
COMMANDS = {
    ("runs", "list"): "reader",
    ("runs", "show"): "reader",
    ("runs", "trend"): "reader",
    ("ledger", "show"): "reader",
    ("ledger", "export"): "reader",
    ("ledger", "verify"): "reader",
    ("budget", "show"): "reader",
    ("ledger", "show", "--unknown"): "reader",
    (*COMPARE, "metric:rouge1"): "writer",
    ("budget", "set", "7"): "owner",
    ("budget", "remove"): "owner",
    ("ledger", "prune", "--older-than", "30", "--verdicts"): "owner",
}


def test_each_command_under_each_role(postgres, incidents, tmp_path):
    for name in FILES:
        (tmp_path / name).symlink_to(incidents / name)
    owners = postgres.ledger()
    call(owners, *COMPARE, "metric:rouge2")
    call(owners, "budget", "set", "5", "--per", "day")
    roles = ["reader", "writer", "owner"]
    for role, (command, least) in itertools.product(roles, COMMANDS.items()):
        done = call(owners.replace("//owner@", f"//{ROLES.get(role, role)}@"), *command)
        if roles.index(role) >= roles.index(least):
            assert done.exit_code == 0, (role, command, done.output)
        else:
            assert done.exit_code == 1, (role, command)
            assert "permission denied" in done.stderr


# What a reader may not do, and a writer either: nobody but the owner changes what a judge said, or raises a budget.
READERS = (
    "INSERT INTO runs (id, created_at) VALUES ('r', '')",
    "UPDATE attempts SET charged_p = 0",
    "DELETE FROM attempts",
    "UPDATE results SET headline = ''",
)
WRITERS = (
    "UPDATE verdicts SET score = 0",
    "DELETE FROM verdicts",
    "DELETE FROM outputs",
    "UPDATE outputs SET text = ''",
    "INSERT INTO disputed (attempt, key, score, reason, crc) VALUES (1, 'k', 1, '', 0)",
    "UPDATE judged SET text = ''",
    "DELETE FROM results",
    "UPDATE budgets SET limit_p = 10",
    "INSERT INTO budgets (name, limit_p, per, day_starts) VALUES ('x', 1, 'day', '')",
    "DELETE FROM budgets",
    "DELETE FROM runs",
    "UPDATE about SET id = ''",
    "ALTER TABLE attempts DISABLE TRIGGER charge",
    "CREATE TABLE judgeloop.more (x INTEGER)",
    "TRUNCATE attempts",
)


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_a_role_cannot_change_what_is_not_its_own(postgres, role):
    address = postgres.ledger()
    write(address, {"a": 1.0}, outputs=["o"], limit_p=1_000)
    for statement in WRITERS if role == "writer" else READERS + WRITERS:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), opened(as_role(address, role)) as connection:
            connection.execute(statement)


def test_a_writer_merges_until_verdicts_differ(postgres, tmp_path):
    address, mine, other = postgres.ledger(), tmp_path / "mine.sqlite", tmp_path / "other.sqlite"
    write(address, {"a": 1.0})
    write(mine, {"a": 1.0, "b": 1.0})
    write(other, {"a": 0.0, "c": 1.0})
    assert merge(as_role(address, "writer"), [mine])[0].verdicts == 1
    with pytest.raises(LedgerError, match="permission denied"):
        merge(as_role(address, "writer"), [other])
    assert known(address, "abc") == {"a": 1.0, "b": 1.0}, "nothing of the chunk that it may not take"
    assert len(merge(address, [other])[0].disputed) == 1
    assert known(address, "abc") == {"b": 1.0, "c": 1.0}


def as_role(address, role):
    return address.replace("//owner@", f"//{ROLES[role]}@")


def call(address, *given):
    return CliRunner().invoke(app, [*given, "--ledger", address])


CHILD = """
import asyncio, sys
from contextlib import closing
from judgeloop.core.errors import LedgerError
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation
from judgeloop.core.records import Reply, Verdict

async def story(ledger, run):
    await ledger.recover(run)
    for number in range(1000):
        call = Reservation(f"{run} {number}", 7, item_id="i", judge="j", note={})
        granted = await ledger.reserve(run, [[call]], None)
        for (ticket,) in granted:
            if (await ledger.sending(ticket)).known is None:
                print("sent", flush=True)
                await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=5))
        if not granted:
            break

def locked(ledger, run, attempts=100):
    # The server may not have noticed yet that the process before was killed.
    try:
        with ledger.only_run(run):
            asyncio.run(story(ledger, run))
    except LedgerError as error:
        if "another judgeloop process" not in str(error) or not attempts:
            raise
        locked(ledger, run, attempts - 1)

with closing(open_ledger(sys.argv[1])) as ledger:
    locked(ledger, sys.argv[2])
"""


@pytest.mark.processes
def test_four_processes_stay_under_the_limit_of_a_day_through_kills(ledger_at):
    with closing(open_ledger(ledger_at)) as ledger:
        ledger.set_budget("", 400, "day", "00:00+00:00")
    killed = 0
    living = [(number, start(ledger_at, number)) for number in range(4)]
    while living:
        number, child = living.pop()
        if killed < 6:
            for _ in range(3 + killed):
                child.stdout.readline()
            child.kill()
            child.communicate()
            killed += 1
            living.insert(0, (number, start(ledger_at, number)))
        else:
            child.communicate(timeout=PATIENCE_S)
            assert child.returncode == 0
    with closing(open_ledger(ledger_at)) as ledger:
        ledger.unknown()  # closes what the dead left open
    with opened(ledger_at) as connection:
        (total,) = connection.execute("SELECT sum(charged_p) FROM attempts").fetchone()
        (held,) = connection.execute("SELECT count(*) FROM verdicts").fetchone()
    assert 400 - 7 * 7 < total <= 400
    assert 5 * held + 7 * killed >= total >= 5 * held, "at most what was in flight was lost"


def start(address, number):
    return subprocess.Popen([sys.executable, "-c", CHILD, address, f"run{number}"], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me@db.example/evals", "postgresql://me@db.example/evals"),
        ("postgres://db.example:5433/evals", "postgresql://db.example:5433/evals"),
        ("postgresql:///evals?host=/run/pg&user=me", "postgresql://me@/evals?host=/run/pg"),
        ("postgresql://[::1]/evals", "postgresql://[::1]/evals"),
    ],
)
def test_an_address_is_shown_as_it_can_be_read_again(text, shown):
    assert str(PostgresAddress.of(text)) == shown
    assert PostgresAddress.of(shown) == PostgresAddress.of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgresql://me:secret@db.example/evals", "the address has a password"),
        ("postgresql://db.example/evals?password=secret", "has no 'password'"),
        ("postgresql://db.example/evals?options=-c", "has no 'options'"),
        ("postgresql://db.example/evals?sslmode=require", "does not verify the server"),
        ("postgresql://db.example:port/evals", "is no number"),
        ("postgresql://db.example/evals?dbname=other", "names its dbname twice"),
        ("postgresql:///evals?host=/nonexistent,db.example&user=me", "found a list of them .host="),
        ("postgresql://one.example,two.example/evals", "found a list of them .host="),
    ],
)
def test_a_wrong_address_is_refused_without_its_secret(text, message):
    with pytest.raises(InputError, match=message) as told:
        open_ledger(text)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("host", "mode"),
    [
        ("db.example", "verify-full"),
        ("10.0.0.1", "verify-full"),
        ("localhost", "prefer"),
        ("127.0.0.1", "prefer"),
        ("[::1]", "prefer"),
    ],
)
def test_a_distant_server_has_to_show_its_certificate(host, mode):
    assert PostgresAddress.of(f"postgresql://{host}/evals").parameters["sslmode"] == mode


SERVICE = "[team]\nhost=db.example\n"


@pytest.mark.parametrize(
    "environment",
    [
        {"PGHOST": "db.example"},
        {"PGHOSTADDR": "10.0.0.1"},
        {"PGHOST": "localhost", "PGHOSTADDR": "10.0.0.1"},
        {"PGSERVICE": "team"},
    ],
)
def test_a_server_that_the_environment_names_has_to_show_its_certificate(tmp_path, monkeypatch, environment):
    (tmp_path / "services").write_text(SERVICE)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    address = PostgresAddress.of("postgresql://me@/evals")
    assert address.parameters["sslmode"] == "verify-full"
    with pytest.raises(InputError, match="does not verify the server"):
        PostgresAddress.of("postgresql://me@/evals?sslmode=prefer")
    monkeypatch.delenv("PGSERVICE", raising=False)
    monkeypatch.setenv("PGHOST", "/run/pg,db.example")
    with pytest.raises(InputError, match="found a list of them"):
        PostgresAddress.of("postgresql://me@/evals")


@pytest.mark.parametrize(
    "environment", [{}, {"PGHOST": "/run/pg"}, {"PGHOST": "localhost"}, {"PGHOST": "db.example", "PGHOSTADDR": "::1"}]
)
def test_a_server_of_this_machine_needs_none(monkeypatch, environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert PostgresAddress.of("postgresql://me@/evals").parameters["sslmode"] == "prefer"


class FalseServer:
    """Says that it has no TLS, asks for the password in clear text, and keeps what it is told."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.told = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                way, _ = self.socket.accept()
                with way:
                    way.settimeout(PATIENCE_S)
                    if len(way.recv(8)) == 8:  # SSLRequest, or the beginning of a start-up
                        way.sendall(b"N")
                        if way.recv(4096):
                            way.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
                            self.told.append(way.recv(4096))


@pytest.mark.parametrize("hosts", ["db.example", "/nonexistent,db.example"])
def test_the_password_goes_to_nobody_whom_the_environment_names_instead(monkeypatch, hosts):
    """The false server is at an address of this machine that is said to be another one's."""
    server = FalseServer()
    monkeypatch.setattr("judgeloop.ledger.postgres_address.is_loopback", lambda address: False)
    for name, value in {"PGHOST": hosts, "PGHOSTADDR": "127.0.0.1", "PGPASSWORD": "secret"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((InputError, LedgerError)):
        open_ledger(f"postgresql://me@/evals?port={server.port}")
    server.socket.close()
    assert server.told == []


@pytest.mark.parametrize("file", ["judgeloop.toml", ".env"])
def test_a_found_file_may_not_name_a_server(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    table = "[ledger.show]\nledger = " if file.endswith("toml") else "JUDGELOOP_LEDGER="
    (tmp_path / file).write_text(f'{table}"postgresql://evil.example/db"\n')
    done = CliRunner().invoke(app, ["ledger", "show"])
    assert done.exit_code == 2
    assert "evil" not in done.stdout
    assert "found in the working folder" in done.stderr


def test_without_psycopg_an_address_says_what_to_install(monkeypatch):
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs psycopg.*pip install '\.\[team\]'"):
        open_ledger("postgresql://me@localhost/db")
