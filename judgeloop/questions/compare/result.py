"""The result of a comparison: all figures that the reports show, computed once.

`page.py` makes facts of them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from judgeloop.core.errors import InputError
from judgeloop.core.jsonable import Part, Sentence
from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import BREAKS, Condition, Outcome, StopKind, StopReason, outcome_of
from judgeloop.core.records import MODELS_ABSTAIN, UNLIMITED, Groups
from judgeloop.methods.stats.agreement import FEWEST_BOTH, calls_of_one_order, chance_in_one_order
from judgeloop.methods.stats.drift import Halves
from judgeloop.methods.stats.margins import limit_to_name, limit_to_pass
from judgeloop.methods.stats.predictive import FEWEST_KNOWN
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.rule import points
from judgeloop.questions.compare.proxy import CorrectedGap
from judgeloop.report.cut_short import CUT_SHORT
from judgeloop.report.facts import GROUP, ended, of_the_run, unsound
from judgeloop.report.groups import GroupRow, counted, worse_in
from judgeloop.report.labels import LabelRow
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.result import FEWEST_TIES, RunResult
from judgeloop.report.words import between, ends, plural, signed_points

Claim = Literal["better", "better_or_within", "not_worse", "worse", "no_difference"]
BETS = "bets"  # the rule whose bounds answer every question
ONCE = "once"  # the rule of what is there already
WORSE_FAILS = "Being worse fails"
EQUAL_BOUND = "Bounds never widen, but the gap still moves: so it may equal one of its bounds."


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(Part):
    """The settings that only a comparison has.

    - `near_tie`: the gap that counts as no practical difference; null without one
    - `min_gap`: the gap that matters: a system that is named may be behind the other by less; null without one
    - `not_worse`: the gap by which the second system is not to be worse; null if that is not asked
    - `by_group`: what is done with the groups, each tested by itself; null if none is tested
    - `by_criterion`: true if each criterion of the rubric is tested by itself
    - `max_flips`: the share of verdicts that may change with the order; null where any may, in a fixed order, and for
      people
    - `give_up`: the probability of a decision below which the run stops undecided
    - `proxy`: the cheap judge that was given beside the others; null without one
    """

    near_tie: float | None = None
    min_gap: float | None = None
    not_worse: float | None = None
    by_group: str | None = None
    by_criterion: bool = False
    max_flips: float | None = None
    give_up: float | None = None
    proxy: str | None = None

    @property
    def gap_asked(self) -> float | None:
        """The gap that the question is about; None for another question."""
        return self.min_gap if self.not_worse is None else self.not_worse


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """What recorded scores say beside the test.

    `means` holds each system's mean score, and `mean_difference` the first less the second.
    `win_share` is the first system's share of the items that are no ties; None if all are.
    `win_share_interval` bounds its chance to win such an item, at 1 - `risk_threshold`.
    """

    means: dict[str, float]
    mean_difference: float
    win_share: float | None
    win_share_interval: tuple[float, float]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(RunResult):
    """A comparison's result.

    - `claim`: what is shown, as a name; null if nothing is. `better_or_within`: the winner is better,
      or behind the other by less than `min_gap`
    - `risk`: the stated risk of `claim`; without one, of naming the leader now; null where the rule states none
    - `better`: true if the winner, or the system that is not worse, is shown to be better
    - `worse_by_margin`: true if the second system is shown to be worse by more than `not_worse`
    - `wins`: number of items that each system won
    - `ties`: number of items without a preference
    - `gap`: the leader's share of wins minus the other system's, among the judged items
    - `gap_by_items`: the same if each family counts as often as it has items; null where items are drawn. Without a
      leader: first system minus second
    - `gap_biased`: true if the items were picked, so that they do not represent the others
    - `gap_weighted`: true if the draws preferred some items. Then `gap` is an estimate for all
      items, negative if it contradicts the leader (without a leader: first system minus second).
      The interval is approximate, at 90 %
    - `more_items`: with so many further items, a new run decides about items like these with an
      even chance; null if items are left, or nothing is known
    - `more_items_likely`: the same with a chance of four in five; null if no number promises that
    - `within_reach`: true if all items may decide, though they would not if the shares stay (a fifth of replays)
    - `groups`: the items of each group, and its verdicts from the side of the second system. Empty if
      no item has a group. `claim` is null unless `by_group` asks for it, like all that follows it
    - `criteria`: the criteria of the rubric as `groups`, each of the items that were judged by it; empty without any.
      `claim` is null unless `by_criterion` asks for it
    - `comparison`: which comparison with the baseline on these items by these judges this is, as far as
      the ledger knows: 1 for the first. Another candidate, question or seed is another one; other ids are not
    - `risk_before`: the sum of the risks of those before; a run whose risk promises nothing counts as 1
    - `searched`: among how many systems, these two with them, a search on these items came before; 0 for none
    - `drift`: the halves of the first so many draws, and the gap of the first system in each, where they differ by more
      than chance; null where they do not
    - `groups_cut`: why the tests of groups were cut off, as a name; null if they were not
    - `groups_cut_sentence`: the same in words; empty if they were not
    - `corrected`: what the verdicts of the proxy were worth, and the gap by both judges together; null without a proxy,
      or where it was not worth its price
    - `recorded`: means and shares of recorded scores, of which `risk` is the p-value of the exact
      sign test; null if judges were asked
    """

    HIDDEN = RunResult.HIDDEN | {"bounds"}
    COMPUTED = (*RunResult.COMPUTED, "claim", "better", "worse_by_margin", "gap_interval", "wrong_expected", "limit")

    job: ClassVar[str] = "compare"

    options: CompareOptions
    risk: float | None
    wins: dict[str, int]
    ties: int
    gap: float | None
    gap_biased: bool
    gap_weighted: bool
    bounds: tuple[float, float] | None
    more_items: int | None = None
    more_items_likely: int | None = None
    within_reach: bool = False
    recorded: ScoreFigures | None = None
    groups: tuple[GroupRow, ...] = ()
    criteria: tuple[GroupRow, ...] = ()
    comparison: int = 1
    risk_before: float = 0.0
    searched: int = 0
    drift: Halves | None = None
    groups_cut: StopKind | None = None
    groups_cut_sentence: Sentence = ""
    gap_by_items: float | None = None
    corrected: CorrectedGap | None = None

    @property
    def claim(self) -> Claim | None:
        """What is shown, as a name; null if nothing is."""
        if self.stop_reason is StopKind.NO_DIFFERENCE:
            return "no_difference"
        if self.stop_reason is StopKind.NOT_WORSE:
            return "not_worse"
        if self.winner is None:
            return None
        if self.options.not_worse is not None:
            return "worse"
        within = self.options.min_gap is not None and not self._excludes(0.0)
        return "better_or_within" if within else "better"

    @property
    def named(self) -> str | None:
        """The winner, or the second system if it is shown to be better and was to be no worse."""
        return self.setup.systems[1] if self.better and self.winner is None else self.winner

    @property
    def test_name(self) -> str:
        """What is required of which system; both systems if nothing is."""
        first, second = self.setup.systems
        if self.options.not_worse is not None:
            return f"{second} is not worse than {first}"
        required = self.setup.required_winner
        other = first if required == second else second
        return f"{required} is better than {other}" if required else f"{first} or {second}"

    @property
    def better(self) -> bool:
        """Whether the winner, or the system that is not worse, is shown to be better."""
        return self.claim == "better" or (self.claim == "not_worse" and self._second_leads and self._excludes(0.0))

    @property
    def worse_by_margin(self) -> bool:
        """Whether the second system is shown to be worse by more than `not_worse`."""
        return self.claim == "worse" and self._excludes(self.options.not_worse or 0.0)

    def _excludes(self, gap: float) -> bool:
        """Whether it is shown that the leader is ahead by more than this; of bounds that hold at every look."""
        return self.bounds is not None and self.bounds[0] >= gap and not self.gap_weighted

    @property
    def ruled_out(self) -> float | None:
        """The gap that a proved claim excludes, and all beyond it, seen as `gap`; None without such a claim."""
        margin = self.options.gap_asked or 0.0
        if self.bounds is None or self.setup.guarantee is None or self.claim in {None, "no_difference"}:
            return None
        if self.claim == "not_worse" and not self.better:
            return -margin if self._second_leads else margin
        if self.claim == "better_or_within":
            return -margin
        return margin if self.worse_by_margin else 0.0

    def not_worse_by(self, margin: float) -> Outcome:
        """What the bounds say of "the second system is not worse by `margin` or more": whatever was asked of the run.

        `Outcome.BROKEN` if no gate could rely on the verdicts.

        Raises:
            InputError: the bounds of this run answer no question but its own.
        """
        bounds, bets = self.of(self.setup.systems[1])[1], self.setup.rule == BETS
        if bets and unsound(self, self.options.max_flips):
            return Outcome.BROKEN
        if not bets or bounds is None:
            how = "read all verdicts at once" if self.setup.rule == ONCE else f"was decided by rule={self.setup.rule}"
            raise InputError(
                f"the run {self.setup.run} {how}, so its bounds answer its own question alone; `compare` with "
                f"`not_worse={margin:g}` and the same files and judge asks anew"
            )
        if bounds[0] >= -margin:
            return Outcome.PASSED
        return Outcome.FAILED if bounds[1] <= 0 and self.leader == self.setup.systems[0] else Outcome.UNDECIDED

    @property
    def gap_interval(self) -> tuple[float, float] | None:
        """Bounds of the gap over the items that `about` names, seen as `gap`; null if items were picked.

        Each is wrong with at most the threshold's probability, at any time at which a run may end, whatever is read off
        them.
        """
        return self.bounds

    @property
    def _second_leads(self) -> bool:
        return self.leader == self.setup.systems[1]

    @property
    def seen(self) -> tuple[str, str]:
        """From which system all pages see the gap, and the other: a gate's candidate, who leads, or the second."""
        first, second = self.setup.systems
        gated = self.options.not_worse is not None or self.options.by_group == Groups.REQUIRE
        own = self.setup.required_winner or (second if gated else self.leader)
        return (first, second) if own == first else (second, first)

    def of(self, system: str) -> tuple[float | None, tuple[float, float] | None, float | None]:
        """A system's gap, its bounds and the gap ruled out; None where items were picked, or nothing is known."""
        sign = 1.0 if system == (self.leader or self.setup.systems[0]) else -1.0
        if self.gap is None or self.gap_biased:
            return None, None, None
        low, high = sorted(0.0 + sign * end for end in self.bounds or (0.0, 0.0))
        out = self.ruled_out and sign * self.ruled_out
        return 0.0 + sign * self.gap, (low, high) if self.bounds else None, out

    @property
    def baseline(self) -> str:
        """The system that candidates are compared with: not the one that is required."""
        return self.setup.systems[self.setup.required_winner == self.setup.systems[0]]

    @property
    def others_before(self) -> tuple[str, int]:
        """As `RunResult.others_before`."""
        return self.baseline, max(0, self.comparison - 1 - self.asked_before.times)

    @property
    def wrong_in_all(self) -> float:
        """As `RunResult.wrong_in_all`."""
        return self.risk_before + (self.setup.risk_threshold if self.setup.guarantee else 1.0)

    @property
    def wrong_expected(self) -> float | None:
        """At most so many wrong wins or passes of a candidate are expected in all; null without a proof.

        The expectation of a sum is the sum, however the comparisons depend on each other: in each a
        candidate wins or passes wrongly with at most its risk. It holds if each candidate was fixed
        before its draws; of items like these, if none was made with these items' verdicts.
        """
        if self.setup.guarantee is None:
            return None
        return round(self.risk_before + self.setup.risk_threshold, 10)

    @property
    def whole(self) -> bool:
        """Whether nothing is left to chance: all that the decision is about is judged."""
        return self.judged == self.items and not self.setup.sampled

    @property
    def per_label(self) -> int:
        """As `RunResult.per_label`: blocks that are drawn again take no further items."""
        return (self.corrected.block or 1) if self.corrected and self.setup.sampled else 1

    @property
    def used_up(self) -> bool:
        """Whether a system is ahead on all items for certain, and that is not the question."""
        lead = abs(int.__sub__(*self.wins.values()))
        asked = self.setup.sampled and self.asked == self.drawable and not self.setup.one_order
        return asked and self.per_label == 1 and lead > self.counts.abstentions

    @property
    def waits(self) -> str:
        """As `RunResult.waits`: tests of groups ask about those that are open."""
        return "they say which group is asked about next" if self.options.by_group is not None else ""

    @property
    def calls_of_one_order(self) -> float | None:
        """What one order would cost in calls, as a multiple of both orders; None if not known."""
        counts, order = self.counts, self.setup.order
        if counts.both_orders < FEWEST_BOTH or order != "both":
            return None
        decisive = sum(self.wins.values()) + (counts.flips)
        return calls_of_one_order(decisive / self.judged, counts.flips / counts.both_orders)

    @property
    def chance_in_one_order(self) -> float:
        """About how probable a decision in one order is, within the items and the limit."""
        first, second = self.wins.values()
        return chance_in_one_order((first, second), self.counts.flips, self.judged, self.limit)

    @property
    def more_usd(self) -> float | None:
        """The probable cost of `more_judgments`; items judged beyond the decision are paid for."""
        beyond = sum(not row.in_decision for row in self.labels)
        more = None if self.more_judgments is None else max(0, self.more_judgments - beyond)
        usd = None if more is None else self._cost_of(more)
        if more and usd is not None and self.corrected and self.corrected.block:  # each takes a block of cheap verdicts
            usd += more * float(to_usd(self.spend.proxy_p)) / self.corrected.labels
        return usd

    def stands(self) -> Outcome:
        """How the answer stands: a named winner fails `not_worse`, and is short if it is perhaps not better."""
        required = self.setup.required_winner
        return outcome_of(
            self.stop_reason,
            self.winner,
            required,
            fails=self.options.not_worse is not None,
            short=required is not None and self.claim == "better_or_within",
            lost=self.lost_to_failures,
        )

    @property
    def requirement(self) -> str:
        """What is required of the answer, in words; empty if nothing is."""
        margin, required, (first, second) = self.options.not_worse, self.setup.required_winner, self.setup.systems
        if margin is None:
            return f"{required} must be better than {self.baseline}" if required else ""
        return f"{second} passes if shown to be less than {points(margin)} behind {first}, and fails if shown to be behind at all"

    @property
    def found(self) -> str:
        """Between what the gap of the candidate lies."""
        own, gap = self.seen[0], self.of(self.seen[0])[0]
        if gap is not None and self.whole:
            return f"gap of {own}: {signed_points(gap)}, all judged"
        return f"gap of {own}: {bounds} points" if (bounds := self.bounds_of(own)) else ""

    def bounds_of(self, system: str, *, cell: bool = False) -> str:
        """The bounds of a system's gap, in points, in short for a `cell`; empty without any, and where it is known."""
        _, bounds, out = self.of(system)
        if self.whole or not bounds:
            return ""
        margin = self.options.gap_asked
        return " to ".join(ends(bounds, out=out, margin=margin)) if cell else between(bounds, out=out, margin=margin)

    def beside(self) -> Iterator[Condition]:
        """Yield what must hold of judge, cost and groups if something is required, and each group that is tested.

        A group fails if it is required, and the second system is worse in it.
        """
        required = self.options.by_group == Groups.REQUIRE
        gates = (self.setup.required_winner, self.options.not_worse, self.options.max_flips)
        if required or any(gate is not None for gate in gates):
            yield from of_the_run(self, self.options.max_flips, cut=required and bool(self._cut_groups))
        fine = Outcome.PASSED if required else Outcome.DECIDED
        each = [
            Condition(
                f"{GROUP}{group.name}", Outcome.FAILED if required and group.claim == "worse" else fine, counted(group)
            )
            for group in (self.groups if self.options.by_group is not None else ())
        ]
        if required:
            yield self._together(each)
        yield from each

    def _together(self, each: Sequence[Condition]) -> Condition:
        """How all required groups stand together, also where their tests were cut off."""
        found = [Outcome.PASSED, *(one.outcome for one in each)]
        found += [self.answer] if self.answer.broke_off else []
        if self._cut_groups:
            broken = self.groups_cut in BREAKS or self.lost_to_failures
            interrupted = self.groups_cut is StopKind.INTERRUPTED
            found.append(Outcome.BROKEN if broken else Outcome.INTERRUPTED if interrupted else Outcome.UNDECIDED)
        sentence, figures = worse_in(self.setup.systems[1], self.groups, self._cut if self._cut_groups else "")
        requires = f"{self.setup.systems[1]} must not be worse in any group"
        return Condition("groups", Outcome.worst(found), sentence, figures, requires)

    @property
    def failed_groups(self) -> tuple[str, ...]:
        """The groups that must not be lost, and are."""
        required = self.options.by_group == Groups.REQUIRE
        return tuple(one.name for one in self.groups if required and one.claim == "worse")

    @property
    def _cut_groups(self) -> list[GroupRow]:
        """The groups that are open, where something cut their tests off."""
        return [one for one in self.groups if self.groups_cut and one.claim == "open"]

    @property
    def _cut(self) -> str:
        many = f"{len(self._cut_groups):,} of {len(self.groups):,}"
        return f"{many} are open, as their tests were cut off: {ended(self)}"

    def halted(self) -> StopReason:
        """Why no more was asked: after an answer, what cut the tests of groups off."""
        if self.groups_cut and (self._cut_groups or self.groups_cut is StopKind.ABSTENTIONS):
            return StopReason(self.groups_cut, self.groups_cut_sentence)
        return StopReason(self.stop_reason, self.stop_sentence)

    @property
    def wanted(self) -> int | None:
        """A forecast of the further judgments until all is answered: of groups, for an even chance in each.

        A level group, of which no number is known, is judged whole.
        """
        each = (min(one.more or one.items, one.items - one.judged) for one in self._cut_groups)
        return sum(each) or self.more_judgments

    def favoured(self, label: LabelRow) -> str:
        """The system from which the gap is seen."""
        del label
        return self.seen[0]

    def lost(self, label: LabelRow) -> bool:
        """Whether the candidate lost."""
        return label.winner == self.baseline

    def doubts(self) -> tuple[Note, ...]:
        """Warnings: of a search that chose the two, of what the ledger holds beyond, of drift, of ties alone."""
        found = list[Note]()
        known = self.asked_before.known or (0, 0)
        other = self.setup.systems[known[1] > known[0]]
        won, against = self.wins[other], max(known)
        lost, fewer = sum(self.wins.values()) - won, sum(known) - against
        if won <= lost and any(known):
            values = {"won": won, "lost": lost, "against": against, "fewer": fewer}
            stands = "behind" if won < lost else "level"
            found.append(note(NoteCode.KNOWN_OTHERWISE, other=other, stands=stands, **values))
        found += [note(NoteCode.SEARCHED, systems=self.searched)] if self.searched else []
        if self.corrected and self.corrected.silent > MODELS_ABSTAIN * self.corrected.verdicts:
            silent, proxy = self.corrected.silent, self.corrected.proxy
            found.append(note(NoteCode.PROXY_SILENT, proxy=proxy, silent=silent, items=self.corrected.verdicts))
        if self.drift is not None:
            draws, first, second, chance = self.drift
            halves = {"half": draws // 2, "first": first, "second": second, "chance": chance}
            found.append(note(NoteCode.DRIFT, system=self.setup.systems[0], **halves))
        if self._cut_groups and self.options.by_group == Groups.REPORT:
            found.append(note(NoteCode.GROUPS_CUT, said=self._cut))
        if (
            self.alike
            and not self.recorded
            and not self.answer.broke_off
            and (self.judged >= FEWEST_TIES or self.stop_reason is not StopKind.DRY_RUN)
        ):
            return (note(NoteCode.ALL_IDENTICAL, judged=self.judged), *found)
        return (*found, *(() if self.recorded else self.all_tied(self.ties)))

    def to_decide(self) -> tuple[Note, ...]:
        """What would decide, after an end that did not cut the run short: first what people skipped, where it may."""
        skipped, beyond = self.counts.abstentions, self._beyond()
        # An answer in the place of a skip moves a bound by two of all asked at most.
        moved, null = 2 * skipped / max(1, self.asked), -(self.options.gap_asked or 0.0)
        nulls = (null if self.options.not_worse is None else 0.0), null  # whose fall ends the run
        bounds = [self.of(system)[1] for system in self.setup.systems]
        lows = [-1.0 if one is None else one[0] for one in bounds]
        may_decide = any(low + moved > at for low, at in zip(lows, nulls, strict=True))
        if not (self.by_hand and skipped and may_decide):
            return beyond
        instead = {NoteCode.FEWER_SKIPS, NoteCode.ALL_ASKED}
        return (note(NoteCode.ASK_SKIPPED, skipped=skipped), *(one for one in beyond if one.code not in instead))

    def _beyond(self) -> tuple[Note, ...]:
        """What would decide beside answers to what was skipped."""
        more, limited = self.more_judgments, self.stop_reason is StopKind.JUDGMENT_LIMIT
        if self.recorded is not None or self.alike:
            return ()
        used_up = self.setup.sampled and self.asked == self.drawable
        if self.options.gap_asked is not None and self.judged and (used_up or limited):
            return self._another_run()
        # Of blocks a higher limit makes smaller ones: `more` says whether these would do.
        if more is None if self.per_label > 1 else self.asked == self.drawable:
            return self._more_items() if self.setup.sampled else (note(NoteCode.ALL_ASKED),)
        if self.judged == 0:
            return (self.nothing_judged,)
        if more is None:
            return self._all_or_none()
        code = NoteCode.TOO_EARLY_LIMIT if limited else NoteCode.TOO_EARLY
        if self.judged >= FEWEST_KNOWN:  # before, `more` rests on assumed verdicts, too, with a lead of their own
            code = NoteCode.LEAD_STAYS_LIMIT if limited else NoteCode.LEAD_STAYS
        about = note(code, lead=abs(self.gap or 0.0), judgments=more, limit=self.asked + more, usd=self.more_usd)
        return (about, *self._further_test(more))

    def _all_or_none(self) -> tuple[Note, ...]:
        """Why not even all judgments would decide if the shares stay, and the limit that takes them all."""
        if self.leader is None and self.options.not_worse is not None:  # level is what a gate hopes for
            return (self._passes_with(self.limit),)
        lead, skipped = abs(self.gap or 0.0), self.counts.abstentions
        if self.leader is not None and skipped >= lead * self.judged:  # each takes one off the lead
            return (self.fewer_skips(skipped),)
        if self.stop_reason is StopKind.JUDGMENT_LIMIT:
            left = self.drawable - self.judged
            every = note(NoteCode.ALL_MAY_NAME, limit=self.drawable, left=left, usd=self.usd_for(left))
            return (every, *self._further_test(left))
        reach = NoteCode.WITHIN_REACH if self.within_reach else NoteCode.OUT_OF_REACH
        return (note(reach, lead=lead, items=self.drawable) if lead else note(NoteCode.LEVEL),)

    def _further_test(self, more: int) -> tuple[Note, ...]:
        """Whether so many more judgments belong to this test; () for a rule that promises nothing."""
        if self.stop_reason is StopKind.FUTILITY:
            return (note(NoteCode.RAISE_LIMIT),)
        if self.setup.guarantee is None:
            return ()
        goes_on = self.per_label == 1 and self.stop_reason in {StopKind.BUDGET, *CUT_SHORT}  # with any limit
        within = goes_on or self.asked + more <= self.limit
        return (note(NoteCode.SAME_TEST if within else NoteCode.SECOND_TEST),)

    def to_claim_more(self) -> tuple[Note, ...]:
        """How to ask whether a required system is better that is named within the gap.

        How many judgments that takes is not said: a run that has just stopped at a lead would say too few.
        """
        wanting = self.claim == "better_or_within" and self.answer is Outcome.NOT_SHOWN
        return (note(NoteCode.ASK_FOR_BETTER, system=self.winner),) if wanting else ()

    def _more_items(self) -> tuple[Note, ...]:
        """How many further items would decide about items like these."""
        even, likely = self.more_items, self.more_items_likely
        unit = self.data.unit
        others = (note(NoteCode.OTHER_FAMILIES, unit=unit),) if self.data.families else ()
        if self.per_label > 1 and even is not None:
            others = (*others, note(NoteCode.BLOCKS_TOO, block=self.per_label))
        if even is not None:
            more = {} if likely is None else {"likely": likely}
            code = NoteCode.MORE_ITEMS if more else NoteCode.MANY_MORE_ITEMS
            return (note(code, even=even, **more, unit=unit), *others)
        if self.more_judgments is None:
            return (note(NoteCode.ITEMS_UNKNOWN, units=plural(unit)),)
        wanted = note(NoteCode.ITEMS_WANTED, items=self.more_judgments, unit=unit)
        return (wanted, note(NoteCode.SECOND_TEST), *others)

    def _another_run(self) -> tuple[Note, ...]:
        """Which limit would mostly suffice for a rule about a gap, whose limit is fixed."""
        given, names = self._test, self.options.not_worse is None
        limit = limit_to_name(*given) if names else limit_to_pass(*given)
        beyond = limit > self.drawable and self.per_label == 1  # smaller blocks allow for more labels
        if names:
            enough = NoteCode.LEVEL_NAMED_ITEMS if beyond else NoteCode.LEVEL_NAMED
        elif limit < self.judged:
            enough = NoteCode.BETWEEN
            if self.counts.abstentions > (self.options.gap_asked or 0.0) * self.asked:  # they keep the bounds open
                return (self.fewer_skips(self.counts.abstentions),)
        elif beyond and self.limit < self.drawable:
            return (self._passes_with(self.drawable), note(NoteCode.SECOND_TEST))
        else:
            enough = NoteCode.EQUAL_PASSES_ITEMS if beyond else NoteCode.EQUAL_PASSES
        there = self.data.families or self.items
        values = {"unit": self.data.unit, "there": there, "more": limit - there} if beyond else {}
        proposes = enough is not NoteCode.BETWEEN
        another = (note(NoteCode.SECOND_TEST),) if proposes else ()
        return (note(enough, limit=limit, ties=1 - given[2], **values), *another)

    @property
    def _test(self) -> tuple[float, float, float, float]:
        """The gap that is asked about, the risk, the share of items that are no ties so far, and how many items.

        As `methods/stats/margins.py` takes them.
        """
        decisive = max(1, sum(self.wins.values())) / max(1, self.judged)
        items = math.inf if self.setup.sampled else self.items
        return self.options.gap_asked or 0.0, self.setup.risk_threshold, decisive, items

    def _passes_with(self, limit: int) -> Note:
        """How often an equal system passes with this limit."""
        margin, risk, decisive, _ = self._test
        rule = Bets(risk, UNLIMITED if self.setup.sampled else self.items, limit, not_worse=margin)
        passes = rule.outlook(0.0, 1 - decisive).second
        return note(NoteCode.EQUAL_PASSES_WITH, limit=limit, passes=passes, ties=1 - decisive)
