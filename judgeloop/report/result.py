"""The result of a comparison: every figure that any report shows, worked out once.

The same record becomes JSON (`to_json`), text and Markdown. It formats nothing for people and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judgeloop.decoys import DecoyTally
from judgeloop.money import to_usd
from judgeloop.records import Abstention, Label, Outcome, Spend, StopKind, Tally, Verdict
from judgeloop.stats.agreement import kappa

SCHEMA_VERSION = 1
EXIT_UNDECIDED, EXIT_JUDGE, EXIT_OTHER_WON, EXIT_INTERRUPTED = 3, 4, 5, 130


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One judged item; `score` is 1 for the first system, 0 for the second, None for an abstention."""

    item_id: str
    score: float | None
    winner: str | None
    flipped: bool
    reason: str
    propensity: float | None
    in_decision: bool
    votes: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """What was compared, and how: all that was settled before the first question.

    `judge` names one judge, or several with " + " between; `vote` is None for one. `represent` is None for a selector that
    looks at no vectors, `order` for judges that order cannot sway. `repeated` has the systems that gave many items the very
    same output, and how many.
    """

    systems: tuple[str, ...]
    judge: str
    judges: tuple[str, ...]
    vote: str | None
    rule: str
    risk_threshold: float
    guarantee: str | None
    near_tie: float | None
    selector: str
    variant: str | None
    represent: str | None
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
class Result:
    """A comparison's result.

    `winner` is None when undecided. `risk` is the stated risk of naming the leader. `win_distance` is the leader's share of wins minus the other's among the judged items, and
    `win_distance_biased` says that the items were picked and do not stand for the others; `win_distance_interval` holds bounds for that of all items,
    the first system minus the second, each of which is wrong with at most the threshold's chance. `spent_usd` is what this command spent (None: no
    price is known), `run_spent_usd` what the run has cost with the commands before, `rehearsed_usd` recorded cost that
    only counts against the budget. `judge_models` are the names by which each judge's server called its model.
    `more_judgments` is a projection.
    """

    setup: Setup
    winner: str | None
    leader: str | None
    risk: float
    judged: int
    asked: int
    ahead: int
    rounds: int
    items: int
    wins: dict[str, int]
    ties: int
    abstentions: int
    flips: int
    flip_rate: float | None
    win_distance: float | None
    win_distance_biased: bool
    win_distance_interval: tuple[float, float] | None
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
        """The exit code that says how the comparison ended."""
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
            "job": "compare",
            **{name: value for name, value in figures.items() if name not in {"labels", "spend"}},
            **setup,
            "guarantee": self.setup.guarantee or "heuristic",
            "spent_usd": _usd(spend.now_p) if spend.known else None,
            "run_spent_usd": _usd(spend.run_p) if spend.known else None,
            "rehearsed_usd": _usd(spend.rehearsed_p),
            "budget_usd": _usd(spend.budget_p),
            "more_usd": _usd(self.more_p),
            "ahead_usd": _usd(self.ahead_p),
            "unconfirmed_usd": _usd(spend.unconfirmed_p),
            "attempts": spend.attempts,
            "exit_code": self.exit_code,
            "remembered": spend.remembered,
        }


def result_of(
    outcome: Outcome[Tally],
    spend: Spend,
    setup: Setup,
    *,
    item_ids: Sequence[str],
    judge_models: tuple[tuple[str, ...], ...],
    decoys: DecoyTally | None,
    more_judgments: int | None,
) -> Result:
    """Work out a result from how a run ended; `item_ids` by position."""
    tally, systems = outcome.estimate.tally, setup.systems
    distance = tally.win_distance
    return Result(
        setup=setup,
        winner=None if outcome.winner is None else systems[outcome.winner],
        leader=None if tally.leader is None else systems[tally.leader],
        risk=outcome.estimate.risk,
        judged=tally.judged,
        asked=outcome.asked,
        ahead=outcome.ahead,
        rounds=outcome.rounds,
        items=tally.items,
        wins=dict(zip(systems, tally.wins, strict=True)),
        ties=tally.ties,
        abstentions=tally.abstentions,
        flips=tally.flips,
        flip_rate=tally.flips / tally.judged if tally.judged and setup.order == "both" else None,
        win_distance=None if distance is None else abs(distance),
        win_distance_biased=tally.picked and tally.judged < tally.items,
        win_distance_interval=outcome.estimate.interval,
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=None if outcome.stop.kind is StopKind.NO_DIFFERENCE else more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=_agreement(outcome.labels),
        decoys=decoys,
        labels=tuple(
            _row(label, systems, item_ids, in_decision=label.choice.key in outcome.deciding)
            for label in outcome.labels
        ),
    )


def _row(label: Label, systems: tuple[str, ...], item_ids: Sequence[str], *, in_decision: bool) -> LabelRow:
    answer = label.answer
    verdict = None if isinstance(answer, Abstention) else answer
    return LabelRow(
        item_id=item_ids[label.choice.position],
        score=verdict.score if verdict else None,
        winner=_preferred(verdict, systems) if verdict else None,
        flipped=verdict.flipped if verdict else False,
        reason=answer.reason,
        propensity=label.choice.propensity,
        in_decision=in_decision,
        votes=verdict.votes if verdict else (),
    )


def _agreement(labels: Sequence[Label]) -> Agreement | None:
    verdicts = [label.answer for label in labels if isinstance(label.answer, Verdict)]
    rows = [
        [Verdict(score).preference for score in verdict.votes if score is not None]
        for verdict in verdicts
        if verdict.votes and None not in verdict.votes
    ]
    found = kappa(rows) if rows else None
    return None if found is None else Agreement(*found, items=len(rows))


def _preferred(verdict: Verdict, systems: tuple[str, ...]) -> str | None:
    return {1: systems[0], 0: None, -1: systems[1]}[verdict.preference]


def _usd(pico: int | None) -> float | None:
    """Dollars for JSON: exact to the picodollar up to some thousand dollars."""
    return None if pico is None else float(to_usd(pico))
