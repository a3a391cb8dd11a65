"""One pair of systems run again and again on recorded verdicts: at fixed numbers of judgments, or until a stopping rule is met.

The selectors, sessions and rules are the very ones that spend money live. What the rows say together
stands in `compare_tables.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.compare.selector import make_selector
from judgeloop.core.protocols import Selector
from judgeloop.core.records import Choice, Draws, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.estimators.preferences import Preferences
from judgeloop.history.prospects import prospects_of
from judgeloop.replay.recordings import Contest, Recordings
from judgeloop.selectors.catalogue import selector_row
from judgeloop.selectors.ingredients import Variant
from judgeloop.stats.decisiveness import Prospects
from judgeloop.stopping.catalogue import Ingredients, rule_row
from judgeloop.stopping.giving_up import GivingUp

QUESTION = "compare"


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is run on every pair: either `budgets`, ascending, or `rules` at each of `risks`, with `limits`.

    Runs by rules are given up where a decision is less likely than `give_up`.

    Each of `seeds` repetitions takes a share `subset` of the items for the whole test set, and a history of `history` other
    systems for the selector that draws by one; `power` is its weights' exponent, by None what so many systems call for.
    """

    selectors: tuple[str, ...]
    seeds: int
    subset: float
    variant: Variant
    budgets: tuple[int, ...] = ()
    rules: tuple[str, ...] = ()
    risks: tuple[float, ...] = ()
    limits: Limits = field(default_factory=Limits)
    give_up: float | None = None
    history: int = 0
    power: float | None = None


Row = dict[str, Any]


def run_pair(recordings: Recordings, pair: tuple[int, int], protocol: Protocol) -> list[Row]:
    """All rows of one pair; the same whatever else is run beside it.

    A row of a fixed budget has `estimate`, the win distance among the judged items from the view of the true winner, so that it is
    positive where the right system is named. A row of a rule has `asked` and `named`: 1 the right one, -1 the wrong, 0 neither.
    Repetitions in which the systems are exactly level have no right answer and are left out.
    """
    rows: list[Row] = []
    for seed in range(protocol.seeds):
        contest = recordings.contest(pair, protocol.subset, np.random.default_rng([*pair, seed]))
        if contest.distance == 0:
            continue
        for name in protocol.selectors:
            selector = selector_for(name, recordings, contest, seed, protocol)
            run = _at_budgets if protocol.budgets else _until_met
            # The same draws for all selectors and rules, others for every pair: runs of two pairs must not be alike.
            head = {"first": pair[0], "second": pair[1], "seed": seed, "selector": name}
            rows += [
                head | {"distance": contest.distance} | row
                for row in run(selector, contest, protocol, (*pair, seed, 1))
            ]
    return rows


def selector_for(
    name: str, recordings: Recordings, contest: Contest, seed: int, protocol: Protocol
) -> Selector[Any]:
    """The selector called `name`, made as for a live run."""
    start = protocol.budgets[0] if protocol.budgets else protocol.limits.min_judgments
    material = RecordedMaterial(recordings, contest, seed, protocol)
    row = selector_row(QUESTION, name)
    return make_selector(row, material, start=start, variant=protocol.variant)


@dataclass(frozen=True, slots=True)
class RecordedMaterial:
    """What selectors look at in a replay: vectors of recordings, and a history drawn among other systems."""

    recordings: Recordings
    contest: Contest
    seed: int
    protocol: Protocol

    def outputs(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """The vectors of both systems' outputs."""
        return self.recordings.output_vectors(self.contest)

    def prompts(self) -> NDArray[np.floating]:
        """The vectors of the prompts."""
        return self.recordings.prompt_vectors(self.contest)

    def prospects(self) -> Prospects | None:
        """What a history drawn for this pair and repetition says of the items, with how far outputs are apart."""
        rng = np.random.default_rng([*self.contest.pair, self.seed, 2])
        past = self.recordings.past(self.contest, self.protocol.history, rng)
        known = prospects_of(past, (), self.protocol.power)
        return known and known._replace(distances=self.recordings.distances(self.contest))


def _at_budgets(
    selector: Selector[Any], contest: Contest, protocol: Protocol, seed: Sequence[int]
) -> Iterator[Row]:
    """One walk through the selector's steps for all budgets: the clusters of a larger one are splits of a smaller one's."""
    rng = np.random.default_rng(seed)
    items = len(contest.preferences)
    state = selector.init(items, rng)
    active: set[int] = set()
    for budget in protocol.budgets:
        while len(active) < min(budget, items):
            step, state = selector.ask(state, rng)
            assert step is not None, "the pool has more items"
            state = selector.tell(state, [_label(contest, choice) for choice in step.choices])
            active.difference_update(step.leave)
            active.update(choice.position for choice in step.choices)
        judged = np.fromiter(active, dtype=np.int64, count=len(active))
        yield {"budget": budget, "estimate": float(contest.preferences[judged].mean())}


def _label(contest: Contest, choice: Choice) -> Label:
    return Label(choice, Verdict(contest.score(choice.position)))


def _until_met(
    selector: Selector[Any], contest: Contest, protocol: Protocol, seed: Sequence[int]
) -> Iterator[Row]:
    items, limit, give_up = (
        len(contest.preferences),
        protocol.limits.max_judgments,
        protocol.give_up,
    )
    for name in suiting(protocol.rules, selector.name):
        for risk in protocol.risks:
            rule = rule_row(QUESTION, name).make(Ingredients(risk, items, limit))
            session = Session(
                items=items,
                selector=selector,
                estimator=Preferences(),
                rule=rule if give_up is None else GivingUp(rule, give_up, limit),
                limits=protocol.limits,
                rng=np.random.default_rng(seed),
            )
            outcome = replay(session, lambda choice: Verdict(contest.score(choice.position)))
            named = {None: 0, 0: 1, 1: -1}[outcome.winner]
            yield {"rule": name, "risk": risk, "asked": outcome.asked, "named": named}


def suiting(rules: Sequence[str], selector: str) -> list[str]:
    """Those of `rules` that may go with a selector: some need draws that prefer no item."""
    even = selector_row(QUESTION, selector).draws is Draws.EVEN
    return [rule for rule in rules if even or not rule_row(QUESTION, rule).needs_even_draws]
