"""Questions about a few items, with any verdicts and settings: an answer, or a clear error."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import judgeloop
from judgeloop.core.errors import InputError

pytestmark = pytest.mark.usefixtures("alone")
FEW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
RIGHT = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12)
REFUSED = "min_judgments|the same output on all|of two or more groups"
SHARED = {
    "risk": st.sampled_from([0.01, 0.1, 0.5]),
    "max_judgments": st.sampled_from([1, 5, 200]),
    "min_judgments": st.sampled_from([1, 5]),
    "seed": st.integers(0, 9),
}
OF_TWO = st.one_of(
    st.builds(dict),
    st.fixed_dictionaries({"about": st.sampled_from(["items", "like-these"])}),
    st.fixed_dictionaries({"rule": st.sampled_from(["bets", "tie-aware"])}),
    st.fixed_dictionaries({"min_gap": st.sampled_from([0.05, 0.3])}),
    st.fixed_dictionaries({"not_worse": st.sampled_from([0.05, 0.3])}),
    st.fixed_dictionaries({"by_group": st.sampled_from(["report", "require"])}),
    st.fixed_dictionaries({"require_winner": st.sampled_from(["a", "b"])}),
    st.fixed_dictionaries({"give_up": st.sampled_from([0.05, 0.5])}),
)


@pytest.fixture
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(right):
    """Outputs that are right, or not, on items of two groups."""
    return [
        {"id": n, "prompt": f"p{n}", "output": "yes" if one else "no", "reference": "yes", "group": n % 2}
        for n, one in enumerate(right)
    ]  # fmt: skip


def answered(ask, *systems, **given):
    """Ask, and show the answer in all forms; what cannot be asked is refused."""
    try:
        result = ask(*systems, judge="metric:exact", ledger=f"{uuid4()}.sqlite", **given)
    except InputError as error:
        if not re.search(REFUSED, str(error)):
            raise
        return
    assert str(result)
    assert result.to_dict()
    assert result._repr_html_()


@FEW
@given(right=RIGHT, given=st.fixed_dictionaries(SHARED), more=OF_TWO)
def test_any_verdicts_on_a_few_items_are_compared(right, given, more):
    first, second = (rows(one) for one in zip(*right, strict=True))
    answered(judgeloop.compare, first, second, names=("a", "b"), **given, **more)


@FEW
@given(right=RIGHT, systems=st.integers(2, 8), given=st.fixed_dictionaries(SHARED), gap=st.sampled_from([None, 0.2]))
def test_the_best_of_many_is_looked_for_among_a_few_items(right, systems, given, gap):
    many = [rows([pair[(n + at) % 2] for at, pair in enumerate(right)]) for n in range(systems)]
    names = tuple(f"s{n}" for n in range(systems))
    answered(judgeloop.select, many, names=names, min_gap=gap, **given)


@FEW
@given(right=RIGHT, limit=SHARED["max_judgments"], seed=SHARED["seed"], interval=st.sampled_from([None, "anytime"]))
def test_a_system_is_rated_on_a_few_items(right, limit, seed, interval):
    given = {"max_judgments": limit, "seed": seed} | ({"interval": interval} if interval else {})
    answered(judgeloop.estimate, rows([one for one, _ in right]), **given)
