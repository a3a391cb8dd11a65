"""Judgments and errors of the nights of `examples/nightly`, over many seeds.

    python benchmarks/nights.py [--seeds 16] [--whole 9]

On the first `--whole` nights every item is judged. The figures are means over the later nights.
Also prints after how many later nights the judgments saved make up for the whole nights. A winner
is wrong if it is not better over all items; so between level systems every winner is wrong. Reads
only files that the example writes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "nightly"))
import nightly

WAYS = ("remembering", "forgetting")


def main() -> None:
    """Run the nights of every seed, and print the means over the nights not judged whole."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument(
        "--whole", type=int, default=nightly.WHOLE, help="number of nights on which every item is judged, at least 4"
    )
    given = parser.parse_args()
    nightly.WHOLE = given.whole
    later = [night for seed in range(given.seeds) for night in nights(seed)[given.whole :]]
    found = np.array([[ended(night, way) for way in WAYS] for night in later], dtype=np.float64).mean(axis=0)
    for way, (judgments, wrong, undecided) in zip(WAYS, found, strict=True):
        print(f"{way:<12} {judgments:5.1f} judgments, {wrong:5.1%} wrong, {undecided:5.1%} undecided")
    remembering, forgetting = found[:, 0]
    dearer = given.whole * (nightly.ITEMS - forgetting)
    print(
        f"{given.whole} whole nights take {dearer:,.0f} more judgments,"
        f" made up for after {dearer / (forgetting - remembering):.0f} later nights"
    )


def nights(seed: int) -> list[nightly.Night]:
    """Return all nights of one seed."""
    with tempfile.TemporaryDirectory() as folder:
        return list(nightly.all_nights(Path(folder), seed))


def ended(night: nightly.Night, way: str) -> tuple[int, bool, bool]:
    """Return the judgments, whether a wrong winner was named, and whether none was named."""
    result = getattr(night, way)
    return result.judged, night.is_wrong(way), result.winner is None


if __name__ == "__main__":
    main()
