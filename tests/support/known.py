"""Results of functions that depend on nothing but what they are given, each found out once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import TypeVar

T = TypeVar("T")


def known(function: Callable[..., T]) -> Callable[..., T]:
    """`function`, which is called once with the same arguments, whatever they are made of."""
    found: dict[bytes, T] = {}

    @wraps(function)
    def call(*arguments, **named):
        key = pickle.dumps((arguments, named))
        if key not in found:
            found[key] = function(*arguments, **named)
        return copy(found[key])

    return call
