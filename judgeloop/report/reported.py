"""What files need of a result (HTML, CSV, JSON, JUnit), of asked judges and of recorded scores."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from judgeloop.report.labels import LabelRow


class Named(Protocol):
    """What a report says of where a result comes from."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that the question is about."""
        ...

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

    job: ClassVar[str]  # the question: compare, select or estimate

    @property
    def setup(self) -> Named:
        """Where the result comes from."""
        ...

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        ...

    @property
    def labels(self) -> tuple[LabelRow, ...]:
        """The judged items."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without the labels."""
        ...
