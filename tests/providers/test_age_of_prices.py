"""Prices have an age: the doctor shows it, and a run that counts its budget in old ones says so."""

from __future__ import annotations

import asyncio
import json
from datetime import date, timedelta
from types import SimpleNamespace

import pytest
from genai_prices import data_snapshot
from support.judges import LOCAL, judge
from support.text import unwrapped

from judgeloop.core.errors import DataError
from judgeloop.diagnostics import doctor
from judgeloop.providers import pricing
from judgeloop.providers.pricing import LONGEST_AGE_DAYS, age_of, age_sentence, old_prices
from judgeloop.questions.compare.question import CompareQuestion
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.runs import description


def checked():
    found = pricing.table_date()
    assert found is not None
    return found


def table(*comments):
    """A price table with these comments on its models."""
    models = [SimpleNamespace(price_comments=comment) for comment in comments]
    return SimpleNamespace(providers=[SimpleNamespace(price_comments=None, models=models)])


@pytest.fixture
def fresh_table():
    pricing.table_date.cache_clear()
    yield
    pricing.table_date.cache_clear()


@pytest.mark.parametrize(
    ("comments", "latest"),
    [
        (["Batch rates verified on 2026-10-14.", "Checked 2026-10-15; see"], date(2026, 10, 15)),
        (["as of 2026-02-30", "catalog as of 2026-08-25"], date(2026, 8, 25)),
        (["Rates apply through 2031-12-31 and from 2032-01-01", None], None),
    ],
)
@pytest.mark.usefixtures("fresh_table")
def test_the_table_is_as_old_as_its_latest_check(monkeypatch, comments, latest):
    monkeypatch.setattr(data_snapshot, "get_snapshot", lambda: table(*comments))
    assert pricing.table_date() == latest


def test_the_installed_table_has_a_date():
    assert date(2026, 1, 1) < checked()


def test_prices_are_old_after_ninety_days():
    made = judge("openai/gpt-4.1")
    on_the_day, later = (checked() + timedelta(LONGEST_AGE_DAYS + more) for more in (0, 1))
    assert LONGEST_AGE_DAYS == 90
    assert (age_of(made, on_the_day), age_of(made, later)) == (90, 91)
    assert old_prices([made], on_the_day) == {}
    own = judge(base_url=LOCAL, price="1,1")
    assert old_prices([made, own], later) == {"openai/gpt-4.1": 91}
    assert age_sentence(made, checked()) == "the prices were last checked today"


def test_a_price_of_ones_own_is_as_old_as_its_file_says(tmp_path):
    path, lines = tmp_path / "p.toml", '["openai/m"]\ninput_per_mtok = 1\noutput_per_mtok = 2\n'
    path.write_text(f"{lines}checked_on = 2026-01-31\n")
    made = judge("openai/m", base_url=LOCAL, price=str(path))
    assert age_of(made, date(2026, 2, 10)) == 10
    assert age_of(made, date(2026, 1, 1)) is None
    path.write_text(lines)
    assert age_of(judge("openai/m", base_url=LOCAL, price=str(path)), date(2026, 2, 10)) is None
    for wrong in ('"soon"', "2026-01-31T10:00:00", "20260131"):
        path.write_text(f"{lines}checked_on = {wrong}\n")
        with pytest.raises(DataError, match="checked_on is a date"):
            judge("openai/m", base_url=LOCAL, price=str(path))


def config(incidents, **more):
    return CompareSettings.of(
        first=incidents / "lead.jsonl",
        second=incidents / "central.jsonl",
        items=incidents / "items.jsonl",
        judge=("openai/gpt-4.1-mini",),
        **more,
    )


@pytest.mark.parametrize(("days", "old"), [(10, False), (200, True)])
def test_a_dry_run_and_a_result_say_that_prices_are_old(monkeypatch, incidents, days, old):
    monkeypatch.setattr(description, "today", lambda: checked() + timedelta(days))
    ready = CompareQuestion().prepare(config(incidents), {}, offline=True)
    forecast = asyncio.run(CompareQuestion().forecast(ready))
    result = forecast.result
    warning = f"last checked {days} days ago"
    assert (warning in unwrapped(forecast.text())) is old
    assert (warning in unwrapped(str(result))) is old
    assert bool(forecast.to_dict()["old_prices"]) is old
    assert (warning in json.dumps(result.to_json())) is old


@pytest.mark.parametrize(("days", "fine"), [(10, True), (200, None)])
def test_the_doctor_shows_the_age_of_prices(monkeypatch, incidents, days, fine):
    monkeypatch.setattr(doctor, "today", lambda: checked() + timedelta(days))
    settings = config(incidents)
    found = doctor._price(settings, judge("openai/gpt-4.1-mini"), doctor.CALL)
    assert found.fine is fine
    assert f"the prices were last checked {days} days ago" in found.sentence
