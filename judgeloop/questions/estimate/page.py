"""What an estimate says: the score, its evidence as facts, and the picture.

Takes an `Estimation`.
"""

from judgeloop.catalogue import selector_row
from judgeloop.core.records import Draws
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.stats.intervals import reach
from judgeloop.methods.stopping.precise import IntervalKind
from judgeloop.questions.estimate.result import Estimation
from judgeloop.report import facts as said
from judgeloop.report.facts import DRAWN_WHOLE
from judgeloop.report.page import Fact, Page, Section, told
from judgeloop.report.pictures import IntervalRow, Picture, Scale
from judgeloop.report.words import count, one_in, stopped, visible

LOOKS: dict[str, str] = {
    IntervalKind.EXACT: "looked at once, at the end",
    IntervalKind.ANYTIME: "however often one looks",
    IntervalKind.APPROXIMATE: "by an approximation",
}


def page(result: Estimation) -> Page:
    """What an estimate says."""
    asks = "How good is this system?"
    return Page(tuple(facts(result)), pictures=pictures(result), asks=asks, outcome=result.outcome)


def so_far(tally: Ratings, systems: tuple[str, ...], most: int) -> str:
    """The mean during a run; the name of the only system is left out."""
    del systems, most
    if not tally.judged:
        return ""
    return f"mean {tally.moments.mean:.3f}{' so far' if tally.drawn else ' of those picked'}"


def facts(result: Estimation) -> list[Fact]:
    """All facts, the score first."""
    items, judged = said.of_items(result), result.judged
    exact = judged == result.items and not result.setup.sampled
    of = f"all {items}, so the score is exact" if exact else f"{judged:,} of {items}"
    at_least, at_most = (f"{one:.3f}" for one in result.interval) if result.interval else ("", "")
    score = "" if result.mean is None else f"{result.mean:.3f}"
    system = {"system": visible(result.setup.systems[0]), "items": f"{result.items:,}"}
    own = [
        Fact("decision", Section.DECISION, "", decision(result), True, system),
        Fact(
            "judged",
            Section.EVIDENCE,
            "judged",
            f"{of}, by {said.judged_by(result)}{said.unjudged(result)}",
            first=True,
            value={"judged": f"{judged:,}"},
        ),
        Fact("score", Section.EVIDENCE, "score", _score(result), result.mean_biased, {"score": score}),
        Fact(
            "interval",
            Section.RISK,
            "interval",
            _interval(result),
            first=True,
            value={"at least": at_least, "at most": at_most},
        ),
        Fact("means", Section.RISK, "means", "" if result.interval is None else _means(result)),
        Fact("paper", Section.DATA, "for a paper", _for_a_paper(result)),
        Fact("proxy", Section.EVIDENCE, "proxy", _proxy(result), first=True),
        Fact("criteria", Section.EVIDENCE, "criteria", _criteria(result)),
        Fact("selector", Section.EVIDENCE, "selector", _selector(result)),
    ]
    return [*told(*own), *said.shared(result)]


def decision(result: Estimation) -> str:
    """The score in a sentence, and whether the required score is reached."""
    required, score = result.options.required_score, _score_known(result)
    words = {
        None: _answer(result),
        "reached": f"{score}; {required} was required",
        "missed": f"{score}; {required} was required",
        "open": f"{_answer(result)}; whether it reaches {required} is open",
    }
    return said.headline(result, stopped(words[result.shown]))


def _answer(result: Estimation) -> str:
    wanted = result.options.half_width
    if result.winner is not None:
        return _score_known(result)
    if wanted is not None and result.reach is not None and not result.answer.broke_off:
        return f"{_score_known(result)}; not yet within {wanted:g}: {said.ended(result)}"
    where = said.on_items(result.about, result.items, families=result.data.units)
    return f"No estimate yet of {visible(result.setup.systems[0])} {where}: {said.ended(result)}"


def _score_known(result: Estimation) -> str:
    """The score, what it is about, and how exact it is."""
    where = said.on_items(result.about, result.items, families=result.data.units)
    name = visible(result.setup.systems[0])
    if result.mean is None:
        return f"nothing is known of {name} {where}"
    stars = (
        f", {1 + 4 * result.mean:.1f} on the scale from 1 to 5," if result.setup.by_hand else ""
    )  # as people gave them
    if result.whole:
        return f"{name} scores {result.mean:.3f} out of 1{stars} {where}"
    if result.interval is None:
        why = "as the items were not drawn at random" if result.mean_biased else "as too few are judged"
        return f"{name} scores about {result.mean:.3f} out of 1 {where} (error unknown, {why})"
    low, high = result.interval
    return f"{name} scores about {result.mean:.3f} out of 1 ({low:.3f} to {high:.3f}){stars} {where}"


def _score(result: Estimation) -> str:
    if result.mean is None or result.sampled_mean is None:
        return "nothing has been judged"
    every = "items like these" if result.setup.sampled else f"all {result.items:,} items"
    text = f"{result.mean:.3f} for {every}; plain mean of the judged items {result.sampled_mean:.3f}"
    if result.mean_biased:
        text += "; they were not drawn at random, so the error is unknown"
    return "; ".join(filter(None, (text, said.abstained(result))))


def _interval(result: Estimation) -> str:
    """The interval, its kind and how often one like it misses; or why there is none."""
    options, setup = result.options, result.setup
    if result.whole:
        return "exact, as all items are judged"
    if result.interval is None:
        if not result.mean_biased:
            return "none: too few items are judged"
        return "none: the items were not drawn at random; `selector=random` draws them"
    often, wanted = one_in(setup.risk_threshold), options.half_width
    low, high = result.interval
    mean = result.mean or 0.0
    far = reach(round(mean, 3), (round(low, 3), round(high, 3)))  # of the ends that the headline shows
    silent = "each skip" if setup.by_hand else "each without a verdict"
    parts = [
        "" if wanted is None else f"reaches at most {far:.3f} from the score (wanted {wanted:g})",
        f"{'at most' if setup.guarantee else 'about'} {often} such intervals miss the score, {LOOKS[options.interval_kind]}",
        f"{silent} counts as 0 for the lower end and as 1 for the upper" if result.counts.abstentions else "",
        "it begins at the score, as earlier items scored higher" if low == mean > 0 else "",
        "it ends at the score, as earlier items scored lower" if high == mean < 1 else "",
        "widened for rare scores that the sample may have missed" if result.cautious else "",
    ]
    return "; ".join(filter(None, parts))


def _for_a_paper(result: Estimation) -> str:
    """Who judged what, the score, and what is promised of its interval, in a sentence; empty without an interval."""
    setup, judged = result.setup, f"{result.judged:,} (drawn at random) of {said.of_items(result)}"
    if result.interval is None or result.whole or result.outcome.broke_off:
        return ""
    level = f"{'' if setup.guarantee else 'about '}{100 * (1 - setup.risk_threshold):g} %"
    looks = LOOKS[result.options.interval_kind]
    return f"Judged by {visible(setup.judge)} on {judged}, {_score_known(result)}: an interval at {level}, {looks}."


def _means(result: Estimation) -> str:
    """What the interval says, and what it does not say."""
    if result.whole:
        return f"{DRAWN_WHOLE} {said.about_the_judge(result)}"
    if result.setup.guarantee:
        return said.promise(result, result.setup.guarantee)
    often = 100 * (1 - result.setup.risk_threshold)
    means = f"About {often:g} % of such intervals contain the mean score of all items, if you look once: measured, not"
    means += " proved."
    return f"{means} {said.about_the_judge(result)}"


def _criteria(result: Estimation) -> str:
    """The mean of the judged items by each criterion; empty without any."""
    means = ", ".join(f"{visible(name)} {mean:.3f}" for name, mean in result.criteria.items())
    return means and f"{means}: means of the judged items, without a claim"


def _proxy(result: Estimation) -> str:
    """The proxy and its mean; empty without one."""
    name = result.options.proxy
    if name is None:
        return ""
    block = result.options.block
    where = f"{count(block, 'item')} a judgment" if block else "every item"
    mean = "" if result.proxy_mean is None else f", mean {result.proxy_mean:.3f}"
    return f"{name} on {where}{mean}; the score is the judge's"


def _selector(result: Estimation) -> str:
    setup, parts = result.setup, [result.setup.selector]
    if (strata := result.options.strata) > 1:
        uniform = selector_row("estimate", setup.selector).draws is Draws.EVEN
        parts.append(f"{strata} {'groups' if uniform else 'strata'}")
    if setup.represent is not None:
        layer = f", layer {result.options.layer}" if result.options.layer else ""
        outputs = selector_row("estimate", setup.selector).vectors == "outputs"
        what = " of the outputs" if outputs else layer or " of the texts (not the model's own hidden states)"
        parts.append(f"on {visible(setup.represent)} vectors{what}")
    return f"{', '.join(parts)}, seed {setup.seed}"


def pictures(result: Estimation) -> tuple[tuple[Picture, ...], ...]:
    """The mean with its interval, and the score that is required."""
    if result.mean is None:
        return ()
    name, required = visible(result.setup.systems[0]), result.options.required_score
    words = f"Mean score of {name}: {result.mean:.3f} out of 1"
    interval = None if result.whole else result.interval
    note = "" if result.whole else "The error of this mean is unknown."
    figures = f"{result.mean:.3f}"
    if interval is not None:
        low, high = interval
        words += f", between {low:.3f} and {high:.3f}"
        misses = f"{'at most' if result.setup.guarantee else 'about'} {result.setup.risk_threshold:g}"
        note = f"The interval misses the mean of all items with a probability of {misses}."
        figures += f" ({low:.3f} to {high:.3f})"
    bound = None if required is None else (required, "required")
    row = IntervalRow(name, figures, result.mean, interval)
    return ((Scale("Mean score", words, 0, 1, (row,), ((0.0, "0"), (1.0, "1")), bound, note),),)
