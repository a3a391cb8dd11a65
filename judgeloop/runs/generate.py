"""Lets one system answer items before anything is judged, and returns all of its outputs that are known.

Reads the settings and the file of items. Asks through the engine, ledger and budget of every other
run: it is a run without judges.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE, EXIT_UNDECIDED, InputError
from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import Generated, StopKind, StopReason
from judgeloop.core.protocols import Judge
from judgeloop.core.records import ONE_SYSTEM, Pool
from judgeloop.core.spend import Spend
from judgeloop.engine.generating import Sources
from judgeloop.engine.loop import UNFINISHED
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.formats.columns import check_map, parse_map
from judgeloop.formats.join import join
from judgeloop.formats.rows import FINISH_REASON, read_items
from judgeloop.formats.tables import Source
from judgeloop.methods.estimators.mean_score import MeanScore, Ratings
from judgeloop.methods.selectors.families import members_of
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.precise import Precise
from judgeloop.report.result import SCHEMA_VERSION
from judgeloop.runs.begin import conducted, opened
from judgeloop.runs.inputs import Inputs, check_ledger, live_systems, with_live
from judgeloop.runs.prepared import Parts, Prepared, ids_of
from judgeloop.settings.fields import JUDGES
from judgeloop.settings.run_settings import Answerer, GenerateSettings, RunSettings, within_ceiling
from judgeloop.systems.catalogue import FORMS

# How a command ends that asked for less than it should.
CODES = {StopKind.INTERRUPTED: EXIT_INTERRUPTED, StopKind.SYSTEM_FAILED: EXIT_JUDGE, StopKind.ABSTENTIONS: EXIT_JUDGE}


@dataclass(frozen=True, kw_only=True)
class RunOfOutputs(RunSettings):
    """The settings of a run without judges."""

    judge: Annotated[tuple[str | Judge, ...], JUDGES] = ()
    outputs: Answerer

    @property
    def output_files(self) -> tuple[Source | str, ...]:
        """The system, as typed."""
        return (self.outputs,)

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """What is asked on an item: one output."""
        return [systems]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The outputs that are known, and how many are `missing`.

    `rows` holds them as judgeloop's own rows, in the order of the items. Where the system failed by
    itself, the output is null and `error` says why; there are `failed` such rows. `lacking_p` is what
    the missing ones probably cost, and at most, in picodollars; None without a price. The first is as
    the known ones cost, if they did (`as_known`). `new` says what this command asked for, and `stop` why
    it asked for less than it should; both are None if it did not.
    """

    rows: tuple[dict[str, Any], ...]
    missing: int
    failed: int
    lacking_p: tuple[int, int] | None = None
    as_known: bool = False
    new: Generated | None = None
    spend: Spend | None = None
    stop: StopReason | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0 if every output is known."""
        cut = EXIT_UNDECIDED if self.missing else 0
        return cut if self.stop is None else CODES.get(self.stop.kind, EXIT_UNDECIDED)

    def to_dict(self) -> dict[str, Any]:
        """What was found as JSON values, without the rows; amounts in dollars."""
        lacking = [float(to_usd(one_p)) for one_p in self.lacking_p or ()]
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "generate",
            "outputs": len(self.rows),
            "failed": self.failed,
            "missing": self.missing,
            "usd_of_missing": dict(zip(("expected", "worst"), lacking, strict=True)) if lacking else None,
            "generated": None if self.new is None else asdict(self.new),
            **({} if self.spend is None else self.spend.to_json()),
            "stop_reason": None if self.stop is None else self.stop.kind.value,
        }


def prepare(
    config: GenerateSettings, environment: Mapping[str, str], *, offline: bool = False
) -> Prepared[RunOfOutputs]:
    """Read and check everything; spends nothing.

    Raises:
        InputError: a setting or the file of items is wrong.
    """
    if not isinstance(config.outputs, str):
        raise InputError(
            f"SYSTEM {config.outputs}: expected a system that answers live: {FORMS}; a file has its outputs already"
        )
    shared = {one.name: getattr(config, one.name) for one in fields(config)}
    first, export_only = shared.pop("first"), shared.pop("export_only")
    run = within_ceiling(RunOfOutputs(**shared), environment)
    check_ledger(run)
    systems = live_systems(run, environment, offline=offline or export_only)
    if export_only and not systems[0].lasts:
        raise InputError(
            f"`export_only`: nothing says what is behind {config.outputs}, so its outputs serve their own "
            f"run alone; give `system={config.outputs}.version=TEXT` here and where they are generated"
        )
    mapped = parse_map(config.map)
    items = read_items(config.items, mapped)
    check_map(mapped, [items.columns])
    joined = join([], items.rows, config.items, allow_partial=False)
    # The first items of the order in which a comparison draws, in the order of the file.
    drawn = sorted(_order(joined.pool, run.seed)[:first])
    joined = replace(joined, pool=Pool(tuple(joined.pool.items[at] for at in drawn), (), ()))
    joined = with_live(joined, systems, [config.outputs], [None], items)
    count = len(joined.pool)
    inputs = Inputs(joined, (), Limits(1, count, 1.0), systems=systems)
    parts = Parts(Random((ONE_SYSTEM,)), MeanScore(Strata.single(count)), Precise(run.risk, count))
    return Prepared(run, inputs, parts, ids_of("generate", run, inputs).run)


def _order(pool: Pool, seed: int) -> list[int]:
    """The order in which a comparison about items like these draws, and what it does not draw behind it."""
    members = members_of(pool.families, 1, seed)
    drawn = Random((ONE_SYSTEM,)).init(len(members), np.random.default_rng(seed)).order.tolist()
    return list(dict.fromkeys([*(members[at][0] for at in drawn), *range(len(pool))]))


async def run(
    generation: Prepared[RunOfOutputs],
    *,
    interruption: Interruption | None = None,
    observe: Observe[Ratings] = unobserved,
) -> Gathered:
    """Ask for the outputs that are not known, and return all that are known then."""
    with opened(generation) as begun:
        finished = await conducted(begun.session(), begun, begun.terms(), interruption=interruption, observe=observe)
        found, stop = await _gathered(begun), finished.ending.stop
    return replace(
        found, new=finished.generated[0], spend=finished.spend, stop=stop if stop.kind in UNFINISHED else None
    )


async def known(generation: Prepared[RunOfOutputs]) -> Gathered:
    """What the ledger has, and what the missing outputs would cost; asks nothing."""
    with opened(generation, offline=True) as begun:
        return await _gathered(begun)


async def _gathered(generation: Prepared[RunOfOutputs]) -> Gathered:
    """What the ledger, which is open, has of the outputs that are wanted; asks nothing."""
    pool = generation.pool
    queries = [pool.query(position, ONE_SYSTEM) for position in range(len(pool))]
    sources = Sources(generation.systems, (), generation.terms())
    await sources.look_up(queries, generation.open_ledger)
    found = [(query.item, sources.output_of(query)) for query in queries]
    known = [(item, output) for item, output in found if output is not None]
    asks = [ask for query in queries if sources.output_of(query) is None for ask in sources.asks(query)]
    quotes = list(map(sources.quote, asks))
    likely_p, worst_p = sum(one.likely_cost_p for one in quotes), sum(one.cost_p for one in quotes)
    known_p = sum(output.cost_p for _, output in known)
    if known_p:
        likely_p = min(worst_p, len(asks) * known_p // len(known))
    priced = all(system.priced for system in sources.systems.values())
    rows = []
    for item, output in known:
        about = {name: getattr(item, name) for name in ("id", "prompt", "reference", "group", "family")}
        row = {name: value for name, value in about.items() if value is not None} | {**item.columns}
        rows.append(row | {"output": output.text} | ({"error": output.failed} if output.failed else {}))
        if output.ended is not OutputEnd.WHOLE:
            rows[-1][FINISH_REASON] = str(output.ended)
    return Gathered(
        tuple(rows),
        missing=len(found) - len(known),
        failed=sum(output.text is None for _, output in known),
        lacking_p=(likely_p, worst_p) if priced else None,
        as_known=known_p > 0,
    )
