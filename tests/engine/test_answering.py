"""Whose verdicts count, where models change behind a judge's name in ways that a server may have."""

from __future__ import annotations

import pytest
from support.driving import AT_ONCE, run

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.answering import AnsweringModel, Used
from judgeloop.engine.session import Limits
from judgeloop.engine.state import OneModel, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.papers.diffuse.rules import TieAware

pytestmark = pytest.mark.usefixtures("no_task_is_lost")

ITEMS = 16


def level(call):
    """Prefers one system on every other item, so that a run goes to its last one."""
    return Verdict(float((call.systems[0] == "a") == (int(call.item.id.removeprefix("item-")) % 2 == 0)))


def ties(_):
    return Verdict(0.5)


def gate(ledger, *judges, name="run", drawn_by=0, most=ITEMS, **more):
    """A run of which verdicts of one model count for each judge, to its last item or of `most` items."""
    terms = Terms(name, policy=AT_ONCE, one_model=tuple(OneModel() for _ in judges), **more)
    rule, limits = TieAware(1e-12), Limits(max_judgments=most)
    return run([*judges], terms=terms, ledger=ledger, seed=drawn_by, rule=rule, limits=limits, items=ITEMS)


@pytest.fixture
def ledger(tmp_path):
    return str(tmp_path / "ledger.sqlite")


def models_of(finished, judge=0):
    return [one.model for one in finished.answered_by[judge]]


def turning(*names, script=level):
    """A judge whose replies name one model after the other, each so often: pairs of a number of calls and a name."""
    judge = ScriptedJudge(script)

    def reply(call):
        left = len(judge.calls)
        for number, name in names:
            judge.answers_as = name
            if left <= number:
                break
            left -= number
        return script(call)

    judge.script = reply
    return judge


def test_a_router_that_goes_on_to_a_third_model_and_back_ends_each_gate(ledger):
    """What the third answered under the second's key is no verdict of the second."""
    gate(ledger, ScriptedJudge(level, answers_as="one"), most=12)
    first = gate(ledger, turning((6, "two"), (99, "three")), name="next", drawn_by=1, concurrency=1)
    assert first.ending.stop.kind is StopKind.JUDGE_CHANGED
    for number in range(4):
        back = gate(ledger, turning((999, "two"), script=ties), name=f"back {number}", drawn_by=1)
        assert models_of(back) == ["two"]
        same = gate(ledger, turning((999, "two"), script=ties), name="next", drawn_by=1)
        assert models_of(same) == ["two"]


def test_of_a_panel_each_member_counts_by_its_own_model(ledger):
    """One member is swapped: its verdicts are asked again, and those of the other are not."""
    same, old = ScriptedJudge(level, model="m1"), ScriptedJudge(level, model="m2", answers_as="old")
    gate(ledger, same, old, most=12)
    other, new = ScriptedJudge(level, model="m1"), ScriptedJudge(ties, model="m2", answers_as="new")
    finished = gate(ledger, other, new, name="another", drawn_by=3)
    assert models_of(finished, 1) == ["new"]
    assert len(same.calls) == 24
    assert len(other.calls) == 8, "about the four items that are left"
    assert finished.spend.again
    turned = turning((9, "new"), (99, "third"), script=ties)
    turned.model = "m2"
    anew = gate(f"{ledger}2", ScriptedJudge(level, model="m1"), turned, concurrency=1)
    assert anew.ending.stop.kind is StopKind.JUDGE_CHANGED


def test_a_reply_without_a_name_counts_as_the_name_asked_for(ledger):
    gate(ledger, ScriptedJudge(level, answers_as="scripted"), most=12)
    judge = ScriptedJudge(level)
    judge.answers_as = ""
    finished = gate(ledger, judge, name="another", drawn_by=2)
    assert len(judge.calls) == 8
    assert finished.answered_by == ((),)
    assert finished.spend.again == 0


def test_an_answer_of_another_model_after_the_decision_is_not_among_those_that_count():
    whose = AnsweringModel(ScriptedJudge(level), OneModel())
    about = {("item", ("a", "b"))}
    whose.replies("one")
    for number, name in enumerate(["one", "one", "two"]):
        at = f"2026-11-30T11:00:0{number}"
        whose.used[f"key {number}"] = Used(name, at, control=False, again=False, about=frozenset(about))
    assert [(by.model, by.verdicts) for by in whose.figures(about)] == [("one", 2)]
