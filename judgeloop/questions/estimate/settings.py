"""The settings of `estimate`: system, selector and interval; and what the paper prescribes.

The settings that all questions share are in `settings/run_settings.py`.
"""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from judgeloop.catalogue import selector_names, selector_row, selectors_of
from judgeloop.core.protocols import Judge
from judgeloop.formats.tables import Source
from judgeloop.methods.rows import INTERVALS, SelectorRow
from judgeloop.papers.settings import AcTracerSettings, default_layer
from judgeloop.settings import fields
from judgeloop.settings.run_settings import RunSettings
from judgeloop.settings.setting import Gate, Parse, described, one_of
from judgeloop.settings.sources import harmless_judge
from judgeloop.systems.catalogue import source

QUESTION = "estimate"
SELECTORS = selector_names(QUESTION)
FIRST_LOOK = 20  # judgments before the interval is first computed
BY_CONFIDENCE = "confidence"  # a proxy that is no judge


@dataclass(frozen=True, kw_only=True)
class EstimateSettings(AcTracerSettings, RunSettings):
    """All settings of an estimate of one system's mean score."""

    outputs: Annotated[Source | str, Parse(source)] = fields.items_setting(
        "One system: a file of outputs (JSONL, CSV or JSON), or one that answers live.", argument="OUTPUTS"
    ).field()
    proxy: Annotated[str | Judge | None, Parse(fields.only_proxy)] = fields.judge_setting(
        "Cheap guess at every item's score, to narrow the interval: a judge, or confidence.",
        may_set=harmless_judge,
        many=True,  # as that of a comparison, which a night may have beside it
    ).field(None)
    selector: Annotated[str, one_of(SELECTORS)] = fields.run_setting(
        f"{described(selectors_of(QUESTION))}.", fields.SELECTION
    ).field(SELECTORS[0])
    half_width: Annotated[float | None, Gt(0), Lt(0.5)] = fields.run_setting(
        "Stop once the interval reaches at most this far from the score. Above 0 and below 0.5.",
        fields.STOPPING,
        common=True,
        example=0.05,
    ).field(None)
    interval: Annotated[str, one_of(tuple(INTERVALS))] = fields.run_setting(
        "Looks for which the interval holds: once, at the end, or anytime. With a half-width: anytime.", fields.STOPPING
    ).field(next(iter(INTERVALS)))
    require_score: Annotated[float | None, Ge(0), Le(1)] = fields.report_setting(
        "Exit code 0 if the interval lies above this score, 5 if it lies below.", fields.STOPPING, gate=Gate.CONDITION
    ).field(None)
    risk: fields.Share = fields.run_setting(
        "Stated risk that the interval misses the mean.", fields.STOPPING, common=True
    ).field(0.1)
    min_judgments: fields.MinJudgments = FIRST_LOOK

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """Fill in a missing layer by the selector."""
        values = super().completed(values)
        name = str(values.get("selector", SELECTORS[0]))
        if values.get("layer") is None and name in SELECTORS:
            values = values | {"layer": default_layer(name)}
        return values

    @property
    def selector_row(self) -> SelectorRow:
        """The selector's row in the catalogue."""
        return selector_row(QUESTION, self.selector)

    @property
    def usual_layer(self) -> str:
        """The layer without a setting: the one that the selector's paper prescribes, else the middle."""
        return default_layer(self.selector)

    @property
    def output_files(self) -> tuple[Source | str, ...]:
        """The system."""
        return (self.outputs,)

    @property
    def is_gate(self) -> bool:
        """Whether the verdicts of a judge have to be those of one model."""
        return self.require_score is not None or super().is_gate

    @property
    def proxy_judge(self) -> str | Judge | None:
        """The judge that rates every item; None if the proxy is not a judge."""
        return None if self.proxy == BY_CONFIDENCE else self.proxy

    @property
    def every_judge(self) -> tuple[str | Judge, ...]:
        """Every judge that is asked, with the proxy if it is a judge."""
        return self.judge if self.proxy_judge is None else (*self.judge, self.proxy_judge)

    @property
    def looks_at_confidence(self) -> bool:
        """Whether the selector or the proxy uses the system's confidence."""
        return "confidence" in self.selector_row.takes or self.proxy == BY_CONFIDENCE
