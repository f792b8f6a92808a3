"""The fakes of cloud stores, judged by the official clients of those stores.

What a client reads, and which error it finds, is what outkey is tested with elsewhere.
"""

import json
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from peers.authorization_servers import INSTALLED
from peers.certificates import Pki
from peers.cloud_stores import (
    AzureSecret,
    AzureVault,
    Connect,
    ConnectItem,
    GoogleSecrets,
    GoogleVersion,
    checksum,
    store_running,
)
from peers.servers import require

PROGRAM = Path(__file__).parent / "programs" / "store_judges.py"
WRONG = "canary-wrong"
VAULT = "v" * 26
ITEM = "i" * 26
Verdict = dict[str, str]


def azure_vault() -> AzureVault:
    vault = AzureVault()
    vault.secrets = {
        "erp": AzureSecret({"a1": "canary-azure-old", "b2": "canary-azure-new"}),
        "off": AzureSecret({"c3": "canary-azure-off"}, is_enabled=False),
        "denied": AzureSecret({"d4": "canary-azure-denied"}, is_allowed=False),
    }
    return vault


def google_secrets() -> GoogleSecrets:
    store = GoogleSecrets()
    store.secrets = {
        "erp": [GoogleVersion(b"canary-google-old"), GoogleVersion(b"canary-google")],
        "off": [GoogleVersion(b"canary-google-off", state="DISABLED")],
    }
    store.denied = frozenset({"denied"})
    return store


def connect() -> Connect:
    store = Connect(vaults={VAULT: "ERP", "w" * 26: "Denied"})
    fields: list[dict[str, object]] = [
        {"id": "username", "label": "username", "value": "erp"},
        {"id": "password", "label": "password", "value": "canary-op-password"},
    ]
    store.items = {
        VAULT: [
            ConnectItem(ITEM, "Shop", fields, version=7),
            ConnectItem("j" * 26, "Twice", fields),
            ConnectItem("k" * 26, "Twice", fields),
        ],
        "w" * 26: [],
    }
    store.denied = frozenset({"w" * 26})
    return store


@pytest.fixture(scope="module")
def verdicts(pki: Pki) -> dict[str, Verdict]:
    """Return what each client finds, by the name of the case."""
    python = require(
        INSTALLED / "stores/bin/python",
        "missing libraries: requirements/stores.lock (make .venv/.dev installs it)",
    )
    vault, secrets, server = azure_vault(), google_secrets(), connect()
    with ExitStack() as running:
        for store in (vault, secrets, server):
            running.enter_context(store_running(store, pki))
        cases = azure_cases(vault) | google_cases(secrets) | op_cases(server)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "REQUESTS_CA_BUNDLE": pki.ca,
            "SSL_CERT_FILE": pki.ca,
        }
        finished = subprocess.run(
            [str(python), str(PROGRAM)],
            input=json.dumps(list(cases.values())),
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
            env=environment,
        )
    lines = map(json.loads, finished.stdout.splitlines())
    return dict(zip(cases, lines, strict=True))


def azure_cases(vault: AzureVault) -> dict[str, dict[str, Any]]:
    login = {"client": "azure", "address": vault.url, "tenant": vault.tenant}
    by_secret = {**login, "id": vault.client, "secret": vault.client_secret}
    federated = {**login, "id": vault.client, "federated": vault.federated_token}
    return {
        "azure newest": {**by_secret, "name": "erp"},
        "azure federated": {**federated, "name": "ERP"},
        "azure version": {**by_secret, "name": "erp", "version": "a1"},
        "azure no version": {**by_secret, "name": "erp", "version": "z9"},
        "azure absent": {**by_secret, "name": "nothing"},
        "azure disabled": {**by_secret, "name": "off"},
        "azure denied": {**by_secret, "name": "denied"},
        "azure wrong secret": {**by_secret, "secret": WRONG, "name": "erp"},
    }


def google_cases(store: GoogleSecrets) -> dict[str, dict[str, Any]]:
    given = {"client": "google", "address": store.url, "account": store.account()}
    secrets = f"projects/{store.project}/secrets"
    wrong = GoogleSecrets(url=store.url).account()
    return {
        "google newest": {**given, "name": f"{secrets}/erp/versions/latest"},
        "google token": {
            **given,
            "name": f"{secrets}/erp/versions/latest",
            "by_token": True,
        },
        "google version": {**given, "name": f"{secrets}/erp/versions/1"},
        "google no version": {**given, "name": f"{secrets}/erp/versions/9"},
        "google absent": {**given, "name": f"{secrets}/nothing/versions/latest"},
        "google disabled": {**given, "name": f"{secrets}/off/versions/latest"},
        "google denied": {**given, "name": f"{secrets}/denied/versions/latest"},
        "google wrong key": {
            **given,
            "account": wrong,
            "name": f"{secrets}/erp/versions/1",
        },
    }


def op_cases(store: Connect) -> dict[str, dict[str, Any]]:
    given = {"client": "op", "address": store.url, "token": store.token}
    password = {**given, "field": "password"}
    return {
        "op titles": {**password, "vault": "ERP", "item": "Shop"},
        "op ids": {**password, "vault": VAULT, "item": ITEM},
        "op absent": {**password, "vault": "ERP", "item": "Nothing"},
        "op twice": {**password, "vault": "ERP", "item": "Twice"},
        "op no vault": {**password, "vault": "Nothing", "item": "Shop"},
        "op denied": {**password, "vault": "w" * 26, "item": ITEM},
        "op wrong token": {**password, "token": WRONG, "vault": "ERP", "item": "Shop"},
    }


@pytest.mark.parametrize(
    ("case", "value", "version"),
    [
        ("azure newest", "canary-azure-new", "b2"),
        ("azure federated", "canary-azure-new", "b2"),
        ("azure version", "canary-azure-old", "a1"),
        (
            "google newest",
            "canary-google",
            "projects/123456789012/secrets/erp/versions/2",
        ),
        (
            "google token",
            "canary-google",
            "projects/123456789012/secrets/erp/versions/2",
        ),
        (
            "google version",
            "canary-google-old",
            "projects/123456789012/secrets/erp/versions/1",
        ),
        ("op titles", "canary-op-password", "7"),
        ("op ids", "canary-op-password", "7"),
    ],
)
def test_the_client_reads_the_secret_and_its_version(
    case: str, value: str, version: str, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts[case]
    assert (verdict.get("value"), verdict.get("version")) == (value, version), verdict


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("azure no version", "ResourceNotFoundError"),
        ("azure absent", "ResourceNotFoundError"),
        ("azure disabled", "HttpResponseError"),
        ("azure denied", "HttpResponseError"),
        ("azure wrong secret", "ClientAuthenticationError"),
        ("google no version", "NotFound"),
        ("google absent", "NotFound"),
        ("google disabled", "BadRequest"),
        ("google denied", "Forbidden"),
        ("google wrong key", "Unauthorized"),
        ("op absent", "FailedToRetrieveItemException"),
        ("op twice", "FailedToRetrieveItemException"),
        ("op no vault", "FailedToRetrieveItemException"),
        ("op denied", "FailedToRetrieveItemException"),
        ("op wrong token", "FailedToRetrieveVaultException"),
    ],
)
def test_the_client_names_the_failure(
    case: str, error: str, verdicts: dict[str, Verdict]
) -> None:
    assert verdicts[case].get("error") == error, verdicts[case]


def test_the_checksum_of_a_payload_is_the_crc32c_of_the_standard(
    verdicts: dict[str, Verdict],
) -> None:
    assert checksum(b"123456789") == 0xE3069283
    assert verdicts["google newest"]["checksum"] == str(checksum(b"canary-google"))
