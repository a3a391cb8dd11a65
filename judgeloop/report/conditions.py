"""What must hold of the judges and of the cost, beside a required answer, for a gate to pass.

Each condition has an outcome of its own, and is a test of its own in JUnit XML. Of all conditions
only groups can be open once the answer is known, and then the run goes on for them
(`methods/stopping/by_group.py`). Controls come before the first judgment, and have an end. Shares of flips
and of abstentions are of all that was judged, for the groups too. The cost ends the run.
"""

from collections.abc import Iterator
from itertools import zip_longest

from judgeloop.core.outcomes import Control, Outcome, StopKind
from judgeloop.methods.stats.intervals import chance_of_so_many, wilson_interval
from judgeloop.report.escaping import visible
from judgeloop.report.page import Section
from judgeloop.report.run_result import Condition, RunResult
from judgeloop.report.sentences import GROUP, ended, money, of_controls
from judgeloop.report.words import count, per_cent

ONE_ORDER = {"random", "fixed"}  # orders of presentation in which no flip is seen
OF_CONTROLS = {
    Control.PASSED: Outcome.PASSED,
    Control.FAILED: Outcome.BROKEN,
    Control.NOT_SHOWN: Outcome.BROKEN,
    None: Outcome.UNDECIDED,  # cut off
}


def required(result: RunResult) -> Section | None:
    """Return what must hold, each after how it stands; None if nothing must. Groups are one row."""
    every = [one for one in result.conditions if one.sentence and not one.name.startswith(GROUP)]
    rows = tuple((_word(one.outcome), visible(one.said)) for one in every)
    return Section("What must hold", rows) if rows else None


def _word(outcome: Outcome) -> str:
    return outcome.said.upper() if outcome is Outcome.FAILED else outcome.said


def of_the_run(result: RunResult, max_flips: float | None) -> Iterator[Condition]:
    """Yield the conditions on controls, flips, abstentions and cost.

    `max_flips` is the largest share of verdicts that may change with the order; None if any may.
    """
    for judge, tally in zip_longest(result.setup.judges, result.counts.controls):
        if tally is None or (tally.end is None and result.answer is Outcome.BROKEN):
            continue  # no model, or cut off by what the answer names
        if result.setup.controlled:
            yield Condition(f"controls of {judge}", OF_CONTROLS[tally.end], of_controls(judge, tally))
    if max_flips is not None and result.counts.judged:
        yield _flips(result, max_flips)
    most = per_cent(result.setup.max_abstentions)
    without = f"{result.counts.silent} without a verdict, and at most {most} may be"
    too_many = result.halt.kind is StopKind.ABSTENTIONS
    if too_many and not result.asked:  # on its controls
        without = result.stop_sentence
    if too_many or result.answer is not Outcome.BROKEN:
        yield Condition("abstentions", Outcome.BROKEN if too_many else Outcome.PASSED, without)
    used_up = result.stop_reason is StopKind.BUDGET
    why = f": {ended(result)}" if used_up else ""
    yield Condition("cost", Outcome.UNDECIDED if used_up else Outcome.PASSED, f"it cost {money(result)}{why}")


def _flips(result: RunResult, most: float) -> Condition:
    """Return whether it is shown that more verdicts change with the order than may; open if none was looked at.

    A tie in the first order is a tie, and the order of a metric's texts changes nothing. All verdicts count,
    also those for groups. A judge with as many flips as may be fails with at most about the risk: the
    test is exact for a fixed number of verdicts, and flips have little part in when a run ends (tests/statistical).
    """
    counts = result.counts
    if result.setup.order in ONE_ORDER:
        return Condition("flips", Outcome.UNDECIDED, "no verdict was asked in both orders")
    flips, both = counts.flips_in_all, counts.both_in_all
    if not both:
        return Condition("flips", Outcome.PASSED, "no verdict could change with the order")
    chance, risk = chance_of_so_many(flips, both, most), result.setup.risk_threshold
    shown = chance <= risk
    said = (
        f"{flips:,} of {count(both, 'verdict')} changed with the order; it is {'' if shown else 'not '}shown that "
        f"more than {100 * most:.3g} % do"
    )
    low, high = wilson_interval(flips, both)
    figures = f"p = {chance:.2g}, and {risk:g} or less fails; 95 % interval {per_cent(low)} to {per_cent(high)}"
    return Condition("flips", Outcome.BROKEN if shown else Outcome.PASSED, said, figures)
