"""A system that a file describes: `FILE.toml` names a model, its prompts and its parameters.

The file is data, also when the caller names it. It chooses among the providers that the caller can
reach. Address, key, price, time limit and code are the caller's to say (`options.py`). Texts stand
in it, or in files of its own folder. Reads the file, checks it, and renders prompts; asks nothing.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, ValidationError

from judgeloop.core.errors import DataError, InputError, did_you_mean
from judgeloop.core.records import Item, Output
from judgeloop.formats.own_files import outside
from judgeloop.formats.tables import read_bytes
from judgeloop.providers.catalogue import PROVIDERS
from judgeloop.providers.token_limit import THINKING_TOKENS
from judgeloop.systems.options import KEYS

SUFFIX = ".toml"
MOST_BYTES = 1 << 16  # of the file, and of each text
PLAIN = "{{prompt}}"
THOUGHTS_END = "</think>"
_FIELD = re.compile(r"\{\{([^{}\n]+)\}\}")
Name = Annotated[str, MinLen(1), MaxLen(200)]
Penalty = Annotated[float, Ge(-2), Le(2)]


class File(BaseModel):
    """A text in a file of the description's folder."""

    model_config = ConfigDict(extra="forbid", strict=True)

    file: Name


class Fields(BaseModel):
    """The keys of a description, with hyphens for underscores."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=lambda name: name.replace("_", "-")
    )

    model: Name
    name: Name | None = None
    system_prompt: str | File | None = None
    prompt: str | File = PLAIN
    max_tokens: Annotated[int, Ge(1)] | None = None
    strip_thoughts: bool | Name = False
    output_field: Name | None = None
    effort: str | None = None
    temperature: Annotated[float, Ge(0), Le(2)] | None = None
    top_p: Annotated[float, Gt(0), Le(1)] | None = None
    top_k: Annotated[int, Ge(1)] | None = None
    min_p: Annotated[float, Ge(0), Le(1)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Gt(0), Le(2)] | None = None
    seed: Annotated[int, Ge(0)] | None = None
    stop: Name | Annotated[list[Name], MinLen(1), MaxLen(4)] | None = None
    thinking: bool | None = None
    verbosity: str | None = None


WORDS = {"effort": tuple(THINKING_TOKENS), "verbosity": ("low", "medium", "high")}
# What a provider may not take; the others have no parameter of the model.
PARAMETERS = (
    "temperature", "top-p", "top-k", "min-p", "frequency-penalty", "presence-penalty", "repetition-penalty",
    "seed", "stop", "thinking", "verbosity",
)  # fmt: skip
KEYS_OF_FILE = tuple(name.replace("_", "-") for name in Fields.model_fields)


@dataclass(frozen=True, slots=True)
class Reading:
    """What of a model's text is its output.

    - `thoughts_end`: only what follows this tag; a text without it is no output. None for all.
    - `field`: the field of the JSON object that the text is; None for all.
    """

    thoughts_end: str | None = None
    field: str | None = None

    @property
    def identity(self) -> dict[str, str]:
        """What is given of both, by name; two readings of one text are two outputs."""
        parts = {"thoughts end": self.thoughts_end, "output field": self.field}
        return {name: part for name, part in parts.items() if part is not None}

    def of(self, output: Output) -> tuple[str | None, str]:
        """Return what is judged of an output, or None and why there is nothing."""
        text = output.text
        if text is not None and self.thoughts_end is not None:
            _, ended, text = text.rpartition(self.thoughts_end)
            if not ended:
                return (
                    None,
                    f"its text has no {self.thoughts_end} after which the answer would stand",
                )
            text = text.lstrip()
        if text is None or self.field is None:
            return text, output.failed
        try:
            found = json.loads(text)[self.field]
        except (ValueError, LookupError, TypeError, RecursionError):
            return None, f"its text is no JSON object with the field {self.field!r}"
        return as_text(found), ""


@dataclass(frozen=True)
class Description:
    """A chat model and what it is asked with.

    `parameters` holds those of the model by their keys. `effort` says how hard it is to think, and
    `label` names the system in results.
    """

    model: str
    label: str
    path: str = ""
    system_prompt: str | None = None
    prompt: str = PLAIN
    max_tokens: int | None = None
    effort: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reading: Reading = Reading()

    @cached_property
    def _parts(self) -> Sequence[str]:
        """The template, cut at its fields: the texts between, and the names of the fields."""
        return _FIELD.split(self.prompt)

    def messages(self, item: Item) -> list[tuple[str, str]]:
        """Return the messages that are sent about an item, each a role and a text.

        Raises:
            InputError: the item lacks a column of the template, or is a conversation that leaves no
                place for this prompt.
        """
        first = [] if self.system_prompt is None else [("system", self.system_prompt)]
        if not item.messages:
            return [*first, ("user", self._rendered(item))]
        begins = item.messages[0][0] == "system"
        if (begins and first) or self.prompt != PLAIN:
            second = begins and first
            has = "a system prompt of its own" if second else "turns"
            lacking = "system-prompt" if second else "prompt"
            raise InputError(
                f"{self.path}: the item {item.id!r} is a conversation with {has}; expected items with a "
                f"prompt, or a description without {lacking!r}"
            )
        return [*first, *item.messages]

    def _rendered(self, item: Item) -> str:
        """Return the template with all fields put in as they are, in one pass."""
        known = {**item.columns, "prompt": item.prompt}
        names = self._parts[1::2]
        if lacking := next((name for name in names if name not in known), None):
            raise InputError(
                f"{self.path}: the prompt has the field {lacking!r}, and the item {item.id!r} has no such "
                f"column{did_you_mean(lacking, known)}; expected fields among {', '.join(sorted(known))}"
            )
        return "".join(
            as_text(known[part]) if place % 2 else part for place, part in enumerate(self._parts)
        )


def as_text(value: object) -> str:
    """Return a JSON value as text: a text as it is, nothing for null."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def read_description(path: Path) -> Description:
    """Read and check a description.

    Raises:
        InputError: the file or one of its texts cannot be read, or a key or a value is wrong.
    """
    found = _fields(path)
    provider, _, model = found.model.partition("/")
    if provider not in {row.name for row in PROVIDERS} or not model or "=" in model:
        forms = ", ".join(f"{row.name}/{row.rest}" for row in PROVIDERS)
        raise DataError(path, f"the model: expected one of {forms}, found {found.model!r}")
    for key, words in WORDS.items():
        if (value := getattr(found, key)) is not None and value not in words:
            near = did_you_mean(value, words)
            raise DataError(
                path, f"{key!r}: expected one of {', '.join(words)}{near}, found {value!r}"
            )
    if found.name is not None and ("=" in found.name or not found.name.isprintable()):
        raise DataError(path, f"the name: expected a name without =, found {found.name!r}")
    given = found.model_dump(by_alias=True, exclude_none=True)
    if isinstance(found.stop, str):
        given["stop"] = [found.stop]
    tag = THOUGHTS_END if found.strip_thoughts is True else found.strip_thoughts or None
    system = (
        None if found.system_prompt is None else _text(path, "system-prompt", found.system_prompt)
    )
    return Description(
        found.model,
        found.name or path.stem,
        str(path),
        system,
        _template(path, _text(path, "prompt", found.prompt)),
        found.max_tokens,
        found.effort,
        {key: given[key] for key in PARAMETERS if key in given},
        Reading(tag, found.output_field),
    )


def _fields(path: Path) -> Fields:
    data = read_bytes(path)
    if len(data) > MOST_BYTES:
        raise DataError(path, f"expected at most {MOST_BYTES >> 10} KiB, found {len(data):,} bytes")
    try:
        return Fields.model_validate(tomllib.loads(data.decode()))
    except ValidationError as error:
        raise DataError(path, _said(error.errors(include_url=False)[0])) from None
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"this is no TOML: {error}") from None


def _said(first: Any) -> str:
    key = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "missing":
        return f"expected the key {key!r}, found none"
    if first["type"] != "extra_forbidden" or len(first["loc"]) > 1:
        what = first["msg"].removeprefix("Input should be ")
        return f"{key!r}: expected {what}, found {first['input']!r:.60}"
    if key in KEYS:
        return f"{key!r}: only the caller may say this of a system: `system=NAME.{key}=VALUE`"
    near = did_you_mean(key, KEYS_OF_FILE)
    return f"there is no key {key!r}{near}; expected {', '.join(KEYS_OF_FILE)}"


def _text(path: Path, key: str, value: str | File) -> str:
    """Return a text that stands in the description, or in a file of its folder."""
    if isinstance(value, str):
        return value
    if reason := outside(value.file, path.parent):
        raise DataError(path, f"{key!r}: {reason} of this file")
    data = read_bytes(path.parent / value.file)
    if len(data) > MOST_BYTES:
        raise DataError(path, f"{key!r}: {value.file} has more than {MOST_BYTES >> 10} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DataError(path, f"{key!r}: {value.file} is not UTF-8") from None


def _template(path: Path, text: str) -> str:
    names = _FIELD.findall(text)
    if not names or any(name != name.strip() for name in names):
        raise DataError(
            path,
            f"the prompt: expected a text with {PLAIN} or columns of the items, without spaces",
        )
    return text
