"""Renders what a result says for other programs: Markdown for comments, LaTeX for papers, JUnit XML for pipelines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol
from xml.etree import ElementTree as ET

from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_JUDGE, EXIT_USAGE
from judgeloop.core.outcomes import Condition
from judgeloop.report.notes import LIMITS_THE_RISK
from judgeloop.report.page import BADGES, TITLES, WARNINGS, Fact, Page, PageTable, Section
from judgeloop.report.terminal import WARNING, render
from judgeloop.report.words import visible

# Text that begins a link, a mention or a reference to an issue ("#1", "GH-1"). An empty comment
# behind it prevents the link, which GitHub makes of the text as it is shown.
_LINKING = re.compile(r"(@|\\#|https?:|www|\bGH-(?=\d))", re.IGNORECASE)
# What begins a list, or underlines a heading, at the start of a line: "-", "+", "=", "1.", "1)".
_LEADING = re.compile(r"^(\s*\d*)([-+=.)])")
_COMMAND = re.compile(r"(`judgeloop [^`|\n]*`)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!&~])")
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
UNITS = {"gap": "gap, points"}  # of figures, behind their names
# Facts that stand below a table, in this order: among them the warnings that limit the stated risk.
IN_NOTES = ("judged", "risk", *(f"warning.{one}" for one in LIMITS_THE_RISK), "interval", "gap.means")
_NEGATIVE = re.compile(r"(?<![\w.-])-(\d[\d.,]*)")
NEEDS = r"Needs \usepackage{booktabs}."
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
MARK = f'{HEAD}<testsuite name="judgeloop"'  # how a suite of judgeloop's begins, and no other file
NOT_FINISHED = "no result yet (begun {}). If judgeloop no longer runs, the same command goes on."
BESIDE = "This answer passes; a condition beside it, a test of its own, does not.\n"
BROKEN = {EXIT_ERROR, EXIT_USAGE, EXIT_JUDGE, EXIT_INTERRUPTED}


def render_markdown(page: Page) -> str:
    """The decision as a heading, what is shown first as a list, and a heading for each section of the rest.

    A comment folds what is not about the decision.
    """
    mark = "" if page.outcome is None else f"{BADGES[page.outcome].mark} "
    parts, rest = [f"### {mark}{escape(page.head)}", _list(page.first)], list[str]()
    for section, facts, tables in page.parts():
        if section is not Section.AGAIN:
            said, shown = parts if section is Section.DECISION else rest, [*map(_markdown_table, tables)]
            named = [f"#### {TITLES[section]}"] if TITLES[section] else []
            if tables and tables[0].heading:  # what follows is of the section, and of groups about the table
                said += [*shown, *(named if facts and section is not Section.GROUPS else []), _list(facts)]
            else:
                said += [*named, *shown, _list(facts)]
    folded = ["<details>\n<summary>All of it</summary>", *rest, "</details>"] if rest else []
    return "\n\n".join(filter(None, [*parts, *folded])) + "\n"


def _list(facts: Iterable[Fact]) -> str:
    """Named facts as a list, and those without a name, such as warnings, as paragraphs."""
    parts = [""]
    for one in facts:
        said = f"{WARNING} {one.text}" if one.section is Section.WARNING and one.first else one.text
        if one.label:
            parts[-1] += f"- **{escape(one.label)}** {escape(said)}\n"
        else:
            parts += [_paragraph(said), ""]
    return "\n\n".join(part.rstrip("\n") for part in parts if part)


def _markdown_table(table: PageTable) -> str:
    heading = [f"#### {escape(table.heading)}\n"] if table.heading else []
    ruler = "|".join(["", *("--:" if figure else "---" for figure in table.figures), ""])
    first, *rows = (f"| {' | '.join(map(escape, cells))} |" for cells in (table.columns, *table.rows))
    note = ["", _paragraph(table.note)] if table.note else []
    return "\n".join([*heading, first, ruler, *rows, *note])


def _paragraph(text: str) -> str:
    """An escaped text that begins no list and no underlined heading."""
    return _LEADING.sub(r"\1\\\2", escape(text))


def escape(text: str) -> str:
    """`text` with Markdown and HTML markup, mentions and links escaped, but for a command, which is code."""
    parts = _COMMAND.split(text)
    return "".join(
        one if at % 2 else _LINKING.sub(r"\1<!-- -->", _SPECIAL.sub(r"\\\1", one)) for at, one in enumerate(parts)
    )


def render_latex(page: Page) -> str:
    """A `table` for each, or the figures in a row: a caption of one sentence, a label, and notes below.

    The decision is the first caption; what was judged, at which risk, and what limits that are its notes. The evidence,
    such as judge, rule and price, and the other warnings stand before them as comments, and do not show. The text needs
    `booktabs`.
    """
    figures: dict[str, str] = {}
    for one in page.facts:
        figures |= {name: page.figures.get(name, value) for name, value in (one.value or {}).items()}
    row = PageTable("", tuple(UNITS.get(one, one) for one in figures), (tuple(figures.values()),) if figures else ())
    standing = [one for one in page.tables if one.section is Section.EVIDENCE]
    first, *others = [*(standing or [row]), *(one for one in page.tables if one not in standing)]
    title = f"{first.heading}." if first.heading else ""
    tables = [(first, page.caption or page.parted[1], " ".join(filter(None, [*_notes(page), title, first.note])))]
    tables += [(one, f"{one.heading}.", one.note) for one in others]
    aside = [one for one in page.facts if one.key not in IN_NOTES and one.section is not Section.AGAIN]
    said = [f"{WARNING} {one.text}" for one in aside if one.section is Section.WARNING]
    said += [f"{one.label}: {one.text}" for one in aside if one.label]
    comments = "".join(f"% {' '.join(one.split())}\n" for one in (NEEDS, *said))
    label = re.sub(r"[^0-9a-z]", "", page.text("run")) or "result"
    names = (f"tab:{label}{f'-{at}' if at else ''}" for at in range(len(tables)))
    return comments + "\n".join(_latex_table(*one, name) for one, name in zip(tables, names, strict=True))


def _notes(page: Page) -> Iterable[str]:
    """Yield the facts that stand below a table, each as a sentence."""
    noted = [one for one in page.facts if one.key in IN_NOTES]
    for one in sorted(noted, key=lambda one: IN_NOTES.index(one.key)):
        yield one.text if one.text.endswith(".") else f"{one.label.capitalize()}: {one.text}."


def _latex_table(table: PageTable, caption: str, notes: str, label: str) -> str:
    form = "".join("r" if figure else "l" for figure in table.figures)
    lines = (f"{' & '.join(map(escaped, cells))} \\\\" for cells in table.rows)
    head = f"{' & '.join(map(escaped, table.columns))} \\\\"
    inside = "\n".join([r"\toprule", head, r"\midrule", *lines, r"\bottomrule"])
    below = f"\n\\par\\smallskip\n{{\\footnotesize {escaped(' '.join(notes.split()))}\\par}}" if notes else ""
    return (
        f"\\begin{{table}}\n\\centering\n\\caption{{{escaped(' '.join(caption.split()))}}}\n\\label{{{label}}}\n"
        f"\\begin{{tabular}}{{{form}}}\n{inside}\n\\end{{tabular}}{below}\n\\end{{table}}\n"
    )


def escaped(text: str) -> str:
    r"""A text as LaTeX shows it; what stands between backticks in the type of a typewriter.

    >>> escaped("a_b: 5 % {x}"), escaped("by `risk=5`"), escaped("gpt-4 -39 (-40 to +2)")
    ('a\\_b: 5 \\% \\{x\\}', 'by \\texttt{risk=5}', 'gpt-4 $-39$ ($-40$ to +2)')
    """
    shown = _NEGATIVE.sub(r"$-\1$", "".join(ESCAPED.get(sign, sign) for sign in text))
    return re.sub(r"`([^`]+)`", r"\\texttt{\1}", shown)


class Tested(Protocol):
    """What JUnit XML reads of a result."""

    @property
    def job(self) -> str: ...  # noqa: D102 - as `RunResult` says
    @property
    def page(self) -> Page: ...  # noqa: D102
    @property
    def conditions(self) -> tuple[Condition, ...]: ...  # noqa: D102
    @property
    def exit_code(self) -> int: ...  # noqa: D102


def render_junit(result: Tested) -> str:
    """A test suite: a test named by what is asked of the systems, and one for each condition.

    A judge that failed and a run that was interrupted are errors. Another winner than the required
    one, no winner, and a condition that does not hold are failures. An answer that is not to be relied on is an error,
    too. The text of the result is the output of the first test, and its warnings are the errors that it wrote; unseen
    characters are escaped, as XML does not allow them.
    Where only a condition fails, a line before that text says so.
    """
    answer, *conditions = result.conditions
    code = answer.outcome.exit_code or (result.exit_code if result.exit_code in BROKEN else 0)
    beside = "" if code or not result.exit_code else BESIDE
    said = [one.text for one in result.page.facts if one.section is Section.WARNING]
    own = (answer.name, code, result.page.head, f"{beside}{render(result.page)}", said)
    held = (
        _ended(one.name, one.outcome.exit_code, one.said, None if one.name != WARNINGS else "\n".join(said) or None)
        for one in conditions
    )
    return _suite(result.job, _ended(*own), *held)


def render_ends(
    question: str, ends: Iterable[tuple[str, int, str, Iterable[str], Iterable[str]]], skipped: Mapping[str, str]
) -> str:
    """A test suite with a test for each end: a name, an exit code, a sentence, warnings, and lines behind it.

    Tests that are `skipped` say what else is to be known, by name, as far as they have a text.
    """
    more = [Case(name, "skipped", said, "", {}) for name, said in skipped.items() if said]
    cases = (
        _ended(name, code, said, "\n".join([*([] if code else [visible(said)]), *behind]), warnings)
        for name, code, said, warnings, behind in ends  # the message of one that did not pass is its sentence
    )
    return _suite(question, *cases, *more)


def render_unfinished(question: str, message: str, exit_code: int) -> str:
    """A test suite whose test is an error, for a command without a result.

    `exit_code` is 0 as long as the command may still end otherwise.
    """
    why = _exit(exit_code) if exit_code else ""
    return _suite(question, Case("result", "error", message, why, {}))


class Case(NamedTuple):
    """A test: `kind` is the element that says why it did not pass, empty if it passed."""

    name: str
    kind: str
    message: str
    why: str
    said: Mapping[str, str]


def _ended(name: str, code: int, message: str, text: str | None = None, warnings: Iterable[str] = ()) -> Case:
    return Case(name, _kind(code), message, _exit(code), _said(visible(message) if text is None else text, warnings))


def _said(text: str, warnings: Iterable[str]) -> dict[str, str]:
    errors = "\n".join(f"{WARNING} {visible(one)}" for one in warnings)
    return {name: said for name, said in (("system-out", text), ("system-err", errors)) if said}


def _kind(exit_code: int) -> str:
    return ("error" if exit_code in BROKEN else "failure") if exit_code else ""


def _exit(code: int) -> str:
    return f"exit code {code}"


def _suite(question: str, *cases: Case) -> str:
    """A suite with these tests."""
    kinds = [case.kind for case in cases]
    counts = {"tests": len(cases), "failures": kinds.count("failure"), "errors": kinds.count("error")} | (
        {"skipped": kinds.count("skipped")} if "skipped" in kinds else {}
    )
    numbers = {name: str(number) for name, number in counts.items()}
    suite = ET.Element("testsuite", {"name": "judgeloop"} | numbers)
    for one in cases:
        where = {"classname": f"judgeloop.{question}", "name": visible(one.name)}
        case = ET.SubElement(suite, "testcase", where)
        if one.kind:
            why = {"type": one.why} if one.why else {}
            ET.SubElement(case, one.kind, {"message": visible(one.message)} | why)
        for stream, text in one.said.items():
            ET.SubElement(case, stream).text = text
    ET.indent(suite)
    return f"{HEAD}{ET.tostring(suite, encoding='unicode')}\n"
