"""rouge-score is imported without all of nltk, and scores as it does with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

TEXTS = "'The generalization of organizations was running', 'a general organization runs quickly'"
PROGRAM = """
import sys
{first}
from judgeloop.judges.stemmer_only import rouge_scorer
scorer = rouge_scorer().RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
print({{name: score.fmeasure for name, score in scorer.score({texts}).items()}})
print(*sorted({{"nltk", "sklearn", "scipy"}} & set(sys.modules)))
{last}
"""


def printed(first="", last=""):
    program = PROGRAM.format(first=first, last=last, texts=TEXTS)
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_no_more_of_nltk_is_loaded_than_the_stemmer_and_the_scores_are_the_same():
    scores, loaded, *_ = printed()
    assert loaded == ""
    assert printed("import nltk")[0] == scores
    assert "'rouge1': 0.0" not in scores


def test_who_imports_nltk_afterwards_gets_nltk():
    *_, stemmed = printed(
        last="import nltk; print(nltk.PorterStemmer().stem('running'), nltk.__version__ > '3')"
    )
    assert stemmed == "run True"


@pytest.mark.parametrize("broken", ["importlib.util.find_spec = lambda name: None"])
def test_where_nltk_cannot_be_stood_in_for_it_is_imported_whole(broken):
    scores, *_ = printed(f"import importlib.util; {broken}")
    assert scores == printed()[0]


def test_another_thread_may_import_something_at_the_same_time():
    """Modules come and go in a thread, as they do while something else is imported there."""
    importing = (
        "import threading, types; sys.setswitchinterval(1e-6); run = [True]\n"
        "def imports():\n"
        "    while run:\n"
        "        for at in range(400): sys.modules[f'made_{at}'] = types.ModuleType('made')\n"
        "        for at in range(400): del sys.modules[f'made_{at}']\n"
        "thread = threading.Thread(target=imports); thread.start()\n"
    )
    assert printed(importing, last="run.clear()")[0] == printed()[0]
