"""Base classes for the pydantic models of providers' replies: validated, unknown fields ignored.

They check the shape of a reply, because a server may send anything with status 200. What is read of
its bill may be of any type: it never makes a verdict worthless that was paid for. The replies
themselves are in the providers' files. `billing.py` reads the cost from their usage.
"""

from abc import abstractmethod
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from judgeloop.core.records import Usage

# Larger counts are read as this one, which no call can use: Python does not write numbers of over
# 4,300 digits.
LARGEST_COUNT = 10**15


def _whole(value: object) -> object:
    """Return a whole number written as a float, such as 1e30, as an integer."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return min(whole, LARGEST_COUNT) if isinstance(whole, int) else whole


def _or_none(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


Count = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
# For the part of a reply that holds its usage: None if it is not as expected. The worst case of the
# call is booked then.
OrNone = WrapValidator(_or_none)


class Wire(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")


TextOrNone = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]


class WireReply(Wire):
    """A whole reply; `id` and `model` are its id and the model's name according to the server, empty without one."""

    id: TextOrNone = ""
    model: TextOrNone = ""

    @abstractmethod
    def tokens(self) -> Usage | None:
        """Return the usage of the call; None if the reply reports none, or an impossible usage."""

    def cost_p(self) -> int | None:
        """Return the cost that a gateway reports, in picodollars; None if it reports none."""
        return None

    @abstractmethod
    def tier(self) -> str | None:
        """Return the service tier or speed that the call was billed at; None if not reported."""

    @abstractmethod
    def said(self) -> str:
        """Return all text that the model wrote."""
