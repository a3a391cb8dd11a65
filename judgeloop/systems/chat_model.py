"""A system that is a chat model: identity, messages, and what counts as its output.

`openai/MODEL`, `anthropic/MODEL` and `vllm/NAME` are such systems, and what a file describes
(`description.py`). The model is asked by `providers/chat.py`, as a judge is. Nothing is sent that
was not asked for, but a limit of tokens and the standard tier. The limit is never lowered by earlier
replies: to ask again where an output is long would make long outputs rarer.
"""

import asyncio
import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

from judgeloop.core.errors import ErrorKind, InputError, JudgeError
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Quote, Reply
from judgeloop.providers.catalogue import PROVIDERS, chat_class
from judgeloop.providers.chat import Chat, ChatSpec
from judgeloop.providers.endpoint import JUDGE_KEY, STANDARD, Names, endpoint_for
from judgeloop.providers.pricing import model_price, published_at
from judgeloop.providers.token_limit import thinking_tokens_for
from judgeloop.systems.description import Description, read_description
from judgeloop.systems.options import SystemOptions

OUTPUT_TOKENS = 4_096  # the limit of an output, unless the user sets one
BYTES_A_TOKEN = 4  # of an output, as first set aside for the judges
LIKELY_TOKENS = 400  # of an output, for forecasts
KEYS = "_API_KEY"  # how the names of variables with keys end


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

    def sent(self, item: Item) -> list[tuple[str, str]]:
        """Return the messages that are sent about an item.

        Raises:
            InputError: the item lacks what the description needs.
        """
        return self._description.messages(item)

    def read(self, output: Output) -> Output:
        """Return an output as it is judged; the ledger has the whole text."""
        text, failed = self._description.reading.of(output)
        return replace(output, text=text, failed=failed)

    def quote(self, call: Call) -> Quote:
        """Return the worst case: a token per byte of input, and the limit of output tokens."""
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
    """Create the system `PROVIDER/MODEL`.

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
    endpoint = endpoint_for(provider, asked, Names(f"system {name}", f"system={name}.base-url", key))
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
    """Return the caller's variables with no key but the one that this system may send.

    That is the provider's own, which goes to its own host alone, or the one that the caller names
    for an address. A file that describes the system chooses the model, and so the host: a key without
    an address would go where the file says. The judge's key goes to no system.

    Raises:
        InputError: the variable is not set, holds a key that belongs elsewhere, or has no address.
    """
    provider, given = kind.provider, options.key_variable
    found = {name: text for name, text in options.environment.items() if not name.endswith(KEYS)}
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
