"""What the page of a comparison says: facts; how it looks is in `tests/report/test_printed.py`."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support.results import SPEND, make_result, undecided

from judgeloop.core.outcomes import Control, ControlTally, Generated, Outcome, StopKind, StopReason, Tally
from judgeloop.core.records import IDENTICAL, UNLIMITED, Choice, Groups, Label, Population, Verdict
from judgeloop.core.spend import Spend
from judgeloop.methods.stopping.bets import Bets
from judgeloop.methods.stopping.rule import risk_met
from judgeloop.questions.compare.outlook import with_an_equal_system
from judgeloop.questions.compare.page import facts, page, pictures
from judgeloop.questions.compare.proxy import CorrectedGap
from judgeloop.report.facts import holds, shared
from judgeloop.report.groups import GroupRow
from judgeloop.report.lost import lost_first
from judgeloop.report.notes import NoteCode
from judgeloop.report.pictures import Curve
from judgeloop.report.terminal import render

EVIL = "x\x1b[31m\u202e\u200b\x07\n\r\u2028y"
STEERING = set("\x1b\u202e\u200b\x07\r\u2028")
LEVEL = StopReason(StopKind.NO_DIFFERENCE, "level")


def detail(result, key):
    return result.page.text(key)


def codes(notes):
    return [one.code for one in notes]


@pytest.mark.parametrize(
    ("result", "decision"),
    [
        (make_result(), "large is better than small on these 100 items."),
        (
            make_result(winner=None, tally=Tally(items=60, wins=(30, 30)), stop=LEVEL),
            "small and large are level on these 60 items.",
        ),
        (
            make_result(winner=None, stop=LEVEL, near_tie=0.05),
            "small and large differ by at most 5 points on these 100 items.",
        ),
        (
            undecided(),
            (
                "No winner yet between small and large on these 100 items: the budget does not cover the next judgment at its maximum cost."
            ),
        ),
        (
            undecided(StopKind.JUDGE_FAILED, "nothing answers: is the server running?"),
            "BROKEN, no result: nothing answers: is the server running?",
        ),
        (
            make_result(required_winner="small"),
            "FAILED: small was required, and large is better than small on these 100 items.",
        ),
        (make_result(required_winner="large"), "PASSED: large is better than small on these 100 items."),
        (
            make_result(not_worse=0.05, winner=0, tally=Tally(items=100, wins=(30, 2), ties=1)),
            "FAILED: large is worse than small by more than 5 points on these 100 items.",
        ),
        (
            make_result(min_gap=0.05, about=Population.ITEMS_LIKE_THESE, order="random"),
            "Choose large: it is better than small, or less than 5 points behind it, on items like these 100.",
        ),
        (
            make_result(about=Population.ITEMS_LIKE_THESE, order="random"),
            "large is better than small on items like these 100.",
        ),
    ],
)
def test_the_headline_is_the_decision_and_says_what_it_is_about(result, decision):
    assert result.page.headline == decision


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"lost": 1}, "(1 lost for that; without these items, its rivals have 1 win fewer)"),
        ({"spared": 2}, "(left out; were they lost, its rivals would have 2 wins more)"),
    ],
)
def test_what_failures_of_a_system_would_change_is_said(ends, said):
    gave = Generated(
        system="large", asked=4, remembered=0, oldest="", unjudged=0, failed=2, empty=0, models=(), usd=0.0,
        usd_of_all=None, output_tokens=0, seconds_median=None, seconds_p95=None, **ends,
    )  # fmt: skip
    result = make_result()
    facts = {one.key: one.text for one in shared(replace(result, counts=replace(result.counts, generated=(gave,))))}
    assert facts["outputs.large"] == f"large: 4 outputs now for $0.00; 2 without an output {said}"


@pytest.mark.parametrize(
    ("result", "risk"),
    [
        (make_result(), "0.042, without a proof: "),
        (make_result(guarantee="a bound", risk_threshold=0.1), "0.1, guaranteed: "),
        (make_result(winner=None, stop=LEVEL, guarantee="a bound"), "0.1, guaranteed: "),
        (make_result(tally=Tally(items=10, wins=(1, 8), ties=1)), "0: all items"),
        (undecided(), "0.042 if small were named now"),
    ],
)
def test_the_kind_of_the_stated_risk_is_said(result, risk):
    assert detail(result, "risk").startswith(risk)


CLOSE, CLEAR = Tally(items=100, wins=(4, 8), ties=1), Tally(items=100, wins=(2, 30), ties=1)
PASSED = StopReason(StopKind.NOT_WORSE, "met")
PROVED = {"guarantee": "a bound", "about": Population.ITEMS_LIKE_THESE, "risk_threshold": 0.1}


@pytest.mark.parametrize(
    ("result", "stated", "claim", "risk"),
    [
        (
            make_result(min_gap=0.1, tally=CLOSE, **PROVED),
            "0.1, guaranteed: at most 1 in 10 such runs names one 10 points or more behind the other",
            "better_or_within",
            0.0423,
        ),
        (make_result(min_gap=0.1, tally=CLEAR, **PROVED), "0.1, guaranteed: ", "better", 0.0423),
        (
            make_result(not_worse=0.1, winner=None, stop=PASSED, tally=CLEAR, **PROVED),
            "passes a system worse by 10 points or more",
            "not_worse",
            0.0423,
        ),
        (
            make_result(not_worse=0.1, winner=0, tally=replace(CLEAR, wins=(30, 2)), **PROVED),
            "fails a system that is not worse",
            "worse",
            0.0423,
        ),
    ],
)
def test_each_claim_about_a_gap_has_its_risk_in_text_page_and_json(result, stated, claim, risk):
    assert "every other question that the same bounds answer has the same risk" in detail(result, "means")
    values = result.to_dict()
    assert (values["claim"], values["risk"]) == (claim, risk)
    assert result.better == (claim in {"better", "not_worse"})
    if not result.better or claim == "better":
        assert detail(result, "risk").count(stated) == 1


def test_an_end_that_the_answer_rules_out_is_no_part_of_the_interval():
    passed = make_result(not_worse=0.1, winner=None, stop=PASSED, tally=CLEAR, **PROVED)
    found = [
        {one.key: one.value for one in facts(replace(passed, bounds=(low, 0.7)))}["gap"]["bounds"]
        for low in (0.0, 0.09)
    ]
    assert found[0].startswith("above 0 to ")
    assert found[1].startswith("+9 to ")


def test_the_picture_has_the_gap_as_the_figures_have_it():
    tally = Tally(items=120, wins=(37, 40), ties=43)
    labels = [Label(Choice(n, None), Verdict(one)) for n, one in enumerate([1.0] * 37 + [0.0] * 40 + [0.5] * 43)]
    result = undecided(tally=tally, labels=tuple(labels), guarantee="a bound", rule="bets")
    course = (Curve("", "lead", ((120.0, 2.5),)), *(Curve("", "other", ((120.0, end),)) for end in (-14.0, 10.0)))
    (chart,) = pictures(replace(result, course=course))[0]
    assert chart.lines[0].name == "+3"
    assert detail(result, "gap") == "large +3 points against small"


def test_the_rule_that_bets_states_a_risk_of_an_answer_alone():
    open_one = undecided(guarantee="a bound", rule="bets", about=Population.ITEMS_LIKE_THESE)
    assert open_one.risk is open_one.to_dict()["risk"] is None
    assert not detail(open_one, "risk")
    assert detail(undecided(guarantee="a bound"), "risk") == "0.042 if small were named now"


def test_what_the_bounds_say_is_said_where_the_question_is_open():
    tally = Tally(items=300, wins=(50, 46), ties=4)
    result = undecided(tally=tally, guarantee="a bound", rule="bets", about=Population.ITEMS_LIKE_THESE)
    low, high = result.of("large")[1]
    assert f"small +4 points against large ({-100 * high:+.0f} to {-100 * low:+.0f} on items" in detail(result, "gap")


@pytest.mark.parametrize(
    "result", [make_result(winner=None, tally=Tally(items=100, wins=(5, 5))), undecided(tally=Tally(items=100))]
)
def test_no_risk_is_stated_without_a_leader(result):
    assert not detail(result, "risk")


@pytest.mark.parametrize(
    ("spend", "money"),
    [
        (replace(SPEND, budget_p=None), "$0.042, $0.021 of it now"),
        (replace(SPEND, now_p=0), "$0.042 of $5.00, $0.00 of it now"),
        (replace(SPEND, run_p=0, now_p=0, answers_p=0), "$0.00 of $5.00"),
        (replace(SPEND, run_p=10**9), "$0.0010 of $5.00; other runs paid $0.041 for answers used here"),
        (replace(SPEND, budget_p=None, known=False), "an unknown amount"),
        (replace(SPEND, run_p=6 * 10**12, over_p=1), "BUDGET EXCEEDED: $6.00 of $5.00"),
        (replace(SPEND, run_p=0, rehearsed_p=6 * 10**12), "$0.00 of $5.00, and $6.00 of recorded costs"),
        (replace(SPEND, now_p=0, run_p=6 * 10**12), "$6.00, spent by earlier commands, of a budget of $5.00 now"),
    ],
)
def test_the_summary_says_what_was_spent(spend, money):
    assert f"{detail(make_result(spend=spend), 'cost')};".startswith(f"{money};")


# Of 10 verdicts a forecast takes 10 assumed ones beside them, with a lead of their own.
FEW = {"code": "too_early", "lead": pytest.approx(0.1), "judgments": 30, "limit": 40}


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        # 10 items cost $0.042, so 30 more would cost three times that.
        ({}, FEW | {"usd": 0.1197}),
        ({"spend": Spend()}, FEW | {"usd": None}),
        (
            {"tally": Tally(items=100, wins=(10, 8), ties=2), "spend": Spend()},
            FEW | {"code": "lead_stays", "limit": 50, "usd": None},
        ),
        ({"more_judgments": None}, {"code": "out_of_reach", "lead": pytest.approx(0.1), "items": 100}),
        # Each item without a verdict counts against both, so two undo a lead of one.
        (
            {"tally": Tally(items=100, wins=(5, 4), ties=1, abstentions=2), "more_judgments": None},
            {"code": "fewer_skips", "skipped": 2, "asked": 12, "how": "the judge must give verdicts on more items"},
        ),
        ({"tally": Tally(items=100, wins=(5, 5)), "more_judgments": None}, {"code": "level"}),
        ({"tally": Tally(items=10, wins=(5, 4), ties=1)}, {"code": "all_asked"}),
        ({"tally": Tally(items=100), "more_judgments": None}, {"code": "nothing_judged"}),
    ],
)  # fmt: skip
def test_without_a_decision_the_advice_says_what_would_bring_one(changes, values):
    result = undecided(**changes)
    (advice,) = result.to_json()["advice"]
    assert advice.pop("message") in detail(result, "next")
    assert advice == values


LIKE = {"guarantee": "a bound", "about": Population.ITEMS_LIKE_THESE, "order": "random"}


@pytest.mark.parametrize(
    ("stop", "code"),
    [
        (StopKind.BUDGET, NoteCode.SAME_TEST),  # it has not ended, and goes on with any limit
        (StopKind.JUDGMENT_LIMIT, NoteCode.SECOND_TEST),
    ],
)
def test_more_judgments_than_the_limit_are_a_second_test_once_a_run_has_ended(stop, code):
    result = undecided(stop, "it is over", rule="bets", max_judgments=39, **LIKE)  # 10 and 30 more
    assert result.advice[1].code == code


@pytest.mark.parametrize("wins", [(5, 4), (5, 5)])
def test_items_that_are_used_up_without_a_forecast_promise_no_number(wins):
    tally = Tally(items=10, wins=wins, ties=10 - sum(wins))
    result = undecided(tally=tally, more_judgments=None, rule="bets", **LIKE)
    assert codes(result.advice) == [NoteCode.ITEMS_UNKNOWN]
    families = replace(result, data=replace(result.data, families=10, drawn=10))
    assert families.advice[0].values == {"units": "families"}


def test_a_new_test_is_of_the_items_that_are_there_and_of_more():
    tally = Tally(items=10, wins=(6, 4))
    result = replace(
        undecided(tally=tally, more_judgments=None, rule="bets", **LIKE), more_items=20, more_items_likely=90
    )
    found = result.advice[0].values
    assert [found[name] for name in ("even", "likely")] == [20, 90]


@pytest.mark.parametrize(
    ("asked", "more", "changes", "codes_said"),
    [
        (30, None, {"more_items": 240}, ["many_more_items", "blocks_too"]),  # one of each block of 4
        (27, None, {"more_items": 240, "more_items_likely": 900}, ["more_items", "blocks_too"]),  # few are left
        (30, None, {}, ["items_unknown"]),
        (30, 20, {}, ["lead_stays_limit", "second_test"]),  # in smaller blocks
        (27, 3, {}, ["lead_stays_limit", "same_test"]),
    ],
)
def test_where_a_label_takes_a_block_of_items_the_items_give_a_share_of_them_in_labels(
    asked, more, changes, codes_said
):
    limit = StopReason(StopKind.JUDGMENT_LIMIT, "the limit is reached")
    tally = Tally(items=122, wins=(asked - 12, 8), ties=4)
    settings = LIKE | {"rule": "bets", "max_judgments": 30, "winner": None, "more_judgments": more}
    result = replace(make_result(tally=tally, stop=limit, **settings), corrected=with_blocks(4), **changes)
    assert result.drawable == 30
    assert codes(result.advice) == codes_said
    assert not result.used_up
    assert result.queries_in_all == 30
    again = replace(result, setup=replace(result.setup, about=Population.THESE_ITEMS))
    assert again.drawable == 122, "blocks that are drawn again use up nothing"


def with_blocks(each):
    """What a proxy was worth that was asked in blocks of so many."""
    none = dict.fromkeys(("gap", "interval", "off", "off_interval", "r2", "saved", "saved_interval"))
    return CorrectedGap(
        proxy="cheap", block=each, labels=9, verdicts=9 * each, silent=0, alone=0.1, to_halve=36, **none
    )


@pytest.mark.parametrize(
    ("changes", "budget", "judgments"),
    [
        ({}, 0.18, 30),
        ({"more_judgments": 1}, 0.053, 1),
        ({"more_judgments": 80, "max_judgments": 40}, 0.18, 30),
        ({"tally": Tally(items=100, wins=(1, 1)), "more_judgments": None}, 0.27, 98),
        ({"tally": Tally(items=100, wins=(1, 1)), "more_judgments": None, "max_judgments": 40}, 0.14, 38),
    ],
)
def test_a_budget_that_was_too_small_names_one_that_is_enough(changes, budget, judgments):
    result = undecided(spend=replace(SPEND, next_p=10**10), **changes)
    advice, *others = result.advice
    assert advice.code is (
        NoteCode.PAYS_TO_LIMIT if "max_judgments" in changes or "tally" in changes else NoteCode.RAISE_BUDGET
    )
    assert any("A dry run says" in one.message for one in others) is (not result.judged)
    assert advice.values == {"budget": budget, "judgments": judgments}
    assert f"`budget={budget}`" in advice.message


@pytest.mark.parametrize("won", [True, False])
def test_a_condition_that_breaks_a_run_says_what_to_do(won):
    tally = Tally(items=100, wins=(1, 9) if won else (5, 4), ties=40, both=50, flips=40)
    result = (make_result if won else undecided)(tally=tally, max_flips=0.5, required_winner="large")
    assert (result.answer.answered, result.outcome, result.exit_code) == (won, "broken", 4)
    assert codes(result.advice) == [NoteCode.STEADIER_JUDGE, *([NoteCode.MORE_FLIPS] if won else [])], "another fails"
    share = result.advice[1].values["share"] if won else 0.9
    assert make_result(tally=tally, max_flips=share).exit_code == 0
    all_flip = make_result(tally=Tally(items=100, ties=40, both=40, flips=40), winner=None, stop=LEVEL, max_flips=0.5)
    assert codes(all_flip.advice) == [NoteCode.STEADIER_JUDGE], "it reads places alone"


def test_the_money_that_controls_took_and_a_budget_of_the_ledger_are_named():
    spend = replace(SPEND, controls_p=10**10, next_p=10**10)
    untested = {"tally": Tally(items=100), "controls": (ControlTally(8),)}
    assert codes(undecided(spend=spend, **untested).advice) == ["only_controls"], "what verdicts cost is not known"
    short = undecided(spend=replace(spend, next_p=0, ledger_left_p=1), **untested)
    assert codes(short.advice) == ["ledger_short", "only_controls"]


def test_a_required_winner_within_the_gap_is_asked_about_without_it():
    result = make_result(min_gap=0.5, required_winner="large", tally=CLOSE, **PROVED)
    assert (result.exit_code, codes(result.advice)) == (3, [NoteCode.ASK_FOR_BETTER])


def test_controls_are_counted_with_their_cost():
    spend = replace(SPEND, controls=28, controls_p=67 * 10**9)
    result = make_result(spend=spend, controls=(ControlTally(14, end=Control.PASSED),), controlled=True)
    assert "; with 14 controls ($0.067)" in detail(result, "calls")


def test_what_cost_nothing_says_that_the_ledger_had_it():
    def cost(**spent):
        return detail(make_result(spend=replace(SPEND, now_p=0, run_p=0, **spent)), "cost")

    parts = {one: cost(**values).split("; ") for one, values in (("known", {"attempts": 0}), ("asked", {}))}
    assert len(parts["known"]) == len(parts["asked"]) + 1


def test_no_budget_above_the_ceiling_is_advised():
    def advised(most_usd):
        spend = replace(SPEND, next_p=10**10)
        return [one.values for one in undecided(spend=spend, most_usd=most_usd).advice if one.code is NoteCode.PAYS_FOR]

    assert advised(0.1) == [{"budget": 0.1, "judgments": 13}]
    assert advised(0.04) == []


def test_a_pair_of_a_night_is_told_to_raise_the_budget_of_the_night_without_a_sum_of_its_own():
    result = undecided(spend=replace(SPEND, next_p=10**10), night="2026-11-24-nightly")
    advice = result.advice[0]
    assert (advice.code, advice.values) == (NoteCode.RAISE_NIGHT, {"night": "2026-11-24-nightly"})
    assert not re.search(r"budget=|\$", advice.message)


@pytest.mark.parametrize(
    ("kind", "advised"),
    [
        (StopKind.INTERRUPTED, [NoteCode.RESUME]),
        (StopKind.DEADLINE, [NoteCode.RESUME]),
        (StopKind.JUDGE_FAILED, [NoteCode.FIX, NoteCode.THEN_RESUME]),
        (StopKind.ABSTENTIONS, [NoteCode.SILENT]),
    ],
)
def test_a_run_that_was_cut_short_says_how_to_resume(kind, advised):
    result = undecided(kind, "cut short")
    assert codes(result.advice) == advised
    assert detail(result, "ended") == "Cut short."


def test_a_run_that_gave_up_advises_a_higher_limit():
    result = undecided(StopKind.FUTILITY, "gave up", give_up=0.2)
    assert codes(result.advice) == [NoteCode.TOO_EARLY, NoteCode.RAISE_LIMIT]
    assert "gives up if a decision is less likely than 0.2" in detail(result, "rule")
    assert (result.exit_code, make_result().advice) == (3, ())


def test_what_is_proved_stands_once_under_a_heading_of_its_own():
    proved = make_result(guarantee="a proved bound")
    assert proved.to_text().count("a proved bound") == 1
    assert "a proved bound" in detail(proved, "means")
    assert "heuristic" in detail(make_result(), "means")


@pytest.mark.parametrize("changes", [{"guarantee": "a bound"}, {}, {"about": Population.ITEMS_LIKE_THESE}])
def test_the_stated_risk_is_explained_in_two_sentences(changes):
    assert detail(make_result(**changes), "means").count(". ") == 1


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_result_wraps_at_words(width):
    result = undecided(guarantee=" ".join(["word"] * 80), systems=("a-long-name", "another-one"))
    printed = render(result.page, width=width)
    assert max(map(len, printed.split("\n"))) <= width
    assert printed.split() == render(result.page, width=10**6).split()


def test_the_short_form_is_the_decision_the_cost_and_the_warnings():
    page = make_result(repeated={"small": 40}).page
    lines = render(page, width=1000, short=True).split("\n")
    assert lines[0] == f"\N{CHECK MARK} {page.head}"
    assert [line.split()[0] for line in lines[1:] if line] == ["judged", "votes", "gap", "risk", "cost", "Warning:"]


def test_the_votes_are_counted_with_what_is_no_vote():
    result = make_result(tally=Tally(items=100, wins=(1, 8), ties=1, abstentions=2), asked=14)
    assert detail(result, "votes") == (
        "1 for small, 8 for large, 1 tie; 2 more were judged, but do not count in the decision"
    )
    label = replace(make_result().labels[0], reason=IDENTICAL, in_decision=True)
    assert replace(make_result(), labels=(label, label)).identical == 2


@pytest.mark.parametrize(
    ("result", "plain", "said"),
    [
        (make_result(winner=None), False, "(+7 to +97 on all items)"),
        (make_result(winner=None, tally=Tally(items=100)), True, ""),
        (make_result(tally=Tally(items=10, wins=(1, 8), ties=1)), True, "large +70 points against small"),
        (make_result(tally=Tally(items=100, wins=(1, 8), ties=1, picked=True)), False, "not drawn at random"),
    ],
)
def test_a_gap_that_the_sampling_biases_is_never_shown_as_plain(result, plain, said):
    gap = detail(result, "gap")
    assert said in gap
    assert plain == (" on " not in gap and ":" not in gap)


@pytest.mark.parametrize(
    ("options", "bounds", "shown"),
    [
        ({}, (0.0, 0.61), "(more than 0, at most +61 on all items)"),
        ({"min_gap": 0.1}, (-0.1, 0.61), "(more than -10, at most +61 on all items)"),
        ({"min_gap": 0.1}, (-0.04, 0.61), "(-4 to +61 on all items)"),
        ({"min_gap": 0.1}, (-0.004, 0.61), "(-0.4 to +61 on all items)"),
        ({"guarantee": None}, (-0.41, 0.61), "(-41 to +61 on all items)"),
    ],
)
def test_an_end_of_the_bounds_that_the_answer_rules_out_is_left_out(options, bounds, shown):
    result = replace(make_result(**{"guarantee": "proved", **options}), bounds=bounds)
    assert result.gap_interval == bounds
    assert shown in next(one.text for one in facts(result) if one.key == "gap")


def test_bounds_reach_the_gap_of_the_verdicts_where_the_earlier_of_them_had_excluded_it():
    verdicts = [-1] * 60 + [1] * 30
    tally = Tally(1000, wins=(30, 60), preferences=tuple(verdicts))
    result = make_result(tally=tally, guarantee="proved", labels=())
    assert result.gap_interval[0] == result.gap == pytest.approx(1 / 3)


PANEL = {"judge": "openai/m + anthropic/n", "vote": "majority", "order": "fixed"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "both; 0 of 9 verdicts asked in both changed with it (0 %, 95 % interval 0 % to 30 %)"),
        ({"order": None, "judge": "metric:rouge2"}, "metric:rouge2"),
        ({"order": "fixed", "judge_models": (("gpt-4.1",),)}, "openai/gpt-4.1; fixed"),
        ({"judge_models": (("gpt-4.1-2025-04-14",),)}, "; its server calls it gpt-4.1-2025-04-14"),
        (PANEL | {"judge_models": (("m",), ("n",))}, "openai/m + anthropic/n; by majority; fixed"),
        (PANEL | {"judge_models": (("m",), ("n-1", "n-2"))}, "changed during the run: n-1, then n-2"),
    ],
)  # fmt: skip
def test_the_judge_is_named_with_its_order_its_flips_and_its_own_name(changes, said):
    result = make_result(**changes)
    assert said in "; ".join([detail(result, "judge"), detail(result, "order")])


@pytest.mark.parametrize(
    ("votes", "said"),
    [
        ([(1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0)],
         "3 of 4 items (75 %, 95 % interval 30 % to 95 %), Cohen's kappa 0.50"),
        ([(1.0, 1.0), (1.0, 0.9)], "2 of 2 items (100 %, 95 % interval 34 % to 100 %)"),  # no kappa
    ],
)  # fmt: skip
def test_a_panel_is_named_with_how_often_and_how_far_beyond_chance_it_agrees(votes, said):
    labels = tuple(Label(Choice(n, None), Verdict(two[0], votes=two)) for n, two in enumerate(votes))
    result = make_result(**PANEL, labels=labels, judge_models=((), ()))
    assert detail(result, "agreement") == f"the same verdict on {said}"
    assert "by majority" in detail(result, "judge")


@pytest.mark.parametrize(
    ("tally", "words"),
    [
        (ControlTally(12, 1, 0, 0, Control.PASSED), "openai/m can tell an answer to the question"),
        (ControlTally(0, 5, 0, 0, Control.FAILED), "openai/m cannot tell an answer to the question"),
        (ControlTally(30, 0, 8, 2, Control.NOT_SHOWN), "is not shown to tell an answer"),
        (ControlTally(3, 0, 0, 0), "openai/m has not finished its controls (3 right, 0 tied, 0 wrong)"),
        (ControlTally(), "the controls of openai/m were cut off"),
        (None, "none for openai/m, which is no model"),
    ],
)
def test_a_result_says_what_a_judge_made_of_its_controls(tally, words):
    result = make_result(judge="openai/m", controlled=True, controls=(tally,))
    assert words in detail(result, "controls")
    assert "none for openai/gpt-4.1, which is no model" in detail(make_result(), "controls"), "without a prompt"
    assert not detail(make_result(order=None), "controls")


@pytest.mark.parametrize(
    ("tally", "said"),
    [(ControlTally(), "were cut off"), (ControlTally(3), "has not finished its controls (3 right, 0 tied, 0 wrong)")],
)
def test_controls_that_were_not_asked_have_not_failed(tally, said):
    """As in a dry run of what the ledger can decide."""
    gated = {"controlled": True, "required_winner": "large"}
    result = make_result(judge="openai/m", controls=(tally,), **gated)
    assert (result.answer, result.outcome) == (Outcome.PASSED, Outcome.UNDECIDED)
    assert f"openai/m {said}" in result.page.headline


def test_a_run_that_was_interrupted_during_its_controls_says_so_and_has_not_failed():
    stop = StopReason(StopKind.INTERRUPTED, "interrupted; what was paid for is kept")
    tally = ControlTally(0, 0, 0, 0)
    asked = {"judge": "openai/m", "controlled": True, "controls": (tally,), "not_worse": 0.1}
    result = make_result(winner=None, stop=stop, **asked)
    assert result.exit_code == 130
    assert result.outcome is Outcome.INTERRUPTED


def test_a_judge_without_passed_controls_has_no_result_and_code_4():
    stop = StopReason(StopKind.CONTROLS, "openai/m cannot tell an answer to the question")
    result = make_result(winner=None, stop=stop)
    assert (result.exit_code, result.outcome) == (4, Outcome.BROKEN)
    assert codes(result.advice) == [NoteCode.OTHER_JUDGE]


@pytest.mark.parametrize(("warned", "code"), [({}, 0), ({"repeated": {"small": 40}}, 5)])
def test_a_warning_makes_a_passed_gate_fail_if_that_is_asked(warned, code):
    result = make_result(required_winner="large", fail_on_warning=True, **warned)
    assert result.exit_code == code
    assert result.outcome is (Outcome.FAILED if code else Outcome.PASSED)
    assert make_result(required_winner="large", **warned).exit_code == 0
    assert undecided(required_winner="large", fail_on_warning=True, **warned).exit_code == 3


@pytest.mark.parametrize(("candidate", "warned"), [(3, False), (4, True)])
def test_more_empty_outputs_than_the_baseline_has_are_a_warning(candidate, warned):
    result = make_result(empty={"small": 3, "large": candidate}, usual_empty=3)
    assert (NoteCode.OUTPUTS_EMPTY in codes(result.warnings)) == warned
    assert detail(result, "empty") == f"3 outputs of small, {candidate} outputs of large"


@pytest.mark.parametrize(
    ("spend", "parts"),
    [
        (SPEND, ["$0.021 now, 12 attempts, 3 answered from the ledger"]),
        (replace(SPEND, unconfirmed_p=10**10), ["$0.032 of $5.00, and $0.010 held for calls without a reply"]),
        (Spend(attempts=1), ["$0.00 now, 1 attempt, 0 answered from the ledger"]),
        (Spend(rehearsed_p=10**12), ["$1.00 of recorded costs"]),
        (Spend(known=False), ["cost unknown, as the model has no price"]),
    ],
)  # fmt: skip
def test_the_cost_tells_what_this_command_paid_from_the_rest(spend, parts):
    result = make_result(spend=spend)
    cost = f"{detail(result, 'cost')}; {detail(result, 'calls')}"
    assert all(part in cost for part in parts)


def test_answers_looked_up_in_a_table_were_not_all_in_the_ledger():
    spend = Spend(remembered=3)
    costs = [detail(make_result(spend=one), "cost") for one in (spend, replace(spend, looked_up=5))]
    assert ["all answers were in the ledger" in one for one in costs] == [True, False]


@pytest.mark.parametrize("made", [make_result, undecided])
def test_strangers_text_cannot_steer_the_terminal_or_break_a_line(made):
    sentence = {"sentence": EVIL} if made is undecided else {"stop": StopReason(StopKind.RISK_MET, EVIL)}  # fmt: skip
    evil = made(
        systems=(f"a{EVIL}", f"b{EVIL}"),
        judge=f"openai/{EVIL}",
        judge_models=((f"m{EVIL}",),),
        represent=EVIL,
        left_out=EVIL,
        repeated={f"a{EVIL}": 40},
        **sentence,
    )
    calm = made(left_out="left", judge_models=(("m",),), repeated={"small": 40})
    text, quiet = (render(one.page, width=10**6) for one in (evil, calm))
    assert not STEERING & set(text)
    assert len(text.splitlines()) == len(quiet.splitlines())
    assert r"x\x1b[31m\u202e\u200b\x07\n\r\u2028y" in text.splitlines()[0]


@pytest.mark.parametrize(
    ("order", "wins", "ties", "flips", "both", "said"),
    [
        ("both", (30, 10), 10, 0, 40, "one order (`order=random`) would take about 56 % of the calls"),
        ("both", (22, 18), 10, 0, 40, ""),  # one order hardly decides within 100 items
        ("both", (10, 5), 35, 0, 15, ""),  # too few verdicts in both orders to tell
        ("both", (14, 10), 76, 0, 24, ""),  # 81 % of the calls: not worth a word
        ("random", (30, 10), 10, 0, 0, ""),
    ],
)  # fmt: skip
def test_the_other_order_is_named_where_it_would_be_clearly_cheaper(order, wins, ties, flips, both, said):
    tally = Tally(items=100, wins=wins, ties=ties, flips=flips, both=both)
    shown = detail(make_result(tally=tally, order=order), "cheaper")
    assert shown.partition("; a run")[0] == said
    held = make_result(tally=tally, order=order, max_flips=0.2)  # which one order refuses
    assert not detail(held, "cheaper")


@pytest.mark.parametrize(
    ("changes", "code", "values"),
    [
        ({"repeated": {"small": 40}}, NoteCode.OUTPUT_REPEATED, {"system": "small", "repeated": 40, "items": 100}),
        ({"empty": {"large": 12}}, NoteCode.OUTPUTS_EMPTY, {"system": "large", "empty": 12}),
        ({"old_prices": {"openai/m": 95}}, NoteCode.PRICES_OLD, {"judge": "openai/m", "days": 95}),
        ({"asked_anew": "python:m:<lambda> has none"}, NoteCode.ASKED_ANEW, {"why": "python:m:<lambda> has none."}),
        ({"tally": Tally(items=12, wins=(1, 8))}, NoteCode.FEW_ITEMS, {"items": 12}),
        ({"tally": Tally(items=49, wins=(1, 8)), "about": Population.ITEMS_LIKE_THESE}, NoteCode.FEW_ITEMS_LIKE_THESE, {"items": 49}),
        ({"tally": Tally(items=100, wins=(0, 4), ties=9, flips=9, both=10)}, NoteCode.MANY_FLIPS, {"flips": 9, "both": 10}),
        ({"tally": Tally(items=100, ties=10)}, NoteCode.ALL_TIES, {"judged": 10}),
    ],
)  # fmt: skip
def test_doubtful_data_and_judges_are_warned_about(changes, code, values):
    (warning,) = make_result(**changes).warnings
    assert (warning.code, warning.values) == (code, values)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tally": Tally(items=50, wins=(1, 8), ties=1)},
        {"tally": Tally(items=100, wins=(0, 4), ties=6, flips=6, both=10)},
        {"tally": Tally(items=100, ties=9)},
    ],
)
def test_sound_data_and_judges_are_not_warned_about(changes):
    assert not make_result(**changes).warnings


def test_where_every_item_is_judged_no_other_risk_is_stated_as_the_end():
    every = make_result(tally=Tally(items=10, wins=(1, 8), ties=1), stop=risk_met(0.0004, 0.1))
    assert "risk" not in detail(every, "ended")


def test_two_equal_files_are_not_blamed_on_the_judge():
    labels = tuple(Label(Choice(n, None), Verdict(0.5, IDENTICAL)) for n in range(120))
    result = make_result(winner=None, tally=Tally(items=120, ties=120), labels=labels)
    assert codes(result.warnings) == [NoteCode.ALL_IDENTICAL]


def test_large_numbers_have_separators(monkeypatch):
    monkeypatch.setattr(Bets, "bounds_by_draw", lambda *_: np.full((2, 3131), -0.04))  # no number of it is large
    tally = Tally(items=9000, wins=(1016, 1100), ties=1015, both=2000, flips=1315)
    result = make_result(
        tally=tally, labels=(), asked=3131, spend=replace(SPEND, remembered=4891),
        repeated={"small": 41000}, empty={"small": 41000},
    )  # fmt: skip
    shown = " ".join(one.text for one in result.page.facts)
    assert not re.findall(r"(?<![\d.])\d{4,}", shown.replace("0123abcd", ""))


def test_the_gap_asked_about_is_said_among_the_items_that_are_no_ties():
    half, most = (Tally(items=100, wins=(won, 5), ties=45) for won in (50, 0))

    def said(result):
        return next(one.text for one in facts(result) if one.key == "gap.means")

    shown = said(make_result(min_gap=0.1, tally=half, winner=0))
    assert "With 45 % ties, a gap of 10 points is 59 wins to 41 among the decisive items." in shown
    assert "With 90 % ties, the two cannot differ by 20 points." in said(make_result(min_gap=0.2, tally=most))
    assert "decisive" not in said(make_result())


def test_a_longer_run_pays_for_no_item_that_is_judged_beyond_the_decision():
    """For a group that is still open, say, or ahead of the others."""
    whole = undecided()
    assert whole.more_judgments == 30

    def with_aside(times):
        aside = times * [replace(row, in_decision=False) for row in whole.labels]
        both = (1 + times) * whole.counts.both_in_all
        counts = replace(whole.counts, both_in_all=both)
        return replace(whole, labels=(*whole.labels, *aside), counts=counts)

    assert with_aside(1).more_usd == pytest.approx(whole.more_usd * 20 / 30)
    assert with_aside(4).more_usd == 0


def with_groups(result, *claims):
    """The result, with a required group for each claim."""
    rows = tuple(
        GroupRow(f"g{at}", 20, 5, 1, 1, 3, -0.4, claim=claim, interval=(-0.9, 0.3)) for at, claim in enumerate(claims)
    )
    result = replace(result, groups=rows, options=replace(result.options, by_group=Groups.REQUIRE))
    return replace(result, page=page(result))


def test_no_budget_turns_a_gate_that_a_group_has_failed():
    short = undecided(StopKind.BUDGET, "the budget is used up", spend=replace(SPEND, next_p=10**10), **PROVED)
    assert {NoteCode.PAYS_TO_LIMIT, NoteCode.PAYS_FOR, NoteCode.RAISE_BUDGET} & {*codes(short.advice)}
    failed = with_groups(short, "worse", "open")
    assert (failed.exit_code, codes(failed.advice)) == (5, [])


def test_groups_that_fail_stand_beside_an_answer_that_fails_and_open_ones_are_no_fact():
    failed = make_result(not_worse=0.05, winner=0, tally=Tally(items=100, wins=(30, 2), ties=1), **PROVED)
    passed = make_result(not_worse=0.05, winner=None, stop=PASSED, tally=Tally(items=100, wins=(2, 30)), **PROVED)

    def said(result, *claims):
        result = with_groups(result, *claims)
        (groups,) = (one for one in result.conditions if one.name == "groups")
        return result.exit_code, groups, {one.key: one.text for one in result.page.first}

    code, groups, shown = said(failed, "worse", "open")
    assert (code, groups.outcome, shown["fails"]) == (5, "failed", groups.sentence)
    code, groups, shown = said(passed, "worse", "open")
    assert (code, "fails" in shown) == (5, False), "the headline says it"
    code, groups, shown = said(passed, "open", "better", "open")
    assert (code, groups.outcome, "2 of 3 groups have no answer" in shown["holds"]) == (0, "passed", True)
    code, groups, shown = said(passed, "better")
    assert (code, "open" in shown["holds"]) == (0, False)


def test_items_that_were_judged_for_groups_alone_are_apart_from_the_votes_among_those_that_were_lost():
    labels = tuple(Label(Choice(n, None), Verdict(1.0, "worse")) for n in range(6))
    tally = Tally(items=100, wins=(6, 0))
    failed = make_result(not_worse=0.05, winner=0, tally=tally, labels=labels, groups=("g0",))
    further = tuple(replace(row, in_decision=at < 4) for at, row in enumerate(failed.labels))
    further = (*further[:-1], replace(further[-1], group="another"))  # as in the table of groups
    found = [lost_first(with_groups(one, "worse")) for one in (failed, replace(failed, labels=further))]
    assert [re.findall(r"\d+(?= items| of them)", one[0].text) for one in found] == [["6"], ["6", "2"]]


def test_a_budget_that_failed_attempts_used_up_says_so():
    """A broken judge, and no question of too little money."""
    spend = replace(SPEND, unconfirmed_p=3 * 10**10, next_p=10**10)
    result = undecided(spend=spend, tally=Tally(items=100))
    assert result.exit_code == 4
    assert result.page.headline.endswith(", and may have been billed, left too little of the budget for one call.")
    assert codes(result.advice) == ["held_by_failures", "make_up", "then_resume"]
    assert result.advice[1].values["budget"] == 5.03, "what is left beside the failures is the budget that was given"
    assert codes(undecided(spend=spend, tally=Tally(items=100), most_usd=5.02).advice) == [
        "held_by_failures", "then_resume",
    ]  # fmt: skip
    assert undecided(spend=replace(SPEND, unconfirmed_p=10**10)).exit_code == 3


def test_a_judge_that_answered_nothing_until_the_deadline_has_failed():
    def stopped(why, spend):
        result = undecided(StopKind.DEADLINE, why, spend=spend, tally=Tally(items=100), not_worse=0.1)
        return result.exit_code, codes(result.advice)

    late = "the deadline of 8 s is reached; the last call failed: no reply within 120 s"
    silent = Spend(run_p=46 * 10**9, unconfirmed_p=46 * 10**9, budget_p=10**12, attempts=8)
    assert stopped(late, silent) == (4, ["fix", "then_resume"])
    assert stopped(late, SPEND) == (4, ["fix", "then_resume"]), "it answered an earlier command"
    assert stopped(late, replace(SPEND, replies=1)) == (3, ["resume"])
    assert stopped("the deadline of 8 s is reached", silent) == (3, ["resume"]), "nothing has failed"


@pytest.mark.parametrize(
    ("failed", "advised"), [(2, ["fix", "then_resume"]), (5, ["fix", "held_by_failures", "make_up", "then_resume"])]
)
def test_a_failed_run_that_has_less_left_than_failures_hold_says_how_to_free_it(failed, advised):
    spend = Spend(run_p=7 * 10**12, unconfirmed_p=failed * 10**12, budget_p=10**13, answers=20, paid_attempts=20)
    assert codes(undecided(StopKind.JUDGE_FAILED, "down", spend=spend).advice) == advised


def test_a_gate_in_one_order_says_so_first():
    def held(order, **prompt):
        result = make_result(required_winner="large", order=order, **prompt)
        return [one.name for one in result.conditions if holds(one, result)]

    assert held("random", prompt="pairwise.v1") == ["flips"]
    assert held("random") == [], "people, whose flips nobody asks for"


def test_nothing_is_said_of_abstentions_where_nothing_was_asked():
    def names(tally):
        return [one.name for one in undecided(tally=tally, not_worse=0.1).conditions]

    assert "abstentions" not in names(Tally(items=100))
    assert "abstentions" in names(Tally(items=100, wins=(5, 4), ties=1))


def test_outputs_that_are_all_the_same_come_before_what_follows_from_them():
    tied = Tally(items=100, ties=60, both=60, flips=50)
    changes = {"tally": tied, "not_worse": 0.1, "max_flips": 0.5, "order": "both"}
    result = undecided(**changes, repeated={"large": 100}, empty={"large": 100})
    assert codes(result.warnings) == ["output_repeated", "outputs_empty", "many_flips", "all_ties"]
    assert codes(result.advice) == ["one_output", "steadier_judge"]
    assert result.advice[0].values == {"system": "large"}
    other = undecided(**changes, repeated={"large": 90})
    assert codes(other.advice) == ["steadier_judge"]
    assert codes(other.warnings) == ["all_ties", "output_repeated", "many_flips"]
    turned = undecided(**changes | {"tally": replace(tied, flips=60)})
    assert codes(turned.warnings) == ["many_flips"], "the judge never said that two are level"


def test_a_gate_that_a_group_fails_states_the_risk_of_naming_a_group():
    passed = make_result(not_worse=0.1, winner=None, stop=PASSED, tally=Tally(items=100, wins=(20, 20)), **PROVED)
    assert "passes a system worse by 10 points or more" in detail(passed, "risk")
    assert "fails a system although it is worse in no group" in detail(with_groups(passed, "worse"), "risk")


def test_tests_of_groups_say_why_each_round_waits():
    def calls(by_group, rounds):
        result = make_result()
        options, counts = replace(result.options, by_group=by_group), replace(result.counts, rounds=rounds)
        return {one.key: one.text for one in shared(replace(result, options=options, counts=counts))}["calls"]

    waits = "each round waited"
    assert waits in calls(Groups.REPORT, 3)
    assert waits not in calls(Groups.REPORT, 1)
    assert waits not in calls(None, 3)


def test_answers_that_cost_nothing_were_not_paid_for():
    result = make_result()
    result = replace(result, counts=replace(result.counts, ahead=3), spend=Spend())
    assert "3 items more than needed" in {one.key: one.text for one in shared(result)}["calls"]


def test_a_bound_beside_the_margin_is_not_rounded_onto_it():
    for bound, shown in ((0.0952, "+9.5"), (0.0852, "+9"), (-0.0998, "-9.98")):
        result = replace(make_result(not_worse=0.1), bounds=(bound, 0.74))
        assert f"({shown} to +74 on all items" in next(one.text for one in facts(result) if one.key == "gap")


def test_a_limit_that_would_do_for_an_equal_system_and_did_not_says_what_that_means():
    tally = Tally(items=1000, wins=(60, 40), ties=100)
    open_ = undecided(StopKind.JUDGMENT_LIMIT, tally=tally, not_worse=0.2)
    assert codes(open_.advice) == ["between"], "no other test is proposed"
    skipped = replace(open_, counts=replace(open_.counts, asked=open_.asked + 60, abstentions=60))
    assert codes(skipped.advice) == ["fewer_skips"], "they count against it, and keep the bounds open"
    little = undecided(StopKind.JUDGMENT_LIMIT, tally=Tally(items=1000, wins=(6, 4), ties=10), not_worse=0.1)
    assert codes(little.advice) == ["equal_passes", "second_test"]


def test_a_limit_below_the_items_there_are_is_raised_before_items_are_added():
    few = Tally(items=240, wins=(12, 11), ties=17)
    like = {"tally": few, "not_worse": 0.1, "about": Population.ITEMS_LIKE_THESE}
    higher, second = undecided(StopKind.JUDGMENT_LIMIT, max_judgments=40, **like).advice
    assert (higher.code, higher.values["limit"], second.code) == ("equal_passes_with", 240, "second_test")
    (foreseen,) = with_an_equal_system(Bets(0.1, UNLIMITED, 240, not_worse=0.1), [17 / 40], 240)
    assert higher.values["passes"] == foreseen.passes == pytest.approx(0.65, abs=0.05), "as the forecast says"
    all_of_them = undecided(StopKind.JUDGMENT_LIMIT, **like | {"tally": replace(few, wins=(70, 68), ties=102)})
    assert codes(all_of_them.advice) == ["equal_passes_items", "second_test"]


def test_a_gate_that_is_level_where_its_money_ends_says_how_often_an_equal_system_passes():
    level = {"tally": Tally(items=240, wins=(18, 18), ties=21), "more_judgments": None, "not_worse": 0.1}
    budget, likely = undecided(spend=replace(SPEND, next_p=10**10), **level).advice
    assert (likely.code, likely.values["limit"], budget.code) == ("equal_passes_with", 240, "pays_to_limit")


def test_a_page_says_beside_its_risk_what_earlier_tests_add_to_it():
    result = make_result(guarantee="proved")
    third = replace(result, comparison=3, risk_before=0.2)
    found = {one.key: one.text for one in facts(third)}["asked"]
    assert (
        found
        == "small was in 2 other tests by this judge; with this test, the chance of any wrong decision is at most 0.3"
    )
    assert "asked" not in {one.key for one in facts(result)}
