"""The texts of the judged items, for a report that is read without the files: prompt and outputs.

Reads a pool. Cuts long texts and escapes nothing: who renders them does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from judgeloop.core.pool import Pool
from judgeloop.report.labels import LabelRow

LONGEST = 8_000  # characters shown of a text
MOST = 1_000  # judged items whose texts are shown, so that a browser still opens the report


@dataclass(frozen=True)
class Texts:
    """The texts of the items of `pool`."""

    pool: Pool

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {item.id: position for position, item in enumerate(self.pool.items)}

    def of_item(self, label: LabelRow) -> list[tuple[str, str]]:
        """Return the prompt and the reference, if there is one, each with its name."""
        item = self.pool.items[self._positions[label.item_id]]
        reference = [] if item.reference is None else [("reference", cut(item.reference))]
        return [("prompt", cut(item.prompt)), *reference]

    def of_systems(self, label: LabelRow) -> list[tuple[str, str]]:
        """Return the outputs that were judged, each with its system."""
        position = self._positions[label.item_id]
        outputs = dict(zip(self.pool.systems, self.pool.outputs, strict=True))
        systems = [label.system] if label.against is None else [label.system, label.against]
        return [(system, cut(outputs[system][position])) for system in systems]

    def columns(self, labels: Sequence[LabelRow]) -> dict[str, list[str | None]]:
        """Return prompt and outputs of `labels`, whole, as columns of a table.

        `output` is that of a label's system, `output_against` that of the other, if there is one.
        """
        places = [self._positions[label.item_id] for label in labels]
        outputs = dict(zip(self.pool.systems, self.pool.outputs, strict=True))
        return {
            "prompt": [self.pool.items[place].prompt for place in places],
            "output": [
                outputs[label.system][place] for label, place in zip(labels, places, strict=True)
            ],
            "output_against": [
                None if label.against is None else outputs[label.against][place]
                for label, place in zip(labels, places, strict=True)
            ],
        }


def cut(text: str) -> str:
    """Return the beginning of a text that is too long to show, and how much is missing.

    >>> cut("short"), cut("x" * 8_003)[-21:]
    ('short', '… (3 more characters)')
    """
    more = len(text) - LONGEST
    return text if more <= 0 else f"{text[:LONGEST]}… ({more:,} more character{'s' * (more > 1)})"
