"""What a shell offers for the value of an option or argument: files, or the names it may have.

Click makes the shells' scripts and completes commands and flags.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from judgeloop.settings.setting import Declared, Source

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def completions(field: Declared | None, incomplete: str) -> list[CompletionItem] | None:
    """Return what can stand in place of `incomplete`; None if the declaration does not say."""
    from click.shell_completion import CompletionItem

    if field is None or field.setting is None or not field.name:
        return None
    if _names_files(field):
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(name) for name in _names(field) if name.startswith(incomplete)]


def _names_files(field: Declared) -> bool:
    """Return whether the value is a path, or a text that may be one."""
    if Path in {field.type, *get_args(field.type)}:
        return True
    return field.setting is not None and field.setting.source is Source.INSIDE


def _names(field: Declared) -> list[str]:
    """Return the names that the value may have; of a list, each value's."""
    from judgeloop.settings.form_of import form_of

    schema: Any = form_of(field).schema
    listed = [arm["items"] for arm in schema.get("anyOf", []) if "items" in arm]
    return list((listed[0] if listed else schema).get("enum", []))
