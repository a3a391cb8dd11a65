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

from thinking import Thinker, run

from judgeloop.core.money import show_usd, to_pico

EARLIER = 50  # items of the earlier run
BUDGETS = ("0.05", "0.1", "0.2", "0.5")


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
                    earlier = range(EARLIER)
                    asyncio.run(run(server, earlier, "20", ledger_file=ledger_file, name="earlier"))
                before_p, began = server.bill_p, time.perf_counter()
                finished = asyncio.run(run(server, items, budget, ledger_file=ledger_file))
                seconds = time.perf_counter() - began
            server.server.shutdown()
            budget_p = to_pico(budget)
            print(
                f"| ${budget} | {'replies' if known else 'nothing'} | {finished.ending.asked} | "
                f"{finished.spend.run_p / budget_p:.0%} | {seconds:.1f} | "
                f"{show_usd(max(0, server.bill_p - before_p - budget_p))} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
