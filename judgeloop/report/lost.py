"""What a gate that failed shows first: a few items that the candidate lost, with their prompts and the judge's reasons.

Reads a `RunResult` and the texts that it holds, of which a report may show some or none.
"""

import re
from collections import Counter
from collections.abc import Sequence

from judgeloop.core.outcomes import Outcome
from judgeloop.core.records import PAIR
from judgeloop.report.labels import LabelRow
from judgeloop.report.page import Fact, Section, told
from judgeloop.report.result import RunResult
from judgeloop.report.words import count, shortened, visible

LOST, LOWEST, DIFFERS = "lost", "lowest", "differs"  # the label of each
AGREE = "agree"  # the question that looks for other items
MOST = 3  # items
LONGEST_PROMPT, LONGEST_REASON, LONGEST_NAME = 40, 160, 20  # characters; a terminal cuts the rest to a line
_CALLED = re.compile(r"\b(?:the )?(?:answer|response|reply|output|assistant|candidate) ([AB])\b", re.IGNORECASE)
_LETTER = re.compile(r"\b[AB]\b")  # by which a judge knew an output
_SECOND = re.compile(r"\bB\b")  # which is no word: where it stands, "A" is a name, too


def lost_first(result: RunResult) -> list[Fact]:
    """A fact for each of the first items that a failed gate lost: its name, its prompt's first line, and why."""
    if result.answer is not Outcome.FAILED and not result.failed_groups:
        return []
    found = _lost(result)
    rated = bool(found) and found[0].against is None
    name = DIFFERS if result.job == AGREE else LOWEST if rated else LOST
    shown = found[:MOST]
    alike = _alike(shown, result)
    of = "" if len(found) <= 1 or rated else f"{len(found):,}{_of(found, result)}, the first: "
    of = f"on {len(found):,}: " if result.job == AGREE else of
    return told(
        *(
            Fact(f"lost.{at}", Section.EVIDENCE, name, _said(label, result, alike, of * (at == 1)), first=True)
            for at, label in enumerate(shown, start=1)
        )
    )


def _lost(result: RunResult) -> Sequence[LabelRow]:
    """The items that speak against the candidate, those of failed groups first; of ratings, the lowest.

    Of a judge beside people they are those on which it said something else, first those on which people are at one.
    """
    if result.job == AGREE:
        found = [row for row in result.verdicts if result.lost(row)]
        return sorted(
            found, key=lambda row: (people_differ(row), -abs((row.score or 0.0) - (result.people_said(row) or 0.0)))
        )
    rows = [row for row in result.verdicts if row.in_decision or result.failed_groups]
    if rows and rows[0].against is None:
        return sorted(rows, key=lambda row: row.score or 0.0)
    candidate = result.setup.required_winner or result.setup.systems[-1]
    found = [row for row in rows if row.winner not in {None, candidate} and candidate in {row.system, row.against}]
    won = Counter(row.winner for row in found)
    # A baseline met every other system, each item several times: then those lost to the winner are told.
    rival = max(won, key=lambda name: (name == result.winner, won[name]), default=None)
    found = [row for row in found if row.winner == rival]
    return sorted(found, key=lambda row: row.group not in result.failed_groups)


def people_differ(label: LabelRow) -> bool:
    """Whether people differ among themselves on an item."""
    return len({one for one in label.votes[1:] if one is not None}) > 1


def _of(found: Sequence[LabelRow], result: RunResult) -> str:
    """What stands behind how many were lost: how many the votes leave out; of a search, of how many, and to whom."""
    if len(result.setup.systems) > PAIR:
        two = {found[0].system, found[0].against}
        met = sum(row.in_decision and {row.system, row.against} == two for row in result.verdicts)
        return f" of {count(met, 'item')} to {visible(found[0].winner or '')}"
    beside = sum(not row.in_decision for row in found)
    return f" items ({beside:,} of them judged for groups alone)" if beside else " items"


def _alike(rows: Sequence[LabelRow], result: RunResult) -> int:
    """How many first lines the prompts have in common, as a task does: they tell nothing of an item."""
    prompts = [_lines(row, result) for row in rows] if len(rows) > 1 else []
    return next((at for at, lines in enumerate(zip(*prompts, strict=False)) if len(set(lines)) > 1), 0)


def _lines(label: LabelRow, result: RunResult) -> list[str]:
    """The lines of an item's prompt that hold something."""
    if result.texts is None:
        return []
    return [line.strip() for line in result.texts.of_item(label)[0][1].splitlines() if line.strip()]


def _said(label: LabelRow, result: RunResult, skipped: int, before: str = "") -> str:
    """An item behind `before`: its name, what was said of it, how its prompt begins, and why."""
    name = result.texts.name(label) if result.texts else label.item_id
    score = "" if label.against is not None or label.score is None else f" {label.score:.2f}"
    found = _both(label) if result.job == AGREE else score
    if result.texts is None or not result.shows(label):
        return f"{before}{name}{found}"
    reason = shortened(_reason(label, in_order=result.setup.order is not None), LONGEST_REASON)
    prompt = shortened(next(iter(_lines(label, result)[skipped:]), ""), LONGEST_PROMPT)
    quoted = f" \N{LEFT DOUBLE QUOTATION MARK}{prompt}\N{RIGHT DOUBLE QUOTATION MARK}" if prompt else ""
    return f"{before}{name}{found}{quoted}{f': {reason}' if reason else ''}"


def _both(label: LabelRow) -> str:
    """What the judge said of an item, and what people did."""

    def said(score: float) -> str:
        if label.against is None:
            return f"{score:.2g}"
        return {1.0: label.system, 0.0: label.against}.get(score, "tie")

    people = ", ".join(dict.fromkeys(said(one) for one in label.votes[1:] if one is not None))
    return f" (judge {said(label.votes[0] or 0.0)}, people {people})"


def _reason(label: LabelRow, *, in_order: bool) -> str:
    """The judge's reason in a line, with names in the place of the letters by which it knew the outputs."""
    reason = " ".join(label.by_name(label.reason).split())
    if not in_order or label.against is None or label.shown_first is None:
        return reason
    other = label.against if label.shown_first == label.system else label.system
    names = {"A": shortened(label.shown_first, LONGEST_NAME), "B": shortened(other, LONGEST_NAME)}
    reason = _CALLED.sub(lambda found: names[found[1].upper()], reason)
    if _SECOND.search(reason):
        return _LETTER.sub(lambda found: names[found[0]], reason)
    return f"(A is {names['A']}) {reason}" if _LETTER.search(reason) else reason
