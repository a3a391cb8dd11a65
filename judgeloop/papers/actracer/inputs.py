"""What AcTracer's selectors are made of: hidden states, clusters of them, and the system's confidence.

Huang et al. (2024), "Active Testing of Large Language Model via Multi-Stage Sampling". The confidence stands in a field
of the system's output file: a number, or the log-probabilities of the generated tokens. These are a list of numbers, or
of objects with `token` and `logprob` as OpenAI's API returns them (also inside an object, under `content`). Nothing
here checks whether confidence predicts correctness.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.core.records import Item, Pool
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.rows import parse_output
from judgeloop.formats.tables import Row, Source, Table
from judgeloop.methods.rows import Draft
from judgeloop.methods.selectors.stratified import Stratified
from judgeloop.methods.stats.strata import ITEMS_A_STRATUM, SECTIONS, Floats, Strata, paying_strata
from judgeloop.methods.stats.strata import by_sections as sections_of

JUDGMENTS_A_CLUSTER = 4  # judgments per cluster, at least, in the clusterings that CluSearch tries
SEARCHING = ("actracer", "actracer-proportional", "actracer-random")  # CluSearch finds their number of clusters


def stratified(draft: Draft) -> Stratified:
    """Random draws within clusters, of which there are as many as random draws can use."""
    # A run that may end early needs the first draws of all clusters by the first look.
    count = _asked_for(draft) or paying_strata(min(draft.limit, 2 * draft.start), draft.items)
    strata = _clusters(draft, count)
    return Stratified(strata, draft.limit, draft.setting("allocation", "mc-ucb"), layer=draft.found.get("layer"))


def actracer(
    draft: Draft,
    name: str = "actracer",
    *,
    clusters: int | None = None,
    allocation: str | None = None,
    resembling: bool = True,
) -> Stratified:
    """AcTracer (algorithm 1), or a variant of it without one of its parts (table 2).

    CluSearch finds the number of clusters, unless it is given. With `resembling`, the next item of a cluster is picked
    by the confidence, by the distance that suits it (appendix A.1.3).
    """
    count = _asked_for(draft) or (clusters and max(1, min(clusters, _most(draft))))
    strata = _searched(draft) if count is None else _clusters(draft, count)
    return Stratified(
        strata,
        draft.limit,
        allocation or draft.setting("allocation", "mc-ucb"),
        confidence(draft) if resembling else None,
        "ks" if draft.setting("confidence_by", "") == "first-token" else "wasserstein",
        name=name,
        layer=draft.found.get("layer"),
    )


def by_sections(draft: Draft) -> Stratified:
    """CSSampling (section 4.3): random draws within sections of equal width by confidence."""
    strata = sections_of(confidence(draft), draft.setting("clusters", None) or SECTIONS)
    return Stratified(strata, draft.limit, "proportional", name="stratified-confidence")


def confidence(draft: Draft) -> Floats:
    """The system's confidence in its outputs, shape (items,)."""
    found: Floats = draft.found["confidence"]
    return found


def states(draft: Draft, which: Literal["states", "last states"]) -> Floats:
    """Vectors of the items, reduced, shape (items, dimensions)."""

    def computed() -> Floats:
        from judgeloop.papers.recorded import of_states
        from judgeloop.papers.vectors import reduced

        assert draft.pool is not None, "a replay knows the vectors"
        given = draft.settings
        layer = given.layer or "middle"  # that of the settings suits the selector
        if given.vectors is not None:
            return reduced(of_states(given.vectors, draft.pool, layer))
        if layer == "auto":
            draft.found["layer"] = searched_layer(draft.pool, given.represent, given.cache_dir)
            layer = str(draft.found["layer"])
        return states_of(draft.pool, given.represent, layer, seed=given.seed, cache_dir=given.cache_dir)

    return draft.known(which, computed)


def searched_layer(pool: Pool, represent: str, cache_dir: Path) -> int:
    """The layer that AcTracer's search finds for a pool's prompts (algorithm 2)."""
    from judgeloop.papers.actracer.layer import auto_layer

    prompts = [item.prompt for item in pool.items]
    return auto_layer(prompts, represent.partition(":")[2], cache_dir / "hidden-states")


def states_of(pool: Pool, represent: str, layer: str, *, seed: int, cache_dir: Path) -> Floats:
    """Vectors of one system's items, reduced, shape (items, dimensions).

    With `hidden:MODEL`, they are the model's hidden states of the prompts at `layer`. Otherwise they are vectors of
    prompt and output together, in place of the hidden states.
    """
    from judgeloop.papers.vectors import embed, reduced

    kind, _, model = represent.partition(":")
    if kind == "hidden":
        from judgeloop.papers.actracer.hidden import hidden_vectors

        prompts, number = [item.prompt for item in pool.items], int(layer) if layer.isdigit() else layer
        return reduced(hidden_vectors(prompts, model, number, cache_dir / "hidden-states"))
    texts = [f"{item.prompt}\n{output}" for item, output in zip(pool.items, pool.outputs[0], strict=True)]
    return reduced(embed(texts, represent, seed=seed, cache_dir=cache_dir))


def most_clusters(limit: int, items: int) -> int:
    """The most clusters that CluSearch tries: one for every four of `limit` judgments (appendix A.1.3)."""
    return min(limit // JUDGMENTS_A_CLUSTER, items // ITEMS_A_STRATUM)


def _most(draft: Draft) -> int:
    return min(draft.limit // 2, draft.items)


def _asked_for(draft: Draft) -> int | None:
    """The number of clusters that the settings name; None if it is chosen here.

    Raises:
        InputError: there are too many for two judgments in each.
    """
    count: int | None = draft.setting("clusters", None)
    if count is not None and count > _most(draft):
        raise InputError(
            f"`clusters={count}`: at least two items of each cluster are judged, so "
            f"{draft.limit:,} judgments of {draft.items:,} items allow at most {_most(draft)} clusters"
        )
    return count


def _clusters(draft: Draft, count: int) -> Strata:
    """Balanced clusters of the states, made once for all selectors of a draft."""
    from judgeloop.papers.actracer.clusters import balanced_kmeans

    def made() -> Strata:
        return Strata(balanced_kmeans(states(draft, "states"), count, np.random.default_rng(draft.seed)).labels)

    return draft.known(("clusters", count), made)


def _searched(draft: Draft) -> Strata:
    """The clusters at the elbow of the inertia; their number, if a replay has found it, in clusters of its own."""
    from judgeloop.papers.actracer.clusters import strata_by_clusters

    found: int | None = draft.found.get("elbow")
    if found is not None:
        return _clusters(draft, found)
    most = most_clusters(draft.limit, draft.items)
    return Strata(strata_by_clusters(states(draft, "states"), most, np.random.default_rng(draft.seed))[0])


def read_confidence(source: Source, items: Sequence[Item], field: str, rule: str) -> NDArray[np.float64]:
    """Read a confidence for each of `items` from `field` in the rows of `source`, shape (items,).

    Rows are joined to items by id or prompt. `rule` reduces a list of log-probabilities to a
    number. "geometric-mean" is the geometric mean of the tokens' probabilities. "first-token" is
    the probability of the first token that is not blank. Huang et al. 2024 (appendix A.1.3) use the
    mean for answers in words and the first token for choices, mathematics and code.

    Raises:
        DataError: a row lacks the field, or the field holds something else; names the line.
        InputError: an item has no row.
    """
    found: dict[str, float] = {}
    table = table_of(source)
    for read in table.rows:
        row, value = parse_output(table, read), _confidence(table, read, field, rule)
        for key in (row.id and f"id {row.id}", row.prompt and f"prompt {row.prompt}"):
            if key:
                found.setdefault(key, value)
    values = [found.get(f"id {item.id}", found.get(f"prompt {item.prompt}")) for item in items]
    missing = [item.id for item, value in zip(items, values, strict=True) if value is None]
    if missing:
        raise InputError(f"{table}: no confidence for {len(missing):,} items, such as {missing[0]!r}")
    return np.array(values, dtype=np.float64)


def _confidence(table: Table, row: Row, field: str, rule: str) -> float:
    value = row.fields.get(field)
    if value is None:
        raise table.wrong(
            f"the field {field!r} is missing or null, but the system's confidence is read from it; "
            "name another field with `confidence`, or use a selector that needs no confidence "
            "(stratified, random)",
            row.line,
        )
    try:
        return _of_tokens(value, rule) if isinstance(value, list | Mapping) else _number(value)
    except (TypeError, ValueError, KeyError) as error:
        why = f"no {error}" if isinstance(error, KeyError) else str(error)
        problem = f"expected a number or a list of log-probabilities in {field!r}: {why}"
        raise table.wrong(problem, row.line) from None


def _of_tokens(value: list[Any] | Mapping[str, Any], rule: str) -> float:
    listed = value["content"] if isinstance(value, Mapping) else value
    # Pairs of a token's text and its log-probability.
    tokens = [
        (str(entry.get("token", "")), _logprob(entry["logprob"]))
        if isinstance(entry, Mapping)
        else (None, _logprob(entry))
        for entry in listed
    ]
    if not tokens:
        return 0.0  # without tokens there is no evidence of confidence
    if rule == "geometric-mean":
        return math.exp(math.fsum(logprob for _, logprob in tokens) / len(tokens))
    first = next((pair for pair in tokens if pair[0] is None or pair[0].strip()), tokens[0])
    return math.exp(first[1])


def _logprob(value: Any) -> float:
    number = _number(value)
    if number > 0:
        raise ValueError(f"a log-probability is at most 0, found {number:g}")
    return number


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(f"found {value!r}")
    return number
