"""What a suite's file may say: its pairs, their systems, and nothing that is the caller's."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgeloop.cli.commands import FIELDS
from judgeloop.core.errors import DataError, InputError
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.settings.setting import caller, declared
from judgeloop.suite.settings import CALLER, Layer, pairs_of, read_suite

NOTHING = Layer("judgeloop.toml", {}, trusted=False)


@pytest.fixture(autouse=True)
def outputs():
    Path("new").mkdir()
    for name in ("old", "new/a", "new/b"):
        Path(f"{name}.jsonl").touch()


def pairs(text, *, trusted=False, base=NOTHING, path="night.toml", **flags):
    Path(path).write_text(text, encoding="utf-8")
    return pairs_of(read_suite(Path(path), FIELDS, trusted=trusted), base, Layer(CALLER, flags))


def pair(line, **more):
    (found,) = pairs(f'[pairs.x]\nsystems = ["old.jsonl", "new/a.jsonl"]\n{line}', **more)
    return found


def test_a_pattern_stands_for_a_pair_with_each_other_file():
    found = pairs('[pairs.all]\nsystems = ["old.jsonl", "**/*.jsonl"]\n[shared]\nrisk = 0.2')
    assert [(one.name, str(one.values["second"])) for one in found] == [
        ("all a", "new/a.jsonl"),
        ("all b", "new/b.jsonl"),
    ]
    assert all(str(one.values["first"]) == "old.jsonl" for one in found)
    assert all(one.values["risk"] == 0.2 for one in found)


def test_files_of_one_name_are_told_apart_by_their_folders():
    for run in ("1", "2"):
        Path(run).mkdir()
        Path(run, "out.jsonl").touch()
    found = pairs('[pairs.x]\nsystems = ["old.jsonl", "?/out.jsonl"]')
    assert [one.name for one in found] == ["x 1/out", "x 2/out"]


def test_all_systems_of_a_pattern_are_one_selection_and_an_estimate_each():
    one, *others = pairs(
        '[pairs.best]\nquestion = "select"\nsystems = ["old.jsonl", "new/*"]\n'
        '[pairs.score]\nquestion = "estimate"\nsystems = "new/*"'
    )
    assert list(map(str, one.values["outputs"])) == ["old.jsonl", "new/a.jsonl", "new/b.jsonl"]
    assert [(each.name, str(each.values["outputs"])) for each in others] == [
        ("score a", "new/a.jsonl"),
        ("score b", "new/b.jsonl"),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('systems = ["old.jsonl", "nope/*"]', "matches no file"),
        ('systems = ["old.jsonl"]', "takes 2"),
        ('systems = ["*/*", "old.jsonl"]', "only the last may be a pattern"),
        ('systems = ["old.jsonl", "old*"]', "no other system"),
        ('systems = ["old.jsonl", 3]', "expected names"),
        ('systems = ["old.jsonl", "../../*"]', "outside"),
        ('systems = ["old.jsonl", "/etc/hosts"]', "outside"),
        ('systems = ["old.jsonl", ".env"]', "hidden"),
        ('systems = ["old.jsonl", "command:sh evil"]', "runs code"),
        ('systems = ["old.jsonl", "python:evil:ask"]', "runs code"),
        ('question = "contrast"', "expected compare, select, estimate or agree"),
        ("riks = 0.2", "did you mean risk"),
        ('first = "old.jsonl"', "[pairs.x] has no key 'first'"),
        ('question = "estimate"\nnot-worse = 0.1', "[pairs.x] estimate takes no not-worse: compare"),
        ("system_ = 1", "[pairs.x] has no key 'system_' (did you mean system?)"),
        ("sstems = 1", "[pairs.x] has no key 'sstems' (did you mean systems?)"),
        ('qestion = "select"', "(did you mean question?)"),
        ("quiet = true", "for all pairs together"),
        ('ledger = "other.sqlite"', "only the caller"),
        ("concurrency = 3", "for all pairs together"),
        ('judge = "python:evil:judge"', "[pairs.x] judge: "),
        ('question = "estimate"\nsystems = ["old.jsonl", "new/a.jsonl"]', "takes one path or pattern"),
        ('judge-base-url = "http://elsewhere"', "only the caller"),
        ("allow-plugins = true", "only the caller"),
        ("budget = 50", "not raise"),
        ('items = "/etc/passwd"', "outside"),
    ],
)
def test_what_is_wrong_in_a_table_is_the_problem_of_that_pair_alone(line, says):
    systems = "" if "systems =" in line else 'systems = ["old.jsonl", "new/a.jsonl"]\n'
    wrong, right = pairs(f'[pairs.x]\n{systems}{line}\n[pairs.y]\nsystems = ["old.jsonl", "new/b.jsonl"]')
    assert any(part in wrong.problem for part in says.split("|"))
    assert not right.problem


def test_a_single_value_in_the_place_of_a_pair_is_its_problem():
    one, other = pairs('[pairs]\nx = 3\n[pairs.y]\nsystems = ["old.jsonl", "new/b.jsonl"]')
    assert "expected a table" in one.problem
    assert not other.problem


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a table"),
        ("pairs = 3", "expected a table"),
        ("[suite]\nbugdet = 3\n[pairs.x]", "did you mean budget"),
        ("[suite]\nquiet = true\n[pairs.x]", "on the command line"),
        ("[suite]\nbudget = 50\n[pairs.x]", "not raise"),
        ('[suite]\njudge-base-url = "http://x"\n[pairs.x]', "because this file is data"),
        ('[systems."openai/m"]\nprice = "1,2"\n[pairs.x]', "only the caller"),
        ("[suits]\n[pairs.x]", "found 'suits'"),
        ("pairs = [", "no TOML"),
    ],
)
def test_what_is_wrong_for_all_pairs_is_an_error_of_the_suite(text, says):
    with pytest.raises(DataError, match=says):
        pairs(text)


def test_paths_are_those_of_the_files_own_folder():
    Path("eval/out").mkdir(parents=True)
    Path("eval/out/c.jsonl").touch()
    text = '[suite]\nitems = "items.jsonl"\n[pairs.x]\nsystems = ["out/c.jsonl", "out/c*"]'
    Path("eval/out/c2.jsonl").touch()
    (found,) = pairs(text, path="eval/night.toml")
    assert str(found.values["second"]) == "eval/out/c2.jsonl"
    assert found.values["items"] == "eval/items.jsonl"


def test_a_file_that_the_caller_also_names_may_set_what_the_caller_may():
    found = pair('judge-base-url = "http://mine"\nbudget = 50', trusted=True)
    assert not found.problem
    assert (found.values["judge_base_url"], found.values["budget"]) == ("http://mine", 50)


def test_code_is_a_system_once_the_caller_says_something_of_it():
    text = '[pairs.x]\nsystems = ["old.jsonl", "command:./ask"]'
    (found,) = pairs(text, system=["command:./ask.max-cost=0"])
    assert found.values["second"] == "command:./ask"
    assert found.values["system"] == ["command:./ask.max-cost=0"]


def test_what_is_said_of_a_live_system_goes_to_its_own_pairs():
    one, other = pairs(
        '[pairs.x]\nsystems = ["old.jsonl", "openai/m"]\n[pairs.y]\nsystems = ["old.jsonl", "new/a.jsonl"]',
        system=["openai/m.price=1,2"],
    )
    assert one.values["system"] == ["openai/m.price=1,2"]
    assert other.values["system"] is None


def test_a_setting_of_a_system_that_no_pair_has_is_an_error():
    with pytest.raises(InputError, match="no system of a pair"):
        pair("", system=["openai/m.base-url=http://x"])


def test_the_callers_settings_win_over_the_file_and_a_table_over_all_tables():
    found = pair("risk = 0.2\nmax-judgments = 7\n[suite]\nrisk = 0.3\nrubric = 'short'", risk="0.05")
    assert (found.values["risk"], found.values["max_judgments"]) == ("0.05", 7)
    assert found.values["rubric"] == "short"


def test_a_condition_of_the_file_is_added_to_the_callers_and_both_say_who_set_them():
    found = pair("max-flips = 0.1", require_winner="a")
    assert found.gate == (("require-winner = a", "the caller"), ("max-flips = 0.1", "night.toml"))


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ("not-worse = 0.5", {"not_worse": "0.1"}),
        ("fail-on-warning = false", {"fail_on_warning": True}),
        ('controls = "off"', {"require_winner": "a"}),
        ('by-group = "report"', {"by_group": "require"}),
    ],
)
def test_a_file_neither_changes_nor_removes_a_condition_of_the_caller(line, flags):
    assert "sets conditions" in pair(line, **flags).problem
    assert not pair(line).problem
    config = Layer("mine.toml", flags)
    assert "sets conditions" in pair(line, base=config).problem


WEAKENING = (
    "risk = 0.39", "max-abstentions = 1.0", "tie-margin = 0.5", 'about = "items"', 'rule = "tie-aware"',
    'order = "fixed"', 'missing = "abstain"', "min-judgments = 1", "max-judgments = 9", "min-gap = 0.2",
    "allow-partial = true", "seed = 3",
)  # fmt: skip


@pytest.mark.parametrize("line", WEAKENING)
def test_a_file_sets_nothing_that_the_callers_gate_rests_on(line):
    name = line.partition(" ")[0]
    assert f"remove {name} from " in pair(line, require_winner="a").problem
    assert f"remove {name} from " in pair(f"[suite]\n{line}", require_winner="a").problem
    assert not pair(line).problem


def test_a_file_allows_no_more_flips_than_the_callers_gate_does_by_default():
    assert "remove max-flips from " in pair("max-flips = 'none'", not_worse="0.1").problem
    assert "remove max-flips from " in pair("max-flips = 0.6", not_worse="0.1").problem
    assert not pair("max-flips = 0.4", not_worse="0.1").problem
    assert not pair("max-flips = 'none'").problem


def test_a_found_settings_file_sets_nothing_that_the_callers_gate_rests_on():
    found = Layer("judgeloop.toml", {"risk": 0.39}, trusted=False)
    assert "remove risk from judgeloop.toml" in pair("", base=found, not_worse="0.1").problem


def test_what_the_caller_says_of_the_gate_wins_and_the_summary_says_who_set_what():
    found = pair("risk = 0.39\nby-group = 'require'", not_worse="0.1", risk="0.05")
    assert found.gate == (
        ("not-worse = 0.1", "the caller"),
        ("by-group = require", "night.toml"),
        ("risk = 0.05", "the caller"),
    )
    alone = pair("risk = 0.39\nnot-worse = 0.1")
    assert alone.gate == (("not-worse = 0.1", "night.toml"), ("risk = 0.39", "night.toml"))
    assert not pair("risk = 0.39").gate


def test_below_the_callers_gate_a_file_sets_what_is_asked_of_whom_and_how_fast():
    may = {
        name
        for one in QUESTIONS
        for name, field in declared(one.settings()).items()
        if field.setting.may_set is not caller and not field.setting.is_ground
    }
    assert may == {
        # conditions, which are added
        "require_winner", "not_worse", "by_group", "max_flips", "require_score", "fail_on_warning", "controls",
        "require_agreement", "require_kappa", "not_worse_than_a_person", "again",
        # what is asked, of whom
        "items", "map", "epoch", "strip_thoughts", "family_members", "judge", "judge_max_tokens", "judge_effort", "verdict", "lenient_replies",
        "prompt", "rubric", "proxy", "confidence", "truth",
        # pace, money and files
        "judge_timeout", "deadline", "concurrency", "ahead", "rpm", "tpm", "budget", "charge_to", "tier",
        "cache_dir", "report_texts",
    }  # fmt: skip


def test_a_question_that_cannot_have_the_callers_condition_is_refused():
    (found,) = pairs('[pairs.x]\nquestion = "estimate"\nsystems = "old.jsonl"', not_worse="0.1")
    assert "does not fit estimate; set it in the compare" in found.problem
