"""A result that was kept is read again as it was, whatever the outputs are."""

from __future__ import annotations

import pytest
from support import commandline
from support.outputs import write_outputs


@pytest.mark.parametrize("output", ["", "\u202e", "\ud83d\ude00 \x00"])
def test_a_result_with_an_odd_output_is_made_again(tmp_path, output):
    files = [
        str(write_outputs(tmp_path / f"{name}.jsonl", texts, reference="yes"))
        for name, texts in (("old", ["yes"] * 20), ("new", [output] * 20))
    ]
    first = commandline.result_of("compare", *files, "--judge", "metric:token-f1")
    assert first["winner"] == "old"
    again = commandline.judgeloop("runs", "show", "-q", "-o", str(tmp_path / "again.html"))
    assert again.exit_code == 0, again.stderr
    shown = commandline.result_of("runs", "show")
    assert (shown["headline"], shown["wins"]) == (first["headline"], first["wins"])
