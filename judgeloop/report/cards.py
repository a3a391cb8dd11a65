"""The cards of a page in a browser that all questions share: the cost, the judge, live systems, how to repeat.

Reads a `RunResult`, returns sections and tables. `sentences.py` has the same facts for a terminal.
"""

from itertools import zip_longest

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import Control, ControlTally, Generated
from judgeloop.report.escaping import visible
from judgeloop.report.page import Section, Table
from judgeloop.report.run_result import RunResult
from judgeloop.report.sentences import agreement, money, rows, with_known
from judgeloop.report.words import count, dollars, per_cent, seconds

SHOWN_ONCE = "each pair was shown in one order"
A_CONTROL = "a control", "shows the judge an answer to a question beside one to another question"
ENDS = {Control.PASSED: "passed", Control.FAILED: "not passed", Control.NOT_SHOWN: "not passed", None: "not finished"}
TIED = "; each counts as a tie"
NOT_ASKED = "not asked; `controls=on` asks them first"


def costs(result: RunResult) -> Section:
    """Return what was paid, for what, and what judging everything would have cost."""
    spend, every = result.spend, f"all {count(result.queries_in_all, 'judgment')}"
    whole = result.usd_of_all
    if whole is None:
        free = result.judged and spend.known and not spend.charged_p and not spend.remembered
        whole = 0.0 if free else None
    return Section(
        "What it cost",
        rows(
            ("paid", money(result)),
            ("all answers", f"{show_usd(spend.answers_p)}, with those known from before" if with_known(result) else ""),
            (
                "of it",
                f"{show_usd(spend.unconfirmed_p)} for attempts that failed, at their maximum: they may not be billed"
                if spend.unconfirmed_p
                else "",
            ),
            *_parts(result),
            ("recorded", show_usd(spend.rehearsed_p) if spend.rehearsed_p else ""),
            ("judgments", f"{result.judged:,} of {result.queries_in_all:,}{result.also_judged}"),
            (every, "" if whole is None else f"about {dollars(whole)}"),
            *_with_outputs(result, whole),
            (
                "calls",
                f"{spend.attempts:,} made now, {spend.remembered:,} answered from the ledger{_for_controls(result)}",
            ),
        ),
    )


def _for_controls(result: RunResult) -> str:
    """Return how many controls the calls include, and what they cost, where this command asked them."""
    asked = sum(one.asked for one in result.counts.controls if one is not None)
    spend = result.spend
    cost = f" ({show_usd(spend.controls_p)}, paid now or before)" if spend.controls_p else ""
    said = f"; among all these are the calls for {count(asked, 'control')}{cost}"
    return said if result.setup.controlled and asked else ""


def _parts(result: RunResult) -> list[tuple[str, str]]:
    """Return what went into outputs and what into judging, if systems answered live."""
    parts = (("for outputs", result.generating_usd), ("for judging", result.judging_usd))
    live = result.counts.generated
    return [(name, dollars(usd)) for name, usd in parts if live and usd is not None]


def _with_outputs(result: RunResult, judging: float | None) -> list[tuple[str, str]]:
    """Return what all outputs of systems that answer live would have cost, and that with all judging."""
    each = [one.usd_of_all for one in result.counts.generated]
    outputs = sum(usd or 0.0 for usd in each)
    if judging is None or not each or None in each:
        return []
    return [
        (f"all {count(result.items * len(each), 'output')}", f"about {dollars(outputs)}"),
        ("all of both", f"about {dollars(outputs + judging)}"),
    ]


def trust(result: RunResult) -> Section:
    """Return what is known of the judge: controls, verdicts that changed with the order, no verdict."""
    counts, setup = result.counts, result.setup
    return Section(
        "Can this judge be trusted?",
        rows(
            ("judge", setup.judge),
            *_controls(result),
            ("order", "" if setup.order is None else _order(result)),
            ("no verdict", counts.silent),
            ("agreement", agreement(result)),
        ),
    )


def _controls(result: RunResult) -> list[tuple[str, str]]:
    """Return how many answers to another question each judge told from one to this."""
    if not result.setup.controlled and not any(result.counts.controls):
        shown = result.setup.order is not None or result.setup.prompt
        return [("controls", NOT_ASKED)] if shown else []
    found = zip_longest(result.setup.judges, result.counts.controls)
    asked = [(name, tally) for name, tally in found if tally is not None]
    earlier = "" if result.setup.controlled else "; asked by an earlier command of this run"
    whose = [f" of {name}" if len(asked) > 1 else "" for name, _ in asked]
    rows = [
        (f"controls{of}", f"{_right(tally)}, {ENDS[tally.end]}{earlier}")
        for of, (_, tally) in zip(whose, asked, strict=True)
    ]
    return [*rows, A_CONTROL] if rows else []


def _right(tally: ControlTally) -> str:
    """Return how many controls were right; those without a verdict are named apart."""
    if tally.abstained == tally.asked:
        return "none has a verdict"
    lacking = f", {tally.abstained:,} without a verdict" if tally.abstained else ""
    return f"{tally.right:,} of {tally.asked:,} right{lacking}"


def _order(result: RunResult) -> str:
    """Return how many verdicts changed with the order of presentation."""
    counts = result.counts
    if not counts.judged:
        return "nothing is judged"
    if result.identical == counts.judged:
        return "no pair was shown, as the outputs are identical"
    if counts.flip_rate is None:
        return SHOWN_ONCE
    changed = f"changed {counts.flips:,} of {count(counts.both_orders, 'verdict')} asked in both ({per_cent(counts.flip_rate)})"
    return f"{changed}{counts.and_beside}{TIED if counts.flips else ''}"


def systems(result: RunResult) -> tuple[Table, ...]:
    """Return price and speed of the systems that answer live, if there are any."""
    every = result.counts.generated
    if not every:
        return ()
    columns = ("system", "asked", "each", f"all {result.items:,}", "median", "95 %")
    note = (
        "Price and seconds of a whole output asked for now. All items: an estimate, which counts the "
        "outputs from the ledger, too."
    )
    return (Table("The systems that answered", columns, tuple(map(_live, every)), note),)


def _live(one: Generated) -> tuple[str, ...]:
    each = one.usd / one.asked if one.asked and one.usd is not None else None
    return (
        visible(one.system),
        f"{one.asked:,}",
        *("" if usd is None else dollars(usd) for usd in (each, one.usd_of_all)),
        *("" if value is None else seconds(value) for value in (one.seconds_median, one.seconds_p95)),
    )


def once(result: RunResult) -> Section:
    """Return what names the run: version, seed, run id; the command line adds what was typed."""
    setup = result.setup
    named = (("version", f"judgeloop {setup.version}"), ("seed", str(setup.seed)), ("run", setup.run))
    return Section("How to do it again", rows(*named))
