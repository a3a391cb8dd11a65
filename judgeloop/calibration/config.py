"""The settings of `calibrate`: which earlier comparisons to replay, at which risks and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Lt, MinLen

from judgeloop.run.setting import Parse, Part, Setting, listed
from judgeloop.run.settings import (
    DEFAULT_HOME,
    PAST,
    STOPPING,
    Found,
    Ledger,
    MaxJudgments,
    MinJudgments,
    Seed,
    Share,
)
from judgeloop.run.validation import Configuration


@dataclass(frozen=True, kw_only=True)
class CalibrateConfig(Configuration):
    """Everything that replaying earlier comparisons depends on."""

    history: Annotated[
        str,
        MinLen(1),
        Setting(
            "Comparisons to replay: auto (all in the ledger), RUN,RUN... of the ledger, or a FILE of "
            "verdicts.",
            PAST,
            Part.CONTENT,
            Found,
        ),
    ] = "auto"
    judge_name: Annotated[
        str | None,
        Setting(
            "Judge whose comparisons to replay, where the ledger has several, such as openai/gpt-4.1.",
            PAST,
            Part.CONTENT,
            Found,
            metavar="NAME",
        ),
    ] = None
    tie_margin: Annotated[
        float,
        Ge(0),
        Setting(
            "In a FILE of scores, those that differ by no more than this are a tie.",
            PAST,
            Part.RUN,
            Found,
        ),
    ] = 0.0
    risk: Annotated[
        tuple[Share, ...],
        Parse(listed),
        MinLen(1),
        Setting(
            "Stated risks, with commas between.", STOPPING, Part.RUN, Found, metavar="RISK,..."
        ),
    ] = (0.1, 0.2)
    min_judgments: MinJudgments = 5
    max_judgments: MaxJudgments = 200
    give_up: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        Setting(
            "Also try each rule that ends undecided where a decision is less likely than this.",
            STOPPING,
            Part.RUN,
            Found,
        ),
    ] = None
    seed: Seed = 0
    ledger: Ledger = DEFAULT_HOME / "ledger.sqlite"
