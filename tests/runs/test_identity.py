"""A run's id: every setting is declared as part of it or not, and the id follows the
declaration."""

import enum
import json
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.questions import given as places

from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Call, Item
from judgeloop.formats.own_files import HOME
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.periods import MIDNIGHT
from judgeloop.questions.agree.settings import AgreeSettings
from judgeloop.questions.catalogue import QUESTIONS as ROWS
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.questions.estimate.settings import EstimateSettings
from judgeloop.questions.select.settings import SelectSettings
from judgeloop.replay.settings import CONFIGS
from judgeloop.settings.run_settings import RunSettings
from judgeloop.settings.setting import Role, declared

QUESTIONS: dict[type[RunSettings], Callable[..., Any]] = {row.settings(): row.load().prepare for row in ROWS}
IN_THE_ID = {Role.RUN, Role.CONTENT, Role.KEY}
ENVIRONMENT = {"OPENAI_API_KEY": "none"}

# Another value of a setting, and what else it takes for the setting to be looked at.
OTHER: dict[str, dict[str, Any]] = {
    "judge": {"judge": ("openai/gpt-4.1",)},
    "judge_base_url": {"judge_base_url": "http://localhost:1/v1", "judge_price": "1,1"},
    "judge_name": {"judge_name": ("gateway",)},
    "judge_model": {"judge_model": ("gpt-4.1-2025-04-14",)},
    "judge_price": {"judge_price": "1,1"},
    "key_command": {"key_command": "echo key"},
    "tier": {"tier": "flex"},
    "charge_to": {"charge_to": ("nightly",)},
    "judge_max_tokens": {"judge_max_tokens": 99},
    "judge_effort": {"judge_effort": "low"},
    "verdict": {"verdict": "logprob"},
    "max_abstentions": {"max_abstentions": 0.1},
    "prompt": {"prompt": "pairwise.md"},
    "rubric": {"rubric": "Which is true?"},
    "items": {"items": "items.jsonl"},
    "names": {"names": ("a", "another")},
    "require_winner": {"require_winner": "a", "controls": "off"},
    "ahead": {"ahead": "12"},
    "controls": {"controls": "off"},
    "vote": {"vote": "unanimous"},
    "order": {"order": "random"},
    "again": {"again": True},
    "deadline": {"deadline": 60.0},
    "night": {"night": "2026-01-02"},
    "rpm": {"rpm": 5},
    "tpm": {"tpm": 5000},
    "half_width": {"half_width": 0.1},
    "require_score": {"require_score": 0.5, "half_width": 0.2},
    "interval": {"interval": "anytime"},
    "truth": {"truth": ("others.csv",)},
    "require_agreement": {"require_agreement": 0.7},
    "zone": {"zone": 0.2},
    "judge_all": {"judge_all": True},
    "require_kappa": {"require_kappa": 0.4},
    "not_worse_than_a_person": {"not_worse_than_a_person": 0.2, "truth": ("labels.csv", "others.csv")},
    "first": {"first": "c.jsonl"},
    "second": {"second": "c.jsonl"},
    "min_gap": {"min_gap": 0.3},
    "by_group": {"by_group": "report"},
    "by_criterion": {"by_criterion": True, "rubric": "criteria.toml"},
    "tie_margin": {"tie_margin": 0.1},
    "not_worse": {"not_worse": 0.3, "controls": "off"},
    "near_tie": {"near_tie": 0.3},
    "give_up": {"give_up": 0.2},
    "represent": {"selector": "diffuse", "represent": "minilm"},
    "vectors": {"selector": "diffuse", "vectors": "vectors.npz"},
    "rule": {"rule": "tie-aware"},
    "baseline": {"baseline": "b"},
    "weak_judges": {"selector": "llm-selector", "rule": "fixed-budget", "weak_judges": 4},
    "epsilon": {"selector": "llm-selector", "rule": "fixed-budget", "epsilon": (0.3, 0.4)},
    "proxy": {"proxy": "openai/gpt-4.1-nano"},
    "clusters": {"selector": "actracer", "clusters": 2},
    "allocation": {"selector": "stratified", "allocation": "proportional"},
    "confidence": {"selector": "stratified-confidence", "confidence": "other"},
    "confidence_by": {"selector": "stratified-confidence", "confidence_by": "first-token"},
    "page": {"judge": ("human",), "page": True},
    "people": {"judge": ("human",), "page": True, "people": ("anna", "ben")},
    "shared": {"judge": ("human",), "page": True, "people": ("anna", "ben"), "shared": 0.2},
    "repeated": {"judge": ("human",), "page": True, "repeated": 0.1},
    "people_per_item": {"judge": ("human",), "page": True, "people": ("anna", "ben"), "people_per_item": 2},
    "checks": {"judge": ("human",), "page": True, "people": ("anna", "ben"), "checks": True},
    "human_price": {"judge": ("human",), "human_price": Decimal(40)},
    "page_host": {"judge": ("human",), "page": True, "page_url": "https://judge.example", "page_host": "0.0.0.0"},
    "page_url": {"judge": ("human",), "page": True, "page_url": "https://judge.example"},
}
OTHER_IN: dict[type[RunSettings], dict[str, dict[str, Any]]] = {
    CompareSettings: {
        "selector": {"selector": "max-norm", "rule": "tie-aware"},
        "max_flips": {"max_flips": 0.2, "controls": "off"},
        "system": {
            "first": "openai/gpt-5-mini",
            "items": "items.jsonl",
            "system": ("openai/gpt-5-mini.max-tokens=99",),
        },
    },
    SelectSettings: {
        "selector": {"selector": "random"},
        "rule": {"rule": "fixed-budget", "selector": "random"},
        "max_flips": {"max_flips": 0.2, "controls": "off"},
        "outputs": {"outputs": ("a.jsonl", "b.jsonl", "d.jsonl")},
        "names": {"names": ("a", "b", "another")},
        "system": {
            "outputs": ("a.jsonl", "b.jsonl", "openai/gpt-5-mini"),
            "items": "items.jsonl",
            "system": ("openai/gpt-5-mini.max-tokens=99",),
        },
    },
    AgreeSettings: {
        "outputs": {"outputs": ("a.jsonl", "c.jsonl")},
        "scale": {"outputs": ("a.jsonl",), "truth": ("ratings.csv",), "scale": "-1,1"},
        "half_width": {"truth": ("human",), "half_width": 0.1},
        "system": {"system": ("openai/gpt-5-mini.max-tokens=99",)},
    },
    EstimateSettings: {
        "selector": {"selector": "stratified"},
        "outputs": {"outputs": "c.jsonl"},
        "names": {"names": ("another",)},
        "prompt": {"prompt": "rating.md"},
        "system": {
            "outputs": "openai/gpt-5-mini",
            "items": "items.jsonl",
            "system": ("openai/gpt-5-mini.max-tokens=99",),
        },
    },
}
# Parts of the keys of outputs, of the proxy's verdicts, and of what another model had answered.
OF_OTHERS = {"system", "proxy", "judge_model"}
NOT_BY_VALUE = {"allow_partial", "map", "epoch", "family_members", "strip_thoughts"}  # each tested by itself
# To look at vectors or layers.
TAKES_A_MODEL = {
    CompareSettings: {"represent"},
    EstimateSettings: {"represent", "layer"},
    AgreeSettings: {"system", "people_per_item"},  # it refuses systems that answer live, and asks one person an item
}

PROMPTS = Path(__file__).parents[2] / "prompts"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A working folder with outputs of four systems, other prompts, and what settings may name."""
    fill(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Such a folder in which no test changes a file, and what was prepared there."""
    folder = tmp_path_factory.mktemp("kept")
    fill(folder)
    with closing(open_ledger(folder / HOME / "ledger.sqlite")) as ledger:
        ledger.set_budget("nightly", 1, "total", MIDNIGHT)
    return folder, {}


def fill(folder: Path) -> None:
    ids = [f"i{number}" for number in range(12)]
    criteria = '[[criterion]]\nname = "tone"\nquestion = "Which answer is more polite?"\n'
    (folder / "criteria.toml").write_text(criteria, encoding="utf-8")

    def rows(name: str, answer: str, count: int = 12) -> None:
        lines = [
            {
                "id": item,
                "prompt": f"Question {item}?",
                "output": f"{answer} {item}",
                "group": "first" if item < "i4" else "second",
                "logprobs": [-0.1 * number - 0.1, -0.3],
                "other": [-0.2 * number - 0.1, -0.1],
            }
            for number, item in enumerate(ids[:count])
        ]
        (folder / name).write_text("\n".join(map(json.dumps, lines)))

    for name in ("a", "b", "c", "d"):
        rows(f"{name}.jsonl", f"Answer of {name}:")
    rows("short.jsonl", "Answer of b:", 11)
    other = [{"id": item, "prompt": f"Question {item}?", "reference": "yes"} for item in ids]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, other)))
    (folder / "prices.toml").write_text('["gpt-4.1-mini"]\ninput = "1"\noutput = "2"\n')
    for name, votes in {"labels": "ab" * 6, "others": "ba" * 6, "ratings": "01" * 6}.items():
        table = "".join(f"{item},{vote}\n" for item, vote in zip(ids, votes, strict=True))
        (folder / f"{name}.csv").write_text(f"id,{'rating' if name == 'ratings' else 'vote'}\n{table}")
    np.savez(folder / "vectors.npz", models=np.array(list("abcd")), embeddings=np.ones((4, 12, 2)))
    for name in ("pairwise", "rating"):
        prompt = (PROMPTS / f"{name}.v1.md").read_text()
        (folder / f"{name}.md").write_text(prompt + "\nTake your time.\n")


def given(question: type[RunSettings]) -> dict[str, Any]:
    """The least that a question has to be told."""
    files = places(question, "a.jsonl", "b.jsonl", "c.jsonl")
    return (
        {"judge": ("openai/gpt-4.1-mini",), **files}
        | ({"baseline": "a"} if "baseline" in declared(question) else {})
        | ({"truth": ("labels.csv",)} if "truth" in declared(question) else {})
    )


def prepared(question: type[RunSettings], values: dict[str, Any]) -> Any:
    config = question.of(**{**given(question), **values})
    return QUESTIONS[question](config, ENVIRONMENT, offline=True)


def run_of(question: type[RunSettings], values: dict[str, Any]) -> str:
    return str(prepared(question, values).run_id)


def verdicts_of(judges: Any) -> list[str]:
    """The keys of the judges' verdicts on some texts."""
    shown = Call(Item("i", "p"), ("a", "b"), ("one", "another"))
    return [KeyIngredients.of(judge.identity, shown, blind=judge.blind).key for judge in judges]


def another(field: Any) -> Any:
    """Another value of a setting that has a number, a flag or a choice."""
    default = field.default
    if isinstance(default, bool):
        return not default
    if isinstance(default, enum.Enum):
        return next(one for one in type(default) if one is not default)
    if isinstance(default, str):
        return next((name for name in field.names if name != default), f"another {default}")
    if isinstance(default, Path):
        return default.with_name("elsewhere")
    if isinstance(default, int | float | Decimal):
        return type(default)(default * 2 if default else 1)
    raise AssertionError(f"{field.name}: say in OTHER what another value would be")


CASES = [
    pytest.param(question, field, id=f"{question.__name__}-{name}")
    for question in QUESTIONS
    for name, field in declared(question).items()
    if name not in NOT_BY_VALUE | TAKES_A_MODEL.get(question, set())
]


@pytest.mark.parametrize("config", [*QUESTIONS, *CONFIGS.values()])
def test_every_setting_of_every_command_is_declared(config: type) -> None:
    undeclared = [name for name, field in declared(config).items() if field.setting is None]
    assert not undeclared, "say what each is part of, and who may set it"


@pytest.mark.parametrize(("question", "field"), CASES)
def test_the_id_changes_with_a_setting_exactly_where_that_is_declared(
    question: type[RunSettings], field: Any, kept: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, known = kept
    monkeypatch.chdir(folder)
    own = OTHER_IN.get(question, {})
    changed = own.get(field.name) or OTHER.get(field.name) or {field.name: another(field)}
    before = {name: value for name, value in changed.items() if name != field.name}

    plain = f"{question.__name__} {before}"
    if plain not in known:
        known[plain] = prepared(question, before)
    one, other = known[plain], prepared(question, changed)

    assert (one.run_id != other.run_id) == (field.setting.role in IN_THE_ID)
    differ = verdicts_of(one.judges) != verdicts_of(other.judges)
    assert differ == (field.setting.role is Role.KEY and field.name not in OF_OTHERS)


@pytest.mark.parametrize("question", [CompareSettings, EstimateSettings, AgreeSettings])
def test_other_stakes_make_another_run(
    question: type[RunSettings], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other stakes the same verdicts may end a run elsewhere, so that none is resumed with them."""
    monkeypatch.chdir(here)
    before = run_of(question, {})
    monkeypatch.setattr(f"{question.__module__.rpartition('.')[0]}.question.VERSION", -1)
    assert run_of(question, {}) != before


def test_leaving_items_out_changes_the_id_by_the_items_alone(here: Path) -> None:
    whole = run_of(CompareSettings, {})
    shorter = run_of(CompareSettings, {"second": "short.jsonl", "allow_partial": True})
    (here / "short.jsonl").write_text((here / "b.jsonl").read_text())

    assert run_of(CompareSettings, {"allow_partial": True}) == whole
    assert len({whole, shorter, run_of(CompareSettings, {"second": "short.jsonl"})}) == 3


def test_a_map_changes_the_id_by_the_texts_that_it_chooses_alone(here: Path) -> None:
    rows = [json.loads(line) for line in (here / "b.jsonl").read_text().splitlines()]
    renamed = [{"reply" if name == "output" else name: row[name] for name in row} for row in rows]
    both = [row | {"reply": f"Other {row['id']}"} for row in rows]
    for name, made in (("renamed.jsonl", renamed), ("both.jsonl", both)):
        (here / name).write_text("\n".join(map(json.dumps, made)))
    (here / "folder").mkdir()
    (here / "folder" / "b.jsonl").write_text((here / "renamed.jsonl").read_text())
    chosen = {"map": "output=reply"}

    mapped = run_of(CompareSettings, {"second": "folder/b.jsonl", **chosen})

    assert mapped == run_of(CompareSettings, {})
    assert run_of(CompareSettings, {"second": "both.jsonl", **chosen}) != run_of(
        CompareSettings, {"second": "both.jsonl"}
    )


def test_an_epoch_changes_the_id_by_the_answers_that_it_chooses_alone(here: Path) -> None:
    answers = [("same", 1), ("same", 2), ("other", 3)]
    samples = [
        {
            "id": f"i{item}",
            "epoch": epoch,
            "input": f"Question i{item}?",
            "output": {"choices": [{"message": {"role": "assistant", "content": answer}}]},
        }
        for item in range(12)
        for answer, epoch in answers
    ]
    log = {"status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}
    (here / "log.json").write_text(json.dumps(log))

    first, second, third = (run_of(CompareSettings, {"second": "log.json", "epoch": str(epoch)}) for epoch in (1, 2, 3))

    assert first == second != third


def test_how_confidence_is_measured_is_in_the_id_as_other_items_are_judged(here: Path) -> None:
    actracer = {"selector": "actracer", "judge": ("metric:exact",), "items": "items.jsonl"}
    means = {"confidence_by": "geometric-mean"}, {"confidence_by": "first-token"}
    ids = [run_of(EstimateSettings, actracer | measure) for measure in means]
    assert len(set(ids)) == 2


def test_the_tie_margin_is_in_the_id_whoever_judges(here: Path) -> None:
    ids = [run_of(CompareSettings, {"tie_margin": margin}) for margin in (0.0, 0.1)]
    assert len(set(ids)) == 2
