"""What the statuses and error codes of all providers mean. Pure.

They are listed here together, because servers that imitate a provider mix them. `failures.py` reads
the errors, and `wire.py` makes judge errors and abstentions of them.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from judgeloop.providers.failures import Failure

NO_CREDIT = {
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_error",
    "enforced_spend_limit_reached",
    "budget_exceeded",
}
BAD_KEY = {"API_KEY_INVALID"}
# Codes of errors that concern one item only, with the reason for the abstention.
ABOUT_THIS_ITEM = {
    "context_length_exceeded": "too long for the judge",
    "string_above_max_length": "too long for the judge",
    "request_too_large": "too long for the judge",
    "content_filter": "refused by the provider's filter",
    "content_policy_violation": "refused by the provider's filter",
    "invalid_prompt": "refused by the provider's filter",
    "ResponsibleAIPolicyViolation": "refused by the provider's filter",
}
# Codes of errors that concern every request with the same settings.
ABOUT_EVERY_REQUEST = {
    "invalid_model",
    "model_not_found",
    "unknown_parameter",
    "unsupported_parameter",
    "unsupported_value",
}
# Fields of a request that are the same in every request of a judge.
OF_EVERY_REQUEST = {
    "logprobs", "max_completion_tokens", "max_tokens", "model", "reasoning_effort",
    "response_format", "service_tier", "structured_outputs", "temperature", "top_logprobs",
}  # fmt: skip
# Statuses of requests that a server understands and refuses, because of the item or the settings.
_REFUSED = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
# Statuses with which a firewall refuses a text, with a page, or nothing, in place of an error.
_OF_FIREWALLS = {
    HTTPStatus.FORBIDDEN, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.IM_A_TEAPOT,
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
}  # fmt: skip
TOO_LONG = ABOUT_THIS_ITEM["request_too_large"]
FILTERED = ABOUT_THIS_ITEM["content_filter"]
# Some servers report an error in the message only, without a specific code: for length Anthropic,
# vLLM, Amazon, Google, Ollama, llama.cpp and LiteLLM; for filters and unsupported parameters
# LiteLLM. OpenAI reports a request over the limit of tokens a minute as a rate limit, which no
# waiting mends.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|max_model_len|request too large|input is too long|"
    r"input token count .* exceeds|exceeds the (?:available )?context|ContextWindowExceeded",
    re.IGNORECASE,
)
# What a server says that has no capacity at the tier flex: OpenAI with 429, Groq with 498.
_SCARCE = re.compile(r"resource[ _-]?unavailable", re.IGNORECASE)
NO_CAPACITY = 498
_FILTERED = re.compile(r"ContentPolicyViolationError")
_UNSUPPORTED = re.compile(r"UnsupportedParamsError")
_MAY_BE_TOO_LONG = {HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS}
# Statuses with which a server turns a request away before a model reads it.
UNREAD = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.TOO_MANY_REQUESTS}
# Statuses of a late error for which no model can have been paid.
NOT_ASKED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED}


def about_this_item(failure: Failure, codes: list[str]) -> str | None:
    """Return the reason for an abstention if a failure concerns one item only, else None."""
    too_long = failure.status in _MAY_BE_TOO_LONG and _TOO_LONG.search(failure.message)
    if too_long or failure.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return TOO_LONG
    refused = failure.status in _REFUSED and _FILTERED.search(failure.message)
    if refused or (failure.status == HTTPStatus.FORBIDDEN and failure.is_moderated):
        return FILTERED
    return next((ABOUT_THIS_ITEM[code] for code in codes if code in ABOUT_THIS_ITEM), None)


def is_of_firewall(failure: Failure) -> bool:
    """Return whether a page, and no error of an API, says that a request is not let through."""
    return failure.status in _OF_FIREWALLS and not failure.error


def is_scarce(failure: Failure, codes: list[str]) -> bool:
    """Return whether a crowded server says that it has no capacity at the tier asked for."""
    return any(_SCARCE.search(text) for text in (*codes, failure.message))


def concerns_every_request(failure: Failure, codes: list[str]) -> bool:
    """Return whether every request with the same settings would be refused, whatever its item."""
    return (
        failure.status not in _REFUSED
        or bool(ABOUT_EVERY_REQUEST & set(codes))
        or failure.parameter.split(".")[0] in OF_EVERY_REQUEST
        or _UNSUPPORTED.search(failure.message) is not None
    )
