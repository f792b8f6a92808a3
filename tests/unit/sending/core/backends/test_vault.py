import json
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import BackendUnavailable, OutkeyError, SecretMissing
from outkey.foundation.core.secret import Secret
from outkey.sending.core.backends import vault
from outkey.sending.core.backends.rules import rules_of
from outkey.sending.core.backends.settings import Backend, StoreKind, parse_backends
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreSteps,
    json_body,
    json_object,
)
from outkey.sending.core.backends.values import (
    Read,
    Reads,
    StoredValue,
    StoreKey,
    WholeText,
)
from outkey.sending.core.request.message import Request, Response

BACKEND = parse_backends(
    """
    [backend.main]
    store = "vault"
    address = "https://vault.example/base"
    namespace = "team/a"
    login = "approle"
    role_id = "r"
    secret_id = "env:S"
    """
).named("main")
NOW = Moment(1000.0, "n")
SESSION = Session(Secret("s.token"), 2000.0, renewable=True)


def response(status: int, document: object = None) -> Response:
    return Response(status, body=json.dumps(document).encode())


def run(steps: StoreSteps[object], answer: Response) -> tuple[Request, object]:
    request = next(steps)
    assert isinstance(request, Request)
    try:
        steps.send(answer)
    except StopIteration as stop:
        return request, stop.value
    raise AssertionError("it asks for more")


def key(version: str = "", backend: Backend = BACKEND) -> StoreKey:
    return StoreKey(backend, "vault", ("a b", "c"), version)


def value_of(document: object, version: str = "", *, kv: int = 2) -> StoredValue:
    steps = vault.read(key(version, replace(BACKEND, kv=kv)), SESSION, NOW)
    _, value = run(steps, response(200, document))
    assert value is not None
    return value  # type: ignore[return-value]


def test_a_version_of_kv_2_is_one_request_with_the_token() -> None:
    document = {"data": {"data": {"p": "x"}, "metadata": {"version": 7}}}
    request, value = run(vault.read(key("7"), SESSION, NOW), response(200, document))
    assert request.target == "/base/v1/secret/data/a%20b/c?version=7"
    headers = {header.name: header.value for header in request.headers}
    assert headers["X-Vault-Request"] == "true"
    assert headers["X-Vault-Namespace"] == "team/a"
    assert headers["X-Vault-Token"] == Secret("s.token")
    assert value.version == "7"  # type: ignore[attr-defined]


def test_kv_1_has_fields_and_no_versions() -> None:
    assert value_of({"data": {"p": "x"}}, kv=1).pick("p", BACKEND) == Secret("x")
    with pytest.raises(SecretMissing) as refusal:
        next(vault.read(key("1", replace(BACKEND, kv=1)), SESSION, NOW))
    assert refusal.value.reason == "version-absent"


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("absent", "field-absent"),
        ("empty", "secret-empty"),
        ("number", "secret-not-text"),
        ("object", "secret-not-text"),
        ("long", "secret-too-large"),
    ],
)
def test_only_a_text_that_can_be_sent_is_a_secret(field: str, reason: str) -> None:
    fields = {"empty": "", "number": 1, "object": {}, "long": "x" * 65537}
    value = value_of({"data": {"data": fields, "metadata": {"version": 1}}})
    with pytest.raises(SecretMissing) as refusal:
        value.pick(field, BACKEND)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("status", "document", "version", "reason"),
    [
        (403, {"errors": ["canary"]}, "", "backend-denied"),
        (404, {"errors": []}, "", "secret-absent"),
        (404, {"errors": []}, "3", "version-absent"),
        (404, {"data": {"data": None, "metadata": {}}}, "", "secret-deleted"),
        (429, {}, "", "backend-throttled"),
        (503, {"errors": ["Vault is sealed"]}, "", "backend-sealed"),
        (500, {}, "", "backend-unreachable"),
        (400, {}, "", "backend-unreachable"),
        (200, [], "", "backend-unreachable"),
        (200, {"data": {"data": {}, "metadata": {"version": 2}}}, "3", None),
        (200, {"data": {"data": [], "metadata": {"version": 2}}}, "", None),
        (200, {"data": {"data": {}, "metadata": {"version": 10**100}}}, "", None),
    ],
)
def test_every_refusal_of_vault_has_its_reason(
    status: int, document: object, version: str, reason: str | None
) -> None:
    with pytest.raises(OutkeyError) as refusal:
        run(vault.read(key(version), SESSION, NOW), response(status, document))
    assert refusal.value.reason == (reason or "backend-unreachable")  # type: ignore[attr-defined]
    assert "canary" not in str(refusal.value)


def test_a_log_in_sends_its_credentials_to_its_mount_alone() -> None:
    credentials = {"role_id": Secret("r"), "secret_id": Secret('s"1')}
    auth = {"client_token": "t", "lease_duration": 60, "renewable": True}
    steps = vault.log_in(BACKEND, credentials, NOW)
    request, session = run(steps, response(200, {"auth": auth}))
    assert request.target == "/base/v1/auth/approle/login"
    assert request.body == Secret('{"role_id":"r","secret_id":"s\\"1"}')
    assert session == Session(Secret("t"), 1060.0, renewable=True)


@pytest.mark.parametrize(
    ("status", "auth", "reason"),
    [
        (400, None, "backend-login"),
        (403, None, "backend-login"),
        (200, {"client_token": ""}, "backend-login"),
        (200, {"client_token": "t", "lease_duration": "x"}, "backend-login"),
        (200, {"client_token": "t", "lease_duration": 10**400}, "backend-login"),
        (200, {"client_token": "t\r\nX: y", "lease_duration": 1}, "backend-login"),
        (200, {"client_token": "\ud800", "lease_duration": 1}, "backend-login"),
        (503, None, "backend-sealed"),
        (429, None, "backend-throttled"),
    ],
)
def test_a_log_in_that_gives_no_token_is_a_failure(
    status: int, auth: object, reason: str
) -> None:
    steps = vault.log_in(BACKEND, {}, NOW)
    with pytest.raises(BackendUnavailable) as refusal:
        run(steps, response(status, {"auth": auth}))
    assert refusal.value.reason == reason


def test_a_token_from_outside_is_a_session_without_a_request() -> None:
    backend = replace(BACKEND, login="token")
    with pytest.raises(StopIteration) as stop:
        next(vault.log_in(backend, {"token": Secret("t")}, NOW))
    assert stop.value.value == Session(Secret("t"))


def test_a_token_is_extended_until_vault_refuses() -> None:
    auth = {"client_token": "t", "lease_duration": 0}
    request, session = run(
        vault.renew(BACKEND, SESSION, NOW), response(200, {"auth": auth})
    )
    assert request.target == "/base/v1/auth/token/renew-self"
    assert session == Session(Secret("t"), None)
    assert run(vault.renew(BACKEND, SESSION, NOW), response(403))[1] is None
    with pytest.raises(StopIteration) as stop:
        next(vault.renew(BACKEND, replace(SESSION, renewable=False), NOW))
    assert stop.value.value is None


@pytest.mark.parametrize(
    ("text", "member", "reason"),
    [
        ('{"a": {"b": "x"}}', "a.b", ""),
        ("plain", "", ""),
        ("plain", "a", "field-absent"),
        ('{"a": 1}', "a", "secret-not-text"),
        ('{"a": 1}', "a.b", "field-absent"),
    ],
)
def test_a_member_of_a_json_object_is_picked(
    text: str, member: str, reason: str
) -> None:
    value = WholeText(Secret(text))
    if not reason:
        assert value.pick(member, BACKEND) in (Secret("x"), Secret("plain"))
        return
    with pytest.raises(SecretMissing) as refusal:
        value.pick(member, BACKEND)
    assert refusal.value.reason == reason


def test_the_record_of_a_read_names_no_value_and_no_private_path() -> None:
    reads = Reads()
    value = WholeText(Secret("canary"), "7")
    read = Read(
        key(backend=replace(BACKEND, private=True)), value, 0.0, cached=False, ms=3
    )
    reads.fields["token"] = read, ""
    [source] = reads.sources()
    expected = {"field": "token", "backend": "main", "version": "7"}
    assert source.facts() == {**expected, "cached": False, "ms": 3}
    reads.fields["token"] = replace(read, key=key()), ""
    assert reads.sources()[0].facts()["path"] == "a b/c"


def test_a_body_that_is_no_object_is_empty_and_an_empty_body_is_one() -> None:
    assert json_object(Response(200, body=b"[1]")) == {}
    assert json_object(Response(200, body=b"<html>")) == {}
    assert json_body({}) == Secret("{}")


def test_each_store_has_its_own_module() -> None:
    assert rules_of(StoreKind.VAULT).read is vault.read
