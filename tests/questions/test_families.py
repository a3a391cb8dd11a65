"""Families of items: where a result is about items like these, a family is one draw."""

from __future__ import annotations

import hashlib
import json

import pytest
from support import commandline

import judgeloop
from judgeloop.core.errors import InputError


def rows(system, prompts, **columns):
    return [
        {"id": f"q{at}", "prompt": prompt, "output": f"{system} {at}"}
        | {name: each[at] for name, each in columns.items()}
        for at, prompt in enumerate(prompts)
    ]


def by_prompt(wins):
    """A judge by the item's prompt alone: the first system wins where `wins` says so."""

    def judge(*, prompt, first, second):
        del second
        return "A" if first.startswith("a ") == wins(prompt.split()) else "B"

    return judge


class Asking:
    """Runs a question on items with these prompts; `asked` are the prompts that the judge saw."""

    def __init__(self, prompts, wins, folder, **columns):
        self.prompts, self.columns, self.folder, self.asked = prompts, columns, folder, []
        judge = by_prompt(wins)

        def watched(*, prompt, first, second):
            self.asked.append((prompt, *sorted((first, second))))
            return judge(prompt=prompt, first=first, second=second)

        self.judge = watched

    def compare(self, **settings):
        tables = [rows(name, self.prompts, **self.columns) for name in "ab"]
        return judgeloop.compare(
            *tables, names=["a", "b"], judge=self.judge, version="1", ledger=self.folder / "ledger.sqlite", **settings
        )

    def families(self):
        return [prompt.split()[0] for prompt, *_ in dict.fromkeys(self.asked)]


FIVE_OF_EIGHT = [f"{family}{' ' * (copy % 2)}  of  eight" for copy in range(5) for family in range(8)]


def test_of_items_with_the_same_prompt_one_is_judged_and_the_sentence_counts_families(tmp_path):
    asking = Asking(FIVE_OF_EIGHT, lambda _: True, tmp_path)
    result = asking.compare()
    assert result.winner == "a"
    assert (
        result.page.headline
        == "a is better than b on items like these (8 different prompts, each counts once; 40 items)."
    )
    assert (result.items, result.to_dict()["families"], result.to_dict()["drawn"]) == (40, 8, 8)
    assert result.limit == 8
    assert result.judged <= len(set(asking.families())) == len(asking.families()) <= 8
    assert "It holds for these items, too." not in str(result), "one member says nothing of the others"
    assert "few_prompts" in {one.code for one in result.warnings}


def test_about_these_items_all_items_are_drawn(tmp_path):
    asking = Asking(FIVE_OF_EIGHT, lambda words: words[0] in "01234", tmp_path)
    result = asking.compare(about="items", risk=0.001)
    assert (result.items, result.to_dict()["families"], result.limit) == (40, None, 40)
    assert result.judged > 8


def test_a_column_names_families_and_an_empty_cell_is_one_of_its_own(tmp_path):
    prompts = [f"{at} prompt" for at in range(12)]
    document = ["x", "x", "x", "x", "y", "y", "", "", "z", "z", "", "w"]
    asking = Asking(prompts, lambda _: True, tmp_path, document=document)
    named = asking.compare(map="family=document")
    assert named.to_dict()["families"] == 7
    assert "few_families" in {one.code for one in named.warnings}
    assert asking.compare().to_dict()["families"] is None


def test_a_family_is_drawn_whichever_member_is_judged_and_each_member_is_sometimes(tmp_path):
    asking = Asking(FIVE_OF_EIGHT, lambda words: int(words[0]) % 2 == 0, tmp_path)
    for seed in range(12):
        asking.compare(seed=seed)
    members = {output for _, *outputs in asking.asked for output in outputs}
    assert len(members) > 60, "80 outputs, of which a run reads 16"


def test_copies_of_the_items_name_no_more_level_systems(tmp_path):
    # 20 prompts ten times word for word: as if 200 items, they named a winner in 15 of 24 runs.
    def wins(seed):
        return lambda words: hashlib.sha256(f"{seed} {words[0]}".encode()).digest()[0] % 2 == 0

    named = judged = 0
    for seed in range(12):
        prompts = [f"{at} of twenty" for at in range(20)] * 10
        result = Asking(prompts, wins(seed), tmp_path).compare(seed=seed)
        named += result.winner is not None
        judged = max(judged, result.judged)
    assert judged <= 20
    assert named <= 5, "each side is named in at most one of ten, and 6 of 12 have a chance of 2 %"


def test_the_gap_by_items_stands_beside_that_by_families_where_it_speaks_for_the_other(tmp_path):
    # Eight families: "a" wins six small ones, "b" two large ones.
    prompts = [f"{family} f" for family in range(8) for _ in range(12 if family > 5 else 1)]
    result = Asking(prompts, lambda words: int(words[0]) <= 5, tmp_path).compare(risk=0.01)
    assert (result.gap, result.leader) == (0.5, "a")
    assert result.gap_by_items == pytest.approx((6 - 24) / 30)
    gap = result.page.text("gap")
    assert gap.startswith("a +50 points against b (")
    assert gap.endswith("); b +60 if each item counted once, which decides nothing"), "each figure has its own bounds"
    same = Asking(prompts, lambda _: True, tmp_path / "same").compare(risk=0.01)
    assert same.gap_by_items == 1.0
    assert "decides nothing" not in str(same)


@pytest.mark.parametrize(
    ("families", "risk", "said"),
    [
        (1, 0.1, "all 20 prompts are equal: is the input in another column?"),
        (3, 0.1, "4 families or more.* found 3 in 60 items"),
        (4, 0.05, "5 families or more.* found 4 in 80 items"),
    ],
)
def test_families_that_are_too_few_to_name_anybody_are_refused_before_a_call(families, risk, said, tmp_path):
    asking = Asking([f"{family} f" for family in range(families)] * 20, lambda _: True, tmp_path)
    with pytest.raises(InputError, match=said):
        asking.compare(risk=risk)
    assert not asking.asked
    assert asking.compare(risk=risk, about="items").winner == "a"


def test_as_many_families_as_can_name_are_asked(tmp_path):
    for families, risk in ((4, 0.1), (5, 0.05)):
        asking = Asking([f"{family} f" for family in range(families)] * 2, lambda _: True, tmp_path / str(families))
        assert asking.compare(risk=risk).winner == "a"


def test_equal_prompts_end_the_command_with_code_2(tmp_path):
    files = []
    for name in "ab":
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text(
            "".join(json.dumps(row) + "\n" for row in rows(name, ["Summarise the text."] * 30, reference=["yes"] * 30))
        )
    done = commandline.judgeloop("compare", *files, "--judge", "metric:exact", "--ledger", tmp_path / "l.sqlite")
    assert done.exit_code == 2
    assert "all 30 prompts are equal" in done.stderr


def test_a_family_counts_once_in_its_group(tmp_path):
    prompts = [f"{family} f" for family in range(24)] * 3
    group = ["even" if int(prompt.split()[0]) % 2 == 0 else "odd" for prompt in prompts]
    asking = Asking(prompts, lambda words: int(words[0]) % 2 == 0, tmp_path, group=group)
    result = asking.compare(by_group="report")
    claims = {one.group: (one.claim, one.judged) for one in result.groups}
    assert claims["even"][0] == "worse"
    assert claims["odd"][0] == "better"
    assert all(judged <= 12 for _, judged in claims.values())
    assert len(set(asking.families())) == len(asking.families())


def test_a_search_and_an_estimate_of_items_like_these_draw_families(tmp_path):
    prompts = [f"{family} f" for family in range(24)] * 2
    tables = {name: rows(name, prompts) for name in "abc"}
    seen = []

    def judge(*, prompt, first, second):
        seen.append(prompt.split()[0])
        return "tie" if "b" in first + second else "A" if first < second else "B"

    def rated(*, output):
        seen.append(output)
        return 0.5

    found = judgeloop.select(
        list(tables.values()), names=list(tables), baseline="c", judge=judge, version="1", about="like-these",
        ledger=tmp_path / "l.sqlite",
    )  # fmt: skip
    assert found.to_dict()["families"] == 24
    assert found.queries <= 24
    assert "(24 different prompts, each counts once; 48 items)" in found.page.headline
    assert found.winner == "a"
    seen.clear()
    score = judgeloop.estimate(
        tables["a"], judge=rated, version="1", about="like-these", interval="anytime", ledger=tmp_path / "l.sqlite"
    )
    assert score.judged == len(set(seen)) == 24
    assert "(24 different prompts, each counts once; 48 items)" in score.page.headline
    with pytest.raises(InputError, match="4 families or more"):
        judgeloop.estimate(tables["a"][::12], judge=rated, version="1", about="like-these", interval="anytime")


def test_of_recorded_scores_the_sign_of_a_familys_sum_is_one_observation(tmp_path):
    # Two tests asked five times each, as promptfoo's --repeat writes them: 2 to 0, and not 10 to 0.
    def scored(system, score):
        prompts = [f"{family} f" for family in range(6)] * 5
        return [
            row | {"score": score(int(row["prompt"].split()[0]), at // 6)}
            for at, row in enumerate(rows(system, prompts))
        ]

    def compare(first, second, **settings):
        return judgeloop.compare(
            scored("a", first), scored("b", second), names=["a", "b"], judge="recorded:score", **settings
        )

    result = compare(lambda family, _: float(family < 2), lambda *_: 0.0)
    assert (result.wins, result.ties) == ({"a": 2, "b": 0}, 4)
    assert result.risk == 0.5
    assert result.recorded.means == {"a": pytest.approx(2 / 6), "b": 0.0}
    assert "(6 different prompts, each counts once; 30 items)" in result.page.headline
    # Three of five samples for one, two for the other: the family's sum decides, whichever member stands for it.
    result = compare(lambda _, sample: float(sample < 3), lambda _, sample: float(sample >= 3))
    assert (result.wins, result.winner) == ({"a": 6, "b": 0}, "a")


def test_several_outputs_a_prompt_are_one_draw_and_what_is_left_over_is_named(tmp_path):
    def sampled(system, count):
        return [
            {"prompt": f"{family} f", "output": f"{system} {family} {sample}"}
            for family in range(10)
            for sample in range(count)
        ]

    result = judgeloop.compare(
        sampled("a", 3), sampled("b", 2), names=["a", "b"], judge=by_prompt(lambda _: True), version="1",
        ledger=tmp_path / "ledger.sqlite",
    )  # fmt: skip
    assert (result.winner, result.items, result.to_dict()["families"]) == ("a", 20, 10)
    assert "10 further outputs of a without a counterpart" in " ".join(result.to_text().split())


def test_verdicts_that_agree_with_their_neighbours_are_warned_of(tmp_path):
    prompts = [f"{at} p" for at in range(60)]
    alike = Asking(prompts, lambda words: int(words[0]) // 10 % 2 == 0, tmp_path / "alike").compare(risk=0.001)
    assert alike.data.neighbours <= 0.01
    assert "neighbours" in {one.code for one in alike.warnings}
    assert '`map="family=COLUMN"`' in " ".join(str(alike).split())
    apart = Asking(prompts, lambda words: hashlib.md5(words[0].encode()).digest()[0] % 2 == 0, tmp_path / "apart")
    assert apart.compare(risk=0.001).data.neighbours > 0.01
    these = Asking(prompts, lambda words: int(words[0]) // 10 % 2 == 0, tmp_path / "these").compare(about="items")
    assert these.data.neighbours is None
    score = judgeloop.estimate(
        rows("a", prompts), judge=lambda *, output: float(int(output.split()[1]) // 10 % 2), version="1",
        about="like-these", ledger=tmp_path / "score.sqlite",
    )  # fmt: skip
    assert score.data.neighbours <= 0.01


def test_several_members_of_a_family_bet_on_the_mean_of_their_verdicts(tmp_path):
    prompts = [f"{family} {copy}" for copy in range(4) for family in range(30)]
    family = [prompt.split()[0] for prompt in prompts]

    def compare(wins, folder, **settings):
        asking = Asking(prompts, wins, tmp_path / folder, family=family)
        return asking, asking.compare(family_members=3, **settings)

    asking, result = compare(lambda _: True, "all")
    judged = len({prompt for prompt, *_ in asking.asked})
    assert (result.winner, judged % 3) == ("a", 0)
    assert 3 * result.judged <= result.asked <= judged
    assert result.to_dict()["drawn"] == 90
    assert result.limit == 90, "the limit is one of judgments"
    gap, lower, upper = (line.points[-1][1] for line in result.course)
    assert (gap, lower, upper) == (-100 * result.gap, *(-100 * end for end in result.bounds[::-1])), (
        "seen from the second"
    )
    said = result.page.text("judged").split(",")[0]
    assert said == f"{3 * result.judged} items of {result.judged} of 30 families"
    assert "do not count" not in result.page.text("votes")
    # Of each family the first system wins two of four: the means are small, and 30 of them decide nothing.
    asking, result = compare(lambda words: int(words[1]) % 2 == 0, "half")
    assert result.winner is None
    assert abs(result.gap) < 1 / 3 + 0.1
    _, short = compare(lambda _: True, "short", max_judgments=10)
    assert (short.asked, short.judged) == (9, 3)
    with pytest.raises(InputError, match="leave one of them out"):
        asking.compare(family_members=3, give_up=0.1)
    ids = {asking.compare(family_members=most, max_judgments=10).setup.run for most in (1, 2, 3, 4, 9)}
    assert len(ids) == 4, "more members than there are make no other run"


def test_an_agreement_about_items_like_these_draws_families(tmp_path):
    prompts = [f"{family} f" for family in range(24)] * 2
    judged = []

    def judge(*, prompt, first, second):
        judged.append(prompt)
        return "A" if first < second else "B"

    labels = [{"id": f"q{at}", "vote": "a" if at % 4 else "b"} for at in range(48)]
    result = judgeloop.agree(
        [("a", rows("a", prompts)), ("b", rows("b", prompts))], truth=[labels], judge=judge, version="1",
        about="like-these", ledger=tmp_path / "ledger.sqlite",
    )  # fmt: skip
    assert (result.to_dict()["families"], result.judged) == (24, 24)
    assert len({prompt.split()[0] for prompt in judged}) == 24
    assert result.equal == pytest.approx(0.75)


def test_a_block_of_a_cheap_judge_is_of_families(tmp_path):
    """Each label comes with a block of fresh families, of which one member each is asked about."""
    prompts = [f"{family} f" for family in range(120)] * 2
    asked = []

    def cheap(*, prompt, first, second):
        asked.append((prompt.split()[0], *sorted((first, second))))
        return "A" if first.startswith("a ") == (int(prompt.split()[0]) % 3 > 0) else "B"

    tables = [rows(name, prompts) for name in "ab"]
    judge = by_prompt(lambda words: int(words[0]) % 3 > 0)
    result = judgeloop.compare(
        *tables, names=["a", "b"], judge=judge, proxy=cheap, version="1", ledger=tmp_path / "ledger.sqlite",
        max_judgments=20,
    )  # fmt: skip
    assert result.to_dict()["families"] == 120
    assert len(set(asked)) > 2 * result.judged
    assert len({family for family, *_ in asked}) == len(set(asked)), "one member of each"
    assert "(120 different prompts, each counts once; 240 items)" in result.page.headline
    score = judgeloop.estimate(
        tables[0], judge=lambda *, output: float(int(output.split()[1]) % 3 > 0), version="1", about="like-these",
        proxy=lambda *, output: float(int(output.split()[1]) % 3 > 0), max_judgments=20, ledger=tmp_path / "e.sqlite",
    )  # fmt: skip
    assert (score.judged, score.to_dict()["families"]) == (20, 120)
    assert "(120 different prompts, each counts once; 240 items)" in score.page.headline
