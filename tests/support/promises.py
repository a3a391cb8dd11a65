"""Whether a promise about a risk holds in a simulation with fixed seeds."""

from __future__ import annotations

import os

from scipy.stats import binomtest

# That what keeps its risk fails here; the seeds are fixed, so it never will again.
LEAST_CHANCE = 1e-3
# How often the runs of each simulation are made: once shows a promise that is broken, four times how well it is kept.
TIMES = int(os.environ.get("JUDGELOOP_TEST_TIMES", "1"))


def check_risk(title, wrong, runs, risk, capsys, alternative="greater"):
    """Print how often it was wrong, and fail where that is unlikely at a true risk of `risk`."""
    chance = binomtest(int(wrong), runs, risk, alternative=alternative).pvalue
    with capsys.disabled():
        print(f"\n{title}, risk {risk}: {wrong} of {runs}, binomial p {chance:.3f}", end="")
    assert chance > LEAST_CHANCE
