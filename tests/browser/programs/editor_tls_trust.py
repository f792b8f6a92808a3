"""An editor leads no stored secret elsewhere by choosing whom to trust."""

import os
import ssl

import trustme
from clients import admin, form, save_document, text_of
from editors import editor
from recording_server import RecordingServer

FOLDER = os.environ["OUTKEY_HOME"]
TRUSTING = """
[configuration.trusting]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
tls = {{ ca_file = "{folder}/stored.pem" }}
"""
OTHER: dict[str, str | None] = {"tls.ca_file": f"{FOLDER}/attacker.pem"}
REFUSED: tuple[dict[str, str | None], ...] = (
    OTHER,
    {"tls.minimum_version": "1.3"},
    {"tls.client_certificate": f"{FOLDER}/attacker.pem"},
)


def attacker_in_between() -> RecordingServer:
    """Return a server with a certificate that the stored CA has not issued."""
    stored_ca = trustme.CA()
    attacker_ca = trustme.CA()
    stored_ca.cert_pem.write_to_path(f"{FOLDER}/stored.pem")
    attacker_ca.cert_pem.write_to_path(f"{FOLDER}/attacker.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    attacker_ca.issue_cert("127.0.0.1").configure_cert(context)
    return RecordingServer(context=context)


def an_editor_neither_tests_nor_saves_other_trust(
    place: str, attacker: RecordingServer
) -> None:
    changed = form("trusting", **OTHER)
    assert "where secrets are sent" in text_of(editor.post(place + "test/", changed))
    assert attacker.arrived == [], "a draft sent the stored token"
    assert "where secrets are sent" in text_of(editor.post(place + "preview/", changed))
    for changes in REFUSED:
        page = editor.post(place, form("trusting", **changes))
        assert page.status_code == 422, changes
        assert "where secrets are sent" in text_of(page), changes
    assert editor.post(place, form("trusting", notes="theirs")).status_code == 302


def an_administrator_tests_it_with_a_secret_that_is_entered_for_it(
    place: str, attacker: RecordingServer
) -> None:
    changed = form("trusting", **OTHER)
    shown = text_of(admin.post(place + "test/", changed))
    assert "aved secrets are not used with unsaved TLS settings" in shown
    assert attacker.arrived == []
    typed = changed | {"secret:token": "another-token-canary"}
    text_of(admin.post(place + "test/", typed))
    assert attacker.saw("another-token-canary")
    assert not attacker.saw("secret-token-canary")
    assert admin.post(place, form("trusting", **OTHER)).status_code == 302
    text_of(admin.post(place + "test/", form("trusting")))
    assert attacker.saw("secret-token-canary")


def main() -> None:
    attacker = attacker_in_between()
    text = TRUSTING.format(url=attacker.url, folder=FOLDER)
    place = save_document(text, "trusting", token="secret-token-canary")
    an_editor_neither_tests_nor_saves_other_trust(place, attacker)
    an_administrator_tests_it_with_a_secret_that_is_entered_for_it(place, attacker)


main()
