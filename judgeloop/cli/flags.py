"""The flags of the command line, each once, for every command that takes it.

What a flag means for a run is settled in `config.py`; here are its name, what it may hold, its default, its place
in the help, and its sentence. A command lists the groups that it takes:

    @app.command()
    @takes(SYSTEMS, COMPARISON, replace(SELECTOR, default="diffuse"))
    def compare(*, as_json: bool, **flags: Any) -> None: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])
REQUIRED = ...  # typer's own sign for it


@dataclass(frozen=True)
class Flag:
    """A flag of the command line, which its variable JUDGELOOP_NAME sets too, in a panel of the help."""

    panel: str
    name: str
    kind: Any
    default: Any
    help: str
    short: str | None = None
    into: str | None = None
    in_environment: bool = True

    @property
    def parameter(self) -> str:
        """The parameter of a command that receives it: `into`, or the flag's name with underscores."""
        return self.into or self.name.removeprefix("--").replace("-", "_")

    def declared(self) -> Any:
        """What typer reads."""
        variable = "JUDGELOOP_" + self.name.removeprefix("--").replace("-", "_").upper()
        return typer.Option(
            self.default,
            *(name for name in (self.name, self.short) if name),
            help=self.help,
            envvar=variable if self.in_environment else None,
            show_envvar=False,
            rich_help_panel=self.panel,
        )


@dataclass(frozen=True)
class Argument:
    """What a command takes by its place, and has to be given."""

    parameter: str
    metavar: str
    kind: Any
    help: str

    def declared(self) -> Any:
        """What typer reads."""
        return typer.Argument(REQUIRED, metavar=self.metavar, help=self.help)


Group = tuple[Flag | Argument, ...]


def takes(*given: Flag | Argument | Group) -> Callable[[Command], Command]:
    """Give a command these flags, in this order, by the signature that typer reads.

    A flag that is given again stands for the first, in its place: `replace(FLAG, default=...)` after a group gives a
    command its own default or help. The function receives each flag by its name, or in `**flags`; a parameter that
    no flag fills is one more of the command's, declared as typer asks, and comes before them.
    """
    listed = [one for group in given for one in (group if isinstance(group, tuple) else (group,))]
    flags = {one.parameter: one for one in listed}

    def declare(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        parameters = [
            one
            for one in own.parameters.values()
            if one.name not in flags and one.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=flag.declared(), annotation=flag.kind
            )
            for name, flag in flags.items()
        ]
        read: Any = command  # mypy knows no __signature__ of a function
        read.__signature__ = own.replace(parameters=parameters)
        # Typer takes the types from here, where there are any, and not from the signature.
        read.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return declare


JUDGES = (
    "openai/MODEL, anthropic/MODEL, vllm/NAME, metric:NAME, replay:FILE, human or python:MODULE:FUNCTION; give several "
    "for a panel."
)
# Its variable, JUDGELOOP_JUDGE, is read in cli.py: a name may hold spaces, at which typer would split it.
JUDGE = Flag("Judge", "--judge", list[str], REQUIRED, JUDGES, in_environment=False)
TIE_MARGIN = Flag("Judge", "--tie-margin", float, 0.0, "Scores closer than this are a tie.")
ORDER = Flag("Judge", "--order", str, "both", "both, random or fixed.")
SELECTOR = Flag(
    "Selection",
    "--selector",
    str | None,
    None,
    "random, decisive (items that told systems apart before), diffuse, max-norm or input-cluster. Default: random, and "
    "decisive for a rule without a guarantee of its own.",
)
HISTORY = Flag(
    "Selection",
    "--history",
    str,
    "auto",
    "Earlier comparisons, for decisive and calibrated: auto (the ledger's), none, RUN,RUN... of it, or a FILE of verdicts.",
)
REPRESENT = Flag("Selection", "--represent", str, "lexical", "lexical, minilm or minilm:FOLDER.")
SEED = Flag("Selection", "--seed", int, 0, "Starts all random numbers.")
MIN_JUDGMENTS = Flag("Stopping", "--min-judgments", int, 5, "Judge at least so many.")
MAX_JUDGMENTS = Flag("Stopping", "--max-judgments", int, 200, "Judge at most so many.")
BUDGET = Flag("Money and pace", "--budget", str, "5.00", "Dollars this run may ever cost, or none.")
LEDGER = Flag(
    "Files and output",
    "--ledger",
    Path,
    Path(".judgeloop/ledger.sqlite"),
    "Remembers verdicts and money.",
)
AS_JSON = Flag(
    "Files and output", "--json", bool, False, "Print JSON and nothing else.", into="as_json"
)

SYSTEMS: Group = (
    Argument("first", "A", Path, "Outputs of one system: JSONL, CSV or JSON."),
    Argument("second", "B", Path, "Outputs of the other."),
)
REACHING: Group = (  # a judge, to be asked at all
    JUDGE,
    Flag("Judge", "--judge-base-url", str | None, None, "An OpenAI-compatible server."),
    Flag("Judge", "--judge-price", str | None, None, "IN,OUT: dollars per million tokens."),
    Flag("Judge", "--prices", Path | None, None, "Your own prices, a TOML file."),
    Flag("Judge", "--judge-timeout", float, 120.0, "Seconds for one attempt, in all."),
    Flag("Judge", "--judge-max-tokens", int, 512, "Tokens that a reply may have."),
)
ASKING: Group = (  # what a judge is asked, and how it is to reply
    Flag(
        "Judge", "--verdict", str, "schema", "schema, choice (vllm), tool (anthropic) or logprob."
    ),
    Flag("Judge", "--prompt", str | None, None, "Your own, a .md file, or one of judgeloop's."),
    Flag("Judge", "--rubric", str | None, None, "Judge by this text, or file."),
    Flag("Judge", "--allow-plugins", bool, False, "Run python:MODULE:FUNCTION."),
)
DECOYS: Group = (
    Flag("Judge", "--decoys", int, 0, "Try so many empty or constant answers on it."),
    Flag(
        "Judge",
        "--decoy-outputs",
        Path | None,
        None,
        "Try the answers in this output file, not judgeloop's own.",
    ),
)
JUDGING: Group = (
    *REACHING,
    Flag("Judge", "--vote", str, "majority", "A panel's: majority, mean or unanimous."),
    *ASKING,
    *DECOYS,
    ORDER,
    TIE_MARGIN,
)
ITEMS: Group = (
    Flag("Items", "--items", Path | None, None, "Prompts and references, joined by id or prompt."),
    Flag("Items", "--allow-partial", bool, False, "Judge the items that all files have."),
)
CLUSTERS: Group = (
    Flag(
        "Selection",
        "--combine",
        str,
        "difference",
        "Cluster the outputs' difference, concatenation or addition.",
    ),
    Flag(
        "Selection",
        "--clustering",
        str,
        "ward",
        "ward, cosine, kmeans or micro-ward (as ward does from 20,000 items).",
    ),
    Flag(
        "Selection",
        "--representative",
        str,
        "cosine",
        "Of a cluster: cosine, euclidean (closest), largest-norm, random.",
    ),
)
SELECTION: Group = (SELECTOR, HISTORY, REPRESENT, *CLUSTERS, SEED)
RULE = Flag(
    "Stopping",
    "--rule",
    str | None,
    None,
    "sequential or anytime (guaranteed, for random draws); calibrated (on earlier comparisons); tie-aware or hypergeometric "
    "(heuristics). Default: sequential, and tie-aware for a selector that prefers items.",
)
NEAR_TIE = Flag(
    "Stopping",
    "--near-tie",
    float | None,
    None,
    'With --rule anytime: end with "no practical difference" within so much.',
)
GIVE_UP = Flag(
    "Stopping",
    "--give-up",
    float | None,
    None,
    "Stop undecided once a decision within --max-judgments is less likely than so much, such as 0.1.",
)
RISK = Flag("Stopping", "--risk", float, 0.1, "Stated risk at which to stop.")
MAX_ABSTENTIONS = Flag(
    "Stopping", "--max-abstentions", float, 0.05, "Share without a verdict to bear."
)
STOPPING: Group = (
    RISK,
    MIN_JUDGMENTS,
    MAX_JUDGMENTS,
    MAX_ABSTENTIONS,
    Flag("Stopping", "--require-winner", str | None, None, "Exit with 5 if another wins."),
)
PACE: Group = (
    Flag("Money and pace", "--deadline", str | None, None, "Stop asking after 90s, 30m or 2h."),
    Flag(
        "Money and pace",
        "--lookahead",
        int,
        0,
        "Ask so many steps ahead of the stopping rule: faster, dearer.",
    ),
    Flag("Money and pace", "--rpm", int | None, None, "Calls a minute, at most."),
    Flag("Money and pace", "--tpm", int | None, None, "Tokens a minute, at most."),
    BUDGET,
    Flag("Money and pace", "--concurrency", int, 8, "Calls in flight at a time."),
    Flag("Money and pace", "--dry-run", bool, False, "Print what it would take; spend nothing."),
)
RUN_DIR = Flag(
    "Files and output", "--run-dir", Path | None, None, "Folder for the verdicts and the result."
)
ANALYSE = Flag(
    "Files and output",
    "--analyse",
    bool,
    False,
    "Also draw which items were picked, into the run's folder.",
)
PRINTED: Group = (
    AS_JSON,
    Flag(
        "Files and output",
        "--output",
        Path | None,
        None,
        "Also write the result: .json, .md, .txt, .html, .csv.",
        short="-o",
    ),
)
COMPARISON: Group = (  # all but the systems
    *JUDGING, *ITEMS, *SELECTION, RULE, NEAR_TIE, GIVE_UP, *STOPPING, *PACE, LEDGER, RUN_DIR, ANALYSE, *PRINTED,
)  # fmt: skip
BEST_OF_MANY: Group = (
    Argument(
        "outputs", "OUTPUTS", list[Path], "Outputs of all systems, a file each: JSONL, CSV or JSON."
    ),
    Flag("Selection", "--baseline", str, REQUIRED, "The system that all others are compared with."),
    *JUDGING,
    *ITEMS,
    replace(
        SELECTOR,
        kind=str,
        default="race",
        help="race or random (drawn, with a stated risk); halving, llm-selector, bradley-terry, most-draws, confidence or "
        "uncertainty (picked, for a fixed budget).",
    ),
    Flag(
        "Selection", "--weak-judges", int, 10, "Models of word sequences that guess for the judge."
    ),
    Flag(
        "Selection",
        "--epsilon",
        str,
        "auto",
        "For llm-selector: E1,E2, how often the best loses and ties.",
    ),
    SEED,
    replace(
        RULE,
        help="separated (guaranteed, for random draws) or fixed-budget (states no risk). Default: separated, and fixed-budget "
        "for a selector that picks.",
    ),
    Flag(
        "Stopping",
        "--near-best",
        float | None,
        None,
        "End once the winner is within so much of the best.",
    ),
    *STOPPING,
    replace(MIN_JUDGMENTS, default=1),
    replace(MAX_JUDGMENTS, default=2000),
    *PACE,
    LEDGER,
    RUN_DIR,
    *PRINTED,
)
ONE_SCORE: Group = (
    Argument("outputs", "OUTPUTS", Path, "Outputs of one system: JSONL, CSV or JSON."),
    *REACHING,
    *ASKING,
    *DECOYS,
    Flag(
        "Judge",
        "--proxy",
        str | None,
        None,
        "A cheap judge of every item, confidence, or history (other systems' ratings): it narrows the interval.",
    ),
    replace(
        HISTORY,
        panel="Judge",
        help="For --proxy history: auto (the ledger's ratings by this judge), none, RUN,RUN... of it, or a FILE of scores.",
    ),
    *ITEMS,
    replace(
        SELECTOR,
        kind=str,
        default="random",
        help="random, stratified, stratified-confidence (drawn, with an interval); actracer, confidence-systematic, cross-entropy, "
        "mmd-critic or diffuse (picked, with none).",
    ),
    replace(
        REPRESENT,
        help="lexical, minilm, minilm:FOLDER, or hidden:MODEL, a causal language model's hidden states.",
    ),
    Flag(
        "Selection",
        "--layer",
        str,
        "middle",
        "Of the hidden states: middle, last, auto or a number.",
    ),
    Flag("Selection", "--clusters", str, "auto", "Strata; auto looks for their number."),
    Flag(
        "Selection",
        "--allocation",
        str,
        "mc-ucb",
        "Judgments among strata: mc-ucb or proportional.",
    ),
    Flag(
        "Selection",
        "--confidence",
        str,
        "logprobs",
        "The field of OUTPUTS with the system's confidence.",
    ),
    Flag(
        "Selection",
        "--confidence-by",
        str,
        "geometric-mean",
        "Of its tokens' log-probabilities: geometric-mean or first-token.",
    ),
    SEED,
    Flag(
        "Stopping",
        "--half-width",
        float | None,
        None,
        "End once the interval reaches no farther from the score.",
    ),
    Flag(
        "Stopping",
        "--interval",
        str,
        "approximate",
        "approximate (for one look) or anytime (for any number of looks).",
    ),
    replace(RISK, help="Stated risk that the interval misses."),
    replace(MIN_JUDGMENTS, default=20),
    MAX_JUDGMENTS,
    MAX_ABSTENTIONS,
    Flag(
        "Stopping",
        "--require-score",
        float | None,
        None,
        "Exit with 0 if the interval lies above, with 5 if below.",
    ),
    *PACE,
    LEDGER,
    RUN_DIR,
    *PRINTED,
)
CALIBRATION: Group = (
    replace(
        HISTORY,
        panel="Past",
        help="What to replay: auto (all comparisons in the ledger), RUN,RUN... of it, or a FILE of verdicts.",
    ),
    Flag(
        "Past",
        "--judge-name",
        str | None,
        None,
        "Of several judges in the ledger, such as openai/gpt-4.1.",
    ),
    replace(
        TIE_MARGIN, panel="Past", help="In a FILE of scores, those closer than this are a tie."
    ),
    replace(RISK, kind=str, default="0.1,0.2", help="Stated risks, with commas between."),
    MIN_JUDGMENTS,
    MAX_JUDGMENTS,
    replace(
        GIVE_UP,
        help="Also try each rule that stops undecided where a decision is less likely than so much.",
    ),
    replace(SEED, panel="Stopping"),
    LEDGER,
    AS_JSON,
)
