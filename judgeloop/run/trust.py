"""What a file that judgeloop finds in the working folder may set, and to which values.

Such a file belongs to whoever wrote the repository, who may be a stranger. It must not send a key
or a text elsewhere, load code, read or write outside the working folder, or raise the cost of a
run. Each setting says in its declaration which kind it is (`Source` in `setting.py`). This module
returns reasons; `cli/settings_file.py` reads the files and refuses.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.judges.catalogue import parse_spec
from judgeloop.run.setting import Declared, Source, amount, listed

HARMLESS_VECTORS = ("lexical", "minilm")


def refusal(field: Declared, value: object, folder: Path) -> str | None:
    """Return why a found file in `folder` may not set `field` to `value`; None if it may."""
    setting = field.setting
    assert setting is not None, "every setting is declared"
    match setting.source:
        case Source.CALLER:
            return "only the caller may set it"
        case Source.INSIDE:
            return _outside(field, value, folder)
        case Source.SPEC:
            return _unsafe_judge(value, folder)
        case Source.VECTORS:
            return None if value in HARMLESS_VECTORS else "only the caller may name a model"
        case Source.LOWER:
            return _higher(field, value)
        case Source.FOUND:
            return None


def outside(path: str, folder: Path) -> str | None:
    """Return why `path`, as written in `folder`, is not inside it; None if it is."""
    real = (folder / path).resolve()
    if real.is_relative_to(folder.resolve()):
        return None
    return f"{path!r} lies outside the folder"


def lifts_the_limit(field: Declared, value: object) -> bool:
    """Return whether `value` takes the limit of `field` away, such as a budget of none."""
    setting = field.setting
    return setting is not None and setting.source is Source.LOWER and _amount(value) is None


def _outside(field: Declared, value: object, folder: Path) -> str | None:
    """Check paths: all of a setting of type Path, and texts that name an existing file."""
    may_be_text = field.type in {str, str | None}
    for path in _texts(value):
        if may_be_text and not _exists(folder / path):
            continue
        if reason := outside(path, folder):
            return reason
    return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a null: a text
        return False


def _unsafe_judge(value: object, folder: Path) -> str | None:
    for spec in _texts(value):
        try:
            row, rest = parse_spec(spec)
        except InputError:
            continue  # `confidence` as a proxy; or wrong, which is reported where judges are made
        if row.runs_code:
            return f"{spec!r} runs code, which only the caller may allow"
        if row.reads_file and (reason := outside(rest, folder)):
            return reason
    return None


def _higher(field: Declared, value: object) -> str | None:
    given, default = _amount(value), _amount(field.default)
    if given is None or default is None or given <= default:
        return None
    return f"it may lower the default of {default}, not raise it"


def _amount(value: object) -> Any:
    """Return dollars; a wrong value counts as 0, because checking the configuration refuses it."""
    try:
        return amount(value)
    except ValueError:
        return amount(0)


def _texts(value: object) -> Iterable[str]:
    several = listed(value) if isinstance(value, str) and "\n" in value else value
    return [str(entry) for entry in several] if isinstance(several, list) else [str(several)]
