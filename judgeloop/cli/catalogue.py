"""The questions that the command line asks, a line each.

A question is a folder with the modules `config`, `prepare`, `run` and `text`. Nothing of it is
imported before it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question by the name of its folder, the configuration in it, and one line of help."""

    name: str
    config: str
    help: str

    def load(self, module: str) -> Any:
        """One of the question's modules."""
        return import_module(f"judgeloop.{self.name}.{module}")

    @property
    def configuration(self) -> Any:
        """The question's configuration."""
        return getattr(self.load("config"), self.config)


QUESTIONS = (
    Question("compare", "CompareConfig", "Find the better of two systems."),
    Question("select", "SelectConfig", "Find the best of many systems, each compared with one of them, the baseline."),
    Question("estimate", "EstimateConfig", "Estimate one system's mean score over all items, from a few that are judged."),
)  # fmt: skip
