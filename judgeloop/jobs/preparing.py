"""A comparison that is ready to run, with nothing spent.

What every job needs is read in `inputs.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from judgeloop.config import CompareConfig
from judgeloop.errors import InputError
from judgeloop.jobs.history import AUTO, About, History, find_history
from judgeloop.jobs.inputs import Inputs, read_inputs
from judgeloop.keys import digest
from judgeloop.protocols import StoppingRule
from judgeloop.records import Tally
from judgeloop.stopping import make_rule

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
    """A comparison ready to run; `history` is None where nothing looks at earlier comparisons."""

    config: CompareConfig
    rule: StoppingRule[Tally]
    run: str
    history: History | None


def prepare(config: CompareConfig, environment: Mapping[str, str], *, offline: bool = False) -> Comparison:
    """Read and check everything that a comparison needs; `environment` holds the judges' keys.

    `offline`: only a forecast is wanted, which needs no key.

    Raises:
        InputError: something given is wrong; nothing was spent.
    """
    _check_selector(config)
    inputs = read_inputs(config, environment, offline=offline)
    run = _run_id(config, inputs)
    return Comparison(
        joined=inputs.joined,
        judges=inputs.judges,
        limits=inputs.limits,
        decoy_texts=inputs.decoy_texts,
        config=config,
        rule=make_rule(
            config.rule_name,
            risk=config.risk,
            items=len(inputs.pool),
            limit=config.max_judgments,
            near_tie=config.near_tie,
        ),
        run=run,
        history=_history(config, inputs, run, begin=not offline) if _looks_back(config) else None,
    )


def _looks_back(config: CompareConfig) -> bool:
    return config.selector == "decisive"


def _history(config: CompareConfig, inputs: Inputs, run: str, *, begin: bool) -> History:
    pool = inputs.pool
    about = About(
        items=pool.items,
        systems=pool.systems,
        outputs=pool.outputs,
        judges=tuple(judge.identity for judge in inputs.judges),
        tie_margin=config.tie_margin,
    )
    return find_history(config.history, about, config.ledger, run, begin=begin)


def _check_selector(config: CompareConfig) -> None:
    for flag in sorted(VARIANT - TAKES[config.selector]):
        value = getattr(config, flag)
        if value != type(config).model_fields[flag].default:
            takers = " or ".join(f"--selector {name}" for name, flags in TAKES.items() if flag in flags)
            raise InputError(
                f"--{flag} {value}: --selector {config.selector} has no such choice; it goes with {takers}"
            )
    if config.history != AUTO and not _looks_back(config):
        raise InputError(
            f"--history {config.history}: --selector {config.selector} looks at no earlier comparisons; use --selector decisive"
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
            **({"history": _named(config.history)} if _looks_back(config) else {}),
            **config.model_dump(mode="json", include=VARIANT, exclude_defaults=True),
        }
    )[:16]
