"""`select --proxy`: what is asked of whom, what it says, and that it says the same after a break."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support import commandline
from support.chat_server import candidates, verdict

from judgeloop.methods.stats.levels import Drawn, start

ITEMS, RISK = 60, 0.2
SHARES = {"best": 0.85, "fair": 0.55, "poor": 0.25, "base": 0.5}  # of items on which each is good
WORDS = {"judge": "good", "cheap": "fine"}


def said(agrees=0.9, seed=3):
    """On which items each system is good by the dear judge, and by the cheap one; shape (systems, items)."""
    rng = np.random.default_rng(seed)
    good = rng.random((len(SHARES), ITEMS)) < np.array([*SHARES.values()])[:, None]
    return good, np.where(rng.random(good.shape) < agrees, good, rng.random(good.shape) < 0.5)


@pytest.fixture
def asked(tmp_path, monkeypatch, chat_server):
    """Runs a search among files by a dear model and a cheap one; a server answers as `said` says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def answer(request, number):
        told = candidates(request)
        first, second = (WORDS[request["model"]] in told[name] for name in ("answer_A", "answer_B"))
        return verdict("tie" if first == second else "A" if first else "B")

    chat_server.respond = answer

    def ask(*more, dollars=0.05, plain=False):
        good, fine = said()
        for at, name in enumerate(SHARES):
            rows = [
                {"id": f"i{n}", "prompt": f"p{n}", "output": f"{n} {name} {'good' * g} {'fine' * f}"}
                for n, (g, f) in enumerate(zip(good[at].tolist(), fine[at].tolist(), strict=True))
            ]
            Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        prices = [
            f'["openai/{name}"]\ninput_per_mtok = {usd}\noutput_per_mtok = {usd}\n'
            for name, usd in (("judge", 50.0), ("cheap", dollars))
        ]
        Path("prices.toml").write_text("".join(prices), encoding="utf-8")
        files = [f"{name}.jsonl" for name in SHARES]
        given = [
            "--judge",
            "openai/judge",
            "--proxy",
            "openai/cheap",
            "--judge-price",
            "prices.toml",
            "--order",
            "fixed",
        ]
        given += ["--baseline", "base", "--risk", RISK, "--controls", "off"]
        done = commandline.judgeloop("select", *files, *given, *more, *([] if plain else ["--json", "-o", "r.csv"]))
        return done if plain else json.loads(done.stdout)

    return ask


def of_each(server):
    return Counter(request["model"] for request in server.requests)


def reckoned(labels):
    """Who is named, by the labels in the order asked beside all cheap verdicts; and after how many labels."""
    good, fine = (np.array(one, dtype=float) for one in said())
    cheap = fine[:-1] - fine[-1]
    names, levels = list(SHARES), start(len(SHARES), 3, RISK, ITEMS, ITEMS, beside=True)
    for place in dict.fromkeys(row["item_id"] for row in labels):
        own, item = [row for row in labels if row["item_id"] == place], int(place[1:])
        systems = [names.index(row["system"]) for row in own]
        levels = levels.after(
            [{n: Drawn((1 + good[n, item] - good[-1, item]) / 2, cheap[n, item], cheap[n].sum()) for n in systems}]
        )
    return names[levels.leader], levels.within(0.0)


@pytest.mark.parametrize("selector", ["race", "random"])
def test_the_dear_judge_decides_with_the_cheap_ones_help(asked, chat_server, selector):
    found = asked("--selector", selector)
    calls, worth = of_each(chat_server), found["proxy_worth"]
    assert calls["cheap"] == worth["verdicts"] == 3 * ITEMS, "each other system against the baseline, on every item"
    assert calls["judge"] == found["judged"] < 3 * ITEMS
    assert [request["model"] for request in chat_server.requests[: 3 * ITEMS]].count("judge") == 0, "before any label"
    rows = csv.DictReader(Path("r.csv").read_text(encoding="utf-8").splitlines())
    labels = [row for row in rows if row["in_decision"].lower() == "true"]
    assert (found["winner"], True) == reckoned(labels) == ("best", True)
    good, fine = (np.array(one, dtype=float) for one in said())
    pairs = {name: [int(row["item_id"][1:]) for row in labels if row["system"] == name] for name in SHARES}
    dear, cheap = (
        np.concatenate([(one[n, at] - one[-1, at]) - (one[n, at] - one[-1, at]).mean() for n, at in enumerate(pairs.values()) if at])
        for one in (good, fine)
    )  # fmt: skip
    assert worth["r2"] == pytest.approx(np.corrcoef(dear, cheap)[0, 1] ** 2)
    assert worth["saved"] > 0
    assert found["proxy"] == "openai/cheap"
    spent = sum(calls[name] * 420 * usd / 1e6 for name, usd in (("judge", 50.0), ("cheap", 0.05)))
    assert found["run_spent_usd"] == pytest.approx(spent)


def test_after_a_budget_that_was_too_small_it_goes_on_to_the_same_end(asked, chat_server):
    whole = asked("--ledger", "whole.db")
    for usd in (0.002, 0.5):
        assert asked("--budget", usd)["run_spent_usd"] <= usd
    rest = asked()
    assert rest["run"] == whole["run"]
    same = ("judged", "winner", "proxy_worth", "standings")
    assert {name: rest[name] for name in same} == {name: whole[name] for name in same}
    assert asked()["attempts"] == 0


def test_a_forecast_says_what_it_costs_and_what_it_probably_saves(asked, chat_server):
    found = asked("--dry-run")
    assert [("<- chosen" in line) for line in found["ways"]] == [False, True, False, False]
    assert f"{3 * ITEMS} cheap" in found["ways"][1]
    with_it, without = (int(line.split(" labels")[0].split()[-1]) for line in found["ways"][1:3])
    assert 0.85 * without < with_it < without
    assert found["calls"]["worst"] == 6 * ITEMS
    assert not chat_server.requests


def test_a_judge_that_is_not_worth_its_price_is_not_asked(asked, chat_server):
    done = asked(dollars=40.0, plain=True)
    assert "openai/cheap is not asked: it would save less than it costs" in " ".join(done.stderr.split())
    assert of_each(chat_server).keys() == {"judge"}
    assert asked(dollars=40.0)["proxy_worth"] is None
    assert asked("--dry-run", "--ledger", "none.db", dollars=40.0)["calls"]["worst"] == 3 * ITEMS


def test_with_a_wide_gap_it_saves_nothing_and_is_not_asked(asked, chat_server):
    assert asked("--min-gap", 0.2, dollars=0.0)["winner"] == "best"
    assert of_each(chat_server).keys() == {"judge"}
    assert asked("--min-gap", 0.04, "--ledger", "other.db", dollars=0.0)["proxy_worth"]["verdicts"] == 3 * ITEMS


def test_a_verdict_that_the_cheap_judge_does_not_give_counts_as_a_tie_and_many_are_told(asked, chat_server):
    answer = chat_server.respond

    def silent(request, number):
        nothing = request["model"] == "cheap" and "7" in candidates(request)["answer_A"].split()[0]
        return verdict("neither of them") if nothing else answer(request, number)

    chat_server.respond = silent
    found = asked()
    assert found["proxy_worth"]["silent"] == 3 * sum("7" in str(n) for n in range(ITEMS))
    assert found["winner"] == "best"
    assert "proxy_silent" in [one["code"] for one in found["warnings"]]


@pytest.mark.parametrize(
    ("more", "setting"),
    [
        (["--selector", "most-draws"], "--rule separated"), (["--rule", "fixed-budget", "--selector", "random"], "--rule separated"),
        (["--about", "like-these"], "--about items"), (["--proxy", "human"], "--proxy"),
    ],
)  # fmt: skip
def test_where_the_proof_does_not_hold_it_is_refused_with_what_to_change(asked, chat_server, more, setting):
    done = asked(*more, plain=True)
    assert done.exit_code == 2
    assert setting in " ".join(done.stderr.split())
    assert not chat_server.requests


def test_without_a_baseline_and_as_a_proxy_that_is_none_it_is_refused(asked):
    asked("--dry-run")
    given = ["select", *(f"{name}.jsonl" for name in SHARES), "--judge", "openai/judge", "--dry-run"]
    for proxy, more, setting in (
        ("openai/cheap", [], "--baseline"),
        ("human", ["--baseline", "base"], "--proxy human"),
        ("openai/judge", ["--baseline", "base"], "cheaper judge"),
    ):
        done = commandline.judgeloop(*given, "--judge-price", "prices.toml", "--proxy", proxy, *more)
        assert done.exit_code == 2
        assert setting in done.stderr


def test_what_it_was_worth_stands_in_the_report(asked):
    printed = " ".join(asked(plain=True).stdout.split())
    assert f"proxy openai/cheap on all items, {3 * ITEMS} verdicts: explains " in printed
