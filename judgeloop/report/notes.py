"""What a result warns of and advises: a code and values, and the one table of their sentences.

Programs read codes and values. People read the sentence that `TEXTS` makes of them. The results decide
which notes they carry.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

from judgeloop.core.jsonable import Say, plain
from judgeloop.core.outcomes import TELL
from judgeloop.report.words import about, count, dollars, expected, in_points, per_cent, signed, visible


class NoteCode(enum.StrEnum):
    """What a note says: first the warnings, then the advice."""

    FEW_ITEMS = "few_items"
    FEW_ITEMS_LIKE_THESE = "few_items_like_these"
    FEW_LABELS = "few_labels"
    FEW_FAMILIES = "few_families"
    FEW_PROMPTS = "few_prompts"
    MANY_FLIPS = "many_flips"
    ITEMS_LEFT_OUT = "items_left_out"
    NEIGHBOURS = "neighbours"
    OUTPUT_REPEATED = "output_repeated"
    OUTPUTS_EMPTY = "outputs_empty"
    OUTPUTS_NOT_WHOLE = "outputs_not_whole"
    THOUGHTS_JUDGED = "thoughts_judged"
    PRICES_OLD = "prices_old"
    ASKED_ANEW = "asked_anew"
    USAGE_NOT_BELIEVED = "usage_not_believed"
    ALL_IDENTICAL = "all_identical"
    ALL_TIES = "all_ties"
    ALL_SAME = "all_same"
    SEARCHED = "searched"
    ASKED_OFTEN = "asked_often"
    KNOWN_OTHERWISE = "known_otherwise"
    DRIFT = "drift"
    PROXY_SILENT = "proxy_silent"
    THIN_LEAD = "thin_lead"
    GROUPS_CUT = "groups_cut"
    CONTROLS_BEFORE = "controls_before"
    JUDGE_CHANGED = "judge_changed"
    JUDGE_REPLACED = "judge_replaced"
    CONTROLS_NOT_PASSED = "controls_not_passed"
    CHECKS_FAILED = "checks_failed"
    NAME_MOVES = "name_moves"

    RESUME = "resume"
    GO_ON = "go_on"
    JUDGE_SKIPPED = "judge_skipped"
    FIX = "fix"
    THEN_RESUME = "then_resume"
    FIX_IS_ANOTHER = "fix_is_another"
    HELD_BY_FAILURES = "held_by_failures"
    MAKE_UP = "make_up"
    SILENT = "silent"
    MOST_SILENT = "most_silent"
    NO_VERDICTS = "no_verdicts"
    BEGIN_ANEW = "begin_anew"
    OTHER_JUDGE = "other_judge"
    OTHER_MODEL = "other_model"
    ONE_OUTPUT = "one_output"
    STEADIER_JUDGE = "steadier_judge"
    MORE_FLIPS = "more_flips"
    NOT_AS_ASKED = "not_as_asked"
    ALL_ASKED = "all_asked"
    ALL_ASKED_NEAR = "all_asked_near"
    NOTHING_JUDGED = "nothing_judged"
    ONLY_CONTROLS = "only_controls"
    NOTHING_COUNTS = "nothing_counts"
    TOO_FEW_JUDGED = "too_few_judged"
    REST_IS_EXACT = "rest_is_exact"
    HALF_WIDTH_ENDS = "half_width_ends"
    ITEMS_WANTED = "items_wanted"
    ITEMS_AND_LIMIT = "items_and_limit"
    MORE_ITEMS = "more_items"
    ITEMS_UNKNOWN = "items_unknown"
    OTHER_FAMILIES = "other_families"
    MANY_MORE_ITEMS = "many_more_items"
    BLOCKS_TOO = "blocks_too"
    LEVEL = "level"
    OUT_OF_REACH = "out_of_reach"
    WITHIN_REACH = "within_reach"
    FEWER_SKIPS = "fewer_skips"
    ASK_SKIPPED = "ask_skipped"
    NO_FORECAST = "no_forecast"
    MORE_JUDGMENTS = "more_judgments"
    TOO_EARLY = "too_early"
    TOO_EARLY_LIMIT = "too_early_limit"
    LEAD_STAYS = "lead_stays"
    LEAD_STAYS_LIMIT = "lead_stays_limit"
    LIMIT_ENOUGH = "limit_enough"
    USUAL_JUDGMENTS = "usual_judgments"
    USUAL_LIMIT = "usual_limit"
    ALL_NAME = "all_name"
    ALL_MAY_NAME = "all_may_name"
    SAME_TEST = "same_test"
    SECOND_TEST = "second_test"
    ASK_FOR_BETTER = "ask_for_better"
    EQUAL_PASSES = "equal_passes"
    EQUAL_PASSES_WITH = "equal_passes_with"
    EQUAL_PASSES_ITEMS = "equal_passes_items"
    BETWEEN = "between"
    LEVEL_NAMED = "level_named"
    LEVEL_NAMED_ITEMS = "level_named_items"
    RAISE_LIMIT = "raise_limit"
    RECORDED_COSTS = "recorded_costs"
    RAISE_BUDGET = "raise_budget"
    PAYS_FOR = "pays_for"
    PAYS_TO_LIMIT = "pays_to_limit"
    LEDGER_SHORT = "ledger_short"
    RAISE_NIGHT = "raise_night"


DOUBTED = {
    NoteCode.ALL_IDENTICAL,
    NoteCode.ALL_TIES,
    NoteCode.MANY_FLIPS,
    NoteCode.ASKED_OFTEN,
    NoteCode.KNOWN_OTHERWISE,
    NoteCode.NEIGHBOURS,
    NoteCode.DRIFT,
    NoteCode.CONTROLS_BEFORE,
    NoteCode.CONTROLS_NOT_PASSED,
    NoteCode.SEARCHED,
    NoteCode.THIN_LEAD,
}  # what puts a pass in doubt: a flip is a tie, and ties pass `not-worse`
LIMITS_THE_RISK = (NoteCode.SEARCHED, NoteCode.ASKED_OFTEN, NoteCode.NEIGHBOURS)  # what a stated risk is not without

# `{judgments:more judgment}` counts, `{flip_rate:share}` is per cent, `{usd:about}` is a sum in brackets, or nothing.
TEXTS: dict[NoteCode, str] = {
    NoteCode.FEW_ITEMS: "The set has only {items:item}. Another set may turn out differently.",
    NoteCode.FEW_ITEMS_LIKE_THESE: "The set has only {items:item}. The decision holds for other "
    "items only if they are like these.",
    NoteCode.FEW_LABELS: "People labelled only {items:item}. Others may turn out differently.",
    NoteCode.FEW_FAMILIES: "The {items:item} are of only {families:,} families, each of which counts once. The decision "
    "holds for other items only if they are like these.",
    NoteCode.FEW_PROMPTS: "The {items:item} have only {families:,} different prompts, each of which counts once. If a part "
    "of the input is in another column, put both together: `map=prompt=prompt+COLUMN`.",
    NoteCode.MANY_FLIPS: "{flips:,} of {both:verdict} that named a system changed in the other order: "
    "this judge prefers a position, or guesses where outputs are nearly alike.",
    NoteCode.ITEMS_LEFT_OUT: "The answer is about {items:item}; others are left out: {left_out}.",
    NoteCode.NEIGHBOURS: "Verdicts on items that stand near each other in the files agree more than others (p = {p:.2g}): "
    "the stated risk may not hold. If they share a document or a kind, name it: `map=family=COLUMN`.",
    NoteCode.OUTPUT_REPEATED: "{system} gives the same output for {repeated:,} of {items:item}.",
    NoteCode.OUTPUTS_EMPTY: "{system} has {empty:empty output}.",
    NoteCode.OUTPUTS_NOT_WHOLE: "Not all outputs of {system} are whole: {said}.",
    NoteCode.THOUGHTS_JUDGED: "{thoughts:,} of {items:output} of {system} hold thoughts in tags, which are judged, too; {without:,} "
    "have no answer behind them. `strip_thoughts={system}` has the answers judged alone.",
    NoteCode.PRICES_OLD: "The prices of {judge} were last checked {days:day} ago and may have "
    "changed: update genai-prices, or set `judge_price` (for a system `system=NAME.price`).",
    NoteCode.ASKED_ANEW: "{why}",
    NoteCode.USAGE_NOT_BELIEVED: "The provider reported no usage, or one that cannot be true, for some requests. "
    "They are charged at their maximum.",
    NoteCode.ALL_IDENTICAL: "All {judged:pair} of outputs that were drawn are identical, so the "
    "judge was asked about none. Is it the same file twice?",
    NoteCode.ALL_TIES: "All {judged:verdict} on outputs that differ are ties: this judge may not fit these outputs.",
    NoteCode.ALL_SAME: "All {judged:score} are {score:.3g}: can this judge tell outputs apart?",
    NoteCode.SEARCHED: "An earlier search on these items had these two among {systems:system}. If you compare them because of "
    "it, the risk does not hold: use other items.",
    NoteCode.GROUPS_CUT: "Of the groups, {said}.",
    NoteCode.ASKED_OFTEN: "These outputs were compared {times:time} before: the chance that at least one of these {runs:test} gives a wrong answer may be {risk:.4g}{why}; take new items.",
    NoteCode.KNOWN_OTHERWISE: "{other} is {stands} here, {won:,} to {lost:,}, but leads with the verdicts of other runs, "
    "{against:,} to {fewer:,}.",
    NoteCode.DRIFT: "The verdicts changed during the run: over its first {half:draw} the gap for {system} is "
    "{first:points}, over the next {half:,} it is {second:points} points (p = {chance:.2g}). Draws are in random order, so the judge may "
    "have changed.",
    NoteCode.PROXY_SILENT: "{proxy} gave no verdict on {silent:,} of {items:item} that it was asked about. There it says "
    "nothing, and takes its price: a dry run without `proxy` says what the answer costs alone.",
    NoteCode.THIN_LEAD: "On other items either {best} or {rival} may be the better one: here {best} did better than {rival} on "
    "{won:item}, and worse on {lost:,}{compared}. `about=like-these` asks about items like these.",
    NoteCode.CONTROLS_BEFORE: "{judge} did not pass its controls, which an earlier command of this run asked: {right} of "
    "{asked} right, {level}.",
    NoteCode.JUDGE_CHANGED: "The verdicts of {judge} are by {models:model}: {said}.",
    NoteCode.JUDGE_REPLACED: "{judge} answers as {model} now: {verdicts:call} that {before} answered did not count, and had to be asked again.",
    NoteCode.CONTROLS_NOT_PASSED: f"{{judge}} was not shown to {TELL}: "
    "{right} of {asked} controls right, {level}. If your criteria ignore the question (valid JSON, tone), set "
    "`controls=off`; else use another judge.",
    NoteCode.CHECKS_FAILED: "{person} preferred an answer to another question in {wrong} of {asked} checks, and was asked "
    "no more. What {person} answered before counts.",
    NoteCode.NAME_MOVES: "{judge} is a name for the latest model, and {model} answered. Give that name as the judge's, so "
    "that the same model answers the next run.",
    NoteCode.RESUME: "Rerun the command to resume. No verdict is paid for twice.",
    NoteCode.GO_ON: "Rerun the command to go on: what was judged stays.",
    NoteCode.JUDGE_SKIPPED: "Rerun the command to judge what was skipped; `max_abstentions` lets more be skipped.",
    NoteCode.FIX: "Fix the problem; if it is the server's, wait.",
    NoteCode.THEN_RESUME: "Then rerun the command to resume. No verdict is paid for twice.",
    NoteCode.HELD_BY_FAILURES: "Calls that failed hold {held:dollars}, as they may have been billed. If the provider's bill "
    "shows none of them, `judgeloop ledger settle --run {run} 0` frees it.",
    NoteCode.MAKE_UP: "Else `budget={budget:.10g}` makes up for it.",
    NoteCode.FIX_IS_ANOTHER: "Rerun the command to go on. If you change the code of {judge}, it is another judge: its "
    "{judged:verdict} are asked for again.",
    NoteCode.SILENT: "Look at the judge's replies; a rerun asks again what has no verdict. `max_abstentions={share:.2g}` accepts up to {share:share} "
    "without one, in a new run with its own budget and risk.",
    NoteCode.MOST_SILENT: "Look at the judge's replies; a rerun asks again what has no verdict.",
    NoteCode.NO_VERDICTS: "Use a judge or a prompt that brings verdicts.",
    NoteCode.BEGIN_ANEW: "The same again asks everything anew: nothing is remembered of a judge without `version`.",
    NoteCode.OTHER_JUDGE: "Use a judge that reads the question; or set `controls=off`, if your criteria ignore it (valid JSON, tone). The same "
    "command tries this judge again, with other controls and a stricter test.",
    NoteCode.OTHER_MODEL: "Rerun the command: whichever model answers{controls} judges again what the one before had judged{usd:about}. "
    "`judge_model` says which model has to answer, or that any may.",
    NoteCode.ONE_OUTPUT: "Look at the outputs of {system} first: all are the same.",
    NoteCode.STEADIER_JUDGE: "Use a judge or criteria whose verdicts do not change with the order.",
    NoteCode.MORE_FLIPS: "Or let more of them change, by `max_flips={share:.2g}`, and rerun the command: no verdict is paid for "
    "twice.",
    NoteCode.NOT_AS_ASKED: "Set `judge_model` to the model that answers, or to any; or make the server answer as the model that is "
    "set. Then rerun the command.",
    NoteCode.ALL_ASKED: "All items are judged; only more items tell more.",
    NoteCode.ALL_ASKED_NEAR: "No item is left to judge. More items may name a system; `min_gap={gap}` probably names one now.",
    NoteCode.NOTHING_COUNTS: "{judge} answers as {model} now, and no verdict of {before} counts. A dry run says what a result "
    "would probably cost.",
    NoteCode.ONLY_CONTROLS: "Only controls were asked so far, and their answers are kept. A dry run says what a result "
    "would probably cost.",
    NoteCode.LEDGER_SHORT: "`judgeloop budget` shows each budget, and when it starts again. `judgeloop budget set DOLLARS` "
    "sets a higher limit. Then rerun the command.",
    NoteCode.NOTHING_JUDGED: "A dry run says what a result would probably cost.",
    NoteCode.TOO_FEW_JUDGED: "`max_judgments={limit}` judges the last {left:,}{usd:expected}.",
    NoteCode.HALF_WIDTH_ENDS: "`half_width` ends a run wherever the score lies: leave it out.",
    NoteCode.REST_IS_EXACT: "`max_judgments={limit}` judges the last {left:,}{usd:expected}; the score is then exact.",
    NoteCode.ITEMS_WANTED: "With about {items:more {unit}} like these, a decision is likely.",
    NoteCode.ITEMS_AND_LIMIT: "With about {items:more {unit}} like these and `max_judgments={limit}`, a decision is likely.",
    NoteCode.MORE_ITEMS: "With {even:more {unit}} a new test is about 50 % likely to decide; with {likely:,} more it is 80 %, "
    "as the true gap may be far below the one seen.",
    NoteCode.MANY_MORE_ITEMS: "With {even:more {unit}} a new test is about 50 % likely to decide.",
    NoteCode.BLOCKS_TOO: "A label takes a block of {block:item}: raise `max_judgments` with them.",
    NoteCode.ITEMS_UNKNOWN: "How many more {units} would decide is not known.",
    NoteCode.OTHER_FAMILIES: "More items of the same {unit} change nothing.",
    NoteCode.LEVEL: "The systems are level so far: how many judgments would decide is not known.",
    NoteCode.OUT_OF_REACH: "If the lead stays at {lead:gap}, judging all {items:item} would not decide: add items.",
    NoteCode.WITHIN_REACH: "If the lead stays at {lead:gap}, judging all {items:item} would not decide; the lead may change.",
    NoteCode.FEWER_SKIPS: "{skipped:,} of {asked:,} without a verdict may turn the lead, so no number of judgments is likely to decide: {how}.",
    NoteCode.ASK_SKIPPED: "The same command asks the {skipped:skipped item} again, and the answers may decide.",
    NoteCode.NO_FORECAST: "How many judgments would decide is not known.",
    NoteCode.MORE_JUDGMENTS: "About {judgments:more judgment}{usd:expected} are probably enough.",
    NoteCode.LIMIT_ENOUGH: "`max_judgments={limit}`{usd:expected} is probably enough.",
    NoteCode.TOO_EARLY: "Perhaps {judgments:more judgment} would decide{usd:expected}, a rough guess.",
    NoteCode.TOO_EARLY_LIMIT: "Perhaps `max_judgments={limit}` would decide{usd:expected}, a rough guess.",
    NoteCode.LEAD_STAYS: "If the lead stays at {lead:gap}, about {judgments:more judgment}{usd:expected} probably decide.",
    NoteCode.LEAD_STAYS_LIMIT: "If the lead stays at {lead:gap}, `max_judgments={limit}`{usd:expected} probably decides.",
    NoteCode.USUAL_JUDGMENTS: "For {systems:,} systems, about {judgments:more judgment}{usd:about} are usually enough.",
    NoteCode.USUAL_LIMIT: "`max_judgments={limit}`{usd:about} is usually enough for {systems:,} systems, but not where several are close.",
    NoteCode.ALL_NAME: "`max_judgments={limit}`{usd:about} judges all: the best is then known.",
    NoteCode.ALL_MAY_NAME: "`max_judgments={limit}`{usd:about} judges up to {left:,} more, and decides only if one pulls clearly ahead; else add items.",
    NoteCode.SAME_TEST: "The risk stays the same.",
    NoteCode.SECOND_TEST: "More judgments or items than this run had are a new test, with its own risk; known verdicts are not paid for again.",
    NoteCode.ASK_FOR_BETTER: "Without `min_gap` the command asks whether {system} is better: a new test, with its own risk.",
    NoteCode.EQUAL_PASSES: "If the two were equal, 4 of 5 runs with `max_judgments={limit}` would pass (with {ties:share} ties, as "
    "here).",
    NoteCode.EQUAL_PASSES_WITH: "If the two were equal, about {passes:share} of runs with `max_judgments={limit}` would pass (with {ties:share} "
    "ties, as here).",
    NoteCode.EQUAL_PASSES_ITEMS: "Add {more:{unit}} to these {there:,}, with `max_judgments={limit}`: if the two were equal, 4 of 5 such runs would "
    "pass (with {ties:share} ties, as here).",
    NoteCode.BETWEEN: "An equal system would probably have passed by {limit:judgment} (with {ties:share} ties, as here): "
    "this one may be a little worse.",
    NoteCode.LEVEL_NAMED: "If the two were level, `max_judgments={limit}` would name one in 4 of 5 runs.",
    NoteCode.LEVEL_NAMED_ITEMS: "Add {more:{unit}} to these {there:,}, with `max_judgments={limit}`: if the two were level, 4 of 5 such runs would "
    "name one.",
    NoteCode.RAISE_LIMIT: "Go on without `give_up`, the same test; or with a higher `max_judgments`, a new test, with its own risk.",
    NoteCode.RECORDED_COSTS: "The table has recorded costs, which count as if they were paid: `budget=none` and `max_judgments={every}` go "
    "through all of it.",
    NoteCode.RAISE_BUDGET: "`budget={budget:.10g}` in all is probably enough.",
    NoteCode.PAYS_FOR: "`budget={budget:.10g}` in all probably pays for {judgments:more judgment}.",
    NoteCode.PAYS_TO_LIMIT: "`budget={budget:.10g}` in all probably pays for the {judgments:more judgment} up to the limit.",
    NoteCode.RAISE_NIGHT: "To go on tonight, raise the night's `budget`, or the pair's own if that ended it: a dry run of the suite "
    "says what that probably takes.",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A warning or advice: its code, and the values that its sentence names."""

    code: NoteCode
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The sentence, with unseen characters escaped; settings stand between backticks."""
        return _SENTENCES.format(TEXTS[self.code], **self.values)

    def to_json(self, say: Say = str) -> dict[str, Any]:
        """The code, the sentence and the values."""
        values: dict[str, Any] = plain(self.values)
        return {"code": str(self.code), "message": say(self.message), **values}


def note(code: NoteCode, **values: Any) -> Note:
    """A note with these values."""
    return Note(code, values)


SHOWN: Mapping[str, Callable[[float], str]] = {
    "about": about,
    "expected": expected,
    "dollars": dollars,
    "share": per_cent,
    "points": signed,
    "gap": in_points,
}


class _Sentences(Formatter):
    """Escapes texts, counts nouns, and shows sums of money."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in SHOWN:
            return SHOWN[format_spec](value)
        if isinstance(value, str):
            return visible(value)
        if format_spec[:1].isalpha():
            return count(value, format_spec)
        return str(super().format_field(value, format_spec))


_SENTENCES = _Sentences()
