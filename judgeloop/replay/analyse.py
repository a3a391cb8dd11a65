"""Pictures of DiffUse's picks and clusters, for a replay.

Gathers the arrays for the analyses of the DiffUse papers (`methods/stats/anatomy.py`) and passes them to
`pictures.py`. Returns SVG texts and writes no files.
"""

from __future__ import annotations

import numpy as np

from judgeloop.methods.stats.anatomy import projection
from judgeloop.replay import paper_pictures, pictures
from judgeloop.replay.analyse_tables import Analysis, PairAnalysis, Picks, analyse_pair, picks_of
from judgeloop.replay.compare import Row
from judgeloop.replay.compare_config import ReplayConfig
from judgeloop.replay.compare_inputs import protocol_of, recordings_for
from judgeloop.replay.recordings import Recordings

Pictures = dict[str, str]  # SVG by name


def pictures_of_replay(config: ReplayConfig, rows: list[Row]) -> Pictures:
    """Draw all pairs of a replay, and a projection of one pair.

    Items are picked at the first number of `analyse`; clusters are cut at each.
    """
    size, *more = config.analyse
    recordings, protocol = recordings_for(config), protocol_of(config)
    pairs = recordings.pairs(config.pairs, np.random.default_rng(config.seed))
    found = _analysed(config, recordings, pairs)
    drawn = {
        "distances": pictures.distances_picture(rows, size),
        "win-distances": paper_pictures.win_distances_picture(_distances(recordings, pairs)),
    }
    if rows:
        drawn["pairs"] = paper_pictures.pairs_picture(rows, recordings.systems)
    if found:
        looks = (picks_of(recordings, pair, protocol, size) for pair in pairs)
        picks = next(look for look in looks if look is not None)
        drawn |= _drawn(found, picks, config.seed)
    if more and found:
        by_number = {number: [pair.clusters[number] for pair in found] for number in config.analyse}
        drawn["cluster-numbers"] = paper_pictures.cluster_numbers_picture(by_number)
    return drawn


def _drawn(found: list[PairAnalysis], picks: Picks, seed: int) -> Pictures:
    bodies = [pair.anatomy for pair in found]
    norms = np.concatenate([body.norms for body in bodies])
    preferences = np.concatenate([pair.preferences for pair in found])
    plane = projection(picks.vectors, seed)
    drawn = {
        "clusters": pictures.clusters_picture(bodies),
        "norms": pictures.norms_picture(bodies),
        "outcome-norms": paper_pictures.outcome_norms_picture(norms, preferences),
        "projection": pictures.projection_picture(plane, picks.preferences, picks.picked),
    }
    if binned := [pair.named for pair in found if len(pair.named)]:
        drawn["norm-bins"] = pictures.norm_bins_picture(np.array(binned))
    return drawn


def _distances(recordings: Recordings, pairs: list[tuple[int, int]]) -> pictures.Floats:
    """Return the win distance of each pair over all its items, shape (pairs,)."""
    rng = np.random.default_rng(0)  # only orders the items of a whole share
    return np.array([recordings.contest(pair, 1.0, rng).distance for pair in pairs])


def _analysed(
    config: ReplayConfig, recordings: Recordings, pairs: list[tuple[int, int]]
) -> list[PairAnalysis]:
    """Analyse every pair that is not level, on all cores."""
    from joblib import Parallel, delayed

    protocol, what = protocol_of(config), Analysis(config.analyse, config.norm_bins)
    found = Parallel(n_jobs=config.jobs)(
        delayed(analyse_pair)(recordings, pair, protocol, what) for pair in pairs
    )
    return [analysis for analysis in found if analysis is not None]
