"""The nouns: frozen records that cross from one room to another.

They hold and validate; they compute nothing beyond a property, and read or write nothing. Units stand in the
names or the docstrings; money is in integer picodollars (`money.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

TIE = 0.5  # the score of a verdict that prefers neither
ONE_SYSTEM = (0,)  # the systems of a choice that is rated alone
TWO_SYSTEMS = (0, 1)  # those of one that compares two


class Counted(Protocol):
    """What the labels in a decision come to, whatever else a job counts."""

    @property
    def judged(self) -> int:
        """How many of them are verdicts."""
        ...

    @property
    def abstentions(self) -> int:
        """How many of them are none."""
        ...

    @property
    def leader(self) -> int | None:
        """The system to be named, were one to be named now; None when several are level."""
        ...


T_co = TypeVar("T_co", bound=Counted, covariant=True)


@dataclass(frozen=True, slots=True)
class Item:
    """One input of the test set."""

    id: str
    prompt: str
    reference: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What the oracle is asked: an item and the systems to judge on it, two for a comparison and one for a rating."""

    item: Item
    systems: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a judge: a query in one order of presentation; the judge sees `systems[0]` and `outputs[0]` first."""

    item: Item
    systems: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `input_tokens` includes the cached ones; `output_tokens` includes reasoning."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The oracle's answer: of two, 1 the first is better, 0 the second, 0.5 a tie; of one, its score from 0 to 1.

    `flipped` says that the two orders of presentation disagreed, which made it a tie; `votes` are the scores of a panel's
    judges, None where one abstained.
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
        """1 for the first, -1 for the second, 0 for a tie."""
        return int(self.score > TIE) - int(self.score < TIE)


@dataclass(frozen=True, slots=True)
class Abstention:
    """No verdict: refused, unparsable, truncated, missing. Never a score and never a tie.

    `again` says that asking once more may well bring one.
    """

    reason: str
    again: bool = False


Answer = Verdict | Abstention


@dataclass(frozen=True, slots=True)
class Quote:
    """The most that one call can use and cost, known before it is made; `cost_p` in picodollars.

    `likely_cost_p` is a plain guess for the estimate before a run; nothing is enforced with it. `rehearsed` marks a
    recorded cost, which counts against a budget and is paid by nobody. `tokens` is the worst case of tokens, for rate limits;
    `price` says where the price is from.
    """

    cost_p: int
    likely_cost_p: int
    rehearsed: bool = False
    tokens: int = 0
    price: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one attempt brought: an answer and what it cost, in picodollars.

    `cost_p` is None when the reply does not say what it used: the worst case is charged then.
    """

    answer: Answer
    cost_p: int | None
    usage: Usage | None = None
    model: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Who judges, as far as it can change a verdict; part of every verdict's key.

    `parameters` hold whatever else matters: prompt hash, parser version, endpoint, sampling parameters.
    `mark` stands between provider and model in its name, and in no key.
    """

    provider: str
    model: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    mark: str = field(default="/", compare=False)

    @property
    def name(self) -> str:
        """The judge in one word, as typed: `openai/gpt-4.1`, `metric:rouge2`, `human`."""
        return f"{self.provider}{self.mark}{self.model}" if self.model else self.provider


class Draws(enum.IntEnum):
    """How a selector comes by its choices; the more is known of it, the more may be concluded."""

    PICKED = 0  # by a rule that leaves no chance to reckon with
    KNOWN = 1  # at random, each with its propensity
    EVEN = 2  # at random, every item not drawn yet with the same propensity


Key = tuple[int, ...]  # a position, and the one system rated or the two compared on it


@dataclass(frozen=True, slots=True)
class Choice:
    """A position to judge, the probability with which it was drawn (None: picked, not drawn), and the one or two systems to judge on it."""

    position: int
    propensity: float | None
    systems: tuple[int, ...] = TWO_SYSTEMS

    @property
    def key(self) -> Key:
        """What tells one choice from another."""
        return (self.position, *self.systems)


@dataclass(frozen=True, slots=True)
class Step:
    """The least a selector adds at a time; the stopping rule looks between steps.

    `choices` enter the decision, judged or not so far; the labels of the positions in `leave` drop out of it.
    """

    choices: tuple[Choice, ...]
    leave: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """A choice with its answer, as the statistics see it."""

    choice: Choice
    answer: Answer


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of preferences among `items` items.

    `history` holds them in the order asked: 1 for the first, -1 for the second, 0 for a tie, None for an abstention; it is empty where
    only counts are known. `picked` says that a deterministic selector picked them, so that sampled shares are biased. `propensities`, in the
    same order, are there only where they were drawn with a preference for some, so that sampled shares are biased and can be mended.
    """

    items: int
    wins: tuple[int, int] = (0, 0)
    ties: int = 0
    abstentions: int = 0
    flips: int = 0
    picked: bool = False
    history: tuple[int | None, ...] = ()
    propensities: tuple[float, ...] = ()

    @property
    def judged(self) -> int:
        """Items with a verdict."""
        return self.wins[0] + self.wins[1] + self.ties

    @property
    def leader(self) -> int | None:
        """0 or 1, whichever has more wins; None when they are level."""
        if self.wins[0] == self.wins[1]:
            return None
        return 0 if self.wins[0] > self.wins[1] else 1

    @property
    def win_distance(self) -> float | None:
        """Share of wins of the first among the judged items minus that of the second, in [-1, 1]; None while nothing is judged.

        It does not stand for the other items when `picked`, nor where there are `propensities`.
        """
        return (self.wins[0] - self.wins[1]) / self.judged if self.judged else None


@dataclass(frozen=True)
class Estimate(Generic[T_co]):
    """What the labels say: the counts and the stated risk of naming their leader the winner.

    `interval` holds bounds for the win distance over all items, from a rule that has them.
    """

    tally: T_co
    risk: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """Money and calls, in picodollars.

    `now_p` was really spent by this command; `run_p` by this run since it began, resumed commands included;
    `rehearsed_p` is recorded cost that only counts against the budget. Of `run_p`, `unconfirmed_p` is for attempts without
    a reply, charged at their worst case, which may turn out unbilled. `attempts` are this command's, `paid_attempts` the
    run's that were charged. `known` is False when calls were made to a model without a price. `former_p` was spent under
    an id that the run had before; it counts against the budget.
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
        """What the run has cost, rehearsed cost included."""
        return self.run_p + self.rehearsed_p

    @property
    def left_p(self) -> int | None:
        """What is left of the budget; None without one."""
        if self.budget_p is None:
            return None
        return max(0, self.budget_p - self.charged_p - self.former_p)


@dataclass(frozen=True, slots=True)
class DecoyTally:
    """How decoys fared: preferred to a real answer, tied with one, beaten by one, or without a verdict.

    Of decoys that were rated: above one half, at it, below it, or without a verdict.
    """

    won: int
    tied: int
    lost: int
    abstained: int

    @property
    def asked(self) -> int:
        """Decoys that were judged."""
        return self.won + self.tied + self.lost + self.abstained


class StopKind(enum.StrEnum):
    """Why a run halted."""

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
    """Why a run halted, and the sentence to show."""

    kind: StopKind
    sentence: str


@dataclass(frozen=True)
class Outcome(Generic[T_co]):
    """How a run ended: the decision first.

    `winner` is the number of a system, or None when undecided. `labels` are all that were asked for, in the order
    asked, those that left the decision again included; `deciding` are the keys of the choices whose labels make the estimate. `ahead` were asked
    ahead of the stopping rule and never needed; `rounds` is how often answers were waited for.
    """

    winner: int | None
    estimate: Estimate[T_co]
    stop: StopReason
    labels: tuple[Label, ...]
    deciding: frozenset[Key]
    ahead: int = 0
    rounds: int = 0

    @property
    def asked(self) -> int:
        """Distinct choices put to the judge."""
        return len(self.labels)
