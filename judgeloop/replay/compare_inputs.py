"""Reads what a replay of comparisons needs, and checks its settings.

Returns `Recordings`: recorded scores, and vectors and output lengths if a selector uses them. Runs
nothing on them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.engine.session import Limits
from judgeloop.formats.rows import read_items
from judgeloop.formats.verdicts import VerdictTable
from judgeloop.methods.selectors.catalogue import VECTORS, Need
from judgeloop.methods.selectors.ingredients import Variant
from judgeloop.replay.compare import Protocol, Recordings, suiting
from judgeloop.replay.config import ReplayConfig
from judgeloop.replay.recorded_files import (
    item_ids,
    needs_of,
    output_lengths,
    read_pool,
    read_scores,
    read_vectors,
    systems_of,
)
from judgeloop.represent.embed import embed

FEWEST_SYSTEMS = 2
SHOWN = 3  # systems named in a message


def check(config: ReplayConfig) -> list[str]:
    """Refuse settings that contradict each other; return notes on the others, as sentences.

    Raises:
        InputError: there is nothing to run, or a setting has no effect with the other settings.
    """
    if config.history_systems and Need.HISTORY not in needs_of("compare", config.selectors):
        raise InputError("`history_systems`: only the selector decisive uses a history")
    if config.give_up is not None and not config.iterative:
        raise InputError("`give_up`: only runs until a rule is met can give up; use `iterative`")
    return _check_rules(config) if config.iterative else []


def without_lengths(config: ReplayConfig) -> str | None:
    """Return why a selector does not get the output lengths that it uses; None if it gets them.

    Call this after the other inputs have been checked.
    """
    if not config.looks_at_lengths or config.outputs.is_dir():
        return None
    alone = "decisive uses the history alone, without lengths of outputs"
    return f"{config.outputs} is not a folder: {alone}"


def _check_rules(config: ReplayConfig) -> list[str]:
    """Return a note on the rules that are not run with some selectors."""
    refused = {
        name: set(config.rules) - set(suiting(config.rules, name)) for name in config.selectors
    }
    if all(rules == set(config.rules) for rules in refused.values()):
        raise InputError(
            "`rules`: expected a rule that holds for these `selectors`; a guarantee needs random"
        )
    rules = [rule for rule in config.rules if any(rule in names for names in refused.values())]
    if not rules:
        return []
    picky = ", ".join(name for name, names in refused.items() if names)
    return [
        f"{', '.join(rules)} not run with {picky}: valid only for random draws that prefer no item"
    ]


def protocol_of(config: ReplayConfig) -> Protocol:
    """Return what to run on every pair."""
    return Protocol(
        selectors=config.selectors,
        seeds=config.seeds,
        subset=config.subset,
        variant=Variant(config.combine, config.clustering, config.representative),
        sizes=() if config.iterative else config.sizes,
        rules=config.rules if config.iterative else (),
        risks=config.risk if config.iterative else (),
        limits=Limits(config.min_judgments, config.max_judgments),
        give_up=config.give_up,
        history=config.history_systems,
    )


def recordings_for(config: ReplayConfig) -> Recordings:
    """Read the verdicts, and the texts or vectors that a selector uses.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    table = read_scores(config.verdicts)
    systems = systems_of(table, config.leave_out)
    if not needs_of("compare", config.selectors) & VECTORS:
        items = table.items
        recordings = _recordings(config, table, systems, items)
    elif config.vectors is not None:
        items = item_ids(config.items)
        vectors = read_vectors(config.vectors, items)
        systems = _with_vectors(config.vectors, systems, vectors)
        recordings = replace(
            _recordings(config, table, systems, items),
            outputs=np.stack([vectors[name] for name in systems]),
            inputs=_inputs(config, [row.row.prompt or "" for row in read_items(config.items).rows]),
        )
    else:
        pool = read_pool(config.outputs, config.items, systems)
        items = [item.id for item in pool.items]
        texts = [text for outputs in pool.outputs for text in outputs]
        recordings = replace(
            _recordings(config, table, systems, items),
            outputs=_embedded(config, texts).reshape(len(systems), len(pool), -1),
            inputs=_inputs(config, [item.prompt for item in pool.items]),
        )
    if not config.looks_at_lengths or not config.outputs.is_dir():
        return recordings
    lengths = output_lengths(config.outputs, config.items, recordings.systems, items)
    return replace(recordings, lengths=lengths)


def _with_vectors(path: Path, systems: Sequence[str], vectors: Collection[str]) -> list[str]:
    """Return the systems with verdicts that also have vectors, in their order.

    Raises:
        InputError: there are fewer than two, though there are verdicts on two.
    """
    known = [name for name in systems if name in vectors]
    if len(known) < FEWEST_SYSTEMS <= len(systems):
        raise InputError(
            f"`vectors`: {path} has vectors of {', '.join(known) or 'none'} of the {len(systems)} systems with "
            f"verdicts, and a replay needs two; it names {_some(vectors)}, and the verdicts {_some(systems)}"
        )
    return known


def _some(names: Collection[str]) -> str:
    """Return the first names, and the number of the others."""
    more = len(names) - SHOWN
    return ", ".join(sorted(names)[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _inputs(config: ReplayConfig, prompts: Sequence[str]) -> NDArray[np.floating] | None:
    wanted = Need.PROMPT_VECTORS in needs_of("compare", config.selectors)
    return _embedded(config, prompts) if wanted else None


def _embedded(config: ReplayConfig, texts: Sequence[str]) -> NDArray[np.floating]:
    return embed(texts, config.represent, seed=config.seed, cache_dir=config.cache_dir)


def _recordings(
    config: ReplayConfig, table: VerdictTable, systems: Sequence[str], items: Sequence[str]
) -> Recordings:
    """Return the recordings of `systems` on `items`, without vectors and lengths."""
    if len(systems) < FEWEST_SYSTEMS:
        raise InputError(
            f"{config.verdicts}: a replay needs two systems, found {', '.join(systems) or 'none'}"
        )
    others = len(systems) - FEWEST_SYSTEMS
    if config.history_systems > others:
        raise InputError(
            f"`history_systems={config.history_systems}`: {len(systems)} systems are recorded, which "
            f"leaves {others} besides a pair"
        )
    return Recordings(tuple(systems), table.scores(systems, items), tie_margin=config.tie_margin)
