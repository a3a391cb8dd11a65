"""Reads what a replay of estimates needs, and checks its settings.

Returns a `Subject` for each system: recorded scores, and vectors and confidences if a selector uses
them. Computes vectors with models. Runs nothing on the scores.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.formats.confidence import read_confidence
from judgeloop.formats.join import join
from judgeloop.formats.rows import Outputs, read_items, read_outputs
from judgeloop.formats.tables import read_rows
from judgeloop.formats.verdicts import VerdictTable
from judgeloop.methods.selectors.catalogue import VECTORS, Need, names_of, selector_row
from judgeloop.methods.stats.strata import Floats
from judgeloop.questions.estimate.config import BY_CONFIDENCE, BY_HISTORY
from judgeloop.questions.estimate.selector import HIDDEN, states_of
from judgeloop.replay import recorded_files
from judgeloop.replay.config import ReplayEstimateConfig
from judgeloop.replay.estimate import Subject
from judgeloop.represent.embed import embed, reduced

QUESTION = "estimate"
STATES = frozenset({Need.LAST_STATES, Need.CLUSTERS})  # vectors of hidden states, or in their place
# The selectors run without `selectors`; ablations run only by name.
EVERY = names_of(QUESTION)


def check(config: ReplayEstimateConfig) -> None:
    """Refuse settings that contradict each other.

    Raises:
        InputError: a setting has no effect with the other settings.
    """
    if (config.proxy == BY_HISTORY) != (config.history_systems > 0):
        raise InputError(
            "`proxy=history` and `history_systems=N`: neither has an effect without the other"
        )
    if config.layer is not None and not config.represent.startswith(f"{HIDDEN}:"):
        raise InputError(f"`layer={config.layer}`: only `represent=hidden:MODEL` has layers")
    if config.vectors is not None and config.represent != "lexical":
        raise InputError(f"`represent={config.represent}`: not used, because `vectors` are given")


def read_systems(
    config: ReplayEstimateConfig,
) -> tuple[list[Subject], ReplayEstimateConfig]:
    """Return every system with verdicts that is not left out, by name, and the settings completed.

    Without `selectors` in the settings, all selectors are run. Those that use a confidence are left
    out if the outputs contain none.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    check(config)
    table = _read_scores(config.verdicts)
    systems = recorded_files.systems_of(table, config.leave_out)
    if not systems:
        raise InputError(f"{config.verdicts}: a replay needs at least one system, found none")
    vectors: dict[str, Floats] = {}
    ids = tuple(recorded_files.item_ids(config.items))
    if config.vectors is not None:
        vectors = {
            name: np.asarray(table)
            for name, table in recorded_files.read_vectors(config.vectors, ids).items()
        }
        systems = [name for name in systems if name in vectors]
        if not systems:
            raise InputError(f"`vectors`: {config.vectors} contains no system that has verdicts")
    outputs = _read_outputs(config, systems) if _looks_at_outputs(config) else {}
    selectors = config.selectors or _possible(config, outputs)
    sources = _Sources(
        config, recorded_files.needs_of(QUESTION, selectors), table, ids, outputs, vectors
    )
    return [sources.subject(name) for name in systems], replace(config, selectors=selectors)


def _read_scores(path: Path) -> VerdictTable:
    table = recorded_files.read_scores(path)
    for (item, system), recorded in table.rows.items():
        if recorded.score is not None and not 0 <= recorded.score <= 1:
            raise DataError(
                path,
                f"an estimate needs scores in [0, 1], found {recorded.score:g} of {system!r} on {item!r}",
            )
    return table


def _looks_at_outputs(config: ReplayEstimateConfig) -> bool:
    """Return whether outputs are used: their texts for vectors, or their confidences."""
    needs = recorded_files.needs_of(QUESTION, config.selectors or EVERY)
    texts = config.vectors is None and bool(needs & VECTORS)
    return texts or config.proxy == BY_CONFIDENCE or Need.CONFIDENCE in needs


def _read_outputs(config: ReplayEstimateConfig, systems: list[str]) -> dict[str, Outputs]:
    """Return the outputs of each system; a single file belongs to a single system of any name."""
    path = config.outputs
    found = recorded_files.read_folder(path) if path.is_dir() else [read_outputs(path)]
    if len(found) == len(systems) == 1:
        return {systems[0]: found[0]}
    named = {outputs.system: outputs for outputs in found}
    if missing := [name for name in systems if name not in named]:
        raise InputError(
            f"{path}: no outputs of {missing[0]!r}, which has verdicts; leave it out with `leave_out`"
        )
    return {name: named[name] for name in systems}


def _possible(config: ReplayEstimateConfig, outputs: dict[str, Outputs]) -> tuple[str, ...]:
    known = all(
        any(config.confidence in row.fields for row in read_rows(Path(of_system.path)))
        for of_system in outputs.values()
    )
    return tuple(
        name for name in EVERY if known or Need.CONFIDENCE not in selector_row(QUESTION, name).needs
    )


@dataclass(frozen=True)
class _Sources:
    """What was read for all systems.

    `ids` are the items' ids. `outputs` and `vectors`, by system, are empty if nothing uses them.
    """

    config: ReplayEstimateConfig
    needs: frozenset[Need]
    table: VerdictTable
    ids: tuple[str, ...]
    outputs: dict[str, Outputs]
    vectors: dict[str, Floats]

    def subject(self, name: str) -> Subject:
        """Return a system on the items with a score, and with an output if outputs are used."""
        config, needs = self.config, self.needs
        scored = self.table.scores([name], self.ids)[0]
        scores = {
            item: float(score)
            for item, score in zip(self.ids, scored, strict=True)
            if not np.isnan(score)
        }
        pool = self._pool(name, set(scores))
        ids = list(scores) if pool is None else [item.id for item in pool.items]
        known = np.array([scores[item] for item in ids], dtype=np.float64)
        if not known.sum() > 0:
            raise InputError(
                f"{config.verdicts}: {name!r} has no score above 0 on these items, so that relative errors "
                "are undefined; leave it out with `leave_out`"
            )
        confidence = None
        if pool is not None and (Need.CONFIDENCE in needs or config.proxy == BY_CONFIDENCE):
            confidence = read_confidence(
                Path(self.outputs[name].path), pool.items, config.confidence, config.confidence_by
            )
        vectors = last = outputs = None
        if needs & STATES:
            vectors = self._vectors(name, pool, ids, config.layer or "middle")
            hidden = config.represent.startswith(f"{HIDDEN}:") and Need.LAST_STATES in needs
            last = self._vectors(name, pool, ids, "last") if hidden else vectors
        if Need.OUTPUT_VECTORS in needs:
            outputs = self._output_vectors(name, pool, ids)
        return Subject(name, known, confidence, vectors, last, outputs, self._earlier(name, ids))

    def _earlier(self, name: str, ids: list[str]) -> Floats | None:
        """Return the scores of all other systems on these items, shape (systems, items).

        A missing score is NaN. The result is None if no history is drawn.

        Raises:
            InputError: there are fewer other systems than a history needs.
        """
        config = self.config
        if not config.history_systems:
            return None
        others = sorted(self.table.systems - {name, *config.leave_out})
        if len(others) < config.history_systems:
            raise InputError(
                f"`history_systems={config.history_systems}`: besides {name!r} there are {len(others)} "
                "systems with verdicts"
            )
        return self.table.scores(others, ids)

    def _pool(self, name: str, scored: set[str]) -> Pool | None:
        """Return the system's outputs on the items with a score; None if outputs are not used."""
        if name not in self.outputs:
            return None
        items = read_items(self.config.items).rows
        whole = join([self.outputs[name]], items, self.config.items, allow_partial=True).pool
        kept = [place for place, item in enumerate(whole.items) if item.id in scored]
        return Pool(
            items=tuple(whole.items[place] for place in kept),
            systems=whole.systems,
            outputs=(tuple(whole.outputs[0][place] for place in kept),),
        )

    def _vectors(self, name: str, pool: Pool | None, ids: list[str], layer: str) -> Floats:
        """Return the vectors that a run of `estimate` would use, shape (items, dimensions).

        Given vectors are reduced in the same way.
        """
        config = self.config
        if config.vectors is not None:
            return reduced(self._given(name, ids))
        assert pool is not None, "read for selectors that look at vectors"
        return states_of(
            pool, config.represent, layer, seed=config.seed, cache_dir=config.cache_dir
        )

    def _output_vectors(self, name: str, pool: Pool | None, ids: list[str]) -> NDArray[np.floating]:
        """Return vectors of the outputs alone, not reduced, shape (items, dimensions).

        Beside hidden states, which are of the prompts, the outputs' vectors are lexical.
        """
        config = self.config
        if config.vectors is not None:
            return self._given(name, ids)
        assert pool is not None, "read for selectors that look at vectors"
        hidden = config.represent.startswith(f"{HIDDEN}:")
        kind = "lexical" if hidden else config.represent
        return embed(pool.outputs[0], kind, seed=config.seed, cache_dir=config.cache_dir)

    def _given(self, name: str, ids: list[str]) -> Floats:
        """Return the vectors of a system's outputs from the file, shape (items, dimensions)."""
        places = {item: place for place, item in enumerate(self.ids)}
        return self.vectors[name][[places[item] for item in ids]]
