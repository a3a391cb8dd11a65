"""How long recorded outputs are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from judgeloop.core.errors import InputError
from judgeloop.replay.recorded_files import output_lengths


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def items(tmp_path):
    return write(tmp_path / "items.jsonl", [{"id": one, "prompt": f"on {one}"} for one in "abc"])


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    write(folder / "x.jsonl", [{"id": "a", "output": "1234"}, {"id": "c", "output": ""}])
    write(folder / "y.jsonl", [{"prompt": "on b", "output": "12", "model": "y"}])
    write(folder / "stranger.jsonl", [{"id": "a", "output": "1"}])
    (folder / ".hidden").write_text("no outputs")
    return folder


def test_lengths_are_by_system_and_item_and_unknown_where_there_is_no_output(folder, items):
    found = output_lengths(folder, items, ["y", "x", "z"], ["c", "a", "b"])
    nan = np.nan
    np.testing.assert_array_equal(found, [[nan, nan, 2], [0, 4, nan], [nan, nan, nan]])


def test_what_is_no_folder_is_refused(items):
    with pytest.raises(InputError, match="expected a folder of output files"):
        output_lengths(items, items, ["x"], ["a"])
