"""How a result shows itself to a program: as text, in a notebook, as values and as a data frame.

Every result has these, whether judges were asked (`run_result.py`) or scores were recorded. The
figures are the result's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any

from judgeloop.core.outcomes import StopKind
from judgeloop.report.notebook import render_notebook
from judgeloop.report.page import Page, render


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A judged item, as files and pages show it.

    - `system`, `against`: the two systems compared; `against` is None for a rating.
    - `score`: in [0, 1]; in a comparison 1 means that `system` is better, 0 that `against` is. None
      for an abstention.
    - `winner`: the preferred system; None for a tie, a rating or an abstention.
    - `flipped`: True for a tie because the two orders of presentation disagreed.
    - `propensity`: the probability with which the item was drawn; None if it was picked.
    - `in_decision`: False if the item was judged, but does not count in the decision.
    - `votes`: the scores of a panel's judges; None for a judge that abstained.
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


class Shown(ABC):
    """A result with its text, its JSON values and its judged items, `labels`."""

    __slots__ = ()

    labels: tuple[LabelRow, ...]

    @property
    @abstractmethod
    def page(self) -> Page:
        """The result as text: the headline, and the details."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without the labels."""

    def __str__(self) -> str:
        """The text that the command line prints."""
        return render(self.page)

    def _repr_html_(self) -> str:
        """Return the result as HTML; notebooks call this to show it."""
        return render_notebook(self.page)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, with the judged items under `labels`."""
        values = self.to_json() | {"labels": [asdict(label) for label in self.labels]}
        found: dict[str, Any] = _plain(values)
        return found

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the judged items as a data frame of pandas, polars or pyarrow, a row for each.

        Raises:
            InputError: the library is another one, or it is not installed.
        """
        from judgeloop.report.frame import frame_of

        rows = [_plain(asdict(label)) for label in self.labels]
        names = [each.name for each in fields(LabelRow)]
        return frame_of({name: [row[name] for row in rows] for name in names}, library)


def _plain(value: Any) -> Any:
    """Return `value` with lists for tuples and text for names, as JSON has them."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, StopKind) else value
