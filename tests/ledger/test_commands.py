"""Each command that looks after a ledger does the same in a file and on a server."""

from __future__ import annotations

import csv
import io
import json

import pytest
from support.booked import COST_P, WORST_P, known, write
from support.commandline import judgeloop
from support.database import opened
from support.outputs import two_files

from judgeloop.core import work
from judgeloop.core.money import to_usd

ITEMS = {"a": 1.0, "b": 0.0}


def values(*command, ledger):
    done = judgeloop(*command, "--ledger", ledger, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_budgets_are_set_shown_charged_and_removed(address):
    write(address, ITEMS, limit_p=10**12)
    assert judgeloop("budget", "set", "--name", "nightly", "5", "--per", "week", "--ledger", address).exit_code == 0
    found = {one["name"]: one for one in values("budget", ledger=address)}
    assert {name: (one["limit_usd"], one["per"]) for name, one in found.items()} == {
        "": (1.0, "day"), "nightly": (5.0, "week"),
    }  # fmt: skip
    assert (found[""]["spent_usd"], found["nightly"]["spent_usd"]) == (pytest.approx(2 * COST_P / 10**12), 0)
    assert judgeloop("budget", "set", "2", "--per", "day", "--ledger", address).exit_code == 0
    changed = {one["name"]: one for one in values("budget", ledger=address)}
    assert (changed[""]["limit_usd"], changed[""]["spent_usd"]) == (2.0, found[""]["spent_usd"])
    assert judgeloop("budget", "remove", "--name", "nightly", "--ledger", address).exit_code == 0
    assert [one["name"] for one in values("budget", ledger=address)] == [""]
    assert judgeloop("budget", "remove", "--name", "nightly", "--ledger", address).exit_code == 2


def test_an_export_has_a_line_for_each_request(address):
    write(address, ITEMS, outputs=["o"], unknown=1, in_flight=1)
    done = judgeloop("ledger", "export", "--ledger", address)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["item_id"], row["state"]) for row in rows] == [
        ("a", "settled"), ("b", "settled"), ("o", "settled"), ("unknown0", "abandoned"), ("open0", "sent"),
    ]  # fmt: skip
    assert [row["usd"] for row in rows] == [f"{to_usd(cost_p):f}" for cost_p in [COST_P] * 3 + [WORST_P] * 2]


def test_a_ledger_is_sound_until_somebody_changes_it(address):
    write(address, ITEMS, outputs=["o"])
    done = judgeloop("ledger", "verify", "--ledger", address)
    assert done.exit_code == 0, done.output
    with opened(address) as connection:
        connection.execute("UPDATE verdicts SET score = 0.5 WHERE seq = 1")
        connection.execute("UPDATE runs SET charged_p = 0")
    done = judgeloop("ledger", "verify", "--ledger", address)
    assert (done.exit_code, done.output.count("row 1 of verdicts"), done.output.count("the run night")) == (1, 1, 1)


def test_old_verdicts_go_if_asked_and_what_was_charged_stays(address):
    write(address, ITEMS, limit_p=10**12)
    tomorrow = "2999-01-01"
    before = values("ledger", "show", ledger=address)["state"]
    assert judgeloop("ledger", "prune", "--older-than", tomorrow, "--ledger", address).exit_code == 0
    assert known(address, ITEMS) == ITEMS
    done = judgeloop("ledger", "prune", "--older-than", tomorrow, "--verdicts", "--ledger", address)
    assert (done.exit_code, known(address, ITEMS)) == (0, {}), done.output
    assert values("ledger", "show", ledger=address)["state"] == before
    (budget,) = values("budget", ledger=address)
    assert budget["spent_usd"] == pytest.approx(2 * COST_P / 10**12)
    assert judgeloop("ledger", "verify", "--ledger", address).exit_code == 0


@pytest.mark.parametrize("kind", ["file", "server"])
def test_where_a_ledger_must_exist_none_is_made(tmp_path, request, kind):
    nowhere = tmp_path / "none.sqlite" if kind == "file" else request.getfixturevalue("postgres").empty()
    given = ["compare", *two_files(tmp_path, 8), "--judge", "metric:rouge1", "--ledger", nowhere]
    must = {"JUDGELOOP_LEDGER_MUST_EXIST": "true"}
    refused = judgeloop(*given, **must)
    assert (refused.exit_code, "there is no ledger there" in refused.stderr) == (2, True), refused.output
    assert kind == "server" or not nowhere.exists()
    assert judgeloop("ledger", "create", "--ledger", nowhere).exit_code == 0
    assert judgeloop("ledger", "show", "--ledger", nowhere).exit_code == 0
    assert judgeloop(*given, **must).exit_code == judgeloop(*given).exit_code


class Told:
    """Notes each step: what is done, of how many, how many were told, and whether it is over."""

    def __init__(self):
        self.steps = {}

    def __call__(self, what, of):
        self.steps[what] = [of, 0, False]
        return type("Step", (), {"done": lambda _, more: self._more(what, more), "close": lambda _: self._over(what)})()

    def _more(self, what, more):
        self.steps[what][1] += more

    def _over(self, what):
        self.steps[what][2] = True


@pytest.mark.parametrize(
    ("command", "counted", "others"),
    [
        (["ledger", "verify"], "rows checked", set()),
        (["ledger", "export"], "requests exported", set()),
        (["ledger", "prune", "--older-than", "2999-01-01"], "days summed up", {"deleting old verdicts"}),
        (["ledger", "show"], "", {"adding up charges"}),
        (["ledger", "show", "--unknown"], "", {"looking for calls of unknown cost"}),
        (["runs"], "", {"reading the list of runs"}),
        (["runs", "trend"], "runs read", {"reading the list of runs"}),
    ],
)
def test_what_takes_long_on_a_large_ledger_tells_how_far_it_is(address, command, counted, others):
    write(address, ITEMS, outputs=["o"])
    told = Told()
    with work.shown_by(told):
        judgeloop(*command, "--ledger", address)
    assert {*told.steps} >= others | ({counted} - {""})
    assert all(over for *_, over in told.steps.values())
    if counted:
        of, done, _ = told.steps[counted]
        assert done == of > 0


def test_a_merge_tells_how_many_rows_are_taken(address, tmp_path):
    write(address, ITEMS, outputs=["o"])
    told = Told()
    with work.shown_by(told):
        assert judgeloop("ledger", "merge", address, "--ledger", tmp_path / "all.sqlite").exit_code == 0
    (taken,) = (step for what, step in told.steps.items() if what.startswith("rows of"))
    assert taken == [6, 6, True], "three attempts, two verdicts, an output"
