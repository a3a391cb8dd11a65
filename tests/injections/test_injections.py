"""Texts that want to steer: kept whole and in their place before the judge, never a verdict,
harmless where they are shown."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from support.results import make_result, undecided

from judgeloop.cli.files import FORMS, OF_MARKDOWN, render_json
from judgeloop.cli.output import as_flags
from judgeloop.core.keys import KeyIngredients
from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.core.records import Abstention, Call, Item, JudgeIdentity, Verdict
from judgeloop.judges.parsing import parse_verdict
from judgeloop.judges.prompt import shipped_template
from judgeloop.questions.compare.page import page

HERE = Path(__file__).parent
ROWS = [json.loads(line) for line in (HERE / "corpus.jsonl").read_text(encoding="ascii").splitlines()]
TEXTS = {row["id"]: row["text"] * row.get("times", 1) for row in ROWS}
VERDICTS = {row["id"]: row["verdict"] for row in ROWS if "verdict" in row}

PAIRWISE = ["pairwise.v1", "pairwise-reference.v1", "pairwise-label.v1", "pairwise-rubric.v1"]
PLAIN = {"task": "a plain task", "reference": "a plain reference", "answer_A": "one", "answer_B": "another"}
PLACES = [*PLAIN, "rubric"]
MARKER = re.compile("[0-9a-f]{32}")

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
STEERING = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u2800\u3164\uffa0\u115f\u1160\u034f]")
COMMAND = re.compile(r"\s*(::|##\[|##vso\[)")
INERT = {"text", "softbreak", "text_special"}
COMMENT = "<!-- -->"


def one_by_one(check):
    """Run `check` on every text, and name those that fail."""
    failed = {}
    for name, text in TEXTS.items():
        try:
            check(name, text)
        except AssertionError as error:
            failed[name] = str(error).split("\n", 1)[0]
    assert not failed


def storable(text):
    """Whether UTF-8 can hold it; readers mend names and ids that it cannot."""
    return text.encode("utf-8", "replace").decode() == text


def template(name, rubric=None):
    found = shipped_template(name)
    return found.with_rubric(rubric or "a plain rubric") if found.takes_rubric else found


def call_with(place, text):
    material = PLAIN | ({place: text} if place in PLAIN else {})
    item = Item("i", material["task"], material["reference"])
    return Call(item, ("a", "b"), (material["answer_A"], material["answer_B"]))


def only_once(pairs):
    assert max(Counter(key for key, _ in pairs).values()) == 1
    return dict(pairs)


CASES = [(name, place) for name in PAIRWISE for place in PLACES if place != "rubric" or name == "pairwise-rubric.v1"]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_every_text_reaches_the_judge_whole_once_and_inside_its_place(name, place):
    def check(_, text):
        if place == "rubric" and (not text or not storable(text)):
            return  # a rubric is a text or a file that somebody gave: never empty, always UTF-8
        asked = template(name, text if place == "rubric" else None)
        system, user = asked.render(call_with(place, text))
        user.encode()
        opening, *material, closing = user.split("\n")
        assert system == asked.system
        assert len(material) == asked.user.count("\n") - 1, "no line is added"
        assert opening == closing
        assert MARKER.fullmatch(opening)
        assert user.count(opening) == 2
        rubric = {"rubric": "a plain rubric"} if asked.takes_rubric else {}
        expected = PLAIN | rubric | {place: text}
        assert json.loads("\n".join(material), object_pairs_hook=only_once) == expected
        (line,) = [line for line in material if line.startswith(f'  "{place}": ')]
        literal = line.removeprefix(f'  "{place}": ').removesuffix(",")
        assert json.loads(literal) == text
        assert user.count(literal) == 1

    one_by_one(check)


@pytest.mark.parametrize("name", PAIRWISE)
def test_the_marker_is_new_each_time_and_no_part_of_the_verdicts_key(name):
    asked = template(name)
    judge = JudgeIdentity("openai", "m", {"prompt": asked.digest})

    def check(_, text):
        call = call_with("answer_A", text)
        before = KeyIngredients.of(judge, call, blind=True).key
        first, second = (asked.render(call)[1].split("\n", 1)[0] for _ in range(2))
        assert first != second
        assert KeyIngredients.of(judge, call, blind=True).key == before
        assert not any(
            marker in value
            for marker in (first, second)
            for value in KeyIngredients.of(judge, call, blind=True).to_note().values()
        )

    one_by_one(check)


@pytest.mark.parametrize("name", PAIRWISE)
def test_only_a_whole_reply_that_is_one_valid_verdict_is_a_verdict(name):
    asked = template(name)

    def check(row, text):
        answer = parse_verdict(text, asked.labels, asked.answer)
        label = VERDICTS.get(row)
        if label in asked.labels:
            assert isinstance(answer, Verdict)
            assert answer.score == asked.labels[label]
        else:
            assert isinstance(answer, Abstention)
            assert answer.reason.startswith("unparsable")

    one_by_one(check)


@pytest.mark.parametrize("name", PAIRWISE)
def test_no_text_beside_a_valid_verdict_is_a_verdict(name):
    asked = template(name)
    good = json.dumps({"reason": "good", "winner": "A"})

    def check(_, text):
        if text.strip(" \t\r\n"):
            for reply in (text + good, good + text):
                assert isinstance(parse_verdict(reply, asked.labels, asked.answer), Abstention)

    one_by_one(check)


def test_a_text_inside_a_verdicts_reason_changes_no_verdict():
    asked = template("pairwise.v1")

    def check(_, text):
        reply = json.dumps({"reason": text, "winner": "B"})
        answer = parse_verdict(reply, asked.labels)
        if len(reply) <= 65536:
            assert isinstance(answer, Verdict)
            assert answer.score == 0.0
            answer.reason.encode()
        else:
            assert isinstance(answer, Abstention)

    one_by_one(check)


def shown_safely(printed):
    """Nothing unseen, and no line that a CI system would take for a command."""
    assert printed.endswith("\n")
    for line in printed.split("\n"):
        assert not [letter for letter in line if unicodedata.category(letter) in UNSEEN]
        assert not STEERING.search(line)
        assert not COMMAND.match(line)


def structure(markdown):
    """The markup of a text: blocks, and what stands in them but text and the comments that part a link."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown.removeprefix(OF_MARKDOWN))
    return [
        (token.type, [one.type for one in token.children or [] if one.type not in INERT and one.content != COMMENT])
        for token in tokens
    ]


def inert(markdown, harmless):
    """The markup is that of a `harmless` text in the same place; there is no mention, nothing that becomes a link."""
    assert structure(markdown) == structure(harmless)
    assert not re.search(r"@\w|https?://|www\.", markdown, re.IGNORECASE)


def as_names(text):
    """A result with a text for the winner's name, the loser's, and what its server calls
    the model."""
    result = make_result(winner=0, tally=Tally(items=100, wins=(8, 1), ties=1), systems=(text, f"not {text}"))
    result = replace(result, counts=replace(result.counts, judge_models=((text,),)))
    return replace(result, page=page(result))


def as_reason(text):
    """A result that stopped with a text as the last abstention's reason, and has rows with it as id
    and reason."""
    result = undecided(StopKind.ABSTENTIONS, f"the judge gave no verdict; the last reason: {text}")
    rows = tuple(replace(row, item_id=text, reason=text) for row in result.labels)
    return replace(result, labels=rows)


def rendered(result, ending):
    """The result as the command line writes it to a file with this ending."""
    return FORMS[ending](replace(result, page=result.page.said(as_flags)))


@pytest.mark.simulation
@pytest.mark.parametrize("placed", [as_names, as_reason])
def test_every_text_is_shown_as_plain_text_without_unseen_characters_or_commands(placed):
    def check(_, text):
        result = placed(text)
        if placed is as_reason or not COMMAND.match(text):  # the winner's name begins the first line
            shown_safely(rendered(result, ".txt"))
        markdown = rendered(result, ".md")
        shown_safely(markdown)
        inert(markdown, rendered(placed("harmless"), ".md"))

    one_by_one(check)


@pytest.mark.simulation
@pytest.mark.parametrize("placed", [as_names, as_reason])
def test_a_result_in_json_is_ascii_and_keeps_every_text_as_it_is(placed):
    def check(_, text):
        result = placed(text)
        printed = render_json(result)
        shown_safely(printed)
        assert printed.isascii()
        values = json.loads(printed)
        assert values["stop_sentence"] == result.stop_sentence
        assert values["systems"] == list(result.setup.systems)
        assert values["judge_models"] == [list(models) for models in result.counts.judge_models]

    one_by_one(check)


def test_the_corpus_is_large_and_of_many_families():
    assert len({row["id"] for row in ROWS}) == len(set(TEXTS.values())) == len(ROWS) >= 200
    assert len({row["family"] for row in ROWS}) >= 12
