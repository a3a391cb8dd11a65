"""Reads `per_instance_stats.json` of Stanford's HELM: the scores of each instance, without the outputs.

Ids are those that `helm.py` gives. The scores are the means of the statistics, by name.
"""

from collections.abc import Iterator
from typing import Any

from judgeloop.formats.catalogue import within
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source


def recognises(source: Source) -> bool:
    """Return whether the first entry has an instance's statistics."""
    return "instance_id" in source.first and isinstance(source.first.get("stats"), list)


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each instance."""
    rows = list(source.rows())
    trials = len({row.fields.get("train_trial_index") for row in rows}) > 1
    for number, row in enumerate(rows, start=1):
        perturbed = within(row.fields, "perturbation", "name")
        listed = row.fields.get("stats")
        if not isinstance(listed, list):
            raise source.wrong(f"expected a list of 'stats', found {listed!r:.60}", number)
        scores: dict[str, Any] = {str(within(one, "name", "name")): within(one, "mean") for one in listed}
        yield Row(
            number,
            {"id": f"{row.fields.get('instance_id')}{f' {perturbed}' if perturbed else ''}"},
            failed="scenario_state.json has it; `judge=recorded:NAME` compares the scores here",
            epoch=1 + (row.fields.get("train_trial_index") or 0) if trials else 0,
            scores=scores,
        )
