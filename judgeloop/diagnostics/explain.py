"""`ledger explain`: why a run asked a judge about an item, or did not.

Reads the attempts on the item from the ledger and compares the ingredients of their keys. Returns
records, and formats them as text. Asks no judge and changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judgeloop.core.errors import InputError
from judgeloop.core.ledger import RecordedAttempt
from judgeloop.core.money import show_usd
from judgeloop.diagnostics.past_runs import past_run
from judgeloop.ledger.opening import Address, open_reader
from judgeloop.report.words import count, visible

LONGEST_VALUE = 16  # number of characters shown of a hash or another ingredient


@dataclass(frozen=True, slots=True)
class Explanation:
    """An attempt of the run, and the earlier attempt on the item whose key is nearest to its own.

    `nearest` is None if no earlier run asked about the item. `differences` are the ingredients of the
    key in which the two differ, each with its earlier value and its value in `attempt`; none if
    both have the same key.
    """

    attempt: RecordedAttempt
    nearest: RecordedAttempt | None
    differences: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ItemCalls:
    """The attempts of a run on an item, and those of all other runs; the oldest first."""

    run: str
    item_id: str
    own: tuple[Explanation, ...]
    others: tuple[RecordedAttempt, ...]


def explain(ledger: Address, run: str, item_id: str) -> ItemCalls:
    """Return the attempts on an item of the run whose id begins with `run`, each explained.

    Raises:
        InputError: there is no ledger, no such run, or no attempt of any run on the item.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    found = past_run(ledger, run).id
    with open_reader(ledger) as reader:
        attempts = reader.attempts(item_id)
    if not attempts:
        raise InputError(
            f"ITEM {item_id}: expected an item that a judge was asked about, found no attempt on it "
            f"in {ledger}. The id is wrong, or no run has drawn the item"
        )
    own = tuple(
        _explanation(attempt, attempts[:position]) for position, attempt in enumerate(attempts) if attempt.run == found
    )
    others = tuple(attempt for attempt in attempts if attempt.run != found)
    return ItemCalls(found, item_id, own, others)


def _explanation(attempt: RecordedAttempt, earlier: Sequence[RecordedAttempt]) -> Explanation:
    """Compare an attempt with the nearest earlier one, the latest of those that are equally near.

    The run's attempts under other keys do not count: they are the other calls of the same query.
    """
    nearest, differences = None, dict[str, tuple[str, str]]()
    for other in reversed(earlier):
        if other.run == attempt.run and other.key != attempt.key:
            continue
        if other.ingredients is None or attempt.ingredients is None:
            continue
        found = other.ingredients.differences(attempt.ingredients)
        if nearest is None or len(found) < len(differences):
            nearest, differences = other, found
    return Explanation(attempt, nearest, differences)


def render_explanation(found: ItemCalls) -> str:
    """Return as text which calls the run made on the item, and why."""
    where = f"run {found.run}, item {visible(found.item_id)}"
    if found.own:
        lines = [f"{where}: {count(len(found.own), 'call')}"]
        return "\n".join(lines + [line for one in found.own for line in _explained(one)])
    tried = [f"  {_attempt(other)}, by run {other.run}" for other in found.others]
    reason = "its verdict was in the ledger already, or it was not drawn"
    return "\n".join([f"{where}: no call; {reason}. Calls of other runs on it:", *tried])


def _explained(one: Explanation) -> list[str]:
    own, nearest = f"  {_attempt(one.attempt)}", one.nearest
    if nearest is None:
        return [own, "    no earlier run made a call on this item"]
    if not one.differences:
        return [own, f"    the same call as before: {_attempt(nearest)}"]
    return [
        own,
        f"    the nearest earlier call, of run {nearest.run}, differs in",
        *(
            f"      {visible(name)}: {_short(then)} then, {_short(now)} now"
            for name, (then, now) in one.differences.items()
        ),
    ]


def _attempt(attempt: RecordedAttempt) -> str:
    """Return in words when an attempt began, whom it asked, and how it ended at what charge."""
    charged = f"{show_usd(attempt.charged_p)} charged"
    judge, outcome = visible(attempt.judge), visible(attempt.outcome)
    return f"{attempt.began_at}  {judge}  {attempt.state}, {charged}: {outcome}"


def _short(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[:LONGEST_VALUE]}…"
