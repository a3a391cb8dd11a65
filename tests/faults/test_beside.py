"""The job of judgeloop in `benchmarks/beside.py`: what it pays for is kept, within the limit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "beside.py"


@pytest.mark.processes
def test_two_processes_keep_one_limit_and_every_verdict():
    spec = importlib.util.spec_from_file_location("beside", PATH)
    beside = sys.modules["beside"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside)
    row = beside.measured("judgeloop", beside.Condition(8, processes=2), beside.Size(40, limit=0.2))
    assert (row.over, row.twice, row.lost, row.hung) == (0, 0, 0, 0)
    assert row.found > 5, "a rating costs about a cent"
