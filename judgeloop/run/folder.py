"""What a run's folder remembers of its ledger, so that a lost ledger does not go unseen.

A budget is counted in the ledger. Were the file lost or replaced, the budget would count from zero.
So the run's folder keeps the ledger's id and what the run was charged there. Reads and writes the
file `ledger.json` of the folder.
"""

import json
from pathlib import Path
from typing import Any

from judgeloop.core.money import show_usd
from judgeloop.formats.own_files import HOME, make_folder, read_own, write_whole
from judgeloop.ledger.opening import Address, is_ledger, open_reader, place_of
from judgeloop.settings.run_settings import RunSettings

NAME = "ledger.json"
FOLDER = "runs"  # beside the ledger


def folder_of(config: RunSettings, run: str) -> Path:
    """Return the folder of a run's files."""
    beside = config.ledger.parent if isinstance(config.ledger, Path) else HOME
    return config.run_dir or beside / FOLDER / run


def sentences_about(ledger: Address, folder: Path, run: str) -> list[str]:
    """Return what a person should know of a run's ledger before anything is spent.

    Raises:
        LedgerError: the ledger cannot be opened.
    """
    known, found = _remembered(folder, run), _id_of(ledger)
    said = place_of(ledger)[1] if found is not None else []
    # A run that broke off before its ledger was made remembers none.
    if (known.get("ledger") or found) != found:
        charged_p = known.get("charged_p")
        amount = "" if charged_p is None else f" and was charged {show_usd(charged_p)} there"
        lost = "is missing" if found is None else "is another one"
        said.append(
            f"this run had a ledger{amount} ({folder / NAME} remembers it), and {ledger} {lost}: "
            "its budget counts from zero. Put the earlier ledger back, or name it (`ledger`); if you mean "
            "to begin anew, there is nothing to do"
        )
    return said


def remember(ledger: Address, folder: Path, run: str, charged_p: int | None = None) -> None:
    """Note in the run's folder which ledger it uses and, at its end, what it has been charged.

    Raises:
        JudgeloopError: the folder cannot be written.
    """
    found = _id_of(ledger)
    known = _remembered(folder, run)
    if charged_p is None and known.get("ledger") == found:
        charged_p = known.get("charged_p")
    told = {"run": run, "ledger": found, "charged_p": charged_p}
    make_folder(folder)
    write_whole(folder / NAME, json.dumps(told) + "\n")


def note_new_ledger(config: RunSettings, run: str) -> None:
    """Let the run's folder, if it has one, know a ledger that is new, before anything is spent."""
    folder = folder_of(config, run)
    if (folder / NAME).exists():
        remember(config.ledger, folder, run)


def _id_of(ledger: Address) -> str | None:
    """Return the id of a ledger; None if there is none yet."""
    if not is_ledger(ledger):
        return None
    with open_reader(ledger) as reader:
        return reader.id


def _remembered(folder: Path, run: str) -> dict[str, Any]:
    """Return what the folder remembers of this run; empty if nothing, or nothing readable."""
    try:
        found = json.loads(read_own(folder / NAME))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict) or found.get("run") != run:
        return {}
    charged_p = found.get("charged_p")
    return {
        "ledger": found.get("ledger"),
        "charged_p": charged_p if isinstance(charged_p, int) else None,
    }
