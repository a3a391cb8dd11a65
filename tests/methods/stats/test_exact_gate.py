"""The exact gate on a share with a zone."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.methods.stats.exact_gate import gate_of


@pytest.mark.parametrize(
    ("zone", "limit", "labels"),
    [((0.7, 0.8), 100, (24, 50, 61, 55)), ((0.75, 0.85), 200, (23, 53, 74, 60)), ((0.8, 0.9), 200, (18, 42, 60, 49))],
)
def test_errors_are_at_most_the_risk_everywhere_and_labels_are_those_of_walds_bound(zone, limit, labels):
    gate = gate_of(*zone, limit, 0.1)
    worst, best = zone
    shares = np.linspace(0.02, 0.98, 49)
    wrong = [gate.ends(p)[0] if p <= worst else gate.ends(p)[1] if p >= best else 0.0 for p in shares]
    assert max(wrong) <= 0.1
    assert max(gate.ends(worst)[0], gate.ends(best)[1]) == pytest.approx(0.1, abs=0.002), "nothing is given away"
    found = [round(gate.ends(p)[2]) for p in (worst - 0.1, worst, (worst + best) / 2, best)]
    assert found == list(labels)


def test_the_chances_are_those_of_runs(rng):
    gate, share, runs = gate_of(0.6, 0.8, 60, 0.1), 0.7, 4000
    counts = np.cumsum(rng.random((runs, 60)) < share, axis=1)
    answers = []
    for run in counts.tolist():
        said = [gate.answer(successes, n) for n, successes in enumerate(run, 1)]
        answers.append(next((one for one in said if one is not None), None))
    passed, failed, _ = gate.ends(share)
    assert answers.count(True) / runs == pytest.approx(passed, abs=0.03)
    assert answers.count(False) / runs == pytest.approx(failed, abs=0.03)
    assert gate.answer(60, 61) is None, "beyond the limit nothing is promised"
