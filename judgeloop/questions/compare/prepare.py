"""Prepares a comparison: checks the settings and reads files. Spends nothing.

The ledger is read only for the forecast, which takes the ties of earlier runs. `run/inputs.py` reads what all
questions need.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from judgeloop.catalogue import rules_of
from judgeloop.core.choices import Draws, Order, Population
from judgeloop.core.errors import InputError
from judgeloop.core.pool import UNLIMITED
from judgeloop.engine.session import Limits
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.columns import parse_map
from judgeloop.formats.join import join
from judgeloop.formats.recorded import read_recorded, scorers_of
from judgeloop.formats.tables import Source
from judgeloop.judges.catalogue import EXAMPLES, NO_JUDGE, RECORDED, parse_spec
from judgeloop.judges.recorded import RecordedJudge
from judgeloop.methods.rows import Draft
from judgeloop.methods.stats.exact_tables import MOST_RISK
from judgeloop.methods.stopping.by_group import ByGroup
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.methods.stopping.rule import Rule
from judgeloop.questions.compare.plan import share_of_ties, with_an_equal_system
from judgeloop.questions.compare.settings import QUESTION, RULES, CompareConfig
from judgeloop.run.dry_run import unlikely_to_pass
from judgeloop.run.earlier import has_result, runs_before, ties_of
from judgeloop.run.inputs import Inputs, check_winner, names_for, read_inputs
from judgeloop.run.live import looks_at_all
from judgeloop.run.prepared import Prepared, check_about, check_idle_settings, ids_of
from judgeloop.settings.run_settings import within_ceiling
from judgeloop.settings.setting import Part, alternatives, declared

# The settings that recorded scores are compared by, among those that change an outcome.
USED = {
    "first", "second", "judge", "rule", "map", "names", "epoch", "allow_partial", "tie_margin", "risk", "by_group",
}  # fmt: skip
# What does not go with a question about a gap, and why.
OTHER_QUESTIONS = {
    "min_gap": {"not_worse": "they are two questions"},
    "not_worse": {
        "give_up": "its chance of a decision is about which system is better",
        "require_winner": "`not_worse` alone fails if the second system is worse",
    },
}
OF_THE_OUTCOME = {Part.RUN, Part.KEY, Part.CONTENT}


@dataclass(frozen=True, slots=True)
class PreparedComparison(Prepared[CompareConfig]):
    """A comparison ready to run.

    Its rule and its selector are made of the `draft`. `check` may give a run up. `ties` are the items that were a tie,
    of how many, in earlier comparisons with the baseline. `known` is true if the ledger has a result of the run.
    """

    draft: Draft
    rule: Rule
    check: GivingUp | None = None
    ties: tuple[int, int] = (0, 0)
    known: bool = False

    @property
    def scores(self) -> list[list[float]] | None:
        """Each system's recorded scores, by position; None if judges are asked."""
        judge, pool = self.judges[0], self.pool
        if not isinstance(judge, RecordedJudge):
            return None
        return [[judge.scores[item.id, name] for item in pool.items] for name in pool.systems]

    @property
    def most_judgments(self) -> int:
        """The most judgments: all items, if further ones go to groups."""
        most = super(PreparedComparison, self).most_judgments
        return len(self.pool) if self.config.by_group else most

    @property
    def groups(self) -> ByGroup[str | None] | None:
        """The tests of the groups, before any verdict; None if they are not asked for."""
        if self.config.by_group is None:
            return None
        groups = [item.group for item in self.pool.items]
        return ByGroup(groups, self.config.risk, sampled=self.sampled)

    @property
    def notice(self) -> str | None:
        """That an equal system would seldom pass; None if it would, or the ledger has a result."""
        if self.known:
            return None
        items = len(self.pool)
        equal = with_an_equal_system(self.rule, share_of_ties(self.ties), items)
        return " ".join(unlikely_to_pass(equal, items)) or None


def prepare(config: CompareConfig, environment: Mapping[str, str], *, offline: bool = False) -> PreparedComparison:
    """Read and check everything that a comparison needs (`questions/question.py`).

    Raises:
        InputError: a setting or a file is wrong; nothing was spent.
    """
    _check_judge(config)
    if config.recorded:
        _check_without_effect(config)
    config = within_ceiling(config, environment)
    check_idle_settings(config, QUESTION, config.selector_row, config.rule_row)
    _check_gap(config)
    proved = [row.name for row in rules_of(QUESTION) if row.guaranteed and not row.recorded]
    check_about(
        config,
        f"`rule={config.rule}` with `selector={config.selector}`",
        proves=config.proves,
        instead=f"the rules {alternatives(proved)} with `selector=random`",
    )
    inputs = _recorded(config) if config.recorded else read_inputs(config, environment, offline=offline)
    _check_orders(config, inputs)
    _check_live(config, inputs)
    _check_flips(config, inputs)
    run, question = ids_of(QUESTION, config, inputs, **_groups(config, inputs))
    draft = Draft(
        items=len(inputs.pool),
        limit=min(config.max_judgments, len(inputs.pool)),
        risk=config.risk,
        start=config.min_judgments,
        gap=0.0 if config.gap_asked is None else config.gap_asked[1],
        population=inputs.population,
        settings=config,
        pool=inputs.pool,
    )
    rule: Rule = config.rule_row.make(draft)
    ready = PreparedComparison(
        config,
        inputs,
        run,
        question=question,
        draft=draft,
        rule=rule,
        check=None if config.give_up is None else GivingUp(rule, config.give_up, draft.limit, sampled=draft.sampled),
        known=config.not_worse is not None and has_result(config.ledger, run),
    )
    forecast = config.not_worse is not None or (offline and config.by_group is not None)
    if not (forecast and ready.booked):
        return ready
    return replace(ready, ties=ties_of(runs_before(config.ledger, run, ready.asked)))


def _recorded(config: CompareConfig) -> Inputs:
    """Read the scores of two finished runs, and make the judge that compares them."""
    mapped, (_, scorer) = parse_map(config.map), parse_spec(config.specs[0])
    names = names_for(config.names, config.output_files)
    runs = [
        read_recorded(one, scorer, mapped, epoch=config.epoch, name=name)
        for one, name in zip(_finished(config), names, strict=True)
    ]
    joined = join(runs, allow_partial=config.allow_partial)
    check_winner(config, joined.pool)
    scorers = " and ".join(dict.fromkeys(run.scorer for run in runs))
    judge = RecordedJudge(scorers, joined.scores, tie_margin=config.tie_margin)
    # The items are a sample: the test is about items like these.
    return Inputs(joined, (judge,), Limits(1, len(joined.pool), 1.0), population=UNLIMITED)


def _check_judge(config: CompareConfig) -> None:
    """Refuse a comparison without a judge, and recorded scores beside a judge or another rule."""
    if not config.judge:
        raise InputError(f"{NO_JUDGE}{_scores_in(config) or EXAMPLES}")
    if config.recorded and len(config.judge) > 1:
        raise InputError(
            f"`judge`: expected {RECORDED}:NAME alone, found {len(config.judge)} judges; recorded "
            "scores are compared on all items, and no panel votes on them"
        )
    if config.rule_row.recorded and not config.recorded:
        raise InputError(f"`rule={config.rule}` tests recorded scores; it applies to `judge={RECORDED}:NAME`")
    if config.recorded and not config.rule_row.recorded:
        raise InputError(
            f"`rule={config.rule}`: recorded scores are all known, and are tested once; leave the rule out"
        )


def _finished(config: CompareConfig) -> list[Source]:
    """Return the two finished runs.

    Raises:
        InputError: one is no run, but a system that answers live.
    """
    live = [one for one in config.output_files if isinstance(one, str)]
    if live:
        raise InputError(f"`judge={RECORDED}`: {live[0]} answers live, and has no recorded scores")
    return [one for one in config.output_files if not isinstance(one, str)]


def _scores_in(config: CompareConfig) -> str:
    """Return how to compare the scores that both files hold, as the end of a message; else ""."""
    try:
        first, second = (scorers_of(table_of(one).rows) for one in _finished(config))
    except InputError:
        return ""
    both = [f"`judge={RECORDED}:{name}`" for name in first if name in second]
    return f"; to compare the scores that the files hold: {alternatives(both)}" if both else ""


def _check_without_effect(config: CompareConfig) -> None:
    """Refuse settings that count with a judge, and would do nothing for recorded scores."""
    plain = CompareConfig.of(first=config.first, second=config.second, judge=config.judge)
    for name, field in declared(CompareConfig).items():
        counts = field.setting is not None and field.setting.part in OF_THE_OUTCOME
        if counts and name not in USED and getattr(config, name) != getattr(plain, name):
            raise InputError(
                f"`{name}` has no effect with `judge={config.judge[0]}`, which compares the recorded "
                "scores of all items; leave it out"
            )


def _groups(config: CompareConfig, inputs: Inputs) -> dict[str, list[str | None]]:
    """Return the groups of all items if each is tested, as a part of the run's id; else nothing.

    Raises:
        InputError: the selector prefers items, or there are not two groups.
    """
    if config.by_group is None:
        return {}
    asked = f"`by_group={config.by_group}`"
    if config.selector_row.draws is not Draws.EVEN:
        raise InputError(
            f"{asked} needs uniform random draws, and `selector={config.selector}` makes others; use `selector=random`"
        )
    groups = [item.group for item in inputs.pool.items]
    if len(set(groups)) < 2:  # noqa: PLR2004 - one group is the whole set
        raise InputError(
            f"{asked}: expected items of two or more groups, found {len(set(groups) - {None})}; give "
            "the items a column `group`, or name yours with `map=group=COLUMN`"
        )
    return {"groups": groups}


def _check_flips(config: CompareConfig, inputs: Inputs) -> None:
    """Refuse a limit of flips that no run could show to be kept."""
    one = inputs.by_hand or config.order in {Order.RANDOM, Order.FIXED}
    if config.max_flips is not None and one and any(judge.order_matters for judge in inputs.judges):
        raise InputError(
            f"`max_flips={config.max_flips:g}` needs verdicts in both orders, and each pair is shown in one; "
            "use `order=both` with a judge that is no person"
        )


def _check_live(config: CompareConfig, inputs: Inputs) -> None:
    """Refuse what has to know the outputs before they are there."""
    if not inputs.systems:
        return
    live = inputs.pool.systems[inputs.pool.live[0]]
    if config.selector_row.needs_outputs:
        raise looks_at_all(f"selector={config.selector}", live)


def _check_orders(config: CompareConfig, inputs: Inputs) -> None:
    """Refuse a decision about these items alone where only one order of each is asked."""
    if config.proves and config.about == Population.THESE_ITEMS and inputs.population is not None:
        raise InputError(
            f"`about={config.about}`: with `order={config.order}` one order of each comparison is drawn, and "
            "of these items the others stay unknown; use `order=both`, or leave `about` out"
        )


def _check_gap(config: CompareConfig) -> None:
    """Refuse what does not go with a question about a gap: another question, or its rule."""
    if config.gap_asked is None:
        return
    row, gap = config.gap_asked
    asked = f"`{row.asked_by}={gap:g}`"
    if config.risk >= MOST_RISK:
        raise InputError(f"`risk={config.risk:g}`: {asked} needs a risk below {MOST_RISK:g}")
    for name, why in OTHER_QUESTIONS[row.asked_by or ""].items():
        value = getattr(config, name)
        if value is not None:
            raise InputError(f"`{name}={value}` does not go with {asked}: {why}; leave one of them out")
    if config.rule != RULES[0]:
        raise InputError(
            f"`rule={config.rule}` does not go with {asked}, which has a rule of its own; leave one of them out"
        )
