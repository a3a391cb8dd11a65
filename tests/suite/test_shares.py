"""How one sum is shared: never exceeded, whatever the pairs cost, and equal as far as they want it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support.results import undecided

from judgeloop.core.outcomes import StopKind
from judgeloop.suite.night import Account, _why, allot


def total(sum_p, accounts, budgets):
    """The most that all pairs can have been charged when this round ends."""
    return sum(budgets.get(name, one.charged_p) for name, one in accounts.items())


def spend(account, budget_p, prices):
    """A run within its budget: each query is reserved at its worst case, and settled at its price."""
    charged_p, left = account.charged_p, list(prices)
    while left and charged_p + left[0][0] <= budget_p:
        charged_p += left.pop(0)[1]
    need_p = left[0][0] if left else 0
    after = replace(account, charged_p=charged_p, given_p=budget_p, need_p=need_p, closed=not left)
    return after, left


PRICES = st.tuples(st.integers(1, 30), st.integers(1, 30)).map(lambda p: (max(p), min(p)))
PAIRS = st.lists(st.lists(PRICES, max_size=12), min_size=1, max_size=6)


def run(sum_p, wants, accounts):
    """All rounds, with a look at each; what is wanted still, and the accounts."""
    while budgets := allot(sum_p, accounts):
        held = max(sum_p, sum(one.charged_p for one in accounts.values()))
        assert total(sum_p, accounts, budgets) <= held
        for name, budget_p in budgets.items():
            accounts[name], wants[name] = spend(accounts[name], budget_p, wants[name])
    return wants, accounts


def begun(wants, limits=None):
    return {name: Account(limit_p=(limits or {}).get(name)) for name in wants}


@settings(max_examples=30)
@given(PAIRS, st.integers(0, 400), st.integers(0, 5))
def test_pairs_together_are_never_charged_more_than_the_sum(prices, sum_p, crash):
    """Also if the process dies between two rounds, and the next one knows the charges alone."""
    wants, accounts = dict(enumerate(prices)), begun(range(len(prices)))
    for _ in range(crash):
        budgets = allot(sum_p, accounts)
        for name, budget_p in budgets.items():
            accounts[name], wants[name] = spend(accounts[name], budget_p, wants[name])
    accounts = {name: Account(one.charged_p) for name, one in accounts.items()}
    _, accounts = run(sum_p, wants, accounts)
    assert sum(one.charged_p for one in accounts.values()) <= sum_p


@settings(max_examples=30)
@given(PAIRS, st.integers(0, 400))
def test_money_stays_only_if_it_pays_for_nobodys_next_query(prices, sum_p):
    wants, accounts = run(sum_p, dict(enumerate(prices)), begun(range(len(prices))))
    left_p = sum_p - sum(one.charged_p for one in accounts.values())
    assert all(queries[0][0] > left_p for queries in wants.values() if queries)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 120))
def test_nobody_who_wants_more_has_less_than_another_by_more_than_a_query(numbers, sum_p):
    """Max-min fairness, with queries of one price: whoever is cut has as much as any, but for one query."""
    wants, accounts = run(
        sum_p, {at: [(1, 1)] * number for at, number in enumerate(numbers)}, begun(range(len(numbers)))
    )
    most = max(one.charged_p for one in accounts.values())
    assert all(accounts[name].charged_p >= most - 1 for name, queries in wants.items() if queries)


def test_unfinished_pairs_get_what_the_others_left():
    wants = {"short": [(1, 1)] * 2, "long": [(1, 1)] * 50, "longer": [(1, 1)] * 50}
    _, accounts = run(30, wants, begun(wants))
    assert [one.charged_p for one in accounts.values()] == [2, 14, 14]


def test_a_pair_keeps_to_a_limit_of_its_own():
    wants = {"limited": [(1, 1)] * 50, "free": [(1, 1)] * 50}
    _, accounts = run(30, wants, begun(wants, {"limited": 4}))
    assert [one.charged_p for one in accounts.values()] == [4, 26]


def test_a_sum_that_is_spent_lets_each_pair_look_what_is_known_and_pays_nothing():
    accounts = {"a": Account(7), "b": Account(5)}
    assert allot(10, accounts) == {"a": 7, "b": 5}


def test_a_query_beyond_an_equal_share_is_paid_by_what_others_cannot_use():
    accounts = {"cheap": Account(2, given_p=5, need_p=6), "dear": Account(2, given_p=5, need_p=9)}
    assert allot(10, accounts) == {"cheap": 8}


def test_pairs_that_one_fault_broke_share_a_cause_however_many_items_each_lost_in_whatever_time():
    said = "the judge failed: all attempts at 2 of {} items failed, more than 5 %; the last: HTTP 500"
    whys = {_why(undecided(StopKind.JUDGE_FAILED, said.format(items))) for items in (2, 4)}
    assert whys == {"openai/gpt-4.1 failed: HTTP 500"}
    said = "the judge failed: 5 calls in a row failed in every attempt (the last was tried for {} s): HTTP 429"
    whys = {_why(undecided(StopKind.JUDGE_FAILED, said.format(seconds))) for seconds in (2, 13)}
    assert whys == {"openai/gpt-4.1 failed: 5 calls in a row failed in every attempt: HTTP 429"}
