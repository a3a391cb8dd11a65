"""A comparison that is ready to run, with nothing spent.

What every job needs is read in `inputs.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgeloop.calibration.threshold import Calibration, TooLittle, calibrate
from judgeloop.core.errors import InputError
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Tally
from judgeloop.core.verdict_key import digest
from judgeloop.history.comparisons import AUTO, NONE, History, find_history, wanted_for
from judgeloop.history.past import no_past
from judgeloop.run.inputs import Inputs, read_inputs
from judgeloop.run.settings import CompareConfig
from judgeloop.stopping import GivingUp, make_rule

CALIBRATED = "calibrated"
CALIBRATED_FOR = {"decisive", "random"}
# These make it another run only where they are not the default, so that older runs keep their names.
VARIANT = {"combine", "clustering", "representative"}
TAKES: dict[str, set[str]] = {
    "random": set(),
    "decisive": set(),
    "diffuse": VARIANT,
    "max-norm": {"combine"},
    "input-cluster": {"clustering", "representative"},
}


@dataclass(frozen=True, slots=True)
class Comparison(Inputs):
    """A comparison ready to run.

    `history` is None where nothing looks at earlier comparisons; `selector` and `rule` are those asked for, unless earlier comparisons
    are too few for what was asked, as `instead` then says.
    """

    config: CompareConfig
    rule: StoppingRule[Tally]
    selector: str
    run: str
    history: History | None
    instead: str | None


def prepare(
    config: CompareConfig, environment: Mapping[str, str], *, offline: bool = False
) -> Comparison:
    """Read and check everything that a comparison needs; `environment` holds the judges' keys.

    `offline`: only a forecast is wanted, which needs no key.

    Raises:
        InputError: something given is wrong; nothing was spent.
    """
    _check_selector(config)
    inputs = read_inputs(config, environment, offline=offline)
    run = _run_id(config, inputs)
    history = None
    if _looks_back(config):
        about = wanted_for(config, inputs)
        history = find_history(config.history, about, config.ledger, run, begin=not offline)
    calibrated = _calibrated(config, inputs, history) if config.rule_name == CALIBRATED else None
    too_little = isinstance(calibrated, TooLittle)
    return Comparison(
        joined=inputs.joined,
        judges=inputs.judges,
        limits=inputs.limits,
        decoy_texts=inputs.decoy_texts,
        config=config,
        rule=_giving_up(
            config,
            calibrated.rule
            if isinstance(calibrated, Calibration)
            else _rule(config, len(inputs.pool)),
        ),
        selector="random" if too_little else config.selector,
        run=run,
        history=None if too_little else history,
        instead=_instead(calibrated, history)
        if isinstance(calibrated, TooLittle) and history
        else None,
    )


def _instead(found: TooLittle, history: History) -> str:
    """Why the rule is not the one that was asked for, and what would mend it."""
    said = f"too little history for {CALIBRATED}: {found.sentence}"
    if not history.by_same:
        said += "; comparisons by other judges choose no threshold"
    if history.began is not None:
        said += f"; what came after this run began ({history.began[:16]}) does not count for it: another --seed begins a new one"
    return said


def _rule(config: CompareConfig, items: int) -> StoppingRule[Tally]:
    """The rule asked for; for one that the past would have to choose, the guaranteed one."""
    return make_rule(
        "sequential" if config.rule_name == CALIBRATED else config.rule_name,
        risk=config.risk,
        items=items,
        limit=config.max_judgments,
        near_tie=config.near_tie,
    )


def _giving_up(config: CompareConfig, rule: StoppingRule[Tally]) -> StoppingRule[Tally]:
    """The rule, ending undecided where that is wanted; a threshold that the past chose, without, stays good: fewer are named."""
    return rule if config.give_up is None else GivingUp(rule, config.give_up, config.max_judgments)


def _calibrated(
    config: CompareConfig, inputs: Inputs, history: History | None
) -> Calibration | TooLittle:
    assert history is not None, "a rule that the past chooses looks back"
    if config.near_tie is not None:
        raise InputError("--near-tie needs bounds for the win distance; use --rule anytime")
    if config.selector not in CALIBRATED_FOR:
        raise InputError(
            f"--rule calibrated replays earlier comparisons by chance, and --selector {config.selector} picks items; use --selector "
            "decisive or random"
        )
    first, second = inputs.pool.systems
    return calibrate(
        history.past if history.by_same else no_past(len(inputs.pool)),
        (first, second),
        risk=config.risk,
        limits=inputs.limits,
        weighted=config.selector == "decisive",
        rng=np.random.default_rng([config.seed, len(inputs.pool)]),
    )


def _looks_back(config: CompareConfig) -> bool:
    return config.selector == "decisive" or config.rule_name == CALIBRATED


def _check_selector(config: CompareConfig) -> None:
    for flag in sorted(VARIANT - TAKES[config.selector]):
        value = getattr(config, flag)
        if value != type(config).model_fields[flag].default:
            takers = " or ".join(
                f"--selector {name}" for name, flags in TAKES.items() if flag in flags
            )
            raise InputError(
                f"--{flag} {value}: --selector {config.selector} has no such choice; it goes with {takers}"
            )
    if config.history not in {AUTO, NONE} and not _looks_back(config):
        raise InputError(
            f"--history {config.history}: --selector {config.selector} looks at no earlier comparisons; use --selector decisive or --rule calibrated"
        )


def _named(history: str) -> str:
    """A history's name: a file's by its contents, since other contents give other draws."""
    path = Path(history)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else history


def _run_id(config: CompareConfig, inputs: Inputs) -> str:
    """The run's name in the ledger."""
    return digest(
        {
            "job": "compare",
            **inputs.question(config),
            "rule": config.rule_name,
            "represent": config.represent,
            **({"near_tie": config.near_tie} if config.near_tie else {}),
            **({"give_up": config.give_up} if config.give_up else {}),
            **({"history": _named(config.history)} if _looks_back(config) else {}),
            **config.model_dump(mode="json", include=VARIANT, exclude_defaults=True),
        }
    )[:16]
