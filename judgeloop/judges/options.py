"""The options that every judge's factory takes in addition to the judge's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgeloop.judges.prompt import Template

ANSWER_TOKENS = 512  # the maximum number of tokens of a reply, unless the user sets it


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The options of a judge; each kind of judge uses the options that apply to it.

    - `template`: the prompt, for chat models.
    - `environment`: the environment variables. They include API keys, so they are never printed.
    - `base_url`: the address of the judge's server. It may contain a password, so it is not in the
      repr.
    - `names`: the names of servers, by the judge as typed; `name`: that of this judge's server, ""
      if its address identifies it.
    - `price`: the user's price, as typed; `prices`: a file of the user's prices.
    - `tie_margin`: scores that differ by at most this are a tie (metrics, recorded verdicts).
    - `against`: the system that all others are compared with; None if there is no such system.
    - `timeout_s`: time limit of a request, in seconds.
    - `max_output_tokens`: maximum number of tokens of a reply; None for `ANSWER_TOKENS`, and the
      thinking tokens of a model that thinks (`thinking.py`).
    - `effort`: how hard the model is asked to think; None to leave it to the model.
    - `verdict`: the form of the reply (`JudgeRow.verdicts`).
    - `tier`: the service tier to ask for (`tiers.py`).
    - `lenient`: True to read a reply with thoughts before it or a fence around it (`lenient.py`).
    - `allow_plugins`: True to allow `python:` judges, which run the user's code.
    - `offline`: True if no call will be made, so that no key is needed.
    """

    template: Template
    environment: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(default=None, repr=False)
    names: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    price: str | None = None
    prices: Path | None = None
    tie_margin: float = 0.0
    against: str | None = None
    timeout_s: float = 120.0
    max_output_tokens: int | None = None
    effort: str | None = None
    verdict: str = "schema"
    lenient: bool = False
    tier: str = "standard"
    allow_plugins: bool = False
    offline: bool = False

    @property
    def answer_tokens(self) -> int:
        """The maximum number of tokens of a reply, without thinking tokens."""
        return ANSWER_TOKENS if self.max_output_tokens is None else self.max_output_tokens
