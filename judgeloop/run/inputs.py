"""Files and settings to what every job needs before it can ask: systems joined on their items, judges, decoys.

Everything that somebody may have got wrong is looked at here, before the first call. What is particular to a job stands in its own
file (`preparing.py`, `preparing_selection.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeloop.core.errors import InputError, UnpricedError
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge
from judgeloop.engine import decoys
from judgeloop.engine.session import Limits
from judgeloop.formats.join import Joined, join
from judgeloop.formats.outputs import read_items, read_outputs
from judgeloop.judges.catalogue import JudgeOptions, judge_from_spec
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.prompt_files import template_for
from judgeloop.judges.replay import ReplayJudge
from judgeloop.run.settings import JudgeSettings, RunSettings

# What decides a run's outcome, and so makes it another run; its budget and its pace do not.
DECISIVE = {
    "selector", "risk", "min_judgments", "max_judgments", "max_abstentions", "order", "vote", "seed", "decoys",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a run is about and who judges: read, joined and checked."""

    joined: Joined
    judges: tuple[Judge, ...]
    limits: Limits
    decoy_texts: tuple[str, ...]

    @property
    def pool(self) -> Pool:
        """The items and the systems' outputs."""
        return self.joined.pool

    @property
    def by_hand(self) -> bool:
        """Whether a person judges."""
        return any(isinstance(judge, HumanJudge) for judge in self.judges)

    def question(self, config: RunSettings) -> dict[str, Any]:
        """What makes a run the same run again, whatever its budget or pace: the same question on the same data.

        A budget bounds all that is ever spent under one name, so that repeating a command cannot exceed it.
        """
        identities = [judge.identity for judge in self.judges]
        return {
            "judges": [[one.provider, one.model, dict(one.parameters)] for one in identities],
            "systems": self.pool.systems,
            "items": [[item.id, item.prompt, item.reference] for item in self.pool.items],
            "outputs": self.pool.outputs,
            **({"decoy_texts": self.decoy_texts} if config.decoy_outputs else {}),
            **config.model_dump(mode="json", include=DECISIVE),
        }


def read_inputs(
    config: RunSettings, environment: Mapping[str, str], *, offline: bool = False
) -> Inputs:
    """Read and check the files and the judges that a run names; `environment` holds the judges' keys.

    `offline`: only a forecast is wanted, which needs no key.

    Raises:
        InputError: something given is wrong; nothing was spent.
    """
    limits = Limits(config.min_judgments, config.max_judgments, config.max_abstentions)
    outputs = [read_outputs(path) for path in config.output_files]
    items = read_items(config.items) if config.items else None
    joined = join(outputs, items, config.items, allow_partial=config.allow_partial)
    config.questions(joined.pool.systems)  # a wrong name is said before a judge is looked for
    options = judge_options(config, environment, rating=config.rates, offline=offline)
    judges = tuple(checked_judge(spec, options, config, joined.pool) for spec in config.judge)
    _check_panel(config, judges)
    _check_winner(config, joined.pool)
    return Inputs(joined, judges, limits, _decoy_texts(config))


def checked_judge(spec: str, options: JudgeOptions, config: RunSettings, pool: Pool) -> Judge:
    """The judge that `spec` names, fit to judge the systems of `pool`.

    Raises:
        InputError: there is no such judge, or it cannot do that.
    """
    judge = judge_from_spec(spec, options)
    _check_judge(config, pool, spec, judge)
    return judge


def judge_options(
    config: JudgeSettings,
    environment: Mapping[str, str],
    *,
    rating: bool = False,
    offline: bool = False,
) -> JudgeOptions:
    """What the judges need of a configuration; `rating` says that they are shown one output at a time."""
    return JudgeOptions(
        template=template_for(config, rating=rating),
        environment=environment,
        base_url=config.judge_base_url,
        price=config.judge_price,
        prices=config.prices,
        tie_margin=config.tie_margin,
        timeout_s=config.judge_timeout,
        max_output_tokens=config.judge_max_tokens,
        verdict=config.verdict,
        allow_plugins=config.allow_plugins,
        offline=offline,
    )


def _check_judge(config: RunSettings, pool: Pool, spec: str, judge: Judge) -> None:
    if isinstance(judge, ReplayJudge):
        judge.check(
            config.questions(pool.systems), [item.id for item in pool.items], config.max_abstentions
        )
    if judge.identity.provider == "metric" and not any(item.reference for item in pool.items):
        raise InputError(
            f"--judge {spec}: a metric compares with references, and no item has the field 'reference'; give it in "
            "the items file or the output files"
        )
    if not judge.priced and config.budget is not None:
        raise UnpricedError(
            f"--judge {spec}: no price is known for this model at this address, and without one the budget of "
            f"${config.budget} cannot be kept. Give it, in dollars per million tokens: --judge-price IN,OUT (a server "
            "of your own: --judge-price 0,0), or in a file: --prices FILE. To run without any limit of money: "
            "--budget none"
        )
    if config.decoys and not (judge.blind and judge.order_matters):
        raise InputError(
            f"--decoys: {spec} does not read answers as a model or a person does, so that none can fool it"
        )


def _check_panel(config: RunSettings, judges: tuple[Judge, ...]) -> None:
    names = [judge.identity.name for judge in judges]
    if len(set(names)) < len(names):
        raise InputError("--judge: a panel needs different judges, and one is named twice")
    by_hand = any(isinstance(judge, HumanJudge) for judge in judges)
    if by_hand and config.deadline is not None:
        raise InputError(
            "--deadline: a person takes the time it takes; quit with q, and the same command goes on"
        )
    if len(judges) > 1 and by_hand:
        raise InputError(
            "--judge human cannot sit on a panel: its order of presentation is its own"
        )
    if len(judges) > 1 and config.judge_base_url is not None:
        raise InputError(
            "--judge-base-url is one address for several judges; set OPENAI_BASE_URL and ANTHROPIC_BASE_URL instead"
        )


def _decoy_texts(config: RunSettings) -> tuple[str, ...]:
    """What to try on the judge: judgeloop's own texts, or the distinct outputs of a file."""
    if config.decoy_outputs is None:
        return decoys.TEXTS
    if not config.decoys:
        raise InputError("--decoy-outputs: say how many decoys to try with --decoys")
    return tuple(
        dict.fromkeys(located.row.output for located in read_outputs(config.decoy_outputs).rows)
    )


def _check_winner(config: RunSettings, pool: Pool) -> None:
    if config.require_winner is not None and config.require_winner not in pool.systems:
        raise InputError(
            f"--require-winner: expected one of {', '.join(pool.systems)}, found {config.require_winner!r}"
        )
