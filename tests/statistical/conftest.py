"""Simulations of what is promised take minutes: they are run by a command of their own (README)."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every simulation gets the mark, but for those that are quick enough to be run each time."""
    for item in items:
        in_this_folder = "statistical" in item.path.parts
        if in_this_folder and not {"quick", "slow"} & {mark.name for mark in item.iter_markers()}:
            item.add_marker(pytest.mark.simulation)
