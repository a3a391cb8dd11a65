"""Sentences on judges that are others than before: set in the place of one, or with another model behind the name.

Pure: the lines of a night in, sentences out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from judgeloop.core.errors import some
from judgeloop.core.records import PAIR

if TYPE_CHECKING:
    from judgeloop.core.outcomes import AnsweredBy
    from judgeloop.suite.summary import Line

DAY = 10  # characters of a time that are its date


def other_judges(lines: Sequence[Line]) -> Iterator[str]:
    """Yield a sentence for each judge that was set in the place of another, with its pairs where they are not all."""
    pairs: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for one in lines:
        if one.judges != one.judges_before:
            pairs.setdefault((one.judges_before, one.judges), []).append(one.name)
    judged = sum(bool(one.judges) for one in lines)
    for (before, now), names in pairs.items():
        where = "" if len(names) == judged else f" ({some(names)})"
        yield f"The judge changed: {' and '.join(before)} before, {' and '.join(now)} now{where}."


def other_model(judge: str, lines: Sequence[Line], night: str, known: Collection[tuple[str, str]]) -> str:
    """How the model that answers for a judge changed since the last night, or in this one; empty if it did not.

    Once the page of a night has told of it, so that a model is `known`, that verdicts of both count is no news.
    """
    here = [one for line in lines for name, models in line.answered_by if name == judge for one in models]
    before = [one for line in lines for name, models in line.answered_before if name == judge for one in models]
    by_model: dict[str, list[AnsweredBy]] = {}
    for one in sorted((*before, *here), key=lambda one: one.first):
        by_model.setdefault(one.model, []).append(one)
    if len(by_model) < PAIR:
        return ""
    *older, new = by_model
    now, every = sum(one.verdicts for one in here if one.model == new), sum(one.verdicts for one in here)
    if not now or (judge, new) in known:
        return ""
    began = min(one.first for one in by_model[new])
    ended = {model: max(one.last for one in by_model[model]) for model in older}
    # Models that take turns, as behind a router, have no last day.
    turns = max(ended.values()) < began
    until = [f"{model} until {ended[model][:DAY]}" if turns else model for model in older]
    since = f"{new} since" if began[:DAY] == night else f"{new} since {began[:DAY]}"
    named = ", ".join([*until, since if turns else new])
    judges = {name for line in lines for name, _ in line.answered_by}
    which = "The judge changed" if len(judges) == 1 else f"The judge {judge} changed"
    return f"{which}: {named}; {now:,} of {every:,} replies that count are by the new one."
