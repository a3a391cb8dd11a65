"""Prompt templates: text with front matter, filled in one pass.

A template is TOML front matter between `+++` lines (id, version, fields, labels with their scores, schema), then a
`# System` and a `# User` part. `{{field}}` becomes a JSON string (or null); nothing inside a filled-in text is ever
expanded, so a candidate that contains `{{second}}` stays as it is. Reading the file is `config.py`'s business.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeloop.errors import DataError
from judgeloop.records import Call

_FORM = re.compile(
    r"\A\+\+\+\n(?P<front>.*?)\n\+\+\+\n# System\n(?P<system>.*?)\n# User\n(?P<user>.*)\Z", re.DOTALL
)
_FIELD = re.compile(r"\{\{(\w+)\}\}")
_KNOWN = {"prompt", "reference", "first", "second"}
_NEEDED = {"prompt", "first", "second"}


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed prompt; `labels` maps each allowed verdict to its score for the answer shown first."""

    id: str
    labels: Mapping[str, float]
    schema: Mapping[str, Any]
    system: str
    user: str
    digest: str

    def render(self, call: Call) -> tuple[str, str]:
        """The system and the user message for `call`."""
        values = {
            "prompt": call.item.prompt,
            "reference": call.item.reference,
            "first": call.outputs[0],
            "second": call.outputs[1],
        }
        user = _FIELD.sub(lambda match: _literal(values[match[1]]), self.user)
        return self.system, user


def parse_template(text: str, path: object) -> Template:
    """Parse a prompt file's text; `path` is for messages.

    Raises:
        DataError: it has not the form above, or names a field that nothing fills.
    """
    match = _FORM.match(text)
    if match is None:
        raise DataError(path, "expected front matter between +++ lines, then '# System' and '# User'")
    try:
        front = tomllib.loads(match["front"])
        labels = {str(label): float(score) for label, score in front["labels"].items()}
        template = Template(
            id=f"{front['id']}.v{front['version']}",
            labels=labels,
            schema=front["schema"],
            system=match["system"].strip(),
            user=match["user"].strip(),
            digest=hashlib.sha256(text.encode()).hexdigest(),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(path, f"the front matter needs id, version, labels and schema: {error}") from error
    _check_labels(path, labels)
    _check_fields(path, template)
    return template


def _check_labels(path: object, labels: Mapping[str, float]) -> None:
    for label, score in labels.items():
        if not 0 <= score <= 1:
            raise DataError(path, f"the label {label!r} needs a score from 0 to 1, found {score}")
    if len(labels) < len(("one", "other")):
        raise DataError(path, f"expected at least two labels, found {len(labels)}")


def _check_fields(path: object, template: Template) -> None:
    fields = set(_FIELD.findall(template.user))
    if unknown := fields - _KNOWN:
        raise DataError(path, f"unknown field {min(unknown)!r}; known: {', '.join(sorted(_KNOWN))}")
    if missing := _NEEDED - fields:
        raise DataError(path, f"the user's part does not use the field {min(missing)!r}")
    if "{{" in _FIELD.sub("", template.user) or "{{" in template.system:
        raise DataError(path, "a field is written {{name}}, without spaces, and in the user's part only")


def _literal(text: str | None) -> str:
    """`text` as a JSON string: readable in any script, escaped whole where it could not be encoded."""
    literal = json.dumps(text, ensure_ascii=False)
    try:
        literal.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(text, ensure_ascii=True)
    return literal
