r"""What a decision costs when systems answer live, against generating all outputs first.

    python benchmarks/live.py DATA [--runs 300]

DATA holds `alpacaeval`: GPT-4's recorded verdicts, of which 73 % are ties, and the outputs that they
are about. Both systems answer with their recorded outputs, and the judge with the recorded verdicts.
The engine runs as in a live run, with reservations, a ledger in memory and 8 calls in flight.
Generating costs $2 per million tokens of the prompt and $8 of the output; a token is four characters.
A judge's call costs the same per token, times a factor: it makes the mean call cost 0.3, 1 or 3 times
the mean generation. All runs count, undecided ones at their cost. The rule is the default rule at a risk
of 0.1.

- *all, one call* and *all, both orders* generate all outputs and judge all items;
- *all, then compare* generates all outputs, and then judges what settles the comparison;
- *live* draws the item first, and generates only what is judged; its decisions are the same;
- *a sample* generates and judges (in both orders) a random sample of a fixed size, the smallest at
  which the leader is the wrong system no more often than *live* errs; it always names the leader.

The second order of *compare*, *live* and *a sample* is asked only if the first prefers a system.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bill import Texts, texts_of
from numpy.typing import NDArray
from one_order import Signs, recorded

from judgeloop.core.money import PICO_PER_DOLLAR
from judgeloop.core.outcomes import Finished, Tally
from judgeloop.core.records import UNLIMITED, Call, Item, JudgeIdentity, Output, Pool, Quote, Reply, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.judges.base import BaseJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.bets import Bets

RISK = 0.1
USUAL = 200  # judgments, by default
TOKEN = 4  # characters
DOLLARS = 2.0, 8.0  # per million tokens, read and written
JUDGE_READS, JUDGE_WRITES = 350, 60  # tokens of its prompt without the texts, and of its verdict
RATIOS = 0.3, 1.0, 3.0
GAPS = 0.0, 0.02, 0.05, 0.1, 0.2, 1.0
ORDERS = 20  # random orders of a pair's items, for samples of a fixed size
Floats = NDArray[np.float64]


class Pair(NamedTuple):
    """Two systems with their items, texts, preferences, and dollars for each output and call.

    `generating` has the shape (2, items), `judging` (items): the dollars of a call at equal prices
    per token.
    """

    systems: tuple[str, str]
    items: tuple[Item, ...]
    outputs: tuple[tuple[str, ...], tuple[str, ...]]
    signs: Signs
    generating: Floats
    judging: Floats


def pair_of(row: tuple[str, str, list[str], Signs], prompts: dict[str, str], texts: Texts) -> Pair:
    """Return a pair of systems with its texts and prices."""
    one, other, ids, signs = row
    items = tuple(Item(each, prompts[each]) for each in ids)
    # A few systems left an item out: their output is empty.
    outputs = tuple(tuple(texts[name].get(each, "") for each in ids) for name in (one, other))
    asked, written = tokens([item.prompt for item in items]), np.array(list(map(tokens, outputs)))
    generating = priced(asked, written)
    judging = priced(JUDGE_READS + asked + written.sum(axis=0), np.full(len(ids), JUDGE_WRITES))
    return Pair((one, other), items, outputs, signs, generating, judging)  # type: ignore[arg-type]


def tokens(texts: Sequence[str]) -> Floats:
    """Return the tokens of texts."""
    return np.ceil(np.array([len(text) for text in texts]) / TOKEN)


def priced(read: Floats, written: Floats) -> Floats:
    """Return the dollars of tokens."""
    return np.asarray((read * DOLLARS[0] + written * DOLLARS[1]) / 1e6)


@dataclass
class LiveSystem:
    """A system that answers with its recorded outputs; `asked` holds the positions it was asked."""

    name: str
    number: int
    pair: Pair
    asked: list[int] = field(default_factory=list)
    priced = lasts = True
    label = typed = "recorded"
    limit_is_default = False
    timeout_s, at_once = 60.0, None
    longest_bytes = likely_bytes = 4_000

    def __post_init__(self) -> None:
        self.identity = JudgeIdentity("recorded", self.name)
        self.places = {item.id: place for place, item in enumerate(self.pair.items)}

    def sent(self, item: Item) -> str:
        """Return the prompt."""
        return item.prompt

    def quote(self, call: Call) -> Quote:
        """Return the actual cost."""
        cost_p = picodollars(self.pair.generating[self.number, self.places[call.item.id]])
        return Quote(cost_p, cost_p)

    async def answer(self, call: Call) -> Reply:
        """Answer after a few turns of the loop, longer outputs later."""
        place = self.places[call.item.id]
        self.asked.append(place)
        text = self.pair.outputs[self.number][place]
        for _ in range(1 + len(text) // 500):
            await asyncio.sleep(0)
        return Reply(Output(text), self.quote(call).cost_p)

    def read(self, output: Output) -> Output:
        """Return an output as it is."""
        return output

    async def aclose(self) -> None:
        """Do nothing."""


@dataclass
class RecordedVerdicts(BaseJudge):
    """A judge that gives the recorded verdicts, the same in both orders."""

    pair: Pair
    asked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.identity = JudgeIdentity("recorded", "verdicts")
        self.places = {item.id: place for place, item in enumerate(self.pair.items)}

    def quote(self, call: Call) -> Quote:
        """Return the actual cost at equal prices per token."""
        cost_p = picodollars(self.pair.judging[self.places[call.item.id]])
        return Quote(cost_p, cost_p)

    async def judge(self, call: Call) -> Reply:
        """Return the recorded verdict."""
        place = self.places[call.item.id]
        self.asked.append(place)
        await asyncio.sleep(0)
        sign = int(self.pair.signs[place]) * (1 if call.systems == self.pair.systems else -1)
        return Reply(Verdict((1 + sign) / 2), self.quote(call).cost_p)


def picodollars(dollars: float) -> int:
    """Return dollars as the ledger counts them."""
    return round(dollars * PICO_PER_DOLLAR)


class Run(NamedTuple):
    """A run: whom it named (1, -1 or 0), and the positions generated and judged."""

    named: int
    judged: int
    generated: tuple[list[int], list[int]]
    calls: list[int]
    unused: int


def run(pair: Pair, limit: int, seed: int, *, these: bool) -> Run:
    """Compare a pair live; about `these` items, or items like these."""
    size = len(pair.items)
    most = min(limit, size)
    rule = Bets(RISK, size if these else UNLIMITED, most)
    systems = [LiveSystem(name, number, pair) for number, name in enumerate(pair.systems)]
    judge = RecordedVerdicts(pair)
    nothing = ("",) * size
    pool = Pool(pair.items, pair.systems, (nothing, nothing), live=(0, 1))
    session = Session(
        items=size,
        selector=Random(),
        estimator=Preferences(sampled=not these),
        rule=rule,
        limits=Limits(5, most),
        rng=np.random.default_rng(seed),
    )
    finished = asyncio.run(_driven(session, pool, judge, systems))
    winner = finished.ending.winner
    return Run(
        0 if winner is None else (1, -1)[winner],
        len(finished.ending.labels),
        (systems[0].asked, systems[1].asked),
        judge.asked,
        sum(one.unjudged for one in finished.generated),
    )


async def _driven(
    session: Session[Tally], pool: Pool, judge: RecordedVerdicts, systems: list[LiveSystem]
) -> Finished[Tally]:
    ledger: Any = open_ledger(":memory:")
    try:
        by_name = {one.name: one for one in systems}
        return await drive(session, pool, judge, ledger, Terms("run"), systems=by_name)
    finally:
        await ledger.aclose()


class Bill(NamedTuple):
    """The dollars of one way for one pair: outputs, and calls at equal prices per token."""

    generating: float
    judging: float

    def at(self, factor: float) -> float:
        """Return the dollars where a call costs `factor` times as much."""
        return self.generating + factor * self.judging


def bills(pair: Pair, ran: Run) -> dict[str, Bill]:
    """Return what each way costs for a pair."""
    everything, once = float(pair.generating.sum()), float(pair.judging.sum())
    asked = float(pair.judging[ran.calls].sum())
    live = sum(float(own[places].sum()) for own, places in zip(pair.generating, ran.generated, strict=True))
    return {
        "all, one call": Bill(everything, once),
        "all, both orders": Bill(everything, 2 * once),
        "all, then compare": Bill(everything, asked),
        "live": Bill(live, asked),
    }  # fmt: skip


def of_a_sample(pairs: Sequence[Pair], most_wrong: float) -> tuple[int, float, list[Bill]]:
    """Return the smallest size at which samples err no more often, the error, and the bills."""
    rng = np.random.default_rng(5)
    orders = [rng.permuted(np.tile(pair.signs, (ORDERS, 1)), axis=1) for pair in pairs]
    leads = [np.sign(np.cumsum(each, axis=1, dtype=np.int64)) for each in orders]
    size = min(len(pair.items) for pair in pairs)
    truths = [np.sign(int(pair.signs.sum(dtype=np.int64))) for pair in pairs]
    wrong = np.mean(
        [((lead[:, :size] != 0) & (lead[:, :size] != truth)).mean(axis=0)
         for lead, truth in zip(leads, truths, strict=True)], axis=0,
    )  # fmt: skip
    # From this size on no larger sample errs more often.
    number = int(np.flatnonzero(wrong > most_wrong).max(initial=-1)) + 2
    number = min(number, size)
    shares = [number / len(pair.items) for pair in pairs]
    return number, float(wrong[number - 1]), [
        Bill(
            share * float(pair.generating.sum()),
            share * float((pair.judging * (1 + (pair.signs != 0))).sum()),
        )
        for share, pair in zip(shares, pairs, strict=True)
    ]  # fmt: skip


def show(title: str, pairs: Sequence[Pair], limit: int, factors: Sequence[float], *, these: bool) -> None:
    """Print a table: what each way costs, and what live saves beside it."""
    ran = [run(pair, limit, seed, these=these) for seed, pair in enumerate(pairs)]
    better = [int(np.sign(pair.signs.sum(dtype=np.int64))) for pair in pairs]
    wrong = np.mean([one.named not in {0, truth} for one, truth in zip(ran, better, strict=True)])
    undecided = np.mean([not one.named for one in ran])
    size, sample_wrong, sampled = of_a_sample(pairs, float(wrong))
    judged, calls = np.mean([one.judged for one in ran]), np.mean([len(one.calls) for one in ran])
    items = np.mean([len(pair.items) for pair in pairs])
    second = np.mean([np.mean(pair.signs != 0) for pair in pairs])
    found = [bills(pair, one) for pair, one in zip(pairs, ran, strict=True)]
    outputs = sum(len(places) for one in ran for places in one.generated)
    unused = sum(one.unused for one in ran)
    print(f"\n{title}: {unused} of {outputs:,} outputs were paid for and not judged ({unused / outputs:.1%}).\n")
    head = " | ".join(f"calls at {ratio:g}" for ratio in RATIOS)
    print(f"| way | outputs | calls | wrong | no winner | {head} |\n|---|---|---|---|---|{'---|' * len(RATIOS)}")
    told = {
        "all, one call": (2 * items, items, 0.0, 0.0),
        "all, both orders": (2 * items, 2 * items, 0.0, 0.0),
        "all, then compare": (2 * items, calls, wrong, undecided),
        f"a sample of {size}": (2 * size, size * (1 + second), sample_wrong, 0.0),
        "**live**": (outputs / len(ran), calls, wrong, undecided),
    }
    by_way = {name: [each[name.strip("*")] for each in found] if "sample" not in name else sampled for name in told}
    dollars = {name: [np.mean([one.at(factor) for one in own]) for factor in factors] for name, own in by_way.items()}
    live = dollars["**live**"]
    for name, (made, asked, erred, none) in told.items():
        cells = " | ".join(
            f"${usd:.2f}" + ("" if name == "**live**" else f" ({own / usd - 1:+.0%})")
            for usd, own in zip(dollars[name], live, strict=True)
        )
        print(f"| {name} | {made:,.0f} | {asked:,.0f} | {erred:.1%} | {none:.0%} | {cells} |")
    print(f"\n{judged:.0f} items are judged on average.", flush=True)
    if limit > USUAL:
        show_by_gap(pairs, ran, [{way: one.at(factors[1]) for way, one in each.items()} for each in found])


def show_by_gap(pairs: Sequence[Pair], ran: Sequence[Run], usd: Sequence[dict[str, float]]) -> None:
    """Print what live saves by the gap of the pair; `usd` has the dollars of each way, by pair."""
    gaps = np.array([abs(float(pair.signs.mean(dtype=float))) for pair in pairs])
    print("\n| gap | pairs | judged | both orders | then compare | share of live |\n|---|---|---|---|---|---|")
    whole = sum(each["live"] for each in usd)
    for low, high in pairwise(GAPS):
        places = np.flatnonzero((gaps >= low) & (gaps < high))
        if not len(places):
            continue
        cost = {way: sum(usd[at][way] for at in places) for way in usd[0]}
        saved = [1 - cost["live"] / cost[f"all, {way}"] for way in ("both orders", "then compare")]
        judged = np.mean([ran[at].judged for at in places])
        print(
            f"| {low:g} to {high:g} | {len(places)} | {judged:.0f} | {saved[0]:.0%} | {saved[1]:.0%} | "
            f"{cost['live'] / whole:.0%} |"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=300)
    arguments = parser.parse_args()
    folder = arguments.data / "alpacaeval"
    prompts, texts = texts_of(folder)
    rows = recorded(folder / "verdicts-gpt4.csv.gz", 0.0, arguments.runs)
    pairs = [pair_of(row, prompts, texts) for row in rows]
    ties = np.mean([np.mean(pair.signs == 0) for pair in pairs])
    generation = np.mean([pair.generating.mean() for pair in pairs])
    factors = [ratio * generation / np.mean([pair.judging.mean() for pair in pairs]) for ratio in RATIOS]
    print(f"{len(pairs)} pairs, {ties:.0%} ties, a mean generation of ${generation:.5f}, risk {RISK}")
    for about, limit, these in (
        ("items", USUAL, True),
        ("items", 805, True),
        ("like-these", USUAL, False),
        ("like-these", 805, False),
    ):
        show(f"`--about {about}`, at most {limit} judgments", pairs, limit, factors, these=these)


if __name__ == "__main__":
    main()
