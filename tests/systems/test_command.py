"""Systems that are commands: what they are told, what they inherit, and how they fail."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from support.code import ITEM, answered, command, made
from support.patience import PATIENCE_S

from judgeloop.core.records import Item

TELL = """
import json, os, sys
files = sorted(os.listdir("/proc/self/fd"))[:-1]
print(json.dumps({"in": sys.stdin.read(), "args": sys.argv[1:], "env": sorted(os.environ),
                  "files": files}))
"""


def told(more="", *options, item=ITEM, **environment):
    """What a command is told and inherits."""
    name = f"{command(TELL)}{more}"
    return json.loads(answered(made(name, *options, environment=environment), item).text)


def test_it_inherits_no_key_and_no_file():
    keys = {"OPENAI_API_KEY": "sk-1", "JUDGELOOP_JUDGE_API_KEY": "k", "LANG": "C", "OTHER": "x"}
    with Path("own.py").open("w+") as held:
        held.read(1)
        found = told(" '; touch here' $HOME", **keys)
    assert found["args"] == ["; touch here", "$HOME"], "no shell reads it"
    assert not Path("here").exists()
    assert set(found["env"]) <= {"PATH", "HOME", "LANG", "TMPDIR", "LC_CTYPE"}
    assert found["files"] == ["0", "1", "2"]
    assert found["in"] == ITEM.prompt


def test_it_gets_the_variables_that_the_caller_names():
    assert "OTHER" in told("", "pass-env=OTHER", OTHER="x")["env"]


@pytest.mark.parametrize(
    "text", ["--help", "; touch here", "$(touch here)", "../../etc/passwd", "-c 'touch here'", "a\nb", ""]
)
def test_an_items_text_is_no_argument_no_second_command_and_no_path(text):
    found = told(item=Item("; touch here", text, group="; touch here"))
    assert (found["in"], found["args"]) == (text, [])
    assert not Path("here").exists()


def test_a_conversation_reaches_it_as_json():
    turns = (("user", "2+2?"), ("assistant", "4"), ("user", "3+3?"))
    found = told(item=Item("item", "as one text", messages=turns))
    assert json.loads(found["in"]) == [{"role": role, "content": text} for role, text in turns]


def test_a_line_feed_at_the_end_is_left_out():
    assert answered(made(command("print('good')"))).text == "good"


FAILING = [
    ("import sys\nsys.exit('no key\\n')", "ended with exit code 1: no key"),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
    ("import sys\nsys.stdout.buffer.write(b'ab\\xff')", "not UTF-8 (byte 2)"),
    ("print('a\\0b')", "has NUL characters"),
    ("while True: print('x' * 65536)", "wrote more than 4 MiB"),
    ("print('x' * (1 << 22))", "wrote more than 4 MiB"),
    ("import sys\nwhile sys.stderr.write('x' * 65536): pass", "no output within 1 s"),
]


@pytest.mark.parametrize(("source", "said"), FAILING)
def test_how_it_failed_by_itself_is_said(source, said):
    output = answered(made(command(source), "timeout=1"))
    assert output.text is None
    assert said in output.failed


LEAVES = """
import subprocess, sys
quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
print(subprocess.Popen(['sleep', '300'], **quiet).pid, file=open('child', 'w'))
"""


@pytest.mark.parametrize("late", [True, False])
def test_what_it_leaves_behind_is_ended_when_it_ends_or_is_late(late):
    source = f"{LEAVES}{'import time; time.sleep(300)' if late else ''}\nprint('good')"
    output = answered(made(command(source), "timeout=1.5"))
    assert (output.text is None) is late
    assert has_ended(Path("child").read_text().strip())


HOLDS = """
import subprocess, sys
print('x' * 200_000)
print(subprocess.Popen(['sleep', '300'], start_new_session={apart}).pid, file=open('child', 'w'))
"""


@pytest.mark.parametrize("apart", [False, True], ids=["in its group", "in a group of its own"])
def test_its_end_is_the_end_also_where_a_process_that_it_left_holds_its_output(apart, capfd):
    began = time.monotonic()
    output = answered(made(command(HOLDS.format(apart=apart)), f"timeout={PATIENCE_S}"))
    child = Path("child").read_text().strip()
    try:
        assert output.text == "x" * 200_000
        assert time.monotonic() - began < 300, "it is not waited for"
        gc.collect()
        assert capfd.readouterr().err == ""
        assert apart or has_ended(child)
    finally:
        if is_running(child):
            os.kill(int(child), signal.SIGKILL)


def has_ended(pid):
    """Whether a process ends, in a while."""
    until = time.monotonic() + PATIENCE_S
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def is_running(pid):
    """Whether a process goes on, and is not only waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_its_name_stays_as_it_is_typed():
    name = f"command:{sys.executable} -c 'print(\"good  //x/./y=1 \")' --at=http://a//b"
    system = made(name)
    assert (system.label, system.identity.name) == (name, name)
    assert re.fullmatch(r"good  //x/\./y=1 ", answered(system).text)
