"""What a command says of people: what goes together, what a dry run says of their time, and how far the run is."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import chain, count
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.commandline import judgeloop

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import SoFar
from judgeloop.core.records import Item
from judgeloop.engine.state import Progress
from judgeloop.judges import human
from judgeloop.judges.base import PageOptions
from judgeloop.page.checks import checks_among
from judgeloop.questions.compare.question import CompareQuestion
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.runs.begin import opened
from judgeloop.runs.people import page_options
from judgeloop.runs.proxies import prices_of_a_plan
from judgeloop.runs.telling import REFRESH, told


def settings(**given):
    return CompareSettings.of(**{"first": "a.jsonl", "second": "b.jsonl", "judge": "human"} | given)


def options(answers=(), **given):
    """The page of a command whose systems gave these answers."""
    answered = [(Item(str(at), f"task {at}"), answer) for at, answer in enumerate(answers)]
    return page_options(settings(**given), ("a", "b"), lambda source: answered if source == "a" else [])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"people": "anna"}, "people"),
        ({"page_url": "https://a.example"}, "page_url"),
        ({"page": True, "judge": "metric:exact"}, "page"),
        ({"human_price": 40, "judge": "metric:exact"}, "human_price"),
        ({"page": True, "people": "anna,Anna"}, "people"),
        ({"shared": 0.2}, "shared"),
        ({"page": True, "people": "anna", "shared": 0.2}, "shared"),
        ({"repeated": 0.1}, "repeated"),
        ({"people_per_item": 2}, "people_per_item"),
        ({"page": True, "people": "anna", "people_per_item": 2}, "people_per_item"),
        ({"page": True, "people": "anna,ben", "people_per_item": 2, "shared": 0.2}, "people_per_item"),
        ({"checks": True}, "checks"),
        ({"page": True, "checks": True}, "checks"),
        ({"page": True, "people": "anna", "checks": True}, "checks"),
        ({"page": True, "people": "a/b"}, "people"),
        ({"page": True, "people": "x" * 41}, "people"),
        ({"page": True, "page_host": "0.0.0.0"}, "page_host"),
    ],
)
def test_what_does_not_go_together_is_refused(given, named):
    with pytest.raises(InputError, match=f"`{named}"):
        options(**given)


@pytest.mark.parametrize("given", [("--judge-base-url", "http://127.0.0.1:9/v1"), ("--judge-price", "2,8")])
def test_what_is_a_models_is_refused_where_the_proxy_alone_is_one(given):
    for name in ("a", "b"):
        rows = ({"id": f"t{at}", "prompt": f"task {at}", "output": f"{name} {at}"} for at in range(9))
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--proxy", "openai/gpt-4.1-mini", *given)
    done = judgeloop(*command, "--dry-run")
    assert (done.exit_code, given[0] in done.stderr) == (2, True), done.stderr


def test_a_page_is_made_as_it_is_said():
    assert options() is None
    assert options(page=True, budget="none") == PageOptions()
    others = {"people": "anna, ben", "page_host": "0.0.0.0", "page_url": "https://judge.example", "page_port": 0}
    wanted = PageOptions(("anna", "ben"), "0.0.0.0", 0, "https://judge.example", 80 * 10**12)
    assert options(page=True, budget="80", **others) == wanted
    with pytest.raises(InputError, match="page_url"):
        settings(page=True, page_url="judge.example/x")


def test_checks_are_answers_to_the_question_beside_answers_to_others():
    answers = [f"the answer number {at:02}" for at in range(30)]
    checks = options(answers, page=True, people="anna,ben", checks=True).checks
    assert len(checks) >= 20
    for call, foreign in checks:
        number = int(call.item.id)
        assert call.outputs[1 - foreign] == answers[number]
        assert call.outputs[foreign] in set(answers) - {answers[number]}
    assert {foreign for _, foreign in checks} == {0, 1}


def write(name, words):
    with Path(f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for at in range(40):
            row = {"id": str(at), "prompt": f"p {at}", "output": f"{name} {at} {'word ' * words}"}
            file.write(json.dumps(row) + "\n")


def test_a_dry_run_says_how_much_time_and_money_people_take():
    write("a", 117)
    write("b", 117)
    found = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--human-price", "40", "--dry-run", "--json")
    values = json.loads(found.stdout)
    each_s = 240 / 240 * 60 + 15
    expected = values["judgments"]["expected"]
    assert values["usd"]["expected"] == pytest.approx(expected * each_s * 40 / 3600)
    assert values["usd"]["worst"] == pytest.approx(40 * 300 * 40 / 3600)
    people = values["by_people"]
    assert people["usd"] == values["usd"], "nobody else is paid"
    assert people["hours"]["expected"] == pytest.approx(expected * each_s / 3600, abs=1e-3)
    page = ("--page", "--people", "anna,ben", "--shared", "0.2")
    found = judgeloop(
        "compare", "a.jsonl", "b.jsonl", "--judge", "human", "--human-price", "40", *page, "--dry-run", "--json"
    )
    both = json.loads(found.stdout)
    assert both["judgments"] == values["judgments"], "the decision takes no more"
    assert both["by_people"]["again"]["expected"] == -(-expected // 5)
    assert both["by_people"]["usd"] == both["usd"]
    assert both["usd"]["expected"] == pytest.approx(
        (expected + both["by_people"]["again"]["expected"]) * each_s * 40 / 3600
    )
    checked = judgeloop(
        "compare", "a.jsonl", "b.jsonl", "--judge", "human", "--human-price", "40", "--page", "--people", "anna,ben",
        "JUDGELOOP_CHECKS=1", "--dry-run", "--json",
    )  # fmt: skip
    checks = 2 * checks_among(expected // 2)
    assert checks > 0
    usd = json.loads(checked.stdout)["by_people"]["usd"]["expected"]
    assert usd == pytest.approx((expected + checks) * each_s * 40 / 3600)
    text = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--dry-run").output
    assert f"{5 * round(expected * each_s / 300)} min" in text


def test_people_without_a_price_count_against_no_budget_and_are_extrapolated_from_no_other_run(monkeypatch):
    write("a", 5)
    write("b", 5)
    asks = ("compare", "a.jsonl", "b.jsonl", "--judge", "human")
    dry = judgeloop(*asks, "--dry-run")
    assert "nothing counts against the budget" in dry.stdout
    assert "is enough" not in dry.stdout
    keys = iter("at")  # and then they leave
    monkeypatch.setattr(human, "SECONDS_TO_GATHER", 0.005)
    monkeypatch.setattr(human, "read_key_from_terminal", lambda: time.sleep(0.1) or next(keys, "q"))
    paid = json.loads(judgeloop(*asks, "--human-price", "40", "--json").stdout)
    assert paid["judged"] == 2
    assert paid["usd_of_all"] is None, "of two verdicts"
    rest = json.loads(judgeloop(*asks, "--human-price", "40", "--dry-run", "--json").stdout)
    pace = paid["by_people"]["seconds"] / 2
    assert rest["by_people"]["hours"]["expected"] == pytest.approx(rest["calls"]["expected"] * pace / 3600, abs=1e-3)
    assert rest["usd"]["expected"] == pytest.approx(rest["calls"]["expected"] * pace * 40 / 3600)
    assert (rest["by_people"]["known"], rest["by_people"]["each_s"]) == (2, pytest.approx(pace, abs=0.06))
    for other in (("--max-judgments", "30"), ("--risk", "0.2")):
        elsewhere = json.loads(judgeloop(*asks, *other, "--human-price", "80", "--dry-run", "--json").stdout)
        assert elsewhere["by_people"]["known"] == 2, "another run, by the same people"
        expected = elsewhere["calls"]["expected"] * pace * 80 / 3600
        assert elsewhere["usd"]["expected"] == elsewhere["by_people"]["usd"]["expected"] == pytest.approx(expected)
    for other in ((*asks, "--rubric", "Be kind."), ("estimate", "a.jsonl", "--judge", "human")):
        assert json.loads(judgeloop(*other, "--dry-run", "--json").stdout)["by_people"]["known"] == 0, (
            "another question"
        )
    unpaid = json.loads(judgeloop(*asks, "--about", "items", "--json").stdout)
    assert (unpaid["judged"], unpaid["run_spent_usd"], unpaid["usd_of_all"]) == (2, 0, None)
    said = " ".join(judgeloop(*asks, "--max-judgments", "2").stdout.split())
    assert "on items like these 40, judged by a person" in said


@pytest.mark.parametrize("proxy", [False, True])
def test_what_all_would_cost_has_quick_answers_and_the_proxy_that_rates_all(proxy, monkeypatch, chat_server):
    for name in "ab":
        rows = [{"id": str(at), "prompt": f"p {at}", "reference": "r", "output": f"{name} {at}"} for at in range(40)]
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("p.toml").write_text('["openai/p"]\ninput_per_mtok = 20\noutput_per_mtok = 20\n', encoding="utf-8")
    monkeypatch.setattr(human, "SECONDS_TO_GATHER", 0.005)
    times = chain.from_iterable((9 * at, 9 * at + 6 * (at % 2)) for at in count())  # each answer takes 0 or 6 s
    monkeypatch.setattr(human, "time", SimpleNamespace(monotonic=lambda: float(next(times))))
    keys = iter("t" * 20)
    monkeypatch.setattr(human, "read_key_from_terminal", lambda: next(keys, "q"))
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    more = ("--proxy", "openai/p", "--judge-price", "p.toml") if proxy else ()
    asks = ("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--human-price", "400", "--budget", "4000")
    found = json.loads(judgeloop(*asks, "--about", "items", *more, "--json").stdout)
    people, models = found["by_people"], found["run_spent_usd"] - found["by_people"]["usd"]
    assert (found["judged"], people["answers"], people["seconds"]) == (20, 20, 60.0)
    assert (len(chat_server.requests) >= 40, models > 0) == (proxy, proxy)
    assert found["usd_of_all"] == pytest.approx(2 * people["usd"] + models)


def test_a_dry_run_prices_all_with_the_second_readings():
    write("a", 40)
    write("b", 40)
    asks = (
        "compare",
        "a.jsonl",
        "b.jsonl",
        "--judge",
        "human",
        "--page",
        "--people",
        "anna,ben",
        "--human-price",
        "40",
    )
    alone, twice = (
        json.loads(judgeloop(*asks, *more, "--dry-run", "--json").stdout)["usd_of_all"]
        for more in ((), ("--shared", "0.5"))
    )
    assert twice == pytest.approx(1.5 * alone, rel=0.01)


def test_people_hear_how_far_the_budget_goes_as_a_dry_run_says_it():
    write("a", 117)
    write("b", 117)

    def heard(budget, folder):
        question, first = CompareQuestion(), []
        run = question.prepare(settings(page=True, human_price=40, budget=budget, ledger=folder), {})
        with opened(run) as begun:
            begun.people.hear = first.append
            asyncio.run(question._telling(begun, lambda progress: None))
        return first[0]

    price = ("--human-price", "40", "--dry-run", "--json")
    dry = json.loads(judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "human", *price, "--budget", "$5").stdout)
    assert heard(5, "short").affords == dry["budget_pays_for"] == 3
    assert heard(400, "enough").affords is None


def test_a_dry_run_says_what_the_run_says_of_a_limit_that_leaves_it_open():
    write("a", 117)
    write("b", 117)
    question = CompareQuestion()
    low, easy = (
        question.prepare(settings(max_judgments=15, **given), {}, offline=True) for given in ({}, {"not_worse": 0.9})
    )
    assert asyncio.run(question.forecast(low)).needs == question.needs(low) == 0, "nor would 40"
    assert asyncio.run(question.forecast(easy)).needs is None


def test_a_label_of_people_has_one_price_however_long_the_texts_are():
    for name in "ab":
        rows = [{"id": str(at), "prompt": f"p {at}", "reference": "r", "output": f"{name} {at} {'word ' * 9 * at}"}
                for at in range(40)]  # fmt: skip
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    question, given = CompareQuestion(), {"human_price": 40, "proxy": "metric:exact"}
    run = question.prepare(settings(**given), {}, offline=True)
    alone = question.prepare(settings(human_price=40), {}, offline=True)
    all_p = asyncio.run(question.forecast(alone)).all_p
    assert 40 * prices_of_a_plan(run.config, run.inputs).label_p == pytest.approx(all_p)


def test_nobody_reads_outputs_that_are_identical():
    write("a", 117)
    write("b", 117)
    alike, other = (Path(f"{name}.jsonl").read_text("utf-8").splitlines() for name in "ab")
    Path("b.jsonl").write_text("\n".join([*alike[:20], *other[20:]]), encoding="utf-8")
    asks = ("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--human-price", "40", "--dry-run", "--json")
    values = json.loads(judgeloop(*asks, "--not-worse", "0.01").stdout)
    assert values["by_people"]["usd"]["expected"] == pytest.approx(values["usd"]["expected"], rel=0.05)
    assert values["by_people"]["hours"]["worst"] == pytest.approx(20 * 300 / 3600, abs=1e-3)


def test_a_proxy_that_reads_outputs_that_are_identical_takes_no_time_of_people():
    for name in "ab":
        rows = [{"id": str(at), "prompt": f"p {at}", "reference": "r", "output": f"{name if at < 20 else ''} {at}"}
                for at in range(40)]  # fmt: skip
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    asks = ("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--human-price", "40", "--proxy", "metric:exact")
    values = json.loads(judgeloop(*asks, "--dry-run", "--json").stdout)
    assert values["by_people"]["usd"]["expected"] == pytest.approx(values["usd"]["expected"], rel=0.05)
    assert values["by_people"]["hours"]["worst"] == pytest.approx(20 * 300 / 3600, abs=1e-3)


class Heard:
    """People who note what they are told."""

    def __init__(self):
        self.all = []

    def hear(self, standing):
        self.all.append(standing)


def test_a_person_alone_hears_how_many_more_and_several_do_not():
    def heard(*people, foreseen=30):
        team, config = Heard(), SimpleNamespace(people=people)
        computed = []

        def more(tally):
            computed.append(tally.asked)
            return foreseen

        async def story():
            observe = told(SimpleNamespace(people=team, config=config), lambda progress: None, more, SoFar(0, 200))
            for asked in range(1, 2 * REFRESH + 1):
                observe(Progress(asked, 0, SimpleNamespace(asked=asked), lambda tally: 1.0, silent=1))
                await asyncio.sleep(0.02)

        asyncio.run(story())
        return team.all, computed

    alone, computed = heard()
    assert computed == [1, 1 + REFRESH], "seldom: it takes long"
    assert alone[-1] == SoFar(10, 200, 26, skipped=1), "one fewer with each answer since"
    assert alone[-1].judged == 9
    wrong, computed = heard(foreseen=2)
    assert computed == [1, 3, 5, 7, 9], "at once where what was foreseen did not decide"
    assert min(one.more for one in wrong if one.more is not None) == 0
    several, computed = heard("anna", "ben")
    assert not computed
    assert several[-1] == SoFar(10, 200, skipped=1)


def test_identical_outputs_that_are_met_ahead_are_none_that_people_judged():
    team, found = Heard(), SimpleNamespace(people=None, skipped=0, result=SimpleNamespace(asked=0))
    run = SimpleNamespace(people=team, config=SimpleNamespace(people=()))

    async def story():
        observe = told(run, lambda progress: None, lambda tally: None, SoFar(3, 40), found)
        observe(Progress(9, 0, SimpleNamespace(asked=2), lambda tally: 1.0, uncalled=7))
        await asyncio.sleep(0.02)

    asyncio.run(story())
    assert team.all[-1].judged == 3 + 2


def test_a_forecast_is_a_range_and_one_of_few_says_no_number():
    assert SoFar(20, 200, 30).likely() == (7, 60)
    assert SoFar(20, 200, 30).likely(3) == (6, 57)
    assert [SoFar(20, most, 30).likely(3) for most in (60, 28)] == [(6, 37), None], "no more may be asked"
    assert [SoFar(20, 28, more).is_near() for more in (None, 0, 7, 8)] == [False, False, True, False]
    assert [SoFar(20, 200, more).likely() for more in (None, 0, 10)] == [None] * 3
