"""Controls: how they are drawn; asked first, paid for, remembered, and never in the decision."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from support.driving import AT_ONCE, run, script_from
from support.pools import make_pool, make_session, scores

from judgeloop.core.outcomes import Control, ControlTally, StopKind
from judgeloop.core.records import Abstention, Item, JudgeIdentity, Order, Verdict
from judgeloop.engine.controls import FEWEST_ITEMS, NAME, control_queries, controls_by, is_short
from judgeloop.engine.loop import drive
from judgeloop.engine.state import OneModel, Recipe, Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.stats.controls import MOST
from judgeloop.papers.diffuse.rules import TieAware

pytestmark = pytest.mark.usefixtures("no_task_is_lost")

JUDGE = JudgeIdentity("scripted", "scripted")
WORDS = ("apple", "brick", "cloud", "drum", "eagle", "fern", "glove", "harp", "iron", "jade", "kite")


def answered(count=30):
    """Items whose answers name them, so that an answer tells which question it is to."""
    return [
        (Item(f"i{n}", f"What is a {w}?", f"reference {w}"), f"It is a {w} of some kind, {w}.")
        for n, w in enumerate(f"{WORDS[n % len(WORDS)]}-{n:02}" for n in range(count))
    ]


def drawn(items=None, judge=JUDGE, number=0, most_bytes=10_000):
    rows = answered() if items is None else items
    return control_queries("base", rows, judge, number, most_bytes)


def draws(judge=JUDGE, number=0, *, rates=False):
    """The tries of a judge."""
    return partial(control_queries, "base", answered(), judge, number, 10_000, rates=rates)


def test_the_pairs_of_a_night_share_the_controls_of_a_judge_and_a_baseline():
    judge, recipe = ScriptedJudge(sound), Recipe("base", (True,), 10_000, rates=False)
    (first,), (second,) = (controls_by(recipe, answered(), [judge]) for _ in range(2))
    assert first(1) is second(1)
    assert first(1) == control_queries("base", answered(), judge.identity, 0, 10_000)
    assert first(2) != first(1)


def test_a_control_shows_a_question_its_own_answer_and_another_ones():
    rows = dict(answered())
    queries = drawn()
    assert len(queries) == MOST
    for query in queries:
        own, other = sorted(query.outputs, key=lambda text: query.systems[query.outputs.index(text)] == NAME)
        assert rows[query.item] == own
        assert other in rows.values()
        assert set(query.systems) == {"base", NAME}
        assert query.item.reference
    sides = [query.systems[0] == NAME for query in queries]
    assert 8 < sum(sides) < 32


def test_an_answer_to_an_item_of_the_same_family_is_no_other_answer():
    rows = [(replace(item, family=f"f{n % 3}"), text) for n, (item, text) in enumerate(answered())]
    families = {text: item.family for item, text in rows}
    queries = drawn(rows)
    assert len(queries) == MOST
    assert all(len({families[text] for text in query.outputs}) == 2 for query in queries)
    assert len(drawn([(replace(item, family="all"), text) for item, text in rows])) == MOST, "there are no others"


def test_controls_follow_the_judge_and_the_texts_alone():
    rows = answered()
    renamed = [(replace(item, id=f"x{item.id}"), text) for item, text in reversed(rows)]
    texts = [query.outputs for query in drawn(rows)]
    assert [query.outputs for query in drawn(renamed)] == texts
    assert [query.outputs for query in drawn(judge=JudgeIdentity("scripted", "2"))] != texts
    changed = [*rows[:-1], (rows[-1][0], "Another answer than before.")]
    assert [query.outputs for query in drawn(changed)] != texts


@pytest.mark.parametrize(
    "rows",
    [
        answered(FEWEST_ITEMS - 1),
        [(item, "I cannot answer that question.") for item, _ in answered()],
        [(item, "So it is" + ", and so it is" * n) for n, (item, _) in enumerate(answered())],
        [(replace(item, prompt="Who  AM i?" if n % 2 else "who am i?"), text)
         for n, (item, text) in enumerate(answered())],
    ],
    ids=["few", "the same answer", "answers that contain each other", "one question"],
)  # fmt: skip
def test_items_that_do_not_differ_make_no_controls(rows):
    assert drawn(rows) == ()


def test_items_too_large_for_a_call_make_no_controls():
    assert drawn(most_bytes=100) == ()


@pytest.mark.parametrize(
    ("text", "short"), [("", True), ("  yes ", True), ("1,234", True), ("Paris is in France", False), ("x" * 20, False)]
)
def test_a_short_answer_has_few_characters_and_few_words(text, short):
    assert is_short(text) == short


def sound(call):
    """Knows whose answer it reads, in controls and else."""
    if NAME in call.systems:
        return Verdict(float(call.systems[1] == NAME))
    return Verdict(float(call.systems[0] == "a"))


def terms(**more):
    return Terms("run", policy=AT_ONCE, controls=(draws(),), **more)


def test_controls_are_asked_first_paid_for_and_never_in_the_decision():
    judge = ScriptedJudge(sound, cost_p=3)
    finished = run(judge, terms=terms())
    assert [NAME in call.systems for call in judge.calls] == [True] * 18 + [False] * 10
    assert finished.controls == (ControlTally(right=9, end=Control.PASSED),)
    assert finished.spend.charged_p == 3 * len(judge.calls)
    assert finished.ending.asked == 5


@pytest.mark.parametrize("selector", ["random", "diffuse"])
def test_a_run_draws_the_same_items_with_controls_as_without(selector):
    script = script_from(scores(40, 3))
    judge = ScriptedJudge(lambda call: sound(call) if NAME in call.systems else script(call))
    one, other = (
        run(judge, selector=selector, terms=these) for these in (terms(), Terms("run", policy=AT_ONCE))
    )  # fmt: skip
    assert one.ending == other.ending
    assert other.controls == ()


BLIND = {
    "always A": lambda call: Verdict(1.0),
    "always B": lambda call: Verdict(0.0),
    "always a tie": lambda call: Verdict(0.5),
    "the longer": lambda call: Verdict(float(len(call.outputs[0]) > len(call.outputs[1]))),
    "the first in the alphabet": lambda call: Verdict(float(call.outputs[0] < call.outputs[1])),
}


@pytest.mark.parametrize("script", BLIND.values(), ids=BLIND)
def test_a_judge_blind_to_the_question_is_asked_nothing_else(script):
    judge = ScriptedJudge(script, cost_p=3)
    finished = run(judge, terms=terms())
    assert finished.ending.stop.kind is StopKind.CONTROLS
    assert "scripted cannot tell an answer to the question from" in finished.ending.stop.sentence
    assert finished.ending.asked == 0
    assert all(NAME in call.systems for call in judge.calls)


@pytest.mark.simulation
@pytest.mark.parametrize("script", BLIND.values(), ids=BLIND)
def test_judges_blind_to_the_question_pass_in_2_of_1000(script):
    """500 draws each: more than 6 passes at a chance of 0.0023 have a probability below 0.001."""
    rows, passed = answered(), 0
    for number in range(500):
        product = 1.0
        for query in drawn(rows, JudgeIdentity("blind", str(number))):
            first_is_own = query.systems[1] == NAME
            won = script(query).preference * (1 if first_is_own else -1)
            product *= {1: 1.4, 0: 0.8, -1: 0.2}[won]
            passed += product >= 20
            if product >= 20:
                break
    assert passed <= 6


def test_a_judge_not_shown_in_40_controls_has_a_sentence_of_its_own():
    place = {(query.item, frozenset(query.outputs)): n for n, query in enumerate(drawn())}
    judge = ScriptedJudge(
        lambda call: Verdict(float((call.systems[1] == NAME) != (place[call.item, frozenset(call.outputs)] % 6 == 5)))
    )
    finished = run(judge, terms=terms())
    (tally,) = finished.controls
    assert (tally.end, tally.asked) == (Control.NOT_SHOWN, MOST)
    assert finished.ending.stop.sentence.startswith("it was not shown in 40 controls that scripted")


def test_a_judge_whose_replies_cannot_be_read_is_found_after_a_few_controls():
    judge = ScriptedJudge(lambda call: Abstention("no verdict in the reply: 'I like it.'"))
    finished = run(judge, terms=terms())
    stop = finished.ending.stop
    assert stop.kind is StopKind.ABSTENTIONS
    assert "scripted" in stop.sentence
    assert stop.sentence.endswith(
        "gave no verdict on 8 of 8 controls; the last reason: no verdict in the reply: 'I like it.'"
    )
    assert len(judge.calls) < MOST / 2


def rated():
    """Controls of a judge that rates, and what is the own answer of each of their items."""
    rows = answered()
    return control_queries("base", rows, JUDGE, 0, 10_000, rates=True), dict(rows)


def test_a_control_of_ratings_is_two_queries_the_own_answer_first():
    queries, own = rated()
    assert len(queries) == 2 * MOST
    for first, second in zip(queries[::2], queries[1::2], strict=True):
        assert first.item == second.item
        assert first.outputs == (own[first.item],) != second.outputs
        assert first.systems == second.systems == (NAME,), "no rating of a system"


@pytest.mark.parametrize(
    ("rate", "end", "calls"),
    [
        (lambda own: Verdict(0.9 if own else 0.2), Control.PASSED, 18),
        (lambda own: Verdict(0.5), Control.FAILED, 18),
        (lambda own: Verdict(0.2 if own else 0.9), Control.FAILED, 18),
        (lambda own: Verdict(0.9) if own else Abstention("none"), Control.NOT_SHOWN, 80),
    ],
    ids=["sound", "always the same", "the wrong way round", "no rating of the other answer"],
)
def test_ratings_are_compared_two_by_two(rate, end, calls):
    _, own = rated()
    judge = ScriptedJudge(lambda call: rate(call.outputs[0] == own.get(call.item)))
    finished = run(judge, terms=Terms("run", policy=AT_ONCE, controls=(draws(rates=True),)))
    assert finished.controls[0].end is end
    assert len([call for call in judge.calls if call.systems == (NAME,)]) <= calls


def test_half_a_control_of_ratings_does_not_count():
    _, own = rated()
    judge = ScriptedJudge(lambda call: Verdict(float(call.outputs[0] == own[call.item])), cost_p=3)
    these = Terms("run", policy=AT_ONCE, controls=(draws(rates=True),), budget_p=10, concurrency=1)
    finished = run(judge, terms=these)
    assert len(judge.calls) == 3
    assert finished.controls == (ControlTally(right=1),)


def test_each_judge_of_a_panel_is_tested_by_itself():
    judges = [
        ScriptedJudge(sound, model="sound"),
        ScriptedJudge(sound, model="untested"),
        ScriptedJudge(BLIND["always A"], model="blind"),
    ]
    controls = (draws(), None, draws(number=2))
    finished = run(judges, terms=Terms("run", policy=AT_ONCE, controls=controls))
    one, none, other = finished.controls
    assert (one.end, none, other.end) == (Control.PASSED, None, Control.FAILED)
    assert finished.ending.stop.sentence.startswith("scripted/blind cannot tell")
    assert not judges[1].calls


def test_the_second_run_pays_for_no_control(tmp_path):
    ledger = str(tmp_path / "ledger.sqlite")
    first, again = (ScriptedJudge(sound, cost_p=3) for _ in range(2))
    one = run(first, terms=terms(), ledger=ledger)
    other = run(again, terms=replace(terms(seed=7), run_id="another night"), ledger=ledger)
    assert other.controls == one.controls
    assert not [call for call in again.calls if NAME in call.systems]


@pytest.mark.parametrize("concurrency", [1, 64])
def test_the_pace_changes_no_control(concurrency):
    wrong = {query.item.prompt for query in drawn()[4:7]}
    judge = ScriptedJudge(
        lambda call: (
            Verdict(float((call.systems[1] == NAME) != (call.item.prompt in wrong)))
            if NAME in call.systems
            else sound(call)
        )
    )
    finished = run(judge, terms=terms(concurrency=concurrency))
    assert finished.controls == run(judge, terms=terms()).controls


def test_controls_that_the_budget_does_not_cover_halt_the_run():
    judge = ScriptedJudge(sound, cost_p=3)
    finished = run(judge, terms=terms(budget_p=20, concurrency=1))
    assert finished.ending.stop.kind is StopKind.BUDGET
    assert finished.ending.asked == 0
    assert finished.controls == (ControlTally(right=3),)
    assert finished.spend.charged_p == 18


def test_offline_the_ledger_alone_says_who_passed(tmp_path):
    ledger = str(tmp_path / "ledger.sqlite")
    judge = ScriptedJudge(BLIND["always A"])
    unknown = run(judge, terms=terms(offline=True), ledger=ledger)
    assert (unknown.ending.stop.kind, unknown.controls) == (StopKind.DRY_RUN, (ControlTally(),))
    run(judge, terms=terms(), ledger=ledger)
    asked = len(judge.calls)
    known = run(judge, terms=terms(offline=True), ledger=ledger)
    assert (known.ending.stop.kind, known.controls) == (StopKind.DRY_RUN, (ControlTally(number=2),))
    assert len(judge.calls) == asked


def test_a_pool_of_the_tests_is_not_tested_unless_asked():
    assert run(ScriptedJudge(sound), pool=make_pool()).controls == ()


NO_WORD = Abstention("no verdict in the reply")


def test_a_judge_that_takes_the_first_in_some_is_asked_in_both_orders_and_passes():
    """In one order by coin, half of these would be wrong; in both, each is a tie."""
    first = {query.item.prompt for query in drawn()[2:8:3]}
    judge = ScriptedJudge(lambda call: Verdict(1.0) if call.item.prompt in first else sound(call))
    (tally,) = run(judge, terms=terms()).controls
    assert (tally.wrong, tally.end) == (0, Control.PASSED)
    assert tally.tied
    (one_order,) = run(judge, terms=terms(order=Order.RANDOM)).controls
    assert one_order.tied == 0


def test_a_control_without_a_verdict_is_asked_once_more():
    heard = set()

    def script(call):
        if NAME in call.systems and call.item.prompt not in heard:
            heard.add(call.item.prompt)
            return NO_WORD
        return sound(call)

    (tally,) = run(ScriptedJudge(script), terms=terms()).controls
    assert tally == ControlTally(right=9, end=Control.PASSED)


def test_a_judge_that_refuses_half_of_its_controls_does_not_pass():
    refused = {query.item.prompt for query in drawn()[::2]}
    judge = ScriptedJudge(lambda call: NO_WORD if call.item.prompt in refused else sound(call))
    finished = run(judge, terms=terms())
    assert finished.controls[0].end is Control.NOT_SHOWN
    assert finished.ending.asked == 0


OF_ONE = {"one_model": (OneModel(),)}


def gated(ledger, judge, run_id="run", drawn_by=0, rule=None, **more):
    given = replace(terms(**OF_ONE | more), run_id=run_id)
    return run(judge, terms=given, ledger=ledger, seed=drawn_by, rule=rule)


def asked_of(judge):
    """How many calls were controls, and how many others."""
    controls = sum(NAME in call.systems for call in judge.calls)
    return controls, len(judge.calls) - controls


@pytest.fixture
def ledger(tmp_path):
    return str(tmp_path / "ledger.sqlite")


def test_controls_speak_for_the_model_that_answered_them(ledger):
    """The old model passed; the new one, behind the same name, prefers the wrong answers."""
    gated(ledger, ScriptedJudge(sound, answers_as="old"))
    swapped = ScriptedJudge(lambda call: Verdict(1.0 - sound(call).score), answers_as="new")
    finished = gated(ledger, swapped, drawn_by=7, run_id="another")
    assert finished.ending.stop.kind is StopKind.CONTROLS
    assert finished.controls[0].model == "new"
    assert finished.ending.asked == 0


def test_a_failed_try_is_followed_by_one_with_other_controls_that_needs_more(ledger):
    broken = ScriptedJudge(BLIND["always a tie"])
    assert gated(ledger, broken).controls[0].end is Control.FAILED
    shown = {(call.item, call.outputs) for call in broken.calls}
    repaired = ScriptedJudge(sound)
    finished = gated(ledger, repaired)
    (tally,) = finished.controls
    assert (tally.right, tally.number, tally.end) == (11, 2, Control.PASSED)
    assert finished.ending.asked == 5
    controls = {(call.item, call.outputs) for call in repaired.calls if NAME in call.systems}
    assert len(controls - shown) > 20, "others, but for a few that are drawn again"
    again = ScriptedJudge(sound)
    assert gated(ledger, again, run_id="another night").controls == finished.controls
    assert asked_of(again)[0] == 0, "a try that passed holds"


@pytest.mark.parametrize("offline", [False, True])
def test_a_test_that_a_model_failed_before_it_was_repaired_is_not_told_again_after_another_has_answered(
    ledger, offline
):
    """Controls of the failed try are known of two models: only what the first left open has the name of the second."""
    blind, mended = ScriptedJudge(BLIND["always a tie"], answers_as="old"), ScriptedJudge(sound, answers_as="old")
    assert gated(ledger, blind).controls[0].end is Control.FAILED
    assert gated(ledger, mended).controls[0].number == 2
    new = ScriptedJudge(sound, answers_as="new")
    other = gated(ledger, new, run_id="night two", drawn_by=1, rule=TieAware(0.001))
    assert (other.controls[0].number, other.counting) == (1, ("new",))
    same = ScriptedJudge(sound, answers_as="new")
    finished = gated(ledger, same, run_id="night three", offline=offline)
    assert (finished.controls[0].end, finished.controls[0].model) == (Control.PASSED, "new")
    assert asked_of(same)[0] == 0, "it has passed"
    assert finished.ending.winner == (None if offline else 0)


def test_a_model_that_passed_is_tested_once_whichever_failed_before_it(ledger):
    """The tries of each model are its own: none is asked as the next one of another."""

    def wrong(call):
        return Verdict(1 - sound(call).score)

    for number, (name, script) in enumerate([("one", BLIND["always a tie"]), ("one", wrong), ("two", wrong)]):
        failed = gated(ledger, ScriptedJudge(script, answers_as=name), run_id=str(number))
        assert failed.controls[0].end is Control.FAILED
    asked = []
    for number in range(3):
        judge = ScriptedJudge(sound, answers_as="three")
        finished = gated(ledger, judge, run_id=f"night {number}", drawn_by=number)
        assert (finished.controls[0].end, finished.controls[0].model) == (Control.PASSED, "three")
        asked.append(asked_of(judge)[0])
    assert asked[0]
    assert asked[1:] == [0, 0]


@pytest.mark.parametrize("of_one", [{}, OF_ONE], ids=["any model", "one model"])
def test_whichever_models_count_a_failed_try_is_followed_by_another(ledger, of_one):
    gated(ledger, ScriptedJudge(BLIND["always a tie"]), **{"one_model": (), **of_one})
    (tally,) = gated(ledger, ScriptedJudge(sound), **{"one_model": (), **of_one}).controls
    assert (tally.number, tally.end) == (2, Control.PASSED)


def test_a_judge_that_failed_so_often_that_no_test_can_be_passed_is_not_asked_again(ledger, monkeypatch):
    monkeypatch.setattr("judgeloop.engine.controls.MOST_TRIES", 2)
    for _ in range(2):
        gated(ledger, ScriptedJudge(BLIND["always a tie"]))
    silent = ScriptedJudge(sound)
    (tally,) = gated(ledger, silent).controls
    assert (tally.number, tally.end, silent.calls) == (2, Control.FAILED, [])


def test_of_a_judge_that_is_only_warned_of_the_test_stays_as_it_was(ledger):
    told = gated(ledger, ScriptedJudge(BLIND["always a tie"]), controls_advise=True)
    silent = ScriptedJudge(sound)
    assert gated(ledger, silent, controls_advise=True).controls == told.controls
    assert not silent.calls


def test_the_pairs_of_a_night_share_a_try(ledger):
    """All on one open ledger: the second pair is told what the first has seen."""

    async def both():
        book = open_ledger(ledger)
        judges = [ScriptedJudge(BLIND["always a tie"]) for _ in range(2)]
        try:
            return [
                await drive(make_session(40), make_pool(40), judge, book, replace(terms(**OF_ONE), run_id=name))
                for judge, name in zip(judges, "ab", strict=True)
            ], judges
        finally:
            await book.aclose()

    (one, other), judges = asyncio.run(both())
    assert one.controls == other.controls
    assert not judges[1].calls


def test_a_gate_asks_verdicts_of_another_model_again_in_the_order_of_the_draws(ledger):
    old = ScriptedJudge(sound, cost_p=3, answers_as="old")
    first = gated(ledger, old)
    new = ScriptedJudge(lambda call: sound(call) if NAME in call.systems else Verdict(0.5), cost_p=3, answers_as="new")
    finished = gated(ledger, new, run_id="another night", rule=TieAware(0.001))
    assert first.ending.winner == 0
    labels = finished.ending.labels
    assert [one.choice for one in labels[:5]] == [one.choice for one in first.ending.labels]
    assert {one.answer.score for one in labels} == {0.5}, "nothing of the old one counts"
    assert finished.counting == ("new",)
    ((by,),) = finished.answered_by
    assert (by.model, by.verdicts) == ("new", len(labels))
    assert (finished.spend.again, finished.spend.again_p) == (5, 15), "a tie takes no second order"


def test_where_nothing_is_asked_the_newest_verdict_says_whose_count(ledger):
    gated(ledger, ScriptedJudge(sound, answers_as="old"))
    silent = ScriptedJudge(sound, answers_as="new")
    finished = gated(ledger, silent, run_id="another")
    assert not silent.calls
    assert finished.counting == ("old",)


def test_a_finished_run_stays_as_it_was_after_another_model_has_answered(ledger):
    first = gated(ledger, ScriptedJudge(sound, answers_as="old"))
    turned = ScriptedJudge(
        lambda call: sound(call) if NAME in call.systems else Verdict(1 - sound(call).score), answers_as="new"
    )
    other = gated(ledger, turned, run_id="night two", drawn_by=1, rule=TieAware(0.001))
    assert other.counting == ("new",)
    again = ScriptedJudge(sound, answers_as="new")
    assert gated(ledger, again).ending == first.ending
    assert not again.calls


def test_a_change_within_a_run_ends_a_gate_and_names_both(ledger):
    judge = ScriptedJudge(sound)
    judge.script = lambda call: setattr(judge, "answers_as", "old" if len(judge.calls) < 22 else "new") or sound(call)
    finished = gated(ledger, judge, concurrency=1)
    stop = finished.ending.stop
    assert stop.kind is StopKind.JUDGE_CHANGED
    assert "answered as old, then as new" in stop.sentence
    after = ScriptedJudge(sound, answers_as="new")
    finished = gated(ledger, after)
    assert finished.ending.winner == 0
    assert [one.model for (one,) in finished.answered_by] == ["new"]


def test_a_pinned_model_is_the_only_one_that_counts(ledger):
    pinned = {"one_model": (OneModel("old", pinned=True),)}
    finished = gated(ledger, ScriptedJudge(sound, answers_as="new"), **pinned)
    assert finished.ending.stop.kind is StopKind.OTHER_MODEL
    assert gated(ledger, ScriptedJudge(sound, answers_as="old"), **pinned).ending.winner == 0


def test_where_any_model_may_answer_all_verdicts_are_used_and_told(ledger):
    gated(ledger, ScriptedJudge(sound, answers_as="old"), one_model=())
    tie = ScriptedJudge(lambda _: Verdict(0.5), answers_as="new")
    finished = run(tie, terms=Terms("another", policy=AT_ONCE), ledger=ledger, rule=TieAware(0.001))
    ((old, new),) = finished.answered_by
    assert (old.model, new.model) == ("old", "new")
    assert old.verdicts == 10
    assert finished.counting == ("",)
