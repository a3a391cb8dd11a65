"""A comparison that no server is needed for."""

from __future__ import annotations

import pytest


@pytest.fixture
def pair(incidents):
    """The example's two systems, compared by a metric, as arguments."""
    files = [incidents / f"{name}.jsonl" for name in ("lead", "central")]
    items = ["--items", incidents / "items.jsonl"]
    return ["compare", *files, *items, "--judge", "metric:rouge2", "--json"]
