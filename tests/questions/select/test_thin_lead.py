"""A search warns where its lead decides about these items, and may be chance on others."""

from __future__ import annotations

from support import commandline
from support.outputs import write_outputs

ITEMS = 60


def search(folder, ahead, *more, **others):
    """A leads B, the baseline, on `ahead` of 60 items, and is behind on 12; C is far behind, if `others` is not."""
    rows = {
        "A": ["yes"] * ahead + ["yes x"] * (ITEMS - ahead - 12) + ["no"] * 12,
        "B": ["yes x"] * ITEMS,
        "C": ["no"] * ITEMS,
    } | others
    files = [str(write_outputs(folder / f"{name}.jsonl", texts, reference="yes")) for name, texts in rows.items()]
    return commandline.result_of("select", *files, "--judge", "metric:token-f1", "--baseline", "B", *more)


def warned(result):
    return [one["message"] for one in result["warnings"] if one["code"] == "thin_lead"]


def test_a_lead_of_one_item_decides_here_and_is_said_to_show_nothing_elsewhere(tmp_path):
    result = search(tmp_path, 13)
    assert result["winner"] == "A"
    (said,) = warned(result)
    assert "A did better than B on 13 items, and worse on 12." in said
    assert "--about like-these" in said


def test_a_rival_beside_the_baseline_is_said_to_be_compared_with_it(tmp_path):
    level = ["yes x"]
    (said,) = warned(search(tmp_path, 0, A=["yes"] * 13 + level * 47, C=level * 13 + ["yes"] * 12 + level * 35))
    assert "A did better than C on 13 items, and worse on 12, each compared with B." in said


def test_a_clear_lead_is_not_warned_of(tmp_path):
    result = search(tmp_path, 40)
    assert (result["winner"], warned(result)) == ("A", [])


def test_about_items_like_these_a_thin_lead_names_none_and_needs_no_warning(tmp_path):
    result = search(tmp_path, 13, "--about", "like-these")
    assert (result["winner"], warned(result)) == (None, [])
