"""Endpoints of HTTP judges, and the translation of SDK errors into judge errors or abstentions.

The official SDKs raise errors with the same attributes, so all HTTP judges share this module. The
error codes of all providers are listed here together, because servers that imitate a provider mix
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from judgeloop.core.errors import JudgeError, JudgeRejectedError, TransientJudgeError
from judgeloop.core.records import Abstention, Reply
from judgeloop.judges.retrying import retry_after_s

NO_CREDIT = {
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_error",
    "enforced_spend_limit_reached",
}
# Codes of errors that concern one item only, with the reason for the abstention.
ABOUT_THIS_ITEM = {
    "context_length_exceeded": "too long for the judge",
    "string_above_max_length": "too long for the judge",
    "request_too_large": "too long for the judge",
    "content_filter": "refused by the provider's filter",
}
# Anthropic and vLLM report this error in the message only, without a specific code.
_TOO_LONG = re.compile(r"prompt is too long|maximum context length|max_model_len", re.IGNORECASE)
# Errors of the HTTP client after which the request was certainly not sent, so not billed.
NEVER_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}
LONGEST_MESSAGE = 500  # characters
# Shorter keys, such as the placeholder "none", are not masked: they may be ordinary words.
SHORTEST_KEY = 8
MOST_ERROR_BYTES = 1024
OVERLOADED = 529  # Anthropic's status code for overload


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, its API key, and the time limit of a request in seconds.

    `own` is False if the address is neither the provider's nor the address in the provider's
    environment variable. Headers that the SDKs take from the provider's other variables are then
    removed (`bounded.py`).
    """

    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float
    own: bool = True

    def clean(self, text: str) -> str:
        """Return a server's text, safe to store and show: UTF-8, key masked, cut to length."""
        storable = text.encode("utf-8", "replace").decode("utf-8")
        if len(self.api_key) >= SHORTEST_KEY:
            storable = storable.replace(self.api_key, "[key]")
        return storable[:LONGEST_MESSAGE]

    def clean_reply(self, reply: Reply) -> Reply:
        """Return `reply` with all texts from the server cleaned."""
        answer = replace(reply.answer, reason=self.clean(reply.answer.reason))
        return replace(
            reply,
            answer=answer,
            model=self.clean(reply.model),
            request_id=self.clean(reply.request_id),
        )

    @property
    def origin(self) -> str:
        """Scheme, host and path of the address, without user name and password."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2].lower()
        return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def answer_or_raise(error: Any, endpoint: Endpoint) -> Reply:
    """Return an abstention if an SDK's error concerns one item only; otherwise raise a JudgeError.

    The SDK's error is not kept as the cause, because its body may contain the key.

    Raises:
        TransientJudgeError: another attempt may succeed.
        JudgeRejectedError: no attempt can succeed.
    """
    if hasattr(error, "status_code"):
        codes = [endpoint.clean(code) for code in _codes(error)]
        about = next((ABOUT_THIS_ITEM[code] for code in codes if code in ABOUT_THIS_ITEM), None)
        if error.status_code == HTTPStatus.BAD_REQUEST and _TOO_LONG.search(_message(error)):
            about = ABOUT_THIS_ITEM["context_length_exceeded"]
        if about is not None:
            return Reply(Abstention(about), cost_p=0)
        raise _status_error(error, codes, endpoint) from None
    cause = type(error.__cause__).__name__
    if error.__cause__ is not None:
        raise TransientJudgeError(
            f"no reply from {endpoint.origin} ({cause})", billed=cause not in NEVER_SENT
        ) from None
    raise unreadable(endpoint) from None


def unreadable(endpoint: Endpoint) -> TransientJudgeError:
    """Return the error for a reply that cannot be read."""
    return TransientJudgeError(f"no usable reply from {endpoint.origin}", billed=True)


def _codes(error: Any) -> list[str]:
    """Return all codes in an error's body.

    OpenAI uses the fields `code` and `type`, Anthropic `type` and `details`.
    """
    inner = _error_body(error)
    details = inner.get("details")
    detail = details.get("error_code") if isinstance(details, Mapping) else None
    found = [inner.get("code"), inner.get("type"), detail]
    return [code for code in found if isinstance(code, str)]


def _status_error(error: Any, codes: list[str], endpoint: Endpoint) -> JudgeError:
    status: int = error.status_code
    what = f"HTTP {status}" + (f", {codes[0]}" if codes else "")
    wait_s = retry_after_s(error.response.headers)
    if wait_s is not None:
        what += f", asks to wait {wait_s:g} s"
    if NO_CREDIT & set(codes) or status == HTTPStatus.PAYMENT_REQUIRED:
        return JudgeRejectedError(f"{what}: the account has no credit left", billed=False)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return JudgeRejectedError(
            f"{what}: the key is not accepted for this request "
            "(a server set by `judge_base_url` gets JUDGELOOP_JUDGE_API_KEY)",
            billed=False,
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return TransientJudgeError(what, billed=False, retry_after_s=wait_s, crowded=True)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
    }:
        return TransientJudgeError(
            what, billed=True, retry_after_s=wait_s, crowded=status == OVERLOADED
        )
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return JudgeRejectedError(
            f"{what}: the server redirects; give the URL that it redirects to", billed=False
        )
    return JudgeRejectedError(f"{what}: {endpoint.clean(_message(error))}", billed=False)


def _error_body(error: Any) -> Mapping[str, Any]:
    body = error.body
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    return inner if isinstance(inner, Mapping) else body


def _message(error: Any) -> str:
    body = _error_body(error)
    text = error.response.content[:MOST_ERROR_BYTES].decode("utf-8", "replace")
    return str(body.get("message") or body.get("detail") or text or "the request is not accepted")
