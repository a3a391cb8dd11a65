"""The catalogue of providers, a row each: chat models, and decision models, which only judge.

To add a provider, add its file and one row here: judges, systems, settings, help and documentation read this table.
It imports nothing heavy: a row's function imports the provider's file when a model of it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from judgeloop.core.errors import nearest_to

if TYPE_CHECKING:
    from judgeloop.core.records import JudgeIdentity
    from judgeloop.providers.chat import Chat


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider of chat models or of decision models.

    - `name`: the first part of a model's name as typed.
    - `rest`: the placeholder for the model's name in the help.
    - `chat`: returns the class that asks a model.
    - `forms`: the forms of reply that it supports.
    - `flex`: True if it may be asked for at the cheaper tier `flex`.
    - `models`: how the names of its well-known models begin, for a model named alone.
    """

    name: str
    rest: str
    chat: Callable[[], type[Chat[Any]]]
    forms: tuple[str, ...]
    flex: bool = False
    models: tuple[str, ...] = ()


def _openai() -> type[Chat[Any]]:
    from judgeloop.providers.openai import OpenAIChat

    return OpenAIChat


def _anthropic() -> type[Chat[Any]]:
    from judgeloop.providers.anthropic import AnthropicChat

    return AnthropicChat


def _vllm() -> type[Chat[Any]]:
    from judgeloop.providers.vllm import VllmChat

    return VllmChat


PROVIDERS: tuple[ProviderRow, ...] = (
    ProviderRow(
        "openai", "MODEL", _openai, ("schema", "logprob"), flex=True, models=("gpt-", "chatgpt-", "o1", "o3", "o4")
    ),
    ProviderRow("anthropic", "MODEL", _anthropic, ("schema", "tool"), models=("claude-",)),
    ProviderRow("vllm", "NAME", _vllm, ("schema", "choice", "logprob")),
)


DECISION = "decision"  # the form of reply of a model that writes no text


def _openai_decisions() -> type[Chat[Any]]:
    from judgeloop.providers.decisions import OpenAIDecisions

    return OpenAIDecisions


def _typesafe() -> type[Chat[Any]]:
    from judgeloop.providers.decisions import TypeSafe

    return TypeSafe


def _systemone() -> type[Chat[Any]]:
    from judgeloop.providers.decisions import SystemOne

    return SystemOne


DECIDERS: tuple[ProviderRow, ...] = (
    ProviderRow("openai-decisions", "MODEL", _openai_decisions, (DECISION,)),
    ProviderRow("typesafe", "MODEL", _typesafe, (DECISION,), models=("jev",)),
    ProviderRow("systemone", "NAME", _systemone, (DECISION,)),
)


def chat_class(name: str) -> type[Chat[Any]] | None:
    """The class that asks the models of a provider; None if there is no such provider."""
    return next((row.chat() for row in (*PROVIDERS, *DECIDERS) if row.name == name), None)


def likely_model(judge: JudgeIdentity) -> str:
    """The model with a published price that was probably meant, as a part of a message.

    Empty if none has a similar name, or if the judge is not asked at its provider's own host: only
    there are the names of models known.
    """
    from genai_prices import data_snapshot

    from judgeloop.providers.pricing import published_price

    chat = chat_class(judge.provider)
    if chat is None or not chat.provider.owns(judge.parameters.get("endpoint", "")):
        return ""
    providers = data_snapshot.get_snapshot().providers
    tables = [provider.models for provider in providers if provider.id == judge.provider]
    nearest = nearest_to(judge.model, [model.id for models in tables for model in models])
    if nearest is None or published_price(nearest, provider=judge.provider, decides=chat.provider.decides) is None:
        return ""
    return f" (did you mean {replace(judge, model=nearest).name}?)"
