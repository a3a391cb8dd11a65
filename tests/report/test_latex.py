"""A table of a result in LaTeX: columns, and signs that LaTeX takes for its own."""

from __future__ import annotations

from dataclasses import replace

from support.results import make_result, undecided

from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.questions.compare.page import page
from judgeloop.report.forms import render_latex
from judgeloop.report.page import Fact, Page, PageTable, Section, decided

STANDINGS = PageTable("Standings", ("system", "win rate"), (("gpt_4 & co", "0.61 ± 0.04"),))


def test_standings_are_a_table_with_the_decision_as_caption_and_notes_below():
    facts = (
        decided("a is best\nof 3."),
        Fact("judged", Section.EVIDENCE, "judged", "9, by m"),
        Fact("risk", Section.RISK, "risk", "0.1"),
        Fact("warning.x", Section.WARNING, "", "The set is small."),
        Fact("run", Section.AGAIN, "run", "0af3"),
    )
    assert render_latex(Page(facts, (STANDINGS,))) == (
        "% Needs \\usepackage{booktabs}.\n% Warning: The set is small.\n"
        "\\begin{table}\n\\centering\n\\caption{a is best of 3.}\n\\label{tab:0af3}\n\\begin{tabular}{lr}\n\\toprule\n"
        "system & win rate \\\\\n\\midrule\ngpt\\_4 \\& co & 0.61 $\\pm$ 0.04 \\\\\n\\bottomrule\n\\end{tabular}\n"
        "\\par\\smallskip\n{\\footnotesize Judged: 9, by m. Risk: 0.1. Standings.\\par}\n\\end{table}\n"
    )


def test_a_warning_that_limits_the_stated_risk_stands_behind_it_and_others_are_comments():
    facts = (
        decided("a is better."),
        Fact("risk", Section.RISK, "risk", "0.1, guaranteed"),
        Fact("gap.means", Section.EVIDENCE, "gap", "The gap is a share."),
        Fact("warning.searched", Section.WARNING, "", "The risk does not hold.", first=True),
        Fact("warning.few_items", Section.WARNING, "", "The set is small.", first=True),
    )
    before, table = render_latex(Page(facts)).split(r"\begin{table}")
    assert "Risk: 0.1, guaranteed. The risk does not hold. The gap is a share." in table
    assert ("does not hold" in before, "The set is small." in before, "set is small" in table) == (False, True, False)


def test_groups_are_a_table_of_their_own_below_the_evidence():
    groups = PageTable("By group", ("group", "won"), (("maths", "3"),), "Counts only.", Section.GROUPS)
    text = render_latex(Page((decided("x"),), (groups, STANDINGS)))
    assert text.count(r"\begin{table}") == 2
    second = text.split(r"\end{table}")[1]
    assert "\\caption{By group.}\n\\label{tab:result-1}" in second
    assert "{\\footnotesize Counts only.\\par}" in second


def test_a_comparison_is_a_row_of_figures_and_its_evidence_is_a_comment():
    text = render_latex(make_result(guarantee="proved").page)
    evidence, table = text.split(r"\begin{table}")
    assert "\n% votes: 1 for small, 8 for large, 1 tie\n" in evidence
    assert all(line.startswith("% ") for line in evidence.splitlines())
    assert r"system & against & judged & won & ties & lost & gap, points & bounds \\" in table
    assert r"large & small & 10 & 8 & 1 & 1 & +70 & +7 to +97 \\" in table
    assert r"\begin{tabular}{llrrrrrr}" in table
    assert "Cost: " not in table
    assert "% cost: " in evidence


def test_evidence_gives_no_command_to_latex():
    text = render_latex(
        Page((decided("x"), Fact("judge", Section.JUDGE, "judge", "m\n\\input{/etc/passwd}")), (STANDINGS,))
    )
    assert "\n% judge: m \\input{/etc/passwd}\n\\begin{table}" in text


def test_negative_figures_have_the_sign_of_mathematics_and_bounds_their_risk():
    worse = Tally(items=100, wins=(8, 1), ties=1)
    table = render_latex(make_result(tally=worse, winner=0, guarantee="proved").page).split(r"\begin{table}")[1]
    assert "small & large & 10 & 8 & 1 & 1 & +70 & +7 to +97" in table, "seen from the one that is better"
    gate = make_result(tally=worse, winner=0, guarantee="proved", not_worse=0.1).page
    assert "$-70$ & $-97$ to " in render_latex(gate), "a gate is seen from the candidate"
    text = render_latex(make_result(winner=None, guarantee="proved", rule="bets").page)
    notes = text.split(r"\end{tabular}")[1]
    assert "Each bound is wrong with a chance of at most 0.1, so both hold in at least 80 \\% of runs." in notes, (
        "also where nothing is decided"
    )


def test_a_table_of_an_open_question_has_a_caption_without_the_reason_of_the_end():
    open_ = undecided(StopKind.JUDGMENT_LIMIT, "the maximum number of judgments is reached")
    caption = next(line for line in render_latex(open_.page).split("\n") if line.startswith(r"\caption"))
    assert caption == r"\caption{No winner between small and large on these 100 items.}"
    gate = undecided(StopKind.JUDGMENT_LIMIT, "the maximum number of judgments is reached", not_worse=0.1)
    assert "maximum" not in gate.page.caption
    assert make_result().page.caption == "", "a decision is its own caption"


def test_a_sentence_for_a_paper_has_judge_items_order_votes_gap_bounds_and_risk():
    gate = make_result(guarantee="proved", rule="bets", order="both")
    said = gate.page.text("paper")
    for part in (
        "openai/gpt-4.1",
        "10 (drawn at random) of 100 items",
        "both orders",
        "large won 8, lost 1 and tied 1",
    ):
        assert part in said
    assert "+70 points (+7 to +97 on all items, each bound at 90 %, at every look)" in said
    assert said.endswith("At a risk of 0.1, large is better than small on these 100 items.")
    assert f"% for a paper: {said}" in render_latex(gate.page)


def test_a_claim_for_a_paper_has_its_conditions_its_margin_and_what_was_asked_before():
    proved = {"guarantee": "proved", "rule": "bets"}
    found = replace(make_result(**proved), searched=5, comparison=3, risk_before=0.2)
    said = page(found).text("paper")
    assert "At a risk of 0.1, if no earlier search chose these two, large is better" in said
    assert said.endswith(
        " Before, small was in 2 other tests by this judge; with this test, the chance of any wrong decision is at most 0.3."
    )
    level = make_result(winner=None, stop=StopReason(StopKind.NO_DIFFERENCE, "level"), near_tie=0.3, **proved)
    assert level.page.text("paper").endswith(
        "At a risk of 0.1, small and large differ by at most 30 points on these 100 items."
    )
