"""A width that was asked for: when it counts as reached."""

from __future__ import annotations

import judgeloop

RATED = [{"prompt": f"q{n}", "output": f"{'right' if n * 7 % 10 < 7 else 'wrong'} {n}"} for n in range(400)]


def right(prompt, output):
    return 1.0 if output.startswith("right") else 0.0


def rated(width, limit):
    return judgeloop.estimate(RATED, judge=right, half_width=width, max_judgments=limit, ledger=None)


def test_a_width_that_is_reached_between_two_looks_counts_where_the_run_ends():
    """The width is looked at now and then: a run that its limit ends in between has reached it, or has not."""
    reasons = set()
    for limit in (50, 54, 56, 58, 64):
        short = rated(0.1, limit)
        assert (short.reach > 0.1, short.decided, short.exit_code) == (True, False, 3)
        found = rated(short.reach * 1.0001, limit)
        assert (found.decided, found.exit_code) == (True, 0), limit
        reasons.add(found.stop_reason)
    assert "judgment_limit" in reasons, "the rule did not look there"


def test_a_width_ends_a_run_whose_required_score_is_open_so_leaving_it_out_is_advised():
    settings = {"judge": right, "require_score": 0.7, "max_judgments": 400, "ledger": None}
    wide = judgeloop.estimate(RATED, half_width=0.1, **settings)
    assert (wide.stop_reason, wide.exit_code, wide.judged < 400) == ("precise_enough", 3, True)
    assert [one.code for one in wide.advice] == ["half_width_ends", "rest_is_exact"]
    assert judgeloop.estimate(RATED, **settings).exit_code == 0
