"""Renders a result as JUnit XML, which CI systems show among the tests of a pipeline.

The question is a test, and so is each condition beside it: all pass exactly if the command exits
with 0. Computes no figure and writes no file.
"""

from xml.etree import ElementTree as ET

from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE
from judgeloop.report.escaping import visible
from judgeloop.report.page import render
from judgeloop.report.run_result import Condition, RunResult

BROKEN = {EXIT_JUDGE, EXIT_INTERRUPTED}


def render_junit(result: RunResult) -> str:
    """Return a test suite: a test named by the question and the systems, and one for each condition.

    A judge that failed and a run that was interrupted are errors. Another winner than the required
    one, no winner, and a condition that does not hold are failures. The text of the result is the
    first test's output; unseen characters are escaped in it, as XML does not allow them.
    """
    name = " or ".join(result.setup.systems)
    answer = Condition(name, result.answer_code, result.page.headline)
    every = (answer, *result.conditions)
    broken = sum(one.exit_code in BROKEN for one in every)
    failed = sum(one.exit_code != 0 for one in every) - broken
    counts = {"tests": str(len(every)), "failures": str(failed), "errors": str(broken)}
    suite = ET.Element("testsuite", {"name": "judgeloop"} | counts)
    for one in every:
        case = _case(suite, result.job, one)
        said = render(result.page) if one is answer else one.sentence
        ET.SubElement(case, "system-out").text = said
    ET.indent(suite)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"
    )


def _case(suite: ET.Element, job: str, one: Condition) -> ET.Element:
    """Add the test of an answer or a condition, with its failure or error."""
    where = {"classname": f"judgeloop.{job}", "name": visible(one.name)}
    case = ET.SubElement(suite, "testcase", where)
    if one.exit_code:
        kind = "error" if one.exit_code in BROKEN else "failure"
        why = {"message": one.sentence, "type": f"exit code {one.exit_code}"}
        ET.SubElement(case, kind, why)
    return case
