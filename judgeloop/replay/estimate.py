"""Runs estimates of one system's mean on recorded scores and returns a row for each run.

Every selector is run at every share of the items. The selectors, sessions, estimators and intervals
are those of live runs. Files are read in `estimate_inputs.py`; the rows are summed up in `tables.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Estimator, Selector
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import ForecastMean, MeanScore, Ratings
from judgeloop.methods.selectors.catalogue import SelectorRow, selector_row
from judgeloop.methods.stats.balanced_kmeans import balanced_kmeans
from judgeloop.methods.stats.mean_intervals import Interval
from judgeloop.methods.stats.score_forecast import Forecast, forecast_scores
from judgeloop.methods.stats.strata import Floats, Strata
from judgeloop.methods.stopping.precise import Precise
from judgeloop.questions.estimate.config import BY_CONFIDENCE
from judgeloop.questions.estimate.selector import (
    SEARCHED,
    Wanted,
    distance_of,
    make_selector,
    most_clusters,
    strata_of,
)
from judgeloop.replay.compare import Row
from judgeloop.replay.config import ReplayEstimateConfig

QUESTION = "estimate"
# The part with the runs of all selectors that walk; parts from 1 on are the shares.
WALK = 0


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A recorded system: its scores on all items, and the data that selectors use.

    `scores` in [0, 1] and `confidence` have the shape (items,); no score is missing. `vectors`,
    `last` and `outputs` have the shape (items, dimensions). `last` holds vectors of the model's
    last layer, or the same as `vectors`; `outputs` those of the outputs alone. `earlier` holds
    other systems' scores, shape (systems, items), NaN where a score is missing. A field that
    nothing uses is None.
    """

    system: str
    scores: Floats
    confidence: Floats | None = None
    vectors: Floats | None = None
    last: Floats | None = None
    outputs: NDArray[np.floating] | None = None
    earlier: Floats | None = None

    @property
    def truth(self) -> float:
        """The mean score over all items."""
        return float(self.scores.mean())


@dataclass(frozen=True, eq=False)
class RecordedMaterial:
    """The data for selectors in a replay: recorded vectors and confidences, and random clusters.

    `seed` is the seed of the clusters, which differ between repetitions; None for selectors that do
    not cluster. `found` is the number of clusters that CluSearch found; None without a search.
    """

    subject: Subject
    seed: tuple[int, ...] | None = None
    found: int | None = None

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.subject.scores)

    def states(self, *, last: bool) -> Floats:
        """Return the system's vectors, shape (items, dimensions)."""
        return needed(self.subject.last if last else self.subject.vectors)

    def output_vectors(self) -> NDArray[np.floating]:
        """Return vectors of the system's outputs, shape (items, dimensions)."""
        assert self.subject.outputs is not None, "computed for every selector that uses them"
        return self.subject.outputs

    def confidence(self) -> Floats:
        """Return the system's confidences, shape (items,)."""
        return needed(self.subject.confidence)

    def clusters(self, count: int) -> Strata:
        """Return `count` balanced clusters, computed once for all selectors."""
        if count not in self._known:
            assert self.seed is not None, "given for selectors that cluster"
            rng = np.random.default_rng(self.seed)
            self._known[count] = Strata(balanced_kmeans(self.states(last=False), count, rng).labels)
        return self._known[count]

    def searched(self, most: int) -> Strata:
        """Return as many clusters as one search found for all repetitions (see `stratify`)."""
        del most
        assert self.found is not None, "found for selectors that search"
        return self.clusters(self.found)

    @cached_property
    def _known(self) -> dict[int, Strata]:
        """Clusters made so far, by their number."""
        return {}

    def search(self, size: int, rng: np.random.Generator) -> int:
        """Return the number of clusters that CluSearch finds for `size` judgments."""
        from judgeloop.methods.stats.cluster_search import strata_by_clusters

        vectors = self.states(last=False)
        most = most_clusters(size, self.items)
        return len(np.unique(strata_by_clusters(vectors, most, rng)[0]))


def needed(values: Floats | None) -> Floats:
    """Return values that were read because a selector uses them."""
    assert values is not None, "read for every selector that uses it"
    return values


def _rows(config: ReplayEstimateConfig, *, walking: bool) -> list[SelectorRow]:
    """Return the selectors whose order of items is independent of the limit, or the others."""
    found = [selector_row(QUESTION, name) for name in config.selectors]
    return [row for row in found if row.walks is walking]


def parts_of(config: ReplayEstimateConfig) -> list[int]:
    """Return the parts of a system's runs: all walks together, and each share by itself."""
    walks = [WALK] if _rows(config, walking=True) else []
    shares = range(1, len(config.shares) + 1) if _rows(config, walking=False) else ()
    return [*walks, *shares]


def run_part(subject: Subject, number: int, part: int, config: ReplayEstimateConfig) -> list[Row]:
    """Return all rows of one part, for the system numbered `number`."""
    if part == WALK:
        return walk(subject, number, config)
    return stratify(subject, number, config.shares[part - 1], config)


def judgments(share: int, items: int) -> int:
    """Return the number of items in a `share` in per cent; at least 1."""
    return max(1, round(share / 100 * items))


def walk(subject: Subject, number: int, config: ReplayEstimateConfig) -> list[Row]:
    """Return all rows of the selectors whose order of items is independent of the limit.

    Each share of a repetition has its own walk. If all shares were read off one walk, their errors
    would be nearly equal, and a curve over all shares would say little more than a single point.

    A row has the `estimate` from `judged` items, the `truth`, and the bounds `low` and `high` of
    the interval, None without an interval.
    """
    items = len(subject.scores)
    wanted = Wanted(limit=items, start=judgments(config.shares[0], items))
    return [
        _Trial(subject, number, share, repetition, config).walk(selector)
        for row in _rows(config, walking=True)
        # Made once for all runs: the selector keeps what it computes.
        for selector in [make_selector(row, RecordedMaterial(subject), wanted)]
        for share in config.shares
        for repetition in range(config.seeds)
    ]


def stratify(subject: Subject, number: int, share: int, config: ReplayEstimateConfig) -> list[Row]:
    """Return all rows of one share, for the selectors that cluster by the number of judgments.

    CluSearch finds the number of clusters once; every repetition then makes its own clusters. A
    search takes twenty clusterings, and another search finds nearly the same number.
    """
    rows = _rows(config, walking=False)
    size = judgments(share, len(subject.scores))
    searching = np.random.default_rng([config.seed, number, share])
    found = RecordedMaterial(subject).search(size, searching) if _searches(rows) else None
    wanted = Wanted(limit=size, start=size, distance=distance_of(config.confidence_by))
    trials = [
        _Trial(subject, number, share, repetition, config) for repetition in range(config.seeds)
    ]
    return [
        trial.session(make_selector(row, material, wanted))
        for trial in trials
        for material in [RecordedMaterial(subject, trial.seed(1), found)]
        for row in rows
    ]


def _searches(rows: list[SelectorRow]) -> bool:
    return any(row.clusters == SEARCHED for row in rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One repetition on one system at one share of the items."""

    subject: Subject
    number: int
    share: int
    repetition: int
    config: ReplayEstimateConfig

    def walk(self, selector: Selector[Any]) -> Row:
        """Return the row of a session that ends after this share of the items.

        Takes the steps that a session would take. No session is needed, because the steps do not
        depend on the answers.
        """
        rng, items = self.rng(), len(self.subject.scores)
        state = selector.init(items, rng)
        active: dict[int, Choice] = {}
        while len(active) < self._size:
            step, state = selector.ask(state, rng)
            assert step is not None, "the pool has more items"
            for position in step.leave:
                del active[position]
            active |= {choice.position: choice for choice in step.choices}
        estimator, rule = self._parts(selector)
        tally = estimator.tally(
            [Label(choice, self._answer(choice)) for choice in active.values()], items
        )
        return self._row(selector, tally, rule.interval(tally))

    def session(self, selector: Selector[Any]) -> Row:
        """Return the row of one session; without a width to reach, it ends at its limit."""
        items, size = len(self.subject.scores), self._size
        estimator, rule = self._parts(selector)
        session = Session(
            items=items,
            selector=selector,
            estimator=estimator,
            rule=rule,
            limits=Limits(size, size, 1.0),
            rng=self.rng(),
        )
        estimate = replay(session, self._answer).estimate
        return self._row(selector, estimate.tally, estimate.interval)

    @property
    def _size(self) -> int:
        return judgments(self.share, len(self.subject.scores))

    def seed(self, *what: int) -> tuple[int, ...]:
        """Return a seed for one purpose, the same for all selectors."""
        return self.config.seed, self.number, self.share, self.repetition, *what

    def rng(self, *what: int) -> np.random.Generator:
        """Return a generator of this repetition for one purpose, the same for all selectors."""
        return np.random.default_rng(self.seed(*what))

    def _answer(self, choice: Choice) -> Verdict:
        return Verdict(float(self.subject.scores[choice.position]))

    def _parts(self, selector: Selector[Any]) -> tuple[Estimator[Ratings], Precise]:
        items = len(self.subject.scores)
        rule, strata = Precise(self.config.risk, items), strata_of(selector, items)
        forecast = self._forecast() if self.config.history_systems and selector.draws else None
        if forecast is not None:
            return ForecastMean(strata, forecast), rule
        by_proxy = self.config.proxy == BY_CONFIDENCE and selector.draws
        return MeanScore(strata, needed(self.subject.confidence) if by_proxy else None), rule

    def _forecast(self) -> Forecast | None:
        """Return the forecast from a random history of other systems.

        A larger history contains the systems of a smaller history.
        """
        earlier = needed(self.subject.earlier)
        return forecast_scores(
            earlier[self.rng(2).permutation(len(earlier))[: self.config.history_systems]]
        )

    def _row(self, selector: Selector[Any], tally: Ratings, interval: Interval | None) -> Row:
        return {
            "system": self.subject.system,
            "repetition": self.repetition,
            "selector": selector.name,
            "share": self.share,
            "judged": tally.asked,
            "strata": len(tally.strata.sizes),
            "truth": self.subject.truth,
            "estimate": tally.moments.mean,
            "low": None if interval is None else float(interval[0]),
            "high": None if interval is None else float(interval[1]),
        }
