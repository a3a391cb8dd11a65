"""Runs comparisons of one pair of systems on recorded verdicts and returns a row for each run.

A run has a fixed number of judged items, or ends when a stopping rule is met. The selectors,
sessions and rules are those of live runs. Files are read in `compare_inputs.py`; the rows are
summed up in `compare_tables.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.core.records import Choice, Draws, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.prospects import prospects_of
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.catalogue import selector_row
from judgeloop.methods.selectors.ingredients import Variant
from judgeloop.methods.stats.decisiveness import Prospects
from judgeloop.methods.stopping.catalogue import Ingredients, rule_row
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.questions.compare.selector import make_selector
from judgeloop.replay.recordings import Contest, Recordings

QUESTION = "compare"


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is run on every pair.

    Either `sizes` is given: numbers of judged items, ascending. Or `rules` is given: each rule is
    run at each of `risks`, within `limits`. Such a run stops undecided once the probability of a
    decision is below `give_up`; None to go on.

    Each of `seeds` repetitions takes a share `subset` of the items as the whole test set. `history`
    is the number of other systems in the history of a selector that uses a history.
    """

    selectors: tuple[str, ...]
    seeds: int
    subset: float
    variant: Variant
    sizes: tuple[int, ...] = ()
    rules: tuple[str, ...] = ()
    risks: tuple[float, ...] = ()
    limits: Limits = field(default_factory=Limits)
    give_up: float | None = None
    history: int = 0


Row = dict[str, Any]


def run_pair(recordings: Recordings, pair: tuple[int, int], protocol: Protocol) -> list[Row]:
    """Return all rows of one pair; they do not depend on the other pairs.

    A row for a number of judged items has `estimate`: the win distance among the judged items, true
    winner minus true loser, so that it is positive if the right system is named. A row for a rule
    has `asked` and `named`: 1 for the right system, -1 for the wrong system, 0 if undecided.
    Repetitions in which the systems are exactly level have no right answer and are left out.
    """
    rows: list[Row] = []
    for seed in range(protocol.seeds):
        contest = recordings.contest(pair, protocol.subset, np.random.default_rng([*pair, seed]))
        if contest.distance == 0:
            continue
        for name in protocol.selectors:
            selector = selector_for(name, recordings, contest, seed, protocol)
            run = _at_sizes if protocol.sizes else _until_met
            # All selectors and rules use the same seed. The seed differs between pairs, so that
            # their runs are not correlated.
            head = {"first": pair[0], "second": pair[1], "seed": seed, "selector": name}
            rows += [
                head | {"distance": contest.distance} | row
                for row in run(selector, contest, protocol, (*pair, seed, 1))
            ]
    return rows


def selector_for(
    name: str, recordings: Recordings, contest: Contest, seed: int, protocol: Protocol
) -> Selector[Any]:
    """Make the selector called `name`, as for a live run."""
    start = protocol.sizes[0] if protocol.sizes else protocol.limits.min_judgments
    material = RecordedMaterial(recordings, contest, seed, protocol)
    row = selector_row(QUESTION, name)
    return make_selector(row, material, start=start, variant=protocol.variant)


@dataclass(frozen=True, slots=True)
class RecordedMaterial:
    """The data for selectors in a replay: recorded vectors, and a history of other systems."""

    recordings: Recordings
    contest: Contest
    seed: int
    protocol: Protocol

    def outputs(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return the vectors of both systems' outputs, each of shape (items, dimensions)."""
        return self.recordings.output_vectors(self.contest)

    def prompts(self) -> NDArray[np.floating]:
        """Return the vectors of the prompts, shape (items, dimensions)."""
        return self.recordings.prompt_vectors(self.contest)

    def prospects(self) -> Prospects | None:
        """Return what a random history says of the items, with the distances of the output lengths.

        The history is drawn among the other systems, anew for each pair and repetition. None if it
        prefers no item.
        """
        rng = np.random.default_rng([*self.contest.pair, self.seed, 2])
        past = self.recordings.past(self.contest, self.protocol.history, rng)
        known = prospects_of(past, ())
        return known and known._replace(distances=self.recordings.distances(self.contest))


def _at_sizes(
    selector: Selector[Any], contest: Contest, protocol: Protocol, seed: Sequence[int]
) -> Iterator[Row]:
    """Yield a row for each number of judged items, from one walk through the selector's steps.

    One walk is enough: the clusters for a larger number are splits of those for a smaller number.
    """
    rng = np.random.default_rng(seed)
    items = len(contest.preferences)
    state = selector.init(items, rng)
    active: set[int] = set()
    for size in protocol.sizes:
        while len(active) < min(size, items):
            step, state = selector.ask(state, rng)
            assert step is not None, "the pool has more items"
            state = selector.tell(state, [_label(contest, choice) for choice in step.choices])
            active.difference_update(step.leave)
            active.update(choice.position for choice in step.choices)
        judged = np.fromiter(active, dtype=np.int64, count=len(active))
        yield {"judgments": size, "estimate": float(contest.preferences[judged].mean())}


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
    """Return the `rules` that are valid with a selector: some need draws that prefer no item."""
    even = selector_row(QUESTION, selector).draws is Draws.EVEN
    return [rule for rule in rules if even or not rule_row(QUESTION, rule).needs_even_draws]
