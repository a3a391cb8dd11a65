"""Where a judge is reached, and which key goes there."""

from __future__ import annotations

import re

import pytest
from support.judges import ELSEWHERE, LOCAL, NO_KEY, SECRET, TEMPLATE, WITH_KEY, judge

from judgeloop.core.errors import InputError
from judgeloop.judges.base import JudgeOptions
from judgeloop.providers.catalogue import chat_class
from judgeloop.providers.endpoint import ChatOptions, endpoint_for
from judgeloop.providers.errors import Failure, ending_of


@pytest.mark.parametrize(
    "environment", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " \t\n", "JUDGELOOP_JUDGE_API_KEY": " "}]
)
def test_a_missing_key_is_asked_for_by_its_variable(environment):
    with pytest.raises(InputError, match=r"^the judge needs a key: set ANTHROPIC_API_KEY"):
        judge("anthropic/claude-m", environment | WITH_KEY)
    with pytest.raises(
        InputError, match=r"^the judge needs a key: set OPENAI_API_KEY in the environment \(in CI from a secret\)"
    ):
        judge(environment=environment)


OPENAI, ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com"
MINE = {"JUDGELOOP_JUDGE_API_KEY": "mine"}
ALL = WITH_KEY | MINE | {"ANTHROPIC_API_KEY": "an"}


@pytest.mark.parametrize(
    ("spec", "environment", "flag", "address", "key"),
    [
        ("openai/m", WITH_KEY, None, OPENAI, SECRET),
        ("openai/m", {"OPENAI_API_KEY": f" {SECRET}\n"}, None, OPENAI, SECRET),
        ("openai/m", WITH_KEY, OPENAI, OPENAI, SECRET),
        ("openai/m", ALL, None, OPENAI, SECRET),
        ("openai/m", ALL, OPENAI, OPENAI, SECRET),
        ("openai/m", ALL | {"OPENAI_BASE_URL": ELSEWHERE}, None, ELSEWHERE, SECRET),
        *(
            ("openai/m", WITH_KEY | more, url, url, key)  # a server of one's own
            for url in (ELSEWHERE, LOCAL, "https://api.openai.com.example/v1")
            for more, key in (
                ({}, NO_KEY),
                ({"OPENAI_BASE_URL": ELSEWHERE}, NO_KEY),
                ({"JUDGELOOP_JUDGE_API_KEY": "  "}, NO_KEY),
                (MINE, "mine"),
            )
        ),
        ("anthropic/claude-m", ALL, None, ANTHROPIC, "an"),
        ("anthropic:claude-m", ALL, None, ANTHROPIC, "an"),
        ("anthropic/m", ALL | {"ANTHROPIC_BASE_URL": ELSEWHERE, "OPENAI_BASE_URL": LOCAL}, None, ELSEWHERE, "an"),
        ("anthropic/m", ALL, ELSEWHERE, ELSEWHERE, "mine"),
        ("vllm/m", ALL, LOCAL, LOCAL, "mine"),
        ("vllm/m", WITH_KEY | {"ANTHROPIC_API_KEY": "an"}, LOCAL, LOCAL, NO_KEY),
    ],
)  # fmt: skip
def test_a_key_goes_to_its_own_provider_and_no_other_server(spec, environment, flag, address, key):
    endpoint = judge(spec, environment, base_url=flag).chat.spec.endpoint
    assert (endpoint.base_url, endpoint.api_key) == (address, key)


@pytest.mark.parametrize("key", ["sk-…", "sk-ab cd", "sk-\x07", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_before_anything_is_sent(key):
    with pytest.raises(InputError, match=r"^OPENAI_API_KEY: expected a key of ASCII") as refused:
        judge("openai/m", {"OPENAI_API_KEY": key})
    assert key not in str(refused.value)


def test_a_vllm_server_without_an_address_is_asked_for_one():
    with pytest.raises(InputError, match=r"^`judge=vllm/…`: where is the server\? Give `judge_base_url="):
        judge("vllm/m", {})


def test_a_forecast_needs_no_key():
    assert judge(environment={}, offline=True).priced


def test_the_address_may_come_from_the_environment_and_the_flag_goes_before_it():
    environment = WITH_KEY | {"OPENAI_BASE_URL": "https://one.example/v1"}
    assert judge(environment=environment).identity.parameters["endpoint"] == "https://one.example/v1"
    flagged = judge(environment=environment, base_url="https://two.example/v1/")
    assert flagged.identity.parameters["endpoint"] == "https://two.example/v1"


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://[::1]:8000/v1/", "http://[::1]:8000/v1"),
        ("https://Judge.Example:8000/V1", "https://judge.example:8000/V1"),
    ],
)
def test_an_address_is_part_of_the_identity_in_one_way_of_writing_it(url, endpoint):
    assert judge(base_url=url).identity.parameters["endpoint"] == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host/v1",
        "https://",
        "host/v1",
        "http://[::1",
        "http://localhost:99999/v1",
        "http://localhost:port/v1",
    ],
)
def test_an_address_that_is_no_web_address_is_refused(url):
    message = f"`judge_base_url`: expected http(s)://HOST[:PORT]/…, found {url!r}"
    with pytest.raises(InputError, match="^" + re.escape(message) + "$"):
        judge(base_url=url)


@pytest.mark.parametrize("host", ["judge.example", "192.168.1.5:8000", "localhost.example"])
def test_a_key_does_not_travel_unencrypted_to_another_machine(host):
    url, message = f"http://{host}/v1", "the key would travel unencrypted to " + host.split(":")[0]
    with pytest.raises(InputError, match=message):
        judge(environment={"JUDGELOOP_JUDGE_API_KEY": SECRET}, base_url=url)
    with pytest.raises(InputError, match=message):
        judge(environment=WITH_KEY | {"OPENAI_BASE_URL": url})


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        (LOCAL, WITH_KEY),
        ("http://127.0.0.1:8000/v1", WITH_KEY),
        ("http://[::1]:8000/v1", WITH_KEY),
        ("https://judge.example/v1", WITH_KEY),
        ("http://judge.example/v1", {}),
        ("http://judge.example/v1", WITH_KEY),  # OpenAI's key stays at home
        ("https://judge.example/v1", {"JUDGELOOP_JUDGE_API_KEY": SECRET}),
        (LOCAL, {"JUDGELOOP_JUDGE_API_KEY": SECRET}),
    ],
)
def test_a_key_may_travel_encrypted_or_stay_on_this_machine(url, environment):
    assert judge(environment=environment, base_url=url).identity.name == "openai/gpt-4.1"


@pytest.mark.parametrize("user", [f"{SECRET}@", f"user:{SECRET}@", f":{SECRET}@"])
@pytest.mark.parametrize("scheme", ["http://", "https://", "ftp://", ""])
def test_a_key_in_an_address_is_refused_without_repeating_it(scheme, user):
    url = f"{scheme}{user}judge.example/v1"
    for given in ({"base_url": url}, {"environment": WITH_KEY | {"OPENAI_BASE_URL": url}}):
        with pytest.raises(InputError, match="a key does not belong in an address") as caught:
            judge(**given)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("nobody", {}),
        ("openai/m", {"base_url": "http://judge.example"}),
        ("openai/m", {"base_url": "nowhere"}),
        ("openai/m", {"price": "dear"}),
    ],
)
def test_no_message_repeats_the_key(spec, options):
    with pytest.raises(InputError) as caught:
        judge(spec, {"JUDGELOOP_JUDGE_API_KEY": SECRET}, **options)
    assert SECRET not in str(caught.value)


def test_no_description_of_a_judge_or_its_options_shows_the_key():
    made = judge()
    assert made.chat.spec.endpoint.api_key == SECRET
    assert SECRET not in repr(made.chat.spec.endpoint)
    assert SECRET not in repr(
        JudgeOptions(template=TEMPLATE, environment=WITH_KEY, base_url=f"https://user:{SECRET}@host/v1")
    )
    assert SECRET not in repr(made)
    assert SECRET not in repr(made.identity)


@pytest.mark.parametrize(("given", "named"), [(True, "`judge_base_url`"), (False, "OPENAI_BASE_URL")])
@pytest.mark.parametrize("url", ["no-address", "http://server.example/v1"])
def test_a_wrong_address_is_named_by_where_it_was_set(given, named, url):
    environment = {"JUDGELOOP_JUDGE_API_KEY": "k-1", "OPENAI_API_KEY": "k-2"}
    options = ChatOptions(
        environment=environment | ({} if given else {"OPENAI_BASE_URL": url}), base_url=url if given else None
    )
    provider = chat_class("openai").provider
    with pytest.raises(InputError, match=f"^{named}: ") as caught:
        endpoint_for(provider, options)
    assert ("JUDGELOOP_JUDGE_API_KEY" in str(caught.value)) is (given and url != "no-address")


@pytest.mark.parametrize(
    ("environment", "url", "kept_back"),
    [
        ({"OPENAI_API_KEY": "k-2"}, "http://127.0.0.1:9/v1", True),
        ({"OPENAI_API_KEY": "k-2", "JUDGELOOP_JUDGE_API_KEY": "k-1"}, "http://127.0.0.1:9/v1", False),
        ({"OPENAI_API_KEY": "k-2"}, None, False),
        ({}, "http://127.0.0.1:9/v1", False),
    ],
)
def test_a_key_that_is_there_and_not_sent_is_named_with_the_host_to_which_it_goes(environment, url, kept_back):
    endpoint = endpoint_for(chat_class("openai").provider, ChatOptions(environment=environment, base_url=url))
    assert ("OPENAI_API_KEY" in endpoint.kept_back, "api.openai.com" in endpoint.kept_back) == (kept_back, kept_back)
    why = str(ending_of(Failure(401), endpoint))
    if endpoint.kept_back:
        assert "; check JUDGELOOP_JUDGE_API_KEY (OPENAI_API_KEY goes to " in why, "the remedy first, if it is cut"
