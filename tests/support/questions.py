"""What a question takes by position, as its settings declare it: a test of all questions knows none by name."""

from __future__ import annotations

from typing import Any

from judgeloop.settings.setting import declared


def arguments(settings: type) -> list[str]:
    """The names of what a question takes by position."""
    return [name for name, field in declared(settings).items() if field.setting.argument]


def given(settings: type, *files: Any) -> dict[str, Any]:
    """One of `files` for each argument of a question, or all of them for one that takes many: two beside a truth."""
    fields = declared(settings)
    several = [*files][: 2 if "truth" in fields else None]
    return {name: several if fields[name].repeated else file for name, file in zip(arguments(settings), files)}  # noqa: B905


def needed(settings: type) -> dict[str, Any]:
    """What else a question has to be told, beside a judge."""
    return {"truth": ["metric:rouge1"]} if "truth" in declared(settings) else {}


def as_flags(values: dict[str, Any]) -> list[str]:
    """What a question has to be told, on the command line."""
    return [word for name, several in values.items() for one in several for word in (f"--{name}", one)]
