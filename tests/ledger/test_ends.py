"""How an attempt ended is a column: no program reads the sentence beside it."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner
from support.database import opened

from judgeloop.cli.app import app
from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Abstention, Call, Item, JudgeIdentity, Output, Reply, Usage, Verdict
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.records import End, Reservation

JUDGE = JudgeIdentity("openai", "m", {})
CALL = Call(Item("i", "p"), ("a", "b"), ("x", "y"))
NOTE = {"ingredients": KeyIngredients.of(JUDGE, CALL, blind=True).to_note(), "systems": ["a", "b"]}
SENTENCES = {
    End.VERDICT: "the first is better",
    End.OUTPUT: "Hello",
    End.ABSTAINED: "the reply could not be read",
    End.TRUNCATED: "truncated at 256 tokens, a learned limit",
    End.REFUSED: "HTTP 400: no such parameter",
    End.FAILED: "HTTP 500",
    End.TIMED_OUT: "timed out",
    End.LOST: "gave up: CancelledError",
    End.UNSENT: "never sent",
    End.UNNEEDED: "the first order settles it",
    End.RECONCILED: "billed as request r",
    End.PRUNED: "3 attempts, of which only the sum is kept",
}


async def book(ledger, ticket, end, said):
    usage = Usage(10, 7)
    match end:
        case End.VERDICT:
            await ledger.settle(ticket, Reply(Verdict(1.0, said), usage=usage, cost_p=4))
        case End.OUTPUT:
            await ledger.settle(ticket, Reply(Output(said), usage=usage, cost_p=4))
        case End.ABSTAINED | End.TRUNCATED:
            answer = Abstention(said, truncated=end is End.TRUNCATED)
            await ledger.settle(ticket, Reply(answer, usage=usage, cost_p=4))
        case End.UNSENT | End.UNNEEDED | End.REFUSED:
            await ledger.release(ticket, end, said)
        case _:
            await ledger.abandon(ticket, end, said)


def known_of(path, end, said):
    """Book an attempt that ended so; return the state, export and limits that follow."""

    async def story():
        ledger = open_ledger(path)
        wanted = Reservation("k", 9, "i", JUDGE.name, NOTE)
        ((ticket,),) = await ledger.reserve("run", [[wanted]], None)
        await ledger.sending(ticket)
        await book(ledger, ticket, end, said)
        with open_reader(path) as reader:
            found = reader.reply_lengths(JUDGE), await ledger.spend("run", 20)
        await ledger.aclose()
        return found

    found = asyncio.run(story())
    done = CliRunner().invoke(app, ["ledger", "export", "--ledger", str(path)])
    lines = [line.split(",")[2:] for line in done.stdout.splitlines()]  # without the times
    with opened(path) as connection:
        ended = connection.execute("SELECT ended, state FROM attempts").fetchall()
    return *found, lines, done.exit_code, ended


NEVER_SENT = [End.UNSENT, End.UNNEEDED]


@pytest.mark.parametrize("end", NEVER_SENT)
def test_a_reservation_that_was_never_sent_is_not_kept(address, end):
    _, spend, lines, _, ended = known_of(address, end, "x")
    assert (spend.charged_p, len(lines), ended) == (0, 1, [])


@pytest.mark.parametrize("end", [end for end in End if end not in NEVER_SENT])
def test_an_end_has_the_same_effects_whatever_its_sentence(tmp_path, end):
    found = known_of(tmp_path / "said.sqlite", end, SENTENCES[end])
    assert found == known_of(tmp_path / "x.sqlite", end, "x")
    lengths, spend, lines, exit_code, ended = found
    assert ended[0][0] == end
    assert exit_code == 0
    assert lengths == ([7] if end in {End.VERDICT, End.TRUNCATED} else [])
    assert len(lines) == 2, "a heading and a request"
    assert spend.replies_without_usage == 0


def test_no_attempt_is_closed_without_its_end(tmp_path):
    known_of(tmp_path / "l.sqlite", End.FAILED, "x")
    with opened(tmp_path / "l.sqlite") as connection:
        for change in ("ended = NULL", "ended = 'gone'", "state = 'sent'"):
            with pytest.raises(Exception, match="CHECK constraint failed"):
                connection.execute(f"UPDATE attempts SET {change}")
