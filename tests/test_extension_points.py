"""How many places a new part takes: each test adds a toy to a copy of the package, and uses it.

The counts stand in a table in docs/development/architecture.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parent.parent

SELECTOR = '''
"""The last item first."""

from dataclasses import dataclass

from judgeloop.core.records import Choice, Step
from judgeloop.core.records import Draws


@dataclass(frozen=True)
class LastFirst:
    name: str = "last-first"
    draws: Draws = Draws.PICKED

    def init(self, items, rng):
        return items

    def ask(self, state, rng):
        return (Step((Choice(state - 1, None, (0, 1)),)), state - 1) if state else (None, 0)

    def tell(self, state, labels):
        return state
'''
SELECTOR_MADE = """
def _last_first(draft: Draft) -> Any:
    from judgeloop.methods.selectors.last_first import LastFirst

    return LastFirst()


"""
SELECTOR_ROW = """
    SelectorRow("compare", "last-first", "the last item first", Draws.PICKED, _last_first),
"""

RULE = '''
"""Enough once one side leads by seven."""

from dataclasses import dataclass

from judgeloop.methods.stopping.rule import Rule


@dataclass(frozen=True)
class ClearLead(Rule):
    name: str = "clear-lead"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally):
        return 0.0 if abs(tally.wins[0] - tally.wins[1]) >= 7 else 1.0
'''
RULE_MADE = """
def _clear_lead(draft: Draft) -> Any:
    from judgeloop.methods.stopping.clear_lead import ClearLead

    return ClearLead(draft.risk)


"""
RULE_ROW = """
    RuleRow("compare", "clear-lead", "a lead of seven", _clear_lead, states_risk=False),
"""

PROVIDER = '''
"""A provider whose Chat Completions have a path of their own."""

from judgeloop.providers.endpoint import Provider
from judgeloop.providers.openai import OpenAIChat


class ParrotChat(OpenAIChat):
    provider = Provider("parrot", "https://parrot.example/v1", "PARROT_API_KEY")
    path = "/say"
'''
PROVIDER_MAKER = """
def _parrot() -> type[Chat[Any]]:
    from judgeloop.providers.parrot import ParrotChat

    return ParrotChat


"""
PROVIDER_ROW = """
    ProviderRow("parrot", "MODEL", _parrot, ("schema",)),
"""

FORMAT = """
def is_said(file):
    return file.is_text and file.text.startswith("said:")


def said_rows(file):
    for line, text in enumerate(file.text.splitlines(), start=1):
        prompt, _, output = text.removeprefix("said:").partition("->")
        yield Row(line, {"prompt": prompt.strip(), "output": output.strip()})


"""
FORMAT_ROW = """
    Format("said", "Sayings", harnesses.is_said, harnesses.said_rows, "`.said`"),
"""

SYSTEM = '''
"""A system that says the prompt backwards."""

from judgeloop.systems.code import CodeSystem


class Mirror(CodeSystem):
    def sent(self, item):
        return item.prompt

    async def run(self, item):
        return item.prompt[::-1], None, ""
'''
SYSTEM_MAKER = """
def _mirror(word: str, options: SystemOptions) -> System:
    from judgeloop.systems.mirror import Mirror

    return Mirror("mirror", word, "1", options)


"""
SYSTEM_ROW = """
    SystemRow("mirror:", "WORD", _mirror, OF_CODE),
"""

SETTING = """
    colour: str = fields.run_setting("Colour of the result.", fields.STOPPING).field("blue")
"""

QUESTION_ROW = """
def _passes_settings() -> Any:
    from judgeloop.questions.passes.settings import PassesSettings

    return PassesSettings


def _passes() -> Any:
    from judgeloop.questions.passes.question import Passes

    return Passes()


PASSES: QuestionRow[Any, Any] = QuestionRow(
    "passes", "Find out whether one system passes.", "", "--require-score", _passes_settings, _passes
)
"""
QUESTION = {
    "__init__": '"""Does one system pass?"""\n',
    "settings": '''
"""The settings: those of an estimate."""

from dataclasses import dataclass

from judgeloop.questions.estimate.settings import EstimateSettings


@dataclass(frozen=True, kw_only=True)
class PassesSettings(EstimateSettings):
    pass
''',
    "question": '''
"""An estimate by another name."""

from judgeloop.questions.estimate.question import EstimateQuestion


class Passes(EstimateQuestion):
    name = "passes"

    def so_far(self, tally, systems, longest):
        return ""
''',
}


@dataclass(frozen=True)
class Copy:
    """A copy of the package, to which a part is added."""

    folder: Path

    def add(self, path: str, text: str) -> None:
        """A new file."""
        file = self.folder / "judgeloop" / path
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.lstrip())

    def insert(self, path: str, before: str, row: str) -> None:
        """A row in a table, a field in a configuration."""
        file = self.folder / "judgeloop" / path
        text = file.read_text()
        head, mark, tail = text.rpartition(before)
        assert mark, f"{before!r} in {path}"
        file.write_text(head + row.lstrip("\n") + mark + tail)

    def row(self, path: str, table: str, row: str) -> None:
        """A row at the end of the table that begins with the line `table`."""
        file = self.folder / "judgeloop" / path
        head, mark, tail = file.read_text().partition(f"\n{table}\n")
        assert mark, f"{table!r} in {path}"
        rows, end, rest = tail.partition("\n)")
        file.write_text(head + mark + rows + "\n" + row.strip("\n") + end + rest)

    def say(self, path: str, now: str, then: str) -> None:
        """Other words in a sentence."""
        file = self.folder / "judgeloop" / path
        assert file.read_text().count(now) == 1
        file.write_text(file.read_text().replace(now, then))

    def made(self, maker: str) -> str:
        """The schema that a script of the documentation makes of the copy."""
        path = os.pathsep.join(map(str, (self.folder, ROOT / "docs")))
        return subprocess.run(
            [sys.executable, "-c", f"import {maker}; print({maker}.schema())"],
            env={**os.environ, "PYTHONPATH": path},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def run(self, *arguments: object, **environment: str) -> str:
        """What the command line of the copy prints."""
        done = subprocess.run(
            [sys.executable, "-m", "judgeloop", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(self.folder), "COLUMNS": "200", **environment},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode in {0, 3}, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    for name in ("judgeloop", "prompts", "docs/reference"):
        # With the compiled files, which save each command of the copy a second; not those that
        # another process is just writing.
        skipped = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(ROOT / name, tmp_path / "copy" / name, ignore=skipped)
    return Copy(tmp_path / "copy")


@pytest.fixture
def pair(incidents: Path) -> list[object]:
    names = ("lead.jsonl", "central.jsonl", "--items", "items.jsonl")
    return ["compare", *(name if name[0] == "-" else incidents / name for name in names)]


@pytest.fixture
def recorded(tmp_path: Path) -> list[object]:
    """Verdicts on 12 items between three systems, to replay."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for system in "abc":
        rows = [{"id": f"i{n}", "prompt": f"p{n}", "output": system * (n + 1)} for n in range(12)]
        (outputs / f"{system}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    verdicts = ["item_id,model,score"]
    verdicts += [f"i{n},{system},{(n + 1) % (2 + 'abc'.index(system))}" for system in "abc" for n in range(12)]
    (tmp_path / "verdicts.csv").write_text("\n".join(verdicts))
    items = ["--items", outputs / "a.jsonl"]
    quick = ["--seeds", 1, "--jobs", 1]
    return ["replay", outputs, *items, "--verdicts", tmp_path / "verdicts.csv", *quick]


def test_a_selector_is_its_file_and_one_row(
    copy: Copy, pair: list[object], recorded: list[object], tmp_path: Path
) -> None:
    copy.add("methods/selectors/last_first.py", SELECTOR)
    copy.row("catalogue.py", "SELECTORS: tuple[SelectorRow, ...] = (", SELECTOR_ROW)
    copy.insert("catalogue.py", "SELECTORS: tuple[SelectorRow, ...] = (", SELECTOR_MADE)

    chosen = ["--selector", "last-first"]
    live = json.loads(copy.run(*pair, "--judge", "metric:rouge2", *chosen, "--json"))
    assert (live["selector"], live["rule"]) == ("last-first", "tie-aware")
    copy.run("runs", "show", live["run"], "-o", "items.csv")
    assert Path("items.csv").read_text().splitlines()[1].startswith("incident-239,")

    table = tmp_path / "table"
    copy.run(*recorded, "--selectors", "random,last-first", "--sizes", "4,8", "-o", table)
    assert "last-first" in (table / "sizes.csv").read_text()
    assert "last-first" in copy.run("compare", "--help-all")


def test_a_rule_is_its_file_and_one_row(copy: Copy, pair: list[object], recorded: list[object], tmp_path: Path) -> None:
    copy.add("methods/stopping/clear_lead.py", RULE)
    copy.row("catalogue.py", "RULES: tuple[RuleRow, ...] = (", RULE_ROW)
    copy.insert("catalogue.py", "RULES: tuple[RuleRow, ...] = (", RULE_MADE)

    live = json.loads(copy.run(*pair, "--judge", "metric:rouge2", "--rule", "clear-lead", "--json"))
    assert (live["rule"], live["guarantee"], live["risk"]) == ("clear-lead", None, None)
    assert abs(live["wins"]["lead-2"] - live["wins"]["centrality"]) == 7

    (said,) = (line for line in copy.run("runs", "show", live["run"]).splitlines() if line.split()[:1] == ["risk"])
    assert not any(map(str.isdigit, said)), "no risk is stated"

    table = tmp_path / "table"
    copy.run(*recorded, "--iterative", "--rules", "clear-lead", "-o", table)
    assert "clear-lead" in (table / "rules.csv").read_text()
    assert "clear-lead" in copy.run("compare", "--help-all")


def test_a_provider_is_its_file_and_one_row(copy: Copy, pair: list[object]) -> None:
    copy.add("providers/parrot.py", PROVIDER)
    copy.insert("providers/catalogue.py", "PROVIDERS: tuple", PROVIDER_MAKER)
    copy.row("providers/catalogue.py", "PROVIDERS: tuple[ProviderRow, ...] = (", PROVIDER_ROW)

    parrot = ["--judge", "parrot/polly", "--judge-price", "1,2", "--dry-run"]
    assert "$" in copy.run(*pair, *parrot)
    assert "parrot/MODEL" in copy.run("compare", "--help-all")
    with pytest.raises(AssertionError, match="set PARROT_API_KEY in the environment"):
        copy.run(*pair, "--judge", "parrot/polly", "--judge-price", "1,2")


def test_a_format_is_its_functions_and_one_row(copy: Copy, tmp_path: Path) -> None:
    copy.insert("formats/harnesses.py", "def plain_rows(", FORMAT)
    copy.insert("formats/catalogue.py", "    PLAIN,\n)", FORMAT_ROW)
    for name, answer in (("a", "four"), ("b", "five")):
        (tmp_path / f"{name}.txt").write_text(f"said: 2+2? -> {answer}\n")

    asked = ["compare", tmp_path / "a.txt", tmp_path / "b.txt", "--judge", "openai/gpt-4.1-mini"]
    assert json.loads(copy.run(*asked, "--dry-run", "--json"))["judgments"]["worst"] == 1
    copy.run("convert", tmp_path / "a.txt", "-o", tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"prompt": "2+2?", "output": "four"}


def test_a_system_is_its_file_and_one_row(copy: Copy, incidents: Path) -> None:
    copy.add("systems/mirror.py", SYSTEM)
    copy.insert("systems/catalogue.py", "SYSTEMS = (", SYSTEM_MAKER)
    copy.row("systems/catalogue.py", "SYSTEMS = (", SYSTEM_ROW)

    items = ["--items", incidents / "items.jsonl", "--judge", "metric:rouge1", "--allow-plugins"]
    asked = ["compare", incidents / "central.jsonl", "mirror:x", *items, "--json"]
    live = json.loads(copy.run(*asked, "--system", "mirror:x.max-cost=0"))
    assert live["generated"][0]["asked"] == live["judged"] > 0
    assert "mirror:WORD" in copy.run("compare", "--help-all")
    with pytest.raises(AssertionError, match="what may a call cost"):
        copy.run(*asked)


# Tests that go through all settings. What is made from the code is made anew by docs/make.py.
OF_SETTINGS = ("runs/test_identity.py", "api/test_signatures.py", "cli/test_flags.py", "cli/test_init.py")


def test_a_setting_is_a_field_and_its_type_and_breaks_no_test(copy: Copy, tmp_path: Path) -> None:
    copy.insert("questions/compare/settings.py", "\n    @classmethod\n    def completed", SETTING)
    copy.insert("api/questions.py", "    near_tie: ", "    colour: str | None\n")
    assert "--colour" in copy.run("compare", "--help-all")
    assert '"colour"' in copy.made("make_schema")

    for name in "ab":  # the command looks for its files first
        (tmp_path / name).touch()
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from judgeloop.questions.compare.question import CompareQuestion\n"
        "from judgeloop.cli.app import app\n"
        "CompareQuestion.prepare = lambda self, config, *_, **__: print(config.colour, file=sys.__stdout__)\n"
        "app(['compare', 'a', 'b', '--judge', 'human', *sys.argv[1:]], standalone_mode=False)\n"
    )

    def seen(*more: str, **environment: str) -> str:
        given = {**os.environ, "PYTHONPATH": str(copy.folder), **environment}
        done = subprocess.run([sys.executable, program, *more], env=given, check=False, capture_output=True, text=True)
        return done.stdout.strip()

    assert seen() == "blue"
    (tmp_path / "judgeloop.toml").write_text('[compare]\ncolour = "green"\n')
    assert seen() == "green"
    assert seen(JUDGELOOP_COLOUR="red") == "red"
    assert seen("--colour", "grey", JUDGELOOP_COLOUR="red") == "grey"

    tests = [ROOT / "tests" / name for name in OF_SETTINGS]
    # Of the test that goes through all settings one by one, the case of this one.
    some = ["-k", "colour or not the_id_changes"]
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *some]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, *tests],
        env={**os.environ, "PYTHONPATH": str(copy.folder)},
        cwd=copy.folder,  # whose package is imported
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "CompareSettings-colour" in done.stdout


def test_a_question_is_its_folder_and_its_row(copy: Copy, incidents: Path, tmp_path: Path) -> None:
    for module, text in QUESTION.items():
        copy.add(f"questions/passes/{module}.py", text)
    copy.insert("questions/catalogue.py", "QUESTIONS: tuple", QUESTION_ROW)
    copy.insert("questions/catalogue.py", "AGREE)", "PASSES, ")

    files = [incidents / "central.jsonl", "--items", incidents / "items.jsonl", "--judge", "metric:rouge1"]
    found = json.loads(copy.run("passes", *files, "--json"))
    assert found["mean"] == json.loads(copy.run("estimate", *files, "--json"))["mean"]
    assert f"scores about {found['mean']:.3f}" in copy.run("passes", *files, "--dry-run")
    assert "mean score" in copy.run("runs", "show", found["run"], "--details")
    assert "5 a gate failed (--require-score)" in " ".join(copy.run("passes", "--help").split())
    assert "passes" in copy.run("--help")
    night = tmp_path / "night.toml"
    night.write_text(f'[suite]\nbudget = 1\n[pairs.one]\nquestion = "passes"\nsystems = ["{files[0]}"]\n')
    shown = json.loads(copy.run("suite", night, "--config", night, *files[1:], "--json"))
    assert [(one["question"], one["state"]) for one in shown["pairs"]] == [("passes", "decided")]
    schema = json.loads(copy.made("make_results"))
    assert schema["$defs"]["passes"]["required"] == schema["$defs"]["estimate"]["required"]


def test_a_sentence_of_the_result_is_worded_in_one_place(copy: Copy, pair: list[object]) -> None:
    copy.say("questions/compare/page.py", "{winner} is better than {loser}", "{winner} outdoes {loser}")
    files = [Path(f"result.{form}") for form in ("html", "md", "tex", "xml", "json")]
    shown = copy.run(*pair, "--judge", "metric:rouge2", *(word for file in files for word in ("-o", file)))
    assert all(" outdoes " in text for text in (shown, *(file.read_text() for file in files)))
