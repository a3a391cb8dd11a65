"""Recorded systems for `replay --job estimate`: the scores of each, and the vectors and confidences that selectors look at.

It reads files and asks models for vectors; nothing is run on the scores here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.core.verdict_table import VerdictTable
from judgeloop.estimate.selector import vectors_for
from judgeloop.formats.confidence import read_confidence
from judgeloop.formats.join import join
from judgeloop.formats.outputs import Outputs, read_items, read_outputs
from judgeloop.formats.tables import read_rows
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.replay.compare_inputs import vectors_from
from judgeloop.replay.config import ReplayEstimateConfig
from judgeloop.replay.estimate import NEED_CONFIDENCE, NEED_VECTORS, OF_LAST_LAYER, Subject
from judgeloop.represent.reducing import reduced
from judgeloop.run.settings import EstimateConfig, checked
from judgeloop.stats.strata import Floats

# Without --selectors; what AcTracer is without its parts has to be asked for.
EVERY = ("random", "stratified", "actracer", "stratified-confidence", "confidence-systematic", "cross-entropy",
         "mmd-critic", "diffuse")  # fmt: skip


@dataclass(frozen=True)
class _Sources:
    """What was read for all systems: the items' ids, the recorded scores, and outputs or vectors where anything looks at them."""

    config: ReplayEstimateConfig
    selectors: tuple[str, ...]
    table: VerdictTable
    ids: tuple[str, ...]
    outputs: dict[str, Outputs]
    vectors: dict[str, Floats]


def read_systems(config: ReplayEstimateConfig) -> tuple[list[Subject], tuple[str, ...]]:
    """Every system of the verdicts that is not left out, by name, and the selectors to run.

    Those are the ones asked for; else all, less those that look at a confidence where the outputs hold none.

    Raises:
        InputError: a file is wrong, or they do not go together.
    """
    _check(config)
    table = _read_scores(config.verdicts)
    if unknown := sorted(set(config.leave_out) - table.systems):
        raise InputError(f"--leave-out {unknown[0]}: the verdicts know no such system")
    systems = sorted(table.systems - set(config.leave_out))
    if not systems:
        raise InputError(f"{config.verdicts}: a replay needs a system, found none")
    vectors: dict[str, Floats] = {}
    ids = tuple(located.row.id or "" for located in read_items(config.items))
    if config.vectors is not None:
        vectors = {name: np.asarray(one) for name, one in vectors_from(config.vectors, ids).items()}
        systems = [name for name in systems if name in vectors]
        if not systems:
            raise InputError(f"--vectors: {config.vectors} knows no system that has verdicts")
    outputs = _read_outputs(config, systems) if _looks_at_outputs(config) else {}
    selectors = config.selectors or _possible(config, outputs)
    sources = _Sources(config, selectors, table, ids, outputs, vectors)
    return [_subject(sources, name) for name in systems], selectors


def _check(config: ReplayEstimateConfig) -> None:
    if not config.represent.startswith("hidden:") and config.layer != "middle":
        raise InputError(f"--layer {config.layer}: only --represent hidden:MODEL has layers")
    if config.vectors is not None and config.represent != "lexical":
        raise InputError(
            f"--represent {config.represent}: --vectors are given, and nothing else is looked at"
        )


def _read_scores(path: Path) -> VerdictTable:
    table = read_verdicts(path)
    if table.paired:
        raise DataError(path, "expected a score a system (item_id, model, score), found pairs")
    for (item, system), recorded in table.rows.items():
        if recorded.score is not None and not 0 <= recorded.score <= 1:
            raise DataError(
                path,
                f"--job estimate needs scores in [0, 1], found {recorded.score:g} of {system!r} on {item!r}",
            )
    return table


def _looks_at_outputs(config: ReplayEstimateConfig) -> bool:
    """Whether for texts, to make vectors of, or for confidences."""
    names = set(config.selectors or EVERY)
    texts = config.vectors is None and bool(names & NEED_VECTORS)
    return texts or config.proxy == "confidence" or bool(names & NEED_CONFIDENCE)


def _read_outputs(config: ReplayEstimateConfig, systems: list[str]) -> dict[str, Outputs]:
    """The output file of each system; one system and one file belong together whatever their names."""
    paths = [config.outputs]
    if config.outputs.is_dir():
        paths = sorted(path for path in config.outputs.iterdir() if not path.name.startswith("."))
    found = [read_outputs(path) for path in paths]
    if len(found) == len(systems) == 1:
        return {systems[0]: found[0]}
    named = {one.system: one for one in found}
    if missing := [name for name in systems if name not in named]:
        raise InputError(
            f"{config.outputs}: no outputs of {missing[0]!r}, which has verdicts; leave it out with --leave-out"
        )
    return {name: named[name] for name in systems}


def _possible(config: ReplayEstimateConfig, outputs: dict[str, Outputs]) -> tuple[str, ...]:
    known = all(
        any(config.confidence in row.fields for row in read_rows(one.path))
        for one in outputs.values()
    )
    return tuple(name for name in EVERY if known or name not in NEED_CONFIDENCE)


def _subject(sources: _Sources, name: str) -> Subject:
    """A system on the items that it has a score for, and an output where any is looked at."""
    config, wanted = sources.config, set(sources.selectors)
    scores = {
        item: recorded.score
        for (item, system), recorded in sources.table.rows.items()
        if system == name and recorded.score is not None
    }
    pool = _pool(sources, name, set(scores))
    ids = (
        [one for one in sources.ids if one in scores]
        if pool is None
        else [one.id for one in pool.items]
    )
    known = np.array([scores[one] for one in ids], dtype=np.float64)
    if not known.sum() > 0:
        raise InputError(
            f"{config.verdicts}: {name!r} has no score above 0 on these items, so that no error is relative to it; leave it out "
            "with --leave-out"
        )
    confidence = None
    if pool is not None and (wanted & NEED_CONFIDENCE or config.proxy == "confidence"):
        confidence = read_confidence(
            sources.outputs[name].path, pool.items, config.confidence, config.confidence_by
        )
    vectors = last = None
    if wanted & NEED_VECTORS:
        vectors = _vectors(sources, name, pool, ids, config.layer)
        hidden = config.represent.startswith("hidden:") and wanted & set(OF_LAST_LAYER)
        last = _vectors(sources, name, pool, ids, "last") if hidden else vectors
    return Subject(name, known, confidence, vectors, last, _earlier(sources, name, ids))


def _earlier(sources: _Sources, name: str, ids: list[str]) -> Floats | None:
    """The scores of all other systems on these items, shape (systems, items), NaN where there is none; None where no history is drawn.

    Raises:
        InputError: there are fewer than one history takes.
    """
    config = sources.config
    if not config.history_systems:
        return None
    others = sorted(sources.table.systems - {name, *config.leave_out})
    if len(others) < config.history_systems:
        raise InputError(
            f"--history-systems {config.history_systems}: beside {name!r} there are {len(others)} systems with verdicts"
        )
    rows, columns = ({one: number for number, one in enumerate(names)} for names in (others, ids))
    scores = np.full((len(others), len(ids)), np.nan)
    for (item, system), recorded in sources.table.rows.items():
        if system in rows and item in columns and recorded.score is not None:
            scores[rows[system], columns[item]] = recorded.score
    return scores


def _pool(sources: _Sources, name: str, scored: set[str]) -> Pool | None:
    """The system's outputs on the items with a score; None where nothing looks at them."""
    if name not in sources.outputs:
        return None
    items = read_items(sources.config.items)
    whole = join([sources.outputs[name]], items, sources.config.items, allow_partial=True).pool
    kept = [place for place, item in enumerate(whole.items) if item.id in scored]
    return Pool(
        items=tuple(whole.items[place] for place in kept),
        systems=whole.systems,
        outputs=(tuple(whole.outputs[0][place] for place in kept),),
    )


def _vectors(sources: _Sources, name: str, pool: Pool | None, ids: list[str], layer: str) -> Floats:
    """What a run of `estimate` would look at, shape (items, dimensions); or the vectors given, reduced as it reduces its own."""
    config = sources.config
    if config.vectors is not None:
        places = {one: place for place, one in enumerate(sources.ids)}
        return reduced(sources.vectors[name][[places[one] for one in ids]])
    assert pool is not None, "read for selectors that look at vectors"
    live = checked(
        EstimateConfig,
        {
            "judge": f"replay:{config.verdicts}",
            "outputs": sources.outputs[name].path,
            "selector": "stratified",
            "represent": config.represent,
            "layer": layer,
            "seed": config.seed,
            "cache_dir": config.cache_dir,
        },
    )
    found = vectors_for(live, pool)
    assert found is not None, "the selector looks at vectors"
    return found
