"""Judge through the Chat Completions API: OpenAI itself, or any server that speaks it.

One call of `judge` is one HTTP request: the SDK's retries are off, redirects are not followed. OpenAI is sent no sampling
parameters, because newer models refuse them. Retrying, prices and both orders are not done here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final
from urllib.parse import urlsplit

from pydantic import ValidationError

from judgeloop.errors import TransientJudgeError
from judgeloop.judges.chat_completions import ChatCompletion, Choice
from judgeloop.judges.parsing import PARSER_VERSION, parse_label, parse_verdict
from judgeloop.judges.pools import Clients
from judgeloop.judges.prompting import Template
from judgeloop.judges.quoting import quote
from judgeloop.judges.wire import ABOUT_THIS_ITEM, Endpoint, answer_or_raise, unreadable
from judgeloop.keys import digest
from judgeloop.money import Price, cost
from judgeloop.records import Abstention, Answer, Call, JudgeIdentity, Quote, Reply, Usage, Verdict

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OFFICIAL_URL = "https://api.openai.com/v1"
LONGEST_FREE_TEXT = 300  # characters
LEAST_MASS = 0.5  # of probability on the labels, for a verdict from log-probabilities

CHOICE_TOKENS = 8  # more than any label takes

By = Literal["schema", "choice", "logprob"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server wants to be asked: its name for the limit of output, and what is sent with every request."""

    provider: str
    limit: str
    extras: Mapping[str, Any] = field(default_factory=dict)
    own_structured_outputs: bool = False  # vLLM's field in place of response_format


# The tier is pinned, because a project's default may be a dearer one.
OFFICIAL = Dialect("openai", "max_completion_tokens", {"service_tier": "default"})
COMPATIBLE = Dialect("openai", "max_tokens")
# A temperature, because the server would else take the model's own generation settings.
VLLM = Dialect("vllm", "max_tokens", {"temperature": 0.0}, own_structured_outputs=True)


def dialect_at(base_url: str) -> Dialect:
    """OpenAI's own names at its own address, the widely known ones elsewhere."""
    official = urlsplit(base_url).hostname == urlsplit(OFFICIAL_URL).hostname
    return OFFICIAL if official else COMPATIBLE


@final
class OpenAIJudge:
    """A chat model asked for a verdict: in a strict JSON schema, as a bare label, or by its first token's probabilities."""

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
        dialect: Dialect | None = None,
    ) -> None:
        """No request is made, and the SDK is not imported, before the first call of `judge`."""
        self._model = model
        self._endpoint = endpoint
        self._template = template
        self._price = price
        self._by = by
        fixed = {"logprob": 1, "choice": CHOICE_TOKENS}
        self._max_output_tokens = fixed.get(by, max_output_tokens)
        self._dialect = dialect or dialect_at(endpoint.base_url)
        self._clients = Clients(self._make_client)

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The model with everything else that can change a verdict."""
        return JudgeIdentity(
            provider=self._dialect.provider,
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
        import httpx2
        import openai

        request = self._request(call)
        try:
            # The SDK's own way to post what it need not know: the reply comes raw, because the typed methods pass on whatever
            # has a status of 200; and the request goes as it is, which takes half the time.
            with self._clients.one() as client:
                raw = await client.post("/chat/completions", cast_to=httpx2.Response, body=request)
        except openai.APIError as error:
            return answer_or_raise(error, self._endpoint)
        except (httpx2.HTTPError, TypeError, ValueError, LookupError):
            raise unreadable(self._endpoint) from None  # too large, torn, or in an encoding that nobody knows
        try:
            completion = ChatCompletion.model_validate_json(raw.content)
        except ValidationError:
            raise TransientJudgeError("the reply is no chat completion", billed=True) from None
        return self._endpoint.clean_reply(self._read(completion, raw.headers.get("x-request-id", "")))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    def _make_client(self) -> AsyncOpenAI:
        import openai

        from judgeloop.judges.bounded import hooks, tls

        return openai.AsyncOpenAI(
            api_key=self._endpoint.api_key,
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=self._endpoint.timeout_s,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks=hooks(own=self._endpoint.own), verify=tls()
            ),
        )

    def _request(self, call: Call) -> dict[str, Any]:
        system, user = self._template.render(call)
        return {
            "model": self._model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            self._dialect.limit: self._max_output_tokens,
            **self._dialect.extras,
            **self._form(),
        }

    def _form(self) -> dict[str, Any]:
        """The fields that hold the model to the form of a verdict."""
        own = self._dialect.own_structured_outputs
        choice = {"structured_outputs": {"choice": list(self._template.labels)}} if own else {}
        if self._by == "choice":
            return choice
        if self._by == "logprob":
            return {"logprobs": True, "top_logprobs": 20} | choice
        schema = dict(self._template.schema)
        if own:
            return {"structured_outputs": {"json": _bounded(schema)}}
        strict = {"name": "verdict", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": strict}}

    def _read(self, completion: ChatCompletion, request_id: str) -> Reply:
        usage = completion.tokens()
        return Reply(
            answer=self._answer(completion),
            cost_p=self._actual_cost(usage),
            usage=usage,
            model=completion.model,
            request_id=request_id,
        )

    def _answer(self, completion: ChatCompletion) -> Answer:
        choice = completion.choices[0]
        if len(completion.choices) > 1:
            return Abstention("several replies in one")
        if choice.message.refusal:
            return Abstention("refused by the judge")
        if choice.finish_reason == "content_filter":
            return Abstention(ABOUT_THIS_ITEM["content_filter"])
        if choice.finish_reason == "length" and self._by != "logprob":
            return Abstention(f"truncated at {self._max_output_tokens} tokens (--judge-max-tokens)")
        return self._verdict(choice)

    def _verdict(self, choice: Choice) -> Answer:
        said, labels = choice.message.content or "", self._template.labels
        if self._by == "logprob":
            return verdict_from_probabilities(choice, labels)
        if self._by == "choice":
            return parse_label(said, labels)
        return parse_verdict(said, labels, self._template.answer)

    def _actual_cost(self, usage: Usage | None) -> int | None:
        if self._price is None:
            return 0
        return None if usage is None else cost(usage, self._price)


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with free text bounded, so that a small model cannot ramble to the limit of tokens.

    vLLM's grammars know `maxLength`; OpenAI's strict mode does not.
    """
    properties = {
        name: value if "enum" in value else value | {"maxLength": LONGEST_FREE_TEXT}
        for name, value in schema.get("properties", {}).items()
    }
    return schema | {"properties": properties}


def verdict_from_probabilities(choice: Choice, labels: Mapping[str, float]) -> Answer:
    """The mean score of the labels, weighed with their probabilities as the reply's first token.

    Li et al. (2023), AlpacaEval: P(A) / (P(A) + P(B)). Tokens that spell a label with space around it count with it.
    """
    if not choice.logprobs or not choice.logprobs.content:
        return Abstention("the server gives no log-probabilities; use --verdict schema")
    mass = dict.fromkeys(labels, 0.0)
    for token in choice.logprobs.content[0].top_logprobs:
        if token.token.strip() in mass:
            mass[token.token.strip()] += math.exp(min(0.0, token.logprob))
    total = sum(mass.values())
    if total < LEAST_MASS:
        return Abstention(f"the labels are unlikely first tokens ({total:.2f} of the probability)")
    score = sum(labels[label] * share for label, share in mass.items()) / total
    return Verdict(min(1.0, max(0.0, score)), reason=f"probabilities of the labels add up to {total:.3f}")
