"""A table of a result in LaTeX: columns, and signs that LaTeX takes for its own."""

from __future__ import annotations

from judgeloop.report.latex import render_latex
from judgeloop.report.page import Page, Table


def test_standings_are_a_table_whose_caption_has_decision_judge_and_risk():
    table = Table("Standings", ("system", "win rate"), (("gpt_4 & co", "0.61 ± 0.04"),))
    assert render_latex(
        Page("a is best\nof 3.", (), ("Judgments by m: 9. Risk: 0.1.",), tables=(table,))
    ) == (
        "\\begin{table}\n\\caption{a is best of 3. Judgments by m: 9. Risk: 0.1. Standings.}\n\\begin{tabular}{lr}\n\\hline\nsystem & win rate \\\\\n\\hline\n"
        "gpt\\_4 \\& co & 0.61 $\\pm$ 0.04 \\\\\n\\hline\n\\end{tabular}\n\\end{table}\n"
    )


def test_groups_are_a_table_of_their_own_below_the_evidence():
    groups = Table("By group", ("group", "won"), (("maths", "3"),), "Counts only.")
    text = render_latex(Page("x", (("judge", "m"),), notes=(groups,)))
    assert text.count(r"\begin{table}") == 2
    assert "\\caption{By group. Counts only.}" in text.split(r"\end{table}")[1]


def test_a_page_without_a_table_gives_its_details_wrapped_and_no_command_to_latex():
    text = render_latex(Page("x", (("judge", r"\input{/etc/passwd}%"),)))
    assert r"\begin{tabular}{l p{0.75\linewidth}}" in text
    assert r"judge & \textbackslash{}input\{/etc/passwd\}\% \\" in text
