"""A comparison of two systems: what it is made of, what it is likely to take, and its result.

`question.py` of `questions/` runs it. Of recorded scores nothing is asked: both systems' scores are read here.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from judgeloop.catalogue import rules_of
from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.core.records import UNLIMITED, Draws, Order, Population
from judgeloop.engine.session import Limits
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.columns import parse_map
from judgeloop.formats.join import join
from judgeloop.formats.recorded import read_recorded, scorers_of
from judgeloop.formats.tables import Source
from judgeloop.judges.catalogue import EXAMPLES, NO_JUDGE, RECORDED, parse_spec
from judgeloop.judges.recorded import RecordedJudge
from judgeloop.ledger.opening import runs_of
from judgeloop.ledger.records import RecordedRun
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.rows import Draft
from judgeloop.methods.stats.hedged import VERSION
from judgeloop.methods.stats.margins import limit_to_pass, margin_passed
from judgeloop.methods.stats.predictive import FEWEST_KNOWN
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.by_group import ByGroup
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.methods.stopping.rule import Rule
from judgeloop.questions.compare import page
from judgeloop.questions.compare.result import CompareOptions, Comparison, result_of
from judgeloop.questions.compare.settings import QUESTION, CompareSettings
from judgeloop.questions.question import Question, Ran
from judgeloop.report.page import Page
from judgeloop.runs.begin import data_notes, setup_of
from judgeloop.runs.earlier import runs_before, searched, ties_of
from judgeloop.runs.forecast import EVEN, EqualSystem, GroupOutlook, Left, Range, unlikely_to_pass
from judgeloop.runs.inputs import Inputs, check_winner, looks_at_all, names_for, read_inputs
from judgeloop.runs.prepared import Parts, Prepared, check_about, check_idle_settings
from judgeloop.settings.setting import Role, alternatives, declared

# The settings that recorded scores are compared by, among those that change an outcome.
USED = {
    "first", "second", "judge", "rule", "map", "names", "epoch", "allow_partial", "tie_margin", "risk", "by_group",
}  # fmt: skip
# What does not go with a question about a gap, and why.
OTHER_QUESTIONS = {
    "min_gap": {"not_worse": "they are two questions", "near_tie": "both say which gap does not matter"},
    "not_worse": {
        "near_tie": "they are two questions",
        "require_winner": "`not_worse` alone fails if the second system is worse",
    },
}
OF_THE_OUTCOME = {Role.RUN, Role.KEY, Role.CONTENT}
# Assumed by the expected case until enough verdicts are known: shares in per cent. Who asks whether
# a system is not worse expects no lead.
ASSUMED_TIES = 30
AHEAD, LEVEL = (45, 25), (35, 35)  # the wins beside these ties
TIES_TRIED = 0.0, 0.3, 0.7  # while no share of ties is known
MOST_RISK = 0.4  # the stakes about a gap are made for risks under this


class CompareQuestion(Question[CompareSettings, Tally, Comparison]):
    """Which of two systems is better?"""

    name, result = QUESTION, Comparison

    def check(self, config: CompareSettings) -> None:
        """Refuse a comparison without a judge, and settings that do not go with recorded scores or with a gap."""
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
        if config.recorded:
            _check_without_effect(config)
        check_idle_settings(config, QUESTION, config.selector_row, config.rule_row)
        if config.gap_asked is not None:
            _check_gap(config, *config.gap_asked)
        proved = [row.name for row in rules_of(QUESTION) if row.guaranteed and not row.recorded]
        check_about(
            config,
            f"`rule={config.rule}` with `selector={config.selector}`",
            proves=config.proves,
            instead=f"the rules {alternatives(proved)} with `selector=random`",
        )
        if config.by_group is not None and config.selector_row.draws is not Draws.EVEN:
            raise InputError(
                f"`by_group={config.by_group}` needs uniform random draws, and `selector={config.selector}` makes "
                "others; use `selector=random`"
            )

    def inputs(self, config: CompareSettings, environment: Mapping[str, str], *, offline: bool) -> Inputs:
        """What is read; of two finished runs, the scores, and the judge that compares them."""
        if not config.recorded:
            return read_inputs(config, environment, offline=offline)
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

    def identity(self, config: CompareSettings, inputs: Inputs) -> dict[str, Any]:
        """The stakes of the bets, with others of which the same verdicts may end elsewhere; the groups, if tested."""
        stakes = {"stakes": VERSION} if config.rule_row.guaranteed and not config.recorded else {}
        return stakes | ({} if config.by_group is None else {"groups": [item.group for item in inputs.pool.items]})

    def parts(self, config: CompareSettings, inputs: Inputs) -> Parts[Tally]:
        """Selector, rule, when to give up, and the tests of groups."""
        _check_inputs(config, inputs)
        draft = Draft(
            items=len(inputs.pool),
            limit=min(config.max_judgments, len(inputs.pool)),
            risk=config.risk,
            start=config.min_judgments,
            population=inputs.population,
            settings=config,
            pool=inputs.pool,
        )
        rule: Rule = config.rule_row.make(draft)
        groups = [item.group for item in inputs.pool.items]
        return Parts(
            config.selector_row.make(draft),
            Preferences(sampled=draft.sampled),
            rule,
            None if config.give_up is None else GivingUp(rule, config.give_up, draft.limit, sampled=draft.sampled),
            None if config.by_group is None else ByGroup(groups, config.risk, sampled=draft.sampled),
        )

    def notice(self, run: Prepared[CompareSettings]) -> str | None:
        """That an equal system would seldom pass; None if it would, or the ledger has a result."""
        if run.config.not_worse is None:
            return None
        runs = runs_of(run.config.ledger)
        if any(one.id == run.run_id and one.note.exit_code is not None for one in runs):
            return None
        items, rule = len(run.pool), _rule(run.parts)
        ties = share_of_ties(ties_of(runs_before(runs, run.run_id, run.asked)))
        return " ".join(unlikely_to_pass(with_an_equal_system(rule, ties, items), items)) or None

    def left(self, ran: Ran[CompareSettings, Tally]) -> Left:
        """The items without a verdict, and how many of them it is likely to take."""
        run, outcome, rule, groups = ran.run, ran.finished.ending, _rule(ran.parts), ran.parts.further
        config, pool = run.config, run.pool
        tally, over = outcome.estimate.tally, outcome.stop.kind is not StopKind.DRY_RUN
        # Only a question that asks about ties, or goes on to all items, takes them from earlier runs.
        told = config.not_worse is not None or config.by_group is not None
        earlier = ties_of(runs_before(ran.runs, run.run_id, run.asked)) if told else (0, 0)
        asked = min(len(pool), config.max_judgments) if over else outcome.asked
        judgments, assumed = judgments_to_decide(rule, tally, run.limits, asked=asked, ties=share_of_ties(earlier))
        ties = share_of_ties((tally.ties, tally.judged), earlier)
        labels = [*outcome.labels, *outcome.further]
        if isinstance(groups, ByGroup):
            groups.follow(labels)
            judgments = judgments._replace(worst=groups.left if over else len(pool) - outcome.asked)
        done = {label.choice.position for label in labels}
        return Left(
            judgments,
            assumed,
            [pool.query(position) for position in range(len(pool)) if position not in done],
            len(done),
            equal=with_an_equal_system(rule, ties, len(pool)),
            groups=foreseen(groups, ties) if isinstance(groups, ByGroup) else (),
        )

    def result_of(self, ran: Ran[CompareSettings, Tally]) -> Comparison:
        """Who is better, and how many further judgments would decide an open question."""
        run, finished, rule, groups = ran.run, ran.finished, _rule(ran.parts), ran.parts.further
        config, outcome = run.config, finished.ending
        more = items = None
        tally, unasked = outcome.estimate.tally, len(run.pool) - len(outcome.labels)
        ended = outcome.stop.kind is StopKind.JUDGMENT_LIMIT and not rule.goes_on
        if outcome.winner is None and run.booked and not ended:
            more = more_to_decide(rule, tally, unasked, sampled=run.sampled)
            items = rule.items_to_decide(tally) if run.sampled else None
        elif rule.stronger is not None:
            more = more_to_decide(rule.stronger, tally, unasked, sampled=run.sampled)
        if isinstance(groups, ByGroup):
            groups.follow([*outcome.labels, *outcome.further])
        data, judge = data_notes(run), run.judges[0]
        scores = None
        if isinstance(judge, RecordedJudge):  # nobody reads the outputs beside recorded scores, which may be missing
            data = replace(data, empty={}, repeated={})
            scores = [[judge.scores[item.id, name] for item in run.pool.items] for name in run.pool.systems]
        before = _before(ran)
        represent = config.represent if config.selector_row.vectors else None
        course = None
        if tally.judged and not (tally.picked or tally.propensities):
            course = rule.bounds_by_draw(
                tally, math.inf if run.sampled else tally.items, min(config.max_judgments, tally.items)
            )
        return result_of(
            finished,
            setup_of(run, rule, config.selector, represent=represent),
            CompareOptions(
                near_tie=config.near_tie,
                min_gap=config.min_gap,
                not_worse=config.not_worse,
                by_group=config.by_group,
                max_flips=config.max_flips,
                give_up=config.give_up,
                max_judgments=config.max_judgments if run.booked else None,
            ),
            data,
            items=run.pool.items,
            more_judgments=more,
            more_items=items,
            before=[one.note for one in before],
            searched=searched((one.note for one in before), [run.asked_about(place) for place in (0, 1)]),
            findings=groups.findings() if isinstance(groups, ByGroup) else None,
            scores=scores,
            bounds_by_draw=course,
        )

    async def with_others(self, ran: Ran[CompareSettings, Tally], result: Comparison) -> Comparison:
        """Note the last decision on the same outputs with another seed, if it was another one."""
        # Verdicts are remembered, so another seed draws another sample of known ones: its risk is as stated, but it is
        # no new evidence. It is warned of, and not prevented.
        same = [one for one in _before(ran) if one.note.question == ran.run.question]
        found = await self.ended_otherwise(ran, result, same, lambda one: (one.named, one.claim))
        return replace(result, redrawn=found[0] if found else "")

    def page(self, result: Comparison) -> Page:
        """A result in sentences and tables."""
        return page.page(result)

    def so_far(self, tally: Tally, systems: tuple[str, ...], longest: int) -> str:
        """Who leads during a run, in words."""
        return page.so_far(tally, systems, longest)


def _rule(parts: Parts[Tally]) -> Rule:
    return cast("Rule", parts.rule)  # as the rules of comparisons are


def _before(ran: Ran[CompareSettings, Tally]) -> list[RecordedRun]:
    """The earlier runs with the same baseline, each test once."""
    run = ran.run
    test = (run.question, run.config.seed) if run.question else None
    return runs_before(ran.runs, run.run_id, run.asked, test)


def _finished(config: CompareSettings) -> list[Source]:
    """The two finished runs.

    Raises:
        InputError: one is no run, but a system that answers live.
    """
    live = [one for one in config.output_files if isinstance(one, str)]
    if live:
        raise InputError(f"`judge={RECORDED}`: {live[0]} answers live, and has no recorded scores")
    return [one for one in config.output_files if not isinstance(one, str)]


def _scores_in(config: CompareSettings) -> str:
    """How to compare the scores that both files hold, as the end of a message; else ""."""
    try:
        first, second = (scorers_of(table_of(one).rows) for one in _finished(config))
    except InputError:
        return ""
    both = [f"`judge={RECORDED}:{name}`" for name in first if name in second]
    return f"; to compare the scores that the files hold: {alternatives(both)}" if both else ""


def _check_without_effect(config: CompareSettings) -> None:
    """Refuse settings that count with a judge, and would do nothing for recorded scores."""
    plain = CompareSettings.of(first=config.first, second=config.second, judge=config.judge)
    for name, field in declared(CompareSettings).items():
        counts = field.setting is not None and field.setting.role in OF_THE_OUTCOME
        if counts and name not in USED and getattr(config, name) != getattr(plain, name):
            raise InputError(
                f"`{name}` has no effect with `judge={config.judge[0]}`, which compares the recorded "
                "scores of all items; leave it out"
            )


def _check_gap(config: CompareSettings, name: str, gap: float) -> None:
    """Refuse what does not go with a question about a gap: another question, or too high a risk."""
    asked = f"`{name}={gap:g}`"
    if config.risk >= MOST_RISK:
        raise InputError(f"`risk={config.risk:g}`: {asked} needs a risk below {MOST_RISK:g}")
    for other, why in OTHER_QUESTIONS[name].items():
        value = getattr(config, other)
        if value is not None:
            raise InputError(f"`{other}={value}` does not go with {asked}: {why}; leave one of them out")


def _check_inputs(config: CompareSettings, inputs: Inputs) -> None:
    """Refuse what the orders, the judges, the systems or the groups of these items do not allow."""
    if config.proves and config.about == Population.THESE_ITEMS and inputs.population is not None:
        raise InputError(
            f"`about={config.about}`: with `order={config.order}` one order of each comparison is drawn, and "
            "of these items the others stay unknown; use `order=both`, or leave `about` out"
        )
    if inputs.systems and config.selector_row.needs_outputs:
        raise looks_at_all(f"selector={config.selector}", inputs.pool.systems[inputs.pool.live[0]])
    one_order = inputs.by_hand or config.order in {Order.RANDOM, Order.FIXED}
    if config.max_flips is not None and one_order and any(judge.order_matters for judge in inputs.judges):
        raise InputError(
            f"`max_flips={config.max_flips:g}` needs verdicts in both orders, and each pair is shown in one; "
            "use `order=both` with a judge that is no person"
        )
    groups = {item.group for item in inputs.pool.items}
    if config.by_group is not None and len(groups) < 2:  # noqa: PLR2004 - one group is the whole set
        raise InputError(
            f"`by_group={config.by_group}`: expected items of two or more groups, found {len(groups - {None})}; give "
            "the items a column `group`, or name yours with `map=group=COLUMN`"
        )


def judgments_to_decide(
    rule: Rule, tally: Tally, limits: Limits, *, asked: int, ties: float | None
) -> tuple[Range, str | None]:
    """The range of further judgments for a run at `tally`, and the assumption behind it.

    `asked` is the number of items asked about so far, and `ties` a share that earlier runs had. Low: the
    fewest judgments that can meet the rule. Expected: with the shares so far, or with assumed shares. Worst:
    all judgments that the limit allows. The assumption is a sentence on the assumed shares, None if none are.
    """
    most = min(limits.max_judgments, tally.items) - asked
    wins, tied = _assumed(rule, ties)
    level = len(set(wins)) == 1
    said = f"{wins[0]} % wins each" if level else f"{wins[0]} % to {wins[1]} % wins"
    said += f" and {tied} % ties{' as in earlier runs' if ties is not None else ''}"
    assumed = tally.judged < max(limits.min_judgments, FEWEST_KNOWN) or tally.leader is None
    shares = _usual(rule, tally, ties)
    begin = max(1, limits.min_judgments - tally.judged)
    low = next((n for n in range(begin, most) if rule.can_be_met(tally, n)), max(0, most))
    judgments = Range(low=low, expected=_expected(rule, tally, shares, limits, most), worst=most)
    return judgments, said if assumed else None


def _assumed(rule: Rule, ties: float | None) -> tuple[tuple[int, int], int]:
    """Assumed wins and ties, in per cent; the ties are known ones if there are any."""
    tied = ASSUMED_TIES if ties is None else round(100 * ties)
    ahead, behind = (
        round(won * (100 - tied) / (100 - ASSUMED_TIES)) for won in (AHEAD if rule.expects_lead else LEVEL)
    )
    return (ahead, behind), 100 - ahead - behind


def _usual(rule: Rule, tally: Tally, ties: float | None = None) -> Tally:
    """The shares of a tally, with assumed verdicts in the place of those that it lacks to say them."""
    (ahead, behind), tied = _assumed(rule, ties)
    if tally.leader is None:
        return replace(tally, wins=(ahead, behind), ties=tied)
    more = max(0, FEWEST_KNOWN - tally.judged)
    first, second = (
        100 * won + more * (ahead if system == tally.leader else behind) for system, won in enumerate(tally.wins)
    )
    return replace(tally, wins=(first, second), ties=100 * tally.ties + more * tied)


def share_of_ties(*counted: tuple[int, int]) -> float | None:
    """The first share of ties, of so many items, that enough items say; None without one.

    >>> share_of_ties((1, 2), (10, 40)), share_of_ties((1, 2))
    (0.25, None)
    """
    return next((ties / judged for ties, judged in counted if judged >= FEWEST_KNOWN), None)


def with_an_equal_system(rule: Rule, ties: float | None, pool: int) -> tuple[EqualSystem, ...]:
    """What a rule for "not worse" does with an equal system; () for another rule.

    For a known share of ties, else for several shares. The chances are simulated, and right within 3 points or so.
    `pool` is the number of items that there are.
    """
    if not isinstance(rule, Bets) or rule.not_worse is None:
        return ()
    return tuple(_equal(rule, rule.not_worse, share, pool) for share in (TIES_TRIED if ties is None else [ties]))


def foreseen(groups: ByGroup[str | None], ties: float | None) -> tuple[GroupOutlook, ...]:
    """What each tested group can show, the largest first.

    It takes 30 % ties where their share is not known.
    """
    decisive = 1 - (ASSUMED_TIES / 100 if ties is None else ties)
    return tuple(
        GroupOutlook(group, items, groups.gap_found(items, decisive)) for group, items in groups.sizes.most_common()
    )


def _equal(rule: Bets, margin: float, ties: float, pool: int) -> EqualSystem:
    decisive, items = 1 - ties, math.inf if rule.items >= UNLIMITED else float(rule.items)
    found = rule.outlook(0.0, ties)
    needed = limit_to_pass(margin, rule.threshold, decisive, items)
    low = found.second < EVEN and rule.most < pool < needed
    return EqualSystem(
        ties,
        found.judgments,
        found.second,
        found.first,
        found.none,
        limit_for_80=needed,
        margin_for_80=margin_passed(rule.most, rule.threshold, decisive, items),
        limit=rule.most,
        most=pool,
        passes_at_most=replace(rule, limit=pool).outlook(0.0, ties).second if low else None,
    )


def more_to_decide(rule: Rule, tally: Tally, unasked: int, *, sampled: bool) -> int | None:
    """How many further judgments would decide if the shares continue; of few verdicts with assumed ones.

    None if not even all of them would decide. Judging all `unasked` items decides whatever the rule
    says, unless an item has no verdict, the systems are level, or the items are `sampled` from what
    the decision is about.
    """
    enough = None if tally.leader is None else rule.first_met(tally, _usual(rule, tally), unasked)
    enough = enough or (rule.first_met(tally, tally, unasked) if tally.judged else None)
    if enough is None and (sampled or tally.abstentions or tally.leader is None):
        return None
    return unasked if enough is None else enough


def _expected(rule: Rule, tally: Tally, shares: Tally, limits: Limits, most: int) -> int:
    if isinstance(rule, Bets) and not tally.judged:
        gap = (shares.wins[0] - shares.wins[1]) / shares.judged
        return round(rule.outlook(gap, shares.ties / shares.judged).judgments)
    enough = rule.first_met(tally, shares, most)
    return most if enough is None else min(most, max(enough, limits.min_judgments - tally.judged))
