"""Renders the judged items as CSV, a row for each item in the order asked.

Texts are escaped, because a spreadsheet runs a cell that looks like a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, fields

from judgeloop.report.escaping import csv_cell
from judgeloop.report.labels import LabelRow
from judgeloop.report.reported import Reported


def csv_line(values: Iterable[object]) -> str:
    """Return a line of CSV, without its end."""
    text = io.StringIO()
    cells = [csv_cell(value) if isinstance(value, str) else value for value in values]
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def render_csv(result: Reported) -> str:
    """Return a header and a row for each judged item."""
    lines = [csv_line(field.name for field in fields(LabelRow))]
    for label in result.labels:
        row = asdict(label) | {"votes": " ".join(map(str, label.votes))}
        lines.append(csv_line(row.values()))
    return "".join(f"{line}\n" for line in lines)
