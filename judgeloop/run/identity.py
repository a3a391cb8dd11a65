"""Computes a run's id from everything that can change its outcome, and from nothing else.

The budget bounds all money ever spent under an id, and a repeated command continues under the same
id. So the id is made of the question, the data, the judges, and every setting that is not declared
as pace, money, place or report (`setting.py`).
"""

from __future__ import annotations

import enum
import hashlib
from decimal import Decimal
from pathlib import Path
from typing import Any

from judgeloop.core.verdict_key import digest
from judgeloop.run.inputs import Inputs
from judgeloop.settings.run_settings import RunSettings
from judgeloop.settings.setting import Part, declared

LENGTH = 16  # hexadecimal digits


def run_id(question: str, config: RunSettings, inputs: Inputs, **content: Any) -> str:
    """Return the id under which the ledger books a run: `LENGTH` hexadecimal digits.

    `content` holds what the run reads beside its inputs, by the name of the setting that names it:
    the digest of a file, the identity of a proxy, or confidences.
    """
    pool = inputs.pool
    content |= {
        "decoy_outputs": inputs.decoy_texts if config.decoy_outputs else None,
        "population": inputs.population,
    }
    return digest(
        {
            "question": question,
            "judges": [
                [judge.identity.provider, judge.identity.model, dict(judge.identity.parameters)]
                for judge in inputs.judges
            ],
            "systems": pool.systems,
            "items": [[item.id, item.prompt, item.reference] for item in pool.items],
            "outputs": pool.outputs,
            "settings": settings_in_id(config),
            "content": {name: plain(value) for name, value in content.items()},
        }
    )[:LENGTH]


def settings_in_id(config: Any) -> dict[str, Any]:
    """Return the settings whose values are part of a run's id."""
    return {
        name: plain(getattr(config, name))
        for name, field in declared(type(config)).items()
        if field.setting is not None and field.setting.part is Part.RUN
    }


def plain(value: Any) -> Any:
    """Return a setting's value as a JSON value."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path | Decimal):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def named_by_content(text: str) -> str:
    """Return the SHA-256 digest of the file that `text` names, or `text` if it names no file.

    The content of the file changes the draws, its name does not.
    """
    path = Path(text)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else text
