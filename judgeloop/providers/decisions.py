"""Decision models: they take a text and typed questions, write nothing, and return a probability for every option.

There are two wire forms, OpenAI's (`/v1/decisions`) and System One's (`/v1/systemone`), each with a writer of requests
and a reader of replies; `chat.py` sends, and bills the input. One server may offer both, and then gives the same
question other probabilities in each. So a judge's name says its form, and none ever stands in for the other. Nothing
optional is sent, as servers refuse what they do not know. What an answer means is decided in `judges/decisions.py`.
"""

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar, final
from urllib.parse import urlsplit

from pydantic import Field

from judgeloop.core.money import MOST_DOLLARS, PICO_PER_DOLLAR
from judgeloop.core.records import Answer, Quote, Usage
from judgeloop.providers import pricing
from judgeloop.providers.chat import Chat, ChatSpec, Count, Form, Messages, OrNone, Read, Said, Wire, WireReply
from judgeloop.providers.endpoint import Provider

# The output is free, but servers report some tokens of it for every question: no reply may seem to have more than was
# asked for.
MOST_OUTPUT = 10_000
TOKENS_A_QUESTION = 256  # what a provider adds for each question and does not show
SYSTEM_ONE, DECISIONS = "systemone", "decisions"  # the last parts of the addresses to post to
YES, NO = "yes", "no"


class Kind(StrEnum):
    """What is asked: one of several options, a level of a scale, or whether something is so."""

    CHOICE = "choice"
    SCORE = "score"
    YES_NO = "yes-no"


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """A question about the text, with its options by name, and what each stands for.

    Levels are given from the lowest on. The options of a yes/no question are `YES` and `NO`.
    """

    name: str
    kind: Kind
    instructions: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TypedQuestions(Form):
    """The questions of every request, in the order asked; as a `Form` it has their length."""

    asked: tuple[TypedQuestion, ...] = ()

    @classmethod
    def of(cls, asked: Sequence[TypedQuestion]) -> "TypedQuestions":
        """The form of a request that asks so."""
        return cls("decision", {"questions": [asdict(one) for one in asked]}, (), tuple(asked))


Shares = Mapping[str, float]  # the probability of each option


@dataclass(frozen=True, slots=True)
class Decided(Said):
    """What a decision model answered: the probabilities of each question's options.

    A question that it refused has None. `unreadable` says what is wrong with a reply that does not answer what was
    asked. `mass` is the probability of all options together, before they were made to add up to 1; 1 if not told.
    """

    shares: Mapping[str, Shares | None] = field(default_factory=dict)
    mass: float = 1.0
    unreadable: str = ""


Probability = Annotated[float, Field(allow_inf_nan=False)]


class DecisionUsage(Wire):
    """Token counts, and the cost that OpenRouter reports beside them, in dollars."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Any = None


class DecisionReply(WireReply):
    """What both forms report of a request."""

    usage: Annotated[DecisionUsage | None, OrNone] = None

    def tokens(self) -> Usage | None:
        """The usage; None if it is absent or unreadable. What a cache did changes no price, and is left out."""
        if self.usage is None or self.usage.input_tokens is None:
            return None
        return Usage(self.usage.input_tokens, self.usage.output_tokens or 0)

    def cost_p(self) -> int | None:
        """The reported cost in picodollars; None if there is none that can be true."""
        cost = None if self.usage is None else self.usage.cost
        if isinstance(cost, bool) or not isinstance(cost, int | float):
            return None
        return math.ceil(cost * PICO_PER_DOLLAR) if 0 <= cost <= MOST_DOLLARS else None

    def tier(self) -> str | None:
        """None: there are no tiers."""
        return None

    def said(self) -> str:
        """Nothing: a decision model writes no text."""
        return ""


DecisionT = TypeVar("DecisionT", bound=DecisionReply)


class Decisions(Chat[DecisionT]):
    """A decision model; each call of `ask` sends one request with all questions of the spec's form.

    The only message is the text that the questions are about.
    """

    request_id_header = "x-request-id"
    reply_name = "decision"
    parameters: ClassVar[Mapping[str, str]] = {}
    route: ClassVar[str]  # the last part of the address to post to
    texts_counted = 1  # how often a text is counted in the input: once, or once for each question

    def __init__(self, spec: ChatSpec) -> None:
        super().__init__(spec)
        assert isinstance(spec.form, TypedQuestions), "what a decision model is asked are questions"
        self.questions = spec.form.asked
        self.path = path_at(spec.endpoint.base_url, self.route)

    def quote(self, call: Hashable, messages: Messages) -> Quote:
        """The worst case of an attempt: a token per byte of the text and the questions."""
        asked = [text for one in self.questions for text in (one.instructions, *one.options.values())]
        texts = [text for _, text in messages]
        found = pricing.quote(self._most(call, texts), [*texts, *asked], self.spec.price)
        # Free output counts against no limit of tokens a minute.
        return replace(found, tokens=found.tokens - MOST_OUTPUT)

    def learn_lengths(self, lengths: Sequence[int]) -> bool:
        """Learn nothing: output costs nothing and has no limit."""
        del lengths
        return False

    def _most(self, call: Hashable, texts: Sequence[str]) -> Usage:
        size = self._schema_size + TOKENS_A_QUESTION * len(self.questions)
        return pricing.most_tokens([*texts] * self.texts_counted, size, self.limit.of(call))

    def _sdk(self) -> tuple[Any, Any]:
        import openai

        return openai.AsyncOpenAI, openai.APIError

    def _whole(self, events: Sequence[Any], *, done: bool = False) -> Any:
        del events, done
        raise LookupError("a decision is never streamed")

    def _answer(self, call: Hashable, said: Said, usage: Usage | None, read: Read) -> Answer:
        del call, usage
        return read(said)  # there is no text that could be empty, or cut

    def _said(self, message: DecisionT) -> Decided:
        try:
            shares = self._shares(message)
        except (LookupError, ValueError) as error:
            return Decided("", unreadable=str(error))
        for question in self.questions:
            found = shares[question.name]
            if found is not None and found.keys() != set(question.options):
                return Decided("", unreadable=f"the options {', '.join(found)} are not those of {question.name!r}")
        return Decided("", shares=shares, mass=self._mass(message))

    @abstractmethod
    def _shares(self, message: DecisionT) -> dict[str, Shares | None]:
        """The probabilities in a reply, by question; None for one that it refuses.

        Raises:
            LookupError, ValueError: it does not answer what was asked.
        """

    def _mass(self, message: DecisionT) -> float:
        """The lowest probability that the options of a question have together; 1 if the server does not tell."""
        del message
        return 1.0


class OptionShare(Wire):
    """The probability of an option, or of a level with its label."""

    value: str | bool | int
    label: str = ""
    probability: Probability


class OpenAIAnswer(Wire):
    """The answer to a question: its type, and what this type brings."""

    type: str
    probabilities: tuple[OptionShare, ...] = ()
    probability: Probability | None = None


class OpenAIReply(DecisionReply):
    """A reply in OpenAI's form: an answer for each question, in order."""

    answers: list[OpenAIAnswer]


@final
class OpenAIDecisions(Decisions[OpenAIReply]):
    """OpenAI's form: the text is `input`, and the questions are a list."""

    provider: ClassVar[Provider] = Provider(
        "openai-decisions", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL",
        length_is_free=True, decides=True,
    )  # fmt: skip
    route = DECISIONS
    wire = OpenAIReply

    def request(self, call: Hashable, messages: Messages) -> dict[str, Any]:
        """The request's body."""
        del call
        ((_, text),) = messages
        return {"model": self.spec.model, "input": text, "questions": [_for_openai(one) for one in self.questions]}

    def _shares(self, message: OpenAIReply) -> dict[str, Shares | None]:
        found: dict[str, Shares | None] = {}
        for question, answer in zip(self.questions, message.answers, strict=True):
            expected = "predicate" if question.kind is Kind.YES_NO else question.kind.value
            if answer.type not in {expected, "refusal"}:
                raise ValueError(f"the answer to {question.name!r} is of the type {answer.type!r}, not {expected!r}")
            if answer.type == "refusal":
                found[question.name] = None
            elif question.kind is Kind.YES_NO:
                found[question.name] = _yes_no(answer.probability)
            else:
                levels = question.kind is Kind.SCORE
                found[question.name] = {
                    one.label if levels else str(one.value): one.probability for one in answer.probabilities
                }
        return found


def _for_openai(question: TypedQuestion) -> dict[str, Any]:
    options = question.options.items()
    asked = {"name": question.name, "instructions": question.instructions}
    match question.kind:
        case Kind.CHOICE:
            choices = [{"value": name, "description": text} for name, text in options]
            return {"type": "choice", **asked, "choices": choices}
        case Kind.SCORE:
            return {
                "type": "score",
                **asked,
                "levels": [{"label": name, "description": text} for name, text in options],
            }
        case Kind.YES_NO:
            return {"type": "predicate", **asked}


class SystemOneAnswer(Wire):
    """The answer to a question: its type, and what this type brings; SGLang adds the mass."""

    type: str
    probabilities: Mapping[str, Probability] = Field(default_factory=dict)
    noul: Probability | None = None
    x_label_mass: float | None = None


class Diagnostics(Wire):
    """What vLLM adds for each question: the probability of all its options as the first token."""

    label_mass: float | None = None


class SystemOneReply(DecisionReply):
    """A reply in the System One form: answers by the names of questions; one that is refused is left out."""

    answers: dict[str, SystemOneAnswer]
    diagnostics: Annotated[dict[str, Diagnostics] | None, OrNone] = None


class SystemOne(Decisions[SystemOneReply]):
    """The System One form at an address of the user's: the text is `state`, and the questions have names."""

    provider: ClassVar[Provider] = Provider("systemone", None, decides=True)
    route = SYSTEM_ONE
    wire = SystemOneReply

    def __init__(self, spec: ChatSpec) -> None:
        super().__init__(spec)
        self.texts_counted = len(self.questions)  # vLLM makes a prompt of each question

    def request(self, call: Hashable, messages: Messages) -> dict[str, Any]:
        """The request's body."""
        del call
        ((_, text),) = messages
        asked = {one.name: _for_system_one(one) for one in self.questions}
        return {"model": self.spec.model, "state": text, "questions": asked}

    def _shares(self, message: SystemOneReply) -> dict[str, Shares | None]:
        found: dict[str, Shares | None] = {}
        for question in self.questions:
            answer = message.answers.get(question.name)
            expected = "noul" if question.kind is Kind.YES_NO else question.kind.value
            if answer is None:
                found[question.name] = None
            elif answer.type != expected:
                raise ValueError(f"the answer to {question.name!r} is of the type {answer.type!r}, not {expected!r}")
            elif question.kind is Kind.YES_NO:
                found[question.name] = _yes_no(answer.noul)
            elif question.kind is Kind.SCORE:
                levels = dict(zip(map(str, range(len(question.options))), question.options, strict=True))
                found[question.name] = {levels[place]: share for place, share in answer.probabilities.items()}
            else:
                found[question.name] = answer.probabilities
        return found

    def _mass(self, message: SystemOneReply) -> float:
        of_vllm = [one.label_mass for one in (message.diagnostics or {}).values()]
        told = [*of_vllm, *(one.x_label_mass for one in message.answers.values())]
        return min((mass for mass in told if mass is not None), default=1.0)


@final
class TypeSafe(SystemOne):
    """The System One form at TypeSafe, which counts the text of a request once."""

    provider: ClassVar[Provider] = Provider(
        "typesafe",
        "https://api.typesafe.ai",
        "TYPESAFE_API_KEY",
        "TYPESAFE_BASE_URL",
        length_is_free=True,
        decides=True,
    )
    request_id_header = "x-typesafe-request-id"

    def __init__(self, spec: ChatSpec) -> None:
        super().__init__(spec)
        self.texts_counted = 1


def _for_system_one(question: TypedQuestion) -> dict[str, Any]:
    asked = {"instructions": question.instructions}
    match question.kind:
        case Kind.CHOICE:
            return {"type": "choice", **asked, "criteria": dict(question.options)}
        case Kind.SCORE:
            return {"type": "score", **asked, "criteria": [*question.options.values()]}
        case Kind.YES_NO:
            meaning = {"true": question.options[YES], "false": question.options[NO]}
            return {"type": "noul", **asked, "criteria": meaning}


def _yes_no(share: float | None) -> Shares:
    if share is None:
        raise ValueError("a yes/no question is answered without a probability")
    return {YES: share, NO: 1.0 - share}


def path_at(base_url: str, route: str) -> str:
    """Where to post below an address, or the address itself if it is whole.

    >>> path_at("http://localhost:8000/v1", "systemone"), path_at("http://localhost:11434", "systemone")
    ('/systemone', '/v1/systemone')
    >>> path_at("https://openrouter.ai/api/alpha/decisions", "systemone")
    'https://openrouter.ai/api/alpha/decisions'
    """
    path = urlsplit(base_url).path.rstrip("/")
    if path.rpartition("/")[2] in {SYSTEM_ONE, DECISIONS}:
        return base_url.rstrip("/")
    return f"/{route}" if path else f"/v1/{route}"
