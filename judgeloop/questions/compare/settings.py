"""The settings of `compare`: two systems, selector and rule.

The settings that all questions share are in `settings/run_settings.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

from annotated_types import Ge, Gt, Lt

from judgeloop.catalogue import (
    REPLACED,
    default_rule,
    rule_names,
    rule_row,
    rules_of,
    selector_names,
    selector_row,
    selectors_of,
)
from judgeloop.core.protocols import Judge
from judgeloop.core.records import UNLIMITED, Draws, Groups, Population
from judgeloop.formats.tables import Source
from judgeloop.judges.catalogue import is_recorded, is_table
from judgeloop.methods.rows import RuleRow, SelectorRow
from judgeloop.papers.settings import DiffUseSettings
from judgeloop.settings import fields
from judgeloop.settings.run_settings import ContestSettings
from judgeloop.settings.setting import Gate, Parse, Role, Setting, anybody, declared, described, one_of
from judgeloop.settings.sources import harmless_judge
from judgeloop.systems.catalogue import source

QUESTION = "compare"
ASKED = "min_gap", "not_worse"  # the settings that ask about a gap
SELECTORS, RULES = selector_names(QUESTION), rule_names(QUESTION)
USUAL_LIMIT = 200  # judgments
# The settings that recorded scores are compared by, among those that change an outcome.
WITH_RECORDED = {
    "first", "second", "judge", "rule", "map", "names", "epoch", "allow_partial", "tie_margin", "risk", "by_group",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CompareSettings(DiffUseSettings, ContestSettings):
    """All settings of a comparison of two systems."""

    first: Annotated[Source | str, Parse(source)] = fields.items_setting(
        "The first system: a file of outputs (JSONL, CSV or JSON), or one that answers live.", argument="A"
    ).field()
    second: Annotated[Source | str, Parse(source)] = fields.items_setting("The second system.", argument="B").field()
    # Not required here: without a judge, the message looks for recorded scores in the files.
    judge: tuple[str | Judge, ...] = fields.JUDGES.field(())
    proxy: tuple[str | Judge, ...] = fields.judge_setting(
        "Cheap judge beside a dear one, or beside people: its verdicts save labels, and decide nothing. A useless one "
        "costs its price, and 1 to 3 % more labels. Of several a dry run says which is the better buy.",
        may_set=harmless_judge,
        many=True,
    ).field(())
    selector: Annotated[str, one_of(SELECTORS)] = fields.run_setting(
        f"{described(selectors_of(QUESTION))}.", fields.SELECTION
    ).field(SELECTORS[0])
    rule: Annotated[str, one_of(RULES, REPLACED)] = fields.run_setting(
        f"{described(rules_of(QUESTION))}. Default: {RULES[0]}; tie-aware for a selector that picks items.",
        fields.STOPPING,
    ).field(RULES[0])
    about: Annotated[str, one_of(tuple(Population))] = fields.run_setting(
        "What the decision is about: like-these (these items are a random sample of them), or items "
        f"(these alone). Default: {Population.ITEMS_LIKE_THESE} for a guaranteed rule with "
        f"selector=random; {Population.THESE_ITEMS} for the others, which prove nothing more.",
        fields.STOPPING,
    ).field(Population.ITEMS_LIKE_THESE.value)
    near_tie: Annotated[float | None, Gt(0), Lt(1)] = fields.run_setting(
        "Stop once the gap is shown to be within this of zero, too: no practical difference. Above 0 and below 1.",
        fields.STOPPING,
    ).field(None)
    family_members: Annotated[int, Ge(1)] = Setting(
        "Members of each family that are judged, where families are drawn; the mean of their verdicts counts. Takes the "
        "rule bets.",
        fields.SELECTION,
        Role.CONTENT,
        anybody,
        file_only=True,
    ).field(1)
    min_gap: fields.MinGap = None
    not_worse: Annotated[float | None, Gt(0), Lt(1)] = fields.run_setting(
        "Ask whether the second system is not worse than the first by this gap (share won less "
        "share lost). Exit code 0: it is not; 5: it is worse.",
        fields.STOPPING,
        common=True,
        example=0.1,
        gate=Gate.CONDITION,
    ).field(None)
    max_judgments: Annotated[int, Ge(1)] = fields.run_setting(
        "Judgments at most. Default: 200; not-worse: more; replay:FILE without costs: all.",
        fields.STOPPING,
        common=True,
    ).field(USUAL_LIMIT)
    by_group: Annotated[str | None, one_of(tuple(Groups))] = fields.run_setting(
        "For each group of items: which system is better there. Further judgments, beyond "
        "`max_judgments`, go to open groups. report: say it; require: exit code 5 if the second system "
        "is worse in a group.",
        fields.STOPPING,
        gate=Gate.CONDITION,
    ).field(None)
    by_criterion: bool = fields.run_setting(
        "For each criterion of the rubric (a file of criteria): which system is better by it. Further judgments, "
        "beyond `max_judgments`, go to open criteria.",
        fields.STOPPING,
        file_only=True,
    ).field(False)
    give_up: Annotated[float | None, Gt(0), Lt(1)] = fields.run_setting(
        "Stop undecided once the probability of a decision within the maximum number of judgments "
        "is below this, for example 0.1.",
        fields.STOPPING,
    ).field(None)

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """Choose a missing rule, limit and population to suit each other, the selector and the question."""
        values = super().completed(_with_limit(_all_there(values)))
        drawn_by, given = values.get("selector", SELECTORS[0]), values.get("rule")
        # A wrong name, which is refused later, is none, and suits everything.
        selector = selector_row(QUESTION, str(drawn_by)) if drawn_by in SELECTORS else None
        recorded = has_recorded(values.get("judge"))
        rule: RuleRow | None
        if given is not None:
            rule = rule_row(QUESTION, str(given)) if given in RULES else None
        elif recorded:
            rule = next(row for row in rules_of(QUESTION) if row.recorded)
        else:
            rule = None if selector is None else default_rule(selector)
        proves = (rule is None or rule.guaranteed) and (selector is None or selector.draws is Draws.EVEN)
        about = {} if recorded or proves else {"about": Population.THESE_ITEMS.value}
        return about | values | ({"rule": rule.name} if rule is not None and given is None else {})

    @property
    def limit_of(self) -> str:
        """The margin of a gate."""
        return "" if self.not_worse is None else f" for a margin of {100 * self.not_worse:g} points"

    @property
    def required(self) -> bool:
        """Whether the answer has to be one of those that the caller wants."""
        return super().required or self.by_group == Groups.REQUIRE or self.not_worse is not None

    @property
    def every_judge(self) -> tuple[str | Judge, ...]:
        """Every judge that is asked, with the proxy."""
        return (*self.judge, *self.proxy)

    @property
    def recorded(self) -> bool:
        """Whether recorded scores are compared."""
        return has_recorded(self.judge)

    @property
    def reads_whole(self) -> bool:
        """Whether verdicts that are there already are all read before anything is said."""
        return self.max_judgments >= UNLIMITED

    @property
    def rehearsing(self) -> Self:
        """The same with the usual limit: tables whose verdicts have a cost rehearse a run that asks."""
        limit = int(
            str(_with_limit({"not_worse": self.not_worse, "risk": self.risk}).get("max_judgments", USUAL_LIMIT))
        )
        return replace(self, max_judgments=limit)

    @property
    def asks_bounds(self) -> bool:
        """Whether what is asked is read off the bounds of the gap, so that no sign test answers it."""
        asked = (*(getattr(self, name) for name in ASKED), self.near_tie, self.give_up)
        return any(one is not None for one in asked) or self.about == Population.THESE_ITEMS or self.family_members > 1

    @property
    def proves(self) -> bool:
        """Whether the rule's promise holds for the draws of the selector."""
        return self.rule_row.guaranteed and self.selector_row.draws is Draws.EVEN

    @property
    def selector_row(self) -> SelectorRow:
        """The selector's row in the catalogue."""
        return selector_row(QUESTION, self.selector)

    @property
    def gap_asked(self) -> tuple[str, float] | None:
        """The setting that asks about a gap, and that gap; None without."""
        found = ((name, getattr(self, name)) for name in ASKED)
        return next(((name, gap) for name, gap in found if gap is not None and not self.recorded), None)

    @property
    def rule_row(self) -> RuleRow:
        """The rule's row in the catalogue."""
        return rule_row(QUESTION, self.rule)

    @property
    def output_files(self) -> tuple[Source | str, ...]:
        """Both systems."""
        return self.first, self.second


def _all_there(values: dict[str, object]) -> dict[str, object]:
    """Take all verdicts where they are there already, unless a limit or a rule rehearses a run that asks."""
    judges = values.get("judge")
    tables = isinstance(judges, Sequence) and bool(judges) and all(map(is_table, judges))
    rehearses = "max_judgments" in values or any(values.get(name) is not None for name in ("rule", "proxy"))
    drawn = values.get("selector", SELECTORS[0]) == SELECTORS[0]
    return values | {"max_judgments": UNLIMITED} if tables and drawn and not rehearses else values


def _with_limit(values: dict[str, object]) -> dict[str, object]:
    """Add the limit of `not_worse` if there is none: an equal system then passes in most runs."""
    usual = declared(CompareSettings)["risk"].default
    try:
        margin, risk = float(str(values["not_worse"])), float(str(values.get("risk", usual)))
    except (KeyError, ValueError):
        return values  # not asked, or refused later
    given = "max_judgments" in values or has_recorded(values.get("judge"))
    if given or not (0 < margin < 1 and 0 < risk < 1):
        return values
    from judgeloop.methods.stats.margins import usual_limit

    return values | {"max_judgments": usual_limit(margin, risk)}


def has_recorded(judges: object) -> bool:
    """Whether recorded scores are among `judges`, which may be unchecked."""
    return any(map(is_recorded, judges if isinstance(judges, Sequence) else ()))


def idle_with_recorded() -> list[str]:
    """The names of the settings that count with a judge, and would do nothing for recorded scores."""
    roles = {Role.RUN, Role.KEY, Role.CONTENT}
    count = [name for name, one in declared(CompareSettings).items() if one.setting.role in roles]
    return [name for name in count if name not in WITH_RECORDED]
