"""A search for the best of many systems: what it is made of, what it is likely to take, and its result.

`question.py` of `questions/` runs it. What it is likely to take stands in a table of what searches took on recorded
verdicts; no answer is imagined.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Finished, StopKind
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Draws, Population
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Observe, ProxyTerms, Terms, unobserved
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.estimators.win_rates import Standings, WinRates, scouted_items
from judgeloop.methods.rows import Draft
from judgeloop.methods.stats.levels import FEW, LEVELS_FROM
from judgeloop.methods.stopping.best_of_many import BestRule
from judgeloop.methods.stopping.rule import points
from judgeloop.questions.question import Question, Ran
from judgeloop.questions.select import page
from judgeloop.questions.select.buying import Plan, not_asked
from judgeloop.questions.select.proxy import saves, worth_of
from judgeloop.questions.select.result import Selection, SelectOptions, selected_of
from judgeloop.questions.select.settings import QUESTION, SELECTORS, SelectSettings
from judgeloop.report.page import Page
from judgeloop.report.words import count
from judgeloop.runs.begin import conducted
from judgeloop.runs.description import asked_before, data_notes, met_before, setup_of
from judgeloop.runs.forecast import Forecast, Left, Range
from judgeloop.runs.inputs import Inputs, looks_at_all, read_inputs
from judgeloop.runs.prepared import Parts, Prepared, check_about, check_flips, check_idle_settings, families_drawn
from judgeloop.runs.proxies import SUPPOSED, prices_of_a_plan, proxy_judge

FEWEST_SYSTEMS = 2
# Mean calls of searches at a risk of 0.1, by items, systems and gap. A row is a number of systems, a column one of
# `GAPS`. Source: GPT-4's verdicts on systems of AlpacaEval; `python benchmarks/race.py DATA --only forecast` makes
# the table, and docs/results has it with errors. Up to five systems the baseline is one of them.
GAPS = (0.0, 0.02, 0.05, 0.1)
USUAL_CALLS = {
    100: {
        3: (100, 96, 82, 66), 5: (242, 233, 213, 181), 6: (269, 249, 215, 176), 10: (357, 316, 271, 223),
        18: (535, 432, 366, 290), 36: (859, 664, 515, 410), 53: (1136, 897, 627, 475),
    },
    400: {
        3: (256, 230, 190, 130), 5: (658, 579, 480, 337), 6: (878, 764, 620, 468), 10: (1156, 969, 738, 524),
        18: (1599, 1275, 912, 625), 36: (2327, 1745, 1148, 772), 53: (2796, 2097, 1329, 868),
    },
    805: {
        3: (488, 365, 213, 129), 5: (1035, 815, 580, 428), 6: (1601, 1346, 1056, 774), 10: (1990, 1625, 1213, 851),
        18: (2683, 2048, 1441, 943), 36: (3647, 2618, 1739, 1067), 53: (4361, 3036, 1917, 1162),
    },
}  # fmt: skip
# The same for the best of items like these, whatever their number (`--only like`). They end with the items, too.
GAPS_LIKE_THESE = (*GAPS, 0.2)
USUAL_LIKE_THESE = {
    3: (349, 219, 173, 86, 58), 5: (851, 731, 473, 254, 162), 6: (1766, 1468, 1005, 530, 351),
    10: (2495, 2026, 1458, 922, 570), 18: (3931, 3355, 2629, 1382, 450), 53: (11302, 10259, 8945, 1868, 583),
}  # fmt: skip
# At a risk of 0.2 the searches took 0.88 of these calls: so much more is each further unit of log(1 / risk).
RISK, OF_RISK = 0.1, 0.17
LEAST_OF_RISK = 0.3
WITHIN = 2  # a factor: most searches took half to twice as many (docs/results)
SPARE = 1.4  # of a number that is said to be enough: as searches differ, so many are in 4 of 5 or more

ASSUMED = (
    "that the search takes what searches among as many models took on recorded verdicts (a closer field takes more)"
)
# Of items like these, a race among many systems ends at the first gap. At one below the second a third stays
# open among any, and at one from it on, half among very many (docs/results).
USUAL_GAP, OPEN_GAP, VERY_MANY = LEVELS_FROM, 0.05, 24


class SelectQuestion(Question[SelectSettings, Standings, Selection]):
    """Which of many systems is best?"""

    name, result = QUESTION, Selection

    def check(self, config: SelectSettings) -> None:
        """Refuse a single system, and a selector, a rule and a baseline that do not go together."""
        if len(config.outputs) < FEWEST_SYSTEMS:
            raise InputError(
                f"select: expected the outputs of at least {FEWEST_SYSTEMS} systems, the baseline's among "
                f"them; found {len(config.outputs)}. `judgeloop convert FILE --system NAME` takes one out of a file of several"
            )
        even, drops = config.selector_row.draws is Draws.EVEN, config.selector_row.drops
        if config.rule_row.guaranteed and not even:
            raise InputError(
                f"`rule={config.rule}` holds only for random draws, but `selector={config.selector}` picks "
                "queries; use `selector=race`, or `rule=fixed-budget`"
            )
        if drops and not config.rule_row.guaranteed:
            raise InputError(
                f"`selector={config.selector}` drops systems at a stated risk, but `rule={config.rule}` states "
                "none; with a limit, `rule=separated` names its leader and the gap"
            )
        check_about(
            config,
            f"`rule={config.rule}` with `selector={config.selector}`",
            proves=config.rule_row.guaranteed and even,
            instead="`selector=race` or `selector=random` with `rule=separated`",
        )
        if config.baseline is None and not drops:
            raise InputError(
                f"`selector={config.selector}` needs a `baseline`, the name of a system; only `selector=race` chooses "
                "one"
            )
        check_idle_settings(config, QUESTION, config.selector_row, config.rule_row)
        if config.proxy is not None:
            _check_proxy(config, config.proxy)

    def inputs(self, config: SelectSettings, environment: Mapping[str, str], *, offline: bool) -> Inputs:
        """What is read, with the proxy."""
        inputs = read_inputs(config, environment, offline=offline)
        if config.proxy is None:
            return inputs
        return replace(inputs, proxy=proxy_judge(config, config.proxy, inputs, environment, offline=offline))

    def identity(self, config: SelectSettings, inputs: Inputs) -> dict[str, Any]:
        """The proxy, and whether it is asked."""
        plan, proxy = _plan(config, inputs), inputs.proxy
        if plan is None or proxy is None:
            return {}
        return {"proxy": [proxy.identity.name, dict(proxy.identity.parameters), plan.bought]}

    def limit_moves(self, config: SelectSettings, parts: Parts[Standings]) -> bool:
        """Where a rule states a risk: its bounds know of no limit."""
        del parts
        return config.rule_row.guaranteed

    def parts(self, config: SelectSettings, inputs: Inputs) -> Parts[Standings]:
        """Selector, win rates, rule."""
        pool, members = inputs.pool, families_drawn(config, inputs, config.selector_row)
        items = len(members) or len(pool)
        _check_inputs(config, inputs, items)
        draft = Draft(
            items=items,
            limit=config.max_judgments,
            risk=config.risk,
            systems=len(pool.systems),
            baseline=_baseline(config, inputs),
            gap=config.min_gap or 0.0,
            population=inputs.population,
            settings=config,
            seed=(config.seed,),
            pool=pool,
            members=members,
        )
        plan = _plan(config, inputs)
        if plan is not None and plan.bought:
            draft = replace(draft, proxy={pair: ProxyVerdicts(items) for pair in draft.queries})
        rule: BestRule = config.rule_row.make(draft)
        estimator = WinRates(draft.systems, draft.baseline, rule.level, draft.sampled, draft.gap, draft.proxy)
        return Parts(config.selector_row.make(draft), estimator, rule, members=members)

    async def ask(
        self,
        run: Prepared[SelectSettings],
        terms: Terms,
        interruption: Interruption | None = None,
        observe: Observe[Standings] = unobserved,
    ) -> tuple[Parts[Standings], Finished[Standings]]:
        """Let a proxy judge beside the judges, where it is worth its price."""
        proxy, config = _proxy(run.parts), run.config
        if proxy is None:
            return await super().ask(run, terms, interruption, observe)
        asking = ProxyTerms(proxy.__getitem__, config.order, config.concurrency, config.judge_timeout)
        asked = conducted(run.session(), run, terms, proxy=asking, interruption=interruption, observe=observe)
        return run.parts, await asked

    async def forecast(self, run: Prepared[SelectSettings]) -> Forecast:
        """With what a proxy takes, and probably saves."""
        found, plan, proxy = await super().forecast(run), _plan(run.config, run.inputs), run.inputs.proxy
        if plan is None or proxy is None or not run.booked:
            return found
        return replace(
            found,
            ways=plan.said(
                proxy.identity.name, "people" if run.by_hand else ", ".join(one.identity.name for one in run.judges)
            ),
        )

    def notice(self, run: Prepared[SelectSettings]) -> str | None:
        """That the search may well name no system, or a proxy is not asked."""
        if run.inputs.proxy is not None and _proxy(run.parts) is None:
            return not_asked(run.inputs.proxy.identity.name)
        close = may_stay_open(len(run.pool.systems), run.config.min_gap or 0.0)
        return _names_none(run) if run.sampled and close and _rule(run.parts).level is not None else None

    def left(self, ran: Ran[SelectSettings, Standings]) -> Left:
        """The comparisons without a verdict, and how many of them it is likely to take to name the best."""
        run, ending, notice = ran.run, ran.finished.ending, self.notice(ran.run)
        pool, usual, over = run.pool, _usual(run), ending.stop.kind is not StopKind.DRY_RUN
        every = len(run.places) * (len(pool.systems) - 1)
        found = judgments_to_name(ending.asked, usual, run.limits, every=every, over=over)
        done, against = {label.choice.key for label in ending.labels}, ending.estimate.tally.baseline
        left = [
            pool.query(position, (system, against))
            for position in run.places
            for system in range(len(pool.systems))
            if system != against and (position, system, against) not in done
        ]
        stays_open = notice or "" if run.inputs.proxy is None else ""  # of a proxy the table tells
        if not (stays_open or over) and run.sampled and (usual or 0) > every:  # all items leave it open, too
            stays_open = _names_none(run)
        elif found.needed and not stays_open:
            stays_open = limit_too_low(run.limits.max_judgments, found.needed)
        stays_open = f"{stays_open}." if stays_open else ""
        first = () if _proxy(ran.parts) is None or run.inputs.proxy is None else (run.inputs.proxy,)
        return Left(found.judgments, found.assumed, left, every - len(left), stays_open, first=first)

    def result_of(self, ran: Ran[SelectSettings, Standings]) -> Selection:
        """Where each system stands, and how many further judgments would name the best."""
        run, parts, ending = ran.run, ran.parts, ran.finished.ending
        config, pool = run.config, run.pool
        tally, baseline = ending.estimate.tally, _baseline(config, run.inputs)
        more, ended = None, ending.winner is not None or ending.stop.kind is StopKind.POOL_EXHAUSTED
        if not ended and (run.inputs.proxy is not None or not self.notice(run)):
            more = more_to_name(ending.asked, _usual(run), len(run.places) * (len(pool.systems) - 1))
        scouted = scouted_items(len(tally.wins), baseline, len(run.places))
        result = selected_of(
            ran.finished,
            setup_of(run, parts.rule, config.selector),
            SelectOptions(
                baseline=None if scouted and not tally.queries else pool.systems[tally.baseline],
                chosen_on=None if baseline is not None else scouted,
                chosen_by=sum(
                    label.choice.propensity is None and label.choice.key not in ending.deciding
                    for label in ending.labels[: scouted * (len(tally.wins) - 1)]
                    if tally.queries  # else the choice was cut short
                ),
                min_gap=config.min_gap,
                epsilon=getattr(parts.selector, "epsilons", None),  # of a selector that has some
                max_flips=config.most_flips(by_hand=run.by_hand),
                proxy=None if run.inputs.proxy is None else run.inputs.proxy.identity.name,
            ),
            data_notes(run, ran.finished.pool),
            items=pool.items,
            more_judgments=more,
        )
        deciding = [label for label in ending.labels if label.choice.key in ending.deciding]
        course = page.course_of(deciding, cast("WinRates", parts.estimator), tally, pool.systems, len(run.places))
        if (verdicts := _proxy(parts)) is not None and (judge := run.inputs.proxy) is not None:
            worth = worth_of(deciding, verdicts, judge.identity.name, config.min_gap or 0.0)
            result = replace(result, proxy_worth=worth)
        return replace(result, course=course, asked_before=asked_before(met_before(run, ran.runs)))

    def page(self, result: Selection) -> Page:
        """A result in sentences and tables."""
        return page.page(result)

    def so_far(self, tally: Standings, systems: tuple[str, ...], longest: int) -> str:
        """Who leads during a run, in words."""
        return page.so_far(tally, systems, longest)


def _rule(parts: Parts[Standings]) -> BestRule:
    return cast("BestRule", parts.rule)  # as the rules of searches are


def _baseline(config: SelectSettings, inputs: Inputs) -> int | None:
    """The number of the system that all others are compared with; None if the run chooses it."""
    against = config.against(inputs.pool.systems)
    return None if against is None else inputs.pool.systems.index(against)


def _proxy(parts: Parts[Standings]) -> Mapping[tuple[int, ...], ProxyVerdicts] | None:
    return cast("WinRates", parts.estimator).proxy


def _plan(config: SelectSettings, inputs: Inputs) -> Plan | None:
    """What a proxy on all items takes and saves; None without one."""
    if inputs.proxy is None:
        return None
    items, systems, gap = len(inputs.pool), len(inputs.pool.systems), config.min_gap or 0.0
    every = alone = items * (systems - 1)
    if config.selector == SELECTORS[0]:
        alone = min(every, usual_calls(systems, items, gap, config.risk, sampled=False))
    return Plan(prices_of_a_plan(config, inputs), min(alone, config.max_judgments), every, gap)


def _check_proxy(config: SelectSettings, proxy: str | Judge) -> None:
    """Refuse a proxy where the proof does not hold, or it is not built."""
    name = proxy if isinstance(proxy, str) else proxy.identity.name
    asked = f"`proxy={name}`"
    if not config.rule_row.guaranteed:
        raise InputError(
            f"{asked} helps a search with a stated risk, whose items are drawn at random; found `selector={config.selector}` "
            f"with `rule={config.rule}`: use `selector=race` with `rule=separated`, or leave `proxy` out"
        )
    if config.about == Population.ITEMS_LIKE_THESE:
        raise InputError(
            f"{asked} judges all of these items, and the luck of their draw would stay in what is said of items like "
            "these; use `about=items`, or leave `proxy` out"
        )
    if config.baseline is None:
        raise InputError(
            f"{asked} judges each other system against a `baseline` before the first label; name one, such as the system "
            "in use"
        )
    live = next((one for one in config.output_files if isinstance(one, str)), None)
    if live is not None:
        raise looks_at_all(f"proxy={name}", live, "no `proxy`")


def _usual(run: Prepared[SelectSettings]) -> int | None:
    """How many calls such a search usually takes to its end; None if it uses up its limit."""
    config, pool, gap = run.config, run.pool, run.config.min_gap or 0.0
    if _rule(run.parts).level is None or config.selector != SELECTORS[0]:
        return None
    usual = usual_calls(len(pool.systems), len(run.places), gap, config.risk, sampled=run.sampled)
    return usual if _proxy(run.parts) is None else round(usual * (1 - saves(SUPPOSED, gap)))


def _names_none(run: Prepared[SelectSettings]) -> str:
    return no_winner(run.most_judgments, len(run.pool.systems), gap=run.config.min_gap or 0.0)


def _check_inputs(config: SelectSettings, inputs: Inputs, items: int) -> None:
    """Refuse systems that no judge can tell apart, a limit within the first item, and outputs that are to come."""
    check_flips(config, inputs)
    pool, against = inputs.pool, config.against(inputs.pool.systems)
    first: dict[tuple[str, ...], str] = {}
    for number, (name, outputs) in enumerate(zip(pool.systems, pool.outputs, strict=True)):
        other = name if number in pool.live else first.setdefault(outputs, name)
        if other != name:  # a run would spend its whole budget on them
            raise InputError(
                f"{other} and {name} gave the same output on all {len(pool):,} items, so no judge can "
                "tell them apart; leave one of them out"
            )
    each = len(pool.systems) - 1
    chosen_on = scouted_items(len(pool.systems), against, items)
    least = (chosen_on + 1) * each
    if config.max_judgments < least:
        before = f", and the choice of a baseline those of {count(chosen_on, 'item')}" if chosen_on else ""
        raise InputError(
            f"`max_judgments={config.max_judgments}`: one item takes {count(each, 'judgment')}, one for each system "
            f"except the baseline{before}; allow at least {least:,}"
        )
    if inputs.systems and config.selector_row.needs_outputs:
        live = pool.systems[pool.live[0]]
        raise looks_at_all(f"selector={config.selector}", live, "`selector=race` or `selector=random`")


class Foreseen(NamedTuple):
    """The range of further judgments, and the assumption behind it, as a sentence; None if nothing is assumed.

    `needed` are the judgments in all that the search usually takes, if the limit is below them; else 0.
    """

    judgments: Range
    assumed: str | None
    needed: int = 0


def usual_calls(systems: int, items: int, gap: float, risk: float, *, sampled: bool) -> int:
    """How many calls a race takes to its end, of the usual; a set of items may end it before.

    >>> usual_calls(53, 400, 0.0, 0.1, sampled=False), usual_calls(26, 600, 0.05, 0.1, sampled=False)
    (2796, 1326)
    """

    def by_systems(table: Mapping[int, Sequence[int]], gaps: Sequence[float]) -> float:
        rows = [_on_line(gap, gaps, [math.log(calls) for calls in row]) for row in table.values()]
        return _on_line(math.log(systems), [math.log(many) for many in table], rows)

    if sampled:
        calls = by_systems(USUAL_LIKE_THESE, GAPS_LIKE_THESE)
    else:
        pools = [by_systems(table, GAPS) for table in USUAL_CALLS.values()]
        calls = _on_line(math.log(items), [math.log(pool) for pool in USUAL_CALLS], pools)
    of_risk = max(LEAST_OF_RISK, 1 + OF_RISK * math.log(RISK / risk))
    return max(systems, round(of_risk * math.exp(calls)))


def _on_line(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The value at `x` on the lines between the points, which go on at both ends."""
    at = next((n for n in range(1, len(xs) - 1) if x < xs[n]), len(xs) - 1)
    return ys[at - 1] + (ys[at] - ys[at - 1]) * (x - xs[at - 1]) / (xs[at] - xs[at - 1])


def judgments_to_name(asked: int, usual: int | None, limits: Limits, *, every: int, over: bool) -> Foreseen:
    """What is foreseen for a run that has `asked` so many.

    `usual` is what such a search takes in all, None for one that uses up its limit. `every` is the number of judgments
    that there are, with those that choose a baseline, and `over` says whether the run has ended. A search that has
    asked more than the usual is close, and may go on to the limit.
    """
    worst = 0 if over else max(0, min(limits.max_judgments, every) - asked)
    if usual is None or not worst:
        return Foreseen(Range(worst, worst, worst), None)
    whole = min(usual, every)
    expected = min(whole - asked, worst) if whole > asked else worst
    low = max(1, min(whole // WITHIN - asked, expected))
    return Foreseen(Range(low, expected, worst), ASSUMED, whole if whole > limits.max_judgments else 0)


def more_to_name(asked: int, usual: int | None, every: int) -> int | None:
    """How many further judgments would name a system in most searches; None if that is not known."""
    more = 0 if usual is None else min(math.ceil(SPARE * usual), every) - asked
    return more if more > 0 else None


def may_stay_open(systems: int, gap: float) -> bool:
    """Whether many searches for the best of items like these had no name at this gap.

    >>> may_stay_open(7, 0.0), may_stay_open(13, 0.05), may_stay_open(54, 0.05), may_stay_open(54, 0.1)
    (True, False, True, False)
    """
    return systems > FEW and (gap < OPEN_GAP or (systems > VERY_MANY and gap < USUAL_GAP))


def no_winner(judgments: int, systems: int, *, gap: float) -> str:
    """The sentence that a search of so many judgments may well name no system.

    >>> no_winner(41860, 53, gap=0.0)
    'for items like these, a search among 53 systems names one only if it is clearly ahead, and else none, \
after up to 41,860 judgments; with `min_gap=0.1` it ends far sooner'
    """
    remedy = f"`min_gap={USUAL_GAP}`" if gap < USUAL_GAP else f"a `min_gap` above {gap:g}"
    names = "names one only if it is clearly ahead, and else none"
    if gap:
        names = f"with a gap of {points(gap)} often names none"
    return (
        f"for items like these, a search among {systems:,} systems {names}, after up to {judgments:,} judgments; with {remedy} "
        "it ends far sooner"
    )


def limit_too_low(limit: int, needed: int) -> str:
    """The sentence that the limit will probably end a search that takes more.

    >>> limit_too_low(2000, 2796)
    '`max_judgments=2000` will probably end the search before a system is named: that takes about 2,796'
    """
    return f"`max_judgments={limit}` will probably end the search before a system is named: that takes about {needed:,}"
