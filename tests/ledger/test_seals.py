"""A ledger that can be believed: no changed row is used, whoever changed it and however."""

from __future__ import annotations

import asyncio
import marshal
import random
import shutil
import sqlite3
import zlib
from contextlib import closing

import pytest
from judgeloop.history.verdict_columns import remembered_verdicts
from support.database import opened

from judgeloop.core.errors import DamagedLedgerError, InputError, LedgerError, NoLedgerError
from judgeloop.core.ledger import KeptResult, Reservation
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger.inspection import inspect, salvage
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.pruning import prune
from judgeloop.ledger.seals import KEY_VARIABLE, Sealer

KEY, OTHER = "k" * 32, "o" * 32
VERDICTS = 40


def key(number):
    return f"{number:064x}"


def fill(path, *, verdicts=VERDICTS):
    async def story():
        ledger = open_ledger(path)
        wanted = [
            [Reservation(key(at), 9, f"i{at}", "judge", {"ingredients": {}, "systems": ["a", "b"]})]
            for at in range(verdicts)
        ]
        for (ticket,) in await ledger.reserve("run", wanted, None):
            await ledger.settle(ticket, Reply(Verdict(1.0, f"because {ticket.attempt}"), cost_p=4))
        await ledger.aclose()

    asyncio.run(story())


def asked(path, what):
    """What a ledger answers, opened for this alone."""

    async def story():
        ledger = open_ledger(path)
        try:
            return await what(ledger)
        finally:
            await ledger.aclose()

    return asyncio.run(story())


def held(path, wanted=range(VERDICTS)):
    return asked(path, lambda ledger: ledger.verdicts([key(at) for at in wanted]))


def spend(path):
    return asked(path, lambda ledger: ledger.spend("run", None))


def tamper(path, statement):
    with opened(path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A ledger and a signed one, of which every test takes a copy."""
    folder = tmp_path_factory.mktemp("filled")
    fill(folder / "plain.sqlite")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, KEY)
        fill(folder / "signed.sqlite")
    return folder


@pytest.fixture
def path(tmp_path, filled):
    return shutil.copy(filled / "plain.sqlite", tmp_path / "ledger.sqlite")


@pytest.fixture
def signed(tmp_path, filled, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return shutil.copy(filled / "signed.sqlite", tmp_path / "ledger.sqlite")


@pytest.mark.parametrize(
    "change",
    [
        "score = 1 - score",
        "reason = 'another'",
        "ingredients = randomblob(28)",
        f"key = '{key(99)}'",
        "attempt = attempt + 1",
    ],
)
def test_a_changed_verdict_is_refused_and_the_others_are_not(path, change):
    tamper(path, f"UPDATE verdicts SET {change} WHERE seq = 7")
    with pytest.raises(DamagedLedgerError, match=r"row 7 of the table verdicts .* changed"):
        held(path, [*range(VERDICTS), 99])
    assert len(held(path, [at for at in range(VERDICTS) if at != 6])) == VERDICTS - 1


def test_two_rows_that_change_places_are_refused(path):
    """Each value was once written here, but not in its place."""
    tamper(path, "UPDATE verdicts SET seq = 1000 WHERE seq = 1")
    with pytest.raises(DamagedLedgerError, match="row 1000"):
        held(path)


@pytest.mark.parametrize("table", ["attempts WHERE id = 5", "runs"])
def test_a_changed_charge_is_refused(path, table):
    name, _, where = table.partition(" WHERE ")
    tamper(path, f"UPDATE {name} SET charged_p = 0 {'WHERE ' + where if where else ''}")
    with pytest.raises(DamagedLedgerError):
        spend(path)


def test_a_changed_run_reserves_nothing(path):
    tamper(path, "UPDATE runs SET charged_p = 0")
    wanted = [[Reservation("k", 1, "i", "j", {})]]
    with pytest.raises(DamagedLedgerError, match="row 1 of the table runs"):
        asked(path, lambda ledger: ledger.reserve("run", wanted, 1000))


def test_no_flipped_bit_changes_a_verdict_silently(path, tmp_path):
    """Every flip is refused, or found by `verify`, or changes nothing that is read."""
    tamper(path, "VACUUM")  # so that the file holds no remains of pages
    true, whole = held(path), path.read_bytes()
    rng = random.Random(0)
    # Bits of the scores, keys and reasons themselves, and bits anywhere in the file.
    aimed = [whole.index(f"because {at}".encode()) + rng.randrange(-70, 9) for at in range(1, 31)]
    anywhere = [rng.randrange(100, len(whole)) for _ in range(60)]
    refused = 0
    for at in (*aimed, *anywhere):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << rng.randrange(8)
        copy = tmp_path / "flipped.sqlite"
        copy.write_bytes(flipped)
        try:
            found = held(copy)
        except LedgerError:
            refused += 1
            continue
        finally:
            if at in aimed:
                assert inspect(copy).problems
        assert found.items() <= true.items(), "a verdict that nobody gave"
    assert refused >= 5


def resealed(path, seq):
    """Turn a verdict round with a right checksum, as somebody does who read our code."""
    with opened(path) as connection:
        found = connection.execute("SELECT * FROM verdicts WHERE seq = ?", (seq,)).fetchone()
        *row, seal = found
        row[3] = 1 - row[3]
        crc = zlib.crc32(marshal.dumps(tuple(row), 2), zlib.crc32(b"verdicts")).to_bytes(4, "big")
        connection.execute("UPDATE verdicts SET score = ?, seal = ? WHERE seq = ?", (row[3], crc + seal[4:], seq))


def test_the_checksum_alone_is_no_protection_from_somebody_who_makes_it_anew(path):
    resealed(path, 7)
    assert held(path)[key(6)].score == 0.0


def test_with_a_key_a_verdict_with_a_right_checksum_is_refused(signed):
    assert len(held(signed)) == VERDICTS
    resealed(signed, 7)
    with pytest.raises(DamagedLedgerError, match=f"row 7 .* not written with this {KEY_VARIABLE}"):
        held(signed)


@pytest.mark.parametrize(
    ("ledger", "set_key", "error", "said"),
    [
        ("path", KEY, LedgerError, "is not signed with JUDGELOOP_LEDGER_KEY"),
        ("path", "secret", InputError, "expected at least 16 characters, found 6"),
        ("signed", OTHER, DamagedLedgerError, "not written with this JUDGELOOP_LEDGER_KEY"),
        ("signed", "", LedgerError, "is signed; set JUDGELOOP_LEDGER_KEY"),
    ],
)
def test_a_ledger_is_read_with_its_own_key_alone(request, monkeypatch, ledger, set_key, error, said):
    place = request.getfixturevalue(ledger)
    monkeypatch.setenv(KEY_VARIABLE, set_key)
    with pytest.raises(error, match=said):
        held(place)


def test_with_a_key_a_row_without_a_signature_is_refused(signed):
    tamper(signed, "UPDATE verdicts SET seal = CAST(substr(seal, 1, 4) AS BLOB) WHERE seq = 2")
    with pytest.raises(DamagedLedgerError, match=r"row 2 .* is not signed"):
        held(signed)


def test_a_row_of_another_ledger_with_the_same_key_is_refused(signed, tmp_path):
    fill(tmp_path / "other.sqlite", verdicts=1)
    with opened(tmp_path / "other.sqlite") as connection:
        row = connection.execute("SELECT * FROM verdicts").fetchone()
    tamper(signed, "DELETE FROM verdicts WHERE seq = 1")
    with opened(signed) as connection:
        connection.execute(f"INSERT INTO verdicts VALUES ({', '.join('?' * len(row))})", row)
    with pytest.raises(DamagedLedgerError, match="row 1 "):
        held(signed)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON verdicts BEGIN UPDATE runs SET charged_p = 0; END", "a strange trigger t"),
        ("CREATE TABLE more (x)", "a strange table more"),
        ("CREATE VIEW v AS SELECT 1", "a strange view v"),
        ("DROP INDEX attempts_by_key", "it lacks 'CREATE INDEX attempts_by_key"),
        ("ALTER TABLE runs ADD COLUMN x TEXT", "a strange table runs"),
    ],
)
def test_a_schema_that_is_not_ours_is_refused(path, statement, said):
    tamper(path, statement)
    with pytest.raises(NoLedgerError, match=said):
        open_ledger(path)
    assert any(said in problem for problem in inspect(path).problems)


def test_verify_finds_nothing_in_a_sound_ledger(signed):
    found = inspect(signed)
    assert found.signed
    assert found.problems == ()
    assert found.rows == {
        "about": 1,
        "runs": 1,
        "attempts": VERDICTS,
        "sums": 1,
        "verdicts": VERDICTS,
        "texts": 1,
        "outputs": 0,
        "results": 0,
        "judged": 0,
        "budgets": 0,
        "draws": 0,
    }


def test_verify_lists_every_changed_row(path):
    tamper(path, "UPDATE verdicts SET score = 0 WHERE seq IN (3, 9)")
    tamper(path, "UPDATE attempts SET charged_p = 1 WHERE id = 4")
    problems = inspect(path).problems
    assert [problem for problem in problems if "verdicts" in problem] == [
        f"row {at} of verdicts was changed after it was written (its checksum does not match)" for at in (3, 9)
    ]
    assert any("row 4 of attempts" in problem for problem in problems)
    assert any("is not charged the sum of its attempts" in problem for problem in problems)


def test_salvage_copies_what_can_be_believed_and_loses_no_charge(path, tmp_path):
    tamper(path, "UPDATE verdicts SET score = 0 WHERE seq = 3")
    tamper(path, "UPDATE attempts SET judge = 'x' WHERE id = 4")
    target = tmp_path / "new.sqlite"
    found = salvage(path, target)
    none = dict.fromkeys(("runs", "outputs", "results", "judged", "budgets", "draws"), 0)
    assert found.left == none | {"attempts": 1, "verdicts": 1}
    assert inspect(target).problems == ()
    true = held(target)
    assert key(2) not in true
    assert len(true) == VERDICTS - 1, "the verdict of the lost attempt is kept"
    assert spend(target).charged_p == 4 * VERDICTS


def test_salvage_and_pruning_know_results_with_their_texts(path, tmp_path):
    with closing(open_ledger(path)) as ledger:
        ledger.keep("one", KeptResult("old", "text", "{}", {"d1": "a prompt", "d2": "of both"}))
        ledger.keep("two", KeptResult("new", "text", "{}", {"d2": "of both"}))
    target = tmp_path / "new.sqlite"
    assert salvage(path, target).copied["judged"] == 2
    with open_reader(target) as reader:
        assert reader.result("one").texts == {"d1": "a prompt", "d2": "of both"}
    with closing(sqlite3.connect(target)) as connection, connection:
        connection.execute("DELETE FROM results WHERE run = 'one'")
    prune(target, "2020-01-01", verdicts=True)
    with open_reader(target) as reader:
        assert list(reader.headlines()) == ["two"]
        assert reader.result("two").texts == {"d2": "of both"}
    with closing(sqlite3.connect(target)) as connection:
        assert [one for (one,) in connection.execute("SELECT digest FROM judged")] == ["d2"]
    prune(target, "2999-01-01", verdicts=True)
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("SELECT count(*) FROM judged").fetchone() == (0,)


def test_salvage_reads_behind_a_damaged_page(path, tmp_path):
    whole = bytearray(path.read_bytes())
    page = whole.index(b"because 20") // 4096
    whole[page * 4096 : page * 4096 + 100] = bytes(100)
    path.write_bytes(whole)
    assert inspect(path).problems
    found = salvage(path, tmp_path / "new.sqlite")
    assert found.copied["attempts"] + found.copied["verdicts"] > 0
    assert inspect(tmp_path / "new.sqlite").problems == ()


def test_salvage_signs_what_its_caller_believes(path, tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    assert salvage(path, tmp_path / "none.sqlite").copied["verdicts"] == 0, "none is signed"
    assert salvage(path, tmp_path / "new.sqlite", sign=True).copied["verdicts"] == VERDICTS
    assert len(held(tmp_path / "new.sqlite")) == VERDICTS
    assert inspect(tmp_path / "new.sqlite").problems == ()


def test_salvage_overwrites_nothing(path, tmp_path):
    (tmp_path / "there").write_text("x")
    with pytest.raises(InputError, match="exists"):
        salvage(path, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "x"


def test_a_cost_that_no_column_holds_is_a_ledger_error(path):
    async def settle(ledger):
        (ticket,) = (await ledger.reserve("run", [[Reservation("k", 1, "i", "j", {})]], None))[0]
        with pytest.raises(LedgerError, match="cannot be written to the ledger"):
            await ledger.settle(ticket, Reply(Verdict(1.0), cost_p=10**30))

    asked(path, settle)


def test_a_row_without_a_checksum_is_listed_and_left_behind(path, tmp_path):
    """A flipped bit can give a value another type, which the table does not allow."""
    with opened(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        select = "SELECT sql FROM sqlite_master WHERE name = 'verdicts'"
        (sql,) = connection.execute(select).fetchone()
        loose = sql.replace("seal        BLOB NOT NULL", "seal BLOB")
        change = "UPDATE sqlite_master SET sql = ? WHERE name = 'verdicts'"
        connection.execute(change, (loose,))
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        connection.execute(f"PRAGMA schema_version = {version + 1}")
    with opened(path) as connection:
        connection.execute("UPDATE verdicts SET seal = NULL WHERE seq = 3")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(change, (sql,))
        connection.execute(f"PRAGMA schema_version = {version + 2}")
    assert any("row 3 of verdicts" in problem for problem in inspect(path).problems)
    assert salvage(path, tmp_path / "new.sqlite").left["verdicts"] == 1
    with pytest.raises(DamagedLedgerError, match="row 3 of the table verdicts"):
        remembered_verdicts(path, None, begin=False)


def test_the_seal_of_a_row_is_the_same_in_every_version_of_python():
    row = (7, None, "é", 0.5, "1", 1, 2**40)
    assert Sealer("").seal("verdicts", row).hex() == "1e17feb9"
    assert len({Sealer("").seal("verdicts", (value,)) for value in (1, 1.0, "1", None)}) == 4
