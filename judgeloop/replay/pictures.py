"""Tables of a replay as pictures, in SVG.

matplotlib draws them and is imported on first use; it comes with the extra `judgeloop[pictures]`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from judgeloop.replay.running import Row

SIZE = (6.4, 4.0)  # inches
Z = 1.96  # error bars hold 95 %


def success_picture(table: Sequence[Row]) -> str:
    """Success by budget, a line a selector, with 95 % error bars."""
    return _lines(table, "success", "success_se", "share of runs that name the better system")


def bias_picture(table: Sequence[Row]) -> str:
    """How far the win distance among the judged items leans to the winner, by budget."""
    return _lines(table, "bias", "bias_se", "win distance among the judged items, less that among all")


def rules_picture(table: Sequence[Row]) -> str:
    """Judgments against realised error, a point a rule, risk and selector; the stated risk beside it."""
    figure, axes = _axes()
    for row in table:
        (point,) = axes.plot(row["judgments"], row["error"], "o")
        label = f"{row['rule']}, {row['selector']}, {row['risk']:g}"
        axes.annotate(label, (row["judgments"], row["error"]), fontsize=7, color=point.get_color(),
                      xytext=(4, 3), textcoords="offset points")  # fmt: skip
    axes.set_xlabel("judgments")
    axes.set_ylabel("share of runs that name the wrong system")
    axes.set_ylim(bottom=0)
    return _svg(figure)


def _lines(table: Sequence[Row], value: str, error: str, label: str) -> str:
    figure, axes = _axes()
    for selector in dict.fromkeys(row["selector"] for row in table):
        rows = [row for row in table if row["selector"] == selector]
        axes.errorbar(
            [row["budget"] for row in rows],
            [row[value] for row in rows],
            yerr=[Z * (row[error] or 0.0) for row in rows],
            marker="o", markersize=3, linewidth=1.2, elinewidth=0.7, capsize=2, label=selector,
        )  # fmt: skip
    axes.set_xlabel("judged items")
    axes.set_ylabel(label)
    axes.legend(frameon=False)
    return _svg(figure)


def _axes() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: Any) -> str:
    """The picture's text; the same for the same table."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "judgeloop", "svg.fonttype": "none"}):
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
