"""The result of an estimate as text: the score first, then the evidence.

Takes an `Estimated` and returns sentences. Computes no figures and prints nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.selectors.catalogue import Need, selector_row
from judgeloop.methods.stopping.catalogue import INTERVALS
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page
from judgeloop.report.sentences import (
    ABOUT_THE_JUDGE,
    CUT_SHORT,
    DRAWN_WHOLE,
    about_data,
    count,
    ended,
    judge,
    judged_by,
    notes,
    on_items,
    published,
    warnings,
)
from judgeloop.report.spent import costs, enough, money

if TYPE_CHECKING:
    from judgeloop.questions.estimate.result import Estimated, EstimateSetup


def page(result: Estimated) -> Page:
    """Return the result as text."""
    means = "" if result.interval is None else _interval_means(result)
    return Page(
        headline(result),
        tuple(details(result)),
        summary=tuple(summary(result)),
        notes=notes(result, "What the interval means", means),
    )


def so_far(tally: Ratings, systems: tuple[str, ...], most: int) -> str:
    """Return the mean during a run; the name of the only system is left out."""
    del systems, most
    if not tally.judged:
        return ""
    return f"mean {tally.moments.mean:.3f}{' so far' if tally.drawn else ' of those picked'}"


def headline(result: Estimated) -> str:
    """Return the score in a sentence, and whether the required score is reached."""
    required, score = result.setup.required_score, _score_known(result)
    said = {
        None: _decision(result),
        "reached": f"A score of {required} was required and is reached: {score}",
        "missed": f"FAILED: a score of {required} was required, and {score}",
        "open": f"{_decision(result)}; whether it reaches {required} is open",
    }
    return f"{said[result.shown]}."


def _decision(result: Estimated) -> str:
    if result.winner is not None:
        return _score_known(result)
    where = on_items(result.about, result.items)
    return f"No estimate yet of {visible(result.setup.systems[0])} {where}: {ended(result)}"


def _score_known(result: Estimated) -> str:
    """Return the score, what it is about, and how exact it is."""
    return f"{_known(result)} {on_items(result.about, result.items)}{_range(result)}"


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
        why = "as they were picked" if result.mean_biased else "as too few are judged"
        return f", and how exact that is cannot be said, {why}"
    low, high = result.interval
    return f", probably between {low:.3f} and {high:.3f}"


def summary(result: Estimated) -> list[str]:
    """Return what was judged, the interval and the cost, what would do, and warnings."""
    parts = [_judged(result), *_so_far(result), *_limits(result), f"Cost: {money(result)}."]
    lines = [" ".join(parts)]
    if result.winner is None:
        lines.append(_what_would_do(result) + enough(result))
    elif result.stop_reason in {StopKind.BUDGET, StopKind.DEADLINE}:
        lines.append(f"The run ended early: {ended(result)}.")
    return lines + warnings(result)


def _judged(result: Estimated) -> str:
    if result.judged == result.items:
        return f"Judged by {judged_by(result)}: all {count(result.items, 'item')}, so the score is exact."
    return f"Judged by {judged_by(result)}: {result.judged:,} of {count(result.items, 'item')}."


def _so_far(result: Estimated) -> list[str]:
    """Return the mean of a run that has no estimate yet."""
    if result.winner is not None or result.mean is None:
        return []
    return [f"Score so far: {result.mean:.3f}{_unknown_error(result)}."]


def _unknown_error(result: Estimated) -> str:
    if result.interval is not None:
        return ""
    return ", which may be far off" + (", as the items were picked" if result.mean_biased else "")


def _limits(result: Estimated) -> list[str]:
    """Return the interval; none if there is none, or if it is a point."""
    if result.interval is None or result.stop_reason is StopKind.ALL_JUDGED:
        return []
    low, high = result.interval
    level = 100 * (1 - result.setup.risk_threshold)
    kind = "guaranteed" if result.setup.guarantee else "approximate"
    return [f"{level:g} % interval: {low:.3f} to {high:.3f} ({kind})."]


def _what_would_do(result: Estimated) -> str:
    if result.stop_reason in CUT_SHORT:
        return CUT_SHORT[result.stop_reason]
    if result.asked == result.items:
        return "Nothing is left to judge."
    if result.setup.half_width is None:
        return "Too few items are judged."
    if result.more_judgments is None:
        return "How many more judgments it takes cannot be said."
    dollars = f" (about {show_usd(result.more_p)})" if result.more_p else ""
    more = count(result.more_judgments, "more judgment")
    return f"About {more}{dollars} would probably do."


def details(result: Estimated) -> list[tuple[str, str]]:
    """Return the evidence for the score, as pairs of a name and a sentence."""
    rows = [("score", _score(result)), ("interval", _interval(result)), ("judge", judge(result))]
    if result.setup.proxy is not None:
        rows.append(("proxy", _proxy(result)))
    rows += [("selector", _selector(result)), *published(result), *costs(result)]
    return rows + about_data(result)


def _score(result: Estimated) -> str:
    if result.mean is None or result.sampled_mean is None:
        return "nothing is judged"
    text = f"{result.mean:.3f} for all {result.items:,} items, {result.sampled_mean:.3f} the plain mean of those judged"
    if result.mean_biased:
        text += ", which were picked and not drawn: how far off that is cannot be told"
    return text + (f"; {count(result.abstentions, 'abstention')}" if result.abstentions else "")


def _interval(result: Estimated) -> str:
    setup = result.setup
    if result.stop_reason is StopKind.ALL_JUDGED:
        return "a point: nothing is left to chance"
    if result.interval is None:
        if not result.mean_biased:
            return "none: too few items are judged"
        return "none: it would need items that are drawn at random; `selector=random` or stratified draws them"
    text = f"{setup.interval_kind}, {result.reach:.3f} from the score at most; risk {setup.risk_threshold:g}"
    wanted = "" if setup.half_width is None else f", wanted {setup.half_width:g}"
    widened = "; abstentions count as 0 below and as 1 above" if result.abstentions else ""
    unseen = (
        "; no narrower, as scores that few items have may be missing from so small a sample"
        if result.cautious
        else ""
    )
    return text + wanted + widened + unseen


def _interval_means(result: Estimated) -> str:
    """Return what the interval says, what is proved about it, and what it does not say."""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return f"{DRAWN_WHOLE} {ABOUT_THE_JUDGE}"
    often = 100 * (1 - result.setup.risk_threshold)
    at_least = "at least" if result.setup.guarantee else "about"
    means = f"Of 100 such intervals {at_least} {often:g} contain the mean score of all items, judged or not."
    return f"{means} {_promise(result)} {ABOUT_THE_JUDGE}"


def _promise(result: Estimated) -> str:
    if result.setup.guarantee:
        return f"That is guaranteed: {result.setup.guarantee}."
    looks = (
        "however often you look" if INTERVALS[result.setup.interval_kind] else "if you look once"
    )
    return f"That was measured, not proved; it holds {looks}."


def _proxy(result: Estimated) -> str:
    name, source = visible(result.setup.proxy or ""), result.setup.history
    said = name if source is None else f"{name}: {visible(source)}"
    if result.proxy_mean is None:
        return f"{said}; the score is the judge's alone"
    return f"{said}, mean {result.proxy_mean:.3f} over all items; the score is the judge's all the same"


def _selector(result: Estimated) -> str:
    setup = result.setup
    parts = [setup.selector]
    if setup.strata > 1:
        parts.append(f"{setup.strata} strata")
    if setup.represent is not None:
        parts.append(f"on {visible(setup.represent)} vectors{_of_what(setup)}")
    return f"{', '.join(parts)}, seed {setup.seed}"


def _of_what(setup: EstimateSetup) -> str:
    """Return what the selector's vectors are of."""
    if Need.OUTPUT_VECTORS in selector_row("estimate", setup.selector).needs:
        return " of the outputs"
    if setup.layer:
        return f", layer {setup.layer}"
    return " (of the texts: the model's own hidden states are not at hand)"
