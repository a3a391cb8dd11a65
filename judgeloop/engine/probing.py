"""Whether the model behind a system is the one that gave its remembered outputs.

Before outputs of earlier runs count, one fresh output shows which model answers now: that of the first
item that lacks one. If it is another model, the earlier outputs are left out. A run that goes on has
outputs of its own, which show it. Where no item lacks an output, nothing is asked, and all of them count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from judgeloop.core.pool import Pool
from judgeloop.core.records import NOBODY, Output
from judgeloop.engine.batch import answers
from judgeloop.engine.oracle import Oracle


async def check_models(oracle: Oracle, pool: Pool, order: Sequence[int]) -> None:
    """Leave out what other models gave; items are asked about in this `order` of positions."""
    sources, run = oracle.sources, oracle.state.terms.run_id
    lasting = [number for number in pool.live if sources.systems[pool.systems[number]].lasts]
    if not lasting or oracle.state.terms.offline:
        return
    began = oracle.ledger.begin(run)
    for number in lasting:
        queries = [replace(pool.query(place, (number,)), alone=NOBODY) for place in order]
        await sources.look_up(queries, oracle.ledger)
        known = {place: sources.output_of(query) for place, query in enumerate(queries)}
        old = [output for output in known.values() if output is not None and output.at < began]
        own = [output for output in known.values() if output is not None and output.at >= began]
        lacking = [query for place, query in enumerate(queries) if known[place] is None][:1]
        if old and not own and lacking:
            await answers(oracle, lacking, counted=False)
            fresh = sources.output_of(lacking[0])
            own = [] if fresh is None else [fresh]
        if _models(old) - _models(own[:1]) and _models(own):
            sources.leave_out(pool.systems[number], began)


def _models(outputs: Iterable[Output]) -> set[str]:
    return {output.model for output in outputs} - {""}
