"""A system that is a command: `command:…`, split as a shell would, run without one.

It gets the prompt on standard input, or the turns of a conversation as JSON. Its output is what it
writes to standard output until it ends, without a line feed at the end. It has an environment of its own, without
the caller's keys, and inherits no open file. When it has ended, or at its time limit, the processes
that it left in its process group are ended. This guards against accidents: a command runs as the same
user, and can read what that user can.
"""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from typing import final

from judgeloop.core.errors import InputError
from judgeloop.core.records import Item
from judgeloop.engine.retrying import time_limit
from judgeloop.systems.code import MOST_BYTES, CodeSystem, FailedError
from judgeloop.systems.options import SystemOptions

PASSED = ("PATH", "HOME", "LANG", "TMPDIR")  # the environment variables of every command
LAST_BYTES = 2_000  # of standard error, for messages
LONGEST_SAID = 300  # characters of it in a message
LINGER_S = 1.0  # for what is left in its pipes, when the command has ended


@final
class CommandSystem(CodeSystem):
    """A command; each call of `answer` runs it once."""

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
        """Return what is written to its standard input."""
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
    """Return the words of a command.

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
    """Return the environment of the command.

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
    """Return the last line of standard error that is not empty, as the end of a sentence."""
    lines = said.decode("utf-8", "replace").split("\n")
    last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
    return f": {last[:LONGEST_SAID]}" if last else ""
