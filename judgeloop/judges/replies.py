"""What a reply over the wire is, whoever sends it: validated, and whatever else it holds passed over.

What a provider's reply is made of stands in a file of its own; what its text means is `parsing.py`'s business.
"""

from __future__ import annotations

from abc import abstractmethod

from pydantic import BaseModel, ConfigDict

from judgeloop.core.records import Usage


class Wire(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class WireReply(Wire):
    """A whole reply; `model` is what the server calls its model."""

    model: str = ""

    @abstractmethod
    def tokens(self) -> Usage | None:
        """What the call used; None where the reply does not say, or says what cannot be."""
