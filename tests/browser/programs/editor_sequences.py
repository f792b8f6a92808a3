"""After any four saves of an editor, a test sends what it sent before them."""

import random

from clients import LIST, admin, application, client_with, form, save_document, text_of
from editors import LINE_EDITOR, connected
from recording_server import RecordingServer

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import Configuration

DOCUMENT = """
[configuration.{name}]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
username = "user"
headers = [{{ key = "X-API-Key" }}]
[configuration.{name}.oauth2]
token_url = "{url}/token"
client_id = "client"
client_auth = "basic"
"""
SECRETS = {
    "token": "entered-canary",
    "password": "password-canary",
    "client_secret": "client-secret-canary",
    "row_X-API-Key": "row-canary",
}
CANARIES = (*SECRETS.values(), "granted-canary")
api = RecordingServer()
attacker = RecordingServer()
CHANGES: list[tuple[str, str | None]] = [
    ("authentication_type", "none"),
    ("authentication_type", "basic"),
    ("authentication_type", "bearer"),
    ("token_source", "entered"),
    ("token_source", "oauth2"),
    ("base_url", attacker.url),
    ("base_url", api.url),
    ("base_url", api.url + "/path"),
    ("oauth2.token_url", attacker.url + "/token"),
    ("oauth2.client_auth", "body"),
    ("oauth2.client_auth", "basic_raw"),
    ("token_header", "X-Logged"),
    ("oauth2.body_format", "json"),
    ("oauth2.client_id", "another"),
    ("username", "another"),
    ("row-key-0", "X-Logged"),
    ("row-secret-0", None),
    ("row-gone-0", "on"),
    ("no_auth_reason", "internal"),
    ("notes", "changed"),
    ("limits.retries", "1"),
    ("verification.test_path", "/me"),
    ("oauth2.scope", "all"),
]


def place_of(name: str) -> str:
    return f"{LIST}{Configuration.objects.get(name=name).pk}/"


def credentials_at(server: RecordingServer) -> set[tuple[str, str]]:
    """Return the headers and bodies that prove who we are."""
    names = {"Authorization", "X-Logged", "X-API-Key"}
    credentials = set()
    for path, headers, body in server.arrived:
        credentials |= {pair for pair in headers.items() if pair[0] in names}
        if path == "/token":
            credentials.add((path, body))
    return credentials


def credentials_of_a_test(name: str) -> set[tuple[str, str]]:
    """Let an administrator test, and return what arrived at the API."""
    api.arrived.clear()
    text_of(admin.post(place_of(name) + "test/", form(name)))
    return credentials_at(api)


def save_at_random(seed: int) -> int:
    """Save four times, and return how often that was allowed."""
    chance = random.Random(seed)
    name = f"sequence-{seed}"
    place = save_document(DOCUMENT.format(name=name, url=api.url), name, **SECRETS)
    expected = credentials_of_a_test(name)
    assert len(expected) == 4, expected
    steps: list[tuple[object, bool]] = []
    for _ in range(4):
        changes = dict(chance.sample(CHANGES, chance.randint(1, 2)))
        is_saved = connected.post(place, form(name, **changes)).status_code == 302
        steps.append((changes, is_saved))
        text_of(connected.post(place + "test/", form(name, **changes)))
        assert credentials_at(api) <= expected, (seed, steps)
    assert credentials_of_a_test(name) <= expected, (seed, steps)
    assert not any(attacker.saw(text) for text in CANARIES), (seed, steps)
    return sum(is_saved for _changes, is_saved in steps)


def a_deleted_configuration_leaves_nothing_for_one_of_the_same_name(name: str) -> None:
    network = Permission.USE_INTERNAL_NETWORK
    remover = client_with("remover", *LINE_EDITOR, network, Permission.DELETE)
    token_url = {"oauth2.token_url": attacker.url + "/token"}
    values = form(name, base_url=attacker.url, **token_url) | {"name": name}
    del values["version"]
    assert remover.post(place_of(name) + "delete/").status_code == 302
    assert remover.post(LIST + "add/", values).status_code == 302
    assert application.registry.get(name).secrets == {}
    text_of(remover.post(place_of(name) + "test/", form(name)))
    assert not any(attacker.saw(text) for text in CANARIES)


def main() -> None:
    saves = sum(save_at_random(seed) for seed in range(12))
    assert saves > 5, "an editor still gets work done"
    a_deleted_configuration_leaves_nothing_for_one_of_the_same_name("sequence-11")


main()
