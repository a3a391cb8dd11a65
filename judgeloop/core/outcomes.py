"""The frozen records of what a run finds: counts, estimates, how it ended, and its one outcome.

What is asked and answered is in `records.py`. Money is in integer picodollars (`core/money.py`).
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE, EXIT_OTHER_WON, EXIT_UNDECIDED
from judgeloop.core.records import Choice, Key, Label, Pool, Verdict
from judgeloop.core.spend import Spend


class Counted(Protocol):
    """What every estimator's counts of the labels in a decision have in common."""

    @property
    def judged(self) -> int:
        """Number of labels that are verdicts."""

    @property
    def abstentions(self) -> int:
        """Number of labels that are abstentions."""

    @property
    def leader(self) -> int | None:
        """The system that would be named the winner now; None when several are level."""


T_co = TypeVar("T_co", bound=Counted, covariant=True)


@dataclass(frozen=True, slots=True)
class WithProxy:
    """What a draw says, an int or None as in `Observed`, beside what a proxy says of its item.

    `proxy` has the fields of `methods.stats.corrected.Aside`.
    """

    observed: int | None
    proxy: tuple[float, float, int]


# What a draw says: 1 for the first system, -1 for the second, 0 for a tie, None for an abstention; of a family of which
# several members are judged, its mean score for each system.
Observed = int | tuple[float, float] | WithProxy | None


def scores_of(observed: Observed) -> tuple[float, float]:
    """The score of a draw for each system, in [-1, 1]; an abstention is the worst for both.

    >>> scores_of(1), scores_of(None), scores_of((0.5, -0.5))
    ((1, -1), (-1, -1), (0.5, -0.5))
    """
    if isinstance(observed, WithProxy):
        observed = observed.observed
    if observed is None:
        return -1, -1
    return observed if isinstance(observed, tuple) else (observed, -observed)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of preferences over a pool of `items` items.

    `preferences` holds them in the order asked: 1 for the first system, -1 for the second, 0 for a
    tie, None for an abstention. It is empty where only the counts are known. Of the `both` verdicts
    that were asked in both orders of presentation, `flips` changed with the order. `picked` is
    True when the items were picked without propensities, so that sampled shares are biased.
    `propensities`, in the same order, is given only when the draws had unequal propensities:
    sampled shares are then biased, and weights can correct the bias.

    Where a proxy is asked, too, there may be more `preferences` than judged items: one that is drawn again counts
    in them each time.

    Where several members of a family are judged, a family is an item here. It is won by the system with the higher
    mean score, and `total` is the sum of these means, first system minus second, over 2.
    """

    items: int
    wins: tuple[int, int] = (0, 0)
    ties: int = 0
    abstentions: int = 0
    flips: int = 0
    both: int = 0
    picked: bool = False
    preferences: Sequence[Observed] = ()
    propensities: Sequence[float] = ()
    total: float | None = None

    @property
    def judged(self) -> int:
        """Number of items with a verdict."""
        return self.wins[0] + self.wins[1] + self.ties

    @property
    def leader(self) -> int | None:
        """The system with more wins, or with the higher mean, 0 or 1; None when both have the same."""
        lead = self.wins[0] - self.wins[1] if self.total is None else round(self.total, 9)
        return None if not lead else 0 if lead > 0 else 1

    @property
    def gap(self) -> float | None:
        """Share of wins of the first system minus that of the second ("win distance"), in [-1, 1].

        The shares are over the judged items; None while no item is judged. It is not an estimate
        for the other items when `picked` is True or `propensities` is given.
        """
        lead = self.wins[0] - self.wins[1] if self.total is None else self.total
        return lead / self.judged if self.judged else None


@dataclass(frozen=True)
class Estimate(Generic[T_co]):
    """The counts of the labels and the stated risk of naming their leader the winner.

    `interval` holds bounds for what is estimated over all items, if the stopping rule computes them.
    """

    tally: T_co
    risk: float
    interval: tuple[float, float] | None = None


LAST_FAILED = "; the last call failed: "  # in a sentence, before the reason
TELL = "tell an answer to the question from an answer to another question"  # what a judge is to show by controls


class Control(enum.StrEnum):
    """How the test of a judge by controls ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SHOWN = "not_shown"


@dataclass(frozen=True, slots=True)
class ControlTally:
    """How often a judge preferred a question's own answer to one to another question.

    Right, a tie, wrong, or without a verdict; and how the test `end`ed, None if it was cut off. `number` says which
    try of the answering `model` this is. Of the `tied` the judge called those that are
    `flipped` no tie: its verdict changed with the order.
    """

    right: int = 0
    tied: int = 0
    wrong: int = 0
    abstained: int = 0
    end: Control | None = None
    number: int = 1
    model: str = field(default="", compare=False)
    flipped: int = field(default=0, compare=False)

    @property
    def level(self) -> str:
        """In words, how many were neither right nor wrong: called a tie, or changed with the order."""
        said = f"{self.tied - self.flipped:,} tied" if self.tied > self.flipped or not self.flipped else ""
        changed = f"{self.flipped:,} changed with the order" if self.flipped else ""
        return ", ".join(filter(None, (said, changed)))

    @property
    def asked(self) -> int:
        """Number of controls that count, abstentions included."""
        return self.right + self.tied + self.wrong + self.abstained


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """A model that answered for a judge: how many of its verdicts were used, one a call, from when to when (UTC)."""

    model: str
    verdicts: int
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What a system gave that answers live.

    - `system`: its name
    - `asked`, `remembered`: number of outputs that this command asked for, and from the ledger
    - `oldest`: when the oldest of these was recorded (UTC); empty without any
    - `left_out`: number of outputs in the ledger that another model gave, and that do not count
    - `unjudged`: number of outputs that no judge was asked about
    - `failed`: on how many items it failed by itself; of these `lost` to a rival, or left out and `spared`
    - `why`: the most frequent reasons for that, each with its number of items
    - `ended`: how many outputs are not whole, by the way in which they ended: cut, filtered, failed, unknown
    - `empty`: how many outputs have no text
    - `thoughts`, `masked`: how many have thoughts in tags, and a key of the caller's that was masked
    - `too_long`: how many items were too long to be judged, of which its output is the longest text
    - `models`: the model names that its server reported
    - `usd`: what the outputs cost that this command asked for; null without a price
    - `usd_of_all`: an estimate of what outputs to all items would cost, from those known; null
      without any, or without a price
    - `output_tokens`: of these, as far as reported
    - `seconds_median`, `seconds_p95`: of these, the time to a whole reply; null without any
    """

    system: str
    asked: int
    remembered: int
    oldest: str
    left_out: int = 0
    unjudged: int
    failed: int
    why: tuple[tuple[str, int], ...] = ()
    ended: dict[str, int] = field(default_factory=dict)
    empty: int
    thoughts: int = 0
    masked: int = 0
    too_long: int = 0
    lost: int = 0
    spared: int = 0
    models: tuple[str, ...]
    usd: float | None
    usd_of_all: float | None
    output_tokens: int
    seconds_median: float | None
    seconds_p95: float | None


class StopKind(enum.StrEnum):
    """The kinds of reason for which a run halts."""

    RISK_MET = "risk_met"
    PRECISE = "precise_enough"
    ALL_JUDGED = "all_judged"
    NO_DIFFERENCE = "no_difference"
    NOT_WORSE = "not_worse"
    FUTILITY = "futility"
    POOL_EXHAUSTED = "pool_exhausted"
    JUDGMENT_LIMIT = "judgment_limit"
    BUDGET = "budget"
    ABSTENTIONS = "too_many_abstentions"
    JUDGE_FAILED = "judge_failed"
    SYSTEM_FAILED = "system_failed"
    CONTROLS = "controls_not_passed"
    JUDGE_CHANGED = "judge_changed"
    OTHER_MODEL = "other_model"
    INTERRUPTED = "interrupted"
    DEADLINE = "deadline"
    DRY_RUN = "dry_run"


# The ends of a comparison that answer its question without naming a winner.
ANSWERS = frozenset({StopKind.NO_DIFFERENCE, StopKind.NOT_WORSE})
# The ends that come from outside, before a run has ended by itself.
CUT_OFF = frozenset({StopKind.BUDGET, StopKind.INTERRUPTED, StopKind.DEADLINE})
# The ends after which no verdict is to be relied on.
BREAKS = frozenset(
    {
        StopKind.JUDGE_FAILED,
        StopKind.SYSTEM_FAILED,
        StopKind.ABSTENTIONS,
        StopKind.CONTROLS,
        StopKind.JUDGE_CHANGED,
        StopKind.OTHER_MODEL,
    }
)


class Outcome(enum.StrEnum):
    """How a run stands to what was asked, the worst first: of several, the first one counts.

    Exit code, state in JUnit XML, first word of the headline, and the state of a pair in a night follow from it.
    """

    INTERRUPTED = "interrupted"
    BROKEN = "broken"  # the judge or a system failed, so that there is no result to rely on
    FAILED = "failed"
    NOT_SHOWN = "not_shown"  # there is an answer, and less than was required
    UNDECIDED = "undecided"
    PASSED = "passed"
    DECIDED = "decided"  # answered, and nothing was required

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return _EXITS[self]

    @property
    def answered(self) -> bool:
        """Whether the question has an answer, wanted or not."""
        return self in {Outcome.FAILED, Outcome.NOT_SHOWN, Outcome.PASSED, Outcome.DECIDED}

    @property
    def broke_off(self) -> bool:
        """Whether the run broke off, so that there is no result to rely on."""
        return self in {Outcome.INTERRUPTED, Outcome.BROKEN}

    @property
    def said(self) -> str:
        """The outcome in words."""
        return self.replace("_", " ")

    @classmethod
    def worst(cls, of: Iterable["Outcome"]) -> "Outcome":
        """The one that counts.

        >>> Outcome.worst([Outcome.PASSED, Outcome.UNDECIDED, Outcome.DECIDED])
        <Outcome.UNDECIDED: 'undecided'>
        """
        return min(of, key=list(cls).index)


_EXITS = {
    Outcome.INTERRUPTED: EXIT_INTERRUPTED,
    Outcome.BROKEN: EXIT_JUDGE,
    Outcome.FAILED: EXIT_OTHER_WON,
    Outcome.NOT_SHOWN: EXIT_UNDECIDED,
    Outcome.UNDECIDED: EXIT_UNDECIDED,
    Outcome.PASSED: 0,
    Outcome.DECIDED: 0,
}


def outcome_of(
    stop: StopKind,
    winner: str | None,
    required: str | None,
    *,
    fails: bool = False,
    short: bool = False,
    lost: bool = False,
) -> Outcome:
    """How the answer of a run stands to the system that was required to win, None if none was.

    `fails`: any named winner is the answer that must not be. `short`: less is shown of the winner than was required.
    `lost`: most of a used up budget went to attempts that failed.
    """
    if winner is not None:
        wrong = fails or required not in {None, winner}
        met = Outcome.DECIDED if required is None else Outcome.PASSED
        return Outcome.NOT_SHOWN if short else Outcome.FAILED if wrong else met
    if stop is StopKind.INTERRUPTED:
        return Outcome.INTERRUPTED
    if stop is StopKind.NOT_WORSE:
        return Outcome.PASSED
    if stop is StopKind.NO_DIFFERENCE and required is None:
        return Outcome.DECIDED
    if stop in BREAKS or lost:
        return Outcome.BROKEN
    return Outcome.NOT_SHOWN if stop is StopKind.NO_DIFFERENCE else Outcome.UNDECIDED


def every_one(items: int) -> str:
    """All items of a set, for a sentence in the singular.

    >>> every_one(1200), every_one(1)
    ('every one of the 1,200 items', 'the only item')
    """
    return f"every one of the {items:,} items" if items != 1 else "the only item"


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run halted, and the sentence to show to the user.

    `need_p` is the worst case of a query, the highest so far, if the budget did not cover the next; else 0.
    """

    kind: StopKind
    sentence: str
    need_p: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold: a name, how it stands, what was found in a sentence, the figures behind that, what is required.

    The answer itself is the first condition of every result; its sentence is empty where nothing is required of it.
    """

    name: str
    outcome: Outcome
    sentence: str
    figures: str = ""
    requires: str = ""

    @property
    def said(self) -> str:
        """The sentence with its figures."""
        return f"{self.sentence} ({self.figures})" if self.figures else self.sentence


@dataclass(frozen=True, slots=True)
class Belief:
    """A selector's belief about which system is the best.

    `probabilities` are by system. `level_since` is the number of queries asked when all others
    became level: none promised more information than another, from there to the end. It is None if
    they are not level, or if the selector does not choose queries by information.
    """

    probabilities: tuple[float, ...]
    level_since: int | None = None


@dataclass(frozen=True)
class Ending(Generic[T_co]):
    """How a run ended.

    `winner` is the number of a system, or None when undecided. `labels` holds the labels up to the
    end in the order asked, including labels that left the decision again. `deciding` holds the keys of
    the choices whose labels make the estimate. `ahead` is the number of answers that were asked for
    ahead of the stopping rule and not needed. `rounds` is how often the run asked while no other answer
    was out. Both depend on the pace, and are no part of the decision. `belief` is the selector's at the
    end, None for a selector without one. `further` holds the labels that were asked after the decision,
    and `cut` says what cut that off, None if nothing did.
    """

    winner: int | None
    estimate: Estimate[T_co]
    stop: StopReason
    labels: tuple[Label, ...]
    deciding: frozenset[Key]
    ahead: int = field(default=0, compare=False)
    rounds: int = field(default=0, compare=False)
    belief: Belief | None = None
    further: tuple[Label, ...] = ()
    cut: StopReason | None = None

    @property
    def asked(self) -> int:
        """Number of distinct choices that the judge was asked about."""
        return len(self.labels) + self.ahead


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """The verdicts of people who read an item twice: the `same` person, or another. The second decides nothing."""

    choice: Choice
    first: Verdict
    second: Verdict
    same: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """What a person said of items with a known answer: how many were right, tied or wrong.

    `asked_no_more` is true of who was wrong too often; what they said before stays.
    """

    name: str
    right: int
    tied: int
    wrong: int
    asked_no_more: bool

    @property
    def asked(self) -> int:
        """The number of checks."""
        return self.right + self.tied + self.wrong


@dataclass(frozen=True, slots=True)
class GivenByPeople:
    """How many answers people gave to a run, skips among them, in what time, and what that cost, in picodollars.

    `each` has the number by name, which is empty for who judged without one.
    """

    answers: int = 0
    seconds: float = 0.0
    cost_p: int = 0
    each: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished(Generic[T_co]):
    """How a run ended, its cost, and the results of its controls.

    `models` holds for each judge the model names that its server reported, in the order seen. `generated` says what
    systems gave that answer live, and `pool` holds their outputs; both are empty without any. `answered_by` says for
    each judge which models gave the verdicts that were used, and `counting` whose alone count, empty where all do.
    `superseded` says how many verdicts of which other models were asked again. `decided_at` says when an earlier
    command had this result, if this one asked for nothing (ISO 8601, UTC); else it is empty. `read_again` is what
    people said of some items a second time, of `to_read_again` that were asked for. `people` is what they gave to the
    run, over all its commands, and `checked` what came of their checks.
    """

    ending: Ending[T_co]
    spend: Spend
    models: tuple[tuple[str, ...], ...]
    controls: tuple[ControlTally | None, ...] = ()
    generated: tuple[Generated, ...] = ()
    answered_by: tuple[tuple[AnsweredBy, ...], ...] = ()
    superseded: tuple[dict[str, int], ...] = ()
    counting: tuple[str, ...] = ()
    pool: Pool | None = None
    decided_at: str = ""
    read_again: tuple[ReadAgain, ...] = ()
    to_read_again: int = 0
    people: GivenByPeople = GivenByPeople()
    checked: tuple[Checked, ...] = ()
