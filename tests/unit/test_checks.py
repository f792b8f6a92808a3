import json
from base64 import urlsafe_b64encode
from datetime import date

import pytest

from outkey.core.checks import Level
from outkey.core.config import HeaderRow
from outkey.core.errors import (
    AuthenticationRequired,
    EgressDenied,
    InactiveConfiguration,
    OutkeyError,
)
from outkey.testing import configuration, fake_gateway


def ids(
    *, secrets: dict[str, str] | None = None, headers: tuple[HeaderRow, ...] = (), **values: object
) -> list[str]:
    made = configuration(headers=headers, **values)
    return [finding.id for finding in fake_gateway(made, secrets=secrets).gateway.findings("acme")]


def test_a_sound_configuration_has_no_findings() -> None:
    assert ids(authentication_type="basic", username="u", secrets={"password": "p"}) == []


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"active": False, "no_auth_reason": "public_api"}, InactiveConfiguration),
        ({}, AuthenticationRequired),
        ({"no_auth_reason": "internal"}, AuthenticationRequired),
        ({"base_url": "http://api.acme.example", "no_auth_reason": "public_api"}, EgressDenied),
    ],
)
def test_what_forbids_sending_is_an_error_and_a_finding(
    values: dict[str, object], error: type[OutkeyError]
) -> None:
    world = fake_gateway(configuration(**values))
    with pytest.raises(error) as caught:
        world.gateway.send("acme", "GET", "/")
    assert world.transport.sent == []
    found = world.gateway.findings("acme")[0]
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
    assert fake_gateway(configuration(**values)).gateway.send("acme", "GET", "/").status == 200


def test_a_missing_secret_is_an_error_finding_of_its_field() -> None:
    world = fake_gateway(configuration(authentication_type="bearer"))
    (found,) = world.gateway.findings("acme")
    assert (found.id, found.field) == ("E-secret_missing", "token")


def test_every_missing_secret_is_a_finding() -> None:
    rows = (HeaderRow("X-API-Key", "", secret=True), HeaderRow("X-Other-Key", "", secret=True))
    made = configuration(headers=rows, authentication_type="basic", username="u")
    fields = [f.field for f in fake_gateway(made).gateway.findings("acme")]
    assert fields == ["password", "header:X-API-Key", "header:X-Other-Key"]


def test_a_client_certificate_needs_its_key() -> None:
    found = ids(no_auth_reason="public_api", tls__client_certificate="/some/file.pem")
    assert found == ["E-secret_missing"]


def test_as_many_rows_as_allowed_can_be_sent() -> None:
    rows = tuple(HeaderRow(f"X-{n}", "v", secret=False) for n in range(64))
    assert ids(no_auth_reason="public_api", headers=rows) == []


def test_an_authorization_row_beside_a_type_is_a_conflict() -> None:
    row = HeaderRow("authorization", "Token x", secret=False)
    assert ids(authentication_type="bearer", secrets={"token": "t"}, headers=(row,)) == [
        "E-header_conflict"
    ]
    assert ids(no_auth_reason="public_api", headers=(row,)) == []


def test_credentials_in_clear_are_a_warning() -> None:
    row = HeaderRow("X-API-Key", "", secret=True)
    inside = {"base_url": "http://10.0.0.1", "network": "internal"}
    secrets = {"header:X-API-Key": "k", "token": "t"}
    assert ids(secrets=secrets, authentication_type="bearer", **inside) == ["W001"]
    assert ids(secrets=secrets, headers=(row,), **inside) == ["W001"]
    assert ids(**inside) == []


def test_an_empty_user_and_an_underscore_are_warnings() -> None:
    assert ids(authentication_type="basic", secrets={"password": "p"}) == ["W002"]
    row = HeaderRow("X_API_KEY", "v", secret=False)
    assert ids(no_auth_reason="public_api", headers=(row,)) == ["W003"]


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
    findings = fake_gateway(made, secrets={"token": "t"}).gateway.findings("acme")
    assert [f.message for f in findings] == ([found] if found else [])
    made = configuration(no_auth_reason="public_api", token_expires_on=last_day)
    assert fake_gateway(made).gateway.findings("acme") == []


def test_what_is_removed_from_a_pasted_secret_is_a_notice() -> None:
    row = HeaderRow("X-API-Key", "", secret=True)
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
        authentication_type="bearer", token_expires_on=date(2030, 1, 1), secrets={"token": token}
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
