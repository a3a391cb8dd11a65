"""Runs estimates of one system's mean on recorded scores and returns a row for each run.

A `Subject` holds what was read of a system: recorded scores, and vectors and confidences if a selector uses them.
Every selector is run at every share of the items. The selectors, sessions, estimators and intervals
are those of live runs. The rows are summed up in `tables.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import selector_names, selector_row
from judgeloop.core.errors import DataError, InputError
from judgeloop.core.protocols import Estimator, Selector
from judgeloop.core.records import Choice, Draws, Pool, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.formats.rows import Outputs
from judgeloop.formats.tables import read_rows
from judgeloop.formats.verdicts import VerdictTable
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.rows import Draft, SelectorRow
from judgeloop.methods.selectors.stratified import strata_of
from judgeloop.methods.stats.intervals import Interval
from judgeloop.methods.stats.strata import Floats
from judgeloop.methods.stopping.precise import Precise
from judgeloop.papers.actracer.inputs import SEARCHING, most_clusters, read_confidence, searched_layer, states_of
from judgeloop.papers.recorded import holds_layers
from judgeloop.papers.settings import AUTO, HIDDEN, MIDDLE
from judgeloop.papers.vectors import embed, reduced
from judgeloop.questions.estimate.settings import BY_CONFIDENCE
from judgeloop.replay.compare import Row, walked
from judgeloop.replay.data import Recorded, outputs_of, read_recorded, takes, vectors_of
from judgeloop.replay.settings import ReplayEstimateSettings

QUESTION = "estimate"
# The selectors run without `selectors`; ablations run only by name.
EVERY = selector_names(QUESTION)
F = TypeVar("F", bound=np.floating)
# The part with the runs of all selectors that walk; parts from 1 on are the shares.
WALK = 0


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A recorded system: its scores on all items, and the data that selectors use.

    `scores` in [0, 1] and `confidence` have the shape (items,); no score is missing. `vectors`,
    `last` and `outputs` have the shape (items, dimensions). `last` holds vectors of the model's
    last layer, or the same as `vectors`; `outputs` those of the outputs alone. A field that
    nothing uses is None.
    """

    system: str
    scores: Floats
    confidence: Floats | None = None
    vectors: Floats | None = None
    last: Floats | None = None
    outputs: NDArray[np.floating] | None = None

    @property
    def truth(self) -> float:
        """The mean score over all items."""
        return float(self.scores.mean())

    def draft(self, config: ReplayEstimateSettings, also: Mapping[str, Any] | None = None) -> Draft:
        """What selectors are made of: the recorded data, and what is found out `also`."""
        read = {
            "states": self.vectors, "last states": self.last, "outputs": self.outputs, "confidence": self.confidence
        }  # fmt: skip
        found = {what: data for what, data in read.items() if data is not None}
        items = len(self.scores)
        return Draft(items, items, config.risk, systems=1, settings=config, found=found | dict(also or {}))


def searched(subject: Subject, size: int, rng: np.random.Generator) -> int:
    """The number of clusters that CluSearch finds for `size` judgments."""
    from judgeloop.papers.actracer.clusters import strata_by_clusters

    vectors = needed(subject.vectors)
    return len(np.unique(strata_by_clusters(vectors, most_clusters(size, len(vectors)), rng)[0]))


def needed(values: NDArray[F] | None) -> NDArray[F]:
    """Values that were read because a selector uses them."""
    assert values is not None, "read for every selector that uses it"
    return values


def _rows(config: ReplayEstimateSettings, *, walking: bool) -> list[SelectorRow]:
    """The selectors whose order of items is independent of the limit, or the others."""
    found = [selector_row(QUESTION, name) for name in config.selectors]
    return [row for row in found if (row.vectors != "states") is walking]


def parts_of(config: ReplayEstimateSettings) -> list[int]:
    """The parts of a system's runs: all walks together, and each share by itself."""
    walks = [WALK] if _rows(config, walking=True) else []
    shares = range(1, len(config.shares) + 1) if _rows(config, walking=False) else ()
    return [*walks, *shares]


def run_part(subject: Subject, number: int, part: int, config: ReplayEstimateSettings) -> list[Row]:
    """All rows of one part, for the system numbered `number`."""
    if part == WALK:
        return walk(subject, number, config)
    return stratify(subject, number, config.shares[part - 1], config)


def judgments(share: int, items: int) -> int:
    """The number of items in a `share` in per cent; at least 1."""
    return max(1, round(share / 100 * items))


def walk(subject: Subject, number: int, config: ReplayEstimateSettings) -> list[Row]:
    """All rows of the selectors whose order of items is independent of the limit.

    Each share of a repetition has its own walk. If all shares were read off one walk, their errors
    would be nearly equal, and a curve over all shares would say little more than a single point.

    A row has the `estimate` from `judged` items, the `truth`, and the bounds `low` and `high` of
    the interval, None without an interval.
    """
    items = len(subject.scores)
    draft = replace(subject.draft(config), start=judgments(config.shares[0], items))
    return [
        _Trial(subject, number, share, repetition, config).walk(selector)
        for row in _rows(config, walking=True)
        # Made once for all runs: the selector keeps what it computes.
        for selector in [row.make(draft)]
        for share in config.shares
        for repetition in range(config.seeds)
    ]


def stratify(subject: Subject, number: int, share: int, config: ReplayEstimateSettings) -> list[Row]:
    """All rows of one share, for the selectors that cluster by the number of judgments.

    CluSearch finds the number of clusters once; every repetition then makes its own clusters. A
    search takes twenty clusterings, and another search finds nearly the same number.
    """
    rows = _rows(config, walking=False)
    size = judgments(share, len(subject.scores))
    searching = np.random.default_rng([config.seed, number, share])
    searches = any(row.name in SEARCHING for row in rows)
    elbow = {"elbow": searched(subject, size, searching)} if searches else {}
    trials = [_Trial(subject, number, share, repetition, config) for repetition in range(config.seeds)]
    return [
        trial.session(row.make(draft))
        for trial in trials
        # Made once for all selectors, which share its clusters.
        for draft in [replace(subject.draft(config, elbow), limit=size, start=size, seed=trial.seed(1))]
        for row in rows
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One repetition on one system at one share of the items."""

    subject: Subject
    number: int
    share: int
    repetition: int
    config: ReplayEstimateSettings

    def walk(self, selector: Selector[Any]) -> Row:
        """The row of a session that ends after this share of the items.

        Takes the steps that a session would take. No session is needed, because the steps do not
        depend on the answers.
        """
        items = len(self.subject.scores)
        active = next(walked(selector, items, [self._size], self.rng(), self._answer))
        estimator, rule = self._parts(selector)
        tally = estimator.tally([*active.values()], items)
        return self._row(selector, tally, rule.interval(tally))

    def session(self, selector: Selector[Any]) -> Row:
        """The row of one session; without a width to reach, it ends at its limit."""
        items, size = len(self.subject.scores), self._size
        estimator, rule = self._parts(selector)
        session = Session(
            items=items,
            selector=selector,
            estimator=estimator,
            rule=rule,
            limits=Limits(size, size, 1.0),
            rng=self.rng(),
        )
        estimate = replay(session, self._answer).estimate
        return self._row(selector, estimate.tally, estimate.interval)

    @property
    def _size(self) -> int:
        return judgments(self.share, len(self.subject.scores))

    def seed(self, *what: int) -> tuple[int, ...]:
        """A seed for one purpose, the same for all selectors."""
        return self.config.seed, self.number, self.share, self.repetition, *what

    def rng(self, *what: int) -> np.random.Generator:
        """A generator of this repetition for one purpose, the same for all selectors."""
        return np.random.default_rng(self.seed(*what))

    def _answer(self, choice: Choice) -> Verdict:
        return Verdict(float(self.subject.scores[choice.position]))

    def _parts(self, selector: Selector[Any]) -> tuple[Estimator[Ratings], Precise]:
        items = len(self.subject.scores)
        even = selector_row(QUESTION, selector.name).draws is Draws.EVEN
        rule, strata = Precise(self.config.risk, items, even=even, limit=self._size), strata_of(selector, items)
        by_proxy = self.config.proxy == BY_CONFIDENCE and selector.draws
        return MeanScore(strata, needed(self.subject.confidence) if by_proxy else None), rule

    def _row(self, selector: Selector[Any], tally: Ratings, interval: Interval | None) -> Row:
        return {
            "system": self.subject.system,
            "repetition": self.repetition,
            "selector": selector.name,
            "share": self.share,
            "judged": tally.asked,
            "strata": len(tally.strata.sizes),
            "truth": self.subject.truth,
            "estimate": tally.moments.mean,
            "low": None if interval is None else float(interval[0]),
            "high": None if interval is None else float(interval[1]),
        }


def check(config: ReplayEstimateSettings) -> None:
    """Refuse settings that contradict each other.

    Raises:
        InputError: a setting has no effect with the other settings.
    """
    if config.layer is not None and not config.represent.startswith(HIDDEN) and not holds_layers(config.vectors):
        raise InputError(
            f"`layer={config.layer}`: only `represent=hidden:MODEL`, or a file of hidden states, has layers"
        )
    if config.vectors is not None and config.represent != "lexical":
        raise InputError(f"`represent={config.represent}`: not used, because `vectors` are given")


def read_systems(config: ReplayEstimateSettings) -> tuple[list[Subject], ReplayEstimateSettings]:
    """Every system with verdicts that is not left out, by name, and the settings completed.

    Without `selectors` in the settings, all selectors are run. Those that use a confidence are left
    out if the outputs contain none.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    check(config)
    chosen = config.selectors or EVERY
    looked_at = vectors_of(QUESTION, chosen)
    # Hidden states are of the prompts: who looks at outputs has none in such a file.
    for_vectors = bool(
        looked_at & {"outputs"} if holds_layers(config.vectors) else looked_at and config.vectors is None
    )
    texts = for_vectors or config.proxy == BY_CONFIDENCE or takes(QUESTION, chosen, "confidence")
    found = read_recorded(config, items=True, outputs=texts, vectors=config.vectors)
    _check_range(config.verdicts, found.table)
    files = outputs_of(config.outputs, found.systems) if texts else {}
    if not config.selectors:
        paths = [Path(of_system.path) for of_system in files.values()]
        known = all(any(config.confidence in row.fields for row in read_rows(path)) for path in paths)
        possible = (name for name in EVERY if known or "confidence" not in selector_row(QUESTION, name).takes)
        config = replace(config, selectors=tuple(possible))
    sources = _Sources(config, found, files)
    return [sources.subject(number) for number in range(len(found.systems))], config


def _check_range(path: Path, table: VerdictTable) -> None:
    for (item, system), recorded in table.rows.items():
        if recorded.score is not None and not 0 <= recorded.score <= 1:
            raise DataError(
                path, f"an estimate needs scores in [0, 1], found {recorded.score:g} of {system!r} on {item!r}"
            )


@dataclass(frozen=True)
class _Sources:
    """What was read for all systems; `files` are those of the outputs, if they are used."""

    config: ReplayEstimateSettings
    found: Recorded
    files: Mapping[str, Outputs]

    def subject(self, number: int) -> Subject:
        """A system on the items with a score, and with an output if outputs are used."""
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
        recorded = found.states is not None
        confidence = vectors = last = outputs = None
        if takes(QUESTION, config.selectors, "confidence") or config.proxy == BY_CONFIDENCE:
            path = Path(self.files[name].path)
            confidence = read_confidence(path, pool.items, config.confidence, config.confidence_by)
        if looked_at & {"states", "last states"}:
            vectors = self._states(pool, given, config.layer or MIDDLE)
            hidden = (recorded or config.represent.startswith(HIDDEN)) and "last states" in looked_at
            last = self._states(pool, given, "last") if hidden else vectors
        if "outputs" in looked_at:
            outputs = self._output_vectors(pool) if given is None else given
        return Subject(name, known, confidence, vectors, last, outputs)

    def _states(self, pool: Pool, given: NDArray[np.floating] | None, layer: str) -> Floats:
        """The vectors that a run of `estimate` would use, shape (items, dimensions).

        Given vectors are reduced in the same way.
        """
        config, states = self.config, self.found.states
        if states is not None:
            return reduced(states.at_layer(layer)[states.places([item.id for item in pool.items])])
        if given is not None:
            return reduced(given)
        if layer == AUTO:
            layer = str(searched_layer(pool, config.represent, config.cache_dir))
        return states_of(pool, config.represent, layer, seed=config.seed, cache_dir=config.cache_dir)

    def _output_vectors(self, pool: Pool) -> NDArray[np.floating]:
        """Vectors of the outputs alone, not reduced, shape (items, dimensions).

        Beside hidden states, which are of the prompts, the outputs' vectors are lexical.
        """
        config = self.config
        kind = "lexical" if config.represent.startswith(HIDDEN) else config.represent
        return embed(pool.outputs[0], kind, seed=config.seed, cache_dir=config.cache_dir)
