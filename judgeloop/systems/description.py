"""A system that a file describes: `FILE.toml` names a model, its prompts and its parameters.

The file is data, also when the caller names it. It chooses among the providers that the caller can
reach. Address, key, price, time limit and code are the caller's to say (`options.py`). Texts stand
in it, or in files of its own folder. Reads the file, checks it, and renders prompts; asks nothing.
"""

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeloop.core.errors import DataError, InputError, did_you_mean
from judgeloop.core.records import Item, Output
from judgeloop.engine.generating import THOUGHTS_END
from judgeloop.formats.own_files import outside
from judgeloop.formats.tables import read_bytes
from judgeloop.providers.catalogue import PROVIDERS
from judgeloop.systems.options import KEYS, LEFT_OUT

MOST_BYTES = 1 << 16  # of the file, and of each text
PLAIN = "{{prompt}}"
MODELS = ", ".join(f"{row.name}/{row.rest}" for row in PROVIDERS)
_FIELD = re.compile(r"\{\{([^{}\n]+)\}\}")
PLAINLY = r"[^=\x00-\x1f]"  # in a name: no = , which parts a setting from its value
Name = Annotated[str, MaxLen(200), Field(pattern=f"^{PLAINLY}+$")]
Text = Annotated[str, MinLen(1), MaxLen(200)]
Penalty = Annotated[float, Ge(-2), Le(2)]


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
                return (None, f"its text has no {self.thoughts_end} after which the answer would stand")
            text = text.lstrip()
        if text is None or self.field is None:
            return text, output.failed
        try:
            found = json.loads(text)[self.field]
        except (ValueError, LookupError, TypeError, RecursionError):
            return None, f"its text is no JSON object with the field {self.field!r}"
        return as_text(found), ""


class Description(BaseModel):
    """A chat model and what it is asked with: the keys of a file, with hyphens for underscores.

    `thinking` and what stands before it are parameters of the model.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=lambda name: name.replace("_", "-")
    )

    temperature: Annotated[float, Ge(0), Le(2)] | None = None
    top_p: Annotated[float, Gt(0), Le(1)] | None = None
    top_k: Annotated[int, Ge(1)] | None = None
    min_p: Annotated[float, Ge(0), Le(1)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Gt(0), Le(2)] | None = None
    seed: Annotated[int, Ge(0)] | None = None
    stop: Annotated[list[Text], MinLen(1), MaxLen(4)] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    thinking: bool | None = None
    model: Annotated[str, Field(pattern=rf"^({'|'.join(row.name for row in PROVIDERS)})/{PLAINLY}+$")]
    name: Name | None = None
    system_prompt: str | None = None
    prompt: str = PLAIN
    max_tokens: Annotated[int, Ge(1)] | None = None
    strip_thoughts: bool | Text = False
    output_field: Text | None = None
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of the model that are given, by their keys."""
        keys = list(type(self).model_fields)
        found = {name: getattr(self, name) for name in keys[: keys.index("model")]}
        return {name.replace("_", "-"): one for name, one in found.items() if one is not None}

    @property
    def reading(self) -> Reading:
        """What of the model's text is judged."""
        tag = THOUGHTS_END if self.strip_thoughts is True else self.strip_thoughts or None
        return Reading(tag, self.output_field)

    @cached_property
    def _parts(self) -> list[str]:
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
                f"{self.name}: the item {item.id!r} is a conversation with {has}; expected items with a "
                f"prompt, or a description without {lacking!r}"
            )
        return [*first, *item.messages]

    def _rendered(self, item: Item) -> str:
        """Return the template with all fields put in as they are, in one pass."""
        known = {**item.columns, "prompt": item.prompt}
        names = self._parts[1::2]
        if lacking := next((name for name in names if name not in known), None):
            raise InputError(
                f"{self.name}: the prompt has the field {lacking!r}, and the item {item.id!r} has no such "
                f"column{did_you_mean(lacking, known)}; expected fields among {', '.join(sorted(known))}"
            )
        return "".join(as_text(known[part]) if place % 2 else part for place, part in enumerate(self._parts))


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
    try:
        found = tomllib.loads(_text_of(path, path, "this file"))
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"this is no TOML: {error}") from None
    for key in TEXTS & found.keys():
        match found[key]:
            case {"file": str(name), **others} if not others:
                if reason := outside(name, path.parent):
                    raise DataError(path, f"{key!r}: {reason} of this file")
                found[key] = _text_of(path, path.parent / name, f"{key!r}: {name}")
    if isinstance(found.get("stop"), str):
        found["stop"] = [found["stop"]]
    try:
        made = Description.model_validate({"name": path.stem} | found)
    except ValidationError as error:
        raise DataError(path, _said(error.errors(include_url=False)[0])) from None
    names = _FIELD.findall(made.prompt)
    if not names or any(name != name.strip() for name in names):
        expected = f"a text with {PLAIN} or columns of the items, without spaces"
        raise DataError(path, f"'prompt': expected {expected}, or {{ file = \"…\" }}")
    return made


TEXTS = {"prompt", "system-prompt"}  # which may stand in files


def _text_of(path: Path, file: Path, shown: str) -> str:
    """Return the text of the description at `path`, or of another `file` that belongs to it."""
    data = read_bytes(file)
    if len(data) > MOST_BYTES:
        raise DataError(path, f"{shown} has more than {MOST_BYTES >> 10} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DataError(path, f"{shown} is not UTF-8") from None


KEYS_OF_FILE = tuple(name.replace("_", "-") for name in Description.model_fields)


def _said(first: Any) -> str:
    key = str(first["loc"][0])
    if first["type"] == "missing":
        return f"expected the key {key!r}, found none"
    if first["type"] == "extra_forbidden":
        if key in KEYS:
            return f"{key!r}: only the caller may say this of a system: `system=NAME.{key}=VALUE`"
        if key in LEFT_OUT:
            return f"there is no key {key!r}: {LEFT_OUT[key]}"
        near = did_you_mean(key, KEYS_OF_FILE)
        return f"there is no key {key!r}{near}; expected {', '.join(KEYS_OF_FILE)}"
    expected = {"model": f"one of {MODELS}", "name": "a name without ="}.get(
        key, first["msg"].removeprefix("Input should be ")
    )
    return f"{key!r}: expected {expected}, found {first['input']!r:.60}"
