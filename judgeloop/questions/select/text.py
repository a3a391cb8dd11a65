"""The result of a search for the best of many as text: the decision first, then the standings.

Takes a `Selected` and returns sentences. Computes no figures and prints nothing.
"""

from judgeloop.core.errors import some
from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stopping.rule import show_gap
from judgeloop.questions.select.pictures import beside, board, on, standings
from judgeloop.questions.select.result import Selected
from judgeloop.report import sentences
from judgeloop.report.conditions import required
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page
from judgeloop.report.words import count, shortened, stopped

DIRECTLY = "To compare two of them directly is another question, best asked on other items."


def page(result: Selected) -> Page:
    """Return the result as text."""
    return Page(
        headline(result),
        details(result),
        summary=sentences.summed_up(result, _standing(result), *_still(result)),
        tables=(standings(result),),
        notes=sentences.notes(result, sentences.HEADING_RISK, _risk_means(result)),
        board=board(result),
        required=required(result),
    )


def so_far(tally: Standings, systems: tuple[str, ...], most: int) -> str:
    """Return who leads during a run, with at most `most` characters of the name."""
    if not tally.queries:
        return ""
    leads = "level" if tally.levels is None else "no leader yet"
    if tally.leader is not None:
        leads = f"leads: {shortened(systems[tally.leader], most)}"
    may, every = int(tally.in_question.sum()), len(systems)
    return leads if may == every else f"{leads}, {may} of {every} may be the best"


def headline(result: Selected) -> str:
    """Return the decision in a sentence that needs no statistics."""
    return sentences.headline(result, _decision(result))


def _decision(result: Selected) -> str:
    chosen_on = beside(result)
    why = f" (the other {chosen_on} chose the baseline)" if chosen_on else ""
    among = f"{len(result.setup.systems):,} systems{_against(result)} {on(result)}{why}"
    if result.winner is None:
        return stopped(f"No winner yet among {among}: {sentences.ended(result)}")
    name = visible(result.winner)
    if result.risk is None:
        return f"{name} has the highest win rate of {among}."
    if result.gap:
        return f"{name}: {show_gap(result.gap)}, of {among}."
    return f"{name} is the best of {among}{_level_with(result)}."


def _against(result: Selected) -> str:
    """Return what the systems are compared with, which may decide who is the best; empty of two systems."""
    baseline = result.options.baseline
    if baseline is None or not result.many:
        return ""
    return f", each compared with {'it' if result.winner == baseline else visible(baseline)},"


def _level_with(result: Selected) -> str:
    """Return the systems that are judged on all items, and have the winner's win rate."""
    won = next(row for row in result.standings if row.system == result.winner)
    level = [
        visible(row.system) for row in result.standings if row is not won and row.known and row.win_rate == won.win_rate
    ]
    return f", level with {' and '.join(level)}" if level else ""


def _standing(result: Selected) -> str:
    """Return what was judged, at which risk and cost."""
    on = f"on {result.queries:,} of {count(result.items, 'item')}{result.also_judged}"
    judged = f"Judgments by {sentences.judged_by(result)}: {result.judged:,}, {on}."
    return f"{judged} {_begun(result)}{_risk(result)}Cost: {sentences.money(result)}{sentences.with_known(result)}."


def _begun(result: Selected) -> str:
    """Return which judgments of a run that was cut off do not count; empty for none."""
    counts, chosen = result.counts, result.options.chosen_by
    begun = counts.asked - counts.judged - counts.abstentions - counts.ahead - chosen
    if result.stop_reason in {StopKind.RISK_MET, StopKind.ALL_JUDGED} or not begun:
        return ""
    whole = "; a round counts only whole" if result.stop_reason is StopKind.JUDGMENT_LIMIT else ""
    return f"Not counted: {begun:,} of a round that is not finished{whole}. "


def _risk(result: Selected) -> str:
    if result.winner is None:
        return ""
    if result.stop_reason is StopKind.ALL_JUDGED:
        return "Stated risk: 0 (all items are judged). "
    if result.risk is None:
        return "Stated risk: none. "
    return f"Risk: {result.risk:g}, guaranteed. "


def _risk_means(result: Selected) -> str:
    """Return what is proved about the risk, and what it does not say."""
    alone = ""
    if result.many and result.options.baseline is not None:
        baseline = visible(result.options.baseline)
        alone = f" All are compared with {baseline}: with another baseline another may be the best. {DIRECTLY}"
    if result.stop_reason is StopKind.ALL_JUDGED:
        return f"{sentences.DRAWN_WHOLE} {sentences.about_the_judge(result)}{alone}"
    if result.setup.guarantee is None:
        return f"No risk is stated: this rule spends the whole budget and then names the highest win rate.{alone}"
    return f"{sentences.promise(result, result.setup.guarantee)}{alone}"


def _still(result: Selected) -> list[str]:
    """Return what is known without a winner: the leader and its gap, and who may be the best."""
    names = result.near_best
    if not result.judged or result.winner is not None:
        return []
    if names is None:
        drawn = "yet" if result.setup.guarantee else "as the items were not drawn at random"
        return [f"No gap can be stated{' ' if drawn == 'yet' else ', '}{drawn}."]
    leads = "No gap can be stated yet."
    if result.leader is not None and result.gap is not None:
        leads = f"{visible(result.leader)}: {show_gap(result.gap)}. Risk {result.risk:g}."
    return [leads, f"The best may be: {some(map(visible, names))}."]


def details(result: Selected) -> tuple[tuple[str, str], ...]:
    """Return the evidence for the decision, as pairs of a name and a text."""
    return sentences.rows(
        ("near best", _near_best(result)),
        ("baseline", _chosen(result)),
        ("rule", _rule(result)),
        ("judge", sentences.judge(result)),
        ("selector", _selector(result)),
        *sentences.shared(result),
    )


def _chosen(result: Selected) -> str:
    """Return how the baseline was chosen; empty if it was given."""
    options = result.options
    if options.chosen_on is None:
        return ""
    if options.baseline is None:
        return "none is chosen yet"
    name = visible(options.baseline)
    if not options.chosen_on:
        return f"{name}, the first system, as there is nothing to choose among two or by few items"
    by, on = count(options.chosen_by, "judgment"), count(options.chosen_on, "item")
    return f"{name}, chosen by {by} on {on}, which are not in the decision"


def _near_best(result: Selected) -> str:
    if result.near_best is None:
        return f"unknown: {'nothing has been judged' if result.setup.guarantee else 'no risk is stated'}"
    names = some(map(visible, result.near_best))
    if len(result.near_best) == 1:
        return names
    if result.winner is not None and not result.gap:  # no system is better
        return f"{names}: by bounds that hold together, each may be level with the best"
    return f"{names}: by bounds that hold together, each may be the best"


def _rule(result: Selected) -> str:
    setup = result.setup
    if setup.guarantee is None:
        return f"{setup.rule}, names the highest win rate when the budget is spent"
    wanted = show_gap(result.options.min_gap or 0.0)
    return f"{setup.rule}, stops once {wanted}, at a risk of {setup.risk_threshold:g}"


def _selector(result: Selected) -> str:
    epsilon = result.options.epsilon
    chosen = f" (ε {epsilon[0]:g} and {epsilon[1]:g})" if epsilon else ""
    return f"{result.setup.selector}{chosen}, seed {result.setup.seed}{_level(result)}"


def _level(result: Selected) -> str:
    """Return from where on the queries were level; empty if they were not.

    A run that ended with the query after which the others were level has nothing to say.
    """
    since = result.level_since
    if since is None or since >= result.queries:
        return ""
    return f"; after {count(since, 'item')} all others promised the same information and were asked in random order"
