"""Makes the picture of the page on which people judge, with a real browser: python docs/make_page_pictures.py.

It needs chromium and chromium-driver. The run is that of the example.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import browser  # noqa: E402 - of the tests
from support.page_runs import page_run  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
EXAMPLE = ROOT / "examples" / "incidents"
SIZE = (1280, 800)
ENTER = "\ue007"
RUBRIC = "Which answer would help more tonight? Correct before complete. Length is no merit."


def main() -> None:
    """Judge some pairs, and take the picture of the next."""
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        for new, old in (("secret-old", "lead"), ("secret-new", "central")):
            text = (EXAMPLE / f"{old}.jsonl").read_text(encoding="utf-8")
            (Path(folder) / f"{new}.jsonl").write_text(text, encoding="utf-8")
        page.look(size=SIZE)
        with page_run(Path(folder), "--rubric", RUBRIC, "--items", str(EXAMPLE / "items.jsonl")) as run:
            page.visit(run.link())
            time.sleep(1)
            page.press(ENTER)
            for key in "abtabbataab":
                time.sleep(1)
                page.press(key)
            time.sleep(1)
            page.picture(PICTURES / "judge-page.png")


if __name__ == "__main__":
    main()
