"""What the papers prescribe: filled in where nothing is given, and never contradicted unseen."""

import re
from dataclasses import replace

import pytest

from judgeloop.core.errors import InputError
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.compare.prepare import prepare
from judgeloop.questions.estimate.config import EstimateConfig
from judgeloop.questions.select.config import SelectConfig
from judgeloop.replay.config import CONFIGS
from judgeloop.settings.published import published_name
from judgeloop.settings.setting import declared

REPLAYS = {"outputs": "outputs", "items": "items.jsonl", "verdicts": "v.csv", "output": "out"}
LEAST = {
    CompareConfig: {"first": "a.jsonl", "second": "b.jsonl", "judge": "metric:rouge2"},
    SelectConfig: {"outputs": ("a.jsonl", "b.jsonl"), "baseline": "a", "judge": "metric:rouge2"},
    EstimateConfig: {"outputs": "a.jsonl", "judge": "metric:rouge2", "represent": "hidden:M"},
    CONFIGS["compare"]: REPLAYS,
    CONFIGS["select"]: REPLAYS | {"baseline": "a"},
    CONFIGS["estimate"]: REPLAYS | {"represent": "hidden:M"},
}
EVERY = list(LEAST)


def published(question, **values):
    return question.of(**{**LEAST[question], "as_published": True, **values})


@pytest.mark.parametrize("question", EVERY)
def test_a_table_prescribes_settings_that_exist_at_values_that_they_take(question):
    for one in question.PAPER.prescriptions:
        field = declared(question)[one.setting]
        assert not one.unless or one.unless in declared(question)
        assert one.agrees(field.default) or one.value is not None or one.alike
    config = published(question)
    assert all(one.agrees(getattr(config, one.setting)) for one in question.PAPER.prescriptions)


@pytest.mark.parametrize("question", EVERY)
def test_without_the_switch_nothing_is_filled_in(question):
    config = question.of(**LEAST[question])
    assert config == question.of(**LEAST[question], as_published=False)
    assert published_name(question.PAPER, config) is None


@pytest.mark.parametrize(
    ("question", "values", "said"),
    [
        (CompareConfig, {"clustering": "kmeans"}, ("clustering=ward", "clustering=kmeans", "section 5.2")),
        (CompareConfig, {"represent": "lexical"}, ("represent=minilm", "represent=lexical", "section 5.2")),
        (CompareConfig, {"give_up": 0.3}, ("give_up=none", "give_up=0.3", "algorithm 1")),
        (SelectConfig, {"epsilon": "0.1,0.2"}, ("epsilon=auto", "epsilon=0.1,0.2", "appendix D")),
        (SelectConfig, {"selector": "race"}, ("selector=llm-selector", "selector=race", "algorithm 1")),
        (EstimateConfig, {"represent": "minilm"}, ("represent=hidden:MODEL", "represent=minilm", "section 3.1.1")),
        (EstimateConfig, {"clusters": 8}, ("clusters=auto", "clusters=8", "section 3.1.2")),
        (CONFIGS["compare"], {"selectors": "diffuse,decisive"},
         ("selectors=random,diffuse", "selectors=diffuse,decisive", "section 5.3")),
        (CONFIGS["estimate"], {"vectors": "v.npz"}, ("vectors=none", "vectors=v.npz", "section 3.1.1")),
    ],
)  # fmt: skip
def test_what_contradicts_the_paper_is_refused_and_both_are_named(question, values, said):
    prescribed, found, where = said
    message = f"prescribes `{prescribed}` ({where}), found `{found}`"
    with pytest.raises(InputError, match=re.escape(message)):
        published(question, **values)


AS_PUBLISHED = [
    (CompareConfig, "selector=diffuse represent=minilm rule=hypergeometric min_judgments=5"),
    (CompareConfig, "combine=difference clustering=ward representative=cosine max_judgments=200"),
    (SelectConfig, "selector=llm-selector rule=fixed-budget weak_judges=10 epsilon=None"),
    (EstimateConfig, "selector=actracer layer=middle clusters=None allocation=mc-ucb"),
]


@pytest.mark.parametrize(("question", "settings"), AS_PUBLISHED)
def test_a_question_is_as_in_its_paper(question, settings):
    config, prescribed = published(question), dict(one.split("=") for one in settings.split())
    assert {name: str(getattr(config, name)) for name in prescribed} == prescribed


def test_what_the_paper_leaves_open_may_be_chosen():
    assert published(SelectConfig, max_judgments=500).max_judgments == 500
    assert published(EstimateConfig, confidence_by="first-token").confidence_by == "first-token"


def test_an_estimate_needs_hidden_states_to_be_as_published():
    with pytest.raises(InputError, match=r"represent=hidden:MODEL`.*found `represent=lexical`"):
        EstimateConfig.of(outputs="a.jsonl", judge="metric:rouge2", as_published=True)


def test_the_same_model_from_a_folder_is_no_contradiction_and_is_named():
    config = published(CompareConfig, represent="minilm:models/minilm")
    named = published_name(CompareConfig.PAPER, config)
    assert named.startswith("DiffUse (Ashury-Tahan et al. 2024): selector diffuse, ")
    assert "represent minilm:models/minilm" in named


def test_given_vectors_take_the_place_of_the_prescribed_ones():
    config = published(CONFIGS["compare"], vectors="minilm.npz")
    assert (config.represent, str(config.vectors)) == ("lexical", "minilm.npz")
    assert "represent minilm" not in published_name(config.PAPER, config)


def test_a_replay_may_run_some_of_the_papers_selectors():
    assert published(CONFIGS["select"], selectors="llm-selector,random").selectors == (
        "llm-selector",
        "random",
    )


def test_a_configuration_made_by_hand_is_checked_before_anything_is_read():
    config = replace(CompareConfig.of(**LEAST[CompareConfig]), as_published=True)
    with pytest.raises(InputError, match="prescribes `selector=diffuse`"):
        prepare(config, {})


@pytest.mark.parametrize("yes", [True, "true", "1", "yes", "on"])
def test_the_switch_is_read_as_any_switch(yes):
    assert published(CompareConfig, as_published=yes).selector == "diffuse"
