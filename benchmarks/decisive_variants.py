"""Draws that prefer decisive items, by every weight that was tried, on recorded verdicts: judgments, errors, undecided.

    python benchmarks/decisive_variants.py DATA [-o FOLDER] [--only NAME] [--runs N]

DATA as for `benchmarks/results.py`, which puts the tables into docs/results.md. FOLDER gets NAME.md for each. Of every pair and
repetition a history of other systems is drawn as by `judgeloop replay --history-systems`; on the first pairs what it finds is compared
with what `judgeloop replay` does. ± is one standard error, with pairs as clusters. One core is enough.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from decisive_weights import (
    Floats,
    Make,
    World,
    agreement_alone,
    as_they_stand,
    built,
    by,
    drawn,
    evenly,
    laplace,
    no_even_tenth,
    share_alone,
    with_todays,
)
from numpy.typing import NDArray
from scipy.special import betainc

from judgeloop.formats.verdicts import read_verdicts
from judgeloop.jobs.output_lengths import output_lengths
from judgeloop.past import Past
from judgeloop.records import Tally
from judgeloop.replay.recordings import Contest, Earlier, Recordings
from judgeloop.replay.running import Protocol, run_pair
from judgeloop.replay.tables import by_rule
from judgeloop.selectors.making import Variant
from judgeloop.session import Limits
from judgeloop.stats.decisiveness import exponent
from judgeloop.stopping import GivingUp, TieAware
from judgeloop.stopping.giving_up import LOOK_EVERY

ADVERSARIES = ("NullModel", "gpt4_gamed")  # built to fool the judge
LEAST = 5  # judgments
RISKS = (0.1, 0.2)
THRESHOLDS = np.geomspace(0.005, 0.6, 60)
EQUAL_ERRORS = (0.04, 0.05, 0.06, 0.07)  # the mean over these is steadier than at one
GOAL_ERROR = 0.05
RESAMPLES = 200
RUNS = 4200  # of each kind of draws: of as many pairs as can be, twice each at least
CHECKED_PAIRS = 3
COLUMNS = ("data", "H", "draws", "at 0.1: judged; wrong, undecided %", "at 0.2", "at 5 % wrong: judged; undecided %",
           "beside random's", "posterior, at 5 % wrong", "beside random's")  # fmt: skip
GIVEN_UP = "decisive-given-up"
GIVE_UP = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
NEAR_THE_GOAL = np.geomspace(0.05, 0.4, 20)  # thresholds at which about 5 % are wrong
GIVEN_UP_COLUMNS = (
    "data",
    "H",
    "draws",
    "given up under",
    "judgments at 5 % wrong",
    "undecided %",
    "beside never",
)


@dataclass(frozen=True)
class Setting:
    """Recorded verdicts, a history, and the draws to be tried.

    With `shared` the history is comparisons of one of the pair with others, as of a baseline with every candidate so far.
    """

    label: str
    recordings: Recordings
    history: int
    variants: Mapping[str, Make | str]
    most: int = 200
    shared: bool = False


@dataclass(frozen=True)
class Runs:
    """All runs of one kind of draws, each walked to the limit: who they are, and the verdicts in the order drawn, shape (runs, limit)."""

    heads: list[dict[str, Any]]
    verdicts: NDArray[np.int8]

    def paths(
        self, statistic: Callable[[int, int, int, int], float], every: int = 1
    ) -> tuple[Floats, NDArray[np.int64]]:
        """The statistic and the lead after each `every`th verdict, both of the shape (runs, looks)."""
        wins, losses = ((self.verdicts == sign).cumsum(axis=1)[:, every - 1 :: every] for sign in (1, -1))
        judged = np.broadcast_to(every * np.arange(1, wins.shape[1] + 1), wins.shape)
        items = np.broadcast_to(np.array([head["items"] for head in self.heads])[:, None], wins.shape)
        states, place = np.unique(np.stack([items, wins, losses, judged]).reshape(4, -1), axis=1, return_inverse=True)  # fmt: skip
        values = np.array([statistic(*map(int, state)) for state in states.T])
        return values[place.ravel()].reshape(wins.shape), wins - losses

    def stopped(
        self, risks: Floats, leads: NDArray[np.int64], threshold: float, given_up: Any = None
    ) -> tuple[Any, Any]:
        """Judgments until the statistic is at or under the threshold, and who is named: 1 the right one, -1, or 0.

        Nobody is where the run is `given_up` before, of the verdicts' shape.
        """
        met = risks <= threshold
        met[:, : LEAST - 1] = False
        ends = met if given_up is None else met | given_up
        ended, first = ends.any(axis=1), ends.argmax(axis=1)
        runs = np.arange(len(leads))
        named = np.where(met[runs, first], np.sign(leads[runs, first]), 0)
        return np.where(ended, first + 1, risks.shape[1]), np.where(ended, named, 0)

    def chances(self, threshold: float) -> Floats:
        """The chance that `tie-aware` decides within the limit, where one looks at that, else 1; of the verdicts' shape."""
        limit = self.verdicts.shape[1]
        rule = GivingUp(TieAware(threshold), 1.0, limit)

        def chance(items: int, wins: int, losses: int, judged: int) -> float:
            if judged == limit:
                return 1.0
            return rule.chance_to_decide(Tally(items, (wins, losses), judged - wins - losses))

        chances = np.ones(self.verdicts.shape)
        chances[:, LOOK_EVERY - 1 :: LOOK_EVERY] = self.paths(chance, LOOK_EVERY)[0]
        return chances


@cache
def tie_aware(items: int, wins: int, losses: int, judged: int) -> float:
    """What the rule `tie-aware` states."""
    return TieAware(1.0).risk(Tally(items, (wins, losses), judged - wins - losses))


@cache
def posterior(items: int, wins: int, losses: int, judged: int) -> float:
    """The chance that the leader wins no more than half of what is decided, from a Beta(4, 4) prior: what `calibrated` looks at."""
    del items, judged
    return float(betainc(max(wins, losses) + 4, min(wins, losses) + 4, 0.5)) if wins != losses else 1.0


def chosen(setting: Setting, count: int) -> tuple[list[tuple[int, int]], int]:
    """The pairs, and how often each is run."""
    pairs = setting.recordings.pairs(count // 2, np.random.default_rng(0))
    return pairs, count // len(pairs)


def past_of(setting: Setting, contest: Contest, rng: np.random.Generator) -> Past:
    """A history as `judgeloop replay` draws it, or the comparisons of the first of the two systems with others."""
    every = setting.recordings
    if not setting.shared:
        return every.past(contest, setting.history, rng)
    first, second = (every.systems[system] for system in contest.pair)
    earlier = Earlier(every.systems, every.scores, every.tie_margin, always=(first,))
    past = earlier.past(setting.history, [second], contest.positions, rng)
    rows = ~past.apart_from(first)
    pairs = tuple(pair for pair, stays in zip(past.pairs, rows, strict=True) if stays)
    return Past(pairs, past.preferences[rows], past.known[rows])


def run(setting: Setting, count: int) -> dict[str, Runs]:
    """Every variant on the same pairs, repetitions and histories."""
    found: dict[str, list[Any]] = {name: [] for name in setting.variants}
    heads = []
    pairs, seeds = chosen(setting, count)
    for pair in pairs:
        for seed in range(seeds):
            contest = setting.recordings.contest(pair, 1.0, np.random.default_rng([*pair, seed]))
            if contest.distance == 0:
                continue
            past = past_of(setting, contest, np.random.default_rng([*pair, seed, 2]))
            names = tuple(setting.recordings.systems[one] for one in pair)
            world = World(names, contest, past, setting.recordings.distances(contest))
            items = len(contest.preferences)
            heads.append({"first": pair[0], "second": pair[1], "seed": seed, "distance": contest.distance, "items": items})  # fmt: skip
            for name, variant in setting.variants.items():
                order = drawn(variant, world, setting.most, (*pair, seed, 1))
                assert len(order) == setting.most, "the pool is smaller than the limit"
                found[name].append(contest.preferences[order])
    return {name: Runs(heads, np.array(verdicts)) for name, verdicts in found.items()}


def rows_of(runs: Runs, name: str) -> list[dict[str, Any]]:
    """Rows as `judgeloop replay` makes them, of the rule `tie-aware`."""
    risks, leads = runs.paths(tie_aware)
    rows = []
    for risk in RISKS:
        for head, asked, named in zip(runs.heads, *runs.stopped(risks, leads, risk), strict=True):
            rows.append(head | {"selector": name, "rule": "tie-aware", "risk": risk, "asked": int(asked), "named": int(named)})  # fmt: skip
    return rows


def check(setting: Setting, runs: Mapping[str, Runs], count: int) -> None:
    """Compare the first pairs with what `judgeloop replay` does."""
    pairs, seeds = chosen(setting, count)
    protocol = Protocol(
        selectors=tuple(name for name in ("random", "decisive") if name in runs),
        seeds=seeds, subset=1.0, variant=Variant(), rules=("tie-aware",), risks=RISKS,
        limits=Limits(LEAST, setting.most), history=setting.history,
    )  # fmt: skip
    replayed = [row for pair in pairs[:CHECKED_PAIRS] for row in run_pair(setting.recordings, pair, protocol)]
    names = ("first", "second", "seed", "selector", "risk", "asked", "named")
    own = {
        tuple(row[name] for name in names) for selector, one in runs.items() for row in rows_of(one, selector)
    }
    missing = [row for row in replayed if tuple(row[name] for name in names) not in own]
    assert not missing, f"judgeloop replay found otherwise: {missing[0]}"


@dataclass(frozen=True)
class Curve:
    """Judgments, errors and undecided by threshold, each resampled over pairs: shape (1 + resamples, thresholds); the first is what was found."""

    judgments: Floats
    errors: Floats
    undecided: Floats

    def at(self, error: float, values: Floats) -> Floats:
        """`values` where so many are wrong, shape (1 + resamples,)."""
        errors = np.maximum.accumulate(self.errors, axis=1)
        return np.array([np.interp(error, row, value) for row, value in zip(errors, values, strict=True)])

    @property
    def needed(self) -> Floats:
        """Judgments at an equal error, the mean over several."""
        found: Floats = np.mean([self.at(error, self.judgments) for error in EQUAL_ERRORS], axis=0)
        return found


def curve(
    runs: Runs,
    statistic: Callable[[int, int, int, int], float],
    thresholds: Floats = THRESHOLDS,
    given_up: Sequence[Any] | None = None,
) -> Curve:
    """One kind of draws at every threshold, `given_up` where it says so for each of them."""
    risks, leads = runs.paths(statistic)
    never = [None] * len(thresholds)
    ends = [
        runs.stopped(risks, leads, threshold, given)
        for threshold, given in zip(thresholds, given_up or never, strict=True)
    ]
    values = np.array([[asked, named == -1, named == 0] for asked, named in ends], dtype=np.float64)
    _, pair = np.unique([(head["first"], head["second"]) for head in runs.heads], axis=0, return_inverse=True)
    count = int(pair.max()) + 1
    rng = np.random.default_rng(0)
    draws = [np.ones(count), *(rng.multinomial(count, np.full(count, 1 / count)) for _ in range(RESAMPLES))]
    weights = np.array(draws)[:, pair.ravel()]
    means = np.einsum("br,tvr->vbt", weights, values) / weights.sum(axis=1)[None, :, None]
    return Curve(*means)


def lines(setting: Setting, count: int) -> list[str]:
    """A line of a table for each variant."""
    runs = run(setting, count)
    if not setting.shared:
        check(setting, runs, count)
    base = {statistic: curve(runs["random"], statistic).needed for statistic in (tie_aware, posterior)}
    found = []
    for name, one in runs.items():
        cells = [setting.label, "" if name == "random" else str(setting.history), name]
        cells += [
            f"{row['judgments']:.0f} ± {row['judgments_se']:.0f}; {_percent(row, 'error')}, {_percent(row, 'inconclusive')}"
            for row in by_rule(rows_of(one, name))
        ]
        for statistic, needed in base.items():
            path = curve(one, statistic)
            judged, undecided = (path.at(GOAL_ERROR, values) for values in (path.judgments, path.undecided))
            cells.append(f"{_pm(judged)}; {_pm(100 * undecided)}")
            cells.append("" if name == "random" else _pm(path.needed / needed, 2))
        found.append("| " + " | ".join(cells) + " |")
        print(found[-1], flush=True)
    return found


def given_up(setting: Setting, count: int) -> list[str]:
    """A line of a table for each kind of draws and each chance under which a run is given up."""
    found = []
    for name, one in run(setting, count).items():
        chances = [one.chances(threshold) for threshold in NEAR_THE_GOAL]
        for give_up in GIVE_UP:
            path = curve(one, tie_aware, NEAR_THE_GOAL, [chance < give_up for chance in chances])
            judged, undecided = (path.at(GOAL_ERROR, values) for values in (path.judgments, path.undecided))
            if not give_up:
                base = path.needed
            cells = [setting.label, "" if name == "random" else str(setting.history), name]
            cells += [
                f"{give_up:g}" if give_up else "never",
                _pm(judged),
                _pm(100 * undecided),
                _pm(path.needed / base, 2),
            ]
            found.append("| " + " | ".join(cells) + " |")
            print(found[-1], flush=True)
    return found


def _percent(row: Mapping[str, Any], name: str) -> str:
    return f"{100 * row[name]:.1f} ± {100 * row[f'{name}_se']:.1f}"


def _pm(values: Floats, digits: int = 1) -> str:
    return f"{values[0]:.{digits}f} ± {values[1:].std():.{digits}f}"


def read(path: Path, tie_margin: float, *, but: Sequence[str] = ()) -> Recordings:
    """All systems of a table but some, with the lengths of their outputs; its items in the order of their ids."""
    table = read_verdicts(path)
    systems, items = sorted(table.systems.difference(but)), sorted({item for item, *_ in table.rows})
    rows, columns = ({name: place for place, name in enumerate(names)} for names in (systems, items))
    scores = np.full((len(systems), len(items)), np.nan)
    for (item, system), recorded in table.rows.items():
        if system in rows and recorded.score is not None:
            scores[rows[system], columns[item]] = recorded.score
    lengths = output_lengths(path.parent / "outputs", path.parent / "items.jsonl", systems, items)
    return Recordings(tuple(systems), scores, lengths=lengths, tie_margin=tie_margin)


def with_history(recordings: Recordings, others: Recordings, always: tuple[str, ...] = ()) -> Recordings:
    """With histories of another table, or of one that holds more systems."""
    return replace(recordings, earlier=Earlier(others.systems, others.scores, others.tie_margin, always))


def tables(data: Path) -> dict[str, list[Setting]]:
    """Every setting by the table that it stands in."""
    alpaca, summaries = data / "alpacaeval", data / "realsumm"
    by_turbo = alpaca / "verdicts-gpt4turbo.csv.gz"
    gpt4 = read(alpaca / "verdicts-gpt4.csv.gz", 0.0)
    turbo, every = read(by_turbo, 0.05, but=ADVERSARIES), read(by_turbo, 0.05)
    untied = replace(turbo, tie_margin=0.0)
    rouge, pyramid = (
        read(summaries / f"verdicts-{name}.csv.gz", 0.0) for name in ("rouge2", "human-pyramid")
    )
    even: dict[str, Make | str] = {"random": evenly}
    issue = even | {"h²": by(laplace(2)), "h⁴": by(laplace(4)), "largest h first": "largest first"}
    ours = even | {"decisive": built()}
    tried = ours | {
        "no learning": built(learning=False),
        "no lengths": built(lengths=False),
        "neither": built(lengths=False, learning=False),
        "neither, no even tenth": by(no_even_tenth),
        "h alone": by(share_alone),
        "c alone": by(agreement_alone),
        "p = 1": built(1.0),
        "p = 2": built(2.0),
    }
    foreign = ours | {"half the exponent": built(exponent(16) / 2)}
    either = ours | {
        "with today's counted whole": with_todays(counted=True),
        "not counted": with_todays(counted=False),
        "as they stand": as_they_stand,
    }
    main = [("GPT-4", gpt4), ("turbo, margin 0.05", turbo)]
    return {
        "decisive-issue": [Setting(label, one, h, issue) for label, one in main for h in (28, 4)],
        "decisive-history": [Setting(label, one, h, ours) for label, one in main for h in (2, 4, 8, 16, 28)],
        "decisive-tried": [Setting(label, one, 16, tried) for label, one in main],
        "decisive-untied": [
            Setting("ROUGE-2", rouge, 12, ours, 80), Setting("human pyramid", pyramid, 12, ours, 80),
            Setting("ROUGE-2", rouge, 3, ours, 80), Setting("human pyramid", pyramid, 3, ours, 80),
            Setting("turbo, no margin", untied, 16, ours), Setting("turbo, no margin", untied, 3, ours),
        ],
        GIVEN_UP: [Setting(label, one, 16, ours) for label, one in main],
        "decisive-shared": [Setting(label, one, h, either, shared=True) for label, one in main for h in (4, 10, 16)],
        "decisive-foreign": [
            Setting("turbo, history by GPT-4", with_history(turbo, gpt4), 16, foreign),
            Setting("GPT-4, history by turbo", with_history(gpt4, turbo), 16, foreign),
            Setting("turbo, two adversaries in the history", with_history(turbo, every, ADVERSARIES), 8, ours),
        ],
    }  # fmt: skip


def main() -> None:
    """Make every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--only", default="", help="the tables whose names begin so")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each kind of draws")
    arguments = parser.parse_args()
    for name, settings in tables(arguments.data).items():
        if not name.startswith(arguments.only):
            continue
        columns, made = (GIVEN_UP_COLUMNS, given_up) if name == GIVEN_UP else (COLUMNS, lines)
        head = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        print(f"\n{name}\n" + "\n".join(head))
        found = [line for setting in settings for line in made(setting, arguments.runs)]
        table = [*head, *dict.fromkeys(found)]  # random is alike for every history
        if arguments.output is not None:
            arguments.output.mkdir(parents=True, exist_ok=True)
            (arguments.output / f"{name}.md").write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
