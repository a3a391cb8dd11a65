"""Replies without a verdict are asked again once they alone would end the run, whatever ended it since."""

from __future__ import annotations

import judgeloop

ROWS = [{"prompt": f"q{n}"} for n in range(60)]
FIRST, SECOND = ([row | {"output": f"{name} {row['prompt']}"} for row in ROWS] for name in "ab")


class Judge:
    """Says nothing, then is gone, then works."""

    def __init__(self) -> None:
        self.state, self.calls = "silent", 0

    def __call__(self, prompt: str, first: str, second: str) -> float | None:
        self.calls += 1
        if self.state == "gone":
            raise RuntimeError("gone")
        return None if self.state == "silent" else float(first < second)


def test_a_judge_that_works_again_is_asked(tmp_path):
    judge = Judge()

    def ask():
        judge.calls = 0
        return judgeloop.compare(
            FIRST, SECOND, judge=judge, version="1", controls="off", order="random", ledger=tmp_path / "ledger"
        )

    assert ask().stop_reason == "too_many_abstentions"
    judge.state = "gone"
    assert ask().stop_reason == "judge_failed"
    judge.state = "works"
    found = ask()
    assert (found.winner, found.counts.abstentions) == ("first", 0)
    assert judge.calls == found.asked
    assert ask().winner == "first"
    assert judge.calls == 0
