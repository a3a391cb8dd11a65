"""Makes the selector of an estimate from the data it needs, for live runs and replays alike.

The catalogue (`methods/selectors/catalogue.py`) says which data a selector needs. `Material`
holds them: of a live run (`live_material`), or of a recorded system (`replay/estimate.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.methods.selectors.catalogue import Need, SelectorRow
from judgeloop.methods.selectors.ingredients import ForOne
from judgeloop.methods.selectors.stratified import Stratified
from judgeloop.methods.stats import strata
from judgeloop.papers.vectors import embed
from judgeloop.questions.estimate.settings import EstimateSettings

JUDGMENTS_A_CLUSTER = 4  # judgments per cluster, at least, in the clusterings that CluSearch tries
SEARCHED, PAYING = "searched", "paying"  # values of `clusters` in the catalogue
HIDDEN = "hidden"


@dataclass(frozen=True, eq=False)
class Material:
    """The data that selectors may use, of a live run or of a recorded system.

    - `items`: their number.
    - `states`: returns vectors of the system's hidden states, shape (items, dimensions); `last`:
      those of the last layer, for the selectors whose papers prescribe it; `outputs`: vectors of
      the outputs alone. Each is called only if the selector's row asks for it.
    - `confidence`: the system's confidence, shape (items,); None if nothing uses it.
    - `seed`: the seed of the clusters.
    - `found`: the number of clusters that CluSearch found before; None to search.
    """

    items: int
    states: Callable[[], strata.Floats]
    last: Callable[[], strata.Floats]
    outputs: Callable[[], NDArray[np.floating]]
    confidence: strata.Floats | None
    seed: Sequence[int]
    found: int | None = None

    def clusters(self, count: int) -> strata.Strata:
        """Return `count` balanced clusters of the states, made once for all selectors."""
        from judgeloop.papers.actracer.clusters import balanced_kmeans

        if count not in self._known:
            rng = np.random.default_rng(self.seed)
            self._known[count] = strata.Strata(balanced_kmeans(self.states(), count, rng).labels)
        return self._known[count]

    def searched(self, most: int) -> strata.Strata:
        """Return the clusters at the elbow of the inertia, at most `most`."""
        from judgeloop.papers.actracer.clusters import strata_by_clusters

        if self.found is not None:
            return self.clusters(self.found)
        rng = np.random.default_rng(self.seed)
        return strata.Strata(strata_by_clusters(self.states(), most, rng)[0])

    def known_confidence(self) -> strata.Floats:
        """Return the confidence for a selector that uses it."""
        assert self.confidence is not None, "read for every selector that uses it"
        return self.confidence

    @cached_property
    def _known(self) -> dict[int, strata.Strata]:
        """Clusters made so far, by their number."""
        return {}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The settings of an estimate that its selector needs.

    `limit` is the maximum number of judged items. `start` is the number of clusters
    in the first step of a selector that begins with clusters. `clusters` is the number of strata,
    None to choose it here. `first_look` is the number of judgments after which the run may end
    because the interval is narrow enough; None if it runs to its limit.
    """

    limit: int
    start: int
    clusters: int | None = None
    allocation: str = "mc-ucb"
    distance: str = "wasserstein"
    first_look: int | None = None


def make_selector(row: SelectorRow, material: Material, wanted: Wanted) -> Selector[Any]:
    """Make the selector of `row`.

    Raises:
        InputError: there are too many clusters for two judgments in each.
    """
    ingredients = ForOne(
        strata=_strata(row, material, wanted),
        limit=wanted.limit,
        start=wanted.start,
        vectors=_vectors(row, material),
        confidence=material.known_confidence() if Need.CONFIDENCE in row.needs else None,
        allocation=row.allocation or wanted.allocation,
        distance=wanted.distance,
    )
    selector: Selector[Any] = row.make(ingredients)
    return selector


def _vectors(row: SelectorRow, material: Material) -> NDArray[np.floating] | None:
    """Return the vectors that the selector itself looks at; None if it looks at none."""
    if Need.LAST_STATES in row.needs:
        return material.last()
    return material.outputs() if Need.OUTPUT_VECTORS in row.needs else None


def strata_of(selector: Selector[Any], items: int) -> strata.Strata:
    """Return the strata that a selector draws from; a single stratum if it does not use strata."""
    return selector.strata if isinstance(selector, Stratified) else strata.Strata.single(items)


def _strata(row: SelectorRow, material: Material, wanted: Wanted) -> strata.Strata:
    if Need.SECTIONS in row.needs:
        return strata.by_sections(material.known_confidence(), wanted.clusters or strata.SECTIONS)
    if Need.CLUSTERS not in row.needs:
        return strata.Strata.single(material.items)
    most = min(wanted.limit // 2, material.items)
    if wanted.clusters is not None:
        if wanted.clusters > most:
            raise InputError(
                f"`clusters={wanted.clusters}`: at least two items of each cluster are judged, so "
                f"{wanted.limit:,} judgments of {material.items:,} items allow at most {most} clusters"
            )
        return material.clusters(wanted.clusters)
    if row.clusters == SEARCHED:
        return material.searched(most_clusters(wanted.limit, material.items))
    if row.clusters == PAYING:
        # A run that may end early needs the first draws of all clusters by the first look.
        begins = min(wanted.limit, 2 * (wanted.first_look or wanted.limit))
        return material.clusters(strata.paying_strata(begins, material.items))
    assert isinstance(row.clusters, int), "the catalogue says how many clusters"
    return material.clusters(max(1, min(row.clusters, most)))


def most_clusters(limit: int, items: int) -> int:
    """Return the maximum number of clusters that CluSearch tries: one for every four judgments.

    `limit` is a number of judgments. Huang et al. (2024), appendix A.1.3.
    """
    return min(limit // JUDGMENTS_A_CLUSTER, items // strata.ITEMS_A_STRATUM)


def distance_of(confidence_by: str) -> str:
    """Return the distance between samples of confidences that suits a kind of confidence.

    Huang et al. (2024), appendix A.1.3.
    """
    return "ks" if confidence_by == "first-token" else "wasserstein"


def wanted_by(config: EstimateSettings, items: int) -> Wanted:
    """Return what a configuration asks of its selector, for a pool of `items`."""
    limit = min(config.max_judgments, items)
    return Wanted(
        limit=limit,
        start=limit,
        clusters=config.clusters,
        allocation=config.allocation,
        distance=distance_of(config.confidence_by),
        first_look=None if config.half_width is None else config.min_judgments,
    )


def live_material(config: EstimateSettings, pool: Pool, confidence: strata.Floats | None) -> Material:
    """Return the data for selectors in a live run: vectors of texts, or hidden states of a model."""

    @cache
    def states() -> strata.Floats:
        layer = config.layer or "middle"  # that of the settings suits the selector
        return states_of(pool, config.represent, layer, seed=config.seed, cache_dir=config.cache_dir)

    def outputs() -> NDArray[np.floating]:
        texts = pool.outputs[0]  # as DiffUse uses them: not reduced
        return embed(texts, config.represent, seed=config.seed, cache_dir=config.cache_dir)

    seed = [config.seed, min(config.max_judgments, len(pool))]
    return Material(len(pool), states, states, outputs, confidence, seed)


def states_of(pool: Pool, represent: str, layer: str, *, seed: int, cache_dir: Any) -> strata.Floats:
    """Return vectors of one system's items, reduced, shape (items, dimensions).

    With `hidden:MODEL`, they are the model's hidden states of the prompts at `layer`. Otherwise
    they are vectors of prompt and output together, in place of the hidden states.
    """
    from judgeloop.papers.vectors import reduced

    kind, _, model = represent.partition(":")
    if kind == HIDDEN:
        from judgeloop.papers.actracer.hidden import hidden_vectors

        number = int(layer) if layer.isdigit() else layer
        prompts = [item.prompt for item in pool.items]
        return reduced(hidden_vectors(prompts, model, number, cache_dir / "hidden-states"))
    texts = [f"{item.prompt}\n{output}" for item, output in zip(pool.items, pool.outputs[0], strict=True)]
    return reduced(embed(texts, represent, seed=seed, cache_dir=cache_dir))
