"""Several criteria in one request: their file, what is asked, and what becomes of the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.chat_judges import chat_judge
from support.chat_server import completion
from support.decision_server import asked, decided, honest, material
from support.endings import replied

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Abstention, Call, Item, Query, Verdict, Vote
from judgeloop.engine.presentation import combine, decide
from judgeloop.judges.criteria import read_criteria
from judgeloop.judges.prompt import template_for

CALL = Call(Item("i", "Say something.", "good"), ("a", "b"), ("a good answer", "an answer"))
SWAPPED = Call(CALL.item, ("b", "a"), CALL.outputs[::-1])
QUERY = Query(CALL.item, CALL.systems, CALL.outputs)
RATING = Call(CALL.item, ("a",), CALL.outputs[:1])
TWO = """
[[criterion]]
name = "accuracy"
question = "Which answer says fewer things that are wrong?"

[[criterion]]
name = "tone"
question = "Which answer is more polite?"
"""
WEIGHTED = TWO.replace('"accuracy"', '"accuracy"\nweight = 3').replace("\n[[", 'decide = "weighted"\n[[', 1)


@pytest.fixture
def file():
    def made(text=TWO):
        Path("criteria.toml").write_text(text, encoding="utf-8")
        return "criteria.toml"

    return made


def template(verdict, rubric, *, rating=False):
    return template_for(verdict, None, rubric, rating=rating)


def opposed(shown, question, names):
    """By tone the other answer is better."""
    found = honest(shown, question, names)
    other = {"first": "second", "second": "first"}
    return {other.get(name, name): share for name, share in found.items()} if question == "tone" else found


@pytest.mark.parametrize("form", ["openai-decisions", "typesafe", "systemone"])
def test_each_criterion_is_a_question_of_the_same_request(chat_server, file, form):
    chat_server.respond = lambda request, number: decided(request, opposed)
    answer = replied(chat_judge(form, chat_server.url, template=template("decision", file())), CALL).answer
    (request,) = chat_server.requests
    assert list(asked(request)) == ["verdict", "accuracy", "tone"]
    assert asked(request)["tone"]["instructions"].startswith("Which answer is more polite? ")
    assert set(material(request)) == {"task", "reference", "first_answer", "second_answer"}
    assert answer.score == 1.0
    assert answer.probabilities["first"] == answer.probabilities["accuracy.first"] == 0.9
    assert answer.probabilities["tone.second"] == 0.9
    whole = combine(QUERY, (CALL, SWAPPED), (answer, _answer(chat_server, form, file(), SWAPPED)))
    assert (whole.score, whole.criteria) == (1.0, {"accuracy": 1.0, "tone": 0.0})


def _answer(server, form, rubric, call):
    return replied(chat_judge(form, server.url, template=template("decision", rubric)), call).answer


def test_a_weighted_sum_decides_without_an_overall_question(chat_server, file):
    chat_server.respond = lambda request, number: decided(request, opposed)
    answer = _answer(chat_server, "systemone", file(WEIGHTED), CALL)
    assert list(asked(chat_server.requests[0])) == ["accuracy", "tone"]
    assert answer.score == 1.0
    assert answer.probabilities["first"] == pytest.approx((3 * 0.9 + 0.05) / 4)
    assert answer.graded == pytest.approx((3 * 0.9 + 0.05) / 4 + 0.025)


@pytest.mark.parametrize(("text", "kept"), [(TWO, True), (WEIGHTED, False)])
def test_a_refused_criterion_is_missing_unless_it_decides(chat_server, file, text, kept):
    chat_server.respond = lambda request, number: decided(
        request, lambda shown, question, names: None if question == "tone" else honest(shown, question, names)
    )
    answer = _answer(chat_server, "openai-decisions", file(text), CALL)
    assert isinstance(answer, Verdict) is kept
    if kept:
        assert not any(name.startswith("tone") for name in answer.probabilities)
    else:
        assert answer == Abstention("refused by the judge")


def test_a_chat_judge_gives_one_structured_reply(chat_server, file):
    said = {"reason": "because", "criteria": {"accuracy": "A", "tone": "B"}, "winner": "tie"}
    chat_server.respond = lambda request, number: completion(json.dumps(said))
    rubric = template("schema", file())
    answer = replied(chat_judge("openai", chat_server.url, template=rubric), CALL).answer
    assert (answer.score, answer.reason) == (0.5, "because")
    schema = chat_server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["reason", "criteria", "winner"]
    assert schema["properties"]["criteria"]["required"] == ["accuracy", "tone"]
    shown = chat_server.requests[0]["messages"][-1]["content"]
    assert '"criteria": {"accuracy": "Which answer says fewer things that are wrong?"' in shown
    turned = Verdict(0.5, "", probabilities={**answer.probabilities, "tone.first": 1.0, "tone.second": 0.0})
    whole = combine(QUERY, (CALL, SWAPPED), (answer, turned))
    assert whole.criteria == {"accuracy": 0.5, "tone": 0.0}, "accuracy changed with the order"
    weighted = template("schema", file(WEIGHTED))
    del said["winner"]
    answer = replied(chat_judge("openai", chat_server.url, template=weighted), CALL).answer
    assert answer.score == 1.0
    assert "winner" not in weighted.schema["properties"]


@pytest.mark.parametrize(
    "said",
    [
        {"winner": "A"},
        {"criteria": {"accuracy": "A"}, "winner": "A"},
        {"criteria": {"accuracy": "A", "tone": "C"}, "winner": "A"},
        {"criteria": {"accuracy": "A", "tone": "B", "more": "A"}, "winner": "A"},
        {"criteria": ["A", "B"], "winner": "A"},
        {"criteria": {"accuracy": "A", "tone": "B"}},
    ],
)
def test_a_reply_without_a_label_for_each_is_unparsable(chat_server, file, said):
    chat_server.respond = lambda request, number: completion(json.dumps(said))
    answer = replied(chat_judge("openai", chat_server.url, template=template("schema", file())), CALL).answer
    assert (isinstance(answer, Abstention), answer.again) == (True, True)


@pytest.mark.parametrize("decide", ["overall", "weighted"])
def test_ratings_by_criteria_are_means_of_levels(chat_server, file, decide):
    text = TWO if decide == "overall" else WEIGHTED
    chat_server.respond = lambda request, number: decided(request, _levels)
    rubric = template("decision", file(text), rating=True)
    answer = replied(chat_judge("systemone", chat_server.url, template=rubric), RATING).answer
    (rated,) = {combine(Query(CALL.item, ("a",), RATING.outputs), (RATING,), (answer,))}
    assert rated.criteria == pytest.approx({"accuracy": 0.75, "tone": 0.25})
    assert rated.score == pytest.approx(0.5 if decide == "overall" else (3 * 0.75 + 0.25) / 4)
    assert rated.graded is None


def _levels(shown, question, names):
    best = {"accuracy": 3, "tone": 1}.get(question, 2)
    return {name: float(place == best) for place, name in enumerate(names)}


def test_a_panel_decides_each_criterion_by_its_vote():
    each = [
        Verdict(1.0, criteria={"accuracy": 1.0, "tone": 0.0}),
        Verdict(1.0, criteria={"accuracy": 1.0, "tone": 1.0}),
        Verdict(0.0, criteria={"accuracy": 0.0, "tone": 0.0, "other": 1.0}),
    ]
    assert decide(each, Vote.MAJORITY).criteria == {"accuracy": 1.0, "tone": 0.0}


def test_what_decides_and_every_word_is_part_of_the_key(file):
    texts = [TWO, WEIGHTED, TWO.replace("polite", "brief"), TWO.replace('"tone"', '"manners"')]
    for verdict in ("decision", "schema"):
        assert len({template(verdict, file(text)).digest for text in texts}) == len(texts)
        again = TWO.replace("\n\n", "\n# a comment\n\n")
        assert template(verdict, file(again)).digest == template(verdict, file(TWO)).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[criterion]", "this is no TOML"),
        ("", "expected 1 to 8 tables"),
        (TWO * 5, "expected 1 to 8 tables .*, found 10"),
        ('decide = "mean"' + TWO, "expected overall or weighted, found 'mean'"),
        (TWO.replace("tone", "accuracy"), "two criteria are called accuracy"),
        (TWO.replace("tone", "to.ne"), "criterion 2: expected a name"),
        (TWO.replace("tone", "verdict"), "but not verdict"),
        (TWO.replace("question", "text"), "unknown field 'text'"),
        (TWO.replace("Which answer is more polite?", " "), r"criterion 2 \(tone\): expected a question"),
        (WEIGHTED.replace("3", "0"), "expected a weight above 0, found 0"),
        (WEIGHTED.replace('decide = "weighted"', ""), "a weight counts only with"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_was_expected(file, text, said):
    with pytest.raises(DataError, match=said):
        read_criteria(Path(file(text)))


@pytest.mark.parametrize(
    ("verdict", "prompt", "said"),
    [
        ("choice", None, "which cannot answer several criteria"),
        ("schema", "pairwise-rubric.v1", "needs a place for them"),
        ("decision", "pairwise-decision-rubric.v1", "must have no place for a rubric"),
    ],
)
def test_what_has_no_place_for_criteria_is_refused(file, verdict, prompt, said):
    with pytest.raises(InputError, match=said):
        template_for(verdict, prompt, file())


def test_a_prompt_for_criteria_needs_some():
    with pytest.raises(InputError, match="has a place for criteria"):
        template_for("schema", "pairwise-criteria.v1", None)
