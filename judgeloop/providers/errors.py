"""How an attempt ended that brought no reply: what happens next, and whether it may be billed. Pure.

Takes an SDK's error, or a reply of status 200 that holds an error in place of an answer. A `Failure` reads it, as JSON
has it in many forms: those of OpenAI, Anthropic, Azure, Amazon Bedrock, Google (a list of one object), OpenRouter (the
error of the provider behind it in `metadata`), LiteLLM (the status as the code), Ollama, vLLM, and TypeSafe (`detail`,
an object, or the list of what a check of the request found). The outcome is a
`JudgeError`, whose kind, bill, wait and text are all that `engine/attempts.py` looks at. The codes of all providers
are listed together, because servers that imitate a provider mix them. Fields of the error decide. Its message is
searched only where no field says anything, because it may quote the texts to judge.
"""

import email.utils
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Self

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.providers.endpoint import NO_KEY, Endpoint

TOO_LONG = "too long for the model"
TOO_MANY_TOKENS = "max_tokens_exceeded"  # of TypeSafe, without a message: the texts were counted, and not read
FILTERED = "refused by the provider's filter"
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
OF_ITEM = {
    "context_length_exceeded": TOO_LONG,
    TOO_MANY_TOKENS: TOO_LONG,
    "string_above_max_length": TOO_LONG,
    "request_too_large": TOO_LONG,
    "content_filter": FILTERED,
    "content_policy_violation": FILTERED,
    "invalid_prompt": FILTERED,
    "ResponsibleAIPolicyViolation": FILTERED,
}
# Codes of errors that concern every request with the same settings.
OF_SETTINGS = {"invalid_model", "model_not_found", "unknown_parameter", "unsupported_parameter", "unsupported_value"}
# Fields of a request that are the same in every request of a judge.
SETTINGS = {
    "logprobs", "max_completion_tokens", "max_tokens", "model", "reasoning_effort",
    "response_format", "service_tier", "structured_outputs", "temperature", "top_logprobs",
}  # fmt: skip
SLASHES = 2  # in an address without a path
NO_CAPACITY = 498  # Groq's status for a tier without capacity
OVERLOADED = 529  # Anthropic's status for overload
# Statuses of requests that a server understands and refuses, because of the item or the settings.
_REFUSED = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
_BAD_KEY = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_CROWDED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.PAYMENT_REQUIRED, NO_CAPACITY}
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
_MAY_BE_TOO_LONG = {HTTPStatus.BAD_REQUEST, HTTPStatus.TOO_MANY_REQUESTS}
# Statuses with which a firewall refuses a text, with a page, or nothing, in place of an error.
_OF_FIREWALLS = {
    HTTPStatus.FORBIDDEN, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.IM_A_TEAPOT,
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
}  # fmt: skip
# Statuses with which a server turns a request away before a model reads it.
_UNREAD = {
    HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE, HTTPStatus.TOO_MANY_REQUESTS,
}  # fmt: skip
# Statuses of a late error for which no model can have been paid.
_NOT_ASKED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED}
# Errors of the HTTP client after which the request was certainly not sent, so not billed.
_NEVER_SENT = {"PoolTimeout"}
_NOT_REACHED = {"ConnectError", "ConnectTimeout"}
_TOO_LARGE = "ReplyTooLargeError"  # of `http.py`
# Some servers say only in the message that a request is too long: Anthropic, vLLM, Amazon, Google,
# Ollama, llama.cpp and LiteLLM. OpenAI reports a request over the limit of tokens a minute as a
# rate limit, which no waiting mends.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|max_model_len|request too large|input is too long|"
    r"input token count .* exceeds|exceeds the (?:available )?context|ContextWindowExceeded",
    re.IGNORECASE,
)
# What vLLM says of a limit of tokens above its own, whatever the length of the texts.
_LIMIT_ABOVE = re.compile(r"cannot be greater than max_model_len")
# LiteLLM's messages begin with the name of the error.
_FILTERED = re.compile(r"(litellm\.)?ContentPolicyViolationError")
_UNSUPPORTED = re.compile(r"(litellm\.)?UnsupportedParamsError")
# What OpenAI says with status 429 of a tier without capacity.
_SCARCE = re.compile(r"resource[ _-]?unavailable", re.IGNORECASE)
# What OpenAI and Azure say with HTTP 400, in place of a truncated reply, if a model has used up its
# limit while it was thinking.
_RAN_OUT = re.compile(r"max_tokens or model output limit was reached", re.IGNORECASE)
# The status of an error within a reply that names none: of a failure behind the server.
UNKNOWN = int(HTTPStatus.BAD_GATEWAY)
# Google's wait, such as 3.5s.
_GOOGLES_WAIT = re.compile(r"(\d+(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a server.

    - `status`: the HTTP status, or the one that a reply of status 200 names in its error.
    - `error`: the object that describes the error; empty if there is none.
    - `headers`: the reply's headers. `text`: its body.
    - `late`: True if the error is within a reply of status 200, and a model was already asked.
    """

    status: int
    error: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    late: bool = False

    @classmethod
    def of(cls, error: Any) -> Self:
        """Read an SDK's error with a status."""
        said = error.response
        text = said.content.decode("utf-8", "replace")
        return cls(error.status_code, _error_in(error.body), said.headers, text)

    @classmethod
    def within(cls, body: Any) -> Self | None:
        """Read the error in the body of a reply of status 200; None if there is none."""
        first = _fields(_first(body))
        held = first.get("error") and not first.get("choices")
        choice = _fields(_first(_fields(body).get("choices")))
        found = _error_in(body) if held else _fields(choice.get("error"))
        if not found:
            return None
        code = found.get("code")
        status = code if isinstance(code, int) and code in set(HTTPStatus) else UNKNOWN
        return cls(status, found, late=True)

    @property
    def title(self) -> str:
        """What happened, in a few words."""
        if not self.late:
            return f"HTTP {self.status}"
        code = "" if self.status == UNKNOWN else f" with the code {self.status}"
        return f"an error in the reply{code}"

    @property
    def codes(self) -> list[str]:
        """The error's codes, the most telling first; numbers that repeat the status are left out.

        OpenAI uses the fields `code` and `type`, Google `status` and `details`, Anthropic `type`
        and `details`, Azure `innererror`, LiteLLM "None" for none.
        """
        details = self.error.get("details")
        parts = [_fields(part) for part in (details if isinstance(details, list) else [details])]
        found = [
            *(self.error.get(name) for name in ("code", "status", "type", "error_type")),
            *(part.get(name) for name in ("error_code", "reason") for part in parts),
            _fields(self.error.get("innererror")).get("code"),
        ]
        return [code for code in found if isinstance(code, str) and not code.isdecimal() and code not in {"", "None"}]

    @property
    def message(self) -> str:
        """The server's words, with those of the provider behind a gateway; the request is not repeated."""
        said = next((self.error[name] for name in ("message", "Message", "detail") if self.error.get(name)), self.text)
        if isinstance(said, list):  # each part may quote the texts to judge as its input
            said = "; ".join(f"{_path(part.get('loc'))}: {part.get('msg')}" for part in map(_fields, said))
        raw = self._metadata.get("raw")
        return f"{said} ({raw})" if isinstance(raw, str) and raw else str(said)

    @property
    def parameter(self) -> str:
        """The field of the request that is refused; empty if none is named."""
        found = self.error.get("param")
        return found if isinstance(found, str) else ""

    @property
    def is_moderated(self) -> bool:
        """Whether a gateway's moderation flagged the texts, which OpenRouter says with a 403."""
        return "reasons" in self._metadata or "flagged_input" in self._metadata

    @property
    def wait_s(self) -> float | None:
        """The wait in seconds that the headers ask for, or the error; None if neither does."""
        details = self.error.get("details")
        listed = details if isinstance(details, list) else []
        waits = [retry_after_s(self.headers), *map(_googles_wait_s, listed)]
        return next((wait for wait in waits if wait is not None), None)

    @property
    def _metadata(self) -> Mapping[str, Any]:
        return _fields(self.error.get("metadata"))


def _fields(value: Any) -> Mapping[str, Any]:
    """An object of JSON; empty if the value is no object."""
    return value if isinstance(value, Mapping) else {}


def _first(value: Any) -> Any:
    """The first of a list, and any other value as it is; None for an empty list."""
    return next(iter(value), None) if isinstance(value, list) else value


def _error_in(body: Any) -> Mapping[str, Any]:
    """The object that describes an error in a body, or in a list of one body."""
    body = _fields(_first(body))
    inner = body.get("error")
    if isinstance(inner, str):
        return {"message": inner}
    found = inner if isinstance(inner, Mapping) else body
    detail = found.get("detail")
    return detail if isinstance(detail, Mapping) else found


def _path(loc: Any) -> str:
    """The field of a request that a check refuses, as a dotted path."""
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc)


def _googles_wait_s(detail: Any) -> float | None:
    delay = _fields(detail).get("retryDelay")
    found = _GOOGLES_WAIT.fullmatch(delay) if isinstance(delay, str) else None
    seconds = float(found[1]) if found else math.inf
    return seconds if math.isfinite(seconds) else None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds that `headers` ask for; None if absent or invalid."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _seconds(headers.get(name) or "", unit_s)) is not None:
            return seconds
    return None


def _seconds(text: str, unit_s: float) -> float | None:
    try:
        seconds = float(text) * unit_s
    except ValueError:
        try:
            when = email.utils.parsedate_to_datetime(text)
        except (ValueError, OverflowError, TypeError):
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _waiting(seconds: float) -> str:
    """A time that a server asks to wait, for people.

    >>> [_waiting(seconds) for seconds in (0.25, 7, 90, 5400, 1_382_400)]
    ['0.25 s', '7 s', '90 s', '90 minutes', '16 days']
    """
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.3g} {unit}"
    return f"{seconds:g} s"


def ending(error: Any, endpoint: Endpoint) -> JudgeError:
    """How an attempt ended, by the error of an SDK.

    The SDK's error is not kept as the cause, because its body may contain the key.
    """
    if hasattr(error, "status_code"):
        return ending_of(Failure.of(error), endpoint)
    if error.__cause__ is None:
        return unreadable(endpoint)
    cause = type(error.__cause__).__name__
    if cause in _NOT_REACHED:
        return unreachable(endpoint)
    if cause == _TOO_LARGE:
        why = f"no usable reply from {endpoint.origin}: {error.__cause__}"
        return JudgeError(ErrorKind.RETRY, why, billed=True)
    return JudgeError(ErrorKind.RETRY, f"no reply from {endpoint.origin} ({cause})", billed=cause not in _NEVER_SENT)


def ending_of(failure: Failure, endpoint: Endpoint) -> JudgeError:
    """How an attempt ended, by the error that a server sent.

    What concerns one item only is charged at the worst case, unless the host is known not to bill
    such a refusal.
    """
    codes = [endpoint.clean(code) for code in failure.codes]
    reason = _reason_of_item(failure, codes)
    if reason is not None:
        too_long = reason == TOO_LONG
        known = endpoint.length_is_free if too_long else endpoint.filter_is_free
        billed = failure.late or not (known or failure.status in _UNREAD or TOO_MANY_TOKENS in codes)
        return JudgeError(ErrorKind.ITEM, reason, billed=billed, too_long=too_long)
    found = _of_every_item(failure, codes, endpoint)
    if failure.status in _OF_FIREWALLS and not failure.error:
        # A firewall looks for attacks, such as SQL or paths of files, in every text: also in
        # replies, which are then paid for. A provider's own host turns requests away.
        return JudgeError(ErrorKind.BLOCKED, str(found), billed=not endpoint.length_is_free)
    return found


def unreachable(endpoint: Endpoint) -> JudgeError:
    """How an attempt ended that found no server: nothing was sent."""
    return JudgeError(
        ErrorKind.UNREACHABLE, f"nothing answers at {endpoint.origin}: is the server running?", billed=False
    )


def unreadable(endpoint: Endpoint) -> JudgeError:
    """How an attempt ended whose reply cannot be read."""
    return JudgeError(ErrorKind.RETRY, f"no usable reply from {endpoint.origin}", billed=True)


def changed(endpoint: Endpoint) -> JudgeError:
    """The error after which the judge asks in another form, that the server accepts."""
    return JudgeError(
        ErrorKind.CHANGED,
        f"{endpoint.origin} refused the form of the request; it is sent again in another",
        billed=False,
    )


def ran_out(failure: Failure) -> bool:
    """Whether a server says that the reply reached its limit of tokens."""
    return not _says_why(failure.codes) and _RAN_OUT.search(failure.message) is not None


def _says_why(codes: list[str]) -> bool:
    return any(code in OF_ITEM or code in OF_SETTINGS or code in NO_CREDIT for code in codes)


def _reason_of_item(failure: Failure, codes: list[str]) -> str | None:
    """The reason for an abstention if a failure concerns one item only, else None."""
    status = failure.status
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return TOO_LONG
    if status == HTTPStatus.FORBIDDEN and failure.is_moderated:
        return FILTERED
    if _says_why(codes):
        return next((OF_ITEM[code] for code in codes if code in OF_ITEM), None)
    if status in _REFUSED and _FILTERED.match(failure.message):
        return FILTERED
    if _is_of_settings(failure, codes) and _LIMIT_ABOVE.search(failure.message):
        return None
    return TOO_LONG if status in _MAY_BE_TOO_LONG and _TOO_LONG.search(failure.message) else None


def _of_every_item(failure: Failure, codes: list[str], endpoint: Endpoint) -> JudgeError:
    """The ending of a failure that no field ascribes to its item."""
    status, wait_s = failure.status, failure.wait_s
    what = failure.title + (f", {codes[0]}" if codes else "")
    if wait_s is not None:
        what += f", asks to wait {_waiting(wait_s)}"
    # With 401, servers quote a part of the key.
    quoted = endpoint.quoted(failure.message, in_part=status == HTTPStatus.UNAUTHORIZED)
    said = f'; the server says: "{quoted}"' if quoted else ""
    late = failure.late and status not in _NOT_ASKED  # a model may have been paid
    # OpenRouter counts the calls in flight against the credit, and says when to come back.
    unpaid = status == HTTPStatus.PAYMENT_REQUIRED and wait_s is None
    if NO_CREDIT & set(codes) or unpaid:
        text = f"{what}: the account has no credit left{said}"
        return JudgeError(ErrorKind.REJECTED, text, billed=False)
    if BAD_KEY & set(codes) or status in _BAD_KEY:
        kept_back = f" ({endpoint.kept_back})" if endpoint.kept_back else ""
        wrong = "no key was sent" if endpoint.api_key == NO_KEY else "the key is not accepted for this request"
        text = f"{what}: {wrong}; check {endpoint.names.key}{kept_back}{said}"
        return JudgeError(ErrorKind.REJECTED, text, billed=late)
    if status in _CROWDED:
        scarce = any(_SCARCE.search(text) for text in (*codes, failure.message))
        kind = ErrorKind.SCARCE if scarce or status == NO_CAPACITY else ErrorKind.CROWDED
        return JudgeError(kind, what + said, billed=late, wait_s=wait_s)
    turned_away = ""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        turned_away = "the server redirects; give the URL that it redirects to"
    elif status == HTTPStatus.NOT_IMPLEMENTED and not failure.late:  # vLLM, of decisions by most models
        turned_away = f"the server or its model cannot do what is asked{said}"
    if turned_away:
        return JudgeError(ErrorKind.REJECTED, f"{what}: {turned_away}", billed=False)
    if status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        kind = ErrorKind.CROWDED if status == OVERLOADED else ErrorKind.RETRY
        return JudgeError(kind, what + said, billed=True, wait_s=wait_s)
    text = f"{what}: {quoted or 'the request is not accepted'}"
    if status == HTTPStatus.NOT_FOUND:
        lacks_path = not endpoint.own and endpoint.origin.count("/") == SLASHES
        hint = "; the address has no path, and most servers want one, such as /v1"
        text += f" ({endpoint.origin} has no such address or model{hint if lacks_path else ''})"
    of_settings = _is_of_settings(failure, codes)
    # A refusal for an unknown reason may be a filter's, which may bill it.
    free = of_settings or status in _UNREAD or endpoint.filter_is_free
    kind = ErrorKind.REJECTED if of_settings or status not in _REFUSED else ErrorKind.REFUSED
    return JudgeError(kind, text, billed=late or not free)


def _is_of_settings(failure: Failure, codes: list[str]) -> bool:
    """Whether every request with the same settings would be refused."""
    return (
        bool(OF_SETTINGS & set(codes))
        or failure.parameter.split(".")[0] in SETTINGS
        or _UNSUPPORTED.match(failure.message) is not None
    )
