"""The examples in docstrings print what they show.

Not by `--doctest-modules`, which imports every module of the package and of the tests while tests
are collected.
"""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "judgeloop").rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_print_what_they_show(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
