"""Renders a result as JUnit XML, which CI systems show among the tests of a pipeline.

The question is one test, which passes exactly if the command exits with 0. Computes no figure and
writes no file.
"""

from collections.abc import Mapping
from xml.etree import ElementTree as ET

from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE
from judgeloop.report.escaping import visible
from judgeloop.report.page import render
from judgeloop.report.run_result import RunResult


def render_junit(result: RunResult) -> str:
    """Return a test suite with one test, named by the question and the systems.

    A judge that failed and a run that was interrupted are errors. Another winner than the required
    one, and no winner, are failures; a warning that fails the command is one of the type `warning`. The
    text of the result is the test's output, and its warnings are the errors that it wrote; unseen
    characters are escaped, as XML does not allow them.
    """
    ended = result.exit_code
    broken = ended in {EXIT_JUDGE, EXIT_INTERRUPTED}
    name = " or ".join(result.setup.systems)
    said = {"system-out": render(result.page)}
    if result.warnings:
        said["system-err"] = "\n".join(f"Warning: {one.message}" for one in result.warnings)
    if not ended:
        return _suite(result.job, name, said=said)
    kind, why = "error" if broken else "failure", "warning" if result.warned else _exit(ended)
    return _suite(result.job, name, kind, result.page.headline, why, said=said)


NOT_FINISHED = "judgeloop did not finish"


def render_unfinished(question: str, message: str = NOT_FINISHED, exit_code: int = 0) -> str:
    """Return a test suite whose test is an error, for a command without a result.

    `exit_code` is 0 as long as the command may still end otherwise.
    """
    return _suite(question, "result", "error", message, _exit(exit_code) if exit_code else "")


def is_own(text: str) -> bool:
    """Return whether the beginning of a file is that of a suite of judgeloop's."""
    return text.startswith(f"{HEAD}{SUITE}")


HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
SUITE = '<testsuite name="judgeloop"'


NOTHING: Mapping[str, str] = {}


def _exit(code: int) -> str:
    return f"exit code {code}"


def _suite(
    question: str,
    name: str,
    kind: str = "",
    message: str = "",
    why: str = "",
    *,
    said: Mapping[str, str] = NOTHING,
) -> str:
    """Return a suite with one test; `kind` is the element that says why it did not pass."""
    counts = {"tests": "1", "failures": str(int(kind == "failure"))}
    suite = ET.Element(
        "testsuite", {"name": "judgeloop", **counts, "errors": str(int(kind == "error"))}
    )
    where = {"classname": f"judgeloop.{question}", "name": visible(name)}
    case = ET.SubElement(suite, "testcase", where)
    if kind:
        ET.SubElement(case, kind, {"message": visible(message), **({"type": why} if why else {})})
    for stream, text in said.items():
        ET.SubElement(case, stream).text = text
    ET.indent(suite)
    return f"{HEAD}{ET.tostring(suite, encoding='unicode')}\n"
