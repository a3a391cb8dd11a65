"""Makes a judge from a function that a program passes, and says whether its verdicts can be kept.

A verdict is found again by the judge's identity. A function at the top of a module has one: its
name and its module's source, as `python:MODULE:FUNCTION` has on the command line. Any other
function (a lambda, a closure, a method, a cell of a notebook) has one only if the caller gives a
version. Without it every judge made here is a new one, and is asked anew.
"""

from __future__ import annotations

import inspect
import sys
import uuid
from collections.abc import Iterator
from types import CodeType
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.judges.plugin import Plugin, PluginJudge, source_digest

LAMBDA, LOCAL = "<lambda>", "<locals>"


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
    shown = name or _name_of(function)
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
    if name.endswith(LAMBDA):
        return "it is a lambda"
    if LOCAL in name:
        return "it is defined inside another function"
    return _why_not_in_its_module(function, name)


def _why_not_in_its_module(function: Plugin, name: str) -> str | None:
    module = sys.modules.get(function.__module__ or "")
    if module is None or _found(module, name) is not function:
        return "it is not a function at the top of a module"
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        return "its source is in no file, as in a notebook"
    if not _is_in(source, function):
        return "its file has changed since it was imported"
    return None


def _name_of(function: Any) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def _found(module: object, name: str) -> object:
    """Return what `module` has under a dotted name; None if nothing."""
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


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
