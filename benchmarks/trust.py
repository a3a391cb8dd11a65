"""How many labels a gate on a judge's agreement takes, and how often it errs: the exact table, and bets beside it.

    python benchmarks/trust.py [RUNS]

For zones of equal verdicts, labels and shares of PASS and FAIL at shares below, at and between the ends of the zone.
Those of the table are exact, those of the bets are simulated, with the standard error of their labels. Then how often
intervals of kappa miss, and their mean width, by labels.
"""

import sys

import numpy as np

from judgeloop.methods.stats.exact_gate import gate_of
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stats.with_people import kappa_interval, linear_kappa

RISK, LIMIT = 0.1, 200
ZONES = ((0.7, 0.8), (0.75, 0.85), (0.8, 0.9))
VERDICTS, SHARES = np.array([0.0, 0.5, 1.0]), (0.4, 0.2, 0.4)


def bets(
    worst: float, best: float, share: float, runs: int, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Shares of PASS and FAIL, mean labels and their standard error of two bettors at the same nulls."""
    draws = 2.0 * (rng.random((LIMIT, runs)) < share) - 1
    begun = HedgedBets(RISK, np.array([2 * worst - 1, 1 - 2 * best]), LIMIT, of_grid=True)
    answer, labels = np.zeros(runs), np.full(runs, LIMIT)
    for drawn, scores in enumerate(draws, start=1):
        begun = begun.after(np.stack([scores, -scores], axis=-1))
        out = np.broadcast_to(begun.ruled_out, (runs, 2))
        new = (answer == 0) & out.any(axis=1)
        answer[new], labels[new] = np.where(out[new, 0], 1, -1), drawn
    return (
        float((answer == 1).mean()),
        float((answer == -1).mean()),
        float(labels.mean()),
        float(labels.std() / runs**0.5),
    )


def gates(runs: int) -> None:
    """Print labels and answers of both."""
    rng = np.random.default_rng(1)
    print(
        f"{'zone':>10} {'share':>6} | {'table':>6} {'PASS':>6} {'FAIL':>6} | {'bets':>6} {'±':>5} {'PASS':>6} {'FAIL':>6}"
    )
    for worst, best in ZONES:
        table = gate_of(worst, best, LIMIT, RISK)
        for share in (worst - 0.1, worst, (worst + best) / 2, best, best + 0.07):
            passed, failed, labels = table.ends(share)
            won, lost, taken, error = bets(worst, best, share, runs, rng)
            print(
                f"{worst:.2f}-{best:.2f} {share:6.3f} | {labels:6.1f} {passed:6.3f} {failed:6.3f} | "
                f"{taken:6.1f} {error:5.1f} {won:6.3f} {lost:6.3f}"
            )


def kappas(runs: int) -> None:
    """Print how often intervals of kappa miss."""
    rng = np.random.default_rng(2)

    def drawn(number: int) -> tuple[np.ndarray, np.ndarray]:
        people = rng.choice(VERDICTS, p=SHARES, size=number)
        return np.where(rng.random(number) < 0.7, people, rng.choice(VERDICTS, p=SHARES, size=number)), people

    truth = linear_kappa(*drawn(1_000_000)) or 0.0
    print(f"\n{'labels':>6} {'width':>6} {'misses':>7}   kappa {truth:.3f}, stated {RISK}")
    for labels in (30, 60, 100, 200):
        found = [kappa_interval(*drawn(labels), RISK, labels) for _ in range(runs)]
        missed = np.mean([not low <= truth <= high for low, high in found])
        print(f"{labels:6} {np.mean([high - low for low, high in found]):6.2f} {missed:7.3f}")


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    gates(runs)
    kappas(max(20, runs // 20))
