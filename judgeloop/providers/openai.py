"""OpenAI, and every other server that speaks Chat Completions.

Writes requests and reads replies; `chat.py` sends them. The replies' models have only the fields
that are needed. OpenAI gets no sampling parameters, because newer models refuse them.
"""

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from judgeloop.core.ends import FULL_CONTEXT, OutputEnd, ended
from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import MOST_DOLLARS, PICO_PER_DOLLAR
from judgeloop.core.records import Reply, Usage
from judgeloop.providers.chat import (
    REFUSED,
    Chat,
    ChatSpec,
    Count,
    EndedEarlyError,
    Messages,
    OrNone,
    Read,
    Said,
    Wire,
    WireReply,
)
from judgeloop.providers.endpoint import FLEX, FLEX_OR_STANDARD, STANDARD, Provider
from judgeloop.providers.errors import FILTERED, TOO_LONG, Failure

# OpenAI counts the tokens of a request before a model reads it. What its filter refuses may be
# billed, as at Azure, whose service evaluates a prompt before it answers 400.
PROVIDER = Provider(
    "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", length_is_free=True, flex_is_half=True
)
SAMPLING = {
    "temperature": "temperature", "top-p": "top_p", "seed": "seed", "stop": "stop",
    "frequency-penalty": "frequency_penalty", "presence-penalty": "presence_penalty",
}  # fmt: skip
# Where servers put the thoughts of a model, and some of them its answer.
THOUGHTS = ("reasoning", "reasoning_content", "thinking")
NEWER_LIMIT, OLDER_LIMIT = "max_completion_tokens", "max_tokens"
# How LiteLLM begins to say that a model takes the newer name only: it leaves the fields empty.
_ONLY_NEWER = re.compile(
    rf"litellm\.BadRequestError: \w+ BadRequestError - Unsupported parameter: '{OLDER_LIMIT}' .*{NEWER_LIMIT}"
)


def _joined(content: Any) -> Any:
    """The text of content that is a list of parts, as Mistral sends it, without thoughts; other content as it is."""
    if not isinstance(content, list):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


class ChoiceMessage(Wire):
    """The text of the reply, or the refusal."""

    content: Annotated[str | None, BeforeValidator(_joined)] = None
    refusal: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    thinking: Any = None


class TokenProbability(Wire):
    """A candidate token and its natural log-probability."""

    token: str
    logprob: float


class TokenPlace(Wire):
    """A position in the reply, with the most likely tokens there."""

    top_logprobs: tuple[TokenProbability, ...] = ()


class Logprobs(Wire):
    """Log-probabilities for each position of the reply."""

    content: list[TokenPlace] | None = None


class GeneratedChoice(Wire):
    """A generated message, and why generation ended."""

    message: ChoiceMessage = ChoiceMessage()  # Google leaves it out of a reply that its filter blocks
    finish_reason: Any = None
    logprobs: Logprobs | None = None


class PromptDetails(Wire):
    """Numbers of prompt tokens read from the cache and written to it."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class CompletionDetails(Wire):
    """Number of completion tokens that are reasoning."""

    reasoning_tokens: Count | None = None


class CompletionUsage(Wire):
    """Token counts: prompt tokens include cached tokens, completion tokens include reasoning.

    Google leaves counts of zero out.
    """

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None

    def output_tokens(self) -> int:
        """The completion tokens, with the reasoning tokens that some servers leave out.

        Those servers count reasoning apart, or in the total alone. The largest number counts.
        """
        written, reasoning = self.completion_tokens or 0, self.thoughts
        apart = written + reasoning if reasoning > written else written
        return max(apart, (self.total_tokens or 0) - (self.prompt_tokens or 0))

    @property
    def thoughts(self) -> int:
        """The reasoning tokens; 0 if they are not reported."""
        details = self.completion_tokens_details
        return (details.reasoning_tokens if details else None) or 0


class Costs(Wire):
    """The cost that OpenRouter reports among the counts, in dollars."""

    cost: Any = None


class ChatCompletion(WireReply):
    """A whole reply, with at least one choice."""

    choices: Annotated[list[GeneratedChoice], Field(min_length=1)]
    usage: Annotated[CompletionUsage | None, OrNone] = None
    costs: Annotated[Costs | None, OrNone] = Field(None, validation_alias="usage")
    service_tier: Any = None

    def tokens(self) -> Usage | None:
        """The usage; None if it is absent or unreadable, or contradicts itself."""
        if self.usage is None or self.usage.completion_tokens is None:
            return None
        details = self.usage.prompt_tokens_details or PromptDetails()
        prompt = self.usage.prompt_tokens
        if not isinstance(self.service_tier, str | None):
            return None
        read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
        if prompt is None or read + written > prompt:
            return None
        output = self.usage.output_tokens()
        return Usage(prompt, output, read, written, min(output, self.usage.thoughts))

    def cost_p(self) -> int | None:
        """The reported cost in picodollars; None if there is none that can be true."""
        cost = None if self.costs is None else self.costs.cost
        if isinstance(cost, bool) or not isinstance(cost, int | float):
            return None
        # A cost that cannot be stored is no cost of a call.
        return math.ceil(cost * PICO_PER_DOLLAR) if 0 <= cost <= MOST_DOLLARS else None

    def tier(self) -> str | None:
        """The service tier; None if not reported, or not readable."""
        return self.service_tier if isinstance(self.service_tier, str) else None

    def said(self) -> str:
        """The text and the refusal of every choice."""
        messages = [choice.message for choice in self.choices]
        return " ".join(text for said in messages for text in (said.content, said.refusal) if text)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A server's variant of Chat Completions.

    `limit` is the field for the maximum number of output tokens. `extras` are sent with every
    request.
    """

    limit: str
    extras: Mapping[str, Any] = field(default_factory=dict)


# The service tier is fixed, because a project's default tier may be more expensive.
OFFICIAL = Dialect(NEWER_LIMIT, {"service_tier": "default"})
COMPATIBLE = Dialect(OLDER_LIMIT)


class OpenAIChat(Chat[ChatCompletion]):
    """A model behind Chat Completions."""

    provider: ClassVar[Provider] = PROVIDER
    path = "/chat/completions"
    request_id_header = "x-request-id"
    reply_name = "chat completion"
    streaming: ClassVar[Mapping[str, Any]] = {"stream": True, "stream_options": {"include_usage": True}}
    wire = ChatCompletion
    parameters: ClassVar[Mapping[str, str]] = SAMPLING | {"verbosity": "verbosity"}

    def __init__(self, spec: ChatSpec) -> None:
        super().__init__(spec)
        self.dialect = OFFICIAL if PROVIDER.owns(spec.endpoint.base_url) else COMPATIBLE
        self._without_flex: set[Hashable] = set()  # calls for which flex had no capacity

    async def ask(self, call: Hashable, messages: Messages, read: Read | None) -> Reply:
        """Send one request.

        After a refusal for lack of capacity at flex, the next request for the same call asks for
        the standard tier, if the user allows it.

        Raises:
            JudgeError: there is no reply, or no usable reply.
        """
        try:
            return await super().ask(call, messages, read)
        except JudgeError as error:
            falls_back = self.spec.tier == FLEX_OR_STANDARD and call not in self._without_flex
            if error.kind is not ErrorKind.SCARCE or not falls_back:
                raise
            self._without_flex.add(call)
            raise JudgeError(ErrorKind.CHANGED, str(error), billed=error.billed) from None

    def request(self, call: Hashable, messages: Messages) -> dict[str, Any]:
        """The request's body."""
        return {
            "model": self.spec.model,
            "messages": [{"role": role, "content": text} for role, text in messages],
            self.dialect.limit: self.limit.of(call),
            **self._extras(call),
            **self._form(),
            **self.spec.parameters,
        }

    def _sdk(self) -> tuple[Any, Any]:
        import openai

        return openai.AsyncOpenAI, openai.APIError

    def _change_request(self, failure: Failure, request: Mapping[str, Any]) -> bool:
        """Use the newer name of the limit of output tokens if the server refuses the older.

        Azure's and other gateways' newer models take that name only, older servers the older.
        """
        refused = failure.parameter == OLDER_LIMIT or _ONLY_NEWER.match(failure.message)
        if OLDER_LIMIT not in request or not refused or NEWER_LIMIT not in failure.message:
            return False
        self.dialect = replace(self.dialect, limit=NEWER_LIMIT)
        return True

    def _extras(self, call: Hashable) -> Mapping[str, Any]:
        """The fields of the dialect, with the effort and the tier to ask for."""
        fields = dict(self.dialect.extras)
        if self.spec.effort is not None:
            fields["reasoning_effort"] = self.spec.effort
        if self.spec.tier != STANDARD and call not in self._without_flex:
            fields["service_tier"] = FLEX
        return fields

    def _form(self) -> dict[str, Any]:
        """The request fields that force the form of the reply."""
        form = self.spec.form
        if form is None:
            return {}
        if form.by == "logprob":
            return {"logprobs": True, "top_logprobs": 20}
        strict = {"name": "verdict", "strict": True, "schema": dict(form.schema)}
        return {"response_format": {"type": "json_schema", "json_schema": strict}}

    def _whole(self, events: Sequence[Any], *, done: bool) -> Any:
        """The chunks as one completion; without a reason, a stream ends in `DONE` or a chunk of usage alone."""
        if failed := [event for event in events if event.get("error")]:
            return failed[0]
        chunks = [choice for event in events for choice in event.get("choices") or ()]
        ends = [chunk["finish_reason"] for chunk in chunks if chunk.get("finish_reason")]
        if not (ends or done or any(event.get("usage") and not event.get("choices") for event in events)):
            raise EndedEarlyError
        deltas = [chunk.get("delta") or {} for chunk in chunks]
        message = {
            name: "".join(delta.get(name) or "" for delta in deltas) or None
            for name in ("content", "refusal", *THOUGHTS)
        }
        told = {name: text for event in events for name, text in event.items() if text is not None}
        return told | {"choices": [{"index": 0, "finish_reason": ends[-1] if ends else None, "message": message}]}

    def _said(self, message: ChatCompletion) -> Said:
        choice = message.choices[0]
        refusal = choice.message.refusal
        end, word = ended(choice.finish_reason), str(choice.finish_reason or "").lower()
        if end is OutputEnd.CUT and self.spec.form is not None and self.spec.form.by == "logprob":
            end = OutputEnd.WHOLE  # one token is all that was asked for
        no_answer = (
            REFUSED if refusal else FILTERED if end is OutputEnd.FILTERED else TOO_LONG if word in FULL_CONTEXT else ""
        )
        if len(message.choices) > 1:
            no_answer = "more than one choice in the reply"
        places = choice.logprobs.content if choice.logprobs else None
        likely = [(one.token, one.logprob) for one in places[0].top_logprobs] if places else None
        instead = next((name for name in THOUGHTS if getattr(choice.message, name)), "")
        return Said(choice.message.content or refusal or "", likely, end, word, no_answer, instead)
