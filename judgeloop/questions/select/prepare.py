"""Prepares a search for the best of many: checks the settings and reads the files. Spends nothing.

`run/inputs.py` reads what all questions need.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from judgeloop.core.choices import Draws
from judgeloop.core.errors import InputError
from judgeloop.core.pool import Pool
from judgeloop.methods.estimators.win_rates import scouted_items
from judgeloop.methods.rows import Draft
from judgeloop.methods.stopping.best_of_many import BestRule
from judgeloop.questions.select.plan import may_stay_open, no_winner, usual_calls
from judgeloop.questions.select.settings import QUESTION, SELECTORS, SelectConfig
from judgeloop.report.words import count
from judgeloop.run.inputs import read_inputs
from judgeloop.run.live import looks_at_all
from judgeloop.run.prepared import Prepared, check_about, check_idle_settings, ids_of
from judgeloop.settings.run_settings import within_ceiling

FEWEST_SYSTEMS = 2


@dataclass(frozen=True, slots=True)
class PreparedSelection(Prepared[SelectConfig]):
    """A search for the best of many, ready to run.

    Its rule and its selector are made of the `draft`.
    """

    draft: Draft
    rule: BestRule

    @property
    def baseline(self) -> int | None:
        """The number of the system that all others are compared with; None if the run chooses it."""
        return self.draft.baseline

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The comparisons of an item: of each system with the baseline, or with any if it is not known."""
        first = self.baseline or 0
        return [(number, first) for number in range(len(self.pool.systems)) if number != first]

    @property
    def most_judgments(self) -> int:
        """As for all questions; each other system is compared with one, also if the run chooses it."""
        return min(self.limits.max_judgments, len(self.pairs) * len(self.pool))

    @property
    def usual(self) -> int | None:
        """How many calls such a search usually takes to its end; None if it uses up its limit."""
        if self.rule.level is None or self.config.selector != SELECTORS[0]:
            return None
        gap, config = self.config.min_gap or 0.0, self.config
        return usual_calls(len(self.pool.systems), len(self.pool), gap, config.risk, sampled=self.sampled)

    @property
    def names_none(self) -> str:
        """Return that a search for the best of items like these may well name no system, and what it takes."""
        return no_winner(self.most_judgments, len(self.pool.systems), gap=self.config.min_gap or 0.0)

    @property
    def notice(self) -> str | None:
        """What is said before anything is spent: that the search may well stay open."""
        close = may_stay_open(len(self.pool.systems), self.config.min_gap or 0.0)
        return self.names_none if self.sampled and close and self.rule.level is not None else None


def prepare(config: SelectConfig, environment: Mapping[str, str], *, offline: bool = False) -> PreparedSelection:
    """Read and check everything that a search for the best needs (`questions/question.py`).

    Raises:
        InputError: a setting or a file is wrong; nothing was spent.
    """
    config = within_ceiling(config, environment)
    _check_settings(config)
    check_idle_settings(config, QUESTION, config.selector_row, config.rule_row)
    inputs = read_inputs(config, environment, offline=offline)
    pool = inputs.pool
    against = config.against(pool.systems)
    _check_outputs(pool)
    _check_limit(config, pool)
    if inputs.systems and config.selector_row.needs_outputs:
        live = pool.systems[pool.live[0]]
        instead = "`selector=race` or `selector=random`"
        raise looks_at_all(f"selector={config.selector}", live, instead)
    draft = Draft(
        items=len(pool),
        limit=config.max_judgments,
        risk=config.risk,
        systems=len(pool.systems),
        baseline=pool.systems.index(against) if against else None,
        gap=config.min_gap or 0.0,
        population=inputs.population,
        settings=config,
        seed=(config.seed,),
        pool=pool,
    )
    run, question = ids_of(QUESTION, config, inputs)
    return PreparedSelection(config, inputs, run, question=question, draft=draft, rule=config.rule_row.make(draft))


def _check_settings(config: SelectConfig) -> None:
    if len(config.outputs) < FEWEST_SYSTEMS:
        raise InputError(
            f"select: expected the outputs of at least {FEWEST_SYSTEMS} systems, the baseline's among "
            f"them; found {len(config.outputs)}"
        )
    draws = config.selector_row.draws
    if config.rule_row.guaranteed and draws is not Draws.EVEN:
        raise InputError(
            f"`rule={config.rule}` holds only for random draws, but `selector={config.selector}` picks "
            "queries; use `selector=race`, or `rule=fixed-budget`"
        )
    if config.selector_row.drops and not config.rule_row.guaranteed:
        raise InputError(
            f"`selector={config.selector}` drops systems at a stated risk, but `rule={config.rule}` states "
            "none; with a limit, `rule=separated` names its leader and the gap"
        )
    check_about(
        config,
        f"`rule={config.rule}` with `selector={config.selector}`",
        proves=config.rule_row.guaranteed and draws is Draws.EVEN,
        instead="`selector=race` or `selector=random` with `rule=separated`",
    )
    if config.baseline is None and not config.selector_row.drops:
        raise InputError(
            f"`selector={config.selector}` needs a `baseline`, the name of a system; only `selector=race` chooses one"
        )


def _check_limit(config: SelectConfig, pool: Pool) -> None:
    """Refuse a limit that ends the search before the baseline is chosen, and an item is judged."""
    each = len(pool.systems) - 1
    chosen_on = scouted_items(len(pool.systems), config.baseline, len(pool))
    least = (chosen_on + 1) * each
    if config.max_judgments >= least:
        return
    before = f", and the choice of a baseline those of {count(chosen_on, 'item')}" if chosen_on else ""
    raise InputError(
        f"`max_judgments={config.max_judgments}`: one item takes {count(each, 'judgment')}, one for each system "
        f"except the baseline{before}; allow at least {least:,}"
    )


def _check_outputs(pool: Pool) -> None:
    """Refuse systems that no judge can tell apart: a run would spend its whole budget on them."""
    first: dict[tuple[str, ...], str] = {}
    for number, (name, outputs) in enumerate(zip(pool.systems, pool.outputs, strict=True)):
        if number in pool.live:
            continue
        other = first.setdefault(outputs, name)
        if other != name:
            raise InputError(
                f"{other} and {name} gave the same output on all {len(pool):,} items, so no judge can "
                "tell them apart; leave one of them out"
            )
