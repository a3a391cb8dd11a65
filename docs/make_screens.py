"""Takes the screenshots of reports and of the page on which people judge, as docs/pictures/*.png.

    python docs/make_screens.py

Needs Debian's `chromium` and `chromium-driver`, and ImageMagick's `convert`, which makes the files small. It runs
the example in `examples/incidents`; nothing is paid. Look at the pictures before you commit them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import Browser, browser, settled  # noqa: E402 - the tests are no package
from support.page_runs import page_run  # noqa: E402

EXAMPLE = ROOT / "examples" / "incidents"
JUDGED = ("--items", "items.jsonl", "--judge", "metric:rouge2")
RATED = ("--items", "items.jsonl", "--judge", "python:examples.judges.content:passes", "--allow-plugins")
SYSTEMS = sorted(str(path.relative_to(EXAMPLE)) for path in (EXAMPLE / "systems").glob("*.jsonl"))
# The name of a picture; the command whose page it shows; the size of the window.
SCREENS = {
    "report": (("compare", "lead.jsonl", "central.jsonl", *JUDGED), (1160, 880)),
    "select": (("select", *SYSTEMS, *JUDGED), (1160, 940)),
    "estimate": (("estimate", "central.jsonl", *RATED, "--max-judgments", "60"), (1160, 540)),
    "night": (("suite", "nightly.toml", "--night", "2026-11-24"), (1160, 420)),
}
BEFORE = ("suite", "nightly.toml", "--night", "2026-11-23")
PHONE = (390, 844)
# Numbers beside the parts of a page that docs/how-to/read-a-result.md explains.
NUMBERED = """
const parts = [".badge", "h1", "header dl", ".grid > :nth-child(1)", ".grid > :nth-child(2)", ".cards > :nth-child(1)"];
parts.map((part) => document.querySelector(part).getBoundingClientRect()).forEach((place, at) => {
  const mark = document.body.appendChild(document.createElement("b"));
  mark.textContent = at + 1;
  Object.assign(mark.style, { position: "absolute", left: `${place.left - 34}px`, top: `${place.top + scrollY}px`,
    width: "24px", borderRadius: "50%", background: "#b3261e", color: "#fff", font: "700 14px/24px sans-serif",
    textAlign: "center" });
});
"""
OPEN = "const one = document.querySelector('.item[data-kind=lost]'); one.open = true; one.scrollIntoView();"
COLOURS = "64"
RUBRIC = "Which answer would help more tonight? Correct before complete. Length is no merit."
ENTER = "\ue007"


def main() -> None:
    """Make the pages, look at them, and write the pictures."""
    with tempfile.TemporaryDirectory() as folder, browser() as one:
        _run(*BEFORE, "--ledger", str(Path(folder, "suite.sqlite")))
        for name, (command, size) in SCREENS.items():
            page = Path(folder, f"{name}.html")
            _run(*command, "--ledger", str(Path(folder, f"{command[0]}.sqlite")), "-o", str(page))
            _take(one, page, name, size)
        _take(one, Path(folder, "report.html"), "report-numbered", (1160, 1080), NUMBERED)
        _take(one, Path(folder, "report.html"), "report-phone", PHONE, OPEN)
        _judge(one, Path(folder))


def _run(*command: str) -> None:
    """Run a command on the example; the pairs of a night may fail their gate."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "judgeloop", *command, "--quiet"]
    subprocess.run(words, cwd=EXAMPLE, env=environment, check=False, stdout=subprocess.DEVNULL)


def _judge(one: Browser, folder: Path) -> None:
    """Judge pairs of the example; take the page as it shows the next, also on a phone, and the view of its owner."""
    for name, text in (("secret-old", "lead"), ("secret-new", "central")):
        shutil.copy(EXAMPLE / f"{text}.jsonl", folder / f"{name}.jsonl")
    asked = ("--rubric", RUBRIC, "--items", str(EXAMPLE / "items.jsonl"))
    with page_run(folder, *asked) as run:
        one.look(size=(1280, 800))
        _give(one, run.link(), "abtabbataab")
        _keep(one, "judge-page")
        one.look(size=PHONE)
        one.run("document.getElementById('heada').scrollIntoView()")
        settled()
        _keep(one, "judge-phone")
    paid = ("--people", "anna,ben,chi", "--human-price", "40", "--budget", "80", "--seed", "1")
    with page_run(folder, *asked, *paid) as run:
        one.look(size=(1280, 1000))  # the ends of all texts are seen
        _give(one, run.link(1), "bas")
        _give(one, run.link(0), "abtabba")
        one.look(size=(1160, 780))
        one.visit(run.owner)
        settled(1.5)
        _keep(one, "judge-owner")


def _give(one: Browser, link: str, keys: str) -> None:
    """Judge with these keys."""
    one.visit(link)
    for key in (ENTER, *keys):
        settled(1.5)
        one.press(key)
    settled(1.5)


def _take(one: Browser, page: Path, name: str, size: tuple[int, int], script: str = "") -> None:
    one.look(size=size)
    one.open(page)
    one.run(f"document.documentElement.style.scrollbarWidth = 'none'; {script}")
    settled()
    _keep(one, name)


def _keep(one: Browser, name: str) -> None:
    file = ROOT / "docs" / "pictures" / f"{name}.png"
    one.picture(file)
    convert = shutil.which("convert") or "convert"
    subprocess.run([convert, file, "+dither", "-colors", COLOURS, f"png8:{file}"], check=True)
    print(file.relative_to(ROOT), file.stat().st_size)


if __name__ == "__main__":
    main()
