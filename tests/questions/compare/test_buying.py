"""How a comparison buys a cheap judge's verdicts: by prices and numbers of items, before the first call."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.core.records import UNLIMITED, Item, Label, Pool, Verdict
from judgeloop.engine.session import Limits
from judgeloop.formats.join import Joined
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.selectors.blocks import Blocks, ByBlock
from judgeloop.questions.compare.buying import Offer, buying, not_bought, ways_of
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.runs import proxies
from judgeloop.runs.inputs import Inputs


class Judge:
    by_hand, order_matters = False, False


def bought(monkeypatch, items, about, prices, limit=100):
    pool = Pool(tuple(Item(f"i{n}", f"p{n}") for n in range(items)), ("a", "b"), (("x",) * items, ("y",) * items))
    population = UNLIMITED if about == "like-these" else None
    judges = (Judge(),)
    inputs = Inputs(Joined(pool, {}, "", ""), judges, Limits(5, limit), population=population, proxy=Judge())
    monkeypatch.setattr(proxies, "prices", lambda *_: prices)
    config = CompareSettings.of(first="a", second="b", judge=("one",), proxy="two", about=about, max_judgments=limit)
    return buying(config, inputs)


@pytest.mark.parametrize(
    ("items", "about", "prices", "each"),
    [
        (400, "items", (100.0, 0.0), 0),  # costs nothing
        (400, "items", (100.0, 0.5), 0),
        (400, "items", (100.0, 5.0), 1),  # blocks with replacement lose more to items that come again than they save
        (100, "items", (100.0, 10.0), 1),
        (4000, "items", (100.0, 1.0), 7),  # a verdict on every item costs more than it saves
        (4000, "items", (100.0, 30.0), 1),
        (4000, "like-these", (100.0, 1.0), 7),
        (4000, "like-these", (100.0, 0.0), 20),
        (450, "like-these", (100.0, 1.0), 4),  # no label is to go short
        (150, "like-these", (100.0, 1.0), 1),
        (4000, "like-these", (100.0, 30.0), 1),
    ],
)
def test_the_cheapest_way_that_is_proved_is_taken(monkeypatch, items, about, prices, each):
    found = bought(monkeypatch, items, about, prices)
    assert found.chosen.each == each
    assert found.chosen.cost_p <= found.ways[-1].cost_p
    assert bool(not_bought(found, "two")) == (each == 1)


def test_too_few_items_are_told_how_many_more_would_do(monkeypatch):
    for items in (40, 150):
        found = bought(monkeypatch, items, "like-these", (100.0, 1.0))
        assert bought(monkeypatch, items + found.further, "like-these", (100.0, 1.0)).chosen.each == 2
        assert found.of_these == (bought(monkeypatch, items, "items", (100.0, 1.0)).chosen.each != 1)
    assert bought(monkeypatch, 150, "like-these", (100.0, 90.0)).further == 0


def test_fresh_blocks_have_no_item_in_common_and_leave_less_than_a_block():
    blocks = Blocks.fresh(range(100), 7, seed=3)
    drawn = [place for ((block,),) in zip(blocks.by_label, strict=True) for place in block]
    assert len(drawn) == len(set(drawn)) == 98
    assert blocks.labels == blocks.draws == 14
    assert blocks != Blocks.fresh(range(100), 7, seed=4)


def test_blocks_that_are_drawn_again_end_with_the_last_label():
    blocks = Blocks.again(20, 3, 15, seed=1)
    firsts = [block[0] for own in blocks.by_label for block in own]
    assert len(set(firsts)) == blocks.labels == 15
    assert blocks.draws == len(firsts) > 15
    assert all(own[0][0] not in firsts[: firsts.index(own[0][0])] for own in blocks.by_label)
    assert {len(block) for own in blocks.by_label for block in own} == {3}


def test_of_proxies_of_which_none_is_asked_none_is_called_the_better_buy(monkeypatch):
    dear = Offer("dear", bought(monkeypatch, 4000, "items", (100.0, 30.0)))
    cheap = Offer("cheap", bought(monkeypatch, 4000, "items", (100.0, 1.0)))
    assert ways_of([dear, dear], "people")[-1] == "Neither would be asked here."
    assert ways_of([dear, cheap], "people")[-1].startswith("The better buy, as far as it is known: cheap")


@pytest.mark.parametrize(
    ("blocks", "items", "places"),
    [(Blocks.fresh(range(0, 60, 2), 3, seed=1), 30, 60), (Blocks.again(30, 3, 12, seed=1), 30, 30)],
    ids=["of families", "drawn again"],
)
def test_draws_by_blocks_prefer_no_item(blocks, items, places):
    proxy, selector = ProxyVerdicts(places, blocks), ByBlock(blocks)
    for place in range(places):
        proxy.tell(place, Verdict(0.5))
    estimator, rng = Preferences(sampled=True, proxy=proxy), np.random.default_rng(1)
    tally, state = estimator.tally([], items), selector.init(items, rng)
    for _ in range(blocks.labels):
        step, state = selector.ask(state, rng)
        tally = estimator.extended(tally, [Label(step.choices[0], Verdict(1.0))])
    assert (tally.judged, tally.propensities, tally.picked) == (blocks.labels, (), False)
