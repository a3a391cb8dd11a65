"""The sentences that the results of all questions share: on judge, decoys and data.

Reads a `RunResult`, returns text. `spent.py` has those on money. A question's own `text.py` states
its decision.
"""

from __future__ import annotations

import re

from judgeloop.core.outcomes import About, DecoyTally, StopKind
from judgeloop.report.escaping import visible
from judgeloop.report.page import Section
from judgeloop.report.run_result import RunResult

# If more of the verdicts surely change with the order, the judge mainly prefers a position.
MANY_FLIPS = 0.5

WORD = re.compile(r"[a-z-]+(?=[ ,.;]|$)")  # not a name with signs in it

HUMAN = "human"  # the name of a person as a judge

LONGEST_RUBRIC = 500  # characters of the criteria that are shown

# Under so many items, another set of items may well turn out differently.
FEW_ITEMS = 50
ABOUT_THE_JUDGE = (
    "It is about what this judge says on these items. It does not say that the judge is right, that "
    "it would say the same again, or what holds on other items."
)
ABOUT_ONE_ORDER = (
    "It is about what this judge says on items like these, each shown in one order drawn at random. "
    "It does not say that the judge is right, or that it would say the same again."
)
DRAWN_WHOLE = "Every item is judged, so the draw of items leaves nothing to chance."
ALL_JUDGED = "Every item is judged."
HEADING_STOP, HEADING_RISK = "Why it stopped", "What the stated risk means"

CUT_SHORT = {
    StopKind.INTERRUPTED: "The same command goes on from here, and pays for nothing twice.",
    StopKind.DEADLINE: "The same command goes on from here, and pays for nothing twice.",
    StopKind.JUDGE_FAILED: "Once this is mended, the same command goes on from here, and pays for "
    "nothing twice.",
    StopKind.ABSTENTIONS: "Once this is mended, the same command goes on from here, and pays for "
    "nothing twice.",
}
# Why a run ended without a decision, in a few words; the reason's own sentence says more.
ENDED = {
    StopKind.BUDGET: "the budget does not cover another judgment",
    StopKind.JUDGMENT_LIMIT: "the limit of judgments is reached",
    StopKind.DEADLINE: "the time is up",
    StopKind.FUTILITY: "a decision within the limit of judgments is unlikely",
    StopKind.POOL_EXHAUSTED: "no more questions can be asked",
    StopKind.ABSTENTIONS: "too many items have no verdict",
    StopKind.JUDGE_FAILED: "the judge failed",
    StopKind.INTERRUPTED: "the run was interrupted",
    StopKind.DRY_RUN: "a dry run asks nobody",
}


def on_items(about: About, items: int) -> str:
    """Return which items a decision is about.

    >>> on_items(About.THESE_ITEMS, 1200), on_items(About.ITEMS_LIKE_THESE, 12)
    ('on these 1,200 items', 'on items like these 12')
    """
    if about is About.ITEMS_LIKE_THESE:
        return f"on items like these {items:,}"
    return f"on these {items:,} items" if items != 1 else "on this one item"


def about_the_judge(result: RunResult) -> str:
    """Return what a decision is about, and what it does not say."""
    return ABOUT_ONE_ORDER if result.setup.sampled else ABOUT_THE_JUDGE


def promise(guarantee: str, risk: float, *, decided: bool) -> str:
    """Return what is proved about the risk that was asked for, and what the stated risk is."""
    proved = f"The risk that was asked for, {risk:g}, is guaranteed: {visible(guarantee)}."
    lowest = " The stated risk is the lowest at which this run would have ended here."
    return proved + (lowest if decided else "")


def few_items(about: About, items: int) -> list[str]:
    """Return a warning if the set has few items, else none."""
    if items >= FEW_ITEMS:
        return []
    few = f"Warning: the set has few items, {items}."
    if about is About.ITEMS_LIKE_THESE:
        return [f"{few} The decision holds for other items only if they are like these."]
    return [f"{few} Another set of items may turn out differently."]


def ended(result: RunResult) -> str:
    """Return why a run ended without a decision: in few words, or in full if nothing is judged."""
    if result.judged == 0 and result.stop_reason is StopKind.ABSTENTIONS:
        return visible(result.stop_sentence)
    if result.judged == 0 and result.stop_reason is StopKind.DEADLINE:
        return "the time was up before the judge gave a verdict"
    if result.stop_reason is StopKind.BUDGET and result.spend.ledger_is_short:
        return "the limit for all runs of the ledger does not cover another judgment"
    return ENDED.get(result.stop_reason, visible(result.stop_sentence))


def sentence(text: str) -> str:
    """Return `text` with a capital letter and a full stop, as a sentence of its own.

    A judge's name or a path at the beginning stays as it is.

    >>> sentence("the limit is reached"), sentence("openai/gpt-5 is gone")
    ('The limit is reached.', 'openai/gpt-5 is gone.')
    """
    if WORD.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def required_first(line: str, result: RunResult) -> str:
    """Return the decision, after the fact that it is not the one that was required."""
    if result.winner is None or not result.refused:
        return line
    required = result.setup.required_winner
    was = f"{visible(required)} was required, and " if required else ""
    return f"FAILED: {was}{line}"


def notes(
    result: RunResult, heading: str, means: str, *, whole: bool = False
) -> tuple[Section, ...]:
    """Return why the run ended, and under `heading` what its risk or interval `means`.

    The second is left out if nothing is judged, or if `means` is empty. `whole`: every item is
    judged, so that the risk at which the rule ended the run is no longer the stated one.
    """
    met = whole and result.stop_reason is StopKind.RISK_MET
    said = ALL_JUDGED if met else sentence(visible(result.stop_sentence))
    why = Section(HEADING_STOP, (("", said),))
    return (why, Section(heading, (("", means),))) if result.judged and means else (why,)


def warnings(result: RunResult) -> list[str]:
    """Return the warnings of a result: few items, flipped verdicts, a doubtful judge or data."""
    found = few_items(result.about, result.items)
    if result.flip_interval is not None and result.flip_interval[0] > MANY_FLIPS:
        found.append(
            f"Warning: {result.flip_rate:.0%} of the verdicts changed with the order of "
            "presentation: this judge mainly prefers a position."
        )
    if result.decoys is not None and _is_fooled(result.decoys):
        found.append(
            "Warning: this judge can be fooled by empty or constant answers, and its verdicts "
            "deserve little trust."
        )
    for name, repeats in result.setup.repeated.items():
        found.append(
            f"Warning: {visible(name)} gives the very same output to {repeats:,} of "
            f"{result.items:,} items."
        )
    found += [f"Warning: {text}" for text in empty_outputs(result)]
    said = (result.setup.old_prices, result.setup.asked_anew)
    return found + [f"Warning: {sentence(visible(text))}" for text in said if text]


def empty_outputs(result: RunResult) -> list[str]:
    """Return a sentence on each system with outputs that have no text."""
    return [
        f"{count(empty, 'output')} of {visible(name)} {'is' if empty == 1 else 'are'} empty."
        for name, empty in result.setup.empty.items()
    ]


def shortened(name: str, most: int) -> str:
    """Return a name with unseen characters escaped, cut to `most` characters.

    >>> shortened("gpt-4.1-mini-2025", 9)
    'gpt-4.1-…'
    """
    shown = visible(name)
    return shown if len(shown) <= most else f"{shown[: max(0, most - 1)]}…"


def count(number: int, thing: str) -> str:
    """Return a number with its noun, such as `2 items`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def judged_by(result: RunResult) -> str:
    """Return the judges' names, for a sentence."""
    return " + ".join(
        "a person" if name == HUMAN else visible(name) for name in result.setup.judges
    )


def judge(result: RunResult) -> str:
    """Return the judge's name, with its agreement, order and flipped verdicts."""
    text = visible(result.setup.judge)
    text += _models(result)
    if result.setup.vote:
        text += f"; by {result.setup.vote}"
    if result.agreement:
        agreement = result.agreement
        text += f", {agreement.name} {agreement.value:.2f} on {count(agreement.items, 'item')}"
    if result.setup.prompt:
        text += f"; prompt {visible(result.setup.prompt)}"
    if result.setup.order:
        text += f"; order {result.setup.order}"
    return text + _flips(result)


def _flips(result: RunResult) -> str:
    """Return how many verdicts changed with the order, of those asked in both orders."""
    if result.flip_rate is None or result.flip_interval is None:
        return ""
    low, high = result.flip_interval
    return (
        f", {result.flips:,} of {count(result.both_orders, 'verdict')} asked in both orders flipped "
        f"({result.flip_rate:.0%}, 95 % interval {low:.0%} to {high:.0%})"
    )


def _models(result: RunResult) -> str:
    """Return the model names that servers reported, where they differ from the requested names."""
    text = ""
    for judge, models in zip(result.setup.judges, result.judge_models, strict=True):
        asked = judge.partition("/")[2] or judge
        if len(models) > 1:
            text += f"; the model of {visible(judge)} changed during the run: {', then '.join(map(visible, models))}"
        elif models and models[0] != asked:
            text += f"; the server of {visible(judge)} calls it {visible(models[0])}"
    return text


def decoys(result: RunResult) -> str:
    """Return the results of the decoys."""
    tried = result.decoys
    assert tried is not None
    judged = tried.won + tried.tied + tried.lost
    if result.job == "estimate":
        text = f"{tried.won:,} of {count(judged, 'empty or constant answer')} were rated over one half, {tried.tied:,} at it"
    else:
        text = f"{tried.won:,} of {count(judged, 'empty or constant answer')} beat a real one, {tried.tied:,} tied"
    return text


def _is_fooled(decoys: DecoyTally) -> bool:
    """Return whether decoys got more than a quarter of the points, with half a point for a tie."""
    return 2 * (2 * decoys.won + decoys.tied) > decoys.won + decoys.tied + decoys.lost


def about_data(result: RunResult) -> list[tuple[str, str]]:
    """Return rows on criteria, decoys, items left out, guessed columns and tier, if any."""
    rows = (
        [("rubric", shortened(result.setup.rubric, LONGEST_RUBRIC))] if result.setup.rubric else []
    )
    rows += [("decoys", decoys(result))] if result.decoys is not None else []
    if result.setup.left_out:
        rows.append(("left out", visible(result.setup.left_out)))
    if result.setup.guessed:
        rows.append(("columns", visible(result.setup.guessed)))
    if result.setup.tier:
        rows.append(("tier", visible(result.setup.tier)))
    return rows


def published(result: RunResult) -> list[tuple[str, str]]:
    """Return a row on the paper whose configuration was used; none if it was not one of a paper."""
    named = result.setup.published
    return [] if named is None else [("as published", visible(named))]
