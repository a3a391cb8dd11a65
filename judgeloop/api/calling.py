"""Implements the Python API of a question: a call, its awaited form, and its dry run.

Prepares the run, runs it, reports progress to the caller's function, and lets a cancelled run
drain. Where an event loop runs, as in a notebook, a call waits for a thread with a loop of its own.
Prints nothing, changes nothing in asyncio, and sets no signal handler: Ctrl-C arrives as asyncio or
Python delivers it. `questions.py` has the functions themselves.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import shlex
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, final

from judgeloop.api.in_memory import of_lists, settings_of
from judgeloop.core.errors import InputError, JudgeloopError
from judgeloop.engine.state import Interruption, Progress
from judgeloop.formats.own_files import LEDGER
from judgeloop.questions.catalogue import QuestionRow
from judgeloop.questions.kept import keep
from judgeloop.questions.question import Question
from judgeloop.report.words import as_python, looking_into
from judgeloop.runs.again import called, masked, repeatable
from judgeloop.runs.begin import opened
from judgeloop.runs.forecast import Forecast
from judgeloop.settings.setting import declared

if TYPE_CHECKING:
    from judgeloop.report.result import RunResult
from judgeloop.report.terminal import render

T = TypeVar("T")
LOOK_S = 0.2  # seconds after which a waiting caller looks for Ctrl-C, where no signal ends a wait
R = TypeVar("R", bound="RunResult")
A = ParamSpec("A")
F = TypeVar("F", bound=Callable[..., Any])
ProgressCallback = Callable[[Progress[Any]], object]

# The defaults of the parameters that are no settings.
NO_SETTINGS = {"environment": None, "progress": None, "version": None, "raise_on_failure": False}
LONGEST_NAME = 40  # characters
GOES_ON = "what was paid for is kept; the same call goes on"
MANY = "; the best of several systems: `select([…], …)`"
AWAITED = """As `{name}`, in the running event loop; files are read in a thread.

A task that is cancelled waits for the calls in flight, which are paid for, before it ends; a
task that is cancelled twice gives them up.

Raises:
    InputError: an argument or a file is wrong; nothing was spent.
    LedgerError: the ledger cannot be opened or written.
    asyncio.CancelledError: the task was cancelled; what was paid for is kept.
"""
DRY = """What `{name}` would take, with the same arguments: judgments, calls and cost.

No key is needed, no judge is asked, and nothing is spent.

Raises:
    InputError: an argument or a file is wrong.
    LedgerError: the ledger cannot be opened.
"""


@dataclass(frozen=True, slots=True)
class Caller(Generic[R]):
    """A question as Python functions; `arguments` are its keywords, as a typed dictionary."""

    question: QuestionRow[Any, R]
    arguments: type[Any]

    def answered(self, function: Callable[A, R]) -> Callable[A, R]:
        """What `function` declares: it answers, with or without a running event loop."""

        @_in_python()
        def call(*data: A.args, **arguments: A.kwargs) -> R:
            ready, reporter = self._ready(data, arguments)
            return run_here(lambda: self._run(ready, reporter))

        return self._declared(call, function)

    def awaited(self, function: Callable[A, R]) -> Callable[A, Coroutine[Any, Any, R]]:
        """The form of a function that is awaited."""

        async def call(*data: A.args, **arguments: A.kwargs) -> R:
            with _in_python():
                ready, reporter = await asyncio.to_thread(self._ready, data, arguments)
                return await self._run(ready, reporter)

        return self._declared(call, function, "_async", AWAITED)

    def dry_run(self, function: Callable[A, R]) -> Callable[A, Forecast]:
        """The form of a function that forecasts the run."""

        @_in_python()
        def call(*data: A.args, **arguments: A.kwargs) -> Forecast:
            ready, _ = self._ready(data, arguments, offline=True)
            return run_here(lambda: self._answering.forecast(ready))

        return self._declared(call, function, "_dry_run", DRY, returns="Forecast")

    def _declared(self, call: F, function: Callable[..., Any], form: str = "", doc: str = "", returns: str = "") -> F:
        """`call` as `function` is declared, with its parameters shown one by one."""
        name = function.__name__
        call.__name__ = call.__qualname__ = f"{name}{form}"
        call.__module__ = function.__module__
        call.__doc__ = doc.format(name=name) or function.__doc__
        returned = returns or function.__annotations__["return"]
        shown = signature_of(self.question.settings(), self.arguments, returned)
        call.__signature__ = shown  # type: ignore[attr-defined]
        return call

    @property
    def _answering(self) -> Question[Any, Any, R]:
        return self.question.load()

    def _ready(
        self, data: tuple[object, ...], arguments: Mapping[str, Any], *, offline: bool = False
    ) -> tuple[Any, _Reporter]:
        settings = dict(arguments)
        environment = settings.pop("environment", None)
        progress = settings.pop("progress", None)
        raises = settings.pop("raise_on_failure", False)
        call = called(f"judgeloop.{self.question.name}", data, settings)
        if "output" in settings:
            raise InputError(
                "`output`: only the command line writes files of a result; a result has to_dict() and to_frame()"
            )
        config, version = self.question.settings(), settings.pop("version", None)
        places = places_of(config)
        values = of_lists(_by_name(places, data, settings), places)
        checked = config.of(**settings_of(config, values, version))
        variables = os.environ if environment is None else environment
        reporter = _Reporter(progress, raises, masked(call, variables))
        return self._answering.prepare(checked, variables, offline=offline), reporter

    async def _run(self, ready: Any, reporter: _Reporter) -> R:
        interruption, observe = reporter.interruption, reporter.observe
        so_far, systems = self._answering.so_far, ready.pool.systems
        reporter.leads_of = lambda tally: so_far(tally, systems, LONGEST_NAME)
        with opened(ready) as begun:
            running = self._answering.run(begun, interruption=interruption, observe=observe)
            result, cancelled = await drained(running, interruption)
            if reporter.failure is not None:
                raise reporter.failure
            at = begun.config.ledger
            ledger = "" if at == LEDGER else f" --ledger {shlex.quote(str(at))}"
            page = result.page.said(lambda text: looking_into(as_python(text), ledger))
            result = replace(result, page=page, ledger=ledger)
            result = await asyncio.to_thread(repeatable, begun, result, reporter.call)
            shown: R = begun.with_texts(result)
            if begun.booked:
                await asyncio.to_thread(keep, begun, shown)
        if cancelled is not None:
            cancelled.args = (GOES_ON,)
            raise cancelled
        if reporter.raises and shown.answer.broke_off:
            raise JudgeloopError(render(shown.page, short=True))
        return shown


@contextmanager
def _in_python() -> Iterator[None]:
    """Let errors show the values of settings as Python writes them."""
    try:
        yield
    except JudgeloopError as error:
        error.args = tuple(as_python(one) if isinstance(one, str) else one for one in error.args)
        raise


def _by_name(places: tuple[str, ...], data: tuple[object, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """What is given by position, by name, with the other settings."""
    values = dict(zip(places, data, strict=False)) | settings
    if len(data) > len(places) or len(values) < len(data) + len(settings):
        raise InputError(
            f"expected {' and '.join(places)} by position, once, and all else by keyword; found "
            f"{len(data)} by position{MANY if len(data) > len(places) else ''}"
        )
    if len(places) > len(data) == 1 and isinstance(data[0], Mapping) and places[1] not in values:
        raise InputError(
            f"`{places[1]}`: expected the outputs of a second system, found none; to pass named "
            "systems, use `compare(*systems.items(), …)`"
        )
    return values


class _Reporter:
    """Passes progress to the caller's function; if it fails, the run ends as if interrupted.

    `raises`: the caller wants an error for a run that broke off. `call` is the call as it was written.
    """

    def __init__(self, progress: ProgressCallback | None, raises: bool, call: str) -> None:  # noqa: FBT001
        self._progress, self.raises, self.call = progress, raises, call
        self.leads_of: Callable[[Any], str]
        self.interruption = Interruption()
        self.failure: Exception | None = None

    def observe(self, progress: Progress[Any]) -> None:
        if self._progress is None or self.failure is not None:
            return
        try:
            self._progress(replace(progress, leads_of=self.leads_of))
        except Exception as error:  # noqa: BLE001 - raised again once the calls in flight have ended
            self.failure = error
            self.interruption.request()


def run_here(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the coroutine that `make` returns to its end, inside a running event loop or not.

    Raises:
        KeyboardInterrupt: the caller pressed Ctrl-C, and the coroutine was cancelled and has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        return _InThread(make).result()
    try:
        return asyncio.run(make())
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GOES_ON) from None


async def drained(running: Awaitable[T], interruption: Interruption) -> tuple[T, asyncio.CancelledError | None]:
    """Await a run; when cancelled, let it end as after Ctrl-C. Return its result, and the cancellation.

    The first cancellation waits for the calls in flight, the second gives them up.
    """
    task = asyncio.ensure_future(running)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            interruption.request()
            cancelled = error
    return task.result(), cancelled  # an error of the run comes before its cancellation


@final
class _InThread(Generic[T]):
    """A coroutine in a thread with an event loop of its own."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """The thread sees the caller's context variables."""
        self._make = make
        self._task: asyncio.Task[Any] | None = None
        self._ended: Future[T] = Future()
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._work,), name="judgeloop")

    def result(self) -> T:
        """Start the thread, wait for its end, and return the coroutine's result."""
        self._thread.start()
        interrupted = False
        while not self._ended.done():
            try:
                wait_for([self._ended], LOOK_S)
            except KeyboardInterrupt:
                interrupted = True
                self._cancel()
        self._thread.join()
        if interrupted:
            raise KeyboardInterrupt(GOES_ON)
        return self._ended.result()

    def _work(self) -> None:
        try:
            self._ended.set_result(asyncio.run(self._main()))
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            self._ended.set_exception(error)

    async def _main(self) -> T:
        self._task = asyncio.current_task()
        return await self._make()

    def _cancel(self) -> None:
        """Cancel the coroutine; before it has begun, or once it has ended, there is none."""
        if self._task is not None:
            with suppress(RuntimeError):  # the loop was closed just now
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)


def signature_of(config: type[Any], arguments: Any, returns: object) -> inspect.Signature:
    """The signature of a call: data by position, all else by keyword with defaults."""
    fields = declared(config)
    defaults = NO_SETTINGS | {name: field.default for name, field in fields.items()}
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if defaults[name] is MISSING else defaults[name],
            annotation=_written(hint),
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
    """The names of the settings that are given by position."""
    fields = declared(config).values()
    return tuple(field.name for field in fields if field.setting and field.setting.argument)


def _written(hint: Any) -> str:
    """The annotation of a parameter as it is written in `questions.py`."""
    text = str(getattr(hint, "__forward_arg__", hint))
    return text.removeprefix("Required[").removesuffix("]") if text.startswith("Required") else text
