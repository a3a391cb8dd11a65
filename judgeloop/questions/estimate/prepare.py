"""Prepares an estimate: checks the settings, reads files and makes the selector. Spends nothing.

Vectors and clusters are computed here. `run/inputs.py` reads what all questions need.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from judgeloop.catalogue import selectors_of
from judgeloop.core.choices import Draws, Population
from judgeloop.core.errors import InputError, UnpricedError
from judgeloop.core.money import is_price_file
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge, Selector
from judgeloop.methods.rows import INTERVALS, Draft
from judgeloop.methods.stats.strata import Floats
from judgeloop.methods.stopping.precise import Precise
from judgeloop.questions.estimate.settings import QUESTION, EstimateConfig
from judgeloop.run.inputs import Inputs, checked_judge, judge_options, read_inputs
from judgeloop.run.live import looks_at_all
from judgeloop.run.prepared import Prepared, check_about, check_idle_settings, run_id
from judgeloop.settings.run_settings import within_ceiling
from judgeloop.settings.setting import alternatives, declared

YES_OR_NO = 2  # steps of a scale
CONFIDENCE_SETTINGS = {"confidence", "confidence_by"}  # used by a selector or by the proxy


@dataclass(frozen=True, slots=True)
class PreparedEstimation(Prepared[EstimateConfig]):
    """An estimate ready to run.

    `confidence`, shape (items,), is the system's confidence in its outputs; None if neither
    selector nor proxy uses it. `proxy` is the judge that rates every item; None if the proxy is not a judge.
    """

    rule: Precise
    selector: Selector[Any]
    confidence: Floats | None
    proxy: Judge | None

    @property
    def graded(self) -> bool:
        """Whether the judges rate on a scale of more than two steps."""
        prompt = self.inputs.prompt
        return prompt is not None and len(prompt.labels) > YES_OR_NO

    @property
    def most(self) -> int:
        """Maximum number of judged items."""
        return min(self.config.max_judgments, len(self.pool))


def prepare(config: EstimateConfig, environment: Mapping[str, str], *, offline: bool = False) -> PreparedEstimation:
    """Read and check everything that an estimate needs (`questions/question.py`).

    Raises:
        InputError: a setting or a file is wrong; nothing was spent.
    """
    config = within_ceiling(config, environment)
    _check_settings(config)
    _check_live(config)
    inputs = read_inputs(config, environment, offline=offline)
    pool = inputs.pool
    confidence = None
    if config.looks_at_confidence:
        assert not isinstance(config.outputs, str), "`_check_live` has refused it"
        confidence = config.confidences(config.outputs, pool.items)
    proxy = _proxy(config, inputs, environment, offline=offline)
    run = run_id(
        QUESTION,
        config,
        inputs,
        proxy=config.proxy if proxy is None else [proxy.identity.name, dict(proxy.identity.parameters)],
        confidence=None if confidence is None else confidence.tolist(),
    )
    # Clusters are computed here, before the run, so that the user can interrupt it.
    selector = config.selector_row.make(draft_of(config, pool, confidence))
    return PreparedEstimation(
        config, inputs, run, rule=_rule(config, len(pool)), selector=selector, confidence=confidence, proxy=proxy
    )


def draft_of(config: EstimateConfig, pool: Pool, confidence: Floats | None) -> Draft:
    """What the selector is made of."""
    limit = min(config.max_judgments, len(pool))
    return Draft(
        items=len(pool),
        limit=limit,
        risk=config.risk,
        start=limit if config.half_width is None else config.min_judgments,
        systems=1,
        settings=config,
        seed=(config.seed, limit),
        pool=pool,
        found={} if confidence is None else {"confidence": confidence},
    )


def _rule(config: EstimateConfig, items: int) -> Precise:
    even, any_look = config.selector_row.draws is Draws.EVEN, INTERVALS[config.interval]
    return Precise(
        threshold=config.risk,
        items=items,
        half_width=config.half_width,
        any_look=any_look,
        first_look=config.min_judgments,
        guaranteed=any_look and even and config.proxy is None,
        sampled=config.population is Population.ITEMS_LIKE_THESE,
    )


def _check_settings(config: EstimateConfig) -> None:
    row = config.selector_row
    if not config.looks_at_confidence and config.confidence != declared(EstimateConfig)["confidence"].default:
        raise InputError(
            f"`confidence={config.confidence}`: `selector={row.name}` does not use confidence; set "
            "`proxy=confidence`, or a selector that does"
        )
    if config.layer != config.usual_layer:
        _check_layer(config)
    settled = CONFIDENCE_SETTINGS if config.looks_at_confidence else set()
    check_idle_settings(config, QUESTION, replace(row, takes=row.takes | settled | {"layer"}))
    if row.draws is Draws.PICKED:
        _refuse_intervals(config)
    check_about(
        config,
        f"`proxy={config.proxy}`" if config.proxy else f"`selector={config.selector}`",
        proves=row.draws is Draws.EVEN and config.proxy is None,
        instead="`selector=random` without a `proxy`",
    )


def _check_live(config: EstimateConfig) -> None:
    """Refuse what has to know the outputs before they are there."""
    if not isinstance(config.outputs, str):
        return
    chosen = f"proxy={config.proxy}" if config.proxy else f"selector={config.selector}"
    if config.proxy or config.selector_row.needs_outputs:
        raise looks_at_all(chosen, config.outputs, "`selector=random` without a `proxy`")


def _check_layer(config: EstimateConfig) -> None:
    """Refuse a layer if the vectors have none, or if the selector's paper prescribes another."""
    takers = [row.name for row in selectors_of(QUESTION) if "layer" in row.takes]
    if config.selector not in takers:
        raise InputError(
            f"`layer={config.layer}`: `selector={config.selector}` has no such setting; it applies to "
            f"{alternatives([f'`selector={name}`' for name in takers])}"
        )
    if not config.hidden:
        raise InputError(f"`layer={config.layer}`: only `represent=hidden:MODEL` has layers")


def _refuse_intervals(config: EstimateConfig) -> None:
    """Refuse settings of an interval if the selector picks its items: none can be stated then."""
    for name in ("half_width", "require_score", "interval", "proxy"):
        if getattr(config, name) != declared(EstimateConfig)[name].default:
            raise InputError(
                f"`{name}`: `selector={config.selector}` picks its items, so no interval can be stated; "
                "use `selector=random` or `selector=stratified`"
            )


def _proxy(config: EstimateConfig, inputs: Inputs, environment: Mapping[str, str], *, offline: bool) -> Judge | None:
    """Return the judge that rates every item; None if the proxy is not a judge.

    The address and a price in the settings are the judge's and are not used for the proxy; a file
    of prices is.
    """
    spec = config.proxy_judge
    if spec is None:
        return None
    if spec in config.judge:
        raise InputError(f"`proxy={spec}`: this is the judge itself; give a cheaper judge as proxy")
    options = judge_options(config, environment, rating=True, offline=offline)
    price = options.price if options.price and is_price_file(options.price) else None
    own = replace(options, price=price, base_url=None)
    try:
        judge = checked_judge(spec, own, config, inputs.pool, proxy=True)
    except UnpricedError:
        raise
    except InputError as error:
        raise InputError(f"`proxy={spec}`: {error}") from None
    if judge.by_hand:
        raise InputError(f"`proxy={spec}`: a proxy rates every item, so it cannot be a person")
    return judge
