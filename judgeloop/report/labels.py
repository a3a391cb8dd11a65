"""The judged items: a record of each, their texts, and all of them as CSV or as a data frame.

Holds what was said of an item and how it was drawn, and reads prompts and outputs from a pool. In
CSV texts are escaped, because a spreadsheet runs a cell that looks like a formula.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.records import FOR_A, FOR_B, Abstention, Item, Key, Label, Pool, Shown
from judgeloop.report.words import csv_cell

_WHOSE = re.compile(rf"(?<=\d)(?:{FOR_A}|{FOR_B})\b")


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A judged item, as files and pages show it.

    - `item_id`: the item
    - `system`: the system judged, in a comparison the first of two
    - `against`: the other system; null for a rating
    - `score`: in [0, 1]; in a comparison 1 means that `system` is better, 0 that `against` is; null
      for an abstention
    - `winner`: the preferred system; null for a tie, a rating or an abstention
    - `flipped`: true for a tie because the two orders of presentation disagreed
    - `reason`: what the judge gave as its reason
    - `propensity`: the probability with which the item was drawn; null if it was picked
    - `in_decision`: false if the item was judged, but does not count in the decision
    - `votes`: the scores of a panel's judges; null for a judge that abstained
    - `group`: the item's group; null without one
    - `shown_first`: the system that the judge saw first, as A, when it gave the reason; null for a
      rating or an abstention
    - `other_reason`: if the two orders disagreed, what the judge gave as its reason in the other one
    - `graded`: in [0, 1], how much the probabilities of a decision model lean to `system`, the mean of the orders; null
      of other judges, and for a rating, whose `score` it is. It decides nothing
    - `criteria`: the scores by single criteria; empty without any
    """

    item_id: str
    system: str
    against: str | None
    score: float | None
    winner: str | None
    flipped: bool
    reason: str
    propensity: float | None
    in_decision: bool
    votes: tuple[float | None, ...]
    group: str | None = None
    shown_first: str | None = None
    other_reason: str = ""
    graded: float | None = None
    criteria: dict[str, float] = field(default_factory=dict)

    @property
    def by_criteria(self) -> str:
        """The scores by single criteria in one cell of a table."""
        return " ".join(f"{name}={score:g}" for name, score in self.criteria.items())

    def by_name(self, reason: str) -> str:
        """The reason with the systems' names beside its figures, where the judge has "for A" and "for B"."""
        if self.against is None or self.shown_first is None:
            return reason
        other = self.against if self.shown_first == self.system else self.system
        return _WHOSE.sub(lambda found: f" for {self.shown_first if found[0] == FOR_A else other}", reason)


def label_rows(
    labels: Sequence[Label], systems: Sequence[str], items: Sequence[Item], deciding: frozenset[Key]
) -> tuple[LabelRow, ...]:
    """Label rows; `items` are by position, `deciding` are keys in the decision."""
    return tuple(_row(label, systems, items, in_decision=label.choice.key in deciding) for label in labels)


def _row(label: Label, systems: Sequence[str], items: Sequence[Item], *, in_decision: bool) -> LabelRow:
    answer = label.answer
    first, *others = (systems[number] for number in label.choice.systems)
    second = others[0] if others else None
    verdict = None if isinstance(answer, Abstention) else answer
    winner = shown_first = None
    if verdict and second:
        winner = {1: first, 0: None, -1: second}[verdict.preference]
        shown_first = {None: None, False: first, True: second}[verdict.swapped]
    return LabelRow(
        item_id=items[label.choice.position].id,
        system=first,
        against=second,
        score=verdict.score if verdict else None,
        winner=winner,
        flipped=verdict.flipped if verdict else False,
        reason=answer.reason,
        propensity=label.choice.propensity,
        in_decision=in_decision,
        votes=verdict.votes if verdict else (),
        group=items[label.choice.position].group,
        shown_first=shown_first,
        other_reason=verdict.other_reason if verdict else "",
        graded=verdict.graded if verdict else None,
        criteria=dict(verdict.criteria) if verdict else {},
    )


def csv_line(values: Iterable[object]) -> str:
    """A line of CSV, without its end."""
    text = io.StringIO()
    cells = [csv_cell(value) if isinstance(value, str) else value for value in values]
    # Cells with one of the signs of this end are quoted, which are all that end a line.
    csv.writer(text, lineterminator=LINE_END).writerow(cells)
    return text.getvalue().removesuffix(LINE_END)


LINE_END = "\r\n"
LONGEST = 8_000  # characters shown of a text
LIBRARIES = ("pandas", "polars", "pyarrow")  # of data frames


@dataclass(frozen=True)
class Texts:
    """The texts of the items of `pool`, and of which of them a report shows them."""

    pool: Pool
    shown: Shown = Shown.ALL

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {item.id: position for position, item in enumerate(self.pool.items)}

    def name(self, label: LabelRow) -> str:
        """What an item is found by: its id, or its place in the file."""
        return self.pool.items[self._positions[label.item_id]].place or label.item_id

    def of_item(self, label: LabelRow) -> list[tuple[str, str]]:
        """The prompt and the reference, if there is one, each with its name."""
        item = self.pool.items[self._positions[label.item_id]]
        reference = [] if item.reference is None else [("reference", cut(item.reference))]
        return [("prompt", cut(item.prompt)), *reference]

    def of_systems(self, label: LabelRow) -> list[tuple[str, str]]:
        """The outputs that were judged, each with its system."""
        position = self._positions[label.item_id]
        outputs = dict(zip(self.pool.systems, self.pool.outputs, strict=True))
        systems = [label.system] if label.against is None else [label.system, label.against]
        return [(system, cut(outputs[system][position])) for system in systems]

    def columns(
        self, labels: Sequence[LabelRow], may: Callable[[LabelRow], bool] = bool
    ) -> dict[str, list[str | None]]:
        """Prompt and outputs of `labels`, whole, as columns of a table, where they `may` be shown.

        `output` is that of a label's system, `output_against` that of the other, if there is one.
        """
        outputs = dict(zip(self.pool.systems, self.pool.outputs, strict=True))
        found: dict[str, list[str | None]] = {"prompt": [], "output": [], "output_against": []}
        for label in labels:
            place, shown = self._positions[label.item_id], may(label)
            other = None if label.against is None else outputs[label.against][place]
            row = self.pool.items[place].prompt, outputs[label.system][place], other
            for column, text in zip(found.values(), row, strict=True):
                column.append(text if shown else None)
        return found


def render_csv(labels: Sequence[LabelRow], texts: Texts | None = None, may: Callable[[LabelRow], bool] = bool) -> str:
    """A header and a row for each judged item, in the order asked.

    With `texts`, further columns hold prompts and outputs. They and the reasons are empty where they
    `may` not be shown.
    """
    more = texts.columns(labels, may) if texts else {}
    lines = [csv_line([*(field.name for field in fields(LabelRow)), *more])]
    for number, label in enumerate(labels):
        row = asdict(label) | {"votes": " ".join(map(str, label.votes)), "criteria": label.by_criteria}
        if texts and not may(label):
            row |= {"reason": "", "other_reason": ""}
        lines.append(csv_line([*row.values(), *(column[number] for column in more.values())]))
    return "".join(f"{line}\n" for line in lines)


def frame_of(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """A data frame of the caller's `library`, which is imported only now."""
    if library not in LIBRARIES:
        raise InputError(f"`library`: expected {', '.join(LIBRARIES)}, found {library!r}")
    try:
        import_module(library)
    except ImportError as error:
        raise InputError(
            f"`library={library}` cannot be imported ({error}): install it, name another of "
            f"{', '.join(LIBRARIES)}, or use to_dict()['labels']"
        ) from None
    import narwhals

    backend: Any = library  # checked above, where mypy does not see it
    return narwhals.from_dict(dict(columns), backend=backend).to_native()


def cut(text: str) -> str:
    """The beginning of a text that is too long to show, and how much is missing.

    >>> cut("short"), cut("x" * 8_003)[-21:]
    ('short', '… (3 more characters)')
    """
    more = len(text) - LONGEST
    return text if more <= 0 else f"{text[:LONGEST]}… ({more:,} more character{'s' * (more > 1)})"
