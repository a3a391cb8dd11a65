from __future__ import annotations

import csv
import gzip
import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.work import listening
from judgeloop.formats.tables import LONGEST_SHOWN, Row, parse_row, read_rows

TWO_ROWS = [{"id": "1", "output": "x"}, {"id": "2", "output": "y"}]


def written(folder, content, name="rows"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fields_of(path):
    return [row.fields for row in read_rows(path)]


@pytest.mark.parametrize(
    "content",
    [
        '{"id": "1", "output": "x"}\n{"id": "2", "output": "y"}\n',
        '{"id": "1", "output": "x"}\n\n  \n{"id": "2", "output": "y"}',
        json.dumps(TWO_ROWS),
        json.dumps(TWO_ROWS, indent=2),
        "id,output\n1,x\n2,y\n",
        '"id","output"\n"1","x"\n"2","y"',
    ],
)
@pytest.mark.parametrize(
    "encoded",
    [
        pytest.param(str.encode, id="plain"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text.encode(), id="with a byte order mark"),
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="with CRLF"),
        pytest.param(lambda text: b"\xff\xfe" + text.encode("utf-16-le"), id="as UTF-16, LE"),
        pytest.param(lambda text: b"\xfe\xff" + text.encode("utf-16-be"), id="as UTF-16, BE"),
        pytest.param(lambda text: gzip.compress(text.encode()), id="gzipped"),
    ],
)
def test_all_three_forms_give_the_same_rows_however_they_are_encoded(tmp_path, content, encoded):
    assert fields_of(written(tmp_path, encoded(content))) == TWO_ROWS


@pytest.mark.parametrize(
    ("name", "said"), [("no.jsonl", "there is no such file"), ("", "this is a folder; expected a")]
)
def test_a_missing_file_and_a_folder_are_named(tmp_path, name, said):
    path = tmp_path / name
    with pytest.raises(InputError, match="^" + re.escape(f"{path}: {said}")):
        read_rows(path)


PACKED = gzip.compress(b'{"id": 1}' * 100, mtime=0)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PACKED[:30], id="cut off"),
        pytest.param(PACKED[:10] + b"\xff" * 10 + PACKED[20:], id="garbled"),
        pytest.param(PACKED[:-8] + bytes(8), id="with a wrong sum"),
        pytest.param(b"\x1f\x8b", id="two bytes long"),
    ],
)
def test_a_broken_gzipped_file_cannot_be_read(tmp_path, content):
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=re.escape(f"{path}: cannot be read")):
        read_rows(path)


EMPTY, NO_ROWS = ": the file is empty; expected JSON lines…", ": the file holds no rows…"
NO_JSON, NO_OBJECT = ": this is no JSON: ", ": expected an object with fields, found "
CUT = "; the file seems to be cut off: write it again"
LENGTH = ": expected 2 columns as in the header…"
SAVE = "; save the file as UTF-8 (in Excel: CSV UTF-8)"
LOST = ": column 4 has no name in the header, and holds 'lost' here; name the column, or delete it"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", EMPTY),
        (b"PK\x03\x04\x14\x00", ": expected text, found a zip archive; save an Excel workbook as CSV UTF-8"),
        (b" \n\t \r\n", EMPTY),
        (b"\xef\xbb\xbf", EMPTY),
        (gzip.compress(b"", mtime=0), EMPTY),
        ("[]", NO_ROWS),
        ("[\n]\n", NO_ROWS),
        ("id,output\n", NO_ROWS),
        ("just a sentence", NO_ROWS),
        (b'{"id": 1}\n{"id": 2}\n{"id": "\xff"}\n', f", line 3: expected UTF-8, found the byte 0xff{SAVE}"),
        (b"id,output\r\n1,caf\xe9\r\n", f", line 2: expected UTF-8, found the byte 0xe9{SAVE}"),
        (b'\xef\xbb\xbf{"id":\n\xff1}', f", line 2: expected UTF-8, found the byte 0xff{SAVE}"),
        ("id\toutput\n1\tx".encode("utf-16")[:-1], ", line 2: expected UTF-16, found the…"),
        ('{"id": 1}\nid,output\n', f", line 2{NO_JSON}…"),
        ('{"a": ' + "[" * 100_000 + "\n", f", line 1{NO_JSON}…"),
        ('{"a": 1}\n{"a": ' + "9" * 5000 + "}\n", f", line 2{NO_JSON}…"),
        ('[\n  {"id": 1}] and more', f", line 2{NO_JSON}…"),
        ('[{"id": 1}] [{"id": 2}]', f", line 1{NO_JSON}…"),
        ("[]]", f", line 1{NO_JSON}…"),
        ('[{"id": 1}\n{"id": 2}]', f", line 2{NO_JSON}…"),
        ('[,{"id": 1}]', f", line 1{NO_JSON}…"),
        ('[{"id": 1},\n,{"id": 2}]', f", line 2{NO_JSON}…"),
        ('[{"id": 1},\n]', f", line 2{NO_JSON}…"),
        ('\n{"id": 1}\n{"id":\n', f", line 3{NO_JSON}Expecting value at column 7{CUT}"),
        ('{"id": 1}\n{"id": 2, "output": "a wo', f", line 2{NO_JSON}Unterminated string at column 21{CUT}"),
        ('{"id": 1}\n{"id": 2\n{"id": 3}\n', f", line 2{NO_JSON}Expecting ',' delimiter at column 9"),
        ('[\n{"id": 1},\n{"id": \n', f", line 3{NO_JSON}Expecting value…"),
        ('[\n{"id": 1}\n', f", line 3{NO_JSON}expected ',' or ']' after an entry{CUT}"),
        ('[{"id": 1},\n {"id": 2 3}]', f", line 2{NO_JSON}Expecting ',' delimiter at column 11"),
        ('{"a": 1}\n{"id": "1", "id": "1"}', f", line 2{NO_JSON}the field 'id' appears twice"),
        ('[{"a": 1},\n{"id": "1", "id": "2"}]', f", line 2{NO_JSON}the field 'id' appears twice"),
        ("\nid,output,id\n1,x,2\n", ", line 2: the column 'id' appears twice"),
        ('[{"id": 1}, {"id": 2}]\n[{"id": 3}]\n', f", line 1{NO_OBJECT}[{{'id': 1}}, {{'id': 2}}]"),
        ('[{"id": 1},\n\n 7]', f", line 3{NO_OBJECT}7"),
        ('[{"id": 1}, null]', f", line 1{NO_OBJECT}None"),
        ('{"id": 1}\n"text"\n', f", line 2{NO_OBJECT}'text'"),
        ("id,output\n1,x\n2,y,z\n", f", line 3{LENGTH}"),
        ('id,output\n1,"two\nlines"\n2\n', f", line 4{LENGTH}"),
        ("id,output\n\n\n2\n", f", line 4{LENGTH}"),
        ('id,output\n1,x\n2,"never\nclosed\n', ", line 3: this is no CSV…"),
        ('id,output\n\n2,"a"b\n', ", line 3: this is no CSV…"),
        ("id;output;;\n1;x;;\n2;y;;lost\n", f", line 3{LOST}"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_line_and_what_is_wrong(tmp_path, content, problem):
    path = written(tmp_path, content)
    said, more, _ = problem.partition("…")
    with pytest.raises(DataError, match="^" + re.escape(f"{path}{said}") + ("" if more else "$")):
        read_rows(path)


def test_lines_that_hold_an_object_in_a_list_are_rows(tmp_path):
    rows = read_rows(written(tmp_path, '\n[{"id": "1", "output": "x"}] \n\n[{"id": "2"}]\n'))
    assert [(row.line, row.fields["id"]) for row in rows] == [(2, "1"), (4, "2")]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ('\n{"id": 1}\r\n\n\n{"id": 2}', [2, 5]),
        ('\n\n[{"id": 1}, {"id": 2}]\n ', [3, 3]),
        (json.dumps([{"id": 1, "output": "x"}, {"id": 2}], indent=2), [2, 6]),
    ],
)
def test_a_json_row_has_the_line_its_brace_opens_on(tmp_path, content, lines):
    rows = read_rows(written(tmp_path, content))
    assert [(row.line, row.fields["id"]) for row in rows] == list(zip(lines, (1, 2), strict=True))


def test_separators_that_json_allows_inside_strings_do_not_end_a_line(tmp_path):
    odd = "a\u2028b\u2029c\x85d"
    path = written(tmp_path, json.dumps({"id": odd}, ensure_ascii=False) + '\n{"id": 2}\n')
    assert [(row.line, row.fields["id"]) for row in read_rows(path)] == [(1, odd), (2, 2)]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ('id,output\n1,"one\ntwo\nthree"\n2,x\n', [2, 5]),
        ("id,output\n\n\n1,x\n\n2,y\n", [4, 6]),
        ("\n\r\nid,output\r\n1,x\r\n\r\n2,y", [4, 6]),
        ('id,"out\nput"\n1,x\n2,y\n', [3, 4]),
        ('id,output\n\n1,"a\r\n\nb"\n\n2,y\n', [3, 7]),
    ],
)
def test_csv_lines_are_right_after_blank_lines_and_quoted_newlines(tmp_path, content, lines):
    rows = read_rows(written(tmp_path, content))
    assert [(row.line, row.fields["id"]) for row in rows] == list(zip(lines, "12", strict=True))


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfid;output;;\r\n1;x;;\r\n2;y; ;\r\n", ",id,output\n0,1,x\n1,2,y\n"],
    ids=["empty cells", "numbers of rows"],
)
def test_columns_without_a_name_are_left_out_where_they_say_nothing(tmp_path, content):
    assert fields_of(written(tmp_path, content)) == TWO_ROWS


def test_rows_without_any_text_are_skipped(tmp_path):
    rows = read_rows(written(tmp_path, ";\nid;output\n;\n1;x\n ; \n2;y\n;\n  \n"))
    assert [(row.line, row.fields) for row in rows] == [(4, TWO_ROWS[0]), (6, TWO_ROWS[1])]


def test_an_empty_text_in_quotes_is_a_row_of_a_single_column(tmp_path):
    assert fields_of(written(tmp_path, 'output\n""\n\nx\n')) == [{"output": ""}, {"output": "x"}]


@pytest.mark.parametrize("hint", ["sep=|", '"sep=|"', "SEP=|\r"])
def test_a_first_line_may_name_the_delimiter(tmp_path, hint):
    rows = read_rows(written(tmp_path, f"{hint}\nid|output\n1|x\n2|y\n"))
    assert [(row.line, row.fields) for row in rows] == [(3, TWO_ROWS[0]), (4, TWO_ROWS[1])]


class Reading(BaseModel):
    name: str
    size: int = 0


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"Name": "n", "size": 4}, "the field 'name' is missing; found 'Name', 'size'$"),
        ({}, "the field 'name' is missing; found none$"),
        ({"name": "n", "size": "big"}, "the field 'size' is wrong: .*found 'big'$"),
    ],
)
def test_a_row_becomes_the_model_or_names_its_wrong_field(tmp_path, fields, problem):
    good = {"name": "n", "size": 4}
    assert parse_row(tmp_path, Row(3, good), Reading) == Reading(**good)
    path = tmp_path / "rows.jsonl"
    with pytest.raises(DataError, match="^" + re.escape(f"{path}, line 9: ") + problem):
        parse_row(path, Row(9, fields), Reading)


def test_a_long_wrong_value_is_shown_shortened(tmp_path):
    with pytest.raises(DataError) as caught:
        parse_row(tmp_path, Row(2, {"name": ["x" * 10_000]}), Reading)
    assert str(caught.value).endswith("…")
    assert len(str(caught.value)) < len(str(tmp_path)) + 100 + LONGEST_SHOWN


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
tables = st.lists(st.fixed_dictionaries({"id": texts, "prompt": texts, "output": texts}), min_size=1, max_size=6)


@given(rows=tables, ascii_only=st.booleans(), zipped=st.booleans())
def test_any_rows_of_text_read_back_equal_from_json(tmp_path_factory, rows, ascii_only, zipped):
    def packed(text):
        return gzip.compress(text.encode()) if zipped else text

    def dumped(value, **how):
        return json.dumps(value, ensure_ascii=ascii_only, **how)

    folder = tmp_path_factory.getbasetemp()
    json_lines = written(folder, packed("\n".join(dumped(row) for row in rows)))
    assert read_rows(json_lines) == [Row(line, row) for line, row in enumerate(rows, start=1)]
    assert fields_of(written(folder, packed(dumped(rows)))) == rows
    pretty = written(folder, packed(dumped(rows, indent=1)))
    assert read_rows(pretty) == [Row(2 + 5 * index, row) for index, row in enumerate(rows)]


@given(rows=tables, quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), end=st.sampled_from(["\n", "\r\n"]))
def test_any_rows_of_text_read_back_equal_from_csv(tmp_path_factory, rows, quoting, end):
    # Before Python 3.12.3 the writer quotes "\r" only where lines end in it, and unquoted it ends a
    # line.
    bare = quoting == csv.QUOTE_MINIMAL and end == "\n"
    assume(not (bare and any("\r" in text for row in rows for text in row.values())))
    assume(all(any(text.strip() for text in row.values()) for row in rows))  # others are skipped
    path = tmp_path_factory.getbasetemp() / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "prompt", "output"], quoting=quoting, lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
    assert fields_of(path) == rows


def test_the_reading_of_a_long_file_is_told(tmp_path, monkeypatch):
    told = []

    class Listening:
        def progress(self, what, done, of):
            told.append((what, done, of))

        def found(self, sentence):
            raise AssertionError(sentence)

    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n' * 5)
    with listening(Listening()):
        assert len(read_rows(path)) == 5
        assert told == []
        monkeypatch.setattr("judgeloop.formats.tables.LONG", 40)
        monkeypatch.setattr("judgeloop.formats.tables.STEP", 2)
        assert len(read_rows(path)) == 5
    assert told == [("lines of a.jsonl read", done, 5) for done in (2, 4, 5)]
