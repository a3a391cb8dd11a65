"""What somebody probably meant who typed an option that other tools have.

Names of options that are not near in letters, and so are not found by their spelling. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection

FLAG = re.compile(r"(?<!\S)--?[a-z][a-z-]*")
# Without the two dashes: what to type instead.
MEANT = {
    "alpha": "--risk",
    "candidate": "the file itself, without an option",
    "confidence-level": "--risk",
    "cost-limit": "--budget",
    "csv": "-o FILE.csv",
    "html": "-o FILE.html",
    "id-column": "--map id=COLUMN",
    "input-column": "--map prompt=COLUMN",
    "junit": "-o FILE.xml",
    "limit": "--max-judgments",
    "margin": "--not-worse",
    "markdown": "-o FILE.md",
    "max-cost": "--budget",
    "max-samples": "--max-judgments",
    "max-usd": "--budget",
    "metric": "--judge metric:NAME",
    "model": "--judge openai/MODEL, or another provider's",
    "name": "--names",
    "non-inferiority": "--not-worse",
    "num-samples": "--max-judgments",
    "output-column": "--map output=COLUMN",
    "output-file": "-o FILE",
    "parallel": "--concurrency",
    "price": "--judge-price",
    "prompt-column": "--map prompt=COLUMN",
    "reference-column": "--map reference=COLUMN",
    "timeout": "--deadline, for the whole run, or --judge-timeout, for one call",
    "workers": "--concurrency",
}


def meant_by(option: str, known: Collection[str]) -> str | None:
    """Return what to type in place of an unknown option, with options among `known`; else None.

    >>> meant_by("--junit", ["-o", "--output"])
    '-o FILE.xml'
    """
    meant = MEANT.get(option.removeprefix("--").replace("_", "-"), "")
    return meant if meant and set(FLAG.findall(meant)) <= set(known) else None
