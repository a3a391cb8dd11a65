"""The catalogue of systems that answer live, and what an argument names: one of them, or a file.

A prefix wins: `openai/x` is a model, and `./openai/x` is a file. It imports nothing heavy: a
system's module is imported when it is made.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import System
from judgeloop.providers.catalogue import PROVIDERS, chat_class
from judgeloop.systems.options import SystemOptions


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One kind of system.

    - `prefix`, `rest`: the parts of the name as typed; `rest` is the placeholder that help shows.
    - `makes`: the factory, as `module:function` in `judgeloop.systems`. The function takes the rest
      of the name and the options.
    - `takes`: the settings that the caller may give (`options.py`).
    """

    prefix: str
    rest: str
    makes: str
    takes: frozenset[str]

    @property
    def form(self) -> str:
        """The name with its placeholder, such as `openai/MODEL`."""
        return f"{self.prefix}{self.rest}"


OF_MODELS = frozenset({"base-url", "key-variable", "price", "timeout", "max-tokens", "version"})
SYSTEMS = tuple(
    SystemRow(f"{row.name}/", row.rest, "chat_model:chat_system", OF_MODELS) for row in PROVIDERS
)
# What other programs write, or what is not built yet, and what to write in its place.
ELSEWHERE = {
    "exec:": "a command is not asked yet; write its outputs to a file, and give the file",
    "command:": "a command is not asked yet; write its outputs to a file, and give the file",
    "python:": "a function is not asked yet; write its outputs to a file, and give the file",
    "file://": "a path of a file is given as it is, without file://",
}
FORMS = ", ".join(row.form for row in SYSTEMS)


def system_row(name: str) -> SystemRow | None:
    """Return the row of a system that answers live; None for a file of outputs."""
    return next((row for row in SYSTEMS if name.startswith(row.prefix)), None)


def source(value: Any) -> Any:
    """Return a text as the name of a system that answers live, or else as a path.

    What is no text is returned as it is.

    >>> source("openai/gpt-5-mini")
    'openai/gpt-5-mini'
    """
    if not isinstance(value, str):
        return value
    for prefix, instead in ELSEWHERE.items():
        if value.startswith(prefix):
            raise ValueError(f"expected a file or {FORMS}; {instead}")
    if value in {row.prefix for row in SYSTEMS}:
        raise ValueError(f"expected a file or {FORMS}; the name ends after {value[-1]!r}")
    return value if system_row(value) else Path(value)


def sources(value: object) -> object:
    """As `source` for each of several."""
    return [source(one) for one in value] if isinstance(value, list | tuple) else value


def make_system(name: str, options: SystemOptions) -> System:
    """Create the system that `name` names.

    Raises:
        InputError: an option is missing, is wrong, or has no effect on it.
    """
    row = system_row(name)
    assert row is not None, "it is a text that `source` left"
    rest = name.removeprefix(row.prefix)
    for key in options.given - row.takes:
        raise InputError(
            f"`system={name}.{key}` has no effect: {row.form} takes {', '.join(sorted(row.takes))}"
        )
    module, _, function = row.makes.partition(":")
    make = getattr(import_module(f"judgeloop.systems.{module}"), function)
    made: System = make(chat_class(row.prefix.rstrip("/")), rest, options)
    return made
