"""The frozen records that the folders pass to each other: items, queries, labels, outcomes.

They hold and validate values. They do no I/O and compute nothing beyond simple properties. Units
are in the field names or docstrings. Money is in integer picodollars (`core/money.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

TIE = 0.5  # the score of a verdict that prefers neither system
ONE_SYSTEM = (0,)  # systems of a choice that rates a single system
TWO_SYSTEMS = (0, 1)  # systems of a choice that compares two systems


class Counted(Protocol):
    """What every estimator's counts of the labels in a decision have in common."""

    @property
    def judged(self) -> int:
        """Number of labels that are verdicts."""
        ...

    @property
    def abstentions(self) -> int:
        """Number of labels that are abstentions."""
        ...

    @property
    def leader(self) -> int | None:
        """The system that would be named the winner now; None when several are level."""
        ...


T_co = TypeVar("T_co", bound=Counted, covariant=True)


@dataclass(frozen=True, slots=True)
class Item:
    """An input of the test set."""

    id: str
    prompt: str
    reference: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """An item and the systems to judge on it: two for a comparison, one for a rating."""

    item: Item
    systems: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a judge: a query in one order of presentation.

    The judge sees `outputs[0]`, the output of `systems[0]`, first.
    """

    item: Item
    systems: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a call.

    `input_tokens` includes cached tokens, `output_tokens` includes reasoning tokens.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's answer: a score in [0, 1].

    In a comparison 1 means that the first system is better, 0 the second, 0.5 a tie. In a rating it
    is the score of the system. `flipped` is True when the two orders of presentation disagreed and
    the verdict is a tie for that reason. `votes` holds the scores of a panel's judges, None for an
    abstention.
    """

    score: float
    reason: str = ""
    flipped: bool = False
    votes: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a verdict's score lies in [0, 1], not {self.score!r}")

    @property
    def preference(self) -> int:
        """1 for a score above 0.5 (the first system), -1 below (the second), 0 for a tie."""
        return int(self.score > TIE) - int(self.score < TIE)


@dataclass(frozen=True, slots=True)
class Abstention:
    """No verdict: refused, unparsable, truncated or missing. Never a score and never a tie.

    `again` is True when another attempt is likely to bring a verdict.
    """

    reason: str
    again: bool = False


Answer = Verdict | Abstention


@dataclass(frozen=True, slots=True)
class Quote:
    """The most that a call can use and cost, known before the call; costs in picodollars.

    `cost_p` is the worst case. `likely_cost_p` is a rough guess for the plan shown before a run;
    no limit depends on it. `rehearsed` marks a recorded cost, which counts against the budget but
    is not paid. `tokens` is the worst-case number of tokens, for rate limits. `price` says where
    the price comes from.
    """

    cost_p: int
    likely_cost_p: int
    rehearsed: bool = False
    tokens: int = 0
    price: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of an attempt: an answer and its cost, in picodollars.

    `cost_p` is None when the reply does not report its usage; the worst case is charged then.
    `breach` says how the reply contradicts the quote, empty if it does not: the reply is booked,
    and then the run stops.
    """

    answer: Answer
    cost_p: int | None
    usage: Usage | None = None
    model: str = ""
    request_id: str = ""
    breach: str = ""


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Everything about a judge that can change a verdict; part of every verdict's key.

    `parameters` holds what matters beside the model: prompt hash, parser version, endpoint,
    sampling parameters. `mark` separates provider and model in the name and is in no key.
    """

    provider: str
    model: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    mark: str = field(default="/", compare=False)

    @property
    def name(self) -> str:
        """The judge's name as typed: `openai/gpt-4.1`, `metric:rouge2`, `human`."""
        return f"{self.provider}{self.mark}{self.model}" if self.model else self.provider


class Draws(enum.IntEnum):
    """How a selector makes its choices, from the least to the most useful for statistics."""

    PICKED = 0  # without propensities: deterministic, so samples are biased
    KNOWN = 1  # at random, each choice with a known propensity
    EVEN = 2  # at random, all items not drawn yet with the same propensity


Key = tuple[int, ...]  # a position and the system rated, or the two systems compared, on it


@dataclass(frozen=True, slots=True)
class Choice:
    """A position of the pool and the systems to judge on it: two to compare, or one to rate.

    `propensity` is the probability with which the position was drawn; None if it was picked without
    a random draw.
    """

    position: int
    propensity: float | None
    systems: tuple[int, ...] = TWO_SYSTEMS

    @property
    def key(self) -> Key:
        """The position and the systems; distinct choices have distinct keys."""
        return (self.position, *self.systems)


@dataclass(frozen=True, slots=True)
class Step:
    """The smallest change that a selector makes; the stopping rule is evaluated between steps.

    The labels of `choices` enter the decision, whether already judged or not. The labels of the
    positions in `leave` leave it.
    """

    choices: tuple[Choice, ...]
    leave: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """A choice with its answer (a verdict or an abstention), as the statistics see it."""

    choice: Choice
    answer: Answer


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of preferences over a pool of `items` items.

    `preferences` holds them in the order asked: 1 for the first system, -1 for the second, 0 for a
    tie, None for an abstention. It is empty where only the counts are known. `picked` is
    True when the items were picked without propensities, so that sampled shares are biased.
    `propensities`, in the same order, is given only when the draws had unequal propensities:
    sampled shares are then biased, and weights can correct the bias.
    """

    items: int
    wins: tuple[int, int] = (0, 0)
    ties: int = 0
    abstentions: int = 0
    flips: int = 0
    picked: bool = False
    preferences: Sequence[int | None] = ()
    propensities: Sequence[float] = ()

    @property
    def judged(self) -> int:
        """Number of items with a verdict."""
        return self.wins[0] + self.wins[1] + self.ties

    @property
    def leader(self) -> int | None:
        """The system with more wins, 0 or 1; None when both have the same number."""
        if self.wins[0] == self.wins[1]:
            return None
        return 0 if self.wins[0] > self.wins[1] else 1

    @property
    def win_distance(self) -> float | None:
        """Share of wins of the first system minus that of the second, in [-1, 1].

        The shares are over the judged items; None while no item is judged. It is not an estimate
        for the other items when `picked` is True or `propensities` is given.
        """
        return (self.wins[0] - self.wins[1]) / self.judged if self.judged else None


@dataclass(frozen=True)
class Estimate(Generic[T_co]):
    """The counts of the labels and the stated risk of naming their leader the winner.

    `interval` holds bounds for the win distance over all items, if the stopping rule computes them.
    """

    tally: T_co
    risk: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """Money spent, in picodollars, and numbers of attempts.

    - `now_p`: spent by this command.
    - `run_p`: spent by the run since it began, over all commands that continued it.
    - `rehearsed_p`: recorded cost, which counts against the budget but is not paid.
    - `unconfirmed_p`: the part of `run_p` for attempts without a reply. They are charged at their
      worst case and may turn out unbilled.
    - `budget_p`: the budget; None without a budget.
    - `attempts`: attempts of this command.
    - `paid_attempts`: attempts of the run that were charged.
    - `remembered`: verdicts taken from the ledger.
    - `known`: False when calls were made to a model without a price.
    - `former_p`: spent under an earlier id of the run; counts against the budget.
    """

    now_p: int = 0
    run_p: int = 0
    rehearsed_p: int = 0
    unconfirmed_p: int = 0
    budget_p: int | None = None
    attempts: int = 0
    paid_attempts: int = 0
    remembered: int = 0
    known: bool = True
    former_p: int = 0

    @property
    def charged_p(self) -> int:
        """The cost of the run, rehearsed cost included."""
        return self.run_p + self.rehearsed_p

    @property
    def left_p(self) -> int | None:
        """The rest of the budget; None without a budget."""
        if self.budget_p is None:
            return None
        return max(0, self.budget_p - self.charged_p - self.former_p)


@dataclass(frozen=True, slots=True)
class DecoyTally:
    """Results of the decoys (empty or constant outputs that test whether the judge can be fooled).

    In a comparison: decoys preferred to a real output, tied with it, beaten by it, or without a
    verdict. In a rating: decoys with a score above 0.5, at 0.5, below 0.5, or without a verdict.
    """

    won: int
    tied: int
    lost: int
    abstained: int

    @property
    def asked(self) -> int:
        """Number of decoys that the judge was asked about, abstentions included."""
        return self.won + self.tied + self.lost + self.abstained


class StopKind(enum.StrEnum):
    """The kinds of reason for which a run halts."""

    RISK_MET = "risk_met"
    PRECISE = "precise_enough"
    ALL_JUDGED = "all_judged"
    NO_DIFFERENCE = "no_difference"
    FUTILITY = "futility"
    POOL_EXHAUSTED = "pool_exhausted"
    JUDGMENT_LIMIT = "judgment_limit"
    BUDGET = "budget"
    ABSTENTIONS = "too_many_abstentions"
    JUDGE_FAILED = "judge_failed"
    INTERRUPTED = "interrupted"
    DEADLINE = "deadline"
    DRY_RUN = "dry_run"


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run halted, and the sentence to show to the user."""

    kind: StopKind
    sentence: str


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
class Outcome(Generic[T_co]):
    """How a run ended.

    `winner` is the number of a system, or None when undecided. `labels` holds all labels in the
    order asked, including labels that left the decision again. `deciding` holds the keys of the
    choices whose labels make the estimate. `ahead` is the number of answers that were asked for
    ahead of the stopping rule and not needed. `rounds` is the number of times that the run waited
    for answers. `belief` is the selector's at the end, None for a selector without one.
    """

    winner: int | None
    estimate: Estimate[T_co]
    stop: StopReason
    labels: tuple[Label, ...]
    deciding: frozenset[Key]
    ahead: int = 0
    rounds: int = 0
    belief: Belief | None = None

    @property
    def asked(self) -> int:
        """Number of distinct choices that the judge was asked about."""
        return len(self.labels)
