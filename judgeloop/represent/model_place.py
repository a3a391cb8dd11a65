"""Finds a causal language model: a folder, or a name on the Hugging Face hub with a revision.

Also computes an identity of its content, for cache keys. Does not load the model
(`causal_model.py`). Imports transformers only for a name on the hub, and never torch.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from judgeloop.core.errors import InputError

HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
# Files that can change the model: weights, settings and vocabularies.
MATTERS = {".json", ".jinja", ".model", ".safetensors", ".txt"}


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """A model's folder (`revision` is None), or its name on the hub and a `revision` (a commit).

    `identity` changes whenever the content may have changed.
    """

    name: str
    revision: str | None
    identity: str


def find_place(model: str) -> ModelPlace:
    """Find `model`, a folder or a name on the hub; for a name, its settings may be downloaded.

    Raises:
        InputError: the folder or name does not exist, or the folder holds no model.
    """
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        return ModelPlace(str(folder), None, _identity(model, folder))
    if not HUB_NAME.fullmatch(model):
        raise InputError(f"{flag(model)}: there is no such folder")
    revision = _revision(model)
    return ModelPlace(model, revision, f"{model}@{revision}")


def flag(model: str) -> str:
    """Return the setting with which the user named `model`, for messages."""
    return f"`represent=hidden:{model}`"


def needs_extra(model: str, error: ModuleNotFoundError) -> InputError:
    """Return the error for a missing extra `judgeloop[embed]`."""
    return InputError(
        f"{flag(model)} needs the extra: pip install 'judgeloop[embed]' (no {error.name}); "
        "or use `represent=lexical`"
    )


def cannot_load(model: str, error: Exception) -> InputError:
    """Return the error for a model that a library cannot load, with the library's first line."""
    said = str(error).strip().split("\n", 1)[0]
    return InputError(
        f"{flag(model)}: this cannot be loaded as a causal language model "
        f"({type(error).__name__}: {said}); give a folder with config.json, the tokenizer's files "
        "and weights as .safetensors, or a name on the hub"
    )


def _identity(model: str, folder: Path) -> str:
    """Return a hash of the settings, and of the names, sizes and times of the relevant files.

    Weights are too large to hash their content.
    """
    try:
        digest = hashlib.sha256((folder / "config.json").read_bytes())
        for path in sorted(path for path in folder.iterdir() if path.suffix in MATTERS):
            found = path.stat()
            digest.update(f"\0{path.name}\0{found.st_size}\0{found.st_mtime_ns}".encode())
    except FileNotFoundError as error:
        raise InputError(
            f"{flag(model)}: this folder holds no model: there is no {error.filename}"
        ) from error
    except OSError as error:
        raise InputError(f"{flag(model)}: this folder cannot be read: {error}") from error
    return digest.hexdigest()


def _revision(model: str) -> str:
    """Return the commit of a model on the hub: the newest, or offline the last one downloaded."""
    try:
        from transformers.utils import cached_file
    except ModuleNotFoundError as error:
        raise needs_extra(model, error) from error
    try:
        return Path(cached_file(model, "config.json")).parent.name
    except (OSError, ValueError) as error:
        said = str(error).strip().split("\n", 1)[0]
        raise InputError(
            f"{flag(model)}: there is no such folder, and no such model on the hub, "
            f"or the hub cannot be reached ({said})"
        ) from error
