"""The nonces of servers that asked for Digest, shared by threads and tasks."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

from outkey.foundation.core.origin import Origin
from outkey.sending.core.request.digest import DigestChallenge, NonceUse

_MOST = 1024
_LARGEST_COUNT = 0xFFFF_FFFF  # eight hexadecimal digits
_Key = tuple[int, str, Origin]  # the process, the configuration, the server


class _Nonce(NamedTuple):
    challenge: DigestChallenge
    counter: Iterator[int]  # next() of a count is atomic, so no lock is needed
    client_nonce: str


class Nonces:
    """The newest nonce of each configuration's origins, and how often it was used.

    A forked process begins anew: it would repeat the counts of its parent.
    """

    def __init__(self) -> None:
        self._newest: dict[_Key, _Nonce] = {}
        self._known: dict[tuple[_Key, DigestChallenge], _Nonce] = {}

    def next_use(
        self, name: str, origin: Origin, fresh: Callable[[], str]
    ) -> NonceUse | None:
        """Return the next use of the known nonce, None without one."""
        nonce = self._newest.get((os.getpid(), name, origin))
        if nonce is None:
            return None
        number = next(nonce.counter)
        if number > _LARGEST_COUNT:
            return None
        # With -sess the first client nonce is part of the key (RFC 7616 §3.4.2); some
        # servers take that of the request, so that they have to be the same.
        is_session = nonce.challenge.is_session
        return NonceUse(
            nonce.challenge, number, nonce.client_nonce if is_session else fresh()
        )

    def store(
        self,
        name: str,
        origin: Origin,
        challenge: DigestChallenge,
        fresh: Callable[[], str],
    ) -> None:
        """Use the nonce of this challenge from now on.

        A server may send the same nonce to several requests. They share one count:
        a number that comes twice is taken for a replay (RFC 7616 §3.4).
        """
        for nonces in (self._newest, self._known):
            if len(nonces) >= _MOST:
                nonces.clear()
        key = os.getpid(), name, origin
        nonce = self._newest.get(key)
        if nonce is None or nonce.challenge != challenge:
            nonce = _Nonce(challenge, count(1), fresh())
        self._newest[key] = self._known.setdefault((key, challenge), nonce)
