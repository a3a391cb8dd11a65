"""What a comparison is likely to take, by its rule: judgments until a decision, and what an equal system may hope for.

Pure: of a tally and the share of ties that earlier runs had. `question.py` asks it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.engine.session import Limits
from judgeloop.methods.stats.margins import limit_to_pass, margin_passed
from judgeloop.methods.stats.predictive import FEWEST_KNOWN
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.by_group import ByGroup
from judgeloop.methods.stopping.rule import Rule
from judgeloop.report.words import count, per_cent
from judgeloop.runs.forecast import EVEN, EqualSystem, GroupOutlook, Range

# Assumed by the expected case until enough verdicts are known: shares in per cent. Who asks whether
# a system is not worse expects no lead.
ASSUMED_TIES = 30
AHEAD, LEVEL = (45, 25), (35, 35)  # the wins beside these ties
CLEARLY = 0.45  # of the runs are open: fewer than half, also as simulations vary
STEPS = 20  # a limit is found to a part of so many
TIES_TRIED = 0.0, 0.3, 0.7  # while no share of ties is known


def judgments_to_decide(
    rule: Rule, tally: Tally, limits: Limits, *, asked: int, ties: float | None
) -> tuple[Range, str | None]:
    """The range of further judgments for a run at `tally`, and the assumption behind it.

    `asked` is the number of items asked about so far, and `ties` a share that is known. Low: the
    fewest judgments that can meet the rule. Expected: with the shares so far, or with assumed shares. Worst:
    all judgments that the limit allows. The assumption is a sentence on the assumed shares, None if none are.
    """
    most = min(limits.max_judgments, tally.items) - asked
    (ahead, behind), tied = _assumed(rule, ties)
    lead = f"one system wins {ahead} % and the other {behind} % of the items"
    so_far = f"beside the {count(tally.judged, 'item')} known so far" if tally.judged else ""
    said = f"that{so_far and f', {so_far},'} {'both systems are level' if ahead == behind else lead}, with "
    said += f"{tied} % ties" if ties is None else f"{per_cent(ties)} ties"
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


def shares_of_ties(alike: float, *counted: tuple[int, int]) -> tuple[float, ...]:
    """The share of ties that is expected; several where no judge has said it of enough items, the usual in the middle.

    `alike` is the share of items with identical outputs, which are ties. Of the others `counted` says how many were
    ties, of how many; the first that are enough count.

    >>> shares_of_ties(0.0, (1, 2), (10, 40)), shares_of_ties(0.5, (10, 40)), shares_of_ties(0.5)
    ((0.25,), (0.625,), (0.5, 0.65, 0.85))
    """
    said = next((ties / judged for ties, judged in counted if judged >= FEWEST_KNOWN), None)
    tried = TIES_TRIED if said is None else (said,)
    return tuple(dict.fromkeys(alike + (1 - alike) * share for share in tried))


def usual_of(ties: Sequence[float]) -> float:
    """The share of ties in the middle, as `forecast.usual` takes it."""
    return ties[len(ties) // 2]


def with_an_equal_system(rule: Rule, ties: Iterable[float], pool: int) -> tuple[EqualSystem, ...]:
    """What a rule for "not worse" does with an equal system, for each share of ties; () for another rule.

    The chances are simulated, and 19 in 20 right within 3 points. `pool` is the number of items that there are.
    """
    if not isinstance(rule, Bets) or rule.not_worse is None:
        return ()
    return tuple(_equal(rule, rule.not_worse, share, pool) for share in ties)


def foreseen(groups: ByGroup[str | None], ties: float) -> tuple[GroupOutlook, ...]:
    """What each tested group can show with this share of ties, the largest first."""
    return tuple(
        GroupOutlook(group, items, groups.gap_found(items, 1 - ties)) for group, items in groups.sizes.most_common()
    )


def _equal(rule: Bets, margin: float, ties: float, pool: int) -> EqualSystem:
    decisive, items = 1 - ties, math.inf if rule.items >= UNLIMITED else float(rule.items)
    found = rule.outlook(0.0, ties)
    needed = limit_to_pass(margin, rule.threshold, decisive, items)
    fails = min(found.first, rule.threshold)  # simulated, and proved to be no more
    low = found.second < EVEN and rule.most < pool < needed
    return EqualSystem(
        ties,
        found.judgments,
        found.second,
        fails,
        1 - found.second - fails,
        limit_for_80=needed,
        margin_for_80=margin_passed(rule.most, rule.threshold, decisive, items),
        limit=rule.most,
        most=pool,
        passes_at_most=replace(rule, limit=pool).outlook(0.0, ties).second if low else None,
    )


def needs_more(rule: Rule, pool: int) -> int | None:
    """A limit within which most runs decide, where at most half do within that of the rule; None where more do.

    0 if at most half of those do that may judge the whole `pool`. The shares are the assumed ones.
    """
    if not isinstance(rule, Bets):
        return None
    (ahead, behind), tied = _assumed(rule, None)
    shares = (ahead - behind) / 100, tied / 100

    def decides(limit: int) -> bool:
        return replace(rule, limit=limit).outlook(*shares).none < CLEARLY

    if rule.outlook(*shares).none < EVEN:
        return None
    if not decides(pool):
        return 0
    too_low, enough = rule.most, pool
    while enough - too_low > max(1, enough // STEPS):
        middle = (too_low + enough) // 2
        too_low, enough = (too_low, middle) if decides(middle) else (middle, enough)
    return enough


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
