"""Runs functions on the workers of a Dask cluster.

Reaches the cluster's scheduler over the network.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

from judgeloop.core.errors import InputError, JudgeloopError, install, some

SCHEME = re.compile(r"dask://([^/\s:]+|\[[0-9A-Fa-f:.]+\]):([0-9]+)/?")
SHAPE = "dask://HOST:PORT"
PATIENCE_S = 10.0  # until the scheduler has answered, and until it has a worker
OWN = "judgeloop"
Call = tuple[Any, ...]  # a function and its arguments


def scheduler(given: object) -> str:
    """The address of a cluster's scheduler.

    Raises:
        ValueError: it is none.
    """
    if not SCHEME.fullmatch(str(given)):
        raise ValueError(f"expected {SHAPE}")
    return str(given)


def results(address: str, calls: Iterable[Call], shared: Sequence[object]) -> Iterator[tuple[Any, ...]]:
    """Yield the results of calls on the workers of a cluster, in the order in which they end.

    Each worker is sent the arguments that are `shared` by the calls once. When a worker dies, its calls
    run on another.

    Raises:
        InputError: the extra is not installed, the scheduler does not answer, there are no workers, or
            some have another version of judgeloop.
        JudgeloopError: the connection is lost, or a call ended several workers.
    """
    try:
        from distributed import Client, as_completed
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise InputError(f"`engine`: a Dask cluster needs {install('cluster')}") from None
    with _connected(address, Client) as client:
        _check_workers(address, client)
        sent = dict(zip(map(id, shared), client.scatter([*shared], broadcast=True), strict=True))
        futures = [
            client.submit(function, *(sent.get(id(one), one) for one in given), pure=False)
            for function, *given in calls
        ]
        try:
            for _, result in as_completed(futures, with_results=True):
                yield result
        except (CommClosedError, FutureCancelledError, KilledWorker) as error:
            raise JudgeloopError(
                f"the cluster {address} gave the replay up: {error}; what has finished is in the "
                "journal: continue with `resume`"
            ) from error


def _connected(address: str, client: Any) -> Any:
    try:
        return client(address.replace("dask://", "tcp://").rstrip("/"), timeout=PATIENCE_S)
    except (OSError, TimeoutError) as error:
        raise InputError(
            f"`engine`: no Dask scheduler answers at {address} within {PATIENCE_S:g} s: {error}; start "
            "one with `dask scheduler`, or leave `engine` out"
        ) from error


def _check_workers(address: str, client: Any) -> None:
    """Refuse a cluster whose workers would compute other figures than this machine."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    except TimeoutError:
        raise InputError(f"`engine`: the cluster {address} has no workers; start some with `dask worker`") from None
    found = client.run(version, OWN, on_error="return")
    other = [f"{worker} has {one}" for worker, one in found.items() if one != version(OWN)]
    if other:
        raise InputError(
            f"`engine`: expected {OWN} {version(OWN)} on each worker, found: {some(other)}; install "
            "the same version on all"
        )
