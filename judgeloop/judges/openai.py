"""The judge `openai/MODEL`: a model behind the Chat Completions API of OpenAI or of another server.

Builds the request body and reads the verdict from the reply. `chat_model.py` sends the request,
`chat_completions.py` checks the shape of the reply. Retries and prices are in `retrying.py` and
`prices.py`. OpenAI gets no sampling parameters, because newer models refuse them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, final
from urllib.parse import urlsplit

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import Price
from judgeloop.core.records import Abstention, Answer, Call, Reply, Verdict
from judgeloop.judges.chat_model import ChatModel
from judgeloop.judges.options import JudgeOptions
from judgeloop.judges.parsing import parse_label, parse_verdict
from judgeloop.judges.prompt import Template
from judgeloop.providers.billing import Published, unpublished
from judgeloop.providers.chat_completions import ChatCompletion, Choice
from judgeloop.providers.codes import FILTERED
from judgeloop.providers.credentials import Provider
from judgeloop.providers.failures import Failure
from judgeloop.providers.provider import published_at, reach
from judgeloop.providers.thinking import effort_in_words, thinking_tokens_for
from judgeloop.providers.tiers import FLEX, FLEX_OR_STANDARD, STANDARD, note
from judgeloop.providers.wire import Endpoint

OFFICIAL_URL = "https://api.openai.com/v1"
LONGEST_FREE_TEXT = 300  # characters
# The labels need at least this probability in total for a verdict from log-probabilities.
LEAST_MASS = 0.5

# Limit of output tokens for a bare label; no label needs 8 tokens.
LABEL_TOKENS = {"logprob": 1, "choice": 8}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A server's variant of Chat Completions.

    `limit` is the field for the maximum number of output tokens. `extras` are sent with every
    request. `own_structured_outputs` is True for vLLM, which has a field of its own in place of
    `response_format`.
    """

    provider: str
    limit: str
    extras: Mapping[str, Any] = field(default_factory=dict)
    own_structured_outputs: bool = False


# The service tier is fixed, because a project's default tier may be more expensive.
OFFICIAL = Dialect("openai", "max_completion_tokens", {"service_tier": "default"})
COMPATIBLE = Dialect("openai", "max_tokens")
NEWER_LIMIT = OFFICIAL.limit
# The temperature is set, because vLLM would otherwise use the model's own generation settings.
VLLM = Dialect("vllm", "max_tokens", {"temperature": 0.0}, own_structured_outputs=True)


def dialect_at(base_url: str) -> Dialect:
    """Return OpenAI's dialect for OpenAI's host, the widely supported dialect for other hosts."""
    official = urlsplit(base_url).hostname == urlsplit(OFFICIAL_URL).hostname
    return OFFICIAL if official else COMPATIBLE


@final
class OpenAIJudge(ChatModel[ChatCompletion]):
    """A chat model that replies with a verdict.

    `by` is the form of the reply: "schema" (JSON that follows the template's schema), "choice" (a
    bare label; vLLM only) or "logprob" (the probabilities of the reply's first token).
    """

    path = "/chat/completions"
    request_id_header = "x-request-id"
    reply_name = "chat completion"
    wire = ChatCompletion

    def __init__(
        self,
        model: str,
        *,
        endpoint: Endpoint,
        template: Template,
        price: Price | None,
        max_output_tokens: int = 512,
        by: str = "schema",
        dialect: Dialect | None = None,
        published: Published = unpublished,
        lenient: bool = False,
        tier: str = STANDARD,
        thinking_tokens: int = 0,
        effort: str | None = None,
    ) -> None:
        """`max_output_tokens` applies to "schema"; a bare label is limited by `LABEL_TOKENS`."""
        self._dialect = dialect or dialect_at(endpoint.base_url)
        self._tier = tier
        self._without_flex: set[Call] = set()  # calls for which flex had no capacity
        super().__init__(
            model,
            provider=self._dialect.provider,
            endpoint=endpoint,
            template=template,
            price=price,
            max_output_tokens=LABEL_TOKENS.get(by, max_output_tokens),
            by=by,
            published=published,
            lenient=lenient,
            thinking_tokens=thinking_tokens,
            effort=effort,
        )

    def _sdk(self) -> ModuleType:
        import openai

        return openai

    def _client_of(self, sdk: Any) -> Any:
        return sdk.AsyncOpenAI

    def _change_request(self, failure: Failure, request: Mapping[str, Any]) -> bool:
        """Use the newer name of the limit of output tokens if the server asks for it by name.

        Azure's and other gateways' newer models take that name only, older servers the older.
        """
        if COMPATIBLE.limit not in request or NEWER_LIMIT not in failure.message:
            return False
        self._dialect = replace(self._dialect, limit=NEWER_LIMIT)
        return True

    @property
    def tier_note(self) -> str:
        """The tier asked for and its price, in a sentence; empty for the standard tier."""
        return note(self._tier, self._price)

    async def judge(self, call: Call) -> Reply:
        """Send one request and read the verdict from the reply.

        After a refusal for lack of capacity at flex, the next request for the same call asks for
        the standard tier, if the user allows it.

        Raises:
            JudgeError: there is no reply, or no usable reply.
        """
        try:
            return await super().judge(call)
        except JudgeError as error:
            if (
                error.kind is not ErrorKind.SCARCE
                or self._tier != FLEX_OR_STANDARD
                or call in self._without_flex
            ):
                raise
            self._without_flex.add(call)
            raise JudgeError(ErrorKind.CHANGED, str(error), billed=error.billed) from None

    def _extras(self, call: Call) -> Mapping[str, Any]:
        """Return the fields of the dialect, with the effort and the tier to ask for."""
        effort = {} if self._effort is None else {"reasoning_effort": self._effort}
        standard = self._tier == STANDARD or call in self._without_flex
        tier = {} if standard else {"service_tier": FLEX}
        return {**self._dialect.extras, **effort, **tier}

    def _request(self, call: Call) -> dict[str, Any]:
        system, user = self._template.render(call)
        return {
            "model": self._model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            self._dialect.limit: self._limit.of(call),
            **self._extras(call),
            **self._form(),
        }

    def _form(self) -> dict[str, Any]:
        """Return the request fields that force the form of the reply."""
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

    def _is_truncated(self, message: ChatCompletion) -> bool:
        return message.choices[0].finish_reason == "length" and self._by != "logprob"

    def _answer(self, message: ChatCompletion) -> Answer:
        choice = message.choices[0]
        if len(message.choices) > 1:
            return Abstention("more than one choice in the reply")
        if choice.message.refusal:
            return Abstention("refused by the judge")
        if choice.is_filtered:
            return Abstention(FILTERED)
        return self._verdict(choice)

    def _verdict(self, choice: Choice) -> Answer:
        said, labels = choice.message.content or "", self._template.labels
        if self._by == "logprob":
            return verdict_from_probabilities(choice, labels)
        if self._by == "choice":
            return self._read(said, lambda text: parse_label(text, labels))
        return self._read(said, lambda text: parse_verdict(text, labels, self._template.answer))


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with a maximum length for free text.

    Otherwise a small model may write text up to the token limit. vLLM's grammars support
    `maxLength`; OpenAI's strict mode does not.
    """
    properties = {
        name: value if "enum" in value else value | {"maxLength": LONGEST_FREE_TEXT}
        for name, value in schema.get("properties", {}).items()
    }
    return schema | {"properties": properties}


def verdict_from_probabilities(choice: Choice, labels: Mapping[str, float]) -> Answer:
    """Return the mean score of the labels, weighted by their probability as the first token.

    For two labels with scores 1 and 0 this is P(A) / (P(A) + P(B)) (Li et al. 2023, AlpacaEval).
    Tokens that spell a label with white space around it count as the label. Returns an abstention
    if the reply has no log-probabilities, or if the labels' total is under `LEAST_MASS`.
    """
    if not choice.logprobs or not choice.logprobs.content:
        return Abstention("the server gives no log-probabilities; use `verdict=schema`")
    mass = dict.fromkeys(labels, 0.0)
    for token in choice.logprobs.content[0].top_logprobs:
        if token.token.strip() in mass:
            mass[token.token.strip()] += math.exp(min(0.0, token.logprob))
    total = sum(mass.values())
    if total < LEAST_MASS:
        return Abstention(
            f"the labels are unlikely first tokens (their probabilities add up to {total:.2f})"
        )
    score = sum(labels[label] * share for label, share in mass.items()) / total
    return Verdict(
        min(1.0, max(0.0, score)), reason=f"probabilities of the labels add up to {total:.3f}"
    )


PROVIDER = Provider("openai", OFFICIAL_URL, "OPENAI_API_KEY", "OPENAI_BASE_URL")


def make_judge(model: str, options: JudgeOptions) -> OpenAIJudge:
    """Create the judge `openai/MODEL`."""
    endpoint, price = reach(PROVIDER, model, options)
    return OpenAIJudge(
        model,
        endpoint=endpoint,
        template=options.template,
        price=price,
        max_output_tokens=options.answer_tokens,
        thinking_tokens=thinking_tokens_for(model, options),
        effort=effort_in_words(options),
        by=options.verdict,
        published=published_at(PROVIDER, endpoint),
        lenient=options.lenient,
        tier=options.tier,
    )
