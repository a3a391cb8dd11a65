"""Sentences on judges that are others than before: set in the place of one, or with another model behind the name.

Pure: judges and models of the pairs of a night in, sentences out.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from judgeloop.core.errors import some
from judgeloop.core.outcomes import AnsweredBy

Models = tuple[tuple[str, tuple[AnsweredBy, ...]], ...]  # that answered, by judge
Judges = tuple[str, ...]


def present(models: Models) -> dict[str, str]:
    """By which model each judge answers: that of the latest verdict, whoever gave those that were known before."""
    return {judge: max(of, key=lambda one: one.last).model for judge, of in models if of}


class OtherModels(NamedTuple):
    """Of a judge the models that replied `before`, those that are new `now`, and all that `replied` in this night."""

    judge: str
    before: tuple[str, ...]
    now: tuple[str, ...]
    replied: tuple[str, ...]


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


def other_models(models: Collection[OtherModels], judges: int) -> tuple[str, str]:
    """Which models answer now that did not before, in sentences, and which did; of all `judges` of a night."""
    now = " ".join(
        f"The judge{f' {one.judge}' * (judges > 1)} changed: {some(one.now)} answer{'s' * (len(one.now) == 1)} now."
        for one in models
    )
    before = "; ".join(f"{some(one.before)}{f' (for {one.judge})' * (len(models) > 1)}" for one in models)
    return now, f"Before, {before} answered." if before else ""
