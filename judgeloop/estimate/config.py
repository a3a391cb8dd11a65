"""The settings of `estimate`: which system, how its items are drawn, and how precise is enough."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt, MinLen

from judgeloop.engine.panel import Vote
from judgeloop.engine.presentation import Order
from judgeloop.run.setting import Parse, Part, Setting, Source, described, one_of, unless_auto
from judgeloop.run.settings import (
    ITEMS,
    JUDGE,
    SELECTION,
    STOPPING,
    CallerOnly,
    Found,
    Layer,
    MinJudgments,
    RepresentOne,
    RunSettings,
)
from judgeloop.selectors.catalogue import Need, SelectorRow, names_of, selector_row, selectors_of
from judgeloop.stats.names import ALLOCATIONS, INTERVALS

QUESTION = "estimate"
SELECTORS = names_of(QUESTION)
FIRST_LOOK = 20  # judgments after which an interval is first looked at
CONFIDENCE_FIELD = "logprobs"
CONFIDENCES = ("geometric-mean", "first-token")
BY_CONFIDENCE, BY_HISTORY = "confidence", "history"  # as a proxy


@dataclass(frozen=True, kw_only=True)
class EstimateConfig(RunSettings):
    """Everything that an estimate of one system's mean score depends on."""

    outputs: Annotated[
        Path,
        Setting(
            "Outputs of one system: JSONL, CSV or JSON.",
            ITEMS,
            Part.CONTENT,
            CallerOnly,
            argument="OUTPUTS",
        ),
    ]
    proxy: Annotated[
        str | None,
        Setting(
            "A cheap judge of every item, confidence, or history (other systems' ratings): it narrows "
            "the interval.",
            JUDGE,
            Part.KEY,
            Found,
        ),
    ] = None
    history: Annotated[
        str,
        MinLen(1),
        Setting(
            "For the proxy history: auto (the ledger's ratings by this judge), none, RUN,RUN... of the "
            "ledger, or a FILE of scores.",
            JUDGE,
            Part.CONTENT,
            Found,
        ),
    ] = "auto"
    selector: Annotated[
        str,
        one_of(SELECTORS),
        Setting(f"{described(selectors_of(QUESTION))}.", SELECTION, Part.RUN, Found),
    ] = SELECTORS[0]
    represent: Annotated[
        RepresentOne,
        Setting(
            "lexical, minilm, minilm:FOLDER, or hidden:MODEL, a causal language model's hidden states.",
            SELECTION,
            Part.RUN,
            Found,
        ),
    ] = "lexical"
    layer: Annotated[
        Layer | None,
        Setting(
            "Layer of the hidden states: middle, last, auto or a number. Default: middle; the papers of "
            "cross-entropy and mmd-critic prescribe the last.",
            SELECTION,
            Part.RUN,
            Found,
        ),
    ] = None
    clusters: Annotated[
        int | None,
        Parse(unless_auto),
        Ge(1),
        Setting("Number of strata, or auto.", SELECTION, Part.RUN, Found),
    ] = None
    allocation: Annotated[
        str,
        one_of(ALLOCATIONS),
        Setting("Judgments among strata: mc-ucb or proportional.", SELECTION, Part.RUN, Found),
    ] = ALLOCATIONS[0]
    confidence: Annotated[
        str,
        MinLen(1),
        Setting("Field of OUTPUTS with the system's confidence.", SELECTION, Part.CONTENT, Found),
    ] = CONFIDENCE_FIELD
    confidence_by: Annotated[
        str,
        one_of(CONFIDENCES),
        Setting(
            "Confidence from log-probabilities of tokens: geometric-mean or first-token.",
            SELECTION,
            Part.RUN,
            Found,
        ),
    ] = CONFIDENCES[0]
    half_width: Annotated[
        float | None,
        Gt(0),
        Lt(0.5),
        Setting(
            "End once the interval reaches no farther from the score.", STOPPING, Part.RUN, Found
        ),
    ] = None
    interval: Annotated[
        str,
        one_of(INTERVALS),
        Setting(
            "approximate (for one look) or anytime (for any number of looks).",
            STOPPING,
            Part.RUN,
            Found,
        ),
    ] = INTERVALS[0]
    require_score: Annotated[
        float | None,
        Ge(0),
        Le(1),
        Setting(
            "Exit with 0 if the interval lies above this score, with 5 if below.",
            STOPPING,
            Part.REPORT,
            Found,
        ),
    ] = None
    risk: Annotated[
        float,
        Gt(0),
        Lt(1),
        Setting("Stated risk that the interval misses.", STOPPING, Part.RUN, Found),
    ] = 0.1
    min_judgments: MinJudgments = FIRST_LOOK
    # One output has no order, its scores no majority, and one system nobody to win against.
    order: Annotated[Order, Setting("", JUDGE, Part.RUN, Source.CALLER, flag=False)] = Order.FIXED
    vote: Annotated[Vote, Setting("", JUDGE, Part.RUN, Source.CALLER, flag=False)] = Vote.MEAN
    require_winner: Annotated[
        str | None, Setting("", STOPPING, Part.REPORT, Source.CALLER, flag=False)
    ] = None

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """The layer by the selector; and a first look at the end at the latest, unless one is given."""
        name, most = str(values.get("selector", SELECTORS[0])), str(values.get("max_judgments", ""))
        if values.get("layer") is None and name in SELECTORS:
            values = values | {"layer": default_layer(selector_row(QUESTION, name))}
        if "min_judgments" not in values and most.isdecimal() and 0 < int(most) < FIRST_LOOK:
            return values | {"min_judgments": int(most)}
        return values

    @property
    def selector_row(self) -> SelectorRow:
        """The selector's row in the catalogue."""
        return selector_row(QUESTION, self.selector)

    @property
    def rates(self) -> bool:
        """Always."""
        return True

    @property
    def output_files(self) -> tuple[Path, ...]:
        """The outputs of the one system."""
        return (self.outputs,)

    @property
    def proxy_judge(self) -> str | None:
        """The judge that rates every item, as typed; None where the proxy is none."""
        return None if self.proxy in {BY_CONFIDENCE, BY_HISTORY} else self.proxy

    @property
    def specs(self) -> tuple[str, ...]:
        """Every judge that is asked, and the one that is asked about everything."""
        return self.judge if self.proxy_judge is None else (*self.judge, self.proxy_judge)

    @property
    def looks_at_confidence(self) -> bool:
        """Whether selector or proxy look at the system's own confidence."""
        return Need.CONFIDENCE in self.selector_row.needs or self.proxy == BY_CONFIDENCE

    def files_read(self) -> list[Path]:
        """Every file that the run reads, and its ledger."""
        history = Path(self.history)
        return [*super().files_read(), *([history] if history.is_file() else [])]

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The one alone."""
        return [systems]


def default_layer(row: SelectorRow) -> str:
    """The layer that a selector looks at unless told otherwise: its paper's, else the middle."""
    return "last" if Need.LAST_STATES in row.needs else "middle"
