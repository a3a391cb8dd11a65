"""A search for the best of many systems: what it is made of, what it is likely to take, and its result.

`question.py` of `questions/` runs it. What it is likely to take is found by running the search on imagined answers
(`engine/recorded.py`): some of those so far again, or assumed ones.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from scipy.special import ndtri

from judgeloop.core.choices import Draws
from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Outcome, StopKind
from judgeloop.core.records import TIE, Answer, Choice, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import SCOUTED, Standings, WinRates, scouted_items
from judgeloop.methods.rows import Draft
from judgeloop.methods.stats.levels import FEW, LEVELS_FROM, Floats
from judgeloop.methods.stats.predictive import FEWEST_KNOWN
from judgeloop.methods.stopping.best_of_many import BestRule
from judgeloop.methods.stopping.rule import points
from judgeloop.questions.kept import ended_otherwise
from judgeloop.questions.question import Question, Ran
from judgeloop.questions.select import text
from judgeloop.questions.select.config import QUESTION, SelectConfig
from judgeloop.questions.select.pictures import course_of
from judgeloop.questions.select.result import Selected, SelectOptions, selected_of
from judgeloop.report.page import Page
from judgeloop.report.words import count
from judgeloop.runs.drive import data_notes, setup_of
from judgeloop.runs.forecast import Left, Range
from judgeloop.runs.inputs import Inputs, looks_at_all
from judgeloop.runs.prepared import Parts, Prepared, check_about, check_idle_settings

FEWEST_SYSTEMS = 2
# Assumed by the expected case before any answer; each answer of a system takes it from there (`likely_shares`).
# With these, 6 to 53 systems take about as many calls as fields of AlpacaEval (docs/results).
ASSUMED_SPREAD = 0.08
ASSUMED_TIES = 0.3
ASSUMED = "win rates around 50 % with a standard deviation of 8 points and 30 % ties (a closer field takes more)"
WEIGHT = 10  # answers, which the assumed share of ties counts for
# Of items like these, a race among many systems ends at the first gap. At one below the second a third stays
# open among any, and at one from it on, half among very many (docs/results).
USUAL_GAP, OPEN_GAP, VERY_MANY = LEVELS_FROM, 0.05, 24
MOST_FORESEEN = 10_000  # judgments; a forecast looks no further
RUNS = 5  # imagined for an expected case, fewer of long ones

NewSession = Callable[[Limits], Session[Standings]]


class Select(Question[SelectConfig, Standings, Selected]):
    """Which of many systems is best?"""

    name, result = QUESTION, Selected

    def check(self, config: SelectConfig) -> None:
        """Refuse a single system, and a selector, a rule and a baseline that do not go together."""
        if len(config.outputs) < FEWEST_SYSTEMS:
            raise InputError(
                f"select: expected the outputs of at least {FEWEST_SYSTEMS} systems, the baseline's among "
                f"them; found {len(config.outputs)}"
            )
        even, drops = config.selector_row.draws is Draws.EVEN, config.selector_row.drops
        if config.rule_row.guaranteed and not even:
            raise InputError(
                f"`rule={config.rule}` holds only for random draws, but `selector={config.selector}` picks "
                "queries; use `selector=race`, or `rule=fixed-budget`"
            )
        if drops and not config.rule_row.guaranteed:
            raise InputError(
                f"`selector={config.selector}` drops systems at a stated risk, but `rule={config.rule}` states "
                "none; with a limit, `rule=separated` names its leader and the gap"
            )
        check_about(
            config,
            f"`rule={config.rule}` with `selector={config.selector}`",
            proves=config.rule_row.guaranteed and even,
            instead="`selector=race` or `selector=random` with `rule=separated`",
        )
        if config.baseline is None and not drops:
            raise InputError(
                f"`selector={config.selector}` needs a `baseline`, the name of a system; only `selector=race` chooses "
                "one"
            )
        check_idle_settings(config, QUESTION, config.selector_row, config.rule_row)

    def parts(self, config: SelectConfig, inputs: Inputs) -> Parts[Standings]:
        """Selector, win rates, rule."""
        _check_inputs(config, inputs)
        pool = inputs.pool
        draft = Draft(
            items=len(pool),
            limit=config.max_judgments,
            risk=config.risk,
            systems=len(pool.systems),
            baseline=_baseline(config, inputs),
            gap=config.min_gap or 0.0,
            population=inputs.population,
            settings=config,
            seed=(config.seed,),
            pool=pool,
        )
        rule: BestRule = config.rule_row.make(draft)
        estimator = WinRates(draft.systems, draft.baseline, rule.level, draft.sampled, draft.gap)
        return Parts(config.selector_row.make(draft), estimator, rule)

    def notice(self, run: Prepared[SelectConfig]) -> str | None:
        """That the search may well name no system."""
        close = may_stay_open(len(run.pool.systems), run.config.min_gap or 0.0)
        return _names_none(run) if run.sampled and close and _rule(run.parts).level is not None else None

    def left(self, ran: Ran[SelectConfig, Standings]) -> Left:
        """The comparisons without a verdict, and how many of them it is likely to take to name the best."""
        run, outcome = ran.run, ran.finished.outcome
        pool, notice = run.pool, self.notice(run)
        every = len(pool) * (len(pool.systems) - 1)
        found = judgments_to_name(
            outcome,
            run.limits,
            partial(_imagined_session, run),
            every=every,
            states_risk=_rule(ran.parts).level is not None,
            over=outcome.stop.kind is not StopKind.DRY_RUN,
        )
        done, against = {label.choice.key for label in outcome.labels}, outcome.estimate.tally.baseline
        left = [
            pool.query(position, (system, against))
            for position in range(len(pool))
            for system in range(len(pool.systems))
            if system != against and (position, system, against) not in done
        ]
        stays_open = notice or (_names_none(run) if found.open else "")
        if found.needed and not notice:
            stays_open = limit_too_low(run.limits.max_judgments, found.needed)
        stays_open = f"{stays_open}." if stays_open else ""
        return Left(found.judgments, found.assumed, left, every - len(left), stays_open)

    def result_of(self, ran: Ran[SelectConfig, Standings]) -> Selected:
        """Where each system stands, and how many further judgments would name the best."""
        run, parts, outcome = ran.run, ran.parts, ran.finished.outcome
        config, pool = run.config, run.pool
        tally, baseline = outcome.estimate.tally, _baseline(config, run.inputs)
        more = None
        if outcome.winner is None and not self.notice(run):  # else answers hardly go on as they were
            more = more_to_name(outcome, partial(_imagined_session, run))
        scouted = scouted_items(len(tally.wins), baseline, len(pool))
        result = selected_of(
            ran.finished,
            setup_of(run, parts.rule, config.selector),
            SelectOptions(
                baseline=None if scouted and not tally.queries else pool.systems[tally.baseline],
                chosen_on=None if baseline is not None else scouted,
                chosen_by=sum(
                    label.choice.propensity is None and label.choice.key not in outcome.deciding
                    for label in outcome.labels[: scouted * (len(tally.wins) - 1)]
                    if tally.queries  # else the choice was cut short
                ),
                min_gap=config.min_gap,
                epsilon=getattr(parts.selector, "epsilons", None),  # of a selector that has some
            ),
            data_notes(run),
            items=pool.items,
            more_judgments=more,
        )
        deciding = [label for label in outcome.labels if label.choice.key in outcome.deciding]
        return replace(
            result, course=course_of(deciding, cast("WinRates", parts.estimator), tally, pool.systems, len(pool))
        )

    async def with_others(self, ran: Ran[SelectConfig, Standings], result: Selected) -> Selected:
        """Note the last search of the same outputs that ended otherwise, with another seed or another baseline."""
        run = ran.run
        before = itertools.takewhile(lambda one: one.id != run.run_id, ran.runs)
        same = [one for one in before if one.note.question == run.question]
        found = await ended_otherwise(run, result, same, lambda one: one.winner)
        if found is None:
            return result
        said, last = found
        if last.options.baseline == result.options.baseline:
            return replace(result, redrawn=said)
        return replace(result, rebased=said)

    def page(self, result: Selected) -> Page:
        """A result in sentences and tables."""
        return text.page(result)

    def so_far(self, tally: Standings, systems: tuple[str, ...], longest: int) -> str:
        """Who leads during a run, in words."""
        return text.so_far(tally, systems, longest)


def _rule(parts: Parts[Standings]) -> BestRule:
    return cast("BestRule", parts.rule)  # as the rules of searches are


def _baseline(config: SelectConfig, inputs: Inputs) -> int | None:
    """The number of the system that all others are compared with; None if the run chooses it."""
    against = config.against(inputs.pool.systems)
    return None if against is None else inputs.pool.systems.index(against)


def _names_none(run: Prepared[SelectConfig]) -> str:
    gap, systems = run.config.min_gap or 0.0, len(run.pool.systems)
    return no_winner(run.most_judgments, systems, sampled=run.sampled, gap=gap)


def _imagined_session(run: Prepared[SelectConfig], limits: Limits) -> Session[Standings]:
    """The session with other limits, for a forecast."""
    return replace(run, inputs=replace(run.inputs, limits=limits)).session()


def _check_inputs(config: SelectConfig, inputs: Inputs) -> None:
    """Refuse systems that no judge can tell apart, a limit within the first item, and outputs that are to come."""
    pool, against = inputs.pool, config.against(inputs.pool.systems)
    first: dict[tuple[str, ...], str] = {}
    for number, (name, outputs) in enumerate(zip(pool.systems, pool.outputs, strict=True)):
        other = name if number in pool.live else first.setdefault(outputs, name)
        if other != name:  # a run would spend its whole budget on them
            raise InputError(
                f"{other} and {name} gave the same output on all {len(pool):,} items, so no judge can "
                "tell them apart; leave one of them out"
            )
    each = len(pool.systems) - 1
    chosen_on = scouted_items(len(pool.systems), against, len(pool))
    least = (chosen_on + 1) * each
    if config.max_judgments < least:
        before = f", and the choice of a baseline those of {count(chosen_on, 'item')}" if chosen_on else ""
        raise InputError(
            f"`max_judgments={config.max_judgments}`: one item takes {count(each, 'judgment')}, one for each system "
            f"except the baseline{before}; allow at least {least:,}"
        )
    if inputs.systems and config.selector_row.needs_outputs:
        live = pool.systems[pool.live[0]]
        raise looks_at_all(f"selector={config.selector}", live, "`selector=race` or `selector=random`")


class Foreseen(NamedTuple):
    """The range of further judgments, the assumption behind it, and whether the expected case names nobody.

    The assumption is a sentence on the assumed answers, None if none are assumed. `needed` are the
    judgments in all of an expected case that the limit ends before it names one; 0 if it does not.
    """

    judgments: Range
    assumed: str | None
    open: bool = False
    needed: int = 0


def judgments_to_name(
    outcome: Outcome[Standings], limits: Limits, new: NewSession, *, every: int, states_risk: bool, over: bool
) -> Foreseen:
    """What is foreseen for a run at `outcome`.

    `new` makes a session of the run, `every` is the number of judgments that there are, with those that
    choose a baseline. `states_risk` says whether the rule ends the run before its limit, and `over`
    whether it has ended.
    """
    tally, asked = outcome.estimate.tally, outcome.asked
    worst = 0 if over else max(0, min(limits.max_judgments, every) - asked)
    if not states_risk or not worst:
        return Foreseen(Range(worst, worst, worst), None)
    seen = Limits(limits.min_judgments, min(limits.max_judgments, asked + MOST_FORESEEN), 1.0)
    clearest, likely = replay(new(seen), _clearest(outcome)), _usual(outcome, new, seen)
    expected = likely.asked - asked
    assumed = ASSUMED if tally.queries < FEWEST_KNOWN else None
    judgments = Range(min(clearest.asked - asked, expected), expected, worst)
    if likely.winner is not None or limits.max_judgments >= every:
        return Foreseen(judgments, assumed, likely.winner is None)
    whole = _to_the_end(outcome, new)
    return Foreseen(judgments, assumed, open=True, needed=whole.asked if whole.winner is not None else 0)


def may_stay_open(systems: int, gap: float) -> bool:
    """Whether many searches for the best of items like these had no name at this gap.

    >>> may_stay_open(7, 0.0), may_stay_open(13, 0.05), may_stay_open(54, 0.05), may_stay_open(54, 0.1)
    (True, False, True, False)
    """
    return systems > FEW and (gap < OPEN_GAP or (systems > VERY_MANY and gap < USUAL_GAP))


def no_winner(judgments: int, systems: int, *, sampled: bool, gap: float) -> str:
    """The sentence that a search of so many judgments may well name no system.

    >>> no_winner(41860, 53, sampled=True, gap=0.0)
    'for items like these, a search among 53 systems names one only if it is clearly ahead, and else none, \
after up to 41,860 judgments; with `min_gap=0.1` it ends far sooner'
    """
    where = "for items like these, " if sampled else ""
    remedy = f"`min_gap={USUAL_GAP}`" if gap < USUAL_GAP else f"a `min_gap` above {gap:g}"
    names = "names one only if it is clearly ahead, and else none"
    if gap:
        names = f"with a gap of {points(gap)} often names none"
    return (
        f"{where}a search among {systems:,} systems {names}, after up to {judgments:,} judgments; with {remedy} "
        "it ends far sooner"
    )


def limit_too_low(limit: int, needed: int) -> str:
    """The sentence that the limit will probably end a search that takes more.

    >>> limit_too_low(2000, 2796)
    '`max_judgments=2000` will probably end the search before a system is named: that takes about 2,796'
    """
    return f"`max_judgments={limit}` will probably end the search before a system is named: that takes about {needed:,}"


def more_to_name(outcome: Outcome[Standings], new: NewSession) -> int | None:
    """How many further judgments would name a system if the answers so far repeat.

    None if not even all of them would, or more than `MOST_FORESEEN`, or if so little is known that no
    system leads.
    """
    tally = outcome.estimate.tally
    if tally.levels is None or tally.leader is None:
        return None
    end = _to_the_end(outcome, new)
    return None if end.winner is None else end.asked - outcome.asked


def _to_the_end(outcome: Outcome[Standings], new: NewSession) -> Outcome[Standings]:
    """How the search would end without its limit."""
    far = Limits(1, outcome.asked + MOST_FORESEEN, 1.0)
    return _usual(outcome, new, far)


def _clearest(outcome: Outcome[Standings]) -> Callable[[Choice], Answer]:
    """The known answers, and else wins of the leader and losses of all others."""
    known = {label.choice.key: label.answer for label in outcome.labels}
    leader = outcome.estimate.tally.leader
    first = next(system for system in range(2) if system != outcome.estimate.tally.baseline)
    best = first if leader in {None, outcome.estimate.tally.baseline} else leader

    def answer(choice: Choice) -> Answer:
        return known.get(choice.key) or Verdict(float(choice.systems[0] == best))

    return answer


def _usual(outcome: Outcome[Standings], new: NewSession, limits: Limits) -> Outcome[Standings]:
    """The end of median length of some imagined runs, which share their answers for every risk and gap."""
    tally = outcome.estimate.tally
    # Items that choose a baseline are none of the tally's.
    shape = len(tally.wins), tally.items + SCOUTED
    ends: list[Outcome[Standings]] = []
    while len(ends) < RUNS and sum(one.asked - outcome.asked for one in ends) < MOST_FORESEEN:
        seed = len(ends)
        draws = np.random.default_rng(seed).random(shape)
        ends.append(replay(new(limits), _imagined(outcome.labels, draws, seed)))
    return sorted(ends, key=lambda one: one.asked)[(len(ends) - 1) // 2]


def assumed_wins(systems: int) -> Floats:
    """The assumed share of items that each system wins: win rates at even steps of a normal distribution."""
    wins: Floats = TIE + ASSUMED_SPREAD * _steps(systems) - ASSUMED_TIES / 2
    return wins


def _steps(systems: int) -> Floats:
    steps: Floats = ndtri((np.arange(systems) + 0.5) / systems)
    return steps


def likely_shares(won: Floats, tied: Floats, known: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A share of wins and of ties of each system that may be true, after so many `known` answers.

    Win rates have the assumed distribution beforehand, with variance s², and n answers at a rate r have a
    variance v / n. So a rate is afterwards normal about 1/2 + w (r - 1/2), with variance s² (1 - w) and
    w = n / (n + v / s²). In place of draws it takes even steps of that distribution, in random order.
    """
    ties = (tied + WEIGHT * ASSUMED_TIES) / (known + WEIGHT)
    rate = (won + tied / 2) / np.maximum(known, 1.0)
    w = known / (known + (1 - ASSUMED_TIES) / 4 / ASSUMED_SPREAD**2)
    steps = rng.permutation(_steps(len(known)))
    rates = TIE + w * (rate - TIE) + ASSUMED_SPREAD * np.sqrt(1 - w) * steps
    wins: Floats = np.clip(rates - ties / 2, 0.0, 1.0)
    return wins, ties


def score_of(draw: float, wins: float, ties: float = ASSUMED_TIES) -> float:
    """The score that a uniform `draw` gives a system that wins and ties so many items."""
    return 1.0 if draw < wins else TIE if draw < wins + ties else 0.0


def _imagined(labels: Sequence[Label], draws: Floats, seed: int) -> Callable[[Choice], Answer]:
    """The known answers, and else those that each system is likely to give after its own.

    `draws`, shape (systems, items), say which: uniform on [0, 1).
    """
    known = {label.choice.key: label.answer for label in labels}
    counts = np.zeros((3, len(draws)))  # won, tied, and all
    for label in labels:
        if isinstance(label.answer, Verdict):
            counts[:, label.choice.systems[0]] += (label.answer.preference > 0, label.answer.preference == 0, 1.0)
    won, tied, all_ = counts
    wins, ties = likely_shares(won, tied, all_, np.random.default_rng(seed))

    def answer(choice: Choice) -> Answer:
        system, at = choice.systems[0], choice.position
        found = known.get(choice.key)
        return found or Verdict(score_of(draws[system, at], wins[system], ties[system]))

    return answer
