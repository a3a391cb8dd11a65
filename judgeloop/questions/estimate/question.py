"""An estimate of one system's mean score: what it is made of, what it is likely to take, and its result.

`question.py` of `questions/` runs it. A proxy judge rates every item first, or of items like these a block beside each
that the judge rates. Groups of these items help an interval that holds at every look.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy.special import chdtri

from judgeloop.catalogue import selectors_of
from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Finished, StopKind
from judgeloop.core.records import ONE_SYSTEM, Draws, Pool, Population
from judgeloop.engine.state import Interruption, Observe, ProxyTerms, Terms, unobserved
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.rows import INTERVALS, Draft
from judgeloop.methods.selectors.blocks import LEAST_BLOCK, Blocks, ByBlock
from judgeloop.methods.selectors.families import Members
from judgeloop.methods.selectors.stratified import strata_of
from judgeloop.methods.stats.hedged import VERSION, boundary_at_the_end
from judgeloop.methods.stats.intervals import interval_at_once, reach
from judgeloop.methods.stats.strata import Floats, Moments, Strata
from judgeloop.methods.stopping.precise import AT_THE_END, Precise
from judgeloop.questions.estimate import page
from judgeloop.questions.estimate.result import EstimateOptions, Estimation, estimated_of
from judgeloop.questions.estimate.settings import BY_CONFIDENCE, QUESTION, EstimateSettings
from judgeloop.questions.question import Question, Ran
from judgeloop.report.page import Page
from judgeloop.runs.begin import conducted
from judgeloop.runs.description import data_notes, neighbours_alike, setup_of
from judgeloop.runs.forecast import Left, Range
from judgeloop.runs.inputs import Inputs, looks_at_all, read_inputs
from judgeloop.runs.prepared import Parts, Prepared, check_about, check_idle_settings, families_drawn
from judgeloop.runs.proxies import MOST_EACH, best_block, prices, proxy_judge
from judgeloop.settings.setting import alternatives, declared

YES_OR_NO = 2  # steps of a scale
CONFIDENCE_SETTINGS = {"confidence", "confidence_by"}  # used by a selector or by the proxy
# Assumed until scores are known: a variance, and what has it. That of ratings is the middle one of recorded
# ratings by people (RealSumm's 25 systems: 0.02 to 0.06) and models.
ZERO_OR_ONE = 0.25, "scores of 0 and 1, as many of each"
RATINGS = 0.05, "ratings that spread as recorded ones do, with a variance of 0.05"
LUCKY = 0.1  # the chance that the variance is as small as the low case takes it, roughly
ASSUMED_MEAN = 0.5  # of scores that spread the most
BEYOND = 1.2  # times what scores that spread the most take: where the stakes of a run with a width aim


class EstimateQuestion(Question[EstimateSettings, Ratings, Estimation]):
    """How good is this system?"""

    name, result = QUESTION, Estimation

    def check(self, config: EstimateSettings) -> None:
        """Refuse a selector, vectors, a proxy and an interval that do not go together."""
        row = config.selector_row
        if not config.looks_at_confidence and config.confidence != declared(EstimateSettings)["confidence"].default:
            raise InputError(
                f"`confidence={config.confidence}`: `selector={row.name}` does not use confidence; set "
                "`proxy=confidence`, or a selector that does"
            )
        config.check_vectors()
        if config.layer != config.usual_layer:
            _check_layer(config)
        settled = CONFIDENCE_SETTINGS if config.looks_at_confidence else set()
        check_idle_settings(config, QUESTION, replace(row, takes=row.takes | settled | {"layer"}))
        for name in ("half_width", "require_score", "interval", "proxy") if row.draws is Draws.PICKED else ():
            if getattr(config, name) != declared(EstimateSettings)[name].default:
                raise InputError(
                    f"`{name}`: `selector={config.selector}` picks its items, so no interval can be stated; "
                    "use `selector=random` or `selector=stratified`"
                )
        if row.draws is not Draws.EVEN and config.interval != declared(EstimateSettings)["interval"].default:
            raise InputError(
                f"`interval={config.interval}` needs uniform draws, and `selector={config.selector}` makes others; use "
                "`selector=random`"
            )
        if config.require_score is not None and row.draws is not Draws.EVEN:
            raise InputError(
                f"`require_score={config.require_score:g}` needs an interval that is proved, and that of "
                f"`selector={config.selector}` is approximate; use `selector=random`"
            )
        check_about(
            config, f"`selector={config.selector}`", proves=row.draws is Draws.EVEN, instead="`selector=random`"
        )
        if isinstance(config.outputs, str) and (config.proxy or row.needs_outputs):
            chosen = f"proxy={config.proxy}" if config.proxy else f"selector={config.selector}"
            raise looks_at_all(chosen, config.outputs, "`selector=random` without a `proxy`")

    def inputs(self, config: EstimateSettings, environment: Mapping[str, str], *, offline: bool) -> Inputs:
        """What is read, with the system's confidence and the proxy if they are used."""
        inputs = read_inputs(config, environment, offline=offline)
        confidence = None
        if config.looks_at_confidence:
            assert not isinstance(config.outputs, str), "`check` has refused it"
            confidence = config.confidences(config.outputs, inputs.pool.items)
        spec = config.proxy_judge
        proxy = None if spec is None else proxy_judge(config, spec, inputs, environment, offline=offline)
        return replace(inputs, confidence=confidence, proxy=proxy)

    def identity(self, config: EstimateSettings, inputs: Inputs) -> dict[str, Any]:
        """The proxy and the confidences, and the stakes of bets, as others may end a run elsewhere."""
        proxy, confidence = inputs.proxy, inputs.confidence
        stakes = {"stakes": [VERSION, BEYOND]} if config.selector_row.draws is Draws.EVEN else {}
        block = {}
        if config.proxy is not None and inputs.sampled:
            block = {"block": _blocks(config, inputs, families_drawn(config, inputs, config.selector_row)).each}
        return {
            **stakes,
            **block,
            **({} if (groups := _groups(config, inputs)) is None else {"groups": groups.labels.tolist()}),
            "proxy": config.proxy if proxy is None else [proxy.identity.name, dict(proxy.identity.parameters)],
            "confidence": None if confidence is None else confidence.tolist(),
            **config.vectors_digest,
        }

    def limit_moves(self, config: EstimateSettings, parts: Parts[Ratings]) -> bool:
        """Where the interval holds at every look, but where the limit says how many items a proxy rates a label."""
        del config
        return _rule(parts).guarantee is not None and _mean(parts).blocks is None

    def parts(self, config: EstimateSettings, inputs: Inputs) -> Parts[Ratings]:
        """Selector, mean by its strata, rule; the scores of a proxy that is a judge come later."""
        row = config.selector_row
        members = families_drawn(config, inputs, row)
        items = len(members) or len(inputs.pool)
        rule = Precise(
            threshold=config.risk,
            items=items,
            half_width=config.half_width,
            any_look=INTERVALS[config.interval],
            first_look=config.min_judgments,
            even=row.draws is Draws.EVEN,
            sampled=inputs.sampled,
        )
        # Stakes that aim at the end of a run: with a width to reach, at where scores that spread the most end it.
        most = min(items, max(config.min_judgments, _aim(rule)))
        held = tuple((drawn, min(limit, most)) for drawn, limit in inputs.limits.held)
        rule = replace(rule, limit=min(config.max_judgments, most), limits=held)
        proxy = None if config.proxy is None else np.full(len(inputs.pool), np.nan)
        if config.proxy == BY_CONFIDENCE:
            proxy = inputs.confidence
        if proxy is not None and inputs.sampled:
            blocks = _blocks(config, inputs, members)
            whole = Strata.single(items)
            return Parts(
                ByBlock(blocks, (ONE_SYSTEM,)),
                MeanScore(whole, proxy, sampled=True, blocks=blocks),
                rule,
                members=members,
            )
        selector = row.make(draft_of(config, inputs.pool, inputs.confidence, members))
        estimator = MeanScore(strata_of(selector, items), proxy, sampled=inputs.sampled, groups=_groups(config, inputs))
        return Parts(selector, estimator, rule, members=members)

    async def ask(
        self,
        run: Prepared[EstimateSettings],
        terms: Terms,
        interruption: Interruption | None = None,
        observe: Observe[Ratings] = unobserved,
    ) -> tuple[Parts[Ratings], Finished[Ratings]]:
        """Let a proxy rate beside the judges."""
        mean, config = _mean(run.parts), run.config
        if run.inputs.proxy is None:
            return await super().ask(run, terms, interruption, observe)
        proxy = ProxyTerms(lambda _: mean, config.order, config.concurrency, config.judge_timeout)
        asked = conducted(run.session(), run, terms, proxy=proxy, interruption=interruption, observe=observe)
        return run.parts, await asked

    def left(self, ran: Ran[EstimateSettings, Ratings]) -> Left:
        """The items without a verdict, and how many of them the interval is likely to take."""
        run, ending, rule = ran.run, ran.finished.ending, _rule(ran.parts)
        pool, prompt, proxy = run.pool, run.inputs.prompt, run.inputs.proxy
        tally, over = ending.estimate.tally, ending.stop.kind is not StopKind.DRY_RUN
        assuming = RATINGS if prompt is not None and len(prompt.labels) > YES_OR_NO else ZERO_OR_ONE
        judgments, assumed = judgments_to_know(rule, tally, 0 if over else run.most_judgments, assuming)
        done = {label.choice.position for label in ending.labels}
        mean, blocks = _mean(ran.parts), _mean(ran.parts).blocks
        left = [one for one in (run.places if blocks is None else blocks.needed) if one not in done]
        return Left(
            judgments,
            assumed,
            [pool.query(one, ONE_SYSTEM) for one in left],
            len(done),
            too_few(rule, tally, run.most_judgments, assuming, LEAST_BLOCK if blocks else 1),
            first=() if proxy is None else (proxy,),
            by_proxy=None
            if blocks is None
            else [[pool.query(at, ONE_SYSTEM) for at in mean.needed(one)] for one in left],
        )

    def result_of(self, ran: Ran[EstimateSettings, Ratings]) -> Estimation:
        """The mean with its interval, and how many further judgments would make it narrow enough."""
        run, parts, ending = ran.run, ran.parts, ran.finished.ending
        config, items = run.config, len(run.places)
        proxy, mean = run.inputs.proxy, _mean(parts)
        scores = np.zeros(0) if mean.proxy is None else mean.proxy[~np.isnan(mean.proxy)]
        searched: int | None = getattr(parts.selector, "layer", None)
        layer = config.layer if searched is None else f"{config.layer} ({searched})"
        represent = config.represented if config.selector_row.vectors else None
        rule, tally, once = _rule(parts), ending.estimate.tally, ending.stop.kind in AT_THE_END
        more = more_to_know(rule, tally) if ending.winner is None else None
        kind = rule.kind(tally, once=once)
        return estimated_of(
            ran.finished,
            replace(setup_of(run, rule, config.selector, represent=represent), guarantee=rule.promised(kind)),
            EstimateOptions(
                layer=layer if config.hidden else None,
                strata=len((mean.groups or strata_of(parts.selector, items)).sizes),
                half_width=config.half_width,
                interval_kind=kind.value,
                proxy=proxy.identity.name if proxy else str(config.proxy or "") or None,
                block=mean.blocks.each if mean.blocks else 0,
                required_score=config.require_score,
            ),
            data_notes(run, ran.finished.pool, neighbours_alike(run, ending)),
            items=run.pool.items,
            interval=rule.interval(tally, once=once),
            proxy_mean=float(scores.mean()) if len(scores) else None,
            more_judgments=more,
            least=min(config.min_judgments, items),
        )

    def page(self, result: Estimation) -> Page:
        """A result in sentences and tables."""
        return page.page(result)

    def so_far(self, tally: Ratings, systems: tuple[str, ...], longest: int) -> str:
        """The mean during a run."""
        return page.so_far(tally, systems, longest)


def draft_of(config: EstimateSettings, pool: Pool, confidence: Floats | None, members: Members = ()) -> Draft:
    """What the selector is made of."""
    items = len(members) or len(pool)
    limit = min(config.max_judgments, items)
    return Draft(
        items=items,
        limit=limit,
        risk=config.risk,
        start=limit if config.half_width is None else config.min_judgments,
        systems=1,
        settings=config,
        seed=(config.seed, limit),
        pool=pool,
        found={} if confidence is None else {"confidence": confidence},
        members=members,
    )


def _rule(parts: Parts[Ratings]) -> Precise:
    return cast("Precise", parts.rule)  # as the rules of estimates are


def _mean(parts: Parts[Ratings]) -> MeanScore:
    return cast("MeanScore", parts.estimator)  # as the estimators of estimates are


def _groups(config: EstimateSettings, inputs: Inputs) -> Strata | None:
    """The groups of these items, if they may be controls; what has none is a group, too.

    They are where the draws are uniform and the interval holds at every look. Of items like these nobody knows how many
    belong to each.
    """
    often = INTERVALS[config.interval] or config.half_width is not None
    names, numbers = np.unique([item.group or "" for item in inputs.pool.items], return_inverse=True)
    if inputs.sampled or not often or config.selector_row.draws is not Draws.EVEN or len(names) == 1:
        return None
    return Strata(numbers.astype(np.int64))


def _blocks(config: EstimateSettings, inputs: Inputs, members: Members) -> Blocks:
    """Which items the proxy rates beside each label, for items like these: fresh ones.

    Raises:
        InputError: there are not two items a judgment, or a confidence is out of range.
    """
    places = [family[0] for family in members] if members else range(len(inputs.pool))
    most = len(places) // min(config.max_judgments, len(places))
    if most < LEAST_BLOCK:
        raise InputError(
            f"`proxy={config.proxy}`: about items like these it rates two items or more for each judgment, and there "
            f"are {len(places):,} for {config.max_judgments:,}; set `max_judgments={max(1, len(places) // LEAST_BLOCK)}` or less, "
            f"give more items, or use `about={Population.THESE_ITEMS}`"
        )
    if inputs.proxy is None and inputs.confidence is not None:
        low, high = float(inputs.confidence.min()), float(inputs.confidence.max())
        if low < 0 or high > 1:
            raise InputError(
                f"`proxy={config.proxy}`: about items like these a confidence is expected from 0 to 1, found "
                f"{low:g} to {high:g}; scale it, or use `about={Population.THESE_ITEMS}`"
            )
    best = MOST_EACH if inputs.proxy is None else best_block(*prices(config, inputs))
    return Blocks.fresh(places, max(LEAST_BLOCK, min(round(best), most)), config.seed)


def _check_layer(config: EstimateSettings) -> None:
    """Refuse a layer if the vectors have none, or if the selector's paper prescribes another."""
    takers = [row.name for row in selectors_of(QUESTION) if "layer" in row.takes]
    if config.selector not in takers:
        raise InputError(
            f"`layer={config.layer}`: `selector={config.selector}` has no such setting; it applies to "
            f"{alternatives([f'`selector={name}`' for name in takers])}"
        )
    if not config.hidden:
        raise InputError(
            f"`layer={config.layer}`: only `represent=hidden:MODEL`, or a file of hidden states, has layers"
        )


def judgments_to_know(
    rule: Precise, tally: Ratings, limit: int, assuming: tuple[float, str]
) -> tuple[Range, str | None]:
    """The range of further judgments for a run at `tally`, and the assumption behind it.

    `limit` is the maximum number of judged items, including the items in `tally`. `assuming` is what is
    assumed of the scores, a variance and a sentence. The sentence is returned if they are assumed, else None.
    """
    most = max(0, limit - tally.asked)
    if rule.half_width is None:
        return Range(most, most, most), None
    assumed = tally.asked < rule.first_look
    known = more_to_know(rule, tally)
    enough = _enough(rule, assuming[0], 0) - tally.asked if assumed else known
    expected = most if enough is None else max(0, min(most, enough))
    first = rule.first_look - tally.asked if assumed else more_to_know(rule, tally, lucky=True)
    least = max(0, min(most, expected, first or 0))
    return Range(least, expected, most), assuming[1] if assumed else None


def too_few(rule: Precise, tally: Ratings, limit: int, assuming: tuple[float, str], per_label: int = 1) -> str:
    """The sentence that all items, or `limit` of them, will probably not be enough; empty if they are.

    A judgment takes `per_label` items at least.
    """
    if rule.half_width is None:
        return ""
    known = more_to_know(rule, tally) if tally.asked >= rule.first_look else None
    enough = _enough(rule, assuming[0], 0) if known is None else tally.asked + known
    if rule.sampled and enough * per_label > rule.items:
        return (
            f"for items like these, an interval of `half_width={rule.half_width:g}` probably takes "
            f"{enough * per_label:,} items; there are {rule.items:,}."
        )
    if enough <= limit:
        return ""
    return (
        f"`max_judgments={limit}` will probably end the estimate before its interval has "
        f"`half_width={rule.half_width:g}`: that takes about {enough:,}."
    )


def more_to_know(rule: Precise, tally: Ratings, *, lucky: bool = False) -> int | None:
    """How many further judgments would probably make the interval narrow enough.

    None without a `half_width`, or if the variance is not known yet. If `lucky`, it is taken to be smaller
    than seen: by as much as one sample in ten of normal scores shows too large a variance. As many items are skipped
    as so far, which widens the interval for good; None, too, if they alone make it too wide.
    """
    moments, freedom = tally.moments, tally.judged - 1
    if rule.half_width is None or freedom < 1 or math.isnan(moments.variance):
        return None
    skips = [tally.moments_with(score) for score in (0.0, 1.0)]
    half = rule.half_width - max(abs(one.mean - moments.mean) for one in skips)
    if half <= 0:
        return None
    left = 1 - tally.asked / rule.population
    each = max(one.variance for one in skips) * tally.asked / left if left > 0 else 0.0
    if lucky:
        each *= min(1.0, freedom / float(chdtri(freedom, LUCKY)))
    return max(0, _enough(replace(rule, half_width=half), each, tally.asked, moments.mean) - tally.asked)


def _enough(rule: Precise, each: float, asked: int, mean: float = ASSUMED_MEAN) -> int:
    """The fewest judgments above `asked` that make the interval narrow enough.

    `each` is the variance of a single score, `mean` that of all. At most the population's items are returned.
    """
    half = rule.half_width or 0.0

    def narrow(number: int) -> bool:
        left = 1 - number / rule.population
        if rule.even:
            # How much bets gain of a pool is measured; what is judged bounds the rest.
            return number >= _independent(rule, half / left**0.4, each) or left <= half
        moments = Moments(mean, each / number * left, float(max(1, number - 1)))
        found = interval_at_once(moments, number, rule.population, rule.threshold)
        return found is not None and reach(mean, found) <= half

    low, high = asked, rule.population
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(middle) else (middle, high)
    return high


def _independent(rule: Precise, half: float, each: float) -> float:
    """The independent judgments after which bets have ruled out what is `half` away from the mean.

    That is so many standard deviations; with scores that do not vary it takes away / half.
    """
    away = boundary_at_the_end(rule.threshold / 2)
    return away**2 * each / half**2 + away / half


def _aim(rule: Precise) -> int:
    """Where the stakes aim: beyond the end of an interval of scores that spread the most; without a width, all items.

    Beyond it, as after a plan nothing is left to bet with: an interval that is a little too wide there stays so.
    """
    if rule.half_width is None:
        return rule.items
    independent = _independent(rule, rule.half_width, ZERO_OR_ONE[0])
    return math.ceil(BEYOND * independent / (1 + independent / rule.population))
