"""The settings of `select`: systems, baseline, selector and rule; and what the paper prescribes.

The settings that all questions share are in `settings/run_settings.py`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Lt

from judgeloop.catalogue import default_rule, rule_names, rule_row, rules_of, selector_names, selector_row, selectors_of
from judgeloop.core.errors import InputError, did_you_mean, some
from judgeloop.core.protocols import Judge
from judgeloop.formats.rows import stem
from judgeloop.formats.tables import Source
from judgeloop.methods.rows import RuleRow, SelectorRow
from judgeloop.papers.settings import LLMSelectorSettings
from judgeloop.settings import fields
from judgeloop.settings.run_settings import ContestSettings
from judgeloop.settings.setting import Parse, described, one_of
from judgeloop.settings.sources import harmless_judge
from judgeloop.systems.catalogue import sources

QUESTION = "select"
# Judgments with which about nine of ten races on recorded verdicts came to their end (docs/results). A rule that
# states no risk always uses them up, and has the first figure.
USUAL, MORE_EACH = 2000, 100
SELECTORS, RULES = selector_names(QUESTION), rule_names(QUESTION)

MinGap = Annotated[
    float | None,
    Gt(0),
    Lt(1),
    fields.run_setting(
        "Stop once no system is better than the named one by more than this gap (share won less share lost).",
        fields.STOPPING,
        common=True,
        example=0.05,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SelectSettings(LLMSelectorSettings, ContestSettings):
    """All settings of a search for the best of many systems."""

    outputs: Annotated[tuple[Source | str, ...], Parse(sources)] = fields.items_setting(
        "The systems: files of outputs (JSONL, CSV or JSON), or ones that answer live.", argument="OUTPUTS"
    ).field()
    baseline: str | None = fields.run_setting(
        "System that all others are compared with: its name or file. By default, race chooses one on a few items.",
        fields.SELECTION,
        metavar="NAME",
        common=True,
        example="today",
    ).field(None)
    proxy: Annotated[str | Judge | None, Parse(fields.only_proxy)] = fields.judge_setting(
        "Cheap judge beside a dear one, or beside people, on every item: its verdicts save labels, and decide nothing. "
        "With a baseline, about these items.",
        may_set=harmless_judge,
        many=True,  # as that of a comparison, which a night may have beside it
    ).field(None)
    selector: Annotated[str, one_of(SELECTORS)] = fields.run_setting(
        f"{described(selectors_of(QUESTION))}.", fields.SELECTION
    ).field(SELECTORS[0])
    rule: Annotated[str, one_of(RULES)] = fields.run_setting(
        f"{described(rules_of(QUESTION))}. Default: {RULES[0]}; fixed-budget for a selector that picks.",
        fields.STOPPING,
    ).field(RULES[0])
    # At a risk of 1 every system would be ruled out before the first query.
    risk: Annotated[float, Gt(0), Lt(1)] = fields.run_setting(
        "Stated risk at which to stop.", fields.STOPPING, common=True
    ).field(0.1)
    min_gap: MinGap = None
    min_judgments: fields.MinJudgments = 1
    max_judgments: Annotated[int, Ge(1)] = fields.run_setting(
        f"Maximum number of judgments. Default: {USUAL:,}, and at a stated risk {MORE_EACH} more for each system.",
        fields.STOPPING,
        common=True,
    ).field(USUAL)

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """Choose a missing rule to suit the selector, and a missing limit to suit rule and systems."""
        values = super().completed(values)
        selector = str(values.get("selector", SELECTORS[0]))
        if "rule" not in values and selector in SELECTORS:
            values = values | {"rule": default_rule(selector_row(QUESTION, selector)).name}
        rule, outputs = values.get("rule"), values.get("outputs")
        stated = rule in RULES and rule_row(QUESTION, str(rule)).guaranteed
        if "max_judgments" in values or not stated or not isinstance(outputs, list | tuple):
            return values
        return values | {"max_judgments": USUAL + MORE_EACH * len(outputs)}

    @property
    def limit_of(self) -> str:
        """The number of systems, at a stated risk."""
        return f" for {len(self.outputs)} systems" if self.max_judgments > USUAL else ""

    @property
    def selector_row(self) -> SelectorRow:
        """The selector's row in the catalogue."""
        return selector_row(QUESTION, self.selector)

    @property
    def rule_row(self) -> RuleRow:
        """The rule's row in the catalogue."""
        return rule_row(QUESTION, self.rule)

    @property
    def every_judge(self) -> tuple[str | Judge, ...]:
        """Every judge that is asked, with the proxy."""
        return self.judge if self.proxy is None else (*self.judge, self.proxy)

    def against(self, systems: tuple[str, ...]) -> str | None:
        """The baseline's name; None if it is not given.

        Raises:
            InputError: the baseline is not among the systems, or two of them have a file of this name.
        """
        if self.baseline is None or self.baseline in systems:
            return self.baseline
        files = [Path(str(one)) for one in self.outputs]
        for names in (files, [file.name for file in files], [stem(file) for file in files]):
            found = [
                system for name, system in zip(names, systems, strict=False) if str(name) == str(Path(self.baseline))
            ]
            if len(found) == 1:
                return found[0]
            if found:
                raise InputError(
                    f"`baseline={self.baseline}`: {some(found)} are in files of this name; give one of these "
                    "names, or the path of a file"
                )
        raise InputError(
            f"`baseline`: expected one of {some(systems)}, or its file, found {self.baseline!r}"
            f"{did_you_mean(stem(Path(self.baseline)), systems)}; its outputs have to be among those given"
        )

    @property
    def output_files(self) -> tuple[Source | str, ...]:
        """All systems."""
        return self.outputs

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The pairs that can be compared: each other system with the baseline, if it is given.

        Raises:
            InputError: the baseline is not among the systems.
        """
        against = self.against(systems)
        return [(name, other) for other in ([against] if against else systems) for name in systems if name != other]
