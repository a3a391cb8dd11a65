"""A system that is a chat model: `openai/MODEL`, `anthropic/MODEL`, `vllm/NAME`, or what a file describes.

`FILE.toml` names a model, its prompts and its parameters. The file is data, also when the caller names it. It chooses
among the providers that the caller can reach. Address, key, price, time limit and code are the caller's to say
(`options.py`). Texts stand in it, or in files of its own folder.

The model is asked by `providers/chat.py`, as a judge is. Nothing is sent that was not asked for, but a limit of tokens
and the standard tier. The limit is never lowered by earlier replies: to ask again where an output is long would make
long outputs rarer.
"""

import asyncio
import json
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, final

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeloop.core.errors import DataError, ErrorKind, InputError, JudgeError, did_you_mean
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Quote, Reply
from judgeloop.core.thoughts import THOUGHTS_END
from judgeloop.formats.own_files import outside
from judgeloop.formats.tables import read_bytes
from judgeloop.providers.catalogue import PROVIDERS, chat_class
from judgeloop.providers.chat import Chat, ChatSpec
from judgeloop.providers.endpoint import JUDGE_KEY, STANDARD, Names, endpoint_for
from judgeloop.providers.pricing import model_price, published_at
from judgeloop.providers.token_limit import thinking_tokens_for
from judgeloop.systems.options import KEYS, LEFT_OUT, SystemOptions

MOST_BYTES = 1 << 16  # of the file, and of each text
PLAIN = "{{prompt}}"
MODELS = ", ".join(f"{row.name}/{row.rest}" for row in PROVIDERS)
OUTPUT_TOKENS = 4_096  # the limit of an output, unless the user sets one
BYTES_A_TOKEN = 4  # of an output, as first set aside for the judges
LIKELY_TOKENS = 400  # of an output, for forecasts
KEY_ENDING = "_API_KEY"  # of the names of variables with keys
TEXTS = {"prompt", "system-prompt"}  # which may stand in files
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
        """What is judged of an output, or None and why there is nothing."""
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
        """The messages that are sent about an item, each a role and a text.

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
        """The template with all fields put in as they are, in one pass."""
        known = {**item.columns, "prompt": item.prompt}
        names = self._parts[1::2]
        if lacking := next((name for name in names if name not in known), None):
            raise InputError(
                f"{self.name}: the prompt has the field {lacking!r}, and the item {item.id!r} has no such "
                f"column{did_you_mean(lacking, known)}; expected fields among {', '.join(sorted(known))}"
            )
        return "".join(as_text(known[part]) if place % 2 else part for place, part in enumerate(self._parts))


KEYS_OF_FILE = tuple(name.replace("_", "-") for name in Description.model_fields)


def as_text(value: object) -> str:
    """A JSON value as text: a text as it is, nothing for null."""
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


def _text_of(path: Path, file: Path, shown: str) -> str:
    """The text of the description at `path`, or of another `file` that belongs to it."""
    data = read_bytes(file)
    if len(data) > MOST_BYTES:
        raise DataError(path, f"{shown} has more than {MOST_BYTES >> 10} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DataError(path, f"{shown} is not UTF-8") from None


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


@final
class ChatSystem:
    """A chat model that answers items; each call of `answer` sends one HTTP request."""

    def __init__(self, chat: Chat[Any], options: SystemOptions, description: Description) -> None:
        """Ask `chat` as `description` says; `options` are the caller's."""
        self.chat = chat
        self.label, self.typed = description.name or description.model, options.name
        self._description = description
        self.priced = chat.spec.price is not None
        self.price = chat.spec.price
        given = options.max_output_tokens, description.max_tokens
        self.limit_is_default = given == (None, None)
        self.longest_bytes = BYTES_A_TOKEN * chat.spec.max_output_tokens
        self.likely_bytes = min(self.longest_bytes, BYTES_A_TOKEN * LIKELY_TOKENS)
        self.timeout_s = options.timeout_s
        self.at_once = None
        self._version = options.version
        # A provider's name of a model says what is behind it, at its own host.
        at_home = chat.provider.owns(chat.spec.endpoint.base_url)
        self.lasts = at_home or options.version is not None

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The model, its server, and all that is sent beside the item."""
        spec = self.chat.spec
        return JudgeIdentity(
            self.chat.provider.name,
            spec.model,
            {
                **spec.endpoint.identity,
                # With the thinking tokens: a text that is cut is an output.
                "max_output_tokens": str(self.chat.limit.full),
                **({} if self._version is None else {"version": self._version}),
                **({} if spec.effort is None else {"effort": spec.effort}),
                **{name: json.dumps(value) for name, value in spec.parameters.items()},
                **self._description.reading.identity,
            },
        )

    @property
    def server(self) -> tuple[str, str]:
        """The address and the key, by which judges and systems share their pace."""
        return self.chat.server

    @property
    def price_note(self) -> str:
        """What the server calls the model that has the user's price, in a sentence; empty if it says nothing new."""
        return self.chat.price_note

    def make_ready(self, calls: int) -> None:
        """Make the clients that so many calls at one time need."""
        self.chat.make_ready(calls)

    def sent(self, item: Item) -> list[tuple[str, str]]:
        """The messages that are sent about an item.

        Raises:
            InputError: the item lacks what the description needs.
        """
        return self._description.messages(item)

    def read(self, output: Output) -> Output:
        """An output as it is judged; the ledger has the whole text."""
        text, failed = self._description.reading.of(output)
        return replace(output, text=text, failed=failed)

    def quote(self, call: Call) -> Quote:
        """The worst case: a token per byte of input, and the limit of output tokens."""
        return self.chat.quote(call, self.sent(call.item))

    async def answer(self, call: Call) -> Reply:
        """Send one request; the reply's answer is an `Output`.

        Raises:
            JudgeError: there is no reply, or no usable reply.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            reply = await self.chat.ask(call, self.sent(call.item), None)
        except JudgeError as error:
            if error.kind is not ErrorKind.ITEM:
                raise
            # The item is to blame, and so it is what this system does with it.
            cost_p = None if error.billed else 0
            return Reply(Output(None, str(error), seconds=loop.time() - began), cost_p)
        if not isinstance(reply.answer, Output):
            return reply
        output = replace(reply.answer, seconds=loop.time() - began, model=reply.model)
        return replace(reply, answer=output)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.chat.aclose()


def chat_system(name: str, options: SystemOptions) -> ChatSystem:
    """Create the system `PROVIDER/MODEL`, which `name` is.

    Raises:
        InputError: the address, the key or the price is missing or wrong.
    """
    return _system_of(Description(model=name), options)


def described_system(path: str, options: SystemOptions) -> ChatSystem:
    """Create the system that a file describes.

    Raises:
        InputError: as `chat_system`; or the file is wrong, or asks for what its provider does not
            take.
    """
    return _system_of(read_description(Path(path)), options)


def _system_of(description: Description, options: SystemOptions) -> ChatSystem:
    provider_name, _, model = description.model.partition("/")
    kind: type[Chat[Any]] | None = chat_class(provider_name)
    assert kind is not None, "the name was found in the catalogue, or checked with the file"
    try:
        parameters = kind.fields(description.parameters)
    except InputError as error:
        raise InputError(f"`system {options.name}`: {error}") from None
    provider, name = kind.provider, options.name
    limit = options.max_output_tokens
    limit = description.max_tokens if limit is None else limit
    tokens = OUTPUT_TOKENS if limit is None else limit
    thinks = {None: description.effort, True: description.effort or "medium", False: "none"}
    effort = thinks[description.parameters.get("thinking")]
    environment = _environment(kind, options)
    asked = replace(options, environment=environment, max_output_tokens=limit, effort=effort)
    key = f"the key in the variable that `system={name}.key-variable` names"
    endpoint = endpoint_for(
        provider, asked, Names(f"system {name}", f"system={name}.base-url", key, f"system={name}.key-command")
    )
    url = endpoint.base_url
    price = model_price(provider, model, url, given=options.price, tier=STANDARD)
    if price is not None and options.price is not None:
        price = replace(price, source=f"`system={name}.price={options.price}`")
    spec = ChatSpec(
        model,
        endpoint,
        price,
        None,
        max_output_tokens=tokens,
        thinking_tokens=thinking_tokens_for(model, asked),
        effort=description.effort,
        parameters=parameters,
        published=published_at(provider, url),
        likely_tokens=LIKELY_TOKENS,
    )
    return ChatSystem(kind(spec), options, description)


def _environment(kind: type[Chat[Any]], options: SystemOptions) -> dict[str, str]:
    """The caller's variables with no key but the one that this system may send.

    That is the provider's own, which goes to its own host alone, or the one that the caller names
    for an address. A file that describes the system chooses the model, and so the host: a key without
    an address would go where the file says. The judge's key goes to no system.

    Raises:
        InputError: the variable is not set, holds a key that belongs elsewhere, or has no address.
    """
    provider, given = kind.provider, options.key_variable
    found = {name: text for name, text in options.environment.items() if not name.endswith(KEY_ENDING)}
    own = provider.key_variable
    if given is None:
        return found | {own: options.environment.get(own, "")} if own else found
    setting = f"`system={options.name}.key-variable={given}`"
    at_home = options.base_url is None or provider.owns(options.base_url)
    kinds = [chat_class(row.name) for row in PROVIDERS]
    of_providers = {one.provider.key_variable for one in kinds if one is not None}
    owner = None
    if given.startswith("JUDGELOOP_"):
        owner = "the judge" if given == JUDGE_KEY else "judgeloop"
    elif given in of_providers and not (at_home and given == own):
        owner = "its provider"
    if owner is not None:
        raise InputError(
            f"{setting}: this key belongs to {owner}; put the key of this address into a variable of its own"
        )
    if options.base_url is None and given != own:
        raise InputError(f"{setting}: expected the address that this key is for: `system={options.name}.base-url=URL`")
    key = options.environment.get(given, "")
    if not key and not options.offline:
        raise InputError(f"{setting}: this variable is not set")
    return found | {name: key for name in (own, JUDGE_KEY) if name}
