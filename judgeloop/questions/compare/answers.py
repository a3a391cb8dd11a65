"""Every answer that the bounds of a gap give, beside the one that was asked: all are read off one interval."""

from judgeloop.methods.stopping.rule import points
from judgeloop.questions.compare.result import BETS, Comparison
from judgeloop.report.words import ABOVE, BELOW, ends, visible


def all_answers(result: Comparison) -> str:
    """How far ahead or behind the system may be that pages see first, what that shows, and what it does not.

    Empty where the bounds answer their own question alone, or nothing is left to chance. Whichever answer is chosen
    once the bounds are known, it is wrong with at most the risk of a bound (`docs/explanation/risk.md`).
    """
    own, other = result.seen
    gap, bounds, out = result.of(own)
    unsaid = result.whole or result.alike or result.outcome.broke_off or result.setup.rule != BETS
    if unsaid or gap is None or bounds is None:
        return ""
    (low, high), options = bounds, result.options
    better, worse = low >= 0 < gap, high <= 0 > gap
    margins = sorted({one for one in (options.gap_asked, options.near_tie) if one})
    read = {"better": better, "worse": worse, **{f"not worse by {points(one)} or more": low >= -one for one in margins}}
    if near := options.near_tie:
        read[f"a gap of at most {points(near)}"] = -near <= low and high <= near
    shown = [one for one, holds in read.items() if holds]
    beyond = {"worse" if better else "", "better" if worse else ""}  # which nobody asks then
    left = [one for one, holds in read.items() if not holds and one not in beyond]
    so = f" Shown: {', '.join(shown)}." if shown else ""
    not_so = f" Not shown: {', '.join(left)}." if left else ""
    return f"{visible(own)} is {_far(bounds, out, margins)} {visible(other)}.{so}{not_so}"


def _far(bounds: tuple[float, float], out: float | None, margins: list[float]) -> str:
    """Between what the gap lies, as how far a system is ahead of another one or behind it."""
    low, high = ends(bounds, out=out, margin=margins[0] if margins else None)
    near, far = (end.removeprefix(ABOVE).removeprefix(BELOW).lstrip("+-") for end in (low, high))
    beyond = "more than" if low.startswith(ABOVE) or high.startswith(BELOW) else "at least"
    if bounds[0] >= 0:
        return f"{beyond} {near} and at most {far} points ahead of"
    if bounds[1] <= 0:
        return f"{beyond} {far} and at most {near} points behind"
    return f"{'less than' if low.startswith(ABOVE) else 'at most'} {near} points behind and at most {far} ahead of"
