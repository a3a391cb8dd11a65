"""The result of an estimate as text: the score first, then the evidence.

Takes an `Estimated` and returns sentences. Computes no figures and prints nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page
from judgeloop.report.sentences import CUT_SHORT, bewares, cost, count, judge, money, published
from judgeloop.selectors.catalogue import Need, selector_row

if TYPE_CHECKING:
    from judgeloop.estimate.result import Estimated, EstimateSetup


def page(result: Estimated) -> Page:
    """Return the result as headline and details."""
    return Page(headline(result), tuple(details(result)))


def headline(result: Estimated) -> str:
    """Return the score in one line, and whether the required score is reached."""
    required = result.setup.required_score
    said = {
        None: "",
        "reached": f"{required} is reached: ",
        "missed": f"FAILED: {required} was required, and ",
        "open": "",
    }
    line = said[result.shown] + _decision(result)
    return line + (f"; whether it reaches {required} is open" if result.shown == "open" else "")


def _decision(result: Estimated) -> str:
    if result.winner is None:
        return f"undecided: {visible(result.stop_sentence)}; {_what_would_do(result)}; {_known(result)}, {_standing(result)}"
    return f"{_known(result)}, {_standing(result)}{_cut(result)}"


def _cut(result: Estimated) -> str:
    """Return why a run ended before all its judgments were made; empty if it did not."""
    if result.stop_reason in {StopKind.BUDGET, StopKind.DEADLINE}:
        return f"; ended early: {visible(result.stop_sentence)}"
    return ""


def _known(result: Estimated) -> str:
    """Return what is known of the mean."""
    name = visible(result.setup.systems[0])
    if result.mean is None:
        return f"nothing is known of {name}"
    if result.stop_reason is StopKind.ALL_JUDGED:
        return f"{name} scores {result.mean:.3f}, certain, as every item is judged"
    if result.interval is None:
        why = "as the items were picked" if result.mean_biased else "as too few are judged"
        return f"{name} scores about {result.mean:.3f}, with no interval, {why}"
    low, high = result.interval
    level = 100 * (1 - result.setup.risk_threshold)
    kind = "guaranteed" if result.setup.guarantee else "approximate"
    return f"{name} scores {result.mean:.3f}, from {low:.3f} to {high:.3f} ({level:g} % interval, {kind})"


def _standing(result: Estimated) -> str:
    return f"{result.judged} of {result.items} items judged, {money(result)}"


def _what_would_do(result: Estimated) -> str:
    if result.stop_reason in CUT_SHORT:
        return CUT_SHORT[result.stop_reason]
    if result.asked == result.items:
        return "nothing is left to judge"
    if result.setup.half_width is None:
        return "too few are judged"
    if result.more_judgments is None:
        return "nothing can be said of what would do"
    dollars = f" (about {show_usd(result.more_p)})" if result.more_p else ""
    return f"about {count(result.more_judgments, 'more judgment')}{dollars} would probably do"


def details(result: Estimated) -> list[tuple[str, str]]:
    """Return the evidence for the score, as pairs of a name and a sentence."""
    rows = [("score", _score(result)), ("interval", _interval(result)), ("judge", judge(result))]
    if result.setup.proxy is not None:
        rows.append(("proxy", _proxy(result)))
    rows += [("selector", _selector(result)), *published(result), ("cost", cost(result))]
    return rows + bewares(result)


def _score(result: Estimated) -> str:
    if result.mean is None or result.sampled_mean is None:
        return "nothing is judged"
    text = f"{result.mean:.3f} for all {result.items} items, {result.sampled_mean:.3f} the plain mean of those judged"
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
    promise = setup.guarantee or _approximation(result)
    text = f"{setup.interval_kind}, {result.reach:.3f} from the score at most; risk {setup.risk_threshold:g} ({promise})"
    wanted = "" if setup.half_width is None else f", wanted {setup.half_width:g}"
    widened = "; abstentions count as 0 below and as 1 above" if result.abstentions else ""
    unseen = (
        "; no narrower, as scores that few items have may be missing from so small a sample"
        if result.cautious
        else ""
    )
    return text + wanted + widened + unseen


def _approximation(result: Estimated) -> str:
    looks = "at any number of looks" if result.setup.interval_kind == "anytime" else "at one look"
    return (
        f"it misses the mean over all items with about this chance, {looks}; measured, not proved"
    )


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
