"""Draws figures of the papers that describe the data: gaps, pairs, clusters, win rates.

Returns SVG texts; matplotlib is imported on first use. `pictures.py` draws the tables of replays
and the analyses of one number of judged items. Writes no files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from judgeloop.methods.stats.anatomy import Clusters, Floats
from judgeloop.replay.canvas import panel, panels, svg, verbatim
from judgeloop.replay.compare import Row

BINS = 20
OUTCOMES = ((1, "the winner is preferred", "C0"), (0, "tie", "0.5"), (-1, "the other is", "C3"))


def gaps_picture(gaps: Floats) -> str:
    """Draw how many pairs have which gap over all items; `gaps` has shape (pairs,).

    Ashury-Tahan et al. (2024), figure 2.
    """
    figure, axes = panel()
    axes.hist(gaps, bins=BINS, range=(0, 1), color="C0")
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
    errors = [
        math.sqrt(share * (1 - share) / len(named))
        for share, named in zip(shares, right, strict=True)
    ]
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
    edges = np.linspace(0, max(float(norms.max(initial=0.0)), 1e-9), 2 * BINS + 1)
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


def win_rates_picture(rates: Sequence[float]) -> str:
    """Draw how many candidates have which win rate against the baseline.

    Durmazkeser et al. (2025), figure 3.
    """
    figure, axes = panel()
    axes.hist(100 * np.asarray(rates), bins=BINS, range=(0, 100), color="C0")
    axes.set_xlabel("win rate against the baseline, %")
    axes.set_ylabel("systems")
    return svg(figure)
