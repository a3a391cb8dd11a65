"""The catalogue of systems that answer live, and what an argument names: one of them, or a file.

A prefix wins: `openai/x` is a model, and `./openai/x` is a file. A file that ends in `.toml` describes
a system. It imports nothing heavy: a row's function imports a system's file when the system is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeloop.core.errors import InputError
from judgeloop.providers.catalogue import PROVIDERS, ProviderRow
from judgeloop.systems.options import SystemOptions

if TYPE_CHECKING:
    from judgeloop.core.protocols import System


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One kind of system.

    - `prefix`, `rest`: the parts of the name as typed; `rest` is the placeholder that help shows.
      Without a prefix, `rest` ends in the ending of a file.
    - `make`: creates the system, of the rest of the name and the options.
    - `takes`: the settings that the caller may give (`options.py`).
    """

    prefix: str
    rest: str
    make: Callable[[str, SystemOptions], System]
    takes: frozenset[str]

    @property
    def form(self) -> str:
        """The name with its placeholder, such as `openai/MODEL`."""
        return f"{self.prefix}{self.rest}"

    @property
    def runs_code(self) -> bool:
        """Whether such a system is code, and no model."""
        return "max-cost" in self.takes

    def names(self, name: str) -> bool:
        """Whether `name` names such a system."""
        ending = "" if self.prefix else Path(self.rest).suffix
        return name.startswith(self.prefix) and name.endswith(ending)


OF_ALL = frozenset({"timeout", "version", "outputs-since"})
OF_MODELS = OF_ALL | {"base-url", "key-variable", "key-command", "price", "max-tokens"}
OF_CODE = OF_ALL | {"max-cost", "concurrency"}


def _chat(provider: ProviderRow) -> Callable[[str, SystemOptions], System]:
    def make(model: str, options: SystemOptions) -> System:
        from judgeloop.systems.chat import chat_system

        return chat_system(f"{provider.name}/{model}", options)

    return make


def _described(path: str, options: SystemOptions) -> System:
    from judgeloop.systems.chat import described_system

    return described_system(path, options)


def _command(command: str, options: SystemOptions) -> System:
    from judgeloop.systems.code import CommandSystem

    return CommandSystem(command, options)


def _function(name: str, options: SystemOptions) -> System:
    from judgeloop.providers.user_code import load_function
    from judgeloop.systems.code import FunctionSystem

    function = load_function(name, f"system {options.name}", allowed=options.allow_plugins)
    return FunctionSystem(name, function, options)


DESCRIBED = SystemRow("", "FILE.toml", _described, OF_MODELS)
SYSTEMS = (
    *(SystemRow(f"{row.name}/", row.rest, _chat(row), OF_MODELS) for row in PROVIDERS),
    SystemRow("command:", "…", _command, OF_CODE | {"pass-env"}),
    SystemRow("python:", "MODULE:FUNCTION", _function, OF_CODE),
    DESCRIBED,
)
FORMS = ", ".join(row.form for row in SYSTEMS)
# What other programs write, and what to write in its place.
_ELSEWHERE = (
    (r"exec:(?P<rest>.+)", "command:{rest}"),
    (r"(file://)?(?P<path>[\w./-]+)\.py:(?P<rest>\w+)", "python:{module}:{rest}"),
    (r"file://(?P<rest>.+)", "{rest}"),
)


def system_row(name: str) -> SystemRow | None:
    """The row of a system that answers live; None for a file of outputs."""
    return next((row for row in SYSTEMS if row.names(name)), None)


def described(name: str) -> bool:
    """Whether a system is named by the file that describes it."""
    return system_row(name) is DESCRIBED


def source(value: Any) -> Any:
    """A text as the name of a system that answers live, or else as a path.

    So is the path of a description. What is neither a text nor a path is returned as it is.

    >>> source("openai/gpt-5-mini")
    'openai/gpt-5-mini'
    """
    if isinstance(value, Path) and DESCRIBED.names(value.name):
        name = str(value)  # a path is a file, also one below a folder `openai`
        return name if described(name) else str(value.absolute())
    if not isinstance(value, str):
        return value
    if meant := _meant(value):
        raise ValueError(f"expected a file or {FORMS} (did you mean {meant}?)")
    row = system_row(value)
    if row is not None and value == row.prefix:
        raise ValueError(f"expected a file or {FORMS}; the name ends after {value[-1]!r}")
    if row is not None and row.prefix and row.takes is OF_MODELS and "=" in value:
        raise ValueError("expected the name of a model without =, which parts a setting from its value")
    return Path(value) if row is None else value


def files_of(sources: Iterable[object]) -> list[Path]:
    """The files among sources: those of outputs, and descriptions."""
    named = (Path(one) if isinstance(one, str) and described(one) else one for one in sources)
    return [one for one in named if isinstance(one, Path)]


def _meant(value: str) -> str:
    """The name that was probably meant; empty if nothing tells."""
    for pattern, name in _ELSEWHERE:
        if found := re.fullmatch(pattern, value):
            parts = {"path": "", **found.groupdict()}
            module = parts["path"].removeprefix("./").strip("/").replace("/", ".")
            return name.format(**parts, module=module)
    return ""


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
    for key in sorted(options.given - row.takes):
        raise InputError(f"`system={name}.{key}` has no effect: {row.form} takes {', '.join(sorted(row.takes))}")
    return row.make(name.removeprefix(row.prefix), options)
