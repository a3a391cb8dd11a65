"""Arguments of comparisons: one that no server is needed for, and one with a table of prices."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.live import of_both, write_items, write_outputs
from support.outputs import write_good_and_poor

PRICES = """
["openai/judge"]
input_per_mtok = 1
output_per_mtok = 10
cache_read_per_mtok = 0.1
["openai/judge".flex]
input_per_mtok = 0.5
output_per_mtok = 5
"""


@pytest.fixture
def pair(incidents):
    """The example's two systems, compared by a metric, as arguments."""
    files = [incidents / f"{name}.jsonl" for name in ("lead", "central")]
    items = ["--items", incidents / "items.jsonl"]
    return ["compare", *files, *items, "--judge", "metric:rouge2", "--json"]


@pytest.fixture
def priced(chat_server):
    """The judge `openai/judge` on loopback, whose prices are in prices.toml; beside it lie a.jsonl
    and b.jsonl with outputs on 12 items."""
    Path("prices.toml").write_text(PRICES, encoding="utf-8")
    write_good_and_poor(Path(), 12)
    url = ["--judge-base-url", chat_server.url]
    return ["--judge", "openai/judge", *url, "--judge-price", "prices.toml"]


@pytest.fixture
def server(chat_server):
    """A server on loopback that is judge and systems at once."""
    chat_server.respond = of_both
    return chat_server


@pytest.fixture
def files():
    """Items, and a file of outputs to them."""
    write_items(Path("items.jsonl"))
    write_outputs(Path("old.jsonl"))
