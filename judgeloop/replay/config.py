"""The configuration of a replay, by the question that is replayed.

Each question has one of its own (`compare_config.py`, `select_config.py`, `estimate_config.py`). A
field of several of them is declared alike, and is one flag.
"""

from __future__ import annotations

from judgeloop.replay.compare_config import ReplayConfig
from judgeloop.replay.estimate_config import ReplayEstimateConfig
from judgeloop.replay.select_config import ReplaySelectConfig
from judgeloop.replay.settings import ReplaySettings

CONFIGS: dict[str, type[ReplaySettings]] = {
    config.QUESTION: config for config in (ReplayConfig, ReplaySelectConfig, ReplayEstimateConfig)
}
