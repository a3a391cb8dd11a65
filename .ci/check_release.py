"""Refuses a release whose tag, address, changelog or citation does not fit pyproject.toml.

Usage: python .ci/check_release.py TAG ADDRESS. Prints what does not fit and exits with 1.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def problems(root: Path, tag: str, address: str) -> list[str]:
    """Return what does not fit in the checkout `root`, in a sentence each."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version, repository = project["version"], project["urls"]["Repository"]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and pyproject.toml has version {version}")
    if repository != address:
        found.append(f"the repository is {address}, and pyproject.toml has {repository}")
    if not re.search(rf"^## \[?{re.escape(version)}\b", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section {version}")
    if not re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE):
        found.append(f"CITATION.cff has not the version {version}")
    return found


if __name__ == "__main__":
    found = problems(Path(__file__).parent.parent, *sys.argv[1:3])
    print("\n".join(found) or "the release fits")
    sys.exit(1 if found else 0)
