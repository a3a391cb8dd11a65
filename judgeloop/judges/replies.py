"""Base classes for the pydantic models of providers' replies: validated, unknown fields ignored.

The replies themselves are in `chat_completions.py` and `messages.py`. `parsing.py` reads the
verdict from their text.
"""

from __future__ import annotations

from abc import abstractmethod

from pydantic import BaseModel, ConfigDict

from judgeloop.core.records import Usage


class Wire(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class WireReply(Wire):
    """A whole reply; `model` is the model's name according to the server."""

    model: str = ""

    @abstractmethod
    def tokens(self) -> Usage | None:
        """Return the usage of the call; None if the reply reports none, or an impossible usage."""
