"""The limit of output tokens that is learned from earlier replies, and what it costs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chat_server import Response, candidates, completion, goodness
from support.commandline import judgeloop
from support.database import opened

from judgeloop.core.records import Call, Item
from judgeloop.providers.token_limit import FEWEST_REPLIES, LOWEST, TokenLimit

pytestmark = pytest.mark.usefixtures("near")

CALL, OTHER = (Call(Item(name, "p"), ("a", "b"), ("x", "y")) for name in "io")
FULL = 512 + 8192
ITEMS = 20


@given(st.lists(st.integers(0, 9000), max_size=60))
def test_the_limit_is_twice_the_longest_reply_and_never_above_the_full_one(lengths):
    limit = TokenLimit(FULL)
    limit.learn_lengths(lengths)
    if len(lengths) < FEWEST_REPLIES:
        assert limit.of(CALL) == FULL
    else:
        assert limit.of(CALL) == min(FULL, max(LOWEST, 2 * max(lengths)))


def test_a_reply_that_is_cut_off_gets_the_full_limit_and_others_keep_theirs():
    limit = TokenLimit(FULL)
    limit.learn_lengths([300] * FEWEST_REPLIES)
    assert limit.cut_off(CALL), "to be asked again"
    assert (limit.of(CALL), limit.of(OTHER)) == (FULL, 600)
    assert not limit.cut_off(CALL), "there is no higher limit"


@pytest.fixture
def thinker(chat_server):
    """A server whose replies take `length` tokens, and are cut at the limit of the request."""

    def respond(request, number):
        limit = request["max_tokens"]
        sent = sum(len(message["content"].split()) for message in request["messages"])
        said = json.dumps({"reason": "because", "winner": goodness(request)})
        cut = chat_server.length > limit
        counts = {"prompt_tokens": sent, "completion_tokens": min(chat_server.length, limit)}
        return completion(None if cut else said, finish="length" if cut else "stop", usage=counts)

    chat_server.length = 700
    chat_server.respond = respond
    return chat_server


def outputs(first, count=ITEMS):
    for name, good in (("a", 3), ("b", 1)):
        rows = [
            {"id": f"i{at}", "prompt": f"p{at}", "output": f"{'good ' * good}{name}{at}"}
            for at in range(first, first + count)
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def compare(server, *more, spec="openai/o4-mini"):
    judge = ["--judge", spec, "--judge-base-url", server.url, "--judge-price", "1,10"]
    settings = ["--order", "random", f"JUDGELOOP_MIN_JUDGMENTS={ITEMS}", "--json", *more]
    return json.loads(judgeloop("compare", "a.jsonl", "b.jsonl", *judge, *settings).stdout)


def learned(server):
    """How many requests a first run made; then there are other items to judge."""
    outputs(0)
    compare(server)
    outputs(ITEMS)
    return len(server.requests)


def limits_sent(server, since=0):
    return [request["max_tokens"] for request in server.requests[since:]]


def test_the_next_run_reserves_what_replies_took_and_finds_its_verdicts(thinker):
    first = learned(thinker)
    assert set(limits_sent(thinker)) == {FULL}
    result = compare(thinker)
    assert set(limits_sent(thinker, first)) == {2 * 700}
    assert result["judged"] == ITEMS
    asked = len(thinker.requests)
    compare(thinker)
    assert len(thinker.requests) == asked, "the limit is in no key"


def test_with_little_money_the_next_run_judges_more(thinker):
    """A call may cost $0.09 at the full limit and $0.016 at the learned one; it costs $0.0073."""
    outputs(0)
    judged = [compare(thinker, "--budget", "0.20")["judged"]]
    learned(thinker)
    judged += [compare(thinker, "--budget", "0.20")["judged"]]
    assert judged[1] > judged[0] > 0


def test_where_the_money_would_end_it_goes_on_with_what_its_own_replies_took(thinker):
    """After 28 replies $0.09 are left, which cover no call at the full limit, and twelve more at the learned one."""
    outputs(0, 60)
    result = compare(thinker, "--budget", "0.30", "JUDGELOOP_MIN_JUDGMENTS=60")
    assert set(limits_sent(thinker)) == {FULL, 2 * 700}
    assert (result["stop_reason"], result["remembered"]) == ("budget", 0)
    assert 0.30 - 0.0165 < result["spent_usd"] <= 0.30
    asked = len(thinker.requests)
    again = compare(thinker, "--budget", "0.30", "JUDGELOOP_MIN_JUDGMENTS=60")
    assert (again["judged"], len(thinker.requests)) == (result["judged"], asked), "the same command ends at once"


def learned_and_cut_off(thinker):
    """The result on items whose replies are longer than the limit that was learned: each is asked
    about again at the full limit."""
    first = learned(thinker)
    thinker.length = 1500
    result = compare(thinker)
    assert (result["judged"], result["abstentions"]) == (ITEMS, 0)
    assert sorted(limits_sent(thinker, first)) == [1400] * ITEMS + [FULL] * ITEMS
    return result


def test_replies_longer_than_learned_are_asked_again(thinker):
    result = learned_and_cut_off(thinker)
    paid = ITEMS * (1400 + 1500) * 10 / 1e6
    assert paid < result["spent_usd"] < 1.2 * paid, "a truncated reply is paid for, and no more"
    with opened(".judgeloop/ledger.sqlite") as connection:
        outcomes = Counter(row for (row,) in connection.execute("SELECT outcome FROM attempts"))
    assert outcomes["abstained: truncated at 1400 tokens, a learned limit"] == ITEMS


def test_another_prompt_or_another_judge_learns_nothing_from_these_replies(thinker):
    first = learned(thinker)
    compare(thinker, "--rubric", "The shorter answer is better.")
    compare(thinker, spec="openai/o3")
    assert set(limits_sent(thinker, first)) == {FULL}


def test_after_a_reply_that_was_cut_off_an_unreadable_one_is_still_asked_again(thinker):
    learned(thinker)
    thinker.length = 1500
    plain, unread = thinker.respond, []

    def respond(request, number):
        """At the full limit the first reply about each item cannot be read."""
        asked = candidates(request)
        if request["max_tokens"] < FULL or asked in unread:
            return plain(request, number)
        unread.append(asked)
        return completion("no verdict")

    thinker.respond = respond
    result = compare(thinker)
    assert (result["judged"], result["abstentions"], len(unread)) == (ITEMS, 0, ITEMS)


def test_without_money_for_the_full_limit_the_run_halts_and_counts_no_abstention(thinker):
    """A call may cost $0.0165 at the learned limit and $0.0895 at the full one."""
    learned(thinker)
    thinker.length = 1500
    result = compare(thinker, "--budget", "0.05")
    assert (result["judged"], result["abstentions"]) == (0, 0)
    assert result["stop_reason"] == "budget"
    assert 0 < result["spent_usd"] <= 0.05


def test_the_same_command_does_not_pay_again_for_what_it_cut_off_at_the_same_limit(thinker):
    learned(thinker)
    thinker.length = 5000
    sent = []
    for _ in range(3):
        first = len(thinker.requests)
        compare(thinker, "--concurrency", "1", "--budget", "0.08")
        sent.append(set(limits_sent(thinker, first)))
    assert sent == [{1400}, {2800}, set()], "the money left covers no reply of 5,600 tokens"


def test_a_judge_that_costs_nothing_keeps_its_full_limit(thinker):
    for first in (0, ITEMS):
        outputs(first)
        compare(thinker, "--judge-price", "0,0")
    assert set(limits_sent(thinker)) == {FULL}


def test_a_limit_used_up_by_thoughts_as_an_error_is_asked_again_in_full(thinker):
    """OpenAI and Azure answer 400 if nothing of the reply was written; it may have been billed."""
    plain = thinker.respond
    said = "Could not finish the message because max_tokens or model output limit was reached."
    body = json.dumps({"error": {"message": said, "type": "invalid_request_error"}}).encode()

    def respond(request, number):
        cut = thinker.length > request["max_tokens"]
        return Response(400, body) if cut else plain(request, number)

    thinker.respond = respond
    result = learned_and_cut_off(thinker)
    assert result["spent_usd"] > ITEMS * (1400 + 1500) * 10 / 1e6, "the errors are charged"
    thinker.length = FULL + 1
    outputs(2 * ITEMS)
    result = compare(thinker, "JUDGELOOP_MAX_ABSTENTIONS=1")
    assert result["abstentions"] == ITEMS, "beyond the full limit there is no verdict"
