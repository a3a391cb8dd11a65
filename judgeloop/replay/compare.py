"""Runs comparisons of pairs of systems on recorded verdicts and returns a row for each run.

A run has a fixed number of judged items, or ends when a stopping rule is met. The selectors,
sessions and rules are those of live runs. The scores, and the vectors of outputs if a
selector uses them, are read from files. The rows are summed up in `tables.py`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import rule_row, selector_row
from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import StopKind
from judgeloop.core.protocols import Selector
from judgeloop.core.records import Choice, Draws, Label, Verdict, as_score, preference
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.rows import Draft
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.papers.vectors import embed
from judgeloop.replay.data import read_recorded, vectors_of
from judgeloop.replay.settings import ReplayCompareSettings

QUESTION = "compare"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Contest:
    """Two systems on a pool of items, which a run treats as the whole test set.

    Both arrays have the shape (items,). `positions` are positions in the recordings. `preferences`
    are 1 for the system that wins on the whole pool, -1 for the other system, 0 for a tie.
    """

    pair: tuple[int, int]
    positions: NDArray[np.int64]
    preferences: NDArray[np.int8]

    @property
    def gap(self) -> float:
        """The gap ("win distance" in the papers) on the whole pool, winner minus loser; 0 for level systems."""
        return float(self.preferences.mean())

    def verdict(self, choice: Choice) -> Verdict:
        """The verdict on an item: a score of 1 for the winner on the pool."""
        return Verdict(as_score(int(self.preferences[choice.position])))


@dataclass(frozen=True, slots=True)
class Recordings:
    """Scores of systems on items, and vectors if a selector uses them.

    `scores` has the shape (systems, items), NaN where a score is missing. `outputs` has the shape
    (systems, items, dimensions): vectors of the outputs. `inputs` has the shape (items,
    dimensions): vectors of the prompts. Scores that differ by at most `tie_margin` tie.
    """

    systems: tuple[str, ...]
    scores: NDArray[np.float64]
    outputs: NDArray[np.floating] | None = None
    inputs: NDArray[np.floating] | None = None
    tie_margin: float = 0.0

    def pairs(self, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Draw at most `most` pairs of systems with common items, without replacement."""
        every = list(combinations(range(len(self.systems)), 2))
        shuffled = (every[number] for number in rng.permutation(len(every)))
        return [pair for pair in shuffled if len(self._common(pair))][:most]

    def contest(self, pair: tuple[int, int], subset: float, rng: np.random.Generator) -> Contest:
        """Two systems on a random share `subset` of their common items.

        The share is treated as the whole test set. So repetitions differ even for a selector
        without random draws (Ashury-Tahan et al. 2024, section 5).
        """
        common = self._common(pair)
        kept = np.sort(rng.permutation(common)[: max(1, round(subset * len(common)))])
        apart = self.scores[pair[0], kept] - self.scores[pair[1], kept]
        preferred = preference(apart, self.tie_margin).astype(np.int8)
        return Contest(pair, kept, -preferred if preferred.sum(dtype=np.int64) < 0 else preferred)

    def output_vectors(self, contest: Contest) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Both systems' output vectors, each of shape (items of the contest, dimensions)."""
        assert self.outputs is not None, "read for every selector that uses outputs"
        first, second = (self.outputs[system][contest.positions] for system in contest.pair)
        return first, second

    def _common(self, pair: tuple[int, int]) -> NDArray[np.int64]:
        return np.flatnonzero(~np.isnan(self.scores[list(pair)]).any(axis=0))


def run_pair(recordings: Recordings, pair: tuple[int, int], config: ReplayCompareSettings) -> list[Row]:
    """All rows of one pair; they do not depend on the other pairs.

    A row for a number of judged items has `estimate`: the gap among the judged items, true
    winner minus true loser, so that it is positive if the right system is named. A row for a rule
    has `asked` and `named`: 1 for the right system, -1 for the wrong system, 0 if undecided; and
    `met`: whether the rule ended the run, not the end of the pool.
    Repetitions in which the systems are exactly level have no right answer and are left out. No number of judged items
    is above that of a pool.
    """
    most = max(1, round(config.subset * recordings.scores.shape[1]))
    config = replace(config, sizes=tuple(min(size, most) for size in config.sizes))
    drawn = ((seed, recordings.contest(pair, config.subset, np.random.default_rng([*pair, seed])))
             for seed in range(config.seeds))  # fmt: skip
    contests = {seed: contest for seed, contest in drawn if contest.gap}
    rows: list[Row] = []
    for name in config.selectors:
        if config.iterative and config.give_up is None and selector_row(QUESTION, name).draws is Draws.EVEN:
            found = _drawn_until_met(name, recordings, contests, config, pair)
        else:
            run = _until_met if config.iterative else _at_sizes
            found = (
                (seed, row)
                for seed, contest in contests.items()
                for row in run(selector_for(name, recordings, contest, config), contest, config, _seed(pair, seed))
            )
        rows += [
            {"first": pair[0], "second": pair[1], "seed": seed, "selector": name, "gap": contests[seed].gap} | row
            for seed, row in found
        ]
    return rows


def _seed(pair: tuple[int, int], seed: int) -> tuple[int, ...]:
    """The seed of a run: the same for all selectors and rules, another for each pair, so that none are correlated."""
    return (*pair, seed, 1)


def selector_for(name: str, recordings: Recordings, contest: Contest, config: ReplayCompareSettings) -> Selector[Any]:
    """Make the selector called `name`, as for a live run."""
    row = selector_row(QUESTION, name)
    found: dict[str, Any] = {}
    if row.vectors == "outputs":
        found["outputs"] = recordings.output_vectors(contest)
    elif row.vectors == "prompts":
        assert recordings.inputs is not None, "read for every selector that uses prompts"
        found["prompts"] = recordings.inputs[contest.positions]
    start = config.min_judgments if config.iterative else config.sizes[0]
    selector: Selector[Any] = row.make(replace(_draft(contest, config), start=start, found=found))
    return selector


def _draft(contest: Contest, config: ReplayCompareSettings, risk: float = math.nan) -> Draft:
    return Draft(len(contest.preferences), config.max_judgments, risk, settings=config)


def _at_sizes(
    selector: Selector[Any], contest: Contest, config: ReplayCompareSettings, seed: Sequence[int]
) -> Iterator[Row]:
    """Yield a row for each number of judged items, from one walk through the selector's steps."""
    items, rng = len(contest.preferences), np.random.default_rng(seed)
    labels = walked(selector, items, config.sizes, rng, contest.verdict)
    for size, active in zip(config.sizes, labels, strict=True):
        yield {"judgments": size, "estimate": float(contest.preferences[list(active)].mean())}


def walked(
    selector: Selector[Any],
    items: int,
    sizes: Sequence[int],
    rng: np.random.Generator,
    verdict: Callable[[Choice], Verdict],
) -> Iterator[Mapping[int, Label]]:
    """Yield the labels in the decision by position, for each number of judged items, ascending.

    One walk is enough: the clusters for a larger number are splits of those for a smaller number.
    """
    state = selector.init(items, rng)
    active: dict[int, Label] = {}
    for size in sizes:
        while len(active) < min(size, items):
            step, state = selector.ask(state, rng)
            assert step is not None, "the pool has more items"
            labels = [Label(choice, verdict(choice)) for choice in step.choices]
            state = selector.tell(state, labels)
            for position in step.leave:
                del active[position]
            active |= {label.choice.position: label for label in labels}
        yield active


def _until_met(
    selector: Selector[Any], contest: Contest, config: ReplayCompareSettings, seed: Sequence[int]
) -> Iterator[Row]:
    items, limit, give_up = len(contest.preferences), config.max_judgments, config.give_up
    for name in suiting(config.rules, selector.name):
        for risk in config.risk:
            rule = rule_row(QUESTION, name).make(_draft(contest, config, risk))
            session = Session(
                items=items,
                selector=selector,
                estimator=Preferences(),
                rule=rule,
                check=None if give_up is None else GivingUp(rule, give_up, limit),
                limits=Limits(config.min_judgments, limit),
                rng=np.random.default_rng(seed),
            )
            ending = replay(session, contest.verdict)
            named = {None: 0, 0: 1, 1: -1}[ending.winner]
            met = ending.stop.kind is StopKind.RISK_MET
            yield {"rule": name, "risk": risk, "asked": ending.asked, "named": named, "met": met}


def _drawn_until_met(
    name: str,
    recordings: Recordings,
    contests: Mapping[int, Contest],
    config: ReplayCompareSettings,
    pair: tuple[int, int],
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of `_until_met` for all repetitions, with their seeds.

    The order of random draws depends on no answer. So the rules follow all repetitions at once, over arrays.
    """
    if not contests:
        return
    contest = next(iter(contests.values()))  # all have as many items
    items = len(contest.preferences)
    most, orders = min(config.max_judgments, items), list[NDArray[np.int8]]()
    for seed, one in contests.items():
        rng = np.random.default_rng(_seed(pair, seed))
        walk = walked(selector_for(name, recordings, one, config), items, [most], rng, one.verdict)
        orders.append(one.preferences[list(next(walk))])
    preferences, risks = np.array(orders), np.array(config.risk)
    leads = np.cumsum(preferences, axis=1, dtype=np.int64)
    for rule in config.rules:
        made = rule_row(QUESTION, rule).make(_draft(contest, config, config.risk[0]))
        met_at = made.met_along_each(preferences, items, risks)
        met_at[:, :, : config.min_judgments - 1] = False
        for risk, of_risk in zip(config.risk, met_at, strict=True):
            for seed, looks, lead in zip(contests, of_risk, leads, strict=True):
                met = bool(looks.any())
                asked = int(looks.argmax()) + 1 if met else most
                named = int(np.sign(lead[asked - 1])) if met or most == items else 0
                yield seed, {"rule": rule, "risk": risk, "asked": asked, "named": named, "met": met}


def suiting(rules: Sequence[str], selector: str) -> list[str]:
    """The `rules` that are valid with a selector: some need draws that prefer no item."""
    even = selector_row(QUESTION, selector).draws is Draws.EVEN
    return [rule for rule in rules if even or not rule_row(QUESTION, rule).guaranteed]


def check(config: ReplayCompareSettings) -> list[str]:
    """Refuse settings that contradict each other; return notes on the others, as sentences.

    Raises:
        InputError: there is nothing to run, or a setting has no effect with the other settings.
    """
    if config.give_up is not None and not config.iterative:
        raise InputError("`give_up`: only runs until a rule is met can give up; use `iterative`")
    if config.max_judgments != type(config).max_judgments and not config.iterative:
        raise InputError("`max_judgments`: only runs until a rule is met have a limit; use `sizes`, or `iterative`")
    return _check_rules(config) if config.iterative else []


def _check_rules(config: ReplayCompareSettings) -> list[str]:
    """A note on the rules that are not run with some selectors."""
    refused = {name: set(config.rules) - set(suiting(config.rules, name)) for name in config.selectors}
    if all(rules == set(config.rules) for rules in refused.values()):
        raise InputError("`rules`: expected a rule that holds for these `selectors`; a guarantee needs random")
    rules = [rule for rule in config.rules if any(rule in names for names in refused.values())]
    if not rules:
        return []
    picky = ", ".join(name for name, names in refused.items() if names)
    return [f"{', '.join(rules)} not run with {picky}: valid only for random draws that prefer no item"]


def recordings_for(config: ReplayCompareSettings) -> Recordings:
    """Read the verdicts, and the texts or vectors that a selector uses.

    Raises:
        InputError: a file is wrong, or the files do not match.
    """
    looked_at = vectors_of(QUESTION, config.selectors)
    vectors = config.vectors if looked_at else None
    texts = vectors is None and bool(looked_at)
    found = read_recorded(config, outputs=texts, vectors=vectors)
    outputs, inputs = found.vectors, None
    if texts:
        found = found.answered()
        every = [text or "" for own in found.outputs for text in own]
        outputs = _embedded(config, every).reshape(len(found.systems), len(found.items), -1)
    if "prompts" in looked_at:
        inputs = _embedded(config, [item.prompt for item in found.items])
    return Recordings(found.systems, found.scores, outputs, inputs, config.tie_margin)


def _embedded(config: ReplayCompareSettings, texts: Sequence[str]) -> NDArray[np.floating]:
    return embed(texts, config.represent, seed=config.seed, cache_dir=config.cache_dir)
