"""What a limit of output tokens that is learned from earlier replies does to a small budget.

    python benchmarks/token_limit.py [--items 200] [--most 1000]

The judge of `benchmarks/thinking.py` thinks 0 to MOST tokens. Each budget is spent twice on the
same items in both orders: with nothing known of the judge, and with the replies on 50 other items
in the ledger. Shown are the items judged, the part of the budget that was spent, the time, and what
the true bill exceeds the budget by.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from thinking import MODEL, PRICE, Thinker

from judgeloop.core.money import show_usd, to_pico
from judgeloop.core.pool import Pool
from judgeloop.core.records import Item
from judgeloop.engine.loop import Finished, drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.terms import Terms
from judgeloop.estimators.preferences import Preferences
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.options import JudgeOptions
from judgeloop.judges.prompt_files import shipped_template
from judgeloop.judges.token_limit import Learns
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.selectors.random import Random
from judgeloop.stopping.tie_aware import TieAware

EARLIER = 50  # items of the earlier run
BUDGETS = ("0.05", "0.1", "0.2", "0.5")


def pool_of(items: range) -> Pool:
    """Return two systems' answers to questions of these numbers."""
    return Pool(
        items=tuple(Item(f"i{n}", f"Question {n}: " + "why is that so? " * 20) for n in items),
        systems=("a", "b"),
        outputs=tuple(tuple(f"Answer {n} of {s}. " * 30 for n in items) for s in "ab"),
    )


async def run(
    server: Thinker, ledger_file: Path, name: str, items: range, budget: str
) -> Finished[Any]:
    """Judge the items, or as many as the budget pays for."""
    session = Session(
        selector=Random(),
        estimator=Preferences(),
        rule=TieAware(1e-300),
        items=len(items),
        rng=np.random.default_rng(1),
        limits=Limits(len(items), len(items), max_abstentions=1.0),
    )
    options = JudgeOptions(shipped_template("pairwise.v1"), {}, base_url=server.url, price=PRICE)
    judge, ledger = judge_from_spec(MODEL, options), SqliteLedger(ledger_file)
    try:
        if isinstance(judge, Learns):
            judge.learn(await ledger.reply_lengths(judge.identity))
        terms = Terms(name, budget_p=to_pico(budget), max_item_bytes=None)
        return await drive(session, pool_of(items), judge, ledger, terms)
    finally:
        await judge.aclose()
        await ledger.aclose()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--most", type=int, default=1000)
    given = parser.parse_args()
    items = range(EARLIER, EARLIER + given.items)
    print("| budget | known before | items judged | spent | seconds | overspend |")
    print("|---|---|---|---|---|---|")
    for budget in BUDGETS:
        for known in (False, True):
            server = Thinker(given.most)
            with tempfile.TemporaryDirectory() as folder:
                ledger_file = Path(folder) / "ledger.sqlite"
                if known:
                    asyncio.run(run(server, ledger_file, "earlier", range(EARLIER), "20"))
                before_p, began = server.bill_p, time.perf_counter()
                finished = asyncio.run(run(server, ledger_file, "run", items, budget))
                seconds = time.perf_counter() - began
            server.server.shutdown()
            budget_p = to_pico(budget)
            print(
                f"| ${budget} | {'replies' if known else 'nothing'} | {finished.outcome.asked} | "
                f"{finished.spend.run_p / budget_p:.0%} | {seconds:.1f} | "
                f"{show_usd(max(0, server.bill_p - before_p - budget_p))} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
