"""What a result says, as values: facts, each with one wording, tables and pictures.

`facts.py` has the facts that all questions share, and a question's own `page.py` those that only it knows.
`terminal.py`, `html.py` and `forms.py` render them.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from judgeloop.core.jsonable import Say
from judgeloop.core.outcomes import Outcome
from judgeloop.report.pictures import Picture
from judgeloop.report.words import visible

_FIGURE = re.compile(r"((under|over) )?[-+$]?\d")  # how a cell begins that is a figure


class Section(enum.StrEnum):
    """What a fact is about; they are shown in this order."""

    DECISION = "decision"
    GATE = "gate"
    EVIDENCE = "evidence"
    RISK = "risk"
    GROUPS = "groups"
    NEXT = "next"
    WARNING = "warning"
    JUDGE = "judge"
    COST = "cost"
    DATA = "data"
    AGAIN = "again"  # only on a page that travels: a terminal has just had it


TITLES = {
    Section.DECISION: "",
    Section.GATE: "What must hold",
    Section.EVIDENCE: "What was found",
    Section.RISK: "How sure it is",
    Section.GROUPS: "The groups",
    Section.NEXT: "What to do next",
    Section.WARNING: "Warnings",
    Section.JUDGE: "Can this judge be trusted?",
    Section.COST: "What it cost",
    Section.DATA: "The data and the run",
    Section.AGAIN: "How to do it again",
}


class Badge(NamedTuple):
    """How an outcome is seen: a word, a sign beside it, and the sign in a comment, which has a colour."""

    word: str
    sign: str
    mark: str


_OPEN = Badge("OPEN", "?", "\N{LARGE YELLOW CIRCLE}")
BADGES = {
    Outcome.DECIDED: Badge("DECIDED", "\N{CHECK MARK}", "\N{LARGE BLUE CIRCLE}"),
    Outcome.PASSED: Badge("PASSED", "\N{CHECK MARK}", "\N{WHITE HEAVY CHECK MARK}"),
    Outcome.FAILED: Badge("FAILED", "\N{BALLOT X}", "\N{CROSS MARK}"),
    Outcome.NOT_SHOWN: _OPEN,
    Outcome.UNDECIDED: _OPEN,
    Outcome.BROKEN: Badge("BROKEN", "!", "\N{LARGE PURPLE CIRCLE}"),
    Outcome.INTERRUPTED: Badge("INTERRUPTED", "-", "\N{MEDIUM WHITE CIRCLE}"),
}
OPENINGS = {"Choose", "It", "No", "There"}  # words of ours that begin a headline
_OURS = re.compile(r"(a score of|it is|nothing is|no|there) ")  # how a sentence begins that no name begins
_BEGINS = re.compile(rf"({'|'.join(one.word for one in BADGES.values())})[:,]")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: what a result says of one thing.

    - `key`: its stable name; `section`: what it is about
    - `label`: its name in a column; empty for a paragraph
    - `text`: the one wording, with unseen characters escaped, and settings between backticks
    - `first`: whether it is shown without scrolling: by `-q`, and at the top of a page
    - `value`: the figures behind it, by columns of a table, as a paper or a night shows them
    """

    key: str
    section: Section
    label: str
    text: str
    first: bool = False
    value: Mapping[str, str] | None = None

    def __str__(self) -> str:
        """The fact on a line."""
        return f"{self.label}: {self.text}"


@dataclass(frozen=True, slots=True)
class PageTable:
    """Cells below the names of their columns; the first column holds names; a note below."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    section: Section = Section.EVIDENCE

    @property
    def figures(self) -> tuple[bool, ...]:
        """Which columns hold figures, to stand below each other's digits; the others hold words."""
        later = range(1, len(self.columns))
        return (False, *(any(_FIGURE.match(row[n]) for row in self.rows) for n in later))


@dataclass(frozen=True, slots=True)
class Page:
    """What a result says, whatever the form.

    - `facts`, `tables`: each has its section
    - `pictures`: the evidence, the most important first; those that stand together are one tuple
    - `asks`: the question in words; `written`: when the result was decided
    - `outcome`: how it stands to what was asked; None of a page that answers nothing
    - `caption`: what a table of it shows, where that is not the headline
    - `figures`: by column of such a table, in the place of those behind the facts, which a night shows
    """

    facts: tuple[Fact, ...]
    tables: tuple[PageTable, ...] = ()
    pictures: tuple[tuple[Picture, ...], ...] = ()
    asks: str = ""
    written: str = ""
    outcome: Outcome | None = None
    caption: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """The decision, in a sentence."""
        return self.text("decision")

    @property
    def head(self) -> str:
        """The headline, which begins with the word of the outcome."""
        said = self.headline
        if self.outcome is None or _BEGINS.match(said):
            return said
        said = said[:1].lower() + said[1:] if said.partition(" ")[0] in OPENINGS else said
        return f"{BADGES[self.outcome].word}: {said}"

    @property
    def parted(self) -> tuple[str, str]:
        """The word of the outcome, empty without one, and what the headline says beside it."""
        if self.outcome is None:
            return "", self.headline
        word, _, said = self.head.partition(": ")
        said = said if _BEGINS.match(self.headline) else self.headline
        return word, said[:1].upper() + said[1:] if _OURS.match(said) else said

    @property
    def first(self) -> list[Fact]:
        """What is shown first beside the decision: sentences, named facts, what to do next, warnings."""
        last = (Section.NEXT, Section.WARNING)
        shown = (one for one in self.facts if one.first and one.key != "decision")
        return sorted(shown, key=lambda one: (one.section is Section.WARNING, bool(one.label), one.section in last))

    def text(self, key: str) -> str:
        """The text of a fact; empty without it."""
        return next((one.text for one in self.facts if one.key == key), "")

    def value(self, key: str, column: str) -> str:
        """A figure behind a fact; empty without it."""
        return next(((one.value or {}).get(column, "") for one in self.facts if one.key == key), "")

    def parts(self) -> Iterator[tuple[Section, list[Fact], list[PageTable]]]:
        """Yield each section with what is not shown first, in their order."""
        for section in Section:
            facts = [one for one in self.facts if one.section is section and not one.first]
            tables = [one for one in self.tables if one.section is section]
            if facts or tables:
                yield section, facts, tables

    def said(self, say: Say) -> Page:
        """The page with its texts as `say` says them."""
        return replace(self, facts=tuple(replace(one, text=say(one.text)) for one in self.facts))

    def sealed(self, run: str) -> Page:
        """The page as those may see it who go on to judge the run: without what may say who leads."""
        how = f"Votes and gap are left out, as they would sway whoever goes on. `judgeloop runs show {run} --details` shows them."
        kept = tuple(one for one in self.facts if one.key in OPEN or one.section is Section.AGAIN)
        page = replace(self, facts=kept, tables=(), pictures=(), figures={})
        return page.with_facts(Fact(SEALED, Section.EVIDENCE, "so far", how, first=True))

    def with_facts(self, *facts: Fact) -> Page:
        """The page with these facts, each in the place of one with its key, else behind the others."""
        new = {one.key: one for one in told(*facts)}
        kept = tuple(new.pop(one.key, one) for one in self.facts)
        return replace(self, facts=(*kept, *new.values()))


NO_PAGE = Page(())
COST = "cost"  # the name of what was paid, as a fact, a condition and a line
WARNINGS = "warnings"  # a condition: that there are none
SEALED = "sealed"
# The facts that say nothing of who leads.
OPEN = {"decision", "judged", COST, "calls", "next", "judge", "checks", "warning.checks_failed", "rubric"}


def decided(text: str) -> Fact:
    """The decision, or what stands in its place on a page without one."""
    return Fact("decision", Section.DECISION, "", text, first=True)


def costs(text: str) -> Fact:
    """What was paid: of a run, of a night, of a pair of it."""
    return Fact(COST, Section.COST, COST, text, first=True)


def told(*facts: Fact) -> list[Fact]:
    """The facts that have a text, with unseen characters escaped."""
    return [replace(one, text=visible(one.text)) for one in facts if one.text]


def named(section: Section, rows: Iterable[tuple[str, str]]) -> list[Fact]:
    """Facts that have no key of their own, from names and texts."""
    return told(*(Fact(f"{section}.{label}", section, label, text) for label, text in rows))
