"""A judge by its name, as the catalogue makes it, with a key in its environment."""

from __future__ import annotations

from typing import Any

from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.prompt import shipped_template

TEMPLATE = shipped_template("pairwise.v1")
SECRET = "sk-very-secret"
WITH_KEY = {"OPENAI_API_KEY": SECRET}
LOCAL = "http://localhost:8000/v1"
ELSEWHERE = "https://judge.example/v1"
NO_KEY = "none"


def judge(spec="openai/gpt-4.1", environment=WITH_KEY, **options) -> Any:
    """The judge `spec`, for a comparison."""
    return judge_from_spec(spec, JudgeOptions(template=TEMPLATE, environment=environment, **options))
