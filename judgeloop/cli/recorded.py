"""Prints a comparison of recorded scores, and writes it to the `-o` files."""

from __future__ import annotations

from collections.abc import Sequence
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
    from judgeloop.questions.compare.recorded_text import page

    result = recorded_of(config)
    words = page_as_flags(page(result))
    show(shown_as(form, result, words, read.files, output))
    write_outputs(output, result, words)
    return result.exit_code
