"""What an editor may not save at once is not reached by two saves either."""

from urllib.parse import parse_qs, urlsplit

from clients import admin, application, form, save_document, text_of
from editors import connected, editor
from recording_server import RecordingServer

AWAY: tuple[dict[str, str | None], ...] = (
    {"token_source": "entered"},
    {"authentication_type": "none"},
)
BACK: dict[str, str | None] = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
}
SIGNING = """
[configuration.signing]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.signing.oauth2]
token_url = "{url}/token"
client_id = "client"
client_auth = "client_secret_jwt"
"""
CONSENT = """
[configuration.consent]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.consent.oauth2]
grant = "authorization_code"
token_url = "{url}/token"
authorization_url = "{url}/authorize"
client_id = "client"
"""


def a_secret_that_only_signs_is_not_sent_itself() -> None:
    provider = RecordingServer()
    place = save_document(
        SIGNING.format(url=provider.url),
        "signing",
        client_secret="client-secret-canary-that-only-signs",
    )
    for away in AWAY:
        for user in (editor, connected):
            moved = form("signing", **away, **{"oauth2.client_auth": "body"})
            user.post(place, moved)
            user.post(place, form("signing", **BACK))
            text_of(user.post(place + "test/", form("signing")))
            user.post(place + "token/renew/")
            assert provider.arrived, "the configuration must still work"
            assert not provider.saw("client-secret-canary"), away
    assert application.registry.get("signing").oauth2.client_auth == "client_secret_jwt"


def a_code_goes_to_the_stored_token_url_or_nowhere() -> None:
    provider = RecordingServer()
    attacker = RecordingServer()
    place = save_document(CONSENT.format(url=provider.url), "consent")
    for away in AWAY:
        token_url = {"oauth2.token_url": attacker.url + "/token"}
        connected.post(place, form("consent", **away, **token_url))
        connected.post(place, form("consent", **BACK))
        connected.post(place, form("consent", **away, base_url=attacker.url))
        connected.post(place, form("consent", **BACK))
        provider.arrived.clear()
        assert admin.post(place + "token/connect/").status_code == 200
        location = admin.get(place + "token/leave/")["Location"]
        state = parse_qs(urlsplit(location).query)["state"][0]
        admin.get(place + "callback/", {"state": state, "code": "code-canary"})
        text_of(admin.post(place + "test/", form("consent")))
        assert attacker.arrived == [], away
        assert provider.saw("code-canary")
        assert provider.saw("granted-canary")


a_secret_that_only_signs_is_not_sent_itself()
a_code_goes_to_the_stored_token_url_or_nowhere()
