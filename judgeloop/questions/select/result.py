"""The result of a search for the best of many: all figures that the reports show, computed once.

`page.py` makes facts of them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from judgeloop.core.jsonable import Part, plain
from judgeloop.core.outcomes import Condition, Ending, Finished, Outcome, StopKind, outcome_of
from judgeloop.core.records import MODELS_ABSTAIN, TWO_SYSTEMS, Item, Population
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stats.intervals import chance_of_so_many
from judgeloop.methods.stopping.best_of_many import FixedBudget
from judgeloop.questions.select.proxy import ProxyWorth
from judgeloop.report.facts import of_the_run
from judgeloop.report.labels import LabelRow, frame_of, label_rows
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.records import DataNotes, Setup, counts_of
from judgeloop.report.result import RunResult
from judgeloop.report.words import count

LITTLE = 0.1  # the greatest gap that is advised to be accepted
LEVEL = 0.5  # the score of a tie, and so of the baseline against itself
# The table's names of figures.
IN_TABLE = {"wins": "won", "losses": "lost", "abstentions": "no_verdict", "queries": "items"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions(Part):
    """The settings that only a search for the best has.

    - `baseline`: the system that all others are compared with; null until the run has chosen one
    - `chosen_on`: the number of items that the run chose the baseline by; they are not in the decision. 0 if
      it took the first system, null if the baseline was given
    - `chosen_by`: the number of judgments that the choice took
    - `min_gap`: the gap that matters: the best may be better than the named system by less; null for
      the best itself
    - `max_flips`: the share of verdicts that may change with the order; null where any may, in a fixed order, and for
      people
    - `epsilon`: the probabilities of a loss and a tie of the best system that LLM Selector used
    - `proxy`: the cheap judge that was given beside the others; null without one
    """

    baseline: str | None
    chosen_on: int | None = None
    chosen_by: int = 0
    min_gap: float | None = None
    max_flips: float | None = None
    epsilon: tuple[float, float] | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """One system's verdicts against the baseline on the `queries` that it was asked for.

    `at_least` and `at_most` bound its win rate over all items, or over items like these. Each is wrong,
    at any time at which a run may end, with at most the stated risk; None if no risk is stated. Earlier
    verdicts may have proved more than the win rate is now; the bounds then stop at the win rate.
    `near_best` is True if the system may be the best. `belief` is the probability that
    the selector gives it of being the best; None for a selector without a belief.
    """

    system: str
    win_rate: float | None
    wins: int
    ties: int
    losses: int
    abstentions: int
    queries: int
    at_least: float | None
    at_most: float | None
    near_best: bool
    belief: float | None = None

    @property
    def known(self) -> bool:
        """Whether its win rate over all items is known: every one has a verdict."""
        return self.at_least is not None and self.at_least == self.at_most


@dataclass(frozen=True, slots=True, repr=False)
class Selection(RunResult):
    """The result of a search for the best of many systems.

    - `queries`: number of items that were asked about
    - `standings`: a row for each system, the winner first, then by win rate so far, which shows no order among
      these: counts, win rate, whether it may be the best
    - `gap`: no system is better than the leader by more than this, at the stated risk: share won less
      share lost, over all items; null without either
    - `near_best`: the systems that may be the best, or level with the one that is named, at the stated risk; null if
      no risk is stated
    - `level`: the systems that share the highest win rate on all items, or at the end of a rule that names the
      highest: none of them is the best. Empty for one alone
    - `win_rates_biased`: true if queries were picked and not all items were judged
    - `level_since`: the number of queries after which all others promised the selector the same
      information; null if it went on choosing between them
    - `proxy_worth`: what the verdicts of the proxy were worth; null without a proxy, or where it was not asked
    """

    job: ClassVar[str] = "select"

    options: SelectOptions
    queries: int
    standings: tuple[Standing, ...]
    gap: float | None
    near_best: tuple[str, ...] | None
    level: tuple[str, ...]
    win_rates_biased: bool
    level_since: int | None = None
    proxy_worth: ProxyWorth | None = None

    @property
    def many(self) -> bool:
        """Whether the baseline may decide which system is the best: not of two."""
        return len(self.setup.systems) > len(TWO_SYSTEMS)

    @property
    def judged_items(self) -> int:
        """As `RunResult.judged_items`, of the decision alone: not those that chose the baseline."""
        return self.queries

    @property
    def waits(self) -> str:
        """As `RunResult.waits`: a search asks about what the answers leave open."""
        return "they say which systems or items the next one is about"

    @property
    def queries_in_all(self) -> int:
        """Number of queries that would judge everything: each other system on each item."""
        return self.drawable * (len(self.setup.systems) - 1)

    def stands(self) -> Outcome:
        """How the answer stands to what was asked: that several systems are level is an answer, too.

        A system that has to win, and may be the best, has to be shown to be it.
        """
        required = self.setup.required_winner
        if self.level and required is None and not self.lost_to_failures:
            return Outcome.DECIDED
        short = required in (self.near_best or ()) and (required != self.winner or bool(self.gap))
        return outcome_of(self.stop_reason, self.winner, required, short=short, lost=self.lost_to_failures)

    def beside(self) -> Iterator[Condition]:
        """Yield what must hold of judge and cost if something is required."""
        if self.setup.required_winner is not None or self.options.max_flips is not None:
            yield from of_the_run(self, self.options.max_flips)

    @property
    def judged_in_words(self) -> str:
        """As `RunResult.judged_in_words`."""
        return f"{count(self.judged, 'judgment')} on {self.queries:,}"

    @property
    def also_judged(self) -> str:
        """The judgments that chose the baseline, to stand after those in the decision."""
        chosen = self.options.chosen_by
        on = f" on {count(self.options.chosen_on, 'other item')}" if self.options.chosen_on else ""
        return f", {chosen:,} more{on} to choose the baseline" if chosen else ""

    def lost(self, label: LabelRow) -> bool:
        """Whether a system lost to the baseline, in the decision."""
        return label.in_decision and RunResult.lost(self, label)

    def standings_frame(self, library: str = "pandas") -> Any:
        """The standings as a data frame of pandas, polars or pyarrow, a row for each system.

        The columns have the names of the table; `belief` is there if the selector has one.

        Raises:
            InputError: the library is another one, or it is not installed.
        """
        rows = [plain(row) for row in self.standings]
        columns = {IN_TABLE.get(one.name, one.name): [row[one.name] for row in rows] for one in fields(Standing)}
        if not any(columns["belief"]):
            del columns["belief"]
        return frame_of(columns, library)

    def doubts(self) -> tuple[Note, ...]:
        """Warnings of a thin lead, of ties alone, and of a proxy that says little."""
        ties, worth = sum(row.ties for row in self.standings), self.proxy_worth
        found = [*self._thin(), *self.all_tied(ties)]
        if worth is not None and worth.silent > MODELS_ABSTAIN * worth.verdicts:
            found.append(note(NoteCode.PROXY_SILENT, proxy=worth.proxy, silent=worth.silent, items=worth.verdicts))
        return tuple(found)

    def _thin(self) -> list[Note]:
        """A warning if the lead over a rival decides about these items, and may be chance on others.

        The closest rival is looked at, by the one-sided sign test of the items that tell it from the best (Dixon & Mood
        1946, "The statistical sign test"). It warns, and promises nothing: the verdicts chose the rival and the end.
        """
        best, scores = self.winner, self._scores()
        if self.about is not Population.THESE_ITEMS or self.options.min_gap is not None:
            return []
        if best not in scores:
            return []
        found = []
        for rival in scores.keys() - {best}:
            common = scores[best].keys() & scores[rival].keys()
            leads = [scores[best][item] - scores[rival][item] for item in common]
            won, lost = sum(one > 0 for one in leads), sum(one < 0 for one in leads)
            if won + lost:  # else none of these items tells them apart
                found.append((chance_of_so_many(won, won + lost, LEVEL), won, lost, rival))
        chance, won, lost, rival = max(found, default=(0.0, 0, 0, None))
        if chance <= self.setup.risk_threshold:
            return []
        baseline = self.options.baseline
        compared = "" if baseline in {best, rival} else f", each compared with {baseline}"
        return [note(NoteCode.THIN_LEAD, best=best, rival=rival, won=won, lost=lost, compared=compared)]

    def _scores(self) -> dict[str | None, dict[str, float]]:
        """The scores in the decision by system and item, against the baseline, which is level with itself."""
        found: dict[str | None, dict[str, float]] = {}
        for row in self.labels:
            if row.in_decision and row.score is not None:
                system, score = row.system, row.score
                if system == self.options.baseline:
                    system, score = str(row.against), 1 - score
                found.setdefault(system, {})[row.item_id] = score
                found.setdefault(self.options.baseline, {})[row.item_id] = LEVEL
        return found

    def to_decide(self) -> tuple[Note, ...]:
        """What would decide, after an end that did not cut the run short."""
        if self.judged == 0:
            return (self.nothing_judged,)
        if self.stop_reason is StopKind.POOL_EXHAUSTED:
            if self.gap is None or self.gap > LITTLE:
                return (note(NoteCode.ALL_ASKED),)
            gap = math.ceil(round(100 * self.gap, 6)) / 100
            return note(NoteCode.ALL_ASKED_NEAR, gap=gap), note(NoteCode.SECOND_TEST)
        limited, every = self.stop_reason is StopKind.JUDGMENT_LIMIT, self.queries_in_all
        usual = self.asked + (self.more_judgments or 0)
        another = (note(NoteCode.SECOND_TEST),) if limited and self.setup.guarantee else ()
        if limited and usual <= self.limit and not self.level and every > self.asked:  # it took the usual, or more
            code = NoteCode.ALL_MAY_NAME if self.setup.sampled else NoteCode.ALL_NAME
            left = every - self.judged
            return (note(code, limit=every, left=left, usd=self.usd_for(left)), *another)
        if self.more_judgments is None:
            return (note(NoteCode.LEVEL if self.level else NoteCode.NO_FORECAST),)
        code = NoteCode.USUAL_LIMIT if limited else NoteCode.USUAL_JUDGMENTS
        systems = len(self.setup.systems)
        return (note(code, judgments=self.more_judgments, limit=usual, systems=systems, usd=self.more_usd), *another)


def selected_of(
    finished: Finished[Standings],
    setup: Setup,
    options: SelectOptions,
    data: DataNotes,
    *,
    items: Sequence[Item],
    more_judgments: int | None,
) -> Selection:
    """Compute the result from how a run ended.

    `items` are in the order of positions.
    """
    ending, systems = finished.ending, setup.systems
    tally = ending.estimate.tally
    certain = ending.stop.kind is StopKind.ALL_JUDGED
    rows = _standings(ending, systems, setup.risk_threshold)
    interval = ending.estimate.interval
    stated = interval is not None or certain
    bounded = certain or (tally.levels is not None and tally.queries > 0)
    gap = interval[1] if interval is not None else 0.0 if certain else None
    ends = FixedBudget.decides_at if setup.rule == FixedBudget.name else {StopKind.POOL_EXHAUSTED}
    tied = ending.winner is None and ending.stop.kind in ends and tally.judged
    level = tuple(systems[number] for number in tally.level) if tied else ()
    return Selection(
        setup=setup,
        options=options,
        data=data,
        counts=counts_of(finished, both_orders=tally.both, flips=tally.flips),
        spend=finished.spend,
        labels=label_rows(ending.labels, systems, items, ending.deciding),
        winner=None if ending.winner is None else systems[ending.winner],
        leader=None if level or tally.leader is None else systems[tally.leader],
        risk=ending.estimate.risk if stated and not level else None,
        stop_reason=ending.stop.kind,
        stop_sentence=ending.stop.sentence,
        more_judgments=more_judgments,
        queries=tally.queries,
        standings=rows,
        gap=None if level else gap,
        near_best=tuple(row.system for row in rows if row.near_best) if bounded else None,
        level=level,
        win_rates_biased=not tally.drawn and tally.queries < tally.items,
        level_since=None if ending.belief is None else ending.belief.level_since,
    )


def bounds_of(tally: Standings, risk: float) -> list[tuple[float | None, float | None]]:
    """The lowest and highest win rate of each system, each at the `risk`; None without levels or answers."""
    levels = tally.levels
    if levels is None or not tally.queries:
        return [(None, None)] * len(tally.wins)
    sides = [(level.lower(risk) / levels.items, level.highest(risk) / levels.items) for level in levels.each]
    return [
        (float(np.fmin(low, rate)), float(np.fmax(high, rate)))
        for (low, high), rate in zip(sides, tally.rates, strict=True)
    ]


def _standings(ending: Ending[Standings], systems: Sequence[str], risk: float) -> tuple[Standing, ...]:
    """A row for every system: the winner, then systems that may be the best, then the others.

    Within these groups the order is by win rate. `risk` is that of each bound.
    """
    tally, belief = ending.estimate.tally, ending.belief
    asked, bounds = tally.asked, bounds_of(tally, risk)
    rates = tally.rates if tally.queries else np.full(len(systems), np.nan)
    best = tally.best if ending.stop.kind is StopKind.ALL_JUDGED else []
    near = tally.in_question if tally.levels is not None else np.isin(range(len(systems)), best)
    order = sorted(
        range(len(systems)),
        key=lambda number: (number != ending.winner, not near[number], -np.nan_to_num(rates[number])),
    )
    return tuple(
        Standing(
            system=systems[number],
            win_rate=None if np.isnan(rates[number]) else float(rates[number]),
            wins=int(tally.wins[number]),
            ties=int(tally.ties[number]),
            losses=int(tally.losses[number]),
            abstentions=int(tally.silent[number]),
            queries=int(asked[number]),
            at_least=bounds[number][0],
            at_most=bounds[number][1],
            near_best=bool(near[number]),
            belief=None if belief is None else belief.probabilities[number],
        )
        for number in order
    )
