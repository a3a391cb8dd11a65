"""The record of a run's result that all questions share: decision, judgments, cost and labels.

A question's own `result.py` adds its figures. Nothing is formatted here (`sentences.py`, `html.py`,
`markdown.py`, `table.py`), and no file is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE, EXIT_OTHER_WON, EXIT_UNDECIDED
from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import About, DecoyTally, Spend, StopKind
from judgeloop.core.records import Abstention, Key, Label, Verdict
from judgeloop.methods.stats.agreement import kappa
from judgeloop.methods.stats.proportions import wilson_interval
from judgeloop.report.json_fields import computed, heading
from judgeloop.report.labels import LabelRow
from judgeloop.report.shown import Shown
from judgeloop.report.texts import Texts

NOT_IN_JSON = {"labels", "spend", "texts"}


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What was asked, and how: all that is known before the first judgment.

    - `judge`: the name of the judge, or of several joined by " + "; `judges` holds each name.
    - `vote`: how a panel decides; None for a single judge.
    - `guarantee`: what the stated risk guarantees; None for a heuristic rule.
    - `prompt`: the id of the prompt that the judges read; empty if none of them reads one.
    - `rubric`: the criteria in that prompt; empty without any.
    - `order`: the order of presentation; None if it cannot change a verdict.
    - `calls_per_item`: the most calls for a judgment; in both orders the second may not be needed.
    - `required_winner`: the system that must win; None if none must.
    - `left_out`: a sentence on the items that were left out; empty if none were.
    - `guessed`: a sentence on the columns that were guessed; empty if none were.
    - `repeated`: the systems that gave the same output to many items, with the number of items.
    - `empty`: the systems that gave an output without text to some items, with the number of items.
    - `old_prices`: a warning of judges whose prices are old; empty if none are.
    - `prices`: the price of each judge, and where it is from; empty if nothing costs.
    - `tier`: the service tier asked for and its price; empty for the standard tier.
    - `published`: the paper whose configuration was used, and its settings; None if none was named.
    - `sampled`: whether each item was judged in one of two orders, so that it is a sample.
    - `asked_anew`: which judges are functions without an identity; empty if none are.
    - `run`: the run's id; `version`: the version of judgeloop.
    """

    systems: tuple[str, ...]
    judge: str
    judges: tuple[str, ...]
    vote: str | None
    rule: str
    risk_threshold: float
    guarantee: str | None
    selector: str
    order: str | None
    seed: int
    calls_per_item: int
    required_winner: str | None
    left_out: str
    repeated: dict[str, int]
    run: str
    version: str
    prompt: str = field(default="", kw_only=True)
    rubric: str = field(default="", kw_only=True)
    guessed: str = field(default="", kw_only=True)
    empty: dict[str, int] = field(default_factory=dict, kw_only=True)
    old_prices: str = field(default="", kw_only=True)
    prices: str = field(default="", kw_only=True)
    tier: str = field(default="", kw_only=True)
    published: str | None = field(default=None, kw_only=True)
    asked_anew: str = field(default="", kw_only=True)
    sampled: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of a panel's judges beyond chance, over the items judged by all of them.

    `name` is the name of the coefficient and `value` its value.
    """

    name: str
    value: float
    items: int


@dataclass(frozen=True, slots=True)
class RunResult(Shown):
    """The result of a run.

    - `winner`: None if undecided.
    - `risk`: the stated risk of naming the leader; None if no risk is stated.
    - `judged`: number of verdicts; `asked`: number of queries; `ahead`: number of queries asked
      ahead whose answers were not needed.
    - `both_orders`: number of verdicts that were asked in both orders of presentation, of which
      `flips` changed with the order.
    - `more_judgments`: a forecast of the further judgments until a decision; None without a
      forecast.
    - `judge_models`: the model names that each judge's server reported.
    - `texts`: prompts and outputs, after a call in Python; not a part of the JSON.
    """

    job: ClassVar[str]

    setup: RunSetup
    winner: str | None
    leader: str | None
    risk: float | None
    judged: int
    asked: int
    ahead: int
    rounds: int
    items: int
    abstentions: int
    flips: int
    both_orders: int
    stop_reason: StopKind
    stop_sentence: str
    more_judgments: int | None
    spend: Spend
    judge_models: tuple[tuple[str, ...], ...]
    agreement: Agreement | None
    decoys: DecoyTally | None
    labels: tuple[LabelRow, ...]
    texts: Texts | None = field(default=None, kw_only=True, compare=False, repr=False)

    @property
    def flip_rate(self) -> float | None:
        """The share of verdicts that changed with the order, of those asked in both orders."""
        return self.flips / self.both_orders if self.both_orders else None

    @property
    def flip_interval(self) -> tuple[float, float] | None:
        """A 95 % interval for `flip_rate`."""
        return wilson_interval(self.flips, self.both_orders) if self.both_orders else None

    @property
    def spent_usd(self) -> float | None:
        """What this call or command has paid, in dollars; None if a price is unknown."""
        return float(to_usd(self.spend.now_p)) if self.spend.known else None

    @property
    def run_spent_usd(self) -> float | None:
        """What the run has paid since it began, in dollars; None if a price is unknown."""
        return float(to_usd(self.spend.run_p)) if self.spend.known else None

    @property
    def p_value_beyond(self) -> float | None:
        """The p-value of the lead on other items like these; None where it is not known."""
        return None

    @property
    def more_p(self) -> int | None:
        """The probable cost of `more_judgments`, at this run's mean cost, in picodollars."""
        return None if self.more_judgments is None else self._cost_of(self.more_judgments)

    @property
    def ahead_p(self) -> int | None:
        """The probable cost of the answers not needed, at this run's mean cost, in picodollars."""
        return self._cost_of(self.ahead) if self.ahead else 0

    @property
    def enough_p(self) -> int | None:
        """A budget that covers the worst case of `more_judgments`, else of one; in picodollars.

        It takes each for as dear as the one that the budget did not cover. None if it covered all.
        Nothing is foreseen before anything is judged.
        """
        spend = self.spend
        if not spend.next_p:
            return None
        further = (self.judged and self.more_judgments) or 1
        return spend.charged_p + further * spend.next_p

    def _cost_of(self, judgments: int) -> int | None:
        paid = self.spend.paid_attempts
        if not paid or not self.spend.known:
            return None
        return round(judgments * self._calls_per_item * self.spend.charged_p / paid)

    @property
    def _calls_per_item(self) -> float:
        """The mean number of calls for a judgment, after the share asked in both orders."""
        most, judges = self.setup.calls_per_item, len(self.setup.judges)
        return judges + (most - judges) * self.both_orders / self.judged if self.judged else most

    @property
    def about(self) -> About:
        """The items that the decision is about: the set, unless each was judged in one order."""
        return About.ITEMS_LIKE_THESE if self.setup.sampled else About.THESE_ITEMS

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

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without the labels; amounts in dollars."""
        figures = asdict(replace(self, texts=None))
        setup = figures.pop("setup")
        kept = {name: value for name, value in figures.items() if name not in NOT_IN_JSON}
        return {**heading(self), **kept, **setup, **computed(self)}


def label_rows(
    labels: Sequence[Label],
    systems: Sequence[str],
    item_ids: Sequence[str],
    deciding: frozenset[Key],
) -> tuple[LabelRow, ...]:
    """Return label rows; `item_ids` are by position, `deciding` are keys in the decision."""
    return tuple(
        _row(label, systems, item_ids, in_decision=label.choice.key in deciding) for label in labels
    )


def _row(
    label: Label, systems: Sequence[str], item_ids: Sequence[str], *, in_decision: bool
) -> LabelRow:
    answer = label.answer
    first, *others = (systems[number] for number in label.choice.systems)
    second = others[0] if others else None
    verdict = None if isinstance(answer, Abstention) else answer
    return LabelRow(
        item_id=item_ids[label.choice.position],
        system=first,
        against=second,
        score=verdict.score if verdict else None,
        winner=_preferred(verdict, first, second) if verdict and second else None,
        flipped=verdict.flipped if verdict else False,
        reason=answer.reason,
        propensity=label.choice.propensity,
        in_decision=in_decision,
        votes=verdict.votes if verdict else (),
    )


def agreement_of(labels: Sequence[Label]) -> Agreement | None:
    """Return the agreement of a panel's judges; None for a single judge, or if it is undefined."""
    verdicts = [label.answer for label in labels if isinstance(label.answer, Verdict)]
    rows = [
        [Verdict(score).preference for score in verdict.votes if score is not None]
        for verdict in verdicts
        if verdict.votes and None not in verdict.votes
    ]
    found = kappa(rows) if rows else None
    return None if found is None else Agreement(*found, items=len(rows))


def _preferred(verdict: Verdict, first: str, second: str) -> str | None:
    return {1: first, 0: None, -1: second}[verdict.preference]
