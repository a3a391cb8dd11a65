"""Implements the Python API of a question: a call, its awaited form, and its dry run.

Prepares the run, runs it, reports progress to the caller's function, and lets a cancelled run
drain. Prints nothing and sets no signal handler. `questions.py` has the functions themselves.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from judgeloop.api.arguments import COMMAND_ONLY, places_of, signature_of
from judgeloop.api.in_memory import Collector
from judgeloop.api.sync_bridge import drained, run_here
from judgeloop.core.errors import InputError
from judgeloop.engine.state import Interruption, Progress
from judgeloop.questions.question import Answering, Question
from judgeloop.report.texts import Texts
from judgeloop.run.dry_run import DryRun
from judgeloop.run.inputs import NOTHING_GIVEN, Given

if TYPE_CHECKING:
    from judgeloop.report.run_result import RunResult

R = TypeVar("R", bound="RunResult")
A = ParamSpec("A")
F = TypeVar("F", bound=Callable[..., Any])
ProgressCallback = Callable[[Progress[Any]], object]

AWAITED = """As `{name}`, in the running event loop; files are read in a thread.

A task that is cancelled waits for the calls in flight, which are paid for, before it ends; a
task that is cancelled twice gives them up.

Raises:
    InputError: an argument or a file is wrong; nothing was spent.
    LedgerError: the ledger cannot be opened or written.
    asyncio.CancelledError: the task was cancelled; what was paid for is kept.
"""
DRY = """Return what `{name}` would take, with the same arguments: judgments, calls and cost.

No key is needed, no judge is asked, and nothing is spent.

Raises:
    InputError: an argument or a file is wrong.
    LedgerError: the ledger cannot be opened.
"""


@dataclass(frozen=True, slots=True)
class Caller(Generic[R]):
    """A question as Python functions; `arguments` are its keywords, as a typed dictionary."""

    question: Question[Any, Any, R]
    arguments: type[Any]

    def signed(self, function: F) -> F:
        """Show a function's parameters one by one, as `inspect`, `help` and editors read them."""
        returns = function.__annotations__["return"]
        shown = signature_of(self.question.settings(), self.arguments, returns)
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    def answer(self, data: tuple[object, ...], arguments: dict[str, Any]) -> R:
        """Answer the question, with or without a running event loop.

        Raises:
            InputError: an argument is wrong; nothing was spent.
        """
        ready, progress = self._ready(data, arguments)
        return run_here(lambda: self._run(ready, progress))

    def awaited(self, function: Callable[A, R]) -> Callable[A, Coroutine[Any, Any, R]]:
        """Return the form of a function that is awaited."""

        async def call(*data: A.args, **arguments: A.kwargs) -> R:
            ready, progress = await asyncio.to_thread(self._ready, data, arguments)
            return await self._run(ready, progress)

        call.__annotations__["return"] = function.__annotations__["return"]
        return self._named(call, function, "async", AWAITED)

    def dry_run(self, function: Callable[A, R]) -> Callable[A, DryRun]:
        """Return the form of a function that forecasts the run."""

        def call(*data: A.args, **arguments: A.kwargs) -> DryRun:
            ready, _ = self._ready(data, arguments, offline=True)
            plan, result = run_here(lambda: self._answering.forecast(ready))
            return DryRun.of(ready.judges, plan, result)

        return self._named(call, function, "dry_run", DRY)

    def _named(self, call: F, function: Callable[..., Any], form: str, doc: str) -> F:
        name = function.__name__
        call.__name__ = call.__qualname__ = f"{name}_{form}"
        call.__module__, call.__doc__ = function.__module__, doc.format(name=name)
        return self.signed(call)

    @property
    def _answering(self) -> Answering[Any, Any, R]:
        return self.question.load()

    def _ready(
        self, data: tuple[object, ...], arguments: Mapping[str, Any], *, offline: bool = False
    ) -> tuple[Any, ProgressCallback | None]:
        settings = dict(arguments)
        progress, environment = settings.pop("progress", None), settings.pop("environment", None)
        config, given = settings.pop("config", next(iter(data), None)), NOTHING_GIVEN
        if isinstance(config, self.question.settings()):
            beside = _beside(config, data[1:], settings)
            environment = environment if beside is None else beside  # may be empty, as in the demo
        else:
            config, given = self._collected(data, settings)
        variables = os.environ if environment is None else environment
        return self._answering.prepare(config, variables, given=given, offline=offline), progress

    def _collected(self, data: tuple[object, ...], settings: dict[str, Any]) -> tuple[Any, Given]:
        """Return the checked settings, and the tables and judges that are in memory."""
        for name in COMMAND_ONLY:
            if name in settings:
                raise InputError(
                    f"`{name}`: only the command line writes a run's files; a result has to_dict() "
                    "and to_frame()"
                )
        config = self.question.settings()
        collector = Collector(settings.pop("version", None))
        values = collector.settings(config, _by_name(places_of(config), data, settings))
        return config.of(**values), collector.given()

    async def _run(self, ready: Any, progress: ProgressCallback | None) -> R:
        interruption = Interruption()
        reporter = _Reporter(progress, interruption)
        running = self._answering.run(ready, interruption=interruption, observe=reporter.observe)
        result = await drained(running, interruption)
        if reporter.failure is not None:
            raise reporter.failure
        return replace(result, texts=Texts(ready.pool))


def _beside(
    config: object, others: tuple[object, ...], settings: Mapping[str, Any]
) -> Mapping[str, str] | None:
    """Return the environment if it follows a configuration; refuse any setting beside it."""
    environment = next(iter(others), None)
    if settings or not isinstance(environment, Mapping | None):
        raise InputError(
            f"a {type(config).__name__} holds all settings; only `environment` and `progress` may "
            "stand beside it"
        )
    return environment


def _by_name(
    places: tuple[str, ...], data: tuple[object, ...], settings: dict[str, Any]
) -> dict[str, Any]:
    """Return what is given by position, by name, with the other settings."""
    values = dict(zip(places, data, strict=False)) | settings
    if len(data) > len(places) or len(values) < len(data) + len(settings):
        raise InputError(
            f"expected {' and '.join(places)} by position, once, and all else by keyword; found "
            f"{len(data)} by position"
        )
    if len(places) > len(data) == 1 and isinstance(data[0], Mapping) and places[1] not in values:
        raise InputError(
            f"`{places[1]}`: expected the outputs of a second system, found none; to pass named "
            "systems, use `compare(*systems.items(), …)`"
        )
    return values


class _Reporter:
    """Passes progress to the caller's function; if it fails, the run ends as if interrupted."""

    def __init__(self, progress: ProgressCallback | None, interruption: Interruption) -> None:
        self._progress = progress
        self._interruption = interruption
        self.failure: Exception | None = None

    def observe(self, progress: Progress[Any]) -> None:
        if self._progress is None or self.failure is not None:
            return
        try:
            self._progress(progress)
        except Exception as error:  # noqa: BLE001 - raised again once the calls in flight have ended
            self.failure = error
            self._interruption.request()
