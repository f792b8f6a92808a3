"""A marker that is compared with responses tells nobody what a secret begins with."""

import json
import re

from clients import admin, application, form, save_document, text_of
from django.test import Client
from editors import editor
from recording_server import RecordingServer

ECHOING = """
[configuration.echoing]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
"""
QUIET = """
[configuration.quiet]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
verification = {{ expired_marker = "EXPIRED" }}
"""


def echo(headers: dict[str, str]) -> tuple[int, str]:
    sent = headers.get("Authorization", "")
    return 403, json.dumps({"message": "refused", "sent": sent})


def verdict(place: str, user: Client, marker: str) -> tuple[int, str]:
    """Return the status of a save, and what a test shows, without the marker itself."""
    values = form("echoing", **{"verification.expired_marker": marker})
    saved = user.post(place, values).status_code
    shown = text_of(user.post(place + "test/", values))
    return saved, re.sub("[0-9]+ ms", "", shown).replace(marker, "")


def a_marker_is_no_oracle() -> None:
    api = RecordingServer(echo)
    place = save_document(
        ECHOING.format(url=api.url), "echoing", token="secret-token-canary"
    )
    right = verdict(place, editor, "secret-t")
    wrong = verdict(place, editor, "secret-x")
    assert right == wrong, "a test tells a user what a secret begins with"
    assert right[0] == 422
    assert "where secrets are sent" in right[1]
    assert application.registry.get("echoing").verification.expired_marker == ""
    assert api.arrived == []
    # Who may set secrets may set the marker, and still learns nothing of this one.
    right = verdict(place, admin, "secret-t")
    wrong = verdict(place, admin, "secret-x")
    assert right == wrong
    assert right[0] == 302
    assert api.saw("secret-token-canary")


def a_marker_still_does_what_it_is_for() -> None:
    api = RecordingServer(lambda _headers: (403, json.dumps({"code": "EXPIRED"})))
    place = save_document(
        QUIET.format(url=api.url), "quiet", token="secret-token-canary"
    )
    assert "Expired marker" in text_of(admin.post(place + "test/", form("quiet")))


a_marker_is_no_oracle()
a_marker_still_does_what_it_is_for()
