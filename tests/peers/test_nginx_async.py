"""The tests of blocking sends against nginx, for those of an event loop.

Tests that are imported here get gateways whose `send` is an `asend`.
"""

import asyncio
from collections.abc import Iterator

import pytest

from outkey import Gateway, Response
from peers.certificates import Pki
from peers.documents import GatewayFor, Table, bearer
from peers.servers import Nginx, Wire
from peers.test_environment import (  # noqa: F401 - run here as well
    dead_proxies,
    netrc,
    test_a_basic_user_stays_who_he_is,
    test_a_bearer_stays_a_bearer,
    test_https_goes_past_the_proxies_too,
    test_no_variable_makes_an_unknown_authority_known,
    test_type_none_sends_no_authorization,
    trusting_environment,
)
from peers.test_nginx_responses import (  # noqa: F401 - run here as well
    alice,
    test_a_body_arrives_with_its_length,
    test_a_method_that_is_not_idempotent_is_sent_once,
    test_an_api_key_row_is_accepted_and_comes_alone,
    test_every_method_arrives_authenticated,
    test_nginx_knows_the_user_by_name_and_password,
    test_one_connection_serves_many_requests,
    test_path_and_query_arrive_encoded,
)
from peers.test_nginx_tls import (  # noqa: F401 - run here as well
    secure,
    test_a_bad_certificate_is_refused_and_named,
    test_a_client_certificate_identifies_us,
    test_a_client_certificate_they_do_not_know_is_a_tls_cause,
    test_a_good_server_is_spoken_to_in_a_version_above_the_floor,
    test_a_key_of_another_certificate_never_leaves,
    test_a_missing_client_certificate_is_a_tls_cause,
    test_a_private_authority_is_unknown_until_it_is_added,
    test_a_refused_handshake_is_not_retried,
    test_a_server_below_the_floor_is_refused,
    test_plain_http_at_a_tls_port_is_a_tls_cause,
    test_tls_at_a_plain_port_is_refused,
)


class Asynchronous:
    """A gateway that sends from an event loop."""

    def __init__(self, runner: asyncio.Runner, gateway: Gateway) -> None:
        self._runner, self.gateway = runner, gateway

    def send(self, *what: str, **parts: object) -> Response:
        return self._runner.run(self.gateway.asend(*what, **parts))  # type: ignore[arg-type]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture
def gateway_for(
    runner: asyncio.Runner, gateway_for: GatewayFor
) -> Iterator[GatewayFor]:
    made: list[Gateway] = []

    def make(**configurations: Table) -> Asynchronous:
        made.append(gateway_for(**configurations))
        return Asynchronous(runner, made[-1])

    yield make  # type: ignore[misc]
    for gateway in made:
        runner.run(gateway.aclose())


def test_one_secure_connection_serves_many_requests(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=secure(nginx, pki, "good"))
    for _ in range(5):
        assert gateway.send("api", "GET", "/").status == 200
    assert len({arrival.connection for arrival in wire.arrivals("good")}) == 1


def test_200_at_once_keep_two_configurations_apart(
    runner: asyncio.Runner, gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    base = {"base_url": nginx.url("main"), "limits": {"retries": 0}}
    asynchronous = gateway_for(
        good=base | bearer("good-token"), bad=base | bearer("no-token")
    )
    gateway = asynchronous.gateway

    async def send_all() -> list[Response]:
        names = ["good", "bad"] * 100
        return await asyncio.gather(
            *(gateway.asend(name, "GET", "/bearer") for name in names)
        )

    statuses = [response.status for response in runner.run(send_all())]
    assert statuses[::2] == [200] * 100
    # After five refusals in a row a configuration is paused;
    # those under way had left before.
    assert set(statuses[1::2]) == {401}
    by_connection: dict[int, set[str]] = {}
    for arrival in wire.arrivals("main"):
        by_connection.setdefault(arrival.connection, set()).add(arrival.authorization)
    assert all(len(credentials) == 1 for credentials in by_connection.values())
