"""JUDGELOOP_MAX_USD: no run may cost more, whatever the command line or a file says."""

from decimal import Decimal
from typing import Any

import pytest

from judgeloop.core.errors import InputError
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.settings.run_settings import CEILING, within_ceiling


def budget(ceiling: str | None, **given: Any) -> Decimal | None:
    config = CompareSettings.of(first="a.jsonl", second="b.jsonl", judge="human", **given)
    environment = {} if ceiling is None else {CEILING: ceiling}
    return within_ceiling(config, environment).budget


@pytest.mark.parametrize("ceiling", [None, "", " "])
def test_without_a_ceiling_the_budget_stays(ceiling: str | None) -> None:
    assert budget(ceiling, budget="9") == 9
    assert budget(ceiling, budget="none") is None


def test_a_lower_budget_stays_and_the_default_is_lowered() -> None:
    assert budget("2.50", budget="1") == 1
    assert budget("2.50") == Decimal("2.50")
    assert budget("50") == 5


@pytest.mark.parametrize("given", ["2.51", "5", "none", "1000"])
def test_a_higher_budget_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"JUDGELOOP_MAX_USD allows no run more than \$2\.50"):
        budget("2.50", budget=given)


@pytest.mark.parametrize("ceiling", ["none", "much", "-1"])
def test_a_ceiling_that_is_no_amount_is_refused(ceiling: str) -> None:
    with pytest.raises(InputError, match=r"JUDGELOOP_MAX_USD: expected dollars"):
        budget(ceiling, budget="1")
