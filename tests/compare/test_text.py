from __future__ import annotations

from dataclasses import replace

import pytest
from support.results import SPEND, make_result, undecided

from judgeloop.compare.plan import ASSUMED
from judgeloop.compare.text import details, headline, page
from judgeloop.core.outcomes import DecoyTally, Spend, StopKind, StopReason, Tally
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.report.page import render
from judgeloop.run.plan import Plan, Range
from judgeloop.run.plan_text import plan_json, render_plan

EVIL = "x\x1b[31m\u202e\u200b\x07\n\r\u2028y"
STEERING = set("\x1b\u202e\u200b\x07\r\u2028")
ALL_JUDGED = StopReason(StopKind.ALL_JUDGED, "every item is judged")
PLAN = Plan(
    Range(5, 30, 1000),
    Range(10, 60, 2000),
    Range(10**9, 6 * 10**9, 2 * 10**11),
    assumed=ASSUMED,
    affordable=None,
)


def printed(result):
    return render(page(result))


def forecast(plan, result, *, priced):
    return render_plan(plan, result, page(result), priced=priced)


def detail(result, name):
    return dict(details(result))[name]


def foreseen(**changes):
    """A dry run that asked nobody."""
    return undecided(
        StopKind.DRY_RUN, "a dry run", tally=Tally(items=100), more_judgments=None, **changes
    )


def test_a_decision_begins_with_the_winner():
    assert headline(make_result()) == (
        "large is better than small: stated risk 0.042 (heuristic), 10 of 100 items judged, $0.042 of $5.00 spent"
    )


def test_a_rule_with_a_proof_calls_its_risk_guaranteed():
    assert "stated risk 0.042 (guaranteed)" in headline(make_result(guarantee="a proved bound"))


def test_a_decision_on_all_items_is_certain():
    result = make_result(tally=Tally(items=10, wins=(1, 8), ties=1), stop=ALL_JUDGED)
    assert headline(result) == (
        "large is better than small: certain, as every item is judged, 10 of 10 items judged, $0.042 of $5.00 spent"
    )


@pytest.mark.parametrize(
    ("spend", "money"),
    [
        (replace(SPEND, budget_p=None), "$0.042 spent"),
        (replace(SPEND, run_p=0, now_p=0), "$0.00 of $5.00 spent"),
        (replace(SPEND, budget_p=None, known=False), "an unknown amount spent"),
    ],
)
def test_the_headline_says_what_was_spent(spend, money):
    assert headline(make_result(spend=spend)).endswith(f", {money}")


def test_a_risk_of_one_is_not_stated():
    result = undecided()
    nothing_ruled_out = headline(replace(result, risk=1.0))
    assert "5:4 for small, $0.042" in nothing_ruled_out
    assert "risk" not in nothing_ruled_out


def test_a_run_that_was_given_up_says_why_and_what_would_go_on():
    sentence = "gave up, as the chance of a decision within 200 judgments is about 0.12, under 0.2"
    result = undecided(StopKind.FUTILITY, sentence, more_judgments=60, give_up=0.2)
    assert headline(result) == (
        f"undecided: {sentence}; about 60 more judgments (about $0.25) would probably decide: raise `max_judgments`, or leave out "
        "`give_up`; 10 of 100 items judged, 5:4 for small, stated risk 0.042 (heuristic), $0.042 of $5.00 spent"
    )
    assert detail(result, "rule").endswith("; gives up where a decision is less likely than 0.2")
    assert result.exit_code == 3
    assert "gives up" not in detail(undecided(), "rule")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        # 10 items cost $0.042, so 30 more would cost three times that.
        ({}, "about 30 more judgments (about $0.13) would probably decide"),
        ({"more_judgments": 1}, "about 1 more judgment (about $0.0042) would probably decide"),
        ({"spend": Spend()}, "about 30 more judgments would probably decide"),
        ({"spend": replace(SPEND, known=False)}, "about 30 more judgments would probably decide"),
        ({"more_judgments": None}, "at these shares not even all 100 items would decide"),
        (
            {"tally": Tally(items=100, wins=(5, 5)), "more_judgments": None},
            "the systems are level, so no number of judgments is in sight that would decide",
        ),
        ({"tally": Tally(items=10, wins=(5, 4), ties=1)}, "nothing is left to judge"),
        ({"tally": Tally(items=100), "more_judgments": None}, "nothing is judged"),
    ],
)
def test_no_decision_begins_with_why_and_says_what_would_decide(changes, line):
    shown = headline(undecided(**changes))
    assert shown.startswith(f"undecided: the budget is used up; {line}; ")


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        (
            {},
            "10 of 100 items judged, 5:4 for small, stated risk 0.042 (heuristic), $0.042 of $5.00 spent",
        ),
        (
            {"tally": Tally(items=100, wins=(4, 5), ties=1)},
            "10 of 100 items judged, 5:4 for large, stated risk 0.042 (heuristic), $0.042 of $5.00 spent",
        ),
        ({"tally": Tally(items=100, wins=(5, 5))}, "10 of 100 items judged, $0.042 of $5.00 spent"),
        ({"tally": Tally(items=100)}, "0 of 100 items judged, $0.042 of $5.00 spent"),
    ],
)
def test_no_decision_ends_with_what_was_judged_the_votes_the_risk_and_the_money(changes, standing):
    assert headline(undecided(**changes)).endswith(f"; {standing}")


def test_a_budget_that_was_exceeded_is_shouted_about_and_a_rehearsed_one_is_not():
    spend = replace(SPEND, run_p=6 * 10**12)
    assert headline(make_result(spend=spend)).endswith(", BUDGET EXCEEDED: $6.00 of $5.00 spent")
    rehearsed = replace(SPEND, run_p=0, rehearsed_p=6 * 10**12)
    assert headline(make_result(spend=rehearsed)).endswith(", $0.00 of $5.00 spent")


@pytest.mark.parametrize(("flips", "warned"), [(5, False), (6, True)])
def test_a_judge_that_judges_places_is_warned_about_in_the_headline(flips, warned):
    shown = headline(make_result(tally=Tally(items=100, wins=(0, 4), ties=6, flips=flips)))
    assert (
        "; beware: 60% of the verdicts changed with the order of presentation" in shown
    ) == warned


def test_a_required_winner_that_lost_is_said_before_anything_else():
    assert headline(make_result(required_winner="small")).startswith(
        "FAILED: small was required, and large is better than small: "
    )
    assert headline(make_result(required_winner="large")) == headline(make_result())
    assert headline(undecided(required_winner="large")) == headline(undecided())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (StopKind.INTERRUPTED, "the same command goes on from here"),
        (StopKind.JUDGE_FAILED, "once that is mended, the same command goes on from here"),
        (StopKind.ABSTENTIONS, "once that is mended, the same command goes on from here"),
    ],
)
def test_a_run_that_was_cut_short_says_how_it_goes_on(kind, words):
    assert headline(undecided(kind, "cut short")).startswith(
        f"undecided: cut short; {words}; 10 of 100"
    )


def test_the_decision_is_the_first_line_and_the_details_follow():
    lines = printed(make_result()).split("\n")
    assert lines[0] == headline(make_result())
    assert [line.split()[0] for line in lines[1:]] == [
        "votes",
        "gap",
        "rule",
        "judge",
        "selector",
        "cost",
    ]


def test_the_votes_are_counted_with_what_is_no_vote():
    result = make_result(tally=Tally(items=100, wins=(1, 8), ties=1, abstentions=2))
    assert detail(result, "votes") == "1 for small, 8 for large, 1 tie, 2 abstentions"
    more = make_result(tally=Tally(items=100, wins=(1, 8), ties=2, abstentions=1))
    assert detail(more, "votes") == "1 for small, 8 for large, 2 ties, 1 abstention"
    aside = make_result(tally=Tally(items=100, wins=(1, 8), ties=1), asked=13)
    assert detail(aside, "votes").endswith("; 3 more were judged and left the decision")


def test_a_gap_among_picked_items_is_never_shown_as_plain():
    tally = Tally(items=100, wins=(1, 8), ties=1, picked=True)
    assert detail(make_result(tally=tally), "gap") == (
        "0.70 for large among the judged items, which were picked and do not stand for the others: not an "
        "estimate for all items"
    )


@pytest.mark.parametrize(
    ("tally", "gap"),
    [
        (Tally(items=100, wins=(1, 8), ties=1), "0.70 for large among the judged items"),
        (
            Tally(items=10, wins=(1, 8), ties=1, picked=True),
            "0.70 for large among the judged items",
        ),
        (Tally(items=100, wins=(4, 4)), "0.00 among the judged items"),
        (Tally(items=100), "nothing is judged"),
    ],
)
def test_a_gap_among_drawn_or_all_items_is_plain(tally, gap):
    assert detail(make_result(winner=None, tally=tally), "gap") == gap


def test_a_rule_without_a_proof_says_so():
    assert detail(make_result(), "rule") == (
        "tie-aware, to stop at a stated risk of 0.1 (heuristic: it looks many times, and no bound is proved)"
    )


def test_a_rule_with_a_proof_says_what_is_proved():
    result = make_result(guarantee="a proved bound")
    assert detail(result, "rule") == "tie-aware, to stop at a stated risk of 0.1 (a proved bound)"


@pytest.mark.parametrize(
    ("changes", "judge"),
    [
        ({}, "openai/gpt-4.1; order both, 0 of 10 verdicts flipped with it (0%)"),
        (
            {"tally": Tally(items=100, wins=(1, 7), ties=2, flips=2)},
            "openai/gpt-4.1; order both, 2 of 10 verdicts flipped with it (20%)",
        ),
        ({"order": "random"}, "openai/gpt-4.1; order random"),
        ({"order": None, "judge": "metric:rouge2"}, "metric:rouge2"),
        ({"order": "fixed", "judge_models": (("gpt-4.1",),)}, "openai/gpt-4.1; order fixed"),
        (
            {"order": "fixed", "judge_models": (("gpt-4.1-2025-04-14",),)},
            "openai/gpt-4.1; the server of openai/gpt-4.1 calls it gpt-4.1-2025-04-14; order fixed",
        ),
    ],
)
def test_the_judge_is_named_with_its_order_its_flips_and_its_own_name(changes, judge):
    assert detail(make_result(**changes), "judge") == judge


PANEL = {"judge": "openai/m + anthropic/n", "vote": "majority", "order": "fixed"}


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (((), ()), "openai/m + anthropic/n; by majority; order fixed"),
        ((("m",), ("n",)), "openai/m + anthropic/n; by majority; order fixed"),
        (
            (("m",), ("n-1", "n-2")),
            (
                "openai/m + anthropic/n; the model of anthropic/n changed during the run: n-1, then n-2; by majority; "
                "order fixed"
            ),
        ),
    ],
)
def test_a_panel_is_named_with_its_vote_and_each_judges_own_name(models, words):
    assert detail(make_result(**PANEL, judge_models=models), "judge") == words


def test_a_panels_agreement_is_shown_with_the_items_on_which_all_had_a_verdict():
    votes = [(1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (None, 1.0)]
    labels = tuple(Label(Choice(n, None), Verdict(0.5, votes=pair)) for n, pair in enumerate(votes))
    result = make_result(**PANEL, labels=labels)
    assert detail(result, "judge") == (
        "openai/m + anthropic/n; by majority, Cohen's kappa 0.50 on 4 items; order fixed"
    )


@pytest.mark.parametrize(
    ("decoys", "words"),
    [
        (DecoyTally(0, 0, 8, 0), "0 of 8 empty or constant answers beat a real one, 0 tied"),
        (DecoyTally(1, 2, 5, 3), "1 of 8 empty or constant answers beat a real one, 2 tied"),
        (
            DecoyTally(2, 1, 5, 0),
            (
                "2 of 8 empty or constant answers beat a real one, 1 tied: this judge can be fooled, and its verdicts "
                "deserve little trust"
            ),
        ),
        (DecoyTally(0, 0, 1, 0), "0 of 1 empty or constant answer beat a real one, 0 tied"),
    ],
)
def test_decoys_are_shown_with_a_warning_above_a_quarter_of_the_points(decoys, words):
    assert detail(make_result(decoys=decoys), "decoys") == words


def test_the_selector_is_named_with_what_it_looked_at():
    assert detail(make_result(), "selector") == "random, seed 7"
    seen = make_result(selector="diffuse", represent="lexical")
    assert detail(seen, "selector") == "diffuse on lexical vectors, seed 7"


@pytest.mark.parametrize(
    ("spend", "cost"),
    [
        (
            SPEND,
            "$0.021 now, 12 attempts made, 3 answered from the ledger; $0.042 with the commands before",
        ),
        (
            replace(SPEND, unconfirmed_p=10**10),
            (
                "$0.021 now, 12 attempts made, 3 answered from the ledger; $0.010 of it charged for attempts without a "
                "reply, which may not be billed; $0.042 with the commands before"
            ),
        ),
        (Spend(attempts=2), "$0.00 now, 2 attempts made, 0 answered from the ledger"),
        (Spend(attempts=1), "$0.00 now, 1 attempt made, 0 answered from the ledger"),
        (
            Spend(rehearsed_p=10**12),
            "$0.00 now, 0 attempts made, 0 answered from the ledger; $1.00 rehearsed with recorded costs",
        ),
        (
            Spend(known=False),
            "unknown: the model has no known price, 0 attempts made, 0 answered from the ledger",
        ),
    ],
)
def test_the_cost_tells_this_command_from_those_before_and_from_a_rehearsal(spend, cost):
    assert detail(make_result(spend=spend), "cost") == cost


def test_what_a_partial_join_left_out_is_shown():
    assert (
        detail(make_result(left_out="90 matched, 10 only in small"), "left out")
        == "90 matched, 10 only in small"
    )


@pytest.mark.parametrize("made", [make_result, undecided])
def test_strangers_text_cannot_steer_the_terminal_or_break_a_line(made):
    calm = made(left_out="left", judge_models=(("m",),))
    evil = made(
        systems=(f"a{EVIL}", f"b{EVIL}"),
        judge=f"openai/{EVIL}",
        judge_models=((f"m{EVIL}",),),
        represent=EVIL,
        left_out=EVIL,
        **(
            {"sentence": EVIL}
            if made is undecided
            else {"stop": StopReason(StopKind.RISK_MET, EVIL)}
        ),
    )
    text = printed(evil)
    assert not STEERING & set(text)
    assert len(text.splitlines()) == len(printed(calm).splitlines())
    assert r"x\x1b[31m\u202e\u200b\x07\n\r\u2028y" in text.splitlines()[0]


def test_a_dry_run_shows_the_forecast():
    assert forecast(PLAN, foreseen(), priced=True) == (
        "a dry run asks nobody and spends nothing\n"
        "                   low  expected     worst\n"
        "  judgments          5        30     1,000\n"
        "  calls             10        60     2,000\n"
        "  cost         $0.0010   $0.0060     $0.20\n"
        "  the expected case assumes 45 % to 25 % wins and 30 % ties; the worst is every allowed judgment at its "
        "dearest\n  the budget of $5.00 will do"
    )


def test_a_dry_run_says_what_its_forecast_rests_on():
    text = forecast(replace(PLAN, assumed=None), foreseen(asked=4, spend=Spend()), priced=False)
    assert "spends nothing; 4 items are answered from the ledger\n" in text
    assert "the expected case assumes that the verdicts in the ledger go on as they are" in text
    assert text.endswith("at its dearest; the model has no known price\n  no budget bounds it")


@pytest.mark.parametrize(
    ("affordable", "words"),
    [
        (1000, "the budget of $5.00 will do"),
        (
            999,
            "the budget of $5.00 pays for about 999 judgments, and ends the run if it takes longer",
        ),
        (
            30,
            "the budget of $5.00 pays for about 30 judgments, and ends the run if it takes longer",
        ),
        (
            29,
            "the budget of $5.00 pays for about 29 judgments, and ends the run probably before it is decided",
        ),
        (
            1,
            "the budget of $5.00 pays for about 1 judgment, and ends the run probably before it is decided",
        ),
    ],
)
def test_a_dry_run_says_how_far_the_budget_goes(affordable, words):
    text = forecast(replace(PLAN, affordable=affordable), foreseen(), priced=True)
    assert text.endswith(f"\n  {words}")


def test_a_dry_run_that_the_ledger_decides_shows_the_decision():
    lines = forecast(PLAN, make_result(), priced=True).split("\n")
    assert lines[:2] == ["nothing to ask: the ledger already decides.", headline(make_result())]


def test_a_forecast_as_json_has_no_dollars_without_a_price():
    assert plan_json(PLAN, foreseen(), priced=True)["usd"] == {
        "low": 0.001,
        "expected": 0.006,
        "worst": 0.2,
    }
    unpriced = plan_json(PLAN, foreseen(), priced=False)
    assert unpriced["usd"] is None
    assert unpriced["judgments"] == {"low": 5, "expected": 30, "worst": 1000}
    assert (unpriced["decided_by_ledger"], unpriced["dry_run"]) == (None, True)
