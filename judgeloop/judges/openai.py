"""Judge through the Chat Completions API of OpenAI, or of any server that speaks it.

One call of `judge` is one HTTP request: the SDK's retries are off, redirects are not followed. Sampling parameters are
not sent, because newer models refuse them. Retrying, prices and both orders are not done here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final
from urllib.parse import urlsplit

from pydantic import ValidationError

from judgeloop.errors import JudgeError, JudgeRejectedError, TransientJudgeError
from judgeloop.judges.chat_completions import ChatCompletion, Choice
from judgeloop.judges.parsing import PARSER_VERSION, parse_verdict
from judgeloop.judges.prompting import Template
from judgeloop.judges.retrying import retry_after_s
from judgeloop.keys import digest
from judgeloop.money import Price, cost, worst_cost
from judgeloop.records import Abstention, Answer, Call, JudgeIdentity, Quote, Reply, Usage

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

OFFICIAL_URL = "https://api.openai.com/v1"
# A byte-level tokenizer makes at most one token of a byte; the rest covers what a provider adds around the messages.
TOKENS_AROUND_A_MESSAGE = 64
TOKENS_HIDDEN = 2048
LIKELY_BYTES_PER_TOKEN = 4
LIKELY_OUTPUT_TOKENS = 60

NO_CREDIT = {
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
}
ABOUT_THIS_ITEM = {
    "context_length_exceeded": "too long for the judge",
    "string_above_max_length": "too long for the judge",
    "content_filter": "refused by the provider's filter",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send requests, with which key, and for how long to wait (seconds)."""

    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float

    @property
    def official(self) -> bool:
        """Whether this is OpenAI itself, and not another server that speaks its API."""
        return urlsplit(self.base_url).hostname == urlsplit(OFFICIAL_URL).hostname

    @property
    def origin(self) -> str:
        """Scheme, host and path: never a user name or a password."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2].lower()
        return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


@final
class OpenAIJudge:
    """A chat model asked for a verdict in a strict JSON schema."""

    order_matters = True
    blind = True

    def __init__(
        self,
        model: str,
        *,
        endpoint: Endpoint,
        template: Template,
        price: Price | None,
        max_output_tokens: int = 512,
    ) -> None:
        """No request is made, and the SDK is not imported, before the first call of `judge`."""
        self._model = model
        self._endpoint = endpoint
        self._template = template
        self._price = price
        self._max_output_tokens = max_output_tokens
        self._client: AsyncOpenAI | None = None
        self._schema_bytes = len(json.dumps(template.schema))

    @property
    def identity(self) -> JudgeIdentity:
        """The model with everything else that can change a verdict."""
        return JudgeIdentity(
            provider="openai",
            model=self._model,
            parameters={
                "endpoint": self._endpoint.origin,
                "prompt": self._template.digest,
                "schema": digest(self._template.schema),
                "parser": str(PARSER_VERSION),
                "max_output_tokens": str(self._max_output_tokens),
            },
        )

    @property
    def priced(self) -> bool:
        """Whether a price is known."""
        return self._price is not None

    def quote(self, call: Call) -> Quote:
        """Every byte of input a token, and as many tokens out as are allowed."""
        if self._price is None:
            return Quote(0, 0)
        messages = self._template.render(call)
        size = sum(len(message.encode()) for message in messages)
        most = Usage(
            input_tokens=size + len(messages) * TOKENS_AROUND_A_MESSAGE + self._schema_bytes + TOKENS_HIDDEN,
            output_tokens=self._max_output_tokens,
        )
        likely = Usage(size // LIKELY_BYTES_PER_TOKEN, LIKELY_OUTPUT_TOKENS)
        return Quote(worst_cost(most, self._price), cost(likely, self._price))

    async def judge(self, call: Call) -> Reply:
        """Send one request and read the verdict out of the reply."""
        import openai

        request = self._request(call)
        try:
            # Raw, because the SDK passes on whatever comes with a status of 200.
            raw = await self._connected().chat.completions.with_raw_response.create(**request)
        except openai.APIError as error:
            return _answer_or_raise(error, self._endpoint.origin)
        try:
            completion = ChatCompletion.model_validate_json(raw.content)
        except ValidationError:
            raise TransientJudgeError("the reply is no chat completion", billed=True) from None
        return self._read(completion, raw.headers.get("x-request-id", ""))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            import openai

            self._client = openai.AsyncOpenAI(
                api_key=self._endpoint.api_key,
                base_url=self._endpoint.base_url,
                max_retries=0,
                timeout=self._endpoint.timeout_s,
                http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
            )
        return self._client

    def _request(self, call: Call) -> dict[str, Any]:
        system, user = self._template.render(call)
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "verdict",
                    "strict": True,
                    "schema": dict(self._template.schema),
                },
            },
        }
        if self._endpoint.official:
            # The tier is pinned, because a project's default may be a dearer one.
            return request | {
                "max_completion_tokens": self._max_output_tokens,
                "service_tier": "default",
            }
        return request | {"max_tokens": self._max_output_tokens}

    def _read(self, completion: ChatCompletion, request_id: str) -> Reply:
        usage = completion.tokens()
        return Reply(
            answer=self._answer(completion.choices[0]),
            cost_p=self._actual_cost(usage),
            usage=usage,
            model=completion.model,
            request_id=request_id,
        )

    def _answer(self, choice: Choice) -> Answer:
        if choice.message.refusal:
            return Abstention("refused by the judge")
        if choice.finish_reason == "length":
            return Abstention(f"truncated at {self._max_output_tokens} tokens (--judge-max-tokens)")
        if choice.finish_reason == "content_filter":
            return Abstention(ABOUT_THIS_ITEM["content_filter"])
        return parse_verdict(choice.message.content or "", self._template.labels)

    def _actual_cost(self, usage: Usage | None) -> int | None:
        if self._price is None:
            return 0
        return None if usage is None else cost(usage, self._price)


def _answer_or_raise(error: APIError, origin: str) -> Reply:
    """An abstention where the error is about this item only; else what the error means for the run."""
    code = str(error.code or "")
    if code in ABOUT_THIS_ITEM:
        return Reply(Abstention(ABOUT_THIS_ITEM[code]), cost_p=0)
    raise _judge_error(error, origin) from error


def _judge_error(error: APIError, origin: str) -> JudgeError:
    import openai

    if isinstance(error, openai.APIConnectionError):
        cause = type(error.__cause__).__name__
        never_left = cause in {"ConnectError", "ConnectTimeout", "PoolTimeout"}
        return TransientJudgeError(f"no reply from {origin} ({cause})", billed=not never_left)
    if not isinstance(error, openai.APIStatusError):
        return TransientJudgeError("the reply is no JSON", billed=True)
    return _status_error(error.status_code, str(error.code or error.type or ""), error)


def _status_error(status: int, code: str, error: Any) -> JudgeError:
    headers: Mapping[str, str] = error.response.headers
    what = f"HTTP {status}" + (f", {code}" if code else "")
    if status in {401, 403}:
        # The body is left out: it may repeat part of the key.
        return JudgeRejectedError(
            f"{what}: the key is not accepted for this (OPENAI_API_KEY; with --judge-base-url it is "
            "JUDGELOOP_JUDGE_API_KEY)",
            billed=False,
        )
    if code in NO_CREDIT or error.type in NO_CREDIT:
        return JudgeRejectedError(f"{what}: the account has no credit left", billed=False)
    if status == 429:
        return TransientJudgeError(what, billed=False, retry_after_s=retry_after_s(headers))
    if status >= 500 or status in {408, 409}:
        return TransientJudgeError(what, billed=True, retry_after_s=retry_after_s(headers))
    if 300 <= status < 400:
        return JudgeRejectedError(f"{what}: the server redirects; give the URL it names", billed=False)
    return JudgeRejectedError(f"{what}: {_body_message(error)}", billed=False)


def _body_message(error: Any) -> str:
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or "the request is not accepted")[:300]
