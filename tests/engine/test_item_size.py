"""An item that is too large is an abstention without a call, and takes no money from the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.driving import AT_ONCE, run, script_from
from support.pools import make_pool
from support.tables import write

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Item, Order, Query
from judgeloop.engine.asks import plan_for, size_of
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.questions.compare.question import CompareQuestion
from judgeloop.questions.compare.settings import CompareSettings

LARGE = "x" * 50_000_000


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("order", [Order.FIXED, Order.BOTH])
def test_a_large_item_is_an_abstention_and_the_run_goes_on(order, concurrency):
    pool = make_pool(8)
    outputs = (pool.outputs[0], (*pool.outputs[1][:3], LARGE, *pool.outputs[1][4:]))
    terms = Terms(
        "run", order=order, policy=AT_ONCE, concurrency=concurrency, max_item_bytes=1000, budget_p=64
    )  # fmt: skip
    judge = ScriptedJudge(script_from([1.0] * 8), cost_p=4)
    finished = run(
        judge, items=8, pool=replace(pool, outputs=outputs), terms=terms,
        limits=Limits(8, 8, max_abstentions=0.2),
    )  # fmt: skip
    assert finished.ending.stop.kind is StopKind.ALL_JUDGED
    assert finished.ending.winner == 0
    (odd,) = [la.answer for la in finished.ending.labels if isinstance(la.answer, Abstention)]
    assert odd == Abstention(
        "larger than 1,000 bytes (`max_item_bytes`), of which the output of b is the longest text", too_long=True
    )
    assert "item-3" not in {call.item.id for call in judge.calls}
    assert finished.spend.attempts == len(judge.calls) == 7 * (1 + (order is Order.BOTH))


def test_the_size_is_in_bytes_of_prompt_reference_and_outputs():
    query = Query(Item("i", "é", reference="中"), ("a", "b"), ("😀", "x\ud800"))
    assert size_of(query) == 2 + 3 + 4 + 4
    judges = [ScriptedJudge(script_from([1.0]))]
    for most, calls in [(13, 2), (12, 0), (None, 2)]:
        planned = plan_for(query, judges, Terms("run", max_item_bytes=most))
        assert (len(planned.asks), planned.unasked is None) == (calls, calls > 0)


@pytest.mark.parametrize(
    ("size", "limit", "abstentions"), [(2_000_000, {}, 1), (90_000, {}, 0), (90_000, {"max_item_bytes": 90_000}, 1)]
)
def test_by_default_an_item_of_two_megabytes_is_not_judged(tmp_path, size, limit, abstentions):
    rows = {
        name: [
            {"id": f"i{n}", "prompt": f"p{n}", "reference": "aaaaa", "output": name * (size if n == 3 else 5)}
            for n in range(6)
        ]
        for name in "ab"
    }  # fmt: skip
    files, more = write(tmp_path, rows), {"max_abstentions": 0.5, "min_judgments": 6, **limit}
    config = CompareSettings.of(first=files["a"], second=files["b"], judge="metric:exact", **more)
    result = asyncio.run(CompareQuestion().run(CompareQuestion().prepare(config, {})))
    assert (result.asked, result.counts.abstentions, result.judged) == (6, abstentions, 6 - abstentions)
    reasons = [row.reason for row in result.labels if row.score is None]
    assert all("max_item_bytes" in reason for reason in reasons)
