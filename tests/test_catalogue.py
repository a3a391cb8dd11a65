"""Every row of the catalogue makes its selector or rule of a small draft: of items, outputs and settings alone, as a
live run gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judgeloop.catalogue import (
    REPLACED,
    RULES,
    SELECTORS,
    default_rule,
    rule_names,
    rule_row,
    rules_of,
    selector_row,
    selectors_of,
)
from judgeloop.core.errors import InputError
from judgeloop.core.records import Draws, Item, Pool
from judgeloop.methods.rows import Draft
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.questions.estimate.settings import EstimateSettings
from judgeloop.questions.select.settings import SelectSettings
from judgeloop.replay.settings import ReplayCompareSettings
from judgeloop.settings.setting import declared

ITEMS = 24
WORDS = ("rain", "sun", "wind", "snow", "fog", "hail", "frost")
CONFIGS: dict[str, Any] = {"compare": CompareSettings, "select": SelectSettings, "estimate": EstimateSettings}


def titled(row):
    return f"{row.question}-{row.name}"


def draft_of(row, tmp_path):
    """A draft of the row's question, whose outputs differ from item to item."""
    systems, baseline = {"compare": (2, 1), "select": (4, 2), "estimate": (1, None)}[row.question]
    given = {
        "compare": {"first": "a.jsonl", "second": "b.jsonl"},
        "select": {"outputs": tuple(f"{number}.jsonl" for number in range(4)), "baseline": "2"},
        "estimate": {"outputs": "a.jsonl"},
    }[row.question]
    if row in SELECTORS and not row.ablation:
        given["selector"] = row.name
    settings = CONFIGS[row.question].of(judge=("scripted",), cache_dir=tmp_path, **given)
    outputs = tuple(
        tuple(" ".join(WORDS[(at * step + system) % 7] for step in range(1, 3 + at % 3)) for at in range(ITEMS))
        for system in range(systems)
    )
    pool = Pool(
        tuple(Item(f"i{at}", f"question {at}: {WORDS[at % 7]}?") for at in range(ITEMS)),
        tuple(str(number) for number in range(systems)),
        outputs,
    )
    return Draft(
        ITEMS, ITEMS, 0.2, start=6, systems=systems, baseline=baseline, gap=0.1, settings=settings, seed=(3,), pool=pool,
        found={"confidence": np.linspace(0, 1, ITEMS)} if "confidence" in row.takes else {},
    )  # fmt: skip


@pytest.mark.parametrize("row", SELECTORS, ids=titled)
def test_a_row_makes_its_selector_of_outputs_and_settings(row, tmp_path):
    draft = draft_of(row, tmp_path)
    selector = row.make(draft)
    assert (selector.name, selector.draws) == (row.name, row.draws)
    rng = np.random.default_rng(0)
    step, _ = selector.ask(selector.init(ITEMS, rng), rng)
    assert {choice.systems for choice in step.choices} <= set(draft.queries)
    assert set(draft.found) - {"confidence"} == {
        what for what in (row.vectors, "opinions" if "weak_judges" in row.takes else "", *clusters_in(draft)) if what
    }


def clusters_in(draft):
    return [what for what in draft.found if isinstance(what, tuple)]


@pytest.mark.parametrize("row", RULES, ids=titled)
def test_a_row_makes_its_rule_of_settings(row, tmp_path):
    rule = row.make(draft_of(row, tmp_path))
    assert rule.name == row.name
    assert (rule.guarantee is not None) == row.guaranteed
    assert rule.threshold == (0.2 if row.name != "fixed-budget" else 1.0)


def test_what_is_found_once_serves_every_selector_of_a_draft(tmp_path):
    draft = draft_of(selector_row("estimate", "cross-entropy"), tmp_path)
    made = [selector_row("estimate", name).make(draft) for name in ("cross-entropy", "mmd-critic")]
    assert made[0].vectors is made[1].vectors
    replayed = selector_row("estimate", "diffuse").make(Draft(3, 3, 0.1, systems=1, found={"outputs": np.eye(3)}))
    assert replayed.differences.tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("row", [*SELECTORS, *RULES], ids=titled)
def test_what_a_row_takes_are_settings_of_its_question(row):
    assert row.takes <= set(declared(CONFIGS[row.question]))


@pytest.mark.parametrize("row", [row for row in SELECTORS if row.question != "estimate"], ids=titled)
def test_a_guaranteed_rule_goes_by_default_with_even_draws_alone(row):
    assert default_rule(row).guaranteed == (row.draws is Draws.EVEN)


def test_names_of_rules_that_are_gone_are_refused_with_what_stands_in_their_place():
    assert not set(REPLACED) & set(rule_names("compare"))
    for gone, instead in REPLACED.items():
        with pytest.raises(InputError, match=f"{gone} is now {instead}"):
            CompareSettings.of(first="a", second="b", judge="human", rule=gone)
        with pytest.raises(InputError, match=f"{gone} is now {instead}"):
            ReplayCompareSettings.of(outputs=".", items="i", verdicts="v", output="o", rules=("bets", gone))
    assert [rows[0].name for rows in (selectors_of("select"), rules_of("select"))] == ["race", "separated"]


@pytest.mark.parametrize(("find", "name", "meant"), [(selector_row, "difuse", "diffuse"), (rule_row, "bet", "bets")])
def test_an_unknown_name_is_refused_with_the_one_that_is_meant(find, name, meant):
    with pytest.raises(InputError, match=f"did you mean {meant}"):
        find("compare", name)
