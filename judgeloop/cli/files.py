"""Writes the files of a result, those of `-o`.

A file is written whole or not at all, and without keys of the environment. `report/` and the questions' own
`page.py` make the contents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.output import as_flags, keyless
from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE, InputError, JudgeloopError
from judgeloop.core.outcomes import Outcome
from judgeloop.core.work import lasting
from judgeloop.formats.own_files import check_writable, read_own, write_whole
from judgeloop.report.forms import MARK, NOT_FINISHED, render_junit, render_latex, render_markdown, render_unfinished
from judgeloop.report.page import SEALED, Fact, Page, Section, decided
from judgeloop.report.terminal import render
from judgeloop.report.words import visible

if TYPE_CHECKING:  # a command that reads no file must not wait for it
    from judgeloop.report.result import RunResult

JUNIT, HTML, FIGURE = ".xml", ".html", ".svg"
SAY_ALL = {".json", ".csv", FIGURE}
OF_MARKDOWN = "<!-- judgeloop -->\n\n"


def render_json(result: RunResult, settings_files: Mapping[str, list[str]] | None = None) -> str:
    """The result as a JSON object, with the settings that each file set."""
    return json_text(result.to_json(as_flags), settings_files)


def json_text(values: Mapping[str, Any], settings_files: Mapping[str, list[str]] | None = None) -> str:
    """JSON values as text, with the settings of each file."""
    whole = {**values, "settings_files": settings_files or {}}
    return json.dumps(whole, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


# The forms of a result, by the ending of a file; a suite has a page and values of its own.
FORMS: dict[str, Callable[[Any], str]] = {
    ".json": render_json,
    ".md": lambda result: OF_MARKDOWN + render_markdown(result.page),
    ".txt": lambda result: f"{render(result.page)}\n",
    HTML: lambda result: str(result.to_html()),
    ".csv": lambda result: str(result.to_csv()),
    JUNIT: render_junit,
    ".tex": lambda result: render_latex(result.page),
    FIGURE: lambda result: str(result.plot().for_paper()),
}
OF_NIGHTS = tuple(form for form in FORMS if form != FIGURE)


def _no_result(question: str, message: str, code: int) -> Page:
    """A page without a result, for an error; without a `code`, while a command runs or after it was killed."""
    text = f"{question} has no result: {message}" if code else f"{question}: {message}"
    return Page((decided(visible(text)),), outcome=Outcome.BROKEN if code else None)


def _index(question: str, message: str, code: int) -> str:
    from judgeloop.report.html import render_index

    return render_index(_no_result(question, message, code), {}, {})


# The forms in which a command without a result says so: what a file of judgeloop's own holds, and the new text.
UNFINISHED: dict[str, tuple[str, Callable[[str, str, int], str]]] = {
    JUNIT: (MARK, render_unfinished),
    HTML: ("<title>judgeloop: ", _index),
    ".md": (OF_MARKDOWN, lambda *why: OF_MARKDOWN + render_markdown(_no_result(*why))),
    ".json": (
        '\n  "settings_files": {',
        lambda question, message, code: json_text({"job": question, "error": message, "exit_code": code or None}),
    ),
}


def check_outputs(paths: Sequence[Path], inputs: Iterable[object] = (), forms: Collection[str] = tuple(FORMS)) -> None:
    """Refuse result files of which one cannot be written, or two are the same file.

    It is called before anything is spent.

    Raises:
        InputError: names the file, as `check_output` does.
    """
    read, real = list(inputs), dict[Path, Path]()
    for path in paths:
        check_output(path, read, forms)
        if path.resolve() in real:
            raise InputError(f"-o {path}: this is the same file as -o {real[path.resolve()]}; give each file once")
        real[path.resolve()] = path


def check_output(path: Path, inputs: Iterable[object] = (), forms: Iterable[str] = FORMS) -> None:
    """Refuse a file of another ending than `forms`, or one that cannot be written or is an input.

    It is called before anything is spent.

    Raises:
        InputError: the ending is unknown, the folder does not exist, or the file is a folder, an input, or
            tests of another program's.
    """
    for other in inputs:
        if isinstance(other, Path) and path.resolve() == other.resolve():
            raise InputError(f"-o {path}: this file is read by the run, and would be overwritten")
    if path.suffix not in forms:
        pdf = path.suffix == ".pdf" and ".svg" in forms
        way = (
            "; for a PDF of the picture: -o figure.svg, then `rsvg-convert --format pdf figure.svg --output figure.pdf`"
        )
        raise InputError(f"-o {path}: expected a file ending in {', '.join(forms)}{way if pdf else ''}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"-o {path}: the folder {path.absolute().parent} does not exist")
    if path.is_dir():
        raise InputError(f"-o {path}: this is a folder")
    if path.suffix == JUNIT and _is_foreign(path):
        raise InputError(
            f"-o {path}: another program wrote this file, which may hold other tests; name another file, or remove it"
        )
    check_writable(path)


def write_outputs(paths: Iterable[Path], result: RunResult, *, all_of_it: bool = False) -> None:
    """Write the result to every file, also if one of them cannot be written. Texts name the page among them.

    Texts are sealed where people go on to judge, unless `all_of_it` is wanted; what programs read is not.

    Raises:
        JudgeloopError: names the files that cannot be written.
    """
    failures, every = [], list(paths)
    pages = ", ".join(str(path) for path in every if path.suffix == HTML)
    shown = result if all_of_it else result.sealed()
    if how := shown.page.text(SEALED):  # its command gets flags and the ledger, as the others have them already
        how = as_flags(how)
        shown = replace(shown, page=shown.page.with_facts(Fact(SEALED, Section.EVIDENCE, "so far", how, first=True)))
    named = Fact("report", Section.NEXT, "report", pages, first=True)
    for path in every:
        one = result if path.suffix in SAY_ALL else shown
        try:
            write_output(path, one if path.suffix == HTML else replace(one, page=one.page.with_facts(named)))
        except JudgeloopError as error:
            failures.append(str(error))
    if failures:
        raise JudgeloopError("; ".join(failures))


def write_output(path: Path, result: RunResult) -> None:
    """Write the result in the format of the file's ending."""
    with lasting(f"writing {path.name}"):
        write_text(path, FORMS[path.suffix](result))


def write_text(path: Path, text: str) -> None:
    """Write the text of a result, without keys."""
    write_whole(path, keyless(text))


@contextmanager
def unfinished(paths: Iterable[Path], question: str) -> Iterator[None]:
    """Let the files of a result say that there is none yet, or with which error the command ended.

    So whoever reads them after the command, in a shell after `;`, finds how it ended, whatever that was; and an
    earlier result does not pass for that of a command that was killed. The result replaces what is written here. A
    file that judgeloop did not write is left as it is. An error replaces nothing that another command has written
    meanwhile: the one that was running, so that this one was refused.
    """
    places = [path for path in paths if path.suffix in UNFINISHED and _is_free(path)]

    begun = NOT_FINISHED.format(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")

    def write(message: str = begun, code: int = 0) -> None:
        for path in places:
            form = UNFINISHED[path.suffix][1]
            # Whether it can be written is checked with the others.
            with suppress(JudgeloopError, OSError):
                if not code or read_own(path) == form(question, begun, 0):
                    write_text(path, form(question, message, code))

    write()
    try:
        yield
    except click.UsageError as error:
        write(error.format_message(), EXIT_USAGE)
        raise
    except click.exceptions.Exit:
        raise
    except KeyboardInterrupt:
        write("interrupted", EXIT_INTERRUPTED)
        raise
    except Exception as error:
        write(as_flags(str(error)), EXIT_USAGE if isinstance(error, InputError) else EXIT_ERROR)
        raise


def remove_other(pages: Iterable[Path], written: Collection[Path]) -> None:
    """Remove earlier pages of judgeloop's own that are not among those `written` now."""
    for page in pages:
        if page not in written and _is_free(page):
            page.unlink()


def _is_free(path: Path) -> bool:
    """Whether there is a file of judgeloop's own, or none."""
    try:
        return UNFINISHED[path.suffix][0] in read_own(path)
    except FileNotFoundError:
        return path.parent.is_dir() and not path.is_symlink()
    except (OSError, ValueError, InputError):
        return False


def _is_foreign(path: Path) -> bool:
    """Whether a file has content that judgeloop did not write; a link is replaced, not its file."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size > 0 and not _is_free(path)
