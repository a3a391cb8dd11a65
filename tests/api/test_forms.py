"""The same rows give the same result, in whatever form a program has them."""

from __future__ import annotations

from functools import cache

import pandas as pd
import polars as pl
import pytest
from support.tables import ROWS, write

import judgeloop
from judgeloop.core.errors import DataError, InputError


def columns(table):
    return {name: [row[name] for row in table] for name in table[0]}


FORMS = {
    "list of dictionaries": list,
    "dictionary of columns": columns,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "generator": iter,
    "lazy polars": pl.LazyFrame,
    "tuple": tuple,
    "arrow": lambda table: pl.DataFrame(table).to_arrow(),
}


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


def brief(*, output):
    return 1 / len(output)


PLAIN = {"version": "1", "ahead": "0"}  # how many answers come ahead of the rule depends on their times


def compared(tables, ledger):
    first, second = tables["terse"], tables["chatty"]
    return judgeloop.compare(first, second, judge=shorter, **PLAIN, ledger=ledger, risk=0.01)


def searched(tables, ledger):
    outputs = list(tables.values())
    return judgeloop.select(outputs, baseline="chatty", judge=shorter, **PLAIN, ledger=ledger, risk=0.01)


def estimated(tables, ledger):
    return judgeloop.estimate(tables["chatty"], judge=brief, **PLAIN, ledger=ledger)


@pytest.fixture(scope="module")
def from_files(tmp_path_factory):
    """The result of a question with the rows in files, asked once."""

    @cache
    def ask(question):
        folder = tmp_path_factory.mktemp("files")
        return question(write(folder, ROWS), folder / "ledger.sqlite").to_dict()

    return ask


@pytest.mark.parametrize(
    ("question", "form"), [*((compared, form) for form in FORMS), (searched, "pandas"), (estimated, "lazy polars")]
)
def test_the_result_is_the_same_from_files_and_from_memory(question, form, rows, from_files, tmp_path):
    tables = {name: FORMS[form](table) for name, table in rows.items()}
    result = question(tables, tmp_path / "ledger.sqlite").to_dict()
    assert result == from_files(question)
    assert result["judged"] > 5


def test_the_run_goes_on_in_whatever_form_the_same_rows_come_again(rows, files):
    options = {"judge": shorter, "version": "1", "risk": 0.01}
    first = judgeloop.compare(rows["terse"], rows["chatty"], **options)
    again = judgeloop.compare(files["terse"], iter(rows["chatty"]), **options)
    assert (first.setup.run, again.spend.attempts) == (again.setup.run, 0)
    assert again.spend.remembered == first.spend.attempts > 0


@pytest.mark.smoke
def test_a_dictionary_names_the_systems(rows):
    tables = {f"org/{name}": [{**row, "model": "same"} for row in table] for name, table in rows.items()}
    result = judgeloop.select(tables, baseline="org/chatty", judge=shorter, version="1")
    assert result.winner == "org/terse"


def test_rows_without_a_model_are_named_by_their_parameter(rows):
    bare = {
        name: [{key: row[key] for key in ("id", "prompt", "output")} for row in table] for name, table in rows.items()
    }
    result = judgeloop.compare(bare["terse"], bare["chatty"], judge=shorter, version="1")
    assert result.setup.systems == ("first", "second")


def test_items_may_be_in_memory_too(rows):
    items = [{key: row[key] for key in ("id", "prompt", "reference")} for row in rows["terse"]]
    outputs = [
        [{key: row[key] for key in ("id", "output", "model")} for row in rows[name]] for name in ("terse", "chatty")
    ]
    result = judgeloop.compare(
        *outputs,
        items=pd.DataFrame(items),
        judge=lambda *, prompt, reference, first, second: (
            "A" if reference in {None, first} and prompt.startswith("Question") else "B"
        ),
    )
    assert result.winner is not None


def test_a_confidence_may_be_a_column_in_memory(rows, files, tmp_path):
    for number, row in enumerate(rows["chatty"]):
        row["sure"] = 1 / (1 + number)
    options = {"judge": brief, "version": "1", "proxy": "confidence", "confidence": "sure"}
    result = judgeloop.estimate(rows["chatty"], **options)
    assert result.proxy_mean == pytest.approx(sum(1 / (1 + n) for n in range(40)) / 40)
    del rows["chatty"][4]["sure"]
    with pytest.raises(InputError, match=r"`outputs`, .* 5: the field 'sure' is missing"):
        judgeloop.estimate(rows["chatty"], **options)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, ""])
def test_a_missing_value_is_an_absent_field(missing, rows):
    rows["terse"][0]["reference"] = missing
    rows["chatty"][0]["reference"] = "known"
    judgeloop.compare(rows["terse"], rows["chatty"], judge=shorter)
    frame = pd.DataFrame(rows["terse"])
    judgeloop.compare(frame, rows["chatty"], judge=shorter)


def test_ids_that_are_numbers_are_the_same_in_every_form(tmp_path):
    plain = [{"id": n, "prompt": f"p{n}", "output": "a" * (1 + n % 3)} for n in range(30)]
    other = [{**row, "output": "aa"} for row in plain]
    runs = {
        judgeloop.compare(form(plain), form(other), judge=shorter, version="1").setup.run for form in FORMS.values()
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (7, "`second`: expected a file, a list of dictionaries, .* found int"),
        ([], "`second`: there are no rows"),
        ({}, "`second`: there are no rows"),
        (pd.DataFrame(), "`second`: there are no rows"),
        (["text"], "`second`, row 1: expected a dictionary with fields, found str; texts are columns"),
        ({"id": "abc"}, "`second`: expected a column, such as a list, in 'id'; found str"),
        ({"id": [1, 2], "output": ["a"]}, "`second`: expected columns of one length; found 2 in"),
        ([{"id": 1, "output": "a"}, {"id": 2}], "`second`, row 2: the field 'output' is missing"),
        ([{"id": 1, "output": float("nan")}], "`second`, row 1: "),
        (b"rows", "`second`: expected a file"),
    ],
)
def test_what_is_no_table_is_refused_by_the_parameters_name(table, says, rows):
    with pytest.raises(DataError, match=says):
        judgeloop.compare(rows["terse"], table, judge=shorter)


@pytest.mark.parametrize("outputs", ["a.jsonl", 7, None])
def test_a_search_needs_several_tables(outputs):
    with pytest.raises(InputError, match="`outputs`: expected"):
        judgeloop.select(outputs, baseline="a", judge=shorter)


def test_a_price_may_be_a_pair_of_numbers(rows, tmp_path):
    first, second = rows["terse"], rows["chatty"]
    options = {"judge": "openai/m", "ledger": tmp_path / "l.sqlite", "environment": {}}
    for price in ((1, 2.5, 3), (-1, 4), "1"):
        with pytest.raises(InputError, match="`judge_price`: expected IN,OUT in dollars"):
            judgeloop.compare(first, second, judge_price=price, **options)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):  # the price is right, the key is missing
        judgeloop.compare(first, second, judge_price=(0.15, 0.6), **options)


def test_a_pair_or_a_key_names_the_system_of_a_file(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {}
    for night, table in (("june", rows["terse"]), ("july", rows["chatty"])):
        unnamed = [{name: row[name] for name in row if name != "model"} for row in table]
        (tmp_path / night).mkdir()
        files[night] = write(tmp_path / night, {"outputs": unnamed})["outputs"]
    settings = {"judge": shorter, "version": "1"}
    named = judgeloop.compare(*files.items(), **settings)
    assert str(named).startswith("✓ DECIDED: june is better than july")
    assert judgeloop.compare(*files.values(), names=["june", "july"], **settings).setup == named.setup
    found = judgeloop.select(files, baseline="july", **settings)
    assert found.setup.systems == ("june", "july")
    mixed = judgeloop.select({"june": rows["terse"], "july": files["july"]}, baseline="july", **settings)
    assert mixed.setup.run == found.setup.run
    rated = judgeloop.estimate(("june", str(files["june"])), **settings | {"judge": brief})
    assert rated.setup.systems == ("june",)


def test_two_systems_in_a_dictionary_go_as_its_items(rows):
    systems = {"june": rows["terse"], "july": rows["chatty"]}
    with pytest.raises(InputError, match=r"`second`: .* use `compare\(\*systems.items\(\), …\)`"):
        judgeloop.compare(systems, judge=shorter)
    result = judgeloop.compare(*systems.items(), judge=shorter, version="1")
    assert str(result).startswith("✓ DECIDED: june is better than july")


SIDE_BY_SIDE = {"q": [f"p{n}" for n in range(30)], "x": ["long"] * 30, "y": ["s"] * 30}


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame])
def test_lists_and_columns_side_by_side_are_two_systems(form):
    table = form(SIDE_BY_SIDE)
    found = judgeloop.compare(prompts=table["q"], a=table["x"], b=table["y"], judge=shorter)
    assert (found.setup.systems, found.winner) == (("A", "B"), "B")
    same = {"prompts": ["same"] * 30, "about": "items"}
    named = judgeloop.compare(**same, a=table["x"], b=table["y"], names=["old", "new"], judge=shorter)
    assert (named.setup.systems, named.winner) == (("old", "new"), "new")


def test_the_same_texts_under_other_ids_are_no_further_comparison():
    prompts, *texts = SIDE_BY_SIDE.values()
    tables = [
        (name, {"id": range(100, 130), "prompt": prompts, "output": outputs})
        for name, outputs in zip("AB", texts, strict=True)
    ]
    first = judgeloop.compare(*tables, judge=shorter, version="1")
    again = judgeloop.compare(prompts=prompts, a=texts[0], b=texts[1], judge=shorter, version="1")
    assert first.setup.run != again.setup.run
    assert (first.comparison, again.comparison) == (1, 1)
    drawn = (one.to_frame()["prompt"].to_list() for one in (first, again))
    assert next(drawn) == next(drawn)
    turned = [column[::-1] for column in (prompts, *texts)]
    other = judgeloop.compare(**dict(zip(("prompts", "a", "b"), turned, strict=True)), judge=shorter, version="1")
    assert other.comparison == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"b": None}, "`b`: expected a list of texts beside `prompts`, `a`, `b`; found none"),
        ({"a": ["x"]}, "`a`: expected 30 outputs as there are prompts, found 1"),
        ({"prompts": "abc"}, "`prompts`: expected a list of texts"),
        ({"first": "a.jsonl"}, "`first`: `a` and `b` are the systems"),
    ],
)
def test_lists_that_do_not_fit_are_refused(given, says):
    lists = dict(zip(("prompts", "a", "b"), SIDE_BY_SIDE.values(), strict=True))
    with pytest.raises(InputError, match=says):
        judgeloop.compare(**(lists | given), judge=shorter)


def test_columns_of_pandas_are_matched_by_place_unless_their_index_says_otherwise():
    table = pd.DataFrame(SIDE_BY_SIDE, index=range(100, 130))
    turned = table["x"].iloc[::-1]
    says = r"`a`: its index is not that of `prompts` \(where one has 129, the other has 100\)"
    with pytest.raises(InputError, match=says):
        judgeloop.compare(prompts=table["q"], a=turned, b=table["y"], judge=shorter)
    with pytest.raises(DataError, match=r"give `output.reindex\(prompt.index\)`"):
        judgeloop.compare({"prompt": table["q"], "output": turned}, "b.jsonl", judge=shorter)
    fresh = pd.Series(SIDE_BY_SIDE["x"])  # 0 to 29: of no index, so that the place is meant
    aligned = turned.reindex(table.index)
    for given in (aligned, turned.to_list(), fresh):
        lists = {"prompts": table["q"], "a": given, "b": table["y"]}
        assert judgeloop.compare(**lists, judge=shorter).winner == "B"


@pytest.mark.parametrize("ask", [judgeloop.select, judgeloop.estimate])
def test_prompts_beside_outputs_belong_to_a_comparison(ask):
    with pytest.raises(InputError, match=r"`prompts`: only `compare` takes it; .* columns: \{'prompt'"):
        ask(prompts=["p"], judge=shorter)


@pytest.mark.parametrize("data", ["old.jsonl", [{"id": 1}]])
def test_an_empty_name_is_a_clear_error(data, rows):
    with pytest.raises(InputError, match="`first`: expected the name of a system, found an empty"):
        judgeloop.compare(("", data), rows["terse"], judge=shorter)


def test_a_file_with_two_names_is_given_twice(rows, tmp_path):
    file = write(tmp_path, {"outputs": rows["terse"]})["outputs"]
    with pytest.raises(InputError, match="given twice"):
        judgeloop.compare(("june", file), ("july", file), judge=shorter)


def test_advice_and_results_show_values_as_python_writes_them(files):
    options = {
        "outputs": [*files.values()], "baseline": "terse", "judge": "openai/mine",
        "judge_base_url": "http://127.0.0.1:9/v1", "environment": {},
    }  # fmt: skip
    with pytest.raises(judgeloop.InputError) as error:
        judgeloop.select(**options)
    for advised in ("judge_price=(IN, OUT)", "judge_price=(0, 0)", 'budget="none"'):
        assert f"`{advised}`" in str(error.value)
    for more in ({"judge_price": (0, 0)}, {"budget": "none"}):
        judgeloop.select_dry_run(**options, **more)
    found = judgeloop.select_dry_run(**options, judge_price=(1, 4))
    assert "from `judge_price=(1, 4)`." in str(found)


def test_a_result_names_its_price_as_python_writes_it(files):
    same = [pd.read_json(files["terse"], lines=True).drop(columns="model") for _ in "ab"]
    found = judgeloop.compare(*same, judge="openai/mine", judge_price=(1, 4), environment={"OPENAI_API_KEY": "k"})
    assert "from `judge_price=(1, 4)`" in found.to_text()
