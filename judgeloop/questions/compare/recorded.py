"""Compares two finished runs by the scores that they recorded, on all items and for nothing.

It is what `compare` does without a judge: reads both files, pairs the items, and makes one test of
a fixed sample. No ledger is opened and nothing is remembered.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

from judgeloop.core.errors import InputError
from judgeloop.formats.columns import parse_map
from judgeloop.formats.recorded import Choice, Recorded, pair, read_recorded
from judgeloop.formats.rows import stem
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.compare.recorded_result import (
    RecordedResult,
    RecordedSetup,
    recorded_result,
)
from judgeloop.questions.compare.recorded_text import page
from judgeloop.run.system_names import names_for
from judgeloop.settings.setting import Part, declared

# The settings that count without a judge; others of the run's outcome would silently do nothing.
USED = {
    "first", "second", "map", "names", "epoch", "score", "allow_partial", "tie_margin", "risk",
    "require_winner",
}  # fmt: skip
CHOSEN = {"selector", "rule"}  # other settings may have chosen these
OF_THE_OUTCOME = {Part.RUN, Part.KEY, Part.CONTENT}


def recorded_of(config: CompareConfig) -> RecordedResult:
    """Compare the recorded scores of two finished runs.

    Raises:
        InputError: a setting needs a judge, or the files have no scores that can be compared.
    """
    _check_unused(config)
    choice = Choice(parse_map(config.map), config.score, config.epoch)
    first, second = (read_recorded(path, choice) for path in config.output_files)
    systems = _names(config, first, second)
    if config.require_winner is not None and config.require_winner not in systems:
        raise InputError(
            f"`require_winner`: expected one of {', '.join(systems)}, found {config.require_winner!r}"
        )
    paired = pair(first, second, allow_partial=config.allow_partial)
    setup = RecordedSetup(
        systems=systems,
        scorers=(first.scorer, second.scorer),
        risk_threshold=config.risk,
        tie_margin=config.tie_margin,
        required_winner=config.require_winner,
        left_out=paired.left_out,
        version=version("judgeloop"),
    )
    result = recorded_result(setup, paired.ids, paired.first, paired.second)
    return replace(result, page=page(result))


def _check_unused(config: CompareConfig) -> None:
    if config.judge:
        raise InputError("`judge`: `compare_recorded` asks no judge; `compare` does")
    plain = type(config).of(first=config.first, second=config.second)
    unused = [
        name
        for name, field in declared(type(config)).items()
        if field.setting is not None
        and field.setting.part in OF_THE_OUTCOME
        and name not in USED
        and getattr(config, name) != getattr(plain, name)
    ]
    if unused:
        name = min(unused, key=lambda one: one in CHOSEN)
        raise InputError(
            f"`{name}`: without a `judge`, the recorded scores of all items are compared, and this "
            "setting would do nothing; leave it out, or name a judge"
        )


def _names(config: CompareConfig, first: Recorded, second: Recorded) -> tuple[str, str]:
    """Return distinct names: the given ones, else those in the files, the file names, the paths."""
    match names_for(config.names, config.output_files):
        case str() as one, str() as other:
            return one, other
    for one, other in (
        (first.system, second.system),
        (stem(first.path), stem(second.path)),
        (str(first.path), str(second.path)),
    ):
        if one != other:
            return one, other
    raise InputError(
        f"{first.path}: this file is given twice; a run cannot be compared with itself"
    )
