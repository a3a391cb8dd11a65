"""`calibrate`: replays past comparisons and returns the figures of each selector with each rule.

It reads all past comparisons of one judge on one test set, from a ledger, its runs or a file. Asks
no judge and spends nothing. `study.py` replays the comparisons, `result.py` chooses what to advise,
and `text.py` writes the output.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgeloop.calibration.config import CalibrateConfig
from judgeloop.calibration.result import CalibrationFigures, Settings
from judgeloop.calibration.study import REPETITIONS, Study
from judgeloop.calibration.walks import NEARLY_ALL, Comparable, usable
from judgeloop.core.errors import InputError
from judgeloop.engine.session import Limits
from judgeloop.formats.verdicts import VerdictTable, read_verdicts
from judgeloop.history.comparisons import AUTO, NONE, named_runs, past_of_table, where_of
from judgeloop.history.pairing import compared
from judgeloop.history.past import Pair, Past, no_past
from judgeloop.history.verdict_columns import VerdictColumns, distinct, remembered_verdicts
from judgeloop.judges.catalogue import judge_name as name_of
from judgeloop.ledger.opening import is_ledger
from judgeloop.methods.stats.decisiveness import exponent
from judgeloop.report.words import count, per_cent
from judgeloop.settings.setting import declared

MOST_REPLAYED = 120  # number of comparisons; more take time and change the figures little
FEWEST = 2  # number of comparisons; a single comparison has no past and no standard error


@dataclass(frozen=True, slots=True)
class WholePast:
    """Past comparisons and their source.

    `source` says in words where the comparisons come from. `judge` is the judge's name; None for a
    file, which names no judge. `beside` describes in words the verdicts of other judges and test
    sets, which are not used. `item_cost_p` is the mean cost of comparing two systems on an item, in
    picodollars; None if the cost is unknown or zero.
    """

    past: Past
    source: str
    judge: str | None
    beside: tuple[str, ...]
    item_cost_p: int | None


def whole_past(config: CalibrateConfig) -> WholePast:
    """Return the past comparisons that `config` names.

    Raises:
        InputError: there is no such file, run or judge.
    """
    if config.history == NONE:
        raise InputError("`history=none`: without earlier comparisons there is nothing to replay")
    if Path(config.history).is_file():
        return _of_file(Path(config.history), config)
    runs = named_runs(config.history, config.ledger)
    if not is_ledger(config.ledger):
        raise InputError(
            f"`ledger={config.ledger}`: there is no ledger there; name the ledger with the "
            "comparisons to replay, or give a table of verdicts, `history=FILE`"
        )
    held = remembered_verdicts(config.ledger, None, begin=False, of_runs=runs)
    source = f"{where_of(runs)} ({config.ledger})"
    return _of_ledger(held.only(held.compares), source, config.judge_name)


def _of_file(path: Path, config: CalibrateConfig) -> WholePast:
    if config.judge_name is not None:
        raise InputError(f"`judge_name={config.judge_name}`: a file of verdicts names no judge; leave it out")
    table = read_verdicts(path)
    past = past_of_table(table, table.items, config.tie_margin)
    return WholePast(past, path.name, None, (), _item_cost_p(table))


def _item_cost_p(table: VerdictTable) -> int | None:
    """Return the mean cost of comparing two systems on an item; None if it is unknown or zero.

    That is one verdict on both systems in a table of pairs, and two ratings in a table of scores.
    """
    costs = [recorded.cost_p for recorded in table.rows.values() if recorded.score is not None]
    verdicts = 1 if table.paired else 2
    return _mean(verdicts * sum(costs), len(costs))


def _mean(cost_p: int, items: int) -> int | None:
    return round(cost_p / items) if cost_p else None


def _of_ledger(held: VerdictColumns, source: str, judge_name: str | None) -> WholePast:
    if not len(held):
        if judge_name is not None:
            raise InputError(f"`judge_name={judge_name}`: there are no comparisons in {source}")
        return WholePast(no_past(0), source, None, (), None)
    judge, verdicts, others = _of_one_judge(held, source, judge_name)
    chosen, *sets = _by_test_set(verdicts)
    positions = {place: at for at, place in enumerate(sorted(chosen.places.values()))}
    past = compared(chosen, positions)
    beside = [f"{name}, {count(own, 'verdict')} (`judge_name`)" for name, own in others]
    if sets:
        beside.append(f"{_sets(sets)} (`history=RUN,RUN...`)")
    cost_p = sum(chosen.costs_p.tolist())
    return WholePast(past, source, judge, tuple(beside), _mean(cost_p, past.verdicts))


def _sets(sets: Sequence[VerdictColumns]) -> str:
    return f"{count(len(sets), 'other test set')}, {count(sum(map(len, sets)), 'verdict')}"


def _of_one_judge(
    held: VerdictColumns, source: str, judge_name: str | None
) -> tuple[str, VerdictColumns, list[tuple[str, int]]]:
    """Return the name and verdicts of the chosen judge, then the number of each other judge's.

    The chosen judge has the name `judge_name`, or has given most verdicts if that is None.

    Raises:
        InputError: no judge has the name.
    """
    judges = held.judges
    numbers, own = distinct(held.judge)
    named = [
        (name_of(judges[number].provider, judges[number].model), given, number)
        for number, given in zip(numbers, own, strict=True)
    ]
    known = ", ".join(sorted({name for name, _, _ in named}))
    named.sort(key=lambda judge: (judge[0] == judge_name, judge[1]), reverse=True)
    (name, _, number), *others = named
    if judge_name not in {None, name}:
        raise InputError(f"`judge_name={judge_name}`: no such judge in {source}; it has {known}")
    chosen = held.only(held.judge == number)
    return name, chosen, [(_other(other, name), given) for other, given, _ in others]


def _other(name: str, chosen: str) -> str:
    return f"{name} with another prompt or other settings" if name == chosen else name


def _by_test_set(verdicts: VerdictColumns) -> list[VerdictColumns]:
    """Group the verdicts by test set, the largest first; runs that share an item share a set."""
    sets: list[tuple[set[int], list[int]]] = []  # the places of each set, and its runs
    numbers, given = distinct(verdicts.run)
    order = np.argsort(verdicts.run, kind="stable")
    _, begins = np.unique(verdicts.run[order], return_index=True)
    by_run = dict(zip(sorted(numbers), np.split(order, begins[1:]), strict=True))
    for run in numbers:
        places, together = set(np.unique(verdicts.place[by_run[run]]).tolist()), [run]
        for held in [held for held in sets if held[0] & places]:
            sets.remove(held)
            places, together = held[0] | places, held[1] + together
        sets.append((places, together))
    sizes = dict(zip(numbers, given, strict=True))
    sets.sort(key=lambda found: sum(sizes[run] for run in found[1]), reverse=True)
    return [verdicts.only(np.concatenate([by_run[run] for run in runs])) for _, runs in sets]


def calibrate_past(config: CalibrateConfig, observe: Callable[[int, int], None]) -> CalibrationFigures:
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
    too_little = f"known on less than {per_cent(NEARLY_ALL)} of the items, or without a decisive verdict"
    left = [(pairs - known, too_little), (known - replayed, f"without {baseline}")]
    return [f"{count(number, 'comparison')} {why}" for number, why in left if number]


def _some(rows: Sequence[int], baseline: str | None, rng: np.random.Generator) -> Comparable:
    """Return the comparisons to replay: all, or `MOST_REPLAYED` of them drawn at random."""
    if len(rows) > MOST_REPLAYED:
        rows = sorted(rng.choice(rows, MOST_REPLAYED, replace=False).tolist())
    return Comparable(tuple(rows), "", baseline)


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
        has = (
            f"{count(len(past), 'comparison')}, of which the fullest is known on {fullest:,} of {count(items, 'item')}"
        )
    return (
        f"{whole.source}: expected at least {FEWEST} comparisons known on {per_cent(NEARLY_ALL)} of the "
        f"items, found {found}; it has {has}. Judge all items of some pairs, by judgeloop compare "
        "... `min_judgments=N` `max_judgments=N` with N the number of items of your test set, or "
        "give a table of verdicts, `history=FILE`"
    )
