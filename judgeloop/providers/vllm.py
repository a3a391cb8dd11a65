"""The user's own vLLM server: Chat Completions with structured outputs of its own.

The first call checks that the server serves the model and obeys `structured_outputs`. A server that
ignores them would reply in free text, and is rejected. A run whose verdicts are all in the ledger
makes no call and needs no server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, final

from pydantic import ValidationError

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Reply
from judgeloop.providers.chat import ChatSpec, Messages, Read
from judgeloop.providers.endpoint import Provider
from judgeloop.providers.errors import unreachable
from judgeloop.providers.openai import OLDER_LIMIT, SAMPLING, ChatCompletion, Dialect, OpenAIChat

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
    parameters: ClassVar[Mapping[str, str]] = SAMPLING | {
        "top-k": "top_k", "min-p": "min_p", "repetition-penalty": "repetition_penalty",
        "thinking": "chat_template_kwargs.enable_thinking",
    }  # fmt: skip

    def __init__(self, spec: ChatSpec) -> None:
        super().__init__(spec)
        self.dialect = Dialect(OLDER_LIMIT) if spec.form is None else DIALECT
        self._look_lock = asyncio.Lock()
        self._fit = False
        self._unfit: JudgeError | None = None

    async def ask(self, call: Hashable, messages: Messages, read: Read | None) -> Reply:
        """Check the server on the first call, then send one request.

        A server that cannot be the judge is not asked again; one that does not reply yet is checked
        again at the next call.

        Raises:
            JudgeError: there is no reply, or this server cannot be the judge.
        """
        async with self._look_lock:
            if self._unfit is not None:
                raise self._unfit
            if not self._fit:
                try:
                    await self.look()
                except JudgeError as error:
                    if error.kind is ErrorKind.REJECTED:
                        self._unfit = error
                    raise
                self._fit = True
        return await super().ask(call, messages, read)

    def _form(self) -> dict[str, Any]:
        form = self.spec.form
        if form is None:
            return {}
        if form.by == "schema":
            return {"structured_outputs": {"json": _bounded(dict(form.schema))}}
        choice = {"structured_outputs": {"choice": list(form.labels)}}
        return super()._form() | choice if form.by == "logprob" else choice

    async def look(self) -> None:
        """Check that the server serves the model, and obeys `structured_outputs` if replies have a form.

        Raises:
            JudgeError: the server does not reply, or cannot be the judge.
        """
        import httpx2

        from judgeloop.providers.http import http_client

        async with http_client(self.spec.endpoint) as client:
            client.headers["Authorization"] = f"Bearer {self.spec.endpoint.key}"
            try:
                await self._look_with(client)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                raise unreachable(self.spec.endpoint) from None
            except httpx2.HTTPError as error:
                raise JudgeError(
                    ErrorKind.RETRY,
                    f"no reply from {self.spec.endpoint.origin} ({type(error).__name__}); is the vLLM server running?",
                    billed=False,
                ) from error

    async def _look_with(self, client: httpx2.AsyncClient) -> None:
        base_url = self.spec.endpoint.base_url.rstrip("/")
        self._check_model(self._body(await client.get(f"{base_url}/models")))
        if self.spec.form is not None:
            request = {
                "model": self.spec.model,
                "messages": [{"role": "user", "content": "Say A."}],
                "max_tokens": 16,
                "temperature": 0.0,
                "structured_outputs": {"choice": list(PROBE_CHOICES)},
            }
            reply = await client.post(f"{base_url}/chat/completions", json=request)
            self._check_form(self._body(reply))

    def _check_model(self, listing: dict[str, Any]) -> None:
        data = listing.get("data")
        models = data if isinstance(data, list) else []
        served = [str(model.get("id")) for model in models if isinstance(model, dict)]
        if self.spec.model not in served:
            listed = self.spec.endpoint.clean(", ".join(served)) or "nothing"
            raise _unfit(f"{self.spec.endpoint.origin} does not serve {self.spec.model!r}; it serves {listed}")

    def _check_form(self, reply: dict[str, Any]) -> None:
        try:
            said = ChatCompletion.model_validate(reply).choices[0].message.content
        except ValidationError:
            said = None
        if said not in PROBE_CHOICES:
            raise _unfit(
                f"{self.spec.endpoint.origin} ignores structured_outputs (asked to choose between "
                f"{' and '.join(PROBE_CHOICES)} it said {str(said)[:40]!r}); is it vLLM 0.12 or newer? For any other "
                "server use `judge=openai/NAME`"
            )

    def _body(self, reply: httpx2.Response) -> dict[str, Any]:
        """The JSON object in a reply, without the key."""
        if reply.status_code != HTTPStatus.OK:
            passing = reply.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
            kind = ErrorKind.RETRY if passing else ErrorKind.REJECTED
            keyless = reply.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
            hint = f": check {self.spec.endpoint.names.key}" if keyless else ""
            raise JudgeError(kind, f"{reply.url} answers HTTP {reply.status_code}{hint}", billed=False)
        try:
            value = self.spec.endpoint.without_key(reply.json())
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise _unfit(f"{reply.url} does not answer with a JSON object; is this a vLLM server?")
        return value


def _unfit(why: str) -> JudgeError:
    return JudgeError(ErrorKind.REJECTED, why, billed=False)


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with a maximum length for free text.

    Otherwise a small model may write text up to the token limit. vLLM's grammars support
    `maxLength`; OpenAI's strict mode does not.
    """
    properties = {
        name: value if "enum" in value else value | {"maxLength": LONGEST_FREE_TEXT}
        for name, value in schema.get("properties", {}).items()
    }
    return schema | {"properties": properties}
