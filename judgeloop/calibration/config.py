"""The settings of `calibrate`: the comparisons to replay, the risks, and the judgment limits."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, MinLen

from judgeloop.formats.own_files import HOME
from judgeloop.settings import shared
from judgeloop.settings.setting import Parse, Part, Setting
from judgeloop.settings.validation import Configuration
from judgeloop.settings.written import shares


@dataclass(frozen=True, kw_only=True)
class CalibrateConfig(Configuration):
    """All settings on which the result of `calibrate` depends."""

    history: Annotated[
        str,
        MinLen(1),
        Setting(
            "Comparisons to replay: auto (all in the ledger), RUN,RUN... (runs in the ledger, by "
            "id), or FILE (a table of verdicts).",
            shared.PAST,
            Part.CONTENT,
            shared.Inside,
        ),
    ] = "auto"
    judge_name: Annotated[
        str | None,
        Setting(
            "Judge whose comparisons to replay if the ledger has several, such as openai/gpt-4.1. "
            "Default: the judge with the most verdicts.",
            shared.PAST,
            Part.CONTENT,
            shared.Found,
            metavar="NAME",
        ),
    ] = None
    tie_margin: Annotated[
        float,
        Ge(0),
        shared.run_setting("Scores in a FILE that differ by no more than this (0 or more) are a tie.", shared.PAST),
    ] = 0.0
    risk: Annotated[
        tuple[shared.Share, ...],
        Parse(shares),
        MinLen(1),
        shared.run_setting(
            "Stated risks to try, between 0 and 1, separated by commas.", shared.STOPPING, metavar="RISK,..."
        ),
    ] = (0.1, 0.2)
    min_judgments: shared.MinJudgments = 5
    max_judgments: shared.MaxJudgments = 200
    seed: shared.Seed = 0
    ledger: shared.Ledger = HOME / "ledger.sqlite"
