"""The user's own code: a function imported by its name, known by its source, called in a thread.

Judges and systems `python:MODULE:FUNCTION` are such functions. What one is called with, and what it
returns, is theirs to say.

A function at the top of a module has an identity: its name and its module's source. Any other
function (a lambda, a closure, a method, a cell of a notebook) has one only if the caller gives a
version.

A sync function runs in a thread that nobody has to wait for. Threads of the event loop's pool are
waited for when the loop and the process end, and there are few of them: a function that hangs would
outlive its time limit, the deadline and SIGTERM.
"""

import asyncio
import functools
import hashlib
import importlib
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from judgeloop.core.errors import InputError

T = TypeVar("T")

Plugin = Callable[..., Any | Awaitable[Any]]


class PluginError(Exception):
    """The function raised; the message names the exception, and the line of the function's file."""


def load_function(spec: str, setting: str, *, allowed: bool) -> Plugin:
    """Import the function that `spec` (MODULE:FUNCTION) names; `setting` is its name in messages.

    The working directory is added to the import path.

    Raises:
        InputError: `spec` is malformed, plugins are not allowed, the module cannot be imported, or
            it has no such function.
    """
    module_name, _, function_name = spec.partition(":")
    if not module_name or not function_name:
        raise InputError(f"`{setting}`: expected python:MODULE:FUNCTION")
    if module_name.endswith(".py"):
        module = ".".join(Path(module_name).with_suffix("").parts)
        raise InputError(f"`{setting}`: a module is named without .py: python:{module}:{function_name}")
    if not allowed:
        raise InputError(f"`{setting}` runs your own code; allow it with `allow_plugins`")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except (Exception, SystemExit) as error:
        # The user's module may raise any exception, or end as a script does, while it is imported.
        raise InputError(f"`{setting}`: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise InputError(f"`{setting}`: {function_name} cannot be called")
    found: Plugin = function
    return found


async def called(function: Plugin, material: Mapping[str, object]) -> Any:
    """What the function returns, sync or async, called with `material` by name.

    The working folder is afterwards what it was.

    Raises:
        PluginError: it raised an exception, or `SystemExit`, which would end the run with its code.
    """
    here = Path.cwd()
    try:
        if runs_in_the_loop(function):
            returned = await function(**material)
        else:
            returned = await in_own_thread(function, **material)
        if inspect.isawaitable(returned):
            returned = await returned
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise PluginError("raised CancelledError, though nobody had cancelled it") from error
    except (Exception, SystemExit) as error:
        said = f"raised {type(error).__name__}: {error}{_place(error, function)}"
        raise PluginError(said) from error
    finally:
        os.chdir(here)
    return returned


def signature_of(function: Plugin) -> inspect.Signature | None:
    """What a function takes; None of a function written in C, which does not say it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def runs_in_the_loop(function: Plugin) -> bool:
    """Whether a function is async: if it blocks, nothing else goes on."""
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def _place(error: BaseException, function: Plugin) -> str:
    """The last line of the function's own file that an exception came through."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if code is not None and frame.filename == code.co_filename
    ]
    return f" ({Path(code.co_filename).name}, line {lines[-1]})" if code and lines else ""


def source_digest(function: Plugin) -> str:
    """A hash of the function's name, its module's source, and bound `partial` arguments."""
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


def name_of(function: object) -> str | None:
    """MODULE:FUNCTION of a function at the top of a module; None if no name leads to it."""
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    found = module is not None and getattr(module, name, None) is function
    return f"{module.__name__}:{name}" if found and module is not None else None


def why_unknown(function: Plugin) -> str | None:
    """Why a function's name and source do not identify it; None if they do."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return "it is an object that can be called"
    if name.endswith("<lambda>"):
        return "it is a lambda"
    if "<locals>" in name:
        return "it is defined inside another function"
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
    return None if _is_in(source, function) else "its file has changed since it was imported"


def _is_in(source: str, function: Any) -> bool:
    """Whether `source` still is what the function was loaded from.

    A notebook runs for days, and its modules may be edited meanwhile. The verdicts of the old code
    must not be kept under the new source.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return True  # an object of a class: its own code is in the class
    try:
        codes = [compile(source, code.co_filename, "exec", dont_inherit=True)]
    except SyntaxError:
        return False
    for found in codes:  # the module's code, then what is inside it
        codes += [inside for inside in found.co_consts if isinstance(inside, CodeType)]
    return code in codes


async def in_own_thread(function: Callable[..., T], /, **arguments: object) -> T:
    """What `function` returns, or raise what it raises, `SystemExit` too.

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
