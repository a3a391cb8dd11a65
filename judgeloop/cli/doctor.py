"""The command `doctor`: checks the judges that the settings name, and prints the findings."""

from typing import Any

import click

from judgeloop.cli.naming import as_flags
from judgeloop.cli.panel_command import settings_command
from judgeloop.cli.progress import explained
from judgeloop.cli.streams import columns, say_settings


def doctor() -> click.Command:
    """Return the command `doctor`."""
    return settings_command(
        "doctor",
        _examine,
        "Check whether a judge works: key, server, model, structured output, price. Makes at most one "
        "call for each judge.\n\nExit codes: 0 the judge works, 2 usage, 4 a check failed.",
    )


def _examine(*, rating: bool, **given: Any) -> None:
    import asyncio

    from judgeloop.core.errors import EXIT_JUDGE
    from judgeloop.diagnostics.doctor import examine, render_findings
    from judgeloop.settings.run_settings import JudgeSettings

    read = click.get_current_context().obj
    say_settings(read)
    with explained():
        config, fit = JudgeSettings.of(**given), True
        for spec in config.specs:
            findings = asyncio.run(examine(config, spec, read.environment, rating=rating))
            print(as_flags(render_findings(findings, columns())))
            fit = fit and all(finding.fine is not False for finding in findings)
        raise click.exceptions.Exit(0 if fit else EXIT_JUDGE)
