"""Every command on the pages runs, and what is shown under one is what it prints.

`pytest --snapshot-update tests/docs/test_pages.py` writes what is printed now into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import yaml
from support.commandline import judgeloop
from support.pages import IN_ORDER, PAGES, ROOT, blocks, name

from judgeloop.cli.commands import COMMANDS, FIELDS

# Why a block is not run here; `.ci/run` runs the commands that set up.
NOT_RUN = {
    "installs packages",
    "a key of yours",
    "needs a cluster",
    "needs files outside the checkout",
    "needs a person at the terminal",
    "needs people in their browsers",
    "needs a server of yours",
    "needs the recorded data",
    "runs all tests",
    "in a copy of the checkout",  # test_first_change.py
}
GATE = ROOT / ".github" / "actions" / "gate" / "action.yml"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def in_order(page):
    return IN_ORDER in page.read_text(encoding="utf-8")


def apart():
    """The blocks that a reader runs each on its own."""
    return [
        pytest.param(block, id=block.id)
        for page in PAGES
        if not in_order(page)
        for block in blocks(page)
        if not skipped(block)
    ]


def skipped(block):
    return block.comment.startswith(("not run: ", "setup: ", "after "))


def run(command, folder, environment):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def perform(block, folder, environment, update):
    """Do what the block says; check what it shows, or write what it should show."""
    if block.language == "python":
        (folder / "program.py").write_text(block.text, encoding="utf-8")
        done = run(f"{sys.executable} program.py", folder, environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip(), "a program on a page shows what it does"
    elif block.language == "sh":
        done = run(block.text, folder, environment)
        assert done.returncode in expected(block), done.stderr
    elif block.language == "yaml":
        done = run(pipeline(block.text), folder, environment)
        assert done.returncode == 0, done.stderr
    elif update:
        rewrite(block, printed(block.text, folder, environment))
    else:
        for _, shown, output in printed(block.text, folder, environment):
            if shown.strip():
                found, wanted = compared(output, shown)
                assert found == wanted


def pipeline(text):
    """The commands of the jobs of GitLab, or of GitHub; a job there has the judge's key if it asks for it."""
    found = yaml.safe_load(text)
    jobs = found.get("jobs", found).values()
    return "\n".join("\n".join(["(", *commands_of(job), ")"]) for job in jobs)


def commands_of(job):
    """The commands of a job, but for those that install."""
    if "script" in job:
        yield from (f"export {name}='{value}'" for name, value in job["variables"].items())
        yield from job["script"]
        return
    if "secrets.OPENAI_API_KEY" not in str(job):
        yield "unset OPENAI_API_KEY"
    for step in job["steps"]:
        if "pip install" not in step.get("run", "pip install"):
            yield step["run"]
        if "/actions/gate@" in step.get("uses", ""):
            given = step["with"]
            inputs = yaml.safe_load(GATE.read_text(encoding="utf-8"))["inputs"]
            assert given.keys() <= inputs.keys()
            yield f"JUDGELOOP_BUDGET={given['budget']} judgeloop {given['command']}"


def expected(block):
    """The exit codes: 0, or the one that the comment before the block names."""
    named = re.fullmatch(r"exits with (\d+)", block.comment)
    return {int(named[1])} if named else {0}


def printed(text, folder, environment):
    """Run the commands of a `console` block: each with what is shown under it, and what it prints."""
    commands = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    assert commands, "a console block shows a command after '$ '"
    for part in commands:
        command, _, shown = part.partition("\n")
        done = run(command, folder, environment)
        assert done.returncode == 0, done.stderr
        yield command, shown, done.stdout


# What differs from place to place: a run's id (the judge's address is part of it), the time, the
# source of the price, the version of SQLite, and the file system.
DIFFERS = re.compile(
    r"(?<= )[0-9a-f]{16}\b|(?<=runs show )[0-9a-f]{8}\b|\d{4}-\d\d-\d\dT[\d:.+]+"
    r"|(?<=from)\s+(?:genai-prices\s+\S+\s+for\s+[\w./-]*\w|\S+prices\.toml)"
    r"|(?<=SQLite )[\d.]+(?=, )|(?<=sqlite on ).*"
)


def anywhere(text):
    """What is shown, without what differs from place to place: a price's source moves the ends of lines, too."""
    shown = DIFFERS.sub("…", text.strip())
    return re.sub(r"(?<=…;)\s+the\s+server\s+calls\s+\S+\s+\S+", lambda found: " ".join(found[0].split()), shown)


def compared(output, shown):
    """What is printed and what is shown, but for what differs."""
    return anywhere(output), anywhere(shown)


def rewrite(block, printed):
    """Put what the commands print on the page."""
    text = "".join(f"$ {command}\n{renewed(shown, output)}" for command, shown, output in printed)
    page = ROOT / block.page
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole.replace(block.text, text), encoding="utf-8")


def renewed(shown, output):
    """Return the output, in which what differs from place to place is as it was shown."""
    found, wanted = compared(output, shown)
    if not shown.strip() or found == wanted:
        return shown
    kept = iter(DIFFERS.findall(shown))
    new = DIFFERS.sub(lambda found: next(kept, found[0]), output.strip())
    return shown.replace(shown.strip(), new)


SERVER = "@db.example/evals"  # of PostgreSQL, on the pages


def served(block, request):
    """The block with a real server in the place of the one that it names."""
    if SERVER not in block.text:
        return block
    server = request.getfixturevalue("postgres")
    database = server.empty() if "ledger create" in block.text else server.ledger()
    return replace(block, text=block.text.replace(SERVER, database[database.index("@") :]))


@pytest.mark.processes
@pytest.mark.parametrize("block", apart())
def test_a_block_does_what_it_shows(block, reader, environment, request):
    perform(served(block, request), reader, environment, request.config.option.update_snapshots)


@pytest.mark.processes
def test_the_line_of_the_crontab_does_what_the_page_of_nights_says(reader, environment):
    text = (ROOT / "docs" / "how-to" / "nightly.md").read_text(encoding="utf-8")
    line = re.search(r"^15 1 \* \* \*  (.+)$", text, re.MULTILINE)[1]
    folder = reader / "examples" / "incidents"
    cron = {"PATH": os.defpath, "HOME": environment["HOME"]}
    (folder / "keys.sh").write_text("export OPENAI_API_KEY=sk-0123\n")
    (folder / ".venv" / "bin").mkdir(parents=True)
    program = shutil.which("judgeloop", path=environment["PATH"])
    (folder / ".venv" / "bin" / "judgeloop").symlink_to(program)
    command = ["/bin/sh", "-c", line.replace("/srv/eval", str(folder))]
    done = subprocess.run(command, env=cron, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (5, "")
    assert ": Night 2" in done.stdout, "cron mails it"
    log = (folder / "night.log").read_text()
    assert ("candidate lead: FAILED" in log, "Night " in log.splitlines()[-1]) == (True, True)
    for file in ("night.html", "night.xml", "night/01-candidate-ending.html"):
        assert (folder / file).exists()


@pytest.mark.processes
@pytest.mark.parametrize("page", [page for page in PAGES if in_order(page)], ids=name)
def test_the_blocks_of_a_page_work_one_after_the_other(page, reader, environment, request):
    for block in blocks(page):
        if not skipped(block):
            perform(block, reader, environment, request.config.option.update_snapshots)


def test_a_block_that_is_not_run_says_why():
    reasons = {
        block.comment.removeprefix("not run: ")
        for page in PAGES
        for block in blocks(page)
        if block.comment.startswith("not run: ")
    }
    assert reasons <= NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_set_up_commands_are_there_for_ci_to_run():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    setups = re.findall(r"<!-- setup: (\w+) -->", readme)
    assert {"run", "test"} <= set(setups)
    for setup in setups:
        assert f"setup {setup}" in script
    for mark in re.findall(r"<!-- (after \w+: \w+) -->", readme):
        assert f'run_in "{mark}"' in script


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_figure_was_left_to_fill_in(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|TBD|XXX|[A-Z]{3,}_[A-Z0-9_]+_NOTE|[A-Z]{3,}_(TA|HG)\d?)\b", text)


FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Of pip, git and other programs, of an example of a command, and of programs in benchmarks/.
OTHERS = {"--quiet", "--editable", "--strict", "--constraint", "--session", "--snapshot-update"} | {
    "--format", "--corrected", "--errors", "--limits", "--scores", "--slopes",
    "--brief", "--count", "--decisions", "--judges", "--norm-bins", "--only", "--planted", "--requests", "--depth", "--detach", "--force", "--repeat", "--resource"}  # fmt: skip


def test_every_flag_on_the_pages_exists():
    known = set(OTHERS)
    for path in [(), *((row.name,) for row in COMMANDS), *FIELDS]:
        for form in ("--help", "--help-all"):
            known |= set(FLAG.findall(judgeloop(*path, form).stdout))
    named = {
        (name(page), flag)
        for page in PAGES
        if page.parent.name != "results"  # whose commands are those of benchmarks/
        for flag in FLAG.findall(page.read_text(encoding="utf-8"))
    }
    assert {pair for pair in named if pair[1] not in known} == set()
