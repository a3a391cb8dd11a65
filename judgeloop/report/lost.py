"""What a gate that failed shows first: a few items that the candidate lost, with their prompts and the judge's reasons.

Reads a `RunResult` and the texts that it holds, of which a report may show some or none.
"""

from collections.abc import Sequence

from judgeloop.core.outcomes import Outcome
from judgeloop.report.labels import LabelRow
from judgeloop.report.page import Fact, Section, told
from judgeloop.report.result import RunResult
from judgeloop.report.words import shortened

LOST = "lost"  # the label of each
MOST = 3  # items
LONGEST_PROMPT, LONGEST_REASON = 40, 60  # characters


def lost_first(result: RunResult) -> list[Fact]:
    """A fact for each of the first items that a failed gate lost: its name, its prompt's first line, and why."""
    if result.answer is not Outcome.FAILED and not result.failed_groups:
        return []
    return told(
        *(
            Fact(f"lost.{number}", Section.EVIDENCE, LOST, _said(label, result), first=True)
            for number, label in enumerate(_lost(result)[:MOST], start=1)
        )
    )


def _lost(result: RunResult) -> Sequence[LabelRow]:
    """The items that speak against the candidate, those of failed groups first; of ratings, the lowest."""
    rows = [row for row in result.verdicts if row.in_decision or row.group in result.failed_groups]
    if rows and rows[0].against is None:
        return sorted(rows, key=lambda row: row.score or 0.0)
    candidate = result.setup.required_winner or result.setup.systems[-1]
    found = [row for row in rows if row.winner not in {None, candidate} and candidate in {row.system, row.against}]
    return sorted(found, key=lambda row: row.group not in result.failed_groups)


def _said(label: LabelRow, result: RunResult) -> str:
    """An item in a line: texts only as far as a report may show them."""
    name = result.texts.name(label) if result.texts else label.item_id
    if result.texts is None or not result.shows(label):
        return name
    prompt = next((line for line in result.texts.of_item(label)[0][1].splitlines() if line.strip()), "")
    reason = " ".join(label.reason.split())
    score = "" if label.against is not None or label.score is None else f" {label.score:.2f}"
    asked = f" \N{LEFT DOUBLE QUOTATION MARK}{shortened(prompt.strip(), LONGEST_PROMPT)}\N{RIGHT DOUBLE QUOTATION MARK}"
    return f"{name}{score}{asked if prompt else ''}{f': {shortened(reason, LONGEST_REASON)}' if reason else ''}"
