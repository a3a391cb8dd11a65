"""The judge `vllm/NAME`: a model behind the user's own vLLM server, with structured outputs.

The first call checks that the server is healthy, serves the model and obeys `structured_outputs`. A
server that ignores them would reply in free text, and is rejected. A run whose verdicts are all in
the ledger makes no call and needs no server. `openai.py` makes the calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, final

from pydantic import ValidationError

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import Price
from judgeloop.core.protocols import Questions
from judgeloop.core.records import Call, Item, JudgeIdentity, Quote, Reply
from judgeloop.engine.time_limit import TimeLimit
from judgeloop.judges.openai import VLLM, OpenAIJudge
from judgeloop.judges.options import JudgeOptions
from judgeloop.providers.chat_completions import ChatCompletion
from judgeloop.providers.credentials import Provider
from judgeloop.providers.provider import reach
from judgeloop.providers.thinking import effort_in_words, thinking_tokens_for
from judgeloop.providers.wire import Endpoint

if TYPE_CHECKING:
    import httpx2

PROBE_CHOICES = ("quokka", "wombat")  # no model gives these replies unless it is forced to


@final
class VllmJudge:
    """A chat model behind vLLM: calls use the OpenAI SDK, the checks of the server plain HTTP."""

    order_matters = True
    blind = True
    by_hand = False

    def __init__(self, judge: OpenAIJudge, *, model: str, endpoint: Endpoint) -> None:
        """`judge` makes the calls, with the dialect `VLLM`."""
        self._judge = judge
        self._model = model
        self._endpoint = endpoint
        self._look_lock = asyncio.Lock()
        self._version: str | None = None
        self._unfit: JudgeError | None = None

    @property
    def identity(self) -> JudgeIdentity:
        """The model, and everything else that can change a verdict."""
        return self._judge.identity

    @property
    def priced(self) -> bool:
        """True if a price is known; the user's own server is free unless a price is given."""
        return self._judge.priced

    @property
    def price(self) -> Price | None:
        """What its tokens cost: nothing, unless a price is given."""
        return self._judge.price

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Accept every question."""
        del questions, items, max_missing

    def quote(self, call: Call) -> Quote:
        """Return the worst case, as for any chat model."""
        return self._judge.quote(call)

    def learn_lengths(self, lengths: Sequence[int]) -> None:
        """As any chat model."""
        self._judge.learn_lengths(lengths)

    async def judge(self, call: Call) -> Reply:
        """Check the server on the first call, then ask.

        Raises:
            JudgeError: there is no reply, or this server cannot be the judge.
        """
        async with self._look_lock:
            await self._look_once()
        return await self._judge.judge(call)

    async def _look_once(self) -> None:
        """Check the server unless it is known; one that cannot be the judge is not asked again.

        A server that does not reply yet is checked again at the next call.
        """
        if self._unfit is not None:
            raise self._unfit
        if self._version is None:
            try:
                self._version = await self.look()
            except JudgeError as error:
                if error.kind is ErrorKind.REJECTED:
                    self._unfit = error
                raise

    async def aclose(self) -> None:
        """Close the connections."""
        await self._judge.aclose()

    async def look(self) -> str:
        """Check the server, and return its version.

        The server must be healthy, serve the model and obey `structured_outputs`.

        Raises:
            JudgeError: the server does not reply or says that it is not healthy, or this server
                cannot be the judge.
        """
        import httpx2

        from judgeloop.providers.http_client import http_client

        async with http_client(self._endpoint) as client:
            client.headers["Authorization"] = f"Bearer {self._endpoint.api_key}"
            try:
                async with TimeLimit(self._endpoint.timeout_s):
                    return await self._look_with(client)
            except (httpx2.HTTPError, TimeoutError) as error:
                raise JudgeError(
                    ErrorKind.RETRY,
                    f"no reply from {self._endpoint.origin} ({type(error).__name__}); is the vLLM server running?",
                    billed=False,
                ) from error

    async def _look_with(self, client: httpx2.AsyncClient) -> str:
        await self._check_health(client)
        await self._check_model(client)
        await self._check_form(client)
        version = await self._get(client, f"{self._root}/version")
        return str(version.get("version", "unknown"))

    @property
    def _root(self) -> str:
        return self._endpoint.base_url.rstrip("/").removesuffix("/v1")

    async def _check_health(self, client: httpx2.AsyncClient) -> None:
        reply = await client.get(f"{self._root}/health")
        if reply.status_code != HTTPStatus.OK:
            raise JudgeError(
                ErrorKind.RETRY,
                f"{self._endpoint.origin} says that it is not healthy (HTTP {reply.status_code})",
                billed=False,
            )

    async def _check_model(self, client: httpx2.AsyncClient) -> None:
        listing = await self._get(client, f"{self._endpoint.base_url.rstrip('/')}/models")
        data = listing.get("data")
        served = (
            [str(model.get("id")) for model in data if isinstance(model, dict)]
            if isinstance(data, list)
            else []
        )
        if self._model not in served:
            raise JudgeError(
                ErrorKind.REJECTED,
                f"{self._endpoint.origin} does not serve {self._model!r}; it serves {self._endpoint.clean(', '.join(served)) or 'nothing'}",
                billed=False,
            )

    async def _check_form(self, client: httpx2.AsyncClient) -> None:
        request = {
            "model": self._model,
            "messages": [{"role": "user", "content": "Say A."}],
            "max_tokens": 16,
            "temperature": 0.0,
            "structured_outputs": {"choice": list(PROBE_CHOICES)},
        }
        reply = await self._get(
            client, f"{self._endpoint.base_url.rstrip('/')}/chat/completions", json=request
        )
        try:
            said = ChatCompletion.model_validate(reply).choices[0].message.content
        except ValidationError:
            said = None
        if said not in PROBE_CHOICES:
            raise JudgeError(
                ErrorKind.REJECTED,
                f"{self._endpoint.origin} ignores structured_outputs (asked to choose between "
                f"{' and '.join(PROBE_CHOICES)} it said {str(said)[:40]!r}); is it vLLM 0.12 or newer? For any other "
                "server use `judge=openai/NAME`",
                billed=False,
            )

    async def _get(self, client: httpx2.AsyncClient, url: str, json: Any = None) -> dict[str, Any]:
        reply = await (client.get(url) if json is None else client.post(url, json=json))
        if reply.status_code != HTTPStatus.OK:
            raise JudgeError(
                ErrorKind.REJECTED, f"{url} answers HTTP {reply.status_code}", billed=False
            )
        try:
            value = reply.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise JudgeError(
                ErrorKind.REJECTED,
                f"{url} does not answer with a JSON object; is this a vLLM server?",
                billed=False,
            )
        cleaned: dict[str, Any] = self._endpoint.without_key(value)
        return cleaned


PROVIDER = Provider("vllm", None)


def make_judge(name: str, options: JudgeOptions) -> VllmJudge:
    """Create the judge `vllm/NAME`."""
    endpoint, price = reach(PROVIDER, name, options)
    judge = OpenAIJudge(
        name,
        endpoint=endpoint,
        template=options.template,
        price=price,
        max_output_tokens=options.answer_tokens,
        thinking_tokens=thinking_tokens_for(name, options),
        effort=effort_in_words(options),
        by=options.verdict,
        dialect=VLLM,
        lenient=options.lenient,
    )
    return VllmJudge(judge, model=name, endpoint=endpoint)
