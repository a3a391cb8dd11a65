"""What a ledger was charged in all, for who keeps the bill of a study in Python.

Reads the ledger alone. `judgeloop ledger show` has the charges by day, systems, judge and run.
"""

from os import PathLike

from judgeloop.core.money import to_usd
from judgeloop.ledger.opening import open_reader
from judgeloop.settings.run_settings import LedgerSettings


def spent_usd(ledger: str | PathLike[str] | None = None) -> float:
    """Return what all runs of a ledger were charged, those of `generate` and `doctor` too, in dollars.

    `ledger` is a file or a server's address; None is `.judgeloop/ledger.sqlite` in the working folder.

    Raises:
        InputError: there is no such file.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    given = {} if ledger is None else {"ledger": ledger}
    with open_reader(LedgerSettings.of(**given).ledger) as reader:
        return float(to_usd(sum(one.charged_p for one in reader.spending()["state"].values())))
