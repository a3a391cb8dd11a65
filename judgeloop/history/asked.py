"""How often judges were asked about a baseline on the same items: by the runs that a ledger notes.

A run notes a few of the questions that it may ask, whoever the candidate is. It counts from then on,
also if all its verdicts were known and none was paid for. Decides nothing.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from judgeloop.core.ledger import RecordedRun
from judgeloop.core.records import Item
from judgeloop.core.verdict_key import KeyedJudge, digest, place_of
from judgeloop.ledger.opening import is_ledger, open_reader

NOTED, DIGITS = 8, 16  # questions that a run notes, and the hexadecimal digits of each


def noted_questions(
    items: Sequence[Item], outputs: Sequence[object], judges: Iterable[KeyedJudge]
) -> tuple[str, ...]:
    """Return some of a run's questions: an item, the baseline's output to it, and a judge.

    `outputs` has what identifies the baseline's output to each item. Of the hashes of all questions
    the least are noted (Broder 1997, "On the resemblance and containment of documents"). So runs
    on the same items have the same, and those of a run on more items are mostly among them.
    """
    placed = [[place_of(item), output] for item, output in zip(items, outputs, strict=True)]
    found = (digest([judge, *one])[:DIGITS] for judge in judges for one in placed)
    return tuple(sorted(found)[:NOTED])


def has_result(ledger: Path | str, run: str) -> bool:
    """Return whether the ledger has a result of `run`, which the same command goes on from.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    return any(one.id == run and one.note.exit_code is not None for one in _runs(ledger))


def risks_before(ledger: Path | str, run: str, asked: Sequence[str]) -> list[float]:
    """Return the risk of each run before `run` that noted one of the questions `asked`.

    The order is that in which runs began; before a run that has not begun are all. The risk is 1
    where a run promised nothing.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    runs = _runs(ledger)
    own = next((place for place, one in enumerate(runs) if one.id == run), len(runs))
    return [one.note.risk for one in runs[:own] if not set(asked).isdisjoint(one.note.asked)]


def _runs(ledger: Path | str) -> list[RecordedRun]:
    if not is_ledger(ledger):
        return []
    with open_reader(ledger) as reader:
        return reader.runs()
