"""The catalogue of questions: `compare`, `select` and `estimate`.

A question is a folder with the modules `config`, `prepare`, `run` and `text`. Its modules are
imported only when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its folder, the class name of its configuration, a line of help, an example."""

    name: str
    config: str
    help: str
    example: str = ""  # arguments, as typed

    def load(self, module: str) -> Any:
        """Import a module of the question."""
        return import_module(f"judgeloop.questions.{self.name}.{module}")

    @property
    def configuration(self) -> Any:
        """The question's configuration class."""
        return getattr(self.load("config"), self.config)


QUESTIONS = (
    Question(
        "compare",
        "CompareConfig",
        "Find the better of two systems.",
        "old.jsonl new.jsonl --judge openai/gpt-4.1 --budget '$2'",
    ),
    Question(
        "select",
        "SelectConfig",
        "Find the best of many systems by comparing each with a baseline among them.",
        "outputs/*.jsonl --baseline today --judge openai/gpt-4.1",
    ),
    Question(
        "estimate",
        "EstimateConfig",
        "Estimate a system's mean score over all items from a few judged items.",
        "new.jsonl --judge openai/gpt-4.1 --half-width 0.05",
    ),
)
