"""What HTML, CSV and JSON files need of a result, whether judges were asked or scores recorded."""

from __future__ import annotations

from typing import Any, Protocol

from judgeloop.report.shown import LabelRow


class Named(Protocol):
    """What a report says of where a result comes from."""

    @property
    def version(self) -> str:
        """The version of judgeloop."""
        ...

    @property
    def run(self) -> str:
        """The run's id, or what stands in its place."""
        ...


class Reported(Protocol):
    """What a report renders: judged items, their origin, and JSON values."""

    @property
    def setup(self) -> Named:
        """Where the result comes from."""
        ...

    @property
    def labels(self) -> tuple[LabelRow, ...]:
        """The judged items."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without the labels."""
        ...
