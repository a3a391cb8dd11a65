"""A result and a plan as text: the decision first, then what it rests on.

Nothing is printed here, and no figure is worked out here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from judgeloop.money import show_usd, to_usd
from judgeloop.planning import Plan
from judgeloop.records import StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.result import SCHEMA_VERSION, Result

LEAST_RISK_SHOWN = 0.001
MANY_FLIPS = 0.5  # share of verdicts that change with the order, above which the judge judges places


CUT_SHORT = {
    StopKind.INTERRUPTED: "the same command goes on from here",
    StopKind.DEADLINE: "the same command goes on from here",
    StopKind.JUDGE_FAILED: "once that is mended, the same command goes on from here",
    StopKind.ABSTENTIONS: "once that is mended, the same command goes on from here",
}


def headline(result: Result) -> str:
    """The decision in one line."""
    line = _decision(result)
    if result.flip_rate is not None and result.flip_rate > MANY_FLIPS:
        line += f"; beware: {result.flip_rate:.0%} of the verdicts changed with the order of presentation"
    required = result.setup.required_winner
    if required not in {None, result.winner} and result.winner is not None:
        return f"FAILED: {visible(required or '')} was required, and {line}"
    return line


def _decision(result: Result) -> str:
    if result.winner is not None:
        loser = next(name for name in result.setup.systems if name != result.winner)
        return f"{visible(result.winner)} is better than {visible(loser)}: {_standing(result)}"
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"{_no_difference(result)}: {_standing(result)}"
    return f"undecided: {visible(result.stop_sentence)}; {_what_would_decide(result)}; {_standing(result)}"


def _no_difference(result: Result) -> str:
    first, second = map(visible, result.setup.systems)
    within = f"the win distance is within {result.setup.near_tie:g} of zero"
    return f"no practical difference between {first} and {second}, as {within}"


def _standing(result: Result) -> str:
    judged = f"{result.judged} of {result.items} items judged"
    if result.stop_reason is StopKind.NO_DIFFERENCE:
        return f"stated risk {result.setup.risk_threshold:g} (guaranteed), {judged}, {_money(result)}"
    if result.winner is not None:
        return f"{_risk(result)}, {judged}, {_money(result)}"
    if result.leader is None:
        return f"{judged}, {_money(result)}"
    votes = ":".join(str(count) for count in sorted(result.wins.values(), reverse=True))
    return f"{judged}, {votes} for {visible(result.leader)}, {_risk(result)}, {_money(result)}"


def details(result: Result) -> list[tuple[str, str]]:
    """What the decision rests on, as pairs of a name and a sentence."""
    rows = [("votes", _votes(result)), ("gap", _gap(result)), ("rule", _rule(result))]
    rows += [("judge", _judge(result)), ("selector", _selector(result)), ("cost", _cost(result))]
    if result.decoys is not None:
        rows.append(("decoys", _decoys(result)))
    for name, count in result.setup.repeated.items():
        rows.append(
            ("beware", f"{visible(name)} gives the very same output to {count} of {result.items} items")
        )
    if result.setup.left_out:
        rows.append(("left out", visible(result.setup.left_out)))
    return rows


def render(result: Result) -> str:
    """The whole result for a terminal or a log."""
    rows = details(result)
    width = max(len(name) for name, _ in rows)
    return "\n".join([headline(result), *(f"  {name:<{width}}  {text}" for name, text in rows)])


def render_plan(plan: Plan, result: Result, *, priced: bool) -> str:
    """A dry run's forecast, as text; `priced` says whether its dollars mean anything."""
    if plan.calls.worst == 0 or result.stop_reason is not StopKind.DRY_RUN:
        return f"nothing to ask: the ledger already decides.\n{render(result)}"
    known = f"; {result.asked} items are answered from the ledger" if result.asked else ""
    money = [show_usd(cost_p) for cost_p in (plan.cost_p.low, plan.cost_p.expected, plan.cost_p.worst)]
    rows = [
        ("", "low", "expected", "worst"),
        ("judgments", *_three(plan.judgments.low, plan.judgments.expected, plan.judgments.worst)),
        ("calls", *_three(plan.calls.low, plan.calls.expected, plan.calls.worst)),
        ("cost", *money),
    ]
    table = "\n".join(f"  {a:<10}{b:>10}{c:>10}{d:>10}" for a, b, c, d in rows)
    basis = (
        "the expected case assumes 45 % to 25 % wins and 30 % ties"
        if plan.assumed
        else "the expected case assumes that the votes in the ledger go on as they are"
    )
    unpriced = "" if priced else "; the model has no known price"
    return (
        f"a dry run asks nobody and spends nothing{known}\n{table}\n"
        f"  {basis}; the worst is every allowed judgment at its dearest{unpriced}\n  {_affordable(plan, result)}"
    )


def _affordable(plan: Plan, result: Result) -> str:
    budget = result.spend.budget_p
    if budget is None:
        return "no budget bounds it"
    if plan.affordable is None or plan.affordable >= plan.judgments.worst:
        return f"the budget of {show_usd(budget)} will do"
    ends = (
        "probably before it is decided" if plan.affordable < plan.judgments.expected else "if it takes longer"
    )
    return f"the budget of {show_usd(budget)} pays for about {_count(plan.affordable, 'judgment')}, and ends the run {ends}"


def plan_json(plan: Plan, result: Result, *, priced: bool) -> dict[str, Any]:
    """A dry run's forecast as JSON values; amounts in dollars, null without a price."""
    dollars = {name: float(to_usd(cost_p)) for name, cost_p in asdict(plan.cost_p).items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "compare",
        "dry_run": True,
        "decided_by_ledger": result.winner,
        "answered_from_ledger": result.asked,
        "judgments": asdict(plan.judgments),
        "calls": asdict(plan.calls),
        "usd": dollars if priced else None,
        "expected_is_assumed": plan.assumed,
        "budget_usd": None if result.spend.budget_p is None else float(to_usd(result.spend.budget_p)),
        "budget_pays_for": plan.affordable,
        "run": result.setup.run,
    }


def _three(low: int, expected: int, worst: int) -> tuple[str, str, str]:
    return f"{low:,}", f"{expected:,}", f"{worst:,}"


def _risk(result: Result) -> str:
    if result.stop_reason is StopKind.ALL_JUDGED:
        return "certain, as every item is judged"
    kind = "guaranteed" if result.setup.guarantee else "heuristic"
    return f"stated risk {show_risk(result.risk)} ({kind})"


def show_risk(risk: float) -> str:
    """A risk for people.

    >>> show_risk(0.0861), show_risk(0.00002)
    ('0.086', 'under 0.001')
    """
    return f"{risk:.3f}" if risk >= LEAST_RISK_SHOWN else f"under {LEAST_RISK_SHOWN}"


def _money(result: Result) -> str:
    spend = result.spend
    spent = show_usd(spend.run_p) if spend.known else "an unknown amount"
    if spend.budget_p is None:
        return f"{spent} spent"
    if spend.charged_p > spend.budget_p and spend.run_p:
        return f"BUDGET EXCEEDED: {spent} of {show_usd(spend.budget_p)} spent"
    return f"{spent} of {show_usd(spend.budget_p)} spent"


def _what_would_decide(result: Result) -> str:
    if result.stop_reason in CUT_SHORT:
        return CUT_SHORT[result.stop_reason]
    if result.asked == result.items:
        return "nothing is left to judge"
    if result.judged == 0:
        return "nothing is judged"
    if result.leader is None:
        return "the systems are level, so no number of judgments is in sight that would decide"
    if result.more_judgments is None:
        return f"at these shares not even all {result.items} items would decide"
    cost = f" (about {show_usd(result.more_p)})" if result.more_p else ""
    return f"about {_count(result.more_judgments, 'more judgment')}{cost} would probably decide"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _votes(result: Result) -> str:
    wins = ", ".join(f"{count} for {visible(name)}" for name, count in result.wins.items())
    text = f"{wins}, {_count(result.ties, 'tie')}, {_count(result.abstentions, 'abstention')}"
    aside = result.asked - result.judged - result.abstentions - result.ahead
    return text + (f"; {aside} more were judged and left the decision" if aside else "")


def _gap(result: Result) -> str:
    if result.win_distance is None:
        return "nothing is judged"
    towards = f" for {visible(result.leader)}" if result.leader else ""
    if result.win_distance_biased:
        return (
            f"{result.win_distance:.2f}{towards} among the judged items, which were picked and do not stand for "
            "the others: not an estimate for all items"
        )
    return f"{result.win_distance:.2f}{towards} among the judged items{_bounds(result)}"


def _bounds(result: Result) -> str:
    if (
        result.win_distance_interval is None
        or result.win_distance_interval[0] == result.win_distance_interval[1]
    ):
        return ""
    low, high = result.win_distance_interval
    if result.leader == result.setup.systems[1]:
        low, high = -high, -low
    return (
        f"; over all items at least {_signed(low)} and at most {_signed(high)} (each bound wrong with a chance of at most "
        f"{result.setup.risk_threshold:g}, whenever one looks)"
    )


def _signed(distance: float) -> str:
    """A win distance for people, without a sign on zero."""
    return f"{round(distance, 2) + 0.0:.2f}"


def _rule(result: Result) -> str:
    promise = result.setup.guarantee or "heuristic: it looks many times, and no bound is proved"
    return f"{result.setup.rule}, to stop at a stated risk of {result.setup.risk_threshold:g} ({promise})"


def _judge(result: Result) -> str:
    text = visible(result.setup.judge)
    text += _models(result)
    if result.setup.vote:
        text += f"; by {result.setup.vote}"
    if result.agreement:
        agreement = result.agreement
        text += f", {agreement.name} {agreement.value:.2f} on {_count(agreement.items, 'item')}"
    if result.setup.order:
        text += f"; order {result.setup.order}"
    if result.flip_rate is not None:
        text += f", {result.flips} of {result.judged} verdicts flipped with it ({result.flip_rate:.0%})"
    return text


def _models(result: Result) -> str:
    """What the servers called their models, where that is not what was asked for."""
    text = ""
    for judge, models in zip(result.setup.judges, result.judge_models, strict=True):
        asked = judge.partition("/")[2] or judge
        if len(models) > 1:
            text += f"; the model of {visible(judge)} changed during the run: {', then '.join(map(visible, models))}"
        elif models and models[0] != asked:
            text += f"; the server of {visible(judge)} calls it {visible(models[0])}"
    return text


def _decoys(result: Result) -> str:
    decoys = result.decoys
    assert decoys is not None
    judged = decoys.won + decoys.tied + decoys.lost
    text = f"{decoys.won} of {_count(judged, 'empty or constant answer')} beat a real one, {decoys.tied} tied"
    if 2 * (2 * decoys.won + decoys.tied) > judged:  # more than a quarter of the points
        text += ": this judge can be fooled, and its verdicts deserve little trust"
    return text


def _selector(result: Result) -> str:
    represent = f" on {visible(result.setup.represent)} vectors" if result.setup.represent else ""
    variant = f" ({result.setup.variant})" if result.setup.variant else ""
    return f"{result.setup.selector}{variant}{represent}, seed {result.setup.seed}"


def _cost(result: Result) -> str:
    spend = result.spend
    now = f"{show_usd(spend.now_p)} now" if spend.known else "unknown: the model has no known price"
    text = f"{now}, {_count(spend.attempts, 'attempt')} made, {spend.remembered} answered from the ledger"
    if spend.unconfirmed_p:
        text += f"; {show_usd(spend.unconfirmed_p)} of it charged for attempts without a reply, which may not be billed"
    if result.ahead:
        about = f", for about {show_usd(result.ahead_p)}" if result.ahead_p else ""
        text += f"; {_count(result.ahead, 'item')} asked ahead and not needed{about}"
    if spend.run_p != spend.now_p:
        text += f"; {show_usd(spend.run_p)} with the commands before"
    if spend.rehearsed_p:
        text += f"; {show_usd(spend.rehearsed_p)} rehearsed with recorded costs"
    return text
