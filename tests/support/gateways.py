"""What gateways and other servers answer, in their own forms: replies, refusals, limits, usage.

The forms are those of the services' documentation and of their users' reports, 2025 and 2026.
"""

from __future__ import annotations

import json
from typing import Any

from support.chat_server import Response

SAID = json.dumps({"reason": "because", "winner": "A"})
KEY_OF_OTHERS = "someone-else"


def answered(body: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, json.dumps(body).encode(), {k.replace("_", "-"): v for k, v in headers.items()})


def completed(content: str | None = SAID, *, usage: Any = ..., choice: Any = (), **fields: Any) -> Response:
    """A chat completion, with further fields of its choice and of the whole."""
    counts = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
    one = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return answered(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1_780_000_000,
            "model": "m",
            "choices": [one | dict(choice)],
            "usage": counts if usage is ... else usage,
        }
        | fields
    )


def failed(status: int, message: str, type_: str | None = None, code: str | None = None) -> Response:
    """An error in OpenAI's form."""
    error = {"message": message, "type": type_, "param": None, "code": code}
    return answered({"error": error}, status)


class Azure:
    """The v1 API of Azure OpenAI."""

    reply = completed(
        model="gpt-4.1-2025-04-14",
        system_fingerprint="fp_1",
        prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}],
        choice={"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}, "logprobs": None},
    )  # fmt: skip
    filtered = answered(
        {"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
                   "type": None, "param": "prompt", "code": "content_filter", "status": 400,
                   "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"violence": {"filtered": True, "severity": "high"}}}}},
        400,
    )  # fmt: skip
    crowded = answered(
        {"error": {"code": "RateLimitReached", "message": "Your requests have exceeded token rate limit. Please retry after 3 seconds."}},
        429, retry_after="3", retry_after_ms="2600", x_ratelimit_remaining_tokens="-1",
    )  # fmt: skip
    bad_key = answered(
        {"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint."}}, 401
    )  # fmt: skip
    no_deployment = answered(
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}, 404
    )  # fmt: skip
    other_limit = answered(
        {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                   "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}},
        400,
    )  # fmt: skip


class Bedrock:
    """The OpenAI-compatible endpoint of Amazon Bedrock; errors have AWS's own form."""

    reply = completed(
        f"<reasoning>The first names more.</reasoning>{SAID}", model="openai.gpt-oss-20b-1:0", service_tier="default"
    )
    crowded = answered({"message": "Too many requests, please wait before trying again."}, 429)
    no_access = answered({"Message": "You don't have access to the model with the specified model ID."}, 403)  # fmt: skip
    too_long = answered({"message": "Input is too long for requested model."}, 400)


# OpenRouter's usage, without its cost.
USAGE = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420, "is_byok": False,
             "cost_details": {"upstream_inference_cost": None}, "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
             "completion_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip


class OpenRouter:
    """OpenRouter: the cost in the usage, and errors within replies of status 200."""

    @staticmethod
    def costing(cost: Any) -> Response:
        return completed(usage=USAGE | {"cost": cost}, provider="Azure", model="openai/gpt-4.1-mini")

    @staticmethod
    def failed(code: Any, message: str = "Provider returned error", **metadata: Any) -> Response:
        """An error after the upstream provider was asked."""
        error = {"code": code, "message": message, "metadata": metadata}
        return answered({"error": error, "user_id": KEY_OF_OTHERS})

    cut_off = completed("", choice={"finish_reason": "error", "error": {"code": 502, "message": "Upstream idle timeout exceeded"}})  # fmt: skip
    no_credit = answered({"error": {"code": 402, "message": "Insufficient credits. Add more using https://openrouter.ai/settings/credits"}}, 402)  # fmt: skip
    in_flight = answered({"error": {"code": 402, "message": "Spending in flight exceeds the balance", "metadata": {"limit_source": "openrouter_in_flight_budget"}}}, 402, retry_after="2")  # fmt: skip
    moderated = answered(
        {"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged",
                   "metadata": {"reasons": ["violence"], "flagged_input": "an answer", "provider_name": "OpenAI", "model_slug": "openai/gpt-4.1"}}},
        403,
    )  # fmt: skip


def litellm(status: int, message: str, type_: str | None = "None", **headers: str) -> Response:
    """An error of a LiteLLM proxy: the status is also the code, as text."""
    return answered(
        {"error": {"message": message, "type": type_, "param": "None", "code": str(status)}}, status, **headers
    )  # fmt: skip


class LiteLLM:
    """A LiteLLM proxy in front of other providers."""

    over_budget = litellm(429, "Budget has been exceeded! Current cost: 10.51, Max budget: 10.0", "budget_exceeded")
    over_budget_before = litellm(
        400, "Budget has been exceeded! Current cost: 26.07, Max budget: 0.25", "budget_exceeded"
    )
    bad_key = litellm(401, "Authentication Error, Invalid proxy server token passed.", "auth_error")
    too_long = litellm(
        400,
        "litellm.ContextWindowExceededError: litellm.BadRequestError: BedrockException: Context Window Error - Input is too long for requested model.",
    )
    filtered = litellm(
        400, "litellm.ContentPolicyViolationError: litellm.BadRequestError: AzureException - The response was filtered"
    )
    no_schema = litellm(
        400,
        "litellm.UnsupportedParamsError: bedrock does not support parameters: ['response_format'], for model=m. To drop these, set `litellm.drop_params=True`",
    )
    other_limit = litellm(
        400,
        "litellm.BadRequestError: AzureException BadRequestError - Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.. Received Model Group=gpt-5",
    )
    crowded = litellm(429, "litellm.RateLimitError: No deployments available for selected model", "throttling_error", retry_after="5")  # fmt: skip


def google(code: int, message: str, status: str, *details: dict[str, Any]) -> Response:
    """An error of Google's OpenAI-compatible endpoints: a list of one object."""
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return answered([{"error": error}], code)


RPC = "type.googleapis.com/google.rpc."


class Google:
    """The OpenAI-compatible endpoints of Gemini and of Vertex AI."""

    reply = completed(model="gemini-2.5-flash")
    fenced = completed(f"```json\n{SAID}\n```", model="gemini-2.5-flash")
    thought_only = completed(
        None, choice={"finish_reason": "length"}, usage={"prompt_tokens": 400, "total_tokens": 900}
    )
    no_usage = completed(usage={})
    blocked = answered(
        {
            "id": "1",
            "model": "gemini-2.5-flash",
            "choices": [{"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 0, "total_tokens": 400},
        }
    )
    unsafe = completed(None, choice={"finish_reason": "SAFETY"})
    crowded = google(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "RESOURCE_EXHAUSTED",
        {"@type": f"{RPC}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]},
        {"@type": f"{RPC}RetryInfo", "retryDelay": "3.5s"},
    )
    bad_key = google(
        400,
        "API key not valid. Please pass a valid API key.",
        "INVALID_ARGUMENT",
        {"@type": f"{RPC}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"},
    )
    too_long = google(
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "INVALID_ARGUMENT",
    )
    overloaded = google(503, "The model is overloaded. Please try again later.", "UNAVAILABLE")
    expired = google(401, "Request had invalid authentication credentials. Expected OAuth 2 access token.", "UNAUTHENTICATED")  # fmt: skip


class Ollama:
    """A local Ollama."""

    reply = completed(model="qwen3:4b", system_fingerprint="fp_ollama")
    thinking = completed(f"<think>\nThe first.\n</think>\n\n{SAID}", model="qwen3:4b", system_fingerprint="fp_ollama")
    no_model = failed(404, 'model "qwen3:4b" not found', "not_found_error")
    too_long = failed(400, "the input length exceeds the context length", "invalid_request_error")
    loading = failed(503, "llm server loading model", "api_error")

    @staticmethod
    def cut(tokens: int) -> Response:
        """A reply to a prompt that was cut to this number of tokens, without a word."""
        return completed(usage={"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20})  # fmt: skip
