"""What a command says of people: what goes together, what a dry run says of their time, and how far the run is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.commandline import judgeloop

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import SoFar
from judgeloop.engine.state import Progress
from judgeloop.judges.base import PageOptions
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.runs.people import page_options
from judgeloop.runs.telling import REFRESH, told


def settings(**given):
    return CompareSettings.of(**{"first": "a.jsonl", "second": "b.jsonl", "judge": "human"} | given)


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
        ({"page": True, "people": "a/b"}, "people"),
        ({"page": True, "people": "x" * 41}, "people"),
        ({"page": True, "page_host": "0.0.0.0"}, "page_host"),
    ],
)
def test_what_does_not_go_together_is_refused(given, named):
    with pytest.raises(InputError, match=f"`{named}"):
        page_options(settings(**given))


def test_a_page_is_made_as_it_is_said():
    assert page_options(settings()) is None
    assert page_options(settings(page=True)) == PageOptions()
    others = settings(page=True, people="anna, ben", page_host="0.0.0.0", page_url="https://judge.example", page_port=0)
    assert page_options(others) == PageOptions(("anna", "ben"), "0.0.0.0", 0, "https://judge.example")
    with pytest.raises(InputError, match="page_url"):
        settings(page=True, page_url="judge.example/x")


def write(name, words):
    with Path(f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for at in range(40):
            row = {"id": str(at), "prompt": f"p {at}", "output": f"{name} {'word ' * words}"}
            file.write(json.dumps(row) + "\n")


def test_a_dry_run_says_how_much_time_and_money_people_take():
    write("a", 118)
    write("b", 118)
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
    text = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "human", "--dry-run").output
    assert f"{round(expected * each_s / 60)} min" in text


class Heard:
    """People who note what they are told."""

    def __init__(self):
        self.all = []

    def hear(self, standing):
        self.all.append(standing)


def test_a_person_alone_hears_how_many_more_and_several_do_not():
    def heard(*people):
        team, config = Heard(), SimpleNamespace(people=people)
        computed = []

        def more(tally):
            computed.append(tally)
            return 30

        async def story():
            observe = told(SimpleNamespace(people=team, config=config), lambda progress: None, more, SoFar(0, 200))
            for asked in range(1, 2 * REFRESH + 1):
                observe(Progress(asked, 0, asked, lambda tally: 1.0))
                await asyncio.sleep(0.02)

        asyncio.run(story())
        return team.all, computed

    alone, computed = heard()
    assert computed == [1, 1 + REFRESH], "seldom: it takes long"
    assert alone[-1] == SoFar(10, 200, 26), "one fewer with each answer since"
    several, computed = heard("anna", "ben")
    assert not computed
    assert several[-1] == SoFar(10, 200)
