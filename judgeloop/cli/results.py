"""The forms in which the command line prints a result: whole, short, or as JSON."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judgeloop.cli.streams import columns

if TYPE_CHECKING:
    from judgeloop.report.run_result import RunResult


class Form(enum.Enum):
    """How much of a result is printed."""

    WHOLE = "whole"
    SHORT = "short"  # decision, cost and warnings
    JSON = "json"


def form_of(*, json: bool, quiet: bool) -> Form:
    """Return the form that the options ask for."""
    if json:
        return Form.JSON
    return Form.SHORT if quiet else Form.WHOLE


def shown_as(
    form: Form,
    result: RunResult,
    settings_files: Mapping[str, list[str]],
    files: Sequence[Path] = (),
) -> str:
    """Return what is printed of a result; `files` are its folder and the files of `-o`."""
    from judgeloop.cli.files import render_json
    from judgeloop.report.page import render, render_short

    if form is Form.JSON:
        return render_json(result, settings_files)
    text = (
        render_short(result.page, columns())
        if form is Form.SHORT
        else render(result.page, files=", ".join(map(str, files)) or None, width=columns())
    )
    return f"{text}\n"
