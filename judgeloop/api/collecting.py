"""Turns the arguments of a call in Python into settings, and what stands for files and judges.

A table gets a path and a function a name that stand for it in the settings; `Given` holds the
tables and judges. Reads generators and data frames; no file is opened and no judge is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import Judge
from judgeloop.formats.memory import named, rows_of
from judgeloop.judges.catalogue import is_remote
from judgeloop.judges.function import PluginJudge, function_judge
from judgeloop.run.given import Given, GivenTable
from judgeloop.settings.setting import Declared, Part, declared

JUDGING = ("judge", "proxy")  # settings that name judges


def holds_data(field: Declared) -> bool:
    """Return whether a setting names files whose content is judged, so that rows may be given."""
    return (
        field.setting is not None
        and field.setting.part is Part.CONTENT
        and field.type in {Path, Path | None, tuple[Path, ...]}
    )


@final
class Collector:
    """Takes the arguments of a call one after another, and keeps what stands for them."""

    def __init__(self, version: str | None) -> None:
        """`version` identifies what the functions among the judges do."""
        self._version = version
        self._tables: dict[Path, GivenTable] = {}
        self._names: dict[Path, str] = {}
        self._judges: dict[str, Judge] = {}
        self._named: list[str] = []  # the judges given by name

    def settings(self, config: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a call: data and judges replaced by what stands for them.

        Raises:
            InputError: an argument is no table or no judge.
        """
        fields, found = declared(config), dict(values)
        for name, value in values.items():
            if value is None:
                continue
            if name in JUDGING:
                found[name] = self._judging(name, value)
            elif name in fields and holds_data(fields[name]):
                take = self._several if fields[name].repeated else self._data
                found[name] = take(name, value)
        return found

    def given(self) -> Given:
        """Return the tables and judges that were taken.

        Raises:
            InputError: a version is given and no function, or a function without identity sits with
                judges that may cost money.
        """
        functions = {
            name: judge for name, judge in self._judges.items() if isinstance(judge, PluginJudge)
        }
        if self._version is not None and not functions:
            raise InputError("`version`: it belongs to a function as `judge`, and none is given")
        unknown = {name: judge.unknown for name, judge in functions.items() if judge.unknown}
        others = [name for name in self._judges if name not in functions]
        paid = [*others, *filter(is_remote, self._named)]
        if unknown and paid:
            raise InputError(_beside(next(iter(unknown.items())), paid[0]))
        anew = "; ".join(_anew(*pair) for pair in unknown.items())
        return Given(self._tables, self._judges, self._names, anew)

    def _data(self, name: str, value: object, system: str | None = None) -> object:
        match value:
            case tuple((str() as system, table)):
                value = table
        if system == "":
            raise InputError(f"`{name}`: expected the name of a system, found an empty text")
        if isinstance(value, str | PathLike):
            if system is not None:
                self._names[Path(value)] = system
            return value
        path = named(name)
        self._tables[path] = GivenTable(rows_of(path, value), system)
        return path

    def _several(self, name: str, value: object) -> list[object]:
        """Return the paths of several tables or files; the keys of a mapping name the systems."""
        if isinstance(value, Mapping):
            return [self._data(f"{name}[{key!r}]", table, str(key)) for key, table in value.items()]
        if isinstance(value, str | PathLike) or not isinstance(value, Iterable):
            raise InputError(
                f"`{name}`: expected several files or tables, in a list, or in a dictionary by the "
                f"system's name; found {type(value).__name__}"
            )
        return [self._data(f"{name}[{number}]", table) for number, table in enumerate(value)]

    def _judging(self, name: str, value: object) -> object:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self._judge(name, each) for each in value]
        return self._judge(name, value)

    def _judge(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            self._named.append(value)
            return value
        judge = _judge_of(name, value, self._version)
        spec = judge.identity.name
        if self._judges.setdefault(spec, judge) is not judge:
            raise InputError(
                f"`{name}`: two judges are called {spec}; name them apart with "
                "judgeloop.function_judge(function, name=…)"
            )
        return spec


def _judge_of(name: str, value: Any, version: str | None) -> Judge:
    if hasattr(value, "judge") and hasattr(value, "identity"):
        judge: Judge = value
        return judge
    if not callable(value):
        raise InputError(
            f"`{name}`: expected the name of a judge, a function or a judge, "
            f"found {type(value).__name__}"
        )
    return function_judge(value, version=version)


def _anew(name: str, why: str) -> str:
    return f"{name} was asked anew, because {why}: give `version` to have its verdicts remembered"


def _beside(unknown: tuple[str, str], other: str) -> str:
    name, why = unknown
    return (
        f"`judge`: {name} cannot be told from other functions, because {why}, so each call would be a "
        f"run with a budget of its own, and {other} may cost money: give `version`"
    )
