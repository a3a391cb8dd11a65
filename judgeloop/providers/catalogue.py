"""The catalogue of providers, a row each, and the options of a chat model at any of them.

To add a provider, add its file and one row here: judges, settings, help and documentation read this
table. It imports nothing heavy: a provider's file is imported when a model of it is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

STANDARD, FLEX, FLEX_OR_STANDARD = "standard", "flex", "flex-or-standard"
TIERS = (STANDARD, FLEX, FLEX_OR_STANDARD)
ANSWER_TOKENS = 512  # the maximum number of tokens of a reply, unless the user sets it


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider of chat models.

    - `name`: the first part of a model's name as typed, and the module in `judgeloop.providers`.
    - `chat`: the class in that module that asks a model.
    - `rest`: the placeholder for the model's name in the help.
    - `forms`: the forms of reply that it supports.
    - `flex`: True if it may be asked for at the cheaper tier `flex`.
    - `models`: how the names of its well-known models begin, for a model named alone.
    """

    name: str
    chat: str
    rest: str
    forms: tuple[str, ...]
    flex: bool = False
    models: tuple[str, ...] = ()


PROVIDERS: tuple[ProviderRow, ...] = (
    ProviderRow(
        "openai", "OpenAIChat", "MODEL", ("schema", "logprob"), flex=True,
        models=("gpt-", "chatgpt-", "o1", "o3", "o4"),
    ),
    ProviderRow("anthropic", "AnthropicChat", "MODEL", ("schema", "tool"), models=("claude-",)),
    ProviderRow("vllm", "VllmChat", "NAME", ("schema", "choice", "logprob")),
)  # fmt: skip


def chat_class(name: str) -> type[Any] | None:
    """Return the `chat.Chat` that asks the models of a provider; None if there is none."""
    row = next((row for row in PROVIDERS if row.name == name), None)
    if row is None:
        return None
    found: type[Any] = getattr(import_module(f"judgeloop.providers.{row.name}"), row.chat)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """The options of a chat model.

    - `environment`: the environment variables. They include API keys, so they are never printed.
    - `base_url`: the address of the model's server. It may contain a password, so it is not in the
      repr.
    - `server`: the name of this server, "" if its address identifies it.
    - `price`: the user's price as typed, or the path of a file of prices (`prices.own_price`).
    - `timeout_s`: time limit of a request, in seconds.
    - `max_output_tokens`: maximum number of tokens of a reply; None for `ANSWER_TOKENS`, and the
      thinking tokens of a model that thinks (`token_limit.py`).
    - `effort`: how hard the model is asked to think; None to leave it to the model.
    - `verdict`: the form of the reply (`ProviderRow.forms`).
    - `tier`: the service tier to ask for (`TIERS`).
    - `offline`: True if no call will be made, so that no key is needed.
    """

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_url: str | None = field(default=None, repr=False)
    server: str = ""
    price: str | None = None
    timeout_s: float = 120.0
    max_output_tokens: int | None = None
    effort: str | None = None
    verdict: str = "schema"
    tier: str = "standard"
    offline: bool = False

    @property
    def answer_tokens(self) -> int:
        """The maximum number of tokens of a reply, without thinking tokens."""
        return ANSWER_TOKENS if self.max_output_tokens is None else self.max_output_tokens
