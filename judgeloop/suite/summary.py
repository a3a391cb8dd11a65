"""The summary of a night: a line for each pair, its exit code, and the page that all forms are made of.

Pure: the ends of the pairs in, values and texts out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeloop.core.errors import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_JUDGE,
    EXIT_OTHER_WON,
    EXIT_UNDECIDED,
    EXIT_USAGE,
)
from judgeloop.core.money import show_usd, to_usd
from judgeloop.report.escaping import csv_cell, visible
from judgeloop.report.html import render_index
from judgeloop.report.junit import render_ends
from judgeloop.report.markdown import render_markdown
from judgeloop.report.page import Page, Section, Table, render
from judgeloop.report.words import count

SCHEMA_VERSION = 1
# Of the exit codes of the pairs, the first of these is that of the suite.
WORST = (
    EXIT_INTERRUPTED, EXIT_USAGE, EXIT_ERROR, EXIT_JUDGE, EXIT_OTHER_WON, EXIT_UNDECIDED, 0,
)  # fmt: skip
STATES = {
    0: "passed",
    EXIT_UNDECIDED: "undecided",
    EXIT_OTHER_WON: "failed",
    EXIT_JUDGE: "judge failed",
    EXIT_ERROR: "error",
    EXIT_USAGE: "wrong input",
    EXIT_INTERRUPTED: "interrupted",
}
COLUMNS = ("pair", "state", "winner", "judged", "cost", "exit code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a pair ended.

    - `name`, `question`, `systems`: what was asked; no systems if they could not be read
    - `exit_code`: that of the question's own command
    - `headline`: the decision, or the error
    - `winner`: the system that is named; None without one
    - `judged`: number of verdicts. `charged_p`: what the run was charged in this night, in picodollars
    - `run`: the run's id; empty if none began
    - `gate`: each condition, with who set it
    """

    name: str
    question: str
    exit_code: int
    headline: str
    systems: tuple[str, ...] = ()
    winner: str | None = None
    judged: int = 0
    charged_p: int = 0
    run: str = ""
    gate: tuple[tuple[str, str], ...] = ()

    @property
    def state(self) -> str:
        """The exit code in a word or two."""
        return STATES.get(self.exit_code, str(self.exit_code))

    def to_json(self) -> dict[str, Any]:
        """Return the line as JSON values."""
        return {
            "name": self.name,
            "question": self.question,
            "systems": list(self.systems),
            "state": self.state,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "winner": self.winner,
            "judged": self.judged,
            "charged_usd": float(to_usd(self.charged_p)),
            "run": self.run,
            "gate": [{"condition": one, "set_by": by} for one, by in self.gate],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a night of a suite brought; `budget_p` is its sum in picodollars.

    `before_p` is what other runs of the same night were charged, before the file was changed.
    """

    suite: str
    night: str
    budget_p: int
    lines: tuple[Line, ...]
    before_p: int = 0

    @property
    def exit_code(self) -> int:
        """The worst exit code of the pairs."""
        return worst([one.exit_code for one in self.lines])

    @property
    def charged_p(self) -> int:
        """What all runs of this night were charged, in picodollars."""
        return self.before_p + sum(one.charged_p for one in self.lines)

    @property
    def headline(self) -> str:
        """The night in a sentence."""
        states = [one.state for one in self.lines]
        kinds = (f"{states.count(state)} {state}" for state in STATES.values() if state in states)
        pairs = count(len(self.lines), "pair")
        return f"Night {self.night} of {self.suite}: {pairs}, {', '.join(kinds)}."

    @property
    def page(self) -> Page:
        """The summary as text, whatever the form."""
        before = f", {show_usd(self.before_p)} of it with other settings" if self.before_p else ""
        rows = tuple(
            (
                visible(one.name),
                one.state,
                visible(one.winner or ""),
                f"{one.judged:,}",
                show_usd(one.charged_p),
                str(one.exit_code),
            )
            for one in self.lines
        )
        gates = tuple(
            (visible(one.name), visible("; ".join(f"{what} ({by})" for what, by in one.gate)))
            for one in self.lines
            if one.gate
        )
        return Page(
            visible(self.headline),
            tuple((visible(one.name), visible(one.headline)) for one in self.lines),
            (
                f"Cost: {show_usd(self.charged_p)} of {show_usd(self.budget_p)} for the night{before}.",
            ),
            tables=(Table("", COLUMNS, rows),),
            notes=(Section("Conditions, and who set them", gates),) if gates else (),
        )

    def to_json(self, say: Callable[[str], str] = str) -> dict[str, Any]:
        """Return the JSON values; each sentence as `say` says it."""
        lines = [one.to_json() for one in self.lines]
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "suite",
            "suite": self.suite,
            "night": self.night,
            "headline": self.headline,
            "exit_code": self.exit_code,
            "budget_usd": float(to_usd(self.budget_p)),
            "charged_usd": float(to_usd(self.charged_p)),
            "pairs": [line | {"headline": say(line["headline"])} for line in lines],
        }

    def to_csv(self) -> str:
        """Return a line for each pair, as a spreadsheet reads it."""
        import csv
        import io

        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        table = self.page.tables[0]
        writer.writerows([map(csv_cell, row) for row in (table.columns, *table.rows)])
        return file.getvalue()

    def to_junit(self) -> str:
        """Return JUnit XML: a test for each pair, which passes exactly if its exit code is 0."""
        return render_ends("suite", ((one.name, one.exit_code, one.headline) for one in self.lines))

    def to_markdown(self) -> str:
        """Return the summary as Markdown."""
        return render_markdown(self.page)

    def to_html(self, links: Mapping[str, str]) -> str:
        """Return the summary as an HTML page; `links` lead from pairs to their reports, by name."""
        return render_index(self.page, {visible(name): link for name, link in links.items()})

    def __str__(self) -> str:
        """The text that the command line prints."""
        return render(self.page)


def worst(codes: Sequence[int]) -> int:
    """Return the exit code of a suite whose pairs end with `codes`.

    >>> worst([0, 3, 5, 0]), worst([4, 1, 2]), worst([])
    (5, 2, 0)
    """
    return next((code for code in WORST if code in codes), max(codes, default=0))
