"""The questions that can be asked, as the command line and Python share them.

A question names its settings, and what prepares, runs and forecasts it. Both are imported when they
are called: the second takes half a second, which `--help` must not pay.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from judgeloop.questions.compare.prepare import PreparedComparison
    from judgeloop.questions.compare.result import Comparison
    from judgeloop.questions.compare.settings import CompareConfig
    from judgeloop.questions.estimate.prepare import PreparedEstimation
    from judgeloop.questions.estimate.result import Estimation
    from judgeloop.questions.estimate.settings import EstimateConfig
    from judgeloop.questions.select.prepare import PreparedSelection
    from judgeloop.questions.select.result import Selection
    from judgeloop.questions.select.settings import SelectConfig
    from judgeloop.report.result import RunResult
    from judgeloop.run.plan import Plan
    from judgeloop.run.prepared import Prepared
    from judgeloop.settings.run_settings import RunSettings

C = TypeVar("C", bound="RunSettings")  # the settings of a question
P = TypeVar("P", bound="Prepared[Any]")  # a run that is ready to start
R = TypeVar("R", bound="RunResult")


@dataclass(frozen=True, slots=True)
class Answering(Generic[C, P, R]):
    """What answers a question.

    - `prepare(config, environment, offline=False)`: reads and checks everything that a run needs; raises
      an `InputError`, and spends nothing. `environment` holds the judges' API keys. With `offline`, only a
      forecast is made, which needs no key.
    - `run(ready, interruption=…, observe=…)`: asks the judges until the question is answered, or money,
      judgments or items run out.
    - `forecast`: returns what a run would take, and the result from the ledger's verdicts alone.
    - `so_far`: says in words who leads during a run, from a tally and the systems' names, with at most
      a number of characters of a name.
    - `result`: the class of its results.
    """

    prepare: Callable[..., P]
    run: Callable[..., Coroutine[Any, Any, R]]
    forecast: Callable[[P], Coroutine[Any, Any, tuple[Plan, R]]]
    so_far: Callable[[Any, tuple[str, ...], int], str]
    result: type[R]


@dataclass(frozen=True, slots=True)
class Question(Generic[C, P, R]):
    """A question: its name, a line of help, and an example as typed.

    Its folder has its name. `config` and `result` are the names of the classes of its settings and of
    its results in the modules of these names.
    """

    name: str
    help: str
    example: str
    config: str
    result: str

    def settings(self) -> type[C]:
        """Return the class of its settings."""
        found: type[C] = self._of("settings", self.config)
        return found

    def load(self) -> Answering[C, P, R]:
        """Return what answers it."""
        return Answering(
            self._of("prepare", "prepare"),
            self._of("run", "run"),
            self._of("run", "forecast"),
            self._of("page", "so_far"),
            self._of("result", self.result),
        )

    def _of(self, module: str, name: str) -> Any:
        return getattr(import_module(f"judgeloop.questions.{self.name}.{module}"), name)


COMPARE: Question[CompareConfig, PreparedComparison, Comparison] = Question(
    "compare",
    "Find the better of two systems.",
    "old.jsonl new.jsonl --judge openai/gpt-4.1 --budget '$2'",
    "CompareConfig",
    "Comparison",
)
SELECT: Question[SelectConfig, PreparedSelection, Selection] = Question(
    "select",
    "Find the best of many systems by comparing each with a baseline among them.",
    "outputs/*.jsonl --baseline today --judge openai/gpt-4.1",
    "SelectConfig",
    "Selection",
)
ESTIMATE: Question[EstimateConfig, PreparedEstimation, Estimation] = Question(
    "estimate",
    "Estimate a system's mean score over all items from a few judged items.",
    "new.jsonl --judge openai/gpt-4.1 --half-width 0.05",
    "EstimateConfig",
    "Estimation",
)
QUESTIONS: tuple[Question[Any, Any, Any], ...] = (COMPARE, SELECT, ESTIMATE)
