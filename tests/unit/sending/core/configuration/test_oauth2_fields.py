import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import (
    ConfigError,
    HeaderFormatError,
    SecretRebindRequired,
)
from outkey.foundation.core.fields.choices import (
    AuthenticationType,
    ClientAuth,
    Grant,
    TokenSourceKind,
)
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.toml.text import render_table
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS, SENT_TO_TOKEN_URL
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState

BASE = "https://api.acme.example"
TOKEN_URL = "https://auth.acme.example/token"
BOUND = "https://auth.acme.example:443 https://api.acme.example:443"
MINIMAL: dict[str, object] = {
    "base_url": BASE,
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2.token_url": TOKEN_URL,
    "oauth2.client_id": "acme-app",
}
ADDRESSES: dict[str, dict[str, object]] = {
    "password": {"username": "api-user"},
    "authorization_code": {
        "oauth2.authorization_url": "https://login.acme.example/authorize"
    },
    "device_code": {"oauth2.device_url": "https://auth.acme.example/device"},
}


TOP_LEVEL = {*MINIMAL, "token_header", "token_prefix", "username"}


def oauth(*secrets: str, **values: object) -> Configuration:
    """Make a configuration with OAuth 2.0; `scope` means the path `oauth2.scope`.

    A grant brings the address that it needs,
    and `secrets` are references to what they are called.
    """
    paths = {
        ("" if name in TOP_LEVEL else "oauth2.") + name: v for name, v in values.items()
    }
    addresses = ADDRESSES.get(str(values.get("grant")), {})
    references = {
        name: parse_reference(f"env:{name.upper()}", field=name) for name in secrets
    }
    return build("acme", MINIMAL | addresses | paths, references=references)


# ── what must be entered ──────────────────────────────────────────────────────────────


def test_oauth2_needs_no_more_than_address_client_and_secret() -> None:
    made = oauth("client_secret")
    assert made.uses_oauth2
    assert made.sends_token
    assert made.oauth2.grant is Grant.CLIENT_CREDENTIALS
    assert made.oauth2.client_auth is ClientAuth.BODY
    assert (made.oauth2.body_format, made.token_header) == (
        "form",
        "Authorization",
    )
    assert made.oauth2.extra == {}
    assert (made.oauth2.leeway_seconds, made.oauth2.default_lifetime_seconds) == (
        60,
        3300,
    )


@pytest.mark.parametrize("grant", list(Grant))
def test_a_grant_needs_the_consent_of_a_user_or_not(grant: Grant) -> None:
    settings = oauth(grant=grant).oauth2
    assert settings.needs_consent is (
        grant in {"refresh_token", "authorization_code", "device_code"}
    )


@pytest.mark.parametrize(
    ("grant", "field"),
    [
        ("client_credentials", "oauth2.token_url"),
        ("client_credentials", "oauth2.client_id"),
        ("refresh_token", "oauth2.token_url"),
        ("authorization_code", "oauth2.authorization_url"),
        ("authorization_code", "oauth2.client_id"),
        ("device_code", "oauth2.device_url"),
    ],
)
def test_a_grant_needs_its_addresses(grant: str, field: str) -> None:
    values = MINIMAL | ADDRESSES.get(grant, {}) | {"oauth2.grant": grant}
    build("acme", values)
    for missing in (
        values | {field: ""},
        {p: v for p, v in values.items() if p != field},
    ):
        with pytest.raises(ConfigError, match="must not be empty") as caught:
            build("acme", missing)
        assert caught.value.field == field


@pytest.mark.parametrize(
    "choice",
    [
        {"token_source": "entered"},
        {"authentication_type": "basic"},
        {"authentication_type": "none"},
    ],
)
def test_nothing_is_needed_where_oauth2_is_not_chosen(
    choice: dict[str, object],
) -> None:
    values = MINIMAL | {"oauth2.token_url": "", "oauth2.client_id": ""} | choice
    assert not build("acme", values).uses_oauth2


@pytest.mark.parametrize(
    "field",
    [field.path for field in FIELDS if field.kind in {Kind.ENDPOINT, Kind.PROXY}],
    ids=str,
)
@pytest.mark.parametrize(
    "address",
    [
        "auth.acme.example",
        "ftp://a.example",
        "https://u:p@a.example",
        "https://a b/",
        7,
    ],
)
def test_an_address_must_be_one(field: str, address: object) -> None:
    with pytest.raises(ConfigError) as caught:
        build("acme", MINIMAL | {field: address})
    assert caught.value.field == field
    assert str(address) not in str(caught.value)


def test_an_address_keeps_its_query_and_its_last_slash() -> None:
    assert (
        oauth(token_url=f"{TOKEN_URL}/?tenant=7").oauth2.token_url
        == f"{TOKEN_URL}/?tenant=7"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("grant", "implicit"),
        ("client_auth", "none"),
        ("body_format", "xml"),
        ("dpop", "yes"),
        ("leeway_seconds", -1),
        ("leeway_seconds", 3601),
        ("leeway_seconds", float("nan")),
        ("leeway_seconds", True),
        ("default_lifetime_seconds", 0),
        ("default_lifetime_seconds", "3300"),
        ("client_id", "a\nb"),
        ("scope", "a\x1bb"),
        ("scope", ["a"]),
        ("audience", "x" * 2001),
    ],
)
def test_a_field_takes_only_what_it_says(field: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        oauth(**{field: value})
    assert caught.value.field == f"oauth2.{field}"


@pytest.mark.parametrize(
    "name", ["", "X Token", "Host", "Content-Length", "Proxy-Authorization"]
)
def test_a_token_header_must_be_a_header_that_may_be_set(name: str) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        oauth(token_header=name)
    assert caught.value.field == "token_header"


# ── extra parameters ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        *[
            "client_id",
            "client_secret",
            "CLIENT_SECRET",
            "client_assertion",
            "refresh_token",
        ],
        *[
            "client_assertion_type",
            "code",
            "device_code",
            "code_verifier",
            "redirect_uri",
        ],
        *["scope", "audience", "resource", "password"],
    ],
)
def test_an_extra_parameter_must_not_be_one_that_outkey_sends_itself(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        oauth(extra={name: "hunter2"})
    lower = name.lower()
    has_field = f"oauth2.{lower}" in BY_PATH or lower in SENT_TO_TOKEN_URL
    assert ("field of its own" in str(caught.value)) == has_field
    assert caught.value.field == "oauth2.extra"
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "extra",
    [
        *["a=b", ["a"], None, 7, {"a": 1}, {"a": None}, {1: "a"}, {"a": ["b"]}],
        *[{"": "x"}, {"a": "b\nc"}, {"a\0": "b"}, {"a": "x" * 2000}, {"x" * 2001: ""}],
    ],
    ids=lambda extra: str(extra)[:20],
)
def test_extra_parameters_are_names_with_texts(extra: object) -> None:
    with pytest.raises(ConfigError) as caught:
        oauth(extra=extra)
    assert caught.value.field == "oauth2.extra"


def test_extra_parameters_are_kept_apart_from_what_was_given() -> None:
    given = {"account_id": "7", "leer": ""}
    made = oauth(extra=given)
    given["later"] = "x"
    assert made.oauth2.extra == {"account_id": "7", "leer": ""}


# ── where secrets may go ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("field", ["device_url", "revocation_url", "introspection_url"])
@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/x",
        "http://auth.acme.example/x",
        "https://auth.acme.example:8443/x",
    ],
)
def test_an_address_that_gets_the_client_secret_is_at_the_token_urls_origin(
    field: str, address: str
) -> None:
    with pytest.raises(ConfigError, match="origin") as caught:
        oauth(**{field: address})
    assert caught.value.field == f"oauth2.{field}"
    assert oauth(**{field: "https://AUTH.acme.example:443/x"})


def test_without_a_token_url_there_is_no_origin_to_compare_with() -> None:
    values = {
        "base_url": BASE,
        "oauth2.revocation_url": "https://auth.acme.example/revoke",
    }
    assert build("acme", values).oauth2.revocation_url


def test_the_browser_may_be_sent_elsewhere_since_no_secret_goes_along() -> None:
    made = oauth(
        grant="authorization_code",
        authorization_url="https://www.other.example/consent",
    )
    assert made.origins() == {
        Origin("https", host, 443)
        for host in ("api.acme.example", "auth.acme.example", "www.other.example")
    }


def test_a_configuration_without_oauth2_has_one_origin() -> None:
    assert build("a", {"base_url": BASE}).origins() == {
        Origin("https", "api.acme.example", 443)
    }


@pytest.mark.parametrize("secret", ["client_secret", "refresh_token", "client_key"])
def test_what_is_sent_to_the_token_url_is_bound_to_both_origins(secret: str) -> None:
    made = oauth(secret)
    assert made.binding_of(secret) == made.secrets[secret].origin == BOUND
    made.refuse_unbound(secret)


@pytest.mark.parametrize("secret", ["token", "password", "header:X-Key"])
def test_other_secrets_are_bound_to_the_base_url_alone(secret: str) -> None:
    assert oauth().binding_of(secret) == "https://api.acme.example:443"


def test_a_client_secret_without_a_token_url_is_bound_to_the_base_url() -> None:
    assert build("a", {"base_url": BASE}).binding_of("client_secret") == f"{BASE}:443"


@pytest.mark.parametrize("secret", ["client_secret", "refresh_token"])
@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://evil.example"},
        {"base_url": "http://api.acme.example"},
        {"oauth2.token_url": "https://evil.example/token"},
        {"oauth2.token_url": "https://auth.acme.example:8443/token"},
    ],
    ids=str,
)
def test_a_secret_must_be_entered_again_where_either_origin_changes(
    secret: str, change: dict[str, object]
) -> None:
    moved = build("acme", MINIMAL | change, secrets=oauth(secret).secrets)
    with pytest.raises(SecretRebindRequired) as caught:
        moved.refuse_unbound(secret)
    assert caught.value.field == secret
    changed = "Base URL" if "base_url" in change else "Token URL"
    assert f"entered for another {changed}" in caught.value.message


def test_a_proxy_that_changed_is_named_as_what_changed() -> None:
    state = SecretState("http://proxy.acme.example:3128")
    made = build(
        "acme",
        MINIMAL | {"proxy.url": "http://other.acme.example:3128"},
        secrets={"proxy_password": state},
    )
    with pytest.raises(SecretRebindRequired, match="another Proxy URL"):
        made.refuse_unbound("proxy_password")


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": f"{BASE}/v2"},
        {"oauth2.token_url": "https://auth.acme.example/v2/token"},
        {"oauth2.token_url": "https://AUTH.acme.example:443/token"},
        {"oauth2.scope": "read"},
    ],
    ids=str,
)
def test_a_secret_stays_where_both_origins_stay(change: dict[str, object]) -> None:
    made = build("acme", MINIMAL | change, secrets=oauth("client_secret").secrets)
    made.refuse_unbound("client_secret")
    assert made.secrets["client_secret"].origin == made.binding_of("client_secret")


def test_a_secret_that_a_url_was_removed_for_must_be_entered_again() -> None:
    narrower = build("a", {"base_url": BASE}, secrets=oauth("client_secret").secrets)
    with pytest.raises(SecretRebindRequired) as caught:
        narrower.refuse_unbound("client_secret")
    assert "one more URL, which was removed" in caught.value.message


def test_the_client_secret_is_bound_to_where_a_consent_is_pushed_too() -> None:
    secrets = oauth("client_secret", "refresh_token").secrets

    def pushed_to(url: str) -> Configuration:
        change = {"oauth2.pushed_authorization_url": url}
        return build("acme", MINIMAL | change, secrets=secrets)

    pushed_to("https://auth.acme.example/par").refuse_unbound("client_secret")
    other = pushed_to("https://par.acme.example/")
    with pytest.raises(SecretRebindRequired) as raised:
        other.refuse_unbound("client_secret")
    assert "Pushed Authorization URL" in str(raised.value.message)
    assert Origin("https", "par.acme.example", 443) in other.origins()
    other.refuse_unbound("refresh_token")  # it is never sent there


def test_a_secret_that_is_not_there_is_not_unbound() -> None:
    made = oauth()
    made.refuse_unbound("client_secret")
    assert "client_secret" not in made.secrets


# ── what is opened ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("authentication_type", ["none", "basic", "bearer"])
@pytest.mark.parametrize("token_source", ["entered", "oauth2"])
@pytest.mark.parametrize("grant", list(Grant))
def test_the_required_secrets_are_those_of_the_table_that_apply(
    authentication_type: str, token_source: str, grant: Grant
) -> None:
    made = replace(
        oauth(grant=grant),
        authentication_type=AuthenticationType(authentication_type),
        token_source=TokenSourceKind(token_source),
    )
    required = [
        field.secret_name
        for field in FIELDS
        if field.secret and field.required and field.applies(made.values())
    ]
    assert made.needed_secrets()[: len(required)] == required


@pytest.mark.parametrize(
    ("client_auth", "alone", "for_a_person"),
    [
        ("body", ["client_secret"], []),
        ("basic", ["client_secret"], ["client_secret"]),
        ("basic_raw", ["client_secret"], ["client_secret"]),
        ("client_secret_jwt", ["client_secret"], ["client_secret"]),
        ("private_key_jwt", ["client_secret"], ["client_secret"]),
        ("mtls", [], []),
    ],
)
def test_only_needed_secrets_are_opened(
    client_auth: str, alone: list[str], for_a_person: list[str]
) -> None:
    assert oauth(client_auth=client_auth).needed_secrets() == alone
    for grant in ("authorization_code", "device_code"):
        assert (
            oauth(client_auth=client_auth, grant=grant).needed_secrets() == for_a_person
        )
    by_refresh = oauth(client_auth=client_auth, grant="refresh_token").needed_secrets()
    assert by_refresh == ["refresh_token", *for_a_person]


@pytest.mark.parametrize(
    "grant", ["refresh_token", "authorization_code", "device_code"]
)
def test_an_application_that_has_a_secret_uses_it(grant: str) -> None:
    assert "client_secret" in oauth("client_secret", grant=grant).needed_secrets()


def test_with_mtls_the_key_is_opened_and_a_left_over_secret_is_not() -> None:
    values = MINIMAL | {
        "oauth2.client_auth": "mtls",
        "tls.client_certificate": "/c.pem",
    }
    made = build("acme", values, secrets=oauth("client_secret").secrets)
    assert made.needed_secrets() == ["client_key"]


@pytest.mark.parametrize(
    ("kind", "source", "needed"),
    [
        ("bearer", "entered", ["token"]),
        ("basic", "oauth2", ["password"]),
        ("none", "oauth2", []),
    ],
)
def test_without_oauth2_its_secrets_are_left_alone(
    kind: str, source: str, needed: list[str]
) -> None:
    values = MINIMAL | {"authentication_type": kind, "token_source": source}
    assert (
        build("a", values, secrets=oauth("client_secret").secrets).needed_secrets()
        == needed
    )


def test_a_token_that_is_got_has_no_day_entered_by_hand() -> None:
    day = tomllib.loads("day = 2027-01-31")["day"]
    got, entered = (
        {"token_expires_on": day, "token_source": way} for way in ("oauth2", "entered")
    )
    assert build("a", MINIMAL | got).expires_on is None
    assert build("a", MINIMAL | entered).expires_on == day


# ── the table ─────────────────────────────────────────────────────────────────────────


def test_a_condition_holds_only_with_the_one_it_stands_on() -> None:
    field, holding = (
        BY_PATH["oauth2.device_url"],
        MINIMAL | {"oauth2.grant": "device_code"},
    )
    assert field.applies(holding)
    assert not field.applies(holding | {"token_source": "entered"})
    assert not field.applies(holding | {"oauth2.grant": "refresh_token"})
    assert not field.applies({})


def test_a_required_field_may_be_empty_only_where_it_does_not_apply() -> None:
    field, holding = (
        BY_PATH["oauth2.device_url"],
        MINIMAL | {"oauth2.grant": "device_code"},
    )
    assert field.parse("", MINIMAL) == field.parse("") == ""
    with pytest.raises(ConfigError, match="Device URL must not be empty"):
        field.parse("", holding)
    with pytest.raises(ConfigError, match="Name must not be empty"):
        BY_PATH["name"].parse("")


@pytest.mark.parametrize(
    "field", [f for f in FIELDS if f.options], ids=lambda field: field.path
)
def test_a_choice_is_read_as_what_it_is_and_has_a_label(field: Field) -> None:
    for value, label in field.choices:
        read = field.parse(value)
        assert (type(read), read, str(read)) == (field.options, value, value)
        assert label


def test_a_secret_is_called_by_the_last_word_of_its_path_but_that_of_the_proxy() -> (
    None
):
    names = [field.secret_name for field in FIELDS if field.secret]
    # Two types have a key of this name; only one of them is used.
    assert names.count("private_key") == 2
    assert list(dict.fromkeys(names)) == [
        "password",
        "token",
        "client_secret",
        "client_assertion",
        "refresh_token",
        "subject_token",
        "actor_token",
        "private_key",
        "consumer_secret",
        "access_token",
        "access_token_secret",
        "secret_access_key",
        "session_token",
        "web_identity_token",
        "secret_key",
        "client_key",
        "proxy_password",
    ]
    assert SENT_TO_TOKEN_URL == (
        "client_secret",
        "client_assertion",
        "refresh_token",
        "subject_token",
        "actor_token",
        "private_key",
    )


# ── export ────────────────────────────────────────────────────────────────────────────


def again(configuration: Configuration) -> Configuration:
    return parse_document(render([configuration], [])).drafts[0].configuration()


def test_an_oauth2_configuration_is_exported_without_its_defaults() -> None:
    assert (
        render([oauth("client_secret", extra={"account_id": "7"})], [])
        == "[configuration.acme]\n"
        'base_url = "https://api.acme.example"\n'
        'authentication_type = "bearer"\n'
        'token_source = "oauth2"\n'
        "[configuration.acme.oauth2]\n"
        'token_url = "https://auth.acme.example/token"\n'
        'client_id = "acme-app"\n'
        'extra = { account_id = "7" }\n'
        'client_secret = "env:CLIENT_SECRET"\n'
    )


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"grant": "device_code", "client_auth": "private_key_jwt", "dpop": True},
        {
            "grant": "authorization_code",
            "scope": "a b",
            "audience": "ä",
            "resource": "x",
        },
        {"grant": "refresh_token", "body_format": "json", "token_header": "X-Token"},
        {
            "leeway_seconds": 0.5,
            "default_lifetime_seconds": 60,
            "issuer": "https://i.example/t",
        },
        {"revocation_url": f"{TOKEN_URL}/r", "introspection_url": f"{TOKEN_URL}/i"},
        {"extra": {"dotted.name": 'quo"te', "ä": "\\", "grant_type": "own"}},
    ],
    ids=str,
)
def test_an_exported_oauth2_configuration_can_be_applied_again(
    values: dict[str, object],
) -> None:
    made = oauth("client_secret", "refresh_token", **values)
    assert again(made) == made


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cf"]), max_size=20
)


@given(extra=st.dictionaries(TEXT.filter(bool).map("x-{}".format), TEXT, max_size=4))
def test_any_extra_parameters_come_back_as_they_were(extra: dict[str, str]) -> None:
    assert again(oauth(extra=extra)).oauth2.extra == extra


def test_a_table_is_written_with_its_values() -> None:
    text = render_table(
        "oauth2", {"token_url": TOKEN_URL, "dpop": True, "extra": {"a b": "c"}}
    )
    assert tomllib.loads(text) == {
        "oauth2": {"token_url": TOKEN_URL, "dpop": True, "extra": {"a b": "c"}}
    }


def test_a_document_takes_only_references_for_the_secrets_of_oauth2() -> None:
    text = render([oauth("client_secret")], []).replace("env:CLIENT_SECRET", "hunter2")
    with pytest.raises(ConfigError, match="must be a reference") as caught:
        parse_document(text)
    assert caught.value.field == "oauth2.client_secret"
    assert "hunter2" not in str(caught.value)


def test_a_changed_address_needs_references_to_be_named_again() -> None:
    stored = oauth("client_secret")
    draft = '[configuration.acme.oauth2]\ntoken_url = "https://evil.example/token"'
    merged = parse_document(draft).drafts[0].merged(stored)
    with pytest.raises(SecretRebindRequired):
        merged.refuse_unbound("client_secret")
    named = f'{draft}\nclient_secret = "env:CLIENT_SECRET"'
    again_named = parse_document(named).drafts[0].merged(stored)
    again_named.refuse_unbound("client_secret")
    assert again_named.secrets["client_secret"].version == 2


def test_a_reference_that_is_named_again_is_no_new_version() -> None:
    stored = oauth("client_secret")
    merged = parse_document(render([stored], [])).drafts[0].merged(stored)
    assert merged == stored


# ── secrets as parts of a text ────────────────────────────────────────────────────────


def test_what_is_joined_with_a_secret_is_secret() -> None:
    joined = Secret.joined("a=", Secret("ü"), "&", Secret(""))
    assert joined.reveal() == "a=ü&"
    assert str(joined) == "***"
    assert Secret.joined() == Secret("")


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("ü€😀", 9), ("\ud800", 3)]
)
def test_a_length_on_the_wire_is_in_bytes(text: str, length: int) -> None:
    assert Secret(text).wire_length == length


def test_a_secret_tells_whether_a_text_gives_it_away() -> None:
    assert Secret("hunter2").occurs_in("X-HUNTER2")
    assert Secret("hunter2").occurs_in("68756e74657232")  # in hexadecimal
    assert not Secret("hunter2").occurs_in("hunter")
    assert not Secret("key").occurs_in("monkey")  # so short that it stands in words
    assert Secret("key").occurs_in("key")
    assert not Secret("").occurs_in("anything")


def test_a_header_that_servers_log_does_not_carry_a_token() -> None:
    for name in ("User-Agent", "accept", "Content-Type"):
        with pytest.raises(ConfigError) as caught:
            oauth(token_header=name)
        assert caught.value.field == "token_header"
