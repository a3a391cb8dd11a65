"""Runs estimates of one system's mean on recorded scores and returns a row for each run.

Every selector is run at every share of the items. The selectors, sessions, estimators and intervals
are those of live runs. Files are read in `estimate_inputs.py`; the rows are summed up in `tables.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import selector_row
from judgeloop.core.protocols import Estimator, Selector
from judgeloop.core.records import Choice, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.rows import Draft, SelectorRow
from judgeloop.methods.selectors.stratified import strata_of
from judgeloop.methods.stats.intervals import Interval
from judgeloop.methods.stats.strata import Floats
from judgeloop.methods.stopping.precise import Precise
from judgeloop.papers.actracer.inputs import SEARCHING, most_clusters
from judgeloop.questions.estimate.settings import BY_CONFIDENCE
from judgeloop.replay.compare import Row, walked
from judgeloop.replay.config import ReplayEstimateConfig

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

    def draft(self, config: ReplayEstimateConfig, also: Mapping[str, Any] | None = None) -> Draft:
        """What selectors are made of: the recorded data, and what is found out `also`."""
        read = {
            "states": self.vectors, "last states": self.last, "outputs": self.outputs, "confidence": self.confidence
        }  # fmt: skip
        found = {what: data for what, data in read.items() if data is not None}
        items = len(self.scores)
        return Draft(items, items, config.risk, systems=1, settings=config, found=found | dict(also or {}))


def searched(subject: Subject, size: int, rng: np.random.Generator) -> int:
    """Return the number of clusters that CluSearch finds for `size` judgments."""
    from judgeloop.papers.actracer.clusters import strata_by_clusters

    vectors = needed(subject.vectors)
    return len(np.unique(strata_by_clusters(vectors, most_clusters(size, len(vectors)), rng)[0]))


def needed(values: NDArray[F] | None) -> NDArray[F]:
    """Return values that were read because a selector uses them."""
    assert values is not None, "read for every selector that uses it"
    return values


def _rows(config: ReplayEstimateConfig, *, walking: bool) -> list[SelectorRow]:
    """Return the selectors whose order of items is independent of the limit, or the others."""
    found = [selector_row(QUESTION, name) for name in config.selectors]
    return [row for row in found if (row.vectors != "states") is walking]


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
    draft = replace(subject.draft(config), start=judgments(config.shares[0], items))
    return [
        _Trial(subject, number, share, repetition, config).walk(selector)
        for row in _rows(config, walking=True)
        # Made once for all runs: the selector keeps what it computes.
        for selector in [row.make(draft)]
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
    searches = any(row.name in SEARCHING for row in rows)
    elbow = {"elbow": searched(subject, size, searching)} if searches else {}
    trials = [_Trial(subject, number, share, repetition, config) for repetition in range(config.seeds)]
    return [
        trial.session(row.make(draft))
        for trial in trials
        # Made once for all selectors, which share its clusters.
        for draft in [replace(subject.draft(config, elbow), limit=size, start=size, seed=trial.seed(1))]
        for row in rows
    ]


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
