"""Figures stand where the pages say: those of the papers' claims, and those with a link to the results."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import click
import pytest

from judgeloop.cli.commands import command_at

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results" / "tables.md").read_text(encoding="utf-8")
PAPERS = ("DiffUse", "LLM Selector", "AcTracer")
CLAIMS = re.findall(
    r"<!-- claims -->\n(.*?)<!-- end -->",
    (ROOT / "docs" / "explanation" / "papers.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
ROWS_OF = {
    paper: [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    for paper, table in zip(PAPERS, CLAIMS, strict=True)
}
ROWS = [row for rows in ROWS_OF.values() for row in rows]
UNTRIED = "not attempted, because "


def results():
    """`benchmarks/results.py`, which makes every table of the page."""
    spec = importlib.util.spec_from_file_location("results", ROOT / "benchmarks" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RESULTS = results()
EVERY = RESULTS.REPLAYS


LINKED = [
    (page, figure, page.parent / target)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for text, target in re.findall(r"(?<!!)\[([^]]+)\]\(([^)#]*results/[^)#]+\.md)", page.read_text(encoding="utf-8"))
    for figure in re.findall(r"[\d,]*\d(?:\.\d+)?", text)
]


@pytest.mark.parametrize(
    ("page", "figure", "target"), LINKED, ids=[f"{page.stem}-{figure}" for page, figure, _ in LINKED]
)
def test_a_figure_with_a_link_to_the_results_stands_there(page, figure, target):
    assert figure in re.findall(r"[\d,]*\d(?:\.\d+)?", target.read_text(encoding="utf-8"))


def test_the_table_of_the_race_has_the_figures_of_the_results():
    page = (ROOT / "docs" / "how-to" / "select.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| [\d,]+ \| ([\d,]+(?: \| [\d,]+){3}) \|$", page, re.MULTILINE)
    assert len(rows) == 3
    for systems, calls in rows:
        cells = r"[^|]*\| ".join(calls.split(" | "))
        assert re.search(rf"\| GPT-4 \| 400 \| 0\.1 \| {systems} \| \d+ \| {cells}", PAGE), systems


def test_the_readmes_easy_and_hard_set_have_the_figures_of_what_each_question_costs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "how-to" / "questions.md").read_text(encoding="utf-8")
    easy = page.partition("| AlpacaEval, GPT-4 (73 % ties) |")[2]
    hard = page.partition("| MQM news, people |")[2]
    of = {"which is better?": " winner ", "not worse by 10 points?": " `--not-worse` "}
    rows = re.findall(r"\| (which is better\?|not worse by 10 points\?) \| (\d+) \| (\S+ %) \| (\S+ %) \|", readme)
    assert len(rows) == 4
    for at, (question, judgments, wrong, none) in enumerate(rows):
        cells = (easy, hard)[at // 2].partition(f"{of[question]}|")[2].split(" | ")
        assert [one.strip() for one in cells[:3]] == [judgments, none, wrong]


def only(row):
    """The experiments that a row's command makes."""
    command = shlex.split(re.fullmatch(r"`([^`]+)`", row[3])[1])
    assert command[:2] == ["python", "benchmarks/results.py"], command
    return RESULTS.parsed(command[2:]).only


def tables(names):
    """The text of every table that the experiments fill."""
    parts = "needed|calls|queries|gaps|races|level|area|error|coverage|half_width"
    return " ".join(
        text
        for mark, text in re.findall(r"<!-- table: (\S+) -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
        if mark in names or re.sub(rf"-({parts})$", "", mark) in names
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_a_claim_has_a_place_and_a_command_or_a_reason(row):
    where, claim, here, command = row
    assert re.search(r"abstract|section|table|figure|appendix", where)
    assert claim
    if command.startswith(UNTRIED):
        assert not here, "what was not attempted has no figure"
    else:
        assert here


@pytest.mark.parametrize("row", [row for row in ROWS if not row[3].startswith(UNTRIED)], ids=lambda row: row[0][:40])
def test_a_claims_command_parses_and_its_figures_stand_in_the_table_that_it_fills(row):
    names = only(row)
    found = set(re.findall(r"[\d,]*\d(?:\.\d+)?", tables(names)))
    for figure in re.findall(r"\*\*([\d.,]+)\*\*", row[2]):
        assert figure in found, f"{figure} is in no table of {names}"


@pytest.mark.parametrize("name", EVERY)
def test_every_command_of_the_results_parses(name):
    _, _, flags = EVERY[name]
    files = ["outputs", "--items", "items.jsonl", "--verdicts", "v.csv", "-o", "out"]
    vectors = [] if name.startswith("estimate") else ["--vectors", "v.npz"]
    if name in RESULTS.SELECTIONS | RESULTS.BELIEFS or "lexical" in flags:
        vectors = []
    command = command_at(("replay",))
    with command.make_context("replay", [*files, *flags, *vectors, "--config", "none"]) as context:
        check(context)


def check(context: click.Context) -> None:
    """Make the configuration, as the command does before it runs."""
    from judgeloop.replay.settings import CONFIGS

    given = dict(context.params)
    config = CONFIGS[given.pop("job")]
    given.pop("json")
    given.pop("quiet")
    config.of(**{name: value for name, value in given.items() if value is not None})


def test_every_paper_has_claims_and_some_that_were_not_attempted():
    for own in ROWS_OF.values():
        assert {row[3].startswith(UNTRIED) for row in own} == {True, False}
