"""Systems that are functions: what they are told, what they may return, and how they fail."""

from __future__ import annotations

import pytest
from support.code import answered, function, made


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_comes_after_the_time_limit_is_no_output(kind):
    source = f"import time\n{kind} answer(prompt):\n    time.sleep(0.5)\n    return 'late'\n"
    output = answered(made(function(source, kind[:2]), "timeout=0.1"))
    assert output.text is None
    assert "it gave no output within 0.1 s" in output.failed
