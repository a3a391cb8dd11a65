"""The summary of a night: a line for each pair, its exit code, and the page that all forms are made of.

Pure: the ends of the pairs in, values and texts out.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE, some
from judgeloop.core.money import budget_over, show_usd, to_usd
from judgeloop.core.outcomes import Outcome
from judgeloop.core.records import PAIR
from judgeloop.questions.compare.result import EQUAL_BOUND
from judgeloop.report.forms import render_ends
from judgeloop.report.html import render_index
from judgeloop.report.labels import csv_line
from judgeloop.report.notes import NoteCode
from judgeloop.report.page import BADGES, COST, Fact, Page, PageTable, Section, costs, decided, named, told
from judgeloop.report.result import RunResult
from judgeloop.report.turned import NONE_TURNED, Since
from judgeloop.report.words import clipped, count, drawn, per_cent, visible
from judgeloop.suite.in_common import EACH, FIRST, PairText, Rows, grouped
from judgeloop.suite.other_judge import Models, other_judges, other_model

# How pairs without a result ended, in words, and what a warning makes of an outcome that may say little. A page in a
# browser colours a state as a win, a tie or a loss.
ERRORS = {EXIT_USAGE: "wrong input", EXIT_ERROR: "error"}
NO_KEY = "no key"
DOUBTFUL = {Outcome.PASSED: "doubtful pass", Outcome.DECIDED: "doubtful decision"}
UNDOUBTED = {doubt: outcome.said for outcome, doubt in DOUBTFUL.items()}
GOOD = {one.said for one in DOUBTFUL}
# The worst first: the exit code of the first is that of the suite.
EXITS = (EXIT_INTERRUPTED, EXIT_USAGE, EXIT_ERROR, *(one.exit_code for one in Outcome))
STATES = ("interrupted", *ERRORS.values(), NO_KEY, *(one.said for one in Outcome if one is not Outcome.INTERRUPTED))
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
    NoteCode.NEIGHBOURS,
    NoteCode.DRIFT,
    NoteCode.CONTROLS_BEFORE,
    NoteCode.CONTROLS_NOT_PASSED,
    NoteCode.SEARCHED,
    NoteCode.THIN_LEAD,
}  # of a pair that may pass: a flip is a tie, and ties pass `not-worse`
BUT = ("it is decided", "it passed")  # of a pair in doubt, without a condition and with one
DATE = 10  # characters of a night's name that are its date
GAP = "Gaps are in points: of 100 items, how many more the second system of a pair wins than it loses."
# A column: by how much the gap moved, and on which items where these are not all of both nights.
MOVED, ON_ALL, ON_BOTH = "moved", ", {:,} then, {:,} now", " on the {:,} in both"
OTHER_JUDGE = "judge changed"
ABOUT_MOVED = (
    " Moved: by how much the gap or the score changed since {}, with an approximate 90 % interval: on the items that both nights "
    "judged, or on all that each judged where these are fewer than ten. Then the state of that night, and whether outputs are new."
)
ABOUT_NIGHTS = (
    " Nights: the gaps of the last nights, this one last, on one scale; a dot where the pair has none by this judge."
)
FEW_MOVED = " Of fewer than ten in all the change has no interval."
BY_OTHER = (
    " “judge changed”: the judge, its model, its code or its prompt is another, and nothing can be said of the outputs "
    "alone."
)
COMPARE = "compare"  # the question whose figure is a gap
BY_NEW = " Judge: new where another model answered than before."
KNOWN = "nothing was asked: the night {} asked the same question about the same outputs"
FURTHER = "it goes on from the night {}, which asked the same question about the same outputs"
AS_BEFORE = "{} as last night"  # of a pair in doubt, or open, of which nothing new is known
COLUMNS = ("pair", "state", "judge", "winner", "gap", "judged", COST)
# What comes first where a pair has it: another model, a failed gate, no result, doubt, no answer.
TROUBLE = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_SHOWN, Outcome.UNDECIDED)
LONGEST_WHY = 240  # characters of a cause
FIRST_FAILED = 3  # pairs that failed, on a terminal before any cause
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
    - `shown`: the gap and its bounds in points, or a score; `nights`: the gap in the last nights of the suite, this one
      last, None where the pair has none by its judges now
    - `why`: why there is no result, without names; empty with one. `no_key`: as a judge or a system has no key
    - `lost`: of a failed gate, the first items that the candidate lost
    - `judged`: number of items with a verdict. `charged_p`: what its run was charged, in picodollars;
      `unconfirmed_p`: the part of it for attempts that failed and may have been billed
    - `run`: the run's id; empty if none began
    - `gate`: each condition, with who set it
    - `judged_by`: the judge, the risk, and how the judge's controls ended; empty without a result
    - `risk`: that its answer is wrong, at most, where it is proved; 0 without an answer
    - `flips`, `both_orders`: how many verdicts changed with the order, and how many were asked in both
    - `answered_by`: the models that answered for each judge, with dates and numbers of verdicts; `answered_before`: in
      the latest night before that has any. `again`, `again_p`: how many verdicts were asked again of another model, and
      their cost
    - `warnings`: what to be careful of
    - `advice`: what would answer it, if it is undecided and the same command asks no more of it
    - `doubtful`: true if a pass may say little: all outputs looked at were identical, perhaps as the new system is
      a copy of the old, most verdicts changed with the order, another draw or search of the same items came before, the
      lead of the best system may be chance on other items, or its risk may not hold
    - `goes_on`: true if the same command may ask more of this pair
    - `used_up`: true if a budget ended it, `hopeless`: and all items would not decide if the shares stay. `wants_p`:
      how much more a dry run forecasts at maximum costs, `likely_p`: as the expected cost and its last call's maximum;
      and `next_p`: the most that its next judgment may cost; 0 if that is not known
    - `stopped`: why an open one was asked no further; empty of others
    - `before`: how the same systems ended in the last night; empty if it had no such pair
    - `since`: the items that turned since the last night. `other_judge`: the judge, its model, its code or its prompt
      is another than in its own last verdicts; `judges` are by name, and `judges_before` those of these
    - `outputs`: "new" if those of a system are not all those of the last night, else "same"; empty if not known
    - `same_as`: the latest night before that asked this question about these outputs; empty without any
    - `further`: whether more was asked about them now. `asked`: in how many calls
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
    nights: tuple[float | None, ...] = ()
    why: str = ""
    no_key: bool = False
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
    hopeless: bool = False
    wants_p: int = 0
    likely_p: int = 0
    next_p: int = 0
    stopped: str = ""
    before: str = ""
    since: Since = NONE_TURNED
    other_judge: bool = False
    judges: tuple[str, ...] = ()
    judges_before: tuple[str, ...] = ()
    outputs: str = ""
    same_as: str = ""
    further: bool = False
    asked: int = 0

    @property
    def state(self) -> str:
        """How it ended, in a word."""
        return NO_KEY if self.no_key else state_of(self.outcome, self.exit_code, doubtful=self.doubtful)

    def cells(self, by_new: Collection[str]) -> tuple[str, ...]:
        """The line in a table, of which a new model judged the pairs with the names `by_new`."""
        ended = visible(self.name), SHOWN.get(self.state, self.state), "new" * (self.name in by_new)
        return *ended, visible(self.winner or ""), self.shown, f"{self.judged:,}", show_usd(self.charged_p)

    @property
    def other_model(self) -> bool:
        """Whether a model answered for a judge that answered none of the pair's last verdicts by it."""
        before = {judge: {one.model for one in models} for judge, models in self.answered_before}
        return any(
            judge in before and {one.model for one in models} - before[judge] for judge, models in self.answered_by
        )

    @property
    def moved(self) -> str:
        """By how much the gap or score changed since the last night, with its interval; empty if not known."""
        if self.other_judge:
            return OTHER_JUDGE
        if self.since.moved is None:
            return ""
        since = self.since
        points = self.question == COMPARE  # a score moves on its own scale
        known = [one for one in self.since.moved if one is not None]
        mean, *ends = (f"{round(100 * one) + 0:+.0f}" if points else f"{round(one, 3) + 0:+.3f}" for one in known)
        where = "" if since.same else ON_ALL.format(*since.many) if since.on_all else ON_BOTH.format(since.both)
        return (f"{mean} ({' to '.join(ends)})" if len({*ends}) > 1 else mean) + where

    @property
    def at_bound(self) -> bool:
        """Whether a bound of the gap is the gap, as figures are shown; an end of the scale explains itself."""
        gap, _, bounds = self.shown.partition(" (")
        return gap in bounds.strip(")").split() and gap not in {"-100", "+100"}

    @property
    def as_before(self) -> bool:
        """Whether it ended as in the last night, and nothing was asked since."""
        return self.before == self.state and self.outputs == "same" and bool(self.same_as) and not self.further

    @property
    def rank(self) -> tuple[float, float]:
        """Where the pair stands among others: trouble first, then what moved most."""
        kinds = [one for one, at in enumerate(TROUBLE) if at is self.outcome]
        severity: float = 1 if self.outcome in {None, Outcome.INTERRUPTED} else kinds[0] if kinds else len(TROUBLE)
        if self.doubtful and severity > 1:
            severity = 1.5
        return severity, 0.0 if self.other_judge or not self.since.moved else -abs(self.since.moved[0])

    @property
    def whose(self) -> str:
        """Whether its outputs are new since the last night, or again those of a night before it."""
        again = self.outputs == "new" and self.same_as
        return f"as in {self.same_as}" if again else self.outputs

    @property
    def known_from(self) -> str:
        """Which night asked the same of the same outputs, and how much was asked now; empty if none had a verdict."""
        if not self.same_as or not self.judged:
            return ""
        now = f", with {count(self.asked, 'call')} now" if self.asked else ""
        return (FURTHER + now if self.further else KNOWN).format(self.same_as)

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
        for name in ("since", "answered_before", "shown", "no_key", "judges", "judges_before"):
            del values[name]
        values |= {
            "moved": None if self.other_judge else self.since.moved,
            "moved_on_all": self.since.on_all,
            "turned": [one._asdict() for one in self.since.turned],
            "judged_in_both": self.since.both,
        }
        for name in ("charged", "unconfirmed", "again", "wants", "likely", "next"):
            values[f"{name}_usd"] = float(to_usd(values.pop(f"{name}_p")))
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a night brought; `budget_p` is its sum in picodollars.

    `before_p` is what other runs of the same night were charged, before the file was changed. `absent` are pairs of
    the `last_night` of this suite that this one has not, each with a file of it that is not there, or "";
    `known_models` are the models that had answered for a judge by then. `ledger` is the end of a command that looks
    into this night's, empty for the default.
    """

    night: str
    budget_p: int
    lines: tuple[Line, ...]
    before_p: int = 0
    last_night: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    known_models: Collection[tuple[str, str]] = ()
    ledger: str = ""

    @property
    def missed(self) -> str:
        """A sentence on the pairs that are absent; empty without any."""
        who = [f"{pair} (no file {file})" if file else pair for pair, file in self.absent.items()]
        return f"Missing since {self.last_night}: {some(who)}." if who else ""

    @property
    def turned(self) -> str:
        """Which pairs fail, pass or are decided that did not so in the last night, or no longer, in a sentence.

        One without a result is no longer passed, and it is not known whether it still fails.
        """
        found: dict[str, list[str]] = {}
        for one in self._trouble_first:
            then, now = (UNDOUBTED.get(state, state) for state in (one.before, one.state))
            if not then or then == now or {then, now} == GOOD:
                continue
            if now == Outcome.FAILED.said or now in GOOD:
                found.setdefault(f"newly {now}", []).append(one.name)
            elif then in GOOD or (then == Outcome.FAILED.said and now in TIES):
                found.setdefault(f"no longer {then}", []).append(one.name)
        kinds = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in found.items())
        return f"Since {self.last_night} {kinds}." if kinds else ""

    @property
    def changed(self) -> str:
        """Which pairs have another judge than before, and for which another model answers, in sentences."""
        judges = dict.fromkeys(judge for one in self.lines for judge, _ in one.answered_by)
        pairs = [(one.name, one.judges_before, one.judges) for one in self.lines if one.judges]
        said = [*other_judges(pairs), *(self._change_of(judge) for judge in judges)]
        again, again_p = (sum(getattr(one, name) for one in self.lines) for name in ("again", "again_p"))
        if again and any(said):
            said.append(f"{again:,} of the old model's were asked again, for {show_usd(again_p)}.")
        return " ".join(filter(None, said))

    def _change_of(self, judge: str) -> str:
        """How the model that answers for a judge changed since the last night, or in this one; empty if it did not."""
        earlier, later = ([getattr(one, name) for one in self.lines] for name in ("answered_before", "answered_by"))
        return other_model(judge, earlier, later, self.night[:DATE], self.known_models)

    @property
    def _by_new(self) -> set[str]:
        """The names of the pairs that a new model judged."""
        judges = {judge for line in self.lines for judge, _ in line.answered_by}
        changed = {judge for judge in judges if self._change_of(judge)}
        return {
            line.name
            for line in self.lines
            for judge, models in line.answered_by
            if line.other_model
            or (judge in changed and any((judge, one.model) not in self.known_models for one in models))
        }

    @property
    def _trouble_first(self) -> list[Line]:
        """The pairs as they are shown: by their rank, of equal trouble first those that a new model judged."""
        new = self._by_new
        return sorted(self.lines, key=lambda one: (one.rank[0], one.name not in new, one.rank[1]))

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
        """How many pairs ended how; where one that is not as it should be gives the night its word, how many do."""
        pairs, word = count(len(self.lines), "pair"), BADGES[self.outcome].word
        worst = sum(BADGES[one.outcome or Outcome.BROKEN].word == word for one in self.lines)
        if not self.outcome.exit_code or worst == len(self.lines):
            return visible(f"Night {self.night}: {pairs}, {_kinds(self.lines)}.")
        return visible(f"{word}, {worst:,} of {pairs}: Night {self.night}: {_kinds(self.lines)}.")

    @property
    def cause(self) -> str:
        """Why most of the pairs without a result have none, and how many share that; empty where none do."""
        why, pairs = self._shared
        return f"{pairs:,} pairs: {clipped(why, LONGEST_WHY)}" if pairs else ""

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
            one.said(text if passed or one.exit_code else f"{BUT[one.outcome is Outcome.PASSED]}, but: {text}")
            for one in self.lines
            if passed or one.exit_code or one.doubtful
            for text in one.warnings
        ]
        return grouped(said, len(self.lines))

    def brief(self, most: int, longest: int = LONGEST_WHY) -> list[Page]:
        """What is seen first on a terminal, of all that there is to say so `most`: a row or a cause each.

        The rows of pairs that failed come first, then why others have no answer or are in doubt, then the others' rows.
        A cause is cut to `longest` characters, and gives way to `FIRST_FAILED` rows of pairs that failed.
        What is newly in doubt is named in any case.
        """
        failed, causes, others = self._in_order
        failed = failed[: max(min(most, FIRST_FAILED), most - len(causes))]
        causes = causes[: max(0, most - len(failed))]
        others = others[: max(0, most - len(failed) - len(causes))]
        shared = self._shared[0]
        known = {one.name for of in (failed, others, *(of for _, of in causes)) for one in of}
        rest = [one for one in self.lines if one.name not in known and (not one.why or one.why != shared)]
        more = f"{count(len(rest), 'other')}: {_kinds(rest)}" if len(rest) not in {0, len(self.lines)} else ""
        if more and (doubted := [one.name for one in rest if one.doubtful and not one.as_before]):
            more += f" ({some(doubted)})"
        texts = [clipped(f"{some([one.name for one in of])}: {why}", longest) for why, of in causes]
        above = [decided(self.headline), *told(*self._above(2 * longest))]
        said = (Fact("said", Section.DECISION, "", text, first=True) for text in [*texts, "" if others else more])
        below = [*told(*said), costs(self._cost)]
        table = (self._table(others, more),) if others else ()
        if not failed:
            return [Page((*above, *below), table, outcome=self.outcome)]
        return [Page(tuple(above), (self._table(failed),), outcome=self.outcome), Page(tuple(below), table)]

    @property
    def trouble(self) -> int:
        """How many rows and causes there are before those of pairs that are as they should be."""
        failed, causes, _ = self._in_order
        return len(failed) + len(causes)

    @property
    def _in_order(self) -> tuple[list[Line], list[tuple[str, list[Line]]], list[Line]]:
        """What a terminal shows, the most important first: failed pairs, causes with their pairs, other pairs.

        Causes of this night come before what is as it was.
        """
        shared, lines = self._shared[0], self._trouble_first
        failed = [one for one in lines if one.outcome is Outcome.FAILED]
        known = [one for one in lines if one.as_before and (one.doubtful or one.stopped)]
        causes = [
            *self._by(lambda one: one.why if one.why != shared else ""),
            *self._by(lambda one: "" if one.as_before else one.stopped),
            *self._by(lambda one: one.warnings[0] if one.doubtful and one.warnings and not one.as_before else ""),
            *self._by(lambda one: AS_BEFORE.format(WORDS.get(one.state, one.state)) if one in known else ""),
        ]
        return failed, causes, [one for one in lines if one not in [*failed, *known] and not one.why]

    def _table(self, lines: Sequence[Line], note: str = "") -> PageTable:
        """The rows of some pairs on a terminal."""
        new = self._by_new
        rows = [(*one.cells(new)[:3], one.shown, one.moved, SHOWN.get(one.before, one.before)) for one in lines]
        columns = (*COLUMNS[:3], "gap, points", MOVED, self.last_night)
        return _filled(PageTable("", columns, tuple(rows), note, Section.DECISION))

    def _by(self, why: Callable[[Line], str]) -> list[tuple[str, list[Line]]]:
        """What `why` says, with its pairs, what most share first; without pairs of which it says nothing."""
        found: dict[str, list[Line]] = {}
        for one in self.lines:
            if said := why(one):
                found.setdefault(said, []).append(one)
        return sorted(found.items(), key=lambda one: -len(one[1]))

    def _above(self, longest: int | None = None) -> tuple[Fact, ...]:
        """What stands above all pairs: that the judge changed, why many have no result, and which are gone."""
        changed = f"! {self.changed}" if self.changed else ""
        changed = clipped(changed, longest) if longest else changed
        turned = clipped(self.turned, longest) if longest else self.turned
        return (
            Fact("changed", Section.DECISION, "", changed, first=True),
            Fact("turned", Section.DECISION, "", turned, first=True),
            Fact("cause", Section.DECISION, "", self.cause, first=True),
            Fact("absent", Section.DECISION, "", self.missed, first=True),
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
                f" {show_usd(doubtful_p)} of it is the maximum of attempts that failed and may have been billed; if the "
                f"provider's bill shows none of them, `judgeloop ledger settle --run {self.night} 0{self.ledger}` frees it."
            )
        if on := [one for one in self.lines if one.goes_on]:
            broken = [one.name for one in on if one.outcome is Outcome.BROKEN]
            again = f" When the cause is mended ({some(broken)}), the same" if broken else " The same"
            cost += f"{again} command goes on (--night {self.night[:DATE]})."
        elif any(one.used_up and not one.hopeless for one in self.lines):
            enough = f": {self._enough}" if self._enough else ""
            cost += f" With a higher --budget it goes on (--night {self.night[:DATE]}){enough}."
        return cost

    @property
    def _enough(self) -> str:
        """The budgets that finish pairs that money ended, probably and at maximum costs; empty if not known.

        A pair that asks for nothing may be charged as much as any of these until then, as they share equally.
        """
        ended = [one for one in self.lines if one.used_up]
        wanted = [one for one in ended if one.wants_p and not one.hopeless]
        if not wanted:
            return ""

        def enough(of: Callable[[Line], int]) -> str:
            level_p = max(one.charged_p + of(one) for one in wanted)
            shared_p = sum(max(0, level_p - one.charged_p) for one in ended if one not in wanted)
            return f"${budget_over(max(self.budget_p, self.charged_p + sum(map(of, wanted)) + shared_p))}"

        likely, most = enough(lambda one: one.likely_p), enough(lambda one: one.wants_p)
        who = f" for {some([one.name for one in wanted])}" if len(wanted) < len(ended) else ""
        if likely == most:
            return f"{most} in all is enough{who} even at maximum costs"
        return f"about {likely} in all is probably enough{who}, as a dry run expects; {most} even at maximum costs"

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
            said += f" To finish tonight, raise --budget, and that of a pair that has one of its own: {enough}."
        return ((visible(ended[0].name) if len(ended) == 1 else count(len(ended), "pair"), said),)

    @property
    def page(self) -> Page:
        """The summary as text, whatever the form."""
        gates = [PairText(one.name, one.conditions, one.conditions) for one in self.lines if one.gate]
        same = [PairText(one.name, text, text) for one in self.lines if (text := one.known_from)]
        by = [PairText(one.name, one.judged_by, one.judged_by) for one in self.lines if one.judged_by]
        wanted = [one.said(one.advice) for one in self.lines if one.advice]
        since = ((one.name, f"turned since the last night: {one.since.line}") for one in self.lines if one.since.line)
        turned = [PairText(name, text, text) for name, text in since]
        first = self._trouble_first
        said = [one.said(f"{one.headline} Lost: {one.lost[0]}" if one.lost else one.headline) for one in first]
        note, new = GAP if any(one.gap for one in self.lines) else "", self._by_new
        note += f" {EQUAL_BOUND}" * any(one.at_bound for one in self.lines)
        columns: tuple[str, ...] = COLUMNS
        rows = [one.cells(new) for one in first]
        if any(one.before for one in self.lines):
            columns = (*COLUMNS, MOVED, self.last_night, "outputs", "nights")
            bars = drawn([one.nights for one in first])
            rows = [
                (
                    *one.cells(new),
                    one.moved,
                    SHOWN.get(one.before, one.before) or "no such pair" * bool(one.systems),
                    one.whose,
                    nights,
                )
                for one, nights in zip(first, bars, strict=True)
            ]
            note += ABOUT_MOVED.format(self.last_night) + ABOUT_NIGHTS * any(bars)
            note += FEW_MOVED * any(one.since.moved is not None and None in one.since.moved for one in self.lines)
            note += BY_OTHER * any(one.other_judge for one in self.lines)
            again = any(one.whose != one.outputs for one in self.lines)
            note += " “as in”: they are again those of an earlier night." * again
        note += BY_NEW * bool(new)
        return Page(
            (
                decided(self.headline),
                *told(*self._above()),
                costs(self._cost),
                *named(Section.DECISION, grouped(said, len(self.lines))),
                *named(Section.EVIDENCE, grouped(turned, len(self.lines))),
                *named(Section.NEXT, (*self._unpaid, *grouped(wanted, len(self.lines)))),
                *named(Section.WARNING, self.warned()),
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
