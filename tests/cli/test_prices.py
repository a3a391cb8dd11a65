"""What the command line says on tiers, thoughts and cached prompts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.chat_server import completion, goodness, used, verdict
from support.commandline import judgeloop, result_of
from support.text import unwrapped


def compare(priced, *more):
    return result_of("compare", "a.jsonl", "b.jsonl", *priced, *more)


def served(tier):
    def respond(request, number):
        response = verdict(goodness(request), usage=used(request))
        body = json.dumps(json.loads(response.body) | {"service_tier": tier}).encode()
        return replace(response, body=body)

    return respond


def test_a_run_at_flex_costs_half_and_makes_the_same_decision(priced, chat_server):
    chat_server.respond = served("default")
    standard = compare(priced)
    assert (standard["tier"], standard["winner"]) == ("", "a")
    chat_server.respond = served("flex")
    flex = compare(priced, "--tier", "flex", "--ledger", "other.sqlite")
    assert (flex["winner"], flex["run"]) == (standard["winner"], standard["run"])
    assert flex["spent_usd"] == pytest.approx(standard["spent_usd"] / 2)
    assert flex["tier"].startswith("openai/judge at flex, by prices.toml")


def test_verdicts_at_one_tier_are_found_again_at_another(priced, chat_server):
    chat_server.respond = served("flex")
    compare(priced, "--tier", "flex")
    again = compare(priced)
    assert (again["attempts"], again["spent_usd"]) == (0, 0)


def test_a_dry_run_expects_the_price_at_flex_and_fears_the_standard_price(priced):
    standard, flex = compare(priced, "--dry-run"), compare(priced, "--dry-run", "--tier", "flex")
    assert flex["usd"]["expected"] == pytest.approx(standard["usd"]["expected"] / 2)
    assert flex["usd"]["worst"] == standard["usd"]["worst"]
    text = judgeloop("compare", "a.jsonl", "b.jsonl", *priced, "--dry-run", "--tier", "flex").stdout
    assert "Tier: openai/judge at flex, by prices.toml" in unwrapped(text)


def test_doctor_shows_the_tier_and_its_price(priced, chat_server):
    chat_server.respond = served("flex")
    done = judgeloop("doctor", *priced, "--tier", "flex")
    assert done.exit_code == 0, done.stdout
    assert "note tier flex, by prices.toml; the standard price is reserved" in unwrapped(done.stdout)
    assert "note tier" not in unwrapped(judgeloop("doctor", *priced).stdout)


def thoughtful(limit):
    """Thoughts that a limit of so many tokens cuts."""

    def respond(request, number):
        counts = used(request) | {"completion_tokens_details": {"reasoning_tokens": 900}}
        if request["max_tokens"] >= limit:
            return completion('{"reason": "so", "winner": "A"}', usage=counts | {"completion_tokens": 960})
        counts |= {"completion_tokens": 512, "completion_tokens_details": {"reasoning_tokens": 512}}
        return completion(None, finish="length", usage=counts)

    return respond


def test_doctor_finds_truncation_by_thoughts_and_proposes_what_mends_it(priced, chat_server):
    chat_server.respond = thoughtful(1024)
    done = judgeloop("doctor", *priced)
    assert done.exit_code == 4
    assert (
        "truncated at 512 tokens, 512 of them thoughts; give --judge-max-tokens 1024, or a lower --judge-effort"
    ) in unwrapped(done.stdout)
    mended = judgeloop("doctor", *priced, "--judge-max-tokens", "1024")
    assert mended.exit_code == 0, mended.stdout
    assert "960 output tokens, 900 of them thoughts" in unwrapped(mended.stdout)


def test_a_result_shows_how_many_tokens_were_thoughts(priced, chat_server):
    chat_server.respond = thoughtful(1024)
    found = compare(priced, "--judge-max-tokens", "1024", "--max-judgments", "5")
    assert found["tokens"]["reasoning_tokens"] == 900 * found["attempts"] > 0
    done = judgeloop(
        "compare", "a.jsonl", "b.jsonl", *priced, "--judge-max-tokens", "1024",
        "--max-judgments", "5", "--ledger", "other.sqlite",
    )  # fmt: skip
    assert f"{found['tokens']['reasoning_tokens']:,} of them thoughts" in unwrapped(done.stdout)


def test_a_result_and_the_ledger_show_tokens_and_prices_to_check_an_invoice_against(priced, chat_server):
    chat_server.respond = lambda request, number: verdict(
        goodness(request), usage=used(request) | {"prompt_tokens_details": {"cached_tokens": 200}}
    )
    found = compare(priced)
    sent = [used(request) for request in chat_server.requests]
    tokens = found["tokens"]
    assert tokens["input_tokens"] == sum(usage["prompt_tokens"] for usage in sent)
    assert tokens["output_tokens"] == sum(usage["completion_tokens"] for usage in sent)
    assert tokens["cache_read_tokens"] == 200 * found["attempts"] > 0
    rates = {"input_tokens": 1, "cache_read_tokens": 0.1 - 1, "output_tokens": 10}
    cost = sum(rate * tokens[name] / 1e6 for name, rate in rates.items())
    assert found["spent_usd"] == pytest.approx(cost)
    assert found["cached_usd_saved"] == pytest.approx(found["attempts"] * 200 * 0.9e-6)
    done = judgeloop("ledger", "show", "--json")
    for groups in json.loads(done.stdout).values():
        assert sum(group["input_tokens"] for group in groups.values()) == tokens["input_tokens"]
        assert sum(group["output_tokens"] for group in groups.values()) == tokens["output_tokens"]
    price = "$1.00 in and $10.00 out for a million tokens, $0.10 for cached input, from"
    assert found["prices"].startswith(price)
    again = judgeloop("compare", "a.jsonl", "b.jsonl", *priced, "--ledger", "other.sqlite")
    assert f"price {price} prices.toml" in unwrapped(again.stdout)
    said = f"{tokens['input_tokens']:,} input tokens and {tokens['output_tokens']:,} output tokens"
    assert said in unwrapped(again.stdout)
    assert "prompt caching saved $0.00" in unwrapped(again.stdout)


def test_a_dry_run_shows_the_price_and_a_judge_that_costs_nothing_has_none(priced, chat_server):
    arguments = "compare", "a.jsonl", "b.jsonl", "--dry-run"
    said = unwrapped(judgeloop(*arguments, *priced).stdout)
    assert "Price: $1.00 in and $10.00 out for a million tokens" in said
    assert not chat_server.requests
    free = "--judge-price", "0,0"
    said = unwrapped(judgeloop(*arguments, *priced[:4], *free).stdout)
    assert "Forecast only" in said
    assert "rice:" not in said


def test_the_prices_of_a_panel_are_shown_by_judge(tmp_path, priced, monkeypatch, chat_server):
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123")
    with (tmp_path / "prices.toml").open("a", encoding="utf-8") as file:
        file.write('["openai/second"]\ninput_per_mtok = 2\noutput_per_mtok = 3\n')
    panel = "--judge", "openai/judge", "--judge", "openai/second", "--judge-price", "prices.toml"
    done = judgeloop("compare", "a.jsonl", "b.jsonl", *panel, "--dry-run")
    said = unwrapped(done.output)
    assert "Price: openai/judge $1.00 in and $10.00 out for a million tokens" in said
    assert "; openai/second $2.00 in and $3.00 out for a million tokens, from prices.toml" in said
