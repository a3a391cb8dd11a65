"""The facts that all questions share: what must hold, the cost, the judge, the data, and how to do it again.

Reads a `RunResult`. These are the only sentences on them: terminal, browser, Markdown, LaTeX, JUnit and a night show
the same list. `notes.py` has the sentences of warnings and advice.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat, zip_longest

from judgeloop.core.money import show_usd
from judgeloop.core.outcomes import CUT_OFF, LAST_FAILED, TELL, Condition, Control, ControlTally, Outcome, StopKind
from judgeloop.core.records import NO_TOKENS, PAIR, USUAL_FLIPS, Population, Usage
from judgeloop.core.spend import Spend
from judgeloop.methods.stats.intervals import chance_of_so_many, wilson_interval
from judgeloop.report.before import tested_before
from judgeloop.report.generated import given
from judgeloop.report.leanings import said_of
from judgeloop.report.notes import Note, NoteCode
from judgeloop.report.page import BADGES, COST, Fact, Section, costs, told
from judgeloop.report.records import said_ends
from judgeloop.report.result import FLIPS, TOO_OFTEN, RunResult
from judgeloop.report.words import about, count, dollars, per_cent, plural, sentence, shortened, stopped, visible

LONGEST_RUBRIC = 500  # characters of the criteria that are shown
LONGEST_CAUSE = 600  # characters of why a run ended, in its headline
WITHOUT_A_WORD = {BADGES[one].word for one in (Outcome.DECIDED, Outcome.UNDECIDED)}  # their sentences say it
OTHERWISE = "Otherwise it passes"  # before an answer that is fine, where a condition beside it is not
GROUP = "group "  # how the names of conditions on single groups begin
RANDOM = "random"
ONE_WAY = {RANDOM, "fixed"}  # orders of presentation in which no flip is seen
FLIPS_RISK = 0.05  # of failing a judge with as many flips as may be

ABOUT_THE_JUDGE = "This is about the judge's verdicts on these items, not about whether the judge is right."
ABOUT_PEOPLE = "This is about the verdicts of whoever judged, on {}: other people may judge otherwise."
ABOUT_LIKE_THESE = "This is about the judge's verdicts on items like these{}, not about whether the judge is right."
ONE_ORDER = ", each shown in one random order"
ONE_EACH = ", one to each person"
AS_GIVEN = ", and on outputs as these systems give them"
DRAWN_ONCE = " It is about these outputs, too: asked again, the systems may give others."
NO_RISK = "none is stated: how often such a name is wrong is not known"
ALL_JUDGED = "All items have been judged."
DRAWN_WHOLE = "All items have been judged, so nothing is left to chance."
ALIKE = "All outputs that were drawn are identical: nothing was compared."
NOT_ASKED = "not asked; `controls=on` asks them first"
MAY_CHANGE = "of verdicts may change with the order"
TIED = "; each counts as a tie"

# What the controls say of a judge, and how that stands to what is required of it.
CONTROLS = {
    Control.PASSED: f"can {TELL}",
    Control.FAILED: f"cannot {TELL}",
    Control.NOT_SHOWN: f"is not shown to {TELL}",
    None: "has not finished its controls",
}
OF_CONTROLS = {
    Control.PASSED: Outcome.PASSED,
    Control.FAILED: Outcome.BROKEN,
    Control.NOT_SHOWN: Outcome.BROKEN,
    None: Outcome.UNDECIDED,  # cut off
}
# Why a run ended without a decision, in a few words; the reason's own sentence says more.
GROUPS_CUT_OFF = "Then the tests of groups were cut off."
ENDED = {
    StopKind.BUDGET: "the budget does not cover the next judgment at its maximum cost",
    StopKind.DEADLINE: "the deadline has passed",
    StopKind.FUTILITY: "a decision within the maximum number of judgments is unlikely",
    StopKind.POOL_EXHAUSTED: "no items are left to judge",
    StopKind.INTERRUPTED: "the run was interrupted",
    StopKind.DRY_RUN: "a dry run does not call the judge",
}


def shared(result: RunResult, *, paid: bool = True) -> list[Fact]:
    """The facts of all questions: what must hold, cost, judge, data, what comes next, how to repeat it.

    `paid`: judges were asked, so that there are calls and their cost.
    """
    setup, data = result.setup, result.data
    early = result.answer.answered and result.stop_reason in {StopKind.BUDGET, StopKind.DEADLINE}
    gate = [one for one in result.conditions if one.sentence and not one.name.startswith(GROUP)]

    def said(warning: Note) -> bool:
        """Whether it is shown first: one about the risk is, where a risk is stated."""
        return result.answer.answered or warning.code is not NoteCode.SEARCHED

    return told(
        *([costs(_cost(result))] if paid else []),
        Fact("asked", Section.RISK, "before", tested_before(result), first=(result.risk_in_all or 0.0) < TOO_OFTEN),
        Fact("next", Section.NEXT, "next", " ".join(one.message for one in result.advice), first=True),
        *(Fact(f"warning.{one.code}", Section.WARNING, "", one.message, first=said(one)) for one in result.warnings),
        Fact("fails", Section.GATE, "fails", "; ".join(one.sentence for one in _also_fail(result)), first=True),
        Fact(
            "holds",
            Section.GATE,
            "checks",
            "; ".join(_held(one, result) for one in gate if holds(one, result)),
            first=True,
        ),
        *(Fact(f"gate.{one.name}", Section.GATE, state(one.outcome), _required(one)) for one in gate),
        Fact("ended", Section.EVIDENCE, "ended", _why_ended(result), first=early),
        *_of_judge(result, paid=paid),
        *([Fact("calls", Section.COST, "calls", _calls(result))] if paid else []),
        *(
            Fact(f"outputs.{one.system}", Section.COST, "outputs", given(one, result.items))
            for one in result.counts.generated
        ),
        Fact("price", Section.COST, "price", setup.prices),
        Fact("tier", Section.COST, "tier", setup.tier),
        Fact(
            "empty",
            Section.DATA,
            "empty",
            ", ".join(f"{count(number, 'output')} of {name}" for name, number in data.empty.items()),
        ),
        Fact(
            "ends",
            Section.DATA,
            "not whole",
            "; ".join(f"{visible(name)}: {said_ends(ends)}" for name, ends in data.ended.items()),
        ),
        Fact("columns", Section.DATA, "columns", data.guessed),
        Fact("beyond", Section.DATA, "not asked", data.beyond),
        Fact("version", Section.AGAIN, "version", f"judgeloop {setup.version}"),
        Fact("seed", Section.AGAIN, "seed", str(setup.seed)),
        Fact("limits", Section.AGAIN, "limit", ", ".join(_limits(setup.limits))),
        Fact("run", Section.AGAIN, "run", setup.run),
    )


def _limits(held: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield what each limit of a run was, and from which draw on.

    >>> ", ".join(_limits([(0, 200), (57, 400)]))
    '200 judgments, 400 from draw 58 on'
    """
    for drawn, limit in held:
        yield f"{limit:,} from draw {drawn + 1:,} on" if drawn else count(limit, "judgment")


def state(outcome: Outcome) -> str:
    """How something stands that must hold: a sign and a word; what does not hold is seen.

    >>> state(Outcome.PASSED), state(Outcome.FAILED)
    ('✓ passed', '✗ FAILED')
    """
    word, sign, _ = BADGES[outcome]
    return f"{sign} {word if outcome.exit_code else word.lower()}"


def holds(condition: Condition, result: RunResult) -> bool:
    """Whether a condition beside the answer holds, and says something: money has a row of its own."""
    counts = result.counts
    blind = result.setup.order in ONE_WAY and bool(result.setup.prompt)  # how many a model changes is not known
    known = {FLIPS: blind or counts.both_in_all, "abstentions": counts.abstentions + counts.abstentions_beside}.get(
        condition.name, 1
    )
    beside = condition is not result.conditions[0] and condition.name != COST
    return not condition.outcome.exit_code and bool(known) and beside


def _held(condition: Condition, result: RunResult) -> str:
    """What was found; of verdicts that changed with the order, and of those that are not there, also how many may."""
    share = condition.name == "abstentions" or (condition.name == FLIPS and result.counts.both_in_all)
    may = condition.requires.replace(MAY_CHANGE, "may").replace(
        f" of {plural(thing_of(result))} may be without a verdict", " may"
    )
    return f"{condition.sentence}{f' ({may})' if share else ''}"


def _required(condition: Condition) -> str:
    """What is required, then what was found."""
    return ": ".join(filter(None, (condition.requires, condition.said)))


def on_items(about: Population, items: int, families: str = "") -> str:
    """Which items a decision is about, and how many `families` were drawn, if any.

    >>> on_items(Population.THESE_ITEMS, 1200), on_items(Population.ITEMS_LIKE_THESE, 12)
    ('on these 1,200 items', 'on items like these 12')
    >>> on_items(Population.ITEMS_LIKE_THESE, 40, families="8 families")
    'on items like these (8 families, each counts once; 40 items)'
    """
    if families:
        return f"on items like these ({families}, each counts once; {items:,} items)"
    if about is Population.ITEMS_LIKE_THESE:
        return f"on items like these {items:,}"
    return f"on these {items:,} items" if items != 1 else "on this one item"


def of_items(result: RunResult) -> str:
    """What may be judged, for a sentence that says how much of it was: all items, or families of them."""
    items = count(result.items, "item")
    if result.per_label > 1:
        unit = result.data.unit
        return f"{count(result.drawable, 'block')} of {count(result.per_label, unit)} (one {unit} of each)"
    return f"{result.data.units}, one item each" if result.data.units else items


def judged_of(result: RunResult, drawn: str = "") -> str:
    """How much was judged of what; `drawn` says how those were chosen that are not all."""
    if not result.data.several:
        all_of_them = result.judged == result.queries_in_all
        return f"{'all' if all_of_them else f'{result.judged_in_words}{drawn} of'} {of_items(result)}"
    verdicts = sum(row.in_decision and row.score is not None for row in result.labels)
    families = "" if result.judged == result.data.families else f"{result.judged:,}{drawn} of "
    every = "all " if verdicts == result.items else ""
    return f"{every}{count(verdicts, 'item')} of {families}{result.data.units}"


def silent_of(result: RunResult) -> int:
    """How many were asked about and got no verdict."""
    return result.counts.abstentions + result.counts.abstentions_beside


def identical(result: RunResult) -> str:
    """How many of what was judged had identical outputs, which take no call."""
    return f", {result.identical:,} with identical outputs" if result.identical else ""


def unjudged(result: RunResult, how: str = ", counted in the bounds alone") -> str:
    """How many got no verdict, behind how many were judged, and `how` they count; how many more people answered.

    Where the judge failed, the item whose calls did so is no measure of them.
    """
    silent = 0 if result.halt.kind is StopKind.JUDGE_FAILED else silent_of(result)
    said = f"; {silent:,} {'skipped' if result.setup.by_hand else 'more without a verdict'}{how}" if silent else ""
    return f"{said}{more_answered(result)}"


def more_answered(result: RunResult) -> str:
    """How many answers people gave on draws after those that count, behind these; empty for none."""
    beyond = answered_beyond(result)
    if result.answer.answered and beyond:
        return f"; {count(beyond, 'further answer')} came after the decision"
    return f"; {count(beyond, 'more answer')} in the ledger" if beyond else ""


def answered_beyond(result: RunResult) -> int:
    """How many verdicts people gave on draws after those that count."""
    return result.by_people.beyond if result.by_people else 0


def abstained(result: RunResult) -> str:
    """How many of the decision got no verdict, behind the votes; empty for none."""
    silent = result.counts.abstentions
    words = f"{silent:,} skipped" if result.setup.by_hand else count(silent, "abstention")
    return words if silent else ""


def about_the_judge(result: RunResult) -> str:
    """What a decision is about, and what it does not say."""
    live = bool(result.counts.generated)
    if result.setup.by_hand:
        return ABOUT_PEOPLE.format("items like these" if result.setup.sampled else "these items")
    if not result.setup.sampled:
        return f"{ABOUT_THE_JUDGE}{DRAWN_ONCE if live else ''}"
    order = ONE_ORDER if result.setup.one_order else ""
    return ABOUT_LIKE_THESE.format(f"{order}{AS_GIVEN if live else ''}")


def promise(result: RunResult, guarantee: str) -> str:
    """What is proved, and what it does not say."""
    return f"Guaranteed: {visible(guarantee)}. {about_the_judge(result)}"


def ended(result: RunResult) -> str:
    """Why a run ended before all was answered, in few words; in full where calls had failed.

    A full stop is left to the caller (`stopped`).
    """
    stop = result.halt.kind
    why = shortened(visible(result.halt.sentence), LONGEST_CAUSE).rstrip(".")
    if result.lost_to_failures and stop is StopKind.BUDGET:
        lost = "attempts that failed, and may have been billed, left too little of the budget for one call"
        return f"{lost}: {why}" if result.spend.ledger_is_short else lost + "".join(why.partition(LAST_FAILED)[1:])
    if stop is StopKind.BUDGET and result.spend.ledger_is_short:
        return visible(result.halt.sentence).rpartition("; ")[0]  # without what to do
    if stop is StopKind.BUDGET and result.spend.rehearsed_p:
        return "the recorded costs have used up the budget"
    if stop is StopKind.POOL_EXHAUSTED and result.counts.abstentions:
        return f"all were asked about, and {result.counts.abstentions:,} got no verdict"
    if skipped := _skipped(result, stop):
        return f"{why}{skipped}"
    failing = stop in {StopKind.BUDGET, StopKind.DEADLINE} and "; " in result.halt.sentence
    return why if failing else _in_few_words(result.spend, stop) or why


def _in_few_words(spend: Spend, stop: StopKind) -> str:
    """Why a run ended, without what its judge said; empty where the reason is as short."""
    if stop is StopKind.BUDGET and spend.next_p and spend.left_p is not None:
        left, most = show_usd(spend.left_p), show_usd(spend.next_p)
        left = f"slightly less than {most}" if left == most else left
        return f"{left} of the budget is left, and the next judgment may cost up to {most}"
    return ENDED.get(stop, "")


def _skipped(result: RunResult, stop: StopKind) -> str:
    """Where people reached the limit: how many they judged and skipped, as both count; else empty."""
    silent = result.counts.abstentions
    if stop is not StopKind.JUDGMENT_LIMIT or not result.setup.by_hand or not silent:
        return ""
    return f" with {result.judged:,} judged and {silent:,} skipped"


def _why_ended(result: RunResult) -> str:
    """Why the run ended. With every item judged, the risk that ended it is no longer the stated one."""
    if result.alike:
        return ALIKE
    met = result.whole and result.stop_reason is StopKind.RISK_MET
    said = ALL_JUDGED if met else sentence(f"{visible(result.stop_sentence)}{_skipped(result, result.stop_reason)}")
    if result.halt.kind is not result.stop_reason:
        said += f" {GROUPS_CUT_OFF} {sentence(visible(result.halt.sentence))}"
    return said


def _named(result: RunResult) -> list[Condition]:
    """The conditions for whose sake the outcome is not that of the answer; the headline names the first."""
    if result.outcome in {result.answer, Outcome.PASSED}:
        return []
    failing = [one for one in result.conditions[1:] if one.outcome.exit_code not in {0, result.answer.exit_code}]
    failing = [one for one in failing if not one.name.startswith(GROUP) and one.name != COST]  # what it left open is
    return sorted(failing, key=lambda one: one.outcome is not result.outcome)


def _also_fail(result: RunResult) -> list[Condition]:
    """The conditions beside the answer that fail, and that the headline does not name; none of a run that broke off."""
    if result.answer.broke_off:
        return []
    named = _named(result)[:1]
    fine = {0, Outcome.UNDECIDED.exit_code}
    beside = (one for one in result.conditions[1:] if one.outcome.exit_code not in fine)
    return [one for one in beside if one not in named and not one.name.startswith(GROUP)]


def headline(result: RunResult, decision: str) -> str:
    """The outcome in a word, why it is so where the answer is not the reason, and the decision."""
    required, word = visible(result.setup.required_winner or ""), BADGES[result.outcome].word
    if result.answer.broke_off:
        interrupted = result.answer is Outcome.INTERRUPTED  # the word says it
        why = result.stop_sentence.removeprefix("interrupted; ") if interrupted else ended(result)
        why = why.replace("paid for", "judged") if result.by_hand else why  # people may have no price
        return f"{word}, no result: {stopped(why)}"
    if result.outcome in {Outcome.PASSED, Outcome.DECIDED} and result.doubtful:
        word += ", in doubt"
    if required and result.answer is Outcome.FAILED:
        decision = f"{required} was required, and {decision}"
    if result.outcome is result.answer:
        return decision if word in WITHOUT_A_WORD else f"{word}: {decision}"
    if result.outcome is Outcome.PASSED:
        return f"{word}: {decision}"
    first, *others = _named(result)
    why = first.sentence
    if others:
        why += f"; {count(len(others), 'other condition')} {'fail or are' if len(others) > 1 else 'fails or is'} open"
    if result.outcome is Outcome.BROKEN and result.answer.answered:
        decision = f"So this answer does not count: {decision}"
    elif result.requirement and not result.answer.exit_code:
        decision = f"{OTHERWISE}: {decision}"
    return f"{word}: {stopped(visible(why))} {decision}"


def judged_by(result: RunResult) -> str:
    """The judges' names, for a sentence."""
    if result.setup.by_hand:
        several = len(result.by_people.each) if result.by_people else 0
        found = f"{several} people" if several > 1 else "a person"
        two = "two people each" if several <= PAIR else f"two of {found} each"
        return found if len(result.setup.judges) == 1 else two
    return " + ".join(map(visible, result.setup.judges))


def of_the_run(result: RunResult, max_flips: float | None, *, cut: bool = False) -> Iterator[Condition]:
    """Yield the conditions on controls, flips, abstentions and cost.

    Of all conditions only groups can be open once the answer is known, and then the run goes on for them
    (`methods/stopping/by_group.py`). Controls come before the first judgment, and have an end. Shares of flips and of
    abstentions are of all that was judged, for the groups too. The cost ends the run, or its required tests of groups,
    which are then `cut`. `max_flips` is the largest share of verdicts that may change with the order; None if any may.
    """
    for judge, tally in zip_longest(result.setup.judges, result.counts.controls):
        if tally is None or (tally.end is None and result.answer is Outcome.BROKEN):
            continue  # no model, or cut off by what the answer names
        if result.setup.controlled:
            # Where the first has to win, these are not the controls of other questions about the two.
            other = result.setup.required_winner == result.setup.systems[0]
            whose = f", which show answers of {result.setup.controls_from}" if other else ""
            right = f"{judge} has {tally.right:,} of {count(tally.asked, 'control')} right{whose}"
            right += f", in try {tally.number}" * (tally.number > 1)
            found = right if tally.end is Control.PASSED else of_controls(judge, tally)
            yield Condition(
                f"controls of {judge}", OF_CONTROLS[tally.end], found, requires="the judge must pass its controls"
            )
    if max_flips is not None and result.counts.judged:
        yield _flips(result, max_flips)
    elif result.setup.order is not None and result.counts.judged and not result.by_hand:
        counts, one_way = result.counts, result.setup.order in ONE_WAY
        changed = f"{counts.flips_in_all:,} of {count(counts.both_in_all, 'verdict')} that named a system changed in the other order"
        found = "each pair was shown in one order" if one_way else changed
        yield Condition(FLIPS, Outcome.PASSED, found, requires=f"any share {MAY_CHANGE}")
    requires = (
        f"at most {per_cent(result.setup.max_abstentions)} of {plural(thing_of(result))} may be without a verdict"
    )
    silent = result.counts.abstentions + result.counts.abstentions_beside
    without = (
        f"{_silent(result)} without a verdict" if silent else f"every {thing_of(result)} asked about has a verdict"
    )
    too_many = result.halt.kind is StopKind.ABSTENTIONS
    if too_many and not result.asked:  # on its controls
        without = result.stop_sentence
    if too_many or (result.asked and result.answer is not Outcome.BROKEN):
        yield Condition("abstentions", Outcome.BROKEN if too_many else Outcome.PASSED, without, requires=requires)
    used_up = result.halt.kind is StopKind.BUDGET and (cut or not result.answer.answered)
    found = f"it {COST} {money(result)}{f', and {ended(result)}' if used_up else ''}"
    yield Condition(
        COST, Outcome.UNDECIDED if used_up else Outcome.PASSED, found, requires="the budget must cover the run"
    )


def unsound(result: RunResult, max_flips: float | None) -> str:
    """Why no gate could rely on the verdicts, whatever they say; empty if it could.

    `max_flips` is as in `of_the_run`; None for that of a gate, unless people judge, who know of no order.
    """
    if result.answer is Outcome.BROKEN:
        return result.stop_sentence
    usual = None if result.setup.by_hand else USUAL_FLIPS
    conditions = of_the_run(result, usual if max_flips is None else max_flips)
    return next((one.sentence for one in conditions if one.outcome is Outcome.BROKEN), "")


def _flips(result: RunResult, most: float) -> Condition:
    """Whether it is shown that more verdicts change with the order than may.

    A tie in the first order is a tie, and the order of a metric's texts changes nothing. All verdicts count,
    also those for groups. A judge with as many flips as may be fails with at most about `FLIPS_RISK`: the
    test is exact for a fixed number of verdicts, and flips have little part in when a run ends (tests/statistical).

    Where each pair is shown in one random order, a verdict that does not change with it is for either place with the
    same chance, whatever the systems are. So if at most a share m changes, the output shown first wins at most
    (1 + m) / 2 of those that prefer one, and so does the output shown second.
    """
    counts, requires = result.counts, f"at most {100 * most:.3g} % {MAY_CHANGE}"
    if result.setup.order == RANDOM:
        first, second = counts.leanings.first, counts.leanings.second
        chance = 2 * chance_of_so_many(max(first, second), first + second, (1 + most) / 2)
        place, of = "first" if first >= second else "second", count(first + second, "decided verdict")
        said = f"each pair was shown in one order; the output shown {place} won {max(first, second):,} of {of}"
        shown = chance <= FLIPS_RISK
        said += f", so that more than {100 * most:.3g} % change with the order" if shown else ""
        figures = f"p = {min(1.0, chance):.2g}, and {FLIPS_RISK:g} or less fails"
        return Condition(FLIPS, Outcome.BROKEN if shown else Outcome.PASSED, said, figures, requires)
    flips, both = counts.flips_in_all, counts.both_in_all
    if not both:
        return Condition(FLIPS, Outcome.PASSED, "no verdict could change with the order", requires=requires)
    chance = chance_of_so_many(flips, both, most)
    shown = chance <= FLIPS_RISK
    said = f"{flips:,} of {count(both, 'verdict')} that named a system changed in the other order{_with_groups(result)}"
    too_few = f": no proof that more than {100 * most:.3g} % do" if flips > most * both else ""
    said += f": shown to be more than {100 * most:.3g} %" if shown else too_few
    low, high = wilson_interval(flips, both)
    figures = f"95 % interval {per_cent(low)} to {per_cent(high)}; p = {chance:.2g}, and {FLIPS_RISK:g} or less fails"
    return Condition(FLIPS, Outcome.BROKEN if shown else Outcome.PASSED, said, figures, requires)


def _of_judge(result: RunResult, *, paid: bool) -> list[Fact]:
    """What is known of the judge: its models, how it was asked, controls, order, agreement, no verdict."""
    counts, setup = result.counts, result.setup
    asked = f"; prompt {visible(setup.prompt)}" if setup.prompt else ""
    vote = f"; by {setup.vote}" if setup.vote else ""
    found = [Fact("judge", Section.JUDGE, "judge", f"{visible(setup.judge)}{_models(result)}{vote}{asked}")]
    if not paid:
        return [*found, *([Fact("controls", Section.JUDGE, "controls", _controls(result))] if setup.controlled else [])]
    each = ONE_EACH if setup.one_each else ""
    order = f"{setup.order}{each}{_changed(result)}" if setup.order else ""
    held = "; each counts in the bounds alone" if counts.abstentions or counts.abstentions_beside else ""
    people, ended = result.by_people, result.stop_reason not in CUT_OFF | {StopKind.DRY_RUN}
    missing = people.said_missing if people and ended else ""  # second readings come after the end
    return [
        *found,
        Fact("trust", Section.JUDGE, "in short", _in_short(result)),
        Fact("measured", Section.JUDGE, "beside people", result.measured),
        Fact(
            "another",
            Section.JUDGE,
            "two people",
            result.by_people.said_another if result.by_people else "",
            first=True,
        ),
        Fact("gave", Section.JUDGE, "people", people.said_each if people else ""),
        Fact("same", Section.JUDGE, "same person", people.said_same if people else "", first=True),
        Fact("readings", Section.JUDGE, "read again", missing, first=True),
        Fact("checks", Section.JUDGE, "checks", people.said_checks if people else ""),
        Fact("agreement", Section.JUDGE, "agreement", _agreement(result)),
        Fact("order", Section.JUDGE, "order", order),
        Fact("silent", Section.JUDGE, "no verdict", f"{_silent(result)}{held}" if counts.asked else ""),
        Fact("controls", Section.JUDGE, "controls", _controls(result)),
        Fact("rubric", Section.JUDGE, "rubric", shortened(setup.rubric, LONGEST_RUBRIC)),
    ]


def _models(result: RunResult) -> str:
    """The model names that servers reported, where they differ from the requested names."""
    text, several = "", len(result.setup.judges) > 1
    counts = result.counts
    for judge, reported, answered in zip(
        result.setup.judges, counts.judge_models, counts.answered_by or repeat(()), strict=False
    ):
        models = reported or [one.model for one in answered[-1:]]  # of what was remembered
        asked = judge.partition("/")[2] or judge
        if len(models) > 1:
            text += f"; the model of {visible(judge)} changed during the run: {', then '.join(map(visible, models))}"
        elif models and models[0] != asked:
            whose = f"the server of {visible(judge)}" if several else "its server"
            text += f"; {whose} calls it {visible(models[0])}"
    return text


def _in_short(result: RunResult) -> str:
    """Whether the judge can be trusted, in a sentence."""
    counts, setup = result.counts, result.setup
    one_order = setup.order in ONE_WAY and bool(counts.judged)
    said = said_of(counts.leanings, setup.systems, counts.flips_in_all, counts.both_in_all, one_order=one_order)
    return f"{said}{_with_groups(result)}" if said else ""


def _with_groups(result: RunResult) -> str:
    """That figures of the judge count what was judged beside the decision, as the end of a sentence."""
    return ", those for groups among them" if result.counts.further else ""


def _agreement(result: RunResult) -> str:
    """How often a panel's judges agree, and how far beyond chance; "" for one, and for ratings."""
    found = result.counts.agreement
    if found is None or "agreement" in result.LEFT_OUT:
        return ""
    beyond = "" if found.value is None else f", {found.name} {found.value:.2f}"
    of = f"{found.same:,} of {count(found.items, 'item')}"
    return f"the same verdict on {of} ({_share(found.same / found.items, found.interval)}){beyond}"


def _share(share: float, interval: tuple[float, float]) -> str:
    low, high = map(per_cent, interval)
    return f"{per_cent(share)}, 95 % interval {low} to {high}"


def _silent(result: RunResult) -> str:
    """How many got no verdict, of those asked for decision and groups."""
    silent = result.counts.abstentions + result.counts.abstentions_beside
    asked = result.counts.judged + result.counts.further + silent
    return f"{silent:,} of {count(asked, thing_of(result))}"


def thing_of(result: RunResult) -> str:
    """What has a verdict: of many systems, an item has several; of several items, a family has one."""
    if result.data.several:
        return result.data.unit
    return "judgment" if len(result.setup.systems) > PAIR else "item"


def _changed(result: RunResult) -> str:
    """How many verdicts changed with the order, of those asked in both."""
    counts = result.counts
    if counts.judged and result.identical == counts.judged:
        return "; no pair was shown, as the outputs are identical"
    if counts.flip_rate is None or counts.flip_interval is None:
        return ""
    share = _share(counts.flip_rate, counts.flip_interval)
    of = count(counts.both_orders, "verdict")
    changed = f"; {counts.flips:,} of {of} asked in both changed with it ({share}){counts.and_beside}"
    return f"{changed}{TIED if counts.flips else ''}"


def _controls(result: RunResult) -> str:
    """What each judge made of its controls; "" where no judge has any."""
    asked = result.setup.controlled or result.setup.advised
    if not asked and not any(result.counts.controls):
        code = () if result.by_people or result.setup.order is None else result.setup.judges
        return NOT_ASKED if result.setup.prompt else "; ".join(of_controls(name, None) for name in code)
    judges = zip_longest(result.setup.judges, result.counts.controls)
    found = "; ".join(of_controls(name, tally) for name, tally in judges)
    return found if asked else f"{found}; asked by an earlier command of this run"


def of_controls(judge: str, tally: ControlTally | None) -> str:
    """What a judge made of its controls; None is no model's."""
    if tally is None:
        return f"none for {judge}, which is no model"
    if not tally.asked:
        return f"the controls of {judge} were cut off"
    found = f"{tally.right:,} right, {tally.level}, {tally.wrong:,} wrong"
    found += f", {count(tally.abstained, 'abstention')}" if tally.abstained else ""
    found += f"; try {tally.number}" if tally.number > 1 else ""
    return f"{judge} {CONTROLS[tally.end]} ({found})"


def money(result: RunResult) -> str:
    """The money spent, the budget, and what is held for calls without a reply."""
    spend = result.spend
    spent = show_usd(spend.run_p - spend.unconfirmed_p) if spend.known else "an unknown amount"
    then = f", {show_usd(spend.now_p)} of it now" if spend.known and spend.now_p < spend.run_p else ""
    if spend.unconfirmed_p:
        then = f", and {show_usd(spend.unconfirmed_p)} held for calls without a reply"
    if spend.budget_p is None:
        return f"{spent}{then}"
    if result.setup.night and not spend.over_p:  # its own part depends on when it ran
        return f"{spent} of the night's budget{then}"
    budget = show_usd(spend.budget_p)
    if not spend.beyond:
        return f"{spent} of {budget}{then}"
    # Nothing is reserved beyond the budget in force, so that only a contradicted quote exceeds it.
    held = then if spend.unconfirmed_p else ""
    if spend.over_p:
        return f"BUDGET EXCEEDED: {spent} of {budget}{held}"
    by = "with other commands" if spend.now_p else "spent by earlier commands"
    return f"{spent}, {by}, of a budget of {budget} now{held}"


def _cost(result: RunResult) -> str:
    """What was paid of which budget, and what judging all would cost."""
    spend, usd, every = result.spend, result.usd_of_all, result.queries_in_all
    known = result.judged + silent_of(result) + result.counts.further + answered_beyond(result)
    lacks = every > max(known, result.counts.asked)  # a search has asked for its baseline and begun a round, too
    people, models, earlier_p = result.by_people, "", _earlier_p(result)
    if people is not None and not people.answers:  # they answered in other runs alone
        people = None
    if people is not None and people.usd and spend.known:
        models = f", models {show_usd(spend.run_p - people.cost_p)}"
    parts = [
        money(result) + (f", and {show_usd(spend.rehearsed_p)} of recorded costs" if spend.rehearsed_p else ""),
        f"other runs paid {show_usd(earlier_p)} for answers used here" if spend.known and earlier_p > 0 else "",
        f"{people.cost}{models}" if people is not None else "",
        "failed calls may have been billed: `judgeloop ledger show --unknown`" if spend.unconfirmed_p else "",
        f"{'all answers' if result.judged else 'the controls'} were in the ledger"
        if spend.remembered and not (result.alike or spend.run_p or spend.asked_anything) and people is None
        else "",
        f"all {count(every, thing_of(result))} would cost about {dollars(usd)}"
        if usd and lacks and not result.alike
        else "",
    ]
    return "; ".join(filter(None, parts))


def _earlier_p(result: RunResult) -> int:
    """What answers cost that earlier runs have paid."""
    spend = result.spend
    return spend.answers_p - (spend.charged_p - spend.unconfirmed_p)


def _calls(result: RunResult) -> str:
    """The calls of this command, what was answered from the ledger, and what else is to be known of them."""
    spend, counts = result.spend, result.counts
    now = f"{show_usd(spend.now_p)} now" if spend.known else "cost unknown, as the model has no price"
    outputs, judging = result.generating_usd, result.judging_usd
    if counts.generated and outputs is not None and judging is not None:
        now += f" ({dollars(outputs)} for outputs, {dollars(judging)} for judging)"
    ahead = f"{count(counts.ahead, thing_of(result))} more than needed{about(result.ahead_usd)}"
    waited = result.waits and counts.rounds > 1 and spend.attempts
    controls = sum(one.asked for one in counts.controls if one is not None)
    controls *= result.setup.controlled or result.setup.advised
    beyond, when = spend.replies_without_usage, ", now or earlier" if _earlier_p(result) > 0 else ""
    paid = f" ({show_usd(spend.controls_p)}{when})" if spend.controls_p else ""
    looked_up = f", {spend.looked_up:,} looked up in a table" if spend.looked_up else ""
    asked = f"{now}, {count(spend.attempts, 'attempt')}{looked_up}, {spend.remembered:,} answered from the ledger"
    if result.setup.by_hand:
        asked = f"{count(spend.attempts, 'question')} now, {count(spend.remembered, 'answer')} from before"
        asked += f", {count(spend.proxy, 'verdict')} of the proxy among them" if spend.proxy else ""
    parts = [
        asked,
        f"with {count(controls, 'control')}{paid}" if controls else "",
        f"with the proxy's calls ({show_usd(spend.proxy_p)})" if spend.proxy_p else "",
        f"decided earlier, on {counts.decided_at[:10]}" if counts.decided_at and result.answer.answered else "",
        tokens(spend.tokens),
        f"{count(beyond, 'request')} without a usage, charged at their maximum" if beyond else "",
        f"prompt caching saved {show_usd(spend.cached_p)}" if spend.cached_p > 0 else "",
        ahead if counts.ahead and not (result.answer.broke_off or result.setup.by_hand) else "",
        f"each round waited for all answers: {result.waits}" if waited else "",
    ]
    return "; ".join(filter(None, parts))


def tokens(usage: Usage) -> str:
    """How many tokens were read and written; empty for none."""
    if usage == NO_TOKENS:
        return ""
    read, wrote = (count(usage.input_tokens, "input token"), count(usage.output_tokens, "output token"))
    thought = f", {usage.reasoning_tokens:,} of them thoughts" if usage.reasoning_tokens else ""
    return f"{read} and {wrote}{thought}"
