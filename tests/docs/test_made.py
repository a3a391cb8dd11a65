"""What is made from the code is what the code makes now."""

from __future__ import annotations

import importlib.util
import re

import pytest
from support.pages import DOCS, ROOT


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make", DOCS / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.made()


def test_pages_made_from_the_code_are_up_to_date(made):
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in made.items()
        if path.suffix != ".svg" and path.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run `python docs/make.py`"


def words(svg):
    """The text of a picture, without its drawing."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>|&#160;", " ", svg.partition("</defs>")[2]))


def test_the_picture_of_the_demo_shows_what_it_prints(made):
    for path, text in made.items():
        if path.suffix == ".svg":
            assert words(path.read_text(encoding="utf-8")) == words(text), (
                "run `python docs/make.py`"
            )
