"""What a replay of recorded verdicts is made of, checked before anything is read.

What a run with judges is made of stands in `config.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from judgeloop.run.settings import (
    DEFAULT_HOME,
    Among,
    Epsilon,
    Layer,
    Represent,
    RepresentOne,
    epsilons,
    listed,
)


def _numbers(value: object) -> object:
    """`5:200:5` (first, last, step) or `5,10,20` as a list."""
    if not isinstance(value, str) or ":" not in value:
        return listed(value)
    try:
        first, last, step = map(int, value.split(":"))
        return list(range(first, last + 1, step))
    except ValueError:
        raise ValueError(
            "expected FIRST:LAST:STEP, such as 5:200:5, or numbers with commas between"
        ) from None


SelectorName = Literal["random", "decisive", "diffuse", "max-norm", "input-cluster"]
RuleName = Literal["sequential", "anytime", "tie-aware", "hypergeometric"]


class ReplayConfig(BaseModel):
    """Everything that a replay of recorded verdicts depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outputs: Path
    items: Path
    verdicts: Path
    output: Path
    selectors: Annotated[tuple[SelectorName, ...], BeforeValidator(listed), Field(min_length=1)]
    budgets: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_numbers), Field(min_length=1)
    ]
    iterative: bool = False
    rules: Annotated[tuple[RuleName, ...], BeforeValidator(listed), Field(min_length=1)]
    risk: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1)], ...],
        BeforeValidator(listed),
        Field(min_length=1),
    ]
    pairs: int = Field(300, ge=1)
    seeds: int = Field(10, ge=1)
    subset: float = Field(0.8, gt=0, le=1)
    tie_margin: float = Field(0.0, ge=0)
    leave_out: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    represent: Represent = "lexical"
    vectors: Path | None = None
    combine: Literal["difference", "concatenation", "addition"] = "difference"
    clustering: Literal["ward", "cosine", "kmeans", "micro-ward"] = "ward"
    representative: Literal["cosine", "euclidean", "largest-norm", "random"] = "cosine"
    history_systems: int = Field(0, ge=0)
    history_power: float | None = Field(None, ge=0, allow_inf_nan=False)
    min_judgments: int = Field(5, ge=1)
    max_judgments: int = Field(200, ge=1)
    give_up: float | None = Field(None, gt=0, lt=1)
    seed: int = Field(0, ge=0)
    jobs: int = -1
    resume: bool = False
    analyse: int | None = Field(None, ge=2)
    cache_dir: Path = DEFAULT_HOME / "cache"

    @field_validator("budgets")
    @classmethod
    def _ascending(cls, budgets: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(budgets)))

    @field_validator("history_systems")
    @classmethod
    def _comparable(cls, systems: int) -> int:
        if systems == 1:
            raise ValueError("expected 0 or at least 2; one system was compared with nobody")
        return systems

    @property
    def looks_at_lengths(self) -> bool:
        """Whether a selector looks at how long the outputs are."""
        return "decisive" in self.selectors and self.history_systems > 0

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
    selectors: Annotated[tuple[Among, ...], BeforeValidator(listed), Field(min_length=1)]
    pool: int = Field(400, ge=1)
    calls: Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_numbers)] = ()
    seeds: int = Field(100, ge=1)
    risk: float = Field(0.1, gt=0, lt=1)
    epsilon: Annotated[tuple[Epsilon, Epsilon] | None, BeforeValidator(epsilons)] = None
    weak_judges: int = Field(10, ge=1)
    tie_margin: float = Field(0.0, ge=0)
    leave_out: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    seed: int = Field(0, ge=0)
    jobs: int = -1
    resume: bool = False
    cache_dir: Path = DEFAULT_HOME / "cache"

    def decisive(self) -> dict[str, object]:
        """What the rows depend on, and so has to be the same for a replay to be resumed; the realisations may grow."""
        return self.model_dump(
            mode="json", exclude={"output", "jobs", "resume", "cache_dir", "seeds"}
        )


OfOne = Literal[
    "random", "stratified", "actracer", "stratified-confidence", "confidence-systematic", "cross-entropy", "mmd-critic",
    "diffuse", "actracer-8", "actracer-proportional", "actracer-random",
]  # fmt: skip


class ReplayEstimateConfig(BaseModel):
    """Everything that a replay of estimates of single systems depends on.

    `selectors` are all that the files have something for, where it is empty; `proxy` helps those that draw;
    with history, what `history_systems` others' scores let expect of each system.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outputs: Path
    items: Path
    verdicts: Path
    output: Path
    selectors: Annotated[tuple[OfOne, ...], BeforeValidator(listed)] = ()
    shares: Annotated[
        tuple[Annotated[int, Field(ge=1, le=100)], ...],
        BeforeValidator(_numbers),
        Field(min_length=1),
    ]
    seeds: int = Field(10, ge=1)
    risk: float = Field(0.1, gt=0, lt=1)
    represent: RepresentOne = "lexical"
    layer: Layer = "middle"
    vectors: Path | None = None
    confidence: str = Field("logprobs", min_length=1)
    confidence_by: Literal["geometric-mean", "first-token"] = "geometric-mean"
    proxy: Literal["confidence", "history"] | None = None
    history_systems: int = Field(0, ge=0)
    leave_out: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    seed: int = Field(0, ge=0)
    jobs: int = -1
    resume: bool = False
    cache_dir: Path = DEFAULT_HOME / "cache"

    @field_validator("shares")
    @classmethod
    def _ascending(cls, shares: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(shares)))

    def decisive(self) -> dict[str, object]:
        """What the rows depend on, and so has to be the same for a replay to be resumed."""
        return self.model_dump(mode="json", exclude={"output", "jobs", "resume", "cache_dir"})
