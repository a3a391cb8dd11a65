"""What a question takes by position, as its settings declare it: a test of all questions knows none by name."""

from __future__ import annotations

from typing import Any

from judgeloop.settings.setting import declared


def arguments(settings: type) -> list[str]:
    """The names of what a question takes by position."""
    return [name for name, field in declared(settings).items() if field.setting.argument]


def given(settings: type, *files: Any) -> dict[str, Any]:
    """One of `files` for each argument of a question, or all of them for one that takes many."""
    fields = declared(settings)
    return {name: [*files] if fields[name].repeated else file for name, file in zip(arguments(settings), files)}  # noqa: B905
