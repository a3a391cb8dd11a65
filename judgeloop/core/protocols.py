"""The interfaces (protocols) of selector, estimator, stopping rule, judge and system; what people are told of a run.

The contract tests in `tests/contracts/` check the implementations of
selector and judge against these docstrings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:  # `--help` must not wait for them
    import numpy as np

    from judgeloop.core import records
    from judgeloop.core.outcomes import Belief, Checked, Counted, StopKind, StopReason
    from judgeloop.core.records import Draws

Questions = Sequence[tuple[str, ...]]  # each: two systems to compare, or one system to rate
CLOSE = 10  # a forecast of so few more says no number
FEWER, LONGER = 4, 30  # nine of ten simulated runs decide between a quarter of what is foreseen and so many more

S = TypeVar("S")
T = TypeVar("T", bound="Counted")
T_contra = TypeVar("T_contra", bound="Counted", contravariant=True)


@dataclass(frozen=True, slots=True)
class SoFar:
    """How far a run is, as people see it: nothing of it says who leads.

    `asked` items were asked about, of at most `most`, and `skipped` of them have no verdict. Items with identical
    outputs, which nobody reads, are left out where they are known. Of the most, at most `again` are read again
    after the decision. `more` is about how many more decide, if it goes on like this, whatever the limit; 0 once
    they were asked and did not, and None if no number is known to. `usual` is the fewest that can decide in all,
    and how many do so on average, by what was known before the first answer; of these `usually_again` are second
    readings. `each_s` is about how many seconds a
    person takes for one, by the length of the texts; None if these are not known. `affords` is about how many the
    budget covers in all, if these are too few to decide as usual. `needs` is a limit with which most runs decide,
    where most end at this one without a decision; 0 if none is known to, and None elsewhere. `only_again` is how
    many that were skipped are asked again, where all else is known.
    """

    asked: int
    most: int
    more: int | None = None
    usual: tuple[int, int] | None = None
    skipped: int = 0
    each_s: float | None = None
    again: int = 0
    affords: int | None = None
    needs: int | None = None
    only_again: int = 0
    usually_again: int = 0

    @property
    def judged(self) -> int:
        """How many items have a verdict."""
        return self.asked - self.skipped

    def left(self, given: int = 0) -> int:
        """How many more may be asked, after so many answers `given` since."""
        return max(0, self.most - self.asked - given)

    def likely(self, given: int = 0) -> tuple[int, int] | None:
        """How few and how many more decide in most runs, after so many answers `given` since.

        A forecast of few says only that the decision may be near: one run in four then takes many times as many.
        None then, where the limit comes first, and where there is no forecast.
        """
        more, left = 0 if self.more is None else self.more - given, self.left(given) - self.again
        few = more // FEWER
        return None if more <= CLOSE or few >= left else (few, min(more + LONGER, left))

    def is_near(self, given: int = 0) -> bool:
        """Whether a decision is foreseen before the limit, after so many answers `given` since."""
        return self.more is not None and 0 < self.more - given < self.left(given) - self.again


class Selector(Protocol[S]):
    """Chooses the next items to judge.

    Pure: the same state and the same generator state give the same step.
    """

    @property
    def name(self) -> str:
        """The selector's name as typed on the command line."""

    @property
    def draws(self) -> Draws:
        """How the selector chooses: picks, or draws with known or with equal propensities."""

    def init(self, items: int, rng: np.random.Generator) -> S:
        """The state before the first step, for positions 0 to `items` - 1."""

    def ask(self, state: S, rng: np.random.Generator) -> tuple[records.Step | None, S]:
        """The next step and the state after it.

        The step is None once the pool is exhausted, or while the next step depends on answers that
        have not arrived. A position may enter again after it has left. Its label is then reused,
        and the judge is not asked again.
        """

    def tell(self, state: S, labels: Sequence[records.Label]) -> S:
        """The state after `labels` arrived; `labels` are in the order asked."""


@runtime_checkable
class Believer(Protocol):
    """A selector for many systems that keeps a belief about which of them is the best."""

    def belief(self, state: Any) -> Belief:
        """The belief at a state of this selector."""


class Estimator(Protocol[T]):
    """Turns labels into counts; does not decide."""

    def tally(self, labels: Sequence[records.Label], items: int) -> T:
        """Count `labels`, the labels in the decision, over a pool of `items` items."""

    def extended(self, tally: T, labels: Sequence[records.Label]) -> T:
        """`tally` with the labels of further whole steps, as if all were counted at once."""

    def exhausted(self, tally: T) -> StopReason:
        """The reason to halt when the selector has no further step."""


class StoppingRule(Protocol[T_contra]):
    """Decides whether the labels are enough to name a winner."""

    @property
    def name(self) -> str:
        """The rule's name as typed on the command line."""

    @property
    def guarantee(self) -> str | None:
        """A sentence on what the stated risk guarantees; None for a heuristic."""

    @property
    def needs_draws(self) -> bool:
        """True if the rule is valid only when each draw is uniform over the items not drawn yet."""

    @property
    def threshold(self) -> float:
        """The highest stated risk at which the leader is named the winner."""

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The kinds of halt at which the leader is named the winner."""

    def risk(self, tally: T_contra) -> float:
        """The stated risk in [0, 1] of naming the leader the winner; 1 without a leader."""

    def can_be_met(self, tally: T_contra, unknown: int) -> bool:
        """Whether verdicts on `unknown` further items could meet the rule.

        An implementation may check only the most favourable verdicts. While the result is False, a
        query about one more item is never wasted. So queries run in parallel without overspending.
        """

    def chance(self, tally: T_contra, more: int) -> float:
        """The probability that the rule stops within `more` further verdicts; roughly, given those of `tally`.

        What is asked ahead follows from it, and no decision. A rule that cannot tell says 1 where it can be met.
        """

    def interval(self, tally: T_contra) -> tuple[float, float] | None:
        """Bounds for what the labels estimate over all items.

        None if the rule computes no bounds.
        """

    def reason_to_stop(self, tally: T_contra) -> StopReason | None:
        """Why to stop: the rule is met, or more labels cannot help; None to continue."""


class Check(Protocol[T_contra]):
    """What may end a run undecided where its rule does not stop it."""

    def looks(self, tally: T_contra, unknown: int = 0) -> bool:
        """Whether the run may end once `unknown` further items are asked about."""

    def reason_to_stop(self, tally: T_contra) -> StopReason | None:
        """Why to stop; None to continue."""


class Further(Protocol):
    """What a run asks after its decision, which stays as it is."""

    def forget(self) -> None:
        """Begin anew, before any label."""

    def follow(self, labels: Sequence[records.Label]) -> None:
        """Take all labels so far, in the order asked; those of before are among them."""

    def ask(self, left: Sequence[records.Choice]) -> Sequence[records.Choice]:
        """Which choices of those `left` are asked next; none at the end.

        `left` are all that were not asked yet, in the order drawn.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """Makes one attempt at a verdict; its worst-case cost is known before the attempt."""

    @property
    def identity(self) -> records.JudgeIdentity:
        """The judge's identity, which is part of every verdict's key."""

    @property
    def order_matters(self) -> bool:
        """False if verdicts cannot depend on the order of presentation; then one order is asked."""

    @property
    def blind(self) -> bool:
        """True if the judge sees texts only; False if it looks systems up by their names."""

    @property
    def priced(self) -> bool:
        """False if a call costs money and judgeloop does not know the price."""

    @property
    def booked(self) -> bool:
        """False if all its verdicts are known beforehand: no ledger has to keep them."""

    @property
    def by_hand(self) -> bool:
        """True for a human judge, who has no time limit (`People`)."""

    def check(self, questions: Questions, items: Sequence[records.Item], max_missing: float) -> None:
        """Check before anything is spent that this judge can answer `questions` on `items`.

        `max_missing` is the highest accepted share of items without a verdict.

        Raises:
            InputError: it cannot; the message says what is missing.
        """

    def quote(self, call: records.Call) -> records.Quote:
        """An upper bound on tokens and cost of one attempt at `call`; computed offline."""

    async def judge(self, call: records.Call) -> records.Reply:
        """Make one attempt; the answer is about the systems in the order that `call` shows them.

        Raises:
            JudgeError: there is no reply; its `kind` says what happens next.
        """

    async def aclose(self) -> None:
        """Close connections."""


class System(Protocol):
    """Answers items when it is asked; its worst-case cost is known before the attempt."""

    @property
    def identity(self) -> records.JudgeIdentity:
        """Who answers, and all that is sent beside the item; part of the key of every output."""

    @property
    def label(self) -> str:
        """What results call it, unless the user names it; in no key."""

    @property
    def typed(self) -> str:
        """Its name as typed, by which the caller's settings name it."""

    @property
    def priced(self) -> bool:
        """False if a call costs money and judgeloop does not know the price."""

    @property
    def lasts(self) -> bool:
        """False if nothing says what is behind its name: outputs then serve their own run alone."""

    @property
    def longest_bytes(self) -> int:
        """A likely bound on the bytes of an output, while none is known."""

    @property
    def likely_bytes(self) -> int:
        """A guess at the bytes of an output, for forecasts."""

    @property
    def limit_is_default(self) -> bool:
        """True if outputs have a limit of tokens that the user did not choose."""

    @property
    def timeout_s(self) -> float | None:
        """The limit of an attempt, in seconds; None if the system keeps to one by itself."""

    @property
    def at_once(self) -> int | None:
        """How many attempts may be made at once; None if only the run's own limits say."""

    def sent(self, item: records.Item) -> object:
        """What it is told of an item, as a JSON value; part of the key of its output."""

    def quote(self, call: records.Call) -> records.Quote:
        """An upper bound on tokens and cost of one attempt at `call`; computed offline."""

    async def answer(self, call: records.Call) -> records.Reply:
        """Make one attempt; the reply's answer is an `Output`.

        Raises:
            JudgeError: there is no reply; its `kind` says what happens next.
        """

    def read(self, output: records.Output) -> records.Output:
        """An output as it is judged; the ledger has the whole text, as `answer` gave it."""

    async def aclose(self) -> None:
        """Close connections."""


@runtime_checkable
class People(Protocol):
    """A judge who is one person, or several."""

    @property
    def at_once(self) -> int:
        """How many calls they are given at one time."""

    def hear(self, standing: SoFar) -> None:
        """Take how far the run is, to show it."""

    def begin(self, run: str, folder: str, before: Sequence[tuple[records.Call, str]] = ()) -> None:
        """Know the run's id, before the first call, the folder of its ledger, and who answered calls `before`."""

    def lacks_money(self, lacks: bool) -> None:  # noqa: FBT001 - the one thing that it says
        """Know whether the next call waits for money that is set aside for those that they have."""

    def let_go(self) -> None:
        """Raise `ErrorKind.QUIT`, not billed, in the calls that nobody has in hand; more will come."""

    def checked(self) -> Sequence[Checked]:
        """What came of items with a known answer that people of this run were given among the others."""

    def leave(self, why: StopKind | None, *, left: bool = False) -> None:
        """Let go: settle what was answered, and raise `ErrorKind.QUIT`, not billed, in all other calls from now on.

        `why` the run halts, or ended without an answer; None if it has its end. `left` says whether second readings
        are that were asked for.
        """


@runtime_checkable
class Readied(Protocol):
    """A judge or a system that needs a client to send requests with."""

    def make_ready(self, calls: int) -> None:
        """Import and make what so many calls at one time need: a call that is noted as sent is then sent at once."""


@runtime_checkable
class Served(Protocol):
    """A judge or a system behind a server; those of one server and one key share their pace."""

    @property
    def server(self) -> tuple[str, str]:
        """The address and the key. It is never shown."""
