"""Marks of tests that need a package of an extra; they are skipped, with the reason, without it."""

from __future__ import annotations

import importlib.util

import pytest

needs_diskcache = pytest.mark.skipif(
    importlib.util.find_spec("diskcache") is None, reason="needs the extra judgeloop[cache]"
)
