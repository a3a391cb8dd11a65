"""What was typed and which files were read, for who wants to do it again. Secrets are masked.

Reads the context of the command, the environment and the files. Writes nothing.
"""

import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from judgeloop.cli.naming import TYPED
from judgeloop.providers.redaction import MASK, redact
from judgeloop.report.escaping import visible
from judgeloop.report.page import Section

# A variable with such a name may hold a secret, as may the user and the query of an address.
_SECRET = re.compile("key|token|secret|passw|credential", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=\?)[^#\s'\"]+")
# A key by the look of it: a known beginning, or a long word of capitals, small letters and figures.
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|AIza|AKIA)[-_]?[\w-]{16,}"
    r"|(?<![\w/.])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{24,}(?![\w/.])"
)
BLOCK = 1 << 20


def again(known: Section | None, files: Iterable[Path], environment: Mapping[str, str]) -> Section:
    """Return how to do it again: the command as it was typed, what is `known`, the files with hashes."""
    typed = click.get_current_context().meta.get(TYPED, ())
    command = (("command", visible(masked(shlex.join(["judgeloop", *typed]), environment))),)
    read = tuple(
        (visible(str(path)), f"sha256 {_digest(path)}") for path in files if path.is_file()
    )
    rows = known.rows if known else ()
    return Section(known.heading if known else "How to do it again", (*command, *rows, *read))


def masked(text: str, environment: Mapping[str, str]) -> str:
    """Return a text without the values of secret variables, parts of addresses, and likely keys.

    >>> masked("--judge-base-url https://me:word@host/v1?k=1", {})
    '--judge-base-url https://[masked key]@host/v1?[masked key]'
    """
    for name, value in environment.items():
        if value and _SECRET.search(name):
            text = redact(text, value)
    return _KEY_LIKE.sub(MASK, _IN_ADDRESS.sub(MASK, text))


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()
