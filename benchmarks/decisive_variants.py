"""Measures draws that prefer decisive items, for every weight that was tried, on recorded verdicts.

    python benchmarks/decisive_variants.py DATA [-o FOLDER] [--only NAME] [--runs N]

DATA is as for `benchmarks/results.py`, which puts the tables into docs/results; no judge is
asked. Each table is written to FOLDER as NAME.md. It has judgments, errors and undecided runs.

For every pair and repetition, a history of other systems is drawn as by `judgeloop replay
--history-systems`. On the first pairs, the script checks that `judgeloop replay` finds the same.
± is one standard error, with pairs as clusters. One core is enough.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from decisive_curves import LEAST, PREDICTIVE, TIE_AWARE, Runs, beside, curve
from decisive_weights import (
    Floats,
    Make,
    Meanings,
    Parts,
    World,
    agreement_alone,
    alone,
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
from score_tables import ADVERSARIES, score_table
from sklearn.cluster import KMeans

from judgeloop.formats.rows import read_items
from judgeloop.history.past import Past, past_of_scores
from judgeloop.methods.stats.decisiveness import exponent
from judgeloop.papers.vectors import embed_lexical
from judgeloop.replay.compare import Contest, Recordings, run_pair
from judgeloop.replay.config import ReplayConfig
from judgeloop.replay.recorded_files import output_lengths, read_texts
from judgeloop.replay.tables import by_rule

RISKS = (0.1, 0.2)
GOAL_ERROR = 0.05
# Number of runs of each kind of draws: of as many pairs as possible, each at least twice.
RUNS = 4200
CHECKED_PAIRS = 3
COLUMNS = ("data", "H", "draws", "at 0.1: judged; wrong, undecided %", "at 0.2", "at 5 % wrong: judged; undecided %",
           "beside random's", "predictive, at 5 % wrong", "beside random's", "for the same evidence")  # fmt: skip
GIVEN_UP = "decisive-given-up"
GIVE_UP = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5)
NEAR_THE_GOAL = np.geomspace(0.05, 0.4, 20)  # thresholds at which about 5 % are wrong
GIVEN_UP_COLUMNS = ("data", "H", "draws", "statistic", "given up under", "judgments at 5 % wrong", "undecided %",
                    "beside never")  # fmt: skip
CLUSTERS = 10


@dataclass(frozen=True, slots=True)
class Earlier:
    """Systems with earlier scores, by the same or another judge; histories are drawn among them.

    `scores` has the shape (systems, items), on the items of the recordings, NaN where a score is
    missing. Scores that differ by at most `tie_margin` tie. `always` names systems that are in
    every history.
    """

    systems: tuple[str, ...]
    scores: Floats
    tie_margin: float = 0.0
    always: tuple[str, ...] = ()

    def past(self, count: int, but: Collection[str], positions: np.ndarray, rng: np.random.Generator) -> Past:
        """Return every comparison among `count` systems drawn at random, on items at `positions`.

        Systems in `but` are not drawn. With the same seed, the systems for a larger `count` contain
        those for a smaller `count`.

        Raises:
            ValueError: there are fewer than `count` systems to draw from.
        """
        free = [row for row, name in enumerate(self.systems) if name not in but]
        first = [row for row in free if self.systems[row] in self.always]
        others = [free[at] for at in rng.permutation(len(free)) if free[at] not in first]
        drawn = [*first, *others][:count]
        if len(drawn) < count:
            raise ValueError(f"a history of {count} systems among {len(free)}")
        names = [self.systems[row] for row in drawn]
        return past_of_scores(names, self.scores[np.ix_(drawn, positions)], self.tie_margin)


@dataclass(frozen=True, slots=True)
class WithEarlier(Recordings):
    """Recordings whose histories are drawn from the scores of `earlier`."""

    earlier: Earlier | None = None

    def past(self, contest: Contest, count: int, rng: np.random.Generator) -> Past:
        """Return earlier comparisons of `count` other systems on the contest's items."""
        assert self.earlier is not None
        compared = [self.systems[system] for system in contest.pair]
        return self.earlier.past(count, compared, contest.positions, rng)


@dataclass(frozen=True)
class Setting:
    """Recorded verdicts, a history, and the draws to be tried.

    `history` is the number of systems in the history, and `most` the limit of judgments. With
    `shared`, the history has only comparisons of the pair's first system with others, as of a
    baseline with every candidate so far. `texts` is the folder of items and outputs; it is needed
    if a variant uses texts.
    """

    label: str
    recordings: Recordings
    history: int
    variants: Mapping[str, Make | str]
    most: int = 200
    shared: bool = False
    texts: Path | None = None


def chosen(setting: Setting, count: int) -> tuple[list[tuple[int, int]], int]:
    """Return the pairs, and the number of runs of each pair, for `count` runs in all."""
    pairs = setting.recordings.pairs(count // 2, np.random.default_rng(0))
    return pairs, count // len(pairs)


def past_of(setting: Setting, contest: Contest, rng: np.random.Generator) -> Past:
    """Draw a history as `judgeloop replay` does, or with `shared` as `Setting` says."""
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
    """Run every variant on the same pairs, repetitions and histories; level pairs are left out."""
    found: dict[str, list[Any]] = {name: [] for name in setting.variants}
    heads = []
    texts = None if setting.texts is None else meanings(setting.texts, setting.recordings)
    pairs, seeds = chosen(setting, count)
    for pair in pairs:
        for seed in range(seeds):
            contest = setting.recordings.contest(pair, 1.0, np.random.default_rng([*pair, seed]))
            if contest.gap == 0:
                continue
            past = past_of(setting, contest, np.random.default_rng([*pair, seed, 2]))
            names = tuple(setting.recordings.systems[system] for system in pair)
            world = World(names, contest, past, setting.recordings.distances(contest), texts)
            items = len(contest.preferences)
            heads.append({"first": pair[0], "second": pair[1], "seed": seed, "gap": contest.gap, "items": items})  # fmt: skip
            for name, variant in setting.variants.items():
                order = drawn(variant, world, setting.most, (*pair, seed, 1))
                assert len(order) == setting.most, "the pool is smaller than the limit"
                found[name].append(contest.preferences[order])
    return {name: Runs(heads, np.array(verdicts)) for name, verdicts in found.items()}


def rows_of(runs: Runs, name: str) -> list[dict[str, Any]]:
    """Return the rows that `judgeloop replay` makes for the rule `tie-aware`."""
    rows = []
    for risk, (asked, wrong, undecided) in zip(RISKS, runs.ended(TIE_AWARE, np.array(RISKS)), strict=True):
        named = np.where(undecided, 0, np.where(wrong, -1, 1))
        rows += [
            head | {"selector": name, "rule": "tie-aware", "risk": risk, "asked": int(judged), "named": int(who)}
            for head, judged, who in zip(runs.heads, asked, named, strict=True)
        ]  # fmt: skip
    return rows


def check(setting: Setting, runs: Mapping[str, Runs], count: int) -> None:
    """Assert that `judgeloop replay` finds the same on the first pairs."""
    pairs, seeds = chosen(setting, count)
    config = ReplayConfig(
        outputs=Path(), items=Path(), verdicts=Path(), output=Path(),  # read already
        selectors=tuple(name for name in ("random", "decisive") if name in runs),
        seeds=seeds, subset=1.0, iterative=True, rules=("tie-aware",), risk=RISKS,
        min_judgments=LEAST, max_judgments=setting.most, history_systems=setting.history,
    )  # fmt: skip
    replayed = [row for pair in pairs[:CHECKED_PAIRS] for row in run_pair(setting.recordings, pair, config)]
    names = ("first", "second", "seed", "selector", "risk", "asked", "named")
    own = {
        tuple(row[name] for name in names) for selector, drawn_by in runs.items() for row in rows_of(drawn_by, selector)
    }
    missing = [row for row in replayed if tuple(row[name] for name in names) not in own]
    assert not missing, f"judgeloop replay differs: {missing[0]}"


def lines(setting: Setting, count: int) -> list[str]:
    """Return a line of a table for each variant, and print it."""
    runs = run(setting, count)
    if not setting.shared:
        check(setting, runs, count)
    base = [(rule, curve(runs["random"], rule).needed) for rule in (TIE_AWARE, PREDICTIVE)]
    found = []
    for name, walked in runs.items():
        cells = [setting.label, "" if name == "random" else str(setting.history), name]
        cells += [
            f"{row['judgments']:.0f} ± {row['judgments_se']:.0f}; {_percent(row, 'error')}, {_percent(row, 'inconclusive')}"
            for row in by_rule(rows_of(walked, name))
        ]
        for rule, needed in base:
            path = curve(walked, rule)
            judged, undecided = (path.at(GOAL_ERROR, values) for values in (path.judgments, path.undecided))
            cells.append(f"{_pm(judged)}; {_pm(100 * undecided)}")
            cells.append("" if name == "random" else _pm(path.needed / needed, 2))
        cells.append("" if name == "random" else _pm(beside(walked, runs["random"]), 2))
        found.append("| " + " | ".join(cells) + " |")
        print(found[-1], flush=True)
    return found


def given_up(setting: Setting, count: int) -> list[str]:
    """Return a line for each kind of draws, each statistic and each chance to give up under."""
    found = []
    for name, walked in run(setting, count).items():
        for rule in (TIE_AWARE, PREDICTIVE):
            base = None
            for give_up in GIVE_UP:
                path = curve(walked, rule, NEAR_THE_GOAL, give_up)
                judged, undecided = (path.at(GOAL_ERROR, values) for values in (path.judgments, path.undecided))
                base = path.needed if base is None else base
                cells = [setting.label, "" if name == "random" else str(setting.history), name, rule.name]
                cells += [f"{give_up:g}" if give_up else "never", _pm(judged), _pm(100 * undecided), _pm(path.needed / base, 2)]  # fmt: skip
                found.append("| " + " | ".join(cells) + " |")
                print(found[-1], flush=True)
    return found


def _percent(row: Mapping[str, Any], name: str) -> str:
    return f"{100 * row[name]:.1f} ± {100 * row[f'{name}_se']:.1f}"


def _pm(values: Floats, digits: int = 1) -> str:
    return f"{values[0]:.{digits}f} ± {values[1:].std():.{digits}f}"


def read(path: Path, tie_margin: float, *, but: Sequence[str] = ()) -> Recordings:
    """Read the scores of all systems but those in `but`, and the lengths of their outputs.

    The items are in the order of their ids. Scores that differ by at most `tie_margin` tie.
    """
    systems, items, scores = score_table(path, but=but)
    lengths = output_lengths(path.parent / "outputs", path.parent / "items.jsonl", systems, items)
    return Recordings(systems, scores, lengths=lengths, tie_margin=tie_margin)


def meanings(folder: Path, recordings: Recordings) -> Meanings:
    """Read the words of the outputs in `folder`, and cluster its items by their prompts' words."""
    path = folder / "items.jsonl"
    prompts = {located.row.id: located.row.prompt for located in read_items(path).rows}
    items = sorted(prompts)
    assert recordings.scores.shape[1] == len(items), "every item has verdicts"
    known, texts = read_texts(folder / "outputs", path, recordings.systems)
    words = {
        (system, item.id): frozenset(text.lower().split())
        for system, own in texts.items()
        for item, text in zip(known, own, strict=True)
        if text is not None
    }
    vectors = embed_lexical([prompts[item] for item in items], 0)
    clusters = KMeans(CLUSTERS, n_init=3, random_state=0).fit(vectors).labels_
    return Meanings([[words.get((system, item)) for item in items] for system in recordings.systems], clusters)


def with_history(recordings: Recordings, others: Recordings, always: tuple[str, ...] = ()) -> Recordings:
    """Return `recordings` with histories drawn from `others`; `always` are in every history."""
    own = {field.name: getattr(recordings, field.name) for field in fields(recordings)}
    earlier = Earlier(others.systems, others.scores, others.tie_margin, always)
    return WithEarlier(**own, earlier=earlier)


def tables(data: Path) -> dict[str, list[Setting]]:
    """Return the settings of every table, by the table's name."""
    alpaca, summaries = data / "alpacaeval", data / "realsumm"
    by_turbo = alpaca / "verdicts-gpt4turbo.csv.gz"
    gpt4 = read(alpaca / "verdicts-gpt4.csv.gz", 0.0)
    turbo, every = read(by_turbo, 0.05, but=ADVERSARIES), read(by_turbo, 0.05)
    untied = replace(turbo, tie_margin=0.0)
    rouge, pyramid = (read(summaries / f"verdicts-{name}.csv.gz", 0.0) for name in ("rouge2", "human-pyramid"))
    even: dict[str, Make | str] = {"random": evenly}
    issue = even | {"h²": by(laplace(2)), "h⁴": by(laplace(4)), "largest h first": "largest first"}
    ours = even | {"decisive": built()}
    tried = ours | {
        "no patterns": built(parts=Parts(patterns=False)),
        "no learning": built(parts=Parts(learning=False)),
        "no lengths": built(parts=Parts(distances=None)),
        "history alone": built(parts=Parts(None, patterns=False, learning=False)),
        "history alone, no even tenth": by(no_even_tenth),
        "h alone": by(share_alone),
        "c alone": by(agreement_alone),
        "words for lengths": built(parts=Parts("words")),
        "clusters too": built(parts=Parts(clusters=True)),
        "p = 1": built(1.0),
        "p = 3": built(3.0),
    }
    cold = even | {
        "lengths alone": alone(Parts()),
        "words alone": alone(Parts("words")),
        "clusters alone": alone(Parts(None, clusters=True)),
    }
    foreign = ours | {"half the exponent": built(exponent(16) / 2), "a quarter of it": built(exponent(16) / 4)}
    either = ours | {
        "with today's counted whole": with_todays(counted=True),
        "not counted": with_todays(counted=False),
        "as they stand": as_they_stand,
    }
    main = [("GPT-4", gpt4), ("turbo, margin 0.05", turbo)]
    return {
        "decisive-issue": [Setting(label, recorded, h, issue) for label, recorded in main for h in (28, 4)],
        "decisive-history": [Setting(label, recorded, h, ours) for label, recorded in main for h in (2, 4, 8, 16, 28)],
        "decisive-tried": [Setting(label, recorded, 16, tried, texts=alpaca) for label, recorded in main],
        "decisive-cold": [
            Setting(label, recorded, 0, cold, most, texts=folder)
            for label, recorded, most, folder in [
                *((label, recorded, 200, alpaca) for label, recorded in [*main, ("turbo, no margin", untied)]),
                ("ROUGE-2", rouge, 80, summaries), ("human pyramid", pyramid, 80, summaries),
            ]
        ],
        "decisive-untied": [
            Setting("ROUGE-2", rouge, 12, ours, 80), Setting("human pyramid", pyramid, 12, ours, 80),
            Setting("ROUGE-2", rouge, 3, ours, 80), Setting("human pyramid", pyramid, 3, ours, 80),
            Setting("turbo, no margin", untied, 16, ours), Setting("turbo, no margin", untied, 3, ours),
        ],
        GIVEN_UP: [Setting(label, recorded, 16, ours) for label, recorded in main],
        "decisive-shared": [Setting(label, recorded, h, either, shared=True) for label, recorded in main for h in (4, 10, 16)],
        "decisive-foreign": [
            Setting("turbo, history by GPT-4", with_history(turbo, gpt4), 16, foreign),
            Setting("GPT-4, history by turbo", with_history(gpt4, turbo), 16, foreign),
            Setting("turbo, two adversaries in the history", with_history(turbo, every, ADVERSARIES), 8, ours),
        ],
    }  # fmt: skip


def main() -> None:
    """Make the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("-o", "--output", type=Path, help="folder for the tables")
    parser.add_argument("--only", default="", help="make only the tables whose names begin with this")
    parser.add_argument("--runs", type=int, default=RUNS, help="number of runs of each kind of draws")
    arguments = parser.parse_args()
    for name, settings in tables(arguments.data).items():
        if not name.startswith(arguments.only):
            continue
        columns, made = (GIVEN_UP_COLUMNS, given_up) if name == GIVEN_UP else (COLUMNS, lines)
        head = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        print(f"\n{name}\n" + "\n".join(head))
        found = [line for setting in settings for line in made(setting, arguments.runs)]
        # Random draws use no history, so their line is the same for every history: once is enough.
        table = [*head, *dict.fromkeys(found)]
        if arguments.output is not None:
            arguments.output.mkdir(parents=True, exist_ok=True)
            (arguments.output / f"{name}.md").write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
