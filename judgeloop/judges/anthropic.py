"""The judge `anthropic/MODEL`: a model behind Anthropic's Messages API.

Builds the request body and reads the verdict from the reply. `chat_model.py` sends the request,
`messages.py` checks the shape of the reply. Retries and prices are in `retrying.py` and
`prices.py`. No sampling parameters are sent, because newer models refuse them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, final

from judgeloop.core.money import Price
from judgeloop.core.records import Abstention, Answer, Call
from judgeloop.judges.chat_model import ChatModel
from judgeloop.judges.options import JudgeOptions
from judgeloop.judges.parsing import parse_verdict
from judgeloop.judges.prompt import Template
from judgeloop.providers.billing import Published, unpublished
from judgeloop.providers.codes import ABOUT_THIS_ITEM
from judgeloop.providers.credentials import Provider
from judgeloop.providers.messages import Message
from judgeloop.providers.provider import published_at, reach
from judgeloop.providers.thinking import thinking_tokens_for, thoughts_budget
from judgeloop.providers.wire import Endpoint

OFFICIAL_URL = "https://api.anthropic.com"
TOOL = "verdict"


@final
class AnthropicJudge(ChatModel[Message]):
    """A Claude model that replies with a verdict.

    `by` is the form of the reply: "schema" (JSON that follows the template's schema) or "tool" (the
    input of a strict tool that the model must call).
    """

    path = "/v1/messages"
    request_id_header = "request-id"
    reply_name = "message"
    wire = Message

    def __init__(
        self,
        model: str,
        *,
        endpoint: Endpoint,
        template: Template,
        price: Price | None,
        max_output_tokens: int = 512,
        by: str = "schema",
        published: Published = unpublished,
        lenient: bool = False,
        thinking_tokens: int = 0,
        effort: str | None = None,
    ) -> None:
        """Create the judge; see `ChatModel` for what happens before the first call."""
        super().__init__(
            model,
            provider="anthropic",
            endpoint=endpoint,
            template=template,
            price=price,
            max_output_tokens=max_output_tokens,
            by=by,
            published=published,
            lenient=lenient,
            thinking_tokens=thinking_tokens,
            effort=effort,
        )

    def _sdk(self) -> ModuleType:
        import anthropic

        return anthropic

    def _client_of(self, sdk: Any) -> Any:
        return sdk.AsyncAnthropic

    def learn_lengths(self, lengths: Sequence[int]) -> None:
        """As any chat model. But a number of thinking tokens has to stay under the limit."""
        if self._effort is None or not self._effort.isdecimal():
            super().learn_lengths(lengths)

    def _request(self, call: Call) -> dict[str, Any]:
        system, user = self._template.render(call)
        return {
            "model": self._model,
            "max_tokens": self._limit.of(call),
            "system": system,
            "messages": [{"role": "user", "content": user}],
            "service_tier": "standard_only",  # the priority tier has other prices
            **self._thoughts(),
            **self._form(),
        }

    def _thoughts(self) -> dict[str, Any]:
        """Return the request field that says whether to think, and how long at most."""
        if self._effort is None:
            return {}
        if self._effort == "none":
            return {"thinking": {"type": "disabled"}}
        if self._effort.isdecimal():
            return {"thinking": {"type": "enabled", "budget_tokens": int(self._effort)}}
        return {"thinking": {"type": "adaptive"}}

    def _form(self) -> dict[str, Any]:
        schema = dict(self._template.schema)
        if self._by == "schema":
            named = self._effort not in {None, "none"} and not str(self._effort).isdecimal()
            effort = {"effort": self._effort} if named else {}
            output = {"format": {"type": "json_schema", "schema": schema}, **effort}
            return {"output_config": output}
        tool = {
            "name": TOOL,
            "description": "Give the verdict.",
            "input_schema": schema,
            "strict": True,
        }
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}

    def _is_truncated(self, message: Message) -> bool:
        return message.stop_reason == "max_tokens"

    def _answer(self, message: Message) -> Answer:
        if message.stop_reason == "refusal":
            return Abstention("refused by the judge")
        if message.stop_reason == "model_context_window_exceeded":
            return Abstention(ABOUT_THIS_ITEM["context_length_exceeded"])
        labels, field = self._template.labels, self._template.answer
        return self._read(message.text(), lambda text: parse_verdict(text, labels, field))


PROVIDER = Provider("anthropic", OFFICIAL_URL, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


def make_judge(model: str, options: JudgeOptions) -> AnthropicJudge:
    """Create the judge `anthropic/MODEL`."""
    endpoint, price = reach(PROVIDER, model, options)
    return AnthropicJudge(
        model,
        endpoint=endpoint,
        template=options.template,
        price=price,
        max_output_tokens=options.answer_tokens,
        thinking_tokens=thinking_tokens_for(model, options),
        effort=thoughts_budget(options),
        by=options.verdict,
        published=published_at(PROVIDER, endpoint),
        lenient=options.lenient,
    )
