"""Run ids of the first version: they are still known, and what was spent under them counts."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer
from support.text import unwrapped

from judgeloop.core.money import show_usd, to_pico
from judgeloop.core.protocols import Reservation
from judgeloop.ledger.locks import run_lock
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.questions.compare import prepare as comparing
from judgeloop.questions.compare import run as compare_run
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.compare.text import page
from judgeloop.questions.estimate import prepare as estimating
from judgeloop.questions.estimate.config import EstimateConfig
from judgeloop.questions.select import prepare as selecting
from judgeloop.questions.select.config import SelectConfig
from judgeloop.report.page import render
from judgeloop.run.prepared import RunName

METRIC = {"judge": ("metric:rouge2",)}
CHEAP = {"judge": ("openai/gpt-4.1-mini",)}

# Ids that the first version printed for these commands on the shipped example.
FORMER_COMPARE = {
    "c7c670380334ded3": METRIC,
    "781d99d5c2fdbbbf": METRIC | {"rule": "anytime", "near_tie": 0.05},
    "7528d249b278b7b2": METRIC | {"rule": "tie-aware"},
    "9e2aa35d189447a5": {"judge": ("metric:exact",), "give_up": 0.2, "max_judgments": 100},
    "706dae677d1dd6e9": METRIC
    | {
        "selector": "diffuse",
        "clustering": "kmeans",
        "representative": "euclidean",
        "max_judgments": 20,
    },
    "e3c2f69d475b6fc4": {"judge": ("metric:rouge1",), "lookahead": 10, "seed": 5},
    "dcc1c811c74e70f4": METRIC | {"tie_margin": 0.05},
    "cdde9b12fab97319": {"judge": ("metric:rouge2", "metric:token-f1"), "vote": "majority"},
    "21fb114c3a622987": CHEAP,
}
FORMER_SELECT = {
    "f0f5bb9a20ef5685": METRIC,
    "a0087b30dd33571c": METRIC | {"near_best": 0.05},
    "7a86f7c2806facab": METRIC | {"selector": "random", "max_judgments": 400},
    "08cabe7edb81c455": METRIC
    | {"selector": "llm-selector", "max_judgments": 100, "epsilon": (0.2, 0.3)},
    "0cb825b2f242fb59": METRIC
    | {"selector": "uncertainty", "max_judgments": 100, "weak_judges": 4},
    "1bc020dcbbdc8236": CHEAP,
}
FORMER_ESTIMATE = {
    "c0562c212c6308e4": METRIC | {"max_judgments": 60},
    "d5848087d6dffcab": METRIC | {"max_judgments": 100, "interval": "anytime", "half_width": 0.1},
    "aea6502103985f33": METRIC | {"max_judgments": 60, "proxy": "metric:rouge1"},
    "120d338935d91bc6": METRIC
    | {"selector": "stratified", "max_judgments": 60, "clusters": 8, "allocation": "proportional"},
    "0ee2242c7b168fe6": CHEAP,
}


@pytest.mark.smoke
@pytest.mark.parametrize(("former", "values"), FORMER_COMPARE.items())
def test_a_comparison_knows_its_former_id(former: str, values: dict[str, Any], incidents) -> None:
    files = {"first": incidents / "lead.jsonl", "second": incidents / "central.jsonl"}
    config = CompareConfig.of(**files, items=incidents / "items.jsonl", **values)
    assert comparing.prepare(config, {}, offline=True).run.former == (former,)


@pytest.mark.parametrize(("former", "values"), FORMER_SELECT.items())
def test_a_search_knows_its_former_id(former: str, values: dict[str, Any], incidents) -> None:
    outputs = tuple(sorted((incidents / "systems").iterdir()))
    items = incidents / "items.jsonl"
    config = SelectConfig.of(outputs=outputs, baseline="lead-2", items=items, **values)
    assert selecting.prepare(config, {}, offline=True).run.former == (former,)


@pytest.mark.parametrize(("former", "values"), FORMER_ESTIMATE.items())
def test_an_estimate_knows_its_former_id(former: str, values: dict[str, Any], incidents) -> None:
    outputs, items = incidents / "central.jsonl", incidents / "items.jsonl"
    config = EstimateConfig.of(outputs=outputs, items=items, **values)
    assert estimating.prepare(config, {}, offline=True).run.former == (former,)


@pytest.fixture
def config(chat_server: ChatServer, incidents: Path) -> Callable[..., CompareConfig]:
    """Settings of a comparison whose judge costs something."""

    def made(**values: Any) -> CompareConfig:
        return CompareConfig.of(
            first=incidents / "lead.jsonl",
            second=incidents / "central.jsonl",
            items=incidents / "items.jsonl",
            judge=("openai/judge",),
            judge_base_url=chat_server.url,
            judge_price="1,10",
            **values,
        )

    return made


def spent_before(config: CompareConfig, former: str) -> Decimal:
    """Let another run spend something under an id of the first version; how much, in dollars."""
    earlier = replace(comparing.prepare(config, {}), run=RunName(former))
    result = asyncio.run(compare_run.run(earlier))
    return Decimal(str(result.to_json()["run_spent_usd"]))


def test_what_a_former_id_spent_counts_against_the_budget_and_is_shown(
    config: Callable[..., CompareConfig],
) -> None:
    (former,) = comparing.prepare(config(), {}).run.former
    spent = spent_before(config(seed=9, max_judgments=10), former)
    assert spent > 0

    budget = spent + Decimal("0.01")
    comparison = comparing.prepare(config(budget=budget, concurrency=1), {})
    result = asyncio.run(compare_run.run(comparison))

    shown = result.to_json()
    assert shown["run"] != former
    assert shown["stop_reason"] == "budget"
    assert Decimal(str(shown["former_spent_usd"])) == spent
    assert Decimal(str(shown["run_spent_usd"])) <= Decimal("0.01"), (
        "what is left, not the whole budget"
    )
    text = page(result).summary[0]
    assert f"under its former id of {show_usd(to_pico(budget))}." in text
    assert "an earlier version gave this run" in unwrapped(render(page(result)))


def test_a_former_run_that_used_the_budget_up_leaves_nothing(
    config: Callable[..., CompareConfig], chat_server: ChatServer
) -> None:
    (former,) = comparing.prepare(config(), {}).run.former
    spent = spent_before(config(seed=9, max_judgments=10), former)
    asked = len(chat_server.requests)

    comparison = comparing.prepare(config(budget=spent), {})
    result = asyncio.run(compare_run.run(comparison))

    assert len(chat_server.requests) == asked
    assert result.to_json()["run_spent_usd"] == 0


def leave_open(config: CompareConfig, former: str, cost_p: int) -> None:
    """Let a process under a former id die with one call that was sent and one that was not."""

    async def story() -> None:
        ledger = SqliteLedger(config.ledger)
        keys = [
            Reservation(key, cost_p, item_id="i", judge="j", note={}) for key in ("sent", "waits")
        ]
        ((sent, _),) = await ledger.reserve(former, [keys], None)
        await ledger.sending(sent)
        await ledger.aclose()

    asyncio.run(story())


def test_what_died_under_a_former_id_is_freed_unless_it_was_sent(
    config: Callable[..., CompareConfig],
) -> None:
    comparison = comparing.prepare(config(budget=Decimal("0.05"), max_judgments=10), {})
    (former,) = comparison.run.former
    leave_open(config(), former, 10**10)
    shown = asyncio.run(compare_run.run(comparison)).to_json()
    assert Decimal(str(shown["former_spent_usd"])) == Decimal("0.01"), "what was never sent is free"
    assert shown["judged"] > 0


def test_what_is_open_under_a_former_id_that_a_process_works_on_stays_reserved(
    config: Callable[..., CompareConfig],
) -> None:
    comparison = comparing.prepare(config(budget=Decimal("0.05"), max_judgments=10), {})
    (former,) = comparison.run.former
    leave_open(config(), former, 10**10)
    with run_lock(config().ledger, former):
        shown = asyncio.run(compare_run.run(comparison)).to_json()
    assert Decimal(str(shown["former_spent_usd"])) == Decimal("0.02")
