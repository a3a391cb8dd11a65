"""Systems that run the caller's code: a function, and what all of them have in common.

Code is never retried. It is asked one item at a time unless the caller says otherwise. What it gives is checked: text
that can be kept and judged, and not too much of it. Where it fails by itself, it has lost the item.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, final

from judgeloop.core.errors import InputError, did_you_mean
from judgeloop.core.money import to_pico
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Quote, Reply
from judgeloop.engine.retrying import time_limit
from judgeloop.providers import user_code
from judgeloop.systems.options import SystemOptions

MOST_BYTES = 4 << 20  # of an output, as of a server's reply
LIKELY_BYTES, LONGEST_BYTES = 1_600, 16_384  # of an output, before any is known
OUTPUT, COST, MODEL = "output", "cost", "model"  # what a function's dictionary may hold
WITHHELD = ("reference", "group")  # no system is told them


class FailedError(Exception):
    """The code failed on an item by itself; the message says how, as the end of a sentence."""


class CodeSystem(ABC):
    """A system that runs the caller's code; each call of `answer` runs it once."""

    priced = True
    limit_is_default = False
    likely_bytes, longest_bytes = LIKELY_BYTES, LONGEST_BYTES
    timeout_s = None  # the code's own limit ends in an output, not in another attempt

    def __init__(self, kind: str, shown: str, source: str, options: SystemOptions) -> None:
        """`shown` is the rest of its name; `source` says what it is, unless a version is given.

        Raises:
            InputError: the caller does not allow code, or does not say what a call may cost.
        """
        if not options.allow_plugins:
            raise InputError(f"`system {options.name}` runs your own code; allow it with `allow_plugins`")
        if options.max_cost_p is None:
            raise InputError(
                f"`system {options.name}`: what may a call cost? Give it in dollars: "
                f"`system={options.name}.max-cost=0.02`, or `system={options.name}.max-cost=0` if it is free"
            )
        self.label = self.typed = options.name
        self.at_once = options.concurrency or 1
        self.lasts = options.version is not None
        self.limit_s = options.timeout_s
        self.most_p = options.max_cost_p
        named = {"source": source} if options.version is None else {"version": options.version}
        # With the time limit, because what takes longer is no output.
        parameters = {**named, "timeout": f"{self.limit_s:g}", **self._settings(options)}
        self.identity = JudgeIdentity(kind, shown, parameters, mark=":")
        self._price = f"`system={options.name}.max-cost`"

    def _settings(self, options: SystemOptions) -> Mapping[str, str]:
        """Return what else can change its outputs."""
        del options
        return {}

    @abstractmethod
    def sent(self, item: Item) -> object:
        """Return what it is told of an item, as a JSON value."""

    @abstractmethod
    async def run(self, item: Item) -> tuple[object, int | None, str]:
        """Run the code: its output, its cost in picodollars if it says that, and its model.

        Raises:
            FailedError: it failed by itself.
        """

    def quote(self, call: Call) -> Quote:
        """Return the most that a call may cost, as the caller said."""
        del call
        return Quote(self.most_p, self.most_p, price=self._price)

    @final
    async def answer(self, call: Call) -> Reply:
        """Run the code once; the reply's answer is an `Output`, without text if the code failed."""
        loop = asyncio.get_running_loop()
        began, cost_p, model = loop.time(), None, ""
        try:
            given, cost_p, model = await self.run(call.item)
            text, failed = checked_text(given), ""
        except FailedError as error:
            text, failed = None, str(error)
        output = Output(text, failed, seconds=loop.time() - began, model=model)
        return Reply(output, self.most_p if cost_p is None else cost_p, model=model)

    def read(self, output: Output) -> Output:
        """Return an output as it is."""
        return output

    async def aclose(self) -> None:  # noqa: B027 - no kind of code has anything to close
        """Do nothing: there are no connections."""


def checked_text(given: object) -> str:
    """Return an output as text that can be kept and judged.

    Raises:
        FailedError: it is no text, is no UTF-8, has NUL characters, or is too long.
    """
    if isinstance(given, bytes):
        try:
            given = given.decode()
        except UnicodeDecodeError as error:
            raise FailedError(f"its output is not UTF-8 (byte {error.start:,})") from None
    if not isinstance(given, str):
        raise FailedError(f"expected an output as text, found {repr(given)[:60]}")
    try:
        size = len(given.encode())
    except UnicodeEncodeError as error:
        raise FailedError(f"its output is no Unicode text (character {error.start:,})") from None
    if size > MOST_BYTES:
        raise FailedError(f"its output has more than {MOST_BYTES >> 20} MiB")
    if "\0" in given:
        raise FailedError("its output has NUL characters")
    return given


@final
class FunctionSystem(CodeSystem):
    """A function, sync or async (`python:MODULE:FUNCTION`); each call of `answer` calls it once.

    It is called by the names that it takes: `prompt`, `messages`, `id`, and columns of the items. It returns a text, or
    a dictionary with `output` and, if it knows them, `cost` in dollars and `model`. A sync function runs in a thread of
    its own; what it does after its time limit is thrown away, but its thread goes on, and is counted.
    """

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
    signature = user_code.signature_of(function)
    if signature is None:
        return frozenset({"prompt"}), frozenset(), False
    found = signature.parameters.values()
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
