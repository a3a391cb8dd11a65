"""Renders the judged items as CSV, a row for each item in the order asked.

Texts are escaped, because a spreadsheet runs a cell that looks like a formula.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields

from judgeloop.report.escaping import csv_cell
from judgeloop.report.labels import LabelRow
from judgeloop.report.reported import Reported


def render_csv(result: Reported) -> str:
    """Return a header and a row for each judged item."""
    text = io.StringIO()
    names = [field.name for field in fields(LabelRow)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for label in result.labels:
        row = asdict(label) | {"votes": " ".join(map(str, label.votes))}
        writer.writerow(
            {
                name: csv_cell(value) if isinstance(value, str) else value
                for name, value in row.items()
            }
        )
    return text.getvalue()
