"""The evidence of an estimate as a picture: the mean score with its interval.

Puts words beside the numbers of an `Estimated`. Decides nothing and draws nothing (`report/svg.py`).
"""

from judgeloop.core.outcomes import StopKind
from judgeloop.questions.estimate.result import Estimated
from judgeloop.report.cards import costs, once, trust
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board
from judgeloop.report.pictures import Row, Scale
from judgeloop.report.sentences import DRAWN_WHOLE, plainly
from judgeloop.report.words import one_in


def board(result: Estimated) -> Board:
    """Return what a page in a browser shows beside the text."""
    required = result.options.required_score
    asked = () if required is None else (f"a score of at least {required:g}",)
    cards = (costs(result), trust(result))
    return Board(
        "How good is this system?",
        plainly(result, _wrong(result), asked=asked),
        (_score(result),),
        cards,
        once(result),
    )


def _wrong(result: Estimated) -> str:
    """Return how likely the interval is wrong, in words that need no statistics."""
    if result.mean is None:
        return ""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return DRAWN_WHOLE
    if result.interval is None:
        return "How far the score may be off is not known."
    kind = "at most" if result.setup.guarantee else "about"
    return f"A range like this misses the score of all items {kind} {one_in(result.setup.risk_threshold)} times."


def _score(result: Estimated) -> tuple[Scale, ...]:
    """Return the mean with its interval, and the score that is required."""
    if result.mean is None:
        return ()
    name, required = visible(result.setup.systems[0]), result.options.required_score
    said = f"Mean score of {name}: {result.mean:.3f} out of 1"
    whole = result.stop_reason is StopKind.ALL_JUDGED
    interval = None if whole else result.interval
    note = "" if whole else "The error of this mean is unknown."
    if interval is not None:
        low, high = interval
        said += f", between {low:.3f} and {high:.3f}"
        misses = (
            f"{'at most' if result.setup.guarantee else 'about'} {result.setup.risk_threshold:g}"
        )
        note = f"The interval misses the mean of all items with a probability of {misses}."
    figures = f"{result.mean:.3f}"
    if interval is not None:
        figures += " ({:.3f} to {:.3f})".format(*interval)
    bound = None if required is None else (required, "required")
    row = Row(name, figures, result.mean, interval)
    return (Scale("Mean score", said, 0, 1, (row,), ((0.0, "0"), (1.0, "1")), bound, note),)
