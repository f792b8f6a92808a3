import json
from base64 import urlsafe_b64encode
from datetime import date

import pytest

from outkey.foundation.core.errors import (
    AuthenticationRequired,
    ConfigError,
    EgressDenied,
    HeaderConflict,
    InactiveConfiguration,
    OutkeyError,
    secret_missing,
)
from outkey.foundation.core.findings.checks import Check, Level, merge_findings
from outkey.sending.core.configuration.checks import is_key_parameter, refuse_unsavable
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.testing import configuration, fake_gateway


def ids(
    *,
    secrets: dict[str, str] | None = None,
    headers: tuple[CustomHeader, ...] = (),
    **values: object,
) -> list[str]:
    made = configuration(headers=headers, **values)
    return [
        finding.id for finding in fake_gateway(made, secrets=secrets).findings("acme")
    ]


def test_a_sound_configuration_has_no_findings() -> None:
    assert (
        ids(authentication_type="basic", username="u", secrets={"password": "p"}) == []
    )


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"active": False, "no_auth_reason": "public_api"}, InactiveConfiguration),
        ({}, AuthenticationRequired),
        ({"no_auth_reason": "internal"}, AuthenticationRequired),
        (
            {"base_url": "http://api.acme.example", "no_auth_reason": "public_api"},
            EgressDenied,
        ),
    ],
)
def test_what_forbids_sending_is_an_error_and_a_finding(
    values: dict[str, object], error: type[OutkeyError]
) -> None:
    world = fake_gateway(configuration(**values))
    with pytest.raises(error) as caught:
        world.gateway.send("acme", "GET", "/")
    assert world.transport.sent == []
    found = world.findings("acme")[0]
    assert (found.level, found.id) == (Level.ERROR, f"E-{caught.value.code}")
    assert found.field == caught.value.field
    assert found.hint


@pytest.mark.parametrize(
    "values",
    [
        {"environment": "development"},
        {"environment": "test"},
        {"network": "internal"},
        {"no_auth_reason": "public_api"},
    ],
)
def test_none_is_allowed_outside_production_or_inside_or_with_its_reason(
    values: dict[str, object],
) -> None:
    assert (
        fake_gateway(configuration(**values)).gateway.send("acme", "GET", "/").status
        == 200
    )


SECRET_ROW = CustomHeader("X-API-Key", "", secret=True)
SCRIPT = "def compute_auth_header(sync_line):\n    return {}"
OAUTH2 = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__token_url": "https://auth.acme.example/token",
    "oauth2__client_id": "erp",
}


@pytest.mark.parametrize(
    ("values", "error", "field"),
    [
        ({}, AuthenticationRequired, "authentication_type"),
        ({"no_auth_reason": "internal"}, AuthenticationRequired, "authentication_type"),
        (
            {"script": SCRIPT, "script_enabled": False},
            AuthenticationRequired,
            "authentication_type",
        ),
        (
            {"authentication_type": "bearer", "base_url": "http://a.example"},
            EgressDenied,
            "base_url",
        ),
        (
            {**OAUTH2, "oauth2__token_url": "http://a.example"},
            EgressDenied,
            "oauth2.token_url",
        ),
    ],
)
def test_what_can_never_be_sent_is_not_saved_either(
    values: dict[str, object], error: type[OutkeyError], field: str
) -> None:
    with pytest.raises(error) as caught:
        refuse_unsavable(configuration(**values))
    assert caught.value.field == field
    assert caught.value.hint


@pytest.mark.parametrize("active", [True, False])
def test_a_configuration_that_is_switched_off_can_be_saved(*, active: bool) -> None:
    made = configuration(authentication_type="bearer", active=active)
    refuse_unsavable(made)
    assert made.active is active


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
    ],
)
@pytest.mark.parametrize("network", ["public", "internal"])
def test_an_address_that_is_never_sent_to_is_not_saved(host: str, network: str) -> None:
    made = configuration(
        authentication_type="bearer", base_url=f"https://{host}/v1", network=network
    )
    with pytest.raises(EgressDenied, match="never sent to") as caught:
        refuse_unsavable(made)
    assert caught.value.field == "base_url"
    assert host.strip("[]") not in caught.value.message + caught.value.hint
    found = fake_gateway(made, secrets={"token": "t"}).findings("acme")
    assert [(finding.id, finding.field) for finding in found] == [
        ("E-egress_denied", "base_url")
    ]


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "[::ffff:10.0.0.1]", "127.0.0.1", "[::1]", "100.64.0.1"]
)
def test_an_internal_address_is_saved_for_the_internal_network_only(host: str) -> None:
    values = {"authentication_type": "bearer", "base_url": f"https://{host}"}
    with pytest.raises(EgressDenied, match="internal network") as caught:
        refuse_unsavable(configuration(**values))
    assert "Network" in caught.value.hint
    inside = configuration(**values, network="internal")
    refuse_unsavable(inside)
    assert fake_gateway(inside, secrets={"token": "t"}).findings("acme") == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:8000", "the host is an IP address of an internal network"),
        ("http://localhost:8000", "the host is a name of an internal network"),
        ("http://erp.internal", "the host is a name of an internal network"),
        ("http://a.example", "plain http is not allowed on the public internet"),
    ],
)
def test_plain_http_is_not_the_problem_of_an_internal_host(
    url: str, message: str
) -> None:
    made = configuration(authentication_type="bearer", base_url=url)
    with pytest.raises(EgressDenied) as caught:
        refuse_unsavable(made)
    assert caught.value.message == message
    assert caught.value.field == "base_url"
    assert "Internal trusted network" in caught.value.hint


def test_the_token_url_is_vetted_only_where_it_is_used() -> None:
    at_metadata = {"oauth2__token_url": "https://169.254.169.254/token"}
    with pytest.raises(EgressDenied) as caught:
        refuse_unsavable(configuration(**(OAUTH2 | at_metadata)))
    assert caught.value.field == "oauth2.token_url"
    entered = configuration(**(OAUTH2 | at_metadata | {"token_source": "entered"}))
    refuse_unsavable(entered)
    assert not entered.uses_oauth2


@pytest.mark.parametrize(
    "values",
    [
        {"authentication_type": "basic", "username": "u"},
        {"authentication_type": "bearer"},
    ],
)
def test_a_second_source_for_a_header_is_not_saved(values: dict[str, object]) -> None:
    row = CustomHeader("authorization", "Token x", secret=False)
    with pytest.raises(HeaderConflict) as caught:
        refuse_unsavable(configuration(headers=(row,), **values))
    assert caught.value.field == "header:authorization"


def test_two_rows_of_one_name_and_a_row_for_the_token_header_are_not_saved() -> None:
    rows = (
        CustomHeader("X-A", "1", secret=False),
        CustomHeader("x-a", "2", secret=False),
    )
    with pytest.raises(HeaderConflict, match="twice"):
        refuse_unsavable(configuration(headers=rows, no_auth_reason="public_api"))
    row = CustomHeader("X-Token", "", secret=True)
    with pytest.raises(HeaderConflict, match="two sources"):
        refuse_unsavable(
            configuration(headers=(row,), **OAUTH2, token_header="X-Token")
        )


def test_a_row_for_the_proof_of_dpop_is_not_saved() -> None:
    row = CustomHeader("dpop", "x", secret=False)
    with pytest.raises(HeaderConflict, match="two sources") as caught:
        refuse_unsavable(configuration(headers=(row,), **OAUTH2, oauth2__dpop=True))
    assert caught.value.field == "header:dpop"
    refuse_unsavable(configuration(headers=(row,), **OAUTH2))


@pytest.mark.parametrize(
    ("headers", "values"),
    [((SECRET_ROW,), {}), ((), {"script": SCRIPT})],
    ids=["row", "script"],
)
def test_a_secret_row_or_a_script_is_a_credential_and_needs_no_reason(
    headers: tuple[CustomHeader, ...], values: dict[str, object]
) -> None:
    made = configuration(headers=headers, **values)
    refuse_unsavable(made)
    world = fake_gateway(made, secrets={"header:X-API-Key": "k"})
    assert world.findings("acme") == []
    assert world.gateway.send("acme", "GET", "/").status == 200


def test_a_conflict_is_found_though_a_secret_is_missing() -> None:
    row = CustomHeader("Authorization", "Token x", secret=False)
    assert ids(authentication_type="bearer", headers=(row,)) == [
        "E-secret_missing",
        "E-header_conflict",
    ]


def test_a_missing_secret_is_an_error_finding_of_its_field() -> None:
    world = fake_gateway(configuration(authentication_type="bearer"))
    (found,) = world.findings("acme")
    assert (found.id, found.field) == ("E-secret_missing", "token")


def test_every_missing_secret_is_a_finding() -> None:
    rows = (
        CustomHeader("X-API-Key", "", secret=True),
        CustomHeader("X-Other-Key", "", secret=True),
    )
    made = configuration(headers=rows, authentication_type="basic", username="u")
    fields = [f.field for f in fake_gateway(made).findings("acme")]
    assert fields == ["password", "header:X-API-Key", "header:X-Other-Key"]


def test_a_client_certificate_needs_its_key() -> None:
    found = ids(no_auth_reason="public_api", tls__client_certificate="/some/file.pem")
    assert found == ["E-secret_missing"]


def test_a_client_certificate_is_a_credential_and_needs_no_reason() -> None:
    made = configuration(tls__client_certificate="/some/file.pem")
    refuse_unsavable(made)
    world = fake_gateway(made, secrets={"client_key": "k"})
    assert world.findings("acme") == []
    assert world.gateway.send("acme", "GET", "/").status == 200


def test_a_client_certificate_is_not_a_credential_without_tls() -> None:
    inside = {"base_url": "http://10.0.0.1", "network": "internal"}
    made = configuration(tls__client_certificate="/some/file.pem", **inside)
    assert not made.sends_credentials
    secrets = {"client_key": "k"}
    assert (
        ids(secrets=secrets, tls__client_certificate="/some/file.pem", **inside) == []
    )


def test_as_many_rows_as_allowed_can_be_sent() -> None:
    rows = tuple(CustomHeader(f"X-{n}", "v", secret=False) for n in range(64))
    assert ids(no_auth_reason="public_api", headers=rows) == []


def test_an_authorization_row_beside_a_type_is_a_conflict() -> None:
    row = CustomHeader("authorization", "Token x", secret=False)
    assert ids(
        authentication_type="bearer", secrets={"token": "t"}, headers=(row,)
    ) == ["E-header_conflict"]
    assert ids(no_auth_reason="public_api", headers=(row,)) == []


def test_credentials_in_clear_are_a_warning() -> None:
    row = SECRET_ROW
    inside = {"base_url": "http://10.0.0.1", "network": "internal"}
    secrets = {"header:X-API-Key": "k", "token": "t"}
    assert ids(secrets=secrets, authentication_type="bearer", **inside) == ["W001"]
    assert ids(secrets=secrets, headers=(row,), **inside) == ["W001"]
    assert ids(script=SCRIPT, **inside) == ["W001"]
    assert ids(**inside) == []
    here = inside | {"base_url": "http://127.0.0.1:9000"}
    assert ids(script=SCRIPT, **here) == []
    assert ids(script=SCRIPT, **here, proxy__url="http://10.0.0.1:3128") == ["W001"]


def test_an_empty_user_and_an_underscore_are_warnings() -> None:
    assert ids(authentication_type="basic", secrets={"password": "p"}) == ["W002"]
    row = CustomHeader("X_API_KEY", "v", secret=False)
    assert ids(no_auth_reason="public_api", headers=(row,)) == ["W003"]


def test_a_consent_without_pkce_is_a_warning_where_there_is_a_consent() -> None:
    consent: dict[str, object] = {
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2__grant": "authorization_code",
        "oauth2__token_url": "https://auth.acme.example/token",
        "oauth2__authorization_url": "https://auth.acme.example/authorize",
        "oauth2__client_id": "acme-app",
    }
    assert ids(**consent) == []
    assert ids(**consent, oauth2__pkce="off") == ["W013"]
    device = consent | {
        "oauth2__grant": "device_code",
        "oauth2__device_url": "https://auth.acme.example/device",
    }
    assert ids(**device, oauth2__pkce="off") == []


def test_a_very_long_secret_is_a_warning() -> None:
    assert ids(authentication_type="bearer", secrets={"token": "x" * 4096}) == []
    assert ids(authentication_type="bearer", secrets={"token": "x" * 4097}) == ["W004"]


@pytest.mark.parametrize(
    ("last_day", "found"),
    [
        (date(2027, 1, 14), "the token expired on 2027-01-14"),
        (date(2027, 1, 15), "the token expires on 2027-01-15"),
        (date(2027, 2, 14), "the token expires on 2027-02-14"),
        (date(2027, 2, 15), None),
    ],
)
def test_an_expiry_date_that_is_near_or_past_is_a_warning(
    last_day: date, found: str | None
) -> None:
    made = configuration(authentication_type="bearer", token_expires_on=last_day)
    findings = fake_gateway(made, secrets={"token": "t"}).findings("acme")
    assert [f.message for f in findings] == ([found] if found else [])
    made = configuration(no_auth_reason="public_api", token_expires_on=last_day)
    assert fake_gateway(made).findings("acme") == []


def test_what_is_removed_from_a_pasted_secret_is_a_notice() -> None:
    row = CustomHeader("X-API-Key", "", secret=True)
    secrets = {"token": "Bearer abc", "header:X-API-Key": "k\n"}
    found = ids(authentication_type="bearer", secrets=secrets, headers=(row,))
    assert found == ["N001", "N001"]


def jwt(claims: object) -> str:
    payload = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"exp": 1_800_000_000 + 86_400 * 10}, ["W005"]),
        ({"exp": 1_800_000_000 - 86_400}, ["W005"]),
        ({"exp": 1_800_000_000 + 86_400 * 90}, []),
        ({"exp": "soon"}, []),
        ({"exp": True}, []),
        ({"exp": -1}, []),
        ({"exp": 10**18}, []),
        ({}, []),
        (["exp"], []),
    ],
)
def test_an_entered_token_that_names_its_end_is_watched(
    claims: object, expected: list[str]
) -> None:
    assert ids(authentication_type="bearer", secrets={"token": jwt(claims)}) == expected


@pytest.mark.parametrize("token", ["opaque", "a.b", "a.!!!.c", "e30.YQ.c2ln"])
def test_a_token_that_is_no_jwt_names_no_end(token: str) -> None:
    assert ids(authentication_type="bearer", secrets={"token": token}) == []


def test_the_date_that_a_person_entered_counts_before_the_token_s_own() -> None:
    token = jwt({"exp": 1_800_000_000})
    found = ids(
        authentication_type="bearer",
        token_expires_on=date(2030, 1, 1),
        secrets={"token": token},
    )
    assert found == []


def test_blanks_around_a_client_secret_are_removed_with_a_notice() -> None:
    values = {
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2__token_url": "https://auth.acme.example/token",
        "oauth2__client_id": "erp",
    }
    assert ids(**values, secrets={"client_secret": " padded-secret\n"}) == ["N001"]
    assert ids(**values, secrets={"client_secret": "clean-secret"}) == []
    values["oauth2__client_auth"] = "private_key_jwt"
    assert ids(**values, secrets={"client_secret": "a-key\n"}) == []


@pytest.mark.parametrize(
    "path",
    [
        "/q?api_key=8s7d6f5g4",
        "/q?page=1&access_token=sk-abcdefgh",
        "/q?u=sync&p=hunter2-8s7d",
    ],
)
def test_a_key_in_the_test_path_is_refused_and_sent_to_the_query_rows(
    path: str,
) -> None:
    made = configuration(authentication_type="bearer", verification__test_path=path)
    with pytest.raises(ConfigError, match="has a key in its query") as caught:
        refuse_unsavable(made)
    assert caught.value.field == "verification.test_path"
    assert "Query parameters, as secret" in caught.value.hint
    assert "8s7d" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    "path",
    [
        "/q",
        "/q?keyword=a1b2c3d4e5",
        "/q?api_key={key}",
        "/q?api_key=YOUR_API_KEY",
        "/q?user=7&p=1000",
        "/q?key=42",
        "/q?page_token=a1b2c3d4e5f6",
        "/q?auth_type=client_credentials",
        "/q?sort_key=created_at_2",
    ],
)
def test_a_test_path_without_a_key_is_saved(path: str) -> None:
    made = configuration(authentication_type="bearer", verification__test_path=path)
    refuse_unsavable(made)
    name, _, value = path.partition("?")[2].partition("=")
    assert not is_key_parameter(name, value)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("token", "token is not set"),
        ("header:X-Key", "Header X-Key is not set"),
        ("query:api_key", "Query parameter api_key is not set"),
    ],
)
def test_a_secret_that_was_never_entered_is_named_without_talk_of_references(
    field: str, message: str
) -> None:
    error = secret_missing(field)
    assert (error.message, error.hint) == (message, "Enter the secret.")


def test_findings_that_read_the_same_are_one() -> None:
    check = Check("C-x", Level.NOTICE, "the {what} is odd", "Look.")
    first = check.finding("token", what="value")
    others = (check.finding("password", what="value"), check.finding(None, what="row"))
    assert merge_findings((first, *others)) == (first, others[1])
