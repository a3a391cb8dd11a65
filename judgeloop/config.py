"""What a comparison is made of, checked before anything is read or spent, and put together.

Flags, environment and `judgeloop.toml` are merged in `cli.py`; this is what they merge into. Nothing runs here.
"""

from __future__ import annotations

import re
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from judgeloop.errors import InputError
from judgeloop.formats.tables import read_text
from judgeloop.judges.prompting import Template, parse_template
from judgeloop.money import MOST_DOLLARS, to_pico
from judgeloop.panel import Vote
from judgeloop.presentation import Order
from judgeloop.selectors.making import SELECTORS_THAT_DRAW

DEFAULT_HOME = Path(".judgeloop")
DURATION = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[smh]?)")
REPRESENT = r"^(lexical|minilm|minilm:.+)$"
DRAWING_AMONG = {"race", "random"}
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def _budget(value: object) -> Decimal | None:
    if value is None or str(value).lower() in {"none", "inf"}:
        return None
    try:
        to_pico(str(value))
    except ValueError:
        raise ValueError(f"expected dollars such as 5.00, up to {MOST_DOLLARS:,}, or none") from None
    return Decimal(str(value))


def _seconds(value: object) -> float | None:
    if value is None or isinstance(value, int | float):
        return value
    found = DURATION.fullmatch(str(value).strip())
    if found is None:
        raise ValueError("expected a duration such as 90s, 30m or 2h")
    return float(found["number"]) * SECONDS[found["unit"]]


def _listed(value: object) -> object:
    """`a,b` as a list."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class JudgeSettings(BaseModel):
    """Who judges, by which prompt, and at what price. Money in dollars, times in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: tuple[str, ...] = Field(min_length=1)
    judge_base_url: str | None = None
    judge_price: str | None = None
    judge_timeout: float = Field(120.0, gt=0)
    judge_max_tokens: int = Field(512, ge=16)
    prices: Path | None = None
    tie_margin: float = Field(0.0, ge=0)
    verdict: Literal["schema", "choice", "tool", "logprob"] = "schema"
    prompt: str | None = None
    rubric: str | None = None
    allow_plugins: bool = False
    budget: Annotated[Decimal | None, BeforeValidator(_budget)] = Decimal("5.00")
    ledger: Path = DEFAULT_HOME / "ledger.sqlite"

    @property
    def budget_p(self) -> int | None:
        """The budget in picodollars; None for no limit."""
        return None if self.budget is None else to_pico(self.budget)


class RunSettings(JudgeSettings):
    """What every run depends on that asks judges about systems' outputs."""

    items: Path | None = None
    allow_partial: bool = False
    risk: float = Field(0.1, gt=0, le=1)
    min_judgments: int = Field(5, ge=1)
    max_judgments: int = Field(200, ge=1)
    max_abstentions: float = Field(0.05, ge=0, le=1)
    order: Order = Order.BOTH
    vote: Vote = Vote.MAJORITY
    lookahead: int = Field(0, ge=0)
    decoys: int = Field(0, ge=0)
    decoy_outputs: Path | None = None
    deadline: Annotated[float | None, BeforeValidator(_seconds)] = Field(None, gt=0)
    concurrency: int = Field(8, ge=1)
    rpm: int | None = Field(None, ge=1)
    tpm: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    run_dir: Path | None = None
    cache_dir: Path = DEFAULT_HOME / "cache"
    require_winner: str | None = None

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of each system."""
        raise NotImplementedError

    def pairs(self, systems: tuple[str, ...]) -> list[tuple[str, str]]:
        """Which of the systems may be compared with each other.

        Raises:
            InputError: one that is named is not among them.
        """
        raise NotImplementedError

    def files_read(self) -> list[Path]:
        """Every file that the run reads, and its ledger."""
        tables = [Path(spec.removeprefix("replay:")) for spec in self.judge if spec.startswith("replay:")]
        given = [*self.output_files, self.items, self.prices, self.ledger, self.decoy_outputs, *tables]
        return [path for path in given if path is not None]


class CompareConfig(RunSettings):
    """Everything that a comparison of two systems depends on."""

    first: Path
    second: Path
    selector: Literal["random", "diffuse", "max-norm", "input-cluster"] = "random"
    combine: Literal["difference", "concatenation", "addition"] = "difference"
    clustering: Literal["ward", "cosine", "kmeans", "micro-ward"] = "ward"
    representative: Literal["cosine", "euclidean", "largest-norm", "random"] = "cosine"
    represent: str = Field("lexical", pattern=REPRESENT)
    rule: Literal["sequential", "anytime", "tie-aware", "hypergeometric"] | None = None
    near_tie: float | None = Field(None, gt=0, lt=1)
    analyse: bool = False

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of both systems."""
        return self.first, self.second

    def pairs(self, systems: tuple[str, ...]) -> list[tuple[str, str]]:
        """The two."""
        first, second = systems
        return [(first, second)]

    @property
    def rule_name(self) -> str:
        """The rule asked for; else the guaranteed one, or a heuristic for a selector that picks."""
        return self.rule or ("sequential" if self.selector in SELECTORS_THAT_DRAW else "tie-aware")


def _epsilons(value: object) -> object:
    """`auto` as None, `0.1,0.2` as two numbers."""
    if value is None or value == "auto":
        return None
    listed = _listed(value)
    if isinstance(listed, list | tuple) and len(listed) == len(("losses", "draws")):
        return listed
    raise ValueError("expected auto, or E1,E2: how often the best system loses and ties")


Epsilon = Annotated[float, Field(gt=0, lt=1)]
Among = Literal[
    "race", "random", "halving", "llm-selector", "bradley-terry", "most-draws", "confidence", "uncertainty"
]


class SelectConfig(RunSettings):
    """Everything that a search for the best of many systems depends on."""

    outputs: tuple[Path, ...]
    baseline: str
    selector: Among = "race"
    rule: Literal["separated", "fixed-budget"] | None = None
    risk: float = Field(0.1, gt=0, lt=1)  # at a risk of 1 every system would be out before the first query
    near_best: float | None = Field(None, gt=0, lt=1)
    epsilon: Annotated[tuple[Epsilon, Epsilon] | None, BeforeValidator(_epsilons)] = None
    weak_judges: int = Field(10, ge=1)
    min_judgments: int = Field(1, ge=1)
    max_judgments: int = Field(2000, ge=1)

    @field_validator("epsilon")
    @classmethod
    def _leave_room(cls, epsilon: tuple[float, float] | None) -> tuple[float, float] | None:
        if epsilon is not None and sum(epsilon) >= 1:
            raise ValueError("expected E1,E2 whose sum is under 1, for losses and draws of the best system")
        return epsilon

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of all systems."""
        return self.outputs

    def pairs(self, systems: tuple[str, ...]) -> list[tuple[str, str]]:
        """Each system with the baseline."""
        if self.baseline not in systems:
            raise InputError(
                f"--baseline: expected one of {', '.join(systems)}, found {self.baseline!r}; its outputs have to be "
                "among those given"
            )
        return [(name, self.baseline) for name in systems if name != self.baseline]

    @property
    def rule_name(self) -> str:
        """The rule asked for; else the guaranteed one, or the end of the budget for a selector that picks."""
        return self.rule or ("separated" if self.selector in DRAWING_AMONG else "fixed-budget")


def _numbers(value: object) -> object:
    """`5:200:5` (first, last, step) or `5,10,20` as a list."""
    if not isinstance(value, str) or ":" not in value:
        return _listed(value)
    try:
        first, last, step = map(int, value.split(":"))
        return list(range(first, last + 1, step))
    except ValueError:
        raise ValueError(
            "expected FIRST:LAST:STEP, such as 5:200:5, or numbers with commas between"
        ) from None


SelectorName = Literal["random", "diffuse", "max-norm", "input-cluster"]
RuleName = Literal["sequential", "anytime", "tie-aware", "hypergeometric"]


class ReplayConfig(BaseModel):
    """Everything that a replay of recorded verdicts depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outputs: Path
    items: Path
    verdicts: Path
    output: Path
    selectors: Annotated[tuple[SelectorName, ...], BeforeValidator(_listed), Field(min_length=1)]
    budgets: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_numbers), Field(min_length=1)
    ]
    iterative: bool = False
    rules: Annotated[tuple[RuleName, ...], BeforeValidator(_listed), Field(min_length=1)]
    risk: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1)], ...], BeforeValidator(_listed), Field(min_length=1)
    ]
    pairs: int = Field(300, ge=1)
    seeds: int = Field(10, ge=1)
    subset: float = Field(0.8, gt=0, le=1)
    tie_margin: float = Field(0.0, ge=0)
    leave_out: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    represent: str = Field("lexical", pattern=REPRESENT)
    vectors: Path | None = None
    combine: Literal["difference", "concatenation", "addition"] = "difference"
    clustering: Literal["ward", "cosine", "kmeans", "micro-ward"] = "ward"
    representative: Literal["cosine", "euclidean", "largest-norm", "random"] = "cosine"
    min_judgments: int = Field(5, ge=1)
    max_judgments: int = Field(200, ge=1)
    seed: int = Field(0, ge=0)
    jobs: int = -1
    resume: bool = False
    analyse: int | None = Field(None, ge=2)
    cache_dir: Path = DEFAULT_HOME / "cache"

    @field_validator("budgets")
    @classmethod
    def _ascending(cls, budgets: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(budgets)))

    def decisive(self) -> dict[str, object]:
        """What the rows depend on, and so has to be the same for a replay to be resumed; the number of pairs may grow."""
        beside = {"output", "jobs", "resume", "cache_dir", "pairs", "analyse"}
        return self.model_dump(mode="json", exclude=beside)


class ReplaySelectConfig(BaseModel):
    """Everything that a replay of searches for the best of many depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outputs: Path
    items: Path
    verdicts: Path
    output: Path
    baseline: str
    selectors: Annotated[tuple[Among, ...], BeforeValidator(_listed), Field(min_length=1)]
    pool: int = Field(400, ge=1)
    calls: Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_numbers)] = ()
    seeds: int = Field(100, ge=1)
    risk: float = Field(0.1, gt=0, lt=1)
    epsilon: Annotated[tuple[Epsilon, Epsilon] | None, BeforeValidator(_epsilons)] = None
    weak_judges: int = Field(10, ge=1)
    tie_margin: float = Field(0.0, ge=0)
    leave_out: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    seed: int = Field(0, ge=0)
    jobs: int = -1
    resume: bool = False
    cache_dir: Path = DEFAULT_HOME / "cache"

    def decisive(self) -> dict[str, object]:
        """What the rows depend on, and so has to be the same for a replay to be resumed; the realisations may grow."""
        return self.model_dump(mode="json", exclude={"output", "jobs", "resume", "cache_dir", "seeds"})


C = TypeVar("C", bound=BaseModel)


def compare_config(**values: object) -> CompareConfig:
    """A checked configuration; `judge` is one name, or several for a panel.

    Raises:
        InputError: a value is out of range; names the flag.
    """
    return checked(CompareConfig, values)


def checked(model: type[C], values: dict[str, object]) -> C:
    """`values` as a `model`.

    Raises:
        InputError: a value is out of range; names the flag.
    """
    if isinstance(values.get("judge"), str):
        values = values | {"judge": (values["judge"],)}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        flag = str(first["loc"][0]).replace("_", "-") if first["loc"] else "configuration"
        problem = first["msg"].removeprefix("Value error, ")
        raise InputError(f"--{flag}: {problem}, found {first['input']!r}") from None


def template_for(config: JudgeSettings) -> Template:
    """The prompt that a configuration names, or the one that suits it, with its rubric.

    Raises:
        InputError: it is not there, or does not suit what is asked of it.
    """
    template = _named_template(config)
    if "{{second}}" not in template.user:
        raise InputError(
            f"--prompt {template.id}: this rates one answer; a comparison needs the fields first and second"
        )
    if config.verdict == "logprob" and sorted(template.labels.values()) != [0.0, 1.0]:
        raise InputError(
            f"--verdict logprob needs a prompt with two labels, scored 1 and 0; {template.id} has others"
        )
    bare = template.schema.get("type") == "string"
    if bare != (config.verdict in {"logprob", "choice"}):
        fits = "--verdict choice or logprob" if bare else "--verdict schema or tool"
        raise InputError(
            f"--prompt {template.id} asks for a reply that goes with {fits}, found {config.verdict}"
        )
    if config.rubric is None:
        if template.takes_rubric:
            raise InputError(f"--prompt {template.id} has a place for a rubric; give --rubric TEXT or FILE")
        return template
    if not template.takes_rubric:
        raise InputError(f"--rubric: the prompt {template.id} has no place for a rubric ({{{{rubric}}}})")
    return template.with_rubric(_text_or_file(config.rubric))


def _named_template(config: JudgeSettings) -> Template:
    if config.prompt is None:
        if config.verdict in {"logprob", "choice"}:
            kind = "label" if config.verdict == "logprob" else "choice"
            return shipped_template(f"pairwise-{kind}.v1")
        return shipped_template("pairwise.v1" if config.rubric is None else "pairwise-rubric.v1")
    path = Path(config.prompt)
    if path.suffix == ".md":
        return parse_template(read_text(path), path)
    return shipped_template(config.prompt)


def _text_or_file(rubric: str) -> str:
    path = Path(rubric)
    try:
        is_file = path.is_file()
    except OSError:  # too long for a path
        is_file = False
    if not is_file and path.suffix in {".md", ".txt"} and " " not in rubric:
        raise InputError(f"--rubric {rubric}: there is no such file")
    text = read_text(path) if is_file else rubric
    if not text.strip():
        raise InputError("--rubric: the rubric is empty")
    return text.strip().encode("utf-8", "replace").decode("utf-8")


def shipped_template(name: str) -> Template:
    """A prompt of judgeloop's own, by its file's name without the ending.

    Raises:
        InputError: there is none of that name; lists those there are.
    """
    installed = files("judgeloop") / "_prompts"
    beside = Path(__file__).parent.parent / "prompts"  # a checkout, installed editable
    folder = installed if installed.is_dir() else beside
    names = sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md"))
    if name not in names:
        raise InputError(f"--prompt {name}: expected a file ending in .md, or one of {', '.join(names)}")
    return parse_template((folder / f"{name}.md").read_text(encoding="utf-8"), f"{name}.md")
