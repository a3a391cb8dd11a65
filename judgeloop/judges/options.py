"""What a judge is made with, beside its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgeloop.judges.prompt import Template


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Everything about a judge beside its name; `environment` holds keys and is never printed.

    `price` is the caller's, as typed, and `prices` a file of them. `timeout_s` is in seconds.
    `offline` says that nobody will be asked, so that no key is needed.
    """

    template: Template
    environment: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(default=None, repr=False)
    price: str | None = None
    prices: Path | None = None
    tie_margin: float = 0.0
    timeout_s: float = 120.0
    max_output_tokens: int = 512
    verdict: str = "schema"
    allow_plugins: bool = False
    offline: bool = False
