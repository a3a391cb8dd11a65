"""Finds the folders of files that judgeloop ships: its prompts and its example.

In an installed package they are inside the package, under a name with an underscore; in a checkout
they are beside it.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def shipped(folder: str) -> Traversable:
    """Return the shipped folder `folder`, such as `prompts`."""
    installed = files("judgeloop") / f"_{folder}"
    return installed if installed.is_dir() else Path(__file__).parent.parent.parent / folder
