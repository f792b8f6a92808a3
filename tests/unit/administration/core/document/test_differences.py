"""What a document changes, field by field, without the value of a secret."""

from dataclasses import replace
from typing import Any

import pytest

from outkey.administration.core.document.differences import (
    SectionDifference,
    configuration_difference,
    line_difference,
)
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.applying import Applied
from outkey.foundation.core.errors import BackendUnavailable
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sync.core.mapping.shown import shortened_pair
from unit.application_in_memory import MemoryHost, memory_host

ACME = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "basic"
username = "user"
password = "env:ACME_PASSWORD"
oauth2 = { extra = { tenant = "7" } }
headers = [{ key = "X-Key", value = "env:ACME_KEY" }, { key = "X-Tenant", value = "7" }]
query = [{ key = "lang", value = "de" }]
"""
LINE = """
[line.orders]
configuration = "acme"
path = "/orders"
direction = "pull"
target = "contact"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
"""
PAIR = f"""{LINE}
[line.push]
configuration = "acme"
direction = "push"
target = "contact"
update = {{ method = "PATCH", path = "/orders/{{remote_id}}" }}
fields = [{{ api = "number", host = "number" }}]
[pair.both]
pull = "orders"
push = "push"
"""
HOOK = f"""{LINE}
[webhook.shop]
scheme = "shopify"
line = "orders"
secret = "env:HOOK_SECRET"
"""
Fields = dict[str, tuple[str, str]]


class Documents:
    """Applies documents to an installation in memory."""

    def __init__(self, *texts: str) -> None:
        self.host: MemoryHost = memory_host()
        self.administration = self.host.application.administration("tester")
        for text in texts:
            self.apply(text)

    def apply(self, text: str, *, dry_run: bool = False) -> Applied:
        return self.host.application.apply(
            self.administration, parse_document(text), dry_run=dry_run
        )

    def fields(self, text: str, name: str = "acme") -> Fields:
        """Return what a document would change of one thing."""
        differences = self.apply(text, dry_run=True).differences
        return {
            change.path: (change.old, change.new)
            for difference in differences
            if difference.name == name
            for change in difference.fields
        }

    def set_hook_secret(self, field: str = "secret") -> None:
        changes = self.host.application.webhooks.administration(self.administration)
        changes.set_secret("shop", Secret("stored by hand"), field)


def test_a_new_configuration_has_what_is_not_as_by_default() -> None:
    documents = Documents()
    assert documents.fields(ACME) == {
        "base_url": ("", "https://api.acme.example"),
        "authentication_type": ("", "basic"),
        "username": ("", "user"),
        "oauth2.extra.tenant": ("", "7"),
        "password": ("", "env:ACME_PASSWORD"),
        "headers.X-Key": ("", "env:ACME_KEY"),
        "headers.X-Tenant": ("", "7"),
        "query.lang": ("", "de"),
    }
    (difference,) = documents.apply(ACME).differences
    assert (difference.section, difference.outcome) == ("configuration", "created")


def test_what_is_as_stored_is_no_difference() -> None:
    documents = Documents(ACME + PAIR)
    assert documents.apply(ACME + PAIR).differences == ()


@pytest.mark.parametrize(
    ("old", "new", "path", "change"),
    [
        ('"user"', '"other"', "username", ("user", "other")),
        ('tenant = "7"', 'tenant = "8"', "oauth2.extra.tenant", ("7", "8")),
        ('value = "7"', 'value = "8"', "headers.X-Tenant", ("7", "8")),
        ('value = "de"', 'value = "en"', "query.lang", ("de", "en")),
        (
            "env:ACME_PASSWORD",
            "env:OTHER",
            "password",
            ("env:ACME_PASSWORD", "env:OTHER"),
        ),
        ("env:ACME_KEY", "env:OTHER", "headers.X-Key", ("env:ACME_KEY", "env:OTHER")),
        (', { key = "X-Tenant", value = "7" }', "", "headers.X-Tenant", ("7", "")),
        (
            '"user"',
            '"user"\nactive = false',
            "active",
            ("true", "false"),
        ),
    ],
)
def test_a_changed_field_has_its_old_and_new_value(
    old: str, new: str, path: str, change: tuple[str, str]
) -> None:
    documents = Documents(ACME)
    changed = ACME.replace(old, new, 1)
    assert documents.fields(changed) == {path: change}


def test_a_secret_is_named_by_its_reference_or_its_version() -> None:
    (draft,) = parse_document(ACME).drafts
    made = draft.configuration()
    stored = replace(
        made,
        secrets={
            name: SecretState(state.origin, version=2)
            for name, state in made.secrets.items()
        },
    )
    difference = configuration_difference(stored, made)
    assert difference.facts()["fields"] == [
        {"field": "password", "old": "stored, version 2", "new": "env:ACME_PASSWORD"},
        {"field": "headers.X-Key", "old": "stored, version 2", "new": "env:ACME_KEY"},
    ]


def test_a_reference_that_goes_to_another_origin_is_a_difference() -> None:
    documents = Documents(ACME)
    fields = documents.fields(ACME.replace("api.acme", "api2.acme"))
    assert fields["password"] == (
        "env:ACME_PASSWORD for https://api.acme.example:443",
        "env:ACME_PASSWORD for https://api2.acme.example:443",
    )


def test_a_secret_row_has_the_text_around_its_secret_and_may_be_unset() -> None:
    text = """
[configuration.acme]
base_url = "https://api.acme.example"
[[configuration.acme.headers]]
key = "Authorization"
value = "Token {secret}"
secret = true
"""
    fields = Documents().fields(text)
    assert fields["headers.Authorization"] == ("", "Token {secret}, secret, not set")


def test_lines_pairs_and_databases_have_their_fields() -> None:
    database = '[database.warehouse]\nurl = "env:WAREHOUSE"\n'
    documents = Documents(ACME + PAIR + database)
    changed = (ACME + PAIR + database).replace("env:WAREHOUSE", "env:OTHER")
    changed = changed.replace('path = "/orders"', 'path = "/v2/orders"')
    changed = changed.replace(
        'push = "push"', 'push = "push"\nconflict = "host"'
    ).replace('host = "number" }]\n\n', 'host = "number", transform = "text" }]\n\n')
    applied = documents.apply(changed, dry_run=True)
    assert [facts(difference) for difference in applied.differences] == [
        ("database", "warehouse", [("url", "env:WAREHOUSE", "env:OTHER")]),
        (
            "line",
            "orders",
            [
                ("path", "/orders", "/v2/orders"),
                ("fields.number.transform", "as_is", "text"),
            ],
        ),
        ("pair", "both", [("conflict", "", "host")]),
    ]
    created = Documents().apply(ACME + PAIR + database).differences
    assert {difference.section for difference in created} == {
        "configuration",
        "database",
        "line",
        "pair",
    }
    assert all(difference.is_new for difference in created)


def facts(difference: SectionDifference) -> tuple[str, str, list[tuple[str, ...]]]:
    changes = [(change.path, change.old, change.new) for change in difference.fields]
    return difference.section, difference.name, changes


def test_how_a_line_was_written_is_no_difference() -> None:
    (line,) = parse_document(ACME + LINE).lines
    written = replace(line, source='gone = "keep"\n' + line.source)
    assert line_difference(written, line).fields == ()


def test_a_webhook_has_its_settings_and_the_versions_of_its_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = Documents()
    assert documents.fields(ACME + HOOK, "shop") == {
        "scheme": ("", "shopify"),
        "secret": ("", "env:HOOK_SECRET"),
        "line": ("", "orders"),
    }
    documents.apply(ACME + HOOK)
    assert documents.fields(HOOK.replace("HOOK_SECRET", "OTHER"), "shop") == {
        "secret": ("env:HOOK_SECRET", "env:OTHER")
    }
    documents.set_hook_secret()
    monkeypatch.setenv("HOOK_SECRET", "by reference")
    applied = documents.apply(HOOK, dry_run=True)
    assert documents.fields(HOOK, "shop") == {
        "secret": ("stored, version 1", "env:HOOK_SECRET")
    }
    assert ids(applied) == {("", "W006", "webhook.shop.secret")}


def ids(applied: Applied) -> set[tuple[str, str, Any]]:
    return {(name, finding.id, finding.field) for name, finding in applied.findings}


@pytest.mark.parametrize(
    ("field", "scheme", "other"),
    [
        ("secret", "shopify", "woocommerce"),
        ("previous_secret", "shopify", "woocommerce"),
        ("verify_token", "meta", "meta"),
    ],
)
def test_a_reference_that_names_nothing_keeps_the_stored_secret_of_a_webhook(
    field: str, scheme: str, other: str
) -> None:
    document = HOOK.replace('secret = "', f'{field} = "').replace("shopify", scheme)
    documents = Documents(ACME + document)
    documents.set_hook_secret(field)
    for dry_run in (True, False):
        applied = documents.apply(document, dry_run=dry_run)
        assert applied.webhooks["unchanged"] == ("shop",)
        assert applied.differences == ()
        # Without its own secret a webhook is not ready, whatever else it has.
        not_ready = (
            {("", "H001", "webhook.shop.secret")} if field != "secret" else set()
        )
        assert ids(applied) == {("", "W010", f"webhook.shop.{field}")} | not_ready
        (finding,) = (found for _, found in applied.findings if found.id == "W010")
        assert finding.message == (
            "env:HOOK_SECRET cannot be read, so the stored secret stays"
        )
    changes = documents.host.application.webhooks.administration(
        documents.administration
    )
    stored = changes.settings.get("shop")
    assert field in stored.secrets
    # Other settings of the same document are saved.
    changed = document.replace(scheme, f'{other}"\nrecords = "data')
    applied = documents.apply(changed)
    assert applied.webhooks["updated"] == ("shop",)
    assert field in changes.settings.get("shop").secrets


def test_a_store_that_does_not_respond_keeps_the_stored_secret_of_a_webhook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_nothing(*_arguments: object) -> Secret:
        raise BackendUnavailable

    documents = Documents(ACME + HOOK)
    documents.set_hook_secret("secret")
    monkeypatch.setattr(ReferencedSecrets, "open_reference", open_nothing)
    applied = documents.apply(HOOK)
    assert ids(applied) == {("", "W010", "webhook.shop.secret")}
    assert applied.webhooks["unchanged"] == ("shop",)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a" * 60 + "b", "a" * 60 + "c", ("…" + "a" * 20 + "b", "…" + "a" * 20 + "c")),
        ("x" * 50, "y" * 50, ("x" * 29 + "…", "y" * 29 + "…")),
        ("a\nb", "a\nc", ("a b", "a c")),
        ("a" * 25, "a" * 26, ("a" * 25, "a" * 26)),
    ],
)
def test_two_long_values_are_shortened_so_that_they_differ(
    old: str, new: str, shown: tuple[str, str]
) -> None:
    assert shortened_pair(old, new, 30) == shown


def test_a_clear_value_that_may_be_a_secret_is_not_shown() -> None:
    before = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token = "env:TOKEN"
oauth2 = { extra = { api_key = "S3CRET-1", tenant = "7" } }
headers = [
    { key = "X-API-Key", value = "S3CRET-2", secret = false },
    { key = "X-Other", value = "S3CRET-3", secret = false },
    { key = "X-Api-Token", value = "S3CRET-4", secret = false },
    { key = "X-Plain", value = "old" },
]
query = [{ key = "sig", value = "S3CRET-5", secret = false }]
"""
    after = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token = "env:TOKEN"
oauth2 = { extra = { api_key = "S3CRET-6", tenant = "8" } }
headers = [
    { key = "X-API-Key", value = "S3CRET-7", secret = false },
    { key = "X-Other", secret = true },
    { key = "X-Plain", value = "new" },
]
query = [
    { key = "sig", value = "env:SIG" },
    { key = "pwd", value = "S3CRET-8", secret = false },
]
verification = { test_path = "/me?page=1&api_key=S3CRET-9" }
"""
    stored = parse_document(before).drafts[0].configuration()
    made = parse_document(after).drafts[0].merged(stored)
    changes = {
        change.path: (change.old, change.new)
        for change in configuration_difference(stored, made).fields
    }
    assert changes == {
        "oauth2.extra.api_key": ("not shown", "another value, not shown"),
        "oauth2.extra.tenant": ("7", "8"),
        "verification.test_path": ("/", "/me?page=1&api_key=***"),
        "headers.X-API-Key": ("not shown", "another value, not shown"),
        "headers.X-Other": ("not shown", "secret, not set"),
        "headers.X-Api-Token": ("not shown", ""),
        "headers.X-Plain": ("old", "new"),
        "query.sig": ("not shown", "env:SIG"),
        "query.pwd": ("", "not shown"),
    }
