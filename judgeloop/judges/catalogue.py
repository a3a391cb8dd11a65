"""A judge from its name as typed.

One entry a form; parts that need files or keys get them here, at the edge, so that the judges themselves take plain values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from judgeloop.core.errors import InputError
from judgeloop.core.money import Price
from judgeloop.core.protocols import Judge
from judgeloop.formats.prices import read_price
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.judges import anthropic, openai
from judgeloop.judges.anthropic import AnthropicJudge
from judgeloop.judges.credentials import Provider, endpoint_for, is_official
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.metric import MetricJudge
from judgeloop.judges.openai import OpenAIJudge
from judgeloop.judges.plugin import load_plugin
from judgeloop.judges.prices import FREE, price_from_text, published_price
from judgeloop.judges.prompt import Template
from judgeloop.judges.replay import ReplayJudge
from judgeloop.judges.vllm import VllmJudge
from judgeloop.judges.wire import Endpoint

FORMS = (
    "openai/MODEL, anthropic/MODEL, vllm/NAME, metric:rouge1|rouge2|rougeL|exact|token-f1, replay:FILE, human, "
    "python:MODULE:FUNCTION"
)
PROVIDERS = {
    "openai": Provider("openai", openai.OFFICIAL_URL, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": Provider(
        "anthropic", anthropic.OFFICIAL_URL, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
    ),
    "vllm": Provider("vllm", None),
}


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Everything about a judge beside its name; `environment` holds keys and is never printed."""

    template: Template
    environment: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(default=None, repr=False)
    price: str | None = None
    prices: Path | None = None
    tie_margin: float = 0.0
    timeout_s: float = 120.0
    max_output_tokens: int = 512
    verdict: Literal["schema", "choice", "tool", "logprob"] = "schema"
    allow_plugins: bool = False
    offline: bool = False  # nobody will be asked, so that no key is needed


def judge_from_spec(spec: str, options: JudgeOptions) -> Judge:
    """The judge that `spec` names.

    Raises:
        InputError: nothing is called so, or something it needs is missing.
    """
    price = price_from_text(options.price) if options.price is not None else None
    if spec == "human":
        return HumanJudge()
    kind, separator, rest = _split(spec)
    if not rest and separator:
        raise InputError(f"--judge {spec}: something is missing behind it; known: {FORMS}")
    if kind == "replay":
        return ReplayJudge(read_verdicts(Path(rest)), tie_margin=options.tie_margin)
    if kind == "metric":
        return MetricJudge(rest, tie_margin=options.tie_margin)
    if kind == "python":
        return load_plugin(rest, allowed=options.allow_plugins)
    if kind in PROVIDERS and separator:
        return _model_judge(PROVIDERS[kind], rest, price, options)
    raise InputError(f"--judge {spec}: there is no such judge; known: {FORMS}")


def _split(spec: str) -> tuple[str, str, str]:
    """`openai/a/b` to openai and a/b; `replay:a/b` to replay and a/b; `openai:m` is taken for `openai/m`."""
    at = min((spec.index(mark) for mark in ":/" if mark in spec), default=len(spec))
    return spec[:at], spec[at : at + 1], spec[at + 1 :]


def _model_judge(
    provider: Provider, model: str, price: Price | None, options: JudgeOptions
) -> Judge:
    endpoint = endpoint_for(
        provider,
        options.environment,
        base_url=options.base_url,
        timeout_s=options.timeout_s,
        offline=options.offline,
    )
    price = price or _price(provider, model, endpoint, options)
    if provider.name == "anthropic":
        if options.verdict in {"logprob", "choice"}:
            raise InputError(
                f"--verdict {options.verdict}: Anthropic's API has no such thing; use schema or tool"
            )
        return AnthropicJudge(
            model,
            endpoint=endpoint,
            template=options.template,
            price=price,
            max_output_tokens=options.max_output_tokens,
            by="tool" if options.verdict == "tool" else "schema",
        )
    if options.verdict == "tool":
        raise InputError(
            f"--verdict tool is for anthropic/MODEL; for {provider.name} use schema or logprob"
        )
    if options.verdict == "choice" and provider.name != "vllm":
        raise InputError(
            f"--verdict choice is for vllm/NAME; for {provider.name} use schema or logprob"
        )
    judge = OpenAIJudge(
        model,
        endpoint=endpoint,
        template=options.template,
        price=price,
        max_output_tokens=options.max_output_tokens,
        by=options.verdict,
        dialect=openai.VLLM if provider.name == "vllm" else None,
    )
    return VllmJudge(judge, model=model, endpoint=endpoint) if provider.name == "vllm" else judge


def _price(
    provider: Provider, model: str, endpoint: Endpoint, options: JudgeOptions
) -> Price | None:
    own = read_price(f"{provider.name}/{model}", options.prices) if options.prices else None
    if own is not None:
        return own
    if provider.name == "vllm":
        return FREE
    if is_official(provider, endpoint.base_url):
        return published_price(model, provider=provider.name)
    return published_price(model, base_url=endpoint.base_url)
