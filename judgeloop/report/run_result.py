"""The result of a run, which all questions share: the decision, and the parts that it rests on.

A question's own `result.py` adds its figures, `text.py` makes the page. Nothing is formatted here,
and no file is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE, EXIT_OTHER_WON, EXIT_UNDECIDED
from judgeloop.core.money import budget_over, to_usd
from judgeloop.core.outcomes import About, DecoyTally, Spend, StopKind
from judgeloop.core.part import Part, Say, Sentence
from judgeloop.report.labels import LabelRow
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.page import NO_PAGE, Page
from judgeloop.report.records import Counts, DataNotes, Setup
from judgeloop.report.renderable import Renderable
from judgeloop.report.texts import Texts
from judgeloop.report.words import sentence

SCHEMA_VERSION = 1
# If more of the verdicts surely change with the order, the judge mainly prefers a position.
MANY_FLIPS = 0.5
# Under so many items, another set of items may well turn out differently.
FEW_ITEMS = 50
# What to do after an end that cuts a run short.
CUT_SHORT = {
    StopKind.INTERRUPTED: NoteCode.RESUME,
    StopKind.DEADLINE: NoteCode.RESUME,
    StopKind.JUDGE_FAILED: NoteCode.FIX_AND_RESUME,
    StopKind.ABSTENTIONS: NoteCode.FIX_AND_RESUME,
}


@dataclass(frozen=True, slots=True)
class RunResult(Part, Renderable):
    """The result of a run.

    - `schema_version`: the version of this form; it grows when a field changes
    - `job`: the question: compare, select or estimate
    - `headline`: the decision in words
    - `winner`: null if undecided
    - `leader`: the system that would be named now; null if several are level
    - `risk`: the stated risk of naming the leader; null if no risk is stated
    - `stop_reason`: why the run stopped, as a name
    - `stop_sentence`: why the run stopped, in words
    - `more_judgments`: a forecast of the further judgments until a decision; null without one
    - `advice`: what would bring a decision: codes, sentences and values
    - `warnings`: what to be careful of: codes, sentences and values

    The parts `setup`, `options` (settings of this question only), `data`, `counts` and `spend` have
    docstrings of their own. `page` is the result as text, and `texts` holds prompts and outputs
    after a call in Python; neither is in the JSON.
    """

    job: ClassVar[str]

    HIDDEN = frozenset({"setup", "options", "data", "counts", "spend", "labels", "page", "texts"})
    COMPUTED: ClassVar[tuple[str, ...]] = ("more_usd", "ahead_usd", "exit_code")
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

    @property
    def judged(self) -> int:
        """Number of verdicts."""
        return self.counts.judged

    @property
    def asked(self) -> int:
        """Number of queries."""
        return self.counts.asked

    @property
    def items(self) -> int:
        """Number of items in the set."""
        return self.data.items

    @property
    def about(self) -> About:
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

    def _cost_of(self, judgments: int) -> float | None:
        paid = self.spend.paid_attempts
        if not paid or not self.spend.known:
            return None
        pico = round(judgments * self._calls_per_item * self.spend.charged_p / paid)
        return float(to_usd(pico))

    @property
    def _calls_per_item(self) -> float:
        """The mean number of calls for a judgment, after the share asked in both orders."""
        most, judges = self.setup.calls_per_item, len(self.setup.judges)
        if not self.judged:
            return most
        return judges + (most - judges) * self.counts.both_orders / self.judged

    @property
    def failed(self) -> bool:
        """Whether the run broke off, so that there is no result to rely on."""
        return self.exit_code in {EXIT_JUDGE, EXIT_INTERRUPTED}

    @property
    def refused(self) -> bool:
        """Whether the named system is not the one that was required to win, or must not win."""
        return self.winner_fails or self.setup.required_winner not in {None, self.winner}

    @property
    def winner_fails(self) -> bool:
        """Whether any named winner is the answer that fails."""
        return False

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        if self.winner is not None:
            return EXIT_OTHER_WON if self.refused else 0
        if self.stop_reason is StopKind.INTERRUPTED:
            return EXIT_INTERRUPTED
        if self.stop_reason is StopKind.NO_DIFFERENCE and self.setup.required_winner is None:
            return 0
        if self.stop_reason is StopKind.NOT_WORSE:
            return 0
        failed = self.stop_reason in {StopKind.JUDGE_FAILED, StopKind.ABSTENTIONS}
        return EXIT_JUDGE if failed else EXIT_UNDECIDED

    @property
    def advice(self) -> tuple[Note, ...]:
        """What would bring a decision; none if there is one."""
        if not self.open:
            return ()
        if self.stop_reason in CUT_SHORT:
            return (note(CUT_SHORT[self.stop_reason]),)
        return (*self.to_decide(), *self._budget_enough())

    @property
    def open(self) -> bool:
        """Whether the question has no answer."""
        return self.winner is None

    def to_decide(self) -> tuple[Note, ...]:
        """Return what would decide, after an end that did not cut the run short."""
        return ()

    def _budget_enough(self) -> tuple[Note, ...]:
        """Return a budget that covers the worst case of `more_judgments`, else of one.

        It takes each for as dear as the one that the budget did not cover.
        """
        spend = self.spend
        if self.stop_reason is not StopKind.BUDGET or not spend.next_p:
            return ()
        more = (self.judged and self.more_judgments) or 1
        enough = budget_over(spend.charged_p + more * spend.next_p)
        return (note(NoteCode.RAISE_BUDGET, budget=float(enough), judgments=more),)

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What to be careful of: few items, flipped verdicts, a doubtful judge or data."""
        return (
            *self.doubts(),
            *few_items(self.about, self.items),
            *_of_judge(self.counts),
            *_of_data(self),
        )

    def doubts(self) -> tuple[Note, ...]:
        """Return the warnings that only this question has."""
        return ()

    def to_json(self, say: Say = str) -> dict[str, Any]:
        """Return the JSON values, without the judged items; each sentence as `say` says it."""
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


def few_items(about: About, items: int) -> tuple[Note, ...]:
    """Return a warning if the set has few items."""
    if items >= FEW_ITEMS:
        return ()
    like = about is About.ITEMS_LIKE_THESE
    code = NoteCode.FEW_ITEMS_LIKE_THESE if like else NoteCode.FEW_ITEMS
    return (note(code, items=items),)


def _of_judge(counts: Counts) -> tuple[Note, ...]:
    found = []
    if counts.flip_interval is not None and counts.flip_interval[0] > MANY_FLIPS:
        found.append(note(NoteCode.POSITION_PREFERRED, flip_rate=counts.flip_rate))
    if counts.decoys is not None and _is_fooled(counts.decoys):
        found.append(note(NoteCode.DECOYS_PREFERRED))
    return tuple(found)


def _is_fooled(decoys: DecoyTally) -> bool:
    """Return whether decoys got more than a quarter of the points, with half a point for a tie."""
    return 2 * (2 * decoys.won + decoys.tied) > decoys.won + decoys.tied + decoys.lost


def _of_data(result: RunResult) -> tuple[Note, ...]:
    data, setup = result.data, result.setup
    found = [
        note(NoteCode.OUTPUT_REPEATED, system=name, repeated=repeated, items=data.items)
        for name, repeated in data.repeated.items()
    ]
    found += empty_outputs(data) + old_prices(setup)
    if setup.asked_anew:
        found.append(note(NoteCode.ASKED_ANEW, why=sentence(setup.asked_anew)))
    return tuple(found)


def empty_outputs(data: DataNotes) -> list[Note]:
    """Return a warning of each system with outputs that have no text."""
    return [
        note(NoteCode.OUTPUTS_EMPTY, system=name, empty=empty) for name, empty in data.empty.items()
    ]


def old_prices(setup: Setup) -> list[Note]:
    """Return a warning of each judge whose prices are old."""
    return [
        note(NoteCode.PRICES_OLD, judge=judge, days=days)
        for judge, days in setup.old_prices.items()
    ]
