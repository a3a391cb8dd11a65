"""A package that can be called like the function it is named after: `judgeloop.compare(...)`.

The public functions `compare`, `select` and `estimate` share their names with the folders that hold them. Importing a
folder binds its name in the package above, so the folder itself has to answer the call. Python documents exchanging a
module's class for this ("Customizing module attribute access").
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module whose call is that of a function in one of its submodules, imported on the first call."""

    _function: tuple[str, str]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        module, name = self._function
        return getattr(import_module(f"{self.__name__}.{module}"), name)(*args, **kwargs)


def make_callable(package: str, module: str, function: str) -> None:
    """Let the package called `package` be called as `function` of its submodule `module`."""
    found = sys.modules[package]
    found.__class__ = CallableModule
    found._function = (module, function)  # type: ignore[attr-defined]  # noqa: SLF001 - it is ours now
