"""Turns the arguments of a call in Python into settings, and what stands for tables and judges.

A table gets a path and a function a name that stand for it in the settings; `Given` holds the
tables and judges. Tables are lists, columns, data frames and generators; data frames of any library
are read through narwhals, which is imported only for them. `formats/rows.py` checks the fields. No
file is opened and no judge is asked.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.protocols import Judge
from judgeloop.formats.tables import Row
from judgeloop.judges.catalogue import is_remote
from judgeloop.judges.function import PluginJudge, function_judge
from judgeloop.run.inputs import ROW_IN_MEMORY, Given
from judgeloop.settings.setting import Declared, Part, declared
from judgeloop.systems.catalogue import is_live, source

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoLazyFrame

    # Rows as dictionaries, a dictionary of columns, or a data frame.
    Table: TypeAlias = (
        Iterable[Mapping[str, Any]] | Mapping[str, Iterable[Any]] | IntoDataFrame | IntoLazyFrame
    )

EXPECTED = "expected a file, a list of dictionaries, a dictionary of columns, or a data frame"
MISSING_TYPES = {"NAType", "NaTType"}  # of pandas, which need not be installed
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
        self._rows: dict[Path, list[Row]] = {}
        self._systems: dict[Path, str] = {}
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
                several = isinstance(value, Sequence) and not isinstance(value, str)
                judges = [self._judge(name, each) for each in (value if several else [value])]
                found[name] = judges if several else judges[0]
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
            name, why = next(iter(unknown.items()))
            raise InputError(
                f"`judge`: {name} cannot be told from other functions, because {why}, so each call "
                f"would be a run with a budget of its own, and {paid[0]} may cost money: give `version`"
            )
        anew = "; ".join(
            f"{name} was asked anew, because {why}: give `version` to have its verdicts remembered"
            for name, why in unknown.items()
        )
        return Given(self._rows, self._systems, self._judges, anew)

    def _data(self, name: str, value: object, system: str | None = None) -> object:
        match value:
            case tuple((str() as system, table)):
                value = table
        if system == "":
            raise InputError(f"`{name}`: expected the name of a system, found an empty text")
        if isinstance(value, str | PathLike):
            path = _place(name, value)
        else:
            path = Path(f"`{name}`")  # as messages name a parameter in place of a file
            self._rows[path] = rows_of(path, value)
        if system is not None:
            self._systems[path] = system
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


def _place(name: str, value: str | PathLike[str]) -> Path:
    """Return a path, or the name of a system that answers live; an object that is a path is a path.

    Raises:
        InputError: the text names a kind of system that there is not.
    """
    if not isinstance(value, str):
        return Path(value).absolute() if is_live(Path(value)) else Path(value)
    try:
        found = source(value)
    except ValueError as error:
        raise InputError(f"`{name}`: {error}, found {value!r}") from None
    assert isinstance(found, Path), "a text becomes a path or a name"
    return found


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


def rows_of(argument: Path, data: object) -> list[Row]:
    """Return the rows of a table in memory; a value that is missing becomes None.

    Raises:
        DataError: the value is no table, its columns differ in length, or it has no rows.
    """
    if isinstance(data, Mapping):
        found = _of_columns(argument, data)
    elif (frame := _frame(data)) is not None:
        found = _of_columns(argument, _columns(frame))
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        found = [_row(argument, number, fields) for number, fields in enumerate(data, start=1)]
    else:
        raise DataError(argument, f"{EXPECTED}; found {type(data).__name__}")
    if not found:
        raise DataError(argument, "there are no rows")
    return found


def _frame(data: object) -> Any:
    """Return `data` as narwhals' data frame; None if it is no data frame."""
    # Only data frames have columns, and narwhals is not loaded for anything else.
    if not (hasattr(data, "collect_schema") or hasattr(data, "columns")):
        return None
    import narwhals

    try:
        frame: Any = narwhals.from_native(data, pass_through=True)
        if isinstance(frame, narwhals.LazyFrame):
            return frame.collect()
    except (TypeError, ValueError, narwhals.exceptions.NarwhalsError) as error:
        said = str(error).strip().partition("\n")[0]
        raise InputError(
            f"this data frame cannot be read: {said}; give each column one name"
        ) from None
    return frame if isinstance(frame, narwhals.DataFrame) else None


def _columns(frame: Any) -> dict[str, list[Any]]:
    """Return a data frame's columns by name, with None for what the library counts as missing."""
    found = {}
    for name in frame.columns:
        column = frame.get_column(name)
        pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
        found[str(name)] = [None if missing else value for value, missing in pairs]
    return found


def _of_columns(argument: Path, data: Mapping[Any, Any]) -> list[Row]:
    """Return the rows of columns, which must be of one length."""
    columns: dict[str, list[Any]] = {}
    for name, values in data.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(
                argument,
                f"expected a column, such as a list, in {name!r}; found {type(values).__name__}",
            )
        columns[str(name)] = list(values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{length} in {name!r}" for name, length in islice(lengths.items(), 8))
        raise DataError(argument, f"expected columns of one length; found {shown}")
    return [
        _row(argument, number, dict(zip(columns, cells, strict=True)))
        for number, cells in enumerate(zip(*columns.values(), strict=True), start=1)
    ]


def _row(argument: Path, number: int, fields: object) -> Row:
    if not isinstance(fields, Mapping):
        raise DataError(
            argument,
            f"expected a dictionary with fields, found {type(fields).__name__}",
            line=number,
            unit=ROW_IN_MEMORY,
        )
    return Row(number, {str(name): _plain(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    """Return a cell as a Python value: a number of NumPy as a number, what is missing as None."""
    if type(value) is str or value is None:
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in MISSING_TYPES else value
