"""An estimate of one system's mean score that is ready to run, with nothing spent.

What every job needs is read in `inputs.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import Judge
from judgeloop.core.verdict_key import digest
from judgeloop.estimate.selector import (
    DRAWING_ONE,
    NEED_CLUSTERS,
    NEED_CONFIDENCE,
    NEED_VECTORS,
    Sampling,
    sampling_for,
    vectors_for,
)
from judgeloop.formats.confidence import DEFAULT_FIELD, read_confidence
from judgeloop.history.comparisons import AUTO, wanted_for
from judgeloop.history.ratings import Foretold, find_ratings
from judgeloop.judges.human import HumanJudge
from judgeloop.run.inputs import Inputs, checked_judge, judge_options, read_inputs
from judgeloop.run.settings import EstimateConfig
from judgeloop.stats.strata import Floats
from judgeloop.stopping.precise import Precise

CONFIDENCE = "confidence"  # as a proxy: the system's own
HISTORY = "history"  # as a proxy: what earlier systems' ratings let expect
NEED_CLUSTERS_OR_SECTIONS = NEED_CLUSTERS | {"stratified-confidence"}
# By flag, the selectors that look at it; set for another one, it would be passed over in silence.
TAKEN_BY = {
    "represent": NEED_VECTORS,
    "layer": NEED_VECTORS,
    "clusters": NEED_CLUSTERS_OR_SECTIONS,
    "allocation": NEED_CLUSTERS,
}


@dataclass(frozen=True, slots=True)
class Estimation(Inputs):
    """An estimate ready to run; `confidence`, shape (items,), is the system's own in its outputs, where anything looks at it.

    `foretold` is what earlier ratings let expect, None where nothing looks at them.
    """

    config: EstimateConfig
    rule: Precise
    sampling: Sampling
    confidence: Floats | None
    proxy: Judge | None
    foretold: Foretold | None
    run: str

    @property
    def budget(self) -> int:
        """How many items are judged, at most."""
        return min(self.config.max_judgments, len(self.pool))


def prepare_estimate(
    config: EstimateConfig, environment: Mapping[str, str], *, offline: bool = False
) -> Estimation:
    """Read and check everything that an estimate needs; `environment` holds the judges' keys.

    `offline`: only a forecast is wanted, which needs no key.

    Raises:
        InputError: something given is wrong; nothing was spent.
    """
    _check_flags(config)
    inputs = read_inputs(config, environment, offline=offline)
    confidence = None
    if _looks_at_confidence(config):
        confidence = read_confidence(
            config.outputs, inputs.pool.items, config.confidence, config.confidence_by
        )
    proxy = _proxy(config, inputs, environment, offline=offline)
    run = _run_id(config, inputs, confidence, proxy)
    sampling = sampling_for(  # here and not later, so that it can be interrupted as any computation
        config,
        min(config.max_judgments, len(inputs.pool)),
        confidence=confidence,
        vectors=vectors_for(config, inputs.pool),
        items=len(inputs.pool),
    )
    foretold = None
    if config.proxy == HISTORY:
        about = wanted_for(config, inputs)
        foretold = find_ratings(config.history, about, config.ledger, run, begin=not offline)
    return Estimation(
        joined=inputs.joined,
        judges=inputs.judges,
        limits=inputs.limits,
        decoy_texts=inputs.decoy_texts,
        config=config,
        rule=Precise(
            threshold=config.risk,
            items=len(inputs.pool),
            half_width=config.half_width,
            kind=config.interval,
            first_look=config.min_judgments,
            guaranteed=config.interval == "anytime"
            and config.selector == "random"
            and config.proxy is None,
        ),
        sampling=sampling,
        confidence=confidence,
        proxy=proxy,
        foretold=foretold,
        run=run,
    )


def _looks_at_confidence(config: EstimateConfig) -> bool:
    return config.selector in NEED_CONFIDENCE or config.proxy == CONFIDENCE


def _check_flags(config: EstimateConfig) -> None:
    for flag, selectors in TAKEN_BY.items():
        value = getattr(config, flag)
        if config.selector not in selectors and value != EstimateConfig.model_fields[flag].default:
            raise InputError(
                f"--{flag} {value}: --selector {config.selector} has no such choice; it goes with "
                f"--selector {' or '.join(sorted(selectors))}"
            )
    if not config.represent.startswith("hidden:") and config.layer != "middle":
        raise InputError(f"--layer {config.layer}: only --represent hidden:MODEL has layers")
    if config.confidence != DEFAULT_FIELD and not _looks_at_confidence(config):
        raise InputError(
            f"--confidence {config.confidence}: --selector {config.selector} does not look at confidence; give --proxy confidence, or "
            "a selector that does"
        )
    if config.history != AUTO and config.proxy != HISTORY:
        raise InputError(
            f"--history {config.history}: without --proxy history no earlier ratings are looked at; give that, too"
        )
    about_intervals = {
        "--half-width": config.half_width is not None,
        "--require-score": config.require_score is not None,
        "--interval anytime": config.interval != "approximate",
        "--proxy": config.proxy is not None,
    }
    for flag in (
        flag
        for flag, given in about_intervals.items()
        if given and config.selector not in DRAWING_ONE
    ):
        raise InputError(
            f"{flag}: --selector {config.selector} picks its items, and no interval can be stated then; use --selector random or stratified"
        )
    if config.order != EstimateConfig.model_fields["order"].default:
        raise InputError("--order: one output at a time is rated, so that there is no order")


def _proxy(
    config: EstimateConfig, inputs: Inputs, environment: Mapping[str, str], *, offline: bool
) -> Judge | None:
    """The judge that rates everything; its address and its price are its own, and not those given for the real one."""
    if config.proxy in {None, CONFIDENCE, HISTORY}:
        return None
    if config.proxy in config.judge:
        raise InputError(
            f"--proxy {config.proxy}: this is the judge itself; a proxy is a cheaper one"
        )
    options = judge_options(config, environment, rating=True, offline=offline)
    try:
        judge = checked_judge(
            config.proxy, replace(options, price=None, base_url=None), config, inputs.pool
        )
    except InputError as error:
        said = str(error).replace(
            "--judge-price IN,OUT (a server of your own: --judge-price 0,0), or in a file: ", ""
        )
        raise InputError(f"--proxy {config.proxy}, as a judge of its own: {said}") from None
    if isinstance(judge, HumanJudge):
        raise InputError(
            "--proxy human: a proxy rates every item, and is there to spare people that"
        )
    return judge


def _run_id(
    config: EstimateConfig, inputs: Inputs, confidence: Floats | None, proxy: Judge | None
) -> str:
    """The run's name in the ledger."""
    own = {"half_width", "interval", "clusters", "allocation"}
    if config.selector in NEED_VECTORS:
        own |= {"represent", "layer"}
    return digest(
        {
            "job": "estimate",
            **inputs.question(config),
            **config.model_dump(mode="json", include=own),
            "proxy": None
            if proxy is None
            else [proxy.identity.name, dict(proxy.identity.parameters)],
            "confidence": None if confidence is None else confidence.tolist(),
            **({"history": _named(config.history)} if config.proxy == HISTORY else {}),
        }
    )[:16]


def _named(history: str) -> str:
    """A history's name: a file's by its contents, since others let expect other scores."""
    path = Path(history)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else history
