"""Renders the tables of a result as LaTeX: the standings of a search, or the figures in a row, and the groups.

Reads a `Page`. The evidence, such as judge, rule and price, stands before the first table as a comment, and
does not show. The text needs no package. Computes no figure and writes no file.
"""

import re

from judgeloop.report.page import WARNING, Page, Table

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
    """Return a `table` for each; the first caption has decision, judge, risk and warnings, the evidence the cost."""
    first, *others = page.tables or ([page.board.row] if page.board.row else [Table("", (), ())])
    warnings = [line for line in page.summary[1:] if line.startswith(WARNING)]
    title = f"{first.heading}." if first.heading else ""
    standing = [line.rpartition(" Cost: ")[0] or line for line in page.summary[:1]]
    caption = " ".join([page.headline, *standing, *warnings, title, first.note])
    more = (one for one in (*others, *page.notes) if isinstance(one, Table))
    named = [(first, caption), *((one, f"{one.heading}. {one.note}") for one in more)]
    evidence = (f"% {name}: {text}" for name, text in page.details)
    said = "".join(f"{' '.join(line.split())}\n" for line in evidence)
    return said + "\n".join(_table(*one) for one in named)


def _table(table: Table, caption: str) -> str:
    form = "".join("r" if figure else "l" for figure in table.figures)
    inside = "\n".join([r"\hline", _row(table.columns), r"\hline", *map(_row, table.rows), r"\hline"])
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
