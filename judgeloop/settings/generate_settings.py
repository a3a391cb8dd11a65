"""The settings of `generate`, which lets a system answer items before anything is judged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from judgeloop.settings import shared
from judgeloop.settings.run_settings import MoneySettings
from judgeloop.settings.setting import Parse, Part, Setting
from judgeloop.systems.catalogue import FORMS, source

Answerer = Annotated[
    Path | str, Parse(source), Setting(f"The system that answers: {FORMS}.", shared.ITEMS, Part.KEY, argument="SYSTEM")
]


@dataclass(frozen=True, kw_only=True)
class GenerateConfig(MoneySettings):
    """All settings of `generate`; those that it shares with a run have the same names and defaults."""

    outputs: Answerer
    items: Path = shared.items_setting(
        "File of prompts to answer.", source=shared.Inside, common=True, example="items.jsonl"
    ).field()
    system: shared.LiveSystems = ()
    allow_plugins: shared.AllowPlugins = False
    map: shared.ColumnMap = None
    first: Annotated[int | None, Ge(1)] = shared.run_setting(
        "Only the first so many items, in the random order in which compare draws with the same seed.",
        shared.SELECTION,
        common=True,
        example=100,
    ).field(None)
    seed: shared.Seed = 0
    max_abstentions: shared.MaxAbstentions = 0.05
    export_only: bool = shared.report_setting(
        "Write the outputs that are in the ledger, and ask for none.", shared.MONEY
    ).field(False)
    deadline: shared.Deadline = None
    concurrency: shared.Concurrency = 8
    rpm: shared.CallsAMinute = None
    tpm: shared.TokensAMinute = None
