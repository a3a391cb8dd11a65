"""`generate`: one system answers ahead of a comparison; what is known costs nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.chat_server import Response, completion, error, used
from support.commandline import judged_by, judgeloop, result_of
from support.live import ITEMS, generated, number_of, of_both, system_flags, write_items

LIVE = "openai/better"
OUT = Path("out.jsonl")


@pytest.fixture(autouse=True)
def _files():
    write_items(Path("items.jsonl"))


def generation(server, *more, system=LIVE, out=OUT, version="1"):
    flags = system_flags(server, system, version=version)
    return ["generate", system, "--items", "items.jsonl", "-o", out, *flags, *more]


def rows_of(path=OUT):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_all_outputs_are_asked_for_and_written_in_the_order_of_the_items(server):
    done = judgeloop(*generation(server))
    assert done.exit_code == 0, done.output
    assert [row["id"] for row in rows_of()] == [f"item-{n}" for n in range(ITEMS)]
    assert rows_of()[3] == {"id": "item-3", "prompt": "What is 3 and 3?", "output": "good 3"}
    assert len(generated(server)) == len(server.requests) == ITEMS, "no judge is asked"
    assert f"{ITEMS} outputs of {LIVE}, {ITEMS} asked for now ($0.018)" in done.stderr


def test_the_other_columns_of_the_items_stay_so_that_a_prompt_may_read_them(server):
    more = {"context": {"n": 1}, "error": "none", "instruction": "x", "question_id": 7}
    rows = [{**json.loads(line), **more} for line in Path("items.jsonl").read_text().splitlines()]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert judgeloop(*generation(server)).exit_code == 0
    assert rows_of()[3] == rows[3] | {"output": "good 3"}
    Path("other.toml").write_text('model = "openai/plain"\nprompt = "{{prompt}} {{context}}"\n')
    sent = len(server.requests)
    flags = [*judged_by(server), *system_flags(server, "other.toml")]
    result = result_of("compare", OUT, "other.toml", "--items", OUT, *flags, "--max-judgments", 5)
    assert result["judged"] == 5
    assert server.requests[sent]["messages"][-1]["content"].endswith('? {"n": 1}')


def test_what_is_known_is_written_for_nothing(server):
    assert judgeloop(*generation(server, "--first", 10)).exit_code == 0
    assert len(rows_of()) == len(server.requests) == 10
    first = rows_of()
    again = judgeloop(*generation(server, "--first", 10))
    assert "10 outputs of openai/better, 0 asked for now ($0.00)" in again.stderr
    assert (rows_of(), len(server.requests)) == (first, 10)
    assert judgeloop(*generation(server)).exit_code == 0
    assert len(server.requests) == ITEMS, "the first ten are known"


def test_an_export_asks_for_nothing_and_says_what_is_missing(server):
    judgeloop(*generation(server, "--first", 10))
    done = judgeloop(*generation(server, "--export-only"))
    assert (done.exit_code, len(server.requests), len(rows_of())) == (3, 10, 10)
    assert "10 outputs of openai/better; 20 outputs missing" in done.stderr
    assert judgeloop(*generation(server, "--export-only", "--first", 10)).exit_code == 0


def test_a_dry_run_says_what_is_missing_and_its_price_and_writes_nothing(server):
    assert "(a guess, as none is known yet)" in judgeloop(*generation(server, "--dry-run")).stderr
    judgeloop(*generation(server, "--first", 10))
    OUT.unlink()
    done = judgeloop(*generation(server, "--dry-run", "--json"))
    plan = json.loads(done.stdout)
    assert (done.exit_code, len(server.requests), OUT.exists()) == (0, 10, False)
    assert (plan["dry_run"], plan["outputs"], plan["missing"]) == (True, 10, 20)
    said = "20 outputs missing, which would cost about $0.012 (as the others did)"
    assert said in re.sub(r"\s+", " ", done.stderr)
    found = json.loads(judgeloop(*generation(server, "--json")).stdout)
    assert (found["generated"]["asked"], found["missing"], found["usd_of_missing"]["worst"]) == (20, 0, 0)
    assert plan["usd_of_missing"]["worst"] > plan["usd_of_missing"]["expected"]
    assert found["spent_usd"] == pytest.approx(plan["usd_of_missing"]["expected"])


@pytest.mark.parametrize("families", [False, True])
@pytest.mark.parametrize("other", [["openai/plain"], ["old.jsonl"]])
def test_the_first_items_are_those_that_compare_draws_with_the_same_seed(server, other, families):
    if families:
        items = [
            json.loads(line) | {"family": n // 2} for n, line in enumerate(Path("items.jsonl").read_text().splitlines())
        ]
        Path("items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    rows = ({"id": f"item-{n}", "output": f"plain {n}"} for n in range(ITEMS))
    Path("old.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for system in (LIVE, *other):
        if "/" in system:
            judgeloop(*generation(server, "--first", 12, "--seed", 5, system=system))
    sent = len(server.requests)
    flags = [one for name in (LIVE, *other) if "/" in name for one in system_flags(server, name)]
    judged = ["--items", "items.jsonl", *judged_by(server), "--seed", 5, "--max-judgments", 12]
    drawn = ["JUDGELOOP_MIN_JUDGMENTS=12", "JUDGELOOP_AHEAD=12"]
    result = result_of("compare", LIVE, *other, *judged, *flags, *drawn)
    assert result["judged"] == 12
    asked = [one for one in server.requests[sent:] if "response_format" not in one]
    assert len(asked) == len(result["generated"]), "one fresh output shows which model answers now"
    assert {(one["remembered"], one["unjudged"]) for one in result["generated"]} == {(12, 1)}


def test_checkpoints_that_do_not_fit_together_are_compared_one_after_another(server):
    models = b'{"data": [{"id": "step-1000"}, {"id": "better-2000"}]}'
    server.pages = {"/v1/models": Response(body=models)}
    for name, out in (("vllm/step-1000", "first.jsonl"), ("vllm/better-2000", "second.jsonl")):
        typed = generation(server, "--first", 20, "--seed", 1, system=name, out=Path(out))
        done = judgeloop(*typed)
        assert done.exit_code == 0, done.output
    assert len(server.requests) == 40
    result = result_of("compare", "first.jsonl", "second.jsonl", *judged_by(server))
    assert (result["winner"], result["items"]) == ("second", 20)


def test_a_budget_of_the_ledger_that_ends_asks_for_no_higher_one_of_the_command(server):
    judgeloop("budget", "set", "0.05")
    done = judgeloop(*generation(server, "--budget", "5"))
    assert done.exit_code == 3
    assert "judgeloop budget set" in done.stderr
    assert "with a higher" not in done.stderr


def test_a_budget_that_ends_is_kept_and_a_higher_one_goes_on(server):
    done = judgeloop(*generation(server, "--budget", "0.05"))
    (asked,) = re.findall(r"(\d+) asked for now", done.stderr)
    assert (done.exit_code, len(rows_of())) == (3, int(asked))
    assert 0 < len(server.requests) < ITEMS
    assert (
        "; what is left of the budget of $0.050, $0.0428, does not cover the worst case of a query, $0.0431"
        in done.stderr
    )
    assert judgeloop(*generation(server)).exit_code == 0
    assert len(server.requests) == len({number_of(one) for one in server.requests}) == ITEMS


def test_where_the_system_fails_by_itself_the_row_says_so_and_has_no_output(server):
    server.respond = lambda request, n: (
        completion(None, finish="content_filter", usage=used(request)) if number_of(request) == 7 else of_both(request)
    )
    done = judgeloop(*generation(server))
    assert done.exit_code == 0, done.output
    row = rows_of()[7]
    assert (row["output"], bool(row["error"])) == (None, True)
    assert "in 1 of them the system gave no output by itself" in done.stderr
    assert judgeloop("convert", OUT, "--allow-partial", "-o", "less.jsonl").exit_code == 0
    assert len(rows_of(Path("less.jsonl"))) == ITEMS - 1


def test_a_system_that_fails_too_often_is_not_asked_to_the_end(server):
    write_items(Path("items.jsonl"), 200)
    server.respond = lambda request, n: completion(None, finish="content_filter", usage=used(request))
    done = judgeloop(*generation(server))
    assert (done.exit_code, len(server.requests)) == (4, 8)
    assert f"{LIVE} gave no output to 8 of 8 items" in done.stderr


def test_a_server_that_refuses_ends_with_exit_code_4_and_keeps_what_came(server):
    server.respond = lambda request, n: of_both(request) if n < 10 else error(401, "no_key")
    done = judgeloop(*generation(server, "--concurrency", 1))
    assert (done.exit_code, len(rows_of())) == (4, 10)
    assert f"the system {LIVE} failed" in done.stderr
    server.respond = of_both
    assert judgeloop(*generation(server)).exit_code == 0
    assert len(rows_of()) == ITEMS


def test_a_name_that_says_nothing_is_generated_again_unless_it_has_a_version(server):
    base = generation(server, "--first", 3, version="")
    assert judgeloop(*base).exit_code == 0
    assert judgeloop(*base).exit_code == 0
    assert len(server.requests) == 6
    done = judgeloop(*base, "--export-only")
    assert (done.exit_code, len(server.requests)) == (2, 6)
    assert f"give --system {LIVE}.version=TEXT" in re.sub(r"\s+", " ", done.stderr)


WRONG = [
    ("old.jsonl", OUT, [], "expected a system that answers live"),
    (LIVE, "items.jsonl", [], "expected another file than items.jsonl"),
    (LIVE, "out.html", [], "expected a file ending in .jsonl"),
    (LIVE, OUT, ["--first", "0"], "--first"),
]


@pytest.mark.parametrize(("system", "out", "more", "said"), WRONG)
def test_what_is_wrong_is_refused_before_anything_is_sent(server, system, out, more, said):
    Path("old.jsonl").write_text('{"id": "item-1", "output": "x"}\n')
    flags = system_flags(server, LIVE) if system == LIVE else []
    done = judgeloop("generate", system, "--items", "items.jsonl", "-o", out, *flags, *more)
    assert (done.exit_code, server.requests) == (2, []), done.output
    assert said in re.sub(r"\s+", " ", done.stderr)
