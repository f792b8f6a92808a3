"""Secrets in Vault, as an operator uses them: over real connections on loopback."""

import json
from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from fake_vault import DELETED, FakeVault, serve_vault
from outkey.spar import Spar

BACKENDS = """
[backend.main]
store = "vault"
address = "{url}"
network = "internal"
role_id = "role"
secret_id = "env:VAULT_SECRET"
paths = ["outkey/*", "probe/*"]
probe = "probe/none"
"""
DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "{reference}"
[configuration.acme.verification]
test_path = "/records/contacts?count=1"
"""
WEBHOOK = """
[line.contacts]
configuration = "acme"
path = "/records"
direction = "pull"
target = "table:contacts"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
[webhook.deploys]
scheme = "github"
run = "contacts"
secret = "vault:main/outkey/hook#secret"
"""
REFERENCE = "vault:main/outkey/api#token"

# Judged in the units too; here in the full run only.
RARER = [
    ("throttled", REFERENCE, 5, "backend_unavailable", "backend-throttled"),
    ("stopped", REFERENCE, 5, "backend_unavailable", "backend-unreachable"),
    ("lies", REFERENCE + "@1", 5, "backend_unavailable", "backend-unreachable"),
    ("login", REFERENCE, 5, "backend_unavailable", "backend-login"),
    ("deleted", REFERENCE, 2, "secret_missing", "secret-deleted"),
    ("", "vault:outkey/none#token", 2, "secret_missing", "secret-absent"),
    ("", REFERENCE + "@9", 2, "secret_missing", "version-absent"),
    ("", "vault:outkey/api#none", 2, "secret_missing", "field-absent"),
    ("", "vault:outkey/api#number", 2, "secret_missing", "secret-not-text"),
]


@pytest.fixture
def vault() -> Iterator[FakeVault]:
    with serve_vault() as server:
        server.put("outkey/api", token="spar-token", number=5)
        server.denied.add("probe/none")
        yield server


@pytest.fixture
def home(outkey: Terminal, vault: FakeVault) -> Terminal:
    """A home with a backend."""
    assert outkey("list").code == 0
    write_backends(outkey, BACKENDS.format(url=vault.url))
    outkey.settings["VAULT_SECRET"] = "secret-id"
    return outkey


def write_backends(outkey: Terminal, text: str, mode: int = 0o600) -> None:
    file = outkey.home / "config" / "backends.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


def apply(outkey: Terminal, spar: Spar, reference: str = REFERENCE) -> tuple[int, str]:
    document = DOCUMENT.format(url=spar.url, reference=reference)
    done = outkey("apply", "-", "--json", stdin=document)
    error = done.json.get("error", {"code": ""})
    return done.code, str(error["code"])


def test_a_request_has_the_secret_of_the_store_and_the_audit_its_source(
    home: Terminal, spar: Spar, vault: FakeVault
) -> None:
    assert apply(home, spar) == (0, "")
    report = home("test", "acme", "--json").json
    assert report["ok"], report
    [secrets] = [step for step in report["steps"] if step["step"] == "secrets"]
    assert "main, version 1, fetched" in secrets["detail"]
    records = home("audit", "list", "--json").json
    [source] = next(row["sources"] for row in records if "sources" in row)
    assert source["path"] == "outkey/api"
    assert (source["field"], source["backend"], source["version"]) == (
        "token",
        "main",
        "1",
    )
    assert all(
        headers["x-vault-request"] == "true" and "authorization" not in headers
        for _, _, headers in vault.seen
    )
    assert "spar-token" not in json.dumps(records)


@pytest.mark.parametrize(
    ("broken", "reference", "code", "name", "reason"),
    [
        ("sealed", REFERENCE, 5, "backend_unavailable", "backend-sealed"),
        ("denied", REFERENCE, 2, "secret_missing", "backend-denied"),
        *(pytest.param(*row, marks=pytest.mark.full) for row in RARER),
    ],
)
def test_nothing_is_sent_without_the_secret(  # noqa: PLR0917 - a table
    home: Terminal,
    spar: Spar,
    vault: FakeVault,
    broken: str,
    reference: str,
    code: int,
    name: str,
    reason: str,
) -> None:
    vault.sealed = broken == "sealed"
    vault.status = 429 if broken == "throttled" else 0
    vault.lies_about_version = broken == "lies"
    if broken == "stopped":
        write_backends(home, BACKENDS.format(url="http://127.0.0.1:9"))
    if broken == "denied":
        vault.denied.add("outkey/api")
    if broken == "deleted":
        vault.secrets["outkey/api"][-1] = DELETED
    if broken == "login":
        home.settings["VAULT_SECRET"] = "canary-of-a-wrong-secret-id"
    assert apply(home, spar, reference) == (0, ""), "a store that fails is a finding"
    spar.clear()
    done = home("test", "acme", "--json")
    assert "cause" in done.json, done.out + done.err
    assert (done.code, done.json["cause"]) == (code, name)
    assert reason in [finding["id"] for finding in done.json["findings"]]
    assert "canary" not in done.out + done.err
    assert spar.journal == []


@pytest.mark.parametrize(
    ("reference", "code", "name"),
    [
        ("op:v/i#f", 2, "backend_unknown"),
        ("vault:other/x#f", 3, "policy"),
        ("vault:main/a/../b#f", 2, "configuration"),
        ("vault:main/a", 2, "configuration"),
    ],
)
def test_a_reference_that_the_operator_does_not_allow_is_not_saved(
    home: Terminal, spar: Spar, reference: str, code: int, name: str
) -> None:
    assert apply(home, spar, reference) == (code, name)
    assert home("list", "--json").json == []


def test_a_document_cannot_name_a_backend(home: Terminal, spar: Spar) -> None:
    document = DOCUMENT.format(url=spar.url, reference=REFERENCE)
    document += '[backend.main]\nstore = "vault"\naddress = "https://evil.example"\n'
    assert home("apply", "-", stdin=document).code == 2
    assert home("list", "--json").json == []


def test_a_file_that_others_may_write_is_not_used(
    home: Terminal, spar: Spar, vault: FakeVault
) -> None:
    write_backends(home, BACKENDS.format(url=vault.url), 0o660)
    assert apply(home, spar) == (2, "configuration")
    assert apply(home, spar, "env:SPAR")[0] == 0, "everything else works"
    assert vault.seen == []


def test_backends_are_listed_and_checked(
    home: Terminal, spar: Spar, vault: FakeVault
) -> None:
    apply(home, spar)
    listed = home("backend", "list", "--json").json
    assert listed == [
        {
            "name": "main",
            "store": "vault",
            "address": vault.url,
            "login": "approle",
            "references": 1,
        }
    ]
    checked = home("backend", "check", "main", "--json")
    report = checked.json
    assert (checked.code, report["ok"], report["code"]) == (0, True, None)
    steps = [step["step"] for step in report["steps"]]
    assert steps == ["connect", "login", "read", "probe"]
    assert report["findings"] == []
    vault.denied.clear()
    vault.put("probe/none", probe="x")
    wide = home("backend", "check", "main", "--json").json
    assert wide["ok"]
    assert [finding["id"] for finding in wide["findings"]] == ["P-backend-wide"]
    vault.sealed = True
    sealed = home("backend", "check", "main", "--json")
    assert (sealed.code, sealed.json["code"]) == (5, "backend_unavailable")
    assert sealed.json["reason"] == "backend-sealed"
    told = home("backend", "check", "main").err
    assert "Unseal the store" in told
    assert "outkey backend check" not in told, "that is what was just done"
    assert home("backend", "check", "none").code == 2


def test_a_next_secret_and_webhooks_use_a_backend_too(
    home: Terminal, spar: Spar, vault: FakeVault
) -> None:
    apply(home, spar)
    vault.put("outkey/next", token="next-token")
    vault.put("outkey/hook", secret="hook-secret")
    staged = home(
        "secret", "stage", "acme", "token", "--from", "vault:outkey/next#token"
    )
    assert staged.code == 0, staged.err
    assert home("apply", "-", stdin=WEBHOOK).code == 0
    [listed] = home("backend", "list", "--json").json
    assert listed["references"] == 3
    assert "3 paths" in home("backend", "check", "main").out


def test_a_list_without_backends_says_where_they_are_described(
    outkey: Terminal,
) -> None:
    assert outkey("list").code == 0
    assert "config/backends.toml" in outkey("backend", "list").out
    assert outkey("backend", "list", "--json").json == []


def test_the_doctor_asks_no_store(home: Terminal, spar: Spar, vault: FakeVault) -> None:
    apply(home, spar)
    assert home("apply", "-", stdin=WEBHOOK).code == 0
    vault.seen.clear()

    def found() -> set[str]:
        findings = home("doctor", "--json").json["findings"]
        return {one["id"] for one in findings if one["id"].startswith("P-backend")}

    assert found() == {"P-backend-plain"}
    write_backends(home, "")
    assert found() == {"P-backend-unknown"}
    write_backends(home, "[backend.main]")
    assert found() == {"P-backend-file"}
    assert vault.seen == []
