"""`replay`: how selectors and stopping rules fare on recorded verdicts, over many pairs of systems.

It reads, embeds, and runs the pairs on all cores. Tables are made in `replay/tables.py`; printing is the command's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.core.verdict_table import VerdictTable
from judgeloop.engine.session import Limits
from judgeloop.formats.join import join
from judgeloop.formats.outputs import read_items, read_outputs
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.replay.compare import Protocol, Row, run_pair
from judgeloop.replay.config import ReplayConfig
from judgeloop.replay.journal import Journal
from judgeloop.replay.output_lengths import output_lengths
from judgeloop.replay.recordings import Recordings
from judgeloop.represent.embed import embed
from judgeloop.selectors.making import LOOKING_AT_VECTORS, Variant

JOURNAL = "runs.jsonl"
FEWEST_SYSTEMS = 2


def replay(config: ReplayConfig, observe: Callable[[int, int], None]) -> list[Row]:
    """Run every pair that is not run yet; all rows, in an order of their own whatever finished first.

    `observe` is told how many of how many pairs are finished.

    Raises:
        InputError: something given is wrong.
    """
    from joblib import Parallel, delayed

    journal = Journal(config.output / JOURNAL, config.decisive(), resume=config.resume)
    recordings = recordings_for(config)
    pairs = recordings.pairs(config.pairs, np.random.default_rng(config.seed))
    todo = [pair for pair in pairs if pair not in journal.finished]
    observe(len(pairs) - len(todo), len(pairs))
    protocol = protocol_of(config)
    run = Parallel(n_jobs=config.jobs, return_as="generator_unordered")
    for pair, rows in run(delayed(_run_named)(recordings, pair, protocol) for pair in todo):
        journal.add(pair, rows)
        observe(sum(pair in journal.finished for pair in pairs), len(pairs))
    return [row for pair in pairs for row in journal.finished[pair]]


def _run_named(
    recordings: Recordings, pair: tuple[int, int], protocol: Protocol
) -> tuple[Any, list[Row]]:
    return pair, run_pair(recordings, pair, protocol)


def protocol_of(config: ReplayConfig) -> Protocol:
    """What to run on every pair."""
    return Protocol(
        selectors=config.selectors,
        seeds=config.seeds,
        subset=config.subset,
        variant=Variant(config.combine, config.clustering, config.representative),
        budgets=() if config.iterative else config.budgets,
        rules=config.rules if config.iterative else (),
        risks=config.risk if config.iterative else (),
        limits=Limits(config.min_judgments, config.max_judgments),
        give_up=config.give_up,
        history=config.history_systems,
        power=config.history_power,
    )


def recordings_for(config: ReplayConfig) -> Recordings:
    """Read the verdicts, and the texts or vectors as far as a selector looks at them.

    Raises:
        InputError: a file is wrong, or they do not go together.
    """
    table = read_verdicts(config.verdicts)
    if table.paired:
        raise DataError(
            config.verdicts, "expected a score a system (item_id, model, score), found pairs"
        )
    systems = sorted(table.systems - set(config.leave_out))
    if unknown := sorted(set(config.leave_out) - table.systems):
        raise InputError(f"--leave-out {unknown[0]}: the verdicts know no such system")
    if not LOOKING_AT_VECTORS & set(config.selectors):
        items = sorted({row[0] for row in table.rows})
        return _with_lengths(config, _recordings(config, table, systems, items), items)
    if config.vectors is not None:
        items = [located.row.id or "" for located in read_items(config.items)]
        vectors = vectors_from(config.vectors, items)
        recordings = _recordings(
            config, table, [name for name in systems if name in vectors], items
        )
        outputs = np.stack([vectors[name] for name in recordings.systems])
        prompts = [located.row.prompt or "" for located in read_items(config.items)]
        recordings = replace(recordings, outputs=outputs, inputs=_inputs(config, prompts))
        return _with_lengths(config, recordings, items)
    pool = _pool(config, systems)
    recordings = _recordings(config, table, pool.systems, [item.id for item in pool.items])
    texts = [text for outputs in pool.outputs for text in outputs]
    outputs = embed(texts, config).reshape(len(pool.systems), len(pool), -1)
    recordings = replace(
        recordings, outputs=outputs, inputs=_inputs(config, [item.prompt for item in pool.items])
    )
    return _with_lengths(config, recordings, [item.id for item in pool.items])


def _with_lengths(config: ReplayConfig, recordings: Recordings, items: Sequence[str]) -> Recordings:
    """With how long the outputs are, where something looks at that and there are any."""
    if not config.looks_at_lengths or not config.outputs.is_dir():
        return recordings
    return replace(
        recordings, lengths=output_lengths(config.outputs, config.items, recordings.systems, items)
    )


def _inputs(config: ReplayConfig, prompts: Sequence[str]) -> NDArray[np.floating] | None:
    return embed(prompts, config) if "input-cluster" in config.selectors else None


def _recordings(
    config: ReplayConfig, table: VerdictTable, systems: Sequence[str], items: Sequence[str]
) -> Recordings:
    """The scores of `systems` on `items`, as an array."""
    if len(systems) < FEWEST_SYSTEMS:
        raise InputError(
            f"{config.verdicts}: a replay needs two systems, found {', '.join(systems) or 'none'}"
        )
    others = len(systems) - FEWEST_SYSTEMS
    if config.history_systems > others:
        raise InputError(
            f"--history-systems {config.history_systems}: {len(systems)} systems are recorded, which leaves {others} beside a pair"
        )
    scores = np.full((len(systems), len(items)), np.nan)
    rows, columns = (
        {name: number for number, name in enumerate(names)} for names in (systems, items)
    )
    for (item, system), recorded in table.rows.items():
        if system in rows and item in columns and recorded.score is not None:
            scores[rows[system], columns[item]] = recorded.score
    return Recordings(tuple(systems), scores, tie_margin=config.tie_margin)


def _pool(config: ReplayConfig, systems: Sequence[str]) -> Pool:
    """The outputs of all judged systems on the items that all of them have."""
    if not config.outputs.is_dir():
        raise InputError(f"{config.outputs}: expected a folder of output files, one a system")
    files = sorted(path for path in config.outputs.iterdir() if not path.name.startswith("."))
    found = [one for one in map(read_outputs, files) if one.system in systems]
    if missing := sorted(set(systems) - {one.system for one in found}):
        raise InputError(
            f"{config.outputs}: no outputs of {missing[0]!r}, which has verdicts; leave it out with --leave-out"
        )
    return join(found, read_items(config.items), config.items, allow_partial=True).pool


def vectors_from(path: Path, items: Sequence[str]) -> dict[str, NDArray[np.floating]]:
    """The vectors of each system's outputs, shape (items, dimensions), from an .npz with `models` and `embeddings`."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names, vectors = arrays["models"], arrays["embeddings"]
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            path, f"expected an .npz with the arrays models and embeddings: {error}"
        ) from None
    if vectors.ndim != 3 or vectors.shape[:2] != (len(names), len(items)):  # noqa: PLR2004 - systems, items, dimensions
        raise DataError(
            path,
            f"expected embeddings of the shape ({len(names)}, {len(items)}, …), found {vectors.shape}",
        )
    return dict(zip(map(str, names), np.asarray(vectors, dtype=np.float32), strict=True))
