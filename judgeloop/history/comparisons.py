"""Earlier comparisons for a new one: from the ledger, from some of its runs, or from a file.

It reads the ledger or the file, and says where the comparisons come from. What they say of an item
is computed in `stats/decisiveness.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from judgeloop.core.errors import InputError
from judgeloop.core.records import Verdict
from judgeloop.core.verdict_key import KeyedJudge, digest, place_of
from judgeloop.core.verdict_table import VerdictTable
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.history.about import About
from judgeloop.history.past import Pair, Past, no_past, past_of_pairs, past_of_scores
from judgeloop.history.prospects import prospects_of
from judgeloop.history.remembered import (
    RememberedVerdict,
    compared,
    known_runs,
    remembered_verdicts,
)
from judgeloop.report.sentences import count
from judgeloop.stats.decisiveness import Prospects, exponent

AUTO, NONE = "auto", "none"
RUN_ID = re.compile(r"[0-9a-f]{16}")
SHOWN = 5
OF_OTHER_JUDGES = (
    0.25  # of the exponent: more cost judgments where two judges differ (docs/results.md)
)


@dataclass(frozen=True, slots=True)
class History:
    """Earlier comparisons on the items of a pool, what they say of these, and where they come from, in words.

    `by_same` is False where other judges made them; `began` says when a run began that is repeated, for only what was there before
    counts.
    """

    past: Past
    source: str
    prospects: Prospects | None
    by_same: bool = True
    began: str | None = None


def history_of(past: Past, source: str, systems: Sequence[str], *, by_same: bool = True) -> History:
    """A past with what it says of the items when the two `systems` are compared."""
    power = None if by_same else OF_OTHER_JUDGES * exponent(past.systems_an_item)
    prospects = prospects_of(past.with_implied(), tuple(systems), power)
    if prospects is None:
        source += ": plain random draws"
    return History(past, source, prospects, by_same)


def find_history(given: str, about: About, ledger: Path, run: str, *, begin: bool) -> History:
    """What `given` (auto, none, runs or a file) says about the items.

    With `begin` the run is noted in the ledger, so that it sees the same past when it is repeated.

    Raises:
        InputError: there is no such file or run, or it has nothing on these items.
    """
    if given == NONE:
        return history_of(no_past(len(about.items)), "no history", about.systems)
    if Path(given).is_file():
        return _of_file(Path(given), about)
    runs = named_runs(given, ledger)
    began = known_runs(ledger).get(run)
    verdicts = remembered_verdicts(ledger, run, begin=begin, of_runs=runs)
    past, by_same = _of_ledger(verdicts, about)
    if runs and not past.verdicts:
        raise InputError(
            f"`history={given}`: there are no comparisons of other outputs than today's on these items in it"
        )
    found = history_of(
        past, _said(past, by_same=by_same, runs=runs), about.systems, by_same=by_same
    )
    return replace(found, began=began)


def named_runs(given: str, ledger: Path) -> tuple[str, ...]:
    """The runs that `history` names; none for auto.

    Raises:
        InputError: one is no run of the ledger.
    """
    if given == AUTO:
        return ()
    names = tuple(Path(part.strip()).name for part in given.split(","))  # a run's folder will do
    for name in names:
        if not RUN_ID.fullmatch(name):
            raise InputError(
                f"`history={given}`: expected auto, none, a file of verdicts, or names of runs with commas between; there is no such file, and "
                f"{name!r} is no run's name, such as 0123456789abcdef"
            )
    known = known_runs(ledger)
    for name in names:
        if name not in known:
            latest = ", ".join(list(known)[-SHOWN:]) or "none"
            raise InputError(
                f"`history={name}`: {ledger} has no such run; the latest it has: {latest}"
            )
    return names


def _said(past: Past, *, by_same: bool, runs: tuple[str, ...]) -> str:
    if not past.verdicts:
        return "no other comparisons on these items in the ledger"
    judge = "" if by_same else ", by other judges too"
    return f"{_counted(past)} in {where_of(runs)}{judge}"


def where_of(runs: tuple[str, ...]) -> str:
    """Where a history was looked for, in words."""
    return f"run{'s' * (len(runs) > 1)} {', '.join(runs)}" if runs else "the ledger"


def _counted(past: Past) -> str:
    return f"{count(past.verdicts, 'verdict')} of {count(len(past), 'comparison')}"


def _of_file(path: Path, about: About) -> History:
    table = read_verdicts(path)
    past = past_of_table(table, [item.id for item in about.items], about.tie_margin, about.systems)
    if not past.verdicts:
        raise InputError(
            f"`history={path}`: expected comparisons on the items {about.items[0].id!r} and so on, found none; it needs at least two "
            "systems, or pairs of them, with verdicts on these items"
        )
    first, second = about.systems
    past = past.but((first, second))
    return history_of(past, f"{_counted(past)} in {path.name}", about.systems)


def past_of_table(
    table: VerdictTable, items: Sequence[str], tie_margin: float, today: Collection[str] = ()
) -> Past:
    """The comparisons that a verdict table holds on these items: all pairs of systems that it scores, or the pairs it has.

    Systems that were given the very same scores count once, but for those of `today`.
    """
    positions = {item: position for position, item in enumerate(items)}
    if table.paired:
        pairs: dict[Pair, dict[int, int]] = {}
        for (item, first, second), recorded in table.rows.items():
            if item in positions and recorded.score is not None:
                pairs.setdefault((first, second), {})[positions[item]] = Verdict(
                    recorded.score
                ).preference
        return past_of_pairs(pairs, len(items))
    systems = sorted(table.systems)
    scores = table.scores(systems, items)
    scored = ~np.isnan(scores).all(axis=1)
    _, own = np.unique(np.nan_to_num(scores, nan=-np.inf), axis=0, return_index=True)
    # Of systems with the very same scores one: copies are no evidence.
    scored &= np.isin(np.arange(len(systems)), own) | np.isin(systems, list(today))
    kept = [name for name, has in zip(systems, scored, strict=True) if has]
    return past_of_scores(kept, scores[scored], tie_margin)


def _of_ledger(verdicts: Iterable[RememberedVerdict], about: About) -> tuple[Past, bool]:
    """The comparisons by the same judges, if there are as many verdicts as items; else those by any. And whether all are by the same."""
    positions = {place_of(item): position for position, item in enumerate(about.items)}
    today = {
        name: {item.id: digest(text) for item, text in zip(about.items, texts, strict=True)}
        for name, texts in zip(about.systems, about.outputs, strict=True)
    }
    usable = [
        verdict
        for verdict in verdicts
        if verdict.compares and verdict.place in positions and not _of_today(verdict, today)
    ]
    own = [KeyedJudge.of(identity) for identity in about.judges]
    by_same = [verdict for verdict in usable if verdict.ingredients.judge in own]
    enough = len(by_same) >= len(about.items) or len(by_same) == len(usable)
    return compared(by_same if enough else usable, positions, today), enough


def _of_today(verdict: RememberedVerdict, today: Mapping[str, dict[str, str]]) -> bool:
    """Whether it is about the very outputs that are compared now: such verdicts would choose their own company."""
    now = {outputs[verdict.item_id] for outputs in today.values()}
    return set(verdict.ingredients.outputs) == now
