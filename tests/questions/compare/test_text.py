from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.results import SPEND, make_result, undecided

from judgeloop.core.outcomes import DecoyTally, Spend, StopKind, StopReason, Tally
from judgeloop.core.records import IDENTICAL, Choice, Label, Verdict
from judgeloop.methods.stopping.reasons import risk_met
from judgeloop.questions.compare.plan import ASSUMED
from judgeloop.questions.compare.text import details, headline, page, summary
from judgeloop.report.page import render, render_short
from judgeloop.report.sentences import HEADING_RISK, HEADING_STOP
from judgeloop.run.plan import Plan, Range
from judgeloop.run.plan_text import plan_json, render_plan

EVIL = "x\x1b[31m\u202e\u200b\x07\n\r\u2028y"
STEERING = set("\x1b\u202e\u200b\x07\r\u2028")
ALL_JUDGED = StopReason(StopKind.ALL_JUDGED, "every item is judged")
PLAN = Plan(
    Range(5, 30, 1000),
    Range(10, 60, 2000),
    Range(10**9, 6 * 10**9, 2 * 10**11),
    assumed=ASSUMED[1],
    affordable=None,
)


def printed(result, width=10**6):
    return render(page(result), width=width)


def note(result, heading):
    """What stands under a heading."""
    (found,) = [one for one in page(result).notes if one.heading == heading]
    ((_, text),) = found.rows
    return text


def forecast(plan, result, *, priced):
    return render_plan(plan, result, page(result), priced=priced, width=10**6)


def detail(result, name):
    return dict(details(result))[name]


def foreseen(**changes):
    """A dry run that asked nobody."""
    return undecided(
        StopKind.DRY_RUN, "a dry run", tally=Tally(items=100), more_judgments=None, **changes
    )


def test_a_decision_is_a_sentence_that_says_what_it_is_about():
    assert headline(make_result()) == "large is better than small on these 100 items."


def test_what_was_judged_the_risk_and_the_cost_follow():
    assert summary(make_result()) == [
        "Judged by openai/gpt-4.1: 10 of 100 items. Stated risk: 0.042 (heuristic). Cost: $0.042 of $5.00."
    ]


def test_a_rule_with_a_proof_calls_its_risk_guaranteed():
    assert "Stated risk: 0.042 (guaranteed)." in summary(make_result(guarantee="a bound"))[0]


def test_a_decision_on_all_items_has_no_risk_and_warns_that_the_items_are_few():
    result = make_result(tally=Tally(items=10, wins=(1, 8), ties=1), stop=ALL_JUDGED)
    assert headline(result) == "large is better than small on these 10 items."
    assert summary(result) == [
        "Judged by openai/gpt-4.1: all 10 items. Stated risk: 0, as every item is judged. Cost: $0.042 of $5.00.",
        "Warning: the set has few items, 10. Another set of items may turn out differently.",
    ]
    assert "Every item is judged, so the draw of items leaves nothing to chance." in note(
        result, HEADING_RISK
    )


@pytest.mark.parametrize(("items", "warned"), [(12, True), (49, True), (50, False), (800, False)])
def test_under_50_items_there_is_a_warning(items, warned):
    result = make_result(tally=Tally(items=items, wins=(1, 8), ties=1))
    assert any("few items" in line for line in summary(result)) == warned


def test_level_systems_and_no_practical_difference_are_said_as_such():
    stop = StopReason(StopKind.NO_DIFFERENCE, "level")
    level = make_result(winner=None, tally=Tally(items=60, wins=(30, 30)), stop=stop)
    assert headline(level) == "small and large are level on these 60 items."
    near = make_result(winner=None, stop=stop, near_tie=0.05, guarantee="a bound")
    assert headline(near) == (
        "There is no practical difference between small and large on these 100 items."
    )
    assert "Stated risk: 0.1 (guaranteed)." in summary(near)[0]


@pytest.mark.parametrize(
    ("spend", "money"),
    [
        (replace(SPEND, budget_p=None), "$0.042"),
        (replace(SPEND, run_p=0, now_p=0), "$0.00 of $5.00"),
        (replace(SPEND, budget_p=None, known=False), "an unknown amount"),
    ],
)
def test_the_summary_says_what_was_spent(spend, money):
    assert summary(make_result(spend=spend))[0].endswith(f" Cost: {money}.")


def test_a_risk_of_one_is_not_stated():
    nothing_ruled_out = summary(replace(undecided(), risk=1.0))[0]
    assert "Votes: 5 to 4 for small. Cost: $0.042" in nothing_ruled_out
    assert "risk" not in nothing_ruled_out


def test_a_run_that_was_given_up_says_why_and_what_would_go_on():
    sentence = "gave up, as the chance of a decision within 200 judgments is about 0.12, under 0.2"
    result = undecided(StopKind.FUTILITY, sentence, more_judgments=60, give_up=0.2)
    assert headline(result) == (
        "No winner yet between small and large on these 100 items: a decision within the limit of judgments is unlikely."
    )
    assert summary(result) == [
        "Judged by openai/gpt-4.1: 10 of 100 items. Votes: 5 to 4 for small. Stated risk of naming small now: 0.042 (heuristic). Cost: $0.042 of $5.00.",
        "About 60 more judgments (about $0.24) would probably decide: raise `max_judgments`, or leave out `give_up`.",
    ]
    assert note(result, HEADING_STOP) == f"G{sentence[1:]}."
    assert detail(result, "rule").endswith("; gives up where a decision is less likely than 0.2")
    assert result.exit_code == 3
    assert "gives up" not in detail(undecided(), "rule")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        # 10 items cost $0.042, so 30 more would cost three times that.
        (
            {},
            "About 30 more judgments (about $0.12) would probably decide.",
        ),
        (
            {"more_judgments": 1},
            "About 1 more judgment (about $0.0040) would probably decide.",
        ),
        (
            {"spend": replace(SPEND, next_p=10**10)},
            "About 30 more judgments (about $0.12) would probably decide. `budget=0.35` would cover the worst case of each.",
        ),
        (
            {"spend": replace(SPEND, next_p=10**10), "more_judgments": 1},
            "About 1 more judgment (about $0.0040) would probably decide. `budget=0.052` would cover the worst case of it.",
        ),
        (
            {"spend": replace(SPEND, next_p=10**10), "tally": Tally(items=100)},
            "Nothing is judged. `budget=0.052` would cover the worst case of the next judgment.",
        ),
        (
            {"spend": Spend()},
            "About 30 more judgments would probably decide.",
        ),
        (
            {"spend": replace(SPEND, known=False)},
            "About 30 more judgments would probably decide.",
        ),
        (
            {"more_judgments": None},
            "At these shares of votes, not even all 100 items would decide.",
        ),
        (
            {"tally": Tally(items=100, wins=(5, 5)), "more_judgments": None},
            "The systems are level, so no number of judgments is in sight that would decide.",
        ),
        ({"tally": Tally(items=10, wins=(5, 4), ties=1)}, "Nothing is left to judge."),
        ({"tally": Tally(items=100), "more_judgments": None}, "Nothing is judged."),
    ],
)
def test_no_decision_says_why_and_what_would_decide(changes, line):
    result = undecided(**changes)
    assert headline(result) == (
        f"No winner yet between small and large on these {result.items} items: the budget does not cover another judgment."
    )
    assert summary(result)[1] == line


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        (
            {},
            "Judged by openai/gpt-4.1: 10 of 100 items. Votes: 5 to 4 for small. Stated risk of naming small now: 0.042 (heuristic). Cost: $0.042 of $5.00.",
        ),
        (
            {"tally": Tally(items=100, wins=(4, 5), ties=1)},
            "Judged by openai/gpt-4.1: 10 of 100 items. Votes: 5 to 4 for large. Stated risk of naming large now: 0.042 (heuristic). Cost: $0.042 of $5.00.",
        ),
        (
            {"tally": Tally(items=100, wins=(5, 5))},
            "Judged by openai/gpt-4.1: 10 of 100 items. Cost: $0.042 of $5.00.",
        ),
        (
            {"tally": Tally(items=100)},
            "Judged by openai/gpt-4.1: 0 of 100 items. Cost: $0.042 of $5.00.",
        ),
    ],
)
def test_no_decision_says_what_was_judged_the_votes_the_risk_and_the_money(changes, standing):
    assert summary(undecided(**changes))[0] == standing


def test_a_budget_that_was_exceeded_is_shouted_about_and_a_rehearsed_one_is_not():
    spend = replace(SPEND, run_p=6 * 10**12, over_p=1)
    exceeded = summary(make_result(spend=spend))[0]
    assert exceeded.endswith(" Cost: BUDGET EXCEEDED: $6.00 of $5.00.")
    rehearsed = replace(SPEND, run_p=0, rehearsed_p=6 * 10**12)
    assert summary(make_result(spend=rehearsed))[0].endswith(" Cost: $0.00 of $5.00.")


@pytest.mark.parametrize(
    ("now_p", "by"), [(0, "spent by earlier commands"), (10**10, "with other commands")]
)
def test_a_budget_under_what_other_commands_spent_is_not_an_overrun(now_p, by):
    spend = replace(SPEND, now_p=now_p, run_p=6 * 10**12)
    said = summary(make_result(spend=spend))[0]
    assert said.endswith(f" Cost: $6.00, {by}, of a budget of $5.00 now.")


@pytest.mark.parametrize(("flips", "warned"), [(8, False), (9, True)])
def test_a_judge_that_judges_places_is_warned_about_in_the_summary(flips, warned):
    tally = Tally(items=100, wins=(0, 4), ties=flips, flips=flips, both=10)
    shown = summary(make_result(tally=tally))
    warning = "Warning: 90% of the verdicts changed with the order of presentation: this judge mainly prefers a position."
    assert (warning in shown) == warned


def test_doubtful_data_is_warned_about_in_the_summary():
    said = summary(make_result(repeated={"small": 40}, asked_anew="a function has no identity"))
    assert said[1:] == [
        "Warning: small gives the very same output to 40 of 100 items.",
        "Warning: A function has no identity.",
    ]


def test_empty_outputs_are_warned_about_in_the_summary():
    assert summary(make_result(empty={"small": 1, "large": 12}))[1:] == [
        "Warning: 1 output of small is empty.",
        "Warning: 12 outputs of large are empty.",
    ]


def test_a_required_winner_that_lost_is_said_before_anything_else():
    assert headline(make_result(required_winner="small")) == (
        "FAILED: small was required, and large is better than small on these 100 items."
    )
    assert headline(make_result(required_winner="large")) == headline(make_result())
    assert headline(undecided(required_winner="large")) == headline(undecided())


@pytest.mark.parametrize(
    ("kind", "why", "how"),
    [
        (StopKind.INTERRUPTED, "the run was interrupted", "The same command goes on from here"),
        (
            StopKind.JUDGE_FAILED,
            "the judge failed",
            "Once this is mended, the same command goes on from here",
        ),
        (
            StopKind.ABSTENTIONS,
            "too many items have no verdict",
            "Once this is mended, the same command goes on from here",
        ),
    ],
)
def test_a_run_that_was_cut_short_says_how_it_goes_on(kind, why, how):
    result = undecided(kind, "cut short")
    assert headline(result).endswith(f" on these 100 items: {why}.")
    assert summary(result)[1] == f"{how}, and pays for nothing twice."
    assert note(result, HEADING_STOP) == "Cut short."


def test_the_decision_is_the_first_line_and_the_rest_follows_in_paragraphs():
    first, *more = printed(make_result()).split("\n\n")
    assert first.split("\n") == [headline(make_result()), *summary(make_result())]
    assert [line.split()[0] for line in more[0].split("\n")] == [
        "votes",
        "gap",
        "rule",
        "judge",
        "selector",
        "cost",
    ]
    assert [paragraph.split("\n")[0] for paragraph in more[1:]] == [HEADING_STOP, HEADING_RISK]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_result_wraps_at_words(width):
    result = undecided(guarantee=" ".join(["word"] * 80), systems=("a-long-name", "another-one"))
    lines = printed(result, width).split("\n")
    assert max(map(len, lines)) <= width
    assert " ".join(printed(result, width).split()) == " ".join(printed(result, 10**6).split())
    names = [line for line in lines if line.startswith("  rule  ")]
    assert names, "names stay in their column"


def test_what_is_proved_stands_once_under_a_heading_of_its_own():
    text = printed(make_result(guarantee="a proved bound"))
    assert text.count("a proved bound") == 1
    assert "The risk that was asked for, 0.1, is guaranteed: a proved bound." in note(
        make_result(guarantee="a proved bound"), HEADING_RISK
    )
    assert "The stated risk is a heuristic" in note(make_result(), HEADING_RISK)


def test_only_of_a_decision_it_is_said_at_which_risk_it_would_have_been_made():
    lowest = "The stated risk is the lowest at which this run would have ended here."
    assert lowest in note(make_result(guarantee="a bound"), HEADING_RISK)
    limit = StopReason(StopKind.JUDGMENT_LIMIT, "the limit is reached")
    undecided = make_result(guarantee="a bound", winner=None, stop=limit)
    assert "stated risk" not in note(undecided, HEADING_RISK)


def test_the_short_form_is_the_decision_the_cost_and_the_warnings():
    result = make_result(repeated={"small": 40})
    assert render_short(page(result)).split("\n") == [headline(result), *summary(result)]


def test_the_votes_are_counted_with_what_is_no_vote():
    result = make_result(tally=Tally(items=100, wins=(1, 8), ties=1, abstentions=2))
    assert detail(result, "votes") == "1 for small, 8 for large, 1 tie, 2 abstentions"
    more = make_result(tally=Tally(items=100, wins=(1, 8), ties=2, abstentions=1))
    assert detail(more, "votes") == "1 for small, 8 for large, 2 ties, 1 abstention"
    aside = make_result(tally=Tally(items=100, wins=(1, 8), ties=1), asked=13)
    assert detail(aside, "votes").endswith("; 3 more were judged, but do not count in the decision")


def test_a_gap_among_picked_items_is_never_shown_as_plain():
    tally = Tally(items=100, wins=(1, 8), ties=1, picked=True)
    assert detail(make_result(tally=tally), "gap") == (
        "0.70 for large among the judged items, which were picked and do not stand for the others: not an "
        "estimate for all items"
    )


@pytest.mark.parametrize(
    ("tally", "gap"),
    [
        (
            Tally(items=100, wins=(1, 8), ties=1),
            "0.70 for large: the share of judged items won, less the share lost",
        ),
        (
            Tally(items=10, wins=(1, 8), ties=1, picked=True),
            "0.70 for large: the share of judged items won, less the share lost",
        ),
        (Tally(items=100, wins=(4, 4)), "0.00: the share of judged items won, less the share lost"),
        (Tally(items=100), "nothing is judged"),
    ],
)
def test_a_gap_among_drawn_or_all_items_is_plain(tally, gap):
    assert detail(make_result(winner=None, tally=tally), "gap") == gap


def test_a_gap_at_which_the_run_stopped_is_said_to_be_large():
    large = "; on average larger than over all items, as the run stopped at a lead"
    assert detail(make_result(), "gap").endswith(large)
    whole = Tally(items=10, wins=(1, 8), ties=1)
    assert large not in detail(make_result(tally=whole), "gap")


def test_the_rule_is_named_with_its_threshold():
    assert detail(make_result(), "rule") == "tie-aware, stops at a stated risk of 0.1"


@pytest.mark.parametrize(
    ("changes", "judge"),
    [
        (
            {},
            "openai/gpt-4.1; order both, 0 of 9 verdicts asked in both orders flipped (0%, 95 % interval 0% to 30%)",
        ),
        (
            {"tally": Tally(items=100, wins=(1, 7), ties=2, flips=2, both=10)},
            "openai/gpt-4.1; order both, 2 of 10 verdicts asked in both orders flipped (20%, 95 % interval 6% to 51%)",
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
        (DecoyTally(2, 1, 5, 0), "2 of 8 empty or constant answers beat a real one, 1 tied"),
        (DecoyTally(0, 0, 1, 0), "0 of 1 empty or constant answer beat a real one, 0 tied"),
    ],
)
def test_decoys_are_shown_with_a_warning_above_a_quarter_of_the_points(decoys, words):
    result = make_result(decoys=decoys)
    assert detail(result, "decoys") == words
    fooled = 2 * decoys.won + decoys.tied > (decoys.won + decoys.tied + decoys.lost) / 2
    assert any("can be fooled" in line for line in summary(result)) == fooled


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
                "$0.021 now, 12 attempts made, 3 answered from the ledger; $0.010 of all that the run cost charged "
                "for attempts without a reply, which may not be billed (see `judgeloop ledger reconcile`); $0.042 with the commands before"
            ),
        ),
        (
            replace(SPEND, run_p=SPEND.now_p, unreported=1200),
            (
                "$0.021 now, 12 attempts made, 3 answered from the ledger; 1,200 replies without a usage report are "
                "charged at their worst case"
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
        "This is a forecast: a dry run asks nobody and spends nothing.\n"
        "\n"
        "                   low  expected     worst\n"
        "  judgments          5        30     1,000\n"
        "  calls             10        60     2,000\n"
        "  cost         $0.0010   $0.0060     $0.20\n"
        "\n"
        "The expected case assumes 45 % to 25 % wins and 30 % ties. The worst case is that every allowed judgment is "
        "made, at the highest cost.\n"
        "The figures count two calls for each item. The second is not made after a tie, so that fewer are likely.\n"
        "The budget of $5.00 is enough."
    )


def test_a_dry_run_says_what_its_forecast_rests_on():
    text = forecast(replace(PLAN, assumed=None), foreseen(asked=4, spend=Spend()), priced=False)
    assert (
        "spends nothing. 4 judgments need no call: known verdicts, or identical outputs.\n" in text
    )
    assert "The expected case assumes that the verdicts in the ledger go on as they are." in text
    assert text.endswith("No budget limits the cost.\nThe model has no known price.")


@pytest.mark.parametrize(
    ("affordable", "words"),
    [
        (1000, "is enough"),
        (999, "pays for about 999 judgments, and ends the run if it takes longer"),
        (30, "pays for about 30 judgments, and ends the run if it takes longer"),
        (29, "pays for about 29 judgments, and ends the run probably before it is decided"),
        (1, "pays for about 1 judgment, and ends the run probably before it is decided"),
    ],
)
def test_a_dry_run_says_how_far_the_budget_goes(affordable, words):
    text = forecast(replace(PLAN, affordable=affordable), foreseen(), priced=True)
    assert text.endswith(f"\nThe budget of $5.00 {words}.")


def test_a_dry_run_that_the_ledger_decides_shows_the_decision():
    first, rest = forecast(PLAN, make_result(), priced=True).split("\n\n", 1)
    assert first.startswith("Known verdicts, or identical outputs, already decide.")
    assert rest.startswith(headline(make_result()))
    nothing = replace(PLAN, calls=Range(0, 0, 0))
    first, _ = forecast(nothing, make_result(), priced=True).split("\n\n", 1)
    assert first == "Nothing to ask: known verdicts, or identical outputs, already decide."


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


@pytest.mark.parametrize(
    ("order", "wins", "ties", "flips", "both", "said"),
    [
        ("both", (30, 10), 10, 0, 40, "one order (`order=random`) would take about 56% of the calls"),
        ("both", (10, 5), 35, 0, 15, None),  # too few verdicts in both orders to tell
        ("both", (14, 10), 76, 0, 24, None),  # 81 % of the calls: not worth a word
        ("audited", (20, 10), 20, 12, 20, "both orders (`order=both`) would take about 64% of the calls"),
        ("audited", (20, 10), 20, 2, 20, None),
        ("random", (30, 10), 10, 0, 0, None),
    ],
)  # fmt: skip
def test_the_other_order_is_named_where_it_would_be_clearly_cheaper(
    order, wins, ties, flips, both, said
):
    tally = Tally(items=100, wins=wins, ties=ties, flips=flips, both=both)
    rows = dict(details(make_result(tally=tally, order=order)))
    assert rows.get("cheaper", "").partition(", for another")[0] == (said or "")


def test_judged_in_one_order_the_decision_is_about_items_like_these_and_never_certain():
    tally = Tally(items=60, wins=(40, 10), ties=10)
    result = make_result(tally=tally, winner=0, order="random", sampled=True)
    assert "is better than" in headline(result)
    assert "on items like these 60" in headline(result)
    assert "every item is judged" not in str(result)
    assert "each shown in one order drawn at random" in note(result, HEADING_RISK)
    assert result.to_dict()["about"] == "items_like_these"


def test_a_judge_that_prefers_nothing_is_warned_about():
    nothing = make_result(tally=Tally(items=100, ties=10))
    assert any("all 10 verdicts are ties" in line for line in summary(nothing))
    few = make_result(tally=Tally(items=100, ties=9))
    assert not any("ties, so this judge" in line for line in summary(few))


@pytest.mark.parametrize(
    ("wins", "winner", "changes", "said"),
    [
        ((31, 28), 0, {}, "31 to 28 may be chance (p-value 0.795, sign test)"),
        ((23, 27), 1, {}, "27 to 23 may be chance (p-value 0.672, sign test)"),
        ((40, 15), 0, {}, None),  # p = 0.001
        ((31, 28), None, {}, None),  # nobody is named
        ((8, 4), 0, {}, None),  # early: further judgments may tell
        ((31, 28), 0, {"order": "random", "sampled": True}, None),  # about items like these
    ],
)
def test_a_lead_that_may_be_chance_on_other_items_is_warned_about(wins, winner, changes, said):
    told = summary(make_result(tally=Tally(items=60, wins=wins), winner=winner, **changes))
    found = [line for line in told if "on others like them" in line.lower()]
    assert len(found) == (said is not None)
    assert not found or said in found[0]


def test_draws_that_prefer_items_say_nothing_of_others():
    level = Tally(items=60, wins=(31, 28))
    assert make_result(tally=level, winner=0).p_value_beyond == pytest.approx(0.795, abs=1e-3)
    assert make_result(tally=replace(level, picked=True), winner=0).p_value_beyond is None


def test_ties_that_nobody_was_asked_about_are_counted():
    label = replace(make_result().labels[0], reason=IDENTICAL, in_decision=True)
    shown = dict(details(replace(make_result(), labels=(label, label))))["votes"]
    assert "1 tie (2 of identical outputs, not asked), " in shown


def test_where_every_item_is_judged_no_other_risk_is_stated_as_the_end():
    every = make_result(
        tally=Tally(items=10, wins=(1, 8), ties=1),
        stop=risk_met(0.0004, 0.1),
    )
    assert "Stated risk: 0, as every item is judged." in summary(every)[0]
    assert note(every, HEADING_STOP) == "Every item is judged."


def test_two_equal_files_are_not_blamed_on_the_judge():
    def tied(reason):
        labels = tuple(Label(Choice(n, None), Verdict(0.5, reason)) for n in range(1200))
        tally = Tally(items=1200, ties=1200)
        return summary(make_result(winner=None, tally=tally, labels=labels))

    alike = " ".join(tied(IDENTICAL))
    assert "all 1,200 pairs of outputs are identical" in alike
    assert "this judge may not fit" not in alike
    assert "this judge may not fit" in " ".join(tied("both are good"))


def test_large_numbers_have_separators():
    tally = Tally(items=60000, wins=(22816, 27000), ties=4315, both=40000, flips=1315)
    result = make_result(
        tally=tally, labels=(), asked=55131, spend=replace(SPEND, remembered=49891),
        decoys=DecoyTally(1000, 2000, 3000, 0),
    )  # fmt: skip
    shown = " ".join([*summary(result), *(text for _, text in result.page.details)])
    assert not re.findall(r"(?<![\d.])\d{4,}", shown.replace("0123abcd", ""))


def test_a_name_at_the_beginning_of_a_warning_stays_as_it_is():
    name = "python:__main__:<lambda> was asked anew"
    assert f"Warning: {name}." in summary(make_result(asked_anew=name))
