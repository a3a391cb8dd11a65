"""Runs the command line in this process."""

import re

from click.testing import CliRunner, Result

from judgeloop.cli.app import app


def judgeloop(*arguments: object, **variables: str) -> Result:
    """Run `judgeloop ARGUMENTS`; an argument JUDGELOOP_NAME=value sets a variable, as in a shell."""
    given = [str(argument) for argument in arguments]
    named = [one for one in given if re.match(r"JUDGELOOP_[A-Z_]+=", one)]
    environment = variables | dict(one.split("=", 1) for one in named)
    rest = [one for one in given if one not in named]
    return CliRunner().invoke(app, rest, env=environment, prog_name="judgeloop")
