"""Vectors from words alone: TF-IDF, then truncated SVD. In the core; needs no model and no network.

It knows no meaning: two paraphrases without a common word are far apart. scikit-learn is imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64
VOCABULARY = 50_000


def embed_lexical(texts: Sequence[str], seed: int) -> NDArray[np.float64]:
    """Unit vectors of `texts`, shape (texts, 64, or as many as there are words); a text without words is the zero vector.

    Latent semantic analysis (Deerwester et al. 1990). `seed` starts the randomised SVD.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    word = r"(?u)\b\w+\b"
    words = TfidfVectorizer(
        sublinear_tf=True, max_features=VOCABULARY, token_pattern=word, dtype=np.float32
    )
    if not any(words.build_analyzer()(text) for text in texts):
        return np.zeros((len(texts), 1))
    weights = words.fit_transform(texts)
    if min(weights.shape) <= DIMENSIONS:  # nothing to reduce, or too few texts to learn from
        return np.asarray(weights.toarray(), dtype=np.float64)
    svd = TruncatedSVD(DIMENSIONS, random_state=seed)
    return np.asarray(normalize(svd.fit_transform(weights)), dtype=np.float64)
