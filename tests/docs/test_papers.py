"""The page of the papers names files and functions that there are, in the paper's own folder or by their path."""

from __future__ import annotations

import re

import pytest
from support.pages import DOCS, ROOT

FOLDERS = {"DiffUse": "diffuse", "LLM Selector": "llm_selector", "AcTracer": "actracer"}
PACKAGE = ROOT / "judgeloop"
PAGE = (DOCS / "explanation" / "papers.md").read_text(encoding="utf-8")


def named():
    """Each file that a section's table names, with the names that stand behind it."""
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        table = text.partition("###")[0]
        for file, names in re.findall(r"`([\w/]+\.py)`(?:: ((?:`[^`]+`(?:, )?)+))?", table):
            yield title, file, re.findall(r"`([^`]+)`", names)


NAMED = list(named())


def test_every_paper_has_a_table_of_its_code():
    assert {title for title, *_ in NAMED} >= set(FOLDERS)
    assert len(NAMED) > 25


@pytest.mark.parametrize(("title", "file", "names"), NAMED, ids=str)
def test_what_a_table_names_is_in_the_code(title, file, names):
    own = PACKAGE / "papers" / FOLDERS.get(title, "") / file
    (path,) = [one for one in (own, PACKAGE / "papers" / file, PACKAGE / file) if one.is_file()][:1]
    code = path.read_text(encoding="utf-8")
    for name in names:
        last = name.rpartition(".")[2]
        assert re.search(rf"\b(def|class) {last}\b|^{last}\b.* =|\"{last}\"", code, re.MULTILINE), f"{name} in {path}"
