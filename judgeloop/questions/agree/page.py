"""What `agree` says: how well the judge agrees with people, in a sentence, then the figures, and where it errs.

Takes an `Agreed`.
"""

from judgeloop.core.outcomes import Outcome
from judgeloop.methods.estimators.agreement import ROUNDING
from judgeloop.questions.agree.result import MARGIN, VOTES, Agreed, GateRow, Slice, said_again
from judgeloop.report import facts as said
from judgeloop.report.lost import people_differ
from judgeloop.report.page import Fact, Page, PageTable, Section, told
from judgeloop.report.pictures import IntervalRow, Picture, Scale
from judgeloop.report.words import between, count, ends, in_points, per_cent, places, signed, signed_points, visible

LEAST_SHOWN = 0.005  # of a width
FEW = 10  # items of a part of which a share says little
FEW_LABELS, SOME_USE = 20, 0.1  # labels, and an R², of which it is open whether the judge helps
WITHIN = "within a step"  # how ratings are the same
KEPT = "each bound is kept as the labels came in, one by one"
SURE_OF_KAPPA = 0.2  # a reach of its interval that says something


def page(result: Agreed) -> Page:
    """What `agree` says."""
    outcome = None if result.outcome is Outcome.DECIDED else result.outcome
    asks, caption = "May this judge be trusted?", _for_a_paper(result)[0]
    return Page(tuple(facts(result)), tables(result), pictures(result), asks=asks, outcome=outcome, caption=caption)


def facts(result: Agreed) -> list[Fact]:
    """All facts, the sentence first."""
    values = {"judge": visible(result.setup.judge), "equal": _share(result.equal), "labels": f"{result.judged:,}"}
    own = [
        Fact("decision", Section.DECISION, "", decision(result), True, values),
        Fact("equal", Section.EVIDENCE, WITHIN if result.options.step else "same verdict", _equal(result), True),
        Fact("kappa", Section.EVIDENCE, "kappa", _kappa(result), first=True),
        Fact("off", Section.EVIDENCE, "gap off", _off(result), first=not result.gates),
        Fact("corrected", Section.EVIDENCE, "by people", _by_people(result), first=True),
        Fact("gate", Section.EVIDENCE, "as a gate", _as_a_gate(result) if result.anew is not None else "", True),
        Fact("widened", Section.EVIDENCE, "judge's help", _widened(result), first=True),
        Fact("agreement", Section.EVIDENCE, "agreement", _agreement(result)),
        Fact("kappas", Section.EVIDENCE, "other kappas", _kappas(result)),
        Fact("people", Section.EVIDENCE, "people", _people(result)),
        Fact("gaps", Section.EVIDENCE, "both gaps", _gaps(result)),
        Fact("longer", Section.EVIDENCE, "length", _longer(result)),
        Fact("family", Section.EVIDENCE, "own family", _family(result)),
        Fact("halve", Section.NEXT, "more labels", _halve(result), first=True),
        Fact("means", Section.RISK, "means", _means(result) if result.equal is not None else ""),
        Fact("again", Section.JUDGE, "asked anew", "" if result.anew is None else said_again(result.anew)),
        Fact("paper", Section.DATA, "for a paper", " ".join(_for_a_paper(result))),
        Fact("labels", Section.DATA, "labels", "; ".join(result.options.read)),
        Fact("others", Section.DATA, "left out", "; ".join(result.options.left_out), first=True),
        Fact("unlabelled", Section.DATA, "no label", _unlabelled(result)),
    ]
    gone = {"agreement", "holds", "fails"}  # the decision says how each gate stands
    return [*told(*own), *[one for one in said.shared(result) if one.key not in gone]]


def decision(result: Agreed) -> str:
    """How often the judge says what people say, their ceiling, to whom it is kinder, and what that is good for."""
    # Of a judge that was asked anew the change passes or fails: what it is good for has a row of its own.
    found = " ".join(_sentences(result, "you") + [_as_a_gate(result)] * (result.anew is None)).rstrip()
    return found if result.outcome is Outcome.DECIDED else said.headline(result, found)  # a figure is no decision


def _for_a_paper(result: Agreed) -> list[str]:
    # Who it was: a paper has other readers.
    return list(filter(None, [*_sentences(result, "one person"), _as_a_gate(result)]))


def _sentences(result: Agreed, you: str) -> list[str]:
    """Those of the decision; `you` is who gave the labels, if one person did."""
    several = len(result.options.people) > 1 or (result.by_people is not None and any(result.by_people.each))
    judge, things = visible(result.setup.judge.rpartition("/")[2]), "outputs" if result.rates else "pairs"
    whom = "people" if several else you
    if result.equal is None:
        ended = said.ended(result)
        return [f"nothing is known yet of how {judge} agrees with {whom}: {ended}."]
    within, who = " within a step" if result.options.step else "", "you" if whom == "you" else "they"
    sentences = []
    if (anew := result.anew) is not None:
        less = "agrees" if anew.worse else "is not shown to agree"
        sentences.append(
            f"{judge} {less} less often than before: of {anew.asked:,} asked anew, {anew.changed:,} changed."
        )
        judge = "It"
    sentences.append(
        f"{judge} agrees with {whom}{within} on {per_cent(result.equal)} of {_where(result, things, who)}."
    )
    sentences += [_gate(one, result) for one in result.gates]
    if not (result.rates or result.prefers):
        sentences.append(_prefers_none(result))
    if result.people_equal is not None and all(one.name != "person" for one in result.gates):
        same = round(result.people_equal * result.people_pairs)
        sentences.append(f"Two annotators agree on {same:,} of {result.people_pairs:,}.")
    if result.favours is not None:
        they = f"{whom} are" if several or whom == "you" else "that person is"
        sentences.append(f"It is kinder to {visible(result.favours)} than {they}, by {_kinder_by(result)}.")
    if result.favours_length is not None:
        sentences.append(f"It likes the {result.favours_length} answer more than people do.")
    return sentences


def _as_a_gate(result: Agreed) -> str:
    """Whether the judge is good enough for a gate between the two systems; empty where its own gates say more."""
    if result.gates or result.rates or result.off_interval is None:
        return ""
    shown = max(map(abs, result.off_interval)) <= MARGIN
    stands = "is" if shown else "is not" if result.off_by_more else "is not shown to be"
    off = "is off by more" if result.off_by_more else "is within that" if shown else "may be off by more"
    between = " and ".join(map(visible, result.setup.systems))
    return f"It {stands} good enough for a gate at a margin of {in_points(MARGIN)} between {between}: its gap {off}."


def _kinder_by(result: Agreed) -> str:
    """Between what the judge's gap is off, without a sign."""
    low, high = sorted(map(abs, result.off_interval or (0.0, 0.0)))
    least, most = (one.lstrip("+") for one in ends((low, high), margin=MARGIN))
    return f"{least} to {most} points" if low < high else in_points(high)


def _prefers_none(result: Agreed) -> str:
    """What a judge does that prefers neither output of any pair."""
    counts = result.counts
    if not counts.flips or counts.flips < result.judged:
        return "It prefers neither answer of any pair."
    place = {counts.leanings.first: "first", counts.leanings.second: "second"}.get(counts.flips)
    takes = f": it takes the answer shown {place}" if place else ""
    return f"It contradicts itself on all {result.judged:,}{takes}."


def _where(result: Agreed, things: str, who: str) -> str:
    """What the share is of, `who` labelled it, and its interval with its level."""
    asked, every = _used(result)
    cut = result.options.chosen and asked < every
    the = "the " if result.options.chosen else ""  # of whoever is asked: they may have labelled more, before
    the = "the first " if said.answered_beyond(result) else the
    labelled = f"{the}{every if cut else result.judged:,} {things} {who} labelled"
    if cut:
        labelled = f"{result.judged:,} of {labelled}"
        if result.data.families is not None:
            labelled = f"{result.judged:,} {things}, one of each {result.data.unit}, of {every:,} {who} labelled"
    low, high = result.equal_interval or (0.0, 1.0)
    if result.whole or low == high or _gate_knows_more(result):
        return labelled
    like = _like(result, things)
    level, each_end = _level(result), ""
    if any(one.name == "agreement" for one in result.gates):
        level, each_end = per_cent(max(0.0, 1 - 2 * result.setup.risk_threshold)), f", each end at {level}"
    stays = _stays(result.equal, result.equal_interval, 0.0)
    return f"{labelled} ({level} interval for {like}: {100 * low:.0f} to {per_cent(high)}{each_end}{stays})"


def _like(result: Agreed, things: str) -> str:
    """What the labelled items stand for."""
    return f"{things} like them" if result.setup.sampled else f"all {result.items:,}"


def _gate_knows_more(result: Agreed) -> bool:
    """Whether the gate shows what the interval leaves open: where people are asked, it has a table of its own."""
    low, high = result.equal_interval or (0.0, 1.0)
    return any(one.name == "agreement" and _knows_more(one, low, high) for one in result.gates)


def _level(result: Agreed) -> str:
    """How often intervals hold, at least."""
    return per_cent(1 - result.setup.risk_threshold)


def _knows_more(gate: GateRow, low: float, high: float) -> bool:
    """Whether a gate shows what an interval leaves open."""
    return (gate.state == "passed" and low < gate.worst) or (gate.state == "failed" and high > gate.best)


def _gate(gate: GateRow, result: Agreed) -> str:
    """How a gate stands, as a sentence: what is shown, and at which risk."""
    risk = result.setup.risk_threshold
    if gate.name == "agreement":
        zone = f" and a zone of {in_points(gate.best - gate.worst)}"
        # Each end of the interval is as sure as the gate. Only what failed is said to be below something, and a share
        # in the zone only by the interval: so whatever the share is, the sentence is wrong with at most the risk.
        _, high = result.equal_interval or (0.0, 1.0)
        of = f" of {_like(result, 'outputs' if result.rates else 'pairs')}" if _gate_knows_more(result) else ""
        above = per_cent(gate.worst, 0)
        below = f"{per_cent(gate.best, 0)}{of} ({above.removesuffix(' %')}{zone}), and not shown to be above {above}"
        if high < gate.worst or gate.best == gate.worst:
            below = f"the required {above}{of}"
        said_of = {
            "passed": f"At a risk of {risk:g} that is above {above}{of}.",
            "failed": f"That fails: at a risk of {risk:g} it is below {below}.",
            "open": f"Whether that is above {above} is open.",
        }
    elif gate.name == "kappa":
        said_of = {
            "passed": f"At a risk of {risk:g} kappa is above {gate.worst:g}.",
            "failed": f"At a risk of {risk:g} kappa is below {gate.best:g}.",
            "open": f"Whether kappa is above {gate.worst:g} is open.",
        }
    else:
        said_of = _beside_a_person(gate, result)
    return said_of[gate.state]


def _beside_a_person(gate: GateRow, result: Agreed) -> dict[str, str]:
    """How the gate beside a second person may stand, with what it compares."""
    risk, less, figures, maybe = result.setup.risk_threshold, in_points(gate.worst), "", ""
    if result.with_a_person is not None:
        own, theirs = result.with_a_person
        how = "By the distance of the ratings" if result.rates else "Where a tie against a side counts half"
        figures = (
            f"{how}, it agrees with a person to {per_cent(own)}, and two people with each other to {per_cent(theirs)}. "
        )
        maybe = f", though maybe by less than {less}" if own - theirs > gate.worst else ""
    return {
        "passed": f"{figures}At a risk of {risk:g} it is not worse than a person by {less}.",
        "failed": f"{figures}At a risk of {risk:g} it is worse than a person{maybe}.",
        "open": f"{figures}Whether it is worse than a person by {less} is open.",
    }


def _equal(result: Agreed) -> str:
    if result.equal is None or result.equal_interval is None:
        return ""
    same = round(result.equal * result.judged)
    low, high = result.equal_interval
    interval = _exact(result) if low == high else f"{100 * low:.0f} to {per_cent(high)}"
    interval += _stays(result.equal, result.equal_interval, 0.0)
    interval += ", a coarser bound than that of the gate" if _gate_knows_more(result) else ""
    silent = result.counts.abstentions
    lack = f"; {silent:,} more lack a verdict, and count against every claim" if silent else ""
    first = "the first " if said.answered_beyond(result) else ""
    of = f"{first}{count(result.judged, 'output' if result.rates else 'pair')}"
    return f"{same:,} of {of} ({interval}){lack}{said.more_answered(result)}"


def _agreement(result: Agreed) -> str:
    if result.mean_agreement is None:
        return ""
    what = "ratings that differ count by their distance" if result.rates else "a tie against a side is worth half"
    ranks = "" if result.rank_correlation is None else f"; rank correlation {result.rank_correlation:.2f}"
    interval = result.mean_agreement_interval
    between = ""
    if interval is not None and interval[0] < interval[1]:
        stays = _stays(result.mean_agreement, interval, 0.0)
        between = f" ({100 * interval[0]:.0f} to {per_cent(interval[1])}, at every look{stays})"
    return f"{per_cent(result.mean_agreement)}{between}, where {what}{ranks}"


def _stays(seen: float | None, interval: tuple[float, float] | None, least: float = -1.0) -> str:
    """That an interval was widened to what is seen: earlier labels had narrowed it beyond."""
    low, high = interval or (0.0, 0.0)
    return f"; {KEPT}" if low < high and seen in {low, high} - {least, 1.0} else ""


def _kappa(result: Agreed) -> str:
    if result.kappa is None:
        return "not defined, as one verdict is all there is" if result.equal is not None else ""
    low, high = result.kappa_interval or (result.kappa, result.kappa)
    found = f"{result.kappa:.2f}, linearly weighted"
    # A gate, of one side at its own risk, may know more than the interval: then it alone says how sure kappa is.
    gate = next((one for one in result.gates if one.name == "kappa"), None)
    if gate is not None and _knows_more(gate, low, high):
        return found
    if low < high:
        found += f" ({low:.2f} to {high:.2f}{_stays(result.kappa, result.kappa_interval)})"
    reach = max(high - result.kappa, result.kappa - low)
    if reach > SURE_OF_KAPPA and (gate is None or gate.state == "open"):
        found += f": {count(result.judged, 'label')} say{'s' * (result.judged == 1)} little"
        if silent := result.counts.abstentions:
            again = ", and the same command asks them again" if result.by_hand else ""
            found += f"; {silent:,} without a verdict widen{'s' * (silent == 1)} this{again}"
    return found


def _kappas(result: Agreed) -> str:
    others = [] if result.nominal_kappa is None else [f"Cohen's {result.nominal_kappa:.2f}"]
    others += [] if result.ac1 is None else [f"AC1 {result.ac1:.2f}"]
    return f"{', '.join(others)} (figures without an interval)" if others else ""


def _people(result: Agreed) -> str:
    if result.people_equal is None:
        return "each item is labelled by one person, so nobody knows how well people agree: the most that a judge can reach"
    kappa = "" if result.people_kappa is None else f", kappa {result.people_kappa:.2f}"
    pairs = count(result.people_pairs, "pair")
    names = ", ".join(map(visible, result.options.people))
    lost = [row for row in result.verdicts if result.lost(row)]
    also = ""
    if lost:
        also = f"; of the {count(len(lost), 'item')} on which the judge says otherwise, they differ on {sum(map(people_differ, lost)):,}"
    same = "labels within a step" if result.options.step else "the same label"
    return f"{names}: {same} in {per_cent(result.people_equal)} of {pairs} of labels of one item{kappa}; no judge can be expected to do better{also}"


def _off(result: Agreed) -> str:
    """By how much the judge's gap differs from that of people."""
    if result.off is None or result.off_interval is None:
        return ""
    low, high = result.off_interval
    if result.rates:
        above = "above" if result.off >= 0 else "below"
        shown = _exact(result) if result.whole else f"{low:+.3f} to {high:+.3f}"
        return f"the judge's mean score is {abs(result.off):.3f} {above} people's ({shown})"
    name, _, sign = _seen(result)
    least, most = sorted((sign * low, sign * high))
    shown = _between_gaps(least, most, result, MARGIN)
    decimals, own = _places(result), ""
    if result.by_judge is not None:
        own = f"{name} {signed_points(0.0 + sign * result.by_judge, least=decimals)} by the judge, "
    off = signed_points(sign * result.off, MARGIN, decimals)
    return f"{own}off by {off} ({shown}{_stays(result.off, result.off_interval)})"


def _by_people(result: Agreed) -> str:
    """The gap by people."""
    found = result.corrected
    if found is None or found.gap is None or found.interval is None:
        return ""
    name, other, sign = _seen(result)
    low, high = sorted(0.0 + sign * end for end in found.interval)
    better, gap = "is better: " if low > 0 else "", sign * found.gap
    help_ = " using the judge's verdicts" if found.slope and found.cheap > found.labels else ""
    stays = _stays(found.gap, found.interval)
    return f"{name} {better}{signed_points(gap, least=_places(result))} against {other}{help_} ({_between_gaps(low, high, result)}{stays})"


def _places(result: Agreed) -> int:
    """The decimal places of the two gaps, and of how much the judge's is off: one of points more unless they add up."""
    people = result.corrected.gap if result.corrected else None
    if result.by_judge is None or result.off is None or people is None:
        return 2
    judge, off = result.by_judge, result.off
    least = max(places(judge, 0.0), places(people, 0.0), places(off, MARGIN))
    adds_up = abs(round(judge, least) - round(people, least) - round(off, least)) < ROUNDING
    return least if adds_up else max(least, 3)


def _seen(result: Agreed) -> tuple[str, str, float]:
    """From which system gaps are seen, the other, and the sign of such a gap.

    It is the one that is better by people, if that is shown, else the second.
    """
    first, second = map(visible, result.setup.systems)
    found = result.corrected
    of_first = found is not None and found.interval is not None and found.interval[0] > 0
    return (first, second, 1.0) if of_first else (second, first, -1.0)


def _widened(result: Agreed) -> str:
    """That the judge's verdicts on the other items do not make the gap by people known better, and what to do."""
    found = result.corrected
    if found is None or found.widened is None or said.answered_beyond(result):
        return ""  # what more was answered is no choice of the judge's
    more = found.cheap - found.labels
    if result.setup.sampled and more < found.labels:
        return (
            f"only {count(more, 'item')} without a label, and it takes {found.labels:,} to narrow the bounds; with "
            "`about=items` any number helps"
        )
    if found.widened < LEAST_SHOWN:
        return ""
    if found.labels < FEW_LABELS or (found.r2 or 0.0) >= SOME_USE:
        return "too few labels yet to tell"
    r2 = "not defined" if found.r2 is None else f"{found.r2:.2f}"
    mend = "leave out `judge_all`" if result.options.judge_all else "take another judge"
    return (
        f"none: its verdicts make the bounds by people {per_cent(found.widened)} wider (R² {r2}); for the next labels {mend} "
        "(for these the choice would add to the risk)"
    )


def _gaps(result: Agreed) -> str:
    """What the gaps are, what they are of, and how sure their bounds are."""
    if result.off is None or result.off_interval is None:
        return ""
    bounds = f"each bound at {_level(result)}"
    if result.rates:
        return bounds
    parts = ["share won less share lost", bounds, "of other systems than these they say nothing"]
    if (found := result.corrected) is not None:
        more = found.cheap - result.judged - result.counts.abstentions
        beside = f" and the judge's verdicts on {count(more, 'more item')}" if more > 0 else ""
        parts.append(f"that by people is from {count(found.labels, 'label')}{beside}")
    return "; ".join(parts)


def _longer(result: Agreed) -> str:
    if result.longer is None or result.longer_interval is None:
        return ""
    low, high = result.longer_interval
    return (
        f"the longer answer's gap by the judge less that by people: {signed_points(result.longer)} "
        f"({_between_gaps(low, high, result)}{_stays(result.longer, result.longer_interval)})"
    )


def _family(result: Agreed) -> str:
    if not result.by_family:
        return ""
    own = result.by_family[0]
    return (
        f"{visible(own.name)} bears the name of the judge's own family of models; its gap by the judge "
        f"less that by people: {signed_points(own.gap_off or 0.0)}"
    )


def _used(result: Agreed) -> tuple[int, int]:
    """How many labels were put beside the judge, of how many; money or time may have ended the run."""
    every = result.items - (result.options.unlabelled if result.options.judge_all else 0)
    return result.judged + result.counts.abstentions, every


def _halve(result: Agreed) -> str:
    more, (asked, every) = result.labels_to_halve, _used(result)
    states = {one.state for one in result.gates}
    settled = "failed" in states or states == {"passed"} or (not states and result.off_by_more)
    families = result.data.families or every  # of several with the same prompt one is drawn
    if more is None or settled or (result.options.chosen and asked < min(every, families)):  # the others come first
        return ""
    gap = result.corrected
    too = gap and gap.interval and gap.to_halve - gap.labels == more
    what = "verdicts within a step" if result.options.step else "the same verdict"
    what = f"intervals of {what} and of the gap by people" if too else f"interval of {what}"
    left = result.options.unlabelled
    if not result.options.chosen:  # of several with the same prompt one is drawn
        left = max(0, (result.data.families or result.items) - result.judged - result.counts.abstentions)
    lack = f"; these outputs have only {left:,} more to label" if 0 < left < more else ""
    if not left:
        lack = "; of these outputs none is left"
    return f"about {more:,} would halve the {what}{lack}"


def _means(result: Agreed) -> str:
    share = "exact, for one look" if result.looked_at_once else "like the others"
    gated = any(one.name == "agreement" for one in result.gates)
    ends = ", and of the share each end, as its gate is" if gated else ""
    parts = [
        f"intervals are at {_level(result)}{ends}",
        f"that of the share is {share}, the others hold at every look, and {KEPT}",
    ]
    if result.options.chosen and not result.whole:
        parts.append(
            "the labelled items are taken for a random sample: if somebody picked them, or what was said ended the "
            "labelling, the share is of those alone"
        )
    if len(result.gates) > 1:
        total = per_cent(min(1.0, len(result.gates) * result.setup.risk_threshold))
        parts.append(f"of {len(result.gates)} gates all must pass, and a wrong FAIL has a chance of at most {total}")
    elif result.gates:
        parts.append(f"a gate is wrong with a chance of at most {per_cent(result.setup.risk_threshold)}")
    return "; ".join(parts)


def _unlabelled(result: Agreed) -> str:
    found = result.options.unlabelled
    use = "judged, too" if result.options.judge_all else "which count for nothing here"
    return f"{count(found, 'item')} of the outputs, {use}" if found else ""


def tables(result: Agreed) -> tuple[PageTable, ...]:
    """Where the judge errs."""
    found = []
    if result.table:
        counts = {(judge, people): items for judge, people, items in result.table}
        names = list(VOTES.values())
        rows = tuple((f"judge: {one}", *(f"{counts[one, other]:,}" for other in names)) for one in names)
        first, second = map(visible, result.setup.systems)
        found.append(
            PageTable(
                "Where it errs", ("", *(f"people: {one}" for one in names)), rows, f"A is {first}, B is {second}."
            )
        )
    for heading, slices in (
        ("By group", result.by_group),
        ("By length of the answers", result.by_length),
        ("By order of presentation", result.by_position),
    ):
        if len(slices) > 1:
            found.append(_sliced(heading, slices, result))
    return tuple(found)


def _sliced(heading: str, slices: tuple[Slice, ...], result: Agreed) -> PageTable:
    column, whose, sign = "score off", "", 1.0
    if not result.rates:
        own, _, sign = _seen(result)
        column, whose = "points off", f" Points off are of the gap of {own}."
    rows = tuple(
        (
            visible(one.name),
            f"{one.items:,}",
            per_cent(one.equal),
            f"{one.gap_off or 0.0:+.2f}" if result.rates else signed(sign * (one.gap_off or 0.0)),
        )
        for one in slices
    )
    few = any(one.items < FEW for one in slices)
    note = f"Shares without a claim; of fewer than {FEW} items they say little." if few else "Shares without a claim."
    same = WITHIN if result.options.step else "the same verdict"
    return PageTable(heading, ("", "labels", same, column), rows, f"{note}{whose}")


def pictures(result: Agreed) -> tuple[tuple[Picture, ...], ...]:
    """The share of equal verdicts with its interval, what people reach, and what is required."""
    if result.equal is None or result.equal_interval is None:
        return ()
    low, high = result.equal_interval
    name = visible(result.setup.judge)
    figures = f"{per_cent(result.equal)} ({100 * low:.0f} to {per_cent(high)})"
    marks = [(0.0, "0"), (1.0, "1")]
    if result.people_equal is not None:  # first, as of names that would touch the first is shown
        marks.insert(0, (result.people_equal, f"two people: {per_cent(result.people_equal)}"))
    required = next((one.worst for one in result.gates if one.name == "agreement"), None)
    bound = None if required is None else (required, "required")
    row = IntervalRow(name, figures, result.equal, result.equal_interval)
    step = bool(result.options.step)
    words = f"Share of verdicts that are {'within a step of ' * step}those of people: {figures}"
    heading = "Within a step of people" if step else "The same verdict as people"
    return ((Scale(heading, words, 0, 1, (row,), tuple(marks), bound, ""),),)


def _between_gaps(low: float, high: float, result: Agreed, margin: float | None = None) -> str:
    """Between what a gap lies, in points; the lower end says so if it only looks like 0, and none like the `margin`."""
    out = 0.0 if low > 0 else None
    return _exact(result) if result.whole else between((low, high), out=out, margin=margin)


def _exact(result: Agreed) -> str:
    """What a figure without an interval is of: those that are labelled, and no others."""
    return f"exact, for these {count(result.judged, 'output' if result.rates else 'pair')}"


def _share(share: float | None) -> str:
    return "" if share is None else per_cent(share)
