"""The catalogue of selectors: for each question and name, what makes it and what it needs.

A new selector takes its own file and one row here. Settings, live runs and replays read
this table. It imports nothing heavy: a row names what makes the selector as text, and that
module is imported when a selector is made.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from judgeloop.core.choices import Draws

# Names of variants: of DiffUse (`papers/diffuse/tree.py`), the paper's
# first, which replays measure; and of stratified draws (`stratified.py`).
COMBINATIONS = ("difference", "concatenation", "addition")
CLUSTERINGS = ("ward", "cosine", "kmeans", "quarter-ward")
REPRESENTATIVES = ("cosine", "euclidean", "largest-norm", "random")
ALLOCATIONS = ("mc-ucb", "proportional")

_STATES = ("represent", "layer")
_STRATIFIED = ("strata", "limit", "allocation")
_RESEMBLING = (*_STRATIFIED, "confidence", "distance")


class Need(enum.Enum):
    """What a selector reads before the first judgment."""

    OUTPUT_VECTORS = "vectors of the outputs"
    PROMPT_VECTORS = "vectors of the prompts"
    LAST_STATES = "vectors of the system's hidden states in the last layer, or of prompt and output"
    CLUSTERS = "balanced clusters of the hidden states, or of vectors of prompt and output"
    SECTIONS = "sections of equal width by confidence"
    CONFIDENCE = "the system's own confidence"
    OPINIONS = "opinions of weak judges"
    EPSILONS = "how often the best system loses and ties"
    RISK = "a stated risk, for bounds of the systems' levels"


VECTORS = frozenset({Need.OUTPUT_VECTORS, Need.PROMPT_VECTORS, Need.LAST_STATES, Need.CLUSTERS})


@dataclass(frozen=True, slots=True)
class SelectorRow:
    """One selector of one question.

    `makes` is `module:name` in `judgeloop`: a class or function, which is called with
    the fields `of` the question's record from `ingredients.py`, or with the record if there are none.
    `draws` says whether the selector draws at random or picks. `takes` names the settings that this
    selector reads, beside those that every selector reads. `help` completes "NAME: ".

    For estimates: `clusters` is the number of strata: "searched" (chosen by CluSearch), "paying"
    (as many as random draws can use), or a fixed number. `allocation` fixes how a variant divides
    the judgments between strata; None leaves it to the setting. `walks` is True if the order of the
    items depends neither on the number of judgments nor on the answers. `ablation` marks a variant
    of AcTracer without one of its parts; only replays run it.
    """

    question: str
    name: str
    makes: str
    draws: Draws
    help: str
    of: Sequence[str] = ()
    needs: frozenset[Need] = frozenset()
    takes: frozenset[str] = frozenset()
    clusters: str | int | None = None
    allocation: str | None = None
    walks: bool = False
    ablation: bool = False

    @property
    def looks_at_vectors(self) -> bool:
        """Whether the selector needs vectors of any kind."""
        return bool(self.needs & VECTORS)

    def make(self, ingredients: Any) -> Any:
        """Make the selector from the question's ingredients."""
        module, _, name = self.makes.partition(":")
        maker = getattr(import_module(f"judgeloop.{module}"), name)
        given = [getattr(ingredients, field) for field in self.of] or [ingredients]
        return replace(maker(*given), name=self.name)


def _row(question: str, name: str, makes: str, draws: Draws, help_: str, **more: Any) -> SelectorRow:
    sets: dict[str, Any] = {key: frozenset(more.pop(key, ())) for key in ("needs", "takes")}
    return SelectorRow(question, name, makes, draws, help_, **sets, **more)


SELECTORS: tuple[SelectorRow, ...] = (
    _row("compare", "random", "methods.selectors.random:Random", Draws.EVEN, "uniform random draws", of=["queries"]),
    _row(
        "compare", "diffuse", "papers.diffuse.selector:for_two", Draws.PICKED,
        "one representative of each cluster of output differences",
        needs=[Need.OUTPUT_VECTORS], takes=["represent"],
    ),
    _row(
        "compare", "max-norm", "papers.diffuse.selector:MaxNorm", Draws.PICKED, "largest output difference first",
        of=["vectors"], needs=[Need.OUTPUT_VECTORS], takes=["represent"],
    ),
    _row(
        "compare", "input-cluster", "papers.diffuse.selector:for_two", Draws.PICKED,
        "one representative of each cluster of prompts",
        needs=[Need.PROMPT_VECTORS], takes=["represent"],
    ),
    _row(
        "select", "race", "methods.selectors.race:for_many", Draws.EVEN,
        "random draws, for the systems that may still be the best",
        needs=[Need.RISK],
    ),
    _row(
        "select", "random", "methods.selectors.random:Random", Draws.EVEN, "random draws for all systems",
        of=["queries"],
    ),
    _row(
        "select", "llm-selector", "papers.llm_selector.selector:LLMSelector", Draws.PICKED,
        "the query with the largest expected information about which system is best",
        of=["opinions", "baseline", "epsilons"],
        needs=[Need.OPINIONS, Need.EPSILONS], takes=["weak_judges", "epsilon"],
    ),
    _row(
        "select", "bradley-terry", "papers.llm_selector.selector:BradleyTerry", Draws.PICKED,
        "llm-selector by Bradley-Terry coefficients",
        of=["opinions", "baseline"], needs=[Need.OPINIONS], takes=["weak_judges"],
    ),
    *(
        _row(
            "select", name, "papers.llm_selector.selector:OutcomeOrder", Draws.PICKED, help_,
            of=["opinions", "baseline"], needs=[Need.OPINIONS], takes=["weak_judges"],
        )
        for name, help_ in (
            ("most-draws", "queries with the most expected ties first"),
            ("confidence", "queries with the lowest entropy of expected outcomes first"),
            ("uncertainty", "queries with the highest entropy of expected outcomes first"),
        )
    ),
    _row(
        "estimate", "random", "methods.selectors.random:Random", Draws.EVEN, "uniform random draws",
        of=["queries"], walks=True,
    ),
    _row(
        "estimate", "stratified", "methods.selectors.stratified:Stratified", Draws.KNOWN,
        "random draws within balanced clusters", of=_STRATIFIED,
        needs=[Need.CLUSTERS], takes=[*_STATES, "clusters", "allocation"], clusters="paying",
    ),
    _row(
        "estimate", "actracer", "methods.selectors.stratified:Stratified", Draws.PICKED,
        "AcTracer: clusters; in each, a sample with the cluster's distribution of confidence",
        of=_RESEMBLING,
        needs=[Need.CLUSTERS, Need.CONFIDENCE],
        takes=[*_STATES, "clusters", "allocation", "confidence", "confidence_by"],
        clusters="searched",
    ),
    _row(
        "estimate", "stratified-confidence", "methods.selectors.stratified:Stratified", Draws.KNOWN,
        "random draws within sections by confidence", of=_STRATIFIED, allocation="proportional",
        needs=[Need.SECTIONS, Need.CONFIDENCE], takes=["clusters", "confidence", "confidence_by"],
        walks=True,
    ),
    _row(
        "estimate", "confidence-systematic", "papers.actracer.rivals:ConfidenceSystematic", Draws.PICKED,
        "a sample spread evenly over the confidence", of=["confidence"],
        needs=[Need.CONFIDENCE], takes=["confidence", "confidence_by"], walks=True,
    ),
    _row(
        "estimate", "cross-entropy", "papers.actracer.rivals:CrossEntropy", Draws.PICKED,
        "a sample with the pool's distribution of neuron activations",
        of=["vectors"], needs=[Need.LAST_STATES], takes=["represent"], walks=True,
    ),
    _row(
        "estimate", "mmd-critic", "papers.actracer.rivals:MMDCritic", Draws.PICKED,
        "PACE: prototypes of clusters, and outliers",
        of=["vectors"], needs=[Need.LAST_STATES], takes=["represent"], walks=True,
    ),
    _row(
        "estimate", "diffuse", "papers.diffuse.selector:for_one", Draws.PICKED,
        "one representative of each cluster of outputs",
        needs=[Need.OUTPUT_VECTORS], takes=["represent"], walks=True,
    ),
    # AcTracer without one of its parts (Huang et al. 2024, table 2).
    _row(
        "estimate", "actracer-8", "methods.selectors.stratified:Stratified", Draws.PICKED,
        "AcTracer without CluSearch: 8 clusters", of=_RESEMBLING,
        needs=[Need.CLUSTERS, Need.CONFIDENCE], clusters=8, ablation=True,
    ),
    _row(
        "estimate", "actracer-proportional", "methods.selectors.stratified:Stratified", Draws.PICKED,
        "AcTracer without MC-UCB", of=_RESEMBLING,
        needs=[Need.CLUSTERS, Need.CONFIDENCE], clusters="searched", allocation="proportional",
        ablation=True,
    ),
    _row(
        "estimate", "actracer-random", "methods.selectors.stratified:Stratified", Draws.KNOWN,
        "AcTracer without the picks by confidence", of=_STRATIFIED,
        needs=[Need.CLUSTERS], clusters="searched", ablation=True,
    ),
)  # fmt: skip


def selectors_of(question: str, *, ablations: bool = False) -> tuple[SelectorRow, ...]:
    """Return every selector of a question, the default first.

    With `ablations`, the variants that only replays run are included.
    """
    return tuple(row for row in SELECTORS if row.question == question and (ablations or not row.ablation))


def names_of(question: str, *, ablations: bool = False) -> tuple[str, ...]:
    """Return the names of a question's selectors, the default first."""
    return tuple(row.name for row in selectors_of(question, ablations=ablations))


def selector_row(question: str, name: str) -> SelectorRow:
    """Return the row of one selector.

    Raises:
        KeyError: the question has no selector of that name.
    """
    for row in selectors_of(question, ablations=True):
        if row.name == name:
            return row
    raise KeyError(name)
