"""A search for the best of many that is ready to run, with nothing spent.

What every job needs is read in `inputs.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.verdict_key import digest
from judgeloop.run.inputs import Inputs, read_inputs
from judgeloop.run.settings import DRAWING_AMONG, SelectConfig
from judgeloop.stats.standings import Standings
from judgeloop.stopping.among import Separated, make_rule_among

FEWEST_SYSTEMS = 2
PICKING_BY_WEAK_JUDGES = {
    "llm-selector",
    "bradley-terry",
    "most-draws",
    "confidence",
    "uncertainty",
}


@dataclass(frozen=True, slots=True)
class Selection(Inputs):
    """A search for the best of many, ready to run; `baseline` is the number of the system that all others are compared with."""

    config: SelectConfig
    rule: StoppingRule[Standings]
    baseline: int
    run: str

    @property
    def level(self) -> float | None:
        """The risk at which a system is out; None for a rule that states none."""
        return self.rule.level if isinstance(self.rule, Separated) else None

    @property
    def rivals(self) -> tuple[int, ...]:
        """The systems that are compared with the baseline."""
        return tuple(system for system in range(len(self.pool.systems)) if system != self.baseline)


def prepare_selection(
    config: SelectConfig, environment: Mapping[str, str], *, offline: bool = False
) -> Selection:
    """Read and check everything that a search for the best needs; `environment` holds the judges' keys.

    `offline`: only a forecast is wanted, which needs no key.

    Raises:
        InputError: something given is wrong; nothing was spent.
    """
    _check_flags(config)
    inputs = read_inputs(config, environment, offline=offline)
    _check_outputs(inputs.pool)
    return Selection(
        joined=inputs.joined,
        judges=inputs.judges,
        limits=inputs.limits,
        decoy_texts=inputs.decoy_texts,
        config=config,
        rule=make_rule_among(
            config.rule_name, risk=config.risk, items=len(inputs.pool), near_best=config.near_best
        ),
        baseline=inputs.pool.systems.index(config.baseline),
        run=_run_id(config, inputs),
    )


def _check_flags(config: SelectConfig) -> None:
    if len(config.outputs) < FEWEST_SYSTEMS:
        raise InputError(
            f"select: expected the outputs of at least {FEWEST_SYSTEMS} systems, the baseline's among them; found "
            f"{len(config.outputs)}"
        )
    if config.max_judgments < len(config.outputs) - 1:
        raise InputError(
            f"--max-judgments {config.max_judgments}: one item alone takes {len(config.outputs) - 1} judgments, each system's but the baseline's; "
            "give at least so many"
        )
    if config.rule == "separated" and config.selector not in DRAWING_AMONG:
        raise InputError(
            f"--rule separated holds only for random draws, and --selector {config.selector} picks queries; use "
            "--selector race, or --rule fixed-budget"
        )
    if config.rule == "fixed-budget" and config.selector == "race":
        raise InputError(
            "--selector race drops systems at a stated risk, which --rule fixed-budget has not; for a fixed budget use "
            "--selector halving"
        )
    if config.epsilon is not None and config.selector != "llm-selector":
        raise InputError(
            f"--epsilon: --selector {config.selector} has no such numbers; llm-selector has"
        )


def _check_outputs(pool: Pool) -> None:
    """Refuse systems that no judge could tell apart: the whole budget would go on them."""
    first: dict[tuple[str, ...], str] = {}
    for name, outputs in zip(pool.systems, pool.outputs, strict=True):
        other = first.setdefault(outputs, name)
        if other != name:
            raise InputError(
                f"{other} and {name} gave the very same output on every one of {len(pool)} items, so that nothing can "
                "tell them apart; leave one of them out"
            )


def _run_id(config: SelectConfig, inputs: Inputs) -> str:
    """The run's name in the ledger."""
    own = {"baseline", "near_best"}
    if config.selector in PICKING_BY_WEAK_JUDGES:
        own |= {"weak_judges", "epsilon"}
    return digest(
        {
            "job": "select",
            **inputs.question(config),
            "rule": config.rule_name,
            **config.model_dump(mode="json", include=own),
        }
    )[:16]
