"""Prompt templates: finds the file of a template, parses it and renders it for a call.

A template is TOML front matter between `+++` lines, then a `# System` and a `# User` part. The
front matter has these fields:

    id, version     the template's name; a released file is never edited, a change is a new version
    fields          the fields that the user part contains
    answer          the field of the reply that holds the label
    labels          every allowed label with its score, for the output shown first or rated
    schema          the JSON schema of the reply; for a decision model type = "decision", the kind of question, and
                    what each label stands for

In the user part `{{field}}` becomes a JSON string (or null), `{{criteria}}` an object of the criteria's
questions by name, and `{{marker}}` a random marker. All
fields are filled in one pass, so an output that contains `{{second}}` is not expanded.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.keys import as_text
from judgeloop.core.records import FIRST, NEITHER, SECOND, TIE, Call
from judgeloop.formats.own_files import shipped
from judgeloop.formats.tables import read_text
from judgeloop.judges.criteria import COMPARED, OVERALL, RATED, SUFFIX, Criteria, read_criteria
from judgeloop.providers.catalogue import DECISION

_FORM = re.compile(r"\A\+\+\+\n(?P<front>.*?)\n\+\+\+\n# System\n(?P<system>.*?)\n# User\n(?P<user>.*)\Z", re.DOTALL)
_FIELD = re.compile(r"\{\{(\w+)\}\}")
PAIRWISE, RATING = {"prompt", "first", "second"}, {"prompt", "output"}
OPTIONAL = {"reference", "rubric", "criteria"}
MARKER_BYTES = 16
# Forms of reply that are a bare label, with the word that the names of their prompts contain.
BARE = {"logprob": "label", "choice": "choice"}
# The options of a decision between two outputs, and the kinds of question by which one output is rated.
CHOSEN_FROM = {FIRST: 1.0, SECOND: 0.0, NEITHER: TIE}
YES_NO = {"yes": 1.0, "no": 0.0}
MOST_LEVELS = 10  # that every server has


@dataclass(frozen=True)
class Template:
    """A parsed prompt template.

    `answer` is the field of the reply that holds the label. `labels` maps each allowed label to its
    score, for the output shown first or rated. `schema` is the JSON schema of the reply. `digest`
    is the hash of the file's text and the rubric, or the criteria, which is part of a verdict's key.
    """

    id: str
    answer: str
    labels: Mapping[str, float]
    schema: Mapping[str, Any]
    system: str
    user: str
    digest: str
    rubric: str | None = None
    criteria: Criteria | None = None

    @cached_property
    def _parts(self) -> list[str]:
        """The texts of the user part and the fields between them, in turns."""
        return _FIELD.split(self.user)

    @cached_property
    def rates(self) -> bool:
        """True if the template rates one output, False if it compares two."""
        return "output" in _FIELD.findall(self.user)

    @property
    def decides(self) -> bool:
        """True if it is a question to a decision model."""
        return self.schema.get("type") == DECISION

    @property
    def takes_rubric(self) -> bool:
        """True if the user part contains `{{rubric}}`."""
        return "rubric" in _FIELD.findall(self.user)

    @property
    def takes_criteria(self) -> bool:
        """True if the user part contains `{{criteria}}`."""
        return "criteria" in _FIELD.findall(self.user)

    def check_question(self, *, rating: bool) -> None:
        """Check that the template rates if `rating`, and compares if not.

        Raises:
            InputError: it does not; the message names the fields needed.
        """
        wrong = "this rates one answer; a comparison needs the fields first and second"
        if rating:
            wrong = "this compares two answers; a rating needs the field output"
        if self.rates != rating:
            raise InputError(f"`prompt={self.id}`: {wrong}")

    def with_rubric(self, rubric: str) -> Template:
        """The template with `rubric` filled in; its digest differs."""
        digest = hashlib.sha256(f"{self.digest}\0{rubric}".encode()).hexdigest()
        return replace(self, rubric=rubric, digest=digest)

    def with_criteria(self, criteria: Criteria) -> Template:
        """The template that asks by these criteria; its digest differs.

        A chat model replies with a label for each, and with one for all of them if that decides.
        """
        put = RATED if self.rates else COMPARED
        parts = as_text([criteria.key, *put] if self.decides else criteria.key)
        digest = hashlib.sha256(f"{self.digest}\0{parts}".encode()).hexdigest()
        schema: Mapping[str, Any] = self.schema
        if not self.decides:
            properties = dict(schema["properties"])
            label = properties.pop(self.answer)
            names = [one.name for one in criteria.each]
            properties["criteria"] = {
                "type": "object",
                "required": names,
                "additionalProperties": False,
                "properties": dict.fromkeys(names, label),
            }
            if criteria.decide == OVERALL:
                properties[self.answer] = label
            schema = {**schema, "required": [*properties], "properties": properties}
        return replace(self, rubric=criteria.text, criteria=criteria, schema=schema, digest=digest)

    def render(self, call: Call) -> tuple[str, str]:
        """The system message and the user message for `call`.

        The marker is drawn for each call, so that the author of an output cannot know it. It is not
        part of a verdict's key, because it does not change the question.

        Raises:
            InputError: the template rates and `call` compares, or the other way round.
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
        literals = {"marker": secrets.token_hex(MARKER_BYTES)}
        if self.criteria is not None:
            asked = {one.name: one.question for one in self.criteria.each}
            literals["criteria"] = json.dumps(asked, ensure_ascii=False)
        parts = self._parts.copy()
        parts[1::2] = [literals.get(name) or _literal(values[name]) for name in parts[1::2]]
        return self.system, "".join(parts)


def parse_template(text: str, path: object) -> Template:
    """Parse the text of a prompt file; `path` is used in messages only.

    Raises:
        DataError: the text is not a template, or its parts contradict each other.
    """
    match = _FORM.match(text.replace("\r\n", "\n"))
    if match is None:
        raise DataError(path, "expected front matter between +++ lines, then '# System' and '# User'")
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
    for label, score in template.labels.items():
        if not 0 <= score <= 1:
            raise DataError(path, f"the label {label!r} needs a score from 0 to 1, found {score}")
    if len(template.labels) <= 1:
        raise DataError(path, f"expected at least two labels, found {len(template.labels)}")
    _check_fields(path, template, fields)
    if template.decides:
        _check_decision(path, template)
    return template


def _check_decision(path: object, template: Template) -> None:
    """Refuse a question that no decision model could be asked, or whose answer has no meaning here."""
    labels, options = template.labels, template.schema.get("options")
    if not isinstance(options, dict) or {*options} != {*labels} or not all(map(str.strip, map(str, options.values()))):
        raise DataError(path, "schema.options needs what each label stands for, in words")
    levels = [*labels.values()]
    fits = {
        "choice": not template.rates and labels == CHOSEN_FROM,
        "score": template.rates and len(levels) <= MOST_LEVELS and levels == sorted(set(levels)),
        "yes-no": template.rates and labels == YES_NO,
    }
    question = str(template.schema.get("question"))
    if not fits.get(question):
        raise DataError(
            path,
            f"expected schema.question to be choice with the labels {', '.join(CHOSEN_FROM)} (1, 0 and 0.5) to compare, "
            f"score with up to {MOST_LEVELS} labels from the lowest on, or yes-no with the labels yes and no (1 and 0) "
            f"to rate; found {question!r} with {', '.join(labels)}",
        )


def _check_fields(path: object, template: Template, declared: set[str]) -> None:
    known = PAIRWISE | RATING | OPTIONAL
    used = set(_FIELD.findall(template.user)) - {"marker"}
    if unknown := (used | declared) - known:
        raise DataError(path, f"unknown field {min(unknown)!r}; known: {', '.join(sorted(known))}, marker")
    if used != declared:
        odd = min(used ^ declared)
        raise DataError(path, f"the field {odd!r} is in 'fields' or in the user part, but not in both")
    if used - OPTIONAL not in (PAIRWISE, RATING):
        raise DataError(path, "expected the fields prompt, first and second, or prompt and output")
    if "{{" in _FIELD.sub("", template.user) or "{{" in template.system:
        raise DataError(path, "a field is written {{name}}, without spaces, and in the user part only")


_JSON = json.JSONEncoder(ensure_ascii=False)  # `json.dumps` makes one each time


@lru_cache(maxsize=16)  # both orders of a comparison have the same texts
def _literal(text: str | None) -> str:
    """`text` as a JSON string; escaped to ASCII only if UTF-8 cannot encode it."""
    literal = _JSON.encode(text)
    try:
        literal.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(text, ensure_ascii=True)
    return literal


def template_for(verdict: str, prompt: str | None, rubric: str | None, *, rating: bool = False) -> Template:
    """The template that `prompt` names, or the default, with `rubric` filled in.

    `verdict` is the form of the reply. `prompt` is the name of a shipped prompt or the path of a
    `.md` file; without it the default depends on `verdict`, `rubric` and `rating`. `rubric` is text
    or the path of a file; a `.toml` file holds criteria. The template rates if `rating`, and compares if not.

    Raises:
        InputError: there is no such prompt or rubric, or the prompt does not fit the other
            arguments.
    """
    criteria = read_criteria(Path(rubric)) if rubric is not None and _is_criteria(rubric) else None
    template = _named_template(verdict, prompt, rubric, "rating" if rating else "pairwise", by_criteria=bool(criteria))
    template.check_question(rating=rating)
    if verdict == "logprob" and sorted(template.labels.values()) != [0.0, 1.0]:
        raise InputError(f"`verdict=logprob` needs a prompt with two labels, scored 1 and 0; {template.id} has others")
    forms = {"string": tuple(BARE), DECISION: (DECISION,)}.get(str(template.schema.get("type")), ("schema", "tool"))
    if verdict not in forms:
        needs = " or ".join(f"`verdict={form}`" for form in sorted(forms))
        raise InputError(f"`prompt={template.id}` needs {needs}, found `verdict={verdict}`")
    if criteria is not None:
        if template.takes_rubric or template.takes_criteria is template.decides:
            place = "must have no place for a rubric" if template.decides else "needs a place for them ({{criteria}})"
            raise InputError(f"`rubric={rubric}` holds criteria, and the prompt {template.id} {place}")
        return template.with_criteria(criteria)
    if template.takes_criteria:
        raise InputError(f"`prompt={template.id}` has a place for criteria; give `rubric=FILE.toml`")
    if rubric is None:
        if template.takes_rubric:
            raise InputError(f"`prompt={template.id}` has a place for a rubric; give `rubric`, text or a file")
        return template
    if not template.takes_rubric:
        raise InputError(f"`rubric`: the prompt {template.id} has no place for a rubric ({{{{rubric}}}})")
    return template.with_rubric(_text_or_file(rubric))


@runtime_checkable
class Prompted(Protocol):
    """A judge that reads a prompt."""

    template: Template


def named_template(prompt: str) -> Template:
    """The template of a file of the user's, or the one that judgeloop ships under this name."""
    path = Path(prompt)
    return parse_template(read_text(path), path) if path.suffix == ".md" else shipped_template(prompt)


def _named_template(
    verdict: str, prompt: str | None, rubric: str | None, family: str, *, by_criteria: bool
) -> Template:
    if prompt is None:
        if by_criteria:
            if verdict in BARE:
                raise InputError(
                    f"`rubric={rubric}`: `verdict={verdict}` is one label, which cannot answer several criteria"
                )
            return shipped_template(f"{family}-decision.v1" if verdict == DECISION else f"{family}-criteria.v1")
        if verdict in BARE:
            return shipped_template(f"{family}-{BARE[verdict]}.v1")
        family += "-decision" if verdict == DECISION else ""
        return shipped_template(f"{family}.v1" if rubric is None else f"{family}-rubric.v1")
    return named_template(prompt)


def _is_criteria(rubric: str) -> bool:
    return rubric.endswith(SUFFIX) and " " not in rubric


def _text_or_file(rubric: str) -> str:
    path = Path(rubric)
    try:
        is_file = path.is_file()
    except OSError:  # the text is too long for a path
        is_file = False
    if not is_file and path.suffix in {".md", ".txt"} and " " not in rubric:
        raise InputError(f"`rubric={rubric}`: there is no such file")
    text = read_text(path) if is_file else rubric
    if not text.strip():
        raise InputError("`rubric`: the rubric is empty")
    return text.strip().encode("utf-8", "replace").decode("utf-8")


@cache
def shipped_template(name: str) -> Template:
    """A prompt that judgeloop ships, by its file's name without the suffix.

    Raises:
        InputError: there is no such prompt; the message lists the prompts.
    """
    folder = shipped("prompts")
    names = sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md"))
    if name not in names:
        raise InputError(f"`prompt={name}`: expected a file ending in .md, or one of {', '.join(names)}")
    return parse_template((folder / f"{name}.md").read_text(encoding="utf-8"), f"{name}.md")
