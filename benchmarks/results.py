"""Make every table and picture of docs/results.md: run the replays, or go on with those begun, and fill the page.

    python benchmarks/results.py DATA -o FOLDER [--realsumm-vectors NPZ] [--alpacaeval-vectors NPZ]

DATA holds the folders `realsumm` and `alpacaeval`, each with `items.jsonl`, `outputs/` and `verdicts-*.csv.gz` (item_id, model,
score). Without vectors the outputs are embedded by MiniLM, which needs the extra `judgeloop[embed]`. FOLDER keeps what was run.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "results.md"
RULES = ["--iterative", "--selectors", "random,diffuse"]
TURBO = ["--leave-out", "NullModel,gpt4_gamed"]  # these two are built to fool the judge
WHOLE = ["--iterative", "--selectors", "random", "--subset", "1", "--seeds", "5"]
ABLATION = ["--budgets", "10,20,30,40"]

# By name: the data, the verdicts, the flags. A name's first word is its folder's.
EXPERIMENTS: dict[str, tuple[str, str, list[str]]] = {
    **{f"realsumm-{one}": ("realsumm", one, ["--budgets", "4:80:4"]) for one in ("rouge2", "rougeL", "human-pyramid")},
    **{f"realsumm-{one}-rules": ("realsumm", one, RULES) for one in ("rouge2", "rougeL", "human-pyramid")},
    "alpaca": ("alpacaeval", "gpt4turbo", [*TURBO, "--budgets", "10:200:10", "--seeds", "5"]),
    "alpaca-rules": ("alpacaeval", "gpt4turbo", [*TURBO, *RULES, "--seeds", "5"]),
    "turbo05-rules": ("alpacaeval", "gpt4turbo", [*TURBO, *WHOLE, "--tie-margin", "0.05"]),
    "gpt4-rules": ("alpacaeval", "gpt4", WHOLE),
    "micro": ("alpacaeval", "gpt4turbo", [*TURBO, "--budgets", "10,20,30,50,100,200", "--seeds", "5",
                                          "--selectors", "diffuse", "--clustering", "micro-ward"]),
    "ablation-base": ("realsumm", "human-pyramid", [*ABLATION, "--selectors", "random,diffuse,max-norm",
                                                    "--analyse", "20"]),
    "ablation-lexical": ("realsumm", "human-pyramid", [*ABLATION, "--represent", "lexical", "--selectors",
                                                       "random,diffuse,max-norm,input-cluster"]),
    **{
        f"ablation-{value}": ("realsumm", "human-pyramid", [*ABLATION, "--selectors", "diffuse", flag, value])
        for flag, value in (
            ("--combine", "concatenation"), ("--combine", "addition"), ("--clustering", "cosine"),
            ("--clustering", "kmeans"), ("--representative", "euclidean"), ("--representative", "random"),
            ("--representative", "largest-norm"),
        )
    },
}  # fmt: skip
PICTURES = {
    "realsumm-human-pyramid": ["success", "bias"],
    "alpaca": ["success", "bias"],
    "turbo05-rules": ["rules"],
    "ablation-base": ["distances", "clusters", "norms", "norm-bins", "projection"],
}


def run(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Run one replay, or read what it gave."""
    data, verdicts, flags = EXPERIMENTS[name]
    folder, out = arguments.data / data, arguments.output / name
    command = [
        sys.executable,
        "-m",
        "judgeloop",
        "replay",
        folder / "outputs",
        "--items",
        folder / "items.jsonl",
    ]
    command += ["--verdicts", folder / f"verdicts-{verdicts}.csv.gz", *flags, "-o", out]
    if "lexical" not in flags and flags is not WHOLE and "turbo05" not in name:
        vectors = getattr(arguments, f"{data}_vectors")
        command += ["--vectors", vectors] if vectors else ["--represent", "minilm"]
    if (out / "runs.jsonl").exists():
        command.append("--resume")
    print("$ judgeloop", *command[3:], flush=True)
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    table = out / ("rules.json" if "--iterative" in flags else "budgets.json")
    rows: list[dict[str, Any]] = json.loads(table.read_text())
    return rows


def share(row: dict[str, Any], name: str) -> str:
    """A share with its standard error, in per cent."""
    return f"{100 * row[name]:.1f} ± {100 * row[f'{name}_se']:.1f}"


def success_table(rows: list[dict[str, Any]]) -> str:
    """Success by budget, a column a selector."""
    selectors = list(dict.fromkeys(row["selector"] for row in rows))
    by_place = {(row["selector"], row["budget"]): row for row in rows}
    lines = ["| judged | " + " | ".join(selectors) + " |", "|---" * (len(selectors) + 1) + "|"]
    for budget in dict.fromkeys(row["budget"] for row in rows):
        cells = [share(by_place[selector, budget], "success") for selector in selectors]
        lines.append(f"| {budget} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rules_table(rows: list[dict[str, Any]]) -> str:
    """The columns of the papers' tables 2 and 3."""
    head = ("rule", "risk", "selector", "judgments", "error %", "success %", "undecided %", "distance", "error's",
            "success's", "undecided's")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        distances = [
            row[name] for name in ("distance", "distance_error", "distance_success", "distance_inconclusive")
        ]
        cells = [row["rule"], f"{row['risk']:g}", row["selector"], f"{row['judgments']:.1f}"]
        cells += [share(row, "error"), f"{100 * row['success']:.1f}", f"{100 * row['inconclusive']:.1f}"]
        cells += ["-" if value is None else f"{value:.2f}" for value in distances]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ablation_table(tables: dict[str, list[dict[str, Any]]]) -> str:
    """A line a variant, a column a budget."""
    lines, budgets = [], (10, 20, 30, 40)
    for name, rows in tables.items():
        variant = name.removeprefix("ablation-")
        for selector in dict.fromkeys(row["selector"] for row in rows):
            cells = [share(row, "success") for row in rows if row["selector"] == selector]
            label = {"base": "MiniLM, Ward, cosine", "lexical": "TF-IDF, Ward, cosine"}.get(
                variant, f"MiniLM, {variant}"
            )
            lines.append(
                f"| {selector} | {label if selector != 'random' else '-'} | " + " | ".join(cells) + " |"
            )
    head = "| selector | variant | " + " | ".join(f"{budget} judged" for budget in budgets) + " |"
    return "\n".join([head, "|---" * (2 + len(budgets)) + "|", *dict.fromkeys(lines)])


def fill(page: str, name: str, table: str) -> str:
    """The page with the table of that name between its marks."""
    marked = re.compile(rf"(<!-- table: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marked.search(page):
        raise SystemExit(f"{PAGE} has no mark '<!-- table: {name} -->'")
    return marked.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)


def main() -> None:
    """Run all and fill the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--realsumm-vectors", type=Path)
    parser.add_argument("--alpacaeval-vectors", type=Path)
    arguments = parser.parse_args()
    tables = {name: run(name, arguments) for name in EXPERIMENTS}
    page = PAGE.read_text(encoding="utf-8")
    for name, rows in tables.items():
        if not name.startswith("ablation-"):
            page = fill(page, name, rules_table(rows) if name.endswith("-rules") else success_table(rows))
    page = fill(
        page, "ablation", ablation_table({n: t for n, t in tables.items() if n.startswith("ablation-")})
    )
    PAGE.write_text(page, encoding="utf-8")
    (DOCS / "pictures").mkdir(exist_ok=True)
    for name, pictures in PICTURES.items():
        for picture in pictures:
            shutil.copy(
                arguments.output / name / f"{picture}.svg", DOCS / "pictures" / f"{name}-{picture}.svg"
            )


if __name__ == "__main__":
    main()
