"""Printed text without the places where its lines were wrapped."""

from __future__ import annotations


def unwrapped(text: str) -> str:
    """`text` on a single line."""
    return " ".join(text.split())
