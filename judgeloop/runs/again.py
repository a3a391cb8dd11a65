"""How to do a run again: its command or call in Python, masked, its files with their hashes, and its date."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from judgeloop.providers.redaction import MASK, redact
from judgeloop.report.page import Fact, Section
from judgeloop.report.result import RunResult
from judgeloop.report.words import visible
from judgeloop.runs.prepared import Prepared
from judgeloop.settings.values import secrets_of

R = TypeVar("R", bound=RunResult)

# The user and the query of an address may hold a secret.
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=\?)[^#\s'\"]+")
# A key by the look of it: a known beginning, or a long word of capitals, small letters and figures. In the name of
# a model, parts are letters alone, or a number.
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|AIza|AKIA)[-_]?[\w-]{16,}"
    r"|(?<![\w/.])(?!(?:(?:[A-Za-z]+|v?\d+[A-Za-z]?)(?:[-_]|(?![\w-])))+(?![\w-]))(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{24,}(?![\w/.])"
)


def repeatable(ready: Prepared[Any], result: R, call: str) -> R:
    """A result whose page has the `call`, masked, the files with hashes, and the date as all readers take it alike."""
    decided, facts = result.counts.decided_at, [Fact("command", Section.AGAIN, "command", call)]
    for path in ready.config.files_read():
        if path != ready.config.ledger and path.is_file():
            with path.open("rb") as file:
                digits = hashlib.file_digest(file, "sha256").hexdigest()
            facts.append(Fact(f"file.{path}", Section.AGAIN, visible(str(path)), f"sha256 {digits}"))
    when = datetime.fromisoformat(decided) if decided else datetime.now(UTC)
    date = f"{'result of ' if decided else ''}{when:%d %B %Y, %H:%M UTC}"
    return replace(result, page=replace(result.page.with_facts(*facts), written=date))


def called(function: str, places: Iterable[object], names: Mapping[str, object]) -> str:
    """A call in Python as it was written; what has no short form is `…`.

    >>> called("judgeloop.compare", ["a.jsonl", [{"id": 1}]], {"judge": print, "risk": 0.05})
    "judgeloop.compare('a.jsonl', …, judge=print, risk=0.05)"
    """
    named = (f"{name}={_written(value)}" for name, value in names.items())
    return f"{function}({', '.join([*map(_written, places), *named])})"


def _written(value: object) -> str:
    if isinstance(value, Path):
        return repr(str(value))
    if isinstance(value, tuple | list) and all(isinstance(one, str | Path | float | int) for one in value):
        return f"[{', '.join(map(_written, value))}]"
    if value is None or isinstance(value, str | float | int):
        return repr(value)
    return getattr(value, "__name__", "…") if callable(value) else "…"


def masked(text: str, environment: Mapping[str, str]) -> str:
    """A text without the values of secret variables, parts of addresses, and likely keys.

    >>> masked("--judge-base-url https://me:word@host/v1?k=1", {})
    '--judge-base-url https://[masked key]@host/v1?[masked key]'
    """
    for secret in secrets_of(environment):
        text = redact(text, secret)
    return _KEY_LIKE.sub(MASK, _IN_ADDRESS.sub(MASK, text))
