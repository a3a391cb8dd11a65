"""The mean score of one system estimated again and again from some of its recorded scores: by every selector, from every share of the items.

The selectors, sessions, estimators and intervals are the very ones that spend money live. What the
rows say together stands in `estimate_tables.py`; files are read in `estimate_inputs.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from judgeloop.core.protocols import Estimator, Selector
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.estimate.selector import SEARCHED, Wanted, make_selector, strata_of
from judgeloop.estimators.foretold_mean import ForetoldMean
from judgeloop.estimators.mean_score import MeanScore
from judgeloop.replay.compare import Row
from judgeloop.selectors.catalogue import SelectorRow, selector_row
from judgeloop.stats.balanced_kmeans import balanced_kmeans
from judgeloop.stats.foretelling import Forecast, foretell
from judgeloop.stats.mean_intervals import Interval
from judgeloop.stats.ratings import Ratings
from judgeloop.stats.strata import Floats, Strata
from judgeloop.stopping.precise import Precise

QUESTION = "estimate"
WALK = 0  # the part of a system's runs that is no share's: the shares are numbered from 1


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A recorded system: its `scores` in [0, 1] on all items, none missing, shape (items,), and what selectors look at.

    `confidence` has the same shape, `vectors` and `last` the shape (items, dimensions); `last` are of the model's last layer, or the same
    again. `earlier` are other systems' scores, shape (systems, items), NaN where there is none. Each is None where nothing looks at it.
    """

    system: str
    scores: Floats
    confidence: Floats | None = None
    vectors: Floats | None = None
    last: Floats | None = None
    earlier: Floats | None = None

    @property
    def truth(self) -> float:
        """The mean over all items."""
        return float(self.scores.mean())


@dataclass(frozen=True, slots=True)
class Estimations:
    """What is run on every system: each of `selectors`, `seeds` times, with each of `shares`, ascending, per cent of the items judged.

    `risk` is that of the intervals; `distance` is AcTracer's between confidences. With `by_confidence` it is the proxy of drawing selectors,
    with `history` what so many other systems' scores let expect, drawn anew in every repetition.
    """

    selectors: tuple[str, ...]
    shares: tuple[int, ...]
    seeds: int
    risk: float = 0.1
    distance: str = "wasserstein"
    by_confidence: bool = False
    history: int = 0
    seed: int = 0

    def rows(self, *, walking: bool) -> list[SelectorRow]:
        """The selectors that are run, of those whose order of the items depends on no budget, or of the others."""
        found = [selector_row(QUESTION, name) for name in self.selectors]
        return [row for row in found if row.walks is walking]


def parts_of(plan: Estimations) -> list[int]:
    """The parts that a system's runs come in: all walks, and each share by itself."""
    walks = [WALK] if plan.rows(walking=True) else []
    shares = range(1, len(plan.shares) + 1) if plan.rows(walking=False) else ()
    return [*walks, *shares]


def run_part(subject: Subject, number: int, part: int, plan: Estimations) -> list[Row]:
    """All rows of one part, for the system of that number."""
    if part == WALK:
        return walk(subject, number, plan)
    return stratify(subject, number, plan.shares[part - 1], plan)


def judgments(share: int, items: int) -> int:
    """How many items a share is, in per cent."""
    return max(1, round(share / 100 * items))


def walk(subject: Subject, number: int, plan: Estimations) -> list[Row]:
    """All rows of the selectors whose order depends on no budget, for the system numbered `number`.

    Each is a walk of its own: were the shares of a repetition read off one walk, their errors would be nearly the same one, and
    a curve over all shares would say little more than a single point of it.

    A row has the `estimate` from so many `judged` items, the `truth`, and `low` and `high` of its interval, None without one.
    """
    items = len(subject.scores)
    wanted = Wanted(budget=items, start=judgments(plan.shares[0], items))
    return [
        _Trial(subject, number, share, repetition, plan).walk(selector)
        for row in plan.rows(walking=True)
        # What it computes once, it keeps.
        for selector in [make_selector(row, RecordedMaterial(subject), wanted)]
        for share in plan.shares
        for repetition in range(plan.seeds)
    ]


def stratify(subject: Subject, number: int, share: int, plan: Estimations) -> list[Row]:
    """All rows of one share of the selectors that cluster, which begin anew with every budget.

    CluSearch looks for the number of clusters once, and every repetition then makes clusters of its own: a search takes twenty
    clusterings, and finds nearly the same number again.
    """
    rows = plan.rows(walking=False)
    budget = judgments(share, len(subject.scores))
    searching = np.random.default_rng([plan.seed, number, share])
    found = RecordedMaterial(subject).search(budget, searching) if _searches(rows) else None
    wanted = Wanted(budget=budget, start=budget, distance=plan.distance)
    trials = [_Trial(subject, number, share, repetition, plan) for repetition in range(plan.seeds)]
    return [
        trial.session(make_selector(row, material, wanted))
        for trial in trials
        for material in [RecordedMaterial(subject, trial.seed(1), found)]
        for row in rows
    ]


def _searches(rows: list[SelectorRow]) -> bool:
    return any(row.clusters == SEARCHED for row in rows)


@dataclass(frozen=True, eq=False)
class RecordedMaterial:
    """What selectors look at in a replay: a system's vectors and confidences, and clusters drawn anew in every repetition.

    `seed` draws clusters, and `found` is the number of them that CluSearch found; None where no
    selector clusters.
    """

    subject: Subject
    seed: tuple[int, ...] | None = None
    found: int | None = None

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.subject.scores)

    def states(self, *, last: bool) -> Floats:
        """The system's vectors."""
        return _needed(self.subject.last if last else self.subject.vectors)

    def confidence(self) -> Floats:
        """The system's confidences."""
        return _needed(self.subject.confidence)

    def clusters(self, count: int) -> Strata:
        """So many, worked out once for all selectors."""
        if count not in self._known:
            assert self.seed is not None, "given for selectors that cluster"
            rng = np.random.default_rng(self.seed)
            self._known[count] = Strata(balanced_kmeans(self.states(last=False), count, rng).labels)
        return self._known[count]

    def searched(self, most: int) -> Strata:
        """As many as were found once for all repetitions: a search takes twenty clusterings, and finds nearly the same number again."""
        del most
        assert self.found is not None, "found for selectors that search"
        return self.clusters(self.found)

    @cached_property
    def _known(self) -> dict[int, Strata]:
        """Clusters by their number."""
        return {}

    def search(self, budget: int, rng: np.random.Generator) -> int:
        """The number of clusters that CluSearch finds for a budget."""
        from judgeloop.estimate.selector import most_clusters
        from judgeloop.stats.cluster_search import strata_by_clusters

        vectors = self.states(last=False)
        most = most_clusters(budget, self.items)
        return len(np.unique(strata_by_clusters(vectors, most, rng)[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One repetition on one system at one share."""

    subject: Subject
    number: int
    share: int
    repetition: int
    plan: Estimations

    def walk(self, selector: Selector[Any]) -> Row:
        """What a session would say that ends after so many items: the steps that it would take, without its care for answers."""
        rng, items = self.rng(), len(self.subject.scores)
        state = selector.init(items, rng)
        active: dict[int, Choice] = {}
        while len(active) < self._budget:
            step, state = selector.ask(state, rng)
            assert step is not None, "the pool has more items"
            for position in step.leave:
                del active[position]
            active |= {choice.position: choice for choice in step.choices}
        estimator, rule = self._parts(selector)
        tally = estimator.tally([Label(one, self._answer(one)) for one in active.values()], items)
        return self._row(selector, tally, rule.interval(tally))

    def session(self, selector: Selector[Any]) -> Row:
        """One session to the end of its budget: with no width to reach, it never ends before."""
        items, budget = len(self.subject.scores), self._budget
        estimator, rule = self._parts(selector)
        session = Session(
            items=items,
            selector=selector,
            estimator=estimator,
            rule=rule,
            limits=Limits(budget, budget, 1.0),
            rng=self.rng(),
        )
        estimate = replay(session, self._answer).estimate
        return self._row(selector, estimate.tally, estimate.interval)

    @property
    def _budget(self) -> int:
        return judgments(self.share, len(self.subject.scores))

    def seed(self, *what: int) -> tuple[int, ...]:
        """Alike for all selectors."""
        return self.plan.seed, self.number, self.share, self.repetition, *what

    def rng(self, *what: int) -> np.random.Generator:
        """Draws of this repetition, for one purpose."""
        return np.random.default_rng(self.seed(*what))

    def _answer(self, choice: Choice) -> Verdict:
        return Verdict(float(self.subject.scores[choice.position]))

    def _parts(self, selector: Selector[Any]) -> tuple[Estimator[Ratings], Precise]:
        items = len(self.subject.scores)
        rule, strata = Precise(self.plan.risk, items), strata_of(selector, items)
        forecast = self._forecast() if self.plan.history and selector.draws else None
        if forecast is not None:
            return ForetoldMean(strata, forecast), rule
        by_proxy = self.plan.by_confidence and selector.draws
        return MeanScore(strata, _needed(self.subject.confidence) if by_proxy else None), rule

    def _forecast(self) -> Forecast | None:
        """What a history of other systems lets expect: those of a larger one are the smaller one's and more."""
        earlier = _needed(self.subject.earlier)
        return foretell(earlier[self.rng(2).permutation(len(earlier))[: self.plan.history]])

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


def _needed(values: Floats | None) -> Floats:
    assert values is not None, "the job finds it for every selector that looks at it"
    return values
