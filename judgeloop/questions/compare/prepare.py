"""Prepares a comparison: checks the settings, reads files and earlier comparisons. Spends nothing.

The ledger is read only if the selector or the rule uses earlier comparisons. `run/inputs.py` reads
what all questions need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from judgeloop.calibration.threshold import Calibration, TooLittle, calibrate
from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Tally
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Draws
from judgeloop.history.comparisons import History, find_history
from judgeloop.history.past import no_past
from judgeloop.methods.selectors.catalogue import Need, SelectorRow, selector_row, selectors_of
from judgeloop.methods.stopping.catalogue import (
    Ingredients,
    RuleRow,
    default_rule,
    rule_row,
    rules_of,
)
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.questions.compare.config import QUESTION, SELECTORS, CompareConfig
from judgeloop.run.given import NOTHING_GIVEN, Given
from judgeloop.run.identity import named_by_content, run_id
from judgeloop.run.inputs import Inputs, read_inputs, wanted_for
from judgeloop.run.prepared import (
    Prepared,
    check_idle_settings,
    population_of,
)
from judgeloop.settings.run_settings import within_ceiling


@dataclass(frozen=True, slots=True)
class Comparison(Prepared[CompareConfig]):
    """A comparison ready to run.

    `history` is None if neither selector nor rule uses earlier comparisons. `selector` and `rule`
    are those of the settings, unless there are too few earlier comparisons for them. Then
    `instead` says why; else it is None.
    """

    selector: SelectorRow
    rule: StoppingRule[Tally]
    history: History | None
    instead: str | None


def prepare(
    config: CompareConfig,
    environment: Mapping[str, str],
    *,
    offline: bool = False,
    given: Given = NOTHING_GIVEN,
) -> Comparison:
    """Read and check everything that a comparison needs.

    `environment` holds the judges' API keys. With `offline`, only a forecast is made, which needs
    no key. `given` holds the tables and judges that a program has in memory.

    Raises:
        InputError: a setting or a file is wrong; nothing was spent.
    """
    if config.score is not None:
        raise InputError(
            "`score` names a recorded score, and a `judge` is asked; leave one of them out"
        )
    config = within_ceiling(config, environment)
    chosen: list[SelectorRow | RuleRow] = [config.selector_row, config.rule_row]
    check_idle_settings(config, chosen, [*selectors_of(QUESTION), *rules_of(QUESTION)])
    _check_selector(config)
    _check_not_worse(config)
    inputs = read_inputs(config, environment, offline=offline, given=given)
    run = _id(config, inputs)
    history = None
    if config.looks_back:
        about = wanted_for(config, inputs)
        history = find_history(config.history, about, config.ledger, run, begin=not offline)
    calibrated = _calibrated(config, inputs, history) if config.rule_row.by_past else None
    if isinstance(calibrated, TooLittle):
        assert history is not None, "a rule that the past calibrates looks back"
        return Comparison(
            config,
            inputs,
            run,
            selector=selector_row(QUESTION, SELECTORS[0]),
            rule=_rule(config, rule_row(QUESTION, default_rule(QUESTION, Draws.EVEN)), inputs),
            history=None,
            instead=_instead(calibrated, config.rule, history),
        )
    return Comparison(
        config,
        inputs,
        run,
        selector=config.selector_row,
        rule=_rule(config, config.rule_row, inputs, calibrated),
        history=history,
        instead=None,
    )


def _instead(found: TooLittle, rule: str, history: History) -> str:
    """Return why the requested rule is not used, and what would change that."""
    text = f"too little history for {rule}: {found.sentence}"
    if not history.by_same:
        text += "; comparisons by other judges are not used for its threshold"
    if history.began is not None:
        text += (
            f"; comparisons made after this run began ({history.began[:16]}) are not used for it: "
            "another `seed` begins a new run"
        )
    return text


def _rule(
    config: CompareConfig, row: RuleRow, inputs: Inputs, calibrated: Calibration | None = None
) -> StoppingRule[Tally]:
    """Return the rule of `row`, wrapped in `GivingUp` if `give_up` is set.

    A threshold that was calibrated without giving up stays valid, because giving up only lowers
    the number of winners named.
    """
    rule: StoppingRule[Tally] = row.make(
        Ingredients(
            risk=config.risk,
            items=population_of(config, inputs) or len(inputs.joined.pool),
            limit=config.max_judgments,
            near=config.near_tie,
            worse=config.not_worse,
            threshold=None if calibrated is None else calibrated.threshold,
        )
    )
    if config.give_up is None:
        return rule
    return GivingUp(rule, config.give_up, config.max_judgments)


def _calibrated(
    config: CompareConfig, inputs: Inputs, history: History | None
) -> Calibration | TooLittle:
    assert history is not None, "a rule that the past calibrates looks back"
    pool = inputs.joined.pool
    first, second = pool.systems
    return calibrate(
        history.past if history.by_same else no_past(len(pool)),
        (first, second),
        risk=config.risk,
        limits=inputs.limits,
        weighted=Need.HISTORY in config.selector_row.needs,
        rng=np.random.default_rng([config.seed, len(pool)]),
    )


def _check_selector(config: CompareConfig) -> None:
    """Refuse a rule calibrated on random draws together with a selector that picks items."""
    if config.rule_row.by_past and config.selector_row.draws is Draws.PICKED:
        raise InputError(
            f"`rule={config.rule}` is calibrated with random draws, but "
            f"`selector={config.selector}` picks items; use `selector=decisive` or `selector=random`"
        )


def _check_not_worse(config: CompareConfig) -> None:
    """Refuse settings of another question than whether the second system is not worse."""
    others = {
        "near_tie": "it asks whether neither is better by so much",
        "give_up": "its chance of a decision is about which system is better",
        "require_winner": "`not_worse` alone fails if the second system is worse",
    }
    for name, why in others.items():
        if config.not_worse is not None and getattr(config, name) is not None:
            raise InputError(
                f"`{name}={getattr(config, name)}` does not go with `not_worse={config.not_worse:g}`: "
                f"{why}; leave one of them out"
            )


def _id(config: CompareConfig, inputs: Inputs) -> str:
    content = {
        "history": named_by_content(config.history) if config.looks_back else None,
        "decoy_outputs": inputs.decoy_texts if config.decoy_outputs else None,
        "population": population_of(config, inputs),
    }
    return run_id(QUESTION, config, inputs.joined.pool, inputs.judges, content)
