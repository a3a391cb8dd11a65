"""What a comparison learns from earlier ones, through the command line: the ledger, some of its
runs, a file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.commandline import judged_items, judgeloop
from support.database import opened

from judgeloop.history.comparisons import history_of
from judgeloop.history.past import past_of_scores

ITEMS = 60
TELLING = range(0, ITEMS, 5)  # the items on which anything is ever decided


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Outputs of "prod" and five candidates, and a table of scores that tie but on the telling
    items."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    rows = ["item_id,model,score"]
    for number, name in enumerate(("prod", "c1", "c2", "c3", "c4", "c5")):
        lines = [{"id": f"i{at}", "prompt": f"p{at}", "model": name, "output": f"{name} {at}"} for at in range(ITEMS)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for at in range(ITEMS):
            score = 0.2 * number + rng.normal() if at in TELLING else 0.0
            rows.append(f"i{at},{name},{score:.4f}")
    (tmp_path / "verdicts.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def command(first, second, *more, judge="replay:verdicts.csv", rule=("--rule", "tie-aware")):
    return judgeloop("compare", f"{first}.jsonl", f"{second}.jsonl", "--judge", judge, *rule, *more)


def compare(first, second, *more, **how):
    result = command(first, second, "--json", *more, **how)
    assert result.exit_code in {0, 3}, result.output
    return json.loads(result.stdout)


def compared_before(*names):
    """The run of each earlier comparison with "prod", on all items."""
    return [compare("prod", name, f"JUDGELOOP_MIN_JUDGMENTS={ITEMS}")["run"] for name in names]


FOUR = ("c1", "c2", "c3", "c4")


def drawn(run):
    return [(row["item_id"], float(row["propensity"])) for row in judged_items(run["run"])]


def share_of_telling(run):
    """Of the items judged; a fifth of all are."""
    items = [int(item.removeprefix("i")) for item, _ in drawn(run)]
    return sum(item in TELLING for item in items) / len(items)


def test_the_first_comparison_draws_what_random_draws(folder):
    first = compare("prod", "c1")
    assert first["selector"] == "decisive"
    assert first["history"] == "no other comparisons on these items in the ledger: plain random draws"
    plain = compare("prod", "c1", "--selector", "random")
    assert drawn(first) == drawn(plain)
    unused = [[w for w in one["warnings"] if w["code"] == "history_unused"] for one in (first, plain)]
    assert (len(unused[0]), unused[1]) == (1, [])


def test_the_ledger_makes_later_comparisons_prefer_items_that_decided(folder):
    compared_before(*FOUR)
    later = compare("prod", "c5")
    assert later["history"] == "240 verdicts of 4 comparisons in the ledger"
    assert share_of_telling(later) > 0.5
    assert len({propensity for _, propensity in drawn(later)}) > 1


def test_a_run_repeated_sees_the_past_that_it_saw_first(folder):
    compared_before("c1")
    before = compare("prod", "c2")
    compared_before("c3")
    again = compare("prod", "c2")
    assert drawn(again) == drawn(before)
    assert again["attempts"] == 0
    assert again["history"] == before["history"]


def test_verdicts_on_the_very_outputs_that_are_compared_are_no_history(folder):
    compare("prod", "c1", "--seed", 7, f"JUDGELOOP_MIN_JUDGMENTS={ITEMS}")
    assert compare("c1", "prod")["history"].startswith("no other comparisons")


def test_a_dry_run_foresees_by_the_history_and_begins_nothing(folder):
    compared_before("c1")
    result = command("prod", "c2", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Rule tie-aware, selector decisive: 60 verdicts" in result.stdout
    short = command("prod", "c2", "--dry-run", rule=("--rule", "calibrated"))
    assert "Rule sequential, selector random: too little history" in short.stdout
    with opened(".judgeloop/ledger.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_only_the_runs_named_count(folder):
    runs = compared_before("c1", "c2", "c3")
    two = compare("prod", "c5", "--history", f"{runs[0]},{runs[2]}")
    assert two["history"] == f"120 verdicts of 2 comparisons in runs {runs[0]}, {runs[2]}"
    one = compare("prod", "c5", "--history", runs[1])
    assert one["run"] != two["run"]
    # What is peculiar to the one system cannot be told from what is in the items.
    assert one["history"] == f"60 verdicts of 1 comparison in run {runs[1]}: plain random draws"


def test_a_file_of_scores_is_a_history_without_the_pair_itself(folder):
    found = compare("prod", "c5", "--history", "verdicts.csv")
    assert found["history"] == "840 verdicts of 14 comparisons in verdicts.csv"
    assert share_of_telling(found) > 0.5


def test_another_file_is_another_run(folder):
    first = compare("prod", "c5", "--history", "verdicts.csv")["run"]
    rows = (folder / "verdicts.csv").read_text().splitlines()
    (folder / "fewer.csv").write_text("\n".join(row for row in rows if ",c1," not in row) + "\n")
    assert compare("prod", "c5", "--history", "fewer.csv")["run"] != first


def test_no_history_is_random(folder):
    compared_before("c1")
    without = compare("prod", "c2", "--history", "none")
    assert without["history"] == "no history: plain random draws"
    assert "history_unused" not in {one["code"] for one in without["warnings"]}, "it was asked for"
    assert drawn(without) == drawn(compare("prod", "c2", "--selector", "random"))


def test_a_system_of_the_same_name_with_other_outputs_is_another_system(folder):
    for night in (1, 2):
        rows = [json.loads(line) for line in (folder / "c1.jsonl").read_text().splitlines()]
        renewed = [row | {"output": f"{row['output']} of night {night}"} for row in rows]
        (folder / "c1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renewed))
        compare("prod", "c1", f"JUDGELOOP_MIN_JUDGMENTS={ITEMS}")
    assert compare("prod", "c2")["history"] == "120 verdicts of 2 comparisons in the ledger"


def test_verdicts_by_another_judge_serve_where_there_are_none_by_this_one(folder):
    (folder / "same.csv").write_text((folder / "verdicts.csv").read_text() + "\n")
    compared_before("c1", "c3")
    found = compare("prod", "c2", judge="replay:same.csv")
    assert found["history"].endswith("in the ledger, by other judges too")


def test_what_other_judges_say_is_followed_less():
    scores = np.random.default_rng(1).integers(0, 2, size=(4, 30)).astype(float)
    past = past_of_scores(["a", "b", "c", "d"], scores, 0.0)
    same, other = (history_of(past, "", ("x", "y"), by_same=by_same) for by_same in (True, False))
    assert other.prospects.power == same.prospects.power / 4 == 0.25
    assert (same.by_same, other.by_same) == (True, False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.csv", "there is no such file"),
        ("0123456789abcdef", "has no such run; its latest runs: "),
        ("other.csv", "expected comparisons on the items 'i0' and so on, found none"),
        ("empty.csv", "empty.csv"),
    ],
)
def test_a_history_that_cannot_be_had_is_said_before_anything_is_asked(folder, given, said):
    (folder / "other.csv").write_text("item_id,model,score\nx,a,1\nx,b,0\n")
    (folder / "empty.csv").write_text("")
    result = command("prod", "c1", "--history", given)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_history_is_refused_where_nothing_looks_at_it(folder):
    result = command("prod", "c1", "--history", "verdicts.csv", rule=())
    assert result.exit_code == 2
    assert (
        "--history verdicts.csv has no effect with --selector random and --rule sequential; "
        "it applies to --selector decisive or --rule calibrated" in " ".join(result.output.split())
    )


def calibrated(second, *more, **how):
    return compare("prod", second, *more, rule=("--rule", "calibrated"), **how)


def test_earlier_comparisons_choose_the_threshold_once_there_are_enough(folder):
    compared_before(*FOUR)
    found = calibrated("c5", "--risk", "0.2")
    assert (found["rule"], found["selector"], found["instead"]) == ("calibrated", "decisive", None)
    assert found["guarantee"].startswith("on average over comparisons like 4 past comparisons of prod")


def test_with_too_few_it_goes_on_by_the_guaranteed_rule_and_says_so(folder):
    compared_before("c1")
    found = calibrated("c5")
    assert (found["rule"], found["selector"], found["history"]) == ("sequential", "random", None)
    assert (
        "found 1 past comparison of prod with others on nearly all items, and a risk of 0.1 needs at least 9"
        in found["instead"]
    )
    assert "--seed" not in found["instead"]


def test_a_run_that_began_with_too_little_says_how_to_begin_anew(folder):
    calibrated("c5", "--risk", "0.2")
    compared_before(*FOUR)
    again = calibrated("c5", "--risk", "0.2")
    assert again["rule"] == "sequential"
    assert "another --seed begins a new run" in again["instead"]
    assert calibrated("c5", "--risk", "0.2", "--seed", 1)["rule"] == "calibrated"


def test_a_rule_that_has_too_little_to_go_by_says_so_before_it_spends(folder):
    why = "too little history for calibrated: found 0 past comparisons"
    rule = ("--rule", "calibrated")
    assert why in " ".join(command("prod", "c5", "--dry-run", rule=rule).stdout.split())
    said = command("prod", "c5", "--json", rule=rule)
    assert f"judgeloop: {why}" in said.stderr
    assert "so the run uses sequential, with random draws" in said.stderr
    assert "so the run uses" not in said.stdout


def test_another_judges_comparisons_choose_no_threshold(folder):
    (folder / "same.csv").write_text((folder / "verdicts.csv").read_text() + "\n")
    compared_before(*FOUR)
    found = calibrated("c5", "--risk", "0.2", judge="replay:same.csv")
    assert found["rule"] == "sequential"
    assert "comparisons by other judges are not used for its threshold" in found["instead"]


def test_comparisons_that_never_decided_anything_choose_no_threshold(folder):
    names = ["prod", *(f"old{number}" for number in range(12))]
    rows = [f"i{at},{name},1" for name in names for at in range(ITEMS)]
    (folder / "level.csv").write_text("item_id,model,score\n" + "\n".join(rows) + "\n")
    assert calibrated("c5", "--history", "level.csv")["rule"] == "sequential"


def test_copies_of_a_system_are_no_further_evidence(folder):
    rows = (folder / "verdicts.csv").read_text().splitlines()
    own = [row for row in rows if ",c1," in row]
    copies = [row.replace(",c1,", f",copy{number},") for number in range(12) for row in own]
    (folder / "copies.csv").write_text("\n".join([*rows, *copies]) + "\n")
    assert compare("prod", "c5", "--history", "copies.csv")["history"].startswith("840 verdicts of 14 comparisons")


def test_a_baseline_under_another_name_is_known_by_its_outputs(folder):
    compared_before(*FOUR)
    renamed = (folder / "prod.jsonl").read_text().replace('"model": "prod"', '"model": "prod-2"')
    (folder / "renamed.jsonl").write_text(renamed)
    rows = (folder / "verdicts.csv").read_text()
    (folder / "verdicts.csv").write_text(rows.replace(",prod,", ",prod-2,"))
    assert "240 verdicts of 4 comparisons" in compare("renamed", "c5")["history"]


def test_no_history_may_stand_in_the_environment_of_a_rule_that_needs_none(folder):
    result = command("prod", "c1", "JUDGELOOP_HISTORY=none", rule=())
    assert result.exit_code in {0, 3}, result.output


LONG = [at for at in range(ITEMS) if at not in TELLING][::4]


def lengthen(folder, name):
    """Some of the items that never decided anything get a long output."""
    lines = list(map(json.loads, (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()))
    for at in LONG:
        lines[at]["output"] *= 200
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def first_draws(rule, seeds):
    """Whether each of the first thirty draws of so many runs is of a long output."""
    more = ("--history", "verdicts.csv", "--risk", "0.5", "JUDGELOOP_MIN_JUDGMENTS=30")
    runs = [compare("prod", "c5", "--seed", seed, *more, rule=("--rule", rule)) for seed in range(seeds)]
    return [int(item.removeprefix("i")) in LONG for run in runs for item, _ in drawn(run)[:30]]


def test_items_whose_outputs_differ_more_in_length_come_sooner(folder):
    before = first_draws("tie-aware", 12)
    lengthen(folder, "c5")
    assert sum(first_draws("tie-aware", 12)) > 1.1 * sum(before)


def test_lengths_do_not_count_where_past_comparisons_choose_the_threshold(folder):
    """For the outputs of these are not at hand, and the new comparison has to be drawn as they
    were."""
    before = first_draws("calibrated", 3)
    lengthen(folder, "c5")
    assert first_draws("calibrated", 3) == before
