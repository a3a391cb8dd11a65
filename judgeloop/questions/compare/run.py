"""Runs a comparison of two systems, or forecasts what it would take.

Makes the session from its parts and passes it to the driver (`run/drive.py`). Prints nothing and
knows no exit codes.
"""

from collections.abc import Sequence
from dataclasses import replace

from judgeloop.core.ledger import RecordedRun
from judgeloop.core.outcomes import Finished, StopKind, Tally
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.questions import stored
from judgeloop.questions.compare.outcome import result_of
from judgeloop.questions.compare.page import course_of, page
from judgeloop.questions.compare.plan import (
    foreseen,
    judgments_to_decide,
    more_to_decide,
    share_of_ties,
    with_an_equal_system,
)
from judgeloop.questions.compare.prepare import PreparedComparison
from judgeloop.questions.compare.result import CompareOptions, Comparison
from judgeloop.report.labels import Texts
from judgeloop.report.records import Setup
from judgeloop.run import drive
from judgeloop.run.earlier import runs_before, searched
from judgeloop.run.foresee import planned
from judgeloop.run.plan import Plan, Range, priced


async def run(
    comparison: PreparedComparison, *, interruption: Interruption | None = None, observe: Observe[Tally] = unobserved
) -> Comparison:
    """Judge until the comparison is decided, or until money, judgments or items run out."""
    finished = await drive.drive_session(
        _session(comparison), comparison, drive.terms_of(comparison), interruption=interruption, observe=observe
    )
    return _result(comparison, finished)


async def forecast(comparison: PreparedComparison) -> tuple[Plan, Comparison]:
    """Return what the comparison would take, and the result from the ledger's verdicts alone.

    Asks no judge and spends nothing.
    """
    if not comparison.booked:
        return priced(Range(0, 0, 0), quotes=(), left_p=None, assumed=None), await run(comparison)
    terms, pool, config = (drive.terms_of(comparison, offline=True), comparison.pool, comparison.config)
    finished = await drive.drive_session(_session(comparison), comparison, terms)
    outcome = finished.outcome
    over = outcome.stop.kind is not StopKind.DRY_RUN
    judgments = judgments_to_decide(
        comparison.rule,
        outcome.estimate.tally,
        comparison.limits,
        asked=min(len(pool), config.max_judgments) if over else outcome.asked,
        ties=share_of_ties(comparison.ties),
    )
    if (tests := comparison.groups) is not None:
        tests.follow([*outcome.labels, *outcome.further])
        worst = tests.left if over else len(pool) - outcome.asked
        judgments = replace(judgments[0], worst=worst), judgments[1]
    done = {label.choice.position for label in (*outcome.labels, *outcome.further)}
    plan = await planned(
        comparison,
        terms,
        (pool.query(position) for position in range(len(pool)) if position not in done),
        judgments,
        finished.spend.left_p,
        done=len(done),
        controls=finished.controls,
    )
    tally = outcome.estimate.tally
    ties = share_of_ties((tally.ties, tally.judged), comparison.ties)
    equal = with_an_equal_system(comparison.rule, ties, len(pool))
    groups = foreseen(comparison.groups, ties)
    return replace(plan, equal=equal, groups=groups), _result(comparison, finished)


def _session(comparison: PreparedComparison) -> Session[Tally]:
    selector = comparison.config.selector_row.make(comparison.draft)
    estimator = Preferences(sampled=comparison.sampled)
    return drive.session_of(
        comparison, selector, estimator, comparison.rule, check=comparison.check, further=comparison.groups
    )


def _result(comparison: PreparedComparison, finished: Finished[Tally]) -> Comparison:
    outcome = finished.outcome
    more = items = None
    rule, tally = comparison.rule, outcome.estimate.tally
    unasked, sampled = len(comparison.pool) - len(outcome.labels), comparison.sampled
    beyond = rule.risk_beyond(tally)
    ended = outcome.stop.kind is StopKind.JUDGMENT_LIMIT and not rule.goes_on
    if outcome.winner is None and comparison.booked and not ended:
        more = more_to_decide(rule, tally, comparison.limits, unasked, sampled=sampled)
        items = rule.items_to_decide(tally) if sampled else None
    elif rule.stronger is not None and beyond is None:
        more = more_to_decide(rule.stronger, tally, comparison.limits, unasked, sampled=sampled)
    if (groups := comparison.groups) is not None:
        groups.follow([*outcome.labels, *outcome.further])
    data = drive.data_notes(comparison)
    if not comparison.booked:  # nobody reads the outputs beside recorded scores, which may be missing
        data = replace(data, empty={}, repeated={})
    ledger, own = comparison.config.ledger, comparison.run_id
    test = (comparison.question, comparison.config.seed) if comparison.question else None
    before = runs_before(ledger, own, comparison.asked, test) if comparison.booked else []
    result = result_of(
        finished,
        _setup(comparison),
        _options(comparison),
        data,
        items=comparison.pool.items,
        more_judgments=more,
        more_items=items,
        before=[one.note for one in before],
        searched=searched((one.note for one in before), [comparison.asked_about(place) for place in (0, 1)]),
        findings=None if groups is None else groups.findings(),
        scores=comparison.scores,
        risk_beyond=beyond,
    )
    names = (comparison.pool.systems[0], comparison.pool.systems[1])
    result = replace(result, course=course_of(tally, rule, names))
    result = replace(result, redrawn=_redrawn(comparison, result, before))
    texts = Texts(finished.pool) if finished.pool is not None else None
    return replace(result, page=page(result), texts=texts)


def _redrawn(comparison: PreparedComparison, result: Comparison, before: Sequence[RecordedRun]) -> str:
    """Return the last decision on the same outputs with another seed, and its run; empty if it is the same."""
    same = [one for one in before if one.note.question == comparison.question]
    found = stored.ended_otherwise(comparison.config.ledger, result, same, lambda one: (one.named, one.claim))
    return stored.said(*found) if found else ""


def _setup(comparison: PreparedComparison) -> Setup:
    config, row = comparison.config, comparison.config.selector_row
    represent = config.represent if row.vectors else None
    return drive.setup_of(comparison, comparison.rule, row.name, represent=represent)


def _options(comparison: PreparedComparison) -> CompareOptions:
    config = comparison.config
    return CompareOptions(
        near_tie=config.near_tie,
        min_gap=config.min_gap,
        not_worse=config.not_worse,
        by_group=config.by_group,
        max_flips=config.max_flips,
        give_up=config.give_up,
        max_judgments=config.max_judgments if comparison.booked else None,
    )
