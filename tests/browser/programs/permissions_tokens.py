"""Each thing that is done to a token has its permission; consents come back once."""

from urllib.parse import parse_qs, urlsplit

from clients import (
    ALL_BUT_SCRIPTS,
    HOME,
    admin,
    application,
    client_with,
    form,
    save_document,
)
from django.conf import settings
from django.test import Client
from inner_api import CONSENT, spar

from outkey.foundation.core.permission import Permission

page = save_document(CONSENT, "consent", client_secret="spar-client-secret")
token = page + "token/"
callback = page + "callback/"
discover = "/outkey/configuration/discover/"


def client_without(permission: Permission) -> Client:
    others = [other for other in ALL_BUT_SCRIPTS if other is not permission]
    return client_with(f"without {permission}", *others)


testless = client_without(Permission.TEST)


def begin(client: Client) -> dict[str, str]:
    """Begin a consent; return what the provider is asked for."""
    assert client.post(token + "connect/").status_code == 200
    away = client.get(token + "leave/")
    assert away.status_code == 302, away.status_code
    query = parse_qs(urlsplit(away["Location"]).query)
    return {name: values[0] for name, values in query.items()}


def code_for(asked: dict[str, str]) -> str:
    return spar.authorization.approve(
        asked["client_id"],
        asked["redirect_uri"],
        asked["code_challenge"],
        "orders:read",
    )


def who_lacks_a_permission_sends_nothing() -> None:
    spar.clear()
    setless = client_without(Permission.SET_SECRET)
    for action in ("connect", "revoke", "forget"):
        assert setless.post(f"{token}{action}/").status_code == 403, action
    assert setless.get(token + "leave/").status_code == 403
    assert setless.get(callback + "?state=x&code=y").status_code == 403
    assert testless.post(token + "renew/").status_code == 403
    moved: tuple[dict[str, str | None], ...] = (
        {
            "oauth2.token_url": spar.elsewhere + "/oauth/token",
            "oauth2.revocation_url": "",
        },
        {"oauth2.authorization_url": spar.elsewhere + "/oauth/authorize"},
        {"oauth2.client_auth": "basic"},
    )
    for changes in moved:
        assert setless.post(page, form("consent", **changes)).status_code == 422
    assert spar.journal == []


def discovery_needs_what_saving_its_result_needs() -> None:
    spar.clear()
    asked = {"oauth2.issuer": spar.issuer, "network": "internal"}
    permissions = (Permission.VIEW, Permission.SET_SECRET, Permission.TEST)
    reader = client_with("reader", *permissions)
    assert reader.post(discover, asked).status_code == 403
    outside = client_without(Permission.USE_INTERNAL_NETWORK)
    assert outside.post(discover, asked).status_code == 403
    assert outside.post(discover, asked | {"network": "public"}).status_code == 422
    assert spar.journal == []
    fields = admin.post(discover, asked).json()["fields"]
    assert fields["oauth2.token_url"] == spar.url + "/oauth/token", fields
    assert admin.post(discover, {"oauth2.issuer": "nonsense"}).status_code == 422


def other_methods_do_nothing() -> None:
    spar.clear()
    for action in ("connect", "renew", "revoke", "forget"):
        assert admin.get(f"{token}{action}/").status_code == 405, action
    assert admin.get(discover).status_code == 405
    for refused in (admin.post(callback), admin.head(callback), admin.put(callback)):
        assert refused.status_code == 405
    assert spar.journal == []


def who_is_signed_out_is_led_to_the_sign_in_without_the_code() -> None:
    stranger = Client(SERVER_NAME="127.0.0.1")
    response = stranger.get(callback + "?state=x&code=precious")
    assert response.status_code == 302, response.status_code
    assert "precious" not in response["Location"]


def a_consent_comes_back_to_the_session_that_began_it_once() -> None:
    spar.clear()
    asked = begin(admin)
    assert asked["redirect_uri"] == "http://127.0.0.1" + callback
    code = code_for(asked)
    back = {"state": asked["state"], "iss": spar.issuer, "code": code}
    for client, query in (
        (testless, back),
        (admin, {"code": code}),
        (admin, back | {"state": "another"}),
        (admin, back | {"state": [asked["state"], asked["state"]]}),
        (admin, {}),
    ):
        response = client.get(callback, query)
        assert response.status_code == 422, response.status_code
        assert response["Referrer-Policy"] == "no-referrer"
        assert code.encode() not in response.content
        assert asked["state"].encode() not in response.content
    assert spar.journal == []
    done = admin.get(callback, back)
    assert (done.status_code, done["Location"]) == (302, page + "#oauth2")
    assert [arrival.path for arrival in spar.journal] == ["/oauth/token"]
    sent = parse_qs(spar.journal[0].body.decode())
    assert sent["code_verifier"][0] not in str(dict(admin.session.items()))
    assert admin.get(callback, back).status_code == 422
    assert (
        application.sender.token_actions(application.registry.get("consent"))
        .status()
        .state
        == "fresh"
    )


def a_response_of_another_issuer_ends_the_consent() -> None:
    spar.clear()
    asked = begin(admin)
    mixed = {"state": asked["state"], "code": code_for(asked), "iss": spar.elsewhere}
    assert admin.get(callback, mixed).status_code == 422
    assert admin.get(callback, mixed | {"iss": spar.issuer}).status_code == 422
    assert spar.journal == []


def an_error_of_the_provider_is_shown_in_our_words() -> None:
    for error, words in (
        ("access_denied", "did not authorize"),
        ("<b>x</b>", "refused"),
    ):
        denied = {
            "state": begin(admin)["state"],
            "error": error,
            "error_description": "<i>theirs</i>",
        }
        shown = admin.get(callback, denied, follow=True).content.decode()
        assert words in shown
        assert "<b>" not in shown
        assert "theirs" not in shown


def change_pending(**changes: object) -> None:
    """Change the pending consent in the session of the administrator."""
    session = admin.session
    pending = session["outkey_consents"]
    next(iter(pending.values())).update(changes)
    session["outkey_consents"] = pending
    session.save()


def a_consent_that_is_old_changed_or_of_another_user_is_refused() -> None:
    spar.clear()
    late = begin(admin)
    change_pending(began=0)
    shown = admin.get(callback, {"state": late["state"], "code": code_for(late)})
    assert (shown.status_code, b"ten minutes" in shown.content) == (422, True)
    changed = begin(admin)
    assert admin.post(page, form("consent", notes="changed")).status_code == 302
    shown = admin.get(callback, {"state": changed["state"], "code": code_for(changed)})
    assert (shown.status_code, b"was changed" in shown.content) == (422, True)
    given = begin(admin)
    change_pending(user="0")
    shown = admin.get(callback, {"state": given["state"], "code": code_for(given)})
    assert shown.status_code == 422
    assert spar.journal == []
    for _ in range(9):
        begin(admin)
    assert len(admin.session["outkey_consents"]) == 1


def behind_a_proxy_the_operator_says_where_the_browser_comes_back_to() -> None:
    settings.OUTKEY["PUBLIC_URL"] = "https://erp.example/"
    assert begin(admin)["redirect_uri"] == "https://erp.example" + callback
    assert "https://erp.example" + callback in admin.get(page).content.decode()
    settings.OUTKEY["PUBLIC_URL"] = ""


def a_failure_is_shown_and_who_may_only_look_has_no_button() -> None:
    spar.authorization.revoke_family()
    shown = admin.post(token + "renew/", follow=True).content.decode()
    assert ">reauthorization needed<" in shown
    assert "ok-message" in shown, "the last error"
    assert "#oauth2" in admin.get(HOME).content.decode()
    looker = client_with("looker", Permission.VIEW)
    assert "token/" not in looker.get(page).content.decode()


who_lacks_a_permission_sends_nothing()
discovery_needs_what_saving_its_result_needs()
other_methods_do_nothing()
who_is_signed_out_is_led_to_the_sign_in_without_the_code()
a_consent_comes_back_to_the_session_that_began_it_once()
a_response_of_another_issuer_ends_the_consent()
an_error_of_the_provider_is_shown_in_our_words()
a_consent_that_is_old_changed_or_of_another_user_is_refused()
behind_a_proxy_the_operator_says_where_the_browser_comes_back_to()
a_failure_is_shown_and_who_may_only_look_has_no_button()
spar.close()
