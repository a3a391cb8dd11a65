"""The line of a pair in the summary of a night: how the pair ended, its cells in a table, its place among others.

Pure: values in, texts out. What pairs say together stands in `summary.py`.
"""

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from judgeloop.core.errors import EXIT_ERROR, EXIT_USAGE
from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.outcomes import Outcome
from judgeloop.core.records import PAIR
from judgeloop.ledger.records import NONE_AGAIN, AskedAgain
from judgeloop.questions.compare.result import WORSE_FAILS
from judgeloop.report.lost import LOST, LOWEST
from judgeloop.report.page import BADGES
from judgeloop.report.records import DataNotes
from judgeloop.report.turned import NONE_TURNED, Since
from judgeloop.report.words import count, sentence, visible
from judgeloop.suite.in_common import EACH, FIRST, PairText
from judgeloop.suite.other_judge import Models, present

# How pairs without a result ended, in words, and what a warning makes of an outcome that may say little.
ERRORS = {EXIT_USAGE: "wrong input", EXIT_ERROR: "error"}
NO_KEY = "no key"
DOUBTFUL = {one: f"{one.said} in doubt" for one in (Outcome.PASSED, Outcome.DECIDED)}
STATES = ("interrupted", *ERRORS.values(), NO_KEY, *(one.said for one in Outcome if one is not Outcome.INTERRUPTED))
KINDS = (*STATES, *DOUBTFUL.values())
# How a state is shown: its sign and its word; what has no outcome is broken.
WORDS = {one.said: BADGES[one].word.lower() for one in Outcome}
SIGNS = {one.said: BADGES[one].sign for one in Outcome} | {said: BADGES[one].sign for one, said in DOUBTFUL.items()}
SHOWN = {state: f"{SIGNS.get(state, BADGES[Outcome.BROKEN].sign)} {WORDS.get(state, state)}" for state in KINDS}
DATE = 10  # characters of a night's name that are its date
MOVED = "moved"  # a column: by how much the gap did
# On a page, where the items are not all of both nights.
ON_ALL, ON_BOTH, GAPS = (
    " on all that each night judged: {} then, {:,} now",
    " on the {} of both nights",
    "; on all judged {} then, {} now",
)
OTHER_JUDGE, OTHERWISE = "judge changed", "asked otherwise"
NOTHING = "\N{EN DASH}"  # the gap of a pair of which all outputs drawn are identical
COMPARE, ESTIMATE = "compare", "estimate"  # the questions whose figure is a gap, and a score
KNOWN = "nothing was asked: the night {} asked the same question about the same outputs"
FURTHER = "it goes on from the night {}, which asked the same question about the same outputs"
# What comes first where a pair has it: another model, a failed gate, no result, doubt, no answer.
TROUBLE = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_SHOWN, Outcome.UNDECIDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a pair ended.

    - `name`, `question`, `systems`: what was asked; no systems if they could not be read
    - `exit_code`, `headline`: those of the question's own command; the error of a pair without a result
    - `outcome`: how it stands to what was asked; None without a result
    - `winner`: the system that is named; None without one
    - `gap`: of a comparison, bounds of the share of items that the second system wins less the share that it loses
    - `shown`: the gap and its bounds in points, or a score; `nights`: the gap in the last nights of the suite, this one
      last, None where the pair has none by its judges now; `gap_before`: that of the last night, whoever judged
    - `why`: why there is no result, without names; empty with one. `no_key`: as a judge or a system has no key
    - `lost`: of a failed gate, the first items that the candidate lost
    - `judged`: number of items with a verdict. `charged_p`: what its run was charged, in picodollars;
      `unconfirmed_p`: the part of it for attempts that failed and may have been billed
    - `run`: the run's id; empty if none began
    - `gate`: each condition, with who set it
    - `judged_by`: the judge, the risk, and how the judge's controls ended; empty without a result
    - `risk`: that its answer is wrong, at most, where it is proved; 0 without an answer, or if it is `certain`, as
      all that it is about is judged
    - `flips`, `both_orders`: how many verdicts changed with the order, and how many were asked in both
    - `answered_by`: the models that answered for each judge, with dates and numbers of verdicts; `answered_before`: in
      the latest night before that has any. `again`: what its run had asked again of another model
    - `warnings`: what to be careful of, first what puts it in doubt
    - `one_output`: a sentence on each system whose outputs are all empty, or all the same
    - `replaced`: the warning of a model in the place of another, which the night has that asked again because of it
    - `advice`: what would answer it, if it is undecided and the same command asks no more of it
    - `doubtful`: true if a pass may say little: all outputs looked at were identical, perhaps as the new system is
      a copy of the old, most verdicts changed with the order, another draw or search of the same items came before, the
      lead of the best system may be chance on other items, or its risk may not hold
    - `goes_on`: true if the same command may ask more of this pair
    - `used_up`: true if a budget ended it, `by_ledger`: if it is one of the ledger, `hopeless`: if all items would not
      decide if the shares stay. `wants_p`: how much more a dry run forecasts at maximum costs, `likely_p`: as its
      advice expects, else a dry run, and its last call's maximum; `next_p`: the most that its next judgment may cost; 0
      if that is not known. `guess`: its verdicts allow no forecast. `own_p`: its own budget, of the `table`
      [pairs.TABLE]; 0 without one
    - `stopped`: why an open one was asked no further; empty of others
    - `before`: how the same systems ended in the last night; empty if it had no such pair
    - `winner_before`: the system that was named then, where it is another
    - `since`: the items that turned since the last night. `asked_otherwise`: which settings of the question are others,
      and `limit_otherwise` which limit. `other_judge`:
      the judge, its model, its code or its prompt is another than in its own last verdicts; `judges` are by name, and
      `judges_before` those of these
    - `outputs`: "new" if those of a system are not all those of the last night, else "same"; empty if not known
    - `same_as`: the latest night before that asked this question about these outputs, by its date, that of another
      suite by its name; empty without any
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
    gap_before: str = ""
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
    certain: bool = False
    flips: int = 0
    both_orders: int = 0
    answered_by: Models = ()
    answered_before: Models = ()
    again: AskedAgain = NONE_AGAIN
    warnings: tuple[str, ...] = ()
    one_output: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    advice: str = ""
    doubtful: bool = False
    goes_on: bool = False
    used_up: bool = False
    by_ledger: bool = False
    hopeless: bool = False
    wants_p: int = 0
    likely_p: int = 0
    guess: bool = False
    next_p: int = 0
    own_p: int = 0
    table: str = ""
    stopped: str = ""
    before: str = ""
    winner_before: str = ""
    since: Since = NONE_TURNED
    asked_otherwise: str = ""
    limit_otherwise: str = ""
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
        cut = self.outcome is Outcome.INTERRUPTED
        judged = "" if cut else NOTHING if self.shown == NOTHING else f"{self.judged:,}"
        winner = (
            "" if self.outcome is Outcome.NOT_SHOWN else visible(self.winner or "")
        )  # it is not better, and that was asked
        return *ended, winner, self.shown, judged, show_usd(self.charged_p)

    @property
    def other_model(self) -> bool:
        """Whether a judge answers by another model than in the pair's last verdicts by it."""
        before = present(self.answered_before)
        return any(before.get(judge, model) != model for judge, model in present(self.answered_by).items())

    @property
    def moved(self) -> str:
        """By how much the gap or score changed since the last night, with its interval; empty if not known."""
        if self.other_judge:
            return OTHER_JUDGE
        if self.asked_otherwise:
            return OTHERWISE
        if self.since.moved is None:
            return ""
        points = self.question == COMPARE  # a score moves on its own scale
        known = [one for one in self.since.moved if one is not None]
        mean, *ends = (f"{round(100 * one) + 0:+.0f}" if points else f"{round(one, 3) + 0:+.3f}" for one in known)
        return f"by {mean} ({' to '.join(ends)})" if len({*ends}) > 1 else f"by {mean}"

    @property
    def measured(self) -> bool:
        """Whether the change since the last night is a figure."""
        return not (self.other_judge or self.asked_otherwise or self.since.moved is None)

    @property
    def moved_where(self) -> str:
        """As `moved`, with the items that it is about where these are not all of both nights, and the two gaps."""
        since = self.since
        if self.asked_otherwise:
            return f"{f'{OTHER_JUDGE}; ' * self.other_judge}{OTHERWISE}: {self.asked_otherwise}"
        if not self.measured or since.same:
            return self.moved
        if since.on_all:
            return self.moved + ON_ALL.format(count(since.many[0], since.unit), since.many[1])
        gaps = GAPS.format(self.gap_before, self.shown.partition(" (")[0]) if self.gap_before and self.shown else ""
        return self.moved + ON_BOTH.format(count(since.both, since.unit)) + gaps

    @property
    def at_bound(self) -> bool:
        """Whether a bound of the gap is the gap, as figures are shown; an end of the scale explains itself."""
        gap, _, bounds = self.shown.partition(" (")
        return gap in re.findall(r"[^\s,)]+", bounds) and gap not in {"-100", "+100"}

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
    def asks_again(self) -> bool:
        """Whether the same command asks more of it: it broke off, and not as failed calls hold its money."""
        return not self.used_up and (self.goes_on or (self.outcome is Outcome.BROKEN and not self.judged))

    @property
    def ended_by_own(self) -> bool:
        """Whether its own budget ended it, which that of the night does not raise."""
        return self.used_up and 0 < self.own_p < self.charged_p + max(1, self.next_p)

    @property
    def ended_by_ledger(self) -> bool:
        """Whether a budget of the ledger ended it, and its own is not used up."""
        return self.by_ledger and not self.ended_by_own

    @property
    def ended_by_night(self) -> bool:
        """Whether the budget of the night ended it."""
        return self.used_up and not (self.by_ledger or self.ended_by_own)

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

    @property
    def headline_here(self) -> str:
        """The headline on the page of a night; of an answer in doubt with why."""
        why = [sentence(one if self.one_output else one.partition(": ")[0]) for one in self.warnings[:1]]
        answered = self.outcome is not None and self.outcome.answered
        return " ".join([self.headline, *(why if self.doubtful and answered else [])])

    @property
    def why_failed(self) -> str:
        """Why a pair failed, as its headline says it, where its gap does not show that; empty of others."""
        first, _, more = self.headline.removeprefix("FAILED: ").partition(". ")
        if self.outcome is not Outcome.FAILED or not more:
            return ""
        return more[0].lower() + more[1:].rstrip(".") if more.startswith(WORSE_FAILS) else first

    @property
    def lost_as(self) -> str:
        """What its `lost` items are called: of ratings they are the lowest."""
        return LOWEST if self.question == ESTIMATE else LOST

    def said(self, text: str) -> PairText:
        """A text of the pair, to be grouped."""
        return PairText(self.name, self.of_each(text), text, self.systems)

    def to_json(self) -> dict[str, Any]:
        """The line as JSON values."""
        values = asdict(self) | {"state": self.state, "gate": dict(self.gate)}
        for name in (
            "since",
            "answered_before",
            "shown",
            "no_key",
            "judges",
            "judges_before",
            "own_p",
            "guess",
            "table",
            "gap_before",
            "replaced",
        ):
            del values[name]
        values |= {
            "moved": None if self.other_judge else self.since.moved,
            "moved_on_all": self.since.on_all,
            "turned": [one._asdict() for one in self.since.turned],
            "judged_in_both": self.since.both,
        }
        verdicts, controls, cost_p = self.again
        values |= {"again": verdicts, "again_controls": controls, "again_p": cost_p}
        for name in ("charged", "unconfirmed", "again", "wants", "likely", "next"):
            values[f"{name}_usd"] = float(to_usd(values.pop(f"{name}_p")))
        return values


def state_of(outcome: Outcome | None, exit_code: int, *, doubtful: bool) -> str:
    """How a pair ended, in a word; without an `outcome`, by which error."""
    if outcome is None:
        return ERRORS.get(exit_code, f"exit {exit_code}")
    return DOUBTFUL.get(outcome, outcome.said) if doubtful else outcome.said


def one_output_of(data: DataNotes) -> dict[str, str]:
    """Of each system whose outputs are all empty, or all the same, that they are."""
    found = {name: ("the same", many) for name, many in data.repeated.items()}
    found |= {name: ("empty", many) for name, many in data.empty.items() if many >= data.items}
    return {
        name: f"all {many:,} outputs of {visible(name)} are {how}"
        for name, (how, many) in found.items()
        if many >= data.items
    }
