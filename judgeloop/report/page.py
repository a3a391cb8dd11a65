"""The words of any job's result, whatever form they take.

They are put together in the job's own file (`text.py`, `select_text.py`, `estimate_text.py`).
"""

from __future__ import annotations

from judgeloop.compare import text as compare_text
from judgeloop.compare.result import Result
from judgeloop.estimate import text as estimate_text
from judgeloop.estimate.result import Estimated
from judgeloop.report.run_result import RunResult
from judgeloop.report.sentences import lines
from judgeloop.select import text as select_text
from judgeloop.select.result import Selected


def headline(result: RunResult) -> str:
    """The decision in one line."""
    if isinstance(result, Selected):
        return select_text.headline(result)
    if isinstance(result, Estimated):
        return estimate_text.headline(result)
    assert isinstance(result, Result)
    return compare_text.headline(result)


def details(result: RunResult) -> list[tuple[str, str]]:
    """What the decision rests on, as pairs of a name and a sentence."""
    if isinstance(result, Selected):
        return select_text.details(result)
    if isinstance(result, Estimated):
        return estimate_text.details(result)
    assert isinstance(result, Result)
    return compare_text.details(result)


def render(result: RunResult, files: str | None = None) -> str:
    """The whole result for a terminal or a log, and where its `files` are."""
    rows = details(result)
    return lines(headline(result), rows if files is None else [*rows, ("files", files)])
