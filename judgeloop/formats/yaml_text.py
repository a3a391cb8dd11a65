"""Reads one YAML object of plain values, with PyYAML from the extra `yaml`.

An alias may repeat what it names, and a small file may so stand for a huge one. Such a file is refused.
"""

from pathlib import Path
from typing import Any

from judgeloop.core.errors import DataError, InputError, install

EXPANDED = 20  # times the length of the text, with every alias written out


def yaml_object(path: Path, text: str) -> dict[str, Any] | None:
    """Return the object of a YAML text; None if it holds something else.

    Raises:
        DataError: it is no YAML, or its aliases stand for far more than the text.
        InputError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise InputError(f"{path}: a YAML file needs {install('yaml')}") from None
    try:
        value = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(path, f"this is no YAML: {str(error).splitlines()[0]}") from None
    _check_size(path, value, EXPANDED * len(text))
    return value if isinstance(value, dict) else None


def _check_size(path: Path, value: object, most: int) -> None:
    """Refuse a value that is longer than `most` characters when it is written out; it may hold itself."""
    left = [value]
    while left:
        one = left.pop()
        most -= 1 + (len(one) if isinstance(one, str) else 0)
        if most < 0:
            raise DataError(path, "the aliases of this YAML stand for far more than its text")
        left += (
            [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else []
        )
