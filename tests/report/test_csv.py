"""Lines of CSV, as spreadsheets and data frames read them."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from judgeloop.report.labels import csv_line
from judgeloop.report.words import csv_cell


def rows_of(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_a_text_of_several_lines_is_one_cell():
    cells = ["first\nsecond", "\n", "third"]
    assert rows_of(f"{csv_line(cells)}\n{csv_line(cells)}\n") == [cells, cells]


@given(st.lists(st.text(), min_size=2))
def test_what_is_read_back_is_what_was_written(cells):
    assert rows_of(f"{csv_line(cells)}\n") == [list(map(csv_cell, cells))]
