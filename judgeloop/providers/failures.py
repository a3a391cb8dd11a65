"""Reads the errors of servers, whose JSON has many forms: status, codes, message, wait. Pure.

Takes an SDK's error, or a reply of status 200 that holds an error in place of an answer. Returns a
`Failure`, and decides nothing: `ending.py` says what a failure means. The forms are those of OpenAI,
Anthropic, Azure, Amazon Bedrock, Google (a list of one object), OpenRouter (the error of the
provider behind it in `metadata`), LiteLLM (the status as the code), Ollama and vLLM.
"""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Self

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
        found = _error_in(body) if _holds_error(body) else _error_of_choice(body)
        if not found:
            return None
        code = found.get("code")
        status = code if isinstance(code, int) and code in set(HTTPStatus) else UNKNOWN
        return cls(status, found, late=True)

    @property
    def title(self) -> str:
        """What happened, in a few words."""
        of_reply = "an error in the reply"
        if self.late and self.status != UNKNOWN:
            of_reply += f" with the code {self.status}"
        return of_reply if self.late else f"HTTP {self.status}"

    @property
    def codes(self) -> list[str]:
        """The error's codes, the most telling first; numbers that repeat the status are left out.

        OpenAI uses the fields `code` and `type`, Google `status` and `details`, Anthropic `type`
        and `details`, Azure `innererror`, LiteLLM "None" for none.
        """
        details, inner = self.error.get("details"), self.error.get("innererror")
        parts = details if isinstance(details, list) else [details]
        found = [
            *(self.error.get(name) for name in ("code", "status", "type")),
            *(part.get("error_code") for part in parts if isinstance(part, Mapping)),
            *(part.get("reason") for part in parts if isinstance(part, Mapping)),
            inner.get("code") if isinstance(inner, Mapping) else None,
        ]
        return [
            code
            for code in found
            if isinstance(code, str) and not code.isdecimal() and code not in {"", "None"}
        ]

    @property
    def message(self) -> str:
        """The server's words, with those of the provider behind a gateway."""
        said = next(
            (self.error[name] for name in ("message", "Message", "detail") if self.error.get(name)),
            self.text or "the request is not accepted",
        )
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
        waits = [retry_after_s(self.headers), *map(_googles_wait_s, self._details)]
        return next((wait for wait in waits if wait is not None), None)

    @property
    def _metadata(self) -> Mapping[str, Any]:
        found = self.error.get("metadata")
        return found if isinstance(found, Mapping) else {}

    @property
    def _details(self) -> list[Any]:
        found = self.error.get("details")
        return found if isinstance(found, list) else []


def _error_in(body: Any) -> Mapping[str, Any]:
    """Return the object that describes an error in a body, or in a list of one body."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if isinstance(inner, str):
        return {"message": inner}
    return inner if isinstance(inner, Mapping) else body


def _holds_error(body: Any) -> bool:
    """Return whether a body has an error in place of choices."""
    first = body[0] if isinstance(body, list) and body else body
    return isinstance(first, Mapping) and bool(first.get("error")) and not first.get("choices")


def _error_of_choice(body: Any) -> Mapping[str, Any]:
    """Return the error in the first choice of a body; empty if there is none."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    found = first.get("error") if isinstance(first, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _googles_wait_s(detail: Any) -> float | None:
    delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
    found = _GOOGLES_WAIT.fullmatch(delay) if isinstance(delay, str) else None
    seconds = float(found[1]) if found else math.inf
    return seconds if math.isfinite(seconds) else None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that `headers` ask for; None if absent or invalid."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        seconds = _seconds(text, unit_s) if text else None
        if seconds is not None:
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
