"""Makes the reference of results: their JSON schema, and a page with a row for each field.

The fields are those of the records in `judgeloop/questions/*/result.py` and `judgeloop/report/`.
Their types are the annotations; what they hold is said in the docstring of the record, in a list,
or in that of the property.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from judgeloop.core.jsonable import Part
from judgeloop.core.spend import Spend
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.report.labels import LabelRow
from judgeloop.report.notes import TEXTS
from judgeloop.report.records import Counts, DataNotes, Setup
from judgeloop.report.result import RunResult

RESULTS: dict[str, type[RunResult]] = {question.name: question.load().result for question in QUESTIONS}
NOTE = {
    "type": "object",
    "properties": {"code": {"enum": [str(code) for code in TEXTS]}, "message": {"type": "string"}},
    "required": ["code", "message"],
}
NOTES = (
    "Each has a `code`, a `message` for people, and the values that the sentence names. A program reads the code; sentences may change.",
    "",
)
SETTINGS_FILES = (dict[str, list[str]], "the settings that each file set; on the command line only")
AS_JSON = {"None": "null", "True": "true", "False": "false"}


def shown(question: str) -> dict[str, tuple[Any, str]]:
    """Return the fields of a question's JSON: their types, and what they hold."""
    record = RESULTS[question]
    options = get_type_hints(record)["options"]
    heading = {"schema_version": int, "job": str, "headline": str}
    found = {name: (kind, said(record)[name]) for name, kind in heading.items()}
    found |= dict(held(record))
    found |= {name: (list[dict[str, Any]], said(record)[name]) for name in ("advice", "warnings")}
    for part in (options, Counts, DataNotes, Setup, Spend):
        found |= dict(held(part))
    kept = {name: field for name, field in found.items() if name not in record.LEFT_OUT}
    return kept | {"settings_files": SETTINGS_FILES}


def held(record: type[Part]) -> Iterator[tuple[str, tuple[Any, str]]]:
    """Yield the fields of a part's JSON: its name, its type, and what it holds."""
    hints, texts = get_type_hints(record), said(record)
    for name in record.names():
        kept = getattr(record, name, None)
        if isinstance(kept, property):
            text = (kept.__doc__ or "").partition("\n")[0].rstrip(".")
            text = re.sub(r"\b(None|True|False)\b", lambda word: AS_JSON[word[0]], text)
            kind = get_type_hints(kept.fget)["return"]
            yield name, (kind, text[:1].lower() + text[1:])
        else:
            yield name, (hints[name], texts[name])


def said(record: type) -> dict[str, str]:
    """Return what the lists in the docstrings of a record and its bases say of each field."""
    found: dict[str, str] = {}
    for base in record.__mro__:
        for block in re.split(r"\n\s*- ", (base.__doc__ or "").partition("\n    - ")[2]):
            match = re.match(r"\s*(?:- )?`(\w+)`: (.*)", block.partition("\n\n")[0], re.DOTALL)
            if match:
                found.setdefault(match[1], " ".join(match[2].split()))
    return found


def schema() -> str:
    """Return the JSON schema of results, as a file."""
    definitions = {question: _object(question) for question in RESULTS}
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result of judgeloop",
        "description": "What --json prints, -o FILE.json writes, and to_dict() returns.",
        "oneOf": [{"$ref": f"#/$defs/{question}"} for question in RESULTS],
        "$defs": definitions,
    }
    return json.dumps(whole, indent=2) + "\n"


def _object(question: str) -> dict[str, Any]:
    properties = {name: _property(kind, text) for name, (kind, text) in shown(question).items()}
    properties["job"] = {"const": question}
    for name in ("advice", "warnings"):
        properties[name] |= {"items": NOTE}
    properties["labels"] = _property(list[LabelRow], "the judged items; in to_dict() only")
    optional = {"labels", "settings_files"}
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(set(properties) - optional),
        "additionalProperties": False,
    }


def _property(kind: Any, text: str) -> dict[str, Any]:
    """Return the schema of a value as JSON has it."""
    found = TypeAdapter(kind).json_schema(mode="serialization")
    found = _inlined(found, found.pop("$defs", {}))
    return (found | {"description": text}) if text else found


def _inlined(found: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with what it refers to in place of the references."""
    if isinstance(found, list):
        return [_inlined(one, definitions) for one in found]
    if not isinstance(found, dict):
        return found
    if "$ref" in found:
        return _inlined(definitions[found["$ref"].rpartition("/")[2]], definitions)
    return {
        name: _inlined(value, definitions)
        for name, value in found.items()
        if name not in {"title", "description", "default"}
    }


def page() -> str:
    """Return the page of results."""
    lines = [
        "# What a result holds",
        "",
        "<!-- made by docs/make.py: change the code, not this page -->",
        "",
        "`--json` prints a result as one JSON object. `-o FILE.json` writes it, and `result.to_dict()` returns it in Python, with the",
        "judged items under `labels`. Its form is published as a schema: `docs/reference/result.schema.json`.",
        "",
        "[Read a result](../how-to/read-a-result.md) explains the text that people see.",
        "",
    ]
    for question in RESULTS:
        lines += [f"## {question}", "", "| field | form | holds |", "|---|---|---|"]
        for name, (kind, text) in shown(question).items():
            lines.append(f"| `{name}` | {_form(kind)} | {text.replace('|', chr(92) + '|')} |")
        lines.append("")
    lines += ["## Advice and warnings", "", *NOTES, "| code | sentence, with its values |", "|---|---|"]
    lines += [f"| `{code}` | {sentence} |" for code, sentence in TEXTS.items()]
    lines += ["", "## labels", "", "A row for each judged item:", ""]
    lines += ["| field | form | holds |", "|---|---|---|"]
    texts = said(LabelRow)
    for name, kind in get_type_hints(LabelRow).items():
        lines.append(f"| `{name}` | {_form(kind)} | {texts[name]} |")
    return "\n".join([*lines, ""])


def _form(kind: Any) -> str:
    """Return a type in a word or two."""
    return _named(_property(kind, ""))


def _named(found: dict[str, Any]) -> str:
    if "anyOf" in found:
        return " or ".join(_named(one) for one in found["anyOf"])
    if "enum" in found:
        return ", ".join(f"`{value}`" for value in found["enum"])
    kind = found.get("type", "any")
    names = {"string": "text", "integer": "number", "boolean": "true or false", "array": "list"}
    return names.get(kind, str(kind))
