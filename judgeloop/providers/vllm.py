"""The user's own vLLM server: Chat Completions with structured outputs of its own.

The first call checks that the server is healthy, serves the model and obeys `structured_outputs`. A
server that ignores them would reply in free text, and is rejected. A run whose verdicts are all in
the ledger makes no call and needs no server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, final

from pydantic import ValidationError

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.providers.chat import ChatSpec, Completion
from judgeloop.providers.endpoint import Provider
from judgeloop.providers.openai import OLDER_LIMIT, ChatCompletion, Dialect, OpenAIChat

if TYPE_CHECKING:
    import httpx2

PROVIDER = Provider("vllm", None)
# The temperature is set, because vLLM would otherwise use the model's own generation settings.
DIALECT = Dialect(OLDER_LIMIT, {"temperature": 0.0})
PROBE_CHOICES = ("quokka", "wombat")  # no model gives these replies unless it is forced to
LONGEST_FREE_TEXT = 300  # characters


@final
class VllmChat(OpenAIChat):
    """A model behind vLLM: calls use the OpenAI SDK, the checks of the server plain HTTP."""

    provider: ClassVar[Provider] = PROVIDER

    def __init__(self, spec: ChatSpec) -> None:
        super().__init__(spec)
        self.dialect = DIALECT
        self._look_lock = asyncio.Lock()
        self._version: str | None = None
        self._unfit: JudgeError | None = None

    async def ask(self, call: Hashable, system: str, user: str) -> Completion:
        """Check the server on the first call, then send one request.

        Raises:
            JudgeError: there is no reply, or this server cannot be the judge.
        """
        async with self._look_lock:
            await self._look_once()
        return await super().ask(call, system, user)

    def _form(self) -> dict[str, Any]:
        form = self.spec.form
        if form.by == "schema":
            return {"structured_outputs": {"json": _bounded(dict(form.schema))}}
        choice = {"structured_outputs": {"choice": list(form.labels)}}
        return super()._form() | choice if form.by == "logprob" else choice

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

    async def look(self) -> str:
        """Check the server, and return its version.

        The server must be healthy, serve the model and obey `structured_outputs`.

        Raises:
            JudgeError: the server does not reply or says that it is not healthy, or this server
                cannot be the judge.
        """
        import httpx2

        from judgeloop.providers.http_client import http_client

        async with http_client(self.spec.endpoint) as client:
            client.headers["Authorization"] = f"Bearer {self.spec.endpoint.api_key}"
            try:
                return await self._look_with(client)
            except httpx2.HTTPError as error:
                raise JudgeError(
                    ErrorKind.RETRY,
                    f"no reply from {self.spec.endpoint.origin} ({type(error).__name__}); is the vLLM server running?",
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
        return self.spec.endpoint.base_url.rstrip("/").removesuffix("/v1")

    async def _check_health(self, client: httpx2.AsyncClient) -> None:
        reply = await client.get(f"{self._root}/health")
        if reply.status_code != HTTPStatus.OK:
            raise JudgeError(
                ErrorKind.RETRY,
                f"{self.spec.endpoint.origin} says that it is not healthy (HTTP {reply.status_code})",
                billed=False,
            )

    async def _check_model(self, client: httpx2.AsyncClient) -> None:
        listing = await self._get(client, f"{self.spec.endpoint.base_url.rstrip('/')}/models")
        data = listing.get("data")
        served = (
            [str(model.get("id")) for model in data if isinstance(model, dict)]
            if isinstance(data, list)
            else []
        )
        if self.spec.model not in served:
            raise JudgeError(
                ErrorKind.REJECTED,
                f"{self.spec.endpoint.origin} does not serve {self.spec.model!r}; it serves {self.spec.endpoint.clean(', '.join(served)) or 'nothing'}",
                billed=False,
            )

    async def _check_form(self, client: httpx2.AsyncClient) -> None:
        request = {
            "model": self.spec.model,
            "messages": [{"role": "user", "content": "Say A."}],
            "max_tokens": 16,
            "temperature": 0.0,
            "structured_outputs": {"choice": list(PROBE_CHOICES)},
        }
        reply = await self._get(
            client, f"{self.spec.endpoint.base_url.rstrip('/')}/chat/completions", json=request
        )
        try:
            said = ChatCompletion.model_validate(reply).choices[0].message.content
        except ValidationError:
            said = None
        if said not in PROBE_CHOICES:
            raise JudgeError(
                ErrorKind.REJECTED,
                f"{self.spec.endpoint.origin} ignores structured_outputs (asked to choose between "
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
        cleaned: dict[str, Any] = self.spec.endpoint.without_key(value)
        return cleaned


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
