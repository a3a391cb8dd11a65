"""The questions that can be asked, as the command line and Python share them.

A question takes a folder and one row here. Its command, help, tables of settings, part of a night and the schema of its
result are made from them. A row's functions import when they are called: what answers a question takes half a second,
which `--help` must not pay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from judgeloop.questions.agree.question import AgreeQuestion
    from judgeloop.questions.agree.result import Agreed
    from judgeloop.questions.agree.settings import AgreeSettings
    from judgeloop.questions.compare.question import CompareQuestion
    from judgeloop.questions.compare.result import Comparison
    from judgeloop.questions.compare.settings import CompareSettings
    from judgeloop.questions.estimate.question import EstimateQuestion
    from judgeloop.questions.estimate.result import Estimation
    from judgeloop.questions.estimate.settings import EstimateSettings
    from judgeloop.questions.question import Question
    from judgeloop.questions.select.question import SelectQuestion
    from judgeloop.questions.select.result import Selection
    from judgeloop.questions.select.settings import SelectSettings
    from judgeloop.report.result import RunResult
    from judgeloop.settings.run_settings import RunSettings

S = TypeVar("S", bound="RunSettings")
R = TypeVar("R", bound="RunResult")


@dataclass(frozen=True, slots=True)
class QuestionRow(Generic[S, R]):
    """A question.

    - `name`, `help`: as typed, and what it does in a line
    - `example`: what may be typed behind the name; `gates`: the flags whose condition exit code 5 says has failed
    - `settings`: the class of its settings; `load`: what answers it, and knows its result
    """

    name: str
    help: str
    example: str
    gates: str
    settings: Callable[[], type[S]]
    load: Callable[[], Question[S, Any, R]]


def _compare_settings() -> type[CompareSettings]:
    from judgeloop.questions.compare.settings import CompareSettings

    return CompareSettings


def _compare() -> CompareQuestion:
    from judgeloop.questions.compare.question import CompareQuestion

    return CompareQuestion()


def _select_settings() -> type[SelectSettings]:
    from judgeloop.questions.select.settings import SelectSettings

    return SelectSettings


def _select() -> SelectQuestion:
    from judgeloop.questions.select.question import SelectQuestion

    return SelectQuestion()


def _estimate_settings() -> type[EstimateSettings]:
    from judgeloop.questions.estimate.settings import EstimateSettings

    return EstimateSettings


def _estimate() -> EstimateQuestion:
    from judgeloop.questions.estimate.question import EstimateQuestion

    return EstimateQuestion()


def _agree_settings() -> type[AgreeSettings]:
    from judgeloop.questions.agree.settings import AgreeSettings

    return AgreeSettings


def _agree() -> AgreeQuestion:
    from judgeloop.questions.agree.question import AgreeQuestion

    return AgreeQuestion()


COMPARE: QuestionRow[CompareSettings, Comparison] = QuestionRow(
    "compare",
    "Find the better of two systems.",
    "old.jsonl new.jsonl --judge openai/gpt-4.1 --budget '$2'",
    "--require-winner, --not-worse or --by-group",
    _compare_settings,
    _compare,
)
SELECT: QuestionRow[SelectSettings, Selection] = QuestionRow(
    "select",
    "Find the best of many systems by comparing each with a baseline among them.",
    "outputs/*.jsonl --baseline today --judge openai/gpt-4.1",
    "--require-winner",
    _select_settings,
    _select,
)
ESTIMATE: QuestionRow[EstimateSettings, Estimation] = QuestionRow(
    "estimate",
    "Estimate a system's mean score over all items from a few judged items.",
    "new.jsonl --judge openai/gpt-4.1 --half-width 0.05",
    "--require-score",
    _estimate_settings,
    _estimate,
)
AGREE: QuestionRow[AgreeSettings, Agreed] = QuestionRow(
    "agree",
    "Find out whether a judge may be trusted: how well it agrees with people.",
    "a.jsonl b.jsonl --judge openai/gpt-4.1 --truth labels.csv",
    "--require-agreement, --require-kappa or --not-worse-than-a-person",
    _agree_settings,
    _agree,
)
QUESTIONS: tuple[QuestionRow[Any, Any], ...] = (COMPARE, SELECT, ESTIMATE, AGREE)
