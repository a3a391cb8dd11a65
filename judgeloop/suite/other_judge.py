"""Sentences on judges that are others than before: set in the place of one, or with another model behind the name.

Pure: judges and models of the pairs of a night in, sentences out.
"""

from collections.abc import Collection, Iterator, Sequence

from judgeloop.core.errors import some
from judgeloop.core.outcomes import AnsweredBy
from judgeloop.core.records import PAIR

Models = tuple[tuple[str, tuple[AnsweredBy, ...]], ...]  # that answered, by judge
Judges = tuple[str, ...]
DAY = 10  # characters of a time that are its date


def other_judges(pairs: Sequence[tuple[str, Judges, Judges]]) -> Iterator[str]:
    """Yield a sentence for each judge that was set in the place of another, with its pairs where they are not all.

    A pair is its name, its judges before, and those now.
    """
    changed: dict[tuple[Judges, Judges], list[str]] = {}
    for name, before, now in pairs:
        if now != before:
            changed.setdefault((before, now), []).append(name)
    for (before, now), names in changed.items():
        where = "" if len(names) == len(pairs) else f" ({some(names)})"
        yield f"The judge changed: {' and '.join(before)} before, {' and '.join(now)} now{where}."


def other_model(
    judge: str, earlier: Sequence[Models], later: Sequence[Models], night: str, known: Collection[tuple[str, str]]
) -> str:
    """How the model that answers for a judge changed since the last night, or in this one; empty if it did not.

    `earlier` and `later` are the models of the pairs before and now. Once the page of a night has told of it, so that a
    model is `known`, that verdicts of both count is no news.
    """
    before, here = (
        [one for pair in when for name, models in pair if name == judge for one in models] for when in (earlier, later)
    )
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
    judges = {name for pair in later for name, _ in pair}
    which = "The judge changed" if len(judges) == 1 else f"The judge {judge} changed"
    return f"{which}: {named}; {now:,} of {every:,} replies that count are by the new one."
