"""Sections of equal width."""

from __future__ import annotations

import numpy as np

from judgeloop.methods.stats.sections import by_sections


def test_sections_have_equal_width_and_none_is_empty():
    values = np.array([0.0, 0.1, 0.24, 0.26, 0.9, 1.0])
    # Quarters: the third of them holds nothing and is left out.
    assert by_sections(values, 4).labels.tolist() == [0, 0, 0, 1, 2, 2]


def test_equal_values_are_one_section():
    assert by_sections(np.full(5, 0.3)).labels.tolist() == [0] * 5


def test_one_section_holds_everything():
    assert by_sections(np.linspace(0, 1, 6), 1).labels.tolist() == [0] * 6
