"""Commands become what curl sends: compared with the real curl, header by header."""

import os
import shutil
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, unquote_plus, urlsplit

import pytest

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.sending.core.request.message import Request
from unit.curl_commands import HOSTILE, OTHERS, PLACEHOLDERS, POSIX, Windows
from unit.echo_for_curl import CurlEcho, Sent, curl_echo
from unit.imports import (
    configuration_of,
    found_secrets,
    plain,
    reported,
    requests_of,
    values_of,
)

CURL = shutil.which("curl")
# What each client sets for itself.
OF_CLIENTS = {"host", "user-agent", "accept", "accept-encoding", "content-length"}
OF_CLIENTS |= {"connection", "expect", "transfer-encoding"}
# What the report calls a header that a script signs or that lacks its secret.
SYNONYMS = {
    "authorization": {"aws signature version 4", "password", "basic"},
    "x-amz-date": {"aws signature version 4"},
    "x-amz-content-sha256": {"aws signature version 4"},
    "x-amz-meta": {"aws signature version 4"},
    "there is no such request": {"path"},
}
SECONDS = 30  # for any command, however long, also with coverage


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CurlEcho]:
    if CURL is None:
        reason = "missing program: curl (Debian package curl)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    with curl_echo(tmp_path_factory.mktemp("curl"), CURL) as running:
        yield running


def pairs(target: str) -> Counter[tuple[str, str]]:
    query = target.partition("?")[2]
    parts = [part.partition("=") for part in query.split("&") if part]
    return Counter((unquote_plus(name), unquote_plus(text)) for name, _, text in parts)


def differences(sent: Sent, imported: Import) -> list[str]:
    """Return what differs between a request of curl and that of the import."""
    path = unquote(sent.target.partition("?")[0])
    for line, request in requests_of(imported):
        target = plain(request.wire_target())
        if line.method == sent.method and unquote(target.partition("?")[0]) == path:
            return list(different_parts(sent, request))
    return ["there is no such request"]


def different_parts(sent: Sent, request: Request) -> Iterator[str]:
    if pairs(plain(request.wire_target())) != pairs(sent.target):
        yield "parameter"
    if request.origin.authority.split(":")[0] != sent.header("host").split(":")[0]:
        yield "host"
    ours = {header.name.lower(): plain(header.value) for header in request.headers}
    theirs = {name.lower(): value for name, value in sent.headers}
    for name in (ours.keys() | theirs.keys()) - OF_CLIENTS:
        if ours.get(name) != theirs.get(name):
            yield name
    if theirs.get("accept", ours["accept"]) != ours["accept"]:
        yield "accept"
    agent = theirs.get("user-agent", "")
    if not agent.startswith("curl/") and agent != ours["user-agent"]:
        yield "user-agent"


def unexplained(sent: Sent, imported: Import) -> list[str]:
    """Return the differences that the report does not name."""
    items = {item.item.lower() for item in imported.report if item.action != "taken"}
    if obtains_token(sent, imported):
        return []
    return [
        name
        for name in differences(sent, imported)
        if not any(name in item for item in items)
        and not SYNONYMS.get(name, {}) & items
    ]


def obtains_token(sent: Sent, imported: Import) -> bool:
    """Whether the request became the one that obtains tokens."""
    values = imported.configurations[0].draft.values
    base = urlsplit(str(values["base_url"])).path
    paths = {base + str(values.get("login.path", "?"))}
    paths.add(urlsplit(str(values.get("oauth2.token_url", "?"))).path)
    return sent.method == "POST" and sent.target.partition("?")[0] in paths


def check(requests: list[Sent], imported: Import) -> None:
    assert requests, "curl sent nothing"
    for sent in requests:
        assert unexplained(sent, imported) == []


def test_there_are_at_least_150_commands() -> None:
    assert len(POSIX) + len(OTHERS) >= 150


@pytest.mark.parametrize("name", POSIX)
def test_a_command_is_imported_as_curl_sends_it(name: str, echo: CurlEcho) -> None:
    check(echo.run_shell(POSIX[name]), read_import(POSIX[name]))


@pytest.mark.parametrize("name", OTHERS)
def test_a_command_of_another_shell_is_imported_as_curl_sends_its_arguments(
    name: str, echo: CurlEcho
) -> None:
    case: Windows = OTHERS[name]
    check(echo.run_arguments(case.arguments), read_import(case.text))


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_a_placeholder_is_not_kept_as_a_secret(name: str) -> None:
    imported = read_import(PLACEHOLDERS[name])
    assert found_secrets(imported) == {}
    assert imported.configurations[0].draft.references
    assert "dropped" in {str(item.action) for item in imported.report}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_command_is_refused_or_harmless_in_time(
    name: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    try:
        imported = read_import(HOSTILE[name])
    except OutkeyError as error:
        assert isinstance(error, ConfigError)
        assert "s3cr3t" not in f"{error} {error.hint}"
    else:
        shown = " ".join(f"{item.item} {item.why}" for item in imported.report)
        assert "s3cr3t" not in shown
        assert "sk_live" not in shown
        configuration = configuration_of(imported)
        assert "__import__" not in configuration.script
        compile(configuration.script, "script", "exec")
        assert all("\n" not in row.value for row in configuration.rows)
    assert time.monotonic() - began < SECONDS
    assert not Path("/tmp/owned").exists()


# ── what becomes of single options ──────────────────────────────────────────────────

BASE = "curl https://api.acme.example/v2/orders"


def test_a_name_path_and_test_path_come_from_the_url() -> None:
    imported = read_import(BASE + "?status=open -u svc:s3cr3t99")
    configuration = configuration_of(imported)
    assert configuration.name == "acme"
    assert configuration.base_url == "https://api.acme.example/v2"
    assert configuration.verification.test_path == "/orders?status=open"
    assert imported.lines[0].line.name == "acme orders"
    assert str(configuration.environment) == "production"
    assert str(configuration.network) == "public"


def test_a_token_request_becomes_oauth2() -> None:
    imported = read_import(
        "curl https://id.acme.example/token -u app-1:8s7d6f5g "
        "-d grant_type=client_credentials -d scope=a%20b -d tenant=x -d api_key=8s7d"
    )
    values = imported.configurations[0].draft.values
    assert values["oauth2.token_url"] == "https://id.acme.example/token"
    assert values["oauth2.client_id"] == "app-1"
    assert values["oauth2.client_auth"] == "basic"
    assert values["oauth2.scope"] == "a b"
    assert values["oauth2.extra"] == {"tenant": "x"}
    assert found_secrets(imported) == {"client_secret": "8s7d6f5g"}
    assert reported(imported)["parameter api_key"] == "dropped"
    assert reported(imported)["base_url"] == "changed"


def test_a_token_request_and_a_call_become_one_configuration() -> None:
    imported = read_import(
        "curl https://id.acme.example/token -d grant_type=client_credentials "
        "-d client_id=app-1 -d client_secret=8s7d6f5g\n"
        'curl https://api.acme.example/v2/orders -H "Authorization: Bearer $TOKEN"'
    )
    (one,) = imported.configurations
    assert one.draft.values["base_url"] == "https://api.acme.example/v2"
    assert one.draft.values["oauth2.client_id"] == "app-1"


def test_a_login_becomes_a_login_with_placeholders() -> None:
    imported = read_import(
        "curl https://cms.example/api/auth/login -H 'Content-Type: application/json' "
        """-d '{"email":"svc@x.example","password":"s3cr3t99","mode":"json","otp":1}'"""
        "\ncurl https://cms.example/api/items"
    )
    values = imported.configurations[0].draft.values
    assert values["token_source"] == "login"
    assert values["login.path"] == "/auth/login"
    assert values["base_url"] == "https://cms.example/api"
    assert values["username"] == "svc@x.example"
    assert "{username}" in str(values["login.body"])
    assert "s3cr3t99" not in str(values["login.body"])
    assert found_secrets(imported) == {"password": "s3cr3t99"}


def test_more_secrets_of_a_login_have_one_place_only() -> None:
    imported = read_import(
        "curl https://cms.example/session?x=1 -d username=svc -d password=s3cr3t99 "
        "-d api_key=8s7d6f5g -d other_token=9s8d7f6g -d template='a{b'"
        "\ncurl https://cms.example/v1/items"
    )
    body = str(imported.configurations[0].draft.values["login.body"])
    assert body == "username={username}&password={password}&api_key={secret_key}"
    assert found_secrets(imported)["secret_key"] == "8s7d6f5g"
    assert imported.configurations[0].draft.values["login.path"] == "/session?x=1"


def test_a_login_elsewhere_is_named() -> None:
    values = read_import(
        "curl https://cms.example/v1/items\n"
        "curl https://cms.example/login -d user=svc -d password=s3cr3t99"
    )
    assert values.configurations[0].draft.values["base_url"] == "https://cms.example"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("grant_type=password&username=svc&password=s3cr3t99", "login.body"),
        ("grant_type=refresh_token&client_id=a&refresh_token=8s7d", "oauth2.grant"),
        ("grant_type=authorization_code&client_id=a&code=8", "oauth2.grant"),
    ],
)
def test_other_grants(text: str, path: str) -> None:
    values = values_of(f"curl https://id.example/token -d '{text}'")
    assert path in values


def test_the_password_grant_with_basic_sends_the_client_in_the_body() -> None:
    imported = read_import(
        "curl https://id.example/token -u app-1:8s7d6f5g -d grant_type=password "
        "-d username=svc -d password=s3cr3t99"
    )
    body = str(imported.configurations[0].draft.values["login.body"])
    assert "client_id=app-1" in body
    assert "client_secret={secret_key}" in body
    assert found_secrets(imported)["secret_key"] == "8s7d6f5g"


def test_a_user_name_and_a_token_in_base64_are_taken_apart() -> None:
    pair = b64encode(b"erp:issued-token-0815").decode()
    imported = read_import(
        f"curl https://pypi.example/+api -H 'X-Devpi-Auth: {pair}' -H 'X-Tenant: 7'"
    )
    values = dict(imported.configurations[0].draft.values)
    assert values["authentication_type"] == "bearer"
    assert values["token_header"] == "X-Devpi-Auth"
    assert values["token_value"] == "{username}:{token}"
    assert (values["token_encoding"], values["username"]) == ("base64", "erp")
    assert found_secrets(imported) == {"token": "issued-token-0815"}
    assert [row.key for row in configuration_of(imported).headers] == ["X-Tenant"]


@pytest.mark.parametrize(
    "command",
    [
        f"-H 'X-Auth: {b64encode(b'no colon at all').decode()}'",
        f"-H 'X-Auth: {b64encode(b'erp:two:colons').decode()}'",
        f"-H 'X-Auth: {b64encode(bytes(range(200, 230))).decode()}'",
        "-H 'X-Auth: short'",
        f"-u me:secret -H 'X-Auth: {b64encode(b'erp:issued-token').decode()}'",
        f"--oauth2-bearer t -H 'X-Auth: {b64encode(b'erp:issued-token').decode()}'",
    ],
)
def test_another_key_in_a_header_stays_a_row(command: str) -> None:
    imported = read_import(f"curl https://api.example/v1/me {command}")
    assert "token_encoding" not in imported.configurations[0].draft.values
    assert [row.key for row in configuration_of(imported).headers] == ["X-Auth"]


def test_digest() -> None:
    values = values_of(BASE + " --digest -u svc:s3cr3t99")
    assert values["authentication_type"] == "digest"
    assert values["username"] == "svc"


def test_a_user_without_a_password_is_asked_for_one() -> None:
    imported = read_import(BASE + " -u svc")
    assert imported.configurations[0].draft.values["username"] == "svc"
    assert reported(imported)["password"] == "dropped"
    assert list(imported.configurations[0].draft.references) == ["password"]


@pytest.mark.parametrize("password", ["x", "X", "api_token"])
def test_a_user_name_beside_a_password_that_is_none_is_the_secret(
    password: str,
) -> None:
    imported = read_import(f"{BASE} -u 8d2f6c1e4b7a9035f1d2:{password}")
    values = imported.configurations[0].draft.values
    assert values["key_as_username"] is True
    assert values["username"] == password
    assert found_secrets(imported)["password"] == "8d2f6c1e4b7a9035f1d2"
    assert reported(imported)["user name"] == "changed"


def test_a_proxy_has_its_own_credentials() -> None:
    imported = read_import(
        BASE + " -x proxy.corp.example:3128 -U px:9s8d7f6g -u a:s3c9"
    )
    values = imported.configurations[0].draft.values
    assert values["proxy.url"] == "http://proxy.corp.example:3128"
    assert values["proxy.username"] == "px"
    assert found_secrets(imported)["proxy_password"] == "9s8d7f6g"
    values = values_of(BASE + " -x http://px:9s8d7f6g@proxy.corp.example -u a:s3c9")
    assert values["proxy.url"] == "http://proxy.corp.example:1080"
    assert reported(read_import(BASE + " -x socks5://p:1 -u a:s3c9"))["--proxy"] == (
        "dropped"
    )


def test_certificates_are_paths_and_their_key_is_to_enter() -> None:
    imported = read_import(
        BASE + " --cacert /etc/ca.pem -E /etc/c.pem:8s7d --key /etc/k.pem --pass 8s7d"
    )
    values = imported.configurations[0].draft.values
    assert values["tls.ca_file"] == "/etc/ca.pem"
    assert values["tls.client_certificate"] == "/etc/c.pem"
    references = imported.configurations[0].draft.references
    assert str(references["client_key"]) == "file:/etc/k.pem"
    assert reported(imported)["client key"] == "changed"
    assert reported(imported)["--pass"] == "dropped"
    relative = read_import(BASE + " -E c.pem").configurations[0].draft.references
    assert str(relative["client_key"]) == "env:ACME_CLIENT_KEY"
    p12 = read_import(BASE + " -E c.p12 -u a:s3c9")
    assert reported(p12)["--cert"] == "dropped"


def test_limits() -> None:
    values = values_of(
        BASE + " -m 30 --connect-timeout 2.5 --retry 99 -u a:s3c9 --tlsv1.3"
    )
    assert values["limits.total_timeout"] == 30
    assert values["limits.connect_timeout"] == 2.5
    assert values["limits.retries"] == 10
    assert values["tls.minimum_version"] == "1.3"
    imported = read_import(BASE + " -m soon --connect-timeout 9999 --retry x -u a:s3c9")
    assert reported(imported)["limits.total_timeout"] == "dropped"
    assert reported(imported)["limits.connect_timeout"] == "dropped"


@pytest.mark.parametrize(
    ("option", "item"),
    [
        ("-k", "--insecure"),
        ("-L", "--location"),
        ("-K file", "--config"),
        ("-n", "--netrc"),
        ("-b jar.txt", "--cookie"),
        ("-H @file", "--header"),
        ("-d @file", "--data"),
        ("--json @file", "--json"),
        ("--data-urlencode a@file", "--data-urlencode"),
        ("--url-query @file", "--url-query"),
        ("--ntlm", "--ntlm"),
        ("--resolve a:1:b", "--resolve"),
        ("--unix-socket /x", "--unix-socket"),
        ("--nosuchoption", "option"),
        ("-H nocolon", "--header"),
    ],
)
def test_what_is_never_taken_is_named(option: str, item: str) -> None:
    imported = read_import(f"{BASE} {option} -u svc:s3cr3t99")
    assert reported(imported)[item] == "dropped"


@pytest.mark.parametrize("option", ["-b jar.txt", "-c jar.txt", "--cookie-jar -"])
def test_a_file_with_cookies_leads_to_a_login(option: str) -> None:
    imported = read_import(f"{BASE} {option} -u svc:s3cr3t99")
    [item] = [each for each in imported.report if each.item.startswith("--cookie")]
    assert item.action == "dropped"
    assert "choose Login as Token Source, and Store cookies" in str(item.why)


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        ("page=0&per_page=50", {"kind": "page", "position_parameter": "page"}),
        ("offset=0&limit=20", {"kind": "offset", "position_parameter": "offset"}),
        ("cursor=x&limit=many", {"kind": "cursor", "position_parameter": "cursor"}),
        ("limit=20", {}),
    ],
)
def test_pages_are_seen_in_the_parameters(query: str, pages: dict[str, str]) -> None:
    imported = read_import(f"curl 'https://a.example/v1/x?{query}' -u svc:s3cr3t99")
    seen = imported.lines[0].pagination
    assert pages.items() <= seen.items()
    assert bool(seen) == bool(pages)


def test_sigv4_becomes_the_authentication_type_with_all_keys() -> None:
    imported = read_import(
        "curl --aws-sigv4 aws:amz:eu-west-1:dynamodb -u AKID8S7D:s3cr3tk3y99 "
        "-H 'X-Amz-Target: DynamoDB_20120810.ListTables' "
        "-H 'X-Amz-Date: 20260101T000000Z' "
        "-H 'X-Amz-Security-Token: 8s7d6f' https://dynamodb.eu-west-1.amazonaws.com/"
    )
    made = configuration_of(imported)
    assert made.signs_for_aws
    assert not made.script
    assert (made.aws.access_key_id, made.aws.region, made.aws.service) == (
        "AKID8S7D",
        "eu-west-1",
        "dynamodb",
    )
    assert [row.key for row in made.headers] == ["X-Amz-Target"]
    assert found_secrets(imported) == {
        "secret_access_key": "s3cr3tk3y99",
        "session_token": "8s7d6f",
    }


def test_a_signed_header_of_aws_gives_the_type_and_what_is_no_secret() -> None:
    imported = read_import(
        "curl -H 'Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE"
        "/20260101/eu-west-1/sqs/aws4_request, SignedHeaders=host;x-amz-date,"
        " Signature=ab12' -H 'X-Amz-Date: 20260101T000000Z'"
        " -H 'X-Amz-Security-Token: 8s7d6f5g4h' https://sqs.eu-west-1.amazonaws.com/"
    )
    made = configuration_of(imported)
    assert made.signs_for_aws
    assert (made.aws.access_key_id, made.aws.region, made.aws.service) == (
        "AKIAIOSFODNN7EXAMPLE",
        "eu-west-1",
        "sqs",
    )
    assert made.headers == ()
    assert found_secrets(imported) == {"session_token": "8s7d6f5g4h"}
    assert set(imported.configurations[0].draft.references) == {
        "secret_access_key",
        "session_token",
    }
    report = reported(imported)
    assert report["access_key_id"] == "changed"
    assert report["header X-Amz-Date"] == "changed"


def test_a_session_token_that_was_left_out_is_to_be_entered() -> None:
    imported = read_import(
        "curl --aws-sigv4 aws:amz:eu-west-1:sqs -u AKID8S7D:s3cr3tk3y99"
        " -H 'X-Amz-Security-Token: $AWS_SESSION_TOKEN' https://a.example/v1/x"
    )
    assert found_secrets(imported) == {"secret_access_key": "s3cr3tk3y99"}
    references = imported.configurations[0].draft.references
    assert set(references) == {"secret_access_key", "session_token"}
    assert reported(imported)["session token"] == "changed"


@pytest.mark.parametrize(
    ("url", "payload"),
    [
        ("https://b.s3.eu-west-1.amazonaws.com/x", "unsigned"),
        ("http://127.0.0.1:9000/b/x", "signed"),  # where it must be
    ],
)
def test_an_unsigned_payload_stays_one_over_https(url: str, payload: str) -> None:
    imported = read_import(
        "curl --aws-sigv4 aws:amz:eu-west-1:s3 -u AKID8S7D:s3cr3tk3y99"
        f" -H 'X-Amz-Content-Sha256: UNSIGNED-PAYLOAD' {url}"
    )
    made = configuration_of(imported)
    assert made.aws.payload.value == payload
    assert made.headers == ()


def test_a_signature_without_region_and_keys_leaves_them_to_be_entered() -> None:
    imported = read_import('curl --aws-sigv4 aws:amz -u "$K:$S" https://a.example/v1/x')
    made = configuration_of(imported)
    assert (made.aws.region, made.aws.access_key_id) == ("REGION", "ACCESS_KEY_ID")
    report = reported(imported)
    assert {report[key] for key in ("region", "service", "access_key_id")} == {
        "dropped"
    }
    assert found_secrets(imported) == {}


@pytest.mark.parametrize(
    ("method", "token", "missing"),
    [
        (
            "HMAC-SHA256",
            ', oauth_token="t%2F1"',
            {"consumer_secret", "access_token_secret"},
        ),
        ("RSA-SHA1", ', oauth_token="t%2F1"', {"private_key"}),
        ("HMAC-SHA1", "", {"consumer_secret"}),
    ],
)
def test_a_signed_header_of_oauth_1_0a_gives_the_type_and_what_is_no_secret(
    method: str, token: str, missing: set[str]
) -> None:
    header = (
        f'OAuth realm="7", oauth_consumer_key="ck%2B1"{token},'
        f' oauth_signature_method="{method}", oauth_signature="abc%3D"'
    )
    imported = read_import(f"{BASE} -H 'Authorization: {header}'")
    values = imported.configurations[0].draft.values
    assert values["authentication_type"] == "oauth1"
    assert values["oauth1.consumer_key"] == "ck+1"
    assert values["oauth1.realm"] == "7"
    assert values["oauth1.signature_method"] == method
    found = {"access_token": "t/1"} if token else {}
    assert found_secrets(imported) == found
    references = imported.configurations[0].draft.references
    assert set(references) == missing | set(found)


def test_other_signatures_are_named() -> None:
    imported = read_import("curl --aws-sigv4 goog4:goog -u a:s3c9 https://a.example/x")
    assert reported(imported)["--aws-sigv4"] == "dropped"
    imported = read_import(BASE + " -H 'Authorization: OAuth oauth_token=\"x\"'")
    assert reported(imported)["Authorization"] == "dropped"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Bearer 8s7d6f", {"token_source": "entered"}),
        ("Token 8s7d6f", {"token_prefix": "Token"}),
        ("8s7d6f5g", {"token_prefix": ""}),
        ("Basic c3ZjOnBhc3M5OQ==", {"username": "svc"}),
        ("Basic svc:s3cr3t99", {"username": "svc"}),
        ("Basic <base64>", {"authentication_type": "basic"}),
        ("some words without a scheme", {"token_prefix": ""}),
        ("Token <your token>", {"token_prefix": "Token"}),
    ],
)
def test_authorization_headers(value: str, expected: dict[str, object]) -> None:
    values = values_of(f"{BASE} -H 'Authorization: {value}'")
    assert expected.items() <= values.items()


def test_a_given_header_wins_over_a_user() -> None:
    values = values_of(BASE + " -u svc:s3cr3t99 -H 'Authorization: Bearer 8s7d6f'")
    assert values["authentication_type"] == "bearer"


def test_text_around_a_secret_stays_in_the_row() -> None:
    imported = read_import(BASE + " -H 'Authorization: Token token=\"8s7d6f5g\"'")
    (row,) = configuration_of(imported).headers
    assert row.value == 'Token token="{secret}"'
    assert found_secrets(imported) == {"header:Authorization": "8s7d6f5g"}


def test_plain_http_becomes_https_but_for_internal_addresses() -> None:
    assert values_of("curl http://a.example:8080/v1/x -u a:s3c9")["base_url"] == (
        "https://a.example:8080/v1"
    )
    values = values_of("curl http://192.168.1.5/v1/x -u a:s3c9")
    assert values["base_url"] == "http://192.168.1.5/v1"
    assert values["network"] == "internal"
    values = values_of("curl 'http://[2001:4860::1]/v1/x' -g -u a:s3c9")
    assert values["base_url"] == "https://[2001:4860::1]/v1"


def test_a_host_that_is_a_variable_is_to_be_entered() -> None:
    imported = read_import('curl "https://$SHOP.example.com/api/x" -u a:s3c9')
    configuration = configuration_of(imported)
    assert configuration.base.origin.host.endswith(".invalid")
    assert reported(imported)["base_url"] == "dropped"


def test_a_secret_in_the_path_is_cut_off() -> None:
    imported = read_import("curl https://hooks.example/T1/B2/8sKd7Jf6Hg5Fd4Sa3Pq2Zw1x")
    assert imported.lines[0].line.path == "/T1/B2"
    assert reported(imported)["path"] == "dropped"


def test_without_any_credential_the_reason_is_to_be_checked() -> None:
    assert values_of(BASE)["no_auth_reason"] == "public_api"
    assert values_of("curl http://127.0.0.1/x")["no_auth_reason"] == "internal"


def test_several_origins_are_several_configurations() -> None:
    imported = read_import(
        "curl https://a.example/v1/x -u a:s3c9 https://b.example/v1/y", name="mine"
    )
    assert [one.draft.name for one in imported.configurations] == ["mine", "mine 2"]


def test_taken_names_get_a_number() -> None:
    imported = read_import(BASE + " -u a:s3c9", taken=["acme", "acme 2"])
    assert imported.configurations[0].draft.name == "acme 3"


def test_headers_that_only_some_requests_have_are_named() -> None:
    imported = read_import(
        "curl https://a.example/v1/x -H 'X-A: 1' -H 'X-Token: 8s7d6f'\n"
        "curl https://a.example/v1/y -H 'X-Token: 8s7d6f'"
    )
    assert reported(imported)["header X-A"] == "dropped"
    assert [row.key for row in configuration_of(imported).headers] == ["X-Token"]


def test_an_unusable_secret_is_to_be_entered() -> None:
    imported = read_import(BASE + " -H $'X-Token: a\\tb\\u00e9c' -u 'a:s3cr\u00e9t9'")
    assert list(found_secrets(imported)) == ["password"]
    assert reported(imported)["header X-Token"] == "dropped"


def test_wrong_rows_are_named() -> None:
    header = read_import(BASE + " -H 'X Y: 1' -H 'X-Note: \u00e9' -u a:s3c9")
    assert "dropped" in reported(header).values()
    query = read_import("curl 'https://a.example/x?a%20key=8s7d6f&a%20key=8'")
    assert reported(query)["parameter"] == "dropped"


def test_powershell_of_browsers_is_named() -> None:
    with pytest.raises(ConfigError, match="PowerShell command"):
        read_import("Invoke-WebRequest -Uri https://a.example")


def test_limits_of_a_paste() -> None:
    with pytest.raises(ConfigError, match="longer than 65536"):
        read_import("curl https://a.example/" + "a" * 70_000)
    with pytest.raises(ConfigError, match="longer than 2 MiB"):
        read_import("a" * 3_000_000)
    with pytest.raises(ConfigError, match="nothing to import"):
        read_import("  \n ")
    with pytest.raises(ConfigError, match="not recognized"):
        read_import("hello")
    with pytest.raises(ConfigError, match="no curl command"):
        read_import("wget https://a.example", source="curl")


def test_methods_that_outkey_never_sends_are_named() -> None:
    imported = read_import(BASE + " -X TRACE -u a:s3c9")
    assert reported(imported)["method"] == "dropped"


def test_references_never_name_variables_of_outkey() -> None:
    for name, expected in (
        ("outkey", "API_OUTKEY_PASSWORD"),
        ("1a", "API_1A_PASSWORD"),
    ):
        imported = read_import(BASE + " -u a:s3c9", name=name)
        references = imported.configurations[0].draft.references
        assert str(references["password"]) == f"env:{expected}"


def test_more_headers_than_rows_are_named() -> None:
    headers = " ".join(f"-H 'X-{number}: 1'" for number in range(70))
    imported = read_import(f"{BASE} {headers} -u a:s3c9")
    assert len(configuration_of(imported).headers) == 64
    assert "dropped" in reported(imported).values()
    parameters = "&".join(f"key{number}=8s7d" for number in range(70))
    imported = read_import(f"curl 'https://a.example/x?{parameters}'")
    assert len(configuration_of(imported).query) == 64


def test_more_requests_than_lines_are_named() -> None:
    urls = " ".join(f"https://a.example/v1/x{number}" for number in range(60))
    imported = read_import(f"curl -u a:s3c9 {urls}")
    assert len(imported.lines) == 50
    assert reported(imported)["lines"] == "dropped"


def test_a_request_elsewhere_that_obtains_no_token_is_named() -> None:
    imported = read_import(
        "curl https://b.example/x -d '{grant_type'\n"
        "curl https://a.example/v1/x -u a:s3c9"
    )
    assert reported(imported)["request"] == "dropped"


@pytest.mark.parametrize(
    "command",
    [
        "curl -u a:s3c9 -- https://a.example/v1/x",
        "curl -u a:s3c9 --no-silent https://a.example/v1/x",
        "curl -u a:s3c9 --url-query +raw=1 https://a.example/v1/x",
        "curl -u a:s3c9 -A '' https://a.example/v1/x",
        "curl -u a:s3c9 -H 'Accept: a/b' --json '{}' https://a.example/v1/x",
        "curl -u a:s3c9 -E c.pem https://a.example/v1/x",
        "curl -u a:s3c9 https://a.example/v1/{x,y} https://a.example/v1/[1-3]",
        "sudo time env curl -u a:s3c9 https://a.example/v1/x; sudo time env exec curl",
        "curl -u a:s3c9 https://a.example/v1/x `date` -H 'X-A: 1",
        'curl -u "a:s3\\\nc9" https://a.example/v1/x',
        "curl -u a:s3c9 https://a.example/v1/x -H $'X-A: b",
        "curl -u a:s3c9 https://a.example/v1/x -H $'X-A: \\UFFFFFFFF'",
        "$ curl -u a:s3c9 https://a.example/v1/x\nnothing else",
        'curl -u a:s3c9 ^\n  ^"https://a.example/v1/x^" ^  \n -s',
    ],
)
def test_rarer_forms_are_read(command: str) -> None:
    imported = read_import(command)
    assert configuration_of(imported).base.origin.host == "a.example"
    assert "password" in imported.configurations[0].draft.references


def test_a_long_secret_is_no_placeholder() -> None:
    token = "8s7d6f" * 30
    imported = read_import(f"{BASE} -H 'Authorization: Bearer {token}'")
    assert found_secrets(imported) == {"token": token}


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.shop.co.uk", "shop"),
        ("api.example.com", "example"),
        ("www.api.com", "api"),
        ("box", "box"),
    ],
)
def test_names_of_hosts(host: str, name: str) -> None:
    imported = read_import(f"curl https://{host}/a/b/c/d/e/f/v1/g/h -u a:s3c9")
    assert imported.configurations[0].draft.name == name


def test_requests_of_other_depths_share_a_base() -> None:
    imported = read_import(
        "curl -u a:s3c9 http://a.example/api/v1/x http://a.example/y"
    )
    assert configuration_of(imported).base_url == "https://a.example"
    assert [
        item.facts()["level"] for item in imported.report if item.item == "password"
    ]


def test_a_path_that_is_too_long_for_a_line_is_named() -> None:
    imported = read_import(f"curl -u a:s3c9 https://a.example/v1/x?q={'a' * 3000}")
    assert imported.lines == ()
    assert reported(imported)["line"] == "dropped"


def test_a_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(ConfigError, match="longer than 200"):
        read_import("curl https://a.example/x -u a:s3c9", name="a" * 400)


def test_a_digest_header_becomes_digest() -> None:
    for value, expected in (('username="svc", nonce="8s"', "svc"), ("nonce", None)):
        values = values_of(f"{BASE} -H 'Authorization: Digest {value}'")
        assert values["authentication_type"] == "digest"
        assert values.get("username") == expected


@pytest.mark.parametrize(
    "value", ["eyJhbGciOiJIUzI1NiJ9.e30.x8", "sk_live_8s7d6f", "8sKd7Jf6Hg5Fd4Sa3Pq2Zw"]
)
def test_what_looks_like_a_key_is_a_secret_whatever_its_name(value: str) -> None:
    imported = read_import(
        f"curl 'https://a.example/v1/x?ref={value}&page=1' -H 'X-Ref: {value}'"
    )
    assert found_secrets(imported) == {"header:X-Ref": value, "query:ref": value}
    assert imported.lines[0].line.path == "/x?page=1"


def test_names_that_only_look_like_credentials_stay_in_the_line() -> None:
    imported = read_import(
        "curl 'https://a.example/v1/x?keywords=a&sort_key=b' -u a:s3c9"
    )
    assert imported.lines[0].line.path == "/x?keywords=a&sort_key=b"
