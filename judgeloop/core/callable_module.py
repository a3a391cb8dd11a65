"""Makes a package callable as the function of the same name: `judgeloop.compare(...)`.

The public functions `compare`, `select` and `estimate` share their names with the folders that hold
them. Importing a folder binds its name in the parent package, so the folder itself must be
callable. Setting a module's `__class__` is the documented way to do that (Python language
reference, "Customizing module attribute access").
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that, when called, calls a function of its submodule, imported on the first call."""

    _function: tuple[str, str]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the same arguments and return its result."""
        return self._called()(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        """The function's signature, for `inspect` and notebooks."""
        return inspect.signature(self._called())

    def _called(self) -> Callable[..., Any]:
        module, name = self._function
        found: Callable[..., Any] = getattr(import_module(f"{self.__name__}.{module}"), name)
        return found


def make_callable(package: str, module: str, function: str) -> None:
    """Make a call of the imported `package` a call of `function` in its submodule `module`."""
    found = sys.modules[package]
    found.__class__ = CallableModule
    found._function = (module, function)  # type: ignore[attr-defined]  # noqa: SLF001 - an instance of our class now
