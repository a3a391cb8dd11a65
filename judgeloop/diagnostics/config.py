"""The settings of the commands that write a ledger: `ledger` and `budget`."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from judgeloop.core.errors import InputError
from judgeloop.core.money import to_pico
from judgeloop.ledger.periods import DAY_STARTS, MIDNIGHT, PERIODS
from judgeloop.settings import fields
from judgeloop.settings.run_settings import LedgerSettings
from judgeloop.settings.setting import DOLLARS_FORM, Parse, like, one_of
from judgeloop.settings.values import amount


@dataclass(frozen=True, kw_only=True)
class CreateConfig(LedgerSettings):
    """The settings of `ledger create`."""

    writer: str | None = fields.place_setting(
        "Role of the server that may book in the new ledger, and change no budget.", metavar="ROLE"
    ).field(None)
    reader: str | None = fields.place_setting("Role of the server that may read the new ledger.", metavar="ROLE").field(
        None
    )

    @property
    def roles(self) -> dict[str, str]:
        """The roles that are given, by what they may do."""
        given = {"writer": self.writer, "reader": self.reader}
        return {kind: name for kind, name in given.items() if name}


@dataclass(frozen=True, kw_only=True)
class SalvageConfig(LedgerSettings):
    """The settings of `ledger salvage`."""

    to: Path = fields.place_setting("New ledger file to write.").field()
    sign: bool = fields.place_setting("Also copy unsigned rows, and sign them with JUDGELOOP_LEDGER_KEY.").field(False)


@dataclass(frozen=True, kw_only=True)
class MergeConfig(LedgerSettings):
    """The settings of `ledger merge`."""

    their_key_variable: str | None = fields.place_setting(
        "Environment variable with the key that the other ledgers are signed with.", metavar="NAME"
    ).field(None)
    trust_origin: tuple[Path, ...] = fields.place_setting(
        "Believe this ledger as it is, though nothing shows who wrote it.", many=True
    ).field(())
    own: bool = fields.place_setting("Count what the other ledgers spent for the runs and budgets of this one.").field(
        False
    )
    prefer: Path | None = fields.place_setting(
        "Ledger whose verdict is used where two differ. Default: neither is."
    ).field(None)

    def their_key(self, environment: Mapping[str, str]) -> bytes | None:
        """Return the key of the other ledgers; None if none is named.

        Raises:
            InputError: the variable is not set.
        """
        if self.their_key_variable is None:
            return None
        if not environment.get(self.their_key_variable):
            raise InputError(f"`their_key_variable={self.their_key_variable}`: this variable is not set")
        return environment[self.their_key_variable].encode()


@dataclass(frozen=True, kw_only=True)
class LoadConfig(LedgerSettings):
    """The settings of `ledger load`."""

    own: bool = fields.place_setting("Count what was spent elsewhere for the runs and budgets of this ledger.").field(
        False
    )


@dataclass(frozen=True, kw_only=True)
class NamedConfig(LedgerSettings):
    """The settings of `budget remove`: which budget."""

    name: Annotated[str, like(r"[\w.-]*", "letters, digits, dots and hyphens")] = fields.money_setting(
        "Name of a budget for the runs that say --charge-to NAME. Default: that of every run."
    ).field("")


@dataclass(frozen=True, kw_only=True)
class BudgetConfig(NamedConfig):
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


@dataclass(frozen=True, kw_only=True)
class PruneConfig(LedgerSettings):
    """The settings of `ledger prune`."""

    older_than: str = fields.place_setting(
        "Delete what began before: a number of days, or a date such as 2026-01-31.", metavar="DAYS|DATE"
    ).field()
    verdicts: bool = fields.place_setting("Also delete verdicts. They are paid for again if they are needed.").field(
        False
    )


@dataclass(frozen=True, kw_only=True)
class ReconcileConfig(LedgerSettings):
    """The settings of `ledger reconcile`."""

    usage: Path | None = fields.money_setting(
        "The provider's export of requests: CSV, JSON or JSON lines with request_id, time, "
        "model, and cost or tokens. Default: list the calls of unknown cost."
    ).field(None)
    judge_price: str | None = fields.money_setting(
        "Dollars per million input and output tokens, for an export without costs.", metavar="IN,OUT"
    ).field(None)
    complete: bool = fields.money_setting(
        "The export lists every request of that time, so calls that are not in it were not billed."
    ).field(False)
