"""Answers a question for a program: arguments in, result out, awaited or not.

A question's own `call.py` declares the parameters. Prepares the run, runs it, reports progress to
the caller's function, and lets a cancelled run drain. Prints nothing and sets no signal handler.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from judgeloop.api.arguments import COMMAND_ONLY, signature_of
from judgeloop.api.collecting import Collector
from judgeloop.api.sync_bridge import drained, run_here
from judgeloop.core.errors import InputError
from judgeloop.engine.state import Interruption, Observe, Progress
from judgeloop.report.texts import Texts
from judgeloop.run.dry_run import DryRun
from judgeloop.run.given import NOTHING_GIVEN, Given
from judgeloop.run.plan import Plan

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])
ProgressCallback = Callable[[Progress[Any]], object]


class Running(Protocol[R_co]):
    """A question's `run`."""

    def __call__(
        self, prepared: Any, /, *, interruption: Interruption, observe: Observe[Any]
    ) -> Coroutine[Any, Any, R_co]:
        """Run to the end."""
        ...


def signed(
    config: type[Any],
    arguments: Any,
    data: Sequence[str],
    returns: type[Any],
) -> Callable[[F], F]:
    """Return a decorator that shows a function's parameters one by one, as `inspect` reads them."""
    signature = signature_of(config, arguments, data, returns)

    def sign(function: F) -> F:
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return sign


@dataclass(frozen=True, slots=True)
class Question(Generic[R]):
    """What calls need of a question: its settings, the names of its data, and its functions."""

    config: type[Any]
    data: tuple[str, ...]
    prepare: Callable[..., Any]
    run: Running[R]
    forecast: Callable[[Any], Coroutine[Any, Any, tuple[Plan, Any]]]

    def call(self, data: tuple[object, ...], arguments: dict[str, Any]) -> R:
        """Answer the question, with or without a running event loop.

        Raises:
            InputError: an argument is wrong; nothing was spent.
        """
        ready, told = self._ready(data, arguments)
        return run_here(lambda: self._run(ready, told))

    async def call_async(self, data: tuple[object, ...], arguments: dict[str, Any]) -> R:
        """Answer the question in the running event loop; files are read in a thread.

        Raises:
            InputError: an argument is wrong; nothing was spent.
        """
        ready, told = await asyncio.to_thread(self._ready, data, arguments)
        return await self._run(ready, told)

    def dry_run(self, data: tuple[object, ...], arguments: dict[str, Any]) -> DryRun:
        """Return what an answer would take; needs no key, asks nobody and spends nothing.

        Raises:
            InputError: an argument is wrong.
        """
        ready, _ = self._ready(data, arguments, offline=True)
        plan, result = run_here(lambda: self.forecast(ready))
        return DryRun.of(ready.judges, plan, result)

    def _ready(
        self, data: tuple[object, ...], arguments: dict[str, Any], *, offline: bool = False
    ) -> tuple[Any, ProgressCallback | None]:
        settings = dict(arguments)
        told, environment = settings.pop("progress", None), settings.pop("environment", None)
        config, given = settings.pop("config", next(iter(data), None)), NOTHING_GIVEN
        if isinstance(config, self.config):
            beside = self._beside(data[1:], settings)
            environment = environment if beside is None else beside  # may be empty, as in the demo
        else:
            config, given = self._collected(data, settings)
        variables = os.environ if environment is None else environment
        return self.prepare(config, variables, given=given, offline=offline), told

    def _beside(
        self, others: tuple[object, ...], settings: Mapping[str, Any]
    ) -> Mapping[str, str] | None:
        """Return the environment if it follows a configuration; refuse any setting beside it."""
        environment = next(iter(others), None)
        if settings or not isinstance(environment, Mapping | None):
            raise InputError(
                f"a {self.config.__name__} holds all settings; only `environment` and `progress` may "
                "stand beside it"
            )
        return environment

    def _collected(self, data: tuple[object, ...], settings: dict[str, Any]) -> tuple[Any, Given]:
        for name in COMMAND_ONLY:
            if name in settings:
                raise InputError(
                    f"`{name}`: only the command line writes a run's files; a result has to_dict() "
                    "and to_frame()"
                )
        collector = Collector(settings.pop("version", None))
        values = dict(zip(self.data, data, strict=False)) | settings
        if len(data) > len(self.data) or len(values) < len(data) + len(settings):
            raise InputError(
                f"expected {' and '.join(self.data)} by position, once, and all else by keyword; found "
                f"{len(data)} by position"
            )
        if (
            len(self.data) > 1
            and len(data) == 1
            and isinstance(data[0], Mapping)
            and self.data[1] not in values
        ):
            raise InputError(
                f"`{self.data[1]}`: expected the outputs of a second system, found none; two systems in "
                "a dictionary by name go as `compare(*systems.items(), …)`"
            )
        config = self.config.of(**collector.settings(self.config, values))
        return config, collector.given()

    async def _run(self, ready: Any, told: ProgressCallback | None) -> R:
        interruption = Interruption()
        teller = _Teller(told, interruption)
        running = self.run(ready, interruption=interruption, observe=teller.observe)
        result = await drained(running, interruption)
        if teller.failure is not None:
            raise teller.failure
        with_texts: R = replace(result, texts=Texts(ready.pool))  # type: ignore[type-var]
        return with_texts


class _Teller:
    """Passes progress to the caller's function; if it fails, the run ends as if interrupted."""

    def __init__(self, told: ProgressCallback | None, interruption: Interruption) -> None:
        self._told = told
        self._interruption = interruption
        self.failure: Exception | None = None

    def observe(self, progress: Progress[Any]) -> None:
        if self._told is None or self.failure is not None:
            return
        try:
            self._told(progress)
        except Exception as error:  # noqa: BLE001 - raised again once the calls in flight have ended
            self.failure = error
            self._interruption.request()
