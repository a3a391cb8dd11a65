"""Reads what a replay of estimates needs, and checks its settings.

Returns a `Subject` for each system: recorded scores, and vectors and confidences if a selector uses
them. Computes vectors with models. Runs nothing on the scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import selector_names, selector_row
from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.formats.rows import Outputs
from judgeloop.formats.tables import read_rows
from judgeloop.formats.verdicts import VerdictTable
from judgeloop.methods.stats.strata import Floats
from judgeloop.papers.actracer.inputs import read_confidence, states_of
from judgeloop.papers.settings import HIDDEN, MIDDLE
from judgeloop.papers.vectors import embed, reduced
from judgeloop.questions.estimate.settings import BY_CONFIDENCE
from judgeloop.replay.config import ReplayEstimateConfig
from judgeloop.replay.estimate import Subject
from judgeloop.replay.recorded_files import Recorded, outputs_of, read_recorded, takes, vectors_of

QUESTION = "estimate"
# The selectors run without `selectors`; ablations run only by name.
EVERY = selector_names(QUESTION)


def check(config: ReplayEstimateConfig) -> None:
    """Refuse settings that contradict each other.

    Raises:
        InputError: a setting has no effect with the other settings.
    """
    if config.layer is not None and not config.represent.startswith(HIDDEN):
        raise InputError(f"`layer={config.layer}`: only `represent=hidden:MODEL` has layers")
    if config.vectors is not None and config.represent != "lexical":
        raise InputError(f"`represent={config.represent}`: not used, because `vectors` are given")


def read_systems(config: ReplayEstimateConfig) -> tuple[list[Subject], ReplayEstimateConfig]:
    """Return every system with verdicts that is not left out, by name, and the settings completed.

    Without `selectors` in the settings, all selectors are run. Those that use a confidence are left
    out if the outputs contain none.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    check(config)
    texts = _looks_at_outputs(config)
    found = read_recorded(config, items=True, outputs=texts, vectors=config.vectors)
    _check_range(config.verdicts, found.table)
    files = outputs_of(config.outputs, found.systems) if texts else {}
    selectors = config.selectors or _possible(config, files)
    config = replace(config, selectors=selectors)
    sources = _Sources(config, found, files)
    return [sources.subject(number) for number in range(len(found.systems))], config


def _check_range(path: Path, table: VerdictTable) -> None:
    for (item, system), recorded in table.rows.items():
        if recorded.score is not None and not 0 <= recorded.score <= 1:
            raise DataError(
                path, f"an estimate needs scores in [0, 1], found {recorded.score:g} of {system!r} on {item!r}"
            )


def _looks_at_outputs(config: ReplayEstimateConfig) -> bool:
    """Return whether outputs are used: their texts for vectors, or their confidences."""
    selectors = config.selectors or EVERY
    texts = config.vectors is None and bool(vectors_of(QUESTION, selectors))
    return texts or config.proxy == BY_CONFIDENCE or takes(QUESTION, selectors, "confidence")


def _possible(config: ReplayEstimateConfig, files: Mapping[str, Outputs]) -> tuple[str, ...]:
    known = all(
        any(config.confidence in row.fields for row in read_rows(Path(of_system.path))) for of_system in files.values()
    )
    return tuple(name for name in EVERY if known or "confidence" not in selector_row(QUESTION, name).takes)


@dataclass(frozen=True)
class _Sources:
    """What was read for all systems; `files` are those of the outputs, if they are used."""

    config: ReplayEstimateConfig
    found: Recorded
    files: Mapping[str, Outputs]

    def subject(self, number: int) -> Subject:
        """Return a system on the items with a score, and with an output if outputs are used."""
        config, found = self.config, self.found
        looked_at = vectors_of(QUESTION, config.selectors)
        name, kept = found.systems[number], ~np.isnan(found.scores[number])
        if found.outputs:
            kept &= [text is not None for text in found.outputs[number]]
        places = np.flatnonzero(kept).tolist()
        known = found.scores[number, places]
        if not known.sum() > 0:
            raise InputError(
                f"{config.verdicts}: {name!r} has no score above 0 on these items, so that relative errors "
                "are undefined; leave it out with `leave_out`"
            )
        texts = found.outputs[number] if found.outputs else [""] * len(found.items)
        pool = Pool(
            items=tuple(found.items[at] for at in places),
            systems=(name,),
            outputs=(tuple(texts[at] or "" for at in places),),
        )
        given = None if found.vectors is None else found.vectors[number, places]
        confidence = vectors = last = outputs = None
        if takes(QUESTION, config.selectors, "confidence") or config.proxy == BY_CONFIDENCE:
            path = Path(self.files[name].path)
            confidence = read_confidence(path, pool.items, config.confidence, config.confidence_by)
        if looked_at & {"states", "last states"}:
            vectors = self._states(pool, given, config.layer or MIDDLE)
            hidden = config.represent.startswith(HIDDEN) and "last states" in looked_at
            last = self._states(pool, given, "last") if hidden else vectors
        if "outputs" in looked_at:
            outputs = self._output_vectors(pool) if given is None else given
        return Subject(name, known, confidence, vectors, last, outputs)

    def _states(self, pool: Pool, given: NDArray[np.floating] | None, layer: str) -> Floats:
        """Return the vectors that a run of `estimate` would use, shape (items, dimensions).

        Given vectors are reduced in the same way.
        """
        config = self.config
        if given is not None:
            return reduced(given)
        return states_of(pool, config.represent, layer, seed=config.seed, cache_dir=config.cache_dir)

    def _output_vectors(self, pool: Pool) -> NDArray[np.floating]:
        """Return vectors of the outputs alone, not reduced, shape (items, dimensions).

        Beside hidden states, which are of the prompts, the outputs' vectors are lexical.
        """
        config = self.config
        kind = "lexical" if config.represent.startswith(HIDDEN) else config.represent
        return embed(pool.outputs[0], kind, seed=config.seed, cache_dir=config.cache_dir)
