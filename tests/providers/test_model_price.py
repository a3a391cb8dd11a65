"""What a judge behind an API charges: a typed price, a price file, the published one, or none."""

from __future__ import annotations

import re

import pytest
from support.judges import LOCAL, judge

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Call, Item

CALL = Call(Item("q1", "p"), ("a", "b"), ("x", "y"))


def prices_file(folder, text):
    path = folder / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_vllm_server_is_free_by_default():
    made = judge("vllm/org/model", {}, base_url=LOCAL)
    assert (made.identity.name, made.priced) == ("vllm/org/model", True)
    assert made.quote(CALL).cost_p == 0
    assert judge("vllm/m", {}, base_url=LOCAL, price="1,2").quote(CALL).cost_p > 0


@pytest.mark.parametrize(("spec", "url"), [("openai/gpt-4.1", LOCAL), ("openai/no-such-model", None)])
def test_what_nobody_priced_is_unpriced(spec, url):
    assert judge("openai/gpt-4.1").priced
    unpriced = judge(spec, base_url=url)
    assert not unpriced.priced
    assert unpriced.quote(CALL).cost_p == 0


def test_a_typed_price_holds_for_any_server():
    free, dear = judge(base_url=LOCAL, price="0,0"), judge(base_url=LOCAL, price="1,2")
    assert free.priced
    assert dear.priced
    assert free.quote(CALL).cost_p == 0 < dear.quote(CALL).cost_p


def test_a_price_file_of_ones_own_goes_before_the_published_price(tmp_path):
    path = prices_file(tmp_path, '["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = "2.50"\n')
    own, typed, published = (judge(**how).quote(CALL) for how in ({"price": str(path)}, {"price": "1,2.50"}, {}))
    assert own.cost_p == typed.cost_p != published.cost_p
    assert own.price == str(path)
    assert typed.price == "`judge_price=1,2.50`"
    assert published.price


def test_the_worst_case_counts_the_dearest_way_to_read_a_token(tmp_path):
    both = "input_per_mtok = 1\noutput_per_mtok = 2\n"
    plain = prices_file(tmp_path, f'["openai/m"]\n{both}')
    cost_p = judge("openai/m", base_url=LOCAL, price=str(plain)).quote(CALL).cost_p
    cached = prices_file(tmp_path, f'["openai/m"]\n{both}cache_read_per_mtok = 0.1\ncache_write_per_mtok = 1.25\n')
    assert judge("openai/m", base_url=LOCAL, price=str(cached)).quote(CALL).cost_p > cost_p


def test_a_price_file_without_the_model_leaves_the_published_price(tmp_path):
    path = prices_file(tmp_path, '["openai/other"]\ninput_per_mtok = 1\noutput_per_mtok = 2\n')
    assert judge(price=str(path)).quote(CALL) == judge().quote(CALL)
    assert not judge(price=str(path), base_url=LOCAL).priced


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[openai/gpt-4.1]\n", "this is no TOML"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\n', "'output_per_mtok'"),
        ('["openai/gpt-4.1"]\n', "'input_per_mtok'"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = -2\n', "'-2' is not an amount"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = nan\n', "'nan' is not an amount"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = true\n', "'True' is not an amount"),
        (
            '["openai/gpt-4.1"]\ninput_per_mtok = "1e999999"\noutput_per_mtok = 1\n',
            "'1e999999' is not an amount from 0 to 1,000,000 dollars",
        ),
        ('["openai/gpt-4.1"]\ninput_per_mtok = "1 $"\noutput_per_mtok = 1\n', "'1 $' is not an amount"),
        ('["openai/gpt-4.1"]\ninput_per_mtok = 1\noutput_per_mtok = 2\nper_call = 1\n', "unknown field 'per_call'"),
        ('"openai/gpt-4.1" = 5\n', "needs input_per_mtok and output_per_mtok"),
        ('"openai/gpt-4.1" = "1,2"\n', "needs input_per_mtok and output_per_mtok"),
    ],
)
def test_a_wrong_price_file_is_refused_by_name(tmp_path, text, problem):
    path = prices_file(tmp_path, text)
    with pytest.raises(DataError, match="^" + re.escape(f"{path}: ") + ".*" + re.escape(problem)):
        judge(price=str(path))


def test_a_missing_price_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        judge(price=str(tmp_path / "no.toml"))


def test_the_price_of_another_model_is_known_where_prices_are_published():
    official = judge("openai/gpt-4.1-mini", price="0.1,0.2")
    assert official.chat.spec.published("gpt-4.1") == judge("openai/gpt-4.1").price
    assert official.chat.spec.published("no-such-model") is None
    assert judge(base_url=LOCAL, price="1,1").chat.spec.published("gpt-4.1") is None
    assert judge("vllm/m", base_url=LOCAL).chat.spec.published("gpt-4.1") is None
