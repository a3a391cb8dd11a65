"""A judge of the user's own: any callable, sync or async, by `python:MODULE:FUNCTION`.

It runs the user's code, so it is loaded only with `--allow-plugins`. What the callable returns is checked: of two outputs "A",
"B", "tie" or a score from 0 to 1, of one a score, or None for no verdict. What it costs is not known and counts as nothing.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, final

from judgeloop.core.errors import InputError, JudgeRejectedError
from judgeloop.core.protocols import Questions
from judgeloop.core.records import (
    Abstention,
    Answer,
    Call,
    Item,
    JudgeIdentity,
    Quote,
    Reply,
    Verdict,
)
from judgeloop.judges.options import JudgeOptions

LABELS = {"A": 1.0, "B": 0.0, "tie": 0.5}

Plugin = Callable[..., Any | Awaitable[Any]]


@final
class PluginJudge:
    """Calls `function(prompt=…, first=…, second=…, reference=…)`, or with `output=…` to rate it; a sync one in a thread of its own."""

    order_matters = True
    blind = True
    by_hand = False
    priced = True

    def __init__(self, name: str, function: Plugin) -> None:
        """`name` as typed."""
        self._name = name
        self._function = function

    @property
    def identity(self) -> JudgeIdentity:
        """The function, by name and by the source of its module: another source is another judge."""
        return JudgeIdentity(
            "python", self._name, {"source": _source_digest(self._function)}, mark=":"
        )

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Any question can be asked."""
        del questions, items, max_missing

    def quote(self, call: Call) -> Quote:
        """Nothing that is known."""
        del call
        return Quote(0, 0)

    async def judge(self, call: Call) -> Reply:
        """Call the function and check what it returns."""
        rating = len(call.outputs) == 1
        outputs = zip(("output",) if rating else ("first", "second"), call.outputs, strict=True)
        material = {"prompt": call.item.prompt, "reference": call.item.reference, **dict(outputs)}
        try:
            if _is_async(self._function):
                returned = await self._function(**material)
            else:
                returned = await asyncio.to_thread(self._function, **material)
        except Exception as error:
            raise JudgeRejectedError(
                f"python:{self._name} raised {type(error).__name__}: {error}", billed=False
            ) from error
        return Reply(answer_from(returned, rating=rating), cost_p=0)

    async def aclose(self) -> None:
        """Nothing is open."""


def answer_from(returned: object, *, rating: bool = False) -> Answer:
    """What a plugin returned, as an answer; an abstention that says what is wrong with it otherwise.

    A `rating` is of one output, to which no label applies.
    """
    if returned is None:
        return Abstention("the function gave no verdict")
    labels = {} if rating else LABELS
    if isinstance(returned, str) and returned in labels:
        return Verdict(labels[returned])
    if isinstance(returned, int | float) and not isinstance(returned, bool) and 0 <= returned <= 1:
        return Verdict(float(returned))
    expected = ", ".join((*labels, "a score from 0 to 1"))
    return Abstention(f"the function returned {repr(returned)[:60]}; expected {expected} or None")


def load_plugin(spec: str, *, allowed: bool) -> PluginJudge:
    """The judge that `MODULE:FUNCTION` names, looked for in the working directory too.

    Raises:
        InputError: plugins are not allowed, or there is no such function.
    """
    module_name, _, function_name = spec.partition(":")
    if not module_name or not function_name:
        raise InputError(f"`judge=python:{spec}`: expected python:MODULE:FUNCTION")
    if not allowed:
        raise InputError(f"`judge=python:{spec}` runs code of yours; allow it with `allow_plugins`")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except Exception as error:
        # A module of the user's own may fail in any way while it is read.
        raise InputError(f"`judge=python:{spec}`: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise InputError(f"`judge=python:{spec}`: {function_name} cannot be called")
    return PluginJudge(spec, function)


def _is_async(function: Plugin) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    )


def _source_digest(function: Plugin) -> str:
    """A hash of the module's source, and of what a partial function has bound."""
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
    """The judge `python:MODULE:FUNCTION`."""
    return load_plugin(spec, allowed=options.allow_plugins)
