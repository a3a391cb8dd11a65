"""What a system that answers live gave to a run."""

from judgeloop.core.outcomes import Generated
from judgeloop.report.words import count, dollars, seconds, shortened, visible

LONGEST_REASON = 80  # characters of why it gave no output


def given(one: Generated, items: int) -> str:
    """What it gave, of so many `items`, at what price and how fast."""
    models = [model for model in one.models if model != one.system.partition("/")[2]]
    asked = f"{count(one.asked, 'output')} now" if one.asked else "nothing was asked for now"
    asked += f" for {dollars(one.usd)}" if one.asked and one.usd is not None else ""
    if one.usd_of_all:
        asked += f" (all {items:,} would cost about {dollars(one.usd_of_all)}, an estimate)"
    asked += f", {one.output_tokens:,} output tokens" if one.output_tokens else ""
    if one.seconds_median is not None and one.seconds_p95 is not None:
        asked += f", {seconds(one.seconds_median)} in the median and {seconds(one.seconds_p95)} at 95 %"
    reasons = ", ".join(f'"{shortened(reason, LONGEST_REASON)}" ({number:,})' for reason, number in one.why)
    counted = (
        (one.failed, f"without an output{_other_end(one)}{f': {reasons}' if reasons else ''}"),
        (one.thoughts, "with thoughts in tags, which were judged, too"),
        (one.masked, "in which a key was masked"),
        (one.too_long, "too long to be judged"),
    )
    parts = [
        f"{visible(one.system)}: {asked}",
        f"{one.remembered:,} from the ledger, the oldest of {one.oldest[:10]}" if one.remembered else "",
        f"{one.left_out:,} from the ledger left out, as another model answers now" if one.left_out else "",
        f"{one.unjudged:,} paid and not judged" if one.unjudged else "",
        *(f"{number:,} {what}" for number, what in counted if number),
        f"its server names the model {', then '.join(map(visible, models))}" if models else "",
    ]
    return "; ".join(filter(None, parts))


def _other_end(one: Generated) -> str:
    """What would change if items without an output were treated in the other way."""
    if one.lost:
        wins = count(one.lost, "win")
        return f" ({one.lost:,} lost for that; without these items, its rivals have {wins} fewer)"
    wins = count(one.spared, "win")
    return f" (left out; were they lost, its rivals would have {wins} more)" if one.spared else ""
