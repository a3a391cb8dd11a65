from __future__ import annotations

import re

import pytest

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Call, Item
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.options import JudgeOptions
from judgeloop.judges.prompt_files import shipped_template

TEMPLATE = shipped_template("pairwise.v1")
SECRET = "sk-very-secret"
WITH_KEY = {"OPENAI_API_KEY": SECRET}
LOCAL = "http://localhost:8000/v1"
ELSEWHERE = "https://judge.example/v1"
NO_KEY = "none"
CALL = Call(Item("q1", "p"), ("a", "b"), ("x", "y"))


def judge(spec="openai/gpt-4.1", environment=WITH_KEY, **options):
    return judge_from_spec(spec, JudgeOptions(TEMPLATE, environment, **options))


def sent_key(environment, **options):
    return judge("openai/m", environment, **options)._endpoint.api_key


def prices_file(folder, text):
    path = folder / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "spec", ["", "gpt-4.1", "openai", "vllm", "Human", "Metric:exact", "file.csv"]
)
def test_an_unknown_judge_is_refused_with_those_known(spec):
    with pytest.raises(
        InputError,
        match="^" + re.escape(f"--judge {spec}: there is no such judge; known: openai/MODEL"),
    ):
        judge(spec)


@pytest.mark.parametrize(
    "spec", ["openai/", "openai:", "anthropic/", "vllm/", "metric:", "replay:", "python:"]
)
def test_a_judge_without_what_belongs_behind_its_name_is_refused(spec):
    message = f"--judge {spec}: something is missing behind it; known: openai/MODEL"
    with pytest.raises(InputError, match="^" + re.escape(message)):
        judge(spec)


def test_a_metric_is_named_by_its_spec():
    assert judge("metric:rouge2", {}, tie_margin=0.25).identity.name == "metric:rouge2"


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match=r"^unknown metric 'rouge9'"):
        judge("metric:rouge9")


def test_a_replay_judge_reads_its_table(tmp_path):
    path = tmp_path / "verdicts.csv"
    path.write_text("item_id,model,score\nq1,a,1\n", encoding="utf-8")
    assert judge(f"replay:{path}", {}).identity.name == "replay:verdicts.csv"


def test_a_replay_judge_without_its_table_is_refused():
    with pytest.raises(InputError, match=r"^no\.csv: there is no such file"):
        judge("replay:no.csv")


def test_a_model_name_may_contain_slashes():
    assert judge("openai/org/model", base_url=LOCAL).identity.model == "org/model"


@pytest.mark.parametrize(
    "environment",
    [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " \t\n", "JUDGELOOP_JUDGE_API_KEY": " "}],
)
def test_a_missing_key_is_asked_for_by_its_variable(environment):
    with pytest.raises(
        InputError,
        match=r"^the judge needs a key: set OPENAI_API_KEY in the environment or in \.env",
    ):
        judge(environment=environment)


def test_white_space_around_a_key_is_not_sent():
    assert sent_key({"OPENAI_API_KEY": f" {SECRET}\n"}) == SECRET


def test_openais_key_goes_to_openai():
    assert sent_key(WITH_KEY) == SECRET
    assert sent_key(WITH_KEY, base_url="https://api.openai.com/v1") == SECRET


def test_openais_key_goes_where_its_own_variable_points():
    assert sent_key(WITH_KEY | {"OPENAI_BASE_URL": ELSEWHERE}) == SECRET


@pytest.mark.parametrize("url", [ELSEWHERE, LOCAL, "https://api.openai.com.example/v1"])
@pytest.mark.parametrize("variable", [{}, {"OPENAI_BASE_URL": ELSEWHERE}])
def test_a_server_of_ones_own_gets_its_own_key_and_never_openais(url, variable):
    environment = WITH_KEY | variable
    assert sent_key(environment, base_url=url) == NO_KEY
    assert sent_key(environment | {"JUDGELOOP_JUDGE_API_KEY": "  "}, base_url=url) == NO_KEY
    assert sent_key(environment | {"JUDGELOOP_JUDGE_API_KEY": "mine"}, base_url=url) == "mine"


def test_openais_key_goes_to_openai_wherever_the_flag_says_so_and_the_other_key_does_not():
    environment = WITH_KEY | {"JUDGELOOP_JUDGE_API_KEY": "mine"}
    assert sent_key(environment, base_url="https://api.openai.com/v1") == SECRET
    assert sent_key(environment) == SECRET
    assert sent_key(environment | {"OPENAI_BASE_URL": ELSEWHERE}) == SECRET


@pytest.mark.parametrize("spec", ["anthropic/claude-m", "anthropic:claude-m"])
def test_anthropics_key_goes_to_anthropic_and_openais_does_not(spec):
    environment = WITH_KEY | {"ANTHROPIC_API_KEY": "an", "JUDGELOOP_JUDGE_API_KEY": "mine"}
    made = judge(spec, environment)
    assert (made._endpoint.base_url, made._endpoint.api_key) == ("https://api.anthropic.com", "an")
    assert made.identity.name == "anthropic/claude-m"
    pointed = judge(spec, environment | {"ANTHROPIC_BASE_URL": ELSEWHERE, "OPENAI_BASE_URL": LOCAL})
    assert (pointed._endpoint.base_url, pointed._endpoint.api_key) == (ELSEWHERE, "an")
    flagged = judge(spec, environment, base_url=ELSEWHERE)
    assert (flagged._endpoint.base_url, flagged._endpoint.api_key) == (ELSEWHERE, "mine")


def test_anthropics_missing_key_is_asked_for_by_its_variable():
    with pytest.raises(InputError, match=r"^the judge needs a key: set ANTHROPIC_API_KEY"):
        judge("anthropic/claude-m", WITH_KEY)


def test_a_vllm_server_is_free_unless_somebody_says_otherwise_and_gets_no_providers_key():
    environment = WITH_KEY | {"ANTHROPIC_API_KEY": "an"}
    made = judge("vllm/org/model", environment, base_url=LOCAL)
    assert (made.identity.name, made._endpoint.api_key) == ("vllm/org/model", NO_KEY)
    assert made.priced
    assert made.quote(CALL).cost_p == 0
    assert judge("vllm/m", environment, base_url=LOCAL, price="1,2").quote(CALL).cost_p > 0
    own = {"JUDGELOOP_JUDGE_API_KEY": "mine"}
    assert judge("vllm/m", own, base_url=LOCAL)._endpoint.api_key == "mine"


def test_a_vllm_server_without_an_address_is_asked_for_one():
    with pytest.raises(
        InputError, match=r"^--judge vllm/…: where is the server\? Give --judge-base-url"
    ):
        judge("vllm/m", {})


def test_a_judge_may_be_typed_with_a_colon():
    assert judge("openai:org/model").identity == judge("openai/org/model").identity


def test_a_person_needs_no_more_than_the_word():
    assert judge("human", {}).identity.name == "human"


@pytest.mark.parametrize("spec", ["python:m", "python:m:", "python::f"])
def test_a_plugin_is_named_by_module_and_function(spec):
    with pytest.raises(
        InputError, match="^--judge " + re.escape(spec) + ": expected python:MODULE:FUNCTION$"
    ):
        judge(spec, {}, allow_plugins=True)


@pytest.mark.parametrize(
    ("spec", "verdict", "problem"),
    [
        ("anthropic/claude-m", "logprob", "use schema or tool"),
        ("openai/m", "tool", "tool is for anthropic/MODEL; for openai"),
        ("vllm/m", "tool", "tool is for anthropic/MODEL; for vllm"),
    ],
)
def test_a_form_of_verdict_that_a_provider_does_not_know_is_refused(spec, verdict, problem):
    with pytest.raises(InputError, match="^--verdict .*" + re.escape(problem)):
        judge(spec, {}, base_url=LOCAL, verdict=verdict)


def test_a_forecast_needs_no_key():
    assert judge(environment={}, offline=True).priced


def test_the_address_may_come_from_the_environment_and_the_flag_goes_before_it():
    environment = WITH_KEY | {"OPENAI_BASE_URL": "https://one.example/v1"}
    assert (
        judge(environment=environment).identity.parameters["endpoint"] == "https://one.example/v1"
    )
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
    message = f"--judge-base-url: expected http(s)://HOST[:PORT]/…, found {url!r}"
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
    assert made._endpoint.api_key == SECRET
    assert SECRET not in repr(made._endpoint)
    assert SECRET not in repr(
        JudgeOptions(TEMPLATE, WITH_KEY, base_url=f"https://user:{SECRET}@host/v1")
    )
    assert SECRET not in repr(made)
    assert SECRET not in repr(made.identity)


def test_openai_itself_has_its_published_price():
    assert judge("openai/gpt-4.1").priced


@pytest.mark.parametrize(
    ("spec", "url"), [("openai/gpt-4.1", LOCAL), ("openai/no-such-model", None)]
)
def test_what_nobody_priced_is_unpriced(spec, url):
    unpriced = judge(spec, base_url=url)
    assert not unpriced.priced
    assert unpriced.quote(CALL).cost_p == 0


def test_a_typed_price_holds_for_any_server():
    free, dear = judge(base_url=LOCAL, price="0,0"), judge(base_url=LOCAL, price="1,2")
    assert free.priced
    assert dear.priced
    assert free.quote(CALL).cost_p == 0 < dear.quote(CALL).cost_p


def test_a_price_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"^--judge-price: expected IN,OUT"):
        judge(base_url=LOCAL, price="1")


def test_a_price_file_of_ones_own_goes_before_the_published_price(tmp_path):
    path = prices_file(
        tmp_path, '["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = "2.50"\n'
    )
    own, typed, published = (
        judge(**how).quote(CALL) for how in ({"prices": path}, {"price": "1,2.50"}, {})
    )
    assert own.cost_p == typed.cost_p != published.cost_p
    assert own.price == str(path)
    assert typed.price == "--judge-price 1,2.50"
    assert published.price


def test_a_typed_price_goes_before_the_file(tmp_path):
    path = prices_file(tmp_path, '["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = 2\n')
    assert judge(prices=path, price="0,0").quote(CALL).cost_p == 0


def test_the_worst_case_counts_the_dearest_way_to_read_a_token(tmp_path):
    both = "input_per_mtok = 1\noutput_per_mtok = 2\n"
    plain = prices_file(tmp_path, f'["openai/m"]\n{both}')
    cost_p = judge("openai/m", base_url=LOCAL, prices=plain).quote(CALL).cost_p
    cached = prices_file(
        tmp_path, f'["openai/m"]\n{both}cache_read_per_mtok = 0.1\ncache_write_per_mtok = 1.25\n'
    )
    assert judge("openai/m", base_url=LOCAL, prices=cached).quote(CALL).cost_p > cost_p


def test_a_price_file_without_the_model_leaves_the_published_price(tmp_path):
    path = prices_file(tmp_path, '["openai/other"]\ninput_per_mtok = 1\noutput_per_mtok = 2\n')
    assert judge(prices=path).quote(CALL) == judge().quote(CALL)
    assert not judge(prices=path, base_url=LOCAL).priced


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[openai/gpt-4.1]\n", "this is no TOML"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\n', "'output_per_mtok'"),
        ('["openai/gpt-4.1"]\n', "'input_per_mtok'"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = -2\n', "'-2' is not an amount"),
        (
            '["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = nan\n',
            "'nan' is not an amount",
        ),
        (
            '["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = true\n',
            "'True' is not an amount",
        ),
        (
            '["openai/gpt-4.1"]\ninput_per_mtok = "1e999999"\noutput_per_mtok = 1\n',
            "'1e999999' is not an amount from 0 to 1,000,000 dollars",
        ),
        (
            '["openai/gpt-4.1"]\ninput_per_mtok = "1 $"\noutput_per_mtok = 1\n',
            "'1 $' is not an amount",
        ),
        (
            '["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = 2\nper_call = 1\n',
            "unknown field 'per_call'",
        ),
        ('"openai/gpt-4.1" = 5\n', "needs input_per_mtok and output_per_mtok"),
        ('"openai/gpt-4.1" = "1,2"\n', "needs input_per_mtok and output_per_mtok"),
    ],
)
def test_a_wrong_price_file_is_refused_by_name(tmp_path, text, problem):
    path = prices_file(tmp_path, text)
    with pytest.raises(DataError, match="^" + re.escape(f"{path}: ") + ".*" + re.escape(problem)):
        judge(prices=path)


def test_a_missing_price_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        judge(prices=tmp_path / "no.toml")
