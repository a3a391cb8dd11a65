"""Prints a comparison of recorded scores, and writes it to the `-o` files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeloop.cli.naming import page_as_flags
from judgeloop.cli.results import Form, shown_as
from judgeloop.cli.streams import show

if TYPE_CHECKING:
    from judgeloop.settings.sources import Read


def compare_recorded(config: Any, read: Read, *, form: Form, output: Sequence[Path]) -> int:
    """Compare two finished runs, print the result and return the exit code."""
    from judgeloop.cli.files import write_outputs
    from judgeloop.questions.compare.recorded import recorded_of

    result = recorded_of(config)
    result = replace(result, page=page_as_flags(result.page))
    show(shown_as(form, result, read.files, output))
    write_outputs(output, result)
    return result.exit_code
