"""What was asked before of the same outputs, in words."""

from judgeloop.core.records import PAIR
from judgeloop.report.result import ID, RunResult
from judgeloop.report.words import count, times, visible


def tested_before(result: RunResult) -> str:
    """How often these outputs met before, and their baseline else; how many wrong answers all of it may bring."""
    before, (baseline, others) = result.asked_before, result.others_before
    left, parts = len(before.risks) - before.answered, list[str]()
    if before.times:
        these = "these two" if len(result.setup.systems) == PAIR else "these outputs"
        by = "by people " if result.by_hand else "by this judge " if len(result.setup.judges) == 1 else ""
        how = "" if not left else ", without an answer" if left == before.times else f", {left:,} without an answer"
        named = "".join(f" (run {run[:ID]} named {visible(name)})" for run, name in before.named.items())
        parts.append(f"{these} were compared {by}{times(before.times)} before on these items{how}{named}")
    if others:
        by = "by this judge " if len(result.setup.judges) == 1 and not result.by_hand else ""
        parts.append(f"{visible(baseline)} was in {count(others, 'other test')} {by}".rstrip())
    if not parts:
        return ""
    wrong = result.wrong_in_all or 0.0
    at_most = f"with this test, the chance of any wrong decision is at most {wrong:.4g}"
    if wrong >= 1:  # a sum of chances is no chance
        at_most = f"with this test, at most {wrong:.4g} wrong decision{'s are' if wrong > 1 else ' is'} expected"
    return f"{', and '.join(parts)}; {at_most}"
