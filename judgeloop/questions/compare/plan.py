"""How many further judgments a comparison is likely to take, for the forecast and for the result.

Takes a rule, a tally and the limits; returns numbers of judgments. Asks no judge. Prices are added
in `run/plan.py`.
"""

import math
from dataclasses import replace

from judgeloop.catalogue import rule_row
from judgeloop.core.outcomes import Tally
from judgeloop.engine.session import Limits
from judgeloop.methods.stats.margins import MOST_CALIBRATED, limit_to_pass, margin_passed
from judgeloop.methods.stopping.by_group import ByGroup
from judgeloop.methods.stopping.by_table import ByTable, NotWorse
from judgeloop.methods.stopping.rule import Rule, first_met
from judgeloop.run.plan import EVEN, FEWEST_KNOWN, EqualSystem, GroupOutlook, Range

# Assumed by the expected case until enough verdicts are known: shares in per cent. Who asks whether
# a system is not worse expects no lead.
ASSUMED_TIES = 30
AHEAD, LEVEL = (45, 25), (35, 35)  # the wins beside these ties
TIES_TRIED = 0.0, 0.3, 0.7  # while no share of ties is known
BEYOND = 100  # times the items of a set


def judgments_to_decide(
    rule: Rule, tally: Tally, limits: Limits, *, asked: int, ties: float | None
) -> tuple[Range, str | None]:
    """Return the range of further judgments for a run at `tally`, and the assumption behind it.

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
    judgments = Range(
        low=_fewest(rule, tally, limits, most), expected=_expected(rule, tally, shares, limits, most), worst=most
    )
    return judgments, said if assumed else None


def _assumed(rule: Rule, ties: float | None) -> tuple[tuple[int, int], int]:
    """Return assumed wins and ties, in per cent; the ties are known ones if there are any."""
    tied = ASSUMED_TIES if ties is None else round(100 * ties)
    ahead, behind = (
        round(won * (100 - tied) / (100 - ASSUMED_TIES)) for won in (AHEAD if rule.expects_lead else LEVEL)
    )
    return (ahead, behind), 100 - ahead - behind


def _usual(rule: Rule, tally: Tally, ties: float | None = None) -> Tally:
    """Return the shares of a tally, with assumed verdicts in the place of those that it lacks to say them."""
    (ahead, behind), tied = _assumed(rule, ties)
    if tally.leader is None:
        return replace(tally, wins=(ahead, behind), ties=tied)
    more = max(0, FEWEST_KNOWN - tally.judged)
    first, second = (
        100 * won + more * (ahead if system == tally.leader else behind) for system, won in enumerate(tally.wins)
    )
    return replace(tally, wins=(first, second), ties=100 * tally.ties + more * tied)


def share_of_ties(*counted: tuple[int, int]) -> float | None:
    """Return the first share of ties, of so many items, that enough items say; None without one.

    >>> share_of_ties((1, 2), (10, 40)), share_of_ties((1, 2))
    (0.25, None)
    """
    return next((ties / judged for ties, judged in counted if judged >= FEWEST_KNOWN), None)


def with_an_equal_system(rule: Rule, ties: float | None, pool: int) -> tuple[EqualSystem, ...]:
    """Return what a rule for "not worse" does with an equal system; () for another rule.

    For a known share of ties, else for several shares. The chances are exact. `pool` is the number of
    items that there are.
    """
    if not isinstance(rule, NotWorse):
        return ()
    return tuple(_equal(rule, share, min(pool, MOST_CALIBRATED)) for share in (TIES_TRIED if ties is None else [ties]))


def foreseen(groups: ByGroup[str | None] | None, ties: float | None) -> tuple[GroupOutlook, ...]:
    """Return what each tested group can show, the largest first; () if none is tested.

    It takes 30 % ties where their share is not known.
    """
    if groups is None:
        return ()
    decisive = 1 - (ASSUMED_TIES / 100 if ties is None else ties)
    return tuple(
        GroupOutlook(group, items, groups.gap_found(items, decisive)) for group, items in groups.sizes.most_common()
    )


def _equal(rule: NotWorse, ties: float, most: int) -> EqualSystem:
    decisive, table = 1 - ties, rule.table
    found, items = table.outlook(0.0, decisive), table.items or math.inf
    needed = limit_to_pass(rule.gap, rule.threshold, decisive, items)
    low = found.answers[0] < EVEN and table.limit < most < needed
    return EqualSystem(
        ties,
        found.judgments,
        *found.answers,
        found.none,
        limit_for_80=needed,
        margin_for_80=margin_passed(table.limit, rule.threshold, decisive, items),
        limit=table.limit,
        most=most,
        passes_at_most=replace(rule, limit=most).table.outlook(0.0, decisive).answers[0] if low else None,
    )


def more_to_decide(rule: Rule, tally: Tally, limits: Limits, unasked: int, *, sampled: bool) -> int | None:
    """Return how many further judgments would decide if the shares continue; of few verdicts with assumed ones.

    None if not even all of them would decide. Judging all `unasked` items decides whatever the rule
    says, unless an item has no verdict, the systems are level, or the items are `sampled` from what
    the decision is about. Once none of those is left, judgments on more items are counted for a rule
    without a limit, up to `BEYOND` times as many.
    """
    any_length = rule_row("compare", rule.name).any_length
    more_items = sampled and not unasked and any_length
    most = tally.items * (BEYOND if more_items else 1) - tally.abstentions
    least, limit = tally.judged + 1, limits.max_judgments
    enough = None if tally.leader is None else first_met(rule, _usual(rule, tally), least, most, limit)
    enough = enough or first_met(rule, tally, least, most, limit)
    if enough is None and (sampled or tally.abstentions or tally.leader is None):
        return None
    if enough is None:
        return unasked
    return enough - tally.judged if more_items else min(unasked, enough - tally.judged)


def _fewest(rule: Rule, tally: Tally, limits: Limits, most: int) -> int:
    start = max(1, limits.min_judgments - tally.judged)
    return next((n for n in range(start, most) if rule.can_be_met(tally, n)), max(0, most))


def _expected(rule: Rule, tally: Tally, shares: Tally, limits: Limits, most: int) -> int:
    if isinstance(rule, ByTable) and not tally.judged:
        gap = (shares.wins[0] - shares.wins[1]) / shares.judged
        return round(rule.table.outlook(gap, 1 - shares.ties / shares.judged).judgments)
    least = max(tally.judged + 1, limits.min_judgments)
    enough = first_met(rule, shares, least, tally.judged + most, limits.max_judgments)
    return most if enough is None else enough - tally.judged
