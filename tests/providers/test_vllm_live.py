"""A real vLLM server: run with JUDGELOOP_TEST_VLLM_URL=http://HOST:PORT/v1 (and
JUDGELOOP_TEST_VLLM_MODEL,
"tiny" by default).

The words of a small model mean nothing; what is tested is the wire: probe, structured output,
probabilities, usage.
"""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from support.chat_judges import chat_judge
from support.commandline import judgeloop
from support.endings import ends, replied

from judgeloop.core.errors import ErrorKind
from judgeloop.core.records import Call, Item, Verdict
from judgeloop.judges.chat import LABEL_TOKENS
from judgeloop.judges.prompt import shipped_template
from judgeloop.providers.pricing import FREE

URL = os.environ.get("JUDGELOOP_TEST_VLLM_URL", "")
MODEL = os.environ.get("JUDGELOOP_TEST_VLLM_MODEL", "tiny")
CALL = Call(Item("i", "Name a colour."), ("a", "b"), ("Blue.", "Seven."))

pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not URL, reason="JUDGELOOP_TEST_VLLM_URL is not set")]


def ask(by, *, model=MODEL, url=URL):
    async def story():
        template = shipped_template({"choice": "pairwise-choice.v1", "logprob": "pairwise-label.v1"}[by])
        judge = chat_judge(
            "vllm", url, model=model, key="none", timeout_s=60.0, template=template, price=FREE,
            by=by, max_output_tokens=LABEL_TOKENS[by],
        )  # fmt: skip
        try:
            return await judge.judge(CALL)
        finally:
            await judge.aclose()

    return asyncio.run(story())


@pytest.mark.parametrize("by", ["choice", "logprob"])
def test_a_real_server_gives_a_verdict_in_form_with_its_usage(by):
    reply = ask(by)
    assert isinstance(reply.answer, Verdict)
    assert reply.usage.input_tokens > 100
    assert 1 <= reply.usage.output_tokens <= 8
    assert (reply.model, reply.cost_p) == (MODEL, 0)
    if by == "choice":
        assert reply.answer.score in {0.0, 0.5, 1.0}
    else:
        assert 0.0 < reply.answer.score < 1.0, "probabilities, not a label"


def test_a_model_that_is_not_served_is_refused_by_name():
    with ends(ErrorKind.REJECTED, match=f"serves .*{MODEL}"):
        ask("choice", model="another")


@pytest.mark.parametrize("verdict", ["choice", "logprob"])
def test_compare_runs_to_its_limit_on_a_real_server(incidents, verdict):
    arguments = [
        "compare", incidents / "lead.jsonl", incidents / "central.jsonl", "--items", incidents / "items.jsonl",
        "--judge", f"vllm/{MODEL}", "--judge-base-url", URL, "--verdict", verdict,
        "JUDGELOOP_MIN_JUDGMENTS=12", "--max-judgments", 12, "--json",
    ]  # fmt: skip
    outcome = json.loads(judgeloop(*arguments).stdout)
    assert outcome["judged"] == 12
    assert 12 <= outcome["attempts"] <= 24, "a tie in the first order is a tie"
    assert outcome["spent_usd"] == 0.0
    again = json.loads(judgeloop(*arguments).stdout)
    assert (again["attempts"], again["remembered"]) == (0, outcome["attempts"])


def test_two_systems_answer_and_are_compared_on_a_real_server(incidents, tmp_path):
    for name, temperature in (("cold", 0), ("warm", 1)):
        described = f'model = "vllm/{MODEL}"\nmax-tokens = 24\ntemperature = {temperature}\n'
        (tmp_path / f"{name}.toml").write_text(described, encoding="utf-8")
    systems = [tmp_path / "cold.toml", tmp_path / "warm.toml"]
    flags = [
        flag
        for system in systems
        for flag in ("--system", f"{system}.base-url={URL}", "--system", f"{system}.version=1")
    ]
    arguments = [
        "compare", *systems, "--items", incidents / "items.jsonl", *flags, "--judge", f"vllm/{MODEL}",
        "--judge-base-url", URL, "--verdict", "choice", "JUDGELOOP_MIN_JUDGMENTS=6", "--max-judgments", 6, "--json",
    ]  # fmt: skip
    outcome = json.loads(judgeloop(*arguments).stdout)
    assert outcome["judged"] == 6
    assert outcome["spent_usd"] == 0.0
    generated = outcome["generated"]
    assert [one["asked"] for one in generated] == [6, 6]
    assert all(one["output_tokens"] <= 6 * 24 for one in generated)
    again = json.loads(judgeloop(*arguments).stdout)
    assert again["attempts"] == 0, "outputs and verdicts are known"


PAIRWISE, RATED, YES_NO = "pairwise-decision.v1", "rating-decision.v1", "rating-decision-yes-no.v1"


def decided(prompt, call=CALL, *, model=MODEL):
    template = shipped_template(prompt)
    template = template.with_rubric("brevity") if template.takes_rubric else template
    judge = chat_judge("systemone", URL, model=model, key="none", timeout_s=60.0, template=template, price=FREE)
    return replied(judge, call)


def test_a_real_server_decides_with_probabilities_and_is_deterministic():
    """The letters of the first options are likely first tokens of the tiny model, as of one that follows a question."""
    first, second = (decided(PAIRWISE) for _ in range(2))
    assert isinstance(first.answer, Verdict)
    assert sum(first.answer.probabilities.values()) == pytest.approx(1.0, abs=1e-6)
    assert first.answer.probabilities == second.answer.probabilities
    assert (first.model, first.cost_p, first.usage.output_tokens) == (MODEL, 0, 1)
    assert first.usage.input_tokens > 100
    turned = decided(PAIRWISE, Call(CALL.item, CALL.systems[::-1], CALL.outputs[::-1]))
    assert turned.answer.probabilities != first.answer.probabilities


@pytest.mark.parametrize("prompt", [RATED, YES_NO])
def test_a_real_server_is_asked_for_levels_and_for_yes_or_no(prompt):
    """Of the tiny model these labels are unlikely, which the server tells."""
    reply = decided(prompt, Call(CALL.item, CALL.systems[:1], CALL.outputs[:1]))
    assert reply.usage.input_tokens > 100
    assert isinstance(reply.answer, Verdict) or "unlikely first tokens" in reply.answer.reason


def test_decisions_of_a_model_that_is_not_served_are_refused():
    with ends(ErrorKind.REJECTED, match="another"):
        decided(PAIRWISE, model="another")


def test_a_comparison_by_decisions_runs_to_its_limit_on_a_real_server(incidents, tmp_path):
    criteria = tmp_path / "criteria.toml"
    criteria.write_text('[[criterion]]\nname = "tone"\nquestion = "Which answer is more polite?"\n', encoding="utf-8")
    arguments = [
        "compare", incidents / "lead.jsonl", incidents / "central.jsonl", "--items", incidents / "items.jsonl",
        "--judge", f"systemone/{MODEL}", "--judge-base-url", URL, "--controls", "off", "--rubric", criteria,
        "JUDGELOOP_MIN_JUDGMENTS=12", "--max-judgments", 12, "--json",
    ]  # fmt: skip
    outcome = json.loads(judgeloop(*arguments).stdout)
    assert (outcome["judged"], outcome["spent_usd"]) == (12, 0.0)
    assert outcome["attempts"] == 24, "both orders, also after a tie"
    assert [one["judged"] for one in outcome["criteria"]] == [12]
    again = json.loads(judgeloop(*arguments).stdout)
    assert (again["attempts"], again["remembered"]) == (0, 24)
    wider = json.loads(judgeloop(*arguments, "--tie-margin", 1).stdout)
    assert (wider["attempts"], wider["ties"]) == (0, 12)
