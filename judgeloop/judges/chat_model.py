"""The base class of judges that are chat models: identity, quote, one request, actual cost.

A provider's file (`openai.py`, `anthropic.py`) builds the request body and reads the verdict from
the reply. Retries are in `retrying.py`, prices in `prices.py`, both orders of presentation in
`engine/presentation.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import Price, worst_cost
from judgeloop.core.protocols import Questions
from judgeloop.core.records import (
    Abstention,
    Answer,
    Call,
    Item,
    JudgeIdentity,
    Quote,
    Reply,
    Usage,
)
from judgeloop.core.verdict_key import digest
from judgeloop.engine.time_limit import TimeLimit
from judgeloop.judges.lenient import LENIENT_VERSION, Read, read_reply
from judgeloop.judges.parsing import PARSER_VERSION
from judgeloop.judges.prompt import Template
from judgeloop.providers.billing import Asked, Bill, Published, bill, unpublished
from judgeloop.providers.failures import Failure
from judgeloop.providers.pools import Clients
from judgeloop.providers.quoting import least_tokens, most_tokens, quote
from judgeloop.providers.replies import WireReply
from judgeloop.providers.token_limit import TokenLimit, ran_out
from judgeloop.providers.wire import (
    Endpoint,
    changed,
    ending,
    ending_of,
    too_late,
    unreadable,
)

WireT = TypeVar("WireT", bound=WireReply)


class ChatModel(ABC, Generic[WireT]):
    """A chat model that replies with a verdict; each call of `judge` sends one HTTP request.

    The SDK's own retries are off, and redirects are not followed. Nothing is sent, and the SDK is
    not imported, before the first call of `judge`.
    """

    order_matters = True
    blind = True
    by_hand = False

    # Set by the provider's class: the path to post to, the header with the request's id, the noun
    # for a reply in messages, and the model that a reply must match.
    path: ClassVar[str]
    request_id_header: ClassVar[str]
    reply_name: ClassVar[str]
    wire: type[WireT]

    def __init__(
        self,
        model: str,
        *,
        provider: str,
        endpoint: Endpoint,
        template: Template,
        price: Price | None,
        max_output_tokens: int,
        by: str,
        published: Published = unpublished,
        lenient: bool = False,
        thinking_tokens: int = 0,
        effort: str | None = None,
    ) -> None:
        """Create the judge.

        `by` is the form of the reply (`JudgeRow.verdicts`). `published` looks up the published
        price of another model at the same server, for a reply that names one. `lenient` allows
        thoughts before the answer and a fence around it (`lenient.py`). `thinking_tokens` are
        added to the limit of output tokens; `effort` says how hard to think (`thinking.py`).
        """
        self._model = model
        self._provider = provider
        self._endpoint = endpoint
        self._template = template
        self._price = price
        self._answer_tokens = max_output_tokens
        self._limit = TokenLimit(max_output_tokens + thinking_tokens)
        self._thinking_tokens = thinking_tokens
        self._effort = effort
        self._by = by
        self._published = published
        self._lenient = lenient
        self._clients: Clients[Any] = Clients(self._make_client)

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The model, and everything else that can change a verdict."""
        return JudgeIdentity(
            provider=self._provider,
            model=self._model,
            parameters={
                **self._endpoint.identity,
                "prompt": self._template.digest,
                "schema": digest(self._template.schema),
                "parser": str(PARSER_VERSION),
                # Without the thinking tokens: an answer is the same under a higher limit.
                "max_output_tokens": str(self._answer_tokens),
                "by": self._by,
                # Absent from the keys that are older than these settings.
                **({} if self._effort is None else {"effort": self._effort}),
                **({"lenient": str(LENIENT_VERSION)} if self._lenient else {}),
            },
        )

    @property
    def priced(self) -> bool:
        """True if a price is known."""
        return self._price is not None

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None if that is not known."""
        return self._price

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Accept every question."""
        del questions, items, max_missing

    def quote(self, call: Call) -> Quote:
        """Return the worst case: a token per byte of input, and the limit of output tokens."""
        return quote(
            self._template,
            call,
            self._limit.of(call),
            self._price,
            thinking_tokens=self._thinking_tokens,
        )

    def learn_lengths(self, lengths: Sequence[int]) -> None:
        """Send a limit by the lengths of earlier replies, in tokens, if calls cost money."""
        if self._price is not None and worst_cost(Usage(1, 1), self._price):
            self._limit.learn_lengths(lengths)

    async def judge(self, call: Call) -> Reply:
        """Send one request and read the verdict from the reply.

        Raises:
            JudgeError: there is no reply, or no usable reply.
        """
        import httpx2

        sdk, request = self._sdk(), self._request(call)
        try:
            # The SDK's untyped `post` returns the raw reply, which is checked below: the typed
            # methods accept any body with status 200. It also sends the request unchanged, which
            # takes half the time.
            with self._clients.one() as client:
                async with TimeLimit(self._endpoint.timeout_s):
                    raw = await client.post(self.path, cast_to=httpx2.Response, body=request)
        except TimeoutError:
            raise too_late(self._endpoint) from None
        except sdk.APIError as error:
            failure = Failure.of(error) if hasattr(error, "status_code") else None
            if failure and ran_out(failure.message):
                return Reply(self._limit.truncated(call, 0), cost_p=None)  # it may be billed
            if failure and self._change_request(failure, request):
                raise changed(self._endpoint) from None
            raise ending(error, self._endpoint) from None
        except (httpx2.HTTPError, TypeError, ValueError, LookupError):
            # The body is too large or cut off, or its encoding is unknown.
            raise unreadable(self._endpoint) from None
        try:
            # The key is removed before anything is parsed, quoted or cut.
            body = self._endpoint.without_key(from_json(raw.content))
            failure = Failure.within(body)
            if failure is not None:
                raise ending_of(failure, self._endpoint)
            message = self.wire.model_validate(body)
        except (ValidationError, ValueError):
            raise JudgeError(
                ErrorKind.RETRY, f"the reply is not a {self.reply_name}", billed=True
            ) from None
        return self._reply(message, call, request, raw.headers.get(self.request_id_header, ""))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    def _make_client(self) -> Any:
        from judgeloop.providers.http_client import http_client, time_limits

        return self._client_of(self._sdk())(
            api_key=self._endpoint.api_key,
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=time_limits(self._endpoint.timeout_s),
            http_client=http_client(self._endpoint),
        )

    def _reply(
        self, message: WireT, call: Call, request: Mapping[str, Any], request_id: str
    ) -> Reply:
        texts = (request.get("system", ""), *(turn["content"] for turn in request["messages"]))
        most = most_tokens(self._template, texts, self._limit.of(call))
        billed, usage = self._bill(message, texts, most), message.tokens()
        cut = _cut(usage, texts) if billed.cost_p == 0 else None
        reply = Reply(
            answer=cut or self._answer_to(call, message),
            cost_p=billed.cost_p,
            usage=usage,
            model=message.model,
            request_id=request_id,
            breach=billed.breach,
            saved_p=billed.saved_p,
        )
        return self._endpoint.clean_reply(reply)

    def _bill(self, message: WireT, texts: tuple[str, ...], most: Usage) -> Bill:
        """Return what to book for a reply to a request with `texts`, of at most `most` tokens."""
        if self._price is None:
            return Bill(0)
        asked = Asked(self._model, self._price, texts, most, self._published)
        return bill(message, asked)

    def _change_request(self, failure: Failure, request: Mapping[str, Any]) -> bool:
        """Change the form of further requests if that mends `failure`; return whether it does.

        It must not be True again for a request in the changed form.
        """
        del failure, request
        return False

    def _answer_to(self, call: Call, message: WireT) -> Answer:
        """Return the answer in a reply, or an abstention if it was cut at the limit of tokens."""
        if not self._is_truncated(message):
            return self._answer(message)
        usage = message.tokens()
        return self._limit.truncated(call, usage.reasoning_tokens if usage else 0)

    def _read(self, text: str, read: Read) -> Answer:
        """Return the answer that `read` finds in the text of a reply."""
        return read_reply(text, read, lenient=self._lenient)

    @abstractmethod
    def _sdk(self) -> ModuleType:
        """Import and return the provider's SDK."""

    @abstractmethod
    def _client_of(self, sdk: Any) -> Any:
        """Return the SDK's client class."""

    @abstractmethod
    def _request(self, call: Call) -> dict[str, Any]:
        """Return the request's body."""

    @abstractmethod
    def _is_truncated(self, message: WireT) -> bool:
        """Return whether the reply was cut at the limit of output tokens."""

    @abstractmethod
    def _answer(self, message: WireT) -> Answer:
        """Return the verdict in a reply, or an abstention that says why there is none."""


def _cut(usage: Usage | None, texts: tuple[str, ...]) -> Abstention | None:
    """Return an abstention if the server read only a part of the request; None if it read all.

    Some servers, such as Ollama, cut a request that is longer than the model's context, and answer
    as if nothing had happened. Their count of tokens is then less than one for each word. This is
    asked of servers that cost nothing: where tokens are paid for, `billing.py` judges the count.
    """
    least = least_tokens(texts)
    if usage is None or not 0 < usage.input_tokens < least:
        return None
    return Abstention(
        f"cut by the server: it read {usage.input_tokens:,} tokens of at least {least:,}; give the "
        "model a longer context"
    )
