"""What the bounds of a run that is done say of another margin: `runs show RUN --not-worse MARGIN`."""

from dataclasses import replace

from judgeloop.core.errors import InputError
from judgeloop.core.outcomes import Outcome
from judgeloop.core.records import Population
from judgeloop.methods.stopping.rule import points
from judgeloop.questions.compare.page import worse_than
from judgeloop.questions.compare.result import Comparison
from judgeloop.report import facts as said
from judgeloop.report.page import BADGES, Fact, Page, Section, decided
from judgeloop.report.words import between, signed_points, visible


def reading(
    result: Comparison, margin: float, risk: float | None = None, about: Population | str | None = None
) -> Page:
    """What the bounds of a run say of "not worse by `margin`", whatever the run was asked, with the run's own doubts.

    Raises:
        InputError: as `Comparison.not_worse_by`, or the bounds have a larger `risk`, or are not `about` this.
    """
    outcome, run, own = result.not_worse_by(margin), result.setup.run, result.setup.risk_threshold
    if risk is not None and risk < own:
        raise InputError(
            f"`risk={risk:g}`: each bound of the run {run} is wrong with a chance of at most {own:g}; a smaller risk takes "
            "a run of its own, which is a second test"
        )
    if about not in {None, result.about}:
        raise InputError(
            f"`about={about}`: the bounds of the run {run} are about {result.about}; another population takes a run of "
            "its own"
        )
    if outcome is Outcome.BROKEN:
        why = said.unsound(result, result.options.max_flips)
        return Page((decided(f"BROKEN: nothing is read off the run {run}: {why}."),), outcome=outcome)
    (gap, bounds, _), (first, second) = result.of(result.setup.systems[1]), map(visible, result.setup.systems)
    worse, by_margin = (bounds is not None and bounds[1] <= most and (gap or 0.0) < 0 for most in (0.0, -margin))
    by, where = f"by {points(margin)} or more", said.on_items(result.about, result.items, families=result.data.units)
    answer = {
        Outcome.PASSED: f"{second} is not worse than {first} {by} {where}{f'. It is worse, by less than {points(margin)}' if worse else ''}.",
        Outcome.FAILED: worse_than(result, where, margin, by_margin=by_margin),
    }.get(outcome, f"it is not shown whether {second} is worse than {first} {by}, {where}.")
    word, out = BADGES[outcome].word, -margin if by_margin or outcome is Outcome.PASSED else None
    better = bounds is not None and bounds[0] >= 0 and (gap or 0.0) > 0
    out = 0.0 if better or (worse and not by_margin) else out
    if outcome is Outcome.PASSED and result.setup.fail_on_warning and result.warnings:
        outcome, word = Outcome.FAILED, f"{BADGES[Outcome.FAILED].word}: warnings fail here. {said.OTHERWISE}"
    shown = between(bounds or (-1.0, 1.0), out=out, margin=margin)
    found = (
        Fact(
            "gap",
            Section.EVIDENCE,
            "gap",
            f"{second} {signed_points(gap or 0.0)} against {first} ({shown})",
            first=True,
        ),
        Fact(
            "risk",
            Section.RISK,
            "risk",
            f"{own:g} for each bound; a margin that is chosen afterwards adds none",
            first=True,
        ),
    )
    kept = (one for one in said.shared(result) if one.section is Section.WARNING or (one.first and one.key == "asked"))
    doubts = [replace(one, first=True) for one in kept]
    return Page((decided(f"{word}: {answer}"), *found, *doubts), outcome=outcome)
