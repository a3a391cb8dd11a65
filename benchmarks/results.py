r"""Makes every table and picture of docs/results/tables.md: runs the replays and fills the page.

    python benchmarks/results.py DATA -o FOLDER [--realsumm-vectors NPZ] \
        [--alpacaeval-vectors NPZ] [--only estimate] [--page PAGE]

DATA holds three folders. `realsumm` and `alpacaeval` each have `items.jsonl`, `outputs/` and
`verdicts-*.csv.gz` (item_id, model, score). `tiny-lm` has `outputs.jsonl` (prompts, outputs,
logprobs), `verdicts-exact.csv.gz` and `model`, the folder of the language model. `symbols-lm`, of
the same form, is made in FOLDER by `symbols_lm.py` where DATA does not hold it.

Without NPZ files, MiniLM embeds the outputs. MiniLM and hidden states need the extra
`judgeloop[embed]`. FOLDER keeps the runs, and a replay that was interrupted is resumed there.
`--only` takes the experiments whose names begin with its text. `--page` is a copy of the page to fill in its place.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "results" / "tables.md"
RULES = ["--iterative", "--selectors", "random,diffuse"]
TURBO = ["--leave-out", "NullModel,gpt4_gamed"]  # built to fool the judge
WHOLE = ["--iterative", "--selectors", "random", "--subset", "1", "--seeds", "5"]
ABLATION = ["--sizes", "10,20,30,40"]

# For each name: the data folder, the verdicts, the flags of `judgeloop replay`.
EXPERIMENTS: dict[str, tuple[str, str, list[str]]] = {
    **{f"realsumm-{one}": ("realsumm", one, ["--sizes", "4:80:4"]) for one in ("rouge2", "rougeL", "human-pyramid")},
    **{f"realsumm-{one}-rules": ("realsumm", one, RULES) for one in ("rouge2", "rougeL", "human-pyramid")},
    "alpaca": ("alpacaeval", "gpt4turbo", [*TURBO, "--sizes", "10:200:10", "--seeds", "5"]),
    "alpaca-rules": ("alpacaeval", "gpt4turbo", [*TURBO, *RULES, "--seeds", "5"]),
    "turbo05-rules": ("alpacaeval", "gpt4turbo", [*TURBO, *WHOLE, "--tie-margin", "0.05"]),
    "gpt4-rules": ("alpacaeval", "gpt4", WHOLE),
    "gpt4-diffuse-rules": ("alpacaeval", "gpt4", ["--iterative", "--selectors", "random,diffuse", "--rules", "hypergeometric"]),
    "sampled": ("alpacaeval", "gpt4turbo", [*TURBO, "--sizes", "10,20,30,50,100,200", "--seeds", "5",
                                          "--selectors", "diffuse", "--clustering", "quarter-ward"]),
    "ablation-base": ("realsumm", "human-pyramid", [*ABLATION, "--selectors", "random,diffuse,max-norm"]),
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
# Replays that are run for their pictures alone.
FIGURES: dict[str, tuple[str, str, list[str]]] = {
    "figures-rouge2": ("realsumm", "rouge2", ["--sizes", "5:80:5", "--selectors", "random,diffuse"]),
    "figures-turbo": ("alpacaeval", "gpt4turbo", [*TURBO, "--sizes", "20", "--selectors", "diffuse", "--seeds", "1"]),
}  # fmt: skip
# Replays of which `diffuse_pictures.py` draws what DiffUse picked, with its flags.
PICKS: dict[str, list[str]] = {
    "ablation-base": [],
    "figures-rouge2": [],
    "figures-turbo": ["--numbers", "20,50,100,200", "--bins", "50"],
}
MANY = ["--job", "select", "--seeds", "100"]
SELECTIONS: dict[str, tuple[str, str, list[str]]] = {
    "select-gpt4": ("alpacaeval", "gpt4", [*MANY, "--baseline", "text_davinci_003"]),
    "select-turbo": ("alpacaeval", "gpt4turbo", [*MANY, *TURBO, "--baseline", "gpt4_1106_preview"]),
}
BELIEVERS = ["--selectors", "random,llm-selector"]
BELIEFS: dict[str, tuple[str, str, list[str]]] = {
    name.replace("select", "belief"): (data, verdicts, [*flags, *BELIEVERS])
    for name, (data, verdicts, flags) in SELECTIONS.items()
}
SHOWN_CALLS = {
    "select-gpt4": (424, 795, 1060, 1500, 2120, 3180, 5300, 10600),
    "select-turbo": (74, 148, 222, 444, 740, 1480, 2960),
}
SHOWN_QUERIES = (2, 5, 10, 20, 40, 80, 160, 320)
ONE = ["--job", "estimate", "--shares", "5:50:1"]
EVERY_PART = (
    "random,stratified,actracer,actracer-8,actracer-proportional,actracer-random,stratified-confidence,confidence-systematic,cross-entropy,"
    "mmd-critic,diffuse"
)
BY_VECTORS = "random,stratified,cross-entropy,mmd-critic,diffuse"
# A coarse curve, for what is measured beside the main table.
COARSE = ["--job", "estimate", "--shares", "10:50:20", "--seeds", "10"]
BY_PICKS = ["--selectors", "random,actracer,actracer-8,actracer-random"]
FIRST_TOKEN = ["--confidence-by", "first-token"]
DRAWN = ["--selectors", "random,stratified,stratified-confidence", "--proxy", "confidence"]
ESTIMATES: dict[str, tuple[str, str, list[str]]] = {
    "estimate-tiny": ("tiny-lm", "exact", [*ONE, "--selectors", EVERY_PART, "--seeds", "40"]),
    "estimate-tiny-last": (
        "tiny-lm",
        "exact",
        [*ONE, "--selectors", "random,stratified,actracer", "--layer", "last", "--seeds", "20"],
    ),
    "estimate-tiny-mean": ("tiny-lm", "exact", [*COARSE, *BY_PICKS]),
    "estimate-tiny-first": ("tiny-lm", "exact", [*COARSE, *BY_PICKS, *FIRST_TOKEN]),
    "estimate-symbols": ("symbols-lm", "exact", [*COARSE, "--selectors", EVERY_PART]),
    "estimate-symbols-first": ("symbols-lm", "exact", [*COARSE, *BY_PICKS, *FIRST_TOKEN]),
    "estimate-tiny-proxy": ("tiny-lm", "exact", [*ONE, *DRAWN, "--seeds", "20"]),
    "estimate-rouge2": ("realsumm", "rouge2", [*ONE, "--selectors", BY_VECTORS, "--seeds", "10"]),
    "estimate-pyramid": ("realsumm", "human-pyramid", [*ONE, "--selectors", BY_VECTORS, "--seeds", "10"]),
    "estimate-gpt4": ("alpacaeval", "gpt4", [*ONE, "--selectors", BY_VECTORS, "--seeds", "4"]),
}
MADE = "symbols-lm"  # the data that a script of this folder makes
SHOWN_SHARES = (5, 10, 20, 30, 40, 50)
BY_SHARE = ("estimate-tiny", "estimate-gpt4")
PICTURES = {
    "estimate-tiny": ["error", "coverage"],
    "estimate-gpt4": ["error", "coverage"],
    "select-gpt4": ["identified-by-queries", "win-rates"],
    "select-turbo": ["win-rates"],
    "figures-rouge2": ["gaps", "pairs"],
    "figures-turbo": ["gaps", "norm-bins", "outcome-norms", "cluster-numbers"],
    "realsumm-human-pyramid": ["success", "bias"],
    "alpaca": ["success", "bias"],
    "turbo05-rules": ["rules"],
    "ablation-base": ["judged-gaps", "clusters", "norms", "norm-bins", "projection"],
}
WITHOUT_TEXTS = {*SELECTIONS, *BELIEFS, "turbo05-rules", "gpt4-rules"}


Rows = list[dict[str, Any]]


def run(name: str, arguments: argparse.Namespace) -> Path:
    """Run or resume one replay; return the folder with its tables."""
    data, verdicts, flags = (EXPERIMENTS | FIGURES | SELECTIONS | BELIEFS | ESTIMATES)[name]
    folder, out = data_folder(data, arguments), arguments.output / name
    of_model = (folder / "model").exists()  # its outputs hold the prompts
    outputs, items = ["outputs.jsonl"] * 2 if of_model else ["outputs", "items.jsonl"]
    command = [sys.executable, "-m", "judgeloop", "replay", folder / outputs, "--items", folder / items]
    command += ["--verdicts", folder / f"verdicts-{verdicts}.csv.gz", *flags, "-o", out]
    if of_model:
        command += ["--represent", f"hidden:{folder / 'model'}"]
    elif name not in WITHOUT_TEXTS and "lexical" not in flags:
        vectors = getattr(arguments, f"{data}_vectors")
        command += ["--vectors", vectors] if vectors else ["--represent", "minilm"]
    if (out / "runs.jsonl").exists():
        command.append("--resume")
    print("$ judgeloop", *command[3:], flush=True)
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    _script("replay_pictures.py", out)
    if name in PICKS:
        _script("diffuse_pictures.py", out, *PICKS[name])
    return out


def data_folder(name: str, arguments: argparse.Namespace) -> Path:
    """Return the folder with the data; the second language model's are made if there are none."""
    found: Path = arguments.data / name
    if name != MADE or found.exists():
        return found
    made: Path = arguments.output / name
    if not (made / "outputs.jsonl").exists():
        _script("symbols_lm.py", made)
    return made


def _script(name: str, *arguments: Path | str) -> None:
    """Run another script of this folder."""
    command = [sys.executable, Path(__file__).with_name(name), *arguments]
    subprocess.run([str(part) for part in command], check=True)


def read(out: Path, name: str) -> Rows:
    """Return a table that a replay wrote."""
    rows: Rows = json.loads((out / f"{name}.json").read_text())
    return rows


def share(row: dict[str, Any], name: str) -> str:
    """Format a share with its standard error, in per cent."""
    return f"{100 * row[name]:.1f} ± {100 * row[f'{name}_se']:.1f}"


def success_table(rows: list[dict[str, Any]]) -> str:
    """Format success by number of items judged, with a column for each selector."""
    selectors = list(dict.fromkeys(row["selector"] for row in rows))
    by_place = {(row["selector"], row["judgments"]): row for row in rows}
    lines = ["| judged | " + " | ".join(selectors) + " |", "|---" * (len(selectors) + 1) + "|"]
    for budget in dict.fromkeys(row["judgments"] for row in rows):
        cells = [share(by_place[selector, budget], "success") for selector in selectors]
        lines.append(f"| {budget} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rules_table(rows: list[dict[str, Any]]) -> str:
    """Format the rules, with the columns of Ashury-Tahan et al. (2024), tables 2 and 3."""
    head = ("rule", "risk", "selector", "judgments", "error %", "success %", "undecided %", "gap", "error's",
            "success's", "undecided's")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        gaps = [row[name] for name in ("gap", "gap_error", "gap_success", "gap_inconclusive")]
        cells = [row["rule"], f"{row['risk']:g}", row["selector"], f"{row['judgments']:.1f}"]
        cells += [share(row, "error"), f"{100 * row['success']:.1f}", f"{100 * row['inconclusive']:.1f}"]
        cells += ["-" if value is None else f"{value:.2f}" for value in gaps]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def needed_table(rows: Rows) -> str:
    """Format the judge calls needed to name the best or a near-best system, by level.

    A level is how often the goal is reached. In brackets: the change against random queries.
    """
    goals = {"best": "the best", 0.01: "within 1 %", 0.005: "within 0.5 %", 0.001: "within 0.1 %"}
    levels = sorted({row["level"] for row in rows})
    lines = ["| | goal | " + " | ".join(f"{level:.0%}" for level in levels) + " |", "|---" * (2 + len(levels)) + "|"]
    for selector in dict.fromkeys(row["selector"] for row in rows):
        for goal, words in goals.items():
            own = {row["level"]: row for row in rows if (row["selector"], row["goal"]) == (selector, goal)}
            cells = [_needed(own[level]) for level in levels]
            lines.append(f"| {selector if goal == 'best' else ''} | {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _needed(row: dict[str, Any]) -> str:
    if row["calls"] is None:
        return "never"
    saved = row["against_random"]
    return f"{row['calls']:,}" + ("" if not saved else f" ({-saved:+.0%})")


def identified_table(rows: Rows, unit: str, shown: Sequence[int]) -> str:
    """Format how often the best is named, by calls or queries, with a column for each selector."""
    selectors = list(dict.fromkeys(row["selector"] for row in rows))
    lines = [f"| {unit} | " + " | ".join(selectors) + " |", "|---" * (len(selectors) + 1) + "|"]
    for budget in shown:
        cells = []
        for selector in selectors:
            fitting = [row for row in rows if row["selector"] == selector and row[unit] <= budget]
            cells.append(share(fitting[-1], "identified") if fitting else "-")
        lines.append(f"| {budget:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gap_table(calls: Rows, needed: Rows) -> str:
    """Format the 95th percentile of the win-rate gap to the best system, in per cent.

    The columns are the numbers of calls with which LLM Selector names the best at each level.
    """
    at = {row["level"]: row["calls"] for row in needed if (row["selector"], row["goal"]) == ("llm-selector", "best")}
    reached = {level: budget for level, budget in at.items() if budget is not None}
    head = "| | " + " | ".join(f"{level:.0%}: {budget:,} calls" for level, budget in reached.items()) + " |"
    lines = [head, "|---" * (1 + len(reached)) + "|"]
    for selector in dict.fromkeys(row["selector"] for row in calls):
        cells = []
        for budget in reached.values():
            fitting = [row for row in calls if row["selector"] == selector and row["calls"] <= budget]
            cells.append(f"{100 * fitting[-1]['gap95']:.1f}" if fitting else "-")
        lines.append(f"| {selector} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def races_table(rows: Rows) -> str:
    """Format how the races ended."""
    row = rows[0]
    calls = f"{row['calls']:,.0f} ± {row['calls_se']:,.0f}"
    head = "| realisations | decided before or at the end of the pool | wrong | calls |\n|---|---|---|---|\n"
    return head + f"| {row['runs']} | {row['decided']:.0%} | {row['error']:.1%} | {calls} |"


def level_table(journal: Path) -> str:
    """Format in how many pools the belief stood still before the end, and after how many queries.

    It stands still where all queries that are left promise the same information (`level_since`).
    """
    lines = ["| | pools | belief stood still | after queries: least, median, most |", "|---" * 4 + "|"]
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    rows = [row for entry in entries for row in entry.get("rows", [])]
    for selector in dict.fromkeys(row["selector"] for row in rows):
        own = [row for row in rows if row["selector"] == selector]
        since = [row["level_since"] for row in own if row["level_since"] is not None]
        found = f"{min(since)}, {statistics.median(since):g}, {max(since)}" if since else ""
        lines.append(f"| {selector} | {len(own)} | {len(since)} | {found} |")
    return "\n".join(lines)


def area_table(rows: Rows) -> str:
    """Format each selector's error over all shares, its change against random, and its coverage.

    The error is the mean height of the curve of median relative errors (`estimate_tables.areas`).
    """
    lines = ["| selector | mean of the median errors, % | beside random's | covered, % |", "|---" * 4 + "|"]
    for row in rows:
        area = f"{100 * row['area']:.2f} ± {100 * row['area_se']:.2f}"
        against = row["against_random"]
        beside = "" if against is None else f"{against:+.0%} ± {row['against_random_se']:.0%}"
        covered = "" if row["coverage"] is None else share(row, "coverage")
        lines.append(f"| {row['selector']} | {area} | {beside} | {covered} |")
    return "\n".join(lines)


def shares_table(rows: Rows, value: str) -> str:
    """Format `value` in per cent, by share of the items judged.

    There is a column for each selector that has values.
    """
    selectors = list(dict.fromkeys(row["selector"] for row in rows if row[value] is not None))
    by_place = {(row["selector"], row["share"]): row for row in rows}
    lines = ["| judged | " + " | ".join(selectors) + " |", "|---" * (len(selectors) + 1) + "|"]
    for at in SHOWN_SHARES:
        cells = [_in_per_cent(by_place[selector, at], value) for selector in selectors]
        lines.append(f"| {at} % | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _in_per_cent(row: dict[str, Any], value: str) -> str:
    error = row.get(f"{value}_se")
    digits = 1 if value == "coverage" else 2
    found = f"{100 * row[value]:.{digits}f}"
    return found if error is None else f"{found} ± {100 * error:.{digits}f}"


def ablation_table(tables: dict[str, list[dict[str, Any]]]) -> str:
    """Format success, with a line for each variant and a column for each number of items judged."""
    lines, budgets = [], (10, 20, 30, 40)
    for name, rows in tables.items():
        variant = name.removeprefix("ablation-")
        for selector in dict.fromkeys(row["selector"] for row in rows):
            cells = [share(row, "success") for row in rows if row["selector"] == selector]
            label = {"base": "MiniLM, Ward, cosine", "lexical": "TF-IDF, Ward, cosine"}.get(
                variant, f"MiniLM, {variant}"
            )
            lines.append(f"| {selector} | {label if selector != 'random' else '-'} | " + " | ".join(cells) + " |")
    head = "| selector | variant | " + " | ".join(f"{budget} judged" for budget in budgets) + " |"
    return "\n".join([head, "|---" * (2 + len(budgets)) + "|", *dict.fromkeys(lines)])


def fill(page: str, name: str, table: str) -> str:
    """Return the page with `table` between the marks of `name`.

    Raises:
        SystemExit: the page has no such mark.
    """
    marked = re.compile(rf"(<!-- table: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marked.search(page):
        raise SystemExit(f"the page has no mark '<!-- table: {name} -->'")
    return marked.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)


def parsed(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command, `given` or those of the process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--realsumm-vectors", type=Path)
    parser.add_argument("--alpacaeval-vectors", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args(given)


def main() -> None:
    """Run the experiments, fill the page and copy the pictures."""
    arguments = parsed()
    page = arguments.page.read_text(encoding="utf-8")
    page = fill_pairs(page, arguments)
    page = fill_many(page, arguments)
    page = fill_one(page, arguments)
    for name in chosen(FIGURES, arguments):
        run(name, arguments)
    arguments.page.write_text(page, encoding="utf-8")
    pictures = arguments.page.parent / "pictures"
    pictures.mkdir(exist_ok=True)
    for name in chosen(PICTURES, arguments):
        for picture in PICTURES[name]:
            shutil.copy(arguments.output / name / f"{picture}.svg", pictures / f"{name}-{picture}.svg")


def chosen(names: Iterable[str], arguments: argparse.Namespace) -> list[str]:
    """Return the names that begin with `--only`."""
    return [name for name in names if name.startswith(arguments.only)]


def fill_pairs(page: str, arguments: argparse.Namespace) -> str:
    """Fill the tables of comparisons of two systems."""
    tables = {
        name: read(run(name, arguments), "rules" if "--iterative" in EXPERIMENTS[name][2] else "sizes")
        for name in chosen(EXPERIMENTS, arguments)
    }
    for name, rows in tables.items():
        if not name.startswith("ablation-"):
            page = fill(page, name, rules_table(rows) if name.endswith("-rules") else success_table(rows))
    ablations = {name: rows for name, rows in tables.items() if name.startswith("ablation-")}
    return fill(page, "ablation", ablation_table(ablations)) if ablations else page


def fill_many(page: str, arguments: argparse.Namespace) -> str:
    """Fill the tables of selections of the best of many systems."""
    for name in chosen(SELECTIONS, arguments):
        out = run(name, arguments)
        calls, needed = read(out, "calls"), read(out, "needed")
        page = fill(page, f"{name}-needed", needed_table(needed))
        page = fill(page, f"{name}-calls", identified_table(calls, "calls", SHOWN_CALLS[name]))
        page = fill(page, f"{name}-queries", identified_table(read(out, "queries"), "queries", SHOWN_QUERIES))
        page = fill(page, f"{name}-gaps", gap_table(calls, needed))
        page = fill(page, f"{name}-races", races_table(read(out, "races")))
    for name in chosen(BELIEFS, arguments):
        out = run(name, arguments)
        page = fill(page, f"{name}-needed", needed_table(read(out, "needed")))
        page = fill(page, f"{name}-level", level_table(out / "runs.jsonl"))
    return page


def fill_one(page: str, arguments: argparse.Namespace) -> str:
    """Fill the tables of estimates of single systems."""
    for name in chosen(ESTIMATES, arguments):
        out = run(name, arguments)
        page = fill(page, f"{name}-area", area_table(read(out, "area")))
        if name in BY_SHARE:
            accuracy = read(out, "accuracy")
            for value in ("error", "coverage", "half_width"):
                page = fill(page, f"{name}-{value}", shares_table(accuracy, value))
    return page


if __name__ == "__main__":
    main()
