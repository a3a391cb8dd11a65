"""Reads the errors of servers, whose JSON has many forms: status, codes, message, wait. Pure.

Takes an SDK's error, or a reply of status 200 that holds an error in place of an answer. Returns a
`Failure`, and decides nothing: `ending.py` says what a failure means. The forms are those of OpenAI,
Anthropic, Azure, Amazon Bedrock, Google (a list of one object), OpenRouter (the error of the
provider behind it in `metadata`), LiteLLM (the status as the code), Ollama and vLLM.
"""

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
            *(self.error.get(name) for name in ("code", "status", "type")),
            *(part.get(name) for name in ("error_code", "reason") for part in parts),
            _fields(self.error.get("innererror")).get("code"),
        ]
        return [code for code in found if isinstance(code, str) and not code.isdecimal() and code not in {"", "None"}]

    @property
    def message(self) -> str:
        """The server's words, with those of the provider behind a gateway."""
        said = next((self.error[name] for name in ("message", "Message", "detail") if self.error.get(name)), self.text)
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
    """Return an object of JSON; empty if the value is no object."""
    return value if isinstance(value, Mapping) else {}


def _first(value: Any) -> Any:
    """Return the first of a list, and any other value as it is; None for an empty list."""
    return next(iter(value), None) if isinstance(value, list) else value


def _error_in(body: Any) -> Mapping[str, Any]:
    """Return the object that describes an error in a body, or in a list of one body."""
    body = _fields(_first(body))
    inner = body.get("error")
    if isinstance(inner, str):
        return {"message": inner}
    return inner if isinstance(inner, Mapping) else body


def _googles_wait_s(detail: Any) -> float | None:
    delay = _fields(detail).get("retryDelay")
    found = _GOOGLES_WAIT.fullmatch(delay) if isinstance(delay, str) else None
    seconds = float(found[1]) if found else math.inf
    return seconds if math.isfinite(seconds) else None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that `headers` ask for; None if absent or invalid."""
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
