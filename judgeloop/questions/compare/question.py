"""A comparison of two systems: what it is made of, what it is likely to take, and its result.

`question.py` of `questions/` runs it. Of recorded scores nothing is asked: both systems' scores are read here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from statistics import fmean
from typing import Any, cast

import numpy as np

from judgeloop.catalogue import rules_of
from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE, InputError
from judgeloop.core.outcomes import Ending, Finished, StopKind, Tally
from judgeloop.core.protocols import Further, Selector
from judgeloop.core.records import IDENTICAL, UNLIMITED, Draws, Population, Verdict
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Observe, ProxyTerms, Terms, unobserved
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.columns import parse_map
from judgeloop.formats.join import Joined, Scores, join
from judgeloop.formats.recorded import read_recorded, scorers_of
from judgeloop.formats.tables import Source
from judgeloop.judges.catalogue import EXAMPLES, NO_JUDGE, RECORDED, parse_spec
from judgeloop.judges.recorded import RecordedJudge
from judgeloop.ledger.opening import runs_of
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.rows import Draft
from judgeloop.methods.selectors.blocks import LEAST_BLOCK, Blocks, ByBlock
from judgeloop.methods.selectors.families import Members
from judgeloop.methods.stats.hedged import VERSION
from judgeloop.methods.stats.margins import limit_to_pass
from judgeloop.methods.stats.predictive import ItemsToDecide
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.by_criterion import ByCriterion
from judgeloop.methods.stopping.by_group import ByGroup
from judgeloop.methods.stopping.giving_up import GivingUp
from judgeloop.methods.stopping.once import Once
from judgeloop.methods.stopping.rule import Rule
from judgeloop.questions.compare import page
from judgeloop.questions.compare.buying import Offer, buying, not_bought, proxy_verdicts, ways_of
from judgeloop.questions.compare.figures import comparison_of
from judgeloop.questions.compare.outlook import (
    foreseen,
    judgments_to_decide,
    more_to_decide,
    needs_more,
    shares_of_ties,
    usual_of,
    with_an_equal_system,
)
from judgeloop.questions.compare.proxy import corrected_gap
from judgeloop.questions.compare.result import CompareOptions, Comparison
from judgeloop.questions.compare.settings import QUESTION, CompareSettings, idle_with_recorded
from judgeloop.questions.question import Question, Ran
from judgeloop.report.page import Page
from judgeloop.report.words import per_cent
from judgeloop.runs.begin import conducted, opened
from judgeloop.runs.description import asked_before, data_notes, met_before, named_before, neighbours_alike, setup_of
from judgeloop.runs.earlier import place_of, runs_before, searched, ties_of
from judgeloop.runs.forecast import Forecast, Left, Range, unlikely_to_pass
from judgeloop.runs.inputs import Inputs, check_winner, looks_at_all, names_for, read_inputs
from judgeloop.runs.known import known_verdicts
from judgeloop.runs.measured import measured_by
from judgeloop.runs.prepared import Parts, Prepared, check_about, check_flips, check_idle_settings, families_drawn
from judgeloop.runs.proxies import SUPPOSED, known_r2, proxy_judge
from judgeloop.settings.setting import alternatives, declared

# What does not go with a question about a gap, and why.
OTHER_QUESTIONS = {
    "min_gap": {"not_worse": "they are two questions", "near_tie": "both say which gap does not matter"},
    "not_worse": {
        "near_tie": "they are two questions",
        "require_winner": "`not_worse` alone fails if the second system is worse",
    },
}
BEHIND = 3  # beside the seed of a run: the order of the items behind the blocks
MOST_RISK = 0.4  # the stakes about a gap are made for risks under this
WORTH = 0.2  # of simulated runs that all items decide: then a budget for all is advised


class CompareQuestion(Question[CompareSettings, Tally, Comparison]):
    """Which of two systems is better?"""

    name, result = QUESTION, Comparison

    def check(self, config: CompareSettings) -> None:
        """Refuse a comparison without a judge, and settings that do not go with recorded scores, a gap or a proxy."""
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
        config.check_vectors()
        if config.gap_asked is not None:
            _check_gap(config, *config.gap_asked)
        proved = [row.name for row in rules_of(QUESTION) if row.guaranteed and not row.recorded]
        check_about(
            config,
            f"`rule={config.rule}` with `selector={config.selector}`",
            proves=config.proves,
            instead=f"the rules {alternatives(proved)} with `selector=random`",
        )
        _check_further(config)
        if config.proxy:
            _check_proxy(config)

    def inputs(self, config: CompareSettings, environment: Mapping[str, str], *, offline: bool) -> Inputs:
        """What is read; of two finished runs, the scores, and the judge that compares them."""
        if not config.recorded:
            if len(config.proxy) > 1 and not offline:
                raise InputError(
                    f"`{_proxies(config)}`: a run asks one proxy, found {len(config.proxy)}; a dry run of several says which "
                    "is the better buy"
                )
            inputs = read_inputs(config, environment, offline=offline)
            made = [proxy_judge(config, one, inputs, environment, offline=offline) for one in config.proxy]
            return replace(inputs, proxy=made[0] if made else None, proxies=tuple(made))
        mapped, (_, scorer) = parse_map(config.map), parse_spec(config.specs[0])
        names = names_for(config.names, config.output_files)
        runs = [
            read_recorded(one, scorer, mapped, epoch=config.epoch, name=name)
            for one, name in zip(_finished(config), names, strict=True)
        ]
        joined = join(runs, allow_partial=config.allow_partial)
        check_winner(config, joined.pool)
        scorers = " and ".join(dict.fromkeys(run.scorer for run in runs))
        judge = RecordedJudge(scorers, _by_family(joined), tie_margin=config.tie_margin or 0.0)
        # The items are a sample: the test is about items like these.
        return Inputs(joined, (judge,), Limits(1, len(joined.pool), 1.0), population=UNLIMITED)

    def settled(self, config: CompareSettings, inputs: Inputs) -> tuple[CompareSettings, Inputs]:
        """Verdicts that are there already are all read, and one look decides; those that cost something rehearse."""
        if not config.reads_whole:
            return config, inputs
        if inputs.rehearses:
            config = config.rehearsing
            return config, replace(inputs, limits=replace(inputs.limits, max_judgments=config.max_judgments))
        return config, replace(inputs, limits=replace(inputs.limits, min_judgments=len(inputs.pool)))

    def identity(self, config: CompareSettings, inputs: Inputs) -> dict[str, Any]:
        """The stakes of the bets, as others may end a run elsewhere; tested groups, recorded vectors, and the proxy."""
        stakes = {"stakes": VERSION} if config.rule_row.guaranteed and not config.recorded else {}
        groups = {} if config.by_group is None else {"groups": [item.group for item in inputs.pool.items]}
        own, proxy = {}, inputs.proxy
        if proxy is not None:
            each = buying(config, inputs, families_drawn(config, inputs, config.selector_row)).chosen.each
            own = {"proxy": [proxy.identity.name, dict(proxy.identity.parameters), each]}
        return stakes | groups | config.vectors_digest | own

    def limit_moves(self, config: CompareSettings, parts: Parts[Tally]) -> bool:
        """Under bets, but where the limit says how many items a proxy judges beside each label."""
        proxy = _proxy(parts)
        return isinstance(parts.rule, Bets) and not config.reads_whole and (proxy is None or proxy.blocks is None)

    def parts(self, config: CompareSettings, inputs: Inputs) -> Parts[Tally]:
        """Selector, rule, when to give up, and the tests of groups."""
        _check_inputs(config, inputs)
        once, each = config.reads_whole and not config.asks_bounds, config.family_members
        if once and config.by_group is None and not config.by_criterion:
            each = max(map(len, inputs.pool.families), default=1)
        members = families_drawn(config, inputs, config.selector_row, each)
        items, several = len(members) or len(inputs.pool), any(len(family) > 1 for family in members)
        places = list(chain(*members)) or range(len(inputs.pool))

        def draws(limit: int) -> int:
            return _draws_within(limit, members) if several else min(limit, items)

        draft = Draft(
            items=items,
            limit=draws(config.max_judgments),
            limits=tuple((drawn, draws(limit)) for drawn, limit in inputs.limits.held),
            risk=config.risk,
            start=config.min_judgments,
            population=inputs.population,
            settings=config,
            pool=inputs.pool,
            members=members,
        )
        proxy = proxy_verdicts(config, inputs, members)
        selector: Selector[Any] = config.selector_row.make(draft)
        rule: Rule = Once(config.risk) if once and proxy is None else config.rule_row.make(draft)
        if proxy is not None and proxy.blocks is not None:
            selector, rule = _by_blocks(config, inputs, places, proxy.blocks, cast("Bets", rule))
        return Parts(
            selector,
            Preferences(
                sampled=draft.sampled,
                family_of={place: at for at, family in enumerate(members) for place in family} if several else {},
                proxy=proxy,
            ),
            rule,
            None
            if config.give_up is None
            else GivingUp(rule, config.give_up, draft.limit, draft.sampled, getattr(rule, "since", 0)),
            _further(
                config,
                inputs,
                places,
                sampled=draft.sampled,
                proxy=None if proxy is None or proxy.blocks else proxy.scores,
            ),
            members,
        )

    async def ask(
        self,
        run: Prepared[CompareSettings],
        terms: Terms,
        interruption: Interruption | None = None,
        observe: Observe[Tally] = unobserved,
    ) -> tuple[Parts[Tally], Finished[Tally]]:
        """Let a proxy judge beside the judges, where it is worth its price."""
        proxy, config = _proxy(run.parts), run.config
        if proxy is None:
            return await super().ask(run, terms, interruption, observe)
        asking = ProxyTerms(lambda _: proxy, config.order, config.concurrency, config.judge_timeout)
        asked = conducted(run.session(), run, terms, proxy=asking, interruption=interruption, observe=observe)
        return run.parts, await asked

    def notice(self, run: Prepared[CompareSettings]) -> str | None:
        """That an equal system would seldom pass, or a proxy is not asked; None else, or if the ledger has a result."""
        proxy, members = run.inputs.proxy, run.parts.members
        if proxy is not None and (found := not_bought(buying(run.config, run.inputs, members), proxy.identity.name)):
            return found[0]
        if run.config.not_worse is None:
            return None
        runs = runs_of(run.config.ledger)
        unfinished = {None, EXIT_INTERRUPTED, EXIT_JUDGE}
        if any(one.id == run.run_id and one.note.exit_code not in unfinished for one in runs):
            return None
        items, rule = len(run.places), _rule(run.parts)
        ties = usual_of(shares_of_ties(_alike(run), ties_of(runs_before(runs, run.run_id, run.asked))))
        if not isinstance(rule, Bets) or rule.most >= limit_to_pass(
            run.config.not_worse, rule.threshold, 1 - ties, rule.items
        ):
            return None  # it passes in most runs: nothing is simulated
        return " ".join(unlikely_to_pass(with_an_equal_system(rule, [ties], items), items, planned=False)) or None

    async def forecast(self, run: Prepared[CompareSettings]) -> Forecast:
        """With the ways to buy the verdicts of each proxy, and what the ledger knows of it."""
        found = await super().forecast(run)
        shown = found.result.page
        facts = (replace(one, text=one.text.partition(page.OTHER_MARGIN)[0]) for one in shown.facts)
        found = replace(found, result=replace(found.result, page=replace(shown, facts=tuple(facts))))
        if run.inputs.proxy is None or not run.booked:
            return found
        with opened(run, offline=True) as begun:
            known = [await known_r2(begun, proxy) for proxy in run.inputs.proxies]
        members = families_drawn(run.config, run.inputs, run.config.selector_row)
        offers = [
            Offer(proxy.identity.name, buying(run.config, replace(run.inputs, proxy=proxy), members), r2)
            for proxy, r2 in zip(run.inputs.proxies, known, strict=True)
        ]
        return replace(
            found, ways=ways_of(offers, "people" if run.by_hand else ", ".join(one.identity.name for one in run.judges))
        )

    def left(self, ran: Ran[CompareSettings, Tally]) -> Left:
        """The items without a verdict, and how many of them it is likely to take."""
        run, ending, rule, groups = ran.run, ran.finished.ending, _rule(ran.parts), ran.parts.further
        config, pool, places, proxy = run.config, run.pool, _places(run), _proxy(ran.parts)
        tally, over = ending.estimate.tally, ending.stop.kind is not StopKind.DRY_RUN
        # Only a question that asks about ties, or goes on to all items, takes them from earlier runs.
        told = config.not_worse is not None or groups is not None
        earlier = ties_of(runs_before(ran.runs, run.run_id, run.asked)) if told else (0, 0)
        asked = min(len(places), config.max_judgments) if over else ending.asked
        drawn = -(-asked // run.judgments_a_draw)
        alike = _alike(run) if told else 0.0
        ties = shares_of_ties(alike, earlier)
        known = usual_of(ties) if alike or len(ties) == 1 else None
        judgments, assumed = judgments_to_decide(rule, tally, run.limits, asked=drawn, ties=known)
        most = min(len(places), config.max_judgments) - asked
        if proxy is not None and assumed is not None:  # labels so far say themselves what the proxy is worth
            ways = buying(config, run.inputs, ran.parts.members)
            helped = round(judgments.expected * ways.chosen.labels / ways.alone)
            judgments = judgments._replace(expected=max(judgments.low, helped))
            assumed = f"{assumed}, and that the proxy explains {per_cent(SUPPOSED)} of the verdicts' variance"
        judgments = Range(*(min(most, run.judgments_a_draw * draws) for draws in judgments))
        labels = [*ending.labels, *ending.further]
        seen = [
            one.answer for one in ending.labels if isinstance(one.answer, Verdict) and one.answer.reason != IDENTICAL
        ]
        ties = shares_of_ties(alike, (sum(not one.preference for one in seen), len(seen)), earlier)
        if isinstance(groups, ByGroup | ByCriterion):
            groups.follow(labels)
            judgments = judgments._replace(worst=groups.left if over else len(places) - ending.asked)
        done = {label.choice.position for label in labels}
        order = {choice.position: place for place, choice in enumerate(run.session().ahead())}
        left = sorted({*places} - done, key=lambda position: order.get(position, len(order)))
        return Left(
            judgments,
            assumed,
            [pool.query(position) for position in left],
            len(done),
            in_order=groups is None,
            first=() if proxy is None or run.inputs.proxy is None else (run.inputs.proxy,),
            by_proxy=None
            if proxy is None or proxy.blocks is None
            else [[pool.query(at) for at in proxy.needed(place)] for place in left],
            equal=with_an_equal_system(rule, ties, len(places)),
            groups=foreseen(groups, usual_of(ties)) if isinstance(groups, ByGroup) else (),
        )

    def more(self, run: Prepared[CompareSettings], tally: Tally) -> int | None:
        """About how many more judgments decide, if the shares stay as they are; None if all items would not."""
        asked = tally.judged + tally.abstentions
        rule = replace(
            _rule(run.parts)
        )  # bets remember how far they followed, and this is asked in a thread of its own
        more = more_to_decide(rule, tally, _most_labels(run) - asked, sampled=run.sampled)
        return None if more is None else max(more, run.limits.min_judgments - asked) * run.judgments_a_draw

    def needs(self, run: Prepared[CompareSettings]) -> int | None:
        """As `SoFar.needs`, with assumed shares."""
        draws = needs_more(_rule(run.parts), len(run.places))
        return None if draws is None else draws * run.judgments_a_draw

    def result_of(self, ran: Ran[CompareSettings, Tally]) -> Comparison:
        """Who is better, and how many further judgments would decide an open question."""
        run, finished, rule, groups = ran.run, ran.finished, _rule(ran.parts), ran.parts.further
        config, ending, judge = run.config, finished.ending, run.judges[0]
        tally, test = ending.estimate.tally, (run.question, run.config.seed)
        met = met_before(run, ran.runs)
        others = [one for one in runs_before(ran.runs, run.run_id, run.asked, test) if one not in met]
        by_others = sum(
            {place_of(name, one.note, run.pool.systems, run.digests) for name in one.note.systems} == {0, 1}
            for one in others
        )
        more, items, within_reach = _to_decide(run, rule, ending)
        if isinstance(groups, ByGroup | ByCriterion):
            groups.follow([*ending.labels, *ending.further])
        data, scores = data_notes(run, finished.pool, neighbours_alike(run, ending)), None
        if isinstance(judge, RecordedJudge):  # nobody reads the outputs beside recorded scores, which may be missing
            data = replace(data, empty={}, repeated={}, ended={}, thoughts={}, unanswered={})
            judged = [run.pool.items[place] for place in run.places]
            scores = [[judge.scores[item.id, name] for item in judged] for name in run.pool.systems]
        course = None
        if tally.judged and not (tally.picked or tally.propensities):
            course = rule.bounds_by_draw(
                tally, math.inf if run.sampled else tally.items, min(config.max_judgments, tally.items)
            )
        proxy, corrected = _proxy(ran.parts), None
        if proxy is not None and run.inputs.proxy is not None and course is not None:
            known, limit = (float(course[0, -1]), -float(course[1, -1])), cast("Bets", rule).most
            corrected = corrected_gap(tally, proxy, run.inputs.proxy.identity.name, config.risk, limit, known)
        result = comparison_of(
            finished,
            setup_of(run, rule, config.selector, represent=config.represented if config.selector_row.vectors else None),
            _options(run),
            data,
            items=run.pool.items,
            pool=run.pool,
            more_judgments=more,
            more_items=items,
            within_reach=within_reach,
            before=[one.note for one in (*met, *others)],
            searched=searched(ran.runs, run.question, [run.asked_about(place) for place in (0, 1)]),
            findings=groups.findings() if isinstance(groups, ByGroup) else None,
            by_criterion=groups.findings() if isinstance(groups, ByCriterion) else None,
            scores=scores,
            bounds_by_draw=course,
            weights=run.weights if ran.parts.members else None,
        )
        return replace(result, corrected=corrected, asked_before=asked_before(met, by_others))

    async def with_others(self, ran: Ran[CompareSettings, Tally], result: Comparison) -> Comparison:
        """Note what an earlier run named, how the judge agreed with people, and what verdicts say against it."""
        if result.asked_before.risks:
            before = await ran.run.look(lambda reader: named_before(reader, ran.run, ran.runs))
            other = {run: name for run, name in before.items() if name != result.named}
            result = replace(result, asked_before=replace(result.asked_before, named=other))
        if len(ran.runs) > 1 and ran.run.booked and not ran.run.pool.live:
            by = ran.finished.answered_by
            said = await ran.run.look(lambda reader: measured_by(reader, ran.run, ran.runs, by))
            result = replace(result, measured=said)
        named = result.named or (ran.run.pool.systems[1] if result.stop_reason is StopKind.NOT_WORSE else None)
        if named is None or len(ran.runs) < 2 or not ran.run.booked or ran.run.pool.live:  # noqa: PLR2004 - itself
            return result
        known = await known_verdicts(ran.run, ran.finished)
        for_it, against = known if named == ran.run.pool.systems[0] else known[::-1]
        margin = 0.0 if result.named else ran.run.config.not_worse or 0.0  # a pass is sure to be behind by less
        if against - for_it <= margin * sum(known) or sum(known) <= sum(result.wins.values()):
            return result
        return replace(result, asked_before=replace(result.asked_before, known=known))

    def page(self, result: Comparison) -> Page:
        """A result in sentences and tables."""
        return page.page(result)

    def so_far(self, tally: Tally, systems: tuple[str, ...], longest: int) -> str:
        """Who leads during a run, in words."""
        return page.so_far(tally, systems, longest)


def _by_blocks(
    config: CompareSettings, inputs: Inputs, places: Sequence[int], blocks: Blocks, rule: Bets
) -> tuple[ByBlock, Bets]:
    """The selector and the rule where a proxy judges a block of items beside each label."""
    # Blocks would leave a group too few labels. Its tests go by the judge alone, and on to the other items.
    behind = np.random.default_rng([config.seed, BEHIND]).permutation([*{*places}.difference(blocks.needed)])
    selector = ByBlock(blocks, behind=tuple(map(int, behind)) if config.by_group else ())
    if inputs.sampled:
        return selector, rule
    return selector, replace(rule, items=UNLIMITED, limit=blocks.draws)  # with replacement, an item may be drawn again


def _alike(run: Prepared[CompareSettings]) -> float:
    """The share of items with identical outputs, which are ties that no judge is asked about; 0 if not known yet."""
    if run.pool.live or not all(judge.blind for judge in run.judges):
        return 0.0
    first, second = run.pool.outputs
    return fmean(first[place] == second[place] for place in run.places)


def _proxy(parts: Parts[Tally]) -> ProxyVerdicts | None:
    return cast("Preferences", parts.estimator).proxy


def _places(run: Prepared[CompareSettings]) -> Sequence[int]:
    """The positions of the items that the judges may be asked about: of blocks the first of each, for groups all."""
    proxy, further = _proxy(run.parts), run.parts.further
    if proxy is None or proxy.blocks is None:
        return run.places
    return sorted(further.groups) if isinstance(further, ByGroup) else list(proxy.blocks.needed)


def _most_labels(run: Prepared[CompareSettings]) -> int:
    """The most labels that there may be, whatever the limit: it makes smaller blocks, of two items at least.

    Of blocks that are drawn with replacement there may be one for each item.
    """
    proxy = _proxy(run.parts)
    if proxy is None or proxy.blocks is None or not run.sampled:
        return len(run.places)
    return len(run.pool.families) // LEAST_BLOCK


def _check_proxy(config: CompareSettings) -> None:
    """Refuse what a proxy does not help, or what is not proved with one."""
    asked = f"`{_proxies(config)}`"
    if config.recorded or not config.proves:
        raise InputError(
            f"{asked} needs the rule bets with `selector=random`, of judges that are asked; found `rule={config.rule}` "
            f"with `selector={config.selector}`"
        )
    for name in ("by_criterion", "family_members"):
        if getattr(config, name) != declared(CompareSettings)[name].default:
            raise InputError(f"`{name}={getattr(config, name)}` does not go with {asked}; leave one of them out")
    live = next((one for one in config.output_files if isinstance(one, str)), None)
    if live is not None:
        raise looks_at_all(_proxies(config), live, "no `proxy`")


def _proxies(config: CompareSettings) -> str:
    """The setting, as it was given."""
    return f"proxy={','.join(one if isinstance(one, str) else one.identity.name for one in config.proxy)}"


def _further(
    config: CompareSettings,
    inputs: Inputs,
    places: Sequence[int],
    *,
    sampled: bool,
    proxy: Mapping[int, float] | None = None,
) -> Further | None:
    """What goes on after the decision: tests of groups, or of criteria, of the items at these places.

    `proxy` has a proxy's verdicts on all of them, where there are such.
    """
    if config.by_criterion:
        return ByCriterion(inputs.criteria, places, config.risk, sampled=sampled)
    groups = {place: inputs.pool.items[place].group for place in places}
    return None if config.by_group is None else ByGroup(groups, config.risk, sampled, proxy)


def _draws_within(judgments: int, members: Members) -> int:
    """The most families that so many judgments can be about."""
    sizes = sorted(map(len, members))
    return max(1, sum(taken <= judgments for taken in accumulate(sizes)))


def _rule(parts: Parts[Tally]) -> Rule:
    return cast("Rule", parts.rule)  # as the rules of comparisons are


def _to_decide(
    run: Prepared[CompareSettings], rule: Rule, ending: Ending[Tally]
) -> tuple[int | None, ItemsToDecide | None, bool]:
    """How many more judgments, and how many more items, would decide what is open; None if none would.

    Then whether all items may decide, where they would not if the shares stay. A limit that no rule goes beyond is the
    end.
    """
    tally, unasked, more, items = ending.estimate.tally, _most_labels(run) - len(ending.labels), None, None
    ended = ending.stop.kind is StopKind.JUDGMENT_LIMIT and not rule.goes_on
    if ending.winner is None and run.booked and not ended:
        more = more_to_decide(rule, tally, unasked, sampled=run.sampled)
        items = rule.items_to_decide(tally) if run.sampled else None
    short = ending.stop.kind is StopKind.BUDGET and more is None and tally.judged
    may = bool(short) and rule.chance_at_the_end(tally, unasked) >= WORTH
    return more and min(unasked, more * run.judgments_a_draw) if run.judgments_a_draw > 1 else more, items, may


def _options(run: Prepared[CompareSettings]) -> CompareOptions:
    """What was asked of a comparison."""
    config = run.config
    return CompareOptions(
        near_tie=config.near_tie,
        min_gap=config.min_gap,
        not_worse=config.not_worse,
        by_group=config.by_group,
        by_criterion=config.by_criterion,
        max_flips=config.most_flips(by_hand=run.by_hand),
        give_up=config.give_up,
        proxy=None if run.inputs.proxy is None else run.inputs.proxy.identity.name,
    )


def _finished(config: CompareSettings) -> list[Source]:
    """The two finished runs.

    Raises:
        InputError: one is no run, but a system that answers live.
    """
    live = [one for one in config.output_files if isinstance(one, str)]
    if live:
        raise InputError(f"`judge={RECORDED}`: {live[0]} answers live, and has no recorded scores")
    return [one for one in config.output_files if not isinstance(one, str)]


def _by_family(joined: Joined) -> Scores:
    """The recorded scores, each as the mean of its family, whichever member stands for it."""
    scores, items = dict(joined.scores), joined.pool.items
    for family in joined.pool.families:
        for system in joined.pool.systems if len(family) > 1 else ():
            mean = math.fsum(joined.scores[items[at].id, system] for at in family) / len(family)
            scores |= {(items[at].id, system): mean for at in family}
    return scores


def _scores_in(config: CompareSettings) -> str:
    """How to compare the scores that both files hold, as the end of a message; else ""."""
    try:
        first, second = (scorers_of(table_of(one).rows) for one in _finished(config))
    except InputError:
        return ""
    both = [f"`judge={RECORDED}:{name}`" for name in first if name in second]
    return f"; to compare the scores that the files hold: {alternatives(both)}" if both else ""


def _check_without_effect(config: CompareSettings) -> None:
    """Refuse settings that would do nothing for recorded scores; a night adds to the seed, which draws nothing."""
    plain = CompareSettings.of(first=config.first, second=config.second, judge=config.judge, night=config.night)
    for name in idle_with_recorded():
        if getattr(config, name) != getattr(plain, name):
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


def _check_further(config: CompareSettings) -> None:
    """Refuse tests of groups, of criteria and of families that do not go with one another, or with these draws."""
    for name in ("by_group", "by_criterion", "give_up") if config.family_members > 1 else ():
        if getattr(config, name):
            raise InputError(
                f"`{name}={getattr(config, name)}` counts wins, and `family_members={config.family_members}` means "
                "of families; leave one of them out"
            )
    if config.by_group is not None and config.selector_row.draws is not Draws.EVEN:
        raise InputError(
            f"`by_group={config.by_group}` needs uniform random draws, and `selector={config.selector}` makes "
            "others; use `selector=random`"
        )
    if config.by_criterion and config.by_group is not None:
        raise InputError(f"`by_criterion` does not go with `by_group={config.by_group}`: leave one of them out")
    if config.by_criterion and config.selector_row.draws is not Draws.EVEN:
        raise InputError(
            f"`by_criterion` needs uniform random draws, and `selector={config.selector}` makes others; use "
            "`selector=random`"
        )


def _check_inputs(config: CompareSettings, inputs: Inputs) -> None:
    """Refuse what the orders, the judges, the systems or the groups of these items do not allow."""
    if config.proves and config.about == Population.THESE_ITEMS and inputs.population is not None:
        raise InputError(
            f"`about={config.about}`: with `order={config.order}` one order of each comparison is drawn, and "
            "of these items the others stay unknown; use `order=both`, or leave `about` out"
        )
    if inputs.systems and config.selector_row.needs_outputs:
        raise looks_at_all(f"selector={config.selector}", inputs.pool.systems[inputs.pool.live[0]])
    check_flips(config, inputs)
    if config.by_criterion and not inputs.criteria:
        raise InputError("`by_criterion` needs a rubric of several criteria; give `rubric=FILE.toml`")
    groups = {item.group for item in inputs.pool.items}
    if config.by_group is not None and len(groups) < 2:  # noqa: PLR2004 - one group is the whole set
        raise InputError(
            f"`by_group={config.by_group}`: expected items of two or more groups, found {len(groups - {None})}; give "
            "the items a column `group`, or name yours with `map=group=COLUMN`"
        )
