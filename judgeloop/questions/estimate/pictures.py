"""The evidence of an estimate as a picture: the mean score with its interval.

Puts words beside the numbers of an `Estimated`. Decides nothing and draws nothing (`report/svg.py`).
"""

from judgeloop.questions.estimate.result import Estimated
from judgeloop.report.cards import costs, once, trust
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board
from judgeloop.report.pictures import Row, Scale


def board(result: Estimated) -> Board:
    """Return what a page in a browser shows beside the text."""
    cards = (costs(result), trust(result))
    return Board("How good is this system?", (_score(result),), cards, once(result))


def _score(result: Estimated) -> tuple[Scale, ...]:
    """Return the mean with its interval, and the score that is required."""
    if result.mean is None:
        return ()
    name, required = visible(result.setup.systems[0]), result.options.required_score
    said = f"Mean score of {name}: {result.mean:.3f} out of 1"
    note = "The error of this mean is unknown."
    if result.interval is not None:
        low, high = result.interval
        said += f", between {low:.3f} and {high:.3f}"
        note = f"The interval misses the mean of all items with a probability of at most {result.setup.risk_threshold:g}."
        note = note if result.setup.guarantee else note.replace("at most", "about")
    figures = f"{result.mean:.3f}"
    if result.interval is not None:
        figures += " ({:.3f} to {:.3f})".format(*result.interval)
    bound = None if required is None else (required, "required")
    row = Row(name, figures, result.mean, result.interval)
    return (Scale("Mean score", said, 0, 1, (row,), ((0.0, "0"), (1.0, "1")), bound, note),)
