"""The configuration class of each question that can be replayed.

Each question has its own class (`compare_config.py`, `select_config.py`, `estimate_config.py`). A
field that several classes have is a single flag on the command line.
"""

from __future__ import annotations

from judgeloop.replay.compare_config import ReplayConfig
from judgeloop.replay.estimate_config import ReplayEstimateConfig
from judgeloop.replay.select_config import ReplaySelectConfig
from judgeloop.replay.settings import ReplaySettings

CONFIGS: dict[str, type[ReplaySettings]] = {
    config.QUESTION: config for config in (ReplayConfig, ReplaySelectConfig, ReplayEstimateConfig)
}
