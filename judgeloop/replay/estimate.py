"""The mean score of one system estimated again and again from some of its recorded scores: by every selector, from every share of the items.

The selectors, sessions, estimators and intervals are the very ones that spend money live. What the rows say together is `accuracy.py`'s
business; reading files and finding vectors is `jobs/replaying_estimate.py`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgeloop.core.protocols import Estimator, Selector
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.estimators.foretold_mean import ForetoldMean
from judgeloop.estimators.mean_score import MeanScore
from judgeloop.replay.compare import Row
from judgeloop.selectors.confidence_systematic import ConfidenceSystematic
from judgeloop.selectors.cross_entropy import CrossEntropy
from judgeloop.selectors.diffuse import DiffUse
from judgeloop.selectors.mmd_critic import MMDCritic
from judgeloop.selectors.random import Random
from judgeloop.selectors.stratified import Stratified
from judgeloop.stats.allocation import ITEMS_A_STRATUM, paying_strata
from judgeloop.stats.balanced_kmeans import balanced_kmeans
from judgeloop.stats.foretelling import Forecast, foretell
from judgeloop.stats.mean_intervals import Interval
from judgeloop.stats.ratings import Ratings
from judgeloop.stats.sections import by_sections
from judgeloop.stats.strata import Floats, Strata
from judgeloop.stopping.precise import Precise

THE_ONE = (0,)
# Their order of the items depends neither on the budget nor on the answers.
WALKING = (
    "random",
    "stratified-confidence",
    "confidence-systematic",
    "cross-entropy",
    "mmd-critic",
    "diffuse",
)
# The last three are AcTracer without one of its parts each (Huang et al. 2024, table 2): CluSearch, MC-UCB, the picks by confidence.
CLUSTERING = ("stratified", "actracer", "actracer-8", "actracer-proportional", "actracer-random")
OF_LAST_LAYER = ("cross-entropy", "mmd-critic")  # as their papers have it
NEED_VECTORS = {*CLUSTERING, *OF_LAST_LAYER, "diffuse"}
NEED_CONFIDENCE = {"stratified-confidence", "confidence-systematic", *CLUSTERING} - {
    "stratified",
    "actracer-random",
}
FIXED_CLUSTERS = 8
BUDGET_A_CLUSTER = 4  # at least, of what CluSearch looks at


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

    def among(self, names: Sequence[str]) -> list[str]:
        """The selectors that are run, of `names`."""
        return [name for name in self.selectors if name in names]


def judgments(share: int, items: int) -> int:
    """How many items a share is, in per cent."""
    return max(1, round(share / 100 * items))


def walk(subject: Subject, number: int, plan: Estimations) -> list[Row]:
    """All rows of the selectors whose order depends on no budget, for the system numbered `number`.

    Each is a walk of its own: were the shares of a repetition read off one walk, their errors would be nearly the same one, and
    a curve over all shares would say little more than a single point of it.

    A row has the `estimate` from so many `judged` items, the `truth`, and `low` and `high` of its interval, None without one.
    """
    return [
        _Trial(subject, number, share, repetition, plan).walk(selector, strata)
        for name in plan.among(WALKING)
        for selector, strata in [_walking(name, subject, plan)]  # what it computes once, it keeps
        for share in plan.shares
        for repetition in range(plan.seeds)
    ]


def stratify(subject: Subject, number: int, share: int, plan: Estimations) -> list[Row]:
    """All rows of one share of the selectors that cluster, which begin anew with every budget.

    CluSearch looks for the number of clusters once, and every repetition then makes clusters of its own: a search takes twenty
    clusterings, and finds nearly the same number again.
    """
    names = plan.among(CLUSTERING)
    if not names:
        return []
    assert subject.vectors is not None, "the job finds vectors for this selector"
    items = len(subject.scores)
    budget = judgments(share, items)
    counts = {
        "stratified": paying_strata(budget, items),
        "actracer-8": max(1, min(FIXED_CLUSTERS, budget // 2)),
    }
    if searching := set(names) - counts.keys():
        found = _searched(
            subject.vectors, budget, np.random.default_rng([plan.seed, number, share])
        )
        counts |= dict.fromkeys(searching, found)
    rows = []
    for repetition in range(plan.seeds):
        trial = _Trial(subject, number, share, repetition, plan)
        strata = {
            count: trial.clusters(count) for count in sorted({counts[name] for name in names})
        }
        rows += [trial.session(name, strata[counts[name]]) for name in names]
    return rows


def _searched(vectors: Floats, budget: int, rng: np.random.Generator) -> int:
    """The number of clusters that CluSearch finds for a budget."""
    from judgeloop.stats.clusearch import strata_by_clusters

    most = min(budget // BUDGET_A_CLUSTER, len(vectors) // ITEMS_A_STRATUM)
    return len(np.unique(strata_by_clusters(vectors, most, rng)[0]))


def _walking(name: str, subject: Subject, plan: Estimations) -> tuple[Selector[Any], Strata]:
    items = len(subject.scores)
    whole = Strata.single(items)
    if name == "random":
        return Random((THE_ONE,)), whole
    if name == "stratified-confidence":
        strata = by_sections(_needed(subject.confidence))
        return Stratified(strata, items, allocation="proportional", name=name), strata
    if name == "confidence-systematic":
        return ConfidenceSystematic(_needed(subject.confidence)), whole
    if name == "diffuse":
        start = judgments(plan.shares[0], items)
        return DiffUse(_needed(subject.vectors), start=start, systems=THE_ONE), whole
    last = _needed(subject.last)
    return (CrossEntropy(last) if name == "cross-entropy" else MMDCritic(last)), whole


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One repetition on one system at one share."""

    subject: Subject
    number: int
    share: int
    repetition: int
    plan: Estimations

    def walk(self, selector: Selector[Any], strata: Strata) -> Row:
        """What a session would say that ends after so many items: the steps that it would take, without its care for answers."""
        rng, items = self._rng(), len(self.subject.scores)
        state = selector.init(items, rng)
        active: dict[int, Choice] = {}
        while len(active) < self._budget:
            steps, state = selector.ask(state, 1, rng)
            for position in steps[0].leave:
                del active[position]
            active |= {choice.position: choice for choice in steps[0].choices}
        estimator, rule = self._parts(selector, strata)
        tally = estimator.tally([Label(one, self._answer(one)) for one in active.values()], items)
        return self._row(selector, tally, rule.interval(tally))

    def clusters(self, count: int) -> Strata:
        """So many, others in every repetition."""
        assert self.subject.vectors is not None, "the job finds vectors for this selector"
        return Strata(balanced_kmeans(self.subject.vectors, count, self._rng(1)).labels)

    def session(self, name: str, strata: Strata) -> Row:
        """One session to the end of its budget: with no width to reach, it never ends before."""
        items, budget = len(self.subject.scores), self._budget
        selector = Stratified(
            strata,
            budget,
            allocation="proportional" if name == "actracer-proportional" else "mc-ucb",
            confidence=_needed(self.subject.confidence) if name in NEED_CONFIDENCE else None,
            distance=self.plan.distance,
            name=name,
        )
        estimator, rule = self._parts(selector, strata)
        session = Session(
            items=items,
            selector=selector,
            estimator=estimator,
            rule=rule,
            limits=Limits(budget, budget, 1.0),
            rng=self._rng(),
        )
        estimate = replay(session, self._answer).estimate
        return self._row(selector, estimate.tally, estimate.interval)

    @property
    def _budget(self) -> int:
        return judgments(self.share, len(self.subject.scores))

    def _rng(self, *what: int) -> np.random.Generator:
        """Alike for all selectors."""
        return np.random.default_rng(
            [self.plan.seed, self.number, self.share, self.repetition, *what]
        )

    def _answer(self, choice: Choice) -> Verdict:
        return Verdict(float(self.subject.scores[choice.position]))

    def _parts(self, selector: Selector[Any], strata: Strata) -> tuple[Estimator[Ratings], Precise]:
        rule = Precise(self.plan.risk, len(self.subject.scores))
        forecast = self._forecast() if self.plan.history and selector.draws else None
        if forecast is not None:
            return ForetoldMean(strata, forecast), rule
        by_proxy = self.plan.by_confidence and selector.draws
        return MeanScore(strata, _needed(self.subject.confidence) if by_proxy else None), rule

    def _forecast(self) -> Forecast | None:
        """What a history of other systems lets expect: those of a larger one are the smaller one's and more."""
        earlier = _needed(self.subject.earlier)
        return foretell(earlier[self._rng(2).permutation(len(earlier))[: self.plan.history]])

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
