"""Gates for pytest, and failures as errors."""

from __future__ import annotations

import pytest

import judgeloop


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


def broken(*, first, second):
    raise ValueError(f"no server for {len(first + second) > 0}")


def test_a_better_system_passes_and_its_result_is_returned(rows):
    result = judgeloop.assert_better(rows["chatty"], rows["terse"], judge=shorter, version="1")
    assert result.winner == result.setup.required_winner == "terse"


def test_a_system_that_is_not_better_fails_with_the_result_and_what_to_do(rows):
    with pytest.raises(AssertionError, match="FAILED: chatty was required, and terse is better"):
        judgeloop.assert_better(rows["terse"], rows["chatty"], judge=shorter, version="1")
    with pytest.raises(AssertionError, match=r"no winner yet(.|\n)*`max_judgments=\d+`"):
        judgeloop.assert_better(rows["chatty"], rows["terse"], judge=shorter, version="1", max_judgments=2)


def test_a_system_that_is_not_worse_passes_and_one_that_is_worse_does_not(rows):
    given = {"judge": shorter, "version": "1", "not_worse": 0.3}
    assert not judgeloop.assert_not_worse(rows["chatty"], rows["terse"], **given).exit_code
    with pytest.raises(AssertionError, match="FAILED: chatty is worse than terse"):
        judgeloop.assert_not_worse(rows["terse"], rows["chatty"], **given)


def test_a_judge_that_raises_is_an_error_if_that_is_asked_for(rows):
    with pytest.raises(judgeloop.JudgeloopError, match=r"raised ValueError: no\s+server"):
        judgeloop.compare(rows["terse"], rows["chatty"], judge=broken, raise_on_failure=True)
    assert (
        "raised ValueError: no server" in judgeloop.compare(rows["terse"], rows["chatty"], judge=broken).page.headline
    )
