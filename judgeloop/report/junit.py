"""Renders a result as JUnit XML, which CI systems show among the tests of a pipeline.

The question is one test, which passes exactly if the command exits with 0. Computes no figure and
writes no file.
"""

from xml.etree import ElementTree as ET

from judgeloop.core.errors import EXIT_INTERRUPTED, EXIT_JUDGE
from judgeloop.report.escaping import visible
from judgeloop.report.page import render
from judgeloop.report.run_result import RunResult


def render_junit(result: RunResult) -> str:
    """Return a test suite with one test, named by the question and the systems.

    A judge that failed and a run that was interrupted are errors. Another winner than the required
    one, and no winner, are failures. A warning with
    `fail_on_warning` is a failure of the type `warning`. The text of the result is the test's output, and
    its warnings are the errors; unseen characters are escaped, as XML does not allow them.
    """
    ended = result.exit_code
    broken = ended in {EXIT_JUDGE, EXIT_INTERRUPTED}
    counts = {"tests": "1", "failures": str(int(ended != 0 and not broken))}
    suite = ET.Element("testsuite", {"name": "judgeloop", **counts, "errors": str(int(broken))})
    name = visible(" or ".join(result.setup.systems))
    where = {"classname": f"judgeloop.{result.job}", "name": name}
    case = ET.SubElement(suite, "testcase", where)
    if ended:
        kind = "error" if broken else "failure"
        why = "warning" if result.warned else f"exit code {ended}"
        ET.SubElement(case, kind, {"message": result.page.headline, "type": why})
    ET.SubElement(case, "system-out").text = render(result.page)
    if result.warnings:
        said = "\n".join(f"Warning: {one.message}" for one in result.warnings)
        ET.SubElement(case, "system-err").text = said
    ET.indent(suite)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"
    )
