"""The result of `agree`: how well a judge agrees with people, where it errs, and whether its gates hold.

Every figure is computed once, here. `page.py` makes facts of them. Shares, gaps and points are as in a comparison: the
gap of a system is the share of items that it wins less the share that it loses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

import numpy as np

from judgeloop.core.jsonable import Part
from judgeloop.core.outcomes import Condition, Finished, Outcome, ReadAgain, StopKind, outcome_of
from judgeloop.core.records import PAIR, TIE, Pool, Verdict, as_score
from judgeloop.methods.estimators.agreement import ROUNDING, Paired
from judgeloop.methods.stats.corrected import Corrected, corrected_by_pool
from judgeloop.methods.stats.intervals import p_value
from judgeloop.methods.stats.with_people import (
    Floats,
    Interval,
    ac1,
    agreements,
    by_people,
    kappa_interval,
    linear_kappa,
    mean_bounds,
    nominal_kappa,
)
from judgeloop.methods.stopping.agreement import Agreeing
from judgeloop.methods.stopping.rule import with_seen
from judgeloop.report.labels import LabelRow, label_rows
from judgeloop.report.notes import NoteCode
from judgeloop.report.records import HUMAN, DataNotes, Setup, counts_of
from judgeloop.report.result import FEW, RunResult

DRIFTED = 0.05  # the p-value at which a judge is said to have changed
MARGIN = 0.1  # of the gate that the first sentence speaks of
CLEARLY_LONGER = 1.2  # times as many characters
VOTES = {1.0: "A", TIE: "tie", 0.0: "B"}
FAMILIES = ("gpt", "claude", "gemini", "llama", "qwen", "mistral", "deepseek", "grok", "gemma", "phi")
NAMES = {"agreement": "agreement", "kappa": "kappa", "person": "a second person"}  # of gates, as conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreeOptions(Part):
    """The settings that only `agree` has.

    - `people`: who is believed: the names of people, or of the judge that is asked
    - `half_width`: the greatest accepted reach of the interval of equal verdicts, null if none was asked for
    - `zone`: the width of the zone above the required agreement; null without one
    - `step`: how far two ratings may be apart that count as the same; null for comparisons
    - `chosen`: true if the labels were there beforehand: whoever chose their items did not draw them at random
    - `read`: how each file of labels was read
    - `left_out`: for each file how many of its labels are of other items, if any are
    - `unlabelled`: number of items that have no label
    - `judge_all`: true if the judge was asked about these, too
    """

    people: tuple[str, ...]
    half_width: float | None = None
    zone: float | None = None
    step: float | None = None
    chosen: bool
    read: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unlabelled: int = 0
    judge_all: bool = False


@dataclass(frozen=True, slots=True)
class GateRow:
    """A gate: what is required, and how it stands.

    - `name`: agreement, kappa or person
    - `worst`, `best`: PASS says that the figure is above `worst`, FAIL that it is below `best`
    - `state`: passed, failed or open
    """

    name: str
    worst: float
    best: float
    state: str


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the items: how many have a verdict of both, and the share of equal verdicts among them.

    `gap_off` is the gap of the first system by the judge less that by people, of `by_family` that of the system named.
    """

    name: str
    items: int
    equal: float
    gap_off: float | None = None


@dataclass(frozen=True, slots=True)
class Anew:
    """What a judge said when it was asked anew about labelled items.

    - `asked`: number of items with a verdict before and now; `changed`: how many verdicts are others
    - `lost`, `gained`: how many were people's before and are not now, and the other way round
    - `chance`: the exact p-value of McNemar's test of these two
    """

    asked: int
    changed: int
    lost: int
    gained: int
    chance: float

    @property
    def worse(self) -> bool:
        """Whether it is shown to agree less often than before."""
        return self.lost > self.gained and self.chance <= DRIFTED


@dataclass(frozen=True, slots=True, repr=False)
class Agreed(RunResult):
    """How well a judge agrees with people.

    - `equal`: the share of equal verdicts, of ratings that of those at most `step` apart; null without any
    - `equal_interval`: it misses that share with at most the risk; where an agreement is required, each end does
    - `looked_at_once`: true if all labels were there, so that this interval is exact for one look; else it holds at
      every look
    - `mean_agreement`: the mean agreement, a tie against a side is worth half, and ratings count by distance
    - `mean_agreement_interval`: its interval, which holds at every look
    - `kappa`: the linearly weighted kappa; null where one verdict is all there is
    - `kappa_interval`: its interval, which holds at every look; null where the result is about these items, and the
      judge did not judge all of them
    - `nominal_kappa`: Cohen's kappa of equal verdicts, a figure without an interval; null for ratings
    - `ac1`: Gwet's AC1, a figure without an interval; null for ratings
    - `rank_correlation`: of ratings, Spearman's, a figure without an interval; null for comparisons
    - `off`: the gap of the first system by the judge less that by people; of ratings, the mean score
    - `by_judge`: the former of these two; null for ratings
    - `off_interval`: bounds of it, each wrong with at most the risk
    - `longer`: the gap of the longer output by the judge less that by people; null for ratings
    - `longer_interval`: its interval, which holds at every look
    - `people_equal`: the share of equal labels of two people on one item; null where each item has one label
    - `people_pairs`: the number of such pairs of labels
    - `people_kappa`: their linearly weighted kappa
    - `with_a_person`: the mean agreement of the judge with a person, and of two people, on items that two labelled;
      null where there are none
    - `table`: how often the judge said what where people said what: judge, people, items; empty for ratings
    - `by_group`: the share of equal verdicts by group of items
    - `by_length`: the same by which output is clearly longer
    - `by_position`: the same where the verdict changed with the order of presentation, where it did not, and where a
      tie in the first order left nothing to ask
    - `by_family`: the same if one of the two systems bears the name of the judge's own family of models
    - `gates`: what is required, and how it stands
    - `corrected`: by how much people prefer the first system, by labels and verdicts, with bounds
      that hold at every look; null for ratings, and with too few verdicts
    - `anew`: what the judge said when it was asked anew; null if it was not
    - `labels_to_halve`: how many further labels would halve the interval, roughly; null without one
    """

    LEFT_OUT = frozenset(
        {*("winner", "leader", "risk", "agreement"), *("required_winner", "instead", "more_judgments", "more_usd")}
    )
    COMPUTED = ("decided", "favours", "favours_length", *RunResult.COMPUTED)

    job: ClassVar[str] = "agree"

    options: AgreeOptions
    equal: float | None
    equal_interval: Interval | None
    looked_at_once: bool
    mean_agreement: float | None
    mean_agreement_interval: Interval | None
    kappa: float | None
    kappa_interval: Interval | None
    nominal_kappa: float | None
    ac1: float | None
    off: float | None
    off_interval: Interval | None
    by_judge: float | None = None
    rank_correlation: float | None = None
    longer: float | None = None
    longer_interval: Interval | None = None
    people_equal: float | None = None
    people_pairs: int = 0
    people_kappa: float | None = None
    with_a_person: tuple[float, float] | None = None
    table: tuple[tuple[str, str, int], ...] = ()
    by_group: tuple[Slice, ...] = ()
    by_length: tuple[Slice, ...] = ()
    by_position: tuple[Slice, ...] = ()
    by_family: tuple[Slice, ...] = ()
    gates: tuple[GateRow, ...] = ()
    corrected: Corrected | None = None
    anew: Anew | None = None
    labels_to_halve: int | None = None

    @property
    def decided(self) -> bool:
        """Whether the question is answered."""
        return self.winner is not None

    @property
    def by_hand(self) -> bool:
        """Whether people were asked when the run ended: after the judge, and not if it ended the run."""
        return HUMAN in self.options.people and self.asked > 0

    @property
    def rates(self) -> bool:
        """Whether outputs of one system were rated."""
        return len(self.setup.systems) < PAIR

    @property
    def prefers(self) -> bool:
        """Whether the judge ever prefers an output; else it favours none, whatever people prefer."""
        return any(pairs and judge != VOTES[TIE] for judge, _, pairs in self.table)

    @property
    def favours(self) -> str | None:
        """The system to which the judge is shown to be kinder than people are; None if none is."""
        if self.rates or not self.prefers or self.off_interval is None:
            return None
        low, high = self.off_interval
        return self.setup.systems[0] if low > 0 else self.setup.systems[1] if high < 0 else None

    @property
    def favours_length(self) -> str | None:
        """`longer` or `shorter`, if the judge is shown to like it more than people do; None if neither is.

        The labelled items alone show it of no others.
        """
        if not self.prefers or self.longer_interval is None or self.whole:
            return None
        low, high = self.longer_interval
        return "longer" if low > 0 else "shorter" if high < 0 else None

    @property
    def off_by_more(self) -> bool:
        """Whether the judge's gap is shown to be off by more than `MARGIN`."""
        low, high = self.off_interval or (0.0, 0.0)
        return not self.rates and (low > MARGIN or high < -MARGIN)

    @property
    def few(self) -> NoteCode:
        """The warning of few items: where others have no label, of few labels."""
        asked = self.options
        return NoteCode.FEW_LABELS if asked.unlabelled and not asked.judge_all else FEW[self.about]

    @property
    def also_judged(self) -> str:
        """How many items without a label are judged, in words."""
        return f", {self.counts.further:,} more without a label" if self.counts.further else ""

    def people_said(self, label: LabelRow) -> float | None:
        """What most people said of a pair, or the mean of their ratings; None where nobody did."""
        said = [one for one in label.votes[1:] if one is not None]
        return (fmean if self.rates else by_people)(said) if said else None

    def lost(self, label: LabelRow) -> bool:
        """Whether the judge said something else than people did together; ratings within a step count as the same."""
        people = self.people_said(label)
        if label.score is None or people is None:
            return False
        return abs(label.score - people) > (self.options.step or 0.0) + ROUNDING

    @property
    def requirement(self) -> str:
        """What is required of the judge, in words; empty if nothing is."""
        return "every gate holds" if len(self.gates) > 1 else "".join(map(said_gate, self.gates))

    @property
    def test_name(self) -> str:
        """What is asked, as the name of a test that passes if the answer does."""
        return f"{self.setup.judge} agrees with people"

    def stands(self) -> Outcome:
        """How the run ended; where something is required, the worst of its gates."""
        ended = outcome_of(self.stop_reason, self.winner, None, lost=self.lost_to_failures)
        if not self.gates or ended.broke_off:
            return ended
        said = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "open": Outcome.UNDECIDED}
        return Outcome.worst(said[one.state] for one in self.gates)

    def beside(self) -> Sequence[Condition]:
        """Each of several gates, and whether the judge has changed, if it was asked anew."""
        said = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "open": Outcome.UNDECIDED}
        several = self.gates if len(self.gates) > 1 else ()
        found = [Condition(NAMES[one.name], said[one.state], said_gate(one)) for one in several]
        if self.anew is not None:
            drifted = Outcome.FAILED if self.anew.worse else Outcome.PASSED
            found.append(Condition("drift", drifted, said_again(self.anew)))
        return found


def said_gate(gate: GateRow) -> str:
    """What a gate requires, in words."""
    if gate.name == "agreement":
        return f"the judge must agree with people on more than {100 * gate.worst:.3g} % of the items"
    if gate.name == "kappa":
        return f"linearly weighted kappa must be above {gate.worst:g}"
    return f"the judge must agree with a person at most {-100 * gate.worst:.3g} points less than two people with each other"


def said_again(again: Anew) -> str:
    """What a judge said anew, in words."""
    shown = "it agrees less often than before" if again.worse else "that it agrees less often is not shown"
    return (
        f"asked anew about {again.asked:,} labelled items, the judge says something else on {again.changed:,}: {again.lost:,} "
        f"were people's verdict before, {again.gained:,} are now; {shown} (McNemar, exact, p = {again.chance:.2g})"
    )


def _again(tally: Paired, again: Mapping[int, float]) -> Anew:
    before = dict(zip(tally.positions, tally.judge.tolist(), strict=True))
    truth = dict(zip(tally.positions, tally.truth.tolist(), strict=True))
    both = [(before[at], now, truth[at]) for at, now in again.items() if not math.isnan(before[at] + now + truth[at])]

    def same(one: float, other: float) -> bool:
        return abs(one - other) <= (tally.step or 0.0) + ROUNDING

    lost = sum(same(old, people) and not same(now, people) for old, now, people in both)
    gained = sum(same(now, people) and not same(old, people) for old, now, people in both)
    changed = sum(abs(old - now) > ROUNDING for old, now, _ in both)
    return Anew(len(both), changed, lost, gained, p_value(gained, lost))


def agreed_of(
    finished: Finished[Paired],
    setup: Setup,
    options: AgreeOptions,
    data: DataNotes,
    *,
    rule: Agreeing,
    pool: Pool,
    judged: Floats | None = None,
    again: Mapping[int, float] | None = None,
) -> Agreed:
    """Compute the result from how a run ended.

    `judged` has the judge's scores by position, also of items without a label; `again` those of a judge asked anew.
    """
    ending, systems = finished.ending, setup.systems
    tally, risk = ending.estimate.tally, rule.threshold
    places = tally.positions
    known = tally.known
    judge, truth = tally.judge[known], tally.truth[known]
    stopped = ending.stop.kind in {StopKind.ALL_JUDGED, StopKind.POOL_EXHAUSTED, StopKind.JUDGMENT_LIMIT}
    once = rule.once or (stopped and not rule.gates and rule.half_width is None)
    exact = math.isfinite(rule.population) and tally.judged == rule.population
    equal = float(np.nanmean(tally.equal)) if tally.judged else None
    interval = rule.of_equal(tally, looked_at_once=once)
    verdicts = [label.answer for label in ending.labels if isinstance(label.answer, Verdict)]
    both = sum(verdict.both for verdict in verdicts)
    worth = 1.0 if tally.rates else 2.0  # a score of 1 for 0 is a gap of 2

    def bounds(scores: Floats, chance: float, least: float = 0.0) -> Interval | None:
        if np.isnan(scores).all():  # or there is none
            return None
        if exact:
            return float(scores.mean()), float(scores.mean())
        found = mean_bounds(scores, chance, rule.limit, rule.population, least)
        return with_seen(found, float(np.nanmean(scores)))  # earlier labels may have narrowed it beyond

    apart = tally.judge - tally.truth if tally.asked else np.zeros(0)
    off = worth * float((judge - truth).mean()) if tally.judged else None
    off_interval = _scaled(bounds(apart, 2 * risk, -1.0), worth) if tally.judged else None
    by_judge = 2 * float(judge.mean()) - 1 if tally.judged and not tally.rates else None
    corrected = None if tally.rates else _corrected(tally, judged, rule, setup.seed)
    if judged is not None and corrected is not None and corrected.off_interval is not None:
        # What the judge said of the others is of use, too.
        off, off_interval, by_judge = corrected.off, corrected.off_interval, corrected.alone
    longer = None if tally.rates else _by_longer(apart, places, pool)
    gates = tuple(
        GateRow(gate.kind, gate.worst, gate.best, {True: "passed", False: "failed", None: "open"}[answer])
        for gate, answer in zip(rule.gates, rule.answers(tally), strict=True)
    )
    kappa, kappas = linear_kappa(judge, truth), None
    if tally.judged and (math.isinf(rule.population) or rule.others is not None):
        kappas = kappa_interval(tally.judge, tally.truth, risk, rule.limit, rule.others, rule.population)
    pairs, alike, theirs = _of_people(tally, finished.read_again)
    decided = ending.winner is not None
    return Agreed(
        setup=setup,
        options=options,
        data=data,
        counts=counts_of(
            finished, both_orders=both, flips=sum(one.flipped for one in verdicts), pool=pool, one_order=setup.one_order
        ),
        spend=finished.spend,
        labels=label_rows([*ending.labels, *ending.further], systems, pool.items, ending.deciding),
        winner=systems[0] if decided and tally.judged else None,
        leader=None,
        risk=None,
        stop_reason=ending.stop.kind,
        stop_sentence=ending.stop.sentence,
        more_judgments=None,
        equal=equal,
        equal_interval=interval,
        looked_at_once=once,
        mean_agreement=float(np.nanmean(tally.agreement)) if tally.judged else None,
        mean_agreement_interval=bounds(tally.agreement, risk),
        kappa=kappa,
        kappa_interval=with_seen(kappas, kappa),
        nominal_kappa=None if tally.rates else nominal_kappa(judge, truth),
        rank_correlation=_ranks(judge, truth) if tally.rates else None,
        ac1=None if tally.rates else ac1(judge, truth, len(VOTES)),
        off=off,
        off_interval=with_seen(off_interval, off),
        by_judge=by_judge,
        longer=None if longer is None else worth * float(np.nanmean(longer)),
        longer_interval=_scaled(bounds(longer, risk, -1.0), worth) if longer is not None else None,
        people_equal=alike,
        people_pairs=pairs,
        people_kappa=theirs,
        with_a_person=_with_a_person(tally),
        table=_table(judge, truth) if not tally.rates else (),
        by_group=_slices(tally, [pool.items[at].group for at in tally.positions]),
        by_length=() if tally.rates else _slices(tally, _lengths(places, pool), known_names=LENGTHS),
        by_position=_by_position(finished, tally),
        by_family=() if tally.rates else _own_family(setup, tally),
        gates=gates,
        corrected=corrected,
        anew=None if again is None else _again(tally, again),
        labels_to_halve=_to_halve(tally, interval, rule.population),
    )


def _corrected(tally: Paired, judged: Floats | None, rule: Agreeing, seed: int) -> Corrected | None:
    """The gap by people, with the help of the judge's verdicts on the items that have no label."""
    known = dict(zip(tally.positions, tally.judge.tolist(), strict=True))
    if judged is not None:
        known |= {at: score for at, score in enumerate(judged.tolist()) if not math.isnan(score)}
    sampled = math.isinf(rule.population)
    if not tally.judged or (not sampled and len(known) != rule.population):
        return None
    places = {at: place for place, at in enumerate(known)}
    cheap = np.nan_to_num(2 * np.array([*known.values()]) - 1)
    scores = [None if math.isnan(score) else 2 * score - 1 for score in tally.truth.tolist()]
    drawn = [places[at] for at in tally.positions]
    return corrected_by_pool(scores, drawn, cheap, rule.threshold, sampled=sampled, seed=seed)


def _scaled(interval: Interval | None, worth: float) -> Interval | None:
    return None if interval is None else (worth * interval[0], worth * interval[1])


def _by_longer(apart: Floats, places: Sequence[int], pool: Pool) -> Floats | None:
    """Judge less people for the longer output, where one is; None where none is."""
    first, second = ([len(pool.outputs[system][at]) for at in places] for system in (0, 1))
    sides = np.sign(np.array(first) - np.array(second))
    told = (sides != 0) if len(apart) else np.zeros(0, dtype=np.bool_)
    found = apart[told] * sides[told] if len(apart) else apart
    return found if len(found) and not np.isnan(found).all() else None


LENGTHS = ("A clearly longer", "about as long", "B clearly longer")


def _lengths(places: Sequence[int], pool: Pool) -> list[str | None]:
    """Which output is clearly longer, by item."""
    found: list[str | None] = []
    for at in places:
        first, second = (len(pool.outputs[system][at]) for system in (0, 1))
        clearly = max(first, second) > CLEARLY_LONGER * min(first, second)
        found.append(LENGTHS[0 if first > second else 2] if clearly else LENGTHS[1])
    return found


def _slices(
    tally: Paired, names: Sequence[str | None], known_names: Sequence[str] = (), name: Callable[[str], str] = str
) -> tuple[Slice, ...]:
    """The share of equal verdicts by the name of each item's part; none where no item has one."""
    found = []
    for one in known_names or sorted({one for one in names if one is not None}):
        here = np.array([other == one for other in names], dtype=np.bool_) & tally.known
        if here.any():
            worth = 1.0 if tally.rates else 2.0
            off = worth * float((tally.judge[here] - tally.truth[here]).mean())
            found.append(Slice(name(one), int(here.sum()), float(tally.equal[here].mean()), off))
    return tuple(found)


def _by_position(finished: Finished[Paired], tally: Paired) -> tuple[Slice, ...]:
    """The share where the judge's verdict changed with the order, where it did not, and where it tied at once."""
    verdicts = [label.answer if isinstance(label.answer, Verdict) else None for label in finished.ending.labels]
    in_one = "a tie at once" if any(one.both for one in verdicts if one) else None  # else each was asked in one order
    said = [
        None
        if one is None
        else "changed with the order"
        if one.flipped
        else "the same in both orders"
        if one.both
        else in_one
        for one in verdicts
    ]
    return _slices(tally, said[: tally.asked])


def _own_family(setup: Setup, tally: Paired) -> tuple[Slice, ...]:
    """The judge's verdicts where one of the two systems alone bears the name of the judge's own family of models."""
    name = setup.judge.casefold()
    for family in FAMILIES:
        own = [re.search(rf"\b{family}", one.casefold()) is not None for one in setup.systems]
        if family in name and sum(own) == 1 and tally.judged:
            sign = 1.0 if own[0] else -1.0
            off = sign * 2 * float((tally.judge[tally.known] - tally.truth[tally.known]).mean())
            return (Slice(setup.systems[own.index(True)], tally.judged, float(np.nanmean(tally.equal)), off),)
    return ()


def _ranks(judge: Floats, truth: Floats) -> float | None:
    """Spearman's correlation; None where all of one are the same."""
    if min(len(np.unique(judge)), len(np.unique(truth))) <= 1:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(judge, truth).statistic)


def _table(judge: Floats, truth: Floats) -> tuple[tuple[str, str, int], ...]:
    return tuple((VOTES[c], VOTES[x], int(((judge == c) & (truth == x)).sum())) for c in VOTES for x in VOTES)


def _of_people(tally: Paired, again: Sequence[ReadAgain]) -> tuple[int, float | None, float | None]:
    """How many pairs of labels of one item there are, the share of equal ones, and their kappa.

    Those that a second person gave after the end are among them, and in nothing else.
    """
    others = [one for one in again if not one.same]
    first, second = (
        [verdict.score if tally.rates else as_score(verdict.preference) for verdict in said]
        for said in ([one.first for one in others], [one.second for one in others])
    )
    for row in tally.people.tolist():
        said = [one for one in row if not math.isnan(one)]
        for at, one in enumerate(said):
            for other in said[:at]:
                first.append(one)
                second.append(other)
    if not first:
        return 0, None, None
    one, other = np.array(first), np.array(second)
    return (
        len(first),
        float((agreements(one, other) > 1 - (tally.step or 0.0) - ROUNDING).mean()),
        linear_kappa(one, other),
    )


def _with_a_person(tally: Paired) -> tuple[float, float] | None:
    """The means of what the gate beside a second person compares; None where no item has both."""
    found = tally.with_a_person[~np.isnan(tally.with_a_person[:, 0])]
    return (float(found[:, 0].mean()), float(found[:, 1].mean())) if len(found) else None


def _to_halve(tally: Paired, interval: Interval | None, population: float) -> int | None:
    """Further labels for half the interval: its width goes with the root of 1/n - 1/N."""
    if interval is None or interval[0] == interval[1] or not tally.judged:
        return None
    n = tally.judged
    wanted = 4 * n if math.isinf(population) else math.ceil(4 * n / (1 + 3 * n / population))
    return max(0, wanted - n) or None
