"""Draws the tables of replays as pictures, and returns them as SVG texts.

matplotlib is imported on first use; it comes with the extra `judgeloop[pictures]`. Writes no files.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.methods.stats.anatomy import Anatomy
from judgeloop.replay.canvas import Z, panel, svg, verbatim
from judgeloop.replay.compare import Row

NOT_JUDGED = -2  # the preference of an item that is not judged
CAP_OF_BARS = 15  # width of all bars' caps together
FEWEST_ON_A_PLANE = 3  # a projection needs more items than this
ANALYSED = "diffuse"  # the selector whose picks are drawn
Floats = NDArray[np.float64]


def check_pictures() -> None:
    """Refuse a replay whose pictures cannot be drawn.

    Raises:
        InputError: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("`analyse` draws pictures, which need pip install 'judgeloop[pictures]'")


def success_picture(table: Sequence[Row]) -> str:
    """Draw success by number of items judged: a line per selector, with 95 % error bars."""
    return _lines(table, "success", "success_se", "share of runs that name the better system")


def bias_picture(table: Sequence[Row]) -> str:
    """Draw the bias of the gap among the judged items, by number of items judged."""
    return _lines(table, "bias", "bias_se", "bias of the gap")


def identification_picture(table: Sequence[Row], unit: str) -> str:
    """Draw how often the best of many is named, by calls or queries: a line per selector.

    Durmazkeser et al. (2025), figure 2.
    """
    figure, axes = panel()
    for selector in dict.fromkeys(row["selector"] for row in table):
        rows = [row for row in table if row["selector"] == selector]
        shares = np.array([row["identified"] for row in rows])
        errors = Z * np.array([row["identified_se"] for row in rows])
        (line,) = axes.plot([row[unit] for row in rows], shares, linewidth=1.4, label=selector)
        axes.fill_between(
            [row[unit] for row in rows], shares - errors, shares + errors, color=line.get_color(), alpha=0.12,
            linewidth=0,
        )  # fmt: skip
    axes.set_xlabel(
        {"calls": "judged pairs of a system and the baseline", "queries": "judged items"}[unit]
    )
    axes.set_ylabel("share of realisations that name the best")
    axes.set_ylim(0, 1)
    if unit == "calls":
        axes.set_xscale("log")
    axes.legend(frameon=False)
    return svg(figure)


def shares_picture(table: Sequence[Row], value: str) -> str:
    """Draw the median relative error or the coverage, by share of the items: a line per selector.

    `value` is "error" or "coverage". Huang et al. (2024), appendix A.3.
    """
    figure, axes = panel()
    for selector in dict.fromkeys(row["selector"] for row in table):
        rows = [row for row in table if row["selector"] == selector and row[value] is not None]
        if not rows:
            continue
        shares, middle = [row["share"] for row in rows], np.array([row[value] for row in rows])
        errors = Z * np.array([row[f"{value}_se"] for row in rows])
        (line,) = axes.plot(shares, middle, linewidth=1.4, label=selector)
        axes.fill_between(
            shares,
            middle - errors,
            middle + errors,
            color=line.get_color(),
            alpha=0.12,
            linewidth=0,
        )
    axes.set_xlabel("judged items, % of all")
    axes.set_ylabel(
        {"error": "median relative error", "coverage": "share of intervals that hold the mean"}[
            value
        ]
    )
    if value == "error":
        axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return svg(figure)


def rules_picture(table: Sequence[Row]) -> str:
    """Draw the realised error against the judgments: a line per rule and selector.

    Each point is labelled with its stated risk.
    """
    figure, axes = panel()
    for rule, selector in dict.fromkeys((row["rule"], row["selector"]) for row in table):
        rows = [row for row in table if (row["rule"], row["selector"]) == (rule, selector)]
        rows.sort(key=lambda row: float(row["risk"]))
        judgments, errors = [row["judgments"] for row in rows], [100 * row["error"] for row in rows]
        (line,) = axes.plot(
            judgments, errors, "o-", markersize=4, linewidth=1, label=f"{rule}, {selector}"
        )
        for row, across, up in zip(rows, judgments, errors, strict=True):
            axes.annotate(f"{row['risk']:g}", (across, up), fontsize=7, color=line.get_color(), xytext=(4, 3),
                          textcoords="offset points")  # fmt: skip
    axes.set_xlabel("judgments; beside each point the stated risk")
    axes.set_ylabel("wrong system named, %")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return svg(figure)


def gaps_scatter(rows: Sequence[Row], size: int) -> str:
    """Draw the gap among `size` judged items against that of all items, by run."""
    figure, axes = panel()
    at_size = [row for row in rows if row["judgments"] == size]
    for selector in dict.fromkeys(row["selector"] for row in at_size):
        runs = [row for row in at_size if row["selector"] == selector]
        gaps = [row["gap"] for row in runs]
        axes.plot(
            gaps,
            [row["estimate"] for row in runs],
            ".",
            markersize=2,
            alpha=0.4,
            label=selector,
            rasterized=True,
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
        axes.plot(
            100 * body.shares,
            body.mean_norms,
            ".",
            markersize=2,
            alpha=0.4,
            color="C0",
            rasterized=True,
        )
    axes.set_xscale("log")
    axes.set_xticks(
        [1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"], minor=False
    )
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
    axes.bar(
        np.arange(1, len(shares) + 1),
        shares,
        yerr=errors,
        width=0.7,
        capsize=CAP_OF_BARS / len(shares),
    )
    axes.set_xlabel(
        f"items by norm of the difference vector: {len(shares)} bins, the shortest first"
    )
    axes.set_ylabel("share of pairs whose better system is named")
    return svg(figure)


def projection_picture(
    plane: NDArray[np.float64],
    preferences: NDArray[np.int8],
    picked: NDArray[np.int64],
    systems: tuple[str, ...] = ("the better system", "the other"),
) -> str:
    """Draw one pair's difference vectors on a plane, with preferences and picked items.

    Ashury-Tahan et al. (2024), figure 7. `plane` has the shape (items, 2), `preferences` the shape
    (items,); `picked` holds positions.
    """
    figure, axes = panel()
    first, second = map(verbatim, systems)
    shown = (
        ("not judged", NOT_JUDGED, "0.85"),
        (first, 1, "C0"),
        ("tie", 0, "0.5"),
        (second, -1, "C3"),
    )
    for label, value, colour in shown:
        inside = preferences == value
        if not inside.any():
            continue
        axes.plot(*plane[inside].T, ".", markersize=4, color=colour, label=label)
    axes.plot(
        *plane[picked].T, "o", markersize=8, markerfacecolor="none", color="black", label="picked"
    )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return svg(figure)


def _lines(table: Sequence[Row], value: str, error: str, label: str) -> str:
    figure, axes = panel()
    for selector in dict.fromkeys(row["selector"] for row in table):
        rows = [row for row in table if row["selector"] == selector]
        axes.errorbar(
            [row["judgments"] for row in rows],
            [row[value] for row in rows],
            yerr=[Z * (row[error] or 0.0) for row in rows],
            marker="o", markersize=3, linewidth=1.2, elinewidth=0.7, capsize=2, label=selector,
        )  # fmt: skip
    axes.set_xlabel("judged items")
    axes.set_ylabel(label)
    axes.legend(frameon=False)
    return svg(figure)
