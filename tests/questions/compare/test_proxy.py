"""`compare --proxy`: what is asked of whom, what it says, and that it says the same after a break."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support import commandline
from support.chat_server import candidates, verdict

from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.methods.selectors.blocks import Blocks
from judgeloop.methods.stats.corrected import Aside, Slope, of_pool
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stopping.by_group import ByGroup
from judgeloop.questions.compare.settings import CompareSettings

ITEMS, LIMIT, RISK = 240, 30, 0.1
FEWER = 20  # labels at most, where blocks that are drawn with replacement are to be worth their price
WORDS = {"judge": "good", "cheap": "fine"}
EVERY, FRESH, AGAIN = ("items", 0.2), ("like-these", 1.0), ("items", 0.85)  # about, price of the cheap judge


def scores(gap=0.25, agrees=0.8, seed=5):
    """What both judges say of each item: 1 for the second system."""
    rng = np.random.default_rng(seed)
    dear = rng.choice([1, 0, -1], size=ITEMS, p=[0.35 + gap / 2, 0.3, 0.35 - gap / 2])
    return dear, np.where(rng.random(ITEMS) < agrees, dear, rng.choice([1, 0, -1], size=ITEMS))


@pytest.fixture
def asked(tmp_path, monkeypatch, chat_server):
    """Runs a comparison of two files by a dear model and a cheap one; a server answers as their `scores` say."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def answer(request, number):
        said = candidates(request)
        first, second = (said[name].count(WORDS[request["model"]]) for name in ("answer_A", "answer_B"))
        return verdict("tie" if first == second else "A" if first > second else "B")

    chat_server.respond = answer

    def ask(said, way, *more, plain=False):
        dear, cheap = said
        for name, sign in (("old", -1), ("new", 1)):
            words = [
                ("good " if one == sign else "") + ("fine " if other == sign else "")
                for one, other in zip(dear, cheap, strict=True)
            ]
            rows = [
                {"id": f"i{n}", "prompt": f"p{n}", "group": ("even", "odd")[n % 2], "output": f"{n} {name} {text}"}
                for n, text in enumerate(words)
            ]
            (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        about, dollars = way
        prices = [
            f'["openai/{name}"]\ninput_per_mtok = {usd}\noutput_per_mtok = {usd}\n'
            for name, usd in (("judge", 50.0), ("cheap", dollars), ("dearer", 1.4))
        ]
        Path("prices.toml").write_text("".join(prices), encoding="utf-8")
        judges = ["--judge", "openai/judge", "--proxy", "openai/cheap", "--judge-price", "prices.toml"]
        given = [
            "old.jsonl",
            "new.jsonl",
            *judges,
            "--about",
            about,
            "--max-judgments",
            limit_of(way),
            "--order",
            "fixed",
            "--controls",
            "off",
            *more,
        ]
        done = commandline.judgeloop("compare", *given, *([] if plain else ["--json", "-o", "r.csv"]))
        if plain or "--dry-run" in more:
            return done if plain else json.loads(done.stdout)
        return json.loads(done.stdout) | {
            "labels": list(csv.DictReader(Path("r.csv").read_text(encoding="utf-8").splitlines()))
        }

    return ask


def limit_of(way):
    return FEWER if way == AGAIN else LIMIT


def of_each(server):
    return Counter(request["model"] for request in server.requests)


def reckoned(way, dear, cheap, order, seed=0):
    """After how many labels bets name a system, and which: draw by draw, of these draws."""
    if way == EVERY:
        draws = list(zip(order, of_pool(cheap.astype(float), order), strict=True))
        items, limit = ITEMS, LIMIT
    else:
        blocks = Blocks.fresh(range(ITEMS), 5, seed) if way == FRESH else Blocks.again(ITEMS, 5, FEWER, seed)
        drawn = [block for own in blocks.by_label for block in own]
        draws = [(block[0], Aside(cheap[block[0]], cheap[list(block)].mean(), 5)) for block in drawn]
        items, limit = float("inf"), LIMIT if way == FRESH else blocks.draws
    bets, slope = HedgedBets(RISK, np.zeros(2), limit, items), Slope()
    for at, (place, aside) in enumerate(draws):
        score, control = dear[place], aside.control(slope.value)
        bets = bets.after(np.array([score, -score]), np.array([control, -control]), np.array(aside.most(slope.value)))
        slope = slope.after(score, aside.cheap)
        if bets.ruled_out.any():
            return len({where for where, _ in draws[: at + 1]}), "new" if bets.ruled_out[0] else "old"
    return limit_of(way), None


@pytest.mark.parametrize(("way", "seed"), [(EVERY, 5), (FRESH, 8), (AGAIN, 5)])
def test_the_dear_judge_decides_with_the_cheap_ones_help(asked, chat_server, way, seed):
    dear, cheap = scores(seed=seed)
    found = asked((dear, cheap), way)
    order = [int(row["item_id"][1:]) for row in found["labels"] if row["in_decision"].lower() == "true"]
    labels, winner = reckoned(way, dear, cheap, order)
    assert (found["judged"], found["winner"]) == (labels, winner)
    assert found["wins"]["new"] == (dear[order] == 1).sum()
    calls, own = of_each(chat_server), found["corrected"]
    assert calls["cheap"] == own["verdicts"] == (ITEMS if way == EVERY else len(set(asked_beside(chat_server))))
    assert own["block"] == (0 if way == EVERY else 5)
    assert own["labels"] == labels
    assert own["r2"] == pytest.approx(np.corrcoef(dear[order], cheap[order])[0, 1] ** 2, abs=1e-9)
    assert own["interval"] == pytest.approx(
        [-end for end in found["gap_interval"][::-1]] if found["leader"] == "new" else found["gap_interval"], abs=0.3
    )
    spent = sum(calls[name] * 420 * usd / 1e6 for name, usd in (("judge", 50.0), ("cheap", way[1])))
    assert found["run_spent_usd"] == pytest.approx(spent)
    assert own["off"] == pytest.approx(own["alone"] - own["gap"])


def asked_beside(server):
    asked = [candidates(request) for request in server.requests if request["model"] == "cheap"]
    return [one["answer_A"].split()[0] for one in asked]


@pytest.mark.parametrize("way", [EVERY, FRESH])
def test_after_a_budget_that_was_too_small_it_goes_on_to_the_same_end(asked, chat_server, tmp_path, way):
    said = scores()
    whole = asked(said, way, "--ledger", "whole.db")
    calls = of_each(chat_server)
    chat_server.requests.clear()
    for usd in (0.01, 0.3):
        assert asked(said, way, "--budget", usd)["run_spent_usd"] <= usd
    rest = asked(said, way)
    assert rest["run"] == whole["run"]
    assert {name: rest[name] for name in ("judged", "winner", "corrected", "gap_interval")} == {
        name: whole[name] for name in ("judged", "winner", "corrected", "gap_interval")
    }
    assert abs(of_each(chat_server)["cheap"] - calls["cheap"]) <= 10, "some may be asked in vain at a time"
    again = asked(said, way)
    assert (again["attempts"], again["corrected"]) == (0, whole["corrected"])


def test_a_forecast_has_the_ways_to_buy_and_what_the_chosen_one_takes(asked, chat_server):
    found = asked(scores(), FRESH, "--dry-run")
    assert [("<- chosen" in line) for line in found["ways"]] == [False, True, False, False]
    assert "in blocks of 5 a label" in found["ways"][1]
    assert "1 to 3 % more labels" in found["ways"][3], "what a useless proxy costs"
    assert found["calls"]["worst"] == LIMIT * 6
    every = asked(scores(), EVERY, "--dry-run")
    assert every["calls"]["worst"] == LIMIT + ITEMS
    assert len(every["ways"]) == 5
    for one in (found, every):
        taken = next(line for line in one["ways"] if "<- chosen" in line)
        assert abs(one["judgments"]["expected"] - int(taken.partition(" labels")[0].split()[-1])) <= 1, "one figure"
    assert not chat_server.requests


def test_a_judge_that_is_not_worth_its_price_is_not_asked(asked, chat_server):
    found = asked(scores(), ("like-these", 40.0))
    assert of_each(chat_server).keys() == {"judge"}
    assert found["corrected"] is None
    assert found["proxy"] == "openai/cheap"


@pytest.mark.parametrize("way", [FRESH, AGAIN])
def test_an_open_end_tells_how_many_labels_or_items_would_decide(asked, way):
    found = asked(scores(gap=0.04, seed=2 if way == AGAIN else 1), way)
    assert (found["winner"], found["judged"]) == (None, limit_of(way))
    advice = {one["code"]: one for one in found["advice"]}
    if way == AGAIN:  # all of these items decide
        assert 0 < advice["lead_stays_limit"]["judgments"] <= ITEMS - FEWER
    else:
        assert advice["many_more_items"]["even"] > 5 * LIMIT
        assert advice["blocks_too"]["block"] == 5


@pytest.mark.parametrize(
    ("way", "question"),
    [(EVERY, ("--min-gap", "0.2")), (FRESH, ("--near-tie", "0.4")), (AGAIN, ("--not-worse", "0.3"))],
)
def test_questions_about_a_gap_have_its_help_too(asked, way, question):
    found = asked(scores(gap=0.65), way, *question)
    assert found["claim"] in {"better", "better_or_within", "not_worse"}
    assert found["corrected"]["off_interval"][0] < found["corrected"]["off"] < found["corrected"]["off_interval"][1]


def test_a_verdict_that_the_cheap_judge_does_not_give_counts_as_a_tie(asked, chat_server):
    said, answer = scores(), chat_server.respond
    found = asked(said, EVERY, "--ledger", "whole.db")

    def silent(request, number):
        told = answer(request, number)
        nothing = request["model"] == "cheap" and "7" in candidates(request)["answer_A"].split()[0]
        return verdict("neither of them") if nothing else told

    chat_server.respond = silent
    lacking = [n for n in range(ITEMS) if "7" in str(n)]
    dear, cheap = said
    cheap = np.where(np.isin(np.arange(ITEMS), lacking), 0, cheap)
    other = asked(said, EVERY)
    order = [int(row["item_id"][1:]) for row in other["labels"] if row["in_decision"].lower() == "true"]
    assert (other["judged"], other["winner"]) == reckoned(EVERY, dear, cheap, order)
    assert other["corrected"]["alone"] != found["corrected"]["alone"]
    assert (found["corrected"]["silent"], other["corrected"]["silent"]) == (0, len(lacking))
    codes = [[one["code"] for one in each["warnings"]] for each in (found, other)]
    assert ["proxy_silent" in each for each in codes] == [False, True]


@pytest.mark.parametrize(
    "more",
    [
        ["--rule", "tie-aware", "--about", "items"], ["--selector", "diffuse"],
        ["--proxy", "openai/judge"], ["--proxy", "human"], ["--proxy", "vllm/nothing"], ["--proxy", "metric:exact"],
    ],
)  # fmt: skip
def test_what_does_not_go_with_a_proxy_is_refused_before_anything_is_asked(asked, chat_server, more):
    done = asked(scores(), FRESH, *more, plain=True)
    assert done.exit_code == 2
    assert "--judge" not in done.stderr.partition(": ")[2], "a remedy is the proxy's own"
    assert not chat_server.requests


def test_what_is_said_of_it_stands_in_the_report(asked):
    printed = asked(scores(), FRESH, plain=True).stdout
    run = asked(scores(), FRESH)["run"]
    kept = json.loads(commandline.judgeloop("runs", "show", run, "--json").stdout)
    assert kept["corrected"]["block"] == 5
    rated = kept["corrected"]["verdicts"]
    assert f"openai/cheap on {rated} items, 5 for each label" in " ".join(printed.split())
    assert CompareSettings.of(first="a", second="b", judge=("human",), proxy="openai/x").every_judge == (
        "human",
        "openai/x",
    )


def test_of_several_a_dry_run_says_which_is_the_better_buy_and_a_run_takes_one(asked, chat_server):
    said, both = scores(), ["--proxy", "openai/dearer"]
    refused = asked(said, FRESH, *both, plain=True)
    assert refused.exit_code == 2
    found = asked(said, FRESH, *both, "--dry-run")
    assert sum("<- chosen" in line for line in found["ways"]) == 2
    assert found["ways"][-1].startswith("The better buy, as far as it is known: openai/cheap, in blocks of 5 a label")
    assert not chat_server.requests
    known = asked(said, EVERY)  # the ledger has both judges on the items that got a label
    again = asked(said, FRESH, "--dry-run")
    (line,) = [line for line in again["ways"] if line.startswith("The ledger has both on")]
    assert f"{known['judged']} items: R² {known['corrected']['r2']:.2f}" in line


@pytest.mark.parametrize("way", [EVERY, FRESH, AGAIN])
def test_groups_are_tested_beside_it_with_its_help_where_it_rates_all_items(asked, chat_server, way):
    dear, cheap = scores(gap=0.0)
    dear, cheap = (np.where(np.arange(ITEMS) % 2, one, np.where(one < 0, 0, one)) for one in (dear, cheap))
    found = asked((dear, cheap), way, "--by-group", "report")
    groups = {row["group"]: row for row in found["groups"]}
    assert groups["even"]["claim"] == "better", "the second system loses none of these"
    calls = of_each(chat_server)
    all_rated = way != FRESH  # with these items, open groups may take every label, so that all are worth their price
    assert (calls["cheap"] == ITEMS) == all_rated
    assert calls["judge"] == len(found["labels"]) > found["judged"]
    labels = [int(row["item_id"][1:]) for row in found["labels"]]
    tests = ByGroup(
        {n: ("even", "odd")[n % 2] for n in range(ITEMS)},
        RISK,
        sampled=way == FRESH,
        proxy=dict(enumerate((-cheap).astype(float).tolist())) if all_rated else None,
    )
    tests.follow([Label(Choice(n, None), Verdict(float(1 - dear[n]) / 2)) for n in labels])
    assert {name: row["claim"] for name, row in groups.items()} == {
        name: {None: "open", 0: "worse", 1: "better"}[one.better] for name, one in tests.findings().items()
    }
    if way == EVERY:
        again = (dear, cheap), way, "--by-group", "report", "--ledger", "other.db"
        assert asked(*again, "--budget", 0.7)["run_spent_usd"] <= 0.7
        assert asked(*again)["groups"] == found["groups"]
