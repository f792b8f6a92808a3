"""Consents of connect links, and what else a provider has for an account."""

import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.application import Application
from outkey.administration.engine.connecting.consents import (
    ConnectConsents,
    ConsentUnknown,
)
from outkey.administration.engine.connecting.failures import TryFailed
from outkey.administration.engine.connecting.linking import LinkWish
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.spar import Spar
from third_host.host import open_application

DOCUMENT = """
[configuration.books]
base_url = "{{region}}/oauth"
network = "internal"
connections = "required"
allowed_origins = ["{url}"]
authentication_type = "bearer"
token_source = "oauth2"
[configuration.books.verification]
test_path = "/api"
[configuration.books.oauth2]
grant = "{grant}"
authorization_url = "{url}/oauth/authorize?auto=1"
token_url = "{url}/oauth/token"
client_id = "erp"
[configuration.books.connect]
own = ["client_id", "client_secret"]
request_url = "{url}/{request}"
[configuration.books.connect.variables]
region = "entered"
kind = "token:token_type"
"""
NEW_TOKENS = partial(MemoryTokens, time.time)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect to the test."""

    def redirect_request(self, *_: object) -> None:
        return None


class Shop:
    """An installation whose accounts have clients of their own."""

    def __init__(self, home: Path, spar: Spar) -> None:
        self.spar = spar
        opened = open_application(home)
        self.application: Application = replace(opened, public_url="http://127.0.0.1:5")
        self.administration = self.application.administration("tests")

    def configure(
        self, *, grant: str = "authorization_code", request: str = "oauth/api"
    ) -> None:
        """Save the configuration."""
        text = DOCUMENT.format(url=self.spar.url, grant=grant, request=request)
        document = parse_document(text)
        self.application.apply(self.administration, document, dry_run=False)

    @property
    def values(self) -> dict[str, str]:
        """What a user enters."""
        return {
            "client_id": "spar-client",
            "client_secret": "spar-client-secret",
            "variable:region": self.spar.url,
        }

    def link(self) -> str:
        """Return the random characters of a new link."""
        linking = self.application.linking(self.administration)
        return linking.create("books", "acme", LinkWish()).url.rpartition("/")[2]

    @property
    def consents(self) -> ConnectConsents:
        return self.application.connect_consents(NEW_TOKENS)

    def agree(self, browser: str) -> dict[str, list[str]]:
        """Begin a consent, and return the parameters that the browser brings back."""
        consents = self.consents
        opened = consents.connecting.open(self.link())
        url = consents.begin(opened, self.values, browser)
        with pytest.raises(OSError, match="302") as caught:
            urllib.request.build_opener(NoRedirect).open(url)
        back = caught.value.headers["Location"]  # type: ignore[attr-defined]
        caught.value.close()  # type: ignore[attr-defined]
        assert back.startswith(f"{consents.redirect_url}?")
        return parse_qs(urlsplit(back).query)

    def send(self) -> int:
        """Return the status of a request."""
        gateway = self.application.gateway
        return gateway.send("books", "GET", "/api", connection="acme").status


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with Spar() as spar:
        made = Shop(tmp_path, spar)
        made.configure()
        yield made
        made.application.gateway.close()


def test_a_consent_connects_with_the_client_of_the_account(shop: Shop) -> None:
    parameters = shop.agree("a")
    # What was entered is sealed in between.
    for path in shop.application.key_file.parent.parent.rglob("*"):
        if path.is_file():
            assert b"spar-client-secret" not in path.read_bytes(), path.name
    opened, url = shop.consents.finish(parameters, "a")
    assert (opened.connection.id, url) == ("acme", "")
    assert shop.send() == 200
    seen = shop.application.connections(shop.administration).current("books", "acme")
    assert seen.connection is not None
    assert seen.connection.variables == {"region": shop.spar.url, "kind": "Bearer"}


def test_a_consent_is_finished_once_by_its_browser(shop: Shop) -> None:
    parameters = shop.agree("a")
    shop.spar.clear()
    foreign = "0" * 32
    state = parameters["state"][0]
    for browser, other in [
        ("b", parameters),
        ("", parameters),
        ("a", {}),
        ("a", parameters | {"state": [f"{state[:43]}{foreign}"]}),
        ("a", parameters | {"state": [state, state]}),
    ]:
        with pytest.raises(ConsentUnknown):
            shop.consents.finish(other, browser)
    assert shop.spar.journal == []
    shop.consents.finish(parameters, "a")
    with pytest.raises(ConsentUnknown):
        shop.consents.finish(parameters, "a")


def test_a_configuration_that_was_changed_meanwhile_fails_the_try(shop: Shop) -> None:
    parameters = shop.agree("a")
    shop.configure(request="status/500")
    shop.spar.clear()
    with pytest.raises(TryFailed, match="changed in the meantime"):
        shop.consents.finish(parameters, "a")
    assert shop.spar.journal == []


def test_a_request_after_connecting_that_is_refused_fails_the_try(shop: Shop) -> None:
    shop.configure(request="status/403")
    parameters = shop.agree("a")
    with pytest.raises(TryFailed, match="status 403"):
        shop.consents.finish(parameters, "a")
    seen = shop.application.connections(shop.administration).current("books", "acme")
    assert not seen.secrets


def test_a_token_that_is_tested_is_stored_with_the_account(shop: Shop) -> None:
    shop.configure(grant="client_credentials")
    connecting = shop.application.connecting(NEW_TOKENS)
    connecting.connect(connecting.open(shop.link()), shop.values)
    shop.spar.clear()
    assert shop.send() == 200
    assert [arrival.path for arrival in shop.spar.journal] == ["/oauth/api"]


def test_an_entered_refresh_token_is_not_used_again(shop: Shop) -> None:
    shop.configure(grant="refresh_token")
    connecting = shop.application.connecting(NEW_TOKENS)
    refresh = shop.spar.authorization.seed_refresh()
    opened = connecting.open(shop.link())
    connecting.connect(opened, shop.values | {"refresh_token": refresh})
    assert shop.send() == 200
    administration = shop.administration
    account = shop.application.connections(administration).current("books", "acme")
    shop.application.sender.token_actions(account).renew()
    assert shop.send() == 200


def test_what_all_accounts_share_is_not_entered(shop: Shop) -> None:
    opened = shop.consents.connecting.open(shop.link())
    names = [entry.name for entry in opened.entries]
    assert names == ["client_id", "client_secret", "variable:region"]
