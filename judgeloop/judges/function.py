"""A judge that is a function of the user's, sync or async: `python:MODULE:FUNCTION`, or passed in.

For a comparison the function returns "A", "B", "tie" or a score from 0 to 1, for a rating a score,
and None for no verdict. What it returns is checked. The cost of a call is not known and counts as
zero. A name loads the user's code, so it needs `--allow-plugins`.

A verdict is found again by the judge's identity. A function at the top of a module has one: its
name and its module's source. Any other function (a lambda, a closure, a method, a cell of a
notebook) has one only if the caller gives a version. Without it every judge made of it is a new
one, and is asked anew.

A sync function runs in a thread that nobody has to wait for. Threads of the event loop's pool are
waited for when the loop and the process end, and there are few of them: a function that hangs would
outlive its time limit, the deadline and SIGTERM.
"""

import asyncio
import functools
import hashlib
import importlib
import inspect
import sys
import threading
import traceback
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, final

from judgeloop.core import records
from judgeloop.core.errors import ErrorKind, InputError, JudgeError
from judgeloop.core.protocols import Questions
from judgeloop.judges.base import BaseJudge, JudgeOptions

T = TypeVar("T")
LABELS = {"A": 1.0, "B": 0.0, "tie": 0.5}
CONTEXT = ("prompt", "reference")  # what a function may leave out of its parameters
OUTPUTS = (("first", "second"), ("output",))  # the outputs' parameters: to compare, and to rate

Plugin = Callable[..., Any | Awaitable[Any]]


@final
class PluginJudge(BaseJudge):
    """Calls the user's function; a sync function runs in a thread of its own.

    A comparison calls `function(prompt=…, first=…, second=…, reference=…)`, a rating
    `function(prompt=…, output=…, reference=…)`. A function that does not take `prompt` or
    `reference` is called without it.
    """

    def __init__(
        self,
        name: str,
        function: Plugin,
        parameters: Mapping[str, str] | None = None,
        *,
        unknown: str | None = None,
    ) -> None:
        """`name` is MODULE:FUNCTION as typed.

        `parameters` tell the function from others of this name, by default by its source. `unknown`
        says why nothing does, so that its verdicts are not found again; None if something does.
        """
        self.unknown = unknown
        self._name = name
        self._function = function
        self._parameters = parameters
        self._left_out = _left_out(function)

    @functools.cached_property
    def identity(self) -> records.JudgeIdentity:
        """The function's name and a hash of its module's source: new source makes a new judge."""
        given = self._parameters
        parameters = {"source": source_digest(self._function)} if given is None else given
        return records.JudgeIdentity("python", self._name, parameters, mark=":")

    def check(
        self, questions: Questions, items: Sequence[records.Item], max_missing: float
    ) -> None:
        """Refuse a function that cannot be called with the outputs.

        Raises:
            InputError: it lacks a parameter, or needs one that no question has.
        """
        del items, max_missing
        outputs = OUTPUTS[len(next(iter(questions), ())) == 1]
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # of a function written in C
            return
        try:
            signature.bind(**dict.fromkeys(self._given(outputs)))
        except TypeError:
            raise InputError(
                f"`judge=python:{self._name}`: expected a function that takes {', '.join(outputs)} by "
                f"name, and {' and '.join(CONTEXT)} if it wants them; found the parameters {signature}"
            ) from None

    def _given(self, outputs: tuple[str, ...]) -> list[str]:
        """Return the names of the arguments that the function gets."""
        return [name for name in (*CONTEXT, *outputs) if name not in self._left_out]

    async def judge(self, call: records.Call) -> records.Reply:
        """Call the function and check what it returns.

        Raises:
            JudgeError: the function raised an exception.
        """
        rating = len(call.outputs) == 1
        texts = {"prompt": call.item.prompt, "reference": call.item.reference}
        texts |= zip(OUTPUTS[rating], call.outputs, strict=True)
        material = {name: texts[name] for name in self._given(OUTPUTS[rating])}
        try:
            kinds = (self._function, type(self._function).__call__)
            if any(map(inspect.iscoroutinefunction, kinds)):
                returned = await self._function(**material)
            else:
                returned = await in_own_thread(self._function, **material)
            if inspect.isawaitable(returned):
                returned = await returned
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            why = f"python:{self._name} raised CancelledError, though nobody had cancelled it"
            raise JudgeError(ErrorKind.REJECTED, why, billed=False) from error
        except (Exception, SystemExit) as error:  # SystemExit would end the run with its code
            raise JudgeError(
                ErrorKind.REJECTED,
                f"python:{self._name} raised {type(error).__name__}: {error}{_place(error, self._function)}",
                billed=False,
            ) from error
        return records.Reply(answer_from(returned, rating=rating), cost_p=0)


def _place(error: BaseException, function: Plugin) -> str:
    """Return the last line of the function's own file that an exception came through."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if code is not None and frame.filename == code.co_filename
    ]
    return f" ({Path(code.co_filename).name}, line {lines[-1]})" if code and lines else ""


def answer_from(returned: object, *, rating: bool = False) -> records.Answer:
    """Return a plugin's return value as a verdict, or an abstention that says what is wrong.

    In a comparison the value is a label or a score from 0 to 1; in a `rating` only a score.
    """
    if returned is None:
        return records.Abstention("the function gave no verdict")
    labels = {} if rating else LABELS
    if isinstance(returned, str) and returned in labels:
        return records.Verdict(labels[returned])
    if isinstance(returned, int | float) and not isinstance(returned, bool) and 0 <= returned <= 1:
        return records.Verdict(float(returned))
    expected = ", ".join((*labels, "a score from 0 to 1"))
    return records.Abstention(
        f"the function returned {repr(returned)[:60]}; expected {expected} or None"
    )


def load_plugin(spec: str, *, allowed: bool) -> PluginJudge:
    """Import the function that `spec` (MODULE:FUNCTION) names, and return its judge.

    The working directory is added to the import path.

    Raises:
        InputError: `spec` is malformed, plugins are not allowed, the module cannot be imported, or
            it has no such function.
    """
    module_name, _, function_name = spec.partition(":")
    if not module_name or not function_name:
        raise InputError(f"`judge=python:{spec}`: expected python:MODULE:FUNCTION")
    if not allowed:
        raise InputError(f"`judge=python:{spec}` runs your own code; allow it with `allow_plugins`")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (Exception, SystemExit) as error:
        # The user's module may raise any exception, or end as a script does, while it is imported.
        raise InputError(f"`judge=python:{spec}`: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise InputError(f"`judge=python:{spec}`: {function_name} cannot be called")
    return PluginJudge(spec, function)


def _left_out(function: Plugin) -> frozenset[str]:
    """Return the parts of the context that a function does not take."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a function written in C
        return frozenset()
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return frozenset()
    return frozenset(CONTEXT) - parameters.keys()


def source_digest(function: Plugin) -> str:
    """Return a hash of the function's name, its module's source, and bound `partial` arguments."""
    bound = ""
    while isinstance(function, functools.partial):
        bound += repr((function.args, sorted(function.keywords.items())))
        function = function.func
    owner = function if hasattr(function, "__qualname__") else type(function)
    try:
        source = inspect.getsource(inspect.getmodule(owner) or owner)
    except (OSError, TypeError):
        source = repr(function)
    return hashlib.sha256(f"{owner.__qualname__}\0{bound}\0{source}".encode()).hexdigest()


def make_judge(spec: str, options: JudgeOptions) -> PluginJudge:
    """Create the judge `python:MODULE:FUNCTION`."""
    return load_plugin(spec, allowed=options.allow_plugins)


def function_judge(
    function: Plugin, *, version: str | None = None, name: str | None = None
) -> PluginJudge:
    """Return a judge that calls `function`, sync or async; see `PluginJudge` for its parameters.

    `version` identifies what the function does: give another one when it changes. `name` is shown
    in results, by default the function's module and name.

    Raises:
        InputError: `function` cannot be called.
    """
    if not callable(function):
        raise InputError(f"`judge`: expected a function, found {type(function).__name__}")
    named = function if hasattr(function, "__qualname__") else type(function)
    shown = name or f"{named.__module__}:{named.__qualname__}"
    if version is not None:
        return PluginJudge(shown, function, {"version": str(version)})
    unknown = _why_unknown(function)
    if unknown is None:
        return PluginJudge(shown, function, {"source": source_digest(function)})
    return PluginJudge(shown, function, {"asked anew": uuid.uuid4().hex}, unknown=unknown)


def _why_unknown(function: Plugin) -> str | None:
    """Return why a function's name and source do not identify it; None if they do."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return "it is an object that can be called"
    if name.endswith("<lambda>"):
        return "it is a lambda"
    if "<locals>" in name:
        return "it is defined inside another function"
    return _why_not_in_its_module(function, name)


def _why_not_in_its_module(function: Plugin, name: str) -> str | None:
    module = sys.modules.get(function.__module__ or "")
    try:
        found = attrgetter(name)(module)
    except AttributeError:
        found = None
    if module is None or found is not function:
        return "it is not a function at the top of a module"
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        return "its source is in no file, as in a notebook"
    if not _is_in(source, function):
        return "its file has changed since it was imported"
    return None


def _is_in(source: str, function: Any) -> bool:
    """Return whether `source` still is what the function was loaded from.

    A notebook runs for days, and its modules may be edited meanwhile. The verdicts of the old code
    must not be kept under the new source.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return True  # an object of a class: its own code is in the class
    try:
        compiled = compile(source, code.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return any(found == code for found in _codes(compiled))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


async def in_own_thread(function: Callable[..., T], /, **arguments: object) -> T:
    """Return what `function` returns, or raise what it raises, `SystemExit` too.

    If the caller is cancelled, the function goes on, and what it returns is dropped; the process
    ends without it.
    """
    ended: Future[T] = Future()
    ended.set_running_or_notify_cancel()  # from now on nothing cancels it

    def call() -> None:
        try:
            ended.set_result(function(**arguments))
        except StopIteration as error:  # which no future holds
            ended.set_exception(RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            ended.set_exception(error)

    threading.Thread(target=copy_context().run, args=(call,), daemon=True).start()
    return await asyncio.wrap_future(ended)
