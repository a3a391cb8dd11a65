"""How likely a comparison is wrong: the stated risk, what is proved about it, and both in plain words.

Takes a `Result` and returns sentences. The plain ones, for readers who know no statistics, give the probability
that was asked for, which is what is promised. Computes no figures and prints nothing.
"""

from judgeloop.catalogue import rule_row
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.stopping.rule import at_most, points, show_risk
from judgeloop.questions.compare.result import Result
from judgeloop.report.escaping import visible
from judgeloop.report.sentences import DRAWN_WHOLE, HEADING_RISK, NOT_NAMED, about_the_judge, plainly, promise
from judgeloop.report.words import count, one_in, sentence

THESE_TOO = "It holds for these items, too."
SEARCHED = ", unless an earlier search of these items chose the two"
WHAT_P_MEANS = (
    "How often two equally good systems would differ at least this much by chance, if the items are "
    "a random sample. It is not the probability that the decision is wrong."
)


def stated_risk(result: Result) -> str:
    """Return the stated risk and its kind; empty if it says nothing."""
    if result.recorded is not None:
        wanted = "" if result.winner else f"; at most {result.setup.risk_threshold:g} decides"
        return f"p-value: {show_risk(result.risk)}{wanted}."
    if result.whole:
        return "Stated risk: 0 (all items are judged)."
    if result.options.gap_asked is not None:
        return _about_gap(result)
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"Stated risk: {result.setup.risk_threshold:g} ({_guaranteed(result)})."
    return _of_name(result)


def _of_name(result: Result) -> str:
    """Return the stated risk of the name given, or of giving it now, and its kind."""
    kind = _guaranteed(result) if result.setup.guarantee else "heuristic"
    kind = _of_plan(result) if result.ended_early else kind
    shown = f"{show_risk(result.risk)} ({kind})."
    if result.winner is not None:
        return f"Stated risk: {shown}"
    if result.leader is None or show_risk(result.risk) == show_risk(1):
        return ""
    return f"Stated risk of naming {visible(result.leader)} now: {shown}"


def _of_plan(result: Result) -> str:
    """Return what the risk of a run is about that ended early: it spends little of its risk at first."""
    seen = result.judged + result.counts.abstentions
    return f"for a plan of up to {result.limit:,} judgments; for one of {seen:,} it would be less"


def _about_gap(result: Result) -> str:
    """Return the stated risk of each claim about a gap, or of an answer given now, and what it is of."""
    if result.claim == "better":
        return f"Stated risk: {show_risk(result.risk)} ({_guaranteed(result)})."
    answer, where_wrong = wrongly(result)
    if result.answer.answered:
        shown = f"{show_risk(result.risk)} ({_guaranteed(result)}), of {answer} where {where_wrong}"
        return f"Stated risk: {shown}{_beyond(result)}."
    unknown = not result.judged or show_risk(result.risk) == show_risk(1)
    if unknown or (result.leader is None and result.options.not_worse is None):
        return ""
    risk = f"with a chance of at most {show_risk(result.risk)}"
    when = f" ({_of_plan(result)})" if result.ended_early else ""
    return f"{sentence(answer).rstrip('.')} now would be wrong {risk}, if {where_wrong}{when}."


def _beyond(result: Result) -> str:
    """Return the stated risk of what is said beyond "not worse" or "worse"; empty if nothing is."""
    if result.risk_beyond is None:
        return ""
    shown = f"; {show_risk(result.risk_beyond)}, of calling it"
    if result.better:
        return f"{shown} better where it is not"
    return f"{shown} worse by more than {points(result.options.not_worse or 0.0)} where it is not"


def what_it_means(result: Result) -> tuple[str, str]:
    """Return a heading; and what is proved about the risk, and what it does not say."""
    if result.recorded is not None:
        return "What the p-value means", WHAT_P_MEANS
    if result.setup.guarantee and not result.whole:
        both = f" {THESE_TOO}" if _holds_for_both(result) else ""
        proved = f"{result.setup.guarantee}{_proved_beyond(result)}{_unless(result)}"
        means = promise(result, proved)
        return HEADING_RISK, means + both
    says = DRAWN_WHOLE if result.whole else "The stated risk is a heuristic, without a proof."
    return HEADING_RISK, f"{says} {about_the_judge(result)}"


def _guaranteed(result: Result) -> str:
    return f"guaranteed{_unless(result)}"


def _unless(result: Result) -> str:
    """Return the condition of all promises, where a search came before; else empty."""
    return SEARCHED if result.searched else ""


def _proved_beyond(result: Result) -> str:
    """Return what is proved of what is said beyond an answer about a gap; empty if nothing is."""
    risk = at_most(result.setup.risk_threshold)
    if result.risk_beyond is not None and result.worse_by_margin:
        by = points(result.options.not_worse or 0.0)
        return f"; a system that is not worse by more than {by} is ever said to be so with a chance of {risk}"
    if result.risk_beyond is not None and result.better:
        return f"; a system that is not better is called so with a chance of {risk}"
    return ""


def _holds_for_both(result: Result) -> bool:
    """Whether a promise about items like these is one about these items, as both rules' files prove."""
    setup = result.setup
    most = rule_row("compare", setup.rule).for_both
    named = result.winner is not None or most == 1.0
    return named and setup.risk_threshold <= most and setup.sampled and not setup.one_order


def plain(result: Result) -> str:
    """Return the decision's items, judge, risk in words, and cost."""
    return plainly(result, f"{_wrong(result)}{_with_earlier(result)}" if result.judged else "")


def _with_earlier(result: Result) -> str:
    """Return how many answers to expect wrong with those of earlier tests; empty without any, or any risk.

    Where a search came before, the risk has a condition already.
    """
    earlier, wrong = result.comparison - 1, result.wrong_expected
    passed = result.claim == "not_worse" or result.named not in {None, result.baseline}
    if not earlier or wrong is None or not passed or result.whole or result.searched:
        return ""
    tests = f"{count(earlier, 'earlier test')} against {visible(result.baseline)} on these items"
    return f" With {tests}, expect at most {wrong:.4g} wrong wins or passes in all."


def wrongly(result: Result) -> tuple[str, str]:
    """Return what an answer about a gap does, given or given now, and where that is wrong."""
    first, second = map(visible, result.setup.systems)
    gap = points(result.options.gap_asked or 0.0)
    if result.options.not_worse is None:
        loser = second if result.leader == result.setup.systems[0] else first
        return f"naming {visible(result.leader or '')}", f"{loser} is better by {gap} or more"
    if result.winner is not None:
        return f"failing {second}", "it is not worse"
    return f"passing {second}", f"it is worse by {gap} or more"


def _wrong(result: Result) -> str:
    """Return how likely the decision is wrong, or why there is none."""
    often = one_in(result.setup.risk_threshold)
    if result.recorded is not None:
        chance = f"If both were equally good, chance alone would name one in at most {often} such tests."
        return chance if result.winner else ""
    if result.whole:
        return DRAWN_WHOLE
    if not result.answer.answered:
        return NOT_NAMED.format(often) if result.options.not_worse is None else ""
    return _chance(result, often)


def _chance(result: Result, often: str) -> str:
    """Return how likely an answer is wrong."""
    setup, near = result.setup, points(result.options.near_tie or 0.0)
    if result.options.gap_asked is not None and not result.better:
        answer, where = wrongly(result)
        return f"The chance of {answer} where {where} is at most {often}{_unless(result)}."
    if not setup.guarantee:
        return f"The aim is that at most {often} such names is wrong, but that is not proved."
    level = result.stop_reason is StopKind.NO_DIFFERENCE
    what = f"they differ by more than {near}" if level else "the other one is better"
    return f"The chance that this is wrong, and {what}, is at most {often}{_unless(result)}."
