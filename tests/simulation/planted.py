"""Faults that are planted in a copy of the code, to see that the simulation finds each of them.

Each is a line of a module, and what stands there instead.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COMMAND = (ROOT / "benchmarks" / "simulate.py").as_posix()


class Planted(NamedTuple):
    """A fault: what it is, the module, the text there, and the text with the fault."""

    what: str
    module: str
    text: str
    fault: str

    def path(self, root: Path = ROOT) -> Path:
        """Return the module's path in a checkout."""
        return root / "judgeloop" / self.module

    def found_at(self, folder: Path, most: int) -> int | None:
        """Plant it in a copy in `folder`; return how many seeds it takes to find it, or None."""
        shutil.copytree(ROOT / "judgeloop", folder / "judgeloop")
        path = self.path(folder)
        path.write_text(path.read_text("utf-8").replace(self.text, self.fault), "utf-8")
        given = [sys.executable, "-W", "ignore", COMMAND, "--count", str(most)]
        ended = subprocess.run(
            given, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
        )
        seed = re.search(r"--seed (\d+)", ended.stdout)
        if not ended.returncode:
            return None
        assert seed is not None, ended.stderr
        return int(seed[1]) + 1


ATTEMPTS, BATCH, ACCOUNTS = "engine/attempts.py", "engine/batch.py", "engine/accounts.py"
LEDGER, SCHEMA, SQLITE = "ledger/ledger.py", "ledger/schema.py", "ledger/sqlite.py"
PLANTED = [
    Planted(
        "an error that may be billed is booked at $0",
        ATTEMPTS,
        "book = self._accounts.abandon if error.billed else self._accounts.release",
        "book = self._accounts.release",
    ),
    Planted(
        "a reply is not settled", ATTEMPTS, "recorded = await self._accounts.settle(ticket, reply)", "recorded = None"
    ),
    Planted(
        "a late reply is booked at $0",
        ATTEMPTS,
        'self._accounts.abandon(ticket, End.TIMED_OUT, "timed out")',
        'self._accounts.release(ticket, End.TIMED_OUT, "timed out")',
    ),
    Planted(
        "a cancelled call is booked at $0",
        ATTEMPTS,
        "self._accounts.abandon(ticket, End.LOST",
        "self._accounts.release(ticket, End.LOST",
    ),
    Planted(
        "a cancelled call is not booked",
        ATTEMPTS,
        "        except BaseException as error:",
        "        except Exception as error:",
    ),
    Planted(
        "replies are shifted: each call gets the one before",
        ATTEMPTS,
        "return await self._answerer.ask(call)",
        "self.kept, new = await self._answerer.ask(call), getattr(self, 'kept', None)\n"
        "                return new or self.kept",
    ),
    Planted(
        "refusals are booked at $0",
        ATTEMPTS,
        "if error.billed else self._accounts.release",
        "if error.billed and end is not End.REFUSED else self._accounts.release",
    ),
    Planted(
        "sent although nothing more may be sent",
        ATTEMPTS,
        "if cleared.known is None and self._state.closed.is_set():",
        "if False:",
    ),
    Planted(
        "an attempt is made again without a reservation",
        ATTEMPTS,
        "            granted = await again()",
        "            granted = ticket",
    ),
    Planted(
        "what a reply costs above its worst case ends nothing",
        ATTEMPTS,
        "        breach = contradiction(reply, ticket)",
        "        breach = None",
    ),
    Planted(
        "answers are told in the order of arrival",
        BATCH,
        "        del self._running[task]",
        "        del self._running[task]\n"
        "        self._admitted = deque(sorted(self._admitted, key=lambda one: not one.task.done()))",
    ),
    Planted(
        "a second order that is not needed stays reserved",
        BATCH,
        'await self._accounts.release(ticket, End.UNNEEDED, "the first order settles it")',
        "pass",
    ),
    Planted(
        "an error of the ledger is forgotten where another call was given up",
        BATCH,
        "raise end  # it may be why the other calls were given up",
        "pass",
    ),
    Planted(
        "an earmark stays reserved where no judge is asked",
        BATCH,
        'await self._accounts.release(held, End.UNNEEDED, "no judge is asked")',
        "pass",
    ),
    Planted(
        "an earmark stays reserved where a query is given up",
        BATCH,
        "            if held is not None:\n"
        '                await self._accounts.release(held, End.UNSENT, "never sent")',
        "            pass",
    ),
    Planted(
        "outputs that are longer than the earmark are judged beyond the budget",
        BATCH,
        "granted = await self._accounts.reserve([group], instead=earmark)",
        "granted = await self._accounts.reserve([group], instead=earmark) or "
        "await self._oracle.ledger.reserve(self._state.terms.run_id, [group], None)",
    ),
    Planted(
        "who holds an earmark waits for the money of others",
        BATCH,
        "        if not granted:\n            if not self._state.is_over():",
        "        while not granted:\n"
        "            await self._state.changes.after(self._state.changes.count)\n"
        "            granted = await self._accounts.reserve([group], instead=earmark)\n"
        "        if not granted:\n            if not self._state.is_over():",
    ),
    Planted(
        "after an error of the ledger the others are sent",
        ACCOUNTS,
        "            self._state.broke()\n            raise",
        "            raise",
    ),
    Planted(
        "what a dead process sent is free",
        LEDGER,
        "SET state = 'abandoned', ended = '{End.LOST}'",
        "SET charged_p = 0, state = 'abandoned', ended = '{End.LOST}'",
    ),
    Planted("what a dead process never sent is charged", LEDGER, "WHERE {LEFT} AND {LOST}", "WHERE {LEFT}"),
    Planted("the budget is looked at before the cost is added", LEDGER, "t.upto_p <= (", "t.upto_p - t.cost_p <= ("),
    Planted(
        "the budget of the ledger is forgotten", LEDGER, "greatest(0, b.limit_p - b.charged_p)", "1000000000000000"
    ),
    Planted("what is sent is not noted", LEDGER, "SET state = 'sent' WHERE", "SET state = state WHERE"),
    Planted(
        "an attempt that another process has closed is not settled",
        LEDGER,
        "(state <> 'settled' OR ended = '{End.RECONCILED}')",
        "ended IS NULL",
    ),
    Planted(
        "a reply without its usage is booked at $0",
        LEDGER,
        "ticket.cost_p if reply.cost_p is None else reply.cost_p,",
        "reply.cost_p or 0,",
    ),
    Planted("a run's charge is not corrected", SCHEMA, '"new.charged_p - old.charged_p"', '"0"'),
    Planted(
        "a call is sent though another run has its verdict",
        LEDGER,
        "AND EXISTS ({known})",
        "AND 1 = 0 AND EXISTS ({known})",
    ),
    Planted(
        "a call is sent while another run makes it",
        LEDGER,
        "o.state = 'sent' AND o.run <> attempts.run",
        "1 = 0 AND o.run <> attempts.run",
    ),
    Planted(
        "a booking that is cancelled at once is not made",
        LEDGER,
        "        future = self._writer.queued(action)\n        return cast(T, await",
        "        await asyncio.sleep(0)\n        future = self._writer.queued(action)\n        return cast(T, await",
    ),
    Planted(
        "results are told before they are on disk",
        SQLITE,
        '            self.raw("COMMIT")\n        except BaseException:',
        "            for tell in results:\n"
        "                tell()\n"
        "            results = [lambda: None for _ in results]\n"
        '            self.raw("COMMIT")\n        except BaseException:',
    ),
    Planted(
        "a failed write is told as a success",
        SQLITE,
        "    return [partial(job.future.set_exception, failure) for job in jobs]",
        "    return [partial(job.future.set_result, None) for job in jobs]",
    ),
    Planted("a reservation that was never sent keeps its money", SCHEMA, '"-old.charged_p"', '"0"'),
    Planted(
        "what a dead process sent is deleted",
        LEDGER,
        "WHERE {LEFT} AND {LOST}",
        "WHERE {LEFT} AND {LOST} AND id % 2 = 1",
    ),
    Planted(
        "an earmark is given back though nothing was granted", LEDGER, "(:first = '' OR EXISTS (", "(1 = 1 OR EXISTS ("
    ),
    Planted("a run that lives is taken for dead by one that waits", LEDGER, "if not db.lock(run, 0):", "if False:"),
    Planted(
        "the number of an attempt is given twice",
        SCHEMA,
        '"INTEGER PRIMARY KEY AUTOINCREMENT"',
        '"INTEGER PRIMARY KEY"',
    ),
    Planted(
        "the key of a verdict leaves out the model",
        "core/keys.py",
        "return cls(identity.provider, identity.model, tuple(parameters))",
        'return cls(identity.provider, "", tuple(parameters))',
    ),
]
