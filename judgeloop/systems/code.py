"""Systems that run the caller's code: a command or a function, and what both have in common.

Code is never retried. It is asked one item at a time unless the caller says otherwise. What it gives is checked: text
that can be kept and judged, and not too much of it. Where it fails by itself, it has lost the item.
"""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import time
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from typing import Any, final

from judgeloop.core.errors import InputError, did_you_mean
from judgeloop.core.money import to_pico
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Quote, Reply
from judgeloop.engine.pace import time_limit
from judgeloop.providers import user_code
from judgeloop.systems.options import SystemOptions

MOST_BYTES = 4 << 20  # of an output, as of a server's reply
LIKELY_BYTES, LONGEST_BYTES = 1_600, 16_384  # of an output, before any is known
OUTPUT, COST, MODEL = "output", "cost", "model"  # what a function's dictionary may hold
WITHHELD = ("reference", "group")  # no system is told them
PASSED = ("PATH", "HOME", "LANG", "TMPDIR")  # the environment variables of every command
LAST_BYTES = 2_000  # of standard error, for messages
LONGEST_SAID = 300  # characters of it in a message
LINGER_S = 1.0  # for what is left in its pipes, when the command has ended


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
        """What else can change its outputs."""
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
    """The names that a function takes, those that it needs, and whether it takes any name.

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
    """The output, the cost in picodollars and the model of a function's dictionary.

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


@final
class CommandSystem(CodeSystem):
    """A command (`command:…`), split as a shell would, run without one; each call of `answer` runs it once.

    It gets the prompt on standard input, or the turns of a conversation as JSON. Its output is what it writes to
    standard output, without a line feed at the end. It has an environment of its own, without the caller's keys, and
    inherits no open file. When it has ended, or at its time limit, the processes that it left in its process group are
    ended. This guards against accidents: a command runs as the same user, and can read what that user can.
    """

    def __init__(self, command: str, options: SystemOptions) -> None:
        """`command` is as typed.

        Raises:
            InputError: it cannot be split, is not found, or cannot be run.
        """
        super().__init__("command", command, "", options)
        self._environment = _environment_for(options)
        self._arguments = _arguments_of(command, options, self._environment)

    def _settings(self, options: SystemOptions) -> Mapping[str, str]:
        return {"pass-env": ",".join(sorted(options.pass_env))} if options.pass_env else {}

    def sent(self, item: Item) -> object:
        """What is written to its standard input."""
        if not item.messages:
            return item.prompt
        turns = [{"role": role, "content": text} for role, text in item.messages]
        return json.dumps(turns, ensure_ascii=False)

    async def run(self, item: Item) -> tuple[object, int | None, str]:
        """Run the command on an item.

        Raises:
            FailedError: it could not be run, took too long, gave too much, or had an exit code.
        """
        try:
            transport, heard = await asyncio.get_running_loop().subprocess_exec(
                _Heard,
                *self._arguments,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            raise FailedError(f"it could not be run: {error.strerror}") from None
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport), "it is a pipe"
        stdin.write(str(self.sent(item)).encode("utf-8", "replace"))
        stdin.close()  # when all is written; the command need not read it
        try:
            async with time_limit(self.limit_s):
                await heard.end
        except TimeoutError:
            raise FailedError(f"it gave no output within {self.limit_s:g} s, and was ended") from None
        finally:
            _end(transport.get_pid())
            await asyncio.wait([heard.all], timeout=LINGER_S)
            transport.close()  # a process that left the group may hold the pipes
            await asyncio.wait([heard.closed], timeout=LINGER_S)
        if len(heard.output) > MOST_BYTES:
            raise FailedError(f"it wrote more than {MOST_BYTES >> 20} MiB, and was ended")
        if code := transport.get_returncode():
            raise FailedError(f"{_ended(code)}{_quoted(heard.said)}")
        return bytes(heard.output).removesuffix(b"\n").removesuffix(b"\r"), None, ""


@final
class _Heard(asyncio.SubprocessProtocol):
    """What a command writes: standard output, up to too much of it, and the last of standard error.

    `end`: the command has ended, or has written too much. `all`: its pipes are closed.
    `closed`: nothing of it is left in the loop.
    """

    def __init__(self) -> None:
        create = asyncio.get_running_loop().create_future
        self.end, self.all, self.closed = create(), create(), create()
        self.output, self.said = bytearray(), b""
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self.said = (self.said + data)[-LAST_BYTES:]
        elif len(self.output) <= MOST_BYTES:
            self.output += data
            if len(self.output) > MOST_BYTES and not self.end.done():
                self.end.set_result(None)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        self._open.discard(fd)
        if not self._open and not self.all.done():
            self.all.set_result(None)

    def process_exited(self) -> None:
        if not self.end.done():
            self.end.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.closed.set_result(None)


def _arguments_of(command: str, options: SystemOptions, environment: Mapping[str, str]) -> list[str]:
    """The words of a command.

    Raises:
        InputError: a quote is open, the command is not found, or may not be run.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"`system {options.name}`: this is no command: {error}") from None
    if not words:
        raise InputError(f"`system {options.name}`: expected a command after command:")
    if shutil.which(words[0], path=environment.get("PATH", os.defpath)) is None:
        there = os.path.isfile(words[0])  # noqa: PTH113 - a name as a shell reads it
        problem = (
            f"{words[0]} is not executable; allow it with chmod +x, or name its interpreter first"
            if there
            else f"there is no command {words[0]!r}; give a command that is in PATH, or a path such as ./run.sh"
        )
        raise InputError(f"`system {options.name}`: {problem}")
    return words


def _environment_for(options: SystemOptions) -> dict[str, str]:
    """The environment of the command.

    Raises:
        InputError: a variable to pass is not set.
    """
    given = options.environment
    for name in options.pass_env:
        if name not in given and not options.offline:
            raise InputError(f"`system={options.name}.pass-env={','.join(options.pass_env)}`: {name} is not set")
    return {name: given[name] for name in (*PASSED, *options.pass_env) if name in given}


def _end(group: int) -> None:
    """End the processes of the command's group, whether it has ended itself or not."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _ended(code: int) -> str:
    if code > 0:
        return f"it ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by the signal {-code}"


def _quoted(said: bytes) -> str:
    """The last line of standard error that is not empty, as the end of a sentence."""
    lines = said.decode("utf-8", "replace").split("\n")
    last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
    return f": {last[:LONGEST_SAID]}" if last else ""
