"""Runs comparisons of one pair of systems on recorded verdicts and returns a row for each run.

A run has a fixed number of judged items, or ends when a stopping rule is met. The selectors,
sessions and rules are those of live runs. Files are read in `compare_inputs.py`; the rows are
summed up in `compare_tables.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.core.records import TIE, Choice, Draws, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.past import Past, past_of_scores, prospects_of, signs
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.catalogue import Need, selector_row
from judgeloop.methods.selectors.ingredients import ForTwo, Variant
from judgeloop.methods.stats.decision_model import length_distances
from judgeloop.methods.stats.decisiveness import Prospects
from judgeloop.methods.stats.diffuse_variants import combined
from judgeloop.methods.stopping.catalogue import Ingredients, rule_row
from judgeloop.methods.stopping.giving_up import GivingUp

QUESTION = "compare"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Contest:
    """Two systems on a pool of items, which a run treats as the whole test set.

    Both arrays have the shape (items,). `positions` are positions in the recordings. `preferences`
    are 1 for the system that wins on the whole pool, -1 for the other system, 0 for a tie.
    """

    pair: tuple[int, int]
    positions: NDArray[np.int64]
    preferences: NDArray[np.int8]

    @property
    def gap(self) -> float:
        """The gap ("win distance" in the papers) on the whole pool, winner minus loser; 0 for level systems."""
        return float(self.preferences.mean())

    def score(self, position: int) -> float:
        """Return the verdict's score at `position` of the pool: 1 for the winner on the pool."""
        return float(TIE + self.preferences[position] / 2)


@dataclass(frozen=True, slots=True)
class Earlier:
    """Systems with earlier scores, by the same or another judge; histories are drawn among them.

    `scores` has the shape (systems, items), on the items of the recordings, NaN where a score is
    missing. Scores that differ by at most `tie_margin` tie. `always` names systems that are in
    every history.
    """

    systems: tuple[str, ...]
    scores: NDArray[np.float64]
    tie_margin: float = 0.0
    always: tuple[str, ...] = ()

    def past(
        self,
        count: int,
        but: Collection[str],
        positions: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Past:
        """Return every comparison among `count` systems drawn at random, on items at `positions`.

        Systems in `but` are not drawn. With the same seed, the systems for a larger `count` contain
        those for a smaller `count`.

        Raises:
            ValueError: there are fewer than `count` systems to draw from.
        """
        free = [row for row, name in enumerate(self.systems) if name not in but]
        first = [row for row in free if self.systems[row] in self.always]
        others = [free[at] for at in rng.permutation(len(free)) if free[at] not in first]
        drawn = [*first, *others][:count]
        if len(drawn) < count:
            raise ValueError(f"a history of {count} systems among {len(free)}")
        names = [self.systems[row] for row in drawn]
        return past_of_scores(names, self.scores[np.ix_(drawn, positions)], self.tie_margin)


@dataclass(frozen=True, slots=True)
class Recordings:
    """Scores of systems on items, and vectors and lengths if a selector uses them.

    `scores` has the shape (systems, items), NaN where a score is missing. `outputs` has the shape
    (systems, items, dimensions): vectors of the outputs. `inputs` has the shape (items,
    dimensions): vectors of the prompts. `lengths` has the shape (systems, items): lengths of the
    outputs in characters. Scores that differ by at most `tie_margin` tie. Histories are drawn from
    `earlier`, or from the recorded systems if that is None.
    """

    systems: tuple[str, ...]
    scores: NDArray[np.float64]
    outputs: NDArray[np.floating] | None = None
    inputs: NDArray[np.floating] | None = None
    lengths: NDArray[np.float64] | None = None
    tie_margin: float = 0.0
    earlier: Earlier | None = None

    def pairs(self, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Draw at most `most` pairs of systems with common items, without replacement."""
        every = list(combinations(range(len(self.systems)), 2))
        shuffled = (every[number] for number in rng.permutation(len(every)))
        return [pair for pair in shuffled if len(self._common(pair))][:most]

    def contest(self, pair: tuple[int, int], subset: float, rng: np.random.Generator) -> Contest:
        """Return two systems on a random share `subset` of their common items.

        The share is treated as the whole test set. So repetitions differ even for a selector
        without random draws (Ashury-Tahan et al. 2024, section 5).
        """
        common = self._common(pair)
        kept = np.sort(rng.permutation(common)[: max(1, round(subset * len(common)))])
        preferred = signs(self.scores[pair[0], kept], self.scores[pair[1], kept], self.tie_margin)
        return Contest(pair, kept, -preferred if preferred.sum(dtype=np.int64) < 0 else preferred)

    def past(self, contest: Contest, count: int, rng: np.random.Generator) -> Past:
        """Return earlier comparisons of `count` other systems on the contest's items.

        Raises:
            ValueError: there are fewer than `count` other systems.
        """
        earlier = self.earlier or Earlier(self.systems, self.scores, self.tie_margin)
        compared = [self.systems[system] for system in contest.pair]
        return earlier.past(count, compared, contest.positions, rng)

    def distances(self, contest: Contest) -> NDArray[np.float64] | None:
        """Return the distances of the two outputs' lengths, shape (items of the contest,).

        None if the lengths are not known.
        """
        if self.lengths is None:
            return None
        first, second = (self.lengths[system, contest.positions] for system in contest.pair)
        return length_distances(first, second)

    def output_vectors(self, contest: Contest) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return both systems' output vectors, each of shape (items of the contest, dimensions)."""
        assert self.outputs is not None, "read for every selector that uses outputs"
        first, second = (self.outputs[system][contest.positions] for system in contest.pair)
        return first, second

    def _common(self, pair: tuple[int, int]) -> NDArray[np.int64]:
        return np.flatnonzero(~np.isnan(self.scores[list(pair)]).any(axis=0))


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


def run_pair(recordings: Recordings, pair: tuple[int, int], protocol: Protocol) -> list[Row]:
    """Return all rows of one pair; they do not depend on the other pairs.

    A row for a number of judged items has `estimate`: the gap among the judged items, true
    winner minus true loser, so that it is positive if the right system is named. A row for a rule
    has `asked` and `named`: 1 for the right system, -1 for the wrong system, 0 if undecided.
    Repetitions in which the systems are exactly level have no right answer and are left out.
    """
    rows: list[Row] = []
    for seed in range(protocol.seeds):
        contest = recordings.contest(pair, protocol.subset, np.random.default_rng([*pair, seed]))
        if contest.gap == 0:
            continue
        for name in protocol.selectors:
            selector = selector_for(name, recordings, contest, seed, protocol)
            run = _at_sizes if protocol.sizes else _until_met
            # All selectors and rules use the same seed. The seed differs between pairs, so that
            # their runs are not correlated.
            head = {"first": pair[0], "second": pair[1], "seed": seed, "selector": name}
            rows += [
                head | {"gap": contest.gap} | row
                for row in run(selector, contest, protocol, (*pair, seed, 1))
            ]
    return rows


def selector_for(
    name: str, recordings: Recordings, contest: Contest, seed: int, protocol: Protocol
) -> Selector[Any]:
    """Make the selector called `name`, as for a live run."""
    row, variant = selector_row(QUESTION, name), protocol.variant
    start = protocol.sizes[0] if protocol.sizes else protocol.limits.min_judgments
    vectors = None
    if Need.OUTPUT_VECTORS in row.needs:
        vectors = combined(variant.combine, *recordings.output_vectors(contest))
    elif Need.PROMPT_VECTORS in row.needs:
        assert recordings.inputs is not None, "read for every selector that uses prompts"
        vectors = recordings.inputs[contest.positions]
    known = None
    if Need.HISTORY in row.needs:
        known = prospects_for(recordings, contest, seed, protocol.history)
    selector: Selector[Any] = row.make(ForTwo(start, variant, vectors, known))
    return selector


def prospects_for(
    recordings: Recordings, contest: Contest, seed: int, history: int
) -> Prospects | None:
    """Return what a random history says of the items, with the distances of the output lengths.

    The history is drawn among the other systems, anew for each pair and repetition. None if it
    prefers no item.
    """
    rng = np.random.default_rng([*contest.pair, seed, 2])
    known = prospects_of(recordings.past(contest, history, rng), ())
    return known and known._replace(distances=recordings.distances(contest))


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
