"""One pair of systems over its past runs: the gap of each, a picture, and whether it drifts.

Reads results, returns figures, a table and a picture.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.estimators.preferences import MISSES
from judgeloop.methods.stopping.rule import gap_bounds
from judgeloop.questions.compare.result import EQUAL_BOUND, Comparison
from judgeloop.report.page import Fact, Page, PageTable, Section, decided
from judgeloop.report.pictures import IntervalRow, Scale
from judgeloop.report.words import count, shortened, signed, visible

DRIFT_RISK = 0.05
MOST_SHOWN = 30  # runs in a picture
LONGEST_AHEAD = 10  # letters of a name at an end of the scale: both ends have room on a phone
FEW = 3  # systems that are named each
FEWEST = 2  # runs that can contradict each other
NEEDS = (
    "It needs two runs or more, with the latest run's judge and a set of as many items, each with uniform random draws "
    "of its own. Another --seed draws anew, and a suite does in the first night of new outputs"
)
TESTED = (
    "The null hypothesis is that the gap on items like these is the same in all these runs. It is tested at a risk "
    f"of {DRIFT_RISK:g}, however often one looks (Shekhar & Ramdas 2023)."
)
PICKED, OTHERWISE, OTHER_MODEL, SAME = (  # why the test of drift does not count a run
    "whose draws are not uniform",
    "asked otherwise than the latest",
    "by another model of the judge",
    "with the seed of an earlier run",
)
IN_A_WORD = {PICKED: "draws", OTHERWISE: "settings", OTHER_MODEL: "model", SAME: "seed"}


class Point(NamedTuple):
    """A run: `gap` is the share that the second system won less the share that it lost.

    `name` is its night or its date. `gap` and its interval are None where the items were picked. `risk` is that of each
    bound, and `bounds` are both as the run's own page shows them. `left_out` says why the test of drift does not count
    it; empty if it does. `changed` says what is not that of the run before: the items, or the outputs of which systems.
    """

    name: str
    systems: tuple[str, ...]
    run: str
    judged: int
    gap: float | None
    interval: tuple[float, float] | None
    risk: float
    left_out: str
    bounds: str
    judge: str
    changed: str = ""


class Drift(NamedTuple):
    """What the test says: gaps between `low` and `high` fit all `runs`; none does if `low` is above `high`."""

    runs: int
    low: float
    high: float


class Trend(NamedTuple):
    """The past runs of a pair, the oldest first; `drift` is None where it cannot be asked."""

    points: tuple[Point, ...]
    drift: Drift | None


class Run(NamedTuple):
    """A past run: the name of its night or day, its result, and a digest of each system's outputs, if known."""

    name: str
    result: Comparison
    outputs: tuple[str, ...] = ()


def trend_of(runs: Sequence[Run]) -> Trend:
    """The trend of one or more runs, the oldest first."""
    why = left_out([run.result for run in runs])
    before = [runs[0], *runs]
    points = tuple(
        _point(run.name, run.result, reason)._replace(changed=_changed(last, run))
        for last, run, reason in zip(before, runs, why, strict=False)
    )
    return Trend(points, drift([run.result for run, reason in zip(runs, why, strict=True) if not reason]))


def _changed(last: Run, run: Run) -> str:
    if last.result.items != run.result.items:
        return "items"
    names = zip(last.result.setup.systems, run.result.setup.systems, strict=True)
    found = zip(names, last.outputs, run.outputs, strict=False)
    others = [visible(name) for (was, name), old, new in found if was == name and old and new and old != new]
    return f"outputs of {' and '.join(others)}" if others else ""


def left_out(results: Sequence[Comparison]) -> list[str]:
    """For each result why the test of drift may not count it; empty if it may.

    Those that count are by the judges of the last, answered by the same models, about as many items and the same
    population, and their draws are uniform. Of several with one seed only the first counts: the others drew the same
    items in the same order, where an unchanged output has an unchanged verdict. They would agree by design.
    """
    seeds, found = set[int](), list[str]()
    for one in results:
        if one.bounds is None or one.gap_weighted or one.gap_biased:
            found.append(PICKED)
        elif _asked(one) != _asked(results[-1]):
            found.append(OTHERWISE)
        elif _models(one) != _models(results[-1]):
            found.append(OTHER_MODEL)
        else:
            found.append(SAME if one.setup.seed in seeds else "")
            seeds.add(one.setup.seed)
    return found


def _asked(one: Comparison) -> tuple[object, ...]:
    setup = one.setup
    return setup.judges, setup.vote, setup.prompt, setup.rubric, setup.order, setup.about, one.items


def _models(one: Comparison) -> list[set[str]]:
    return [{by.model for by in models} for models in one.counts.answered_by]


def drift(results: Sequence[Comparison], risk: float = DRIFT_RISK) -> Drift | None:
    """Test the null hypothesis that the gap on items like these is the same in all runs; None for one run.

    The runs from the k-th on are pooled, each item once, by its first verdict among them. Under the null
    hypothesis each item that is new to such a pool is a new draw, whose verdict has the gap as its mean,
    whatever was seen before. So bounds by betting (`gap_bounds`; Waudby-Smith & Ramdas 2024) ever
    miss the gap with probability at most a_k = risk / (k (k + 1)), at the end of any run, and any of all
    pools ever misses it with probability at most the sum of the a_k, which is at most the risk. So
    intervals that have no gap in common ever turn up with probability at most the risk, for ever so
    many runs and however often one looks. After Shekhar & Ramdas (2023), "Reducing sequential change
    detection to sequential estimation", who intersect confidence sequences that begin at each time;
    levels that sum to the risk bound the probability of any false alarm.
    """
    if len(results) < FEWEST:
        return None
    verdicts, last = list(map(_preferences, results)), len(results)
    pools = [(0, end) for end in range(1, last + 1)] + [(begin, last) for begin in range(1, last)]
    every = [_bounds(verdicts[k:end], risk / ((k + 1) * (k + 2))) for k, end in pools]
    return Drift(last, max(low for low, _ in every), min(high for _, high in every))


def _preferences(one: Comparison) -> dict[str, int | None]:
    """1 for each item that the second system won, -1 where the first did; None without a verdict."""
    sides = {None: 0, one.setup.systems[1]: 1, one.setup.systems[0]: -1}
    labels = (label for label in one.labels if label.in_decision)
    return {label.item_id: None if label.score is None else sides[label.winner] for label in labels}


def _bounds(runs: Sequence[Mapping[str, int | None]], risk: float) -> tuple[float, float]:
    """Bounds of the gap from the first verdict on each item; each is wrong with half of the risk."""
    first: dict[str, int | None] = {}
    for run in runs:
        first = first | {item: verdict for item, verdict in run.items() if item not in first}
    seen = list(first.values())
    wins, ties, silent = (seen.count(1), seen.count(-1)), seen.count(0), seen.count(None)
    tally = Tally(len(seen), wins, ties, silent, preferences=seen)
    return gap_bounds(tally, UNLIMITED, risk / 2) or (-1.0, 1.0)


def _point(name: str, one: Comparison, reason: str) -> Point:
    risk = MISSES / 2 if one.gap_weighted else one.setup.risk_threshold
    second = one.setup.systems[1]
    gap, interval, _ = one.of(second)
    shown = one.bounds_of(second, cell=True)
    return Point(
        name, one.setup.systems, one.setup.run, one.judged, gap, interval, risk, reason, shown, one.setup.judge
    )


def said(trend: Trend) -> str:
    """In words, whether the gap drifts, and what that means."""
    return f"{_answer(trend)} {meaning([trend])}".strip()


def meaning(trends: Sequence[Trend]) -> str:
    """The null hypothesis of the test, and at which risks it and the bounds of runs are; empty for none."""
    tested = any(trend.drift for trend in trends)
    found = [TESTED] if tested else []
    if risks := sorted({one.risk for trend in trends for one in trend.points if one.interval}):
        at = " or ".join(f"{risk:g}" for risk in risks)
        apart = "; the test's risk is for all together, so intervals that lie apart may show no drift"
        found.append(f"Each bound of a run is wrong with probability at most {at}, by itself{apart * tested}.")
    return " ".join(found)


def _answer(trend: Trend) -> str:
    """Whether the gap drifts, or why that cannot be asked, and what the test leaves out."""
    if trend.drift is None:
        found = f"Is it drifting? That cannot be asked of these runs. {NEEDS}."
    else:
        number, low, high = trend.drift
        runs = f"{'both' if number == FEWEST else f'all {number}'} runs with fresh draws"
        fit = f"Not shown: one gap, anywhere from {signed(low)} to {signed(high)} points, fits {runs}."
        found = f"Is it drifting? {f'Yes: no gap fits {runs}.' if low > high else fit}"
    if many := Counter(one.left_out for one in trend.points if one.left_out):
        why = ", ".join(f"{number} {reason}" for reason, number in many.items())
        found += f" The test leaves out {count(many.total(), 'run')}: {why}."
    if any(one.gap in (one.interval or ()) and abs(one.gap or 0.0) < 1 for one in trend.points):
        found += f" {EQUAL_BOUND}"
    return found


def page_of(trend: Trend) -> Page:
    """The trend as a table, and whether it drifts; `meaning` says what that means."""
    first, second = _names(trend.points)
    several = len({one.judge for one in trend.points}) > 1
    changed = any(one.changed for one in trend.points)
    many = len({one.systems[1] for one in trend.points}) > 1
    last = (*["judge"] * several, *["changed"] * changed)
    columns = ("night or day", *["system"] * many, "run", "judged", "gap", "in the test", *last)
    rows = tuple(
        (
            visible(one.name),
            *[visible(one.systems[1])] * many,
            one.run,
            f"{one.judged:,}",
            _figures(one),
            f"no: {IN_A_WORD[one.left_out]}" if one.left_out else "yes",
            *[visible(one.judge)] * several,
            *[one.changed] * changed,
        )
        for one in trend.points
    )
    runs = count(len(rows), "run")
    head = f"The gap of {second} over {first} in {runs}, in points: the share won less the share lost"
    answer = Fact("drift", Section.DECISION, "", _answer(trend), first=True)
    return Page((decided(head), answer), (PageTable("", columns, rows),))


def _names(points: Sequence[Point]) -> list[str]:
    """Who is first and who is second: of many systems that a pattern names, the oldest and the latest."""
    found = []
    for place in (0, 1):
        names = [visible(name) for name in dict.fromkeys(one.systems[place] for one in points)]
        many = f"{len(names)} systems ({names[0]} to {names[-1]})"
        found.append(" and ".join(names) if len(names) <= FEW else many)
    return found


def picture(trends: Sequence[Trend]) -> Scale:
    """The gap of each run with its interval, beside its night or date, by pair and the oldest first."""
    known = [[point for point in one.points if point.gap is not None] for one in trends]
    most_each = max(1, MOST_SHOWN // len(trends))
    shown = [point for points in known for point in points[-most_each:]]
    runs = sum(map(len, known))
    first, second = _names(shown or trends[0].points)
    ends = [abs(end) for one in shown for end in (one.gap or 0.0, *(one.interval or ()))]
    most = math.ceil(10 * max([0.1, *ends])) / 10
    which = f" The latest {len(shown):,} of {runs:,}." if len(shown) < runs else ""
    pale = " Pale: a run that the test of drift does not count." if any(one.left_out for one in shown) else ""
    means = said(trends[0]) if len(trends) == 1 else meaning(trends)
    return Scale(
        f"The gap of {second} by run",
        f"The gap of {second} over {first} in {count(len(shown), 'run')}, the oldest first.",
        -most,
        most,
        tuple(_row(one, many=len({one.systems[1] for one in shown}) > 1) for one in shown),
        ((0.0, "level"), (-most, f"{_end(shown, 0)} ahead"), (most, f"{_end(shown, 1)} ahead")),
        note=f"In points, from {signed(-most)} to {signed(most)}. {means}{which}{pale}",
    )


def _end(points: Sequence[Point], place: int) -> str:
    """Which system is ahead at an end of the scale; of several, by its place."""
    names = {one.systems[place] for one in points}
    name = visible(names.pop()) if len(names) == 1 else ("first", "second")[place]
    return shortened(name, LONGEST_AHEAD)


def _row(one: Point, *, many: bool) -> IntervalRow:
    """A run; its second system is named where there are many."""
    name = f"{one.name}, {one.systems[1]}" if many else one.name
    return IntervalRow(visible(name), _figures(one), one.gap, one.interval, "other" if one.left_out else "lead")


def _figures(one: Point) -> str:
    """The gap and its interval as they are shown; empty where they are not known."""
    gap = "" if one.gap is None else signed(one.gap)
    return f"{gap} ({one.bounds})" if one.bounds else gap
