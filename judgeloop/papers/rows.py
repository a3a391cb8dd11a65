"""The rows that three papers add to the catalogue (`judgeloop/catalogue.py`), and what each makes of a draft.

A paper computes what it needs of the draft's pool and settings; a replay gives it, as `found`. Nothing heavy is
imported before a selector is made.
"""

from collections.abc import Callable
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.records import ONE_SYSTEM, Draws
from judgeloop.methods.rows import Draft, RuleRow, SelectorRow

_REPRESENT = frozenset({"represent"})
_VECTORS = _REPRESENT | {"vectors"}
_OPINIONS = frozenset({"weak_judges"})
_CONFIDENCE = frozenset({"confidence", "confidence_by"})
_STATES = _VECTORS | {"layer", "clusters", "allocation"}


def _embedded(draft: Draft, texts: Callable[[Any], list[str]]) -> Any:
    from judgeloop.papers.vectors import embed

    settings = draft.settings
    return embed(texts(draft.pool), settings.represent, seed=settings.seed, cache_dir=settings.cache_dir)


def _of_outputs(draft: Draft) -> Any:
    """The vectors of each system's outputs: those of the file that the settings name, else embedded."""
    assert draft.pool is not None, "a replay knows the vectors"
    if draft.settings.vectors is not None:
        from judgeloop.papers.recorded import of_outputs

        return of_outputs(draft.settings.vectors, draft.pool)
    every = _embedded(draft, lambda pool: [text for outputs in pool.outputs for text in outputs])
    return [every[begin : begin + draft.items] for begin in range(0, len(every), draft.items)]


# DiffUse, Ashury-Tahan et al. (2024).


def _differences(draft: Draft) -> Any:
    """One vector for each item, of those of both outputs (section 4); a replay may measure another way."""
    from judgeloop.papers.diffuse.tree import COMBINED

    return COMBINED[draft.setting("combine", "difference")](*draft.known("outputs", lambda: _of_outputs(draft)))


def _clustered(draft: Draft, vectors: Any, name: str) -> Any:
    from judgeloop.papers.diffuse.selector import DiffUse, KMeansDiffUse

    clustering = draft.setting("clustering", "ward")
    representative = draft.setting("representative", "cosine")
    if clustering == "kmeans":
        return KMeansDiffUse(vectors, draft.start, representative, name)
    return DiffUse(vectors, draft.start, clustering, representative, name)


def _diffuse(draft: Draft) -> Any:
    return _clustered(draft, _differences(draft), "diffuse")


def _max_norm(draft: Draft) -> Any:
    from judgeloop.papers.diffuse.selector import MaxNorm

    return MaxNorm(_differences(draft))


def _input_cluster(draft: Draft) -> Any:
    def of_prompts() -> Any:
        return _embedded(draft, lambda pool: [item.prompt for item in pool.items])

    return _clustered(draft, draft.known("prompts", of_prompts), "input-cluster")


def _diffuse_of_one(draft: Draft) -> Any:
    from judgeloop.papers.diffuse.selector import DiffUse

    if "outputs" not in draft.found and draft.settings.hidden:
        given = draft.settings
        source = f"represent={given.represent}" if given.vectors is None else f"vectors={given.vectors}"
        raise InputError(
            f"`{source}`: `selector=diffuse` clusters the outputs, and hidden states are of the prompts; use "
            "`represent=lexical` or `represent=minilm`"
        )
    vectors = draft.known("outputs", lambda: _of_outputs(draft)[0])
    return DiffUse(vectors, draft.start, systems=ONE_SYSTEM)


def _tie_aware(draft: Draft) -> Any:
    from judgeloop.papers.diffuse.rules import TieAware

    return TieAware(draft.risk)


def _hypergeometric(draft: Draft) -> Any:
    from judgeloop.papers.diffuse.rules import Hypergeometric

    return Hypergeometric(draft.risk)


# LLM Selector, Durmazkeser et al. (2025).


def _opinions(draft: Draft) -> Any:
    def formed() -> Any:
        from judgeloop.papers.llm_selector.opinions import weak_opinions

        assert draft.pool is not None, "a replay knows the opinions"
        settings, baseline = draft.settings, draft.baseline or 0
        return weak_opinions(draft.pool.outputs, baseline, settings.weak_judges, settings.cache_dir / "weak-judges")

    return draft.known("opinions", formed)


def _llm_selector(draft: Draft) -> Any:
    import numpy as np

    from judgeloop.papers.llm_selector.information import choose_epsilons
    from judgeloop.papers.llm_selector.selector import LLMSelector

    opinions, epsilons = _opinions(draft), draft.settings.epsilon
    if epsilons is None:
        queries = max(1, min(draft.items, draft.limit // (draft.systems - 1)))
        epsilons = choose_epsilons(opinions, queries, np.random.default_rng([*draft.seed, queries]))
    return LLMSelector(opinions, draft.baseline or 0, epsilons)


def _bradley_terry(draft: Draft) -> Any:
    from judgeloop.papers.llm_selector.selector import BradleyTerry

    return BradleyTerry(_opinions(draft), draft.baseline or 0)


def _in_order(name: str) -> Callable[[Draft], Any]:
    def make(draft: Draft) -> Any:
        from judgeloop.papers.llm_selector.selector import OutcomeOrder

        return OutcomeOrder(_opinions(draft), draft.baseline or 0, name)

    return make


# AcTracer, Huang et al. (2024).


def _stratified(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs

    return inputs.stratified(draft)


def _actracer(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs

    return inputs.actracer(draft)


def _actracer_8(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs

    return inputs.actracer(draft, "actracer-8", clusters=8)


def _actracer_proportional(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs

    return inputs.actracer(draft, "actracer-proportional", allocation="proportional")


def _actracer_random(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs

    return inputs.actracer(draft, "actracer-random", resembling=False)


def _by_sections(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs

    return inputs.by_sections(draft)


def _systematic(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs
    from judgeloop.papers.actracer.rivals import ConfidenceSystematic

    return ConfidenceSystematic(inputs.confidence(draft))


def _cross_entropy(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs
    from judgeloop.papers.actracer.rivals import CrossEntropy

    return CrossEntropy(inputs.states(draft, "last states"))


def _mmd_critic(draft: Draft) -> Any:
    from judgeloop.papers.actracer import inputs
    from judgeloop.papers.actracer.rivals import MMDCritic

    return MMDCritic(inputs.states(draft, "last states"))


SELECTORS: tuple[SelectorRow, ...] = (
    SelectorRow(
        "compare", "diffuse", "one representative of each cluster of output differences", Draws.PICKED, _diffuse,
        takes=_VECTORS, vectors="outputs", needs_outputs=True,
    ),
    SelectorRow(
        "compare", "max-norm", "largest output difference first", Draws.PICKED, _max_norm,
        takes=_VECTORS, vectors="outputs", needs_outputs=True,
    ),
    SelectorRow(
        "compare", "input-cluster", "one representative of each cluster of prompts", Draws.PICKED, _input_cluster,
        takes=_REPRESENT, vectors="prompts",
    ),
    SelectorRow(
        "select", "llm-selector", "the query with the largest expected information about which system is best",
        Draws.PICKED, _llm_selector, takes=_OPINIONS | {"epsilon"}, needs_outputs=True,
    ),
    SelectorRow(
        "select", "bradley-terry", "llm-selector by Bradley-Terry coefficients", Draws.PICKED, _bradley_terry,
        takes=_OPINIONS, needs_outputs=True,
    ),
    *(
        SelectorRow(
            "select", name, help_, Draws.PICKED, _in_order(name), takes=_OPINIONS, needs_outputs=True
        )
        for name, help_ in (
            ("most-draws", "queries with the most expected ties first"),
            ("confidence", "queries with the lowest entropy of expected outcomes first"),
            ("uncertainty", "queries with the highest entropy of expected outcomes first"),
        )
    ),
    SelectorRow(
        "estimate", "stratified", "random draws within balanced clusters", Draws.KNOWN, _stratified,
        takes=_STATES, vectors="states", needs_outputs=True,
    ),
    SelectorRow(
        "estimate", "actracer", "AcTracer: clusters; in each, a sample with the cluster's distribution of confidence",
        Draws.PICKED, _actracer, takes=_STATES | _CONFIDENCE, vectors="states", needs_outputs=True,
    ),
    SelectorRow(
        "estimate", "stratified-confidence", "random draws within sections by confidence", Draws.KNOWN, _by_sections,
        takes=_CONFIDENCE | {"clusters"}, needs_outputs=True,
    ),
    SelectorRow(
        "estimate", "confidence-systematic", "a sample spread evenly over the confidence", Draws.PICKED, _systematic,
        takes=_CONFIDENCE, needs_outputs=True,
    ),
    SelectorRow(
        "estimate", "cross-entropy", "a sample with the pool's distribution of neuron activations", Draws.PICKED,
        _cross_entropy, takes=_VECTORS, vectors="last states", needs_outputs=True,
    ),
    SelectorRow(
        "estimate", "mmd-critic", "PACE: prototypes of clusters, and outliers", Draws.PICKED, _mmd_critic,
        takes=_VECTORS, vectors="last states", needs_outputs=True,
    ),
    SelectorRow(
        "estimate", "diffuse", "one representative of each cluster of outputs", Draws.PICKED, _diffuse_of_one,
        takes=_VECTORS, vectors="outputs", needs_outputs=True,
    ),
    # AcTracer without one of its parts (Huang et al. 2024, table 2).
    SelectorRow(
        "estimate", "actracer-8", "AcTracer without CluSearch: 8 clusters", Draws.PICKED, _actracer_8,
        takes=_STATES | _CONFIDENCE, vectors="states", needs_outputs=True, ablation=True,
    ),
    SelectorRow(
        "estimate", "actracer-proportional", "AcTracer without MC-UCB", Draws.PICKED, _actracer_proportional,
        takes=_STATES | _CONFIDENCE, vectors="states", needs_outputs=True, ablation=True,
    ),
    SelectorRow(
        "estimate", "actracer-random", "AcTracer without the picks by confidence", Draws.KNOWN, _actracer_random,
        takes=_STATES, vectors="states", needs_outputs=True, ablation=True,
    ),
)  # fmt: skip

RULES: tuple[RuleRow, ...] = (
    RuleRow("compare", "tie-aware", "heuristic, on decisive verdicts only", _tie_aware, for_picks=True),
    RuleRow("compare", "hypergeometric", "heuristic, as in the DiffUse paper", _hypergeometric),
)
