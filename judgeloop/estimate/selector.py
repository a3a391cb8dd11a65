"""The selector of the items on which one system is judged, with the strata, confidences or vectors that it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.represent.embed import embed
from judgeloop.run.settings import EstimateConfig
from judgeloop.selectors.confidence_systematic import ConfidenceSystematic
from judgeloop.selectors.cross_entropy import CrossEntropy
from judgeloop.selectors.diffuse import DiffUse
from judgeloop.selectors.mmd_critic import MMDCritic
from judgeloop.selectors.random import Random
from judgeloop.selectors.stratified import Stratified
from judgeloop.stats.allocation import ITEMS_A_STRATUM, paying_strata
from judgeloop.stats.sections import SECTIONS, by_sections
from judgeloop.stats.strata import Floats, Strata

NEED_CONFIDENCE = {"actracer", "stratified-confidence", "confidence-systematic"}
NEED_VECTORS = {"stratified", "actracer", "cross-entropy", "mmd-critic", "diffuse"}
NEED_CLUSTERS = {"stratified", "actracer"}
DRAWING_ONE = {"stratified", "random", "stratified-confidence"}
BUDGET_A_CLUSTER = 4
THE_ONE = (0,)


@dataclass(frozen=True, slots=True)
class Sampling:
    """A selector for one system, and the strata that its items stand for."""

    selector: Selector[Any]
    strata: Strata


def sampling_for(
    config: EstimateConfig,
    budget: int,
    *,
    confidence: Floats | None,
    vectors: Floats | None,
    items: int,
) -> Sampling:
    """The selector for `budget` judgments; `confidence`, shape (items,), and `vectors`, shape (items, dimensions), where it needs them."""
    whole = Strata.single(items)
    if config.selector == "random":
        return Sampling(Random((THE_ONE,)), whole)
    if config.selector in NEED_CLUSTERS:
        return _by_clusters(config, budget, _needed(vectors), confidence)
    if config.selector == "stratified-confidence":
        strata = by_sections(_needed(confidence), config.clusters or SECTIONS)
        return Sampling(
            Stratified(strata, budget, allocation="proportional", name=config.selector), strata
        )
    if config.selector == "confidence-systematic":
        return Sampling(ConfidenceSystematic(_needed(confidence)), whole)
    found = _needed(vectors)
    picking: dict[str, Selector[Any]] = {
        "cross-entropy": CrossEntropy(found),
        "mmd-critic": MMDCritic(found),
        "diffuse": DiffUse(found, start=budget, systems=THE_ONE),
    }
    return Sampling(picking[config.selector], whole)


def _by_clusters(
    config: EstimateConfig, budget: int, vectors: Floats, confidence: Floats | None
) -> Sampling:
    strata = _clusters(config, budget, vectors)
    acts = config.selector == "actracer"
    selector = Stratified(
        strata,
        budget,
        allocation=config.allocation,
        confidence=_needed(confidence) if acts else None,
        distance="ks" if config.confidence_by == "first-token" else "wasserstein",
        name=config.selector,
    )
    return Sampling(selector, strata)


def _clusters(config: EstimateConfig, budget: int, vectors: Floats) -> Strata:
    """So many balanced clusters as the configuration says; else for AcTracer as CluSearch finds, and for random draws as many as pay.

    Raises:
        InputError: there are more than `budget` pays two judgments each of, or than items.
    """
    rng = np.random.default_rng([config.seed, budget])
    most = min(budget // 2, len(vectors))
    if config.clusters is not None and config.clusters > most:
        raise InputError(
            f"--clusters {config.clusters}: at least two items of each are judged, and with {budget} judgments of {len(vectors)} items "
            f"there can be at most {most}"
        )
    if config.clusters is None and config.selector == "actracer":
        return searched_clusters(vectors, budget, rng)
    # A run that ends by its width may end early: the first draws of all clusters have to be made by the first look.
    begins = budget if config.half_width is None else min(budget, 2 * config.min_judgments)
    return clusters_of(vectors, config.clusters or paying_strata(begins, len(vectors)), rng)


def clusters_of(vectors: Floats, clusters: int, rng: np.random.Generator) -> Strata:
    """Strata of equal size by balanced k-means."""
    from judgeloop.stats.balanced_kmeans import balanced_kmeans

    return Strata(balanced_kmeans(vectors, clusters, rng).labels)


def searched_clusters(vectors: Floats, budget: int, rng: np.random.Generator) -> Strata:
    """As many as CluSearch finds, with at most one for four judgments (Huang et al. 2024, appendix A.1.3)."""
    from judgeloop.stats.clusearch import strata_by_clusters

    most = min(budget // BUDGET_A_CLUSTER, len(vectors) // ITEMS_A_STRATUM)
    return Strata(strata_by_clusters(vectors, most, rng)[0])


def vectors_for(config: EstimateConfig, pool: Pool) -> Floats | None:
    """What the selector looks at, shape (items, dimensions); None for one that looks at no vectors.

    A model's hidden states are of the prompts; other representations of prompt and output together.
    """
    if config.selector not in NEED_VECTORS:
        return None
    kind, _, model = config.represent.partition(":")
    if kind == "hidden":
        from judgeloop.represent.hidden import hidden_vectors

        layer = int(config.layer) if config.layer.isdigit() else config.layer
        prompts = [item.prompt for item in pool.items]
        return _reduced(hidden_vectors(prompts, model, layer, config.cache_dir / "hidden-states"))
    texts = [
        f"{item.prompt}\n{output}" for item, output in zip(pool.items, pool.outputs[0], strict=True)
    ]
    return _reduced(embed(texts, config))


def _reduced(vectors: Any) -> Floats:
    from judgeloop.represent.reducing import reduced

    return reduced(vectors)


def _needed(values: Floats | None) -> Floats:
    assert values is not None, "prepared for every selector that looks at it"
    return values
