"""A run's id: everything that can change its outcome, and nothing else.

A budget bounds what is ever spent under one id, and a repeated command goes on under the same one.
So the id is made of the question, the data, the judges, and every setting that is not declared as
pace, money, place or report (`setting.py`). Ids of the first version left settings out; the spend
under such an id counts against the budget of the run that has it now (`former_identity.py`).
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge
from judgeloop.core.verdict_key import digest
from judgeloop.run.setting import Part, declared

ID_VERSION = 2
LENGTH = 16  # hexadecimal digits


def run_id(
    question: str, config: Any, pool: Pool, judges: Sequence[Judge], content: Mapping[str, Any]
) -> str:
    """The name under which the ledger books a run.

    `content` has what else the run reads, by the name of the setting that names it: a file's
    digest, a proxy's identity, confidences.
    """
    return digest(
        {
            "id version": ID_VERSION,
            "question": question,
            **data_of(pool, judges),
            "settings": settings_in_id(config),
            "content": {name: plain(value) for name, value in content.items()},
        }
    )[:LENGTH]


def data_of(pool: Pool, judges: Sequence[Judge]) -> dict[str, Any]:
    """What is judged, and by whom."""
    return {
        "judges": [
            [judge.identity.provider, judge.identity.model, dict(judge.identity.parameters)]
            for judge in judges
        ],
        "systems": pool.systems,
        "items": [[item.id, item.prompt, item.reference] for item in pool.items],
        "outputs": pool.outputs,
    }


def settings_in_id(config: Any) -> dict[str, Any]:
    """The settings that are part of a run's id by their values."""
    return {
        name: plain(getattr(config, name))
        for name, field in declared(type(config)).items()
        if field.setting is not None and field.setting.part is Part.RUN
    }


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path | Decimal):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value


def named_by_content(text: str) -> str:
    """The digest of the file that `text` names, as other contents give other draws; else the text itself."""
    path = Path(text)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else text
