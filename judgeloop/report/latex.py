"""Renders the tables of a result as LaTeX, such as the standings of a search for the best, and the groups.

Reads a `Page`. Without standings, its details are two columns, of which the second is wrapped within the
width of the text. The text needs no package. Computes no figure and writes no file.
"""

import re

from judgeloop.report.page import WARNING, Page, Table

DETAILS = r"l p{0.75\linewidth}"  # the columns of names and sentences
# What LaTeX takes for its own, and signs that some of its fonts lack.
ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": r"$<$",
    ">": r"$>$",
    "\N{MINUS SIGN}": r"$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
}


def render_latex(page: Page) -> str:
    """Return a `table` for each; the first caption has decision, judge, risk, cost and warnings."""
    first = page.tables[0] if page.tables else Table("", (), tuple(page.details))
    warnings = [line for line in page.summary[1:] if line.startswith(WARNING)]
    title = f"{first.heading}." if first.heading else ""
    caption = " ".join([page.headline, *page.summary[:1], *warnings, title, first.note])
    more = (one for one in (*page.tables[1:], *page.notes) if isinstance(one, Table))
    named = [(first, caption), *((one, f"{one.heading}. {one.note}") for one in more)]
    return "\n".join(_table(*one) for one in named)


def _table(table: Table, caption: str) -> str:
    form = "".join("r" if figure else "l" for figure in table.figures) if table.columns else DETAILS
    head = [_row(table.columns), r"\hline"] if table.columns else []
    inside = "\n".join([r"\hline", *head, *map(_row, table.rows), r"\hline"])
    said = escaped(" ".join(caption.split()))
    whole = f"\\begin{{tabular}}{{{form}}}\n{inside}\n\\end{{tabular}}"
    return f"\\begin{{table}}\n\\caption{{{said}}}\n{whole}\n\\end{{table}}\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"{' & '.join(map(escaped, cells))} \\\\"


def escaped(text: str) -> str:
    r"""Return a text as LaTeX shows it; what stands between backticks in the type of a typewriter.

    >>> escaped("a_b: 5 % {x}"), escaped("by `risk=5`")
    ('a\\_b: 5 \\% \\{x\\}', 'by \\texttt{risk=5}')
    """
    shown = "".join(ESCAPED.get(sign, sign) for sign in text)
    return re.sub(r"`([^`]+)`", r"\\texttt{\1}", shown)
