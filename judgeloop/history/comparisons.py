"""Finds earlier comparisons for a new comparison: in the ledger, in some of its runs, or in a file.

Returns a `History`: the comparisons, their source in words, and what they say of each item.
`methods/stats/decisiveness.py` computes the latter.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError
from judgeloop.core.records import Verdict
from judgeloop.core.verdict_key import KeyedJudge, digest, place_of
from judgeloop.formats.verdicts import VerdictTable, read_verdicts
from judgeloop.history import verdict_columns
from judgeloop.history.pairing import compared
from judgeloop.history.past import About, Pair, Past, no_past, past_of_pairs, past_of_scores, prospects_of
from judgeloop.ledger.opening import Address, runs_of
from judgeloop.methods.stats.decisiveness import Prospects, exponent
from judgeloop.report.words import count

AUTO, NONE = "auto", "none"
RUN_ID = re.compile(r"[0-9a-f]{16}")
SHOWN = 5  # number of runs that a message lists
# Factor on the exponent of the draw weights if other judges gave verdicts. A larger factor cost
# judgments where two judges differ (docs/results).
OF_OTHER_JUDGES = 0.25


@dataclass(frozen=True, slots=True)
class History:
    """Earlier comparisons on the items of a pool.

    `source` says in words where they come from. `prospects` is what they say of the items, None if
    they prefer no item. `by_same` is False if other judges took part. `began` is the time when a
    repeated run first began, as only earlier verdicts count; None for a new run or a file.
    """

    past: Past
    source: str
    prospects: Prospects | None
    by_same: bool = True
    began: str | None = None


def history_of(past: Past, source: str, systems: Sequence[str], *, by_same: bool = True) -> History:
    """Return `past` with what it says of the items for a comparison of the two `systems`."""
    power = None if by_same else OF_OTHER_JUDGES * exponent(past.systems_an_item)
    prospects = prospects_of(past.with_implied(), tuple(systems), power)
    if prospects is None:
        source += ": plain random draws"
    return History(past, source, prospects, by_same)


def find_history(given: str, about: About, ledger: Address, run: str, *, begin: bool) -> History:
    """Return the history that `given` names (auto, none, runs or a file).

    With `begin` the start of the run is recorded in the ledger, so that a repeated run sees the
    same history.

    Raises:
        InputError: there is no such file or run, or it has no comparisons on these items.
    """
    if given == NONE:
        return history_of(no_past(len(about.items)), "no history", about.systems)
    if Path(given).is_file():
        return _of_file(Path(given), about)
    runs = named_runs(given, ledger)
    began = next((one.began_at for one in runs_of(ledger) if one.id == run), None)
    verdicts = verdict_columns.remembered_verdicts(ledger, run, begin=begin, of_runs=runs, outputs=about.digests)
    past, by_same = _of_ledger(verdicts, about)
    if runs and not past.verdicts:
        raise InputError(
            f"`history={given}`: found no comparisons on these items in these runs, apart from "
            "those of the very outputs that are compared now"
        )
    found = history_of(past, _said(past, by_same=by_same, runs=runs), about.systems, by_same=by_same)
    return replace(found, began=began)


def ties_with(baseline: int, about: About, ledger: Address) -> tuple[int, int]:
    """Return how many items were a tie, of how many, in all comparisons with the system `baseline`.

    By these judges on these items, whoever the candidate was. (0, 0) if the outputs of the system are
    not known yet.
    """
    if baseline in about.live:
        return 0, 0
    outputs = {place_of(item): digest(text) for item, text in zip(about.items, about.outputs[baseline], strict=True)}
    verdicts = verdict_columns.remembered_verdicts(
        ledger, None, begin=False, outputs=set(outputs.values()), only_on=True
    )
    own = verdicts.at_places({place: verdicts.number(output) for place, output in outputs.items()})
    with_it = (own != verdict_columns.UNKNOWN) & (verdicts.shown == own[:, None]).any(axis=1)
    judges = [KeyedJudge.of(identity) for identity in about.judges]
    usable = verdicts.only(verdicts.compares & verdicts.by_judges(judges) & with_it)
    past = compared(usable, {place: number for number, place in enumerate(outputs)})
    return int((past.known & (past.preferences == 0)).sum()), past.verdicts


def named_runs(given: str, ledger: Address) -> tuple[str, ...]:
    """Return the ids of the runs that `given` names; empty for auto.

    Raises:
        InputError: a name is not a run id, or the ledger has no such run.
    """
    if given == AUTO:
        return ()
    names = tuple(part.strip() for part in given.split(","))
    for name in names:
        if not RUN_ID.fullmatch(name):
            raise InputError(
                f"`history={given}`: expected auto, none, a file of verdicts, or names of runs "
                f"separated by commas; there is no such file, and {name!r} is not the name of a "
                "run (16 hexadecimal digits, such as 0123456789abcdef)"
            )
    known = [run.id for run in runs_of(ledger)]
    for name in names:
        if name not in known:
            latest = ", ".join(known[-SHOWN:]) or "none"
            raise InputError(f"`history={name}`: {ledger} has no such run; its latest runs: {latest}")
    return names


def _said(past: Past, *, by_same: bool, runs: tuple[str, ...]) -> str:
    if not past.verdicts:
        return "no other comparisons on these items in the ledger"
    judge = "" if by_same else ", by other judges too"
    return f"{_counted(past)} in {where_of(runs)}{judge}"


def where_of(runs: tuple[str, ...]) -> str:
    """Return in words where a history was searched."""
    return f"run{'s' * (len(runs) > 1)} {', '.join(runs)}" if runs else "the ledger"


def _counted(past: Past) -> str:
    return f"{count(past.verdicts, 'verdict')} of {count(len(past), 'comparison')}"


def _of_file(path: Path, about: About) -> History:
    table = read_verdicts(path)
    past = past_of_table(table, [item.id for item in about.items], about.tie_margin, about.systems)
    if not past.verdicts:
        raise InputError(
            f"`history={path}`: expected comparisons on the items {about.items[0].id!r} and so on, "
            "found none; the file needs verdicts on these items for at least two systems"
        )
    first, second = about.systems
    past = past.but((first, second))
    return history_of(past, f"{_counted(past)} in {path.name}", about.systems)


def past_of_table(table: VerdictTable, items: Sequence[str], tie_margin: float, today: Collection[str] = ()) -> Past:
    """Return the comparisons that a verdict table holds on `items`.

    A table of scores gives all pairs of its systems; a table of pairs gives these pairs. Of several
    systems with identical scores the first counts, and those of `today`.
    """
    positions = {item: position for position, item in enumerate(items)}
    if table.paired:
        pairs: dict[Pair, dict[int, int]] = {}
        for (item, first, second), recorded in table.rows.items():
            if item in positions and recorded.score is not None:
                pairs.setdefault((first, second), {})[positions[item]] = Verdict(recorded.score).preference
        return past_of_pairs(pairs, len(items))
    systems = sorted(table.systems)
    scores = table.scores(systems, items)
    scored = ~np.isnan(scores).all(axis=1)
    _, own = np.unique(np.nan_to_num(scores, nan=-np.inf), axis=0, return_index=True)
    # Copies of a system are no further evidence.
    scored &= np.isin(np.arange(len(systems)), own) | np.isin(systems, list(today))
    kept = [name for name, has in zip(systems, scored, strict=True) if has]
    return past_of_scores(kept, scores[scored], tie_margin)


def _of_ledger(verdicts: verdict_columns.VerdictColumns, about: About) -> tuple[Past, bool]:
    """Return the usable comparisons in `verdicts`, and whether all are by the same judges.

    Only the same judges' verdicts count if there are at least as many as items; else all judges'.
    """
    positions = {place_of(item): position for position, item in enumerate(about.items)}
    today = {
        name: {item.id: digest(text) for item, text in zip(about.items, texts, strict=True)}
        for name, texts in zip(about.systems, about.outputs, strict=True)
    }
    here = verdicts.at_places(positions) != verdict_columns.UNKNOWN
    usable = verdicts.only(verdicts.compares & here)
    usable = usable.only(~_of_today(usable, about))
    by_same = usable.by_judges([KeyedJudge.of(identity) for identity in about.judges])
    enough = by_same.sum() >= len(about.items) or bool(by_same.all())
    return compared(usable.only(by_same) if enough else usable, positions, today), bool(enough)


def _of_today(verdicts: verdict_columns.VerdictColumns, about: About) -> NDArray[np.bool_]:
    """Return which verdicts are about the very outputs that are compared now.

    As history they would influence which items are drawn for their own comparison. What a live
    system will give is not known yet: all verdicts on a system of its name may be about that.
    """
    places = [place_of(item) for item in about.items]
    first, second = (
        verdicts.at_places({place: verdicts.number(digest(text)) for place, text in zip(places, texts, strict=True)})
        for texts in about.outputs
    )
    one, other = verdicts.shown.T
    found: NDArray[np.bool_] = (one == first) & (other == second) | (one == second) & (other == first)
    names = [verdicts.number(about.systems[number]) for number in about.live]
    return found | np.isin(verdicts.systems, names).any(axis=1)
