"""The command `calibrate`: prints which selector and rule would have served past comparisons best."""

from json import dumps
from typing import Any

import click

from judgeloop.cli.naming import as_flags
from judgeloop.cli.progress import counting
from judgeloop.cli.streams import say_settings


def calibrate(*, json: bool, quiet: bool, **given: Any) -> None:
    """Find the selector and rule that would have served past comparisons best, in judgments, dollars and errors.

    It replays comparisons whose verdicts are known, each as if it were new. It asks no judge and spends nothing.
    """
    import os

    # Its products of matrices are small: threads of the library would only wait for each other,
    # which takes processor time. The library reads this variable when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from judgeloop.calibration.config import CalibrateConfig
    from judgeloop.calibration.run import calibrate_past
    from judgeloop.calibration.text import calibration_json, render_calibration

    say_settings(click.get_current_context().obj)
    config = CalibrateConfig.of(**given)
    with counting("ways of drawing", quiet=quiet) as observe:
        figures = calibrate_past(config, observe)
    if json:
        values = calibration_json(figures)
        values["beside"] = [as_flags(what) for what in values["beside"]]
        for advice in values["advice"]:
            advice["flags"] = _flags(advice["settings"])
        print(dumps(values, indent=2))
    else:
        print(as_flags(render_calibration(figures)))


def _flags(settings: dict[str, str] | None) -> str | None:
    """Return settings as flags, after variables, which a shell takes first; None for none."""
    if settings is None:
        return None
    shown = [as_flags(f"`{name}={value}`") for name, value in settings.items()]
    return " ".join(sorted(shown, key=lambda one: one.startswith("--")))
