"""A system that is a function of the caller's, sync or async: `python:MODULE:FUNCTION`.

It is called by the names that it takes: `prompt`, `messages`, `id`, and columns of the items. No
reference and no group is among them. It returns a text, or a dictionary with `output` and, if it
knows them, `cost` in dollars and `model`. What a sync function does after its time limit is thrown
away; its thread goes on, and is counted.
"""

import inspect
import time
from collections.abc import Mapping
from typing import Any, final

from judgeloop.core.errors import InputError, did_you_mean
from judgeloop.core.money import to_pico
from judgeloop.core.records import Item
from judgeloop.engine.retrying import time_limit
from judgeloop.providers import user_code
from judgeloop.systems.code import CodeSystem, FailedError
from judgeloop.systems.options import SystemOptions

OUTPUT, COST, MODEL = "output", "cost", "model"
WITHHELD = ("reference", "group")


@final
class FunctionSystem(CodeSystem):
    """A function; each call of `answer` calls it once, a sync one in a thread of its own."""

    def __init__(self, name: str, function: user_code.Plugin, options: SystemOptions) -> None:
        """`name` is MODULE:FUNCTION as typed.

        Raises:
            InputError: the caller does not say what a call may cost, or it takes what no system is
                told.
        """
        super().__init__("python", name, user_code.source_digest(function), options)
        self._function, self._in_loop = function, user_code.runs_in_the_loop(function)
        self._shown = f"system {options.name}"
        self._left = 0  # threads that went on after the time limit
        self._takes, self._needs, self._all = _parameters(function, self._shown)
        if withheld := next((one for one in WITHHELD if one in self._needs), None):
            raise InputError(
                f"`{self._shown}`: the function needs {withheld!r}, and no system is told it: the judge "
                "would judge what the system was shown"
            )

    def sent(self, item: Item) -> dict[str, object]:
        """Return the arguments, by name.

        Raises:
            InputError: the function needs a column that the item does not have.
        """
        turns = item.messages or [("user", item.prompt)]
        known: dict[str, object] = {
            **item.columns,
            "prompt": item.prompt,
            "messages": [{"role": role, "content": text} for role, text in turns],
            "id": item.id,
        }
        if lacking := self._needs - known.keys():
            name = min(lacking)
            raise InputError(
                f"`{self._shown}`: the function needs {name!r}, and the item {item.id!r} has no such "
                f"column{did_you_mean(name, known)}; expected parameters among {', '.join(sorted(known))}"
            )
        return {name: known[name] for name in known if self._all or name in self._takes}

    async def run(self, item: Item) -> tuple[object, int | None, str]:
        """Call the function on an item.

        Raises:
            FailedError: it raised an exception, took too long, or returned something else.
        """
        began = time.monotonic()
        try:
            async with time_limit(self.limit_s):
                returned = await user_code.called(self._function, self.sent(item))
        except user_code.PluginError as error:
            raise FailedError(f"it {error}") from error
        except TimeoutError:
            raise FailedError(self._late()) from None
        if self._in_loop and time.monotonic() - began > self.limit_s:
            raise FailedError(self._late())  # it blocked the loop, so that no limit could end it
        if not isinstance(returned, dict):
            return returned, None, ""
        return _parts_of(returned)

    def _late(self) -> str:
        said = f"it gave no output within {self.limit_s:g} s"
        if self._in_loop:
            return said
        self._left += 1
        return f"{said}; its threads left behind: {self._left:,}"


def _parameters(function: user_code.Plugin, shown: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return the names that a function takes, those that it needs, and whether it takes any name.

    Raises:
        InputError: it needs an argument without a name.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a function written in C
        return frozenset({"prompt"}), frozenset(), False
    if placed := next((one for one in found if one.kind is one.POSITIONAL_ONLY), None):
        raise InputError(
            f"`{shown}`: expected a function that is called by names; it takes {placed.name!r} by its place"
        )
    named = [one for one in found if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}]
    needs = frozenset(one.name for one in named if one.default is one.empty)
    any_name = any(one.kind is one.VAR_KEYWORD for one in found)
    return frozenset(one.name for one in named), needs, any_name


def _parts_of(returned: Mapping[Any, Any]) -> tuple[object, int | None, str]:
    """Return the output, the cost in picodollars and the model of a function's dictionary.

    Raises:
        FailedError: the dictionary has something else, or no output.
    """
    if OUTPUT not in returned or returned.keys() - {OUTPUT, COST, MODEL}:
        shown = ", ".join(map(repr, returned))[:60]
        raise FailedError(f"expected a text, or a dictionary with {OUTPUT!r}, {COST!r} and {MODEL!r}; found {shown}")
    cost, model = returned.get(COST), returned.get(MODEL)
    if not isinstance(model, str | None):
        raise FailedError(f"expected the name of a model, found {model!r:.60}")
    if cost is None:
        return returned[OUTPUT], None, model or ""
    try:
        return returned[OUTPUT], to_pico(str(cost)), model or ""
    except ValueError:
        raise FailedError(f"expected its cost in dollars, found {cost!r:.60}") from None


def make_system(spec: str, options: SystemOptions) -> FunctionSystem:
    """Create the system `python:MODULE:FUNCTION`.

    Raises:
        InputError: there is no such function, or the caller does not allow it.
    """
    name = f"system {options.name}"
    function = user_code.load_function(spec, name, allowed=options.allow_plugins)
    return FunctionSystem(spec, function, options)
