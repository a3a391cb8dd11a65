"""Which model answers for a judge, and whose verdicts count for it.

A server may put another model behind the same name, so what is known of a judge is known of the model that its replies
name; a reply without a name counts as the name asked for. Where one model alone counts, this is the one that is pinned,
or that the first reply of this command names, or, if nothing is asked, that of the newest verdict that is used, but for
controls. A remembered verdict of another is left where it is, and asked again under a key of its own, in its turn. If
yet another answers then, the next asking has a further key. Pure.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, final

from judgeloop.core.outcomes import AnsweredBy, StopKind, StopReason
from judgeloop.core.protocols import Judge
from judgeloop.core.records import About, Query, Verdict
from judgeloop.engine.asks import Ask, Planned
from judgeloop.engine.state import OneModel

# Halts a pass of which some verdicts do not count. The run begins anew, and asks nothing twice of one model.
ANEW = StopReason(StopKind.JUDGE_CHANGED, "another model answers now")


class Used(NamedTuple):
    """A verdict that was used: of which model, from when (ISO 8601, UTC), whether of a control, or asked again.

    `about` are the items and systems of the queries that it answers.
    """

    model: str
    at: str
    control: bool
    again: bool
    about: frozenset[About] = frozenset()


@final
class AnsweringModel:
    """What is known of the model that answers for one judge.

    `model` is the one whose verdicts count; empty while it is not known, or where all count. `one`: whether those of
    one model alone count.
    """

    def __init__(self, judge: Judge, demand: OneModel | None) -> None:
        """All verdicts count without a `demand`."""
        self.judge = judge.identity
        self.model = demand.model if demand else ""
        self.one, self._pinned = demand is not None, bool(demand and demand.pinned)
        self._settled = self._pinned  # by a reply of this command, or by the caller
        self.supposed = ""  # whose controls said which try is next, while the model was not known
        self.used: dict[str, Used] = {}  # by key
        self.before: dict[str, str] = {}  # whose verdict was there already, by the key under which it is asked again

    def name_of(self, model: str) -> str:
        """The name of a model; the one asked for where a reply has none."""
        return model or self.judge.model or self.judge.provider

    @property
    def stale(self) -> bool:
        """Whether something was used that does not count for the model that is known by now."""
        if not (self.one and self.model):
            return False
        return self.supposed not in {"", self.model} or any(one.model != self.model for one in self.used.values())

    def counts(self, verdict: Verdict) -> bool:
        """Whether a remembered verdict counts, as far as it is known."""
        return not (self.one and self.model) or self.name_of(verdict.model) == self.model

    @property
    def present(self) -> str:
        """The model whose verdicts count, or whose was used last; empty for none."""
        last = max(self.used.values(), key=lambda one: one.at, default=None)
        return self.model or (last.model if last else "")

    def supposes(self, last: str | None) -> None:
        """Take the model that answered `last`, in any run, to be the one that answers, until that is known."""
        self.supposed = "" if last is None else self.name_of(last)

    def uses(self, ask: Ask, verdict: Verdict, query: Query) -> None:
        """Note a verdict that is used for the answer to a query."""
        again, control = bool(ask.ingredients.again_of), query.alone is not None
        about = {query.about} | (self.used[ask.key].about if ask.key in self.used else set())
        self.used[ask.key] = Used(self.name_of(verdict.model), verdict.at, control, again, frozenset(about))

    @property
    def again(self) -> list[str]:
        """The keys of the verdicts, but for controls, that were asked again, as another model had given them."""
        return [key for key, one in self.used.items() if one.again and not one.control]

    @property
    def superseded(self) -> dict[str, int]:
        """How many verdicts of which models were asked again, but for controls."""
        return dict(Counter(self.before[key] for key in self.again if key in self.before))

    def replies(self, model: str) -> StopReason | None:
        """Take the name in a reply; return why the run cannot go on with it, None if it can."""
        if not self.one:
            return None
        name, before = self.name_of(model), self.model
        if self._settled and name != before:
            shown = self.judge.name
            if self._pinned:
                return StopReason(
                    StopKind.OTHER_MODEL, f"{shown} answers as {name}, and `judge_model` asks for {before}"
                )
            why = f"the judge changed during the run: {shown} answered as {before}, then as {name}"
            return StopReason(StopKind.JUDGE_CHANGED, why)
        self.model, self._settled = name, True
        return ANEW if self.stale or before not in {"", name} else None

    def settle(self, *, failed: bool) -> None:
        """Where nothing was asked, the newest verdict that was used says whose count; a control only without others.

        A model that has had its controls elsewhere may have judged nothing here. After a `failed` test it is the one
        whose try this was.
        """
        if self.one and not self.model and self.used:
            newest = max(self.used.values(), key=lambda one: (not one.control, one.at)).model
            self.model = (failed and self.supposed) or newest

    def forget(self) -> None:
        """Forget what was used, before the run begins anew."""
        self.used.clear()
        self.supposed = ""

    def figures(self, needed: set[About]) -> tuple[AnsweredBy, ...]:
        """The models whose verdicts count, but for controls, the oldest first; () where no reply had a name.

        They count where they are about what was `needed`. Not one that came after the decision, of a model that
        answered too late to end the run.
        """
        by_model: dict[str, list[str]] = {}
        for one in self.used.values():
            counts = not one.control and needed & one.about
            if counts and not (self.one and self.model and one.model != self.model):
                by_model.setdefault(one.model, []).append(one.at)
        if by_model.keys() <= {self.name_of("")}:
            return ()
        found = (AnsweredBy(model, len(at), min(at), max(at)) for model, at in by_model.items())
        return tuple(sorted(found, key=lambda one: (one.first, one.model)))


def of_one_model(planned: Planned, known: Mapping[str, object], answering: Sequence[AnsweringModel]) -> Planned:
    """A plan whose remembered verdicts of models that do not count are asked again, under keys of their own."""
    again: dict[str, str] = {}
    asks = []
    for ask in planned.asks:
        verdict, judge = known.get(ask.key), answering[ask.judge]
        own = replace(ask, after=again[ask.after]) if ask.after in again else ask
        if isinstance(verdict, Verdict) and not judge.counts(verdict):
            before = ask.ingredients.again_of
            ingredients = replace(ask.ingredients, again_of=f"{before}, again" if before else judge.model)
            own = replace(own, key=ingredients.key, ingredients=ingredients)
            again[ask.key] = own.key
            judge.before[own.key] = judge.name_of(verdict.model)
        asks.append(own)
    return replace(planned, asks=tuple(asks)) if again else planned


async def replanned(
    plans: Sequence[Planned],
    answering: Sequence[AnsweringModel],
    look_up: Callable[[set[str]], Awaitable[Mapping[str, object]]],
) -> list[Planned]:
    """Plans whose remembered verdicts are all of models that count; others are asked again. `look_up` finds by key."""
    while True:
        known = await look_up({key for planned in plans for key in planned.keys})
        again = [of_one_model(planned, known, answering) for planned in plans]
        if all(one is other for one, other in zip(again, plans, strict=True)):
            return again
        plans = again
