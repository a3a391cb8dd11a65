"""Two systems and their items in memory, which are the same in every form."""

from __future__ import annotations

import importlib
import sys

import pytest
from support.tables import ROWS, write


@pytest.fixture
def rows():
    """The rows of three systems, by name."""
    return {system: [dict(row) for row in found] for system, found in ROWS.items()}


@pytest.fixture
def files(tmp_path):
    """The same rows in files."""
    return write(tmp_path, ROWS)


@pytest.fixture
def own_module(tmp_path, monkeypatch, own_modules):
    """Writes a module into a folder of the import path, and imports it."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def make(source, name="own_functions"):
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return make
