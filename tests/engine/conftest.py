"""What tests of the engine share."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture
def no_task_is_lost(caplog):
    """asyncio only logs an exception that nobody looked at, or a task that nobody waited for."""
    yield
    gc.collect()
    gc.freeze()  # what lives on is no task of the next test: the collector need not look at it once more
    assert not [record.getMessage() for record in caplog.records if record.name == "asyncio" and record.levelno >= 40]


@pytest.fixture
def anyio_backend():
    return "asyncio"
