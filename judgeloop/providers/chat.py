"""A chat model behind an API: quotes a call, sends one request for it, and bills the reply.

Takes messages, and the form that a reply must have, if any. Returns what the model said, with its
cost. What is asked for, and what an answer means, is decided elsewhere (`judges/chat.py`, `systems/chat.py`). A
provider's file (`openai.py`, `anthropic.py`, `vllm.py`) says how a request is written and how a reply is read. Retries
and time limits are the engine's.

Replies are pydantic models: they check the shape, because a server may send anything with status 200. What is read of
its bill may be of any type: it never makes a verdict worthless that was paid for. A long reply arrives as a stream of
events, as a connection on which nothing moves for minutes is closed on the way. The whole body is read before anything
of it counts, and a stream that ends early is no reply.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Generic, TypeVar, final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import from_json

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import ErrorKind, InputError, JudgeError
from judgeloop.core.money import Price, worst_cost
from judgeloop.core.records import Abstention, Answer, Output, Quote, Reply, Usage
from judgeloop.providers import pricing
from judgeloop.providers.endpoint import STANDARD, Endpoint, Provider
from judgeloop.providers.errors import FILTERED, TOO_LONG, Failure, changed, ending, ending_of, ran_out, unreadable
from judgeloop.providers.token_limit import TokenLimit

# Larger counts are read as this one, which no call can use: Python does not write numbers of over
# 4,300 digits.
LARGEST_COUNT = 10**15
STREAMED_FROM = 16_000  # tokens of a limit, above which a reply is streamed
DONE = b"[DONE]"  # ends a stream of Chat Completions
Client = TypeVar("Client", bound=Any)
# The SDKs' HTTP client checks every idle connection of its pool on every request. With a few
# hundred requests in flight, a single large pool takes more time for that than for the requests.
CALLS_A_POOL = 16
REFUSED = "refused by the judge"


def _whole_number(value: object) -> object:
    """A whole number written as a float, such as 1e30, as an integer."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return min(whole, LARGEST_COUNT) if isinstance(whole, int) else whole


def _or_none(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


Count = Annotated[int, BeforeValidator(_whole_number), Field(ge=0)]
# For the part of a reply that holds its usage: None if it is not as expected. The worst case of the
# call is booked then.
OrNone = WrapValidator(_or_none)


class Wire(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")


TextOrNone = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]


class WireReply(Wire):
    """A whole reply; `id` and `model` are its id and the model's name according to the server, empty without one."""

    id: TextOrNone = ""
    model: TextOrNone = ""

    @abstractmethod
    def tokens(self) -> Usage | None:
        """The usage of the call; None if the reply reports none, or an impossible usage."""

    def cost_p(self) -> int | None:
        """The cost that a gateway reports, in picodollars; None if it reports none."""
        return None

    @abstractmethod
    def tier(self) -> str | None:
        """The service tier or speed that the call was billed at; None if not reported."""

    @abstractmethod
    def said(self) -> str:
        """All text that the model wrote."""


WireT = TypeVar("WireT", bound=WireReply)


class EndedEarlyError(Exception):
    """A stream that ended before its last event."""


class UnreadError(Exception):
    """A reply in JSON that is not of the kind that was asked for."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a reply must have.

    - `by`: "schema" (JSON that follows the schema), "tool" (the input of a strict tool that the
      model must call), "choice" (a bare label) or "logprob" (the probabilities of the first token).
    - `schema`: the JSON schema. `labels`: the labels to choose from.
    """

    by: str
    schema: Mapping[str, Any]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChatSpec:
    """What a chat model is asked with, and what it costs.

    - `form`: the form that a reply must have; None for free text.
    - `max_output_tokens`: the limit of an answer; `thinking_tokens` are added to it.
    - `effort`: how hard to think; None to leave it to the model.
    - `parameters`: fields of the request that sample or shape the reply.
    - `published`: looks up the published price of another model at the same server, for a reply
      that names one.
    - `likely_tokens`: how many tokens an answer probably has.
    """

    model: str
    endpoint: Endpoint
    price: Price | None
    form: Form | None
    max_output_tokens: int = 512
    thinking_tokens: int = 0
    effort: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tier: str = STANDARD
    published: pricing.Published = pricing.unpublished
    likely_tokens: int = pricing.LIKELY_OUTPUT_TOKENS


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said: its text, and the likely first tokens with their log-probabilities.

    `first_tokens` is None if the server gives no log-probabilities. `end` says how the reply ended, `word` what
    the server calls that, and `no_answer` why it is no whole answer (a refusal, a filter, a text that is too long);
    empty if it is one. `instead` names a field that holds a text in place of the answer.
    """

    text: str
    first_tokens: Sequence[tuple[str, float]] | None = None
    end: OutputEnd = OutputEnd.WHOLE
    word: str = ""
    no_answer: str = ""
    instead: str = ""


Read = Callable[[Said], Answer]  # reads the answer in what a model said
Messages = Sequence[tuple[str, str]]  # each a role (system, user, assistant) and a text


class Chat(ABC, Generic[WireT]):
    """A chat model; each call of `ask` sends one HTTP request.

    The SDK's own retries are off, and redirects are not followed. Nothing is sent before the first call of `ask`,
    and the SDK is not imported before that of `make_ready`.
    """

    # Set by the provider's class: the provider, the path to post to, the header with the request's
    # id, the noun for a reply in messages, and the model that a reply must match. And what a system
    # may be asked with: the field of the request by the parameter's name; a dot leads into an object.
    provider: ClassVar[Provider]
    path: str
    request_id_header: ClassVar[str]
    reply_name: ClassVar[str]
    streaming: ClassVar[Mapping[str, Any]] = {"stream": True}  # asks for a stream of events
    wire: type[WireT]
    parameters: ClassVar[Mapping[str, str]]

    def __init__(self, spec: ChatSpec) -> None:
        self.spec = spec
        self.named = ""  # the model of the user's price, as the first reply named it
        self.limit = TokenLimit(spec.max_output_tokens + spec.thinking_tokens)
        self._schema_size = len(json.dumps(spec.form.schema)) if spec.form else 0
        self._clients: Clients[Any] = Clients(self._make_client)

    @property
    def server(self) -> tuple[str, str]:
        """The address and the key. It is never shown."""
        return self.spec.endpoint.origin, self.spec.endpoint.api_key

    @property
    def tier_note(self) -> str:
        """The tier asked for and its price, in a sentence; empty for the standard tier."""
        return pricing.note(self.spec.tier, self.spec.price)

    @property
    def price_note(self) -> str:
        """What the server calls the model that has the user's price, in a sentence; empty if it says nothing new."""
        spec = self.spec
        return pricing.renamed(spec.model, spec.endpoint.clean(self.named), spec.price, spec.published)

    @classmethod
    def fields(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request for parameters by their names.

        Raises:
            InputError: the provider's models do not take one.
        """
        found: dict[str, Any] = {}
        for key, value in given.items():
            if key not in cls.parameters:
                raise InputError(f"{cls.provider.name}/… does not take `{key}`; it takes {', '.join(cls.parameters)}")
            outer, dot, inner = cls.parameters[key].partition(".")
            found[outer] = {inner: value} if dot else value
        return found

    def quote(self, call: Hashable, messages: Messages) -> Quote:
        """The worst case of an attempt: a token per byte, and the limit of output tokens."""
        texts, spec = _texts(messages), self.spec
        return pricing.quote(
            self._most(call, texts), texts, spec.price, thinking=spec.thinking_tokens, likely=spec.likely_tokens
        )

    def learn_lengths(self, lengths: Sequence[int]) -> bool:
        """Send a limit by the lengths of earlier replies, in tokens, if calls cost money; whether it is lower now."""
        priced = self.spec.price is not None and worst_cost(Usage(1, 1), self.spec.price)
        return bool(priced) and self.limit.learn_lengths(lengths)

    def make_ready(self, calls: int) -> None:
        """Import the SDK, and make the clients that so many calls at one time need."""
        self._clients.make_ready(calls)

    async def ask(self, call: Hashable, messages: Messages, read: Read | None) -> Reply:
        """Send one request, and return its reply with the answer that `read` finds in it.

        Without `read`, the answer is the text as it is, an `Output`. `call` is what the limit of
        output tokens is remembered for.

        Raises:
            JudgeError: there is no reply, or no usable reply.
        """
        import httpx2

        from judgeloop.providers.http import EVENTS

        request, endpoint = self.request(call, messages), self.spec.endpoint
        key = endpoint.key
        _, api_error = self._sdk()
        options: dict[str, Any] = {}
        if self.limit.of(call) > STREAMED_FROM:
            request, options = {**request, **self.streaming}, {"headers": {"Accept": EVENTS}}
        try:
            # The SDK's untyped `post` returns the raw reply, which is checked below: the typed
            # methods accept any body with status 200. It also sends the request unchanged, which
            # takes half the time.
            with self._clients.one() as client:
                raw = await client.post(self.path, cast_to=httpx2.Response, body=request, options=options)
        except api_error as error:
            failure = Failure.of(error) if hasattr(error, "status_code") else None
            if failure and ran_out(failure):  # it may be billed
                used_up = self._used_up(call) if read is None else self.limit.truncated(call, 0)
                return Reply(used_up, cost_p=None)
            if failure and failure.status == HTTPStatus.UNAUTHORIZED and await _renewed(endpoint, key):
                why = f"{endpoint.origin} refused the key; it is asked again with the one that its command prints now"
                raise JudgeError(ErrorKind.CHANGED, why, billed=False) from None
            if failure and self._change_request(failure, request):
                raise changed(endpoint) from None
            raise ending(error, endpoint) from None
        except (httpx2.HTTPError, TypeError, ValueError, LookupError):
            # The body is too large or cut off, or its encoding is unknown.
            raise unreadable(endpoint) from None
        if endpoint.printed is not None:
            endpoint.printed.accepted()
        # A server that does not stream sends a JSON object all the same.
        streamed = bool(options) and not raw.content.lstrip().startswith(b"{")
        try:
            message, texts = self._message(raw.content, streamed=streamed), _texts(messages)
        except UnreadError as error:
            # The model was asked, and is paid: what it replies to the same request is likely the same.
            return Reply(Abstention(str(error), again=True), cost_p=None)
        billed, usage = self._bill(message, call, texts), message.tokens()
        cut = _cut(usage, texts) if billed.cost_p == 0 else None
        return Reply(
            _clean(cut or self._answered(call, message, usage, read), endpoint),
            billed.cost_p,
            usage,
            endpoint.clean(message.model),
            endpoint.clean(raw.headers.get(self.request_id_header, "") or message.id),
            endpoint.clean(billed.breach),
            billed.saved_p,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    @abstractmethod
    def request(self, call: Hashable, messages: Messages) -> dict[str, Any]:
        """The request's body."""

    @abstractmethod
    def _sdk(self) -> tuple[Any, Any]:
        """Import the provider's SDK; return its client class and the class of its errors."""

    @abstractmethod
    def _whole(self, events: Sequence[Any], *, done: bool) -> Any:
        """The events of a stream as one body, or the event that is an error; `done`: it ended in `DONE`.

        Raises:
            EndedEarlyError: the last event is missing.
        """

    @abstractmethod
    def _said(self, message: WireT) -> Said:
        """What a reply says."""

    def _change_request(self, failure: Failure, request: Mapping[str, Any]) -> bool:
        """Change the form of further requests if that mends `failure`; return whether it does.

        It must not be True again for a request in the changed form.
        """
        del failure, request
        return False

    def _message(self, content: bytes, *, streamed: bool) -> WireT:
        """The reply in a body; the key is removed before anything is parsed or quoted."""
        try:
            read = list(_events(content)) if streamed else from_json(content)
        except ValueError:  # a page of a gateway, perhaps, or cut on the way
            raise JudgeError(ErrorKind.RETRY, f"the reply is not a {self.reply_name}", billed=True) from None
        try:
            whole = self._whole(read, done=content.rstrip().endswith(DONE)) if streamed else read
            body = self.spec.endpoint.without_key(whole)
            failure = Failure.within(body)
            if failure is None:
                return self.wire.model_validate(body)
        except EndedEarlyError:
            raise JudgeError(ErrorKind.RETRY, "the stream ended early", billed=True) from None
        except (ValidationError, ValueError, TypeError, LookupError, AttributeError):
            raise UnreadError(f"the reply is not a {self.reply_name}") from None
        raise ending_of(failure, self.spec.endpoint)

    def _answered(self, call: Hashable, message: WireT, usage: Usage | None, read: Read | None) -> Answer | Output:
        """What a reply says: a verdict or an output; an abstention if the server broke it off."""
        said = self._said(message)
        if said.end is OutputEnd.FAILED:
            return Abstention(f"the server broke the reply off: it ended with {said.word!r}", again=True)
        if read is not None:
            return self._answer(call, said, usage, read)
        if not said.text and said.no_answer:
            return Output(None, FILTERED if said.no_answer == REFUSED else said.no_answer)
        if not said.text and said.end is OutputEnd.CUT:
            return self._used_up(call)
        tokens = usage.output_tokens if usage else None
        return Output(said.text, ended=said.end, tokens=tokens, model=message.model)

    def _used_up(self, call: Hashable) -> Output:
        """That the limit was reached before any text."""
        return Output(None, f"the limit of {self.limit.of(call):,} tokens was used up by thoughts")

    def _answer(self, call: Hashable, said: Said, usage: Usage | None, read: Read) -> Answer:
        if said.no_answer:
            return Abstention(said.no_answer, too_long=said.no_answer == TOO_LONG)
        if said.end is OutputEnd.CUT:
            return self.limit.truncated(call, usage.reasoning_tokens if usage else 0)
        if not said.text.strip() and said.first_tokens is None:
            written = f", and {usage.output_tokens:,} tokens were written" if usage and usage.output_tokens else ""
            instead = f"; there is text in `{said.instead}`" if said.instead else ""
            return Abstention(f"the reply is empty: `content` has no text{written}{instead}", again=True)
        return read(said)

    def _bill(self, message: WireT, call: Hashable, texts: Sequence[str]) -> pricing.Bill:
        """What to book for a reply to a request with `texts`."""
        spec = self.spec
        if spec.price is None:
            return pricing.Bill(0)
        most = self._most(call, texts)
        if spec.price.own and not self.named:
            self.named = message.model
        claim = pricing.Claim(message.model, message.said(), message.tokens(), message.cost_p(), message.tier())
        return pricing.bill(claim, pricing.Sent(spec.model, spec.price, tuple(texts), most, spec.published, self.named))

    def _most(self, call: Hashable, texts: Sequence[str]) -> Usage:
        return pricing.most_tokens(texts, self._schema_size, self.limit.of(call))

    def _make_client(self) -> Any:
        from judgeloop.providers.http import http_client, time_limits

        endpoint, (client, _) = self.spec.endpoint, self._sdk()
        return client(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=time_limits(endpoint.timeout_s),
            http_client=http_client(endpoint),
        )


@final
@dataclass(slots=True)
class Clients(Generic[Client]):
    """Clients created on demand by `make`, each for at most `CALLS_A_POOL` calls at a time."""

    make: Callable[[], Client]
    _clients: list[Client] = field(default_factory=list)
    _calls: list[int] = field(default_factory=list)  # number in flight, per client

    @contextmanager
    def one(self) -> Iterator[Client]:
        """Lend a client that has room for one more call."""
        self.make_ready(sum(self._calls) + 1)
        number = next(n for n, calls in enumerate(self._calls) if calls < CALLS_A_POOL)
        self._calls[number] += 1
        try:
            yield self._clients[number]
        finally:
            self._calls[number] -= 1

    def make_ready(self, calls: int) -> None:
        """Make as many clients as so many calls at one time need."""
        while len(self._clients) * CALLS_A_POOL < calls:
            self._clients.append(self.make())
            self._calls.append(0)

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.close()
        self._clients.clear()
        self._calls.clear()


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream.

    Raises:
        ValueError: an event is no JSON object.
    """
    for line in body.splitlines():
        name, _, data = line.partition(b":")
        if name != b"data" or data.strip() in {b"", DONE}:
            continue
        event = from_json(data)
        if not isinstance(event, dict):
            raise ValueError("an event is no object")  # noqa: TRY004 - as what is no JSON
        yield event


def _clean(answer: Answer | Output, endpoint: Endpoint) -> Answer | Output:
    """An answer whose texts from the server are safe to store and show; an output is kept whole."""
    if not isinstance(answer, Output):
        return replace(answer, reason=endpoint.clean(answer.reason))
    text = None if answer.text is None else endpoint.masked(answer.text)
    return replace(answer, text=text, failed=endpoint.clean(answer.failed), model=endpoint.clean(answer.model))


async def _renewed(endpoint: Endpoint, key: str) -> bool:
    """Whether a command prints another key than the one that was refused."""
    if endpoint.printed is None:
        return False
    try:
        return await endpoint.printed.renewed(key)
    except InputError as error:
        raise JudgeError(ErrorKind.REJECTED, str(error), billed=False) from None


def _texts(messages: Messages) -> tuple[str, ...]:
    return tuple(text for _, text in messages)


def _cut(usage: Usage | None, texts: Sequence[str]) -> Abstention | None:
    """An abstention if the server read only a part of the request; None if it read all.

    Some servers, such as Ollama, cut a request that is longer than the model's context, and answer
    as if nothing had happened. Their count of tokens is then less than one for each word. This is
    asked of servers that cost nothing: where tokens are paid for, `pricing.py` judges the count.
    """
    least = pricing.least_tokens(texts)
    if usage is None or not 0 < usage.input_tokens < least:
        return None
    return Abstention(
        f"cut by the server: it read {usage.input_tokens:,} tokens of at least {least:,}; give the "
        "model a longer context"
    )
