"""A judge that is a model, and one that is a chat model: identity, prompt and form of a verdict, and how it is read.

`openai/MODEL`, `anthropic/MODEL` and `vllm/NAME` are such judges. The model is asked by
`providers/chat.py`, which also knows its price. Both orders of presentation are in
`engine/presentation.py`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, final

from judgeloop.core.keys import digest
from judgeloop.core.records import Abstention, Answer, Call, JudgeIdentity, Quote, Reply, Verdict
from judgeloop.judges import parsing
from judgeloop.judges.base import BaseJudge, JudgeOptions
from judgeloop.judges.prompt import Template
from judgeloop.providers.chat import Chat, ChatSpec, Form, Said
from judgeloop.providers.endpoint import endpoint_for
from judgeloop.providers.pricing import model_price, published_at
from judgeloop.providers.token_limit import effort_for, thinking_tokens_for

# Limit of output tokens for a bare label; no label needs 8 tokens.
LABEL_TOKENS = {"logprob": 1, "choice": 8}
# The labels need at least this probability in total for a verdict from log-probabilities.
LEAST_MASS = 0.5


class ModelJudge(BaseJudge):
    """A model behind an API; each call of `judge` sends one HTTP request.

    Nothing is sent before the first call of `judge`. A subclass adds `identity`, and reads what the model said.
    """

    def __init__(self, chat: Chat[Any], template: Template) -> None:
        """Ask `chat` with `template`."""
        self.chat = chat
        self.template = template
        self.price = chat.spec.price
        self.priced = self.price is not None

    @property
    @abstractmethod
    def identity(self) -> JudgeIdentity:
        """The model, and everything else that can change a verdict."""

    @property
    def tier_note(self) -> str:
        """The tier asked for and its price, in a sentence; empty for the standard tier."""
        return self.chat.tier_note

    @property
    def price_note(self) -> str:
        """What the server calls the model that has the user's price, in a sentence; empty if it says nothing new."""
        return self.chat.price_note

    def quote(self, call: Call) -> Quote:
        """The worst case: a token per byte of input, and the limit of output tokens."""
        return self.chat.quote(call, self._messages(call))

    def learn_lengths(self, lengths: Sequence[int]) -> bool:
        """Send a limit by the lengths of earlier replies, in tokens, if calls cost money; whether it is lower now."""
        return self.chat.learn_lengths(lengths)

    async def judge(self, call: Call) -> Reply:
        """Send one request and read the verdict from the reply.

        Raises:
            JudgeError: there is no reply, or no usable reply.
        """
        return await self.chat.ask(call, self._messages(call), self._answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.chat.aclose()

    @property
    def server(self) -> tuple[str, str]:
        """The address and the key, by which judges and systems share their pace."""
        return self.chat.server

    def make_ready(self, calls: int) -> None:
        """Make the clients that so many calls at one time need."""
        self.chat.make_ready(calls)

    def _messages(self, call: Call) -> list[tuple[str, str]]:
        return list(zip(("system", "user"), self.template.render(call), strict=True))

    @abstractmethod
    def _answer(self, said: Said) -> Answer:
        """The verdict in what the model said."""


@final
class ChatJudge(ModelJudge):
    """A chat model that replies with a verdict."""

    def __init__(self, chat: Chat[Any], template: Template, *, lenient: bool = False) -> None:
        """`lenient` allows thoughts before the answer and a fence."""
        super().__init__(chat, template)
        assert chat.spec.form is not None, "a verdict has a form"
        self._form = chat.spec.form
        self._lenient = lenient

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The model, and everything else that can change a verdict."""
        spec = self.chat.spec
        return JudgeIdentity(
            provider=self.chat.provider.name,
            model=spec.model,
            parameters={
                **spec.endpoint.identity,
                "prompt": self.template.digest,
                "schema": digest(self.template.schema),
                "parser": str(parsing.PARSER_VERSION),
                # Without the thinking tokens: an answer is the same under a higher limit.
                "max_output_tokens": str(spec.max_output_tokens),
                "by": self._form.by,
                **({} if spec.effort is None else {"effort": spec.effort}),
                **({"lenient": str(parsing.LENIENT_VERSION)} if self._lenient else {}),
            },
        )

    def _answer(self, said: Said) -> Answer:
        labels, by = self.template.labels, self._form.by
        if by == "logprob":
            return verdict_from_probabilities(said, labels)
        in_json: Callable[..., Answer] = partial(parsing.parse_verdict, field=self.template.answer)
        if self.template.criteria is not None:
            in_json = partial(
                parsing.parse_criteria,
                field=self.template.answer,
                criteria=self.template.criteria,
                rates=self.template.rates,
            )
        read = parsing.parse_label if by == "choice" else in_json
        return parsing.read_reply(
            said.text,
            partial(read, labels=labels),
            partial(read, labels=parsing.in_any_case(labels)),
            lenient=self._lenient,
        )


def verdict_from_probabilities(said: Said, labels: Mapping[str, float]) -> Answer:
    """The mean score of the labels, weighted by their probability as the first token.

    For two labels with scores 1 and 0 this is P(A) / (P(A) + P(B)) (Li et al. 2023, AlpacaEval).
    Tokens that spell a label with white space around it count as the label. Returns an abstention
    if the reply has no log-probabilities, or if the labels' total is under `LEAST_MASS`.
    """
    if said.first_tokens is None:
        return Abstention("the server gives no log-probabilities; use `verdict=schema`")
    mass = dict.fromkeys(labels, 0.0)
    for token, logprob in said.first_tokens:
        if token.strip() in mass:
            mass[token.strip()] += math.exp(min(0.0, logprob))
    total = sum(mass.values())
    if total < LEAST_MASS:
        return unlikely(total)
    score = sum(labels[label] * share for label, share in mass.items()) / total
    return Verdict(min(1.0, max(0.0, score)), reason=f"probabilities of the labels add up to {total:.3f}")


def unlikely(mass: float) -> Abstention:
    """That a model would rather have said something else than one of the labels."""
    return Abstention(f"the labels are unlikely first tokens (their probabilities add up to {mass:.2f})")


def form_of(template: Template, by: str) -> Form:
    """The form of a reply to `template`."""
    return Form(by, template.schema, tuple(template.labels))


def chat_judge(kind: type[Chat[Any]], model: str, options: JudgeOptions) -> ChatJudge:
    """Create the judge `PROVIDER/MODEL`, asked by a `kind` of chat.

    Raises:
        InputError: the address, the key, the effort or the price is missing or wrong.
    """
    provider = kind.provider
    effort = effort_for(options, in_tokens=provider.effort_in_tokens)
    endpoint = endpoint_for(provider, options)
    url = endpoint.base_url
    spec = ChatSpec(
        model,
        endpoint,
        model_price(provider, model, url, given=options.price, tier=options.tier),
        form_of(options.template, options.verdict),
        max_output_tokens=LABEL_TOKENS.get(options.verdict, options.answer_tokens),
        thinking_tokens=thinking_tokens_for(model, options),
        effort=effort,
        tier=options.tier,
        published=published_at(provider, url),
    )
    return ChatJudge(kind(spec), options.template, lenient=options.lenient)
