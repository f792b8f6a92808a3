import json
from base64 import b64decode
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError, OutkeyError, TokenEndpointFailed
from outkey.foundation.core.origin import Origin, parse_endpoint
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2 import grants
from outkey.sending.core.oauth2.assertions import Assertion
from outkey.sending.core.oauth2.client_auth import Parameters, Proof, prove
from outkey.sending.core.oauth2.responses import read_document
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.message import Header, Request, Response, Source
from unit.sending.core.configuration.test_oauth2_fields import TOKEN_URL, oauth

NOW = 1_800_000_000.9
HIDDEN = "hunter2"
CONSENT = grants.consent_for("state-7", "v" * 43, "http://127.0.0.1:8087/back")


class Signed:
    """Stands in for the signer, and keeps what it was to sign."""

    content: Assertion

    @property
    def claims(self) -> Mapping[str, object]:
        return self.content.claims

    @property
    def shared(self) -> bool:
        return self.content.is_shared

    def __call__(self, content: Assertion) -> Secret:
        self.content = content
        return Secret.joined("by-", content.key)


def proof_of(
    configuration: Configuration, secret: str = HIDDEN, sign: Signed | None = None
) -> Proof:
    def opened(name: str) -> Secret:
        assert name == "client_secret"
        return Secret(secret)

    return prove(configuration, opened, sign or Signed(), now=NOW, number="number-7")


def request_of(
    configuration: Configuration, parameters: Parameters, secret: str = HIDDEN
) -> tuple[Request, str]:
    """Return a token request and its body."""
    request = grants.post(
        configuration, TOKEN_URL, parameters, proof_of(configuration, secret)
    )
    assert isinstance(request.body, Secret)
    return request, request.body.reveal()


def sent(configuration: Configuration, parameters: Parameters) -> dict[str, str]:
    """Return the parameters that a form carries; none may stand there twice."""
    pairs = parse_qsl(request_of(configuration, parameters)[1], keep_blank_values=True)
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


def shown(headers: tuple[Header, ...]) -> dict[str, str]:
    return {
        h.name: h.value.reveal() if isinstance(h.value, Secret) else h.value
        for h in headers
    }


# ── the request as a whole ────────────────────────────────────────────────────────────


def test_the_default_is_exactly_the_specifications_example() -> None:
    """Section 5.6: a form-encoded POST of three fields."""
    made = oauth("client_secret")
    request, body = request_of(made, grants.client_credentials(made))
    assert (
        body == "grant_type=client_credentials&client_id=acme-app&client_secret=hunter2"
    )
    assert (request.method, request.url) == ("POST", TOKEN_URL)
    assert shown(request.headers) == {
        "Host": "auth.acme.example",
        "Content-Length": str(len(body)),
        "User-Agent": "outkey",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    assert {header.source for header in request.headers} == {Source.DEFAULT}


def test_the_request_shows_nothing_of_its_secrets() -> None:
    made = oauth("client_secret", client_auth="basic")
    request, _ = request_of(made, grants.refresh(made, Secret("refresh7")))
    assert not {HIDDEN, "refresh7"} & {
        repr(request),
        str(request.body),
        str(request.headers),
    }


@pytest.mark.parametrize(
    "secret", ["a&b=c+d e%20f", "ümläut €", "q\"uo'te\\", "new\nline", ""]
)
def test_a_form_and_a_json_body_carry_any_secret(secret: str) -> None:
    form, as_json = oauth("client_secret"), oauth("client_secret", body_format="json")
    parameters = grants.client_credentials(form)
    expected = {
        "grant_type": "client_credentials",
        "client_id": "acme-app",
        "client_secret": secret,
    }
    request, body = request_of(form, parameters, secret)
    assert dict(parse_qsl(body, keep_blank_values=True)) == expected
    assert shown(request.headers)["Content-Length"] == str(len(body.encode()))
    request, body = request_of(as_json, parameters, secret)
    assert json.loads(body) == expected
    headers = shown(request.headers)
    assert (headers["Content-Type"], headers["Content-Length"]) == (
        "application/json",
        str(len(body.encode())),
    )


@given(
    texts=st.dictionaries(
        st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))
    )
)
def test_every_parameter_arrives_as_it_was(texts: dict[str, str]) -> None:
    parameters: Parameters = [(name, Secret(text)) for name, text in texts.items()]
    body = grants.post(oauth(body_format="json"), TOKEN_URL, parameters, Proof()).body
    assert isinstance(body, Secret)
    assert json.loads(body.reveal()) == texts
    body = grants.post(oauth(), TOKEN_URL, parameters, Proof()).body
    assert isinstance(body, Secret)
    assert (
        dict(
            parse_qsl(body.reveal(), keep_blank_values=True, strict_parsing=bool(texts))
        )
        == texts
    )


def test_a_request_goes_to_the_address_as_it_is() -> None:
    url = "https://auth.acme.example:8443/t/?tenant=7"
    request = grants.post(oauth(), url, [], Proof())
    assert (request.origin.port, request.target) == (8443, "/t/?tenant=7")
    assert shown(request.headers)["Host"] == "auth.acme.example:8443"


# ── who asks ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("client_auth", "pair"),
    [
        ("basic", "acme%20app%3A%C3%BC:p%40ss%2Fw%3A%2Brd%25~-._%20%E2%82%AC"),
        ("basic_raw", "acme app:ü:p@ss/w:+rd%~-._ €"),
    ],
)
def test_basic_is_percent_encoded_unless_the_server_cannot_read_that(
    client_auth: str, pair: str
) -> None:
    made = oauth("client_secret", client_auth=client_auth, client_id="acme app:ü")
    proof = proof_of(made, "p@ss/w:+rd%~-._ €")
    assert proof.parameters == ()
    assert [(h.name, h.source) for h in proof.headers] == [
        ("Authorization", Source.AUTHENTICATION)
    ]
    word, _, encoded = shown(proof.headers)["Authorization"].partition(" ")
    assert (word, b64decode(encoded).decode()) == ("Basic", pair)


@given(
    secret=st.text(st.characters(codec="utf-8"), max_size=50).map(tidy_value),
    client=st.from_regex(r"[ -~]+", fullmatch=True),
)
def test_a_server_that_decodes_basic_finds_the_pair(secret: str, client: str) -> None:
    made = oauth("client_secret", client_auth="basic", client_id=client)
    header = shown(proof_of(made, secret).headers)["Authorization"]
    found = b64decode(header.removeprefix("Basic ")).decode("ascii").split(":")
    assert [unquote(part) for part in found] == [client, secret]


@pytest.mark.parametrize(
    "client_auth", ["body", "basic", "basic_raw", "client_secret_jwt"]
)
def test_what_comes_along_when_a_secret_is_pasted_is_not_sent(client_auth: str) -> None:
    made = oauth("client_secret", client_auth=client_auth)
    assert proof_of(made, f" \t{HIDDEN}\r\n") == proof_of(made, HIDDEN)


def test_a_long_secret_makes_no_second_line() -> None:
    made = oauth("client_secret", client_auth="basic")
    assert shown(proof_of(made, "x" * 500).headers)["Authorization"].isprintable()


@pytest.mark.parametrize("client_auth", ["basic", "basic_raw"])
def test_a_secret_that_has_no_utf_8_is_refused_without_being_shown(
    client_auth: str,
) -> None:
    with pytest.raises(ConfigError) as caught:
        proof_of(oauth("client_secret", client_auth=client_auth), "hunt\ud800")
    assert "hunt" not in f"{caught.value}{caught.value.facts()}"
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize(
    "grant", ["authorization_code", "device_code", "refresh_token"]
)
def test_a_public_client_says_who_it_is_and_no_more(grant: str) -> None:
    assert proof_of(oauth(grant=grant)).parameters == (("client_id", "acme-app"),)
    with_secret = proof_of(oauth("client_secret", grant=grant))
    assert dict(with_secret.parameters)["client_secret"] == Secret(HIDDEN)


def test_with_mtls_the_certificate_is_the_proof() -> None:
    made = oauth("client_secret", client_auth="mtls")
    assert proof_of(made) == Proof(parameters=(("client_id", "acme-app"),))


@pytest.mark.parametrize(
    ("client_auth", "shared"), [("client_secret_jwt", True), ("private_key_jwt", False)]
)
@pytest.mark.parametrize(
    ("issuer", "audience"),
    [("", TOKEN_URL), ("https://auth.acme.example/t", "https://auth.acme.example/t")],
)
def test_an_assertion_says_who_asks_whom_and_for_how_long(
    client_auth: str,
    shared: bool,  # noqa: FBT001 - a parameter
    issuer: str,
    audience: str,
) -> None:
    sign = Signed()
    made = oauth("client_secret", client_auth=client_auth, issuer=issuer)
    proof = proof_of(made, sign=sign)
    assert sign.shared is shared
    assert sign.claims == {
        "iss": "acme-app",
        "sub": "acme-app",
        "aud": audience,
        "iat": 1_800_000_000,
        "exp": 1_800_000_300,
        "jti": "number-7",
    }
    assert proof.headers == ()
    assert proof.parameters == (
        ("client_id", "acme-app"),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ),
        ("client_assertion", Secret("by-hunter2")),
    )


def test_settings_shape_the_assertion_of_the_client() -> None:
    sign = Signed()
    shape = {
        "assertion.key_id": "key-1",
        "assertion.algorithm": "PS256",
        "assertion.lifetime_seconds": 10,
        "assertion.scope_in": "assertion",
        "assertion.claims": {"tenant": "7"},
    }
    made = oauth(
        "client_secret",
        client_auth="private_key_jwt",
        scope="contacts.read",
        **shape,
    )
    proof_of(made, sign=sign)
    assert (sign.content.key_id, sign.content.algorithm) == ("key-1", "PS256")
    assert sign.claims == {
        "iss": "acme-app",
        "sub": "acme-app",
        "aud": TOKEN_URL,
        "iat": 1_800_000_000,
        "exp": 1_800_000_010,
        "jti": "number-7",
        "scope": "contacts.read",
        "tenant": "7",
    }
    assert grants.client_credentials(made) == [("grant_type", "client_credentials")]


@pytest.mark.parametrize(
    ("place", "client_auth", "in_form", "in_claims"),
    [
        ("form", "private_key_jwt", True, False),
        ("assertion", "private_key_jwt", False, True),
        ("both", "client_secret_jwt", True, True),
        # Without an assertion, only the form can name it.
        ("assertion", "body", True, False),
    ],
)
def test_the_scope_is_in_the_form_the_assertion_or_both(
    place: str,
    client_auth: str,
    *,
    in_form: bool,
    in_claims: bool,
) -> None:
    sign = Signed()
    values = {"assertion.scope_in": place}
    made = oauth("client_secret", client_auth=client_auth, scope="read", **values)
    proof_of(made, sign=sign)
    assert (("scope", "read") in grants.client_credentials(made)) is in_form
    if client_auth != "body":
        assert ("scope" in sign.claims) is in_claims


# ── what is asked ─────────────────────────────────────────────────────────────────────

WANTED = {
    "scope": "read write",
    "audience": "api",
    "resource": "https://api.acme.example/",
}
IDENTITY = {"client_id": "acme-app", "client_secret": HIDDEN}


def test_client_credentials_ask_for_what_is_wanted() -> None:
    made = oauth("client_secret", extra={"account_id": "7"}, **WANTED)
    asked = {"grant_type": "client_credentials", **WANTED, "account_id": "7"}
    assert sent(made, grants.client_credentials(made)) == asked | IDENTITY


def test_a_provider_may_have_a_grant_type_of_its_own_for_client_credentials_only() -> (
    None
):
    """Zoom calls it account_credentials."""
    extra = {"grant_type": "account_credentials", "account_id": "7"}
    made = oauth("client_secret", extra=extra)
    assert sent(made, grants.client_credentials(made)) == extra | IDENTITY
    others = {
        "refresh_token": grants.refresh(made, Secret("r")),
        "authorization_code": grants.authorization_code(made, Secret("c"), CONSENT),
        "urn:ietf:params:oauth:grant-type:device_code": grants.device_code(
            made, Secret("d")
        ),
    }
    for grant, parameters in others.items():
        fields = sent(made, parameters)
        assert (fields["grant_type"], fields["account_id"]) == (grant, "7")
    assert "grant_type" not in sent(made, grants.device_start(made))


@pytest.mark.parametrize(
    ("grant", "scoped"),
    [("refresh_token", True), ("authorization_code", False), ("device_code", False)],
)
def test_a_refresh_repeats_the_scope_only_where_nobody_was_asked_for_it(
    grant: str,
    scoped: bool,  # noqa: FBT001 - a parameter
) -> None:
    made = oauth("client_secret", grant=grant, extra={"tenant": "t"}, **WANTED)
    fields = sent(made, grants.refresh(made, Secret("r+/=")))
    wanted = {name: text for name, text in WANTED.items() if scoped or name != "scope"}
    asked = {"grant_type": "refresh_token", "refresh_token": "r+/="}
    assert fields == asked | wanted | {"tenant": "t"} | IDENTITY


def test_a_code_is_exchanged_with_its_verifier() -> None:
    made = oauth(
        "client_secret", grant="authorization_code", extra={"tenant": "t"}, **WANTED
    )
    fields = sent(made, grants.authorization_code(made, Secret("code7"), CONSENT))
    assert fields == IDENTITY | {
        "grant_type": "authorization_code",
        "code": "code7",
        "redirect_uri": "http://127.0.0.1:8087/back",
        "code_verifier": "v" * 43,
        "tenant": "t",
    }


def test_a_device_asks_for_a_code_and_then_with_it() -> None:
    made = oauth(grant="device_code", **WANTED)
    assert sent(made, grants.device_start(made)) == {**WANTED, "client_id": "acme-app"}
    assert sent(made, grants.device_code(made, Secret("d7"))) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": "d7",
        "client_id": "acme-app",
    }


def test_a_question_about_a_token_holds_it_and_its_kind() -> None:
    made = oauth("client_secret", extra={"tenant": "t"})
    fields = sent(made, grants.about_token(Secret("t7"), "refresh_token"))
    assert fields == {"token": "t7", "token_type_hint": "refresh_token"} | IDENTITY


# ── consent ───────────────────────────────────────────────────────────────────────────


def consent_url(configuration: Configuration) -> str:
    parameters = grants.authorization_parameters(configuration, CONSENT)
    return grants.consent_url(configuration, parameters)


def test_the_challenge_is_that_of_rfc_7636_appendix_b() -> None:
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    consent = grants.consent_for("s", verifier, "https://a.example/back")
    assert consent.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert verifier not in repr(consent)


def test_the_browser_is_sent_with_everything_but_secrets() -> None:
    made = oauth(
        "client_secret", grant="authorization_code", extra={"prompt": "a&b"}, **WANTED
    )
    address = urlsplit(consent_url(made))
    assert (address.netloc, address.path) == ("login.acme.example", "/authorize")
    assert "+" not in address.query  # some servers read a blank only as %20
    assert dict(parse_qsl(address.query, strict_parsing=True)) == {
        **WANTED,
        "prompt": "a&b",
        "response_type": "code",
        "client_id": "acme-app",
        "redirect_uri": "http://127.0.0.1:8087/back",
        "state": "state-7",
        "code_challenge": CONSENT.challenge,
        "code_challenge_method": "S256",
    }


def test_without_pkce_neither_the_consent_nor_the_redemption_has_its_parameters() -> (
    None
):
    made = oauth("client_secret", grant="authorization_code", pkce="off")
    assert "code_challenge" not in consent_url(made)
    assert "state=state-7" in consent_url(made)
    fields = sent(made, grants.authorization_code(made, Secret("code7"), CONSENT))
    assert "code_verifier" not in fields


def test_extra_parameters_cannot_weaken_a_consent() -> None:
    extra = {
        "state": "evil",
        "code_challenge": "evil",
        "code_challenge_method": "plain",
        "response_type": "token",
        "grant_type": "evil",
    }
    made = oauth(grant="authorization_code", extra=extra)
    url = consent_url(made)
    assert "evil" not in url
    assert "plain" not in url
    assert "response_type=token" not in url


@pytest.mark.parametrize(
    "issuer",
    [
        "https://login.acme.example",
        "https://login.acme.example/tenant/7",
        "https://auth.acme.example",
    ],
)
def test_without_an_issuer_one_at_the_authorization_or_token_url_is_accepted(
    issuer: str,
) -> None:
    made = oauth(
        "client_secret",
        grant="authorization_code",
        authorization_url="https://login.acme.example/authorize",
    )
    grants.refuse_other_issuer(made, issuer)
    assert made.oauth2.issuer == ""


def test_an_issuer_at_the_base_urls_origin_is_accepted_if_the_token_url_is_there() -> (
    None
):
    made = oauth(
        "client_secret",
        base_url="https://acme.example",
        grant="authorization_code",
        authorization_url="https://acme.example/authorize",
        token_url="https://acme.example/token",
    )
    grants.refuse_other_issuer(made, "https://acme.example/oauth")
    assert made.base.origin == parse_endpoint(made.oauth2.token_url, "").origin


@pytest.mark.parametrize(
    "issuer",
    [
        "https://api.acme.example",
        "https://evil.example",
        "http://auth.acme.example",
        "",
        "auth",
        "//",
    ],
)
def test_without_an_issuer_one_of_another_origin_is_refused(issuer: str) -> None:
    made = oauth("client_secret", grant="authorization_code")
    with pytest.raises(ConfigError, match="another origin") as refused:
        grants.refuse_other_issuer(made, issuer)
    assert refused.value.field == "oauth2.issuer"
    assert "enter its issuer in Issuer" in refused.value.hint


def test_a_configured_issuer_is_compared_letter_by_letter() -> None:
    made = oauth(
        "client_secret",
        grant="authorization_code",
        issuer="https://auth.acme.example/7",
    )
    grants.refuse_other_issuer(made, "https://auth.acme.example/7")
    for other in ("https://auth.acme.example/7/", "https://auth.acme.example", ""):
        with pytest.raises(ConfigError, match="than the configured one"):
            grants.refuse_other_issuer(made, other)


def test_a_consent_keeps_the_query_that_the_address_has() -> None:
    url = "https://login.acme.example/a?tenant=7"
    made = oauth(grant="authorization_code", authorization_url=url)
    assert consent_url(made).startswith(f"{url}&")


# ── device codes ──────────────────────────────────────────────────────────────────────

DEVICE: dict[str, object] = {
    "device_code": "device7",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://login.acme.example/device",
    "expires_in": 900,
    "interval": 7,
}


def test_a_device_code_is_read_as_rfc_8628_has_it() -> None:
    assert grants.read_device_code(DEVICE) == grants.DeviceCode(
        Secret("device7"), "WDJB-MJHT", "https://login.acme.example/device", 7.0, 900.0
    )


def test_google_calls_the_address_a_url() -> None:
    answer = {
        name: value for name, value in DEVICE.items() if name != "verification_uri"
    }
    answer["verification_url"] = "https://www.google.example/device"
    assert (
        grants.read_device_code(answer).address == "https://www.google.example/device"
    )


@pytest.mark.parametrize("field", ["device_code", "user_code", "verification_uri"])
@pytest.mark.parametrize(
    "value", [None, "", 7, ["x"], "\x1b[2Jx", "a\nb", "\u202ex"], ids=ascii
)
def test_a_device_code_without_its_parts_is_none(field: str, value: object) -> None:
    with pytest.raises(TokenEndpointFailed) as caught:
        grants.read_device_code(DEVICE | {field: value})
    assert caught.value.reason == "not_a_token_endpoint"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "login.acme.example", "https://u@x/"]
)
def test_a_person_is_sent_to_no_address_but_a_web_page(address: str) -> None:
    with pytest.raises(TokenEndpointFailed) as caught:
        grants.read_device_code(DEVICE | {"verification_uri": address})
    assert caught.value.reason == "not_a_token_endpoint"
    assert caught.value.__cause__ is None


def test_a_user_code_is_not_shown_at_any_length() -> None:
    assert (
        len(grants.read_device_code(DEVICE | {"user_code": "x" * 500}).user_code) == 40
    )


@pytest.mark.parametrize(
    ("interval", "seconds"),
    [
        *[(None, 5), ("soon", 5), ([], 5), (0, 1), (-3, 1), (2.5, 2.5)],
        *[(99, 60), (float("inf"), 60)],
    ],
    ids=lambda value: str(value)[:10],
)
def test_a_device_asks_neither_too_often_nor_too_seldom(
    interval: object, seconds: float
) -> None:
    assert grants.read_device_code(DEVICE | {"interval": interval}).interval == seconds


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [(None, 600), ("soon", 600), ({}, 600), (0, 1), (-3, 1), (86_400, 1800)],
    ids=lambda value: str(value)[:10],
)
def test_a_person_has_between_a_second_and_half_an_hour(
    lifetime: object, seconds: float
) -> None:
    assert (
        grants.read_device_code(DEVICE | {"expires_in": lifetime}).lifetime == seconds
    )


def test_numbers_of_any_length_are_bounded() -> None:
    long = "9" * 400
    body = json.dumps(DEVICE | {"interval": "#", "expires_in": "#"}).replace(
        '"#"', long
    )
    found = grants.read_device_code(read_document(Response(200, body=body.encode())))
    assert (found.interval, found.lifetime) == (60, 1800)


@pytest.mark.parametrize("field", ["interval", "expires_in"])
def test_what_is_no_number_is_no_endless_wait(field: str) -> None:
    found = grants.read_device_code(DEVICE | {field: float("nan")})
    assert 1 <= found.interval <= 60
    assert 1 <= found.lifetime <= 1800


# ── metadata ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("issuer", "name", "target"),
    [
        (
            "https://a.example",
            "oauth-authorization-server",
            "/.well-known/oauth-authorization-server",
        ),
        (
            "https://a.example/",
            "oauth-authorization-server",
            "/.well-known/oauth-authorization-server",
        ),
        (
            "https://a.example/t/1",
            "oauth-authorization-server",
            "/.well-known/oauth-authorization-server/t/1",
        ),
        (
            "https://a.example/t/",
            "oauth-authorization-server",
            "/.well-known/oauth-authorization-server/t",
        ),
        (
            "https://a.example",
            "openid-configuration",
            "/.well-known/openid-configuration",
        ),
        (
            "https://a.example/t/1/",
            "openid-configuration",
            "/t/1/.well-known/openid-configuration",
        ),
    ],
)
def test_metadata_stand_where_rfc_8414_and_openid_put_them(
    issuer: str, name: str, target: str
) -> None:
    request = grants.metadata_request(parse_endpoint(issuer, "issuer"), name)
    assert (request.method, request.origin) == (
        "GET",
        Origin("https", "a.example", 443),
    )
    assert (request.target, request.body) == (target, b"")
    assert shown(request.headers)["Host"] == "a.example"
    assert "Authorization" not in shown(request.headers)


ISSUER = "https://auth.acme.example/t"
METADATA: dict[str, object] = {
    "issuer": ISSUER,
    "token_endpoint": TOKEN_URL,
    "authorization_endpoint": "https://login.acme.example/authorize",
    "device_authorization_endpoint": f"{ISSUER}/device",
    "revocation_endpoint": f"{ISSUER}/revoke",
    "introspection_endpoint": f"{ISSUER}/introspect",
    "jwks_uri": f"{ISSUER}/keys",
}


def test_metadata_name_the_addresses_by_our_fields() -> None:
    assert grants.read_metadata(METADATA, ISSUER) == {
        "issuer": ISSUER,
        "token_url": TOKEN_URL,
        "authorization_url": "https://login.acme.example/authorize",
        "device_url": f"{ISSUER}/device",
        "revocation_url": f"{ISSUER}/revoke",
        "introspection_url": f"{ISSUER}/introspect",
    }


def test_metadata_without_an_address_leave_it_out() -> None:
    assert grants.read_metadata({"issuer": ISSUER, "token_endpoint": None}, ISSUER) == {
        "issuer": ISSUER
    }


def test_the_issuers_own_spelling_is_kept_whether_it_ends_in_a_slash_or_not() -> None:
    assert (
        grants.read_metadata({"issuer": f"{ISSUER}/"}, ISSUER)["issuer"] == f"{ISSUER}/"
    )
    assert grants.read_metadata({"issuer": ISSUER}, f"{ISSUER}/")["issuer"] == ISSUER


@pytest.mark.parametrize(
    "issuer", ["https://evil.example/t", f"{ISSUER}/x", "", None, 7, [ISSUER]]
)
def test_the_metadata_of_another_issuer_are_refused(issuer: object) -> None:
    with pytest.raises(ConfigError, match="another issuer"):
        grants.read_metadata(METADATA | {"issuer": issuer}, ISSUER)


def test_metadata_without_an_issuer_are_nobodys() -> None:
    with pytest.raises(ConfigError, match="another issuer"):
        grants.read_metadata({"token_endpoint": TOKEN_URL}, ISSUER)


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "https://u:p@a.example/", "x", ""]
)
def test_an_address_in_metadata_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(OutkeyError):
        grants.read_metadata(METADATA | {"token_endpoint": address}, ISSUER)


@pytest.mark.parametrize("character", ["\x9b", "\u202e"])
def test_an_address_in_metadata_that_steers_a_terminal_is_left_out(
    character: str,
) -> None:
    issuer = "https://auth.acme.example"
    document = {"issuer": issuer, "token_endpoint": f"{issuer}/token{character}"}
    assert grants.read_metadata(document, issuer) == {"issuer": issuer}
