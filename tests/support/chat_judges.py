"""A judge at a server of the tests, made as the command line makes it, but for what is given."""

from __future__ import annotations

from typing import Any

from judgeloop.core.money import Price
from judgeloop.judges.chat import LABEL_TOKENS, ChatJudge, form_of
from judgeloop.judges.decisions import DecisionJudge, questions_of
from judgeloop.judges.prompt import shipped_template
from judgeloop.providers.catalogue import chat_class
from judgeloop.providers.chat import ChatSpec
from judgeloop.providers.decisions import MOST_OUTPUT
from judgeloop.providers.endpoint import Endpoint
from judgeloop.providers.pricing import price_from_text

PRICE = price_from_text("1.00,10.00")
TEMPLATE = shipped_template("pairwise.v1")


def chat_judge(
    wire: str,
    url: str,
    *,
    model: str = "m",
    key: str = "key-of-tests",
    timeout_s: float = 5.0,
    own: bool = True,
    template: Any = TEMPLATE,
    price: Price | None = PRICE,
    by: str = "schema",
    lenient: bool = False,
    **more: Any,
) -> Any:
    """The judge `wire`/`model` at `url`; `more` goes to `ChatSpec`."""
    kind = chat_class(wire)
    assert kind is not None
    endpoint = Endpoint(url, key, timeout_s, own=own)
    if kind.provider.decides:
        deciding = shipped_template("pairwise-decision.v1") if template is TEMPLATE else template
        asked = questions_of(deciding)
        return DecisionJudge(kind(ChatSpec(model, endpoint, price, asked, max_output_tokens=MOST_OUTPUT)), deciding)
    limit = LABEL_TOKENS.get(by, more.pop("max_output_tokens", 512))
    form = form_of(template, by)
    spec = ChatSpec(model, endpoint, price, form, max_output_tokens=limit, **more)
    return ChatJudge(kind(spec), template, lenient=lenient)
