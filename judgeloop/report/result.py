"""The result of a run, which all questions share: the decision, and the parts that it rests on.

A question's own `result.py` adds its figures, and `page.py` makes facts of them. A result shows itself
to a program: as text, in a notebook, as values and as a data frame.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from judgeloop.core.errors import InputError
from judgeloop.core.jsonable import Part, Say, Sentence, plain
from judgeloop.core.money import budget_over, to_pico, to_usd
from judgeloop.core.outcomes import BREAKS, LAST_FAILED, Condition, Control, Outcome, StopKind, StopReason, outcome_of
from judgeloop.core.records import IDENTICAL, PAIR, Population, Shown
from judgeloop.core.spend import Spend
from judgeloop.methods.stats.controls import MOST
from judgeloop.report.cut_short import CUT_SHORT, to_go_on
from judgeloop.report.forms import render_latex, render_markdown
from judgeloop.report.html import render_html, render_notebook
from judgeloop.report.labels import LabelRow, Texts, frame_of, render_csv
from judgeloop.report.notes import DOUBTED, LIMITS_THE_RISK, Note, NoteCode, note
from judgeloop.report.page import NO_PAGE, WARNINGS, Page
from judgeloop.report.people import ByPeople
from judgeloop.report.pictures import Curve
from judgeloop.report.records import AskedBefore, Counts, DataNotes, Setup, changes
from judgeloop.report.svg import Drawing
from judgeloop.report.terminal import render
from judgeloop.report.words import as_python, count, looking_into, moves, visible

SCHEMA_VERSION = 1
ID = 8  # digits of a run's id that name it in a sentence
FLIPS = "flips"  # the name of the condition on verdicts that change with the order
MOST_FLIPS = 0.8  # the highest limit of flips that is advised
TOO_OFTEN = 0.5  # the chance of a wrong answer from which on a set of items is used up
UNBOUGHT = {NoteCode.FEWER_SKIPS, NoteCode.OUT_OF_REACH, NoteCode.STEADIER_JUDGE}  # beside which no budget is named
UNFORESEEN = {
    NoteCode.LEVEL,
    NoteCode.OUT_OF_REACH,
    NoteCode.WITHIN_REACH,
}  # no number of judgments is forecast to decide
ENOUGH_TO_PRICE = 5  # verdicts whose mean cost says what all would cost
SPARE = 1.05  # of a sum that is advised: at the mean cost so far, half of the runs would end a little short
FEWEST_TIES = 10  # so many ties or equal scores, and nothing else, are worth a warning
FEW_ITEMS = 50  # under so many, another set may well turn out differently
FEW = {Population.THESE_ITEMS: NoteCode.FEW_ITEMS, Population.ITEMS_LIKE_THESE: NoteCode.FEW_ITEMS_LIKE_THESE}


@dataclass(frozen=True, slots=True, repr=False)
class RunResult(Part):
    """The result of a run.

    - `schema_version`: the version of this form; it grows when a field changes
    - `job`: the question: compare, select, estimate or agree
    - `headline`: the decision in words
    - `winner`: null if undecided
    - `leader`: the system that would be named now; null if several are level, or nothing is proved
    - `risk`: the stated risk of naming the leader; null if no risk is stated
    - `stop_reason`: why the run stopped, as a name
    - `stop_sentence`: why the run stopped, in words
    - `more_judgments`: a forecast of the further judgments until a decision; null without one
    - `advice`: what would bring a decision: codes, sentences and values
    - `warnings`: what to be careful of: codes, sentences and values
    - `conditions`: what must hold: the answer first, then what is required of judge, cost, groups and warnings; each
      with its own outcome
    - `asked_before`: how often these outputs met before on these items by these judges, whatever was asked, at which
      risks, and what the ledger holds beyond this run where it points the other way
    - `measured`: how well the judge agreed with people on these items, by an earlier run of `agree`; empty without one
    - `by_people`: what people gave to the run: answers, time and dollars, and how well they agree; null if none judged
    - `risk_in_all`: the sum of these risks and of this run's: the most that the chance of any wrong answer is, if no
      setting was chosen by a look at the verdicts; null where nothing was asked before
    - `outcome`: how the run stands to all that was asked: the worst of the conditions

    The parts `setup`, `options` (settings of this question only), `data`, `counts` and `spend` have
    docstrings of their own. `page` is the result as text, `ledger` the flag that its commands need after a
    call in Python, `course` holds the lines of the evidence as it grew, `halt` says why no more was asked (after
    an answer, what cut further tests off), and `texts` holds prompts and outputs after a call in Python; none of
    them is in the JSON.
    """

    job: ClassVar[str]

    HIDDEN = frozenset({"setup", "options", "data", "counts", "spend", "labels"})
    HIDDEN |= {"page", "texts", "course", "halt", "ledger"}
    COMPUTED: ClassVar[tuple[str, ...]] = (
        "more_usd",
        "ahead_usd",
        "generating_usd",
        "judging_usd",
        "usd_of_all",
        "risk_in_all",
        "exit_code",
    )
    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()  # what has no meaning for this question

    setup: Setup
    options: Part
    data: DataNotes
    counts: Counts
    spend: Spend
    labels: tuple[LabelRow, ...]
    winner: str | None
    leader: str | None
    risk: float | None
    stop_reason: StopKind
    stop_sentence: Sentence
    more_judgments: int | None
    page: Page = field(default=NO_PAGE, kw_only=True, compare=False, repr=False)
    texts: Texts | None = field(default=None, kw_only=True, compare=False, repr=False)
    course: tuple[Curve, ...] = field(default=(), kw_only=True, compare=False, repr=False)
    ledger: str = field(default="", kw_only=True, compare=False, repr=False)
    asked_before: AskedBefore = field(default_factory=AskedBefore, kw_only=True)
    measured: Sentence = field(default="", kw_only=True)
    by_people: ByPeople | None = field(default=None, kw_only=True)
    halt: StopReason = field(init=False, repr=False)
    conditions: tuple[Condition, ...] = field(init=False, repr=False)
    outcome: Outcome = field(init=False)

    def __post_init__(self) -> None:
        """Compute once how the run stands to what was asked."""
        object.__setattr__(self, "halt", self.halted())
        answer = Condition(
            self.test_name, self.stands(), self.requirement, (self.found or "no answer") if self.requirement else ""
        )
        object.__setattr__(self, "conditions", (answer,))  # which those beside it look at
        beside = [*self.beside()]
        if answer.outcome is Outcome.BROKEN:  # then nothing passes
            beside = [one for one in beside if one.outcome.exit_code]
        if self.setup.fail_on_warning and not answer.outcome.exit_code:
            stands = Outcome.FAILED if self.warnings else Outcome.PASSED
            verb = "are" if len(self.warnings) > 1 else "is"
            warned = f"there {verb} {count(len(self.warnings), 'warning')}, and warnings fail here"
            found = warned if self.warnings else "there is no warning"
            beside.append(Condition(WARNINGS, stands, found, requires="there must be no warning"))
        object.__setattr__(self, "conditions", (answer, *beside))
        object.__setattr__(self, "outcome", Outcome.worst(one.outcome for one in self.conditions))

    @property
    def judged(self) -> int:
        """Number of verdicts."""
        return self.counts.judged

    @property
    def judged_items(self) -> int:
        """Number of items with a verdict, in the decision or beside it."""
        return self.judged + self.counts.further

    @property
    def by_hand(self) -> bool:
        """Whether people were asked when the run ended."""
        return self.setup.by_hand

    @property
    def asked(self) -> int:
        """Number of queries."""
        return self.counts.asked

    @property
    def items(self) -> int:
        """Number of items in the set."""
        return self.data.items

    @property
    def drawable(self) -> int:
        """Number of items that may be judged: all, of a family that is drawn so many as are judged, of a block one."""
        return (self.data.drawn or self.items) // self.per_label

    @property
    def per_label(self) -> int:
        """Number of items that a label takes: more than one where a proxy has fresh ones beside each."""
        return 1

    @property
    def about(self) -> Population:
        """The items that the decision is about."""
        return self.setup.about

    @property
    def spent_usd(self) -> float | None:
        """What this call or command has paid, in dollars; None if a price is unknown."""
        return self.spend.spent_usd

    @property
    def run_spent_usd(self) -> float | None:
        """What the run has paid since it began, in dollars; None if a price is unknown."""
        return self.spend.run_spent_usd

    @property
    def more_usd(self) -> float | None:
        """The probable cost of `more_judgments`, at this run's mean cost."""
        return None if self.more_judgments is None else self._cost_of(self.more_judgments)

    @property
    def ahead_usd(self) -> float | None:
        """The probable cost of the answers that were not needed, at this run's mean cost."""
        return self._cost_of(self.counts.ahead) if self.counts.ahead else 0.0

    @property
    def waits(self) -> str:
        """Why each round of calls waited for all answers to the one before; empty where calls went on meanwhile."""
        return ""

    @property
    def generating_usd(self) -> float | None:
        """The part of `spent_usd` for outputs of systems that answer live; null if a price is unknown."""
        unknown = any(one.usd is None for one in self.counts.generated)
        return None if unknown else float(to_usd(self.spend.outputs_p))

    @property
    def judging_usd(self) -> float | None:
        """The part of `spent_usd` for judging; null if a price is unknown."""
        if self.spent_usd is None or self.generating_usd is None:
            return None
        return float(to_usd(self.spend.now_p - self.spend.outputs_p))

    @property
    def judged_in_words(self) -> str:
        """How many items have a verdict, to stand before of how many; of many systems an item has several."""
        return f"{self.judged:,}"

    @property
    def also_judged(self) -> str:
        """The judgments beside those in the decision, to stand after these; empty for none."""
        return f", {self.counts.further:,} more for groups" if self.counts.further else ""

    @property
    def queries_in_all(self) -> int:
        """Number of queries that would judge everything."""
        return self.drawable

    @property
    def limit(self) -> int:
        """The most judgments that the run could make: `max_judgments`, or all if these are fewer."""
        return min(self.queries_in_all, self.setup.max_judgments or self.queries_in_all)

    @property
    def usd_of_all(self) -> float | None:
        """The probable cost of judging all, with controls, proxy and second readings, no outputs; null if not known.

        Calls cost what they did in the mean.
        """
        if self.by_hand and not self.spend.run_p:  # people who are not paid, whatever they cost another run
            return None
        spend, known = self.spend, len(self.verdicts)
        if not self.counts.generated:
            usd = self._cost_of(self.queries_in_all) if known >= ENOUGH_TO_PRICE else None
            beside_p = spend.proxy_p + spend.controls_p
            if self.setup.by_hand:
                beside_p = spend.answers_p - spend.people_p
            if self.per_label > 1 and known:  # else the proxy has rated all
                beside_p = round(beside_p * self.queries_in_all / known)
            return None if usd is None else usd + float(to_usd(beside_p))
        if self.judging_usd is None or self.spend.remembered or not known:
            return None
        once = float(to_usd(spend.controls_p))
        return (self.judging_usd - once) / known * self.queries_in_all + once

    @property
    def risk_in_all(self) -> float | None:
        """The most that the chance of any wrong answer is, over all that was asked about these outputs."""
        before = self.asked_before.risks
        own = self.setup.risk_threshold if self.setup.guarantee else 1.0
        return min(1.0, round(math.fsum([*before, own]), 10)) if before else None

    @property
    def others_before(self) -> tuple[str, int]:
        """The baseline, and how often it was compared with others than these outputs before."""
        return "", 0

    @property
    def wrong_in_all(self) -> float:
        """At most so many wrong answers are expected of all that was asked before and of this run."""
        return math.fsum([*self.asked_before.risks, self.setup.risk_threshold if self.setup.guarantee else 1.0])

    @property
    def decided_and_tied(self) -> tuple[int, int]:
        """How many verdicts of judges on two systems preferred one, and how many were ties; else (0, 0).

        Of identical outputs no judge said that they are a tie.
        """
        seen = [row for row in self.verdicts if row.reason != IDENTICAL] if len(self.setup.systems) == PAIR else []
        decided = sum(row.winner is not None for row in seen)
        return decided, len(seen) - decided

    @property
    def few(self) -> NoteCode:
        """The warning of few items."""
        return FEW[self.about]

    @property
    def whole(self) -> bool:
        """Whether nothing is left to chance: all that the decision is about is judged."""
        return self.stop_reason is StopKind.ALL_JUDGED

    @property
    def failed_groups(self) -> tuple[str, ...]:
        """The groups that must not be lost, and are."""
        return ()

    def favoured(self, label: LabelRow) -> str:
        """The system from whose side a verdict is a win or a loss."""
        return label.system

    def people_said(self, label: LabelRow) -> float | None:
        """The score of an item by people where the judge is put beside them; None elsewhere."""
        del label
        return None

    def lost(self, label: LabelRow) -> bool:
        """Whether the candidate lost: the system that is not the baseline."""
        return label.winner is not None and label.winner == label.against

    def shows(self, label: LabelRow) -> bool:
        """Whether a report may show the texts of a judged item."""
        shown = self.texts.shown if self.texts else Shown.NONE
        return shown is Shown.ALL or (shown is Shown.LOST and self.lost(label))

    def usd_for(self, judgments: int) -> float | None:
        """What so many judgments cost, at this run's mean cost; None if that is not known."""
        return self._cost_of(judgments)

    def _cost_of(self, judgments: int) -> float | None:
        spend = self.spend
        people_p = spend.people_p / max(1, spend.people) * self._answers_of_people(judgments)
        if self.setup.by_hand:  # all else is a proxy's
            return float(to_usd(round(people_p))) if spend.people and spend.known else None
        paid, replies_p = spend.answers - spend.people, spend.answers_p - spend.people_p
        aside = spend.controls + spend.proxy
        if paid > aside:  # the texts of controls are others
            paid, replies_p = paid - aside, replies_p - spend.controls_p - spend.proxy_p
        if self.counts.generated:  # remembered outputs are not among the answers
            paid, replies_p = spend.paid_attempts, spend.charged_p - spend.unconfirmed_p
        if not paid or not spend.known:
            return None
        outputs = judgments * len(self.counts.generated)  # one of each live system
        return float(to_usd(round((self._calls(judgments) + outputs) * replies_p / paid + people_p)))

    def _answers_of_people(self, judgments: int) -> float:
        """How many answers of people so many judgments take, at the shares of identical outputs and second readings."""
        known, again = self.verdicts, self.by_people.asked_again if self.by_people else 0
        read = sum(row.reason != IDENTICAL for row in known)
        each = len(self.setup.judges) if self.setup.by_hand else 1
        return judgments * (each * read + again) / max(1, len(known))

    def _calls(self, judgments: int) -> float:
        """How many calls so many judgments take, at the shares of identical outputs and of both orders so far."""
        most, judges = self.setup.calls_per_item, len(self.setup.judges)
        known = self.verdicts
        if not known:
            return most * judgments
        each = judgments / len(known)
        asked, both = sum(row.reason != IDENTICAL for row in known), each * self.counts.both_in_all
        return judges * asked * each + (most - judges) * both

    @property
    def verdicts(self) -> list[LabelRow]:
        """All verdicts, also those beside the decision."""
        return [row for row in self.labels if row.score is not None]

    @property
    def identical(self) -> int:
        """How many ties of the decision are of identical outputs, about which no judge was asked."""
        return sum(row.reason == IDENTICAL and row.in_decision for row in self.labels)

    @property
    def alike(self) -> bool:
        """Whether all outputs that were drawn are identical, so that nothing was compared."""
        return 0 < self.judged == self.identical and not self.counts.abstentions

    @property
    def answer(self) -> Outcome:
        """How the answer itself stands to what was asked, whatever else must hold."""
        return self.conditions[0].outcome

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return self.outcome.exit_code

    def stands(self) -> Outcome:
        """How the answer stands to what was asked."""
        return outcome_of(self.stop_reason, self.winner, self.setup.required_winner, lost=self.lost_to_failures)

    def beside(self) -> Iterable[Condition]:
        """What must hold beside the answer, but for warnings."""
        return ()

    def halted(self) -> StopReason:
        """Why no more was asked."""
        return StopReason(self.stop_reason, self.stop_sentence)

    @property
    def requirement(self) -> str:
        """What is required of the answer, in words; empty if nothing is."""
        return f"{self.setup.required_winner} must win" if self.setup.required_winner else ""

    @property
    def found(self) -> str:
        """The figures behind how the answer stands to what is required; empty without any."""
        return ""

    @property
    def named(self) -> str | None:
        """The system that is shown to be the better or best, also where another answer was asked for."""
        return self.winner

    @property
    def test_name(self) -> str:
        """What is asked, as the name of a test that passes if the answer does."""
        return " or ".join(self.setup.systems)

    @property
    def lost_to_failures(self) -> bool:
        """Whether this command got no reply in its time, or most of a used up budget is held for failed attempts."""
        spend = self.spend
        if self.halt.kind is StopKind.DEADLINE:
            return LAST_FAILED in self.halt.sentence and not spend.replies
        return self.halt.kind is StopKind.BUDGET and 2 * spend.unconfirmed_p > spend.run_p

    @property
    def wanted(self) -> int | None:
        """A forecast of the further judgments until all is answered; None without one."""
        return self.more_judgments

    @property
    def advice(self) -> tuple[Note, ...]:
        """What would bring a decision, or a stronger one."""
        stop, cut = self.halt.kind, self.halt.kind is not self.stop_reason
        # Of all conditions beside the answer only this one breaks a run that was not cut short.
        if any(one.name == FLIPS and one.outcome is Outcome.BROKEN for one in self.conditions[1:]):
            flips, both = self.counts.flips_in_all, self.counts.both_in_all
            share = math.ceil(10 * flips / both) / 10 if both else 1.0  # a judge of places is no matter of a limit
            alone = sum(bool(one.outcome.exit_code) for one in self.conditions[1:]) == 1
            more = (note(NoteCode.MORE_FLIPS, share=share),) if share <= MOST_FLIPS and alone else ()
            return (*self._one_output, note(NoteCode.STEADIER_JUDGE), *more)
        turned = any(one.outcome is Outcome.FAILED for one in self.conditions[1:])  # by no further judgment
        if turned or (self.answer.answered and not cut):
            return self.to_claim_more()
        if self.lost_to_failures:
            held = self._held_by_failures() if stop is StopKind.BUDGET else (note(NoteCode.FIX),)
            return (*held, note(NoteCode.THEN_RESUME))
        if stop in CUT_SHORT:
            left_p, failed_p = self.spend.left_p, self.spend.unconfirmed_p
            starves = stop in BREAKS and left_p is not None and left_p < failed_p  # so may the next attempt
            judged, by_hand = len(self.verdicts), self.by_hand
            first = to_go_on(stop, self.setup, self.counts, self.spend, judged=judged, by_hand=by_hand)
            then = (note(NoteCode.THEN_RESUME),) if first.code is NoteCode.FIX else ()
            return (first, *(self._held_by_failures() if starves else ()), *then)
        found = () if cut else self.to_decide()
        if any(one.code is NoteCode.MANY_FLIPS for one in self.counts.warnings):
            found = (*self._one_output, note(NoteCode.STEADIER_JUDGE))
        if self.spend.rehearsed_p and stop in {StopKind.BUDGET, StopKind.JUDGMENT_LIMIT}:
            every = note(NoteCode.RECORDED_COSTS, every=self.queries_in_all)
            if not self.setup.night and any(one.code in UNFORESEEN for one in found):
                return (every,)
            found = (*found, every)
        unbought = any(one.code in UNBOUGHT for one in found)
        budget = [] if unbought else [one for one in self._budget_enough() if one not in found]
        # Whether it is worth the money comes before what it takes.
        worth = [one for one in found if one.code is NoteCode.WITHIN_REACH]
        return (*worth, *budget, *(one for one in found if one not in worth))

    @property
    def _one_output(self) -> tuple[Note, ...]:
        """That the outputs of a system are to be looked at first, as all are the same, or have no text."""
        found = {**self.data.empty, **self.data.repeated}
        return tuple(note(NoteCode.ONE_OUTPUT, system=name) for name, number in found.items() if number >= self.items)

    def _held_by_failures(self) -> tuple[Note, ...]:
        """How to free what is held for calls that failed, and which budget makes up for it."""
        spend, most_usd = self.spend, self.setup.most_usd
        held = note(NoteCode.HELD_BY_FAILURES, held=float(to_usd(spend.unconfirmed_p)), run=self.setup.run[:ID])
        if self.setup.night:
            return (held, *self._budget_enough())
        enough = float(budget_over((spend.budget_p or 0) + spend.unconfirmed_p))
        helps = not spend.ledger_is_short and (most_usd is None or enough <= most_usd)
        return (held, note(NoteCode.MAKE_UP, budget=enough)) if helps else (held,)

    def to_decide(self) -> tuple[Note, ...]:
        """What would decide, after an end that did not cut the run short."""
        return ()

    def to_claim_more(self) -> tuple[Note, ...]:
        """What would bring a stronger claim than the decision."""
        return ()

    def _budget_enough(self) -> tuple[Note, ...]:
        """A budget that is probably enough for what is `wanted`; of a night, that its own is short.

        Without a forecast it covers the rest of the limit: no decision is forecast, and one may come all the same. All
        take the mean cost so far, and the controls that are left, too; the last is held at what the budget did not
        cover. None above the most that a budget may be. A dry run says more where no cost is known.
        """
        spend = self.spend
        controls = sum(MOST - one.asked for one in self.counts.controls if one and one.end is None)
        if self.halt.kind is StopKind.BUDGET and spend.ledger_is_short:
            return (note(NoteCode.LEDGER_SHORT),)
        if self.halt.kind is not StopKind.BUDGET or not spend.next_p:
            return ()
        if night := self.setup.night:  # its budget is shared, and this run's is a part of it
            return (note(NoteCode.RAISE_NIGHT, night=night),)
        if not self.judged or not (usd := self.usd_for(1)):
            return (self.nothing_judged,)
        each_p, rest = to_pico(str(usd)), max(1, self.limit - self.asked)
        more = min(self.wanted or rest, rest)
        base_p = spend.charged_p + controls * each_p + spend.next_p - each_p
        if (most_usd := self.setup.most_usd) is not None:
            more = min(more, (to_pico(str(most_usd)) - base_p) // each_p)
        enough = float(budget_over(base_p + round(SPARE * more * each_p)))
        enough = enough if most_usd is None else min(enough, most_usd)
        paid_for = NoteCode.PAYS_TO_LIMIT if more == rest else NoteCode.PAYS_FOR
        code = NoteCode.RAISE_BUDGET if more == self.wanted else paid_for
        return (note(code, budget=enough, judgments=more),) if more > 0 else ()

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What to be careful of: few items, flipped verdicts, a doubtful judge, data or bill."""
        many = (
            self.data.families or self.items
        ) >= FEW_ITEMS or not self.answer.answered  # nothing else is claimed then
        few = [] if many else [note(self.few, items=self.items)]
        if few and self.data.families:
            code = NoteCode.FEW_PROMPTS if self.data.by_prompt else NoteCode.FEW_FAMILIES
            few = [note(code, families=self.data.families, items=self.items)]
        parts = (self.data, self.counts, self.setup)
        often, risks = self.risk_in_all is not None and self.risk_in_all >= TOO_OFTEN, self.asked_before.risks
        why = "" if self.setup.guarantee and max(risks, default=0) < 1 else ", as one without a proof counts as 1"
        asked = (
            [note(NoteCode.ASKED_OFTEN, risk=self.risk_in_all, times=len(risks), runs=len(risks) + 1, why=why)]
            if often
            else []
        )
        of_parts = (one for part in parts for one in part.warnings)
        # Few lines show the first alone: without what limits the risk, a stated risk is not true.
        rest = sorted(of_parts, key=lambda one: one.code not in LIMITS_THE_RISK)
        found = [*self._replaced(), *self.doubts(), *asked, *few, *rest]
        found += [
            note(NoteCode.JUDGE_CHANGED, judge=judge, models=len(models), said=changes(models))
            for judge, models in zip(self.setup.judges, self.counts.answered_by, strict=False)
            if len(models) > 1
        ]
        found += [
            note(NoteCode.NAME_MOVES, judge=judge, model=models[-1])
            for judge, models in zip(self.setup.judges, self.counts.judge_models, strict=False)
            if moves(judge) and models and not judge.endswith(models[-1])
        ]
        if not self.setup.controlled:
            code = NoteCode.CONTROLS_NOT_PASSED if self.setup.advised else NoteCode.CONTROLS_BEFORE
            found += [
                note(code, judge=judge, right=one.right, tied=one.tied, asked=one.asked, level=one.level)
                for judge, one in zip(self.setup.judges, self.counts.controls, strict=False)
                if one and one.end in {Control.FAILED, Control.NOT_SHOWN}
            ]
        found += [
            note(NoteCode.CHECKS_FAILED, person=one.name, wrong=one.wrong, asked=one.asked)
            for one in (self.by_people.checks if self.by_people else ())
            if one.asked_no_more
        ]
        if self.spend.replies_without_usage:
            replies = self.spend.replies_without_usage
            found.append(note(NoteCode.USAGE_NOT_BELIEVED, replies=replies))
        if self._one_output:  # which is why
            found.sort(key=lambda one: one.code is NoteCode.ALL_TIES)
        return tuple(found)

    @property
    def doubtful(self) -> bool:
        """Whether a pass or a decision may say little, by a warning."""
        return any(one.code in DOUBTED for one in self.warnings)

    @property
    def nothing_judged(self) -> Note:
        """What to do where no verdict counts: none was given, or those are of a model that answers no more."""
        counts = self.counts
        for judge, models, controls in zip(self.setup.judges, counts.judge_models, counts.controls, strict=False):
            model = controls.model if controls else ""
            if model and (before := [one for one in models if one != model]):
                return note(NoteCode.NOTHING_COUNTS, judge=judge, model=model, before=" and ".join(before))
        return note(NoteCode.ONLY_CONTROLS if self.spend.controls_p else NoteCode.NOTHING_JUDGED)

    def fewer_skips(self, skipped: int) -> Note:
        """That so many without a verdict keep a run from an answer, and who can give more."""
        how = "rerun to judge those that were skipped" if self.by_hand else "the judge must give verdicts on more items"
        return note(NoteCode.FEWER_SKIPS, skipped=skipped, asked=self.asked, how=how)

    def all_tied(self, ties: int) -> tuple[Note, ...]:
        """A warning if the decision has ties alone: of a judge that does not fit, or of outputs that are identical."""
        if self.judged < FEWEST_TIES or ties < self.judged:
            return ()
        rows = self.verdicts
        if any(row.winner for row in rows):  # beside the decision
            rows = [row for row in rows if row.in_decision]
        differing = sum(row.reason != IDENTICAL for row in rows)
        if not differing:
            return () if self.counts.abstentions else (note(NoteCode.ALL_IDENTICAL, judged=len(rows)),)
        said = differing - self.counts.flips_in_all  # which count as ties
        return (note(NoteCode.ALL_TIES, judged=differing),) if said >= FEWEST_TIES else ()

    def _replaced(self) -> Iterable[Note]:
        """Yield of each judge that another model answers now, and how many verdicts that made void."""
        each = zip(self.setup.judges, self.counts.answered_by, self.counts.superseded, strict=False)
        for judge, models, before in each:
            if models and before:
                values = {"before": " and ".join(sorted(before)), "verdicts": sum(before.values())}
                yield note(NoteCode.JUDGE_REPLACED, judge=judge, model=models[-1].model, **values)

    def doubts(self) -> tuple[Note, ...]:
        """The warnings that only this question has."""
        return ()

    def to_json(self, say: Say = str) -> dict[str, Any]:
        """The JSON values, without the judged items; each sentence as `say` says it."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "job": self.job,
            "headline": say(self.page.headline),
            **Part.to_json(self, say),
            "advice": [one.to_json(say) for one in self.advice],
            "warnings": [one.to_json(say) for one in self.warnings],
        }
        for part in (self.options, self.counts, self.data, self.setup, self.spend):
            found |= part.to_json(say)
        return {name: value for name, value in found.items() if name not in self.LEFT_OUT}

    def __str__(self) -> str:
        """The decision with what belongs to it, as the command line prints it; `to_text()` has all."""
        return render(self.page, short=True)

    def sealed(self) -> Self:
        """The result as those who judge may see it: of a run that is interrupted, nothing may say who leads."""
        if self.outcome is not Outcome.INTERRUPTED or self.by_people is None:
            return self
        return replace(self, page=self.page.sealed(self.setup.run), labels=(), texts=None)

    def to_text(self) -> str:
        """All that the result says, as the command line prints it with `--details`."""
        return render(self.page)

    def __repr__(self) -> str:
        """The decision in a line; `to_dict()` has all values."""
        said = f"{visible(self.page.headline)} {self.judged:,} of {self.queries_in_all:,} judged"
        return f"<{type(self).__name__}: {said}, run {self.setup.run}>"

    def _repr_html_(self) -> str:
        """The result as HTML; notebooks call this to show it."""
        return render_notebook(self.page)

    def plot(self, number: int = 1) -> Drawing:
        """A picture of the evidence, the first by default, which a notebook shows; `str()` is its SVG.

        They are those of the report, in its order.

        Raises:
            InputError: nothing is judged, so there is nothing to draw; or there are fewer pictures.
        """
        drawn = [picture for card in self.page.pictures for picture in card]
        if not drawn:
            raise InputError("there is no picture of this result: its evidence has no order or bounds")
        if not 1 <= number <= len(drawn):
            raise InputError(f"`number`: expected 1 to {len(drawn)}, found {number}")
        return Drawing(drawn[number - 1])

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, with the judged items under `labels`."""
        return self.to_json(lambda text: looking_into(as_python(text), self.ledger)) | {"labels": plain(self.labels)}

    def to_markdown(self) -> str:
        """The result as Markdown, for a comment on a pull request or a report."""
        return render_markdown(self.page)

    def to_latex(self) -> str:
        """The standings, or the figures in a row, and the groups as LaTeX tables."""
        return render_latex(self.page)

    def to_csv(self) -> str:
        """The judged items as CSV, with prompts, outputs and reasons as far as a report may show them."""
        return render_csv(self.labels, self.texts, self.shows)

    def to_html(self, written: str = "") -> str:
        """The result as an HTML page of its own, with the judged items.

        Prompts and outputs are on it if the result holds them. `written` is the time that it names.
        """
        return render_html(self, written)

    def to_frame(self, library: str = "pandas") -> Any:
        """The judged items as a data frame of pandas, polars or pyarrow, a row for each.

        The last columns are the prompt and the outputs, if the result holds them.

        Raises:
            InputError: the library is another one, or it is not installed.
        """
        rows = [plain(label) for label in self.labels]
        columns = {name.name: [row[name.name] for row in rows] for name in fields(LabelRow)}
        columns["criteria"] = [label.by_criteria for label in self.labels]
        if self.texts is not None:
            columns |= self.texts.columns(self.labels)
        return frame_of(columns, library)
