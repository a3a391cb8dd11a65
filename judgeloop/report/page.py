"""The words of any job's result, whatever form they take.

They are put together in the job's own file (`text.py`, `selection_text.py`, `estimation_text.py`).
"""

from __future__ import annotations

from judgeloop.report import estimation_text, selection_text, text
from judgeloop.report.estimation import Estimated
from judgeloop.report.result import Result
from judgeloop.report.run_result import RunResult
from judgeloop.report.selection import Selected
from judgeloop.report.sentences import lines


def headline(result: RunResult) -> str:
    """The decision in one line."""
    if isinstance(result, Selected):
        return selection_text.headline(result)
    if isinstance(result, Estimated):
        return estimation_text.headline(result)
    assert isinstance(result, Result)
    return text.headline(result)


def details(result: RunResult) -> list[tuple[str, str]]:
    """What the decision rests on, as pairs of a name and a sentence."""
    if isinstance(result, Selected):
        return selection_text.details(result)
    if isinstance(result, Estimated):
        return estimation_text.details(result)
    assert isinstance(result, Result)
    return text.details(result)


def render(result: RunResult, files: str | None = None) -> str:
    """The whole result for a terminal or a log, and where its `files` are."""
    rows = details(result)
    return lines(headline(result), rows if files is None else [*rows, ("files", files)])
