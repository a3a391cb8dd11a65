"""Endpoints of HTTP judges, and the translation of their errors into judge errors or abstentions.

All HTTP judges share this module. `failures.py` reads the errors, and `codes.py` says what the
codes of all providers mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Reply
from judgeloop.providers.codes import (
    BAD_KEY,
    FILTERED,
    NO_CAPACITY,
    NO_CREDIT,
    NOT_ASKED,
    TOO_LONG,
    UNREAD,
    about_this_item,
    concerns_every_request,
    is_of_firewall,
    is_scarce,
)
from judgeloop.providers.failures import Failure
from judgeloop.providers.network import NO_SETTINGS, Network
from judgeloop.providers.redaction import redact, redacted

# Hosts that are known not to bill a refusal without output, a filter's or for length. Azure bills
# both, because its service evaluates a prompt before it answers 400. OpenAI counts the tokens of a
# request before a model reads it.
REFUSES_FREE = {"api.anthropic.com"}
MEASURES_FREE = {"api.anthropic.com", "api.openai.com"}
# Errors of the HTTP client after which the request was certainly not sent, so not billed.
NEVER_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}
LONGEST_MESSAGE = 500  # characters
LONGEST_QUOTE = 300  # characters of a server's message within a sentence
OVERLOADED = 529  # Anthropic's status code for overload


NO_KEY = "none"  # placeholder for servers without a key, because the SDKs require a key


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, its API key, and the time limit of a request in seconds.

    `name` identifies the server in the keys of verdicts, in place of the address; "" for none.
    `own` is False if the address is neither the provider's nor the address in the provider's
    environment variable. Headers that the SDKs take from the provider's other variables are then
    removed (`bounded.py`). `network` holds the proxies and certificates to use.
    """

    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float
    own: bool = True
    network: Network = NO_SETTINGS
    name: str = ""

    @property
    def has_path(self) -> bool:
        """Whether the address goes on after the host."""
        return bool(urlsplit(self.base_url).path.strip("/"))

    def clean(self, text: str) -> str:
        """Return a server's text, safe to store and show: UTF-8, key masked, cut to length."""
        storable = text.encode("utf-8", "replace").decode("utf-8")
        return redact(storable, self.api_key)[:LONGEST_MESSAGE]

    def quoted(self, text: str) -> str:
        """Return a server's message for a sentence: clean, on a single line, cut if it is long."""
        storable = text.encode("utf-8", "replace").decode("utf-8")
        line = " ".join(redact(storable, self.api_key).split())
        return line if len(line) <= LONGEST_QUOTE else f"{line[:LONGEST_QUOTE]}…"

    def without_key(self, value: Any) -> Any:
        """Return a JSON value from a server with the key removed from every text in it."""
        return redacted(value, self.api_key)

    def clean_reply(self, reply: Reply) -> Reply:
        """Return `reply` with all texts from the server cleaned."""
        answer = replace(reply.answer, reason=self.clean(reply.answer.reason))
        return replace(
            reply,
            answer=answer,
            model=self.clean(reply.model),
            request_id=self.clean(reply.request_id),
            breach=self.clean(reply.breach),
        )

    def refuses_free(self, about: str) -> bool:
        """Return whether the host surely bills nothing for a refusal with the reason `about`."""
        free = MEASURES_FREE if about == TOO_LONG else REFUSES_FREE
        return urlsplit(self.base_url).hostname in free

    @property
    def identity(self) -> dict[str, str]:
        """What identifies the server in the keys of verdicts: its name, else its address.

        They have different fields, so that no name can pass for an address.
        """
        return {"server": self.name} if self.name else {"endpoint": self.origin}

    @property
    def origin(self) -> str:
        """Scheme, host and path of the address, without user name and password."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2].lower()
        return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def ending(error: Any, endpoint: Endpoint) -> JudgeError:
    """Return how an attempt ended, by the error of an SDK.

    The SDK's error is not kept as the cause, because its body may contain the key.
    """
    if hasattr(error, "status_code"):
        return ending_of(Failure.of(error), endpoint)
    if error.__cause__ is None:
        return unreadable(endpoint)
    cause = type(error.__cause__).__name__
    return JudgeError(
        ErrorKind.RETRY,
        f"no reply from {endpoint.origin} ({cause})",
        billed=cause not in NEVER_SENT,
    )


def ending_of(failure: Failure, endpoint: Endpoint) -> JudgeError:
    """Return how an attempt ended, by the error that a server sent.

    What concerns one item only is charged at the worst case, unless the host is known not to bill
    such a refusal.
    """
    codes = [endpoint.clean(code) for code in failure.codes]
    about = about_this_item(failure, codes)
    if about is not None:
        free = failure.status in UNREAD or endpoint.refuses_free(about)
        return JudgeError(ErrorKind.ITEM, about, billed=failure.late or not free)
    error = _status_error(failure, codes, endpoint)
    if is_of_firewall(failure):
        # A firewall looks for attacks, such as SQL or paths of files, in every text.
        return JudgeError(ErrorKind.BLOCKED, str(error), billed=False)
    return error


def unreadable(endpoint: Endpoint) -> JudgeError:
    """Return the error for a reply that cannot be read."""
    return JudgeError(ErrorKind.RETRY, f"no usable reply from {endpoint.origin}", billed=True)


def changed(endpoint: Endpoint) -> JudgeError:
    """Return the error after which the judge asks in another form, that the server accepts."""
    return JudgeError(
        ErrorKind.CHANGED,
        f"{endpoint.origin} refused the form of the request; it is sent again in another",
        billed=False,
    )


def too_late(endpoint: Endpoint) -> JudgeError:
    """Return the error for a reply that did not come in time."""
    return JudgeError(
        ErrorKind.RETRY,
        f"no reply from {endpoint.origin} within {endpoint.timeout_s:g} s",
        billed=True,
    )


def _status_error(failure: Failure, codes: list[str], endpoint: Endpoint) -> JudgeError:
    status, wait_s = failure.status, failure.wait_s
    what = failure.title + (f", {codes[0]}" if codes else "")
    if wait_s is not None:
        what += f", asks to wait {wait_s:g} s"
    said = _said(failure, endpoint)
    late = failure.late and status not in NOT_ASKED  # a model may have been paid
    # OpenRouter counts the calls in flight against the credit, and says when to come back.
    unpaid = status == HTTPStatus.PAYMENT_REQUIRED and wait_s is None
    if NO_CREDIT & set(codes) or unpaid:
        return JudgeError(
            ErrorKind.REJECTED, f"{what}: the account has no credit left{said}", billed=False
        )
    if BAD_KEY & set(codes) or status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        # With 401, servers quote a part of the key, which cannot be told from other text.
        said = "" if status == HTTPStatus.UNAUTHORIZED else said
        problem = (
            "no key was sent; a server set by `judge_base_url` gets the one in JUDGELOOP_JUDGE_API_KEY"
            if endpoint.api_key == NO_KEY
            else "the key is not accepted for this request (a server set by `judge_base_url` gets "
            "JUDGELOOP_JUDGE_API_KEY)"
        )
        return JudgeError(ErrorKind.REJECTED, f"{what}: {problem}{said}", billed=late)
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.PAYMENT_REQUIRED, NO_CAPACITY}:
        scarce = status == NO_CAPACITY or is_scarce(failure, codes)
        kind = ErrorKind.SCARCE if scarce else ErrorKind.CROWDED
        return JudgeError(kind, what + said, billed=late, wait_s=wait_s)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,
    }:
        kind = ErrorKind.CROWDED if status == OVERLOADED else ErrorKind.RETRY
        return JudgeError(kind, what + said, billed=True, wait_s=wait_s)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return JudgeError(
            ErrorKind.REJECTED,
            f"{what}: the server redirects; give the URL that it redirects to",
            billed=False,
        )
    quoted = endpoint.quoted(failure.message) or "the request is not accepted"
    if status == HTTPStatus.NOT_FOUND:
        quoted += f" ({endpoint.origin} has no such address or model{_lacks_path(endpoint)})"
    every = concerns_every_request(failure, codes)
    return JudgeError(
        ErrorKind.REJECTED if every else ErrorKind.REFUSED,
        f"{what}: {quoted}",
        billed=late,
        billed_if_item=not endpoint.refuses_free(FILTERED),
    )


def _lacks_path(endpoint: Endpoint) -> str:
    """Return a hint if the address of a server of one's own has no path; else empty."""
    if endpoint.own or endpoint.has_path:
        return ""
    return "; the address has no path, and most servers want one, such as /v1"


def _said(failure: Failure, endpoint: Endpoint) -> str:
    """Return the server's own message as the end of a sentence; empty if it sent none."""
    quoted = endpoint.quoted(failure.message)
    return f'; the server says: "{quoted}"' if quoted else ""
