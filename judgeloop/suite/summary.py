"""The summary of a night: a line for each pair, its exit code, and the page that all forms are made of.

Pure: the ends of the pairs in, values and texts out.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE, some
from judgeloop.core.money import budget_over, show_usd, to_usd
from judgeloop.core.outcomes import AnsweredBy, Outcome
from judgeloop.ledger.records import NONE_AGAIN, AskedAgain, Balance
from judgeloop.questions.compare.result import EQUAL_BOUND
from judgeloop.report.forms import render_ends
from judgeloop.report.html import render_index
from judgeloop.report.labels import csv_line
from judgeloop.report.page import BADGES, COST, Fact, Page, PageTable, Section, costs, decided, named, told
from judgeloop.report.words import clipped, count, drawn, per_cent, sentence, visible
from judgeloop.suite.in_common import PairText, Rows, grouped
from judgeloop.suite.line import DATE, DOUBTFUL, KINDS, MOVED, OTHERWISE, SHOWN, WORDS, Line
from judgeloop.suite.other_judge import OtherModels, other_judges, other_models, present

# What is no longer in doubt, and what a page in a browser colours a state as: a win, a tie or a loss.
UNDOUBTED = {doubt: outcome.said for outcome, doubt in DOUBTFUL.items()}
GOOD = {one.said for one in DOUBTFUL}
# The worst first: the exit code of the first is that of the suite.
EXITS = (EXIT_INTERRUPTED, EXIT_USAGE, EXIT_ERROR, *(one.exit_code for one in Outcome))
TIES = {one.said for one in (Outcome.NOT_SHOWN, Outcome.UNDECIDED, Outcome.DECIDED)} | {*DOUBTFUL.values()}
_TONES = {Outcome.PASSED: "good", Outcome.DECIDED: "won", Outcome.FAILED: "bad"} | dict.fromkeys(TIES, "open")
TONES = {SHOWN[state]: _TONES.get(state, "broken") for state in KINDS} | {SHOWN[Outcome.DECIDED]: "won"}
BUT = ("it is decided", "it passed")  # of a pair in doubt, without a condition and with one
GAP = "Gaps are in points: of 100 items, how many more the second system of a pair wins than it loses."
ABOUT_MOVED = (
    " Moved: by how much the gap or the score changed since {} on the items that both nights judged, with an approximate 90 % "
    "interval."
)
ON_SHARED = "moved: on the items that both nights judged"  # in few lines
ABOUT_GAPS = " Then and now: the gaps on all that each judged."
ON_FEW = " Where both share fewer than ten items, it is the change on all that each judged."
ABOUT_NIGHTS = " Nights: the gaps of the last nights, this one last, on one scale; a dot where the pair has none by this judge and model; empty if only one night has one."
FEW_MOVED = " Where either night judged fewer than ten, the change has no interval."
BY_OTHER = (
    " “judge changed”: the judge, its model, its code or its prompt is another, and nothing can be said of the outputs "
    "alone."
)
OPEN = {Outcome.UNDECIDED, Outcome.NOT_SHOWN}
_END = re.compile(r": |\. ")  # of what a warning is about
AS_BEFORE = "{} as last night"  # of a pair in doubt, or open, of which nothing new is known
COLUMNS = ("pair", "state", "judge", "winner", "gap", "items judged", COST)
LONGEST_WHY = 240  # characters of a cause
FIRST_FAILED = 3  # pairs that failed, on a terminal before any cause
# Of a spreadsheet.
FIGURES = ("name", "state", "winner", "gap", "judged", "charged_usd", "exit_code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a night brought; `budget_p` is its sum in picodollars.

    `before_p` is what other runs of the same night were charged, before the file was changed. `absent` are pairs of
    the `last_night` of this suite that this one has not, each with a file of it that is not there, or "";
    `other_models` are those that answer for a judge in the place of others. `again` is what all runs of the night had
    asked again of another model. `ledger` is the end of a command that looks
    into this night's, empty for the default. `drawn_on` is the budget of the ledger of which the least is left.
    """

    night: str
    budget_p: int
    lines: tuple[Line, ...]
    before_p: int = 0
    last_night: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    other_models: Collection[OtherModels] = ()
    again: AskedAgain = NONE_AGAIN
    ledger: str = ""
    drawn_on: Balance | None = None

    @property
    def one_output(self) -> str:
        """Of which systems all outputs are empty, or the same, with their pairs, in a sentence; empty for none."""
        by: dict[str, list[str]] = {}
        for one in self.lines:
            for text in one.one_output:
                by.setdefault(text, []).append(one.name)
        said = "; ".join(f"{text} ({some(names)})" for text, names in by.items())
        return f"In doubt: {said}." if said else ""

    @property
    def missed(self) -> str:
        """A sentence on the pairs that are absent; empty without any."""
        who = [f"{pair} (no file {file})" if file else pair for pair, file in self.absent.items()]
        return f"Missing since {self.last_night}: {some(who)}." if who else ""

    @property
    def turned(self) -> str:
        """Which pairs fail, pass or are decided that did not so in the last night, or no longer; or name another one.

        One without a result is no longer passed, and it is not known whether it still fails. One that was interrupted
        goes on.
        """
        found: dict[str, list[str]] = {}
        for one in self._trouble_first:
            then, now = (UNDOUBTED.get(state, state) for state in (one.before, one.state))
            doubted = one.state in UNDOUBTED and one.before not in UNDOUBTED
            if not then or one.outcome is Outcome.INTERRUPTED:
                continue
            otherwise = f", {OTHERWISE}" * bool(one.asked_otherwise)
            if one.winner_before and {then, now} <= GOOD:
                found.setdefault("another winner", []).append(f"{one.name} ({one.winner_before}, now {one.winner})")
            if not doubted and (then == now or {then, now} == GOOD):
                continue
            if doubted:
                found.setdefault(f"newly in doubt{otherwise}", []).append(one.name)
            elif now == Outcome.FAILED.said or now in GOOD:
                found.setdefault(f"newly {now}{otherwise}", []).append(one.name)
            elif then in GOOD or (then == Outcome.FAILED.said and now in TIES):
                found.setdefault(f"no longer {then}{otherwise}", []).append(one.name)
        kinds = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in found.items())
        return f"Since {self.last_night} {kinds}." if kinds else ""

    @property
    def otherwise(self) -> str:
        """Which pairs have other settings than in the last night, and which ones, in a sentence; empty for none."""
        by = self._by(lambda one: "; ".join(filter(None, (one.limit_otherwise, one.asked_otherwise))))
        said = (f"{some([one.name for one in of])} ({what})" for what, of in by)
        return f"Asked otherwise than in {self.last_night}: {', '.join(said)}." if by else ""

    @property
    def changed(self) -> str:
        """Which models and judges are others than before, and what was asked again at which cost, in sentences.

        The cost stands before the rest, which a terminal may cut.
        """
        judges = {judge for one in self.lines for judge, _ in one.answered_by} | {
            one.judge for one in self.other_models
        }
        pairs = [(one.name, one.judges_before, one.judges) for one in self.lines if one.judges]
        now, before = other_models(self.other_models, len(judges))
        return " ".join(
            filter(None, [now, self._asked_again("Because of it") if now else "", *other_judges(pairs), before])
        )

    def _asked_again(self, why: str = "") -> str:
        """How many calls were asked again, and what for, in a sentence; empty without any."""
        calls, controls, cost_p = self.again
        on = f", {'all' if controls == calls else f'{controls:,} of them'} on controls" * bool(controls)
        asked = f"{count(calls, 'call')} for {show_usd(cost_p)}{on}."
        begins = f"{why}," if why else "Asked again, as an earlier model had judged it:"
        return f"{begins} {asked}" if calls else ""

    @property
    def _by_new(self) -> set[str]:
        """The names of the pairs that a new model judged."""
        return {one.name for one in self.lines if self._new_models(one)}

    def _new_models(self, line: Line) -> dict[str, str]:
        """The model that is new to a pair, by judge; without verdicts before, it is new if it is to the night."""
        before, new = present(line.answered_before), {one.judge: one.now for one in self.other_models}
        return {
            judge: model
            for judge, model in present(line.answered_by).items()
            if (before[judge] != model if judge in before else model in new.get(judge, ()))
        }

    @property
    def _models(self) -> str:
        """The new models, and which pairs have verdicts of an older one, too or alone, in sentences; empty without."""
        answered = [(line, judge, models) for line in self.lines for judge, models in line.answered_by]
        by_judge: dict[str, tuple[AnsweredBy, ...]] = {}
        for _, judge, models in answered:
            by_judge[judge] = (*by_judge.get(judge, ()), *models)
        now = {judge: {model} for judge, model in present((*by_judge.items(),)).items()}
        now |= {one.judge: {*one.replied} for one in self.other_models}
        news, too, alone = dict[str, None](), dict[str, list[str]](), dict[str, list[str]]()
        for line, judge, models in answered:
            new = self._new_models(line).get(judge)
            if new is not None:
                news[new] = None
                for one in models:
                    if one.model != new:
                        too.setdefault(one.model, []).append(line.name)
            elif models and not {one.model for one in models} & now[judge]:
                alone.setdefault(present(line.answered_by)[judge], []).append(line.name)
        said = [
            f"“new” in the column judge: by {some(news)}",
            *(f"{some(names)} rest{'s' * (len(names) == 1)} on {model}, too" for model, names in too.items()),
        ]
        said = ["; ".join(said) + "."] if news else []
        said += [f"Not asked again, so judged by {model}: {some(names)}." for model, names in alone.items()]
        return visible(" ".join(said))

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
        risks, certain = [one.risk for one in self.lines if one.risk], sum(one.certain for one in self.lines)
        of_them = f", {certain:,} of them certain" * bool(certain)
        said = f"of {len(risks) + certain:,} answers{of_them}, expect at most {math.fsum(risks):.4g} wrong"
        return (("risk", said),) if risks and len(risks) + certain > 1 else ()

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
        A cause is cut to `longest` characters. One of a pair with a result gives way to all rows of pairs that failed,
        others to `FIRST_FAILED`. What has no result, is open or is newly in doubt is named in any case.
        """
        failed, causes, others = self._in_order
        broken = sum(any(one.why for one in of) for _, of in causes)
        failed = failed[: max(min(most, FIRST_FAILED), most - broken)]
        causes = causes[: max(0, most - len(failed))]
        others = others[: max(0, most - len(failed) - len(causes))]
        shared = self._shared[0]
        caused = {one.name for _, of in causes for one in of}
        shown = {one.name for one in (*failed, *others)}
        rest = [one for one in self._trouble_first if one.name not in shown and (not one.why or one.why != shared)]
        # Beside rows of others, those are counted, too, that a cause names and that might have a row there.
        rest = [one for one in rest if one.name not in caused or (others and not one.why and not one.as_before)]
        more = f"{count(len(rest), 'other')}: {_kinds(rest)}" if len(rest) not in {0, len(self.lines)} else ""
        unsaid = [one for one in rest if one.name not in caused and one.outcome is not Outcome.FAILED]
        unsaid = [one for one in unsaid if one.exit_code or (one.doubtful and not (one.as_before or one.one_output))]
        by_state = self._by(lambda one: WORDS.get(one.state, one.state) if one in unsaid else "")
        if more and (named := [f"{state}: {some([one.name for one in of])}" for state, of in by_state]):
            whole = f"{more} ({'; '.join(named)})"
            # The headline counts all of them.
            more = whole if len(whole) <= longest else f"{count(len(rest), 'other')} ({'; '.join(named)})"
        texts = [clipped(f"{some([one.name for one in of])}: {why}", longest) for why, of in causes]
        above = [decided(self.headline), *told(*self._above(2 * longest))]
        said = (Fact("said", Section.DECISION, "", text, first=True) for text in [*texts, "" if others else more])
        below = [*told(*said), costs(self._cost)]
        shared_items = any(one.measured and not (one.since.same or one.since.on_all) for one in (*failed, *others))
        notes = more, ON_SHARED * shared_items, self._models
        table = (self._table(others, ". ".join(filter(None, notes))),) if others else ()
        if not failed:
            return [Page((*above, *below), table, outcome=self.outcome)]
        by_why = self._by(lambda one: one.why_failed if one in failed else "")
        why = "; ".join(f"{some([one.name for one in of])}: {said}" for said, of in by_why)
        why = why if longest >= LONGEST_WHY else ""  # a row is worth more
        return [Page(tuple(above), (self._table(failed, why),), outcome=self.outcome), Page(tuple(below), table)]

    @property
    def without_pass(self) -> str:
        """Which pairs failed, or have no result, by how they ended, and why there is none; empty for none."""
        by = self._by(lambda one: "" if one.outcome in OPEN or not one.exit_code else WORDS.get(one.state, one.state))
        said = []
        for state, of in by:
            whys = dict.fromkeys(one.why for one in of if one.why and one.why != self._shared[0])
            why = f" ({clipped('; '.join(whys), LONGEST_WHY)})" if whys else ""
            said.append(f"{state}: {some([one.name for one in of])}{why}")
        text = "; ".join(said)
        return visible(f"{text[0].upper()}{text[1:]}.") if text else ""

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
        shared, lines, own = self._shared[0], self._trouble_first, self._own_budgets
        failed = [one for one in lines if one.outcome is Outcome.FAILED]
        known = [one for one in lines if one.as_before and (one.doubtful or one.stopped) and not one.why]
        causes = [
            *self._by(lambda one: one.why if one.why != shared else ""),
            *self._by(lambda one: "" if one.as_before else own.get(one.name, one.stopped)),
            *self._by(
                lambda one: (
                    _END.split(one.warnings[0])[0]
                    if one.doubtful and one.warnings and not (one.why or one.as_before or one.one_output)
                    else ""
                )
            ),
            *self._by(lambda one: AS_BEFORE.format(WORDS.get(one.state, one.state)) if one in known else ""),
        ]
        return failed, causes, [one for one in lines if one not in [*failed, *known] and not one.why]

    def _table(self, lines: Sequence[Line], note: str = "") -> PageTable:
        """The rows of some pairs on a terminal."""
        new = self._by_new
        rows = []
        for one in lines:
            name, state, judge, winner, gap, *_ = one.cells(new)
            state += f": {winner}" * bool(winner and not gap)  # of a search
            rows.append((name, state, judge, gap, one.moved))  # how it was before is said where that has turned
        columns = (*COLUMNS[:3], "gap, points", MOVED)
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
        again = self._asked_again()
        changed = clipped(changed, longest) if longest else changed
        turned = clipped(self.turned, longest) if longest else self.turned
        otherwise = clipped(self.otherwise, longest // 2) if longest else self.otherwise
        return (
            Fact("changed", Section.DECISION, "", changed, first=True),
            Fact("again", Section.DECISION, "", "" if self.other_models else again, first=True),
            Fact("turned", Section.DECISION, "", turned, first=True),
            Fact("otherwise", Section.DECISION, "", otherwise, first=True),
            Fact("one output", Section.DECISION, "", self.one_output, first=True),
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
        if self.charged_p and not any(one.asked for one in self.lines):
            before += ", $0.00 of it now"
        cost = f"{show_usd(self.charged_p)} of {show_usd(self.budget_p)} for the night{before}."
        if self.charged_p > self.budget_p:
            cost = f"{show_usd(self.charged_p)} for the night{before}, above its budget, which is {show_usd(self.budget_p)} now."
        if doubtful_p := sum(one.unconfirmed_p for one in self.lines):
            cost += f" {show_usd(doubtful_p)} of it is held for calls that failed, and may have been billed."
            cost += f" If the provider's bill shows none, `judgeloop ledger settle --run {self.night} 0{self.ledger}` frees it."
        when = f"(on another day with --night {self.night[:DATE]})"
        if on := [one for one in self.lines if one.goes_on]:
            broken = {one.name for one in self.lines if one.outcome is Outcome.BROKEN}
            fixed = [one.name for one in on if one.name in broken]
            who = f" ({some(fixed)})" * (len(fixed) < len(broken))
            # What is left may not be enough for calls that cost as much as those that failed.
            lacks = self.budget_p - self.charged_p < doubtful_p
            starved = [one for one in on if one.used_up or (lacks and one.name in broken)]
            more = f" or give --budget {budget_over(self.budget_p + doubtful_p)}"
            free = f"free that money{more * (not any(one.own_p or one.by_ledger for one in starved))}"
            if any(one.used_up for one in starved):
                cost += f" To go on{who}, {free} {when}."
            else:
                cost += f" Once the cause is gone{who}, the" if fixed else " The"
                left = f" with the {show_usd(max(0, self.budget_p - self.charged_p))} that is left" if starved else ""
                cost += f" same command goes on{left} {when}{f'; for more, {free}' if starved else ''}."
        elif any(one.ended_by_night and not one.hopeless for one in self.lines):
            enough = f": {self._enough}" if self._enough else ""
            cost += f" With a higher --budget it goes on {when}{enough}."
        elif short := [one for one in self.lines if one.ended_by_ledger and not one.hopeless]:
            cost += f" A budget of the ledger ended it{self._ledger_enough(short)}."
        return cost

    def _ledger_enough(self, short: Sequence[Line]) -> str:
        """The command for a limit of the ledger's budget that probably finishes the pairs that are `short`.

        All go on at the same time. So one that all items would not decide takes as much as the longest of these.
        """
        budget, longest_p = self.drawn_on, max(one.likely_p for one in short)
        if budget is None or not all(one.likely_p for one in short):
            return " (`judgeloop budget set`)"
        beside = [one for one in self.lines if one.ended_by_ledger and one.hopeless]
        beside_p = sum(min(longest_p, one.own_p - one.charged_p if one.own_p else longest_p) for one in beside)
        limit = budget_over(budget.charged_p + sum(one.likely_p for one in short) + beside_p)
        name = f" --name {budget.name}" * bool(budget.name)
        return f"; a limit that is probably enough: `judgeloop budget set{name} '${limit}'{self.ledger}`"

    @property
    def _own_budgets(self) -> dict[str, str]:
        """What is said of the pairs that their own budget ended: one that is enough for all of their table."""
        tables: dict[str, list[Line]] = {}
        for one in self.lines:
            if one.ended_by_own and one.stopped and not one.hopeless:
                tables.setdefault(one.table, []).append(one)
        said = dict[str, str]()
        for table, lines in tables.items():
            enough = budget_over(max(one.charged_p + (one.likely_p or one.next_p) for one in lines))
            known = all(one.likely_p for one in lines)
            is_it = _is_enough(lines) if known else "lets it go on"
            most_p = max(one.next_p for one in lines)
            need = f"the {show_usd(most_p)} of" if most_p else "the money for"
            own = f"its own budget of {show_usd(lines[0].own_p)} lacks {need} another judgment"
            said |= {one.name: f"{own}: budget = {enough} in [pairs.{table}] {is_it}" for one in lines}
        return said

    @property
    def _enough(self) -> str:
        """The budgets that finish pairs that money ended, probably and at maximum costs; empty if not known.

        A pair that asks for nothing may be charged as much as any of these until then, as they share equally. What
        their own budgets ended is for these to finish (`_own_budgets`).
        """
        ended = [one for one in self.lines if one.ended_by_night]
        wanted = [one for one in ended if one.wants_p and not one.hopeless]
        if not wanted:
            return ""

        others = [one for one in ended if one not in wanted]

        def enough(of: Callable[[Line], int]) -> str:
            level_p = max(one.charged_p + of(one) for one in wanted)
            shared_p = sum(max(0, level_p - one.charged_p) for one in others)
            return f"${budget_over(max(self.budget_p, self.charged_p + sum(map(of, wanted)) + shared_p))}"

        likely, most = enough(lambda one: one.likely_p), enough(lambda one: one.wants_p)
        who = f" for {some([one.name for one in wanted])}, with an equal share for {some([one.name for one in others])}"
        who *= bool(others)
        if likely == most:
            return f"{most} in all is enough{who} even at maximum costs"
        return f"about {likely} in all {_is_enough(wanted)}{who}; {most} even at maximum costs"

    @property
    def _unpaid(self) -> Rows:
        """What pairs that money ended wait for: one cause, whatever their number."""
        own = ((name, sentence(text)) for name, text in self._own_budgets.items())
        rows = grouped((PairText(name, text, text) for name, text in own), len(self.lines))
        ended = [one for one in self.lines if one.ended_by_night and one.stopped and not one.hopeless]
        if not ended:
            return rows
        most_p = max(one.next_p for one in ended)
        may = f", as another judgment may cost up to {show_usd(most_p)}" if most_p else ""
        said = f"Out of money{may}. The next night goes on, if the outputs are the same."
        if enough := self._enough:
            too = ", and that of a pair that has one of its own" * any(one.own_p for one in ended)
            said += f" To finish tonight, raise --budget{too}: {enough}."
        return ((visible(ended[0].name) if len(ended) == 1 else count(len(ended), "pair"), said), *rows)

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
        lost = {
            one.name: f"{one.headline_here} {one.lost_as.capitalize()}: {one.lost[0]}" for one in first if one.lost
        }  # each has its own
        said = [
            PairText(one.name, lost[one.name], lost[one.name]) if one.lost else one.said(one.headline_here)
            for one in first
        ]
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
                    one.moved_where,
                    SHOWN.get(one.before, one.before) or "no such pair" * bool(one.systems),
                    one.whose,
                    nights,
                )
                for one, nights in zip(first, bars, strict=True)
            ]
            moved = [one for one in self.lines if one.measured]
            note += ABOUT_MOVED.format(self.last_night) * bool(moved)
            note += ABOUT_GAPS * any(" then, " in one.moved_where and not one.since.on_all for one in moved)
            note += ON_FEW * any(one.since.on_all and not one.since.same for one in moved) + ABOUT_NIGHTS * any(bars)
            note += FEW_MOVED * any(one.since.moved is not None and None in one.since.moved for one in moved)
            note += BY_OTHER * any(one.other_judge for one in self.lines)
            again = any(one.whose != one.outputs for one in self.lines)
            note += " “as in”: they are again those of an earlier night." * again
        note += f" {self._models}" * bool(self._models)
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
        ends = (
            (
                one.name,
                one.exit_code,
                one.headline_here,
                one.warnings,
                [*(f"{one.lost_as}  {lost}" for lost in one.lost), *([f"next  {one.advice}"] if one.advice else [])],
            )
            for one in self.lines
        )
        return render_ends("suite", ends, {"judge changed": self.changed, "absent": self.missed})

    def to_html(self, links: Mapping[str, str]) -> str:
        """An HTML page; `links` lead from pairs to their reports, by name."""
        shown = {visible(name): link for name, link in links.items()}
        return render_index(self.page, shown, TONES)


def _is_enough(lines: Iterable[Line]) -> str:
    """How likely a sum finishes some pairs that rests on their verdicts, or on a guess."""
    return "may be enough" if any(one.guess for one in lines) else "is probably enough"


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


def worst(codes: Iterable[int]) -> int:
    """The exit code of a suite whose pairs end with `codes`.

    >>> worst([0, 3, 5, 0]), worst([4, 1, 2]), worst([1, 4])
    (5, 2, 1)
    """
    return min(codes, key=EXITS.index)
