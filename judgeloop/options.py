"""The flags of the command line, each once, for every command that takes it.

What a flag means for a run is settled in `config.py`; here are its name, its place in the help, and its sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

JUDGES = (
    "openai/MODEL, anthropic/MODEL, vllm/NAME, metric:NAME, replay:FILE, human or python:MODULE:FUNCTION; give several "
    "for a panel."
)


def flag(panel: str, name: str, help_text: str, *more: str) -> Any:
    """A flag `--name`, which its variable JUDGELOOP_NAME sets too, in a panel of the help."""
    variable = "JUDGELOOP_" + name.removeprefix("--").replace("-", "_").upper()
    return typer.Option(
        name, *more, help=help_text, envvar=variable, show_envvar=False, rich_help_panel=panel
    )


First = Annotated[Path, typer.Argument(metavar="A", help="Outputs of one system: JSONL, CSV or JSON.")]
Second = Annotated[Path, typer.Argument(metavar="B", help="Outputs of the other.")]
# Its variable, JUDGELOOP_JUDGE, is read in cli.py: a name may hold spaces, at which typer would split it.
Judge = Annotated[list[str], typer.Option("--judge", help=JUDGES, rich_help_panel="Judge")]
JudgeBaseUrl = Annotated[str | None, flag("Judge", "--judge-base-url", "An OpenAI-compatible server.")]
JudgePrice = Annotated[str | None, flag("Judge", "--judge-price", "IN,OUT: dollars per million tokens.")]
Prices = Annotated[Path | None, flag("Judge", "--prices", "Your own prices, a TOML file.")]
JudgeTimeout = Annotated[float, flag("Judge", "--judge-timeout", "Seconds for one attempt, in all.")]
JudgeMaxTokens = Annotated[int, flag("Judge", "--judge-max-tokens", "Tokens that a reply may have.")]
Items = Annotated[Path | None, flag("Items", "--items", "Prompts and references, joined by id or prompt.")]
AllowPartial = Annotated[bool, flag("Items", "--allow-partial", "Judge the items that all files have.")]
Selector = Annotated[str, flag("Selection", "--selector", "random, diffuse, max-norm or input-cluster.")]
Represent = Annotated[str, flag("Selection", "--represent", "lexical, minilm or minilm:FOLDER.")]
Combine = Annotated[
    str, flag("Selection", "--combine", "Cluster the outputs' difference, concatenation or addition.")
]
Clustering = Annotated[
    str,
    flag("Selection", "--clustering", "ward, cosine, kmeans or micro-ward (as ward does from 20,000 items)."),
]
Representative = Annotated[
    str,
    flag("Selection", "--representative", "Of a cluster: cosine, euclidean (closest), largest-norm, random."),
]
Rule = Annotated[
    str | None,
    flag(
        "Stopping",
        "--rule",
        "sequential or anytime (guaranteed, for random draws); tie-aware or hypergeometric (heuristics). Default: sequential, and "
        "tie-aware for a selector that picks.",
    ),
]
NearTie = Annotated[
    float | None,
    flag("Stopping", "--near-tie", 'With --rule anytime: end with "no practical difference" within so much.'),
]
Risk = Annotated[float, flag("Stopping", "--risk", "Stated risk at which to stop.")]
MinJudgments = Annotated[int, flag("Stopping", "--min-judgments", "Judge at least so many.")]
MaxJudgments = Annotated[int, flag("Stopping", "--max-judgments", "Judge at most so many.")]
Vote = Annotated[str, flag("Judge", "--vote", "A panel's: majority, mean or unanimous.")]
Verdict = Annotated[str, flag("Judge", "--verdict", "schema, choice (vllm), tool (anthropic) or logprob.")]
Prompt = Annotated[str | None, flag("Judge", "--prompt", "Your own, a .md file, or one of judgeloop's.")]
Rubric = Annotated[str | None, flag("Judge", "--rubric", "Judge by this text, or file.")]
AllowPlugins = Annotated[bool, flag("Judge", "--allow-plugins", "Run python:MODULE:FUNCTION.")]
Decoys = Annotated[int, flag("Judge", "--decoys", "Try so many empty or constant answers on it.")]
DecoyOutputs = Annotated[
    Path | None,
    flag("Judge", "--decoy-outputs", "Try the answers in this output file, not judgeloop's own."),
]
Deadline = Annotated[str | None, flag("Money and pace", "--deadline", "Stop asking after 90s, 30m or 2h.")]
Lookahead = Annotated[
    int,
    flag("Money and pace", "--lookahead", "Ask so many steps ahead of the stopping rule: faster, dearer."),
]
Rpm = Annotated[int | None, flag("Money and pace", "--rpm", "Calls a minute, at most.")]
Tpm = Annotated[int | None, flag("Money and pace", "--tpm", "Tokens a minute, at most.")]
MaxAbstentions = Annotated[float, flag("Stopping", "--max-abstentions", "Share without a verdict to bear.")]
Budget = Annotated[str, flag("Money and pace", "--budget", "Dollars this run may ever cost, or none.")]
Order = Annotated[str, flag("Judge", "--order", "both, random or fixed.")]
TieMargin = Annotated[float, flag("Judge", "--tie-margin", "Scores closer than this are a tie.")]
Concurrency = Annotated[int, flag("Money and pace", "--concurrency", "Calls in flight at a time.")]
Seed = Annotated[int, flag("Selection", "--seed", "Starts all random numbers.")]
Ledger = Annotated[Path, flag("Files and output", "--ledger", "Remembers verdicts and money.")]
RunDir = Annotated[
    Path | None, flag("Files and output", "--run-dir", "Folder for the verdicts and the result.")
]
Analyse = Annotated[
    bool, flag("Files and output", "--analyse", "Also draw which items were picked, into the run's folder.")
]
DryRun = Annotated[bool, flag("Money and pace", "--dry-run", "Print what it would take; spend nothing.")]
AsJson = Annotated[bool, flag("Files and output", "--json", "Print JSON and nothing else.")]
Output = Annotated[
    Path | None,
    flag("Files and output", "--output", "Also write the result: .json, .md, .txt, .html, .csv.", "-o"),
]
RequireWinner = Annotated[str | None, flag("Stopping", "--require-winner", "Exit with 5 if another wins.")]
