"""Runs estimates of one system's mean on recorded scores and returns a row for each run.

Every selector is run at every share of the items. The selectors, sessions, estimators and intervals
are those of live runs. Files are read in `estimate_inputs.py`; the rows are summed up in `tables.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Estimator, Selector
from judgeloop.core.records import Choice, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.selectors.catalogue import SelectorRow, selector_row
from judgeloop.methods.stats.intervals import Interval
from judgeloop.methods.stats.strata import Floats
from judgeloop.methods.stopping.precise import Precise
from judgeloop.questions.estimate.selector import (
    SEARCHED,
    Material,
    Wanted,
    distance_of,
    make_selector,
    most_clusters,
    strata_of,
)
from judgeloop.questions.estimate.settings import BY_CONFIDENCE
from judgeloop.replay.compare import Row, walked
from judgeloop.replay.settings import ReplayEstimateSettings

QUESTION = "estimate"
F = TypeVar("F", bound=np.floating)
# The part with the runs of all selectors that walk; parts from 1 on are the shares.
WALK = 0


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A recorded system: its scores on all items, and the data that selectors use.

    `scores` in [0, 1] and `confidence` have the shape (items,); no score is missing. `vectors`,
    `last` and `outputs` have the shape (items, dimensions). `last` holds vectors of the model's
    last layer, or the same as `vectors`; `outputs` those of the outputs alone. A field that
    nothing uses is None.
    """

    system: str
    scores: Floats
    confidence: Floats | None = None
    vectors: Floats | None = None
    last: Floats | None = None
    outputs: NDArray[np.floating] | None = None

    @property
    def truth(self) -> float:
        """The mean score over all items."""
        return float(self.scores.mean())


def material_of(subject: Subject, seed: Sequence[int] = (), found: int | None = None) -> Material:
    """Return the recorded data for selectors; `found` is how many clusters CluSearch found."""
    return Material(
        len(subject.scores),
        lambda: needed(subject.vectors),
        lambda: needed(subject.last),
        lambda: needed(subject.outputs),
        subject.confidence,
        seed,
        found,
    )


def searched(subject: Subject, size: int, rng: np.random.Generator) -> int:
    """Return the number of clusters that CluSearch finds for `size` judgments."""
    from judgeloop.papers.actracer.clusters import strata_by_clusters

    vectors = needed(subject.vectors)
    return len(np.unique(strata_by_clusters(vectors, most_clusters(size, len(vectors)), rng)[0]))


def needed(values: NDArray[F] | None) -> NDArray[F]:
    """Return values that were read because a selector uses them."""
    assert values is not None, "read for every selector that uses it"
    return values


def _rows(config: ReplayEstimateSettings, *, walking: bool) -> list[SelectorRow]:
    """Return the selectors whose order of items is independent of the limit, or the others."""
    found = [selector_row(QUESTION, name) for name in config.selectors]
    return [row for row in found if row.walks is walking]


def parts_of(config: ReplayEstimateSettings) -> list[int]:
    """Return the parts of a system's runs: all walks together, and each share by itself."""
    walks = [WALK] if _rows(config, walking=True) else []
    shares = range(1, len(config.shares) + 1) if _rows(config, walking=False) else ()
    return [*walks, *shares]


def run_part(subject: Subject, number: int, part: int, config: ReplayEstimateSettings) -> list[Row]:
    """Return all rows of one part, for the system numbered `number`."""
    if part == WALK:
        return walk(subject, number, config)
    return stratify(subject, number, config.shares[part - 1], config)


def judgments(share: int, items: int) -> int:
    """Return the number of items in a `share` in per cent; at least 1."""
    return max(1, round(share / 100 * items))


def walk(subject: Subject, number: int, config: ReplayEstimateSettings) -> list[Row]:
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
        for selector in [make_selector(row, material_of(subject), wanted)]
        for share in config.shares
        for repetition in range(config.seeds)
    ]


def stratify(subject: Subject, number: int, share: int, config: ReplayEstimateSettings) -> list[Row]:
    """Return all rows of one share, for the selectors that cluster by the number of judgments.

    CluSearch finds the number of clusters once; every repetition then makes its own clusters. A
    search takes twenty clusterings, and another search finds nearly the same number.
    """
    rows = _rows(config, walking=False)
    size = judgments(share, len(subject.scores))
    searching = np.random.default_rng([config.seed, number, share])
    found = searched(subject, size, searching) if _searches(rows) else None
    wanted = Wanted(limit=size, start=size, distance=distance_of(config.confidence_by))
    trials = [_Trial(subject, number, share, repetition, config) for repetition in range(config.seeds)]
    return [
        trial.session(make_selector(row, material, wanted))
        for trial in trials
        for material in [material_of(subject, trial.seed(1), found)]
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
    config: ReplayEstimateSettings

    def walk(self, selector: Selector[Any]) -> Row:
        """Return the row of a session that ends after this share of the items.

        Takes the steps that a session would take. No session is needed, because the steps do not
        depend on the answers.
        """
        items = len(self.subject.scores)
        active = next(walked(selector, items, [self._size], self.rng(), self._answer))
        estimator, rule = self._parts(selector)
        tally = estimator.tally([*active.values()], items)
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
        by_proxy = self.config.proxy == BY_CONFIDENCE and selector.draws
        return MeanScore(strata, needed(self.subject.confidence) if by_proxy else None), rule

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
