"""What happened in a simulation, and whether a promise was broken.

The provider writes here what it was sent and what it bills, the store's wire what it acknowledged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from simulation.world import BrokenError, Life

from judgeloop.core.records import Abstention, Output, Reply, Verdict


@dataclass
class Request:
    """A request that the provider got. `handed` is set once its verdict was handed over."""

    number: int
    life: Life
    run: str
    key: str
    worst_p: int
    about: object
    billed_p: int = 0
    score: float | str | None = None
    handed: bool = False
    settled: bool = False

    @property
    def mark(self) -> str:
        """What the reason of its verdict says, so that a verdict of another request shows."""
        return f"request {self.number} for {self.key}"


def mark_of(answer: Verdict | Output, key: str) -> str:
    """Return what says from which request an answer came."""
    if isinstance(answer, Output):
        return f"request {answer.seconds:.0f} for {key}"
    return answer.reason


@dataclass
class History:
    """Everything that a checker has to know; money is in picodollars."""

    requests: list[Request] = field(default_factory=list)
    about: dict[str, object] = field(default_factory=dict)  # what each key stands for
    in_flight: dict[str, Request] = field(default_factory=dict)
    cleared: set[tuple[Life, str]] = field(default_factory=set)
    held: dict[str, str] = field(default_factory=dict)  # the mark of the answer under each key
    over_p: int = 0  # billed above the worst case
    # What a run must at least be charged, and what more it may be, where nobody can know.
    charged_p: Counter[str] = field(default_factory=Counter)
    maybe_p: Counter[str] = field(default_factory=Counter)
    noted_p: dict[str, dict[int, int]] = field(default_factory=dict)  # open, and noted as sent
    recovered_alive: bool = False  # a run was recovered while its process lived

    def receive(self, request: Request, *, free: bool) -> None:
        """Take a request that has left; `free` ones need no note."""
        life, key = request.life, request.key
        self.requests.append(request)
        if self.about.setdefault(key, request.about) != request.about:
            raise BrokenError(f"one key for {request.about} and {self.about[key]}")
        if why := life.may_not_send(asyncio.get_running_loop().time()):
            raise BrokenError(f"{life.name} sent {request.mark} after {why}")
        if free:
            return
        if (life, key) not in self.cleared:
            raise BrokenError(f"{request.mark} was sent before the ledger had noted it")
        self.cleared.discard((life, key))
        # A free call is not noted as sent, so what it brings may cross a call that is paid for.
        if key in self.held and self.request_under(key).worst_p:
            raise BrokenError(f"{request.mark} was sent, though there was a verdict: it is paid twice")
        other = self.in_flight.get(key)
        if other is not None and other.life.alive and not self.recovered_alive:
            raise BrokenError(f"{request.mark} was sent while {other.mark} was in flight")
        self.in_flight[key] = request

    def leave(self, request: Request) -> None:
        """The caller of a request has its answer, or has given up."""
        if self.in_flight.get(request.key) is request:
            del self.in_flight[request.key]

    def settled(self, key: str, reply: Reply) -> None:
        """A reply reaches the ledger: its verdict belongs to its key, and to its request."""
        if not isinstance(reply.answer, Abstention):
            request = self.request_of(reply.answer)
            self.check_own(key, reply.answer)
            request.settled = True

    def acknowledged(self, key: str, answer: Verdict | Output) -> None:
        """The ledger says that it has a verdict or an output: from now on it never changes."""
        self.check_own(key, answer)
        first, now = self.held.setdefault(key, mark_of(answer, key)), mark_of(answer, key)
        if first != now:
            raise BrokenError(f"what is under {key} was of {first}, now of {now}")

    def request_of(self, answer: Verdict | Output) -> Request:
        """Return the request that a verdict or an output came from."""
        return self._marked(mark_of(answer, ""))

    def request_under(self, key: str) -> Request:
        """Return the request that the verdict under a key came from."""
        return self._marked(self.held[key])

    def _marked(self, mark: str) -> Request:
        return self.requests[int(mark.split()[1])]

    def check_own(self, key: str, answer: Verdict | Output) -> None:
        """Check that it is what the provider answered to a request for this key."""
        request = self.request_of(answer)
        said = answer.text if isinstance(answer, Output) else answer.score
        if (request.mark, request.key, request.score) != (mark_of(answer, key), key, said):
            raise BrokenError(f"{answer} is under {key}, but was the answer to {request.mark}")

    def bill_p(self, run: str) -> int:
        """Return what the provider bills for a run, as far as anybody can know.

        Of a reply above its worst case that never reached the ledger, the worst case is booked.
        """
        return sum(
            one.billed_p if self.held.get(one.key) == one.mark else min(one.billed_p, one.worst_p)
            for one in self.requests
            if one.run == run
        )

    def check_end(self, life: Life, *, cancelled: bool) -> None:
        """Check at the end of a process that was not killed that no verdict was dropped."""
        for request in self.requests:
            free = cancelled and not request.worst_p  # may be asked again
            if request.life is life and request.handed and not request.settled and not free:
                raise BrokenError(f"the verdict of {request.mark} never reached the ledger")
