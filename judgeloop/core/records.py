"""The frozen records that the folders pass to each other: items, the pool of them, queries, answers, labels.

They hold and validate values. What a win and a tie are (`preference`, `as_score`) is said here and nowhere else. Units
are in the field names or docstrings. Money is in integer picodollars (`core/money.py`). The choices by name, which
settings, catalogues and the engine share, stand first. What a run finds is in `outcomes.py`.
"""

from __future__ import annotations

import enum
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, overload

from judgeloop.core.ends import OutputEnd
from judgeloop.core.thoughts import answer_of, holds_thoughts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Order(enum.StrEnum):
    """How a comparison is shown to a judge."""

    BOTH = "both"  # a call in each order, the second if it matters; a tie if they disagree
    RANDOM = "random"  # one call; the order depends on the seed and the item's id
    FIXED = "fixed"  # one call, in the order given

    @property
    def draws_order(self) -> bool:
        """Whether the verdict is that of one order, drawn for each item."""
        return self is Order.RANDOM


class Vote(enum.StrEnum):
    """How a panel decides."""

    MAJORITY = "majority"  # the preference of more than half of the verdicts, else a tie
    MEAN = "mean"  # the mean of the scores
    UNANIMOUS = "unanimous"  # the preference of all verdicts, else a tie


class Population(enum.StrEnum):
    """The items that a decision is about."""

    THESE_ITEMS = "items"  # the items of the set, judged or not; nothing beyond them
    ITEMS_LIKE_THESE = "like-these"  # what the set is a random sample of


class Groups(enum.StrEnum):
    """What is done with the groups of items, each tested by itself."""

    REPORT = "report"
    REQUIRE = "require"  # in none may the second system be shown to be worse


class Draws(enum.IntEnum):
    """How a selector makes its choices, from the least to the most useful for statistics."""

    PICKED = 0  # without propensities: deterministic, so samples are biased
    KNOWN = 1  # at random, each choice with a known propensity
    EVEN = 2  # at random, all items not drawn yet with the same propensity


class Shown(enum.StrEnum):
    """Of which judged items a report shows prompt, outputs and reason."""

    ALL = "all"
    LOST = "lost"  # those that the candidate lost
    NONE = "none"


NOBODY = -1  # in the place of the number of a judge
TIE = 0.5  # the score of a verdict that prefers neither system
ROUNDING = 1e-12  # so that decimal scores that differ by exactly the margin tie
SKIPPED = "skipped"  # why a person gave no verdict who gives no reason
IDENTICAL = "the outputs are identical"  # the reason of a tie that no judge is asked about
FOR_A, FOR_B = " for A", " for B"  # behind a judge's figures of the output that it saw first, and of the other
PAIR = 2  # systems, of which each item has one judgment
ONE_SYSTEM = (0,)  # systems of a choice that rates a single system
TWO_SYSTEMS = (0, 1)  # systems of a choice that compares two systems
About = tuple[str, tuple[str, ...]]  # an item's id and the systems that are judged on it


@dataclass(frozen=True, slots=True)
class Item:
    """An input of the test set.

    `messages` holds the turns of a prompt that is a conversation, each a role and a text; a system
    that answers live gets these. `prompt` is the same as one text, for judges. `columns` holds what
    else such a system may be told, by the names of the file's columns: JSON values. Items of one `family` are no
    independent draws, such as the segments of a document (`Pool.families`). `place` is where an item without an id of
    its own stands in its file.
    """

    id: str
    prompt: str
    reference: str | None = None
    group: str | None = None
    messages: tuple[tuple[str, str], ...] = ()
    columns: Mapping[str, object] = field(default_factory=dict, hash=False)
    family: str | None = None
    place: str = field(default="", compare=False)


class SecondReading(NamedTuple):
    """That people read a query after its decision: the `same` person as before, or another.

    `by` is who answered first; empty if that is not known.
    """

    by: str
    same: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """An item and the systems to judge on it: two for a comparison, one for a rating.

    `missing` holds the places of the outputs that a live system has not given yet; their texts are
    empty.
    `alone` is the number of the only judge that is asked, in the order given; None for all judges, and
    `NOBODY` if the outputs alone are wanted. `by_proxy` is True where the proxy is asked. `reading` is
    None for the verdict that may decide.
    """

    item: Item
    systems: tuple[str, ...]
    outputs: tuple[str, ...]
    missing: tuple[int, ...] = ()
    alone: int | None = None
    by_proxy: bool = False
    reading: SecondReading | None = None

    @property
    def about(self) -> About:
        """The item's id and the systems."""
        return self.item.id, self.systems


@dataclass(frozen=True, slots=True)
class Call:
    """One request: to a judge, about a query in one order of presentation; or to a system.

    The judge sees `outputs[0]`, the output of `systems[0]`, first. A system sees the item alone,
    and there are no outputs. `reading` is as in the query.
    """

    item: Item
    systems: tuple[str, ...]
    outputs: tuple[str, ...]
    reading: SecondReading | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a call.

    `input_tokens` includes cached tokens, `output_tokens` includes `reasoning_tokens`, which are
    thoughts before the answer.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The tokens of both."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


NO_TOKENS = Usage(0, 0)


@overload
def preference(apart: float, margin: float = 0.0) -> int: ...
@overload
def preference(apart: NDArray[np.float64], margin: float = 0.0) -> NDArray[np.int64]: ...
def preference(apart: float | NDArray[np.float64], margin: float = 0.0) -> int | NDArray[np.int64]:
    """1 if the first of two is better, -1 if the second is, 0 for a tie.

    `apart` is the first one's score less the second's. It is a tie if they differ by at most `margin`, and where one
    is not a number.

    >>> preference(0.3 - 0.1), preference(0.3 - 0.1, 0.2), preference(0.1 - 0.4, 0.2)
    (1, 0, -1)
    """
    least = margin + ROUNDING
    return (apart > least) * 1 - (apart < -least) * 1


FIRST, SECOND, NEITHER = "first", "second", "neither"  # what a decision model chooses from in a comparison
CRITERION = "."  # parts the name of a criterion from its option, among the probabilities of a verdict
# The share of items that may be without a verdict, unless the user says another: a model that gives none is broken, a
# person skips what is not theirs to judge.
MODELS_ABSTAIN, PEOPLE_SKIP = 0.05, 0.3
DECISION_MARGIN = 0.05  # within which its probabilities of both are a tie, unless the user says another


def leaning(shares: Mapping[str, float], margin: float) -> int:
    """As `preference`, of the probabilities of `FIRST`, `SECOND` and `NEITHER`, which may not quite add up to 1.

    The mean of their scores would not do: `NEITHER` is a tie where it is the most probable, whatever the others are.

    >>> leaning({"first": 0.11, "second": 0.04, "neither": 0.85}, 0.05), leaning({"first": 0.6, "second": 0.4}, 0.05)
    (0, 1)
    """
    found = [shares.get(option, 0.0) for option in (FIRST, SECOND, NEITHER)]
    first, second, neither = (share / sum(found) for share in found)
    return 0 if neither >= max(first, second) else preference(first - second, margin)


def as_score(preferred: int) -> float:
    """The score of a verdict with this preference: 1, 0.5 or 0."""
    return TIE + preferred / 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's answer: a score in [0, 1].

    In a comparison 1 means that the first system is better, 0 the second, 0.5 a tie. In a rating it
    is the score of the system. `both` is True when it was asked in both orders of presentation.
    `flipped` is True when they disagreed. The verdict is a tie for that reason. But if the second
    order was only a check, it is that of the first call. `votes` holds
    the scores of a panel's judges, None for an abstention. `swapped` is True when the call whose
    reason this is showed the second system first; None if those of a panel's judges differ. If the orders
    disagreed, `other_reason` is that of the call in the other order. `place` is then 1 if both preferred the output
    shown first, and -1 for the second. `probabilities` are those that a decision
    model gave its options. `criteria` are the scores by single criteria, if there are any. A verdict of a ledger also
    says which `model` answered, and when (`at`, ISO 8601, UTC).
    """

    score: float
    reason: str = ""
    flipped: bool = False
    votes: tuple[float | None, ...] = ()
    both: bool = False
    swapped: bool | None = field(default=False, compare=False, repr=False)
    other_reason: str = field(default="", compare=False, repr=False)
    probabilities: Mapping[str, float] | None = field(default=None, compare=False, repr=False)
    criteria: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    model: str = field(default="", compare=False, repr=False)
    at: str = field(default="", compare=False, repr=False)
    place: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a verdict's score lies in [0, 1], not {self.score!r}")

    @property
    def graded(self) -> float | None:
        """By how much a decision model preferred the first, in [0, 1]; None of another judge.

        It is the first one's probability and half of that of a tie. It decides nothing. A rating is graded itself.
        """
        if FIRST not in (shares := self.probabilities or {}):
            return None
        first, second, neither = (shares.get(option, 0.0) for option in (FIRST, SECOND, NEITHER))
        return (first + neither / 2) / (first + second + neither)

    @property
    def preference(self) -> int:
        """1 for a score above 0.5 (the first system), -1 below (the second), 0 for a tie."""
        return preference(self.score - TIE)


@dataclass(frozen=True, slots=True)
class Abstention:
    """No verdict: refused, unparsable, truncated or missing. Never a score and never a tie.

    `again` is True when another attempt is likely to bring a verdict. `changed` is True when that
    attempt sends another request, so that it does not count as asking the same again. `truncated`
    is True when the reply reached the limit of tokens, and `too_long` when the texts are too long to be
    judged. `of_system` is True when a system gave no output, so that no judge could be asked, and `failed`
    when every attempt at the call failed.
    """

    reason: str
    again: bool = False
    changed: bool = False
    truncated: bool = False
    too_long: bool = False
    of_system: bool = False
    failed: bool = False


Answer = Verdict | Abstention


@dataclass(frozen=True, slots=True)
class Output:
    """What a system that answers live gave for an item.

    - `text`: the text to judge; None if the system failed by itself, and `failed` says how: a
      filter blocked it, or its thoughts used up the limit.
    - `ended`: how the text ended.
    - `cost_p`: its price in picodollars. `tokens`: of the output, None if not reported.
    - `seconds`: from the request to the end of the reply. `model`: as the server named it.
    - `at`: when it was recorded (ISO 8601, UTC); empty while it is not. `fresh`: True if this
      command asked for it.
    """

    text: str | None
    failed: str = ""
    ended: OutputEnd = OutputEnd.WHOLE
    cost_p: int = 0
    tokens: int | None = None
    seconds: float = 0.0
    model: str = ""
    at: str = ""
    fresh: bool = field(default=False, compare=False)


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
    """The result of an attempt: an answer or an output, and its cost, in picodollars.

    `cost_p` is None when the reply does not report its usage; the worst case is charged then.
    `breach` says how the reply contradicts the quote, empty if it does not: the reply is booked,
    and then the run stops. `saved_p` is what the provider's cache of prompts took off the cost; it
    is negative where writing to the cache cost more. Where a person answered, `person` says who, and `seconds`
    in what time.
    """

    answer: Answer | Output
    cost_p: int | None
    usage: Usage | None = None
    model: str = ""
    request_id: str = ""
    breach: str = ""
    saved_p: int = 0
    person: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Everything about a judge that can change a verdict; part of every verdict's key.

    `parameters` holds what matters beside the model: prompt hash, parser version, endpoint,
    sampling parameters. `mark` separates provider and model in the name and is in no key.
    """

    provider: str
    model: str
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    mark: str = field(default="/", compare=False)

    @property
    def name(self) -> str:
        """The judge's name as typed: `openai/gpt-4.1`, `metric:rouge2`, `human`."""
        return f"{self.provider}{self.mark}{self.model}" if self.model else self.provider


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


MARKS = " .,;:!?\"'…\u3002\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"  # at the ends of a prompt, they make no other; "+" or "#" may
UNSEEN = str.maketrans("", "", "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")


def folded(prompt: str) -> str:
    """A prompt as it is compared with others: without what changes nothing of what it asks.

    >>> folded("What is it?"), folded(" what  IS it ?!"), folded("?")
    ('what is it', 'what is it', '?')
    """
    seen = prompt if prompt.isascii() else unicodedata.normalize("NFKC", prompt).translate(UNSEEN)
    words = " ".join(seen.casefold().split())
    return words.strip(MARKS) or words


# The number of items that stands for a population without end, from which the pool was drawn.
UNLIMITED = 10**12
USUAL_FLIPS = 0.5  # of the verdicts of a gate; a judge with more contradicts itself more often than not


@dataclass(frozen=True, slots=True)
class Pool:
    """Items, and each system's output on each item: `outputs[system][position]`.

    `live` holds the systems that answer when they are asked. The outputs that they have not given
    are empty, and `known` holds the positions of those that they have, by system. `ends` says how outputs ended that
    are not whole, by system and position.
    """

    items: tuple[Item, ...]
    systems: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]
    live: tuple[int, ...] = ()
    known: Mapping[int, frozenset[int]] = field(default_factory=dict)
    ends: Mapping[tuple[int, int], OutputEnd] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.systems) != len(self.outputs):
            raise ValueError(f"{len(self.systems)} systems but {len(self.outputs)} sets of outputs")
        if any(len(texts) != len(self.items) for texts in self.outputs):
            raise ValueError("every system needs one output for each item")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the members of each family, in the order of the items.

        A family is what the items say, and an item that says nothing is one of its own. Where no item says
        anything, those with the same prompt are a family (`folded`). A copy of an item with the same outputs is of
        that item's family, whatever the items say.
        """
        said = any(item.family for item in self.items)
        found: dict[str | int, list[int]] = {}
        first: dict[tuple[str, ...], str | int] = {}  # the family of the first item with a prompt and outputs
        for place, item in enumerate(self.items):
            prompt = folded(item.prompt)
            name = (item.family if said else prompt) or place
            texts = [outputs[place] for outputs in self.outputs]
            if said and prompt and texts and all(texts):
                name = first.setdefault((prompt, *texts), name)
            found.setdefault(name, []).append(place)
        return tuple(map(tuple, found.values()))

    def only(self, ids: Collection[str]) -> Pool:
        """The part with these items, as if all outputs were given."""
        places = [place for place, item in enumerate(self.items) if item.id in ids]
        return Pool(
            tuple(self.items[place] for place in places),
            self.systems,
            tuple(tuple(texts[place] for place in places) for texts in self.outputs),
            ends={
                (system, new): self.ends[system, old]
                for new, old in enumerate(places)
                for system in range(len(self.systems))
                if (system, old) in self.ends
            },
        )

    def most_repeated(self, system: int) -> int:
        """On how many items a system gave its most frequent output."""
        return max(Counter(self._given(system)).values(), default=0)

    def count_empty(self, system: int) -> int:
        """On how many items the output of a system has no text."""
        return sum(not output.strip() for output in self._given(system))

    def count_thoughts(self, system: int) -> tuple[int, int]:
        """How many outputs of a system hold thoughts, and how many of these have no answer behind them."""
        thinking = [output for output in self._given(system) if holds_thoughts(output)]
        return len(thinking), sum(not answer_of(output) for output in thinking)

    def count_ends(self, system: int) -> dict[str, int]:
        """How many outputs of a system ended in which way, but for whole ones."""
        counts = Counter(end for (of, _), end in self.ends.items() if of == system)
        return {str(end): counts[end] for end in OutputEnd if counts[end]}

    def query(self, position: int, systems: tuple[int, ...] = (0, 1)) -> Query:
        """The query on the item at `position`: compares two `systems`, or rates one."""
        return Query(
            item=self.items[position],
            systems=tuple(self.systems[system] for system in systems),
            outputs=tuple(self.outputs[system][position] for system in systems),
            missing=tuple(
                place
                for place, system in enumerate(systems)
                if system in self.live and position not in self.known.get(system, ())
            ),
        )

    def _given(self, system: int) -> Sequence[str]:
        """The outputs of a system that are known."""
        outputs = self.outputs[system]
        if system not in self.live:
            return outputs
        return [outputs[position] for position in sorted(self.known.get(system, ()))]
