"""What configurations share: panels of the help, types of values, settings."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from judgeloop.core.records import DECISION_MARGIN, MODELS_ABSTAIN, PEOPLE_SKIP, Order
from judgeloop.judges.catalogue import JUDGES as PROVIDERS
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.settings.setting import DURATION_FORM, Parse, Role, Setting, alternatives, anybody, like, matching
from judgeloop.settings.sources import harmless_judge, inside
from judgeloop.settings.values import night_name, seconds
from judgeloop.systems.catalogue import SYSTEMS
from judgeloop.systems.options import KEYS

JUDGE, ITEMS, SELECTION, STOPPING = "Judge", "Items", "Selection", "Stopping"
MONEY, OUTPUT = "Money and pace", "Files and output"
# Headings of the help of `replay` only.
DATA, PROTOCOL, MANY, ONE = "Data", "Protocol", "With --job select", "With --job estimate"
PANELS = (DATA, ITEMS, JUDGE, SELECTION, PROTOCOL, MANY, ONE, STOPPING, MONEY, OUTPUT)

Count = Annotated[int, Ge(1)]
Share = Annotated[float, Gt(0), Lt(1)]

# Settings of one kind; each also takes what else `Setting` does.
run_setting = partial(Setting, role=Role.RUN, may_set=anybody)  # what the outcome depends on
report_setting = partial(Setting, role=Role.REPORT, may_set=anybody)
items_setting = partial(Setting, panel=ITEMS, role=Role.CONTENT)
judge_setting = partial(Setting, panel=JUDGE, role=Role.KEY)
money_setting = partial(Setting, panel=MONEY, role=Role.MONEY)
pace_setting = partial(Setting, panel=MONEY, role=Role.PACE, may_set=anybody)
place_setting = partial(Setting, panel=OUTPUT, role=Role.PLACE)


def _map_text(value: object) -> object:
    """Check a map; what reads it is imported when there is one."""
    from judgeloop.formats.columns import map_text

    return map_text(value)


ColumnMap = Annotated[
    str | None,
    Parse(_map_text, matching(".+=.+", 'text such as "prompt=question"')),
    items_setting(
        "Columns of the files, where they are not found by name: prompt=question,output=answer.",
        may_set=anybody,
        metavar="FIELD=COLUMN,...",
        many=True,
    ),
]
AUTO = "auto"


def _steps_ahead(value: object) -> object:
    """The text of a number of steps, or `auto`."""
    if not (str(value) == AUTO or (str(value).isascii() and str(value).isdigit())):
        raise ValueError(f"expected a number from 0, or {AUTO}")
    return str(value)


AHEAD = Parse(
    _steps_ahead,
    {
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^([0-9]+|{AUTO})$"}],
        "description": f"a number from 0, or {AUTO}",
    },
)
EPOCH = like(r"[1-9]\d*|mean", "a number from 1, or mean")
WHICH_EPOCH = items_setting(
    "Which epoch to read of a log that repeats its items, alone: a number, or mean (recorded scores).",
    may_set=anybody,
    metavar="NUMBER",
)
Epoch = Annotated[str | None, EPOCH, WHICH_EPOCH]
ABSTAIN = "abstain"
MISSING = ("lost", ABSTAIN)
LiveSystems = Annotated[
    tuple[str, ...],
    Setting(
        f"Setting of a system that answers live ({', '.join(row.form for row in SYSTEMS)}): {', '.join(KEYS)}.",
        ITEMS,
        Role.KEY,
        metavar="NAME.KEY=VALUE",
        many=True,
        adds=True,
        example=("vllm/my-tune.base-url=http://127.0.0.1:8000/v1",),
    ),
]

# Settings of several configurations that do not inherit them from each other.
Seed = Annotated[int, Ge(0), run_setting("Seed of all random numbers.", SELECTION)]
MinJudgments = Annotated[int, Ge(1), run_setting("Minimum number of judgments.", STOPPING, file_only=True)]
MaxJudgments = Annotated[int, Ge(1), run_setting("Maximum number of judgments.", STOPPING, common=True)]
ShownOrder = Annotated[
    Order, run_setting("Order in which the two outputs are shown: both, random or fixed.", JUDGE, common=True)
]
# Shares of items: a share won less a share lost.
MinGap = Annotated[
    float | None,
    Gt(0),
    Lt(1),
    run_setting(
        "Gap (share won less share lost) that matters: stop once the leader is better, or behind by less.",
        STOPPING,
        example=0.1,
    ),
]
# Role.REPORT: it is only shown. The settings that it fills in are in a run's id by their values.
REPORT_TEXTS = report_setting(
    "Judged items of which an HTML report shows prompt, outputs and reason: all, lost (by the candidate) or none.",
    OUTPUT,
    file_only=True,
)
AllowPlugins = Annotated[
    bool, Setting("Allow python:MODULE:FUNCTION and command:…, which run code.", JUDGE, Role.PLACE)
]
MaxAbstentions = Annotated[
    float | None,
    Ge(0),
    Le(1),
    run_setting(
        f"Stop once the share of items without a verdict exceeds this (0 to 1). Default: {MODELS_ABSTAIN}; where people "
        f"judge, who may skip, {PEOPLE_SKIP}.",
        STOPPING,
        file_only=True,
    ),
]
Deadline = Annotated[
    float | None,
    Parse(seconds, DURATION_FORM),
    Gt(0),
    pace_setting(
        "Stop asking after this time, such as 90s, 30m or 2h; calls in flight are waited for.", metavar="DURATION"
    ),
]
Concurrency = Annotated[int, Ge(1), pace_setting("Maximum number of calls in flight.")]
CallsAMinute = Annotated[
    int | None, Ge(1), pace_setting("Maximum number of calls a minute for each judge.", file_only=True)
]
TokensAMinute = Annotated[
    int | None, Ge(1), pace_setting("Maximum number of tokens a minute for each judge.", file_only=True)
]
TieMargin = Annotated[
    float | None,
    Ge(0),
    run_setting(
        "Scores that differ by no more than this (0 or more) are a tie. Default: 0; for the probabilities of a decision "
        f"model {DECISION_MARGIN}.",
        JUDGE,
        example=0.1,
    ),
]
NIGHT = Setting(
    "Night of the run, a date (for a suite today's): a part of the seed. Outputs of live systems from "
    "before it do not count.",
    SELECTION,
    Role.RUN,
    metavar="DATE",
    file_only=True,
)
Night = Annotated[str | None, Parse(night_name), NIGHT]
NightOfSuite = Annotated[str | None, Parse(night_name), replace(NIGHT, file_only=False, common=True)]
JUDGES = judge_setting(
    f"Who judges: {alternatives([row.form for row in PROVIDERS])}. Several form a panel.",
    may_set=harmless_judge,
    common=True,
    example=("openai/gpt-4.1-mini",),
    many=True,
)


def only_proxy(value: object) -> object:
    """The proxy of a question that asks a single one; of several a dry run of each says which is the better buy."""
    several = value if isinstance(value, list | tuple) else [value]
    if len(several) > 1:
        raise ValueError("expected one proxy; a dry run of each says which is the better buy")
    return several[0] if several else None


CacheDir = Annotated[Path, place_setting("Folder for vectors and other caches.", may_set=inside, file_only=True)]


def _address(value: object) -> object:
    """The address of a server for its text; a path stays."""
    if isinstance(value, str) and "://" in value:
        from judgeloop.ledger.opening import server_of

        return server_of(value)
    return value


Ledger = Annotated[
    Path | PostgresAddress,
    place_setting(
        "Record of paid verdicts and spending: a file (SQLite), or postgresql://USER@HOST/DATABASE. The default lies "
        "in the root of the repository (the folder with .git); outside of one, in the working folder.",
        metavar="PATH|ADDRESS",
    ),
    Parse(_address, {"type": "string"}),
]
