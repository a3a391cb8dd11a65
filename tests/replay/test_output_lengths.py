"""How long recorded outputs are."""

from __future__ import annotations

import numpy as np
import pytest
from support.tables import write

from judgeloop.replay.recorded_files import output_lengths


@pytest.fixture
def items(tmp_path):
    return write(tmp_path, {"items": [{"id": one, "prompt": f"on {one}"} for one in "abc"]})["items"]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    write(
        folder,
        {
            "x": [{"id": "a", "output": "1234"}, {"id": "c", "output": ""}],
            "y": [{"prompt": "on b", "output": "12", "model": "y"}],
            "stranger": [{"id": "a", "output": "1"}],
        },
    )
    (folder / ".hidden").write_text("no outputs")
    return folder


def test_lengths_are_by_system_and_item_and_unknown_where_there_is_no_output(folder, items):
    found = output_lengths(folder, items, ["y", "x", "z"], ["c", "a", "b"])
    nan = np.nan
    np.testing.assert_array_equal(found, [[nan, nan, 2], [0, 4, nan], [nan, nan, nan]])
