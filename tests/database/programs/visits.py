"""Requests in every role, and what failed of them.

With `--full` all methods are tried in each place. Otherwise a place gets one of them or
none, and the other database another one: each page still gets each role, each method
and each wrong parameter, on one of the two databases.
"""

import sys
from collections.abc import Sequence

from django.db import connection
from django.test import Client
from page_urls import restore, user_named

BACKEND = "django.contrib.auth.backends.ModelBackend"
Parameters = dict[str, str] | dict[str, list[str]]
NO_PARAMETERS: dict[str, str] = {}
SENDING_METHODS = ("get", "post")


def new_client() -> Client:
    """Return a client that is served the page of a failure."""
    return Client(SERVER_NAME="127.0.0.1", raise_request_exception=False)


def share_of(methods: Sequence[str], place: int, turns: int = 1) -> Sequence[str]:
    """Return the methods that are tried in a place: one in every so many turns."""
    if "--full" in sys.argv:
        return methods
    length = len(methods) * turns
    turn = (place + length // 2 * (connection.vendor == "postgresql")) % length
    return methods[turn : turn + 1]


def method_of_role(methods: Sequence[str], page: int, role: int) -> Sequence[str]:
    """Return the methods that a role tries on a page: one, on one of the databases.

    Half of the roles, and so half of the methods, meet a page on either database; the
    next pages meet the other half there.
    """
    if "--full" in sys.argv:
        return methods
    if (role + page // len(methods)) % 2 != (connection.vendor == "postgresql"):
        return ()
    turn = (page + role) % len(methods)
    return methods[turn : turn + 1]


class Visits:
    """Sends requests, and collects those that ended as a failure of the server."""

    def __init__(self) -> None:
        self.failures: list[tuple[object, ...]] = []
        self.count = 0
        self.clients: dict[str | None, Client] = {}

    def request(
        self, role: str | None, method: str, url: str, parameters: Parameters
    ) -> int | None:
        """Return the status of a response, None if there was none."""
        client = self.client_of(role)
        try:
            if method in ("put", "delete", "options"):
                response = client.generic(method.upper(), url, "a\x00b")
            else:
                response = getattr(client, method)(url, parameters)
            if response.streaming:
                b"".join(response)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
            self.failures.append((role, method, url[:80], type(error).__name__))
            return None
        self.count += 1
        status = response.status_code
        if method == "post" and status == 302:
            restore()  # deleting is one of the things that are tried
        if status >= 500:
            facts = getattr(response, "exc_info", None)
            cause = f"{facts[0].__name__}: {facts[1]}"[:120] if facts else ""
            self.failures.append((role, method, url[:80], status, cause))
        return int(status)

    def client_of(self, role: str | None) -> Client:
        """Return the client of a role, signed in."""
        client = self.clients.setdefault(role, new_client())
        # Signing out is one of the things that are tried, too.
        if role and "_auth_user_id" not in client.session:
            client.force_login(user_named(role), backend=BACKEND)
        return client

    def finish(self) -> None:
        """Fail if a request did, or if there were too few of them."""
        failures = list(dict.fromkeys(self.failures))
        assert not failures, "\n".join(map(str, failures[:40]))
        assert self.count > 500, self.count
