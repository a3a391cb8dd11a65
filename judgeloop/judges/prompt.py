"""Prompt templates: text with front matter, filled in one pass.

A template is TOML front matter between `+++` lines, then a `# System` and a `# User` part:

    id, version     its name; a released file is never edited, a change is a new version
    fields          what the user's part fills in
    answer          the field of the reply that holds the label
    labels          every allowed label with its score, for the answer shown first or the one rated
    schema          the JSON schema of the reply

`{{field}}` becomes a JSON string (or null), and `{{marker}}` a marker that nobody can guess. Nothing inside a filled-in text
is ever expanded, so a candidate that contains `{{second}}` stays as it is. Reading the file is `config.py`'s business.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Call

_FORM = re.compile(
    r"\A\+\+\+\n(?P<front>.*?)\n\+\+\+\n# System\n(?P<system>.*?)\n# User\n(?P<user>.*)\Z",
    re.DOTALL,
)
_FIELD = re.compile(r"\{\{(\w+)\}\}")
PAIRWISE, RATING = {"prompt", "first", "second"}, {"prompt", "output"}
OPTIONAL = {"reference", "rubric"}
MARKER_BYTES = 16


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed prompt; `labels` maps each allowed label to its score, for the answer shown first or the one rated."""

    id: str
    answer: str
    labels: Mapping[str, float]
    schema: Mapping[str, Any]
    system: str
    user: str
    digest: str
    rubric: str | None = None

    @property
    def rates(self) -> bool:
        """Whether it rates one answer; else it compares two."""
        return "output" in _FIELD.findall(self.user)

    @property
    def takes_rubric(self) -> bool:
        """Whether a rubric has a place in it."""
        return "rubric" in _FIELD.findall(self.user)

    def check_question(self, *, rating: bool) -> None:
        """Refuse to rate with a prompt that compares, and to compare with one that rates.

        Raises:
            InputError: says which fields are needed.
        """
        if self.rates and not rating:
            raise InputError(
                f"`prompt={self.id}`: this rates one answer; a comparison needs the fields first and second"
            )
        if rating and not self.rates:
            raise InputError(
                f"`prompt={self.id}`: this compares two answers; a rating needs the field output"
            )

    def with_rubric(self, rubric: str) -> Template:
        """The template with its rubric, which makes it another template."""
        return replace(
            self,
            rubric=rubric,
            digest=hashlib.sha256(f"{self.digest}\0{rubric}".encode()).hexdigest(),
        )

    def render(self, call: Call) -> tuple[str, str]:
        """The system and the user message for `call`.

        The marker is drawn anew each time and is no part of a verdict's key: whoever wrote a candidate cannot know it, and
        it says nothing about the question.

        Raises:
            InputError: the template is for another number of outputs.
        """
        self.check_question(rating=len(call.outputs) == 1)
        values = {
            "prompt": call.item.prompt,
            "reference": call.item.reference,
            "rubric": self.rubric,
            "first": call.outputs[0],
            "second": call.outputs[-1],
            "output": call.outputs[0],
        }
        literals = {name: _literal(text) for name, text in values.items()}
        literals["marker"] = secrets.token_hex(MARKER_BYTES)
        return self.system, _FIELD.sub(lambda match: literals[match[1]], self.user)


def parse_template(text: str, path: object) -> Template:
    """Parse a prompt file's text; `path` is for messages.

    Raises:
        DataError: it has not the form above, or its parts contradict each other.
    """
    match = _FORM.match(text.replace("\r\n", "\n"))
    if match is None:
        raise DataError(
            path, "expected front matter between +++ lines, then '# System' and '# User'"
        )
    try:
        front = tomllib.loads(match["front"])
        fields = {str(field) for field in front["fields"]}
        template = Template(
            id=f"{front['id']}.v{front['version']}",
            answer=str(front["answer"]),
            labels={str(label): float(score) for label, score in front["labels"].items()},
            schema=front["schema"],
            system=match["system"].strip(),
            user=match["user"].strip(),
            digest=hashlib.sha256(text.encode()).hexdigest(),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            path, f"the front matter needs id, version, fields, answer, labels and schema: {error}"
        ) from error
    _check_labels(path, template.labels)
    _check_fields(path, template, fields)
    return template


def _check_labels(path: object, labels: Mapping[str, float]) -> None:
    for label, score in labels.items():
        if not 0 <= score <= 1:
            raise DataError(path, f"the label {label!r} needs a score from 0 to 1, found {score}")
    if len(labels) < len(("one", "other")):
        raise DataError(path, f"expected at least two labels, found {len(labels)}")


def _check_fields(path: object, template: Template, declared: set[str]) -> None:
    known = PAIRWISE | RATING | OPTIONAL
    used = set(_FIELD.findall(template.user)) - {"marker"}
    if unknown := (used | declared) - known:
        raise DataError(
            path, f"unknown field {min(unknown)!r}; known: {', '.join(sorted(known))}, marker"
        )
    if used != declared:
        odd = min(used ^ declared)
        raise DataError(
            path, f"the field {odd!r} stands in 'fields' or in the user's part, but not in both"
        )
    if used - OPTIONAL not in (PAIRWISE, RATING):
        raise DataError(path, "expected the fields prompt, first and second, or prompt and output")
    if "{{" in _FIELD.sub("", template.user) or "{{" in template.system:
        raise DataError(
            path, "a field is written {{name}}, without spaces, and in the user's part only"
        )


def _literal(text: str | None) -> str:
    """`text` as a JSON string: readable in any script, escaped whole where it could not be encoded."""
    literal = json.dumps(text, ensure_ascii=False)
    try:
        literal.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(text, ensure_ascii=True)
    return literal
