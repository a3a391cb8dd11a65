"""The result of an estimate as text: the score first, then the evidence; and the score as a picture.

Takes an `Estimated` and returns sentences. Computes no figures, draws nothing and prints nothing.
"""

from judgeloop.catalogue import selector_row
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.rows import INTERVALS
from judgeloop.questions.estimate.result import Estimated
from judgeloop.report import sentences
from judgeloop.report.cards import costs, once, trust
from judgeloop.report.conditions import required
from judgeloop.report.escaping import visible
from judgeloop.report.page import Board, Page, Table
from judgeloop.report.pictures import Row, Scale
from judgeloop.report.words import count, one_in, stopped


def page(result: Estimated) -> Page:
    """Return the result as text."""
    means = "" if result.interval is None else _interval_means(result)
    return Page(
        headline(result),
        details(result),
        summary=sentences.summed_up(result, *_standing(result)),
        notes=sentences.notes(result, "What the interval means", means),
        board=_board(result),
        required=required(result),
    )


def so_far(tally: Ratings, systems: tuple[str, ...], most: int) -> str:
    """Return the mean during a run; the name of the only system is left out."""
    del systems, most
    if not tally.judged:
        return ""
    return f"mean {tally.moments.mean:.3f}{' so far' if tally.drawn else ' of those picked'}"


def headline(result: Estimated) -> str:
    """Return the score in a sentence, and whether the required score is reached."""
    required, score = result.options.required_score, _score_known(result)
    said = {
        None: _decision(result),
        "reached": f"a score of {required} was required and is reached: {score}",
        "missed": f"a score of {required} was required, and {score}",
        "open": f"{_decision(result).rstrip('?')}; whether it reaches {required} is open",
    }
    return sentences.headline(result, stopped(said[result.shown]))


def _decision(result: Estimated) -> str:
    if result.winner is not None:
        return _score_known(result)
    if _is_wide(result):
        asked = f"not yet within {result.options.half_width:g} of the score, as asked"
        return f"{_score_known(result)}; {asked}: {sentences.ended(result)}"
    where = sentences.on_items(result.about, result.items)
    return f"No estimate yet of {visible(result.setup.systems[0])} {where}: {sentences.ended(result)}"


def _is_wide(result: Estimated) -> bool:
    """Whether there is an interval, which is wider than was asked for."""
    wanted, failed = result.options.half_width, result.answer.broke_off
    return not result.decided and not failed and None not in {wanted, result.reach}


def _score_known(result: Estimated) -> str:
    """Return the score, what it is about, and how exact it is."""
    return f"{_known(result)} {sentences.on_items(result.about, result.items)}{_range(result)}"


def _known(result: Estimated) -> str:
    """Return what is known of the mean."""
    name = visible(result.setup.systems[0])
    if result.mean is None:
        return f"nothing is known of {name}"
    about = "" if result.interval is not None else "about "
    return f"{name} scores {about}{result.mean:.3f} out of 1"


def _range(result: Estimated) -> str:
    """Return where the mean of all items lies, as far as is known."""
    if result.mean is None or result.stop_reason is StopKind.ALL_JUDGED:
        return ""
    if result.interval is None:
        why = "as the items were not drawn at random" if result.mean_biased else "as too few are judged"
        return f" (error unknown, {why})"
    low, high = result.interval
    return f", probably between {low:.3f} and {high:.3f}"


def _standing(result: Estimated) -> list[str]:
    """Return what was judged, the interval and the cost, and whether the run ended early."""
    parts = [
        _judged(result),
        *_so_far(result),
        *_limits(result),
        f"Cost: {sentences.money(result)}{sentences.with_known(result)}.",
    ]
    early = result.decided and result.stop_reason in {StopKind.BUDGET, StopKind.DEADLINE}
    return [" ".join(parts), *([f"The run ended early: {sentences.ended(result)}."] if early else [])]


def _judged(result: Estimated) -> str:
    if result.judged == result.items and not result.setup.sampled:
        return f"Judged by {sentences.judged_by(result)}: all {count(result.items, 'item')}, so the score is exact."
    return f"Judged by {sentences.judged_by(result)}: {result.judged:,} of {count(result.items, 'item')}."


def _so_far(result: Estimated) -> list[str]:
    """Return the mean of a run that has no estimate yet."""
    if result.decided or _is_wide(result) or result.mean is None:
        return []
    return [f"Score so far: {result.mean:.3f}{_unknown_error(result)}."]


def _unknown_error(result: Estimated) -> str:
    if result.interval is not None:
        return ""
    why = ", as the items were not drawn at random" if result.mean_biased else ""
    return f" (error unknown{why})"


def _limits(result: Estimated) -> list[str]:
    """Return the interval; none if there is none, or if it is a point."""
    if result.interval is None or result.stop_reason is StopKind.ALL_JUDGED:
        return []
    low, high = result.interval
    level = 100 * (1 - result.setup.risk_threshold)
    kind = "guaranteed" if result.setup.guarantee else "approximate"
    return [f"{level:g} % interval: {low:.3f} to {high:.3f} ({kind})."]


def details(result: Estimated) -> tuple[tuple[str, str], ...]:
    """Return the evidence for the score, as pairs of a name and a sentence."""
    return sentences.rows(
        ("score", _score(result)),
        ("interval", _interval(result)),
        ("judge", sentences.judge(result)),
        ("proxy", _proxy(result)),
        ("selector", _selector(result)),
        *sentences.shared(result),
    )


def _score(result: Estimated) -> str:
    if result.mean is None or result.sampled_mean is None:
        return "nothing has been judged"
    every = "items like these" if result.setup.sampled else f"all {result.items:,} items"
    text = f"{result.mean:.3f} for {every}; plain mean of the judged items {result.sampled_mean:.3f}"
    if result.mean_biased:
        text += "; they were not drawn at random, so the error is unknown"
    silent = result.counts.abstentions
    return text + (f"; {count(silent, 'abstention')}" if silent else "")


def _interval(result: Estimated) -> str:
    options = result.options
    if result.stop_reason is StopKind.ALL_JUDGED:
        return "a point, as all items are judged"
    if result.interval is None:
        if not result.mean_biased:
            return "none: too few items are judged"
        return "none: the items were not drawn at random; `selector=random` draws them"
    parts = [
        f"{options.interval_kind}, at most {result.reach:.3f} from the score, risk {result.setup.risk_threshold:g}"
        + ("" if options.half_width is None else f", wanted {options.half_width:g}"),
        "abstentions count as 0 below and 1 above" if result.counts.abstentions else "",
        "widened for rare scores that the sample may have missed" if result.cautious else "",
    ]
    return "; ".join(filter(None, parts))


def _interval_means(result: Estimated) -> str:
    """Return what the interval says, and what it does not say."""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return f"{sentences.DRAWN_WHOLE} {sentences.about_the_judge(result)}"
    if result.setup.guarantee:
        return sentences.promise(result, result.setup.guarantee)
    often = 100 * (1 - result.setup.risk_threshold)
    every = "items like these" if result.setup.sampled else "all items"
    means = f"{often:g} % of such intervals contain the mean score of {every}"
    anytime = INTERVALS[result.options.interval_kind]
    looks = "however often you look" if anytime else "if you look once"
    return f"About {means}, {looks}: measured, not proved. {sentences.about_the_judge(result)}"


def _proxy(result: Estimated) -> str:
    """Return the proxy and its mean; empty without one."""
    if (name := result.options.proxy) is None:
        return ""
    mean = "" if result.proxy_mean is None else f", mean {result.proxy_mean:.3f} over all items"
    return f"{name}{mean}; the score is the judge's"


def _selector(result: Estimated) -> str:
    setup, parts = result.setup, [result.setup.selector]
    if result.options.strata > 1:
        parts.append(f"{result.options.strata} strata")
    if setup.represent is not None:
        parts.append(f"on {visible(setup.represent)} vectors{_of_what(result)}")
    return f"{', '.join(parts)}, seed {setup.seed}"


def _of_what(result: Estimated) -> str:
    """Return what the selector's vectors are of."""
    if selector_row("estimate", result.setup.selector).vectors == "outputs":
        return " of the outputs"
    if result.options.layer:
        return f", layer {result.options.layer}"
    return " of the texts (not the model's own hidden states)"


def _board(result: Estimated) -> Board:
    """Return what a page in a browser shows beside the text."""
    cards = (costs(result), trust(result))
    return Board(
        "How good is this system?",
        sentences.plainly(result, _wrong(result)),
        (_picture(result),),
        cards,
        once(result),
        row=_figures(result),
    )


def _figures(result: Estimated) -> Table:
    """Return the score with its interval."""
    columns = ("system", "items", "judged", "score", "at least", "at most")
    known = (result.mean, *(result.interval or (None, None)))
    scores = ("" if one is None else f"{one:.3f}" for one in known)
    counts = (f"{result.items:,}", f"{result.judged:,}")
    return Table("", columns, ((visible(result.setup.systems[0]), *counts, *scores),))


def _wrong(result: Estimated) -> str:
    """Return how likely the interval is wrong, in words that need no statistics."""
    if result.mean is None:
        return ""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return sentences.DRAWN_WHOLE
    if result.interval is None:
        return "How far the score may be off is not known."
    kind = "at most" if result.setup.guarantee else "about"
    return f"A range like this misses the score of all items {kind} {one_in(result.setup.risk_threshold)} times."


def _picture(result: Estimated) -> tuple[Scale, ...]:
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
        misses = f"{'at most' if result.setup.guarantee else 'about'} {result.setup.risk_threshold:g}"
        note = f"The interval misses the mean of all items with a probability of {misses}."
    figures = f"{result.mean:.3f}"
    if interval is not None:
        figures += " ({:.3f} to {:.3f})".format(*interval)
    bound = None if required is None else (required, "required")
    row = Row(name, figures, result.mean, interval)
    return (Scale("Mean score", said, 0, 1, (row,), ((0.0, "0"), (1.0, "1")), bound, note),)
