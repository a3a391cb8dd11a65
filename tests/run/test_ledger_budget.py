"""`ledger_budget`: what all runs of a ledger may cost together, whoever asks and however many."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.commandline import judgeloop

from judgeloop.core.ledger import Reservation
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger.sqlite import SqliteLedger


def wanted(run, number):
    return [[Reservation(f"{run}{at}", 10, f"i{at}", "judge", {})] for at in range(number)]


def test_runs_of_one_ledger_share_it(tmp_path):
    async def story():
        first, second = (SqliteLedger(tmp_path / "ledger.sqlite", 100) for _ in (0, 1))
        granted = await first.reserve("a", wanted("a", 7), None)
        assert len(granted) == 7
        assert len(await second.reserve("b", wanted("b", 7), None)) == 3
        assert await first.reserve("a", wanted("c", 1), None) == []
        for (ticket,) in granted:
            await first.settle(ticket, Reply(Verdict(1.0), cost_p=4))
        assert (await second.spend("b", None)).left_p == 100 - 28 - 30
        assert len(await second.reserve("b", wanted("d", 9), None)) == 4
        await first.aclose()
        await second.aclose()

    asyncio.run(story())


@pytest.mark.parametrize(("budget", "granted"), [(20, 2), (500, 6), (None, 6)])
def test_the_smaller_of_both_limits_holds(tmp_path, budget, granted):
    async def story():
        ledger = SqliteLedger(tmp_path / "ledger.sqlite", 60)
        assert len(await ledger.reserve("a", wanted("a", 9), budget)) == granted
        spend = await ledger.spend("a", budget)
        assert spend.left_p == min(60, budget or 60) - 10 * granted
        await ledger.aclose()

    asyncio.run(story())


def test_many_at_once_never_exceed_it(tmp_path):
    async def story():
        ledgers = [SqliteLedger(tmp_path / "ledger.sqlite", 200) for _ in range(4)]
        asked = [
            one.reserve(f"{at}-{n}", wanted(f"{at}-{n}-", 3), 1000)
            for n in range(6)
            for at, one in enumerate(ledgers)
        ]
        granted = await asyncio.gather(*asked)
        assert sum(map(len, granted)) == 20
        for ledger in ledgers:
            await ledger.aclose()

    asyncio.run(story())


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    for name in ("old", "new"):
        rows = [{"id": n, "prompt": f"p{n}", "output": f"{name} {n}"} for n in range(60)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = "".join(f"{n},old,new,{n % 2},0.01\n" for n in range(60))
    (tmp_path / "verdicts.csv").write_text("item_id,model_a,model_b,score,cost_usd\n" + scores)
    return ["old.jsonl", "new.jsonl", "--judge", "replay:verdicts.csv"]


def command(*arguments):
    return judgeloop("compare", *arguments)


def test_each_run_has_its_own_budget_and_all_have_one_limit(files):
    """Recorded costs count, as they do against the budget."""
    runs = [
        command(*files, "--seed", seed, "--budget", "0.2", "JUDGELOOP_LEDGER_BUDGET=0.5", "--json")
        for seed in range(4)
    ]
    values = [json.loads(run.stdout) for run in runs]
    assert [run.exit_code for run in runs] == [3, 3, 3, 3]
    assert sum(value["rehearsed_usd"] for value in values) == pytest.approx(0.5)
    last = command(*files, "--seed", "9", "JUDGELOOP_LEDGER_BUDGET=0.5")
    assert last.exit_code == 3
    said = " ".join(last.stdout.split())
    assert "the ledger budget does not cover another judgment" in said
    assert (
        "budget of $5.00 or of the limit of $0.50 for all runs of the ledger does not cover" in said
    )
    assert "with a higher --budget or JUDGELOOP_LEDGER_BUDGET to resume" in said
    assert command(*files, "--seed", "9", "JUDGELOOP_LEDGER_BUDGET=9").exit_code in {0, 3}


def test_a_dry_run_counts_it(files):
    done = command(*files, "JUDGELOOP_LEDGER_BUDGET=0.02", "--dry-run")
    assert done.exit_code == 0
    said = "The $0.020 left of the ledger budget covers about 2 judgments"
    assert said in " ".join(done.stdout.split())
    assert "The budget of $5.00 is enough." in command(*files, "--dry-run").stdout


def test_without_a_price_it_cannot_be_kept(files):
    done = command(
        *files[:2], "--judge", "openai/unknown", "--judge-base-url", "http://localhost:1/v1",
        "--budget", "none", "JUDGELOOP_LEDGER_BUDGET=3",
    )  # fmt: skip
    assert done.exit_code == 2
    assert "the budget of $3 cannot be kept" in done.stderr
