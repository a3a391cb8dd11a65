"""Draws the tables of a finished replay as pictures (SVG), beside them.

python benchmarks/replay_pictures.py FOLDER
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from judgeloop.replay.compare import Row

SIZE = (6.4, 4.0)  # inches
Z = 1.96  # error bars of 95 %


def panels(rows: int = 1, columns: int = 1) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, row by row."""
    from matplotlib.figure import Figure

    width, height = SIZE
    some = max(rows, columns) > 1
    size = (width * (1.4 if columns > 1 else 1), height * (1.4 if rows > 1 else 1))
    # `dpi` is for clouds of points, which are stored as bitmaps.
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    found = list(figure.subplots(rows, columns).flat) if some else [figure.subplots()]
    for axes in found:
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, found


def panel() -> tuple[Any, Any]:
    """Return a figure and its only panel."""
    figure, (axes,) = panels()
    return figure, axes


def svg(figure: Any) -> str:
    """Return the figure as SVG text; equal tables give equal texts."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "judgeloop", "svg.fonttype": "none"}):
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def verbatim(text: str) -> str:
    r"""Escape dollar signs: matplotlib takes text between two of them as a formula.

    >>> print(verbatim("$5"))
    \$5
    """
    return text.replace("$", r"\$")


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
    axes.set_xlabel({"calls": "judged pairs of a system and the baseline", "queries": "judged items"}[unit])
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
        axes.fill_between(shares, middle - errors, middle + errors, color=line.get_color(), alpha=0.12, linewidth=0)
    axes.set_xlabel("judged items, % of all")
    axes.set_ylabel({"error": "median relative error", "coverage": "share of intervals that hold the mean"}[value])
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
        (line,) = axes.plot(judgments, errors, "o-", markersize=4, linewidth=1, label=f"{rule}, {selector}")
        for row, across, up in zip(rows, judgments, errors, strict=True):
            axes.annotate(f"{row['risk']:g}", (across, up), fontsize=7, color=line.get_color(), xytext=(4, 3),
                          textcoords="offset points")  # fmt: skip
    axes.set_xlabel("judgments; beside each point the stated risk")
    axes.set_ylabel("wrong system named, %")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
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


def win_rates_picture(table: Sequence[Row]) -> str:
    """Draw how many candidates have which win rate against the baseline.

    Durmazkeser et al. (2025), figure 3.
    """
    figure, axes = panel()
    rates = np.array([row["win_rate"] for row in table if row["win_rate"] is not None])
    axes.hist(100 * rates, bins=20, range=(0, 100), color="C0")
    axes.set_xlabel("win rate against the baseline, %")
    axes.set_ylabel("systems")
    return svg(figure)


# For each picture: the table that it is drawn of, and how.
PICTURES: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {
    "success": ("sizes", success_picture),
    "bias": ("sizes", bias_picture),
    "rules": ("rules", rules_picture),
    "identified-by-calls": ("calls", lambda table: identification_picture(table, "calls")),
    "identified-by-queries": ("queries", lambda table: identification_picture(table, "queries")),
    "win-rates": ("rates", win_rates_picture),
    "error": ("accuracy", lambda table: shares_picture(table, "error")),
    "coverage": ("accuracy", lambda table: shares_picture(table, "coverage")),
}


def draw(folder: Path) -> None:
    """Draw the tables in `folder` that have rows."""
    for name, (table, picture) in PICTURES.items():
        file = folder / f"{table}.json"
        if rows := json.loads(file.read_text(encoding="utf-8")) if file.exists() else []:
            (folder / f"{name}.svg").write_text(picture(rows), encoding="utf-8")


def main() -> None:
    """Read the argument, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    draw(parser.parse_args().folder)


if __name__ == "__main__":
    main()
