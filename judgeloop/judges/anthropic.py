"""Judge through Anthropic's Messages API.

One call of `judge` is one HTTP request: the SDK's retries are off. No sampling parameters are sent, because newer models
refuse them. Retrying, prices and both orders are not done here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

from pydantic import ValidationError

from judgeloop.errors import TransientJudgeError
from judgeloop.judges.messages import Message
from judgeloop.judges.parsing import PARSER_VERSION, parse_verdict
from judgeloop.judges.pools import Clients
from judgeloop.judges.prompting import Template
from judgeloop.judges.quoting import quote
from judgeloop.judges.wire import ABOUT_THIS_ITEM, Endpoint, answer_or_raise, unreadable
from judgeloop.keys import digest
from judgeloop.money import Price, cost
from judgeloop.records import Abstention, Answer, Call, JudgeIdentity, Quote, Reply, Usage

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

OFFICIAL_URL = "https://api.anthropic.com"
TOOL = "verdict"

By = Literal["schema", "tool"]


@final
class AnthropicJudge:
    """A Claude model asked for a verdict: in a JSON schema, or as the input of a forced strict tool."""

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
        by: By = "schema",
    ) -> None:
        """No request is made, and the SDK is not imported, before the first call of `judge`."""
        self._model = model
        self._endpoint = endpoint
        self._template = template
        self._price = price
        self._max_output_tokens = max_output_tokens
        self._by = by
        self._clients = Clients(self._make_client)

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The model with everything else that can change a verdict."""
        return JudgeIdentity(
            provider="anthropic",
            model=self._model,
            parameters={
                "endpoint": self._endpoint.origin,
                "prompt": self._template.digest,
                "schema": digest(self._template.schema),
                "parser": str(PARSER_VERSION),
                "max_output_tokens": str(self._max_output_tokens),
                "by": self._by,
            },
        )

    @property
    def priced(self) -> bool:
        """Whether a price is known."""
        return self._price is not None

    def quote(self, call: Call) -> Quote:
        """Every byte of input a token, and as many tokens out as are allowed."""
        return quote(self._template, call, self._max_output_tokens, self._price)

    async def judge(self, call: Call) -> Reply:
        """Send one request and read the verdict out of the reply."""
        import anthropic
        import httpx2

        request = self._request(call)
        try:
            # Raw, by the SDK's own way to post what it need not know; see openai.py.
            with self._clients.one() as client:
                raw = await client.post("/v1/messages", cast_to=httpx2.Response, body=request)
        except anthropic.APIError as error:
            return answer_or_raise(error, self._endpoint)
        except (httpx2.HTTPError, TypeError, ValueError, LookupError):
            raise unreadable(self._endpoint) from None  # too large, torn, or in an encoding that nobody knows
        try:
            message = Message.model_validate_json(raw.content)
        except ValidationError:
            raise TransientJudgeError("the reply is no message", billed=True) from None
        usage = message.tokens()
        reply = Reply(
            answer=self._answer(message),
            cost_p=self._actual_cost(usage),
            usage=usage,
            model=message.model,
            request_id=raw.headers.get("request-id", ""),
        )
        return self._endpoint.clean_reply(reply)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    def _make_client(self) -> AsyncAnthropic:
        import anthropic

        from judgeloop.judges.bounded import hooks, tls

        return anthropic.AsyncAnthropic(
            api_key=self._endpoint.api_key,
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=self._endpoint.timeout_s,
            http_client=anthropic.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks=hooks(own=self._endpoint.own), verify=tls()
            ),
        )

    def _request(self, call: Call) -> dict[str, Any]:
        system, user = self._template.render(call)
        return {
            "model": self._model,
            "max_tokens": self._max_output_tokens,
            "system": system,
            "messages": [{"role": "user", "content": user}],
            "service_tier": "standard_only",  # a priority tier would be priced otherwise
            **self._form(),
        }

    def _form(self) -> dict[str, Any]:
        schema = dict(self._template.schema)
        if self._by == "schema":
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        tool = {"name": TOOL, "description": "Give the verdict.", "input_schema": schema, "strict": True}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}

    def _answer(self, message: Message) -> Answer:
        if message.stop_reason == "refusal":
            return Abstention("refused by the judge")
        if message.stop_reason == "model_context_window_exceeded":
            return Abstention(ABOUT_THIS_ITEM["context_length_exceeded"])
        if message.stop_reason == "max_tokens":
            return Abstention(f"truncated at {self._max_output_tokens} tokens (--judge-max-tokens)")
        return parse_verdict(message.text(), self._template.labels, self._template.answer)

    def _actual_cost(self, usage: Usage | None) -> int | None:
        if self._price is None:
            return 0
        return None if usage is None else cost(usage, self._price)
