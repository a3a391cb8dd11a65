"""The sentences that the results of all questions share: on judge, data and cost.

Reads a `RunResult`, returns text. `notes.py` has the sentences of warnings and advice. A question's
own `text.py` states its decision.
"""

from itertools import zip_longest

from judgeloop.core.choices import Population
from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import Control, ControlTally, Generated, Outcome, StopKind
from judgeloop.core.records import NO_TOKENS, Usage
from judgeloop.core.spend import Spend
from judgeloop.report.escaping import visible
from judgeloop.report.page import WARNING, Section
from judgeloop.report.run_result import RunResult
from judgeloop.report.words import about, count, dollars, per_cent, seconds, sentence, shortened, stopped

GROUP = "group "  # how the names of conditions on single groups begin
HUMAN = "human"  # the name of a person as a judge
LONGEST_RUBRIC = 500  # characters of the criteria that are shown
LONGEST_REASON = 80  # characters of why a system gave no output
LONGEST_CAUSE = 300  # characters of why a run ended, in its headline

ABOUT_THE_JUDGE = "This is about the judge's verdicts on these items, not about whether the judge is right."
ABOUT_LIKE_THESE = "This is about the judge's verdicts on items like these{}, not about whether the judge is right."
ONE_ORDER = ", each shown in one random order"
AS_GIVEN = ", and on outputs as these systems give them"
DRAWN_ONCE = " It is about these outputs, too: asked again, the systems may give others."
ALL_JUDGED = "All items have been judged."
DRAWN_WHOLE = "All items have been judged, so nothing is left to chance."
NOT_NAMED = "No system is named, as it is not shown that such a name is wrong at most {} times."
HEADING_STOP, HEADING_RISK = "Why it stopped", "What the stated risk means"

# What the controls say of a judge.
TELL = "tell an answer to the question from an answer to another question"
CONTROLS = {
    Control.PASSED: f"can {TELL}",
    Control.FAILED: f"cannot {TELL}",
    Control.NOT_SHOWN: f"is not shown to {TELL}",
    None: "has not finished its controls",
}
# Why a run ended without a decision, in a few words; the reason's own sentence says more.
CUT_OFF = "Then the tests of groups were cut off."
ENDED = {
    StopKind.BUDGET: "the budget does not cover another judgment",
    StopKind.JUDGMENT_LIMIT: "the maximum number of judgments is reached",
    StopKind.DEADLINE: "the deadline has passed",
    StopKind.FUTILITY: "a decision within the maximum number of judgments is unlikely",
    StopKind.POOL_EXHAUSTED: "there are no more questions to ask",
    StopKind.INTERRUPTED: "the run was interrupted",
    StopKind.DRY_RUN: "a dry run does not call the judge",
}


def on_items(about: Population, items: int, but: int = 0) -> str:
    """Return which items a decision is about: all `but` so many.

    >>> on_items(Population.THESE_ITEMS, 1200), on_items(Population.ITEMS_LIKE_THESE, 12)
    ('on these 1,200 items', 'on items like these 12')
    >>> on_items(Population.THESE_ITEMS, 1200, 20)
    'on 1,180 of these 1,200 items'
    """
    if about is Population.ITEMS_LIKE_THESE:
        return f"on items like these {items:,}"
    some = f"{items - but:,} of " if but else ""
    return f"on {some}these {items:,} items" if items != 1 else "on this one item"


def plainly(result: RunResult, wrong: str, took: str = "", on: str = "") -> str:
    """Return what a decision is about, how likely it is `wrong` and what it took, without statistics."""
    on = on or on_items(result.about, result.items)
    where = "For items like these" if result.setup.sampled else on.capitalize()
    alike = f" ({result.identical:,} with identical outputs)" if result.identical else ""
    took = took or f"{result.judged:,} of {count(result.items, 'item')}{alike}{result.also_judged}"
    spend = result.spend
    paid = show_usd(spend.run_p) if spend.known else "an unknown amount"
    paid += f" ({show_usd(spend.now_p)} of it now)" if spend.known and spend.now_p < spend.run_p else ""
    if result.spend.unconfirmed_p:
        paid += f", of which {show_usd(result.spend.unconfirmed_p)} for attempts that failed"
    risk = f" {wrong}" if wrong and not result.answer.broke_off else ""
    comma = "," if result.also_judged else ""
    return f"{where}, as {judged_by(result)} judges them.{risk} It took {took}{comma} and {paid}{with_known(result)}."


def about_the_judge(result: RunResult) -> str:
    """Return what a decision is about, and what it does not say."""
    live = bool(result.counts.generated)
    if not result.setup.sampled:
        return f"{ABOUT_THE_JUDGE}{DRAWN_ONCE if live else ''}"
    order = ONE_ORDER if result.setup.one_order else ""
    return ABOUT_LIKE_THESE.format(f"{order}{AS_GIVEN if live else ''}")


def promise(result: RunResult, guarantee: str) -> str:
    """Return what is proved, and what it does not say."""
    return f"Guaranteed: {visible(guarantee)}. {about_the_judge(result)}"


def ended(result: RunResult) -> str:
    """Return why a run ended before all was answered, in few words; in full where calls had failed.

    A full stop is left to the caller (`stopped`).
    """
    stop, sentence = result.halt.kind, result.halt.sentence
    why = shortened(visible(sentence), LONGEST_CAUSE).rstrip(".")
    if result.lost_to_failures:
        return f"attempts that failed, and may have been billed, used up the budget: {why}"
    if stop is StopKind.BUDGET and result.spend.ledger_is_short:
        return visible(sentence).rpartition("; ")[0]  # without what to do
    failing = stop is StopKind.DEADLINE and "; " in sentence
    return why if failing else ENDED.get(stop, why)


def headline(result: RunResult, decision: str) -> str:
    """Return the outcome in a word, why it is so where the answer is not the reason, and the decision."""
    required, first = visible(result.setup.required_winner or ""), result.outcome.said.upper()
    if result.stop_reason is StopKind.CONTROLS:
        decision = f"no result {on_items(result.about, result.items)}: {stopped(visible(result.stop_sentence))}"
    elif required and result.answer is Outcome.FAILED:
        decision = f"{required} was required, and {decision}"
    elif required and result.answer is Outcome.NOT_SHOWN:
        decision = f"that {required} is better was required. {decision}"
    if result.outcome is result.answer:
        return decision if result.outcome in {Outcome.DECIDED, Outcome.UNDECIDED} else f"{first}: {decision}"
    if result.outcome is Outcome.PASSED:
        return f"{first}: {decision}"
    failing = [one for one in result.conditions[1:] if one.outcome.exit_code not in {0, result.answer.exit_code}]
    failing = [one for one in failing if not one.name.startswith(GROUP)]
    why = next(one for one in failing if one.outcome is result.outcome).sentence
    others = f" and {len(failing) - 1} more" if failing[1:] else ""
    return f"{first}: {stopped(f'{visible(why)}{others}')} {decision}"


def summed_up(result: RunResult, *standing: str) -> tuple[str, ...]:
    """Return the summary: where the question stands, what would decide it, and the warnings."""
    advice = " ".join(note.message for note in result.advice)
    warnings = (f"{WARNING} {note.message}" for note in result.warnings)
    return (*standing, *([advice] if advice else []), *warnings)


def notes(result: RunResult, heading: str, means: str, *, whole: bool = False) -> tuple[Section, ...]:
    """Return why the run ended, and under `heading` what its risk or interval `means`.

    The second is left out if nothing is judged, or if `means` is empty. `whole`: every item is
    judged, so that the risk at which the rule ended the run is no longer the stated one.
    """
    met = whole and result.stop_reason is StopKind.RISK_MET
    said = ALL_JUDGED if met else sentence(visible(result.stop_sentence))
    if result.halt.kind is not result.stop_reason:
        said += f" {CUT_OFF} {sentence(visible(result.halt.sentence))}"
    why = Section(HEADING_STOP, (("", said),))
    return (why, Section(heading, (("", means),))) if result.judged and means else (why,)


def judged_by(result: RunResult) -> str:
    """Return the judges' names, for a sentence."""
    return " + ".join("a person" if name == HUMAN else visible(name) for name in result.setup.judges)


def judge(result: RunResult) -> str:
    """Return the judge's name, with its agreement, order and flipped verdicts."""
    text = visible(result.setup.judge)
    text += _models(result)
    if result.setup.vote:
        text += f"; by {result.setup.vote}"
    if agreed := agreement(result):
        text += f", {agreed}"
    if result.setup.prompt:
        text += f"; prompt {visible(result.setup.prompt)}"
    if result.setup.order:
        text += f"; order {result.setup.order}"
    return text + _flips(result)


def agreement(result: RunResult) -> str:
    """Return how often a panel's judges agree, and how far beyond chance; "" for one, and for ratings."""
    found = result.counts.agreement
    if found is None or "agreement" in result.LEFT_OUT:
        return ""
    beyond = "" if found.value is None else f", {found.name} {found.value:.2f}"
    of = f"{found.same:,} of {count(found.items, 'item')}"
    return f"the same verdict on {of} ({_share(found.same / found.items, found.interval)}){beyond}"


def _share(share: float, interval: tuple[float, float]) -> str:
    low, high = map(per_cent, interval)
    return f"{per_cent(share)}, 95 % interval {low} to {high}"


def _flips(result: RunResult) -> str:
    """Return how many verdicts changed with the order, of those asked in both orders."""
    if result.counts.flip_rate is None or result.counts.flip_interval is None:
        return ""
    share = _share(result.counts.flip_rate, result.counts.flip_interval)
    return f", {result.counts.flips:,} of {count(result.counts.both_orders, 'verdict')} asked in both orders flipped ({share}){result.counts.and_beside}"


def _models(result: RunResult) -> str:
    """Return the model names that servers reported, where they differ from the requested names."""
    text = ""
    for judge, models in zip(result.setup.judges, result.counts.judge_models, strict=True):
        asked = judge.partition("/")[2] or judge
        if len(models) > 1:
            text += f"; the model of {visible(judge)} changed during the run: {', then '.join(map(visible, models))}"
        elif models and models[0] != asked:
            text += f"; the server of {visible(judge)} calls it {visible(models[0])}"
    return text


def with_known(result: RunResult) -> str:
    """Return what the answers cost in all, where other runs paid for some of them; empty if they did not."""
    spend = result.spend
    in_all = show_usd(spend.answers_p)
    more = spend.answers_p > spend.charged_p and in_all != show_usd(spend.charged_p)
    return f"; with answers known from before, {in_all}" if spend.known and more else ""


def money(result: RunResult) -> str:
    """Return the money spent and the budget."""
    spend = result.spend
    spent = show_usd(spend.run_p) if spend.known else "an unknown amount"
    now = f", {show_usd(spend.now_p)} of it now" if spend.known and spend.now_p < spend.run_p else ""
    if spend.budget_p is None:
        return f"{spent}{now}"
    if result.setup.night and not spend.over_p:  # its own part depends on when it ran
        return f"{spent} of the night's budget{now}"
    budget = show_usd(spend.budget_p)
    if not spend.beyond:
        used_up = result.stop_reason is StopKind.BUDGET and spend.rehearsed_p
        recorded = f", and {show_usd(spend.rehearsed_p)} of recorded costs" if used_up else ""
        return f"{spent} of {budget}{now}{recorded}"
    # Nothing is reserved beyond the budget in force, so that only a contradicted quote exceeds it.
    if spend.over_p:
        return f"BUDGET EXCEEDED: {spent} of {budget}"
    by = "with other commands" if spend.now_p else "spent by earlier commands"
    return f"{spent}, {by}, of a budget of {budget} now"


def cost(result: RunResult) -> str:
    """Return the cost of the run, its attempts, and what was answered from the ledger."""
    spend = result.spend
    now = f"{show_usd(spend.now_p)} now" if spend.known else "unknown, as the model has no price"
    ahead = result.counts.ahead
    what = "paid for" if result.ahead_usd else "given"
    unneeded = f"{count(ahead, 'more answer')} {'was' if ahead == 1 else 'were'} {what}, and not needed"
    parts = [
        (
            f"{now}{_of_outputs(result)}, {count(spend.attempts, 'attempt')}, {spend.remembered:,} answered "
            "from the ledger"
        ),
        f"decided earlier, on {result.counts.decided_at[:10]}"
        if result.counts.decided_at and result.answer.answered
        else "",
        _of_all(result),
        tokens(spend.tokens),
        f"prompt caching saved {show_usd(spend.cached_p)}" if spend.cached_p > 0 else "",
        *_doubtful(spend),
        f"{unneeded}{about(result.ahead_usd)}" if ahead and not result.answer.broke_off else "",
        f"{show_usd(spend.rehearsed_p)} of recorded costs" if spend.rehearsed_p else "",
    ]
    return "; ".join(filter(None, parts))


def _of_all(result: RunResult) -> str:
    """Return what it would probably cost to judge everything; empty if that is not known, or done."""
    usd, all_ = result.usd_of_all, result.queries_in_all
    return "" if not usd or result.judged >= all_ else f"judging all {all_:,} would cost about {dollars(usd)}"


def _of_outputs(result: RunResult) -> str:
    """Return how much of the cost of this command is for outputs, and how much for judging."""
    outputs, judging = result.generating_usd, result.judging_usd
    if not result.counts.generated or outputs is None or judging is None:
        return ""
    return f" ({dollars(outputs)} for outputs, {dollars(judging)} for judging)"


def generating(result: RunResult) -> list[tuple[str, str]]:
    """Return a row on each system that answers live: what it gave, at what price and how fast."""
    return [("outputs", _generated(one, result)) for one in result.counts.generated]


def _generated(one: Generated, result: RunResult) -> str:
    models = [model for model in one.models if model != one.system.partition("/")[2]]
    parts = [
        f"{visible(one.system)}: {_asked(one, result)}",
        f"{one.remembered:,} from the ledger, the oldest of {one.oldest[:10]}" if one.remembered else "",
        f"{one.left_out:,} from the ledger left out, as another model answers now" if one.left_out else "",
        f"{one.unjudged:,} paid and not judged" if one.unjudged else "",
        *(
            f"{number:,} {what}"
            for number, what in (
                (one.failed, f"without an output{_other_end(one)}{_reasons(one)}"),
                (one.cut, "cut at the limit of tokens"),
                (one.empty, "empty"),
                (one.thoughts, "with thoughts in tags, which were judged, too"),
                (one.masked, "in which a key was masked"),
                (one.too_long, "too long to be judged"),
            )
            if number
        ),
        f"its server names the model {', then '.join(map(visible, models))}" if models else "",
    ]
    return "; ".join(filter(None, parts))


def _reasons(one: Generated) -> str:
    """Return why a system failed, and on how many items; the most frequent reasons first."""
    shown = [f'"{shortened(reason, LONGEST_REASON)}" ({number:,})' for reason, number in one.why]
    return f": {', '.join(shown)}" if shown else ""


def _other_end(one: Generated) -> str:
    """Return what it would change to treat items without an output in the other way."""
    if one.lost:
        wins = count(one.lost, "win")
        return f" ({one.lost:,} lost for that; without these items, its rivals have {wins} fewer)"
    wins = count(one.spared, "win")
    return f" (left out; were they lost, its rivals would have {wins} more)" if one.spared else ""


def _asked(one: Generated, result: RunResult) -> str:
    """Return how many outputs were asked for now, at what price, and what all would cost."""
    text = f"{count(one.asked, 'output')} now" if one.asked else "nothing was asked for now"
    text += f" for {dollars(one.usd)}" if one.asked and one.usd is not None else ""
    if one.usd_of_all:
        text += f" (all {result.items:,} would cost about {dollars(one.usd_of_all)}, an estimate)"
    text += f", {one.output_tokens:,} output tokens" if one.output_tokens else ""
    if one.seconds_median is not None and one.seconds_p95 is not None:
        text += f", {seconds(one.seconds_median)} in the median and {seconds(one.seconds_p95)} at 95 %"
    return text


def tokens(usage: Usage) -> str:
    """Return how many tokens were read and written; empty for none."""
    if usage == NO_TOKENS:
        return ""
    read, wrote = (count(usage.input_tokens, "input token"), count(usage.output_tokens, "output token"))
    thought = f", {usage.reasoning_tokens:,} of them thoughts" if usage.reasoning_tokens else ""
    return f"{read} and {wrote}{thought}"


def _doubtful(spend: Spend) -> list[str]:
    """Return which part of the cost is a maximum."""
    if not spend.unconfirmed_p:
        return []
    return [
        (
            f"{show_usd(spend.unconfirmed_p)} of the run's cost is for attempts that failed and may have been "
            "billed, at their maximum (see `judgeloop ledger show --unknown`)"
        )
    ]


def rows(*named: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the rows that have a text, with unseen characters escaped."""
    return tuple((name, visible(text)) for name, text in named if text)


def shared(result: RunResult) -> list[tuple[str, str]]:
    """Return the rows of all questions, on cost, criteria, controls and data; some are empty."""
    return [*generating(result), ("cost", cost(result)), ("price", result.setup.prices), *about_data(result)]


def about_data(result: RunResult) -> list[tuple[str, str]]:
    """Return the rows on criteria, controls and data; some are empty."""
    setup, data = result.setup, result.data
    return [
        ("rubric", shortened(setup.rubric, LONGEST_RUBRIC)),
        ("controls", _controls(result)),
        ("empty", ", ".join(f"{number:,} of {name}" for name, number in data.empty.items())),
        ("columns", data.guessed),
        ("not asked", visible(data.beyond)),
        ("tier", setup.tier),
    ]


def _controls(result: RunResult) -> str:
    """Return what each judge made of its controls; empty if none were wanted."""
    if not result.setup.controlled and not any(result.counts.controls):
        return ""
    judges = zip_longest(result.setup.judges, result.counts.controls)
    found = "; ".join(of_controls(name, tally) for name, tally in judges)
    return found if result.setup.controlled else f"{found}; asked by an earlier command of this run"


def of_controls(judge: str, tally: ControlTally | None) -> str:
    """Return what a judge made of its controls; None is no model's."""
    if tally is None:
        return f"none for {judge}, which is no model"
    if not tally.asked:
        return f"{judge} has given no verdict on its controls"
    found = f"{tally.right:,} right, {count(tally.tied, 'tie')}, {tally.wrong:,} wrong"
    found += f", {count(tally.abstained, 'abstention')}" if tally.abstained else ""
    return f"{judge} {CONTROLS[tally.end]} ({found})"
