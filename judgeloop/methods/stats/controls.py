"""The test of a judge by controls: whether it tells answers to the question from others.

Takes results of controls (1: the question's own answer was preferred, -1: the other one, 0: a tie,
None: no verdict) and counts them up to the end of the test. `engine/controls.py` draws the controls and asks the judge.

A control is an unordered pair of questions, drawn at random with their answers from one source. A
fair coin says whose question is asked, and a fair coin which answer stands first. x is the result.
Two bets run side by side (Ville 1939: a nonnegative martingale from 1 reaches 20 with at most 1/20):

- Passed: the product of 1.4, 0.8 and 0.2 for right, tie and wrong reaches 20. These are
  1 + c (x - g) / (1 + g) with c = 0.8 and g = 1/3, whose mean is at most 1 where E x <= 1/3. So a
  judge with E x <= 1/3 ever passes with a probability of at most 0.05.
- Failed: the product of 3/4, 19/12 and 29/12 reaches 20. These are 1 + b (h - x) / (1 - h) with b = 0.25
  and h = 0.7. So a judge with E x >= 0.7 ever fails with a probability of at most 0.05.

Up to `LEFT_OUT` controls without a verdict do not count. A further one counts as wrong in the first and as right in
the second, so that it helps neither.

*Further tries.* Each try of one answering model has other controls, and the k-th passes at a product of 20 * 2^(k - 1).
So the chance that a judge with E x <= 1/3 ever passes one is at most 0.05 (1 + 1/2 + 1/4 + ...) = 0.1, however often it
is tried, and whoever decides on another try.

*Blind judges.* A judge whose verdict depends on the two texts and their order alone (always A, a
tie, a coin, the longer or the shorter text, a style) has E x = 0, whatever rule drew the pair: given
the texts and their order, the coin for the question is independent of the verdict, and turns its
sign. Without that coin a judge that likes short answers would pass against a long foil.

*Ratings.* Of a judge that rates one answer a time, x is the sign of the rating of the own answer less
that of the other one, to the same question. A judge that does not see the question rates each text
alike, whichever question is asked, so the coin turns the sign again.

*Why 1/3.* Let a candidate equal the baseline, but on a share s of the items answer another question.
Then its gap is -s E x. A test that lets it pass as "not worse by M" with a risk a where its gap is -M
or below, together with the controls, passes it with at most max(0.05, a) if s > 3 M: if E x <= 1/3
the controls stop it, and else s E x > M, so the test does. All conditions must hold, so the risk is
the largest, not the sum. A bound of 0 in place of 1/3 would let a judge pass that dilutes M tenfold.

In both orders of presentation a control whose verdict changes with the order is a tie, as everywhere. One call in an
order by coin has the same mean P(both right) - P(both wrong), if there are no ties. What is proved is that the judge
reads which question an answer is to; not that it sees quality.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from judgeloop.core.outcomes import Control, ControlTally

ENOUGH = 20.0  # the inverse of either risk
MOST = 40  # controls of one judge
USUAL = 13  # controls that a judge takes which is right in 95 %
LEFT_OUT = 2  # controls without a verdict that do not count
MOST_TRIES = 1 + int(math.log2(1.4**MOST / ENOUGH))  # no later one can be passed
NO_CONTROLS = ControlTally()


def end_of(right: int, tied: int, wrong: int, abstained: int = 0, number: int = 1) -> Control | None:
    """How the test has ended after these results of the try `number`; None if it goes on.

    It also ends once so many verdicts are missing that right answers to all other controls would not pass.

    >>> end_of(9, 0, 0), end_of(9, 0, 0, number=2), end_of(0, 7, 0), end_of(0, 0, 0, 8)
    (<Control.PASSED: 'passed'>, None, <Control.FAILED: 'failed'>, <Control.NOT_SHOWN: 'not_shown'>)
    """
    enough, missing = ENOUGH * 2.0 ** (number - 1), max(0, abstained - LEFT_OUT)
    if 1.4**right * 0.8**tied * 0.2 ** (wrong + missing) >= enough:
        return Control.PASSED
    if 0.75 ** (right + missing) * (19 / 12) ** tied * (29 / 12) ** wrong >= ENOUGH:
        return Control.FAILED
    hopeless = 1.4 ** (MOST - abstained) * 0.2**missing < enough
    ended = right + tied + wrong + abstained >= MOST
    return Control.NOT_SHOWN if hopeless or ended else None


def counted(results: Sequence[int | None], number: int = 1) -> ControlTally:
    """Count the `results` of a try in their order; what follows the end of the test does not count."""
    tally = ControlTally(number=number)
    for result in results:
        tally = _with(tally, result)
        if tally.end is not None:
            break
    return tally


def fewest_left(tally: ControlTally) -> int:
    """How many controls may be asked at once, so that no judge that passes is asked too many.

    These are the fewest right answers after which the test ends; 0 if it has ended.

    >>> fewest_left(NO_CONTROLS), fewest_left(counted([1, 1, -1]))
    (9, 12)
    """
    number = 0
    while tally.end is None:
        tally, number = _with(tally, 1), number + 1
    return number


def _with(tally: ControlTally, result: int | None) -> ControlTally:
    right, tied = tally.right + (result == 1), tally.tied + (result == 0)
    wrong, abstained = tally.wrong + (result == -1), tally.abstained + (result is None)
    end = end_of(right, tied, wrong, abstained, tally.number)
    return replace(tally, right=right, tied=tied, wrong=wrong, abstained=abstained, end=end)
