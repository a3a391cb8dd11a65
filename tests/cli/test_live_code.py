"""Systems that run code: commands and functions, what they are told, and how they fail."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest
from support.commandline import judged_by, judgeloop, result_of
from support.live import ITEMS, write_items, write_outputs

import judgeloop as judgeloop_api
from judgeloop.core.errors import InputError

ECHO = "import sys\nprint('good', sys.stdin.read())\n"


@pytest.fixture(autouse=True)
def _files(monkeypatch):
    write_items(Path("items.jsonl"))
    write_outputs(Path("old.jsonl"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def command(source, name="own.py"):
    """A command that runs a program of Python."""
    Path(name).write_text(source)
    return f"command:{sys.executable} {name}"


def function(source, name):
    """A function of a module."""
    Path(f"own_{name}.py").write_text(source)
    return f"python:own_{name}:answer"


def comparison(server, system, *more, cost="0"):
    given = ["--system", f"{system}.max-cost={cost}"] if cost else []
    base = ["compare", "old.jsonl", system, "--items", "items.jsonl", *judged_by(server)]
    return [*base, "--allow-plugins", *given, *more]


def failing(server, system, *more):
    """What is said of a system that fails on every item."""
    done = judgeloop(*comparison(server, system, *more), "JUDGELOOP_MAX_ABSTENTIONS=0.2")
    assert done.exit_code == 4, done.output
    assert [one for one in server.requests if "response_format" in one] == [], "no judge is asked"
    return re.sub(r"\s+", " ", done.stderr)


def test_a_command_gets_the_prompt_and_its_output_is_judged(server):
    result = result_of(*comparison(server, command(ECHO)))
    assert (result["winner"], result["exit_code"]) == (command(ECHO), 0)
    shown = json.dumps([one["messages"] for one in server.requests])
    assert re.search(r"good What is \d+ and \d+\?", shown)
    assert "\\n\\n" not in shown.split("answer_A")[1][:60], "without the line feed at its end"
    assert result["generated"][0]["asked"] == result["judged"] < ITEMS


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_gets_the_prompt_and_its_output_is_judged(server, kind):
    system = function(f"{kind} answer(prompt):\n    return 'good ' + prompt\n", kind[:2])
    result = result_of(*comparison(server, system))
    assert (result["winner"], result["generated"][0]["failed"]) == (system, 0)


TELL = """
import json, os, sys
files = sorted(os.listdir("/proc/self/fd"))[:-1]
print(json.dumps({"in": sys.stdin.read(), "args": sys.argv[1:], "env": sorted(os.environ),
                  "files": files}))
"""


def told(server, system, *more, **variables):
    """What a command that tells it was told of the first item."""
    Path("told.txt").unlink(missing_ok=True)
    source = TELL.replace("print(", "open('told.txt', 'a').write('\\n' + ")
    source = source.replace("}))", "}) + chr(10))\nprint('good')")
    Path("tell.py").write_text(source)
    result_of(*comparison(server, system, *more), **variables)
    return [json.loads(line) for line in Path("told.txt").read_text().split("\n") if line]


def test_a_command_inherits_no_key_and_no_file(server):
    system = f"command:{sys.executable} tell.py '; touch here' $HOME"
    keys = {"OPENAI_API_KEY": "sk-1", "JUDGELOOP_JUDGE_API_KEY": "k", "LANG": "C", "OTHER": "x"}
    with Path("old.jsonl").open() as held:
        held.read(1)
        found = told(server, system, **keys)
    assert {tuple(one["args"]) for one in found} == {("; touch here", "$HOME")}, "no shell reads it"
    assert not Path("here").exists()
    assert {name for one in found for name in one["env"]} <= {
        "PATH", "HOME", "LANG", "TMPDIR", "LC_CTYPE",
    }  # fmt: skip
    assert all(one["files"] == ["0", "1", "2"] for one in found)
    assert all(re.fullmatch(r"What is \d+ and \d+\?", one["in"]) for one in found)


def test_an_items_text_is_no_argument_no_second_command_and_no_path(server):
    texts = [
        "--help",
        "; touch here",
        "$(touch here)",
        "../../etc/passwd",
        "-c 'touch here'",
        "a\nb",
    ]
    rows = [
        {"id": f"item-{n}", "prompt": f"{texts[n % len(texts)]} {n}", "group": "; touch here"}
        for n in range(ITEMS)
    ]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = told(server, f"command:{sys.executable} tell.py")
    assert {one["in"] for one in found} <= {row["prompt"] for row in rows}
    assert all(one["args"] == [] for one in found)
    assert not Path("here").exists()


def test_a_command_gets_the_variables_that_the_caller_names(server):
    system = f"command:{sys.executable} tell.py"
    more = ["--system", f"{system}.pass-env=OTHER"]
    assert all("OTHER" in one["env"] for one in told(server, system, *more, OTHER="x"))


def test_a_conversation_reaches_a_command_as_json(server):
    turns = [{"role": "user", "content": "2+2?"}]
    turns = [*turns, {"role": "assistant", "content": "4"}, {"role": "user", "content": "3+3?"}]
    rows = [
        {"id": f"item-{n}", "messages": [*turns[:2], {"role": "user", "content": f"x x {n}"}]}
        for n in range(ITEMS)
    ]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = told(server, f"command:{sys.executable} tell.py")
    assert json.loads(found[0]["in"])[:2] == turns[:2]


WRONG = [
    ("command:", "the name ends after ':'"),
    ("command:no-such-program --x", "there is no command 'no-such-program'"),
    ("command:./plain.txt", "./plain.txt is not executable; allow it with chmod +x"),
    ("command:sh -c 'echo", "this is no command: No closing quotation"),
    ("python:m", "expected python:MODULE:FUNCTION"),
    ("python:own_nowhere:answer", "No module named 'own_nowhere'"),
    ("exec:./run", "did you mean command:./run?"),
    ("file://my/agent.py:answer", "did you mean python:my.agent:answer?"),
    ("./agent.py:answer", "did you mean python:agent:answer?"),
    ("file:///data/old.jsonl", "did you mean /data/old.jsonl?"),
]


@pytest.mark.parametrize(("system", "said"), WRONG)
def test_what_cannot_run_is_refused_before_anything_is_sent(server, system, said):
    Path("plain.txt").write_text("x")
    done = judgeloop(*comparison(server, system))
    assert (done.exit_code, server.requests) == (2, []), done.output
    assert said in re.sub(r"\s+", " ", done.stderr)


OPTIONS = [
    ("max-cost=free", "dollars for a call, such as 0.02"),
    ("pass-env=A B", "names of environment variables"),
    ("pass-env=NOWHERE", "NOWHERE is not set"),
    ("pass-env=JUDGELOOP_JUDGE_API_KEY", "no settings or keys of judgeloop"),
    ("concurrency=0", "a whole number, 1 or more"),
    ("base-url=http://x", "has no effect: command:… takes"),
    ("max-tokens=7", "has no effect"),
]


@pytest.mark.parametrize(("option", "said"), OPTIONS)
def test_options_that_are_wrong_are_refused(server, option, said):
    system = command(ECHO)
    done = judgeloop(*comparison(server, system, "--system", f"{system}.{option}"))
    assert (done.exit_code, server.requests) == (2, []), done.output
    assert said in re.sub(r"\s+", " ", done.stderr)


@pytest.mark.parametrize("kind", ["command", "function"])
def test_code_needs_the_callers_leave_and_a_cost(server, kind):
    source = "def answer(prompt):\n    return 'good'\n"
    system = command(ECHO) if kind == "command" else function(source, "leave")
    base = comparison(server, system)
    done = judgeloop(*[one for one in base if one != "--allow-plugins"])
    assert (done.exit_code, server.requests) == (2, [])
    assert "runs your own code; allow it with --allow-plugins" in re.sub(r"\s+", " ", done.stderr)
    done = judgeloop(*comparison(server, system, cost=""))
    assert (done.exit_code, server.requests) == (2, [])
    assert f"--system {system}.max-cost=0 if it is free" in re.sub(
        r"\s+", " ", done.stderr.replace("'", "")
    )


FAILING = [
    ("import sys\nsys.exit('no key\\n')", "ended with exit code 1: no key"),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
    ("import sys\nsys.stdout.buffer.write(b'ab\\xff')", "not UTF-8 (byte 2)"),
    ("print('a\\0b')", "has NUL characters"),
    ("while True: print('x' * 65536)", "wrote more than 4 MiB"),
    ("import sys\nwhile sys.stderr.write('x' * 65536): pass", "no output within 1 s"),
]


@pytest.mark.parametrize(("source", "said"), FAILING)
def test_a_command_that_fails_by_itself_has_lost_and_is_named(server, source, said):
    system = command(source)
    assert said in failing(server, system, "--system", f"{system}.timeout=1")


def test_a_command_that_takes_too_long_is_ended_with_its_children(server):
    source = (
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        "open('children', 'a').write(f'{child.pid} ')\n"
        "time.sleep(300)\n"
    )
    system = command(source)
    failing(server, system, "--system", f"{system}.timeout=0.5")
    children = Path("children").read_text().split()
    assert children
    assert not [pid for pid in children if is_running(pid)]


def is_running(pid):
    """Whether a process goes on, and is not only waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_command_leaves_behind_is_ended_when_it_ends(server):
    source = (
        "import subprocess, sys\n"
        "quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}\n"
        "child = subprocess.Popen(['sleep', '300'], **quiet)\n"
        "open('children', 'a').write(f'{child.pid} ')\n"
        "print('good')\n"
    )
    result_of(*comparison(server, command(source)))
    assert not [pid for pid in Path("children").read_text().split() if is_running(pid)]


def test_code_runs_one_at_a_time_unless_the_caller_says_otherwise(server):
    source = (
        "import asyncio\nmost = now = 0\n"
        "async def answer(prompt):\n"
        "    global most, now\n"
        "    now += 1\n    most = max(most, now)\n    await asyncio.sleep(0.01)\n    now -= 1\n"
        "    return 'good ' + prompt\n"
    )
    system = function(source, "together")
    result_of(*comparison(server, system))
    module = sys.modules["own_together"]
    assert module.most == 1
    result_of(*comparison(server, system, "--system", f"{system}.concurrency=4", "--seed", "4"))
    assert 1 < module.most <= 4


RETURNED = [
    ("None", "expected an output as text, found None"),
    (
        "{'text': 'x'}",
        "expected a text, or a dictionary with 'output', 'cost' and 'model'; found 'text'",
    ),
    ("{'output': 'x', 'cost': 'much'}", "expected its cost in dollars, found 'much'"),
    ("{'output': 'x', 'model': 5}", "expected the name of a model, found 5"),
    ("'\\ud800'", "no Unicode text (character 0)"),
    ("'x' * (5 << 20)", "has more than 4 MiB"),
    ("1 / 0", "raised ZeroDivisionError: division by zero (own_"),
    ("__import__('sys').exit(3)", "raised SystemExit: 3"),
    ("(_ for _ in ()).throw(__import__('asyncio').CancelledError())", "raised CancelledError"),
    ("__import__('time').sleep(30)", "no output within 0.2 s; its threads left behind: "),
]


@pytest.mark.parametrize("number", range(len(RETURNED)))
def test_a_function_that_fails_by_itself_has_lost_and_is_named(server, number):
    value, said = RETURNED[number]
    system = function(f"def answer(prompt):\n    return {value}\n", f"f{number}")
    assert said in failing(server, system, "--system", f"{system}.timeout=0.2")


def test_what_a_function_prints_and_where_it_goes_changes_no_result(server):
    source = (
        "import os\ndef answer(prompt):\n    print('noise')\n    os.makedirs('away', exist_ok=True)\n"
        "    os.chdir('away')\n    return 'good'\n"
    )
    done = judgeloop(*comparison(server, function(source, "noisy"), "--json", "-o", "result.md"))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["exit_code"] == 0
    assert Path("result.md").exists()
    assert Path(".judgeloop/ledger.sqlite").exists()


def with_columns():
    rows = [
        {"id": f"item-{n}", "prompt": f"What is {n} and {n}?", "context": {"n": n}, "gold": "4",
         "reference": "r", "group": "g", "target": "t", "answer": "a"}
        for n in range(ITEMS)
    ]  # fmt: skip
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_a_function_is_told_what_it_takes_and_never_the_reference(server):
    with_columns()
    source = (
        "seen = []\ndef answer(*, prompt, messages, id, context, late=None, **more):\n"
        "    seen.append((prompt, messages, id, context, sorted(more)))\n    return 'good'\n"
    )
    result_of(*comparison(server, function(source, "told"), "--map", "reference=gold"))
    for prompt, messages, item, context, more in sys.modules["own_told"].seen:
        assert messages == [{"role": "user", "content": prompt}]
        assert (prompt, item) == (
            f"What is {context['n']} and {context['n']}?",
            f"item-{context['n']}",
        )
        assert more == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("prompt, reference", "no system is told it"),
        ("group", "no system is told it"),
        ("prompt, contxt", "has no such column (did you mean context?)"),
        ("prompt, target", "needs 'target', and the item 'item-0' has no such column"),
        ("prompt, answer", "needs 'answer'"),
        ("prompt, /", "takes 'prompt' by its place"),
    ],
)
def test_a_function_that_needs_what_no_system_is_told_is_refused(server, parameters, said):
    with_columns()
    system = function(f"def answer({parameters}):\n    return 'x'\n", f"p{abs(hash(parameters))}")
    done = judgeloop(*comparison(server, system))
    assert (done.exit_code, server.requests) == (2, []), done.output
    assert said in re.sub(r"\s+", " ", done.stderr)


def test_a_reported_cost_is_booked_and_one_above_the_maximum_stops_the_run(server):
    source = (
        "def answer(prompt):\n    return {'output': 'good ' + prompt, 'cost': %s, 'model': 'm-1'}\n"
    )
    cheap = function(source % 0.001, "cheap")
    result = result_of(*comparison(server, cheap, cost="0.002"))
    (one,) = result["generated"]
    assert one["models"] == ["m-1"]
    assert one["usd"] == pytest.approx(0.001 * one["asked"])
    dear = judgeloop(*comparison(server, function(source % 0.003, "dear"), cost="0.002"))
    assert dear.exit_code == 4
    assert "charged $0.0030 for a call, more than the worst case of $0.0020" in re.sub(
        r"\s+", " ", dear.stderr
    )


def test_without_a_reported_cost_the_maximum_is_booked(server):
    (one,) = result_of(*comparison(server, command(ECHO), cost="0.002"))["generated"]
    assert one["usd"] == pytest.approx(0.002 * one["asked"])


def test_code_without_a_version_serves_its_own_run_alone(server):
    source = (
        "calls = []\ndef answer(prompt):\n    calls.append(prompt)\n    return 'good ' + prompt\n"
    )
    system = function(source, "runs")
    first = result_of(*comparison(server, system))
    calls = sys.modules["own_runs"].calls
    assert len(calls) == first["judged"]
    again = result_of(*comparison(server, system))
    assert (len(calls), again["run"] != first["run"]) == (2 * first["judged"], True)
    version = ["--system", f"{system}.version=1"]
    result_of(*comparison(server, system, *version))
    asked = len(calls)
    result_of(*comparison(server, system, *version))
    assert len(calls) == asked


def test_a_shared_ledger_needs_a_version_of_code(server):
    judgeloop("ledger", "create")
    system = command(ECHO)
    must = "JUDGELOOP_LEDGER_MUST_EXIST=true"
    done = judgeloop(*comparison(server, system, must))
    assert (done.exit_code, server.requests) == (2, [])
    assert ".version=TEXT" in done.stderr
    result_of(*comparison(server, system, must, "--system", f"{system}.version=1"))


def test_a_name_with_slashes_dots_and_signs_stays_as_it_is_typed(server):
    system = f"command:{sys.executable} -c 'print(\"good  //x/./y=1 \")' --at=http://a//b"
    result = result_of(*comparison(server, system))
    assert result["winner"] == system


def test_the_same_command_twice_is_refused(server):
    system = command(ECHO)
    base = comparison(server, system)
    base[1] = system
    done = judgeloop(*base)
    assert (done.exit_code, server.requests) == (2, [])
    assert "are the same system" in re.sub(r"\s+", " ", done.stderr)


def test_python_takes_a_function_as_a_system(server):
    system = function("async def answer(prompt):\n    return 'good ' + prompt\n", "direct")
    sys.path.insert(0, str(Path.cwd()))
    answer = importlib.import_module("own_direct").answer
    given = {
        "items": "items.jsonl", "judge": "openai/judge", "judge_base_url": server.url,
        "judge_price": "1,10", "system": [f"{system}.max-cost=0"],
    }  # fmt: skip
    assert judgeloop_api.compare("old.jsonl", answer, **given).winner == system
    assert judgeloop_api.compare("old.jsonl", ("mine", answer), **given).winner == "mine"
    unnamed = {
        "<lambda>": lambda prompt: prompt,
        "partial": partial(answer),
        "Path": Path().joinpath,
    }
    for found, one in unnamed.items():
        with pytest.raises(
            InputError, match=rf"found .*{found}.*, which no name leads to.* with `def`"
        ):
            judgeloop_api.compare("old.jsonl", one, **given)
    with pytest.raises(InputError, match="what may a call cost"):
        judgeloop_api.compare("old.jsonl", answer, **given | {"system": []})


def test_after_code_that_failed_is_mended_the_same_command_goes_on(server):
    system = command("import sys\nsys.exit('no key')\n")
    failing(server, system)
    assert command(ECHO) == system, "the same name"
    assert result_of(*comparison(server, system))["winner"] == system


def test_a_dry_run_forecasts_code_and_runs_none(server):
    system = command("open('ran', 'w')\nprint('x')\n")
    plan = json.loads(
        judgeloop(*comparison(server, system, "--dry-run", "--json", cost="0.01")).stdout
    )
    assert plan["outputs"]["worst"] == ITEMS
    assert plan["usd_of_outputs"]["worst"] == pytest.approx(0.01 * ITEMS)
    assert not Path("ran").exists()


def test_a_command_answers_inside_of_a_running_event_loop(server):
    system = command(ECHO)

    async def asked():
        return judgeloop_api.compare(
            "old.jsonl", system, items="items.jsonl", judge="openai/judge", judge_price="1,10",
            judge_base_url=server.url, system=[f"{system}.max-cost=0"], allow_plugins=True,
        )  # fmt: skip

    assert asyncio.run(asked()).winner == system


def test_one_command_generates_and_another_compares_without_the_judges_key(server):
    system = command(ECHO)
    flags = ["--allow-plugins", "--system", f"{system}.max-cost=0"]
    done = judgeloop("generate", system, "--items", "items.jsonl", "-o", "new.jsonl", *flags)
    assert done.exit_code == 0, done.output
    assert server.requests == []
    items = ["--items", "items.jsonl", *judged_by(server)]
    assert result_of("compare", "old.jsonl", "new.jsonl", *items)["winner"] == "new"
