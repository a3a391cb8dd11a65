"""How a result shows itself to a program: as text, in a notebook, as values and as a data frame.

The figures and the page are the result's own. narwhals and the libraries of data frames are
imported only when one is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar

from judgeloop.core.errors import InputError
from judgeloop.core.part import Say, plain
from judgeloop.report.html import render_html, render_notebook
from judgeloop.report.labels import LabelRow
from judgeloop.report.markdown import render_markdown
from judgeloop.report.page import Page, render
from judgeloop.report.texts import Texts

LIBRARIES = ("pandas", "polars", "pyarrow")


class Renderable(ABC):
    """A result with its page, its JSON values and its judged items, `labels`."""

    __slots__ = ()

    job: ClassVar[str]  # the question: compare, select or estimate
    setup: Any
    labels: tuple[LabelRow, ...]
    page: Page
    texts: Texts | None

    @property
    @abstractmethod
    def exit_code(self) -> int:
        """The exit code of the command."""

    @abstractmethod
    def to_json(self, say: Say = str) -> dict[str, Any]:
        """Return the JSON values, without the judged items; each sentence as `say` says it."""

    def __str__(self) -> str:
        """The text that the command line prints."""
        return render(self.page)

    def _repr_html_(self) -> str:
        """Return the result as HTML; notebooks call this to show it."""
        return render_notebook(self.page)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, with the judged items under `labels`."""
        return self.to_json() | {"labels": plain(self.labels)}

    def to_markdown(self) -> str:
        """Return the result as Markdown, for a comment on a pull request or a report."""
        return render_markdown(self.page)

    def to_html(self, written: str = "") -> str:
        """Return the result as an HTML page of its own, with the judged items.

        Their prompts and outputs are on it if the result holds them, as one of a call in Python.
        `written` is the date and time that the page names.
        """
        origin = f"judgeloop {self.setup.version}, run {self.setup.run}"
        origin += f", written {written}" if written else ""
        return render_html(self.page, self.labels, origin=origin, texts=self.texts)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the judged items as a data frame of pandas, polars or pyarrow, a row for each.

        The last columns are the prompt and the outputs, if the result holds them.

        Raises:
            InputError: the library is another one, or it is not installed.
        """
        rows = [plain(label) for label in self.labels]
        columns = {name.name: [row[name.name] for row in rows] for name in fields(LabelRow)}
        if self.texts is not None:
            columns |= self.texts.columns(self.labels)
        return _frame(columns, library)


def _frame(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """Return a data frame of `library` with these columns."""
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
