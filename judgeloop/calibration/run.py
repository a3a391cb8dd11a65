"""`calibrate`: replays past comparisons and returns the figures of each selector with each rule.

It asks no judge and spends nothing. `past.py` reads the comparisons, `study.py` replays them,
`result.py` chooses what to advise, and `text.py` writes the output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from judgeloop.calibration.comparable import NEARLY_ALL, Case, Comparable, usable
from judgeloop.calibration.config import CalibrateConfig
from judgeloop.calibration.past import WholePast, whole_past
from judgeloop.calibration.result import CalibrationFigures, Settings
from judgeloop.calibration.study import REPETITIONS, Study
from judgeloop.core.errors import InputError
from judgeloop.engine.session import Limits
from judgeloop.history.comparisons import AUTO
from judgeloop.history.past import Pair
from judgeloop.methods.stats.decisiveness import exponent
from judgeloop.report.words import count
from judgeloop.settings.setting import declared

MOST_REPLAYED = 120  # number of comparisons; more take time and change the figures little
FEWEST = 2  # number of comparisons; a single comparison has no past and no standard error


def calibrate_past(
    config: CalibrateConfig, observe: Callable[[int, int], None]
) -> CalibrationFigures:
    """Return the figures of every choice on the comparisons that `config` names.

    `observe` is called with the number of parts done and the number of all parts.

    Raises:
        InputError: a setting or file is wrong, or there are too few comparisons to replay.
    """
    limits = Limits(config.min_judgments, config.max_judgments)
    whole = whole_past(config)
    rng = np.random.default_rng(config.seed)
    rows, baseline = _like_a_new_one(whole)
    found = _some(rows, baseline, rng)
    study = Study(whole.past, found, config.risk, limits, rng)
    strategies = []
    for done, some in enumerate(study.all_tried(), 1):
        observe(done, len(study.drawing))
        strategies += some
    return CalibrationFigures(
        source=whole.source,
        judge=whole.judge,
        beside=(*whole.beside, *_left_out(whole, len(rows), baseline)),
        baseline=baseline,
        comparisons=len(found.rows),
        found=len(rows),
        most_with_one=_by_comparisons([whole.past.pairs[row] for row in rows])[0][1],
        known_verdicts=whole.past.verdicts,
        known_comparisons=len(whole.past),
        systems=len({name for row in found.rows for name in whole.past.pairs[row]}),
        items=whole.past.known.shape[1],
        repetitions=REPETITIONS,
        exponent=exponent(whole.past.systems_an_item),
        item_cost_p=whole.item_cost_p,
        looking_back=_looking_back(config),
        always=_always(config),
        strategies=tuple(sorted(strategies, key=lambda choice: config.risk.index(choice.risk))),
    )


def _looking_back(config: CalibrateConfig) -> Settings:
    """Return the settings with which a run reads the same past comparisons."""
    if config.history == AUTO:
        return {}
    margin = {"tie_margin": f"{config.tie_margin:g}"} if config.tie_margin else {}
    return {"history": config.history} | margin


def _always(config: CalibrateConfig) -> Settings:
    """Return the settings other than selector, rule and risk with which a run does the same."""
    return {
        name: str(getattr(config, name))
        for name in ("min_judgments", "max_judgments", "ledger")
        if getattr(config, name) != declared(CalibrateConfig)[name].default
    }


def _like_a_new_one(whole: WholePast) -> tuple[list[int], str | None]:
    """Return the rows to replay and the name of their baseline.

    If more than half of the comparisons share a baseline, the rows are those with the baseline.
    Otherwise they are all usable rows, each replayed as a comparison of two new systems, and the
    name is None.

    Raises:
        InputError: there are too few comparisons.
    """
    rows = usable(whole.past) if len(whole.past) else []
    baseline = _baseline([whole.past.pairs[row] for row in rows])
    if baseline is not None:
        rows = [row for row in rows if baseline in whole.past.pairs[row]]
    if len(rows) < FEWEST:
        raise InputError(_too_little(whole, len(rows)))
    return rows, baseline


def _left_out(whole: WholePast, replayed: int, baseline: str | None) -> list[str]:
    """Describe the comparisons that are not replayed: incomplete, or without the baseline."""
    pairs, known = len({frozenset(pair) for pair in whole.past.pairs}), len(usable(whole.past))
    too_little = f"known on less than {NEARLY_ALL:.0%} of the items, or without a decisive verdict"
    left = [(pairs - known, too_little), (known - replayed, f"without {baseline}")]
    return [f"{count(number, 'comparison')} {why}" for number, why in left if number]


def _some(rows: Sequence[int], baseline: str | None, rng: np.random.Generator) -> Comparable:
    """Return the comparisons to replay: all, or `MOST_REPLAYED` of them drawn at random."""
    if len(rows) > MOST_REPLAYED:
        rows = sorted(rng.choice(rows, MOST_REPLAYED, replace=False).tolist())
    return Comparable(Case.BASELINE if baseline else Case.APART, tuple(rows), "", baseline)


def _baseline(pairs: Sequence[Pair]) -> str | None:
    """Return the system in more than half of the pairs and in more than any other; else None."""
    ranked = _by_comparisons(pairs)
    if not ranked:
        return None
    (name, most), (_, next_most) = ranked[:2]
    return name if most > next_most and 2 * most > len(pairs) else None


def _by_comparisons(pairs: Sequence[Pair]) -> list[tuple[str, int]]:
    """Return the systems with the number of pairs of each, the highest number first."""
    return Counter(name for pair in pairs for name in pair).most_common()


def _too_little(whole: WholePast, found: int) -> str:
    past, items = whole.past, whole.past.known.shape[1]
    has = "no comparisons of systems that differ in a verdict"
    if len(past):
        fullest = int(past.known.sum(axis=1).max())
        has = f"{count(len(past), 'comparison')}, of which the fullest is known on {fullest:,} of {count(items, 'item')}"
    return (
        f"{whole.source}: expected at least {FEWEST} comparisons known on {NEARLY_ALL:.0%} of the "
        f"items, found {found}; it has {has}. Judge all items of some pairs, by judgeloop compare "
        "... `min_judgments=N` `max_judgments=N` with N the number of items of your test set, or "
        "give a table of verdicts, `history=FILE`"
    )
