"""The notebook runs from its first cell to its last, in a kernel with a running event loop."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of Jupyter's own packages
def test_the_notebook_runs_and_shows_its_results(tmp_path, monkeypatch):
    # Here, because only the extra `notebook` has them.
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for name in ("notebook", "incidents"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    book = nbformat.read(tmp_path / "notebook" / "incidents.ipynb", as_version=4)
    nbformat.validate(book)
    NotebookClient(book, timeout=None, resources={"metadata": {"path": tmp_path / "notebook"}}).execute()

    shown = [cell.outputs[-1].data for cell in book.cells if cell.cell_type == "code"]
    compared, again, frame, estimated = shown[1:]
    assert "is better than" in compared["text/html"]
    assert "asked anew" not in compared["text/html"]
    winner, attempts, remembered = again["text/plain"].strip("()").split(", ")
    assert winner.strip("'") in compared["text/html"]
    assert int(attempts) == 0 < int(remembered)
    assert "item_id" in frame["text/plain"]
    assert "interval" in estimated["text/html"]


def test_the_notebook_is_stored_without_outputs():
    book = json.loads((EXAMPLES / "notebook" / "incidents.ipynb").read_text(encoding="utf-8"))
    for cell in book["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
