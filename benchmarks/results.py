r"""Makes the tables and pictures of docs/results/tables.md, each by one command.

    python benchmarks/results.py DATA -o FOLDER [--only NAME,...] [--write [PAGE]] [-- FLAGS]

DATA holds three folders. `realsumm` and `alpacaeval` each have `items.jsonl`, `outputs/` and
`verdicts-*.csv.gz` (item_id, model, score). `tiny-lm` has `outputs.jsonl` (prompts, outputs,
logprobs), `verdicts-exact.csv.gz` and `model`, the folder of the language model. `symbols-lm`, of
the same form, is made in FOLDER by `symbols_lm.py` where DATA does not hold it.

Vectors are those in DATA: `minilm.npz` beside outputs, `hidden.npz` beside a language model. Without
the file MiniLM embeds the outputs, and the model computes its hidden states, as it does for a search
for the layer. That needs the extra `judgeloop[embed]`. What the experiments need is checked before
the first begins.

Each experiment writes its tables to FOLDER/NAME.md and prints them, with its seconds, and says
whether the page has the same. A replay that was interrupted is resumed in FOLDER. `--only` takes
names exactly; without it all are made. `--write` fills the page of this copy, or PAGE, and puts the
pictures beside it; they need matplotlib. FLAGS go to every `judgeloop replay`, for a quicker look:
`-- --seeds 2`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
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
}  # fmt: skip
# The replays that make the one table `ablation`.
ABLATIONS: dict[str, tuple[str, str, list[str]]] = {
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
# The papers know no abstentions: recorded ones end no run.
MANY = ["--job", "select", "--seeds", "100", "--max-abstentions", "1"]
FEW = "select-12"
# Of the 53 systems one of each of twelve families: a search among them takes minutes.
TWELVE = frozenset({
    "alpaca-7b", "claude-2", "cohere", "falcon-40b-instruct", "gpt-3.5-turbo-1106", "gpt4", "guanaco-65b",
    "llama-2-70b-chat-hf", "mistral-medium", "phi-2", "vicuna-13b", "wizardlm-13b",
})  # fmt: skip
SELECTIONS: dict[str, tuple[str, str, list[str]]] = {
    FEW: ("alpacaeval", "gpt4", [*MANY, "--baseline", "text_davinci_003", "--seeds", "20"]),
    "select-gpt4": ("alpacaeval", "gpt4", [*MANY, "--baseline", "text_davinci_003"]),
    "select-turbo": ("alpacaeval", "gpt4turbo", [*MANY, *TURBO, "--baseline", "gpt4_1106_preview"]),
}
BELIEVERS = ["--selectors", "random,llm-selector"]
BELIEFS: dict[str, tuple[str, str, list[str]]] = {
    name.replace("select", "belief"): (data, verdicts, [*flags, *BELIEVERS])
    for name, (data, verdicts, flags) in SELECTIONS.items()
    if name != FEW
}
SHOWN_CALLS = {
    FEW: (96, 180, 240, 480, 960, 2400, 4800),
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
    "estimate-tiny-auto": ("tiny-lm", "exact", [*COARSE, "--selectors", "random,actracer", "--layer", "auto"]),
    "estimate-tiny-mean": ("tiny-lm", "exact", [*COARSE, *BY_PICKS]),
    "estimate-tiny-first": ("tiny-lm", "exact", [*COARSE, *BY_PICKS, *FIRST_TOKEN]),
    "estimate-symbols": ("symbols-lm", "exact", [*COARSE, "--selectors", EVERY_PART]),
    "estimate-symbols-first": ("symbols-lm", "exact", [*COARSE, *BY_PICKS, *FIRST_TOKEN]),
    "estimate-tiny-proxy": ("tiny-lm", "exact", [*ONE, *DRAWN, "--seeds", "20"]),
    "estimate-rouge2": ("realsumm", "rouge2", [*ONE, "--selectors", BY_VECTORS, "--seeds", "10"]),
    "estimate-pyramid": ("realsumm", "human-pyramid", [*ONE, "--selectors", BY_VECTORS, "--seeds", "10"]),
    "estimate-gpt4": ("alpacaeval", "gpt4", [*ONE, "--selectors", BY_VECTORS, "--seeds", "4"]),
}
OF_MODELS = ("tiny-lm", "symbols-lm")
MADE = OF_MODELS[1]  # the data that a script of this folder makes
VECTORS = "minilm.npz"  # the recorded vectors of a folder's outputs
STATES = "hidden.npz"  # the recorded hidden states of a folder's model
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
REPLAYS = EXPERIMENTS | ABLATIONS | FIGURES | SELECTIONS | BELIEFS | ESTIMATES
# What `--only` takes: a table, or the tables of one replay; `ablation` is one table of several replays.
NAMES = (*EXPERIMENTS, "ablation", *FIGURES, *SELECTIONS, *BELIEFS, *ESTIMATES)

Rows = list[dict[str, Any]]


def replays_of(name: str) -> list[str]:
    """Return the replays that make an experiment."""
    return list(ABLATIONS) if name == "ablation" else [name]


def run(name: str, arguments: argparse.Namespace) -> Path:
    """Run or resume one replay; return the folder with its tables."""
    data, verdicts, flags = REPLAYS[name]
    folder, out = data_folder(data, arguments), arguments.output / name
    of_model = data in OF_MODELS  # its outputs hold the prompts
    outputs, items = ["outputs.jsonl"] * 2 if of_model else ["outputs", "items.jsonl"]
    table = folder / f"verdicts-{verdicts}.csv.gz"
    command = [sys.executable, "-m", "judgeloop", "replay", folder / outputs, "--items", folder / items]
    command += ["--verdicts", table, *flags, "-o", out]
    if name == FEW:
        with gzip.open(table, "rt", encoding="utf-8") as file:
            command += ["--leave-out", ",".join(sorted({row["model"] for row in csv.DictReader(file)} - TWELVE))]
    if of_model:
        recorded = None if computes_states(name, folder) else folder / STATES
        command += ["--vectors", recorded] if recorded else ["--represent", f"hidden:{folder / 'model'}"]
    elif embedded(name):
        vectors = folder / VECTORS
        command += ["--vectors", vectors] if vectors.exists() else ["--represent", "minilm"]
    if (out / "runs.jsonl").exists():
        command.append("--resume")
    command += arguments.flags
    print("$ judgeloop", *command[3:], flush=True)
    done = subprocess.run([str(part) for part in command], check=False, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{name}: the replay ended with code {done.returncode}")
    if find_spec("matplotlib"):
        _script("replay_pictures.py", out)
        if name in PICKS:
            _script("diffuse_pictures.py", out, *PICKS[name])
    return out


def embedded(replay: str) -> bool:
    """Whether a replay takes sentence embeddings of the outputs."""
    return replay not in WITHOUT_TEXTS and "lexical" not in REPLAYS[replay][2]


def computes_states(replay: str, folder: Path) -> bool:
    """Whether a replay needs the language model itself: to search for the layer, or to have its hidden states."""
    return "auto" in REPLAYS[replay][2] or not (folder / STATES).exists()


def lacking(names: Sequence[str], arguments: argparse.Namespace) -> list[str]:
    """Return what the experiments need and is not here, a sentence each."""
    found: dict[str, None] = {}
    for replay in (replay for name in names for replay in replays_of(name)):
        data, verdicts, _ = REPLAYS[replay]
        folder = arguments.data / data
        of_model = data in OF_MODELS
        if data != MADE or folder.exists():
            files = ["outputs.jsonl"] if of_model else ["items.jsonl", "outputs"]
            files += ["model"] if of_model and computes_states(replay, folder) else []
            missing = [path for path in (*files, f"verdicts-{verdicts}.csv.gz") if not (folder / path).exists()]
            found |= {f"{replay} needs {folder / path}, which is not there": None for path in missing}
        if of_model and computes_states(replay, folder) and not (find_spec("torch") and find_spec("transformers")):
            found[f"{replay} computes hidden states: pip install '.[embed]'"] = None
        embeds = not of_model and embedded(replay) and not (folder / VECTORS).exists()
        if embeds and not find_spec("sentence_transformers"):
            found[f"{replay} embeds the outputs, as {folder / VECTORS} is not there: pip install '.[embed]'"] = None
    if arguments.write and not find_spec("matplotlib"):
        found["--write draws the pictures of the page: pip install matplotlib"] = None
    return list(found)


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
    head = ("rule", "risk", "selector", "judgments", "error %", "success %", "undecided %", "success by the rule %",
            "undecided by the rule %", "gap", "error's", "success's", "undecided's")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        gaps = [row[name] for name in ("gap", "gap_error", "gap_success", "gap_inconclusive")]
        cells = [row["rule"], f"{row['risk']:g}", row["selector"], f"{row['judgments']:.1f}"]
        counts = ("success", "inconclusive", "success_met", "inconclusive_met")
        cells += [share(row, "error"), *(f"{100 * row[name]:.1f}" for name in counts)]
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
    more = row["against_random"]
    return f"{row['calls']:,}" + (f" ({more:+.0%})" if more else "")


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


def marked(page: str, name: str) -> str:
    """Return what stands between the marks of `name` on the page; empty without marks."""
    found = re.search(rf"<!-- table: {re.escape(name)} -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    return found[1] if found else ""


def names(text: str) -> list[str]:
    """Return the experiments that `--only` names, exactly."""
    found = text.split(",")
    if unknown := [name for name in found if name not in NAMES]:
        raise argparse.ArgumentTypeError(f"no experiment {unknown[0]!r}; expected some of {', '.join(NAMES)}")
    return found


def parsed(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command, `given` or those of the process."""
    ours, bar, flags = _split(sys.argv[1:] if given is None else [*given])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", type=names, default=list(NAMES), metavar="NAME,...", help=", ".join(NAMES))
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE, metavar="PAGE")
    arguments = parser.parse_args(ours)
    arguments.flags = flags
    if arguments.write and bar:
        parser.error("--write fills the page with the experiments as they are, without further flags")
    return arguments


def _split(given: list[str]) -> tuple[list[str], bool, list[str]]:
    """Split arguments at the first `--`."""
    at = given.index("--") if "--" in given else len(given)
    return given[:at], at < len(given), given[at + 1 :]


def main() -> None:
    """Run the experiments, write and print their tables, and fill the page if asked to."""
    arguments = parsed()
    if lacks := lacking(arguments.only, arguments):
        sys.exit("\n".join(["nothing was begun:", *lacks]))
    page = (arguments.write or PAGE).read_text(encoding="utf-8")
    for name in arguments.only:
        began, tables = time.perf_counter(), dict(tables_of(name, arguments))
        took = time.perf_counter() - began
        text = "\n\n".join(f"## {mark}\n\n{table}" for mark, table in tables.items())
        if tables:
            file = arguments.output / f"{name}.md"
            file.write_text(f"{text}\n", encoding="utf-8")
            same = all(marked(page, mark) == table for mark, table in tables.items())
            print(f"{text}\n\n{file}: {'the same as' if same else 'not the same as'} on the page")
        print(f"{name}: {took:,.0f} s", flush=True)
        if arguments.write:
            for mark, table in tables.items():
                page = fill(page, mark, table)
            arguments.write.write_text(page, encoding="utf-8")
            copy_pictures(name, arguments)


def copy_pictures(name: str, arguments: argparse.Namespace) -> None:
    """Put the pictures of an experiment beside the page."""
    folder = arguments.write.parent / "pictures"
    folder.mkdir(exist_ok=True)
    for replay in replays_of(name):
        for picture in PICTURES.get(replay, ()):
            shutil.copy(arguments.output / replay / f"{picture}.svg", folder / f"{replay}-{picture}.svg")


def tables_of(name: str, arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Run an experiment, and yield its tables: the mark of each on the page, and its text."""
    outs = {replay: run(replay, arguments) for replay in replays_of(name)}
    if name == "ablation":
        yield name, ablation_table({replay: read(out, "sizes") for replay, out in outs.items()})
        return
    out = outs[name]
    if name in EXPERIMENTS:
        rules = name.endswith("-rules")
        yield name, rules_table(read(out, "rules")) if rules else success_table(read(out, "sizes"))
    elif name in SELECTIONS:
        calls, needed = read(out, "calls"), read(out, "needed")
        yield f"{name}-needed", needed_table(needed)
        yield f"{name}-calls", identified_table(calls, "calls", SHOWN_CALLS[name])
        yield f"{name}-queries", identified_table(read(out, "queries"), "queries", SHOWN_QUERIES)
        yield f"{name}-gaps", gap_table(calls, needed)
        yield f"{name}-races", races_table(read(out, "races"))
    elif name in BELIEFS:
        yield f"{name}-needed", needed_table(read(out, "needed"))
        yield f"{name}-level", level_table(out / "runs.jsonl")
    elif name in ESTIMATES:
        yield f"{name}-area", area_table(read(out, "area"))
        if name in BY_SHARE:
            for value in ("error", "coverage", "half_width"):
                yield f"{name}-{value}", shares_table(read(out, "accuracy"), value)


if __name__ == "__main__":
    main()
