"""Pictures of DiffUse's picks and clusters, for one run and for a replay.

Gathers the arrays for the analyses of the DiffUse papers (`stats/anatomy.py`) and passes them to
`pictures.py`. Returns SVG texts and writes no files.
"""

from __future__ import annotations

import numpy as np

from judgeloop.compare.prepare import Comparison
from judgeloop.compare.result import Result
from judgeloop.compare.selector import LiveMaterial
from judgeloop.core.records import TIE
from judgeloop.replay import pictures
from judgeloop.replay.analyse_tables import PairAnalysis, Picks, analyse_pair, picks_of
from judgeloop.replay.compare import Row
from judgeloop.replay.compare_config import ReplayConfig
from judgeloop.replay.compare_inputs import protocol_of, recordings_for
from judgeloop.stats.anatomy import anatomy, projection
from judgeloop.stats.combining import combined

Pictures = dict[str, str]  # SVG by name


def pictures_of_run(comparison: Comparison, result: Result) -> Pictures:
    """Draw one run: its clusters, the norms of judged and of all items, and a projection."""
    config, pool = comparison.config, comparison.pool
    place = {item.id: position for position, item in enumerate(pool.items)}
    vectors = _differences(comparison)
    preferences = np.full(len(pool), pictures.NOT_JUDGED, dtype=np.int8)
    for row in result.labels:
        if row.score is not None:
            preferences[place[row.item_id]] = int(np.sign(row.score - TIE))
    judged = np.array([place[row.item_id] for row in result.labels], dtype=np.int64)
    body = anatomy(vectors, max(1, result.judged), judged)
    drawn = {"clusters": pictures.clusters_picture([body]), "norms": pictures.norms_picture([body])}
    if len(pool) > pictures.FEWEST_ON_A_PLANE:
        plane = projection(vectors, config.seed)
        drawn["projection"] = pictures.projection_picture(plane, preferences, judged, pool.systems)
    return drawn


def _differences(comparison: Comparison) -> pictures.Floats:
    first, second = LiveMaterial(comparison.config, comparison.pool, None).outputs()
    return np.asarray(combined("difference", first, second), dtype=np.float64)


def pictures_of_replay(config: ReplayConfig, rows: list[Row], size: int) -> Pictures:
    """Draw all pairs of a replay, and a projection of one pair, with `size` picked items."""
    found, picks = _analyse(config, size)
    binned = [pair.named for pair in found if len(pair.named)]
    drawn = {"distances": pictures.distances_picture(rows, size)}
    if picks is not None:
        bodies = [pair.anatomy for pair in found]
        plane = projection(picks.vectors, config.seed)
        drawn |= {
            "clusters": pictures.clusters_picture(bodies),
            "norms": pictures.norms_picture(bodies),
            "projection": pictures.projection_picture(plane, picks.preferences, picks.picked),
        }
    if binned:
        drawn["norm-bins"] = pictures.norm_bins_picture(np.array(binned))
    return drawn


def _analyse(config: ReplayConfig, size: int) -> tuple[list[PairAnalysis], Picks | None]:
    """Analyse every pair that is not level, on all cores; also return the first pair's picks."""
    from joblib import Parallel, delayed

    recordings, protocol = recordings_for(config), protocol_of(config)
    pairs = recordings.pairs(config.pairs, np.random.default_rng(config.seed))
    found = Parallel(n_jobs=config.jobs)(
        delayed(analyse_pair)(recordings, pair, protocol, size) for pair in pairs
    )
    looks = (picks_of(recordings, pair, protocol, size) for pair in pairs)
    return [analysis for analysis in found if analysis is not None], next(
        (look for look in looks if look is not None), None
    )
