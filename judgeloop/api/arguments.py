"""The parameters of `compare`, `select` and `estimate` in Python, as types for mypy and editors.

Each setting that a program may set stands here once, with the type that a program may pass; the
settings themselves are declared in the configurations (`settings/run_settings.py`), and a test compares the
two. `signature_of` makes the signature that
`inspect` and notebooks show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict

from judgeloop.core.protocols import Judge
from judgeloop.engine.state import Progress
from judgeloop.settings.setting import declared

if TYPE_CHECKING:
    from judgeloop.api.in_memory import Rows

    # A file, or rows in memory, also with the name of their system: `api/in_memory.py` says which
    # kinds of rows.
    Given: TypeAlias = str | PathLike[str] | Rows | Callable[..., Any]
    Data: TypeAlias = Given | tuple[str, Given]
    Several: TypeAlias = Mapping[str, Data] | Sequence[Data]

File: TypeAlias = str | PathLike[str]
# A judge's name, a function, or an object of one's own.
OneJudge: TypeAlias = str | Callable[..., Any] | Judge
Judges: TypeAlias = OneJudge | Sequence[OneJudge]
Dollars: TypeAlias = Decimal | float | str
Duration: TypeAlias = float | str
OrderName: TypeAlias = Literal["both", "random", "fixed"]
VoteName: TypeAlias = Literal["majority", "mean", "unanimous"]


# The defaults of the parameters that are no settings.
NO_SETTINGS = {"environment": None, "progress": None, "version": None, "raise_on_failure": False}


class CallArguments(TypedDict, total=False):
    """The parameters that are no settings.

    - `environment`: variables such as API keys, by default those of the process.
    - `progress`: called with a `Progress` after each answer.
    - `version`: identifies what the function that judges does (`judges/function.py`).
    - `raise_on_failure`: raise a `JudgeloopError` with the result's text if the run broke off.
    """

    environment: Mapping[str, str] | None
    progress: Callable[[Progress[Any]], object] | None
    version: str | None
    raise_on_failure: bool


class RunArguments(CallArguments, total=False):
    """The settings that all questions share."""

    judge: Required[Judges]
    judge_base_url: str | None
    judge_name: str | Sequence[str] | None
    judge_price: str | PathLike[str] | tuple[float, float] | None
    tier: str | None
    judge_timeout: float | None
    judge_max_tokens: int | None
    judge_effort: str | None
    tie_margin: float | None
    verdict: str | None
    lenient_replies: bool | None
    prompt: str | None
    rubric: str | None
    allow_plugins: bool | None
    budget: Dollars | None
    charge_to: str | Sequence[str] | None
    ledger: File | None
    ledger_must_exist: bool | None
    items: Data | None
    allow_partial: bool | None
    map: str | Sequence[str] | Mapping[str, str] | None
    system: str | Sequence[str] | None
    missing: str | None
    names: Sequence[str] | None
    epoch: str | None
    max_item_bytes: int | None
    seed: int | None
    risk: float | None
    min_judgments: int | None
    max_judgments: int | None
    max_abstentions: float | None
    about: str | None
    controls: str | None
    fail_on_warning: bool | None
    night: str | None
    deadline: Duration | None
    concurrency: int | None
    lookahead: int | None
    rpm: int | None
    tpm: int | None
    report_texts: str | None
    cache_dir: File | None


class ContestArguments(RunArguments, total=False):
    """The settings of questions in which systems meet each other."""

    require_winner: str | None
    order: OrderName | None
    vote: VoteName | None


class CompareArguments(ContestArguments, total=False):
    """The keywords of `compare`."""

    selector: str | None
    represent: str | None
    rule: str | None
    near_tie: float | None
    min_gap: float | None
    not_worse: float | None
    by_group: str | None
    max_flips: float | None
    give_up: float | None


class SelectArguments(ContestArguments, total=False):
    """The keywords of `select`."""

    baseline: str | None
    selector: str | None
    weak_judges: int | None
    epsilon: tuple[float, float] | str | None
    rule: str | None
    min_gap: float | None


class EstimateArguments(RunArguments, total=False):
    """The keywords of `estimate`."""

    proxy: OneJudge | None
    selector: str | None
    represent: str | None
    layer: str | int | None
    clusters: int | str | None
    allocation: str | None
    confidence: str | None
    confidence_by: str | None
    half_width: float | None
    interval: str | None
    require_score: float | None


def signature_of(config: type[Any], arguments: Any, returns: object) -> inspect.Signature:
    """Return the signature of a call: data by position, all else by keyword with defaults."""
    fields = declared(config)
    defaults = NO_SETTINGS | {name: field.default for name, field in fields.items()}
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if defaults[name] is MISSING else defaults[name],
            annotation=_shown(hint),
        )
        for name, hint in arguments.__annotations__.items()
    ]
    places = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Several" if fields[name].repeated else "Data"
        )
        for name in places_of(config)
    ]
    return inspect.Signature([*places, *keywords], return_annotation=returns)


def places_of(config: type[Any]) -> tuple[str, ...]:
    """Return the names of the settings that are given by position."""
    fields = declared(config).values()
    return tuple(field.name for field in fields if field.setting and field.setting.argument)


def _shown(hint: Any) -> str:
    """Return the annotation of a parameter as it is written above."""
    text = str(getattr(hint, "__forward_arg__", hint))
    return text.removeprefix("Required[").removesuffix("]") if text.startswith("Required") else text
