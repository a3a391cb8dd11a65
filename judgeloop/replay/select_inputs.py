"""Reads what a replay of searches for the best needs.

Returns a `Field`: scores against the baseline, and output lengths and weak judges' opinions if a
selector uses them. Runs nothing on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgeloop.core.records import TIE
from judgeloop.formats.verdicts import VerdictTable
from judgeloop.history.past import ROUNDING
from judgeloop.methods.selectors.catalogue import Need
from judgeloop.methods.stats.information import choose_epsilons
from judgeloop.methods.stats.levels import Floats
from judgeloop.questions.select.config import QUESTION
from judgeloop.replay.compare import Row
from judgeloop.replay.config import ReplaySelectConfig
from judgeloop.replay.recorded_files import needs_of, read_pool, read_scores, systems_of
from judgeloop.replay.select import Field, Realisations

# Numbers of judgments for halving, as shares of all judgments on a pool.
SHARES = (
    0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.085, 0.1, 0.125, 0.15, 0.2, 0.25, 0.35, 0.5, 1.0,
)  # fmt: skip
QUERIES_OF_EPSILONS = 50  # number of queries for which the epsilons are chosen


def plan_for(config: ReplaySelectConfig, field: Field) -> Realisations:
    """Return what to run in every pool."""
    epsilons = config.epsilon
    if epsilons is None and Need.EPSILONS in needs_of(QUESTION, config.selectors):
        assert field.opinions is not None, "read for every selector that uses them"
        size = min(QUERIES_OF_EPSILONS, config.pool)
        rng = np.random.default_rng([config.seed, size])
        epsilons = choose_epsilons(field.opinions, size, rng)
    pool, rivals = min(config.pool, field.scores.shape[1]), len(field.systems) - 1
    calls = {max(rivals, round(share * pool * rivals)) for share in SHARES}
    return Realisations(
        config.selectors,
        pool,
        config.risk,
        config.calls or tuple(sorted(calls)),
        epsilons,
        config.seed,
    )


def field_for(config: ReplaySelectConfig) -> Field:
    """Read the verdicts, and the outputs and weak judges' opinions that a selector uses.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    table, needs = read_scores(config.verdicts), needs_of(QUESTION, config.selectors)
    known = set(systems_of(table, config.leave_out))
    systems = sorted((known | {config.baseline}) - set(config.leave_out))
    baseline = systems.index(config.baseline)
    if not needs & {Need.LENGTHS, Need.OPINIONS}:
        return Field(tuple(systems), baseline, _scores(config, table, systems, table.items))
    pool = read_pool(config.outputs, config.items, systems)
    scores = _scores(config, table, systems, [item.id for item in pool.items])
    lengths = np.array([[len(text) for text in outputs] for outputs in pool.outputs])
    opinions = None
    if Need.OPINIONS in needs:
        from judgeloop.represent.weak_judges import weak_opinions

        folder = config.cache_dir / "weak-judges"
        opinions = weak_opinions(pool.outputs, baseline, config.weak_judges, folder)
    return Field(tuple(systems), baseline, scores, lengths, opinions)


def win_rates(config: ReplaySelectConfig) -> list[Row]:
    """Return a row with the win rate against the baseline over all items, for each other system.

    Highest first; None without a verdict. Durmazkeser et al. (2025), figure 3.

    Raises:
        InputError: the file of verdicts is wrong.
    """
    table = read_scores(config.verdicts)
    systems = sorted({*systems_of(table, config.leave_out), config.baseline})
    scores = _scores(config, table, systems, table.items)
    rates = {
        name: float(np.nanmean(own)) if not np.isnan(own).all() else None
        for name, own in zip(systems, scores, strict=True)
        if name != config.baseline
    }
    ranked = sorted(rates.items(), key=lambda pair: (-(pair[1] or 0.0), pair[0]))
    return [{"system": name, "win_rate": rate} for name, rate in ranked]


def _scores(
    config: ReplaySelectConfig, table: VerdictTable, systems: Sequence[str], items: Sequence[str]
) -> Floats:
    """Return 1, ½ or 0 for each system against the baseline, shape (systems, items).

    If the table has scores of the baseline, each score is compared with the baseline's score.
    Otherwise the scores are verdicts against the baseline already.
    """
    raw, own = table.scores(systems, items), systems.index(config.baseline)
    apart = raw - (raw[own] if config.baseline in table.systems else TIE)
    ties = np.abs(apart) <= config.tie_margin + ROUNDING
    scores = np.where(np.isnan(apart), np.nan, np.where(ties, TIE, apart > 0))
    scores[own] = TIE
    return scores
