"""Many threads, two identities, one host: nobody ever travels under another's name."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from outkey import Gateway
from peers.certificates import Pki
from peers.documents import GatewayFor, basic
from peers.servers import USERS, Nginx, Wire

THREADS = 200
ROUNDS = 2  # the second one finds kept connections
WHO = {"north": "alice", "south": "jürgen"}


def send_in_parallel(gateway: Gateway) -> list[tuple[str, object]]:
    """Send from all threads at once, twice; return (configuration, answer)."""
    together = threading.Barrier(THREADS, timeout=30)

    def send(number: int) -> list[tuple[str, object]]:
        name = list(WHO)[number % len(WHO)]
        answers = []
        try:
            for _ in range(ROUNDS):
                together.wait()
                response = gateway.send(name, "GET", "/basic", params={"as": name})
                answers.append((name, response.json()))
        finally:
            if len(answers) < ROUNDS:
                together.abort()  # let nobody wait for this thread
        return answers

    with ThreadPoolExecutor(THREADS) as threads:
        return [
            answer
            for answers in threads.map(send, range(THREADS))
            for answer in answers
        ]


@pytest.mark.parametrize("server", ["main", "good"], ids=["plain", "TLS"])
def test_200_parallel_sends_keep_two_configurations_apart(
    server: str, gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    place = {"base_url": nginx.url(server), "tls": {"ca_file": pki.ca}}
    gateway = gateway_for(
        **{name: place | basic(user, USERS[user]) for name, user in WHO.items()}
    )
    answers = send_in_parallel(gateway)
    assert len(answers) == THREADS * ROUNDS
    assert [answer for answer in answers if answer[1] != {"user": WHO[answer[0]]}] == []
    arrivals = wire.arrivals(server)
    assert len(arrivals) == THREADS * ROUNDS
    assert {(arrival.target, arrival.user, arrival.status) for arrival in arrivals} == {
        (f"/basic?as={name}", user, 200) for name, user in WHO.items()
    }
    used_by = {arrival.connection: set[str]() for arrival in arrivals}
    for arrival in arrivals:
        used_by[arrival.connection].add(arrival.authorization)
    assert {len(identities) for identities in used_by.values()} == {1}
    # All connections of the first round were idle when the second began,
    # and were used again.
    assert len(used_by) <= THREADS
