"""The selector that a configuration names, with the vectors or opinions that it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.compare.prepare import CALIBRATED
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.represent.embed import embed
from judgeloop.run.settings import CompareConfig, SelectConfig
from judgeloop.selectors.halving import Halving
from judgeloop.selectors.making import LOOKING_AT_VECTORS, Variant, make_selector
from judgeloop.selectors.picking import make_picker
from judgeloop.selectors.race import Racing
from judgeloop.selectors.random import Random
from judgeloop.stats.combining import combined
from judgeloop.stats.decision_model import length_distances
from judgeloop.stats.decisiveness import Prospects
from judgeloop.stats.information import choose_epsilons


def selector_for(
    config: CompareConfig, name: str, pool: Pool, known: Prospects | None
) -> Selector[Any]:
    """The selector called `name`, its vectors embedded if it looks at any; `known` is what earlier comparisons say of the items, for `decisive`."""
    variant = Variant(config.combine, config.clustering, config.representative)
    vectors = _vectors(config, pool) if name in LOOKING_AT_VECTORS else None
    return make_selector(
        name,
        vectors,
        start=config.min_judgments,
        variant=variant,
        known=_with_distances(config, pool, known),
    )


def _with_distances(config: CompareConfig, pool: Pool, known: Prospects | None) -> Prospects | None:
    """With how far the two outputs are apart; not for a rule that past comparisons calibrate, whose outputs nobody has any more."""
    if known is None or config.rule_name == CALIBRATED:
        return known
    first, second = (np.array([len(text) for text in outputs]) for outputs in pool.outputs)
    return known._replace(distances=length_distances(first, second))


def _vectors(config: CompareConfig, pool: Pool) -> NDArray[np.floating]:
    """One vector an item, shape (items, dimensions)."""
    if config.selector == "input-cluster":
        return embed([item.prompt for item in pool.items], config)
    first, second = pool.outputs
    both = embed([*first, *second], config)
    return combined(config.combine, both[: len(pool)], both[len(pool) :])


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selector among many systems, and what LLM Selector took for the losses and draws of the best."""

    selector: Selector[Any]
    epsilon: tuple[float, float] | None = None


def selector_among(config: SelectConfig, pool: Pool, baseline: int, level: float | None) -> Chosen:
    """The selector of queries that are judged for many systems; `level` is the risk at which a race drops one."""
    systems = len(pool.systems)
    if config.selector == "race":
        assert level is not None, "a race goes with a rule that states a risk"
        return Chosen(Racing(systems, baseline, level))
    if config.selector == "random":
        return Chosen(Random(tuple((one, baseline) for one in range(systems) if one != baseline)))
    if config.selector == "halving":
        lengths = np.array([[len(text) for text in outputs] for outputs in pool.outputs])
        return Chosen(Halving(lengths, baseline, config.max_judgments))
    return _picker(config, pool, baseline)


def _picker(config: SelectConfig, pool: Pool, baseline: int) -> Chosen:
    from judgeloop.represent.weak_judges import weak_opinions

    opinions = weak_opinions(
        pool.outputs, baseline, config.weak_judges, config.cache_dir / "weak-judges"
    )
    epsilon = None
    if config.selector == "llm-selector":
        queries = max(1, min(len(pool), config.max_judgments // (len(pool.systems) - 1)))
        rng = np.random.default_rng([config.seed, queries])
        epsilon = config.epsilon or choose_epsilons(opinions, queries, rng)
    return Chosen(make_picker(config.selector, opinions, baseline, epsilon), epsilon)
