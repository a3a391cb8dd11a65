"""Tells which judges are asked at their provider's own host, and which model was probably meant.

Only there are the names of models known. Nothing is asked and nothing is downloaded.
"""

from __future__ import annotations

from dataclasses import replace

from judgeloop.core.errors import nearest_to
from judgeloop.core.records import JudgeIdentity
from judgeloop.judges import anthropic, openai
from judgeloop.providers.credentials import is_official
from judgeloop.providers.prices import published_price

PROVIDERS = {provider.name: provider for provider in (openai.PROVIDER, anthropic.PROVIDER)}


def is_at_provider(judge: JudgeIdentity) -> bool:
    """Return whether a judge is asked at its provider's own host."""
    provider = PROVIDERS.get(judge.provider)
    return provider is not None and is_official(provider, judge.parameters.get("endpoint", ""))


def likely_model(judge: JudgeIdentity) -> str:
    """Return the model with a published price that was probably meant, as a part of a message.

    Empty if none has a similar name, or if the judge is not asked at its provider's own host.
    """
    from genai_prices import data_snapshot

    if not is_at_provider(judge):
        return ""
    providers = data_snapshot.get_snapshot().providers
    tables = [provider.models for provider in providers if provider.id == judge.provider]
    nearest = nearest_to(judge.model, [model.id for models in tables for model in models])
    if nearest is None or published_price(nearest, provider=judge.provider) is None:
        return ""
    return f" (did you mean {replace(judge, model=nearest).name}?)"
