"""Prints a comparison of recorded scores, and writes it to the `-o` files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeloop.cli.naming import page_as_flags
from judgeloop.cli.streams import show

if TYPE_CHECKING:
    from judgeloop.cli.settings_file import Read


def compare_recorded(config: Any, read: Read, *, as_json: bool, output: Sequence[Path]) -> int:
    """Compare two finished runs, print the result and return the exit code."""
    from judgeloop.cli.files import render_json, write_outputs
    from judgeloop.compare.recorded import compare_recorded as compared
    from judgeloop.compare.recorded_text import page
    from judgeloop.report.page import render

    result = compared(config)
    words = page_as_flags(page(result))
    show(render_json(result, read.files) if as_json else render(words) + "\n")
    write_outputs(output, result, words)
    return result.exit_code
