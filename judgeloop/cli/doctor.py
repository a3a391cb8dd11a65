"""The command `doctor`: checks the judges and systems that are named, and prints the findings."""

from typing import Any

import click

from judgeloop.cli.naming import as_flags
from judgeloop.cli.streams import columns, say_settings
from judgeloop.core.errors import EXIT_JUDGE, InputError


def doctor(*, rating: bool, **given: Any) -> None:
    """Check whether a judge works: key, server, model, structured output, price; or a system that answers live.

    Makes at most one call for each.

    Exit codes: 0 all work, 2 usage, 4 a check failed.
    """
    import asyncio

    from judgeloop.diagnostics.config import DoctorConfig
    from judgeloop.diagnostics.doctor import examine, examine_system, render_findings

    read = click.get_current_context().obj
    say_settings(read)
    config, fit = DoctorConfig.of(**given), True
    if not config.specs and not config.systems:
        raise InputError(
            "`judge`: expected a judge to check, or a system with `system=NAME`; of a file, doctor reads the "
            "tables [shared] and [doctor], and not [compare]"
        )
    checks = [
        *(examine(config, spec, read.environment, rating=rating) for spec in config.specs),
        *(examine_system(config, name, read.environment) for name in config.systems),
    ]
    for check in checks:
        findings = asyncio.run(check)
        print(as_flags(render_findings(findings, columns())))
        fit = fit and all(finding.fine is not False for finding in findings)
    raise click.exceptions.Exit(0 if fit else EXIT_JUDGE)
