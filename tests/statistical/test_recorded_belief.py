"""The belief of LLM Selector on recorded verdicts of AlpacaEval."""

from __future__ import annotations

from itertools import islice

import numpy as np
from support.selectors import steps_of

from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.methods.selectors.llm_selector import LLMSelector
from judgeloop.replay.config import ReplaySelectConfig
from judgeloop.replay.select import field_for

SIZE, SURE = 400, 0.9


def config_of(data, **more):
    folder = data / "alpacaeval"
    return ReplaySelectConfig(
        outputs=folder / "outputs",
        items=folder / "items.jsonl",
        verdicts=folder / "verdicts-gpt4.csv.gz",
        baseline="text_davinci_003",
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


def test_llm_selector_as_in_its_paper_believes_in_the_baseline(recorded_data, tmp_path):
    config = config_of(
        recorded_data, selectors=("llm-selector",), weak_judges=3, cache_dir=tmp_path
    )
    field = field_for(config)
    items = np.random.default_rng(0).permutation(field.scores.shape[1])[:SIZE]
    assert field.opinions is not None
    selector = LLMSelector(field.opinions[:, items], field.baseline, (0.25, 0.45))
    every = beliefs(selector, field.scores[:, items], np.random.default_rng(0))
    belief, rates = next(islice(every, 79, None))
    assert belief[field.baseline] > SURE
    assert rates[field.baseline] < np.median(rates)
