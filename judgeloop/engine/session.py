"""The session: which choices are asked next, what answers change, and when a run is over.

Pure: no clock, no network, no disk, no asyncio. The async driver (`loop.py`) and the synchronous
driver (`recorded.py`) run the same code.

Rules:

1. A driver calls `ask`, gets answers and calls `tell`, until nothing waits and `ask` returns nothing. It may call
   `ask` while answers are out, and tell those that are there.
2. `tell` takes the answers to the choices that wait, in the order asked, not that of arrival.
3. A driver may be unable to get all answers (no money, a failed judge, an interruption). It then
   tells only the answers before the first missing answer, and the reason to halt.
4. Answers are folded into the decision step by step. The stopping rule is evaluated after each
   whole step, never within a step.
5. A step is needed if the rule cannot be met by the steps before it, whatever their answers are
   (`StoppingRule.can_be_met`). All that are needed are asked, unless the selector waits for answers. So
   queries run in parallel at any concurrency, and no query is wasted.
6. Where there are places, further steps are asked ahead. They are folded only when the rule reaches them,
   so the decision is the same without them. How many is set, or follows from the rule's `chance` to
   stop before them (`Waste`): so many that few are wasted in the mean.
7. A choice that was asked is never asked again. A label that left the decision is still reported.
8. A halt is final.
9. After a decision, or an end without one that is no halt, `further` may ask more. Those labels
   change neither decision nor counts; too many items without a verdict among all asked cut it off.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Generic, NamedTuple, final

import numpy as np

from judgeloop.core.errors import InputError, SessionError
from judgeloop.core.outcomes import Ending, Estimate, StopKind, StopReason
from judgeloop.core.protocols import Believer, Check, Estimator, Further, Selector, StoppingRule, T
from judgeloop.core.records import MODELS_ABSTAIN, SKIPPED, Abstention, Answer, Choice, Draws, Key, Label, Step

# The keys of the labels in the decision, by position; the positions are in the order entered.
Active = dict[int, tuple[Key, ...]]

# The least number of items that shares of abstentions are of: a few early ones halt no run.
ABSTENTION_GRACE = 20
# Its own ends that are no answer.
BROKEN_OFF = frozenset({StopKind.ABSTENTIONS, StopKind.SYSTEM_FAILED, StopKind.JUDGE_FAILED})
WITHOUT_ANSWER = BROKEN_OFF | {StopKind.JUDGMENT_LIMIT, StopKind.POOL_EXHAUSTED}
# The share of the answers asked for that may turn out not to be needed, in the mean; the number where that is more.
WASTED, WASTED_OF_FEW = 0.05, 4
# A step that is so likely to be wasted, or more, is asked only together with others. These may take so much of what may
# be wasted.
LIKELY_WASTED, AT_A_TIME = 0.05, 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """Minimum and maximum number of judgments, and the highest accepted share of abstentions.

    The share is of `abstentions_of` judgments at least, so that a few early ones halt no run. `usual` says for what the
    maximum is the default, if it is. `held` are all maxima that held in the run, if it was changed: after how many
    draws which one began.
    """

    min_judgments: int = 5
    max_judgments: int = 200
    max_abstentions: float = MODELS_ABSTAIN
    abstentions_of: int = ABSTENTION_GRACE
    usual: str = ""
    held: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.min_judgments <= self.max_judgments:
            raise InputError(
                f"expected 1 ≤ `min_judgments` ≤ `max_judgments`, found {self.min_judgments} and {self.max_judgments}"
            )
        if not 0 <= self.max_abstentions <= 1:
            raise InputError(f"`max_abstentions` is a share between 0 and 1, found {self.max_abstentions}")


def check_draws(selector: Selector[Any], rule: StoppingRule[Any]) -> None:
    """Refuse a rule that needs uniform random draws, where the selector does not make them.

    Raises:
        InputError: says what to do instead.
    """
    if rule.needs_draws and selector.draws is not Draws.EVEN:
        does = "picks items" if selector.draws is Draws.PICKED else "prefers some items"
        raise InputError(
            f"the rule {rule.name!r} is valid only for uniform random draws, but the selector "
            f"{selector.name!r} {does}; use `selector=random`, or a rule that does not need "
            "uniform draws"
        )


@final
class Session(Generic[T]):
    """One run from the first choices to the outcome; `T` is the type of the estimator's counts."""

    def __init__(
        self,
        *,
        items: int,
        selector: Selector[Any],
        estimator: Estimator[T],
        rule: StoppingRule[T],
        limits: Limits,
        rng: np.random.Generator,
        ahead: int | None = 0,
        check: Check[T] | None = None,
        further: Further | None = None,
    ) -> None:
        """Begin a run on `items` items; at most `ahead` steps are asked ahead of the stopping rule.

        None is as many as will probably be needed. `check` may end a run where the rule does not. `further` says
        what is asked later, of uniform draws.

        Raises:
            InputError: the rule needs uniform random draws, and the selector does not make them.
        """
        check_draws(selector, rule)
        self._made_of: dict[str, Any] = {
            "items": items,
            "selector": selector,
            "estimator": estimator,
            "rule": rule,
            "limits": limits,
            "rng": copy.deepcopy(rng),
            "ahead": ahead,
            "check": check,
            "further": further,
        }
        self._items = items
        self._selector = selector
        self._estimator = estimator
        self.rule = rule
        self._check = check
        self._limits = limits
        self._rng = rng
        self.most_ahead = ahead
        self._further = further
        self._later: list[Label] = []  # the labels that `further` asked for
        self._cut: StopReason | None = None  # why it asked for no more
        self._state = selector.init(items, rng)
        self._labels: dict[Key, Label] = {}  # of whole steps, in the order asked
        self._active: Active = {}
        self._reached: set[Key] = set()  # keys of labels that ever entered the decision, or later
        self._abstained: list[Abstention] = []  # those among them
        self._tally = estimator.tally((), items)
        self._rounds = 0
        self._pending: deque[_Asked] = deque()  # steps that are not folded yet
        self._sure = 0  # so many of them are needed, whatever the answers to those before them
        self._queued: Queued | None = None  # these, until one is folded
        self._could = False  # whether answers to them could meet the rule
        self._waiting: deque[Choice] = deque()  # the choices without an answer, in the order asked
        self._told: list[Label] = []  # the answers to the first choices of the first step, while others are missing
        self._unneeded: list[Label] = []  # the answers to what was asked ahead
        self._left: list[Choice] = []  # choices of steps that were asked ahead, and not answered
        self._waste = Waste()
        self._stop: StopReason | None = None

    def anew(self) -> Session[T]:
        """The same session from its beginning, with the same draws."""
        if (further := self._made_of["further"]) is not None:
            further.forget()
        return Session(**self._made_of | {"rng": copy.deepcopy(self._made_of["rng"])})

    def ask(self, places: int = 0, *, free: bool = False, later: bool = True) -> tuple[Choice, ...]:
        """The choices to judge next, in order, beside those that wait for an answer.

        They are those that are needed, and then at most so many ahead as there are `places`; of answers that are
        `free` all of these. Once nothing waits and nothing is asked, the run is over. What `further` asks after that
        comes batch by batch, and only if a driver takes it (`later`): it has to tell all answers to a batch at once.
        """
        before = len(self._waiting)
        if self._stop is None:
            renewed = places > 0 and self._waste.renewed(self.asked)
            self._plan(places, free=free)
            if renewed:
                self._waste.known_at = self.asked + len(self._waiting)
        if later and self._stop is not None and self._further is not None and not self._waiting:
            self._waiting.extend(self._asks_further(self._further, self._stop))
        self._rounds += len(self._waiting) > before == 0
        return tuple(islice(self._waiting, before, None))

    @property
    def needed(self) -> int:
        """How many of the choices that wait are needed, whatever the answers to those before them are."""
        steps = islice(self._pending, max(1, self._sure))
        return sum(step.new for step in steps) - len(self._told)

    @property
    def over(self) -> bool:
        """Whether the run has ended; `further` may still ask."""
        return self._stop is not None

    @property
    def broken_off(self) -> StopKind | None:
        """Why it ended by itself without an answer: too many items have no verdict; None if it did not."""
        return self._stop.kind if self._stop is not None and self._stop.kind in BROKEN_OFF else None

    @property
    def without_answer(self) -> StopKind | None:
        """Why it ended by itself without an answer, at its limit, too; None if it did not."""
        kind = None if self._stop is None else self._stop.kind
        return kind if kind in WITHOUT_ANSWER - self.rule.decides_at else None

    @property
    def asks_further(self) -> bool:
        """Whether something may be asked after the decision."""
        return self._further is not None

    def tell(self, answers: Sequence[Answer], *, halt: StopReason | None = None) -> None:
        """Take the answers to the first of the choices that wait; after a `halt` no more are taken.

        Once the run is over, the others are left (`leave`).
        """
        if len(answers) > len(self._waiting):
            raise SessionError(f"{len(answers)} answers to {len(self._waiting)} choices")
        labels = [Label(self._waiting.popleft(), answer) for answer in answers]
        if halt is not None and self._further is not None:
            self._further, self._cut = None, halt
        if self._stop is not None:
            self._later += labels
            self._reach(labels)
            if (many := self._too_many_abstentions()) and self._further is not None:
                self._further, self._cut = None, many
            return
        self._told += labels
        self._waste.told()
        self._fold()
        if self._stop is None and halt is not None:
            self._labels.update((label.choice.key, label) for label in self._told)
            self._told, self._stop = [], halt
        if self._stop is not None:
            self._unneeded, self._told = self._told, []
            self._pending.clear()
            if halt is not None:
                self.leave(())

    def leave(self, answers: Sequence[Answer | None]) -> None:
        """Take the answers to the choices that waited when the run ended, if any: it ended without them."""
        for choice, answer in zip(self._waiting, (*answers, *[None] * len(self._waiting)), strict=False):
            if answer is None:
                self._left.append(choice)
            else:
                self._unneeded.append(Label(choice, answer))
        self._waiting.clear()

    def ahead(self) -> Iterator[Choice]:
        """Yield what the selector chooses next, as far as no answer changes it."""
        yield from self._left
        for step in self.draws():
            yield from step.choices

    def draws(self) -> Iterator[Step]:
        """Yield the steps that are asked next, as far as no answer changes them."""
        state, rng = self._state, copy.deepcopy(self._rng)
        while True:
            step, state = self._selector.ask(state, rng)
            if step is None:
                return
            yield step

    @property
    def estimate(self) -> Estimate[T]:
        """The estimate from the labels in the decision so far."""
        return Estimate(self._tally, self.rule.risk(self._tally), self.rule.interval(self._tally))

    @property
    def tally(self) -> T:
        """The counts of the labels in the decision so far."""
        return self._tally

    def risk(self, tally: T) -> float:
        """The stated risk of naming the leader of `tally`; it can take time."""
        return self.rule.risk(tally)

    @property
    def asked(self) -> int:
        """Number of choices with an answer so far, also of those that left the decision."""
        return len(self._labels) + len(self._told) + len(self._unneeded) + len(self._later)

    def ending(self) -> Ending[T]:
        """How the run ended.

        Raises:
            SessionError: the run is not over.
        """
        if self._stop is None:
            raise SessionError("the run is not over")
        estimate = self.estimate
        selector, decided = self._selector, self._stop.kind in self.rule.decides_at
        if self._stop.kind is StopKind.ALL_JUDGED:
            estimate = replace(estimate, risk=0.0)
        return Ending(
            winner=estimate.tally.leader if decided else None,
            estimate=estimate,
            stop=self._stop,
            labels=tuple(self._labels.values()),
            deciding=frozenset(key for keys in self._active.values() for key in keys),
            ahead=len(self._unneeded),
            rounds=self._rounds,
            belief=selector.belief(self._state) if isinstance(selector, Believer) else None,
            further=tuple(self._later),
            cut=None if self._cut is self._stop else self._cut,
        )

    def _asks_further(self, further: Further, stop: StopReason) -> list[Choice]:
        """What is asked after the decision: of the choices not asked, in the order drawn."""
        if stop.kind in BROKEN_OFF:
            return []
        if self._unneeded:
            self._later, self._unneeded = self._unneeded + self._later, []
        known = [*self._labels.values(), *self._later]
        further.follow(known)
        keys = {label.choice.key for label in known}
        left = [choice for choice in self.ahead() if choice.key not in keys]
        return list(further.ask([replace(choice, propensity=None) for choice in left]))

    def _plan(self, places: int, *, free: bool) -> None:
        """Queue the steps that are needed, then some ahead while there are `places`.

        Queues fewer if the selector has no further step, or at the limit on judgments. If nothing
        is queued then, the run halts.
        """
        before, keys = len(self._waiting), {choice.key for choice in self._waiting}
        keys.update(label.choice.key for label in self._told)
        while self._stop is None:
            room = places - (len(self._waiting) - before)
            goes_ahead = room > 0 and self._may_go_ahead(room, free=free)
            if not goes_ahead and self._could_stop():
                return
            step, state = self._selector.ask(self._state, self._rng)
            if step is None:
                if not self._pending:
                    stop = self._estimator.exhausted(self._tally)
                    # The rule may be met with fewer judgments than the minimum, as no more can be made.
                    self._stop = stop if stop.kind is StopKind.ALL_JUDGED else self._settled(at_least=0) or stop
                return
            new = [choice for choice in step.choices if choice.key not in self._labels and choice.key not in keys]
            most = self._limits.max_judgments
            if self.asked + len(self._waiting) + len(new) > most:
                if not self._pending:
                    usual = f" ({self._limits.usual})" if self._limits.usual else ""
                    reached = f"the limit of {most:,} judgments{usual} is reached"
                    takes = (
                        f"the next round takes {len(new):,}, and {most - self.asked:,} of {most:,} judgments are left"
                    )
                    said = reached if self.asked >= most else f"{takes}{usual}"
                    self._stop = StopReason(StopKind.JUDGMENT_LIMIT, said)
                return
            self._state = state
            self._pending.append(_Asked(step, len(new)))
            self._waiting.extend(new)
            keys.update(choice.key for choice in new)
            self._fold()  # every choice in the first step may already have a label

    def _may_go_ahead(self, room: int, *, free: bool) -> bool:
        """Whether one more step may be asked ahead of the stopping rule.

        With a set number, that many after the steps that are needed; of answers that are `free` all; else as many as
        `Waste` allows.
        """
        if not self._pending or self.most_ahead == 0:
            return False
        if self.most_ahead is not None:
            return self._could_stop() and len(self._pending) - self._sure < self.most_ahead
        if free:
            return True
        chance = 1.0 if self._check is not None else self.rule.chance(self._tally, len(self._pending))
        asked_for, new = self.asked + len(self._waiting), self._pending[-1].new
        return self._waste.allows(chance, new, asked_for, partial(self._fits, room, chance))

    def _fits(self, room: int, chance: float, most: float) -> bool:
        """Whether all steps up to the limit have room, and probably waste no more than so many answers.

        The probability that a step is wasted grows from the `chance` of the next one to that of the last.
        """
        rest = min(self._limits.max_judgments, self._items) - self.asked - len(self._waiting)
        if self._check is not None or not 0 < rest <= room:
            return False
        return rest * (chance + self.rule.chance(self._tally, len(self._pending) + rest)) / 2 <= most

    def _could_stop(self) -> bool:
        """Whether answers to the queued steps could meet the rule; notes how many of them are needed."""
        if self._queued is None:
            self._queued, self._could = Queued(self._active, self._labels), False
        while not self._could and self._queued.steps < len(self._pending):
            self._queued.take(self._pending[self._queued.steps].step)
            if self._queued.steps >= self._sure:
                self._sure, self._could = self._queued.steps, self._could_stop_after(self._queued)
        return self._could

    def _could_stop_after(self, queued: Queued) -> bool:
        if queued.positions < self._limits.min_judgments:
            return False
        tally = self._tally if queued.only_adds else self._tally_of(queued.active)
        checked = self._check is not None and self._check.looks(tally, queued.unknown)
        return checked or self.rule.can_be_met(tally, queued.unknown)

    def _fold(self) -> None:
        """Fold the steps with all their answers into the decision, and evaluate the rule after each.

        Ends at the first step with a missing answer, or at a reason to stop.
        """
        while self._pending and self._stop is None and self._pending[0].new <= len(self._told):
            asked, self._queued = self._pending.popleft(), None
            self._sure = max(0, self._sure - 1)
            labels, self._told = self._told[: asked.new], self._told[asked.new :]
            self._labels.update((label.choice.key, label) for label in labels)
            if labels:
                self._state = self._selector.tell(self._state, labels)
            self._enter(asked.step)
            self._stop = self._settled() or self._too_many_abstentions()

    def _enter(self, step: Step) -> None:
        """Fold one step into the decision and the counts."""
        labels = [self._labels[choice.key] for choice in step.choices]
        further = not step.leave and all(choice.key not in self._reached for choice in step.choices)
        take(step, self._active)
        self._tally = self._estimator.extended(self._tally, labels) if further else self._tally_of(self._active)
        self._reach(labels)

    def _reach(self, labels: Iterable[Label]) -> None:
        """Count labels among those that came into the decision, or after it."""
        for label in labels:
            if label.choice.key not in self._reached and isinstance(label.answer, Abstention):
                self._abstained.append(label.answer)
            self._reached.add(label.choice.key)

    def _tally_of(self, active: Active) -> T:
        """Count the known labels of the decision `active`."""
        known = [self._labels[key] for keys in active.values() for key in keys if key in self._labels]
        return self._estimator.tally(known, self._items)

    def _settled(self, at_least: int | None = None) -> StopReason | None:
        """Why the rule or the check stops; None with fewer than `at_least` judgments."""
        at_least = self._limits.min_judgments if at_least is None else at_least
        if min(len(self._active), self._tally.judged) < at_least:
            return None
        stop = self.rule.reason_to_stop(self._tally)
        return stop or (self._check.reason_to_stop(self._tally) if self._check else None)

    def _too_many_abstentions(self) -> StopReason | None:
        reached, lacking = len(self._reached), self._abstained
        if len(lacking) <= self._limits.max_abstentions * max(reached, self._limits.abstentions_of):
            return None
        few = f"more than {100 * self._limits.max_abstentions:.0f} %"
        items, last = len({position for position, *_ in self._reached}), lacking[-1].reason
        of = f"{len(lacking):,} of {reached:,} {'items' if items == reached else 'judgments'}"
        of += f" ({items:,} item{'s' * (items > 1)})" if items < reached else ""
        if all(one.failed for one in lacking):
            said = f"the judge failed: all attempts at {of} failed, {few}; the last: {last.removeprefix('failed: ')}"
            return StopReason(StopKind.JUDGE_FAILED, said)
        of_systems = all(one.of_system for one in lacking)
        kind = StopKind.SYSTEM_FAILED if of_systems else StopKind.ABSTENTIONS
        why = "" if last == SKIPPED else f"; the last reason: {last}"
        return StopReason(kind, f"no verdict on {of}, {few}{why}")


@final
class Waste:
    """How many answers that are asked for ahead may turn out not to be needed.

    The probability p that the rule stops before a step is reached is summed up for all that were asked. The sum is the
    expected number of wasted answers, whatever the pace: each p is known when its step is asked. It is kept at `WASTED`
    of the answers asked for, or `WASTED_OF_FEW` where that is more.

    Steps that are likely to be wasted are asked together, and again once all that waited then have their answers: so
    each is asked knowing as much as it can. They take a share of what may be wasted, and the rest is left for later,
    if there is a later: where all that the limit allows would probably waste no more, all are asked.
    """

    def __init__(self) -> None:
        """Nothing was asked ahead."""
        self.known_at = 0  # with so many answers, all that waited with the likely waste are told
        self._expected = 0.0
        self._likely: float | None = 0.0  # so much more of likely waste until the next answer; None for the share

    def renewed(self, answers: int) -> bool:
        """Whether steps that are likely to be wasted may be asked again, with so many answers told."""
        if answers < self.known_at:
            return False
        self._likely = None
        return True

    def told(self) -> None:
        """An answer changes what is known: likely waste waits for the others."""
        self._likely = 0.0

    def allows(self, chance: float, new: int, asked_for: int, rest_fits: Callable[[float], bool]) -> bool:
        """Whether a step of so many `new` choices, wasted with this `chance`, is asked now; it counts if it is.

        `rest_fits` says whether all steps up to the limit probably waste no more than so many answers.
        """
        wasted, left = chance * max(1, new), max(WASTED_OF_FEW, WASTED * asked_for) - self._expected
        if chance >= LIKELY_WASTED:
            if self._likely is not None:
                left = self._likely
            elif not rest_fits(left):
                left *= AT_A_TIME
            self._likely = left - min(wasted, left)
        allowed = wasted <= left
        self._expected += wasted if allowed else 0.0
        return allowed


class _Asked(NamedTuple):
    """A step that was asked, and how many of its choices were not asked before."""

    step: Step
    new: int


@final
class Queued:
    """Steps without answers, on top of the decision `active`.

    Counts what the stopping rule needs to know of them, in constant time for each step.
    """

    def __init__(self, active: Active, labels: Mapping[Key, Label]) -> None:
        """Begin without steps; neither `active` nor `labels` changes while steps are queued."""
        self.only_adds = True  # whether the steps only add choices without an answer
        self._decision = active
        self._labels = labels
        self._steps: list[Step] = []
        self._further: set[int] = set()  # positions that only the steps bring into the decision
        self._unknown: set[int] = set()  # positions of the decision with a choice without an answer
        self._after: Active | None = None

    def take(self, step: Step) -> None:
        """Add a step."""
        self._steps.append(step)
        self._unknown.difference_update(step.leave)
        self.only_adds = self.only_adds and not step.leave
        for choice in step.choices:
            if choice.key in self._labels:
                self.only_adds = False
            else:
                self._unknown.add(choice.position)
            if choice.position not in self._decision:
                self._further.add(choice.position)
        if self._after is not None:
            take(step, self._after)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self._steps)

    @property
    def positions(self) -> int:
        """Number of positions in the decision after the steps."""
        if self.only_adds:
            return len(self._decision) + len(self._further)
        return len(self.active)

    @property
    def unknown(self) -> int:
        """Number of these positions with a choice without an answer."""
        return len(self._unknown)

    @property
    def active(self) -> Active:
        """The decision after the steps."""
        if self._after is None:
            self._after = dict(self._decision)
            for step in self._steps:
                take(step, self._after)
        return self._after


def take(step: Step, active: Active) -> None:
    """Remove the positions that leave with `step` from `active`, and add its choices."""
    for position in step.leave:
        active.pop(position, None)
    for choice in step.choices:
        keys = active.get(choice.position, ())
        active[choice.position] = keys if choice.key in keys else (*keys, choice.key)
