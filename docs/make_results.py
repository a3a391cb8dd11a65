"""Makes the reference of results: their JSON schema, and a page with a row for each field.

The fields are those of the records in `judgeloop/*/result.py` and `judgeloop/report/`. What a field
holds is said in the docstring of its record, or in the annotation of a computed field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from judgeloop.questions.compare.result import Result
from judgeloop.questions.estimate.result import Estimated
from judgeloop.questions.select.result import Selected
from judgeloop.report.json_fields import Computed, Heading
from judgeloop.report.run_result import LabelRow

RESULTS: dict[str, type] = {"compare": Result, "select": Selected, "estimate": Estimated}
# Fields of a record that its JSON has in another form.
NOT_SHOWN = {"setup", "labels", "spend", "job", "texts"}
BESIDE = {
    "decided": (bool, "whether the question is answered"),
    "reach": (float | None, "distance from the mean to the farther end of the interval"),
}
SETTINGS_FILES = (dict[str, list[str]], "the settings that each file set; on the command line only")
AS_JSON = {"None": "null", "True": "true", "False": "false"}
# What some names hold that no docstring says, because the name does.
PLAIN = {
    "abstentions": "number of items without a verdict",
    "agreement": "the agreement of a panel's judges beyond chance; null for one judge",
    "baseline": "the system that all others are compared with",
    "decoys": "numbers of decoys that won, tied, lost, or got no verdict; null without decoys",
    "flips": "verdicts that changed with the order of presentation",
    "items": "number of items in the set",
    "mean": "the estimated mean score",
    "leader": "the system that would be named now; null if several are level",
    "near": "the margin within which a system counts as near the best",
    "queries": "number of items that were asked about",
    "rounds": "how often the run waited for answers",
    "rule": "the stopping rule",
    "risk_threshold": "the risk at which the rule stops",
    "seed": "the seed of all random numbers",
    "selector": "the selector",
    "stop_reason": "why the run stopped, as a name",
    "stop_sentence": "why the run stopped, in words",
    "systems": "the names of the systems",
    "ties": "number of items without a preference",
    "wins": "number of items that each system won",
    "standings": "a row for each system: counts, win rate, whether it is ruled out",
    "flip_rate": "the share of verdicts that changed with the order of presentation",
    "near_tie": "the win distance that counts as no practical difference; null without one",
    "not_worse": "how much worse the second system may be; null if the question is which is better",
    "variant": "how the selector differs from its paper; null if it does not",
    "interval": "bounds of the mean score; null without an interval",
    "mean_biased": "whether items were picked, so that the error of the mean is unknown",
    "layer": "the layer of hidden states; null without hidden states",
    "interval_kind": "how the interval is made",
    "proxy": "the cheap judge of every item; null without one",
    "required_score": "the score that must be reached; null without one",
}


def hints_of(record: type) -> dict[str, Any]:
    """Return the types of the fields that a result's JSON shows, by name."""
    hints = get_type_hints(record, include_extras=True)
    own = {field.name: hints[field.name] for field in fields(record) if field.name not in NOT_SHOWN}
    setup = get_type_hints(hints["setup"], include_extras=True)
    of_setup = {field.name: setup[field.name] for field in fields(hints["setup"])}
    shared = [get_type_hints(one, include_extras=True) for one in (Heading, Computed)]
    return shared[0] | own | of_setup | shared[1]


def shown(question: str) -> dict[str, tuple[Any, str]]:
    """Return the fields of a question's JSON: their types, and what they hold."""
    record = RESULTS[question]
    left_out = Estimated.ONLY_COMPARED if question == "estimate" else ()
    texts = said(record) | said(get_type_hints(record)["setup"])
    found = {}
    for name, hint in hints_of(record).items():
        if name in left_out:
            continue
        kind, text = hint, PLAIN.get(name) or texts.get(name, "")
        if get_origin(hint) is Annotated:
            kind, text = get_args(hint)
        found[name] = (kind, text)
    beside = {name: BESIDE[name] for name in ("decided", "reach") if question == "estimate"}
    return found | beside | {"settings_files": SETTINGS_FILES}


def said(record: type) -> dict[str, str]:
    """Return what the docstrings of a record and its bases say of each field."""
    found: dict[str, str] = {}
    for base in record.__mro__:
        for name, text in _said(base.__doc__ or ""):
            found.setdefault(name, text)
    return found


def _said(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that a docstring speaks of, from lists and from sentences."""
    text = " ".join(docstring.split())
    for part in re.split(r"(?: - |; (?=`)|(?<=[.])\s+(?=`))", text):
        match = re.match(
            r"((?:`\w+`(?:, | and )?)+)(?::| (?:is|says|holds|names|bounds) )(.*)", part
        )
        if match is None:
            continue
        verb = (
            "" if ":" in part[: match.end(1) + 1] else part[match.end(1) : match.start(2)].strip()
        )
        words = match[2].strip().rstrip(".;")
        words = re.sub(r"\b(None|True|False)\b", lambda word: AS_JSON[word[0]], words)
        for name in re.findall(r"`(\w+)`", match[1]):
            yield name, words if verb in {"", "is", "holds"} else f"{verb} {words}"


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
    lines += [
        "## labels",
        "",
        "A row for each judged item:",
        "",
        "| field | form | holds |",
        "|---|---|---|",
    ]
    texts = said(LabelRow)
    for name, kind in get_type_hints(LabelRow).items():
        lines.append(f"| `{name}` | {_form(kind)} | {texts.get(name, '')} |")
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
