"""What a run is made of, checked before anything is read or spent.

Flags, environment and `judgeloop.toml` are merged in `cli.py`; this is what they merge into. Nothing runs here.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from judgeloop.core.errors import InputError
from judgeloop.core.money import MOST_DOLLARS, to_pico
from judgeloop.engine.panel import Vote
from judgeloop.engine.presentation import Order
from judgeloop.selectors.making import DRAWING_EVENLY
from judgeloop.stopping import GUARANTEED

DEFAULT_HOME = Path(".judgeloop")
DURATION = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[smh]?)")
Represent = Annotated[
    str,
    Field(pattern=r"^(lexical|minilm|minilm:.+)$", description="lexical, minilm or minilm:FOLDER"),
]
RepresentOne = Annotated[
    str,
    Field(
        pattern=r"^(lexical|minilm|minilm:.+|hidden:.+)$",
        description="lexical, minilm, minilm:FOLDER or hidden:MODEL",
    ),
]
Layer = Annotated[
    str, Field(pattern=r"^(middle|last|auto|\d+)$", description="middle, last, auto or a number")
]
DRAWING_AMONG = {"race", "random"}
FIRST_LOOK = 20  # judgments after which an interval is first looked at
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def _budget(value: object) -> Decimal | None:
    if value is None or str(value).lower() in {"none", "inf"}:
        return None
    try:
        to_pico(str(value))
    except ValueError:
        raise ValueError(
            f"expected dollars such as 5.00, up to {MOST_DOLLARS:,}, or none"
        ) from None
    return Decimal(str(value))


def _seconds(value: object) -> float | None:
    if value is None or isinstance(value, int | float):
        return value
    found = DURATION.fullmatch(str(value).strip())
    if found is None:
        raise ValueError("expected a duration such as 90s, 30m or 2h")
    return float(found["number"]) * SECONDS[found["unit"]]


def listed(value: object) -> object:
    """`a,b` as a list."""
    return (
        [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, str)
        else value
    )


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
    def rates(self) -> bool:
        """Whether judges are shown one output at a time, and not two."""
        return False

    @property
    @abstractmethod
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of each system."""

    @abstractmethod
    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Which systems may be compared with each other, or rated, on an item.

        Raises:
            InputError: one that is named is not among them.
        """

    @property
    def specs(self) -> tuple[str, ...]:
        """Every judge that is asked, as typed."""
        return self.judge

    def files_read(self) -> list[Path]:
        """Every file that the run reads, and its ledger."""
        tables = [
            Path(spec.removeprefix("replay:")) for spec in self.specs if spec.startswith("replay:")
        ]
        given = [
            *self.output_files,
            self.items,
            self.prices,
            self.ledger,
            self.decoy_outputs,
            *tables,
        ]
        return [path for path in given if path is not None]


class CompareConfig(RunSettings):
    """Everything that a comparison of two systems depends on."""

    first: Path
    second: Path
    selector: Literal["random", "decisive", "diffuse", "max-norm", "input-cluster"] = "random"
    history: str = Field("auto", min_length=1)
    combine: Literal["difference", "concatenation", "addition"] = "difference"
    clustering: Literal["ward", "cosine", "kmeans", "micro-ward"] = "ward"
    representative: Literal["cosine", "euclidean", "largest-norm", "random"] = "cosine"
    represent: Represent = "lexical"
    rule: Literal["sequential", "anytime", "calibrated", "tie-aware", "hypergeometric"] | None = (
        None
    )
    near_tie: float | None = Field(None, gt=0, lt=1)
    give_up: float | None = Field(None, gt=0, lt=1)
    analyse: bool = False

    @model_validator(mode="before")
    @classmethod
    def _draw_evenly_for_a_guarantee(cls, values: dict[str, object]) -> dict[str, object]:
        """Where no selector is asked for: even draws for a rule that needs them, and decisive items first for all others."""
        if values.get("selector") is not None:
            return values
        evenly = values.get("rule") in {None, *GUARANTEED}
        return values | {"selector": "random" if evenly else "decisive"}

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of both systems."""
        return self.first, self.second

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The two."""
        return [systems]

    def files_read(self) -> list[Path]:
        """Every file that the run reads, and its ledger."""
        return [
            *super().files_read(),
            *([Path(self.history)] if Path(self.history).is_file() else []),
        ]

    @property
    def rule_name(self) -> str:
        """The rule asked for; else the guaranteed one, or a heuristic for a selector that prefers some items."""
        return self.rule or ("sequential" if self.selector in DRAWING_EVENLY else "tie-aware")


def _auto(value: object) -> object:
    """`auto` as None."""
    return None if value == "auto" else value


def epsilons(value: object) -> object:
    """`auto` as None, `0.1,0.2` as two numbers."""
    if _auto(value) is None:
        return None
    both = listed(value)
    if isinstance(both, list | tuple) and len(both) == len(("losses", "draws")):
        return both
    raise ValueError("expected auto, or E1,E2: how often the best system loses and ties")


Epsilon = Annotated[float, Field(gt=0, lt=1)]
Among = Literal[
    "race",
    "random",
    "halving",
    "llm-selector",
    "bradley-terry",
    "most-draws",
    "confidence",
    "uncertainty",
]


class SelectConfig(RunSettings):
    """Everything that a search for the best of many systems depends on."""

    outputs: tuple[Path, ...]
    baseline: str
    selector: Among = "race"
    rule: Literal["separated", "fixed-budget"] | None = None
    risk: float = Field(
        0.1, gt=0, lt=1
    )  # at a risk of 1 every system would be out before the first query
    near_best: float | None = Field(None, gt=0, lt=1)
    epsilon: Annotated[tuple[Epsilon, Epsilon] | None, BeforeValidator(epsilons)] = None
    weak_judges: int = Field(10, ge=1)
    min_judgments: int = Field(1, ge=1)
    max_judgments: int = Field(2000, ge=1)

    @field_validator("epsilon")
    @classmethod
    def _leave_room(cls, epsilon: tuple[float, float] | None) -> tuple[float, float] | None:
        if epsilon is not None and sum(epsilon) >= 1:
            raise ValueError(
                "expected E1,E2 whose sum is under 1, for losses and draws of the best system"
            )
        return epsilon

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of all systems."""
        return self.outputs

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
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


class EstimateConfig(RunSettings):
    """Everything that an estimate of one system's mean score depends on."""

    outputs: Path
    selector: Literal[
        "random", "stratified", "actracer", "stratified-confidence", "confidence-systematic", "cross-entropy", "mmd-critic",
        "diffuse",
    ] = "random"  # fmt: skip
    represent: RepresentOne = "lexical"
    layer: Layer = "middle"
    clusters: Annotated[int | None, BeforeValidator(_auto)] = Field(None, ge=1)
    allocation: Literal["mc-ucb", "proportional"] = "mc-ucb"
    confidence: str = Field("logprobs", min_length=1)
    confidence_by: Literal["geometric-mean", "first-token"] = "geometric-mean"
    proxy: str | None = None
    history: str = Field("auto", min_length=1)
    interval: Literal["approximate", "anytime"] = "approximate"
    half_width: float | None = Field(None, gt=0, lt=0.5)
    require_score: float | None = Field(None, ge=0, le=1)
    risk: float = Field(0.1, gt=0, lt=1)
    min_judgments: int = Field(FIRST_LOOK, ge=1)
    order: Order = Order.FIXED  # one output has no order
    vote: Vote = Vote.MEAN  # and its scores no majority

    @model_validator(mode="before")
    @classmethod
    def _look_at_the_end_at_the_latest(cls, values: dict[str, object]) -> dict[str, object]:
        """A limit below the default of the first look lowers that; a first look of one's own is one's own business."""
        least, most = values.get("min_judgments", FIRST_LOOK), values.get("max_judgments")
        if least == FIRST_LOOK and isinstance(most, int) and 0 < most < FIRST_LOOK:
            return values | {"min_judgments": most}
        return values

    @property
    def rates(self) -> bool:
        """Always."""
        return True

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of the one system."""
        return (self.outputs,)

    @property
    def specs(self) -> tuple[str, ...]:
        """Every judge that is asked, and the one that is asked about everything."""
        return (
            self.judge
            if self.proxy in {None, "confidence", "history"}
            else (*self.judge, str(self.proxy))
        )

    def files_read(self) -> list[Path]:
        """Every file that the run reads, and its ledger."""
        return [
            *super().files_read(),
            *([Path(self.history)] if Path(self.history).is_file() else []),
        ]

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The one alone."""
        return [systems]


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
        problem = _expected(first["msg"].removeprefix("Value error, "))
        if first["type"] == "string_pattern_mismatch":
            problem = f"expected {model.model_fields[str(first['loc'][0])].description}"
        raise InputError(f"--{flag}: {problem}, found {first['input']!r}") from None


def _expected(problem: str) -> str:
    """The sentence of pydantic as every other error here begins: with what was expected."""
    if problem.startswith("Value should have at least 1 item"):
        return "expected at least one"
    says, _, what = problem.partition("Input should be ")
    if says or not what:
        return problem
    return f"expected {what}" if what.startswith(("a ", "an ", "'")) else f"expected a value {what}"


class CalibrateConfig(BaseModel):
    """Everything that replaying earlier comparisons depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ledger: Path = DEFAULT_HOME / "ledger.sqlite"
    history: str = Field("auto", min_length=1)
    judge_name: str | None = None
    tie_margin: float = Field(0.0, ge=0)
    risk: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        BeforeValidator(listed),
        Field(min_length=1),
    ] = (0.1, 0.2)
    min_judgments: int = Field(5, ge=1)
    max_judgments: int = Field(200, ge=1)
    give_up: float | None = Field(None, gt=0, lt=1)
    seed: int = Field(0, ge=0)
