"""The settings of a suite, and its pairs: which question about which systems, with which settings and conditions.

A suite's file has the tables of a settings file, `[suite]` and `[shared]`, for all pairs, and a table
`[pairs.NAME]` for each. It is data, as a settings file that was merely found (`settings/sources.py`), unless the
caller also names it by --config. What the caller says wins over it. An error in a pair's table is that pair's
alone.
"""

import glob
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from judgeloop.core.errors import DataError, InputError, did_you_mean
from judgeloop.core.records import USUAL_FLIPS
from judgeloop.formats.own_files import outside
from judgeloop.judges.catalogue import is_recorded
from judgeloop.questions.catalogue import QUESTIONS, QuestionRow
from judgeloop.settings import fields
from judgeloop.settings.run_settings import MoneySettings
from judgeloop.settings.setting import DOLLARS_FORM, Declared, FoundFile, Gate, Parse, alternatives, declared, key
from judgeloop.settings.sources import PAIRS, SYSTEM, Commands, of_tables, parsed
from judgeloop.settings.values import amount
from judgeloop.systems.catalogue import system_row

Row = QuestionRow[Any, Any]
CALLER = "the caller"
LONGEST = 80  # characters of the name of a file
OFF = (False, "off")  # values that take a condition away
NIGHT = "{night}"
OWN = ("question", "systems")  # keys of a pair's table beside its settings


@dataclass(frozen=True, kw_only=True)
class SuiteSettings(MoneySettings):
    """What is set once for all pairs; each pair has the settings of its question beside them."""

    file: Path = fields.items_setting(
        "The pairs: a TOML file with a table [pairs.NAME] for each.", argument="FILE"
    ).field()
    # The default is that of a run, which a found file may lower; a suite has to be given one.
    budget: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = replace(
        declared(MoneySettings)["budget"].setting,
        help="Limit of dollars for all pairs of a night together. Default: that of FILE; one is required.",
    ).field(Decimal("5.00"))
    night: fields.NightOfSuite = None
    concurrency: fields.Concurrency = 8
    rpm: fields.CallsAMinute = None
    tpm: fields.TokensAMinute = None
    deadline: fields.Deadline = None

    @property
    def name_of_night(self) -> str:
        """The name of the night: its date and its suite."""
        return f"{self.night}-{slug(str(self.file.with_suffix('')))}"


WHOLE = declared(SuiteSettings).keys() - {"budget"}  # what is set for all pairs together


def slug(name: str) -> str:
    """A name as that of a file: letters, figures and hyphens.

    >>> slug("../eval: new")
    'eval-new'
    """
    return re.sub(r"\W+", "-", name).strip("-")[:LONGEST] or "suite"


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings by name, from one place; `trusted` if it is the caller's word."""

    origin: str
    values: Mapping[str, Any]
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class Pair:
    """A question to ask. `name` is unique in its suite.

    `values` are its settings by name, systems included, and `gate` its conditions, each with who set it.
    `problem` says why it cannot be asked; empty if it can. `table` is its table, [pairs.TABLE].
    """

    name: str
    question: Row
    values: Mapping[str, Any] = field(default_factory=dict)
    gate: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A suite's file. `common` are the settings of all pairs. `found` is None if it is the caller's word.

    `night` is the date that stands for `{night}` in the paths of systems.
    """

    path: Path
    commands: Commands
    common: Layer
    pairs: Mapping[str, Any]
    found: FoundFile | None
    night: str = NIGHT

    @property
    def folder(self) -> Path:
        """Where its paths begin: its own folder, or the working folder if it is the caller's word."""
        return self.found.folder if self.found else Path.cwd()


def read_suite(path: Path, commands: Commands, *, trusted: bool) -> SuiteFile:
    """Read the file of a suite; its pairs are not looked at yet.

    Raises:
        DataError: it is no TOML or has no pairs, or [suite] or [shared] sets what it may not.
    """
    folder, working = path.absolute().parent.resolve(), Path.cwd()
    found = None if trusted else FoundFile(path, folder, working, named=True)
    tables = parsed(path)
    pairs = tables.get(PAIRS)
    if not isinstance(pairs, dict) or not pairs:
        raise DataError(path, f"expected a table [{PAIRS}.NAME] for each pair, found none")
    values = {one.name: value for one, value in of_tables(commands, ("suite",), path, tables, found)}
    known = {*declared(SuiteSettings), *(name for one in QUESTIONS for name in declared(one.settings()))}
    if others := values.keys() - known:
        raise DataError(path, f"[suite] {key(min(others))}: give it on the command line")
    return SuiteFile(path, commands, Layer(path.name, values, trusted), pairs, found)


def pairs_of(suite: SuiteFile, base: Layer, flags: Layer) -> list[Pair]:
    """The pairs of a suite in the order of the file; a pattern may stand for several.

    `base` holds what settings files say, and `flags` what the command line and the environment say.

    Raises:
        InputError: two pairs have one name, or a setting of a live system belongs to none of a pair.
    """
    tables = [table for table in suite.pairs.values() if isinstance(table, dict)]
    named = tuple(f"{one}." for table in tables for one in _listed(table.get("systems")))
    for layer in (base, suite.common, flags):
        for entry in _listed(layer.values.get(SYSTEM)):
            if not entry.startswith(named):
                what = entry.partition("=")[0]
                raise InputError(
                    f"`system={what}=…` ({layer.origin}): it belongs to no system of a pair; leave it out, or "
                    "give this suite a `--config` file of its own"
                )
    found: dict[str, Pair] = {}
    for name, table in suite.pairs.items():
        for one in _of_table(suite, name, table, base, flags):
            if found.setdefault(one.name, one) is not one:
                raise DataError(suite.path, f"two pairs have the name {one.name!r}; rename one")
    return list(found.values())


def _of_table(suite: SuiteFile, name: str, table: Any, base: Layer, flags: Layer) -> Iterator[Pair]:
    """Yield the pairs of a table, or one with the problem that it has."""
    question: Row = QUESTIONS[0]
    try:
        if not isinstance(table, dict):
            raise DataError(suite.path, f"expected a table [{PAIRS}.{name}], found a single value")
        names, wanted = [one.name for one in QUESTIONS], table.get("question", question.name)
        if wanted not in names:
            raise DataError(suite.path, f"question: expected {alternatives(names)}, found {wanted!r}")
        question = QUESTIONS[names.index(str(wanted))]
        own = replace(suite.common, values=_own_values(suite, name, table, question))
        layers = [base, suite.common, own, flags]
        values, gate = _merged(layers, question)
        if any(map(is_recorded, _listed(values.get("judge")))):
            values = _with_recorded(values, own.values)
        values["budget"] = own.values.get("budget")  # not that of all pairs
        options = [one for layer in layers for one in _listed(layer.values.get(SYSTEM))]
        places = [_places(suite, one, options) for one in _listed(table.get("systems"))]
        for tail, given in _places_of(question, places):
            live = [f"{one}." for one in _flat(given.values()) if isinstance(one, str)]
            chosen = [one for one in options if one.startswith(tuple(live))]
            yield Pair(f"{name}{tail}", question, values | given | {SYSTEM: chosen or None}, gate, table=name)
    except InputError as error:
        yield Pair(name, question, problem=str(error))


def _own_values(suite: SuiteFile, pair: str, table: Mapping[str, Any], question: Row) -> dict[str, Any]:
    """The settings in a pair's table by name, as in a table of the question's command.

    Raises:
        DataError: there is no such setting, it is set for all pairs, or only the caller may set it.
    """
    rest = {given: value for given, value in table.items() if given not in OWN}
    place = (question.name,)
    known = {*suite.commands[place], *OWN}
    for wrong in sorted(rest.keys() - known):
        if takers := [one.name for one in QUESTIONS if wrong in suite.commands[one.name,]]:
            raise DataError(
                suite.path, f"[{PAIRS}.{pair}] {question.name} takes no {wrong}: {alternatives(takers)} does"
            )
        nearest = did_you_mean(wrong, known)
        raise DataError(suite.path, f"[{PAIRS}.{pair}] has no key {wrong!r}{nearest}")
    said = of_tables(suite.commands, place, suite.path, {question.name: rest}, suite.found, title=f"[{PAIRS}.{pair}]")
    values = {one.name: value for one, value in said}
    for name in values:
        if name in WHOLE or name not in _fields(question):
            raise DataError(suite.path, f"{key(name)}: it is set for all pairs together, in [suite] or by {CALLER}")
    return values


def _merged(layers: Sequence[Layer], question: Row) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """The values of all layers, the caller's over a file's, and what the gate rests on among them.

    Raises:
        InputError: a file weakens the caller's gate, or the question has no such condition.
    """
    known = {name: one for name, one in _fields(question).items() if not one.setting.argument}
    _check_gate(layers, known, question.name)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in in_order(layers):
        for name in layer.values.keys() & (known.keys() - WHOLE):
            values[name], origins[name] = layer.values[name], layer.origin
    conditions = [name for name in known if _is_condition(known[name])]
    grounds = [name for name in known if known[name].setting.is_ground]
    gate = [name for name in (*conditions, *grounds) if name in values]
    if not values.keys() & set(conditions):
        gate = []
    shown = {name: str(one).lower() if isinstance(one, bool) else one for name, one in values.items()}
    return values, tuple((f"{key(name)} = {shown[name]}", origins[name]) for name in gate)


def _with_recorded(values: Mapping[str, Any], own: Container[str]) -> dict[str, Any]:
    """The settings of a pair that compares recorded scores: what all pairs share for their judges is not its own.

    A condition stays, and is refused if it would do nothing.
    """
    from judgeloop.questions.compare.settings import CompareSettings, idle_with_recorded

    conditions = {name for name, one in declared(CompareSettings).items() if _is_condition(one)}
    idle = {*idle_with_recorded()} - conditions
    return {name: value for name, value in values.items() if name in own or name not in idle}


def in_order(layers: Iterable[Layer]) -> list[Layer]:
    """The layers in the order in which they win: what a file says first, the caller's word last."""
    return sorted(layers, key=lambda layer: layer.trusted)


def _check_gate(layers: Sequence[Layer], known: Mapping[str, Declared], question: str) -> None:
    """Refuse what weakens the caller's gate: a file may add conditions, and set nothing else of it."""
    every = {name: one for each in QUESTIONS for name, one in _fields(each).items()}
    said = {name: one for layer in layers if layer.trusted for name, one in layer.values.items()}
    callers = [name for name in said if name in every and _is_condition(every[name])]
    for name in callers:
        if name not in known:
            takers = alternatives([one.name for one in QUESTIONS if name in _fields(one)])
            origin = next(one.origin for one in layers if one.trusted and name in one.values)
            what = f"`{name}={said[name]}`" if origin == CALLER else f"{key(name)} of {origin}"
            raise InputError(f"{what} does not fit {question}; set it in the {takers} pairs")
    for layer in layers if callers else ():
        if not layer.trusted:
            for name in layer.values.keys() & known.keys():
                _check_value(layer, known[name], said.get(name))


def _check_value(layer: Layer, field: Declared, said: object) -> None:
    """Refuse what a file says of the caller's gate, of which the caller has `said` something or nothing."""
    value = layer.values[field.name]
    remove = f"remove {field.key} from {layer.origin}"
    why = "the command line, a variable or --config sets conditions"
    changes = said is not None and str(said) != str(value)
    if _is_condition(field) and (changes or value in OFF or _is_looser(field, value)):
        raise InputError(f"{remove}: {why}")
    if field.setting.is_ground and said is None:
        raise InputError(f"{remove}, or give `{field.name}={value}` yourself: {why}")


def _is_looser(field: Declared, value: object) -> bool:
    """Whether a value takes from the condition that a gate has by default."""
    try:
        return field.name == "max_flips" and float(str(value)) > USUAL_FLIPS
    except ValueError:
        return value == "none"


def _is_condition(field: Declared) -> bool:
    return field.setting.gate is Gate.CONDITION


def _fields(question: Row) -> Mapping[str, Declared]:
    return declared(question.settings())


def _places(suite: SuiteFile, text: object, options: Sequence[str]) -> tuple[bool, list[Path | str]]:
    """Whether a text is a pattern, and the systems that it names: one that answers live, or files.

    Raises:
        InputError: a pattern matches nothing, a path leads outside, or only the caller may name the system.
    """
    if not isinstance(text, str) or not text.isprintable():
        raise DataError(suite.path, f"systems: expected names, paths and patterns, found {text!r}")
    text = text.replace(NIGHT, suite.night)
    row = system_row(text)
    if row is not None and row.prefix:
        if suite.found and row.runs_code and not any(one.startswith(f"{text}.") for one in options):
            raise InputError(
                f"systems: {text!r} runs code, which {CALLER} alone may name, in a table [systems.{text!r}] "
                "of a file that --config names, or with --system"
            )
        return False, [text]
    folder, working = suite.folder, Path.cwd()
    pattern = bool(set(text) & set("*?[")) and not (folder / text).exists()
    found = [text]
    if pattern:  # an absolute one, too, which only the caller may give
        found = sorted(glob.glob(text, root_dir=folder, recursive=True))  # noqa: PTH207
    if not found:
        raise InputError(f"systems: the pattern {text!r} matches no file in {folder}")
    for path in found:
        if suite.found and (reason := outside(path, folder)):
            raise InputError(f"systems: {reason}; to trust the file: --config {suite.path}")
    return pattern, [Path(os.path.relpath(folder / path, working)) for path in found]


def _places_of(question: Row, places: Sequence[tuple[bool, list[Path | str]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each pair the tail of its name, and its systems by the names of the arguments.

    The last of two systems may be a pattern, and stands for a pair with each file. So may the only one.

    Raises:
        InputError: there is another number of systems.
    """
    known = _fields(question)
    names = [name for name, one in known.items() if one.setting.argument]
    if known[names[0]].repeated:
        yield "", {names[0]: tuple(dict.fromkeys(_flat(one for _, one in places)))}
        return
    if len(places) != len(names) or any(len(one) > 1 for _, one in places[:-1]):
        found = " and ".join(str(len(one)) for _, one in places) or "none"
        takes = f"{len(names)}, of which only the last may be a pattern that matches several files"
        takes = takes if len(names) > 1 else "one path or pattern; give each system a pair of its own"
        raise InputError(f"systems: {question.name} takes {takes}; found {found}")
    *first, (pattern, last) = places
    fixed = {name: one[0] for name, (_, one) in zip(names, first, strict=False)}
    others = [one for one in last if one not in fixed.values()]
    if not others:
        raise InputError(f"systems: there is no other system than {last[0]}")
    stems = {Path(one).stem for one in others}
    for one in others:
        tail = Path(one).stem if len(stems) == len(others) else Path(one).with_suffix("").as_posix()
        yield f" {tail}" if pattern else "", fixed | {names[-1]: one}


def _listed(value: Any) -> list[Any]:
    """Several values as they are, one as a list of it, and none as no list."""
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _flat(values: Iterable[Any]) -> list[Any]:
    return [one for value in values for one in _listed(value)]
