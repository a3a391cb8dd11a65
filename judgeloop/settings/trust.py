"""What a file that judgeloop finds in the working folder or above may set, and to which values.

Such a file belongs to the repository's author, who may be a stranger. It must not send a key
or a text elsewhere, load code, read or write outside its own folder, or raise the cost of a run.
Each setting says in its declaration which kind it is (`Source` in `setting.py`). This module
returns reasons, and the paths of a file above the working folder as they are read from there;
`settings/sources.py` reads the files and refuses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.judges.catalogue import JudgeRow, parse_spec
from judgeloop.settings.setting import Declared, Source, amount, listed

HARMLESS_VECTORS = ("lexical", "minilm")
OF_JUDGELOOP = ".judgeloop"  # the one hidden folder that such a file may name


def refusal(field: Declared, value: object, folder: Path, working: Path) -> str | None:
    """Return why a file found in `folder` may not set `field` to `value`; None if it may.

    `working` is the working folder, which is `folder` or below it.
    """
    setting = field.setting
    assert setting is not None, "every setting is declared"
    match setting.source:
        case Source.CALLER:
            return "only the caller may set it"
        case Source.INSIDE:
            return _outside(field, value, folder, working)
        case Source.SPEC:
            return _unsafe_judge(value, folder)
        case Source.VECTORS:
            return None if value in HARMLESS_VECTORS else "only the caller may name a model"
        case Source.LOWER:
            return _higher(field, value)
        case Source.FOUND:
            return None


def located(field: Declared, value: object, folder: Path, working: Path) -> object:
    """Return a value that was not refused, with paths in `folder` relative to `working`."""
    if folder == working:
        return value
    if isinstance(value, list):
        return [located(field, one, folder, working) for one in value]
    if not isinstance(value, str) or field.setting is None:
        return value
    if field.setting.source is Source.SPEC:
        file = _file_of(value)
        return value if file is None else value.removesuffix(file) + _from(working, folder / file)
    is_path = field.setting.source is Source.INSIDE and (
        not _may_be_text(field) or _exists(folder / value)
    )
    return _from(working, folder / value) if is_path else value


def _from(working: Path, path: Path) -> str:
    """Return the real path, relative to the working folder."""
    return os.path.relpath(path.resolve(), working)


def outside(path: str, folder: Path) -> str | None:
    """Return why `path`, as written in `folder`, may not be used; None if it is inside.

    Hidden files hold the caller's secrets: keys in `.env`, the token of a checkout in
    `.git/config`. A rubric is sent to the judge, and messages quote lines of a file.
    """
    real, own = (folder / path).resolve(), folder.resolve()
    if not real.is_relative_to(own):
        return f"{path!r} lies outside the folder"
    hidden = {part for part in real.relative_to(own).parts if part.startswith(".")}
    return f"{path!r} is hidden" if hidden - {OF_JUDGELOOP} else None


def lifts_the_limit(field: Declared, value: object) -> bool:
    """Return whether `value` takes the limit of `field` away, such as a budget of none."""
    setting = field.setting
    return setting is not None and setting.source is Source.LOWER and _amount(value) is None


def _outside(field: Declared, value: object, folder: Path, working: Path) -> str | None:
    """Check paths: all of a setting of type Path, and texts that name an existing file.

    A text that names a file of the working folder alone would be read from there, unchecked.
    """
    for path in _texts(value):
        if _may_be_text(field) and not _exists(folder / path):
            if _exists(working / path):
                return f"{path!r} is in the working folder, not in the folder of this file"
            continue
        if reason := outside(path, folder):
            return reason
    return None


def _may_be_text(field: Declared) -> bool:
    return field.type in {str, str | None}


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a null: a text
        return False


def _unsafe_judge(value: object, folder: Path) -> str | None:
    for spec in _texts(value):
        found = _judge(spec)
        if found is not None and found[0].runs_code:
            return f"{spec!r} runs code, which only the caller may allow"
        file = _file_of(spec)
        if file is not None and (reason := outside(file, folder)):
            return reason
    return None


def _file_of(spec: str) -> str | None:
    """Return the file that a judge reads; None if it reads none."""
    found = _judge(spec)
    return found[1] if found is not None and found[0].reads_file else None


def _judge(spec: str) -> tuple[JudgeRow, str] | None:
    try:
        return parse_spec(spec)
    except InputError:
        return None  # `confidence` as a proxy; or wrong, which is reported where judges are made


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
    if isinstance(value, str) and "\n" in value:
        return [value, *listed(value)]  # type: ignore[misc]
    return [str(entry) for entry in value] if isinstance(value, list) else [str(value)]
