"""A night in which another model answers behind the judge's name: the page says it first, and no gate passes by it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.chat_server import ChatServer, Response, candidates, used, verdict
from support.commandline import judgeloop

from judgeloop.core.money import show_usd, to_pico
from judgeloop.core.outcomes import AnsweredBy
from judgeloop.ledger.records import AskedAgain
from judgeloop.report.terminal import render
from judgeloop.suite.line import Line
from judgeloop.suite.other_judge import OtherModels
from judgeloop.suite.summary import Summary

WORDS = ("quartz", "violin", "penguin", "harvest", "turbine", "saffron", "glacier", "lantern")
SUITE = """
[suite]
budget = 5
judge = "openai/judge"
not-worse = 0.2
max-judgments = 40

[pairs.mail]
systems = ["old.jsonl", "mail.jsonl"]

[pairs.chat]
systems = ["old.jsonl", "chat.jsonl"]
"""


COPY = '[pairs.copy]\nsystems = ["old.jsonl", "copy.jsonl"]\n'
CALL_USD = 0.0006  # at this price


def write(name, output, items=60):
    subjects = [f"{WORDS[n % len(WORDS)]} {n:02}" for n in range(items)]
    rows = [
        {"id": f"q{n}", "prompt": f"Tell me about the {subject}.", "output": output(n, subject)}
        for n, subject in enumerate(subjects)
    ]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def candidate(night):
    """Outputs of which a third is new every night."""
    return lambda n, subject: f"The {subject} is new, {f'night {night}' if n % 3 == night % 3 else 'first version'}."


def level(night, share):
    """Outputs that lose as often as they win, so that a gate stays open."""

    def output(n, subject):
        known = candidate(night if n % 2 else 1)(n, subject)
        return known if (n + share) % 3 else f"I cannot say, question {n}."

    return output


def reads(request):
    """Prefers the answer that names the subject of the question."""
    shown = candidates(request)
    subject = shown["task"].removeprefix("Tell me about the ").removesuffix(".")
    first, second = (subject in shown[name] for name in ("answer_A", "answer_B"))
    return "tie" if first == second else ("A" if first else "B")


class Server:
    """A judge that reads, under the name of the model that stands behind it; inverted, it prefers the wrong answer."""

    def __init__(self):
        self.model, self.inverted, self.refused = "haiku-1", False, False
        self.chat = ChatServer(self.reply)

    def reply(self, request, number):
        del number
        if self.refused:
            return Response(401)
        said = reads(request)
        if self.inverted:
            said = {"A": "B", "B": "A"}.get(said, said)
        response = verdict(said, usage=used(request))
        return replace(response, body=response.body.replace(b"judge-2026-01-01", self.model.encode()))


@pytest.fixture
def server(monkeypatch):
    made = Server()
    monkeypatch.setenv("JUDGELOOP_JUDGE_BASE_URL", made.chat.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("JUDGELOOP_JUDGE_PRICE", "1,10")
    Path("night.toml").write_text(SUITE)
    write("old.jsonl", lambda n, subject: f"The {subject} is old and well known to all.")
    yield made
    made.chat.close()


def play(night, *more, regressed=False):
    for name in ("mail", "chat"):
        beside = regressed and name == "mail"
        write(f"{name}.jsonl", (lambda n, _: f"I cannot say, question {n}.") if beside else candidate(night))
    done = judgeloop("suite", "night.toml", "--night", f"2026-01-{night:02}", "-o", "night.json", *more)
    return done, json.loads(Path("night.json").read_text())


def test_nights_with_a_regression_on_the_third_and_another_judge_on_the_fourth(server):
    for night in (1, 2):
        done, found = play(night)
        assert (done.exit_code, found["judge_changed"]) == (0, ""), done.output
    done, found = play(3, regressed=True)
    assert {pair["name"]: pair["outcome"] for pair in found["pairs"]} == {"mail": "failed", "chat": "passed"}
    server.model = "haiku-2"
    done, found = play(4, "-o", "night.md", "-o", "night.xml", "-o", "night.html")
    assert done.exit_code == 0, done.output
    changed = found["judge_changed"]
    assert re.match(r"The judge changed: haiku-2 .* \d+ calls for \$0\.0\d+, .* haiku-1 answered\.$", changed)
    assert any(pair["again"] for pair in found["pairs"]), "what the old one judged is asked again"
    assert done.stdout.split("\n")[1].startswith("! The judge changed: haiku-2")
    assert "The judge changed" not in done.stderr, "standard output says it"
    assert "\n\\! The judge changed: haiku-2" in Path("night.md").read_text()
    assert "The judge changed: <span>haiku-2</span>" in Path("night.html").read_text()
    (case,) = [one for one in ET.parse("night.xml").getroot() if one.get("name") == "judge changed"]
    assert case.find("skipped") is not None
    _, twice = play(4)
    told = ["asked again" in str([pair["warnings"] for pair in one["pairs"]]) for one in (found, twice)]
    assert told == [True, True], "the same command says the same"
    _, after = play(5)
    assert after["judge_changed"] == "", "it is the same as last night"


def test_what_was_asked_again_is_all_that_the_server_answered_twice_whatever_the_rounds_and_starts(server):
    """Pairs go on as others leave money, and two of them ask nearly the same at the same time."""
    Path("night.toml").write_text(f"{SUITE.replace('= 5', '= 0.1').replace('= 0.2', '= 0.1')}{COPY}")

    def start(night):
        for name, share in (("mail", 1), ("chat", 2), ("copy", 2)):
            write(f"{name}.jsonl", level(night + (name == "copy"), share))
        before = len(server.chat.requests)
        judgeloop("suite", "night.toml", "--night", f"2026-01-{night:02}", "-o", "night.json")
        asked = [json.dumps(candidates(one)) for one in server.chat.requests[before:]]
        return json.loads(Path("night.json").read_text()), asked

    _, first = start(1)
    server.model = "haiku-2"
    found, asked = start(2)
    again, pairs = sum(one in first for one in asked), found["pairs"]
    assert sum(pair["again"] for pair in pairs) == again
    assert sum(pair["again_usd"] for pair in pairs) == pytest.approx(again * CALL_USD)
    controls = sum(pair["again_controls"] for pair in pairs)
    assert again > controls > 0
    cost = show_usd(to_pico(str(CALL_USD)) * again)
    assert f"{again} calls for {cost}, {controls} of them on" in found["judge_changed"]
    shown = [json.loads(judgeloop("runs", "show", pair["run"], "--json").stdout) for pair in pairs]
    assert sum(one["again"] for one in shown) == again - controls
    assert sum(one["again_usd"] for one in shown) == pytest.approx((again - controls) * CALL_USD)
    same, none = start(2)
    assert not none
    told = [one["judge_changed"].partition("Because of it")[2] for one in (found, same)]
    assert told[0] == told[1], "a second start says what the night cost"
    Path("night.toml").write_text(Path("night.toml").read_text().replace("max-judgments = 40", "max-judgments = 41"))
    other, more = start(2)
    every = again + sum(one in first for one in more)
    assert f" {every} calls for" in other["judge_changed"], "also what was asked before the file was changed"


def test_a_change_is_told_in_its_night_alone_though_verdicts_of_both_models_count(server):
    Path("night.toml").write_text(SUITE.replace("not-worse = 0.2\n", ""))
    told = []
    for night, model, refused in (
        (1, "haiku-1", False),
        (2, "haiku-2", False),
        (3, "haiku-2", True),
        (4, "haiku-2", False),
    ):
        server.model, server.refused = model, refused
        _, found = play(night)
        told.append(found["judge_changed"])
        kinds = {model["model"] for pair in found["pairs"] for _, models in pair["answered_by"] for model in models}
        if night in {2, 4}:
            assert kinds == {"haiku-1", "haiku-2"}
    assert list(map(bool, told)) == [False, True, False, False]


def test_a_pair_that_the_new_model_judges_on_a_later_night_has_another_judge_then(server):
    Path("night.toml").write_text(SUITE.replace("not-worse = 0.2\n", ""))
    play(1)
    server.model = "haiku-2"
    other = []
    for night, renewed in ((2, ("mail",)), (3, ("chat",)), (4, ("mail", "chat"))):
        for name in renewed:
            write(f"{name}.jsonl", candidate(night))
        done = judgeloop(
            "suite", "night.toml", "--night", f"2026-01-{night:02}", "--json", "-o", "night.csv", "-o", "n.md"
        )
        pairs = {pair["name"]: pair for pair in json.loads(done.stdout)["pairs"]}
        other.append([name for name, pair in pairs.items() if pair["other_judge"]])
        for name in other[-1]:
            assert pairs[name]["moved"] is None
            assert re.search(
                rf"^\\| {name} \\|.*\\| new \\|.*\\| judge changed \\|", Path("n.md").read_text(), re.MULTILINE
            )
        if night == 2:
            assert (
                "“new” in the column judge: by haiku-2; mail rests on haiku-1, too. Not asked again, so judged by haiku-1: chat."
                in Path("n.md").read_text()
            )
            shown = judgeloop("runs", "show", pairs["chat"]["run"], "--details").stdout
            assert "its server calls it haiku-1" in " ".join(shown.split())
    assert other == [["mail"], ["chat"], []]


def test_a_pair_without_verdicts_last_night_has_the_judge_of_the_night_before(server):
    Path("night.toml").write_text(SUITE.replace("not-worse = 0.2\n", ""))
    play(1)
    Path("mail.jsonl").write_text('{"id": "q0", "prompt":')
    judgeloop("suite", "night.toml", "--night", "2026-01-02")
    server.model = "haiku-2"
    _, found = play(3)
    assert [(pair["before"], pair["other_judge"]) for pair in found["pairs"] if pair["name"] == "mail"] == [
        ("wrong input", True)
    ]


def test_a_swapped_judge_that_cannot_tell_passes_no_pair(server):
    play(1)
    server.model, server.inverted = "haiku-2", True
    before = len(server.chat.requests)
    done, found = play(2)
    assert done.exit_code == 4
    assert {pair["outcome"] for pair in found["pairs"]} == {"broken"}
    assert len(server.chat.requests) - before < 60, "the pairs share its controls"


OLD = AnsweredBy("a", 3, "2026-01-01T02:00:00.000+00:00", "2026-01-04T02:00:00.000+00:00")
NEW = AnsweredBy("b", 7, "2026-01-05T02:00:00.000+00:00", "2026-01-05T03:00:00.000+00:00")


OTHER = OtherModels("j", ("a",), ("b",), ("b",))


def line(*models, name="p", before=()):
    return Line(name=name, question="compare", exit_code=0, headline="", answered_by=(("j", models),),
                answered_before=(("j", before),) if before else ())  # fmt: skip


def test_the_sentence_has_the_cost_before_who_answered_until_then():
    night = Summary(night="2026-01-05-n", budget_p=0, lines=(line(NEW, before=(OLD,)),), other_models=(OTHER,))
    assert night.changed == "The judge changed: b answers now. Before, a answered."
    again = replace(night, again=AskedAgain(54, 18, 52 * 10**9))
    asked = "54 calls for $0.052, 18 of them on controls."
    assert again.changed == f"The judge changed: b answers now. Because of it, {asked} Before, a answered."
    alone = replace(night, again=AskedAgain(18, 18, 23 * 10**9))
    assert "18 calls for $0.023, all on controls." in alone.changed
    assert asked[:10] in render(again.brief(1, 50)[0])
    assert "Before" not in render(again.brief(1, 50)[0])
    kept = replace(again, other_models=())
    assert not kept.changed
    assert asked in " ".join(render(kept.page).split()), "an earlier night's verdicts may be by another model"
    two = replace(night, lines=(*night.lines, replace(line(), answered_by=(("k", (NEW,)),))))
    assert two.changed == "The judge j changed: b answers now. Before, a answered."


def test_a_pair_is_judged_by_the_old_model_alone_only_where_another_judged_others():
    def note(*lines, replied=("b",)):
        other = (OTHER._replace(replied=replied),)
        return Summary(night="2026-01-05-n", budget_p=0, lines=lines, other_models=other).page.tables[0].note

    kept, both = line(OLD, name="p0", before=(OLD,)), line(OLD, NEW, name="p1", before=(OLD,))
    assert note(kept, line(NEW, name="p2")) == "“new” in the column judge: by b. Not asked again, so judged by a: p0."
    assert (
        note(kept, both, line(NEW, name="p2"))
        == "“new” in the column judge: by b; p1 rests on a, too. Not asked again, so judged by a: p0."
    )
    assert "Not asked again" not in note(kept, both, replied=("a", "b")), "models that take turns"
    later = Summary(night="2026-01-06-n", budget_p=0, lines=(kept, line(NEW, name="p2", before=(NEW,))))
    assert "Not asked again, so judged by a: p0." in later.page.tables[0].note, "also in later nights"
    same = Summary(night="2026-01-06-n", budget_p=0, lines=(kept, line(OLD, name="p2", before=(OLD,))))
    assert "Not asked again" not in same.page.tables[0].note


def test_a_judge_that_was_set_in_the_place_of_another_is_named_with_it_also_after_a_night_without_verdicts(server):
    def changed(night, judge):
        Path("night.toml").write_text(SUITE.replace("openai/judge", judge))
        _, found = play(night)
        return found["judge_changed"], {one["name"]: one["other_judge"] for one in found["pairs"]}

    play(1)
    Path("mail.jsonl").write_text('{"id": "q0", "prompt":')
    Path("night.toml").write_text(SUITE.replace("openai/judge", "openai/other"))
    found = json.loads(judgeloop("suite", "night.toml", "--night", "2026-01-02", "--json").stdout)
    assert found["judge_changed"] == "The judge changed: openai/judge before, openai/other now."
    said, other = changed(3, "openai/other")
    assert (said, other) == (
        "The judge changed: openai/judge before, openai/other now (mail).",
        {"mail": True, "chat": False},
    )
    assert changed(4, "openai/other") == ("", {"mail": False, "chat": False})


def test_a_dry_run_counts_the_controls_that_pairs_share_once_as_the_night_asks_them(server):
    for name in ("mail", "chat"):
        write(f"{name}.jsonl", candidate(1))
    shown = judgeloop("suite", "night.toml", "--dry-run").stdout
    of_pairs = [int(calls) for calls in re.findall(r"^  (?:mail|chat) +60 +(\d+) ", shown, re.MULTILINE)]
    assert of_pairs[0] == of_pairs[1], "two calls for each of 40 judgments and of 40 controls, or one of equal texts"
    (together,) = re.findall(r"^  together +(\d+) ", shown, re.MULTILINE)
    assert 70 <= sum(of_pairs) - int(together) <= 80, "the controls, but for those that a draw has twice"
    assert "together: controls that pairs share are counted once." in shown
    found = json.loads(judgeloop("suite", "night.toml", "--dry-run", "--json").stdout)
    assert found["worst_usd"] < 0.8 * sum(pair["usd"]["worst"] for pair in found["pairs"].values())
    _, night = play(1)
    asked = [json.dumps(request) for request in server.chat.requests]
    assert len(asked) == len(set(asked)) == sum(pair["asked"] for pair in night["pairs"])


def test_what_its_old_model_decided_is_not_asked_again_once_the_new_one_was_repaired(server):
    play(1)
    server.model, server.inverted = "haiku-2", True
    write("mail.jsonl", candidate(2))

    def start(night):
        before = len(server.chat.requests)
        judgeloop("suite", "night.toml", "--night", f"2026-01-{night:02}", "-o", "night.json")
        pairs = {pair["name"]: pair for pair in json.loads(Path("night.json").read_text())["pairs"]}
        models = {
            name: [one["model"] for _, found in pair["answered_by"] for one in found] for name, pair in pairs.items()
        }
        return pairs["mail"]["outcome"], models, len(server.chat.requests) > before

    assert start(2) == ("broken", {"mail": [], "chat": ["haiku-1"]}, True)
    server.inverted = False
    assert start(2) == ("passed", {"mail": ["haiku-2"], "chat": ["haiku-1"]}, True)
    for night in (2, 3):
        assert start(night) == ("passed", {"mail": ["haiku-2"], "chat": ["haiku-1"]}, False)


def test_a_name_behind_the_judges_own_is_another_model_and_so_is_an_earlier_one_that_is_back(server):
    """In the first night the replies have the name that is asked for."""
    told = []
    for night, model in enumerate(("judge", "judge-2026-12", "judge", "judge-2026-12", "judge-2026-12"), 1):
        server.model = model
        _, found = play(night)
        again = sum(pair["again"] for pair in found["pairs"])
        others = {pair["other_judge"] for pair in found["pairs"]}
        told.append((found["judge_changed"].partition(".")[0], *others, again > 0))
    changed = "The judge changed: {} answers now".format
    assert told == [
        ("", False, False),
        *((changed(model), True, True) for model in ("judge-2026-12", "judge", "judge-2026-12")),
        ("", False, True),  # outputs that are back, of which the other one gave the verdicts
    ]


def test_only_the_night_that_asked_again_says_that_it_did(server):
    play(1)
    server.model = "haiku-2"
    play(2)
    files = {name: Path(f"{name}.jsonl").read_text() for name in ("mail", "chat")}
    _, second = play(2)
    Path("night.toml").write_text(SUITE)
    for name, text in files.items():
        Path(f"{name}.jsonl").write_text(text)
    done = judgeloop("suite", "night.toml", "--night", "2026-01-03", "--json")
    told = [
        "asked again" in str([pair["warnings"] for pair in one["pairs"]]) for one in (second, json.loads(done.stdout))
    ]
    assert told == [True, False]


def test_a_judge_answers_by_the_model_of_the_latest_verdict_whoever_gave_those_that_were_known():
    later = replace(OLD, verdicts=333, last="2026-01-06T02:00:00.000+00:00")
    kept = line(later, NEW, before=(OLD,))
    changed = line(NEW, later, before=(replace(OLD, verdicts=1), NEW), name="q")
    assert [one.other_model for one in (kept, changed)] == [False, True]
    night = Summary(night="2026-01-06-n", budget_p=0, lines=(kept, changed)).page.tables[0]
    assert {row[0]: row[2] for row in night.rows} == {"p": "", "q": "new"}
    assert night.note == "“new” in the column judge: by a; q rests on b, too."


def test_a_night_in_which_nobody_answers_has_the_gaps_by_the_last_model_alone(server):
    for night, model, refused in ((1, "haiku-1", False), (2, "haiku-2", False), (3, "haiku-2", True)):
        server.model, server.refused = model, refused
        _, found = play(night)
    for pair in found["pairs"]:
        assert [gap is None for gap in pair["nights"]] == [True, False, True]
