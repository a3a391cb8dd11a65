"""The result of a comparison as text: the decision first, then the evidence.

Takes a `Result` and returns sentences. Computes no figures and prints nothing.
"""

from judgeloop.core.errors import some
from judgeloop.core.outcomes import Outcome, StopKind, Tally
from judgeloop.methods.estimators.preferences import MISSES
from judgeloop.methods.stats.agreement import CLEARLY_CHEAPER, PROBABLY
from judgeloop.methods.stopping.rule import at_most, points
from judgeloop.questions.compare.pictures import board
from judgeloop.questions.compare.result import Result, ScoreFigures
from judgeloop.questions.compare.risk import stated_risk, what_it_means
from judgeloop.report import sentences
from judgeloop.report.conditions import required
from judgeloop.report.escaping import visible
from judgeloop.report.groups import group_table
from judgeloop.report.page import Page, Section, Table
from judgeloop.report.words import count, per_cent, places, sentence, shortened, stopped


def page(result: Result) -> Page:
    """Return the result as text."""
    return Page(
        headline(result),
        details(result),
        summary=sentences.summed_up(result, _standing(result)),
        notes=(*_groups(result), *sentences.notes(result, *what_it_means(result), whole=result.whole)),
        board=board(result),
        required=required(result),
    )


def _groups(result: Result) -> tuple[Section | Table, ...]:
    """Return the table of the groups, if there are several."""
    second = visible(result.setup.systems[1])
    if result.options.by_group is None:
        return group_table(result.groups, f"By group, for {second}: counts, without a claim")
    if not result.verdicts:
        return ()
    risk = result.setup.risk_threshold
    more = count(result.counts.further, "further judgment")
    without = "went to open groups; the winner, votes and gap above are without them"
    further = f"{more} {without}. " if result.recorded is None else ""
    means = (
        "In a group that is open, neither system is shown to be better. "
        f"The chance that any group is given a name that is not the better system in it is {at_most(risk)}, "
        f"whatever was judged next. That is a second family of statements beside the one on all items: that "
        f"either errs has a chance of {at_most(min(1.0, 2 * risk))}. {further}All intervals hold at once, at the "
        "risk of the groups. With about as many more items as its row says, a group has an even "
        "chance of an answer; for a group that is level, no number is known."
    )
    return (
        *group_table(result.groups, f"By group, for {second}"),
        Section("What the risk of the groups means", (("", means),)),
    )


def so_far(tally: Tally, systems: tuple[str, ...], most: int) -> str:
    """Return who leads during a run, with at most `most` characters of the name."""
    more, fewer = max(tally.wins), min(tally.wins)
    if tally.leader is None:
        return f"level, {more:,} to {fewer:,}" if tally.judged else ""
    return f"leads: {shortened(systems[tally.leader], most)}, {more:,} to {fewer:,}"


def headline(result: Result) -> str:
    """Return the decision in a sentence that needs no statistics, with the groups in which it is otherwise."""
    line = sentences.headline(result, _decision(result))
    return f"{line} {said}" if (said := _otherwise(result)) else line


def _otherwise(result: Result) -> str:
    """Return in which groups the second system is shown to be worse, or better than a winner; empty for none.

    A group that is required is named as a condition that fails.
    """
    claim = "better" if result.winner == result.setup.systems[0] else "worse"
    groups = [group.name for group in result.groups if group.claim == claim]
    if not groups or result.outcome not in {result.answer, Outcome.PASSED}:
        return ""
    where = f"group{'s' * (len(groups) > 1)} {visible(some(groups))}"
    return f"{visible(result.setup.systems[1])} is {claim} in {where}."


def _decision(result: Result) -> str:
    first, second = map(visible, result.setup.systems)
    where = sentences.on_items(result.about, result.items)
    if result.options.not_worse is not None:
        return _on_worse(result, where, result.options.not_worse)
    if result.winner is not None:
        return _on_winner(result, visible(result.winner), where)
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        if result.whole:
            return f"{first} and {second} are level {where}."
        return f"There is no practical difference between {first} and {second} {where}."
    return _no_winner(result, where)


def _no_winner(result: Result, where: str) -> str:
    """Return that the question is open, and why."""
    first, second = map(visible, result.setup.systems)
    if result.recorded is not None:
        lead = f"{visible(result.leader)} leads, but that may be chance" if result.leader else ""
        return f"No winner between {first} and {second} {where}: {lead or 'they are level'}."
    if result.used_up:
        return f"No winner yet {where}: {_ahead(result)}, which is too little to tell."
    level = result.leader is None and result.stop_reason is StopKind.POOL_EXHAUSTED
    why = f"{'they are level, and ' if level else ''}{sentences.ended(result)}"
    return stopped(f"No winner yet between {first} and {second} {where}: {why}")


def _ahead(result: Result) -> str:
    """Return who is ahead on the items of the set, all of which are judged."""
    return f"{visible(result.leader or '')} is ahead on these {result.items:,} items"


def _on_winner(result: Result, winner: str, where: str) -> str:
    """Return that the winner is better, or how far it is behind at worst."""
    loser = visible(next(name for name in result.setup.systems if name != result.winner))
    if result.claim == "better":
        return f"{winner} is better than {loser} {where}."
    gap = points(result.options.min_gap or 0.0)
    return f"Choose {winner}: at worst less than {gap} behind {loser} {where}."


def _on_worse(result: Result, where: str, margin: float) -> str:
    """Return whether the second system is not worse than the first, or worse, or neither."""
    first, second = map(visible, result.setup.systems)
    by = f"by {points(margin)} or more"
    if result.stop_reason is StopKind.NOT_WORSE:
        if result.better:
            return f"{second} is better than {first} {where}, and so not worse {by}."
        return f"{second} is not worse than {first} {by} {where}."
    if result.worse_by_margin:
        return f"{second} is worse than {first} by more than {points(margin)} {where}."
    if result.winner is not None:
        return f"{second} is worse than {first} {where}, perhaps by less than {points(margin)}."
    if result.answer.broke_off or not result.judged:
        return stopped(f"No answer yet whether {second} is worse than {first} {where}: {sentences.ended(result)}")
    why = f"{_ahead(result)}." if result.used_up else sentence(sentences.ended(result))
    return (
        f"No answer yet: it is not shown that {second} is worse than {first} {where}, nor that it is not "
        f"worse {by}. {why}"
    )


def _standing(result: Result) -> str:
    """Return what was judged, at which risk and cost."""
    voted = not result.answer.answered or result.recorded or result.options.gap_asked is not None
    parts = [_judged(result), _leads(result) if voted else "", _how_far(result), stated_risk(result)]
    return " ".join([*filter(None, parts), f"Cost: {sentences.money(result)}{sentences.with_known(result)}."])


def _judged(result: Result) -> str:
    if result.judged == result.items:
        return f"Judged by {sentences.judged_by(result)}: all {count(result.items, 'item')}."
    some = f"{result.judged:,} of {count(result.items, 'item')}{result.also_judged}"
    return f"Judged by {sentences.judged_by(result)}: {some}."


def _leads(result: Result) -> str:
    if result.leader is None:
        return ""
    most, least = sorted(result.wins.values(), reverse=True)
    return f"Votes: {most:,} to {least:,} for {visible(result.leader)}."


def _how_far(result: Result) -> str:
    """Return the bounds of the gap of a winner, or who is not worse; empty without, and for recorded scores."""
    drawn = _bounded(result) and not result.gap_weighted and result.recorded is None
    passed = result.claim == "not_worse"
    if not (result.winner or passed) or result.gap is None or not drawn:
        return ""
    shown = "" if _widened(result) else f", {result.gap:.2f} on these verdicts"
    name = visible(result.leader or result.setup.systems[0])
    whose = f" for {name}" if result.answer is Outcome.FAILED or passed else ""
    return f"Gap{whose}: {_between(result)}{shown}."


def details(result: Result) -> tuple[tuple[str, str], ...]:
    """Return the evidence for the decision, as pairs of a name and a text."""
    votes = (("votes", _votes(result)), ("gap", _gap(result)), ("rule", _rule(result)))
    if result.recorded is not None:
        scores = _scores(result, result.recorded)
        return sentences.rows(*votes, *scores, ("judge", sentences.judge(result)), *sentences.about_data(result))
    return sentences.rows(
        *votes,
        ("judge", sentences.judge(result)),
        ("selector", _selector(result)),
        ("cheaper", _other_way(result)),
        ("earlier", _earlier(result)),
        *sentences.shared(result),
    )


def _scores(result: Result, scores: ScoreFigures) -> list[tuple[str, str]]:
    """Return rows on the test and the means of recorded scores."""
    test = "exact sign test, two-sided (McNemar's exact test for scores of 0 and 1), made once"
    if scores.win_share is not None:
        (low, high), level = scores.win_share_interval, 100 * (1 - result.setup.risk_threshold)
        test += (
            f"; {visible(result.setup.systems[0])} wins {per_cent(scores.win_share, 1)} of the items that are no "
            f"ties ({level:.4g} % interval {per_cent(low, 1)} to {per_cent(high, 1)}, exact)"
        )
    means = ", ".join(f"{mean:.3f} for {visible(name)}" for name, mean in scores.means.items())
    first, second = result.setup.systems
    own, other = (second, first) if result.leader == second else (first, second)
    more = scores.means[own] - scores.means[other]
    return [("test", test), ("mean", f"{means}; {visible(own)} less {visible(other)} {more:+.3f}")]


def _earlier(result: Result) -> str:
    """Return how many comparisons came before, and what the risks add up to; empty for the first."""
    if result.comparison == 1 or result.wrong_expected is None:
        return ""
    before = count(result.comparison - 1, "comparison")
    if result.searched:
        before = f"{before} or searches" if result.comparison > 2 else "1 search"  # noqa: PLR2004 - itself
    whose = "this judge" if len(result.setup.judges) == 1 else "one of these judges"
    return (
        f"{before} with {visible(result.baseline)} on these items or some of them by {whose}, each with a risk of its "
        f"own. With this one, expect at most {result.wrong_expected:.4g} wrong wins or passes of a candidate in all, if none "
        "was chosen or made by verdicts on these items"
    )


def _other_way(result: Result) -> str:
    """Return what the other order of presentation would cost, if it would be clearly cheaper."""
    multiple, order = result.calls_of_one_order, result.setup.order
    if multiple is None or result.options.max_flips is not None:  # which needs both orders
        return ""
    chance = result.chance_in_one_order
    if order == "both" and multiple < CLEARLY_CHEAPER and chance >= PROBABLY:
        said = f"one order (`order=random`) would take about {per_cent(multiple)} of the calls"
        return f"{said}, and decide about items like these with a chance of about {per_cent(chance)}"
    return ""


def _votes(result: Result) -> str:
    wins = ", ".join(f"{won:,} for {visible(name)}" for name, won in result.wins.items())
    alike = f" ({result.identical:,} of identical outputs)" if result.identical else ""
    counts = result.counts
    aside = counts.asked - counts.judged - counts.abstentions - counts.ahead
    more = f"; {aside:,} more were judged, but do not count in the decision" if aside else ""
    ties, abstained = count(result.ties, "tie"), count(counts.abstentions, "abstention")
    return f"{wins}, {ties}{alike}, {abstained}{more}"


def _gap(result: Result) -> str:
    if result.gap is None:
        return "nothing has been judged"
    if result.gap_weighted:
        return _estimated(result.gap, result)
    towards = f" for {visible(result.leader)}" if result.leader else ""
    if result.gap_biased:
        return (
            f"{result.gap:.2f}{towards} among the judged items; these were not drawn at random, so "
            "it is no estimate for all items"
        )
    shares = f"share of judged items won less share lost{_among_decisive(result)}"
    return f"{result.gap:.2f}{towards}, {shares}{_bounds(result)}"


def _among_decisive(result: Result) -> str:
    """Return what the gap asked about is among the items that are no ties."""
    asked, decisive = result.options.min_gap or result.options.not_worse, sum(result.wins.values())
    if asked is None or not result.ties or not decisive:
        return ""
    share = decisive / result.judged
    ties = f"with {per_cent(1 - share)} ties"
    if asked >= share:
        return f"; {ties}, the two cannot differ by {points(asked)}"
    more = 50 * (1 + asked / share)
    return f"; {ties}, {points(asked)} are {more:.0f} to {100 - more:.0f} among the decisive items"


def _estimated(gap: float, result: Result) -> str:
    """Describe an estimated gap, from the view of the system that it favours.

    Adds a warning if that system is not the leader.
    """
    first, second = result.setup.systems
    leader, other = (second, first) if result.leader == second else (first, second)
    favoured = leader if round(gap, 2) >= 0 else other
    against = (
        f"; it contradicts the votes, where {visible(leader)} leads"
        if favoured == other and result.leader is not None
        else ""
    )
    return (
        f"{abs(gap):.2f} for {visible(favoured)}, estimated from draws that prefer some items"
        f"{_approximate(favoured, result)}{against}"
    )


def _approximate(favoured: str, result: Result) -> str:
    if result.gap_interval is None:
        return ", with no interval, as too few are judged"
    low, high = result.gap_interval
    if favoured != (result.leader or result.setup.systems[0]):
        low, high = -high, -low
    return f" ({100 * (1 - MISSES):g} % interval {_signed(low)} to {_signed(high)}, approximate)"


def _bounds(result: Result) -> str:
    """Return the bounds of the gap over the items that the result is about; empty if it is known."""
    if not _bounded(result):
        return ""
    where = "on items like these" if result.setup.sampled else "over all items"
    risk = f"{result.setup.risk_threshold:g}"
    looks = ", whenever one looks, and so is wider than the test's" if result.recorded else ""
    return f"; {where} {_between(result)} (each bound is wrong with probability at most {risk}{looks})"


def _bounded(result: Result) -> bool:
    return result.bounds is not None and result.bounds[0] < result.bounds[1]


def _between(result: Result) -> str:
    """Return the bounds in words; of a winner whose lower one is 0, that its name rules this out.

    A bound is the gap of these verdicts where the earlier of them had excluded that.
    """
    low, high = result.gap_interval or (-1.0, 1.0)
    widened, why = _widened(result), ""
    if widened:
        why = f", as the earlier of them spoke for {'less' if high == result.gap else 'more'}"
    shown = [
        f"the {shown} of these verdicts" if widened and at == result.gap else shown
        for at, shown in ((at, _signed(at, result.options.gap_asked)) for at in (low, high))
    ]
    out = result.ruled_out
    named = "" if out is None else _signed(out) if out else "0"
    if out is not None and _signed(low, result.options.gap_asked) == _signed(out):
        return f"above {named}, at most {shown[1]}{why}"
    if out is not None and _signed(high, result.options.gap_asked) == _signed(out):
        return f"at least {shown[0]}, below {named}{why}"
    return f"{' to '.join(shown)}{why}"


def _widened(result: Result) -> bool:
    """Whether a bound excluded the gap of the verdicts, and was widened to it."""
    return result.gap not in {None, 1.0} and result.gap in (result.gap_interval or ())


def _signed(gap: float, margin: float | None = None) -> str:
    """Format a gap, without a sign on zero; it looks like the margin only if it is."""
    number = places(gap, margin)
    return f"{round(gap, number) + 0.0:.{number}f}"


def _rule(result: Result) -> str:
    give_up = result.options.give_up
    gives_up = f"; gives up if a decision is less likely than {give_up:g}" if give_up is not None else ""
    threshold = result.setup.risk_threshold
    if result.recorded is not None:
        return f"{result.setup.rule}, names a winner at a p-value of at most {threshold:g}"
    return f"{result.setup.rule}, for a risk of {threshold:g}{gives_up}"


def _selector(result: Result) -> str:
    represent = f" on {visible(result.setup.represent)} vectors" if result.setup.represent else ""
    return f"{result.setup.selector}{represent}, seed {result.setup.seed}"
