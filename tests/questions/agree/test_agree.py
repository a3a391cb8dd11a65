"""How well a judge agrees with people, from labels that are there."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import judgeloop
from judgeloop.core.errors import InputError
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.estimators.agreement import Paired
from judgeloop.methods.stopping.agreement import Agreeing
from judgeloop.questions.agree.page import _knows_more, _off, _widened
from judgeloop.questions.agree.result import GateRow
from judgeloop.questions.agree.settings import USUAL_OF_PEOPLE, AgreeSettings
from judgeloop.report.forms import render_markdown

ITEMS = 60


def rows(system, words=lambda at: f"answer {at}", **columns):
    return [
        {"id": f"q{at}", "prompt": f"{at} what?", "output": f"{system} {words(at)}"}
        | {name: each(at) for name, each in columns.items()}
        for at in range(ITEMS)
    ]


def better(at):
    """Of three items people like the new answer twice."""
    return "new" if at % 3 else "old"


def judge_of(prefers):
    def judge(*, prompt, first, second):
        del second
        name = prefers(int(prompt.split()[0]))
        return "tie" if name == "tie" else "A" if first.startswith(name) else "B"

    return judge


def labels(votes=better, places=range(ITEMS), **more):
    return [{"id": f"q{at}", "vote": votes(at)} | {name: each(at) for name, each in more.items()} for at in places]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A ledger of all tests that do not look at what was asked: each judge rates the same items once."""
    return tmp_path_factory.mktemp("shared") / "ledger.sqlite"


@pytest.fixture
def agree(shared):
    def asked(prefers, *truth, old=None, **settings):
        systems = [("old", old or rows("old")), ("new", rows("new"))]
        given = {"judge": judge_of(prefers), "version": prefers.__name__, "ledger": shared}
        return judgeloop.agree(systems, truth=list(truth), **(given | settings))

    return asked


@pytest.fixture
def apart(agree, tmp_path):
    """As `agree`, with a ledger of its own."""
    return partial(agree, ledger=tmp_path / "ledger.sqlite")


def often(at):
    """As people, but on every fifth item."""
    return better(at) if at % 5 else "old" if better(at) == "new" else "new"


def test_of_people_alone_a_limit_is_set_where_none_is_given():
    asked = {"outputs": ["a", "b"], "judge": "metric:rouge2", "truth": "human"}
    found = [AgreeSettings.of(**asked, max_judgments=limit) for limit in (None, USUAL_OF_PEOPLE - 1)]
    assert [(one.max_judgments, bool(one.usual_limit)) for one in found] == [(200, True), (199, False)]


def test_the_share_of_equal_verdicts_has_an_exact_interval_of_one_look(agree):
    result = agree(often, labels())
    assert (result.judged, result.equal, result.exit_code) == (60, 0.8, 0)
    assert result.equal_interval == pytest.approx((0.6962, 0.8803), abs=1e-4)  # Clopper & Pearson of 48 in 60
    assert result.looked_at_once
    assert result.options.chosen
    assert result.outcome == "decided"
    shares = "on 80 % of the 60 pairs you labelled (90 % interval for pairs like them: 70 to 88 %)."
    assert shares in result.page.headline
    assert " you" not in result.page.caption, "which other people read"


@pytest.mark.parametrize("about", ["like-these", "items"])
def test_a_gate_and_the_interval_beside_it_are_one_statement(agree, about):
    places = range(60 if about == "like-these" else 40)

    def gate(bar):
        result = agree(
            often, labels(places=places), about=about, judge_all=about == "items", require_agreement=bar, zone=zone
        )
        assert result.equal_interval == pytest.approx((low, high))
        return result.gates[0].state, result.exit_code

    zone, within = 0.02, 1 / 60 if about == "items" else 1e-6  # of these items a share is a whole number of them
    first = agree(often, labels(places=places), about=about, judge_all=about == "items", require_agreement=0.5)
    low, high = first.equal_interval
    assert [gate(low - within), gate(low + within)] == [("passed", 0), ("open", 3)]
    assert [gate(high - zone + within), gate(high - zone - within)] == [("failed", 5), ("open", 3)]


def test_what_failed_is_below_the_zone_and_says_so(agree):
    result = agree(often, labels(), require_agreement=0.8)
    assert (result.gates[0].state, f"{result.gates[0].best:.2f}") == ("failed", "0.90")
    assert "it is below 90 % (80 and a zone of 10 points), and not shown to be above 80 %." in result.page.headline


@pytest.mark.parametrize("within", [-1e-6, 1e-6])
def test_what_failed_is_below_what_was_required_where_the_interval_is(agree, within):
    high = agree(often, labels(), require_agreement=0.8).equal_interval[1]
    result = agree(often, labels(), require_agreement=high - within, zone=0.05)
    assert result.gates[0].state == "failed"
    assert ("it is below the required 87 %." in result.page.headline) == (within < 0)
    assert ("it is below 92 % (" in result.page.headline) == (within > 0)


def test_items_on_which_people_differ_alone_are_not_those_on_which_the_judge_differs(agree):
    other = {"old": "new", "new": "old"}

    def judge(at):
        return "tie" if at % 7 == 2 else often(at)

    def second(at):
        return other[better(at)] if at % 7 in {1, 2} else better(at)

    result = agree(judge, labels(), labels(second), require_agreement=0.85)
    assert result.outcome == "failed"
    apart = [one for one in result.labels if result.people_said(one) != one.score]
    split = [one for one in result.labels if one not in apart and len(set(one.votes[1:])) > 1]
    assert len(apart) == result.judged - round(result.equal * result.judged)
    assert len(split) == sum(at % 7 == 2 for at in range(ITEMS))
    first, *_ = (one.text for one in result.page.facts if one.label == "differs")
    assert first.startswith(f"on {len(apart)}: q")
    both = sum(len(set(one.votes[1:])) > 1 for one in apart)
    assert f"of the {len(apart)} items on which the judge says otherwise, they differ on {both}" in result.page.text(
        "people"
    )
    shown = [one for one in apart if f" {one.item_id} (judge " in first]
    assert [len(set(one.votes[1:])) for one in shown] == [1], "people say the same of it"


@pytest.mark.parametrize(
    ("labelled", "left"), [(40, "; these outputs have only 20 more to label"), (60, "; of these outputs none is left")]
)
def test_how_many_labels_more_are_to_be_had_is_said_where_it_takes_more(agree, labelled, left):
    result = agree(often, labels(places=range(labelled)))
    (said,) = (one.text for one in result.page.facts if one.key == "halve")
    assert result.labels_to_halve == 3 * labelled > 20
    assert said.startswith(f"about {3 * labelled} would halve")
    assert said.endswith(left)


def test_the_report_shows_the_peoples_label_and_where_they_differ(agree):
    result = agree(often, labels(), labels(often))
    report = result.to_html()
    differ = report.count(" data-differs")
    assert differ == sum(result.people_said(one) != one.score for one in result.labels) == 12
    assert f'value="differs" aria-pressed="false">people differ {differ}<' in report
    assert "judge: old; people: tie" in report, "two people who say the opposite"
    assert "judge: new; people: new" in report
    assert "data-differs" not in agree(better, labels()).to_html()
    markdown = render_markdown(result.page)
    assert markdown.index("Where it errs") < markdown.index("#### What was found") < markdown.index("**agreement**")
    two = f"two people: {100 * result.people_equal:.0f} %"
    assert two in report


def test_few_items_without_a_label_change_no_bound_and_the_line_says_how_many_it_takes(agree):
    alone, result = (agree(often, labels(places=range(40)), judge_all=both) for both in (False, True))
    assert result.corrected.gap == alone.corrected.gap
    (low, high), (least, most) = result.corrected.interval, alone.corrected.interval
    assert high - low == pytest.approx(most - least, rel=0.25), "the draws are others"
    assert (result.corrected.widened, alone.corrected.widened) == (0, None)
    (said,) = (one for one in result.page.facts if one.key == "widened")
    assert said.first
    assert "only 20 items without a label, and it takes 40 " in said.text


def test_labels_of_some_items_are_about_these_and_those_of_all_have_no_interval(agree):
    some = agree(often, labels(places=range(30)))
    assert (some.judged, some.options.unlabelled) == (30, 30)
    assert [one.code for one in some.warnings if one.code.startswith("few")] == ["few_labels"], "the set has 60"
    assert len(some.labels) == 30
    every = agree(often, labels(), about="items")
    assert every.equal_interval == (0.8, 0.8)
    assert every.off_interval == (every.off, every.off)
    assert (every.whole, every.kappa_interval) == (True, None)


def test_a_tie_against_a_side_is_worth_half_and_the_table_says_where_the_judge_errs(agree):
    def shy(at):
        return better(at) if at % 2 else "tie"

    result = agree(shy, labels())
    assert (result.equal, result.mean_agreement) == (0.5, 0.75)
    assert {(judge, people): items for judge, people, items in result.table} == {
        ("A", "A"): 10, ("A", "tie"): 0, ("A", "B"): 0, ("tie", "A"): 10, ("tie", "tie"): 0, ("tie", "B"): 20,
        ("B", "A"): 0, ("B", "tie"): 0, ("B", "B"): 20,
    }  # fmt: skip
    assert result.off == pytest.approx((10 - 20) / 60 - (20 - 40) / 60)


def test_a_judge_that_favours_the_longer_answer_is_found_out(agree):
    def long(at):
        return "old"

    old = rows("old", lambda at: f"answer {at} at great length")
    result = agree(long, labels(), old=old)
    assert (result.favours, result.favours_length) == ("old", "longer")
    assert (result.off, result.by_judge) == (pytest.approx(1 + 1 / 3), 1.0)
    assert result.off_interval[0] > 0.9
    assert result.off_by_more, "than the margin, which more labels do not change"
    assert (result.labels_to_halve, result.page.text("halve")) != (None, "")
    assert not result.page.text("halve")
    assert agree(long, labels(), old=old, about="items").favours_length is None, "said of these items alone"
    fair = agree(better, labels(), old=old)
    assert (fair.favours, fair.favours_length, fair.off) == (None, None, 0.0)


def test_a_level_judge_where_people_prefer_one_is_kinder_to_the_other_and_favours_nobody_by_itself(agree):
    result = agree(lambda at: "old" if at % 2 else "new", labels(lambda at: "new" if at % 12 else "old"))
    assert (result.by_judge, result.favours) == (0.0, "old")
    least, most = result.off_interval
    assert f"kinder to old than you are, by {100 * least:.0f} to {100 * most:.0f} points." in result.page.headline


def tie(*, prompt, first, second):
    del prompt, first, second
    return "tie"


def first_one(*, prompt, first, second):
    del prompt, first, second
    return "A"


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (tie, "It prefers neither answer of any pair."),
        (first_one, "It contradicts itself on all 60: it takes the answer shown first."),
    ],
)
def test_a_judge_that_prefers_nothing_favours_nothing(agree, judge, said):
    """People like the new answer, the longer one, on every item: what a judge lacks of that is no leaning."""
    result = agree(often, labels(lambda at: "new"), old=rows("old", lambda at: "x"), judge=judge, version="1")
    assert (result.favours, result.favours_length) == (None, None)
    assert result.longer_interval[1] < 0
    assert result.counts.flips == (60 if judge is first_one else 0)
    assert said in result.page.headline


def rated(wrong, truth, **settings):
    """A judge of ratings that is wrong on some of the items, on a scale of two values unless `settings` say more."""

    def judge(*, prompt, output):
        del output
        at = int(prompt.split()[0])
        return 1.0 - at % 2 if at < wrong else float(at % 2)

    people = [{"id": f"q{at}", "score": truth(at)} for at in range(ITEMS)]
    return judgeloop.agree([("new", rows("new"))], truth=[people], judge=judge, version="1", ledger=None, **settings)


@pytest.mark.parametrize(("scale", "low"), [("0,1", 0), ("1,2", 1), (None, 0)])
def test_on_a_scale_of_two_values_only_equal_ratings_agree(scale, low):
    result = rated(12, lambda at: low + at % 2, scale=scale, require_agreement=0.8)
    assert (result.equal, result.gates[0].state, result.exit_code) == (0.8, "failed", 5)
    assert result.options.step == (0.1 if scale is None else 0.0)
    assert ("within a step" in f"{result.page.headline} {result.page.caption}") == (scale is None)
    assert next(one.text[:7] for one in result.page.facts if one.label == "differs") == "on 12: "
    assert sum(map(result.lost, result.labels)) == 12


def test_ratings_within_a_step_are_not_among_those_that_differ():
    result = rated(12, lambda at: at % 2 * 2 + (1 if at % 3 == 0 else 0) * (1 - at % 2 * 2), scale="0,2")
    apart = [abs(one.score - result.people_said(one)) for one in result.labels]
    assert (result.options.step, sum(0.4 < one < 0.6 for one in apart)) == (0.5, 20)
    assert sum(map(result.lost, result.labels)) == sum(one > 0.6 for one in apart) == 60 - round(60 * result.equal)


def test_pairs_with_different_prompts_are_said_to_be_fewer_than_the_labels(agree):
    same = [row | {"prompt": f"{at // 2} what?"} for at, row in enumerate(rows("old"))]
    new = [row | {"prompt": f"{at // 2} what?"} for at, row in enumerate(rows("new"))]
    systems = [("old", same), ("new", new)]
    result = judgeloop.agree(systems, truth=[labels()], judge=tie, version="1", ledger=None)
    assert (result.judged, result.items) == (30, 60)
    assert "of 30 pairs, one of each prompt, of 60 you labelled" in result.page.headline


def test_a_gate_at_a_margin_is_shown_once_both_bounds_lie_within_it(agree):
    shown = "It is good enough for a gate at a margin of 10 points between old and new: its gap is within that."
    assert shown in agree(better, labels(), about="items").page.headline
    result = agree(often, labels())
    assert shown not in result.page.headline
    near = replace(result, off=-0.1025, off_interval=(-0.10375, 0.0975))
    assert "off by +10.2 points (-9.8 to +10.4)" in _off(near), "no rounding contradicts what is shown"


def test_beside_a_second_person_the_figures_that_are_compared_are_shown(agree):
    def ben(at):
        return better(at) if at % 10 else "tie"

    def worse(at):
        return "tie" if at % 3 == 1 else better(at)

    result = agree(worse, labels(), labels(votes=ben), not_worse_than_a_person=0.2)
    # On a third of the items the judge is half wrong, and on a tenth Ben; on 2 of 60 both say tie.
    assert result.with_a_person == (pytest.approx(1 - 1 / 6 - 1 / 40 + 1 / 60), pytest.approx(1 - 1 / 20))
    assert result.exit_code == 5
    assert (
        "counts half, it agrees with a person to 82 %, and two people with each other to 95 %" in result.page.headline
    )
    assert "it is worse than a person, though maybe by less than 20 points." in result.page.headline
    assert "though" not in agree(worse, labels(), labels(votes=ben), not_worse_than_a_person=0.1).page.headline


def test_two_people_are_the_ceiling_and_the_most_of_three_are_the_truth(agree):
    def ben(at):
        return better(at) if at % 10 else "tie"

    result = agree(often, labels(), labels(votes=ben))
    assert result.people_pairs == 60
    assert result.people_equal == pytest.approx(0.9)
    assert len(result.options.people) == 2
    three = agree(often, labels(person=lambda at: "x"), labels(votes=ben), labels())
    assert three.people_pairs == 180
    assert three.equal == 0.8, "two of three say what is better"


def test_outputs_of_the_judges_own_family_of_models_are_told_apart(tmp_path):
    votes = "".join(f"q{at},gpt-4o,claude-3,{1 if at % 4 else 0}\n" for at in range(ITEMS))
    (tmp_path / "gpt-5.csv").write_text(f"item_id,model_a,model_b,score\n{votes}")
    systems = [("gpt-4o", rows("gpt-4o")), ("claude-3", rows("claude-3"))]
    people = [{"id": f"q{at}", "vote": "gpt-4o" if at % 2 else "claude-3"} for at in range(ITEMS)]
    given = {"judge": f"replay:{tmp_path}/gpt-5.csv", "truth": [people], "ledger": tmp_path / "ledger.sqlite"}
    (own,) = judgeloop.agree(systems, **given).by_family
    assert (own.name, own.items, own.gap_off) == ("gpt-4o", 60, pytest.approx(0.5))  # 3/4 less 1/4, and level
    (tmp_path / "gpt-5.csv").rename(tmp_path / "judge.csv")
    other = judgeloop.agree(systems, **(given | {"judge": f"replay:{tmp_path}/judge.csv"}))
    assert other.by_family == ()


def test_half_the_interval_takes_four_times_the_labels_and_fewer_of_a_set_that_ends(agree):
    assert agree(often, labels(places=range(30))).labels_to_halve == 90
    here = agree(often, labels(places=range(30)), judge_all=True, about="items")
    assert here.labels_to_halve == 48 - 30  # 4 n / (1 + 3 n / N)
    assert agree(often, labels(), about="items").labels_to_halve is None


def test_groups_flips_and_positions_have_their_shares(agree):
    result = agree(often, labels(), old=rows("old", group=lambda at: "fifth" if at % 5 == 0 else "rest"))
    assert [(one.name, one.items, one.equal) for one in result.by_group] == [("fifth", 12, 0.0), ("rest", 48, 1.0)]

    def first(*, prompt, first, second):  # prefers a place
        return "A"

    flipped = agree(often, labels(), judge=first, version="first")
    assert (flipped.counts.flips, flipped.equal) == (60, 0.0)
    assert [one.name for one in flipped.by_position] == ["changed with the order"]


def test_of_the_order_every_pair_is_told_those_that_tied_at_once_too(agree):
    def some_ties(*, prompt, first, second):
        at = int(prompt.split()[0])
        return "tie" if at % 4 == 0 else "A" if at % 4 == 1 or first.startswith("new") else "B"

    result = agree(often, labels(), judge=some_ties, version="1")
    assert {one.name: one.items for one in result.by_position} == {
        "a tie at once": 15,
        "changed with the order": 15,
        "the same in both orders": 30,
    }
    assert result.judged == 60
    assert agree(often, labels(), judge=some_ties, version="1", order="random").by_position == ()


@pytest.mark.parametrize("wrong", range(12))
def test_the_gap_by_the_judge_less_that_by_people_is_shown_to_be_what_it_is_off(agree, wrong):
    def judge(at):
        return "old" if at < wrong else "tie" if at < 2 * wrong else better(at)

    result = agree(judge, labels(places=range(58)), version=f"{wrong} wrong")
    figures = f"{result.page.text('off')} {result.page.text('corrected')}"
    said, off, people = (float(one) for one in re.findall(r"(\S+) points? ", figures))
    assert said - off == pytest.approx(people)


def test_the_judges_verdicts_on_items_without_a_label_narrow_the_bounds_of_what_people_say(apart):
    some = labels(places=range(0, ITEMS, 4))
    asked = partial(apart, often, some)
    alone, every = asked(), asked(judge_all=True)
    assert (alone.judged, every.judged, every.items) == (15, 15, 60)
    assert (every.equal, every.equal_interval) == (alone.equal, alone.equal_interval)
    assert (every.counts.further, len(every.labels)) == (45, 60)
    assert sum(label.in_decision for label in every.labels) == 15
    assert (alone.corrected.cheap, every.corrected.cheap, every.corrected.labels) == (15, 60, 15)
    assert every.spend.attempts == 2 * 45, "those of the labelled items are known"
    here = asked(judge_all=True, about="items", require_kappa=0.1)
    assert alone.equal_interval[0] < here.equal_interval[0] < here.equal < here.equal_interval[1]
    assert alone.kappa_interval[0] < every.kappa_interval[0]
    assert alone.kappa_interval[0] < here.kappa_interval[0] < here.kappa
    by_judge = sum((often(at) == "old") - (often(at) == "new") for at in range(ITEMS)) / ITEMS
    assert here.corrected.alone == pytest.approx(by_judge)
    assert here.off == pytest.approx(by_judge - here.corrected.gap)
    assert [one.name for one in here.gates] == ["kappa"]


@pytest.mark.parametrize(("seed", "labelled"), [(6, 20), (28, 20), (39, 20)])
def test_bounds_of_the_gap_off_hold_what_is_seen_beside_them(agree, seed, labelled):
    """The earlier labels of these three alone would bound it on one side of the estimate of all."""
    rng = np.random.default_rng(seed)
    says = rng.random(ITEMS) < rng.choice([0.3, 0.5, 0.7])
    true = np.where(rng.random(ITEMS) < rng.choice([0.6, 0.8]), says, ~says)
    rng.choice([12, 20, 30, 45])

    def name(which, at):
        return "new" if which[at] else "old"

    def judge(at):
        return name(says, at)

    places = sorted(rng.permutation(ITEMS)[:labelled].tolist())
    about = "like-these" if seed % 2 else "items"
    risk = 0.1 if seed % 3 else 0.3
    said = labels(partial(name, true), places)
    result = agree(judge, said, judge_all=True, about=about, risk=risk, version=f"of seed {seed}")
    low, high = result.off_interval
    assert low <= result.off <= high
    assert result.off in {low, high}, "which is where it had to be widened"


def test_of_families_the_members_with_a_label_are_drawn(agree):
    pairs = {"family": lambda at: f"f{at // 2}"}
    result = agree(often, labels(places=range(0, ITEMS, 4)), old=rows("old", **pairs), judge_all=True)
    assert (result.judged, result.counts.further) == (15, 15)


@pytest.mark.parametrize(
    ("least", "zone", "code", "state"),
    [(0.6, 0.1, 0, "passed"), (0.85, 0.1, 5, "failed"), (0.75, 0.1, 3, "open"), (0.95, 0.04, 5, "failed")],
)
def test_a_gate_on_labels_that_are_there_is_one_exact_test(agree, least, zone, code, state):
    result = agree(often, labels(), require_agreement=least, zone=zone)
    assert ([one.state for one in result.gates], result.exit_code) == ([state], code)


def test_of_several_gates_all_must_pass_and_each_is_a_condition(agree):
    result = agree(better, labels(), labels(), require_agreement=0.8, require_kappa=0.5, not_worse_than_a_person=0.2)
    assert [one.state for one in result.gates] == ["passed"] * 3
    assert result.exit_code == 0
    assert [one.name for one in result.conditions][1:4] == ["agreement", "kappa", "a second person"]
    assert "a wrong FAIL has a chance of at most 30 %" in result.page.text("means")

    def other(at):
        return "old" if better(at) == "new" else "new"

    worse = agree(other, labels(), labels(), require_agreement=0.1, not_worse_than_a_person=0.2)
    assert [one.state for one in worse.gates] == ["failed", "failed"]
    assert worse.exit_code == 5


def test_a_judge_without_verdicts_counts_against_every_claim(agree):
    def silent(*, prompt, first, second):
        name = better(int(prompt.split()[0]))
        return None if prompt.startswith("3 ") else "A" if first.startswith(name) else "B"

    result = agree(better, labels(), judge=silent, version="silent")
    assert (result.judged, result.counts.abstentions, result.equal) == (59, 1, 1.0)
    assert result.equal_interval[0] == pytest.approx(agree(one_wrong, labels()).equal_interval[0])
    assert result.equal_interval[1] == 1


def one_wrong(at):
    return "tie" if at == 3 else better(at)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"judge": ["metric:exact", "human"]}, "expected one judge to test, found 2"),
        ({"require_agreement": 0.95}, r"expected a sum below 1; .*`zone`, such as 0\.025,"),
        ({"require_kappa": 0.5, "about": "items"}, "`require_kappa` is about items like these"),
        ({"not_worse_than_a_person": 0.1}, "expected items that two people labelled, found none"),
        ({"half_width": 0.1}, "labels in files are looked at once"),
        ({"judge_all": True, "again": True}, "expected one of the two, and labels that are there"),
        ({"scale": "1,5"}, "`scale` is that of ratings"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_nothing_is_asked(agree, settings, said):
    more = {"version": None} if "judge" in settings else {}
    with pytest.raises(InputError, match=said):
        agree(better, labels(), **settings, **more)


def test_the_run_is_another_where_labels_are_others_and_verdicts_are_paid_once(apart):
    one, two = apart(often, labels()), apart(often, labels(votes=often))
    assert one.setup.run != two.setup.run
    assert (two.equal, two.spend.attempts) == (1.0, 0)


def test_a_comparison_by_a_judge_that_was_measured_on_these_items_says_so(apart, tmp_path):
    measured = apart(often, labels(places=range(30)), judge_all=True)
    systems = [("old", rows("old")), ("new", rows("new"))]
    settings = {"version": "often", "ledger": tmp_path / "ledger.sqlite"}
    result = judgeloop.compare(*systems, judge=judge_of(often), **settings)
    assert "80 % of 30 labelled items of these (64 to 91 %); its gap for old is off by" in result.measured
    assert measured.setup.run in result.measured
    assert result.to_dict()["measured"] == result.measured
    other = judgeloop.compare(*systems, judge=judge_of(better), **(settings | {"version": "another"}))
    assert not other.measured, "it is another judge"
    changed = [("old", rows("old", lambda at: f"other {at}")), ("new", rows("new"))]
    assert not judgeloop.compare(*changed, judge=judge_of(often), **settings).measured, "these are other outputs"


def judge_that_changes(places):
    """A judge that is right, and the second time wrong at these places."""
    asked = []

    def judge(*, prompt, first, second):
        at = int(prompt.split()[0])
        asked.append(at)
        wrong = at in places and asked.count(at) > 2  # in both orders before
        name = ("old" if better(at) == "new" else "new") if wrong else better(at)
        return "A" if first.startswith(name) else "B"

    return judge, asked


def test_asked_anew_a_judge_is_tested_for_drift_and_its_earlier_verdicts_stay(apart):
    judge, asked = judge_that_changes(range(ITEMS))
    before = apart(better, labels(), judge=judge, version="1")
    assert len(asked) == 120
    anew = apart(better, labels(), judge=judge, version="1", again=True)
    assert len(asked) == 120 + 60
    assert (anew.anew.asked, anew.anew.changed, anew.anew.lost, anew.anew.gained) == (30, 30, 30, 0)
    assert "agrees less often than before: of 30 asked anew, 30 changed." in anew.page.headline
    assert (anew.exit_code, anew.conditions[1].name, anew.conditions[1].outcome) == (5, "drift", "failed")
    assert anew.equal == before.equal == 1, "the figures are of the earlier verdicts"
    again = apart(better, labels(), judge=judge, version="1", again=True)
    assert (len(asked), again.exit_code) == (180, 5), "the same day nothing is paid twice"
    assert apart(better, labels(), judge=judge, version="1").equal == 1


def test_a_judge_that_changes_seldom_has_not_drifted(apart):
    judge, _ = judge_that_changes(range(0, ITEMS, 15))
    apart(better, labels(), judge=judge, version="1")
    anew = apart(better, labels(), judge=judge, version="1", again=True)
    assert anew.anew.lost <= 4
    assert anew.exit_code == 0
    assert "is not shown to agree less often than before: of 30 asked anew, " in anew.page.headline
    assert "good enough for a gate" in anew.page.text("gate")
    assert "good enough for a gate" not in anew.page.headline
    assert anew.anew.chance > 0.05


def test_bounds_of_earlier_looks_are_widened_to_the_share_that_is_seen():
    """Thirty that are the same and thirty that are not, or the other way round, as they were asked."""
    for first in (1.0, 0.0):
        judge = np.repeat([first, 1 - first], 30)
        tally = Paired(60, None, tuple(range(60)), judge, np.ones((60, 1)))
        low, high = Agreeing(0.1, UNLIMITED, 60, once=False).interval(tally)
        assert low <= 0.5 <= high
        assert 0.5 in {low, high}, "which is where it had to be widened"


@pytest.mark.parametrize(
    ("state", "interval", "more"),
    [
        ("passed", (0.45, 1.0), True),
        ("passed", (0.55, 1.0), False),
        ("failed", (0.2, 0.7), True),
        ("failed", (0.2, 0.5), False),
        ("open", (0.2, 0.9), False),
    ],
)
def test_where_a_gate_knows_more_than_an_interval_it_alone_is_said(state, interval, more):
    assert _knows_more(GateRow("kappa", 0.5, 0.6, state), *interval) is more


def test_the_gap_by_people_stands_beside_the_judges(agree):
    result = agree(often, labels())
    assert result.corrected.gap == pytest.approx((20 - 40) / 60)
    low, high = result.corrected.interval
    assert low < result.corrected.gap < high
    assert result.page.text("corrected") == (
        f"new is better: +33 points against old ({-100 * high:+.0f} to {-100 * low + 1e-9:+.0f})"  # a half goes up
    )
    low, high = result.off_interval
    assert result.by_judge - result.off == pytest.approx(result.corrected.gap)
    assert result.page.text("off") == (
        f"new {-100 * result.by_judge:+.0f} points by the judge, off by {-100 * result.off:+.0f} points "
        f"({-100 * high:+.0f} to {-100 * low:+.0f})"
    )
    assert result.to_dict()["corrected"]["labels"] == 60
    every = agree(often, labels(), about="items")
    assert every.corrected.interval == pytest.approx((-1 / 3, -1 / 3), abs=0.02)
    assert every.page.text("corrected") == "new is better: +33 points against old (exact, for these 60 pairs)"


def test_a_judge_that_foresees_nothing_of_the_labels_widens_the_gap_by_people_and_the_result_says_so(agree):
    def most(at):  # a large gap without ties, of which the judge knows nothing
        return "old" if at % 8 == 0 else "new"

    def blind(at):
        return "old" if at % 3 else "new"

    some = range(0, ITEMS, 2)
    every, alone = (agree(blind, labels(most, some), judge_all=both) for both in (True, False))
    assert every.corrected.r2 < 0.1
    assert every.corrected.widened > 0.01
    assert f"{every.corrected.r2:.2f}" in every.page.text("widened")
    for early in ({"labels": 8}, {"r2": 0.8}):  # it may help yet
        soon = replace(every, corrected=replace(every.corrected, **early))
        assert _widened(soon) == "too few labels yet to tell"
    assert (alone.corrected.widened, alone.page.text("widened")) == (None, "")
    good = agree(most, labels(most, some), judge_all=True)
    assert good.corrected.widened < 0
    assert not good.page.text("widened")
    many = agree(often, labels(places=range(ITEMS - 5)), judge_all=True)
    assert many.corrected.widened == pytest.approx(0)
    assert "only 5 items without a label, and it takes 55 " in many.page.text("widened")


@pytest.fixture
def table(tmp_path):
    def written(places, vote="vote", item="Ticket", words=better):
        rows = "".join(f"q{at};{words(at)}\n" for at in places)
        (tmp_path / "judge.csv").write_text(f"{item};{vote}\n{rows}")
        return f"replay:{tmp_path}/judge.csv"

    return written


def test_a_judge_may_be_a_table_of_labels_and_need_know_no_items_but_the_labelled_ones(agree, table):
    some = agree(often, labels(places=range(20)), judge=table(range(20)), version=None)
    assert (some.judged, some.equal, some.options.unlabelled) == (20, 1.0, 40)
    assert "'ticket'" in some.data.guessed
    every = agree(often, labels(places=range(20)), judge=table(range(ITEMS)), version=None, judge_all=True)
    assert (every.judged, every.counts.further) == (20, 40)
    with pytest.raises(InputError, match="no verdicts on 40 of 60 items, such as 'q20'"):
        agree(often, labels(places=range(20)), judge=table(range(20)), version=None, judge_all=True)


def test_labelled_items_that_a_table_lacks_are_refused_or_left_out(agree, table):
    given = {"judge": table(range(5, ITEMS)), "version": None}
    with pytest.raises(
        InputError, match=r"no verdicts on 5 of 20 items, such as 'q0'; judge only .* with `allow_partial`"
    ):
        agree(often, labels(places=range(20)), **given)
    result = agree(often, labels(places=range(20)), allow_partial=True, **given)
    assert (result.judged, result.equal, result.options.unlabelled) == (15, 1.0, 40)
    assert result.data.left_out.startswith("5 without a verdict in")


def test_a_table_that_lacks_few_verdicts_is_read_to_its_end_wherever_they_are_drawn(agree, tmp_path):
    (tmp_path / "judge.csv").write_text(
        "item_id,model_a,model_b,score\n" + "".join(f"q{at},old,new,1\n" for at in range(3, ITEMS))
    )
    for seed in range(4):  # three of 60 are five per cent of all, and may be more of the first that are drawn
        given = {"judge": f"replay:{tmp_path}/judge.csv", "version": None, "seed": seed}
        assert agree(often, labels(), **given).judged == ITEMS - 3
        systems = [("old", rows("old")), ("new", rows("new"))]
        assert judgeloop.compare(*systems, judge=given["judge"], seed=seed, risk=0.001).judged == ITEMS - 3


def test_too_many_empty_verdicts_break_off_with_what_to_do(agree, tmp_path):
    rows = "".join(f"q{at},old,new,{'' if at < 6 else 1}\n" for at in range(ITEMS))
    (tmp_path / "judge.csv").write_text(f"item_id,model_a,model_b,score\n{rows}")
    result = agree(often, labels(places=range(20)), judge=f"replay:{tmp_path}/judge.csv", version=None)
    assert (result.exit_code, [one.code for one in result.advice]) == (4, ["silent"])
    assert (
        agree(
            often, labels(places=range(20)), judge=f"replay:{tmp_path}/judge.csv", version=None, max_abstentions=0.4
        ).judged
        == 14
    )


def test_a_paper_has_the_first_sentence_as_caption_and_all_of_them_in_a_note(agree):
    result = agree(often, labels())
    first, *others = result.page.text("paper").split(". ")
    assert others
    assert result.page.caption == f"{first}."
    assert " you" not in result.page.text("paper")
