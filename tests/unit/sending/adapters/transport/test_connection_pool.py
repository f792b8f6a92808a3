"""Idle connections, and processes that fork."""

import ctypes
import os
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from outkey.foundation.core.origin import Origin
from outkey.sending.adapters.transport.connection_pool import (
    ConnectionPool,
    PooledConnection,
)
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Route

ORIGIN = Origin("http", "127.0.0.1", 80)
ROUTE = Route(
    partition="acme",
    addresses=("127.0.0.1",),
    tls=TlsSettings(),
    connect_timeout=1.0,
    read_timeout=1.0,
    time_left=1.0,
    response_bytes=1,
)


def fork_in_c() -> int:
    """Fork as uWSGI does, without the hooks of Python."""
    return int(ctypes.PyDLL(None).fork())


@pytest.mark.parametrize("fork", [os.fork, fork_in_c])
def test_a_forked_child_never_gets_a_connection_of_its_parent(
    fork: Callable[[], int],
) -> None:
    pool: ConnectionPool[SimpleNamespace] = ConnectionPool()
    connection = SimpleNamespace(is_connected=True, close=lambda: None)
    pool.put("acme", ORIGIN, PooledConnection(connection, "127.0.0.1", None))
    child = fork()
    if child == 0:
        taken = pool.take(ROUTE, ORIGIN, None, repeatable=True)
        os._exit(0 if taken is None else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    taken = pool.take(ROUTE, ORIGIN, None, repeatable=True)
    assert taken is not None
    assert taken.connection is connection
