"""The summary of a night: a line for each pair, its exit code, and the page that all forms are made of.

Pure: the ends of the pairs in, values and texts out.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE, some
from judgeloop.core.money import budget_over, show_usd, to_usd
from judgeloop.core.outcomes import AnsweredBy, Outcome
from judgeloop.core.records import PAIR
from judgeloop.report.forms import render_ends
from judgeloop.report.html import render_index
from judgeloop.report.labels import csv_line
from judgeloop.report.notes import NoteCode
from judgeloop.report.page import BADGES, COST, Fact, Page, PageTable, Section, costs, decided, named, told
from judgeloop.report.result import RunResult
from judgeloop.report.turned import NONE_TURNED, Since
from judgeloop.report.words import count, drawn, per_cent, shortened, visible
from judgeloop.suite.in_common import EACH, FIRST, PairText, Rows, grouped

# How pairs without a result ended, in words, and what a warning makes of an outcome that may say little. A page in a
# browser colours a state as a win, a tie or a loss.
ERRORS = {EXIT_USAGE: "wrong input", EXIT_ERROR: "error"}
DOUBTFUL = {Outcome.PASSED: "doubtful pass", Outcome.DECIDED: "doubtful decision"}
# The worst first: the exit code of the first is that of the suite.
EXITS = (EXIT_INTERRUPTED, EXIT_USAGE, EXIT_ERROR, *(one.exit_code for one in Outcome))
STATES = ("interrupted", *ERRORS.values(), *(one.said for one in Outcome if one is not Outcome.INTERRUPTED))
KINDS = (*STATES, *DOUBTFUL.values())
TIES = {one.said for one in (Outcome.NOT_SHOWN, Outcome.UNDECIDED, Outcome.DECIDED)} | {*DOUBTFUL.values()}
# How a state is shown: its sign and its word; what has no outcome is broken.
WORDS = {one.said: BADGES[one].word.lower() for one in Outcome}
SIGNS = {one.said: BADGES[one].sign for one in Outcome} | dict.fromkeys(DOUBTFUL.values(), "?")
SHOWN = {state: f"{SIGNS.get(state, BADGES[Outcome.BROKEN].sign)} {WORDS.get(state, state)}" for state in KINDS}
_TONES = {Outcome.PASSED: "good", Outcome.DECIDED: "won", Outcome.FAILED: "bad"} | dict.fromkeys(TIES, "open")
TONES = {SHOWN[state]: _TONES.get(state, "broken") for state in KINDS} | {SHOWN[Outcome.DECIDED]: "won"}
DOUBTED = {
    NoteCode.ALL_IDENTICAL,
    NoteCode.ALL_TIES,
    NoteCode.MANY_FLIPS,
    NoteCode.ASKED_OFTEN,
    NoteCode.KNOWN_OTHERWISE,
    NoteCode.SEARCHED,
    NoteCode.THIN_LEAD,
}  # of a pair that may pass: a flip is a tie, and ties pass `not-worse`
Models = tuple[tuple[str, tuple[AnsweredBy, ...]], ...]  # that answered, by judge
DATE = 10  # characters of a night's name that are its date
GAP = "Gaps are in points: of 100 items, how many more the second system of a pair wins than it loses."
# A column: by how much the gap moved on the items that both nights judged; where these are few, on all, with this mark.
MOVED, ON_ALL = "moved, same items", ", on all"
ABOUT_MOVED = (
    " Moved: by how much the gap or the score changed since {}, with an approximate 90 % interval: on the items that both nights "
    "judged, or on all where these are fewer than ten. Then the state of that night, whether outputs are new, and the "
    "gaps of the last nights."
)
BY_NEW = " Judge: new where another model answered than before; these stand first."
KNOWN = "nothing was asked: the night {} asked the same question about the same outputs"
FURTHER = "it goes on from the night {}, which asked the same question about the same outputs"
COLUMNS = ("pair", "state", "judge", "winner", "gap", "judged", COST)
# What comes first where a pair has it: another model, a failed gate, no result, doubt, no answer.
TROUBLE = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_SHOWN, Outcome.UNDECIDED)
MOST_CAUSES = 3  # on a terminal, beside the one that most pairs share
LONGEST_WHY = 200  # characters of a cause that pairs share
# Of a spreadsheet.
FIGURES = ("name", "state", "winner", "gap", "judged", "charged_usd", "exit_code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a pair ended.

    - `name`, `question`, `systems`: what was asked; no systems if they could not be read
    - `exit_code`, `headline`: those of the question's own command; the error of a pair without a result
    - `outcome`: how it stands to what was asked; None without a result
    - `winner`: the system that is named; None without one
    - `gap`: of a comparison, bounds of the share of items that the second system wins less the share that it loses
    - `shown`: the gap and its bounds in points, or a score; `nights`: the gap in the last nights, this one last
    - `why`: why there is no result, without names; empty with one
    - `lost`: of a failed gate, the first items that the candidate lost
    - `judged`: number of items with a verdict. `charged_p`: what its run was charged, in picodollars;
      `unconfirmed_p`: the part of it for attempts that failed and may have been billed
    - `run`: the run's id; empty if none began
    - `gate`: each condition, with who set it
    - `judged_by`: the judge, the risk, and how the judge's controls ended; empty without a result
    - `risk`: that its answer is wrong, at most, where it is proved; 0 without an answer
    - `flips`, `both_orders`: how many verdicts changed with the order, and how many were asked in both
    - `answered_by`: the models that answered for each judge, with dates and numbers of verdicts; `answered_before`: in
      the last night. `again`, `again_p`: how many verdicts were asked again of another model, and their cost
    - `warnings`: what to be careful of
    - `advice`: what would answer it, if it is undecided and the same command asks no more of it
    - `doubtful`: true if a pass may say little: all outputs looked at were identical, perhaps as the new system is
      a copy of the old, most verdicts changed with the order, another draw or search of the same items came before, or
      the lead of the best system may be chance on other items
    - `goes_on`: true if the same command may ask more of this pair
    - `used_up`: true if a budget ended it. `wants_p`: how much more of the night's budget it would take, at most, and
      `next_p`: the most that its next judgment may cost; 0 if that is not known
    - `stopped`: why an open one was asked no further; empty of others
    - `before`: how the same systems ended in the last night; empty if it had no such pair
    - `since`: the items that turned since the last night
    - `outputs`: "new" if those of a system are not all those of the last night, else "same"; empty if not known
    - `same_as`: the latest night before that asked this question about these outputs; empty without any
    - `further`: whether more was asked about them now
    """

    name: str
    question: str
    exit_code: int
    headline: str
    outcome: Outcome | None = None
    systems: tuple[str, ...] = ()
    winner: str | None = None
    gap: str = ""
    shown: str = ""
    nights: tuple[float, ...] = ()
    why: str = ""
    lost: tuple[str, ...] = ()
    judged: int = 0
    charged_p: int = 0
    unconfirmed_p: int = 0
    run: str = ""
    gate: tuple[tuple[str, str], ...] = ()
    judged_by: str = ""
    risk: float = 0.0
    flips: int = 0
    both_orders: int = 0
    answered_by: Models = ()
    answered_before: Models = ()
    again: int = 0
    again_p: int = 0
    warnings: tuple[str, ...] = ()
    advice: str = ""
    doubtful: bool = False
    goes_on: bool = False
    used_up: bool = False
    wants_p: int = 0
    next_p: int = 0
    stopped: str = ""
    before: str = ""
    since: Since = NONE_TURNED
    outputs: str = ""
    same_as: str = ""
    further: bool = False

    @property
    def state(self) -> str:
        """How it ended, in a word."""
        return state_of(self.outcome, self.exit_code, doubtful=self.doubtful)

    def cells(self, by_new: Collection[str]) -> tuple[str, ...]:
        """The line in a table, of which a new model judged the pairs with the names `by_new`."""
        ended = visible(self.name), SHOWN.get(self.state, self.state), "new" * (self.name in by_new)
        return *ended, visible(self.winner or ""), self.shown, f"{self.judged:,}", show_usd(self.charged_p)

    @property
    def moved(self) -> str:
        """By how much the gap changed since the last night, with its interval, in points; empty if it is not known."""
        if self.since.moved is None:
            return ""
        mean, low, high = (f"{round(100 * one) + 0:+.0f}" for one in self.since.moved)
        return (mean if low == high else f"{mean} ({low} to {high})") + ON_ALL * self.since.on_all

    @property
    def rank(self) -> tuple[float, float]:
        """Where the pair stands among others: trouble first, then what moved most."""
        kinds = [one for one, at in enumerate(TROUBLE) if at is self.outcome]
        severity: float = 1 if self.outcome in {None, Outcome.INTERRUPTED} else kinds[0] if kinds else len(TROUBLE)
        if self.doubtful and severity > 1:
            severity = 1.5
        return severity, -abs(self.since.moved[0] if self.since.moved else 0.0)

    @property
    def whose(self) -> str:
        """Whether its outputs are new since the last night, or again those of a night before it."""
        again = self.outputs == "new" and self.same_as
        return f"as in {self.same_as}" if again else self.outputs

    @property
    def conditions(self) -> str:
        """The conditions in words."""
        return "; ".join(f"{what} ({by})" for what, by in self.gate)

    def of_each(self, text: str) -> str:
        """A text with `FIRST` and `EACH` for the names of the systems, which pairs may share."""
        if len(self.systems) < PAIR:
            return text
        for system, sign in ((self.systems[-1], EACH), (self.systems[0], FIRST)):
            text = re.sub(rf"(?<!\S){re.escape(visible(system))}(?![^\s,.;:])", sign, text)
        return text

    def said(self, text: str) -> PairText:
        """A text of the pair, to be grouped."""
        ends = (self.systems[0], self.systems[-1]) if self.systems else ()
        return PairText(self.name, self.of_each(text), text, ends)

    def to_json(self) -> dict[str, Any]:
        """The line as JSON values."""
        values = asdict(self) | {"state": self.state, "gate": dict(self.gate)}
        del values["since"], values["answered_before"], values["shown"]
        values |= {
            "moved": self.since.moved,
            "moved_on_all": self.since.on_all,
            "turned": [one._asdict() for one in self.since.turned],
            "judged_in_both": self.since.both,
        }
        for name in ("charged", "unconfirmed", "again", "wants", "next"):
            values[f"{name}_usd"] = float(to_usd(values.pop(f"{name}_p")))
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a night brought; `budget_p` is its sum in picodollars.

    `before_p` is what other runs of the same night were charged, before the file was changed. `absent` are systems of
    the `last_night` of this suite that are in no pair now, and `known_models` the models that had answered for a judge
    by then.
    """

    night: str
    budget_p: int
    lines: tuple[Line, ...]
    before_p: int = 0
    last_night: str = ""
    absent: Sequence[str] = ()
    known_models: Collection[tuple[str, str]] = ()

    @property
    def missed(self) -> str:
        """A sentence on the systems that are absent; empty without any."""
        who = f"Missing since the night {self.last_night}: {some(self.absent)}."
        return f"{who} Was every file written?" if self.absent else ""

    @property
    def changed(self) -> str:
        """Which judges another model answers for than before, in sentences; empty if none did."""
        judges = dict.fromkeys(judge for one in self.lines for judge, _ in one.answered_by)
        said = [self._change_of(judge) for judge in judges]
        again, again_p = (sum(getattr(one, name) for one in self.lines) for name in ("again", "again_p"))
        if again and any(said):
            said.append(f"{again:,} of the old model's were asked again, for {show_usd(again_p)}.")
        return " ".join(filter(None, said))

    def _change_of(self, judge: str) -> str:
        """How the model that answers for a judge changed since the last night, or in this one; empty if it did not.

        Once the page of a night has told of it, that verdicts of both models count is no news.
        """
        here = [one for line in self.lines for name, models in line.answered_by if name == judge for one in models]
        before = [
            one for line in self.lines for name, models in line.answered_before if name == judge for one in models
        ]
        by_model: dict[str, list[AnsweredBy]] = {}
        for one in sorted((*before, *here), key=lambda one: one.first):
            by_model.setdefault(one.model, []).append(one)
        if len(by_model) < PAIR:
            return ""
        *older, new = by_model
        now, every = sum(one.verdicts for one in here if one.model == new), sum(one.verdicts for one in here)
        if not now or (judge, new) in self.known_models:
            return ""
        began = min(one.first for one in by_model[new])
        ended = {model: max(one.last for one in by_model[model]) for model in older}
        # Models that take turns, as behind a router, have no last day.
        turns = max(ended.values()) < began
        until = [f"{model} until {ended[model][:DATE]}" if turns else model for model in older]
        since = f"{new} since" if began[:DATE] == self.night[:DATE] else f"{new} since {began[:DATE]}"
        named = ", ".join([*until, since if turns else new])
        judges = {name for line in self.lines for name, _ in line.answered_by}
        which = "The judge changed" if len(judges) == 1 else f"The judge {judge} changed"
        return f"{which}: {named}; {now:,} of {every:,} replies that count are by the new one."

    @property
    def _by_new(self) -> set[str]:
        """The names of the pairs that a new model judged."""
        judges = {judge for line in self.lines for judge, _ in line.answered_by}
        changed = {judge for judge in judges if self._change_of(judge)}
        return {
            line.name
            for line in self.lines
            for judge, models in line.answered_by
            if judge in changed and any((judge, one.model) not in self.known_models for one in models)
        }

    @property
    def _trouble_first(self) -> list[Line]:
        """The pairs as they are shown: those that a new model judged, then by their rank."""
        new = self._by_new
        return sorted(self.lines, key=lambda one: (one.name not in new, *one.rank))

    @property
    def exit_code(self) -> int:
        """The worst exit code of the pairs."""
        return worst(one.exit_code for one in self.lines)

    @property
    def charged_p(self) -> int:
        """What all runs of this night were charged, in picodollars."""
        return self.before_p + sum(one.charged_p for one in self.lines)

    @property
    def headline(self) -> str:
        """How many pairs ended how."""
        return visible(f"Night {self.night}: {count(len(self.lines), 'pair')}, {_kinds(self.lines)}.")

    @property
    def cause(self) -> str:
        """Why most of the pairs without a result have none, and how many share that; empty where none do."""
        why, pairs = self._shared
        return f"{pairs:,} pairs: {shortened(why, LONGEST_WHY)}" if pairs else ""

    @property
    def _shared(self) -> tuple[str, int]:
        """The cause that most pairs without a result share, and how many these are; of none that two share."""
        causes = Counter(one.why for one in self.lines if one.why)
        return next(((why, pairs) for why, pairs in causes.most_common(1) if pairs > 1), ("", 0))

    @property
    def wrong(self) -> Rows:
        """How many of the answers to expect wrong, as the expectation of a sum is the sum; none for less than two."""
        risks = [one.risk for one in self.lines if one.risk]
        said = f"of {len(risks):,} answers, expect at most {math.fsum(risks):.4g} wrong"
        return (("risk", said),) if len(risks) > 1 else ()

    @property
    def order(self) -> Rows:
        """How many verdicts of all pairs changed with the order of presentation; none if none was asked in both."""
        flips, both = (sum(getattr(one, name) for one in self.lines) for name in ("flips", "both_orders"))
        said = (
            f"{flips:,} of {count(both, 'verdict')} asked in both orders changed ({per_cent(flips / both)})"
            if both
            else ""
        )
        return (("order", f"{said}; each counts as a tie" if flips else said),) if said else ()

    def warned(self, *, passed: bool = True) -> Rows:
        """The warnings of the pairs; without those of pairs that `passed` and are not doubtful."""
        said = [
            one.said(text if passed or one.exit_code else f"it passed, but: {text}")
            for one in self.lines
            if passed or one.exit_code or one.doubtful
            for text in one.warnings
        ]
        return grouped(said, len(self.lines))

    def brief(self, pairs: int, causes: int = MOST_CAUSES) -> Page:
        """What is seen first on a terminal: each pair once, and of those with a result so many, trouble first.

        Above stands why pairs have none, beside a cause that most share so many, why others are open, and why some are
        in doubt; below, how the others ended.
        """
        shared = self._shared[0]
        by_cause = self._by(lambda one: one.why if one.why != shared else "")
        told_of = dict([*by_cause.items()][:causes])
        first = [one for one in self._trouble_first if not one.why][:pairs]
        new = self._by_new
        rows = [(*one.cells(new)[:3], one.shown, one.moved, SHOWN.get(one.before, one.before)) for one in first]
        table = _filled(PageTable("", (*COLUMNS[:3], "gap, points", MOVED, self.last_night), tuple(rows)))
        others = [
            one for one in self.lines if one not in first and (not one.why or one.why in by_cause.keys() - told_of)
        ]
        more = f"{count(len(others), 'more pair')}: {_kinds(others)}" if others else ""
        open_ = self._by(lambda one: one.stopped)
        doubts = self._by(lambda one: one.warnings[0] if one.doubtful and one.warnings else "")
        said = [
            self.missed,
            *(
                f"{some([one.name for one in of])}: {shortened(why, LONGEST_WHY)}"
                for found in (told_of, open_, doubts)
                for why, of in [*found.items()][:causes]
            ),
            "" if rows else more,
        ]
        return Page(
            (
                decided(self.headline),
                *told(*self._above, *(Fact("said", Section.DECISION, "", text, first=True) for text in said)),
                costs(self._cost),
            ),
            (replace(table, note=more, section=Section.DECISION),) if rows else (),
            outcome=self.outcome,
        )

    def _by(self, why: Callable[[Line], str]) -> dict[str, list[Line]]:
        """The pairs by what `why` says of each, what most share first; without those of which it says nothing."""
        found: dict[str, list[Line]] = {}
        for one in self.lines:
            if said := why(one):
                found.setdefault(said, []).append(one)
        return dict(sorted(found.items(), key=lambda one: -len(one[1])))

    @property
    def _above(self) -> tuple[Fact, ...]:
        """What stands above all pairs: that the judge changed, and why many have no result."""
        changed = f"! {self.changed}" if self.changed else ""
        return (
            Fact("changed", Section.DECISION, "", changed, first=True),
            Fact("cause", Section.DECISION, "", self.cause, first=True),
        )

    @property
    def outcome(self) -> Outcome:
        """The worst of the pairs."""
        return Outcome.worst(one.outcome or Outcome.BROKEN for one in self.lines)

    @property
    def _cost(self) -> str:
        """What the night cost of its budget, and how it goes on."""
        before = f", {show_usd(self.before_p)} of it with other settings or outputs" if self.before_p else ""
        cost = f"{show_usd(self.charged_p)} of {show_usd(self.budget_p)} for the night{before}."
        if doubtful_p := sum(one.unconfirmed_p for one in self.lines):
            cost += (
                f" {show_usd(doubtful_p)} of it is the maximum of attempts that failed and may have been billed; "
                "`judgeloop ledger settle` books what they did cost."
            )
        how = "The same command" if any(one.goes_on for one in self.lines) else ""
        if not how and any(one.used_up for one in self.lines):
            how = f"With {self._enough} (at maximum costs) it" if self._enough else "With a higher budget it"
        if how:
            cost += f" {how} goes on (--night {self.night[:DATE]})."
        return cost

    @property
    def _enough(self) -> str:
        """The option with a budget that lets all pairs go on that money ended; empty if none is known."""
        more_p = sum(one.wants_p for one in self.lines)
        return f"--budget {budget_over(self.budget_p + more_p)}" if more_p else ""

    @property
    def _unpaid(self) -> Rows:
        """What pairs that money ended wait for: one cause, whatever their number."""
        ended = [one for one in self.lines if one.used_up and one.stopped]
        if not ended:
            return ()
        most_p = max(one.next_p for one in ended)
        may = f", as another judgment may cost up to {show_usd(most_p)}" if most_p else ""
        said = f"Out of money{may}. The next night goes on, if the outputs are the same."
        if enough := self._enough:
            said += f" To finish tonight: {enough}, and a higher limit of a pair that has one of its own."
        return ((visible(ended[0].name) if len(ended) == 1 else count(len(ended), "pair"), said),)

    @property
    def page(self) -> Page:
        """The summary as text, whatever the form."""
        gates = [PairText(one.name, one.conditions, one.conditions) for one in self.lines if one.gate]
        same = [
            PairText(one.name, text, text)
            for one in self.lines
            if one.same_as and (text := (FURTHER if one.further else KNOWN).format(one.same_as))
        ]
        by = [PairText(one.name, one.judged_by, one.judged_by) for one in self.lines if one.judged_by]
        wanted = [one.said(one.advice) for one in self.lines if one.advice]
        since = ((one.name, f"turned since the last night: {one.since.line}") for one in self.lines if one.since.line)
        turned = [PairText(name, text, text) for name, text in since]
        first = self._trouble_first
        said = [one.said(f"{one.headline} Lost, for one: {one.lost[0]}" if one.lost else one.headline) for one in first]
        note, new = GAP if any(one.gap for one in self.lines) else "", self._by_new
        columns: tuple[str, ...] = COLUMNS
        rows = [one.cells(new) for one in first]
        if any(one.before for one in self.lines):
            columns = (*COLUMNS, MOVED, self.last_night, "outputs", "nights")
            rows = [
                (
                    *one.cells(new),
                    one.moved,
                    SHOWN.get(one.before, one.before) or "no such pair" * bool(one.systems),
                    one.whose,
                    drawn(one.nights),
                )
                for one in first
            ]
            note += ABOUT_MOVED.format(self.last_night)
            again = any(one.whose != one.outputs for one in self.lines)
            note += " “as in”: they are again those of an earlier night." * again
        note += BY_NEW * bool(new)
        absent = [("absent", self.missed)] if self.absent else []
        return Page(
            (
                decided(self.headline),
                *told(*self._above),
                costs(self._cost),
                *named(Section.DECISION, grouped(said, len(self.lines))),
                *named(Section.EVIDENCE, grouped(turned, len(self.lines))),
                *named(Section.NEXT, (*self._unpaid, *grouped(wanted, len(self.lines)))),
                *named(Section.WARNING, (*absent, *self.warned())),
                *named(Section.GATE, grouped(gates, len(self.lines))),
                *named(Section.JUDGE, (*grouped(by, len(self.lines)), *self.wrong, *self.order)),
                *named(Section.DATA, grouped(same, len(self.lines))),
            ),
            (_filled(PageTable("", columns, tuple(rows), note.strip(), Section.DECISION)),),
            outcome=self.outcome,
        )

    def to_json(self) -> dict[str, Any]:
        """The JSON values."""
        return {
            "job": "suite",
            "night": self.night,
            "exit_code": self.exit_code,
            "budget_usd": float(to_usd(self.budget_p)),
            "charged_usd": float(to_usd(self.charged_p)),
            "last_night": self.last_night,
            "absent": list(self.absent),
            "judge_changed": self.changed,
            "pairs": [one.to_json() for one in self.lines],
        }

    def to_csv(self) -> str:
        """The table as a spreadsheet reads it, with figures as numbers, as in the JSON."""
        rows = [[one.to_json()[name] for name in FIGURES] for one in self.lines]
        return "".join(f"{csv_line(row)}\n" for row in (FIGURES, *rows))

    def to_junit(self) -> str:
        """JUnit XML: a test for each pair, which passes exactly if its exit code is 0.

        Tests that are skipped say that another model answers, and name absent systems.
        """
        ends = ((one.name, one.exit_code, one.headline, one.warnings, one.lost) for one in self.lines)
        return render_ends("suite", ends, {"judge changed": self.changed, "absent": self.missed})

    def to_html(self, links: Mapping[str, str]) -> str:
        """An HTML page; `links` lead from pairs to their reports, by name."""
        shown = {visible(name): link for name, link in links.items()}
        return render_index(self.page, shown, TONES)


def _kinds(lines: Iterable[Line]) -> str:
    """How many pairs ended how, the worst first."""
    states = Counter(WORDS.get(one.state, one.state) for one in lines)
    words = dict.fromkeys(WORDS.get(state, state) for state in KINDS)
    return ", ".join(f"{states[word]} {word}" for word in words if states[word])


def _filled(table: PageTable) -> PageTable:
    """A table without the columns in which nothing stands."""
    kept = [at for at, _ in enumerate(table.columns) if any(row[at] for row in table.rows)]
    columns, *rows = (tuple(row[at] for at in kept) for row in (table.columns, *table.rows))
    return replace(table, columns=columns, rows=tuple(rows))


def state_of(outcome: Outcome | None, exit_code: int, *, doubtful: bool) -> str:
    """How a pair ended, in a word; without an `outcome`, by which error."""
    if outcome is None:
        return ERRORS.get(exit_code, f"exit {exit_code}")
    return DOUBTFUL.get(outcome, outcome.said) if doubtful else outcome.said


def models_of(result: RunResult) -> Models:
    """The models that answered for each judge of a result, where replies named any."""
    found = zip(result.setup.judges, result.counts.answered_by, strict=False)
    return tuple((judge, models) for judge, models in found if models)


def is_doubtful(result: RunResult) -> bool:
    """Whether a pass may say little, by a warning of the result."""
    return any(one.code in DOUBTED for one in result.warnings)


def worst(codes: Iterable[int]) -> int:
    """The exit code of a suite whose pairs end with `codes`.

    >>> worst([0, 3, 5, 0]), worst([4, 1, 2]), worst([1, 4])
    (5, 2, 1)
    """
    return min(codes, key=EXITS.index)
