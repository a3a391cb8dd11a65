"""Small storms of `benchmarks/storms.py`: what was billed is booked, and nothing else, within the budget."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.patience import PATIENCE_S

pytestmark = pytest.mark.processes

COMMAND = Path(__file__).parents[2] / "benchmarks" / "storms.py"
SMALL = ["--in-flight", "4", "--items", "24", "--budget", "3", "--reply", "0.1"]


@pytest.mark.parametrize("kind", ["file", "server", "full-disk"])
def test_a_small_storm_breaks_no_promise(kind, request):
    if kind == "server":
        request.getfixturevalue("postgres")
    given = [*SMALL, *([] if kind == "full-disk" else ["--processes", "3", "--kills", "4"])]
    done = subprocess.run(
        [sys.executable, COMMAND, kind, *given], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].split("|")]
    assert cells[1] == kind
    assert (int(cells[2]) == 4) == (kind != "full-disk"), done.stdout
    assert int(cells[4]) > 20, "requests"
