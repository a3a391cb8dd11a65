"""How a result shows itself to a program: as text, in a notebook, as values and as a data frame.

Every result has these, whether judges were asked (`run_result.py`) or scores were recorded. The
figures are the result's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, fields
from typing import Any, ClassVar

from judgeloop.core.outcomes import StopKind
from judgeloop.report.html import render_html
from judgeloop.report.labels import LabelRow
from judgeloop.report.markdown import render_markdown
from judgeloop.report.notebook import render_notebook
from judgeloop.report.page import Page, render
from judgeloop.report.texts import Texts


class Shown(ABC):
    """A result with its text, its JSON values and its judged items, `labels`."""

    __slots__ = ()

    job: ClassVar[str]
    setup: Any
    labels: tuple[LabelRow, ...]

    @property
    @abstractmethod
    def exit_code(self) -> int:
        """The exit code of the command."""

    @property
    @abstractmethod
    def page(self) -> Page:
        """The result as text: the headline, and the details."""

    @property
    def texts(self) -> Texts | None:
        """The texts of the judged items; None if the result does not hold them."""
        return None

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

    def to_markdown(self) -> str:
        """Return the result as Markdown, for a comment on a pull request or a report."""
        return render_markdown(self.page)

    def to_html(self) -> str:
        """Return the result as an HTML page of its own, with the judged items.

        Their prompts and outputs are on it if the result holds them, as one of a call in Python.
        """
        return render_html(self, self.page, self.texts)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the judged items as a data frame of pandas, polars or pyarrow, a row for each.

        The last columns are the prompt and the outputs, if the result holds them.

        Raises:
            InputError: the library is another one, or it is not installed.
        """
        from judgeloop.report.frame import frame_of

        rows = [_plain(asdict(label)) for label in self.labels]
        columns = {name.name: [row[name.name] for row in rows] for name in fields(LabelRow)}
        if self.texts is not None:
            columns |= self.texts.columns(self.labels)
        return frame_of(columns, library)


def _plain(value: Any) -> Any:
    """Return `value` with lists for tuples and text for names, as JSON has them."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, StopKind) else value
