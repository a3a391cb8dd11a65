"""The ceiling of every budget, JUDGELOOP_MAX_USD, set by the person who pays.

Nothing on the command line, in a file or in Python exceeds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

from judgeloop.core.errors import InputError
from judgeloop.settings.run_settings import JudgeSettings
from judgeloop.settings.setting import amount, declared

CEILING = "JUDGELOOP_MAX_USD"
C = TypeVar("C", bound=JudgeSettings)


def within_ceiling(config: C, environment: Mapping[str, str]) -> C:
    """Return `config` with a budget of at most the ceiling.

    The default budget is lowered to the ceiling. A budget that was given is never changed.

    Raises:
        InputError: the budget that was given exceeds the ceiling, or the ceiling is no amount.
    """
    ceiling = _ceiling(environment.get(CEILING))
    if ceiling is None or (config.budget is not None and config.budget <= ceiling):
        return config
    if config.budget == declared(type(config))["budget"].default:
        return replace(config, budget=ceiling)
    given = "none" if config.budget is None else config.budget
    raise InputError(
        f"`budget={given}`: {CEILING} allows no run more than ${ceiling}; give at most that, or ask "
        "the person who set the variable"
    )


def _ceiling(given: str | None) -> Decimal | None:
    if given is None or not given.strip():
        return None
    try:
        ceiling = amount(given.strip())
    except ValueError:
        ceiling = None
    if ceiling is None:
        raise InputError(f"{CEILING}: expected dollars such as 5.00, found {given!r}")
    return ceiling
