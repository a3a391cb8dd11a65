"""Draws what DiffUse picked in a finished replay: its clusters, vector norms, and success by norm.

    judgeloop replay OUTPUTS_DIR --items FILE --verdicts FILE --represent minilm --sizes 20 -o FOLDER
    python benchmarks/diffuse_pictures.py FOLDER --numbers 20,50,100 [--bins 50]

The analyses of Ashury-Tahan et al. (2024), section 7.2. Reads the settings and the rows of the
replay from the journal in FOLDER, and writes pictures (SVG) there: of the picks at the first of
`--numbers`, which has to be one of `--sizes`, and of the clusters at each. Needs the extra
`judgeloop[test]`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from replay_pictures import Z, panel, panels, svg, verbatim

from judgeloop.papers.diffuse.tree import COMBINED, Dendrogram, ward_by_size
from judgeloop.replay.compare import Recordings, Row, recordings_for, selector_for
from judgeloop.replay.run import JOURNAL
from judgeloop.replay.settings import ReplayCompareSettings

Floats = NDArray[np.float64]
LEAST_A_BIN = 4  # items drawn from a bin; fewer say nothing
HISTOGRAM = 20  # bins
CAP_OF_BARS = 15  # width of all bars' caps together
OUTCOMES = ((1, "the winner is preferred", "C0"), (0, "tie", "0.5"), (-1, "the other is", "C3"))
SIDES = (("the better system", 1, "C0"), ("tie", 0, "0.5"), ("the other", -1, "C3"))


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of one cut: share of the items and mean norm of each, shape (clusters,)."""

    shares: Floats
    mean_norms: Floats


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Sizes and norms of one clustering.

    Norms are in units of their mean over all items, so that several pairs of systems can be
    compared. `shares` and `mean_norms` have the shape (clusters,): each cluster's share of the
    items, and the mean norm of its items (figure 8). `norms` has the shape (items,). `picked` holds
    the norms of the picked items (figure 9).
    """

    shares: Floats
    mean_norms: Floats
    norms: Floats
    picked: Floats


def relative_norms(vectors: NDArray[np.floating]) -> Floats:
    """Compute the vectors' lengths in units of their mean, shape (items,).

    All are 0 if every length is 0.
    """
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    relative: Floats = norms / norms.mean() if norms.any() else norms
    return relative


def anatomy(vectors: NDArray[np.floating], clusters: int, picked: NDArray[np.int64]) -> Anatomy:
    """Cut Ward's dendrogram of `vectors` into `clusters` clusters and describe them.

    `vectors` has the shape (items, dimensions). `picked` holds the positions of the judged items.
    """
    norms = relative_norms(vectors)
    clusters_at = _clusters_of(ward_by_size(vectors), norms, clusters)
    return Anatomy(clusters_at.shares, clusters_at.mean_norms, norms=norms, picked=norms[picked])


def clusters_by_number(vectors: NDArray[np.floating], numbers: Sequence[int]) -> dict[int, Clusters]:
    """Cut Ward's dendrogram of `vectors` into each of several `numbers` of clusters (figure 15)."""
    norms, tree = relative_norms(vectors), ward_by_size(vectors)
    return {number: _clusters_of(tree, norms, number) for number in numbers}


def _clusters_of(tree: Dendrogram, norms: Floats, number: int) -> Clusters:
    groups = [tree.members(node) for node in tree.cut(min(number, len(norms)))]
    return Clusters(
        shares=np.array([len(group) / len(norms) for group in groups]),
        mean_norms=np.array([norms[group].mean() for group in groups]),
    )


def named_by_norm_bin(
    norms: Floats, preferences: NDArray[np.int8], bins: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Sample items from bins of ascending norm and return whether each sample names the winner.

    There are `bins` bins with equally many items; `draws` items are drawn from each (figure 10).
    `preferences` has the shape (items,) and is seen from the winner over all items: 1 where the
    verdict prefers the winner, -1 where it prefers the loser, 0 for a tie. The result has the shape
    (bins,): 1 where the sample names the winner, else 0.
    """
    order = np.argsort(norms, kind="stable")
    drawn = [rng.permutation(group)[:draws] for group in np.array_split(order, bins)]
    return np.array([float(preferences[group].sum(dtype=np.int64) > 0) for group in drawn])


def projection(vectors: NDArray[np.floating], seed: int) -> Floats:
    """Project the vectors onto a plane by t-SNE (van der Maaten & Hinton 2008); shape (items, 2).

    Only for a picture (figure 7). scikit-learn is imported on first use.
    """
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    plane: Floats = TSNE(perplexity=perplexity, random_state=seed, init="pca").fit_transform(
        np.asarray(vectors, dtype=np.float32)
    )
    return plane


@dataclass(frozen=True, slots=True)
class PairAnalysis:
    """One pair's clusters and norms, and its success by norm.

    `clusters` holds the clusters by their number. `named` has
    the shape (bins,), by ascending norm: 1 where the items drawn from a bin name the right system,
    else 0. It is empty if the pool is too small for bins.
    """

    anatomy: Anatomy
    clusters: dict[int, Clusters]
    named: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Picks:
    """One pair's vectors, its preferences, and the positions of the items that DiffUse picks.

    `vectors` has the shape (items, dimensions), `preferences` the shape (items,), `picked` the
    shape (picked items,).
    """

    vectors: NDArray[np.floating]
    preferences: NDArray[np.int8]
    picked: NDArray[np.int64]


def analyse(found: Picks, numbers: Sequence[int], bins: int, pair: tuple[int, int]) -> PairAnalysis:
    """Analyse the picks on one pair; success by norm takes enough items for each of `bins`."""
    body = anatomy(found.vectors, numbers[0], found.picked)
    draws = min(numbers[0], len(found.preferences) // bins)
    rng = np.random.default_rng([*pair, 0, 2])
    named = named_by_norm_bin(body.norms, found.preferences, bins, draws, rng) if draws >= LEAST_A_BIN else np.empty(0)
    clusters = clusters_by_number(found.vectors, numbers) if len(numbers) > 1 else {}
    return PairAnalysis(body, clusters, named)


def picks_of(recordings: Recordings, pair: tuple[int, int], config: ReplayCompareSettings, size: int) -> Picks | None:
    """Return the first `size` items that DiffUse picks on one pair; None for level systems."""
    contest = recordings.contest(pair, config.subset, np.random.default_rng([*pair, 0]))
    if contest.gap == 0:
        return None
    vectors = COMBINED[config.combine](*recordings.output_vectors(contest))
    at_size = replace(config, sizes=(size,))
    selector = selector_for("diffuse", recordings, contest, at_size)
    rng = np.random.default_rng([*pair, 0, 1])
    step, _ = selector.ask(selector.init(len(vectors), rng), rng)
    assert step is not None, "the pool has items"
    picked = np.array([choice.position for choice in step.choices], dtype=np.int64)
    return Picks(vectors, contest.preferences, picked)


def gaps_scatter(rows: Sequence[Row], size: int) -> str:
    """Draw the gap among `size` judged items against that of all items, by run."""
    figure, axes = panel()
    at_size = [row for row in rows if row["judgments"] == size]
    for selector in dict.fromkeys(row["selector"] for row in at_size):
        runs = [row for row in at_size if row["selector"] == selector]
        gaps = [row["gap"] for row in runs]
        axes.plot(
            gaps, [row["estimate"] for row in runs], ".", markersize=2, alpha=0.4, label=selector, rasterized=True
        )
    axes.axline((0, 0), slope=1, color="0.4", linewidth=0.8)
    axes.set_xlabel("gap among all items")
    axes.set_ylabel(f"gap among {size} judged items")
    axes.legend(frameon=False, markerscale=5)
    return svg(figure)


def clusters_picture(bodies: Sequence[Anatomy]) -> str:
    """Draw the mean norm against the size of the cluster: a point per cluster.

    Ashury-Tahan et al. (2024), figure 8.
    """
    figure, axes = panel()
    for body in bodies:
        axes.plot(100 * body.shares, body.mean_norms, ".", markersize=2, alpha=0.4, color="C0", rasterized=True)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"], minor=False)
    axes.minorticks_off()
    axes.set_xlabel("size of the cluster, % of the items")
    axes.set_ylabel("mean norm in it, in units of the mean over all")
    return svg(figure)


def norms_picture(bodies: Sequence[Anatomy]) -> str:
    """Draw the distributions of the norms of the picked items and of all items.

    Ashury-Tahan et al. (2024), figure 9.
    """
    figure, axes = panel()
    for label, norms in (
        ("all items", np.concatenate([body.norms for body in bodies])),
        ("picked items", np.concatenate([body.picked for body in bodies])),
    ):
        axes.hist(norms, bins=40, density=True, histtype="step", linewidth=1.4, label=label)
    axes.set_xlabel("norm of the difference vector, in units of the mean over all items")
    axes.set_ylabel("density")
    axes.legend(frameon=False)
    return svg(figure)


def norm_bins_picture(named: NDArray[np.float64]) -> str:
    """Draw how often items of each bin of norms name the right system.

    `named` has the shape (pairs, bins). Ashury-Tahan et al. (2024), figure 10, with 50 bins.
    """
    figure, axes = panel()
    shares = named.mean(axis=0)
    errors = Z * np.sqrt(shares * (1 - shares) / len(named))
    axes.bar(np.arange(1, len(shares) + 1), shares, yerr=errors, width=0.7, capsize=CAP_OF_BARS / len(shares))
    axes.set_xlabel(f"items by norm of the difference vector: {len(shares)} bins, the shortest first")
    axes.set_ylabel("share of pairs whose better system is named")
    return svg(figure)


def projection_picture(plane: Floats, picks: Picks) -> str:
    """Draw one pair's difference vectors on a `plane`, shape (items, 2), with the picked items.

    Ashury-Tahan et al. (2024), figure 7.
    """
    figure, axes = panel()
    for label, value, colour in SIDES:
        inside = picks.preferences == value
        if inside.any():
            axes.plot(*plane[inside].T, ".", markersize=4, color=colour, label=label)
    axes.plot(*plane[picks.picked].T, "o", markersize=8, markerfacecolor="none", color="black", label="picked")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return svg(figure)


def gaps_picture(gaps: Floats) -> str:
    """Draw how many pairs have which gap over all items; `gaps` has shape (pairs,).

    Ashury-Tahan et al. (2024), figure 2.
    """
    figure, axes = panel()
    axes.hist(gaps, bins=HISTOGRAM, range=(0, 1), color="C0")
    axes.set_xlabel("gap among all items")
    axes.set_ylabel("pairs of systems")
    return svg(figure)


def pairs_picture(rows: Sequence[Row], systems: Sequence[str]) -> str:
    """Draw success by number of items judged for one pair far apart and for one close together.

    The pairs are those at the third and at the first quartile of the mean gap. Error bars
    are one standard error over repetitions. Ashury-Tahan et al. (2024), figure 3.
    """
    figure, (left, right) = panels(1, 2)
    for axes, (pair, gap) in zip((left, right), _far_and_near(rows), strict=True):
        own = [row for row in rows if (row["first"], row["second"]) == pair]
        for selector in dict.fromkeys(row["selector"] for row in own):
            sizes, shares, errors = _success([row for row in own if row["selector"] == selector])
            axes.errorbar(sizes, shares, yerr=errors, marker="o", markersize=3, linewidth=1.2, capsize=2,
                          label=selector)  # fmt: skip
        names = "\n".join(verbatim(systems[number]) for number in pair)
        axes.set_title(f"{names}\ngap {gap:.2f}", fontsize=8)
        axes.set_ylim(0, 1.05)
        axes.set_xlabel("judged items")
    left.set_ylabel("share of runs that name the better system")
    left.legend(frameon=False)
    return svg(figure)


def _far_and_near(rows: Sequence[Row]) -> list[tuple[tuple[int, int], float]]:
    """Return the pairs at the third and first quartile of the gap, with the gap."""
    pairs: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        pairs.setdefault((row["first"], row["second"]), []).append(row["gap"])
    ranked = sorted((float(np.mean(found)), pair) for pair, found in pairs.items())
    places = [round(share * (len(ranked) - 1)) for share in (0.75, 0.25)]
    return [(ranked[place][1], ranked[place][0]) for place in places]


def _success(rows: Sequence[Row]) -> tuple[list[int], list[float], list[float]]:
    """Return numbers of items judged, shares of runs that name the winner, and standard errors."""
    sizes = sorted({row["judgments"] for row in rows})
    right = [[row["estimate"] > 0 for row in rows if row["judgments"] == size] for size in sizes]
    shares = [float(np.mean(named)) for named in right]
    errors = [math.sqrt(share * (1 - share) / len(named)) for share, named in zip(shares, right, strict=True)]
    return sizes, shares, errors


def cluster_numbers_picture(found: Mapping[int, Sequence[Clusters]]) -> str:
    """Draw the mean norm against the size of the cluster, with a panel per number of clusters.

    `found` holds the clusters of every pair by their number. Ashury-Tahan et al. (2024), figure 15.
    """
    columns = min(2, len(found))
    figure, every = panels(math.ceil(len(found) / columns), columns)
    for axes, (number, pairs) in zip(every, found.items(), strict=False):
        for clusters in pairs:
            axes.plot(100 * clusters.shares, clusters.mean_norms, ".", markersize=2, alpha=0.4, color="C0",
                      rasterized=True)  # fmt: skip
        axes.set_title(f"{number} clusters", fontsize=9)
        axes.set_xscale("log")
        axes.set_xlim(0.1, 110)
        axes.set_xticks([0.2, 1, 5, 20, 100], labels=["0.2", "1", "5", "20", "100"])
        axes.minorticks_off()
    for axes in every[len(found) :]:
        axes.remove()
    figure.supxlabel("size of the cluster, % of the items", fontsize=10)
    figure.supylabel("mean norm in it, in units of the mean over all", fontsize=10)
    return svg(figure)


def outcome_norms_picture(norms: Floats, preferences: Floats) -> str:
    """Draw the distribution of the norms of difference vectors by verdict.

    Both arrays have the shape (items of all pairs,). `preferences` are 1 where the verdict prefers
    the pair's winner, 0 for a tie, -1 where it prefers the other system.
    """
    figure, axes = panel()
    edges = np.linspace(0, max(float(norms.max(initial=0.0)), 1e-9), 2 * HISTOGRAM + 1)
    for value, label, colour in OUTCOMES:
        inside = norms[preferences == value]
        if not len(inside):
            continue
        name = f"{label} ({len(inside) / len(norms):.0%})"
        axes.hist(inside, bins=edges, density=True, histtype="step", linewidth=1.4, color=colour, label=name)  # fmt: skip
    axes.set_xlabel("norm of the difference vector, in units of the mean over all items")
    axes.set_ylabel("density")
    axes.legend(frameon=False)
    return svg(figure)


def read(folder: Path) -> tuple[ReplayCompareSettings, list[Row]]:
    """Return the settings of a finished replay, and its rows."""
    head, *parts = map(json.loads, (folder / JOURNAL).read_text(encoding="utf-8").splitlines())
    settings = {name: value for name, value in head["settings"].items() if value is not None}
    config = ReplayCompareSettings.of(**settings, output=folder, pairs=len(parts))
    return config, [row for part in parts for row in part["rows"]]


def drawn(folder: Path, numbers: Sequence[int], bins: int) -> dict[str, str]:
    """Return the pictures of a replay as SVG texts, by name."""
    config, rows = read(folder)
    recordings = recordings_for(config)
    pairs = recordings.pairs(config.pairs, np.random.default_rng(config.seed))
    looks = [picks_of(recordings, pair, config, numbers[0]) for pair in pairs]
    known = [look for look in looks if look is not None]
    found = [analyse(look, numbers, bins, pair) for pair, look in zip(pairs, looks, strict=True) if look is not None]
    gaps = [recordings.contest(pair, 1.0, np.random.default_rng(0)).gap for pair in pairs]
    bodies = [pair.anatomy for pair in found]
    norms = np.concatenate([body.norms for body in bodies])
    preferences = np.concatenate([look.preferences for look in known])
    pictures = {
        "judged-gaps": gaps_scatter(rows, numbers[0]),
        "gaps": gaps_picture(np.array(gaps)),
        "pairs": pairs_picture(rows, recordings.systems),
        "clusters": clusters_picture(bodies),
        "norms": norms_picture(bodies),
        "outcome-norms": outcome_norms_picture(norms, preferences),
        "projection": projection_picture(projection(known[0].vectors, config.seed), known[0]),
    }
    if binned := [pair.named for pair in found if len(pair.named)]:
        pictures["norm-bins"] = norm_bins_picture(np.array(binned))
    if len(numbers) > 1:
        by_number = {number: [pair.clusters[number] for pair in found] for number in numbers}
        pictures["cluster-numbers"] = cluster_numbers_picture(by_number)
    return pictures


def main() -> None:
    """Read the arguments, and write the pictures into the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--numbers", default="20", help="numbers of judged items, and of clusters")
    parser.add_argument("--bins", type=int, default=5, help="bins of norms; the paper has 50")
    given = parser.parse_args()
    numbers = [int(number) for number in given.numbers.split(",")]
    for name, text in drawn(given.folder, numbers, given.bins).items():
        (given.folder / f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
