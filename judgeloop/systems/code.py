"""What systems that run the caller's code have in common: price, time limit, and what they may give.

Code is never retried. It is asked one item at a time unless the caller says otherwise. What it gives
is checked here: text that can be kept and judged, and not too much of it. Where it fails by itself,
it has lost the item. `command.py` and `function.py` run it.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import final

from judgeloop.core.errors import InputError
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Quote, Reply
from judgeloop.systems.options import SystemOptions

MOST_BYTES = 4 << 20  # of an output, as of a server's reply
LIKELY_BYTES, LONGEST_BYTES = 1_600, 16_384  # of an output, before any is known


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
