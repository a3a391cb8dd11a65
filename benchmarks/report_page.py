"""A report of many long texts in a real browser: its size, the first view, a search.

    python benchmarks/report_page.py [--items 5000] [--texts 12.8]

Makes a comparison of so many items whose prompts and outputs are together so many million characters, in
words of AlpacaEval's mean length, writes its report, and opens it in Chromium through its driver
(Debian's `chromium` and `chromium-driver`). The first view is the time from the start of loading until the
script has run and a frame is drawn; a search is the time from the key until the next frame. Each is the
median of five views, and of ten searches.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.browser import DESK, PHONE, Browser, browser
from support.results import make_result

from judgeloop.core.records import Choice, Item, Label, Pool, Verdict
from judgeloop.report.labels import Texts, label_rows

REPEATS = 5
PROMPT, OUTPUT = 0.08, 0.46  # shares of an item's characters: a prompt, and each of two outputs
FIRST_VIEW = """
const done = arguments[0];
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
"""
SEARCH = """
const [words, done] = arguments, box = document.getElementById('search');
box.value = words;
const began = performance.now();
box.dispatchEvent(new Event('input'));
new MutationObserver((_, one) => { one.disconnect(); requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began))); })
  .observe(document.getElementById('shown'), {childList: true, characterData: true, subtree: true});
"""


def page(items: int, millions: float) -> str:
    """Return the report of a comparison with random texts."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("etaoinshrdlu"), size)) for size in rng.integers(2, 9, 5000)])
    each = millions * 1e6 / items

    def text(share: float) -> str:
        found = " ".join(rng.choice(words, int(each * share / 4)))
        return found[: int(each * share)]

    pool = Pool(
        tuple(Item(f"item-{number}", text(PROMPT), group=f"group {number % 5}") for number in range(items)),
        ("small", "large"),
        tuple(tuple(text(OUTPUT) for _ in range(items)) for _ in range(2)),
    )
    labels = [
        Label(Choice(place, 1 / items), Verdict(float(rng.integers(3)) / 2, "it is shorter")) for place in range(items)
    ]
    rows = label_rows(labels, pool.systems, pool.items, frozenset(one.choice.key for one in labels))
    return replace(make_result(), labels=rows, texts=Texts(pool)).to_html("now")


def measured(one: Browser, path: Path) -> tuple[float, float]:
    """Return the seconds to the first view and of a search, each the median of several."""
    views, searches = [], []
    for number in range(REPEATS):
        one.open(path)
        views.append(one.run_async(FIRST_VIEW) / 1000)
        searches.append(one.run_async(SEARCH, f"item-{number}7") / 1000)
        searches.append(one.run_async(SEARCH, "etao"[: number + 1]) / 1000)
    return statistics.median(views), statistics.median(searches)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--texts", type=float, default=12.8, help="millions of characters")
    given = parser.parse_args()
    began = time.perf_counter()
    html = page(given.items, given.texts)
    print(f"{given.items:,} items, {given.texts:g} million characters: made in {time.perf_counter() - began:.1f} s")
    with tempfile.TemporaryDirectory() as folder, browser() as one:
        path = Path(folder, "report.html")
        path.write_text(html, encoding="utf-8")
        print(f"size: {path.stat().st_size / 1e6:.1f} MB")
        for name, size in (("desk", DESK), ("phone", PHONE)):
            one.look(size=size)
            view, search = measured(one, path)
            print(f"{name}: first view {view:.2f} s, search {search:.2f} s")


if __name__ == "__main__":
    main()
