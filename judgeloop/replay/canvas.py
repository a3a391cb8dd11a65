"""An empty picture, and the SVG text of a finished one.

matplotlib is imported on first use; it comes with the extra `judgeloop[pictures]`. Draws no data
(`pictures.py`, `paper_pictures.py`) and writes no files.
"""

from __future__ import annotations

import io
from typing import Any

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
