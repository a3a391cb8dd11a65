"""The settings of a suite: its file, its budget, its night, and the pace of all its pairs together."""

from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from judgeloop.settings import shared
from judgeloop.settings.run_settings import MoneySettings
from judgeloop.settings.setting import DOLLARS_FORM, Parse, declared
from judgeloop.settings.written import amount


@dataclass(frozen=True, kw_only=True)
class SuiteConfig(MoneySettings):
    """What is set once for all pairs; each pair has the settings of its question beside them."""

    file: Path = shared.items_setting(
        "The pairs: a TOML file with a table [pairs.NAME] for each.", argument="FILE"
    ).field()
    # The default is that of a run, which a found file may lower; a suite has to be given one.
    budget: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = replace(
        declared(MoneySettings)["budget"].setting,
        help="Limit of dollars for all pairs of a night together. Default: that of FILE; one is required.",
    ).field(Decimal("5.00"))
    night: shared.NightOfSuite = None
    concurrency: shared.Concurrency = 8
    rpm: shared.CallsAMinute = None
    tpm: shared.TokensAMinute = None
    deadline: shared.Deadline = None
