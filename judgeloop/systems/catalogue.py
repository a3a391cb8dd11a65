"""The catalogue of systems that answer live, and what an argument names: one of them, or a file.

A prefix wins: `openai/x` is a model, and `./openai/x` is a file. A file that ends in `.toml` describes
a system. It imports nothing heavy: a system's module is imported when it is made.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PosixPath
from typing import Self

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import System
from judgeloop.providers.catalogue import PROVIDERS
from judgeloop.systems.options import SystemOptions


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One kind of system.

    - `prefix`, `rest`: the parts of the name as typed; `rest` is the placeholder that help shows.
      Without a prefix, `rest` ends in the ending of a file.
    - `makes`: the factory, as `module:function` in `judgeloop.systems`. The function takes the name
      and the options.
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

    def names(self, name: str) -> bool:
        """Return whether `name` names such a system."""
        ending = "" if self.prefix else Path(self.rest).suffix
        return name.startswith(self.prefix) and name.endswith(ending)


OF_MODELS = frozenset({"base-url", "key-variable", "price", "timeout", "max-tokens", "version"})
OF_CODE = frozenset({"max-cost", "timeout", "version", "concurrency"})
SYSTEMS = (
    *(
        SystemRow(f"{row.name}/", row.rest, "chat_model:chat_system", OF_MODELS)
        for row in PROVIDERS
    ),
    SystemRow("command:", "…", "command:make_system", OF_CODE | {"pass-env"}),
    SystemRow("python:", "MODULE:FUNCTION", "function:make_system", OF_CODE),
    SystemRow("", "FILE.toml", "chat_model:described_system", OF_MODELS),
)
FORMS = ", ".join(row.form for row in SYSTEMS)
# What other programs write, and what to write in its place.
_ELSEWHERE = (
    (r"exec:(?P<rest>.+)", "command:{rest}"),
    (r"(file://)?(?P<path>[\w./-]+)\.py:(?P<rest>\w+)", "python:{module}:{rest}"),
    (r"file://(?P<rest>.+)", "{rest}"),
)


class Typed(PosixPath):
    """The name of a system as typed: a path would lose double slashes and dots in it."""

    __slots__ = ("typed",)
    typed: str

    def __new__(cls, typed: str) -> Self:
        """Return the name."""
        made = super().__new__(cls, typed)
        made.typed = typed
        return made

    def __str__(self) -> str:
        """Return it as typed."""
        return self.typed


def system_row(name: str | Path) -> SystemRow | None:
    """Return the row of a system that answers live; None for a file of outputs."""
    return next((row for row in SYSTEMS if row.names(str(name))), None)


def is_live(name: str | Path) -> bool:
    """Return whether an argument names a system that answers live."""
    return system_row(name) is not None


def source(value: object) -> object:
    """Return an argument as the path or the name that it is; `./openai/x` becomes a whole path.

    >>> str(source("openai/gpt-5-mini"))
    'openai/gpt-5-mini'
    """
    if not isinstance(value, str):
        return value
    if meant := _meant(value):
        raise ValueError(f"expected a file or {FORMS} (did you mean {meant}?)")
    row = system_row(value)
    if row is None or not row.prefix:
        path = Path(value)
        return path.absolute() if row is None and is_live(path) else path
    if value == row.prefix:
        raise ValueError(f"expected a file or {FORMS}; the name ends after {value[-1]!r}")
    if row.takes is OF_MODELS and "=" in value:
        raise ValueError(
            "expected the name of a model without =, which parts a setting from its value"
        )
    return Typed(value)


def _meant(value: str) -> str:
    """Return the name that was probably meant; empty if nothing tells."""
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
    assert row is not None, "the caller has asked `is_live`"
    for key in sorted(options.given - row.takes):
        raise InputError(
            f"`system={name}.{key}` has no effect: {row.form} takes {', '.join(sorted(row.takes))}"
        )
    module, _, function = row.makes.partition(":")
    make = getattr(import_module(f"judgeloop.systems.{module}"), function)
    made: System = make(
        name.removeprefix(row.prefix) if row.takes is not OF_MODELS else name, options
    )
    return made
