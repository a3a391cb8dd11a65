"""Renders a result as JUnit XML, which CI systems show among the tests of a pipeline.

The question is a test, and so is each condition beside it: all pass exactly if the command exits
with 0. Computes no figure and writes no file.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from xml.etree import ElementTree as ET

from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_JUDGE, EXIT_USAGE
from judgeloop.report.escaping import visible
from judgeloop.report.page import WARNING, render
from judgeloop.report.run_result import RunResult

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
MARK = f'{HEAD}<testsuite name="judgeloop"'  # how a suite of judgeloop's begins, and no other file
NOT_FINISHED = "judgeloop did not finish"
BESIDE = "This answer passes; a condition beside it, a test of its own, does not.\n"
BROKEN = {EXIT_ERROR, EXIT_USAGE, EXIT_JUDGE, EXIT_INTERRUPTED}


def render_junit(result: RunResult) -> str:
    """Return a test suite: a test named by what is asked of the systems, and one for each condition.

    A judge that failed and a run that was interrupted are errors. Another winner than the required
    one, no winner, and a condition that does not hold are failures. The text of the result is the output of the first
    test, and its warnings are the errors that it wrote; unseen characters are escaped, as XML does not allow them.
    Where only a condition fails, a line before that text says so.
    """
    answer, *conditions = result.conditions
    beside = "" if answer.outcome.exit_code or not result.exit_code else BESIDE
    said = (one.message for one in result.warnings)
    own = (answer.name, answer.outcome.exit_code, result.page.headline, f"{beside}{render(result.page)}", said)
    return _suite(result.job, _ended(*own), *(_ended(one.name, one.outcome.exit_code, one.said) for one in conditions))


def render_ends(question: str, ends: Iterable[tuple[str, int, str, Iterable[str]]], skipped: str = "") -> str:
    """Return a test suite with a test for each end: a name, an exit code, a sentence and warnings.

    If something was `skipped`, a last test says what.
    """
    more = [Case("absent", "skipped", skipped, "", {})] if skipped else []
    return _suite(question, *(_ended(name, code, text, warnings=said) for name, code, text, said in ends), *more)


def render_unfinished(question: str, message: str, exit_code: int) -> str:
    """Return a test suite whose test is an error, for a command without a result.

    `exit_code` is 0 as long as the command may still end otherwise.
    """
    why = _exit(exit_code) if exit_code else ""
    return _suite(question, Case("result", "error", message, why, {}))


class Case(NamedTuple):
    """A test: `kind` is the element that says why it did not pass, empty if it passed."""

    name: str
    kind: str
    message: str
    why: str
    said: Mapping[str, str]


def _ended(name: str, code: int, message: str, text: str = "", warnings: Iterable[str] = ()) -> Case:
    return Case(name, _kind(code), message, _exit(code), _said(text or visible(message), warnings))


def _said(text: str, warnings: Iterable[str]) -> dict[str, str]:
    errors = "\n".join(f"{WARNING} {visible(one)}" for one in warnings)
    return {"system-out": text} | ({"system-err": errors} if errors else {})


def _kind(exit_code: int) -> str:
    return ("error" if exit_code in BROKEN else "failure") if exit_code else ""


def _exit(code: int) -> str:
    return f"exit code {code}"


def _suite(question: str, *cases: Case) -> str:
    """Return a suite with these tests."""
    kinds = [case.kind for case in cases]
    counts = {"tests": len(cases), "failures": kinds.count("failure"), "errors": kinds.count("error")} | (
        {"skipped": kinds.count("skipped")} if "skipped" in kinds else {}
    )
    numbers = {name: str(number) for name, number in counts.items()}
    suite = ET.Element("testsuite", {"name": "judgeloop"} | numbers)
    for one in cases:
        where = {"classname": f"judgeloop.{question}", "name": visible(one.name)}
        case = ET.SubElement(suite, "testcase", where)
        if one.kind:
            why = {"type": one.why} if one.why else {}
            ET.SubElement(case, one.kind, {"message": visible(one.message)} | why)
        for stream, text in one.said.items():
            ET.SubElement(case, stream).text = text
    ET.indent(suite)
    return f"{HEAD}{ET.tostring(suite, encoding='unicode')}\n"
