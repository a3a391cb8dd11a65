"""Decision models over the wire: what is sent in each form, and what a reply of each is read as."""

from __future__ import annotations

import json

import pytest
from support.chat_judges import chat_judge
from support.chat_server import Response, error
from support.decision_server import asked, decided, material
from support.endings import ends, replied

from judgeloop.core.errors import ErrorKind
from judgeloop.core.records import Abstention, Call, Item, Reply, Verdict
from judgeloop.judges.prompt import shipped_template
from judgeloop.providers.decisions import OpenAIDecisions, SystemOne, TypeSafe, path_at
from judgeloop.providers.pricing import model_price, price_from_text, published_price

FORMS = ["openai-decisions", "typesafe", "systemone"]
CALL = Call(Item("i", "Say something.", "good"), ("a", "b"), ("a good answer", "an answer"))
RATING = Call(CALL.item, ("a",), CALL.outputs[:1])
PRICE = price_from_text("1,0")

each_form = pytest.mark.parametrize("form", FORMS)


def ask(form, server, *, call=CALL, prompt="pairwise-decision.v1", url="", **more):
    template = shipped_template(prompt)
    template = template.with_rubric("brevity") if template.takes_rubric else template
    return replied(chat_judge(form, url or server.url, template=template, price=PRICE, **more), call)


def serve(server, shares, **usage):
    server.respond = lambda request, number: decided(request, lambda shown, question, names: shares, **usage)


@each_form
def test_one_question_is_sent_with_nothing_optional_and_no_marker(chat_server, form):
    serve(chat_server, {"first": 0.7, "second": 0.2, "neither": 0.1})
    bodies = [ask(form, chat_server) and chat_server.requests[-1] for _ in range(2)]
    assert bodies[0] == bodies[1], "the same question is the same request"
    (body, _), template = bodies, shipped_template("pairwise-decision.v1")
    assert set(body) == {"model", "questions", "input" if form == "openai-decisions" else "state"}
    assert chat_server.paths[-1] == ("/v1/decisions" if form == "openai-decisions" else "/v1/systemone")
    assert material(body) == {
        "task": "Say something.", "reference": "good", "first_answer": "a good answer", "second_answer": "an answer",
    }  # fmt: skip
    (question,) = asked(body).values()
    assert question["instructions"] == template.system
    if form == "openai-decisions":
        told = {one["value"]: one["description"] for one in question["choices"]}
    else:
        told = question["criteria"]
    assert list(told.items()) == list(template.schema["options"].items())


@each_form
@pytest.mark.parametrize(
    ("shares", "score"),
    [
        ({"first": 0.7, "second": 0.2, "neither": 0.1}, 1.0),
        ({"first": 0.2, "second": 0.7, "neither": 0.1}, 0.0),
        ({"first": 0.11, "second": 0.1, "neither": 0.79}, 0.5),
        ({"first": 0.3, "second": 0.2, "neither": 0.5}, 0.5),
        ({"first": 0.47, "second": 0.43, "neither": 0.1}, 0.5),
        ({"first": 0.48, "second": 0.43, "neither": 0.09}, 0.5),
        ({"first": 0.49, "second": 0.43, "neither": 0.08}, 1.0),
        ({"first": 1.0, "second": 0.0, "neither": 0.0}, 1.0),
        ({"first": 0.5, "second": 0.3, "neither": 0.19}, 1.0),
    ],
)
def test_probabilities_become_a_verdict_and_are_kept(chat_server, form, shares, score):
    serve(chat_server, shares)
    answer = ask(form, chat_server).answer
    assert isinstance(answer, Verdict)
    assert answer.score == score
    total = sum(shares.values())
    assert answer.probabilities == shares
    assert answer.graded == pytest.approx((shares["first"] + shares["neither"] / 2) / total)


@each_form
@pytest.mark.parametrize(
    ("shares", "why", "again"),
    [
        (None, "refused by the judge", False),
        ({"first": 0.7, "second": 0.2, "neither": 0.0}, "add up to 0.90", False),
        ({"first": 1.2, "second": -0.2, "neither": 0.0}, "not a distribution", False),
        ({"first": 0.7, "second": 0.3}, "the options first, second are not those", True),
        ({"A": 0.7, "second": 0.3, "neither": 0.0}, "the options A, second", True),
    ],
)
def test_what_is_no_distribution_over_the_options_is_an_abstention_that_is_paid(chat_server, form, shares, why, again):
    serve(chat_server, shares)
    reply = ask(form, chat_server)
    assert isinstance(reply.answer, Abstention)
    assert why in reply.answer.reason
    assert reply.answer.again == again
    assert reply.cost_p == reply.usage.input_tokens * 1_000_000 > 0


@each_form
def test_an_answer_of_another_type_is_unreadable(chat_server, form):
    def turned(request, number):
        body = json.loads(decided(request).body)
        answers = body["answers"] if form == "openai-decisions" else body["answers"].values()
        for one in answers:
            one["type"] = "score"
        return Response(body=json.dumps(body).encode())

    chat_server.respond = turned
    answer = ask(form, chat_server).answer
    assert (isinstance(answer, Abstention), answer.again) == (True, True)
    assert "is of the type 'score', not 'choice'" in answer.reason


@pytest.mark.parametrize("place", ["vllm", "sglang"])
def test_labels_that_the_model_would_not_have_said_are_no_verdict(chat_server, place):
    def unlikely(request, number):
        body = json.loads(decided(request).body)
        if place == "vllm":
            body["diagnostics"] = {"verdict": {"label_mass": 0.006, "argmax_is_label": False}}
        else:
            body["answers"]["verdict"]["x_label_mass"] = 0.006
        return Response(body=json.dumps(body).encode())

    chat_server.respond = unlikely
    answer = ask("systemone", chat_server).answer
    assert answer == Abstention("the labels are unlikely first tokens (their probabilities add up to 0.01)")


@each_form
def test_a_rating_is_the_mean_of_its_levels_and_not_the_servers_score(chat_server, form):
    levels = [0.0, 0.1, 0.2, 0.3, 0.4]
    chat_server.respond = lambda request, number: decided(
        request, lambda shown, question, names: dict(zip(names, levels, strict=True))
    )
    answer = ask(form, chat_server, call=RATING, prompt="rating-decision.v1").answer
    assert answer.score == pytest.approx(sum(n / 4 * share for n, share in enumerate(levels)))
    assert list(answer.probabilities) == ["useless", "poor", "middling", "good", "excellent"]
    assert answer.graded is None
    (question,) = asked(chat_server.requests[-1]).values()
    told = [one["description"] for one in question["levels"]] if form == "openai-decisions" else question["criteria"]
    assert told == list(shipped_template("rating-decision.v1").schema["options"].values())


@each_form
def test_a_yes_or_no_is_the_probability_of_yes(chat_server, form):
    serve(chat_server, {"yes": 0.83, "no": 0.17})
    answer = ask(form, chat_server, call=RATING, prompt="rating-decision-yes-no.v1").answer
    assert answer.score == pytest.approx(0.83)
    (question,) = asked(chat_server.requests[-1]).values()
    assert question["type"] == ("predicate" if form == "openai-decisions" else "noul")
    assert material(chat_server.requests[-1])["rubric"] == "brevity"


@each_form
def test_free_output_however_much_is_reported_contradicts_no_quote(chat_server, form):
    serve(chat_server, {"first": 0.7, "second": 0.2, "neither": 0.1}, output_tokens=2000)
    judge = chat_judge(form, chat_server.url, price=PRICE)
    reply, quote = replied(judge, CALL), judge.quote(CALL)
    assert (reply.breach, reply.usage.output_tokens) == ("", 2000)
    assert reply.cost_p == reply.usage.input_tokens * 1_000_000 <= quote.cost_p
    assert quote.tokens < 10_000, "free output counts against no limit of tokens a minute"


def test_the_cost_that_a_gateway_reports_is_booked_where_it_is_larger(chat_server):
    serve(chat_server, {"first": 0.7, "second": 0.2, "neither": 0.1}, cost=0.0021)
    assert ask("systemone", chat_server).cost_p == 2_100_000_000
    serve(chat_server, {"first": 0.7, "second": 0.2, "neither": 0.1}, cost=1e-9)
    reply = ask("systemone", chat_server)
    assert reply.cost_p == reply.usage.input_tokens * 1_000_000


@pytest.mark.parametrize(
    ("base", "route", "path"),
    [
        ("http://localhost:8000/v1", "systemone", "/systemone"),
        ("http://localhost:8000/v1/", "decisions", "/decisions"),
        ("https://api.typesafe.ai", "systemone", "/v1/systemone"),
        ("https://api.typesafe.ai/", "systemone", "/v1/systemone"),
        ("https://api.perplexity.ai/v1/decisions", "systemone", "https://api.perplexity.ai/v1/decisions"),
        ("https://x.example/api/systemone/", "systemone", "https://x.example/api/systemone"),
    ],
)
def test_the_route_is_added_to_an_address_unless_it_is_there(base, route, path):
    assert path_at(base, route) == path


def test_a_whole_address_is_posted_to_as_it_is(chat_server):
    serve(chat_server, {"first": 0.7, "second": 0.2, "neither": 0.1})
    ask("systemone", chat_server, url=f"{chat_server.root}/api/alpha/decisions")
    assert chat_server.paths == ["/api/alpha/decisions"]


@each_form
def test_a_reply_without_usage_costs_its_worst_case(chat_server, form):
    serve(chat_server, {"first": 0.7, "second": 0.2, "neither": 0.1}, input_tokens="many")
    assert ask(form, chat_server).cost_p is None


@each_form
def test_the_server_gets_no_header_of_the_environment(chat_server, form, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    chat_server.respond = lambda request, number: error(401)
    with pytest.raises(Exception, match="not accepted"):
        ask(form, chat_server, own=True)
    assert "secret" not in json.dumps(chat_server.headers)


def fail(server, status, body):
    server.respond = lambda request, number: Response(status, json.dumps(body).encode())


@pytest.mark.parametrize("form", ["typesafe", "systemone"])
def test_an_item_that_has_too_many_tokens_is_too_long_and_was_not_billed(chat_server, form):
    fail(chat_server, 400, {"detail": {"error_type": "max_tokens_exceeded"}})
    reply = ask(form, chat_server)
    assert reply == Reply(Abstention("too long for the model"), cost_p=0)
    assert len(chat_server.requests) == 1


@each_form
def test_a_request_that_a_check_refuses_is_told_without_the_texts_that_it_quotes(chat_server, form):
    wrong = {"loc": ["body", "state"], "msg": "Input should be shorter", "type": "x", "input": "SECRET TEXT"}
    fail(chat_server, 422, {"detail": [wrong]})
    with ends(ErrorKind.REFUSED, match="body.state: Input should be shorter") as caught:
        ask(form, chat_server)
    assert "SECRET" not in str(caught.value)


@each_form
def test_a_model_that_answers_no_decisions_ends_the_run_at_once(chat_server, form):
    fail(chat_server, 501, {"error": {"message": "The model does not support the structured decision API"}})
    with ends(ErrorKind.REJECTED, match="cannot do what is asked.*does not support the structured decision") as caught:
        ask(form, chat_server)
    assert not caught.value.billed


@pytest.mark.parametrize(("status", "words"), [(401, "the key is not accepted"), (403, "no key was sent")])
def test_a_wrong_key_and_no_key_are_told_apart(chat_server, status, words):
    fail(chat_server, status, {"detail": "no"})
    with ends(ErrorKind.REJECTED, match=words):
        ask("typesafe", chat_server, key="none" if status == 403 else "k")


PRICES = [
    (OpenAIDecisions, "gpt-6-luna", "https://api.openai.com/v1", 100_000),
    (TypeSafe, "jev-latest", "https://api.typesafe.ai", 42_000),
    (TypeSafe, "jev-1.14.0", "https://api.typesafe.ai", 42_000),
    (SystemOne, "typesafe/jev-1.14", "https://openrouter.ai/api/alpha/decisions", 42_000),
    (SystemOne, "pplx-decider-v1.2", "https://api.perplexity.ai/v1/decisions", 20_000),
    (SystemOne, "gpt-6-luna", "https://api.openai.com/v1", None),  # the price of the chat model
    (SystemOne, "m", "https://decisions.example/v1", None),
    (SystemOne, "m", "http://8.8.8.8:8000/v1", None),
    (SystemOne, "m", "http://localhost:8000/v1", 0),
    (SystemOne, "m", "http://192.168.1.7:8000/v1", 0),
    (SystemOne, "m", "http://gpu-box:8000/v1", 0),
]


@pytest.mark.parametrize(("kind", "model", "url", "input_p"), PRICES)
def test_the_published_price_is_that_of_the_input_and_only_a_server_at_home_is_free(kind, model, url, input_p):
    price = model_price(kind.provider, model, url, given=None, tier="standard")
    found = None if price is None else (price.input.base_p, price.output.base_p)
    assert found == (None if input_p is None else (input_p, 0))


def test_a_chat_model_without_a_price_of_its_output_has_none():
    assert published_price("jev-1.14.0", provider="typesafe") is None
    assert published_price("gpt-6-luna", provider="openai").output.base_p > 0


@each_form
def test_the_quote_bounds_the_most_tokens_that_k_questions_were_seen_to_take(chat_server, form):
    """Jev: 310 tokens with one question, 8,581 with 400; OpenAI 350 for two; vLLM counts the text for each."""
    call = Call(Item("i", "p" * 3000), ("a", "b"), ("é" * 900, "🙂" * 200))
    quote = chat_judge(form, chat_server.url, price=PRICE).quote(call)
    texts = 3000 + 1800 + 800
    assert quote.cost_p >= (texts + 2048 + 256) * 1_000_000
    assert quote.cost_p < (texts + 6000) * 1_000_000
