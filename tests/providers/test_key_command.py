"""A key that a command prints: it goes to its server, is asked again when it is refused, and is shown nowhere."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from support.chat_server import error, goodness, used, verdict
from support.commandline import judged_by, judgeloop
from support.live import ITEMS, generated, of_both, system_flags, write_items, write_outputs

from judgeloop.core.errors import InputError
from judgeloop.providers.endpoint import ChatOptions, endpoint_for
from judgeloop.providers.key_command import PrintedKey
from judgeloop.providers.openai import PROVIDER

TOKEN = "eyJhbGciOi-token-number"


def command(tmp_path, source=None):
    """A command that prints another token each time, and counts its runs in a file."""
    script = tmp_path / "print key.py"
    count = tmp_path / "count"
    script.write_text(
        source
        or f"""
import pathlib
count = pathlib.Path({str(count)!r})
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
print({TOKEN!r} + f"-{{number}}")
"""
    )
    return shlex.join([sys.executable, str(script)])


def accepting(server, respond, most=3):
    """Let a token of the command be good for `most` requests."""
    seen = {}

    def answer(request, number):
        token = server.headers[number]["authorization"]
        seen[token] = seen.get(token, 0) + 1
        return error(401) if seen[token] > most or TOKEN not in token else respond(request, number)

    server.respond = answer
    return seen


def compared(server, tmp_path, *flags):
    write_outputs(tmp_path / "a.jsonl", "plain")
    write_outputs(tmp_path / "b.jsonl", "good")
    write_items(tmp_path / "items.jsonl")
    files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    flags = [*judged_by(server), "--items", str(tmp_path / "items.jsonl"), *flags]
    return judgeloop("compare", *files, *flags, "--json")


def test_a_judge_is_asked_again_with_the_next_key_when_one_has_expired(chat_server, tmp_path):
    seen = accepting(chat_server, lambda request, n: verdict(goodness(request), usage=used(request)))
    done = compared(
        chat_server, tmp_path, f"JUDGELOOP_KEY_COMMAND={command(tmp_path)}", "--risk", "0.001", "--ahead", "0",
        "--concurrency", "1",  # so that a key is known to have been good before it is refused
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert len(seen) > 1
    assert (tmp_path / "count").read_text() == str(len(seen)), "the command runs once for each key"
    assert TOKEN not in done.stdout + done.stderr
    assert json.loads(done.stdout)["unconfirmed_usd"] == 0, "what is refused for its key is not charged"


def test_a_key_that_was_never_accepted_is_not_asked_again(chat_server, tmp_path):
    chat_server.respond = lambda request, n: error(401)
    done = compared(chat_server, tmp_path, f"JUDGELOOP_KEY_COMMAND={command(tmp_path)}")
    assert done.exit_code == 4
    assert "the key is not accepted" in done.stderr
    assert (tmp_path / "count").read_text() == "1"
    assert TOKEN not in done.stdout + done.stderr


def test_a_live_system_has_a_command_of_its_own(chat_server, tmp_path):
    write_items(tmp_path / "items.jsonl")
    write_outputs(tmp_path / "old.jsonl")
    name = "openai/better"
    flags = [*judged_by(chat_server), *system_flags(chat_server, name), "--items", str(tmp_path / "items.jsonl")]
    flags += ["--system", f"{name}.key-command={command(tmp_path)}"]
    chat_server.respond = of_both
    done = judgeloop("compare", str(tmp_path / "old.jsonl"), name, *flags, "--json")
    assert done.exit_code == 0, done.stderr
    assert 0 < len(generated(chat_server)) < ITEMS
    keys = {
        headers["authorization"]: "response_format" in request
        for request, headers in zip(chat_server.requests, chat_server.headers, strict=True)
    }
    assert {TOKEN in key: judge for key, judge in keys.items()} == {True: False, False: True}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("print('two words')", "it printed something else"),
        ("import json; print(json.dumps({'expiresOn': 1}))", "it printed something else"),
        ("import sys; print('secret-in-stderr', file=sys.stderr); sys.exit(3)", "exit code 3"),
        ("", "it printed something else"),
    ],
)
def test_a_command_that_prints_no_key_is_refused_and_nothing_of_it_shown(tmp_path, source, says):
    with pytest.raises(InputError, match=says) as caught:
        PrintedKey(command(tmp_path, source or "pass"), "key_command", {})
    assert not {"two words", "secret-in-stderr", "expiresOn"} & set(str(caught.value).split("'"))
    assert "secret-in-stderr" not in str(caught.value)


@pytest.mark.parametrize("given", ["no-such-command --now", "'", " "])
def test_what_is_no_command_is_refused(given):
    with pytest.raises(InputError, match="`key_command`: "):
        PrintedKey(given, "key_command", {})


def test_a_command_runs_without_a_shell_and_without_the_variables_of_judgeloop(tmp_path):
    source = "import os, sys; print('-'.join([*sys.argv[1:], *sorted(n for n in os.environ if n.startswith('JUDGE'))]))"
    given = command(tmp_path, source) + " $HOME;x"
    assert PrintedKey(given, "key_command", {"JUDGELOOP_JUDGE_API_KEY": "mine", "HOME": "/h"}).value == "$HOME;x"


def test_a_key_of_a_command_does_not_travel_unencrypted_and_is_not_asked_for_offline(tmp_path):
    options = {"base_url": "http://server.example/v1", "key_command": command(tmp_path)}
    with pytest.raises(InputError, match=r"travel unencrypted to server\.example"):
        endpoint_for(PROVIDER, ChatOptions(**options))
    assert endpoint_for(PROVIDER, ChatOptions(**options, offline=True)).printed is None
    assert not (tmp_path / "count").exists()


def test_a_command_for_several_judges_or_none_is_refused(chat_server, tmp_path):
    more = ["--judge", "anthropic/m", f"JUDGELOOP_KEY_COMMAND={command(tmp_path)}"]
    done = compared(chat_server, tmp_path, *more)
    assert done.exit_code == 2
    assert not (tmp_path / "count").exists()
