"""Runs searches for the best of many systems on recorded verdicts; returns a row for each run.

A realisation is a random pool of items, on which every selector is run. The selectors, sessions and
rules are those of live runs. The scores, and weak judges' opinions if a selector
uses them, are read from files. The rows are summed up in `tables.py`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import rules_of, selector_row
from judgeloop.core.outcomes import Ending
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import ROUNDING, TIE, Abstention, Answer, Choice, Verdict, preference
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import Standings, WinRates, score_of
from judgeloop.methods.rows import Draft
from judgeloop.methods.stats.levels import PRIOR_NUMBER, PRIOR_SUM, Floats
from judgeloop.papers.llm_selector.information import choose_epsilons
from judgeloop.questions.select.settings import QUESTION
from judgeloop.replay.compare import Row
from judgeloop.replay.data import Recorded, read_recorded, takes
from judgeloop.replay.settings import ReplaySelectSettings

QUERIES_OF_EPSILONS = 50  # number of queries for which the epsilons are chosen


@dataclass(frozen=True, slots=True)
class Field:
    """The recorded systems, with the baseline among them.

    `scores` has the shape (systems, items): 1 if the system is better than the baseline, ½ for a
    tie, 0 if it is worse, NaN without a verdict. `opinions` holds those of the weak
    judges, shape (judges, items, systems); None if no selector uses them.
    """

    systems: tuple[str, ...]
    baseline: int
    scores: Floats
    opinions: NDArray[np.int8] | None = None


def _best(ending: Ending[Standings]) -> int | None:
    """Who is best: the winner, or one of those that are known to be level."""
    tally = ending.estimate.tally
    level = tally.level if tally.levels is not None else []
    return ending.winner if ending.winner is not None or not level else level[0]


def realise(field: Field, realisation: int, config: ReplaySelectSettings) -> list[Row]:
    """All rows of one realisation; they do not depend on the other realisations.

    A row has `steps`, as described in `_steps`. `winner_gap` is the win rate lost by the winner, or by one of those
    that are level, over the whole pool; None without either; and `too_far` whether that is more than the gap of the
    settings allows. A run ends with too many abstentions, as a live one does. `calls` and `queries` are their numbers
    at the end of the run. `level_since` is that of the selector's belief (`Belief`).
    """
    rng = np.random.default_rng([config.seed, realisation])
    items = np.sort(rng.permutation(field.scores.shape[1])[: config.pool])
    rates = np.nanmean(field.scores[:, items], axis=1)
    gaps: Floats = rates.max() - rates  # how far each system is below the best, over the pool
    rows: list[Row] = []

    def oracle(choice: Choice) -> Answer:
        score = field.scores[choice.systems[0], items[choice.position]]
        return Abstention("no recorded verdict") if np.isnan(score) else Verdict(float(score))

    for name in config.selectors:
        draws = np.random.default_rng([config.seed, realisation, 1])  # the same for all selectors
        ending = replay(_session(field, items, name, config, draws), oracle)
        best = _best(ending)
        lost = None if best is None else float(gaps[best])
        rows.append(
            {
                "realisation": realisation,
                "selector": name,
                "winner_gap": lost,
                "too_far": lost is not None and 2 * lost > (config.min_gap or 0.0) + ROUNDING,
                "calls": ending.asked,
                "queries": ending.estimate.tally.queries,
                "level_since": None if ending.belief is None else ending.belief.level_since,
                "steps": _steps(ending, gaps, len(items)),
            }
        )
    return rows


def _session(
    field: Field, items: NDArray[np.int64], name: str, config: ReplaySelectSettings, rng: np.random.Generator
) -> Session[Standings]:
    systems = len(field.systems)
    row, most = selector_row(QUESTION, name), systems * len(items)
    draft = Draft(
        items=len(items),
        limit=most,
        risk=config.risk,
        systems=systems,
        baseline=field.baseline,
        gap=config.min_gap or 0.0,
        settings=config,
        found={} if field.opinions is None else {"opinions": field.opinions[:, items]},
    )
    rule: StoppingRule[Standings] = next(
        rule.make(draft) for rule in rules_of(QUESTION) if rule.guaranteed is row.drops
    )
    return Session(
        items=len(items),
        selector=row.make(draft),
        estimator=WinRates(systems, field.baseline, config.risk if row.drops else None, gap=draft.gap),
        rule=rule,
        limits=Limits(1, most, config.max_abstentions),
        rng=rng,
    )


def _steps(ending: Ending[Standings], gaps: Floats, items: int) -> list[list[float]]:
    """[calls, queries, share of leaders that are best, mean gap of the leaders] by step.

    The leaders are the systems that share the highest win rate so far, of those asked about on every
    query; with bounds, the systems with the most hope, and the winner at the end. There is a step wherever
    the share or the gap changes.
    """
    tally = ending.estimate.tally
    asked, points = _along(ending, len(gaps))
    if tally.levels is not None:
        hopes = np.where(asked == items, points / items, (points + PRIOR_SUM) / (asked + PRIOR_NUMBER))
    else:
        verdicts = asked - _along(ending, len(gaps), silent=True)[0]
        whole = asked == asked.max(axis=1, keepdims=True)
        hopes = np.divide(points, verdicts, out=np.full(points.shape, -np.inf), where=whole & (verdicts > 0))
    hopes[:, tally.baseline] = TIE
    leading = hopes == hopes.max(axis=1, keepdims=True)
    if tally.levels is not None and (best := _best(ending)) is not None:
        leading[-1] = np.arange(len(gaps)) == best
    identified = (leading & (gaps == 0)).sum(axis=1) / leading.sum(axis=1)
    gap = (leading * gaps).sum(axis=1) / leading.sum(axis=1)
    calls, queries = asked.sum(axis=1), asked.max(axis=1)
    changes = np.flatnonzero((np.diff(identified, prepend=-1) != 0) | (np.diff(gap, prepend=-1) != 0))
    return [[int(calls[at]), int(queries[at]), float(identified[at]), float(gap[at])] for at in changes]


def _along(ending: Ending[Standings], systems: int, *, silent: bool = False) -> tuple[Floats, Floats]:
    """The numbers of calls and the sums of scores by system along a run.

    Both have the shape (looks, systems). A look is after the last call on an item, as asked. With
    `silent`, only abstentions are counted.
    """
    labels = ending.labels
    number = np.array([label.choice.systems[0] for label in labels], dtype=np.int64)
    scores = np.array([score_of(label) for label in labels])
    calls, points = np.zeros((2, len(labels), systems))
    at = np.arange(len(labels))
    calls[at, number] = np.isnan(scores) if silent else 1
    points[at, number] = np.nan_to_num(scores)
    items = np.array([label.choice.position for label in labels])
    looks = np.append(np.flatnonzero(np.diff(items)), len(labels) - 1)
    return np.cumsum(calls, axis=0)[looks], np.cumsum(points, axis=0)[looks]


def completed(config: ReplaySelectSettings, field: Field) -> ReplaySelectSettings:
    """The settings with what depends on the data: the pool's size and epsilons."""
    epsilons = config.epsilon
    if epsilons is None and takes(QUESTION, config.selectors, "epsilon"):
        assert field.opinions is not None, "read for every selector that uses them"
        size = min(QUERIES_OF_EPSILONS, config.pool)
        rng = np.random.default_rng([config.seed, size])
        epsilons = choose_epsilons(field.opinions, size, rng)
    pool = min(config.pool, field.scores.shape[1])
    return replace(config, pool=pool, epsilon=epsilons)


def field_for(config: ReplaySelectSettings) -> Field:
    """Read the verdicts, and the outputs and weak judges' opinions that a selector uses.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    opinions, looked_at = None, takes(QUESTION, config.selectors, "weak_judges")
    found = read_recorded(config, also=(config.baseline,), outputs=looked_at)
    baseline = found.systems.index(config.baseline)
    if looked_at:
        from judgeloop.papers.llm_selector.opinions import weak_opinions

        found = found.answered()
        texts = [[text or "" for text in own] for own in found.outputs]
        folder = config.cache_dir / "weak-judges"
        opinions = weak_opinions(texts, baseline, config.weak_judges, folder)
    return Field(found.systems, baseline, _scores(config, found), opinions)


def win_rates(config: ReplaySelectSettings) -> list[Row]:
    """A row with the win rate against the baseline over all items, for each other system.

    Highest first; None without a verdict. Durmazkeser et al. (2025), figure 3.

    Raises:
        InputError: the file of verdicts is wrong.
    """
    found = read_recorded(config, also=(config.baseline,))
    rates = {
        name: float(np.nanmean(own)) if not np.isnan(own).all() else None
        for name, own in zip(found.systems, _scores(config, found), strict=True)
        if name != config.baseline
    }
    ranked = sorted(rates.items(), key=lambda pair: (-(pair[1] or 0.0), pair[0]))
    return [{"system": name, "win_rate": rate} for name, rate in ranked]


def _scores(config: ReplaySelectSettings, found: Recorded) -> Floats:
    """1, ½ or 0 for each system against the baseline, shape (systems, items).

    If the table has scores of the baseline, each score is compared with the baseline's score.
    Otherwise the scores are verdicts against the baseline already.
    """
    own = found.systems.index(config.baseline)
    apart = found.scores - (found.scores[own] if config.baseline in found.table.systems else TIE)
    scores = np.where(np.isnan(apart), np.nan, TIE + preference(apart, config.tie_margin) / 2)
    scores[own] = TIE
    return scores
