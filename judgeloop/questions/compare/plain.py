"""What a comparison decided, for readers who know no statistics: what it is about, and how likely it is wrong.

Takes a `Result` and returns sentences. The probability is the one asked for, which is what is promised; the
stated risk is in `risk.py`.
"""

from judgeloop.core.choices import Groups
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.stopping.catalogue import rule_row
from judgeloop.methods.stopping.reasons import points
from judgeloop.questions.compare.result import Result
from judgeloop.report.escaping import visible
from judgeloop.report.sentences import DRAWN_WHOLE, NOT_NAMED, plainly
from judgeloop.report.words import one_in, per_cent


def plain(result: Result) -> str:
    """Return the decision's items, judge, risk in words, and cost."""
    return plainly(result, _wrong(result) if result.judged else "", asked=asked(result))


def asked(result: Result) -> list[str]:
    """Return what must hold beside a required winner."""
    options, second = result.options, visible(result.setup.systems[1])
    found = []
    if options.not_worse is not None:
        found.append(f"that {second} is not worse by {points(options.not_worse)} or more")
    if options.by_group == Groups.REQUIRE:
        found.append(f"that {second} is worse in no group")
    if options.max_flips is not None:
        found.append(
            f"that at most {per_cent(options.max_flips)} of the verdicts change with the order"
        )
    return found


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
        chance = (
            f"If both were equally good, chance alone would name one in at most {often} such tests."
        )
        return chance if result.winner else ""
    if result.whole:
        return DRAWN_WHOLE
    if result.open:
        return NOT_NAMED.format(often) if result.options.not_worse is None else ""
    return _chance(result, often)


def _chance(result: Result, often: str) -> str:
    """Return how likely an answer is wrong."""
    setup, near = result.setup, points(result.options.near_tie or 0.0)
    if result.options.gap_asked is not None and not result.better:
        answer, where = wrongly(result)
        return f"The chance of {answer} where {where} is at most {often}."
    if rule_row("compare", setup.rule).by_past:
        return f"In comparisons like your past ones, {often} names is wrong on average."
    if not setup.guarantee:
        return f"The aim is that at most {often} such names is wrong, but that is not proved."
    level = result.stop_reason is StopKind.NO_DIFFERENCE
    what = f"they differ by more than {near}" if level else "the other one is better"
    return f"The chance that this is wrong, and {what}, is at most {often}."
