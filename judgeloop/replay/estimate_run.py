"""`replay --job estimate`: how near selectors come to the mean score of one system, on recorded scores.

It runs on all cores what `recorded_systems.py` has read. Tables are made in `replay/accuracy.py`; printing is the command's business.
"""

from __future__ import annotations

from collections.abc import Callable

from judgeloop.replay.compare import Row
from judgeloop.replay.compare_inputs import JOURNAL
from judgeloop.replay.config import ReplayEstimateConfig
from judgeloop.replay.estimate import CLUSTERING, WALKING, Estimations, Subject, stratify, walk
from judgeloop.replay.estimate_inputs import read_systems
from judgeloop.replay.journal import Journal, Pair

WALK = 0  # the part of a system's runs that is no share's: the shares are numbered from 1


def replay_estimate(config: ReplayEstimateConfig, observe: Callable[[int, int], None]) -> list[Row]:
    """Run all that is not run yet; all rows, in the order of systems, selectors, shares and repetitions.

    `observe` is told how many of how many parts are finished: a system's at one share, or its walks through all.

    Raises:
        InputError: something given is wrong.
    """
    from joblib import Parallel, delayed

    journal = Journal(config.output / JOURNAL, config.decisive(), resume=config.resume)
    subjects, selectors = read_systems(config)
    plan = plan_for(config, selectors)
    wanted = [(number, part) for number in range(len(subjects)) for part in _parts(plan)]
    todo = [one for one in wanted if one not in journal.finished]
    observe(len(wanted) - len(todo), len(wanted))
    run = Parallel(n_jobs=config.jobs, return_as="generator_unordered")
    for one, rows in run(delayed(_run_part)(subjects[one[0]], one, plan) for one in todo):
        journal.add(one, rows)
        observe(len(journal.finished), len(wanted))
    places = {name: place for place, name in enumerate(plan.selectors)}
    return sorted(
        (row for one in wanted for row in journal.finished[one]),
        key=lambda row: (row["system"], places[row["selector"]], row["share"], row["repetition"]),
    )


def plan_for(config: ReplayEstimateConfig, selectors: tuple[str, ...]) -> Estimations:
    """What to run on every system."""
    return Estimations(
        selectors=selectors,
        shares=config.shares,
        seeds=config.seeds,
        risk=config.risk,
        distance="ks" if config.confidence_by == "first-token" else "wasserstein",
        by_confidence=config.proxy == "confidence",
        history=config.history_systems,
        seed=config.seed,
    )


def _parts(plan: Estimations) -> list[int]:
    walks = [WALK] if plan.among(WALKING) else []
    return walks + (list(range(1, len(plan.shares) + 1)) if plan.among(CLUSTERING) else [])


def _run_part(subject: Subject, one: Pair, plan: Estimations) -> tuple[Pair, list[Row]]:
    number, part = one
    if part == WALK:
        return one, walk(subject, number, plan)
    return one, stratify(subject, number, plan.shares[part - 1], plan)
