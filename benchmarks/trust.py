"""How many labels a gate on a judge's agreement takes, and how often it errs: the exact table, and bets beside it.

    python benchmarks/trust.py [--runs 2000]
    python benchmarks/trust.py --errors [--runs 20000]
    python benchmarks/trust.py --corrected DATA [--runs 300]
    python benchmarks/trust.py --slopes [--runs 100]

For zones of equal verdicts, labels and shares of PASS and FAIL at shares below, at and between the ends of the zone.
Those of the table are exact, those of the bets are simulated, with the standard error of their labels. Then how often
intervals of kappa miss, and their mean width, by labels: of these alone, beside the judge's verdicts on other items,
and of 1,000 items that the judge has all judged. With `--errors` each gate is where it is wrong whenever it answers:
how often it does. With `--corrected` the intervals of the gap by people, from labels on some items and a
judge's verdicts on all, on recorded verdicts: their width and how often they miss, beside those of people alone
(Student), of the regression, and of ppi_py. With `--slopes` how much wider a judge makes that interval than 60 labels
of 240 items alone do: with the slope that is used, and with one that is 0 until the labels show an R² of 0.1.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from people import Pair, of_tables, pandalm
from scipy.stats import norm, t

from judgeloop.methods.stats.betting import Controls
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.corrected import PRIOR, PRIOR_SLOPE, controls, corrected_by_pool, of_blocks
from judgeloop.methods.stats.exact_gate import gate_of
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stats.with_people import kappa_interval, kappa_scores, linear_kappa

RISK, LIMIT, ITEMS, OTHERS = 0.1, 200, 1000, 4
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
    """Print how often intervals of kappa miss: of labels alone, with the judge on other items, and of these items."""
    rng = np.random.default_rng(2)
    print(f"\n{'labels':>6} {'width':>6} {'misses':>7} | {'judge on others':>15} | {'all judged':>15}   stated {RISK}")
    for labels in (30, 60, 100, 200):
        widths, missed = [], []
        for _ in range(runs):
            people, judge = said(rng, 0.7, SHARES, (ITEMS,))
            some = judge[:labels], people[:labels], RISK, labels
            truths = 0.7, 0.7, linear_kappa(judge, people) or 0.0
            found = (
                kappa_interval(*some),
                kappa_interval(*some, judge[labels : (1 + OTHERS) * labels]),
                kappa_interval(*some, judge, ITEMS),
            )
            widths.append([high - low for low, high in found])
            missed.append([not low <= truth <= high for truth, (low, high) in zip(truths, found, strict=True)])
        cells = [f"{w:6.2f} {m:7.3f}" for w, m in zip(np.mean(widths, axis=0), np.mean(missed, axis=0), strict=True)]
        print(f"{labels:6} {' | '.join(cells)}", flush=True)


def errors(runs: int) -> None:
    """Print how often gates answer where each answer is wrong."""
    rng = np.random.default_rng(3)
    print("| gate | where | wrong PASS | wrong FAIL |\n|---|---|---|---|")
    for worst, best in ((0.6, 0.7), *ZONES):
        table = gate_of(worst, best, LIMIT, RISK)
        wrong = []
        for share, passes in ((worst, True), (best, False)):
            counts = np.cumsum(rng.random((runs, LIMIT)) < share, axis=1)
            up, low = counts >= table.up[1:], counts <= table.low[1:]
            ended = up | low
            first = ended.argmax(axis=1)
            rows = np.arange(runs)
            wrong.append(np.mean(ended.any(axis=1) & ((up if passes else low)[rows, first])))
        print(f"| equal verdicts, {worst:g} to {best:g} | at its ends | {wrong[0]:.4f} | {wrong[1]:.4f} |", flush=True)
    for kappa in (0.4, 0.6, 0.8):
        for name, shares in (("40, 20, 40 %", SHARES), ("70, 10, 20 %", (0.7, 0.1, 0.2))):
            for each in (0, OTHERS):
                people, judge = said(rng, kappa, shares, (runs, LIMIT))
                others = rng.choice(VERDICTS, p=shares, size=runs * LIMIT * each) if each else None
                scores = kappa_scores(judge.ravel(), people.ravel(), np.array([kappa]), others=others)[0]
                beside = f", {each} verdicts of the judge beside a label" if each else ""
                show(f"kappa {kappa:g}{beside}", f"verdicts {name}", scores.reshape(runs, -1), np.inf)
    people, judge = said(rng, 0.6, SHARES, (ITEMS,))
    kappa = linear_kappa(judge, people) or 0.0
    scores = kappa_scores(judge, people, np.array([kappa]), others=judge, items=ITEMS)[0]
    drawn = np.array([rng.permutation(scores)[:LIMIT] for _ in range(runs)])
    show(f"kappa {kappa:.2f} of {ITEMS} items, all judged", "verdicts 40, 20, 40 %", drawn, ITEMS)


def said(
    rng: np.random.Generator, kappa: float, shares: tuple[float, ...], shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts of people and a judge, whose own are theirs with this chance, and else drawn as theirs: so is kappa."""
    people = rng.choice(VERDICTS, p=shares, size=shape)
    return people, np.where(rng.random(shape) < kappa, people, rng.choice(VERDICTS, p=shares, size=shape))


def show(gate: str, where: str, scores: np.ndarray, items: float) -> None:
    """Print how often bets on these scores, shape (runs, draws), rule out a mean of 0 from each side."""
    runs = len(scores)
    begun, answer = HedgedBets(RISK, np.zeros(2), scores.shape[1], items), np.zeros(runs)
    for score in scores.T:
        begun = begun.after(np.stack([score, -score], axis=-1))
        out = np.broadcast_to(begun.ruled_out, (runs, 2))
        new = (answer == 0) & out.any(axis=1)
        answer[new] = np.where(out[new, 0], 1, -1)
    print(f"| {gate} | {where} | {np.mean(answer == 1):.4f} | {np.mean(answer == -1):.4f} |", flush=True)


def intervals(pair: Pair, labels: int, order: np.ndarray) -> Iterator[tuple[float, float]]:
    """90 % intervals of the gap of all items: ours, Student's of people alone, the regression's, and ppi_py's."""
    dear, cheap, items = pair.dear[order[:labels]], pair.cheap, len(pair.dear)
    yield corrected_by_pool(dear.tolist(), order[:labels].tolist(), cheap, RISK / 2, sampled=False).interval or (-1, 1)
    own, rest = cheap[order[:labels]], cheap[order[labels:]]
    finite = np.sqrt(1 - labels / items)
    reach = t.ppf(1 - RISK / 2, labels - 1) * dear.std(ddof=1) / labels**0.5 * finite
    yield dear.mean() - reach, dear.mean() + reach
    slope = np.cov(dear, own)[0, 1] / own.var(ddof=1) if own.var() else 0.0
    left = dear - dear.mean() - slope * (own - own.mean())
    middle = dear.mean() - slope * (own.mean() - cheap.mean())
    reach = t.ppf(1 - RISK / 2, labels - 2) * np.sqrt((left**2).sum() / (labels - 2) / labels) * finite
    yield middle - reach, middle + reach
    # Angelopoulos, Duchi & Zrnic (2023), as ppi_mean_ci of ppi_py 0.2.3 with its tuned power, held in [0, 1].
    ratio = labels / len(rest)
    both = np.concatenate([own, rest])
    power = float(np.clip(np.cov(dear, own, ddof=0)[0, 1] / ((1 + ratio) * both.var(ddof=1) or 1.0), 0, 1))
    middle = power * rest.mean() + (dear - power * own).mean()
    reach = norm.ppf(1 - RISK / 2) * np.sqrt(power**2 * rest.var() / len(rest) + (dear - power * own).var() / labels)
    yield middle - reach, middle + reach


def corrections(data: Path, runs: int) -> None:
    """Print widths of intervals of the gap by people, and how often they miss."""
    rng = np.random.default_rng(4)
    realsumm = data / "realsumm/verdicts-human-pyramid.csv.gz", data / "realsumm/verdicts-rougeL.csv.gz"
    alpaca = data / "alpacaeval/verdicts-gpt4turbo.csv.gz", data / "alpacaeval/verdicts-gpt4.csv.gz"
    sets = {
        "PandaLM, GPT-3.5": (list(pandalm(data, "gpt-3.5-turbo")), (20, 40, 60)),
        "REALSumm, ROUGE-L": (list(of_tables(*realsumm, 0.0, rng)), (20, 60)),
        "AlpacaEval GPT-4-turbo, GPT-4": (list(of_tables(*alpaca, 0.05, rng)), (20, 40, 80, 160)),
    }
    print("| people, judge | labels | every look, with the judge | Student, people alone | regression | ppi_py |")
    print("|---|---|---|---|---|---|")
    for name, (pairs, each) in sets.items():
        for labels in each:
            widths, missed = [], []
            for run in range(runs):
                pair = pairs[run % len(pairs)]
                found = [*intervals(pair, labels, rng.permutation(len(pair.dear)))]
                gap = pair.dear.mean()
                widths.append([high - low for low, high in found])
                missed.append([not low - 1e-9 <= gap <= high + 1e-9 for low, high in found])
            cells = [
                f"{w:.3f} ({m:.3f})" for w, m in zip(np.mean(widths, axis=0), np.mean(missed, axis=0), strict=True)
            ]
            print(f"| {name} | {labels} | {' | '.join(cells)} |", flush=True)


def slopes(runs: int) -> None:
    """Print the width beside that of labels alone, with its standard error, by gap, ties and what the judge knows."""
    labels, items, least = 60, 240, 0.1
    print("| gap, ties | judge says what people say, and guesses else | R² | the slope | 0 until R² is shown |")
    print("|---|---|---|---|---|")
    for gap, ties in ((0.2, 0.3), (0.2, 0.0), (0.5, 0.0)):
        for knows in (0.0, 0.2, 0.4, 0.6):
            ratios, r2 = [], []
            for run in range(runs):
                rng = np.random.default_rng(run)
                shares = (1 - ties - gap) / 2, ties, (1 - ties + gap) / 2
                dear, guesses = rng.choice([-1.0, 0.0, 1.0], p=shares, size=(2, items))
                cheap, drawn = np.where(rng.random(items) < knows, dear, guesses), rng.permutation(items)[:labels]
                own, said = dear[drawn], cheap[drawn]
                plain = controls(own.tolist(), of_blocks(cheap, drawn.tolist(), 0))
                seen = np.arange(labels)
                xx, cc, xc = (
                    (np.cumsum(one * other) - one * other)
                    - (np.cumsum(one) - one) * (np.cumsum(other) - other) / np.maximum(seen, 1)
                    for one, other in ((own, own), (said, said), (own, said))
                )
                shown = (xc + PRIOR * PRIOR_SLOPE) ** 2 >= least * (xx + PRIOR) * (cc + PRIOR)
                both = np.array([own, -own])
                widths = [
                    2 - (lower_bounds(both, RISK, 2 * labels, controls=one)[:, -1] + 1).sum()
                    for one in (None, plain, Controls(plain.values * shown, plain.most * shown))
                ]
                ratios.append([widths[1] / widths[0], widths[2] / widths[0]])
                r2.append(np.corrcoef(own, said)[0, 1] ** 2)
            means, errors_ = np.mean(ratios, axis=0), np.std(ratios, axis=0) / runs**0.5
            cells = " | ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors_, strict=True))
            print(f"| {gap:g}, {ties:g} | {knows:g} | {np.mean(r2):.2f} | {cells} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--corrected", type=Path, metavar="DATA")
    parser.add_argument("--slopes", action="store_true")
    given = parser.parse_args()
    if given.errors:
        errors(given.runs or 20_000)
    elif given.slopes:
        slopes(given.runs or 100)
    elif given.corrected:
        corrections(given.corrected, given.runs or 300)
    else:
        gates(given.runs or 2000)
        kappas(max(20, (given.runs or 2000) // 20))


if __name__ == "__main__":
    main()
