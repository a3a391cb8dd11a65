"""What one order of presentation costs beside both, from a few counts of a run."""

from __future__ import annotations

FEWEST_BOTH = 20  # the fewest verdicts in both orders that say what the other way would cost
CLEARLY_CHEAPER = 0.75  # a share of the calls below which the other way is worth a sentence


def calls_of_one_order(decisive: float, flipped: float) -> float | None:
    """Return the calls to a decision in one order, as a multiple of those in both orders.

    `decisive` is the share of first calls that prefer a system, `flipped` the share of these that
    the other order contradicts. Where flips are the judge's preference for a position, they fall to
    either side, so both ways see the same win distance g. The judgments to a decision grow with the
    variance over g²: with the share of decisive verdicts, which is d in one order and d(1 - f) in
    both. In both orders a judgment takes 1 + d calls. So the multiple is 1 / ((1 - f)(1 + d)). None
    if no verdict is left.

    >>> calls_of_one_order(1.0, 0.0), calls_of_one_order(0.25, 0.5)
    (0.5, 1.6)
    """
    left = (1 - flipped) * (1 + decisive)
    return 1 / left if left and decisive else None
