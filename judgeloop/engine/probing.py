"""Which remembered outputs count, before a run asks for others.

Of systems whose outputs last, one fresh output shows which model answers now, before outputs of earlier
runs count: that of the first item that lacks one. If it is another model, the earlier outputs are left
out. A run that goes on has outputs of its own, which show it. Where no item lacks an output, nothing is
asked, and all of them count.

Other outputs are those of a run that goes on. If the system failed too often for that, it may have been
fixed, and is asked again about the items on which it failed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from judgeloop.core.pool import Pool
from judgeloop.core.records import NOBODY, Output, Query
from judgeloop.engine.batch import answers
from judgeloop.engine.oracle import Oracle


async def check_outputs(oracle: Oracle, pool: Pool, order: Sequence[int]) -> None:
    """Look up all outputs, and leave out those that do not count.

    Items are asked about in this `order` of positions.
    """
    sources = oracle.sources
    for number in pool.live:
        name = pool.systems[number]
        queries = [replace(pool.query(place, (number,)), alone=NOBODY) for place in order]
        await sources.look_up(queries, oracle.ledger)
        if sources.systems[name].lasts and not oracle.state.terms.offline:
            await _check_model(oracle, name, queries)
    sources.forget_failures()


async def _check_model(oracle: Oracle, name: str, queries: Sequence[Query]) -> None:
    """Leave out what another model gave than the one that answers now."""
    sources, began = oracle.sources, oracle.ledger.begin(oracle.state.terms.run_id)
    known = {place: sources.output_of(query) for place, query in enumerate(queries)}
    old = [output for output in known.values() if output is not None and output.at < began]
    own = [output for output in known.values() if output is not None and output.at >= began]
    lacking = [query for place, query in enumerate(queries) if known[place] is None][:1]
    if old and not own and lacking:
        await answers(oracle, lacking, counted=False)
        fresh = sources.output_of(lacking[0])
        own = [] if fresh is None else [fresh]
    if _models(old) - _models(own[:1]) and _models(own):
        sources.leave_out(name, began)


def _models(outputs: Iterable[Output]) -> set[str]:
    return {output.model for output in outputs} - {""}
