"""The selector of an estimate, made of what it looks at: alike for a live run and for a replay.

Which selector looks at what stands in the catalogue (`selectors/catalogue.py`). Vectors and
clusters are computed here for a live run; a replay brings its own (`replay/estimate.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.estimate.config import EstimateConfig
from judgeloop.represent.embed import embed
from judgeloop.selectors.catalogue import Need, SelectorRow
from judgeloop.selectors.ingredients import ForOne
from judgeloop.selectors.stratified import Stratified
from judgeloop.stats.allocation import ITEMS_A_STRATUM, paying_strata
from judgeloop.stats.sections import SECTIONS, by_sections
from judgeloop.stats.strata import Floats, Strata

BUDGET_A_CLUSTER = 4  # judgments, at least, of what CluSearch looks at
SEARCHED, PAYING = "searched", "paying"  # how many clusters, in the catalogue
HIDDEN = "hidden"


class Material(Protocol):
    """What selectors may look at; each is asked for only where the catalogue says so."""

    @property
    def items(self) -> int:
        """How many items there are."""
        ...

    def states(self, *, last: bool) -> Floats:
        """Vectors of the system's inner states, shape (items, dimensions); of the `last` layer, or the one asked for."""
        ...

    def confidence(self) -> Floats:
        """The system's confidence, shape (items,)."""
        ...

    def clusters(self, count: int) -> Strata:
        """So many balanced clusters of the states."""
        ...

    def searched(self, most: int) -> Strata:
        """As many balanced clusters of the states as CluSearch finds, at most `most`."""
        ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an estimate asks of its selector.

    `budget` is how many items are judged at most. `start` is the number of clusters in the first
    step of one that begins with clusters. A run that ends by its width may end after `first_look`
    judgments; None where it runs to its end. `clusters` is the number of strata, None to choose it.
    """

    budget: int
    start: int
    clusters: int | None = None
    allocation: str = "mc-ucb"
    distance: str = "wasserstein"
    first_look: int | None = None


def make_selector(row: SelectorRow, material: Material, wanted: Wanted) -> Selector[Any]:
    """The selector of `row`.

    Raises:
        InputError: more clusters are asked for than the budget pays two judgments each of.
    """
    looks_at_states = row.needs & {Need.STATES, Need.LAST_STATES}
    ingredients = ForOne(
        strata=_strata(row, material, wanted),
        budget=wanted.budget,
        start=wanted.start,
        vectors=material.states(last=Need.LAST_STATES in row.needs) if looks_at_states else None,
        confidence=material.confidence() if Need.CONFIDENCE in row.needs else None,
        allocation=row.allocation or wanted.allocation,
        distance=wanted.distance,
    )
    selector: Selector[Any] = row.make(ingredients)
    return selector


def strata_of(selector: Selector[Any], items: int) -> Strata:
    """The parts of the pool that a selector draws from; one for a selector that knows none."""
    return selector.strata if isinstance(selector, Stratified) else Strata.single(items)


def _strata(row: SelectorRow, material: Material, wanted: Wanted) -> Strata:
    if Need.SECTIONS in row.needs:
        return by_sections(material.confidence(), wanted.clusters or SECTIONS)
    if Need.CLUSTERS not in row.needs:
        return Strata.single(material.items)
    most = min(wanted.budget // 2, material.items)
    if wanted.clusters is not None:
        if wanted.clusters > most:
            raise InputError(
                f"`clusters={wanted.clusters}`: at least two items of each are judged, and with "
                f"{wanted.budget} judgments of {material.items} items there can be at most {most}"
            )
        return material.clusters(wanted.clusters)
    if row.clusters == SEARCHED:
        return material.searched(most_clusters(wanted.budget, material.items))
    if row.clusters == PAYING:
        # A run that may end early needs the first draws of all clusters by the first look.
        begins = min(wanted.budget, 2 * (wanted.first_look or wanted.budget))
        return material.clusters(paying_strata(begins, material.items))
    assert isinstance(row.clusters, int), "the catalogue says how many clusters"
    return material.clusters(max(1, min(row.clusters, most)))


def most_clusters(budget: int, items: int) -> int:
    """How many clusters CluSearch looks at, at most: one for four judgments (Huang et al. 2024, appendix A.1.3)."""
    return min(budget // BUDGET_A_CLUSTER, items // ITEMS_A_STRATUM)


def distance_of(confidence_by: str) -> str:
    """The distance between samples of confidences that goes with a way of reading them (Huang et al. 2024, A.1.3)."""
    return "ks" if confidence_by == "first-token" else "wasserstein"


def wanted_by(config: EstimateConfig, items: int) -> Wanted:
    """What a configuration asks of its selector."""
    budget = min(config.max_judgments, items)
    return Wanted(
        budget=budget,
        start=budget,
        clusters=config.clusters,
        allocation=config.allocation,
        distance=distance_of(config.confidence_by),
        first_look=None if config.half_width is None else config.min_judgments,
    )


@dataclass(frozen=True)
class LiveMaterial:
    """What selectors look at in a live run: texts or a model's hidden states, and confidences that were read."""

    config: EstimateConfig
    pool: Pool
    read_confidence: Floats | None

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.pool)

    def states(self, *, last: bool) -> Floats:
        """A model's hidden states of the prompts; by other representations, vectors of prompt and output together."""
        del last  # the configuration's layer is the one that suits the selector
        return self._states

    def confidence(self) -> Floats:
        """What was read from the outputs."""
        assert self.read_confidence is not None, "read for every selector that looks at it"
        return self.read_confidence

    def clusters(self, count: int) -> Strata:
        """Balanced clusters."""
        from judgeloop.stats.balanced_kmeans import balanced_kmeans

        return Strata(balanced_kmeans(self._states, count, self._rng).labels)

    def searched(self, most: int) -> Strata:
        """The clusters at the elbow."""
        from judgeloop.stats.cluster_search import strata_by_clusters

        return Strata(strata_by_clusters(self._states, most, self._rng)[0])

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(
            [self.config.seed, min(self.config.max_judgments, len(self.pool))]
        )

    @cached_property
    def _states(self) -> Floats:
        config = self.config
        return states_of(
            self.pool,
            config.represent,
            config.layer or "middle",
            seed=config.seed,
            cache_dir=config.cache_dir,
        )


def states_of(pool: Pool, represent: str, layer: str, *, seed: int, cache_dir: Any) -> Floats:
    """Vectors of one system's items, reduced, shape (items, dimensions).

    By `hidden:MODEL` the model's hidden states of the prompts at `layer`; else of prompt and output
    together, as the model's own states are not at hand.
    """
    from judgeloop.represent.reducing import reduced

    kind, _, model = represent.partition(":")
    if kind == HIDDEN:
        from judgeloop.represent.hidden import hidden_vectors

        number = int(layer) if layer.isdigit() else layer
        prompts = [item.prompt for item in pool.items]
        return reduced(hidden_vectors(prompts, model, number, cache_dir / "hidden-states"))
    texts = [
        f"{item.prompt}\n{output}" for item, output in zip(pool.items, pool.outputs[0], strict=True)
    ]
    return reduced(embed(texts, represent, seed=seed, cache_dir=cache_dir))
