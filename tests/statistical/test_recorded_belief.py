"""The belief of `credible` on recorded verdicts: 20 pools of each table of AlpacaEval."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from support.selectors import steps_of

from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.methods.selectors.credible import Credible
from judgeloop.methods.selectors.llm_selector import LLMSelector
from judgeloop.replay.config import ReplaySelectConfig
from judgeloop.replay.select import field_for

POOLS, SIZE, SURE = 20, 400, 0.9
TABLES = {
    "gpt4": ("text_davinci_003", ()),
    "gpt4turbo": ("gpt4_1106_preview", ("NullModel", "gpt4_gamed")),
}


def config_of(data, table, **more):
    baseline, leave_out = TABLES[table]
    folder = data / "alpacaeval"
    return ReplaySelectConfig(
        outputs=folder / "outputs",
        items=folder / "items.jsonl",
        verdicts=folder / f"verdicts-{table}.csv.gz",
        baseline=baseline,
        leave_out=leave_out,
        output=folder / "not-written",
        **more,
    )


def beliefs(selector, scores, rng):
    """Yield the belief and the observed win rates after every batch of answers."""
    systems, items = scores.shape
    state = selector.init(items, rng)
    points, verdicts = np.zeros(systems), np.zeros(systems)
    while True:
        steps, state = steps_of(selector, state, items, rng)
        if not steps:
            return
        labels = []
        for choice in (choice for step in steps for choice in step.choices):
            system, score = choice.systems[0], scores[choice.systems[0], choice.position]
            heard = not np.isnan(score)
            points[system] += score if heard else 0
            verdicts[system] += heard
            labels.append(Label(choice, Verdict(score) if heard else Abstention("no")))
        state = selector.tell(state, labels)
        rates = points / np.maximum(verdicts, 1)
        rates[selector.baseline] = 0.5
        yield np.array(selector.belief(state).probabilities), rates


@pytest.mark.parametrize("table", TABLES)
def test_no_belief_of_nine_tenths_unless_the_win_rate_is_the_highest(recorded_data, table):
    field = field_for(config_of(recorded_data, table, selectors=("credible",)))
    selector = Credible(len(field.systems), field.baseline)
    for pool in range(POOLS):
        rng = np.random.default_rng(pool)
        scores = field.scores[:, rng.permutation(field.scores.shape[1])[:SIZE]]
        for belief, rates in beliefs(selector, scores, rng):
            assert (rates[belief >= SURE] == rates.max()).all()


def test_llm_selector_as_in_its_paper_believes_in_the_baseline(recorded_data, tmp_path):
    config = config_of(
        recorded_data, "gpt4", selectors=("llm-selector",), weak_judges=3, cache_dir=tmp_path
    )
    field = field_for(config)
    items = np.random.default_rng(0).permutation(field.scores.shape[1])[:SIZE]
    assert field.opinions is not None
    selector = LLMSelector(field.opinions[:, items], field.baseline, (0.25, 0.45))
    every = beliefs(selector, field.scores[:, items], np.random.default_rng(0))
    belief, rates = next(islice(every, 79, None))
    assert belief[field.baseline] > SURE
    assert rates[field.baseline] < np.median(rates)
