"""The settings of `doctor`, and of the commands on a ledger: `ledger`, `budget` and `runs`."""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from judgeloop.core.choices import Shown
from judgeloop.core.errors import InputError
from judgeloop.core.money import to_pico
from judgeloop.core.protocols import Judge
from judgeloop.formats.own_files import LEDGER
from judgeloop.ledger.periods import DAY_STARTS, MIDNIGHT, PERIODS
from judgeloop.settings import shared
from judgeloop.settings.run_settings import JudgeSettings
from judgeloop.settings.setting import DOLLARS_FORM, Parse, Part, Setting, like, one_of
from judgeloop.settings.validation import Configuration
from judgeloop.settings.written import amount
from judgeloop.systems.options import KEYS

_OPTION = re.compile(rf".\.({'|'.join(KEYS)})=")


@dataclass(frozen=True, kw_only=True)
class DoctorConfig(JudgeSettings):
    """The settings of `doctor`: what it checks, judges or systems or both."""

    judge: tuple[str | Judge, ...] = shared.JUDGES.field(())
    system: tuple[str, ...] = Setting(
        "A system that answers live to check, and its settings as NAME.KEY=VALUE.",
        shared.ITEMS,
        Part.KEY,
        metavar="NAME",
        many=True,
        adds=True,
        common=True,
        example=("openai/gpt-5-mini",),
    ).field(())

    @property
    def systems(self) -> list[str]:
        """The systems to check, as typed."""
        return [one for one in self.system if not _OPTION.search(one)]

    @property
    def options(self) -> list[str]:
        """What the caller says of them."""
        return [one for one in self.system if _OPTION.search(one)]


@dataclass(frozen=True, kw_only=True)
class LedgerConfig(Configuration):
    """The settings of every command that only reads a ledger."""

    ledger: shared.Ledger = LEDGER


@dataclass(frozen=True, kw_only=True)
class RunsConfig(LedgerConfig):
    """The settings of `runs list`."""

    since: str | None = shared.place_setting(
        "List runs that were worked on since this day, in local time: today, yesterday, a number of "
        "days, or a date such as 2026-01-31.",
        metavar="DAY",
        example="yesterday",
    ).field(None)
    night: str | None = shared.place_setting(
        "List runs of the nights whose names begin so, such as 2026-01-31.", metavar="NIGHT"
    ).field(None)


@dataclass(frozen=True, kw_only=True)
class CreateConfig(LedgerConfig):
    """The settings of `ledger create`."""

    writer: str | None = shared.place_setting(
        "Role of the server that may book in the new ledger, and change no budget.", metavar="ROLE"
    ).field(None)
    reader: str | None = shared.place_setting("Role of the server that may read the new ledger.", metavar="ROLE").field(
        None
    )

    @property
    def roles(self) -> dict[str, str]:
        """The roles that are given, by what they may do."""
        given = {"writer": self.writer, "reader": self.reader}
        return {kind: name for kind, name in given.items() if name}


@dataclass(frozen=True, kw_only=True)
class ShowConfig(LedgerConfig):
    """The settings of `runs show`; without `report_texts`, that of the run holds."""

    report_texts: Annotated[str | None, one_of(tuple(Shown))] = shared.REPORT_TEXTS.field(None)
    details: bool = shared.report_setting(
        "Also print which items turned since the run before of the same systems, those with another output first.",
        shared.OUTPUT,
    ).field(False)


@dataclass(frozen=True, kw_only=True)
class MergeConfig(LedgerConfig):
    """The settings of `ledger merge`."""

    own: bool = shared.place_setting("Count what the other ledgers spent for the runs and budgets of this one.").field(
        False
    )
    prefer: str | None = shared.place_setting(
        "Ledger whose verdict is used where two differ. Default: neither is.", metavar="PATH|ADDRESS"
    ).field(None)


@dataclass(frozen=True, kw_only=True)
class NamedConfig(LedgerConfig):
    """The settings of `budget remove`: which budget."""

    name: Annotated[str, like(r"[\w.-]*", "letters, digits, dots and hyphens")] = shared.money_setting(
        "Name of a budget for the runs that say --charge-to NAME. Default: that of every run."
    ).field("")


@dataclass(frozen=True, kw_only=True)
class BudgetConfig(NamedConfig):
    """The settings of `budget set`."""

    limit: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = shared.money_setting(
        "The limit, such as '$20'.", argument="DOLLARS"
    ).field()
    per: Annotated[str | None, one_of(PERIODS)] = shared.money_setting(
        "Time after which it starts again, with nothing carried over: day, week (from Monday), month or "
        "total (never). Default: as it was, and total for a new one. It holds within one ledger: a copy is a "
        "second budget."
    ).field(None)
    day_starts: Annotated[str | None, like(DAY_STARTS, "a time and its offset from UTC, such as 12:00+01:00")] = (
        shared.money_setting(
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


@dataclass(frozen=True, kw_only=True)
class PruneConfig(LedgerConfig):
    """The settings of `ledger prune`."""

    older_than: str = shared.place_setting(
        "Delete what began before: a number of days, or a date such as 2026-01-31.", metavar="DAYS|DATE"
    ).field()
    verdicts: bool = shared.place_setting("Also delete verdicts. They are paid for again if they are needed.").field(
        False
    )


@dataclass(frozen=True, kw_only=True)
class ShowLedgerConfig(LedgerConfig):
    """The settings of `ledger show`."""

    unknown: bool = shared.money_setting("List the calls of unknown cost instead, which may be settled.").field(False)


@dataclass(frozen=True, kw_only=True)
class SettleConfig(LedgerConfig):
    """The settings of `ledger settle`."""

    file: Path | None = shared.money_setting(
        "CSV, JSON or JSON lines with attempt or request_id, and cost, such as a provider's export of requests."
    ).field(None)
    others: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = shared.money_setting(
        "What the calls cost that are not in the file. 0 says that it has every request of their time.",
        metavar="DOLLARS",
    ).field(None)
