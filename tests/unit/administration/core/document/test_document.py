from dataclasses import fields, replace
from datetime import date
from itertools import chain

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.errors import ConfigError, OutkeyError, SecretRebindRequired
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.hosts.file.loading import from_text
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS
from outkey.sending.core.configuration.sections import (
    AssertionSettings,
    AwsSettings,
    ConnectSettings,
    CsrfSettings,
    Limits,
    LoginSettings,
    OAuth1Settings,
    OAuth2Settings,
    ProxySettings,
    RotationSettings,
    TlsSettings,
    Verification,
)

WHOLE = """
[configuration.acme]
base_url = "https://api.acme.example/v2"
environment = "test"
network = "internal"
authentication_type = "bearer"
no_auth_reason = "public_api"
username = "api_user"
password = "env:ACME_PASSWORD"
token = "file:/run/secrets/acme"
token_source = "entered"
active = false
notes = '''two
lines'''
token_expires_on = 2027-01-31
[[configuration.acme.headers]]
key = "X-API-Key"
value = "env:ACME_API_KEY"
[[configuration.acme.headers]]
key = "X-Tenant"
value = "  seven "
[[configuration.acme.headers]]
key = "X-Session"
value = "plain on purpose"
secret = false
[[configuration.acme.headers]]
key = "X-From-Env"
value = "env:SOMETHING"
[configuration.acme.tls]
minimum_version = "1.3"
ca_file = "/etc/ssl/acme-ca.pem"
client_certificate = "/etc/ssl/acme-client.pem"
client_key = "file:/run/secrets/acme-client.key"
[configuration.acme.limits]
connect_timeout = 1.5
read_timeout = 2
total_timeout = 3
requests_per_minute = 600
response_mebibytes = 8
retries = 0
[configuration.acme.verification]
test_path = "/me"
test_method = "head"
accepted_statuses = "200-299, 404"
forbidden_means_expired = true
expired_marker = "EXPIRED"
[line.orders]
configuration = "acme"
method = "get"
path = "/orders"
"""


def test_every_key_of_the_document_reaches_its_attribute() -> None:
    document = parse_document(WHOLE)
    acme = document.drafts[0].configuration()
    assert (acme.environment, acme.network, acme.active) == ("test", "internal", False)
    assert (acme.authentication_type, acme.no_auth_reason) == ("bearer", "public_api")
    assert acme.token_expires_on == date(2027, 1, 31)
    assert str(acme.base.origin) == "https://api.acme.example"
    assert acme.base.target == "/v2"
    assert {field: str(state.reference) for field, state in acme.secrets.items()} == {
        "password": "env:ACME_PASSWORD",
        "token": "file:/run/secrets/acme",
        "client_key": "file:/run/secrets/acme-client.key",
        "header:X-API-Key": "env:ACME_API_KEY",
        "header:X-From-Env": "env:SOMETHING",
    }
    assert acme.headers == (
        CustomHeader("X-API-Key", "", secret=True),
        CustomHeader("X-Tenant", "seven", secret=False),
        CustomHeader("X-Session", "plain on purpose", secret=False),
        CustomHeader("X-From-Env", "", secret=True),
    )
    assert (acme.tls.minimum_version, acme.tls.client_certificate) == (
        "1.3",
        "/etc/ssl/acme-client.pem",
    )
    assert (acme.limits.connect_timeout, acme.limits.requests_per_minute) == (1.5, 600)
    assert acme.verification.test_method == "HEAD"
    assert [(line.name, line.method, line.path) for line in document.lines] == [
        ("orders", "GET", "/orders")
    ]


def test_what_is_left_out_has_the_defaults_of_the_table() -> None:
    document = parse_document('[configuration.acme]\nbase_url="https://a.example"')
    acme = document.drafts[0].configuration()
    assert (acme.environment, acme.network, acme.active) == (
        "production",
        "public",
        True,
    )
    assert acme.authentication_type == "none"
    assert acme.limits.requests_per_minute is None
    assert (acme.limits.connect_timeout, acme.limits.read_timeout) == (5, 15)
    assert (acme.limits.total_timeout, acme.limits.response_mebibytes) == (60, 32)
    assert acme.verification.accepted_statuses == "200-299"


def configured(lines: str) -> str:
    return f'[configuration.acme]\nbase_url = "https://a.example"\n{lines}'


def row(content: str) -> str:
    return configured(f"[[configuration.acme.headers]]\n{content}")


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ("not toml", None, "not TOML"),
        ("configuration = 1", "configuration", "must be a table"),
        ("[configuration]\nacme = 1", "configuration", "must be a table"),
        ("[configurations.acme]", "configurations", "unknown key"),
        ("[configuration.acme]", "base_url", "must not be empty"),
        ('[configuration.acme]\nbase_url = ""', "base_url", "must not be empty"),
        (
            '[configuration.acme]\nbase_url = "https://u:hunter2@a.example"',
            "base_url",
            "user name",
        ),
        (
            '[configuration."a\\u0001"]\nbase_url = "https://a.example"',
            "name",
            "control character",
        ),
        ('[configuration.""]\nbase_url = "https://a.example"', "name", "empty"),
        (configured('pasword = "env:X"'), "pasword", "unknown key"),
        (configured('password = "hunter2"'), "password", "must be a reference"),
        (configured('password = "env:"'), "password", "must be a reference"),
        (
            configured('password = "env:BAD NAME hunter2"'),
            "password",
            "not name an environment variable",
        ),
        (configured('password = "env:OUTKEY_KEY"'), "password", "outkey's own"),
        (configured('token = "file:relative/hunter2"'), "token", "absolute path"),
        (configured("token = 7"), "token", "must be a reference"),
        (configured('username = "a:hunter2"'), "username", "colon"),
        (configured('username = "a\\u0000"'), "username", "control character"),
        (configured("username = 5"), "username", "must be text"),
        (configured(f'notes = "{"x" * 2001}"'), "notes", "longer than"),
        (
            configured('authentication_type = "hunter2"'),
            "authentication_type",
            "one of: none, basic",
        ),
        (configured("active = 1"), "active", "true or false"),
        (
            configured("[configuration.acme.tls]\nminimum_version = 1.3"),
            "tls.minimum_version",
            "one of: 1.2, 1.3",
        ),
        (configured('token_expires_on = "2027-01-31"'), "token_expires_on", "a date"),
        (
            configured("[configuration.acme.limits]\nretries = 11"),
            "limits.retries",
            "from 0 to 10",
        ),
        (
            configured("[configuration.acme.limits]\nretries = true"),
            "limits.retries",
            "whole number",
        ),
        (
            configured("[configuration.acme.limits]\nretries = 1.5"),
            "limits.retries",
            "whole number",
        ),
        (
            configured("[configuration.acme.limits]\ntotal_timeout = nan"),
            "limits.total_timeout",
            "a number from",
        ),
        (
            configured("[configuration.acme.limits]\nretrys = 1"),
            "limits.retrys",
            "unknown key",
        ),
        (configured("limits = 5"), "limits", "must be a table"),
        (
            configured('[configuration.acme.verification]\ntest_method = "G T"'),
            "verification.test_method",
            "HTTP method",
        ),
        (
            configured('[configuration.acme.verification]\naccepted_statuses = "2xx"'),
            "verification.accepted_statuses",
            "statuses such as",
        ),
        (configured('headers = { X-Tenant = "7" }'), "headers", "list of rows"),
        (
            configured(f"headers = [{','.join(['{}'] * 65)}]"),
            "headers",
            "at most 64 rows",
        ),
        (configured("headers = [5]"), "headers[0]", "must be a table"),
        (row('value = "x"'), "headers[0].key", "needs a key"),
        (row('key = "X"\nvalue = 5'), "headers[0].value", "must be text"),
        (
            row('key = "X"\nvalue = "v"\nsecret = "yes"'),
            "headers[0].secret",
            "true or false",
        ),
        (row('key = "X Bad"\nvalue = "v"'), "headers[0].key", "header name"),
        (
            row('key = "Host"\nvalue = "v"'),
            "headers[0].key",
            "belongs to the connection",
        ),
        (
            row('key = "X-Tenant"\nvalue = "a\\nhunter2"'),
            "headers[0].value",
            "line break",
        ),
        (
            row('key = "X-API-Key"\nvalue = "hunter2"'),
            "headers[0].value",
            "must be a reference",
        ),
        (row('key = "X"\nsecret = false'), "headers[0].value", "needs a value"),
        (
            configured('[line.x]\nconfiguration = "acme"\nmethod = "G T"'),
            "line.x.method",
            "HTTP method",
        ),
        (row('key = "X"\nvalu = "v"'), "headers[0].valu", "unknown key"),
        (
            row(
                'key = "X-A"\nvalue = "1"\n[[configuration.acme.headers]]\nkey ='
                ' "x-a"\nvalue = "2"'
            ),
            "headers[1].key",
            "two rows",
        ),
        (
            configured("[line.x]\nmethod = 'GET'"),
            "line.x.configuration",
            "must not be empty",
        ),
        (
            configured('[line.x]\nconfiguration = "b"'),
            "line.x.configuration",
            "must name",
        ),
        (
            configured('[line.x]\nconfiguration = "acme"\npath = 5'),
            "line.x.path",
            "must be text",
        ),
        (
            configured('[line.x]\nconfiguration = "acme"\npth = "/"'),
            "line.x.pth",
            "unknown key",
        ),
    ],
)
def test_what_is_wrong_is_named_by_field_and_reason_and_never_repeated(
    text: str, field: str | None, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        from_text(text)
    assert caught.value.field == field
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_an_unknown_key_comes_with_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_document(configured('pasword = "env:X"'))
    assert caught.value.hint == "Did you mean password?"
    assert "configuration acme" in caught.value.message


def test_a_key_like_no_other_comes_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_document(row('key = "X"\nzzzzz = 1'))
    assert caught.value.hint == "Known here: key, reference, secret, value."


def test_the_table_and_the_configuration_name_the_same_fields() -> None:
    from_table = {f.path for f in FIELDS if f.kind is not Kind.SECRET}
    sections = {
        "oauth2": OAuth2Settings,
        "oauth2.assertion": AssertionSettings,
        "oauth1": OAuth1Settings,
        "aws": AwsSettings,
        "login": LoginSettings,
        "csrf": CsrfSettings,
        "connect": ConnectSettings,
        "proxy": ProxySettings,
        "rotation": RotationSettings,
        "tls": TlsSettings,
        "limits": Limits,
        "verification": Verification,
    }
    nested = {
        f"{name}.{f.name}"
        for name, section in sections.items()
        for f in fields(section)
    }
    top = (
        {f.name for f in fields(Configuration) if f.init}  # others are computed
        - set(sections)
        - {"secrets", "base", "record", "version", "revision", "refused", "paused_at"}
        - {"voucher", "script_is_vouched", "former_names", "is_proved", "accepted_at"}
        - {"seen_voucher", "sets", "other_set", "stored", "was_accepted"}
        - {"connection", "unconnected", "variable_error"}
    )
    assert from_table == (top | nested) - set(sections)


def test_the_table_is_consistent_in_itself() -> None:
    labels = {(f.tab, f.label) for f in FIELDS}
    paths = [f.path for f in FIELDS]
    assert len(labels) == len(set(paths)) == len(FIELDS)
    for field in FIELDS:
        assert field.help.endswith(".")
        assert bool(field.choices) == (field.kind is Kind.CHOICE)
        for path, values in chain.from_iterable(field.alternatives):
            assert {*values} <= {*dict(BY_PATH[path].choices)}
        for path, _ in field.when:
            # it is known when this one is read
            assert paths.index(path) < paths.index(field.path)
        if (
            field.default is not None
            and field.kind is not Kind.ROWS
            and not field.required
        ):
            assert field.parse(field.default) == field.default


def test_the_labels_are_those_of_the_specification() -> None:
    labels = {f.label for f in FIELDS}
    assert {"Authentication Type", "Username", "Password", "Token", "Headers"} <= labels
    assert [label for _, label in BY_PATH["authentication_type"].choices] == [
        "None",
        "Basic",
        "Digest",
        "Bearer Token",
        "AWS Signature Version 4",
        "OAuth 1.0a",
    ]


def test_a_date_with_a_time_counts_as_its_day() -> None:
    text = configured("token_expires_on = 2027-01-31T10:00:00Z")
    assert parse_document(text).drafts[0].configuration().token_expires_on == date(
        2027, 1, 31
    )


def test_secret_fields_are_known_as_such() -> None:
    secret = {f.secret_name for f in FIELDS if f.secret}
    assert secret == {
        "password",
        "subject_token",
        "actor_token",
        "token",
        "client_key",
        "client_secret",
        "client_assertion",
        "proxy_password",
        "refresh_token",
        "secret_key",
        "consumer_secret",
        "access_token",
        "access_token_secret",
        "private_key",
        "secret_access_key",
        "session_token",
        "web_identity_token",
    }


def test_values_and_build_are_each_others_inverse() -> None:
    acme = parse_document(WHOLE).drafts[0].configuration()
    again = build(
        "acme",
        acme.values(),
        headers=acme.headers,
        query=acme.query,
        secrets=acme.secrets,
    )
    assert again == acme


def merged(change: str, before: str = WHOLE) -> Configuration:
    stored = replace(
        parse_document(before).drafts[0].configuration(), record="r1", version=7
    )
    return parse_document(change).drafts[0].merged(stored)


def test_what_a_document_leaves_out_keeps_what_is_stored() -> None:
    stored = parse_document(WHOLE).drafts[0].configuration()
    after = merged('[configuration.acme]\nusername = "other"')
    assert after.username == "other"
    assert replace(after, username="api_user", record="", version=0) == stored
    assert (after.record, after.version) == ("r1", 7)


def test_rows_that_a_document_names_replace_the_stored_ones_and_their_secrets() -> None:
    after = merged(
        '[configuration.acme]\nheaders = [{ key = "X-Other", value = "env:OTHER" }]'
    )
    assert [row.key for row in after.headers] == ["X-Other"]
    assert set(after.secrets) == {"password", "token", "client_key", "header:X-Other"}


def test_a_secret_stays_bound_to_its_origin_until_it_is_named_again() -> None:
    after = merged('[configuration.acme]\nbase_url = "https://evil.example"')
    with pytest.raises(SecretRebindRequired) as caught:
        after.refuse_unbound("token")
    assert caught.value.field == "token"
    again = merged(
        '[configuration.acme]\nbase_url = "https://evil.example"\ntoken ='
        ' "file:/run/secrets/acme"'
    )
    again.refuse_unbound("token")
    with pytest.raises(SecretRebindRequired):
        again.refuse_unbound("password")


@pytest.mark.parametrize(
    "base_url", ["https://API.acme.example:443/other", "https://api.acme.example./"]
)
def test_another_path_or_spelling_is_the_same_origin(base_url: str) -> None:
    after = merged(f'[configuration.acme]\nbase_url = "{base_url}"')
    after.refuse_unbound("token")
    assert after.base_url == base_url


def test_a_merge_that_is_wrong_names_the_configuration() -> None:
    with pytest.raises(ConfigError, match="configuration acme: "):
        merged('[configuration.acme]\nbase_url = "nonsense"')


def test_values_of_unknown_fields_are_refused_by_the_builder_too() -> None:
    from outkey.testing import configuration

    with pytest.raises(OutkeyError, match="no such field"):
        configuration(nonsense="x")
