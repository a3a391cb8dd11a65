"""What the result of every job has: how a run ended, what it asked, what it cost.

Each job adds its own figures (`result.py`, `selection.py`). It formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from judgeloop.core.money import to_usd
from judgeloop.core.records import Abstention, DecoyTally, Key, Label, Spend, StopKind, Verdict
from judgeloop.stats.agreement import kappa

SCHEMA_VERSION = 1
EXIT_UNDECIDED, EXIT_JUDGE, EXIT_OTHER_WON, EXIT_INTERRUPTED = 3, 4, 5, 130


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One judged item; `score` is 1 for `system`, 0 for the one it is compared with, None for an abstention.

    Where `system` is rated alone, `against` is None and `score` its own.
    """

    item_id: str
    system: str
    against: str | None
    score: float | None
    winner: str | None
    flipped: bool
    reason: str
    propensity: float | None
    in_decision: bool
    votes: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What was asked, and how: all that was settled before the first question.

    `judge` names one judge, or several with " + " between; `vote` is None for one. `order` is None for judges that order cannot
    sway. `repeated` has the systems that gave many items the very same output, and how many.
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


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a panel's judges agree beyond chance, on the items on which all of them gave a verdict."""

    name: str
    value: float
    items: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    `winner` is None when undecided. `risk` is the stated risk of naming the leader; None where none is stated. `judged` are verdicts,
    `asked` what was put to the judge. `judge_models` are the names by which each judge's server called its model. `more_judgments` is
    a projection.
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
    flip_rate: float | None
    stop_reason: StopKind
    stop_sentence: str
    more_judgments: int | None
    spend: Spend
    judge_models: tuple[tuple[str, ...], ...]
    agreement: Agreement | None
    decoys: DecoyTally | None
    labels: tuple[LabelRow, ...]

    @property
    def more_p(self) -> int | None:
        """What `more_judgments` would probably cost, at this run's mean, in picodollars."""
        return None if self.more_judgments is None else self._cost_of(self.more_judgments)

    @property
    def ahead_p(self) -> int | None:
        """What was asked ahead and never needed probably cost, at this run's mean, in picodollars."""
        return self._cost_of(self.ahead) if self.ahead else 0

    def _cost_of(self, judgments: int) -> int | None:
        paid = self.spend.paid_attempts
        if not paid or not self.spend.known:
            return None
        return round(judgments * self.setup.calls_per_item * self.spend.charged_p / paid)

    @property
    def exit_code(self) -> int:
        """The exit code that says how the run ended."""
        if self.winner is not None:
            return EXIT_OTHER_WON if self.setup.required_winner not in {None, self.winner} else 0
        if self.stop_reason is StopKind.INTERRUPTED:
            return EXIT_INTERRUPTED
        if self.stop_reason is StopKind.NO_DIFFERENCE and self.setup.required_winner is None:
            return 0
        failed = self.stop_reason in {StopKind.JUDGE_FAILED, StopKind.ABSTENTIONS}
        return EXIT_JUDGE if failed else EXIT_UNDECIDED

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values, without the labels; amounts in dollars."""
        figures = asdict(self)
        setup = figures.pop("setup")
        spend = self.spend
        return {
            "schema_version": SCHEMA_VERSION,
            "job": self.job,
            **{name: value for name, value in figures.items() if name not in {"labels", "spend"}},
            **setup,
            "guarantee": self.setup.guarantee or "heuristic",
            "spent_usd": _usd(spend.now_p) if spend.known else None,
            "run_spent_usd": _usd(spend.run_p) if spend.known else None,
            "former_spent_usd": _usd(spend.former_p),
            "rehearsed_usd": _usd(spend.rehearsed_p),
            "budget_usd": _usd(spend.budget_p),
            "more_usd": _usd(self.more_p),
            "ahead_usd": _usd(self.ahead_p),
            "unconfirmed_usd": _usd(spend.unconfirmed_p),
            "attempts": spend.attempts,
            "exit_code": self.exit_code,
            "remembered": spend.remembered,
        }


def label_rows(
    labels: Sequence[Label],
    systems: Sequence[str],
    item_ids: Sequence[str],
    deciding: frozenset[Key],
) -> tuple[LabelRow, ...]:
    """The labels for people and programs; `item_ids` by position."""
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
    """How far the judges of a panel agree; None for one judge."""
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


def _usd(pico: int | None) -> float | None:
    """Dollars for JSON: exact to the picodollar up to some thousand dollars."""
    return None if pico is None else float(to_usd(pico))
