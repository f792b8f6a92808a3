"""Kinto in memory: records with IDs of the client's choice, and a history of writes."""

import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.authorization_servers import Answer, Asker
from peers.servers import listening

USER = "alice"
PASSWORD = "pass-wörd of-älice 株"
_SETTINGS = """
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {port}

[app:main]
use = egg:kinto
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.includes = kinto.plugins.accounts kinto.plugins.history
kinto.account_create_principals = system.Everyone
kinto.bucket_create_principals = system.Authenticated
kinto.userid_hmac_secret = of-the-tests
multiauth.policies = account
multiauth.policy.account.use = {policy}
"""
_POLICY = "kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy"


@dataclass(frozen=True, slots=True)
class Kinto:
    """A running Kinto with the collection `contacts` in the bucket `shop`."""

    url: str

    @property
    def records(self) -> str:
        """The URL of the records."""
        return f"{self.url}/buckets/shop/collections/contacts/records"

    def answer(self, url: str, method: str = "GET", data: object = None) -> Answer:
        """Send a request as the user, and return its response."""
        pair = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}"}
        return Asker().ask(url, method=method, data=data, headers=headers)

    def ask(self, url: str, method: str = "GET", data: object = None) -> Any:  # noqa: ANN401 - what Kinto says
        """Send a request as the user, and return the data of its response."""
        answer = self.answer(url, method, data)
        assert answer.status in {200, 201}, answer
        return answer.json["data"]


@contextmanager
def kinto_running(folder: Path) -> Iterator[Kinto]:
    """Run Kinto until the block ends."""
    settings = folder / "kinto.ini"

    def command(port: int) -> list[str]:
        settings.write_text(_SETTINGS.format(port=port, policy=_POLICY))
        start = "import sys; from kinto.__main__ import main; sys.exit(main())"
        return [sys.executable, "-c", start, "start", "--ini", str(settings)]

    with listening(folder, "kinto", command, "/v1/__lbheartbeat__") as port:
        kinto = Kinto(f"http://127.0.0.1:{port}/v1")
        user = {"data": {"password": PASSWORD}}
        Asker().ask(f"{kinto.url}/accounts/{USER}", method="PUT", data=user)
        kinto.ask(f"{kinto.url}/buckets/shop", "PUT")
        kinto.ask(f"{kinto.url}/buckets/shop/collections/contacts", "PUT")
        yield kinto
