"""Where a causal language model is: a folder, or a name on the Hugging Face hub at a revision; and what its content is known by.

Nothing is loaded here, which `causal_model.py` does. transformers is imported for a name on the hub only, and torch never.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from judgeloop.core.errors import InputError

HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
MATTERS = {
    ".json",
    ".jinja",
    ".model",
    ".safetensors",
    ".txt",
}  # weights, settings and vocabularies


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """A model's folder, or its name on the hub at a `revision`, which a folder has none of.

    `identity` is another as soon as the content may be.
    """

    name: str
    revision: str | None
    identity: str


def find_place(model: str) -> ModelPlace:
    """The place of `model`, a folder or a name on the hub; of the latter, the settings are fetched if need be.

    Raises:
        InputError: there is no such folder or name, or nothing in it.
    """
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        return ModelPlace(str(folder), None, _identity(model, folder))
    if not HUB_NAME.fullmatch(model):
        raise InputError(f"{flag(model)}: there is no such folder")
    revision = _revision(model)
    return ModelPlace(model, revision, f"{model}@{revision}")


def flag(model: str) -> str:
    """How the user named `model`."""
    return f"`represent=hidden:{model}`"


def needs_extra(model: str, error: ModuleNotFoundError) -> InputError:
    """What to say where the extra is not installed."""
    return InputError(
        f"{flag(model)} needs the extra: pip install 'judgeloop[embed]' (no {error.name}); "
        "or use `represent=lexical`"
    )


def cannot_load(model: str, error: Exception) -> InputError:
    """What to say where a library could not load `model`: the first line of what it said."""
    said = str(error).strip().split("\n", 1)[0]
    return InputError(
        f"{flag(model)}: this cannot be loaded as a causal language model ({type(error).__name__}: {said}); "
        "give a folder with config.json, the tokenizer's files and weights as .safetensors, or a name on the hub"
    )


def _identity(model: str, folder: Path) -> str:
    """A hash of the settings, and of the names, sizes and times of the files that matter: weights are too large to be read for it."""
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
    """The commit of a model on the hub: the newest, or offline the one that was fetched last."""
    try:
        from transformers.utils import cached_file
    except ModuleNotFoundError as error:
        raise needs_extra(model, error) from error
    try:
        return Path(cached_file(model, "config.json")).parent.name
    except (OSError, ValueError) as error:
        said = str(error).strip().split("\n", 1)[0]
        raise InputError(
            f"{flag(model)}: there is no such folder, and no such model on the hub, or no way to it ({said})"
        ) from error
