"""The pages of the documentation, and the blocks of code on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))]
# A page with this comment is read from top to bottom: its blocks share a folder.
IN_ORDER = "<!-- blocks are run in order, in one folder -->"
BLOCK = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
RUN = ("sh", "console", "python", "yaml")


@dataclass(frozen=True)
class Block:
    """A block of code, and the comment on the line before it."""

    page: str
    number: int
    language: str
    text: str
    comment: str

    @property
    def id(self) -> str:
        return f"{self.page}-{self.number}-{self.language}"


def name(page: Path) -> str:
    """The page's path, as its readers know it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that a reader can run."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        Block(name(page), number, language, text, comment)
        for number, (comment, language, text) in enumerate(found)
        if language in RUN
    ]
