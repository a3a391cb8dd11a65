"""Turns the arguments of a call in Python into settings: tables of rows, judges and functions.

Tables are lists, columns, data frames and generators; data frames of any library are read through
narwhals, which is imported only for them. `formats/rows.py` checks the fields. No file is opened
and no judge is asked.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.protocols import Judge
from judgeloop.formats.tables import ROW_IN_MEMORY, Row, Source, Table
from judgeloop.judges.catalogue import is_remote
from judgeloop.judges.function import PluginJudge, function_judge
from judgeloop.providers.user_code import name_of
from judgeloop.settings.setting import Declared, declared
from judgeloop.systems.catalogue import source

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoLazyFrame

    # Rows as dictionaries, a dictionary of columns, or a data frame.
    Rows: TypeAlias = Iterable[Mapping[str, Any]] | Mapping[str, Iterable[Any]] | IntoDataFrame | IntoLazyFrame

EXPECTED = "expected a file, a list of dictionaries, a dictionary of columns, or a data frame"
MISSING_TYPES = {"NAType", "NaTType"}  # of pandas, which need not be installed
COLUMNS = "; texts are columns: {'prompt': prompts, 'output': texts}"
LISTS, PAIR = ("prompts", "a", "b"), ("A", "B")
NAMED = ("a system's name", "its outputs")
JUDGING = ("judge", "proxy")  # settings that name judges


def holds_data(field: Declared) -> bool:
    """Whether a setting names files whose content is judged, so that rows may be given."""
    return Table in field.kinds


def settings_of(config: type[Any], values: Mapping[str, Any], version: str | None) -> dict[str, Any]:
    """The settings of a call, with tables for rows and with judges for functions.

    `version` identifies what the functions among the judges do.

    Raises:
        InputError: an argument is no table or no judge; or a function without identity sits with
            judges that may cost money.
    """
    fields, found = declared(config), dict(values)
    names: list[str] = []
    for name, value in values.items():
        if value is None:
            continue
        if name in JUDGING:
            several = isinstance(value, Sequence) and not isinstance(value, str)
            judges = [_judge_of(name, each, version) for each in (value if several else [value])]
            found[name] = judges if several else judges[0]
        elif name in fields and holds_data(fields[name]):
            one = fields[name].setting.many and isinstance(value, str | PathLike)
            given = _several(name, value) if fields[name].repeated and not one else {name: value}
            read = [_data(where, one) for where, one in given.items()]
            found[name] = [one for one, _ in read] if fields[name].repeated else read[0][0]
            if any(map(_is_function, given.values())):
                found["allow_plugins"] = True  # who passes a function wants it to run
            names += [system for _, system in read] if fields[name].setting.argument else []
    if any(names) and not found.get("names"):
        found["names"] = names
    _check_functions([found.get(name) for name in JUDGING], version)
    return found


def of_lists(values: Mapping[str, Any], places: Sequence[str]) -> dict[str, Any]:
    """The settings of a comparison with a table for each of two lists of outputs, `a` and `b`.

    They stand beside the list `prompts`. The systems are A and B, unless `names` says otherwise.

    Raises:
        InputError: one of the three is missing or no list, they differ in length, or systems are given too.
    """
    found = dict(values)
    if len(places) < len(PAIR) and LISTS[0] in found:
        raise InputError(f"`prompts`: only `compare` takes it{COLUMNS}")
    if len(places) < len(PAIR) or not found.keys() & set(LISTS):
        return found
    given_lists = {name: found.pop(name, None) for name in LISTS}
    lists = {name: _listed(name, value) for name, value in given_lists.items()}
    prompts, *outputs = lists.values()
    if given := found.keys() & set(places):
        raise InputError(f"`{min(given)}`: `a` and `b` are the systems; leave it out")
    twice = len(set(prompts)) < len(prompts)
    ids = {"id": range(1, len(prompts) + 1)} if twice else {}
    for place, name, texts in zip(places, PAIR, outputs, strict=True):
        if len(texts) != len(prompts):
            raise InputError(
                f"`{name.lower()}`: expected {len(prompts)} outputs as there are prompts, found {len(texts)}"
            )
        found[place] = (name, {**ids, "prompt": prompts, "output": texts})
    if said := _misplaced(given_lists):
        raise InputError(said)
    return found


def _misplaced(columns: Mapping[str, Any]) -> str:
    """Which column has the labels of the first one's index in other places; "" if none has.

    A column of pandas has an index, and its users expect that rows are matched by it. Here they are matched by place.
    """
    indexes: dict[str, Any] = {name: getattr(one, "index", None) for name, one in columns.items()}
    first, *others = [name for name, one in indexes.items() if hasattr(one, "equals")] or [""]
    for name in others:
        one, other = indexes[first], indexes[name]
        if one.equals(other) or not len(one.intersection(other)):
            continue
        labels = next(found for found in zip(one, other, strict=False) if found[0] != found[1])
        return (
            f"`{name}`: its index is not that of `{first}` (where one has {labels[1]!r}, the other has {labels[0]!r}), and "
            f"rows are matched by place; give `{name}.reindex({first}.index)`, or `{name}.to_list()` if the places are right"
        )
    return ""


def _listed(name: str, value: object) -> list[Any]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        kind = "none" if value is None else type(value).__name__
        raise InputError(f"`{name}`: expected a list of texts beside `prompts`, `a`, `b`; found {kind}")
    return list(value)


def _data(name: str, value: Any) -> tuple[Source | str, str]:
    """The data of a parameter, and the name of their system, "" if it has none."""
    system, given = "", value
    if isinstance(value, tuple) and len(value) == len(NAMED) and isinstance(value[0], str):
        system, given = value
        if not system:
            raise InputError(f"`{name}`: expected the name of a system, found an empty text")
    if isinstance(given, str):
        try:
            return source(given), system
        except ValueError as error:
            raise InputError(f"`{name}`: {error}, found {given!r}") from None
    if isinstance(given, PathLike):
        return Path(given), system
    if _is_function(given):
        function = name_of(given)
        if function is None:
            found = getattr(given, "__qualname__", type(given).__qualname__)
            raise InputError(
                f"`{name}`: expected a function at the top of a module; found {found}, which no name "
                "leads to, so no later run could tell its outputs. Write it as a function of a module, "
                "with `def`, and pass that; or call it on the items yourself, and pass its outputs"
            )
        return f"python:{function}", system
    place = f"`{name}`"  # as messages name a parameter in place of a file
    return Table(place, rows_of(place, given)), system


def _is_function(value: Any) -> bool:
    """Whether a value, or what it names, is a function: a system that answers live."""
    given = value[1] if isinstance(value, tuple) and len(value) == len(NAMED) else value
    return callable(given) and not isinstance(given, type)


def _several(name: str, value: object) -> dict[str, object]:
    """Several tables or files by their place in messages, with the systems' names."""
    if isinstance(value, Mapping):
        return {f"{name}[{key!r}]": (str(key), table) for key, table in value.items()}
    if isinstance(value, str | PathLike) or not isinstance(value, Iterable):
        raise InputError(
            f"`{name}`: expected several files or tables, in a list, or in a dictionary by the "
            f"system's name; found {type(value).__name__}"
        )
    return {f"{name}[{number}]": table for number, table in enumerate(value)}


def _check_functions(values: Iterable[Any], version: str | None) -> None:
    """Refuse a version without a function, and functions without identity beside paid judges."""
    judges = [one for value in values for one in (value if isinstance(value, list) else [value])]
    functions = [one for one in judges if isinstance(one, PluginJudge)]
    if version is not None and not functions:
        raise InputError("`version`: it belongs to a function as `judge`, and none is given")
    paid = [
        one if isinstance(one, str) else one.identity.name
        for one in judges
        if one is not None and one not in functions and (not isinstance(one, str) or is_remote(one))
    ]
    for judge in functions:
        if judge.unknown and paid:
            raise InputError(
                f"`judge`: {judge.identity.name} cannot be told from other functions, because "
                f"{judge.unknown}, so each call would be a run with a budget of its own, and {paid[0]} "
                "may cost money: give `version`"
            )


def _judge_of(name: str, value: Any, version: str | None) -> str | Judge:
    if isinstance(value, str):
        return value
    if hasattr(value, "judge") and hasattr(value, "identity"):
        judge: Judge = value
        return judge
    if not callable(value):
        raise InputError(f"`{name}`: expected the name of a judge, a function or a judge, found {type(value).__name__}")
    return function_judge(value, version=version)


def rows_of(place: str, data: object) -> list[Row]:
    """The rows of a table in memory; a value that is missing becomes None.

    Raises:
        DataError: the value is no table, its columns differ in length, or it has no rows.
    """
    if isinstance(data, Mapping):
        found = _of_columns(place, data)
    elif (frame := _frame(data)) is not None:
        found = _of_columns(place, _columns(frame))
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        found = [_row(place, number, fields) for number, fields in enumerate(data, start=1)]
    else:
        raise DataError(place, f"{EXPECTED}; found {type(data).__name__}")
    if not found:
        raise DataError(place, "there are no rows")
    return found


def _frame(data: object) -> Any:
    """`data` as narwhals' data frame; None if it is no data frame."""
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
        raise InputError(f"this data frame cannot be read: {said}; give each column one name") from None
    return frame if isinstance(frame, narwhals.DataFrame) else None


def _columns(frame: Any) -> dict[str, list[Any]]:
    """A data frame's columns by name, with None for what the library counts as missing."""
    found = {}
    for name in frame.columns:
        column = frame.get_column(name)
        pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
        found[str(name)] = [None if missing else value for value, missing in pairs]
    return found


def _of_columns(place: str, data: Mapping[Any, Any]) -> list[Row]:
    """The rows of columns, which must be of one length."""
    columns: dict[str, list[Any]] = {}
    for name, values in data.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(place, f"expected a column, such as a list, in {name!r}; found {type(values).__name__}")
        columns[str(name)] = list(values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{length} in {name!r}" for name, length in islice(lengths.items(), 8))
        raise DataError(place, f"expected columns of one length; found {shown}")
    if said := _misplaced(data):
        raise DataError(place, said)
    return [
        _row(place, number, dict(zip(columns, cells, strict=True)))
        for number, cells in enumerate(zip(*columns.values(), strict=True), start=1)
    ]


def _row(place: str, number: int, fields: object) -> Row:
    if not isinstance(fields, Mapping):
        raise DataError(
            place,
            f"expected a dictionary with fields, found {type(fields).__name__}{COLUMNS * isinstance(fields, str)}",
            line=number,
            unit=ROW_IN_MEMORY,
        )
    return Row(number, {str(name): _plain(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    """A cell as a Python value: a number of NumPy as a number, what is missing as None."""
    if type(value) is str or value is None:
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in MISSING_TYPES else value
