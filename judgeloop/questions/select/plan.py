"""How many further judgments a search for the best is likely to take, for forecast and result.

Runs the search on imagined answers (`engine/recorded.py`): some of those so far again, or assumed ones. Asks no
judge. Prices are added in `run/plan.py`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from judgeloop.core.outcomes import Ending
from judgeloop.core.records import TIE, Answer, Choice, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import SCOUTED, Standings
from judgeloop.methods.stats.levels import FEW, LEVELS_FROM, Floats
from judgeloop.methods.stopping.rule import points
from judgeloop.run.plan import FEWEST_KNOWN, Range

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
    outcome: Ending[Standings], limits: Limits, new: NewSession, *, every: int, states_risk: bool, over: bool
) -> Foreseen:
    """Return what is foreseen for a run at `outcome`.

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
    """Return whether many searches for the best of items like these had no name at this gap.

    >>> may_stay_open(7, 0.0), may_stay_open(13, 0.05), may_stay_open(54, 0.05), may_stay_open(54, 0.1)
    (True, False, True, False)
    """
    return systems > FEW and (gap < OPEN_GAP or (systems > VERY_MANY and gap < USUAL_GAP))


def no_winner(judgments: int, systems: int, *, sampled: bool, gap: float) -> str:
    """Return the sentence that a search of so many judgments may well name no system.

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
    """Return the sentence that the limit will probably end a search that takes more.

    >>> limit_too_low(2000, 2796)
    '`max_judgments=2000` will probably end the search before a system is named: that takes about 2,796'
    """
    return f"`max_judgments={limit}` will probably end the search before a system is named: that takes about {needed:,}"


def more_to_name(outcome: Ending[Standings], new: NewSession) -> int | None:
    """Return how many further judgments would name a system if the answers so far repeat.

    None if not even all of them would, or more than `MOST_FORESEEN`, or if so little is known that no
    system leads.
    """
    tally = outcome.estimate.tally
    if tally.levels is None or tally.leader is None:
        return None
    end = _to_the_end(outcome, new)
    return None if end.winner is None else end.asked - outcome.asked


def _to_the_end(outcome: Ending[Standings], new: NewSession) -> Ending[Standings]:
    """Return how the search would end without its limit."""
    far = Limits(1, outcome.asked + MOST_FORESEEN, 1.0)
    return _usual(outcome, new, far)


def _clearest(outcome: Ending[Standings]) -> Callable[[Choice], Answer]:
    """Return the known answers, and else wins of the leader and losses of all others."""
    known = {label.choice.key: label.answer for label in outcome.labels}
    leader = outcome.estimate.tally.leader
    first = next(system for system in range(2) if system != outcome.estimate.tally.baseline)
    best = first if leader in {None, outcome.estimate.tally.baseline} else leader

    def answer(choice: Choice) -> Answer:
        return known.get(choice.key) or Verdict(float(choice.systems[0] == best))

    return answer


def _usual(outcome: Ending[Standings], new: NewSession, limits: Limits) -> Ending[Standings]:
    """Return the end of median length of some imagined runs, which share their answers for every risk and gap."""
    tally = outcome.estimate.tally
    # Items that choose a baseline are none of the tally's.
    shape = len(tally.wins), tally.items + SCOUTED
    ends: list[Ending[Standings]] = []
    while len(ends) < RUNS and sum(one.asked - outcome.asked for one in ends) < MOST_FORESEEN:
        seed = len(ends)
        draws = np.random.default_rng(seed).random(shape)
        ends.append(replay(new(limits), _imagined(outcome.labels, draws, seed)))
    return sorted(ends, key=lambda one: one.asked)[(len(ends) - 1) // 2]


def assumed_wins(systems: int) -> Floats:
    """Return the assumed share of items that each system wins: win rates at even steps of a normal distribution."""
    wins: Floats = TIE + ASSUMED_SPREAD * _steps(systems) - ASSUMED_TIES / 2
    return wins


def _steps(systems: int) -> Floats:
    steps: Floats = ndtri((np.arange(systems) + 0.5) / systems)
    return steps


def likely_shares(won: Floats, tied: Floats, known: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return a share of wins and of ties of each system that may be true, after so many `known` answers.

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
    """Return the score that a uniform `draw` gives a system that wins and ties so many items."""
    return 1.0 if draw < wins else TIE if draw < wins + ties else 0.0


def _imagined(labels: Sequence[Label], draws: Floats, seed: int) -> Callable[[Choice], Answer]:
    """Return the known answers, and else those that each system is likely to give after its own.

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
