"""`ledger merge`: what others paid for is known here, once, and their money stays theirs."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest
from support.booked import COST_P, WORST_P, key_of, known, noted, spent, write
from support.commandline import judgeloop
from support.database import opened

from judgeloop.core.errors import DamagedLedgerError, InputError, NoLedgerError
from judgeloop.ledger.answers import checksum
from judgeloop.ledger.merging import merge
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.records import End, Reservation
from judgeloop.ledger.upkeep import prune, verify

# The item, the judge, the systems as shown, and each verdict with its run.
SAID = "item {}, judge, old before new: {} in run {} and {} in run {}"


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "team.sqlite", tmp_path / "anna.sqlite", tmp_path / "ben.sqlite"


@pytest.mark.simulation
def test_ten_thousand_overlapping_rows_are_each_taken_once(paths):
    team, anna, ben = paths
    write(anna, {f"k{n}": n % 2 for n in range(6_000)}, in_flight=2)
    write(ben, {f"k{n}": n % 2 for n in range(4_000, 10_000)}, outputs=["o1"], unknown=1)
    first, second = merge(team, [anna, ben])
    assert (first.attempts, first.verdicts, first.open) == (6_000, 6_000, 2)
    assert (second.attempts, second.verdicts, second.outputs) == (6_002, 4_000, 1)
    assert second.spent_p == 6_001 * COST_P + WORST_P
    assert (first.disputed, second.disputed) == ((), ())
    assert known(team, [f"k{n}" for n in range(10_000)]) == {f"k{n}": n % 2 for n in range(10_000)}
    assert not verify(team).problems
    assert verify(team).rows["verdicts"] == 10_000
    before = team.read_bytes()
    again = merge(team, [ben, anna])
    assert [(one.attempts, one.verdicts, one.outputs) for one in again] == [(0, 0, 0)] * 2
    assert team.read_bytes() == before, "merging twice changes nothing"


def test_money_of_others_counts_for_no_budget_unless_the_caller_says_so(paths):
    team, anna, ben = paths
    write(team, {"k0": 1.0})
    write(anna, {"k1": 1.0, "k2": 0.0}, unknown=1)
    merge(team, [anna])
    theirs_p = 2 * COST_P + WORST_P
    assert spent(team) == {
        "day": COST_P, "systems": COST_P, "judge": COST_P, "run": COST_P, "state": COST_P,
        "elsewhere": theirs_p,
    }  # fmt: skip
    with open_reader(team) as reader:
        assert len(list(reader.requests())) == 1, "an invoice is for what was spent here"
        unread = reader.requests()  # as where nobody reads on
        next(unread)
    del unread
    # A budget of all runs of this ledger leaves room for what others spent.
    write(team, {"k3": 1.0}, limit_p=COST_P + WORST_P)
    assert known(team, ["k1", "k3"]) == {"k1": 1.0, "k3": 1.0}
    merge(ben, [anna], own=True)
    assert (spent(ben)["state"], "elsewhere" in spent(ben)) == (theirs_p, False)
    assert not verify(ben).problems


def test_what_comes_back_is_known_as_ones_own(paths):
    team, anna, ben = paths
    write(anna, {"k1": 1.0})
    write(ben, {"k2": 0.0})
    merge(team, [anna])
    merge(ben, [team])
    (back,) = merge(anna, [ben])
    assert (back.attempts, back.verdicts) == (1, 1), "not its own attempt once more"
    assert known(anna, ["k1", "k2"]) == {"k1": 1.0, "k2": 0.0}


def test_results_come_with_their_texts_each_once(paths):
    team, anna, ben = paths
    write(anna, {"k1": 1.0})
    write(ben, {"k1": 1.0})
    for _ in range(2):
        merge(team, [anna, ben])
    with open_reader(team) as reader:
        runs = [run.id for run in reader.runs()]
        assert sorted(runs) == sorted({f"night@{ledger[:12]}" for ledger in map(id_of, (anna, ben))})
        names = {name for run in runs for name in reader.result(run).texts.values()}
    assert names == {"a", "anna.sqlite", "ben.sqlite"}
    with opened(team) as connection:
        assert connection.execute("SELECT count(*) FROM judged").fetchone() == (3,)


def id_of(path):
    with open_reader(path) as reader:
        return reader.id


def test_a_copy_that_went_its_own_way_is_merged_with_what_is_new_in_it(paths):
    team, anna, _ = paths
    write(team, {"k1": 1.0})
    shutil.copy(team, anna)
    write(anna, {"k2": 0.0})
    write(team, {"k3": 0.5})
    (found,) = merge(team, [anna])
    assert (found.attempts, found.verdicts) == (1, 1)
    assert known(team, ["k1", "k2", "k3"]) == {"k1": 1.0, "k2": 0.0, "k3": 0.5}
    assert spent(team)["elsewhere"] == COST_P


def test_verdicts_that_differ_are_reported_and_not_used_until_one_is_preferred(paths):
    team, anna, _ = paths
    write(team, {"k1": 1.0, "k2": 1.0})
    write(anna, {"k1": 0.0, "k2": 1.0})
    for _ in range(2):
        (found,) = merge(team, [anna])
        (said,) = found.disputed
        assert re.fullmatch(SAID.format("k1", 1, "night", 0, "night@[0-9a-f]{12}"), said), said
        assert known(team, ["k1", "k2"]) == {"k2": 1.0}
        assert (verify(team).rows["verdicts"], verify(team).rows["disputed"]) == (1, 2)
    for preferred, score in ((anna, 0.0), (team, 1.0), (anna, 0.0)):
        (found,) = merge(team, [anna], prefer=preferred)
        assert (found.disputed, known(team, ["k1"])) == ((), {"k1": score})
        (later,) = merge(team, [anna])
        assert (later.disputed, known(team, ["k1"])) == ((), {"k1": score}), "it stays settled"
    assert not verify(team).problems


def test_sources_that_differ_from_each_other_settle_nothing_by_their_order(paths):
    team, anna, ben = paths
    write(anna, {"k": 0.0})
    write(ben, {"k": 1.0})
    first, second = merge(team, [anna, ben])
    assert first.disputed == ()
    assert re.fullmatch(SAID.format("k", 0, "night@.+", 1, "night@.+"), *second.disputed)
    assert known(team, ["k"]) == {}
    merge(team, [anna, ben], prefer=ben)
    assert known(team, ["k"]) == {"k": 1.0}


def test_a_verdict_that_was_asked_for_anew_settles_the_dispute(paths):
    team, anna, _ = paths
    write(team, {"k": 1.0})
    write(anna, {"k": 0.0})
    merge(team, [anna])
    write(team, {"k": 0.5})
    (found,) = merge(team, [anna])
    assert (found.disputed, known(team, ["k"])) == ((), {"k": 0.5})


def test_an_output_of_ones_own_stays(paths):
    team, anna, _ = paths
    write(team, {}, outputs=["o"])
    write(anna, {}, outputs=["o", "p"])
    (found,) = merge(team, [anna])
    with opened(team) as connection:
        texts = connection.execute("SELECT text FROM outputs ORDER BY key").fetchall()
    assert (found.outputs, texts) == (
        1, [("text of o in team.sqlite",), ("text of p in anna.sqlite",)],
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT * FROM runs",
        "CREATE TABLE more (x)",
        "DROP INDEX attempts_open",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
        "DELETE FROM about",
    ],
)
def test_a_file_that_is_not_as_judgeloop_makes_it_is_refused_whole(change, paths):
    team, anna, ben = paths
    write(ben, {"k0": 1.0})
    write(anna, {"k1": 1.0})
    with opened(anna) as connection:
        connection.execute(change)
    with pytest.raises(NoLedgerError):
        merge(team, [ben, anna])
    assert not team.exists(), "nothing of the other source either"


@pytest.mark.parametrize("table", ["attempts", "verdicts", "outputs"])
def test_a_row_that_was_changed_stops_the_whole_merge(table, paths):
    team, anna, _ = paths
    write(anna, {"k1": 1.0}, outputs=["o"])
    with opened(anna) as connection:
        connection.execute(f"UPDATE {table} SET key = 'other'")
    with pytest.raises(DamagedLedgerError, match="is not sound"):
        merge(team, [anna])
    assert not team.exists()


def test_a_source_that_names_one_attempt_twice_is_charged_once(paths):
    team, anna, _ = paths
    write(anna, {"k1": 1.0}, unknown=1)
    with opened(anna) as connection:
        names = connection.execute("SELECT name FROM pragma_table_info('attempts') WHERE name <> 'id'")
        own = ", ".join(name for (name,) in names)
        taken = own.replace("opener", "'from ' || opener || ' ' || id")
        for _ in range(2):
            connection.execute(
                f"INSERT INTO attempts ({own}) SELECT {taken} FROM attempts WHERE opener NOT LIKE 'from%'"
            )
    assert not verify(anna).problems
    (found,) = merge(team, [anna], own=True)
    assert (found.attempts, found.spent_p, spent(team)["state"]) == (2, COST_P + WORST_P, COST_P + WORST_P)
    assert not verify(team).problems


def test_a_source_that_gives_an_attempt_another_key_takes_no_verdict_from_it(paths):
    team, anna, _ = paths
    write(team, {"k1": 1.0, "k2": 0.0})
    shutil.copy(team, anna)
    with opened(anna) as connection:
        connection.execute("DELETE FROM verdicts WHERE key = ?", (key_of("k2"),))
        first, second = (id_ for (id_,) in connection.execute("SELECT id FROM attempts ORDER BY id"))
        connection.execute("UPDATE attempts SET key = ? WHERE id = ?", (key_of("k1"), second))
        connection.execute("UPDATE attempts SET key = 'other' WHERE id = ?", (first,))
        score, reason, probabilities = connection.execute(
            "SELECT score, reason, probabilities FROM verdicts"
        ).fetchone()
        crc = checksum("other", score, reason, probabilities)
        connection.execute("UPDATE verdicts SET key = 'other', crc = ?", (crc,))
    assert not verify(anna).problems
    merge(team, [anna])
    assert known(team, ["k1", "k2"]) == {"k1": 1.0, "k2": 0.0}
    assert not verify(team).problems


def test_a_verdict_of_an_attempt_that_is_open_stops_the_whole_merge(paths):
    team, anna, _ = paths
    write(anna, {"k1": 1.0})
    with opened(anna) as connection:
        connection.execute("UPDATE attempts SET state = 'sent', ended = NULL")
    assert len(verify(anna).problems) == 1
    with pytest.raises(DamagedLedgerError, match="is not sound"):
        merge(team, [anna])
    assert not team.exists()


def test_pruning_keeps_what_tells_merged_attempts_apart(paths):
    team, anna, _ = paths
    write(anna, {"k1": 1.0}, unknown=0)
    with_failure(anna)
    merge(team, [anna])
    prune(team, "2999-01-01")
    (again,) = merge(team, [anna])
    assert again.attempts == 0


def with_failure(path):
    async def book():
        ledger = open_ledger(path)
        wanted = Reservation("f", WORST_P, "item f", "judge", noted("f"))
        ((ticket,),) = await ledger.reserve("night", [[wanted]], None)
        await ledger.sending(ticket)
        await ledger.release(ticket, End.FAILED, "not connected")
        await ledger.aclose()

    asyncio.run(book())


def test_a_source_that_is_missing_leaves_no_new_ledger(paths):
    team, anna, _ = paths
    with pytest.raises(InputError, match=r"anna\.sqlite: there is no ledger there"):
        merge(team, [anna])
    assert not team.exists()


def test_the_command_says_what_it_took_and_what_differs(paths, monkeypatch):
    team, anna, ben = paths
    write(anna, {"k": 0.0}, in_flight=1)
    write(ben, {"k": 1.0})
    done = judgeloop("ledger", "merge", anna, ben, "--ledger", team)
    assert done.exit_code == 1, done.output
    assert f"{anna}: 1 verdict and 0 outputs taken; 1 attempt, $0.00" in done.stdout
    assert "left there: 1 open reservation" in done.stdout
    assert "differs, and is not used: item k, judge" in done.stdout
    done = judgeloop("ledger", "merge", anna, ben, "--ledger", team, "--prefer", ben)
    assert (done.exit_code, known(team, ["k"])) == (0, {"k": 1.0})
    shown = judgeloop("ledger", "show", "--ledger", team, "--json")
    assert sum(one["attempts"] for one in json.loads(shown.stdout)["elsewhere"].values()) == 2
    for more, said in (
        (["--prefer", "other.sqlite"], "expected one of the ledgers that are merged"),
        ([Path("missing.sqlite")], "missing.sqlite"),
    ):
        done = judgeloop("ledger", "merge", anna, "--ledger", team, *more)
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
