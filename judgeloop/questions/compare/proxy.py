"""What a proxy beside a dear judge was worth, and the gap that both say together: a part of a result."""

import math
from dataclasses import dataclass

from judgeloop.core.jsonable import Part
from judgeloop.core.outcomes import Tally
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.stats.corrected import FEWEST, corrected
from judgeloop.methods.stopping.rule import asides_of
from judgeloop.report.words import count, per_cent, signed, signed_points, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedGap(Part):
    """The gap by the judges that decide, with the help of the proxy; of the first system less the second.

    - `proxy`: the cheap judge. `block`: how many of its verdicts were asked for a label; 0 for those of all items
    - `labels`: verdicts of the judges that decide. `verdicts`: items that the proxy was asked about; `silent`: those of
      them on which it gave no verdict, which count as ties
    - `gap`: the regression estimate; null without a label
    - `interval`: its bounds, each wrong with at most the run's risk, however often one looks
    - `alone`: the gap by the proxy alone. `off`: that less the gap, and `off_interval` its bounds: above 0 the proxy
      favours the first system
    - `r2`: how much of the labels' variance the proxy explains, 0 to 1; null where it is not defined
    - `saved`: about how many labels more an interval as narrow would take without it, and `saved_interval` between
      which numbers, at 90 %
    - `to_halve`: how many labels in all would halve the bounds
    """

    proxy: str
    block: int
    labels: int
    verdicts: int
    silent: int
    gap: float | None
    interval: tuple[float, float] | None
    alone: float
    off: float | None
    off_interval: tuple[float, float] | None
    r2: float | None
    saved: float | None
    saved_interval: tuple[float, float] | None
    to_halve: int


def corrected_gap(  # noqa: PLR0917 - what the correction is made of
    tally: Tally, verdicts: ProxyVerdicts, proxy: str, risk: float, limit: int, bounds: tuple[float, float] | None
) -> CorrectedGap | None:
    """What both judges say together after a run; None before the first label."""
    both = asides_of(tally)
    if not both:
        return None
    scores, asides = zip(*both, strict=True)
    items = math.inf if verdicts.blocks else float(verdicts.items)
    found = corrected(scores, asides, verdicts.pool, risk, limit, items, known=bounds)
    return CorrectedGap(
        proxy=proxy,
        block=verdicts.blocks.each if verdicts.blocks else 0,
        labels=tally.judged,
        verdicts=found.cheap,
        silent=len(verdicts.silent),
        gap=found.gap,
        interval=found.interval,
        alone=found.alone,
        off=found.off,
        off_interval=found.off_interval,
        r2=found.r2,
        saved=found.saved,
        saved_interval=found.saved_interval,
        to_halve=found.to_halve,
    )


def said_of(found: CorrectedGap, judge: str, systems: tuple[str, str], own: str) -> dict[str, str]:
    """What is told of it, by the name of the fact; gaps are seen from the system `own`."""
    sign, proxy = 1.0 if own == systems[0] else -1.0, visible(found.proxy)
    other = visible(systems[own == systems[0]])
    rated = count(found.verdicts, "item")
    ahead = ", some asked ahead" if found.verdicts > found.block * found.labels else ""
    where = f"{rated}, {found.block:,} for each label{ahead}" if found.block else f"all {rated}"
    worth = "what it is worth is not known yet"
    if found.r2 is None and found.labels >= FEWEST:
        worth = "R² is not defined, as it, or the judge, says the same of all that was labelled; it saved nothing"
    elif found.r2 is not None and found.saved is not None:
        low, high = found.saved_interval or (0.0, math.inf)
        between = f" ({low:,.0f} to {high:,.0f})" if found.saved_interval else ""
        more = f"about {count(round(found.saved), 'label')} more{between}"
        worth = f"explains {per_cent(found.r2)} of what {visible(judge)} said (R²); an interval as narrow would have taken {more} without it"
    silent = f", of which {found.silent:,} without a verdict" if found.silent else ""
    told = {"proxy": f"{proxy} on {where}{silent}: {worth}"}
    if found.gap is None or found.off is None:
        return told
    told["corrected"] = (
        f"{visible(own)} {signed_points(sign * found.gap)} against {other} by {visible(judge)}, as estimated with {proxy}; the decision is by the "
        f"bounds above; {found.to_halve:,} labels in all would halve their width"
    )
    between = ""
    if found.off_interval is not None:
        low, high = sorted(sign * end for end in found.off_interval)
        between = f" ({signed(low)} to {signed(high)})"
    told["alone"] = (
        f"{visible(own)} {signed_points(sign * found.alone)} against {other} by {proxy} alone, which decides nothing, and is "
        f"off by {signed_points(sign * found.off)}{between}"
    )
    return told
