"""The command `budget`: shows the budgets that the runs of a ledger share, sets one, or removes one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import click

from judgeloop.cli.options import CONTEXT, JSON, DefaultGroup, settings_command
from judgeloop.core.errors import InputError
from judgeloop.core.money import show_usd, to_pico, to_usd
from judgeloop.ledger.periods import DAY_STARTS, MIDNIGHT, PERIODS
from judgeloop.report.words import visible
from judgeloop.settings import fields
from judgeloop.settings.run_settings import LedgerSettings
from judgeloop.settings.setting import DOLLARS_FORM, Parse, like, one_of
from judgeloop.settings.values import amount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from judgeloop.ledger.records import Balance

EVERY_RUN = "every run"  # in the place of the name of the budget of all


@dataclass(frozen=True, kw_only=True)
class NamedSettings(LedgerSettings):
    """The settings of `budget remove`: which budget."""

    name: Annotated[str, like(r"[\w.-]*", "letters, digits, dots and hyphens")] = fields.money_setting(
        "Name of a budget for the runs that say --charge-to NAME. Default: that of every run."
    ).field("")


@dataclass(frozen=True, kw_only=True)
class BudgetSettings(NamedSettings):
    """The settings of `budget set`."""

    limit: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = fields.money_setting(
        "The limit, such as '$20'.", argument="DOLLARS"
    ).field()
    per: Annotated[str | None, one_of(PERIODS)] = fields.money_setting(
        "Time after which it starts again, with nothing carried over: day, week (from Monday), month or "
        "total (never). Default: as it was, and total for a new one. It holds within one ledger: a copy is a "
        "second budget."
    ).field(None)
    day_starts: Annotated[str | None, like(DAY_STARTS, "a time and its offset from UTC, such as 12:00+01:00")] = (
        fields.money_setting(
            "When a day begins, and so a week and a month, with the offset from UTC. Default: as it was, and "
            f"{MIDNIGHT} for a new budget.",
            metavar="HH:MM+HH:MM",
            example="12:00+01:00",
        ).field(None)
    )

    @property
    def limit_p(self) -> int:
        """The limit in picodollars.

        Raises:
            InputError: it is no limit.
        """
        if self.limit is None:
            raise InputError("`limit=none`: expected dollars; to have no limit: judgeloop budget remove")
        return to_pico(self.limit)


def budget() -> click.Command:
    """The command `budget` with its subcommands."""
    return DefaultGroup(
        "budget",
        commands=[
            settings_command("budget show", _show, LedgerSettings, switches=(JSON,)),
            settings_command("budget set", _set, BudgetSettings),
            settings_command("budget remove", _remove, NamedSettings),
        ],
        help="Show, set or remove the budgets that the runs of a ledger share.",
        context_settings=CONTEXT,
    )


def _show(*, json: bool, **given: Any) -> None:
    """Show what is spent, held back and left, and when it starts again."""
    from judgeloop.ledger.opening import open_reader

    with open_reader(LedgerSettings.of(**given).ledger) as reader:
        found = reader.balances()
    if json:
        print(dumps(list(map(_values, found)), indent=2))
        return
    for one in found:
        print(visible(_line(one)))
    if not found:
        print("no budgets yet; to set one: judgeloop budget set DOLLARS --per day")


def _line(found: Balance) -> str:

    by = ", ".join(f"{run} {show_usd(held_p)}" for run, held_p in found.held.items())
    day = f" from {found.day_starts}" if found.until and found.day_starts != MIDNIGHT else ""
    return (
        f"{found.name or EVERY_RUN}: {found.amount}{day}; "
        f"{show_usd(found.charged_p - found.held_p)} spent, "
        f"{show_usd(found.held_p)} held back{f' ({by})' if by else ''}, "
        f"{show_usd(found.left_p)} left; {found.again}"
    )


def _values(found: Balance) -> dict[str, Any]:

    return {
        "name": found.name,
        "per": found.per,
        "day_starts": found.day_starts,
        "limit_usd": float(to_usd(found.limit_p)),
        "spent_usd": float(to_usd(found.charged_p - found.held_p)),
        "held_usd": float(to_usd(found.held_p)),
        "held_by": {run: float(to_usd(held_p)) for run, held_p in found.held.items()},
        "left_usd": float(to_usd(found.left_p)),
        "since": found.since or None,
        "starts_again": found.until or None,
    }


def _set(**given: Any) -> None:
    """Set the budget of every run of a ledger, or with --name one for the runs that say --charge-to NAME.

    A run takes from its own --budget and from each that it is charged to; all must have room. To set one again
    changes the limit, and --per and --day-starts where they are given; what was spent in its period stays
    counted.
    """
    from judgeloop.ledger.opening import open_ledger, open_reader
    from judgeloop.ledger.periods import TOTAL

    config = BudgetSettings.of(**given)
    limit_p = config.limit_p
    with closing(open_ledger(config.ledger)) as ledger, open_reader(config.ledger) as reader:
        own = _named(reader.balances(), config.name)
        per = config.per or (own.per if own else TOTAL)
        day_starts = config.day_starts or (own.day_starts if own else MIDNIGHT)
        ledger.set_budget(config.name, limit_p, per, day_starts)
        own = _named(reader.balances(), config.name)
    assert own is not None, "it has just been set"
    print(visible(_line(own)))


def _named(balances: Iterable[Balance], name: str) -> Balance | None:
    return next((one for one in balances if one.name == name), None)


def _remove(**given: Any) -> None:
    """Remove a budget: it limits no run from now on."""
    from judgeloop.ledger.opening import is_ledger, open_ledger

    config = NamedSettings.of(**given)
    if not is_ledger(config.ledger):
        raise InputError(f"`ledger={config.ledger}`: there is no ledger there")
    with closing(open_ledger(config.ledger)) as ledger:
        ledger.remove_budget(config.name)
    print(visible(f"{config.name or EVERY_RUN}: removed"))
