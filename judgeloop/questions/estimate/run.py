"""Runs an estimate of one system's mean score, or forecasts what it would take.

Makes the sessions from their parts and passes them to the driver (`run/drive.py`). A proxy judge
rates every item first; then the judge rates a sample. Prints nothing and knows no exit codes.
"""

import asyncio
from dataclasses import dataclass, replace

import numpy as np

from judgeloop.core.outcomes import Finished, StopKind, StopReason
from judgeloop.core.protocols import Estimator
from judgeloop.core.records import ONE_SYSTEM
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.engine.terms import Terms
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.selectors.stratified import strata_of
from judgeloop.methods.stats.controls import NO_CONTROLS
from judgeloop.methods.stats.strata import Floats, Strata
from judgeloop.methods.stopping.precise import Precise
from judgeloop.questions.estimate.page import page
from judgeloop.questions.estimate.plan import RATINGS, ZERO_OR_ONE, judgments_to_know, more_to_know, too_few
from judgeloop.questions.estimate.prepare import PreparedEstimation
from judgeloop.questions.estimate.result import EstimateOptions, Estimation, estimated_of
from judgeloop.questions.estimate.settings import BY_CONFIDENCE
from judgeloop.report.labels import Texts
from judgeloop.run.drive import data_notes, drive_session, session_of, setup_of, terms_of
from judgeloop.run.foresee import planned
from judgeloop.run.plan import Plan

# Ends of the proxy's run after which it was asked about every item.
WHOLE = {StopKind.ALL_JUDGED, StopKind.POOL_EXHAUSTED}


async def run(
    estimation: PreparedEstimation, *, interruption: Interruption | None = None, observe: Observe[Ratings] = unobserved
) -> Estimation:
    """Judge until the interval is narrow enough, or until money, judgments or items run out."""
    ran = await _run(estimation, terms_of(estimation), interruption=interruption, observe=observe)
    return _result(estimation, ran)


async def forecast(estimation: PreparedEstimation) -> tuple[Plan, Estimation]:
    """Return what the estimate would take, and the result from the ledger's verdicts alone.

    Asks no judge and spends nothing.
    """
    terms, pool = terms_of(estimation, offline=True), estimation.pool
    ran = await _run(estimation, terms)
    outcome = ran.finished.outcome
    over = outcome.stop.kind is not StopKind.DRY_RUN
    tally, assuming = outcome.estimate.tally, RATINGS if estimation.graded else ZERO_OR_ONE
    judgments = judgments_to_know(estimation.rule, tally, 0 if over else estimation.most, assuming)
    done = {label.choice.position for label in outcome.labels}
    plan = await planned(
        estimation,
        terms,
        (pool.query(one, ONE_SYSTEM) for one in range(len(pool)) if one not in done),
        judgments,
        ran.finished.spend.left_p,
        done=len(done),
        first=(estimation.proxy,) if estimation.proxy is not None and ran.proxy is None else (),
        controls=ran.finished.controls,
    )
    plan = replace(plan, stays_open=too_few(estimation.rule, tally, estimation.most, assuming))
    return plan, _result(estimation, ran)


@dataclass(frozen=True)
class _Ran:
    """How the judge's run ended, and the proxy's score of every item, shape (items,), if known."""

    finished: Finished[Ratings]
    proxy: Floats | None


async def _run(
    estimation: PreparedEstimation,
    terms: Terms,
    *,
    interruption: Interruption | None = None,
    observe: Observe[Ratings] = unobserved,
) -> _Ran:
    began = asyncio.get_running_loop().time()
    first = await _ask_proxy(estimation, terms, interruption=interruption)
    proxy = _proxy_scores(estimation, first)
    estimator = _estimator(estimation, proxy)
    session = session_of(estimation, estimation.selector, estimator, estimation.rule)
    if first is not None and first.outcome.stop.kind not in WHOLE:
        session.ask()
        stop = first.outcome.stop
        said = f"the proxy has not rated every item: {stop.sentence}"
        session.tell([], halt=StopReason(stop.kind, said))
        unasked = ((),) * len(estimation.judges)
        none = tuple(NO_CONTROLS if queries else None for queries in terms.controls)
        ended = replace(first, outcome=session.outcome(), models=unasked, controls=none)
        return _Ran(ended, None)
    if terms.deadline_s is not None:
        took_s = asyncio.get_running_loop().time() - began
        terms = replace(terms, deadline_s=max(0.0, terms.deadline_s - took_s))
    finished = await drive_session(session, estimation, terms, interruption=interruption, observe=observe)
    return _Ran(finished, proxy)


def _estimator(estimation: PreparedEstimation, proxy: Floats | None) -> Estimator[Ratings]:
    strata = strata_of(estimation.selector, len(estimation.pool))
    return MeanScore(strata, proxy, sampled=estimation.sampled)


async def _ask_proxy(
    estimation: PreparedEstimation, terms: Terms, *, interruption: Interruption | None
) -> Finished[Ratings] | None:
    """Let the proxy rate every item, within the same budget; None if the proxy is not a judge."""
    if estimation.proxy is None:
        return None
    items = len(estimation.pool)
    session = Session(
        items=items,
        selector=Random((ONE_SYSTEM,)),
        estimator=MeanScore(Strata.single(items)),
        rule=Precise(estimation.rule.threshold, items),
        limits=Limits(1, items, estimation.limits.max_abstentions),
        rng=np.random.default_rng(estimation.config.seed),
    )
    return await drive_session(
        session, estimation, replace(terms, controls=()), judges=(estimation.proxy,), interruption=interruption
    )


def _proxy_scores(estimation: PreparedEstimation, first: Finished[Ratings] | None) -> Floats | None:
    """Return the proxy's score of each item, shape (items,); None without scores for all items.

    An item on which the proxy abstained gets the proxy's mean, which is neutral.
    """
    if estimation.config.proxy == BY_CONFIDENCE:
        return estimation.confidence
    if first is None or first.outcome.stop.kind not in WHOLE:
        return None
    tally = first.outcome.estimate.tally
    scores = np.empty(tally.items)
    scores[tally.positions] = tally.scores
    return np.where(np.isnan(scores), tally.moments.mean, scores)


def _result(estimation: PreparedEstimation, ran: _Ran) -> Estimation:
    config, finished = estimation.config, ran.finished
    tally, proxy = finished.outcome.estimate.tally, estimation.proxy
    result = estimated_of(
        finished,
        setup_of(
            estimation,
            estimation.rule,
            config.selector,
            represent=config.represent if config.selector_row.vectors else None,
        ),
        EstimateOptions(
            layer=config.layer if config.hidden else None,
            strata=len(strata_of(estimation.selector, len(estimation.pool)).sizes),
            half_width=config.half_width,
            interval_kind=config.interval,
            proxy=proxy.identity.name if proxy else str(config.proxy or "") or None,
            required_score=config.require_score,
        ),
        data_notes(estimation),
        items=estimation.pool.items,
        proxy_mean=None if ran.proxy is None else float(ran.proxy.mean()),
        more_judgments=more_to_know(estimation.rule, tally) if finished.outcome.winner is None else None,
        least=min(config.min_judgments, len(estimation.pool)),
    )
    texts = Texts(finished.pool) if finished.pool is not None else None
    return replace(result, page=page(result), texts=texts)
