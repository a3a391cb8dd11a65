"""Imports rouge-score with nothing of nltk but the stemmer that it uses.

`import nltk` loads all of nltk, and with it scikit-learn and scipy.stats: about two seconds of
processor time, four times what a command takes otherwise. rouge-score needs its Porter stemmer.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

SCORER = "rouge_score.rouge_scorer"
PACKAGES = ("nltk", "nltk.stem")

_one_at_a_time = threading.Lock()


def rouge_scorer() -> Any:
    """Return the module `rouge_score.rouge_scorer`. May be called from several threads."""
    with _one_at_a_time:
        if SCORER not in sys.modules and "nltk" not in sys.modules:
            # Where nltk is built in another way, it is imported whole.
            with suppress(ImportError), _bare():
                return import_module(SCORER)
            _forget("rouge_score")
        return import_module(SCORER)


def _forget(package: str) -> None:
    """Remove a package and its modules from those that were imported."""
    # `list` copies the names in one step. A loop over the dictionary fails as soon as another
    # thread imports something.
    for name in list(sys.modules):
        if name.partition(".")[0] == package:
            sys.modules.pop(name, None)


@contextmanager
def _bare() -> Iterator[None]:
    """Stand in for nltk's packages, so that their modules are found and their own code is not run.

    Afterwards the stand-ins are gone: whoever imports nltk then gets nltk.
    """
    spec = find_spec("nltk")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("nltk is no package")
    root = Path(next(iter(spec.submodule_search_locations)))
    for name in PACKAGES:
        module = ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    try:
        yield
    finally:
        _forget("nltk")
