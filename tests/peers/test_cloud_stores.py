"""Secrets read from stores in the cloud, over outkey's own transport.

moto, with IAM switched on, is AWS; the others are those of `cloud_stores.py`, which the
official clients have judged in `test_store_judges.py`.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import EgressDenied, OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.transport.resolver_system import SystemResolver
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.backends.rules import rules_of
from outkey.sending.core.backends.settings import parse_backends
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.engine.backends.stores import CachedStores, StorePorts
from outkey.sending.engine.wire.egress import Egress
from peers.certificates import Pki
from peers.cloud_stores import (
    AzureSecret,
    AzureVault,
    Connect,
    ConnectItem,
    GoogleSecrets,
    GoogleVersion,
    Reply,
    store_running,
)
from peers.moto import Moto

VAULT = "v" * 26
LARGE = "x" * (64 * 1024 + 1)
WRONG = "canary-wrong"
Read = Callable[[str], str]


@pytest.fixture(scope="module")
def azure(pki: Pki) -> Iterator[AzureVault]:
    vault = AzureVault()
    vault.secrets = {
        "erp": AzureSecret({"a1": "canary-old", "b2": '{"key": "canary-new"}'}),
        "off": AzureSecret({"c3": "canary"}, is_enabled=False),
        "denied": AzureSecret({"d4": "canary"}, is_allowed=False),
        "large": AzureSecret({"e5": LARGE}),
        "empty": AzureSecret({"f6": ""}),
    }
    with store_running(vault, pki):
        yield vault


@pytest.fixture(scope="module")
def google(pki: Pki) -> Iterator[GoogleSecrets]:
    store = GoogleSecrets()
    store.secrets = {
        "erp": [GoogleVersion(b"canary-old"), GoogleVersion(b'{"key": "canary-new"}')],
        "off": [GoogleVersion(b"canary", state="DISABLED")],
        "bytes": [GoogleVersion(b"\xff\xfe")],
        "large": [GoogleVersion(LARGE.encode())],
    }
    store.denied = frozenset({"denied"})
    with store_running(store, pki):
        yield store


@pytest.fixture(scope="module")
def connect(pki: Pki) -> Iterator[Connect]:
    store = Connect(vaults={VAULT: "ERP", "w" * 26: "Denied"})
    fields: list[dict[str, object]] = [
        {"id": "f1", "label": "password", "value": "canary-new"},
        {"id": "f2", "label": "number", "value": 3},
        {"id": "f3", "label": "large", "value": LARGE},
    ]
    items = [("i", 'Shop "A/B"'), ("j", "Twice"), ("k", "Twice"), ("l", "shop")]
    store.items = {
        VAULT: [ConnectItem(letter * 26, title, fields) for letter, title in items],
    }
    store.denied = frozenset({"w" * 26})
    with store_running(store, pki):
        yield store


def opener(section: dict[str, Any], credentials: dict[str, str]) -> Read:
    """Return a function that reads a reference by a backend with this section."""
    whole = {"network": "internal", "timeout_seconds": 5} | section
    lines = [f"{name} = {json.dumps(value)}" for name, value in whole.items()]
    lines += [f'{name} = "env:{name}"' for name in credentials]
    settings = parse_backends("\n".join(["[backend.cloud]", *lines]))
    transport = SocketTransport()
    stores = CachedStores(
        StorePorts(
            settings=lambda: settings,
            open_reference=lambda reference, _: Secret(credentials[reference.place]),
            transport=transport,
            resolver=SystemResolver(),
            egress=Egress(),
            clock=SystemClock(),
            signer=JoseSigner(),
            find_rules=rules_of,
            warn=lambda _: None,
        )
    )

    def read(text: str) -> str:
        """Return the secret, or the reason why there is none."""
        try:
            return stores.open(parse_reference(text, field="token"), "token").reveal()
        except OutkeyError as error:
            assert "canary" not in f"{error} {error.hint}"
            return str(error.reason or type(error).__name__)
        finally:
            transport.close()

    return read


def azure_opener(vault: AzureVault, pki: Pki, **changed: str) -> Read:
    section = {"store": "azure", "address": vault.url, "authority": vault.url}
    section |= {"ca_file": pki.ca, "tenant_id": vault.tenant, "client_id": vault.client}
    return opener(section, changed or {"client_secret": vault.client_secret})


def google_opener(store: GoogleSecrets, pki: Pki, **changed: str) -> Read:
    section = {"store": "gcp", "address": store.url, "ca_file": pki.ca}
    given = changed or {"service_account": json.dumps(store.account())}
    return opener(section | {"project": store.project}, given)


def connect_opener(store: Connect, pki: Pki, token: str = "") -> Read:
    section = {"store": "op", "address": store.url, "ca_file": pki.ca}
    return opener(section, {"token": token or store.token})


def aws_opener(moto: Moto, key_id: str = "", key: str = "") -> Read:
    section = {"store": "aws", "region": "eu-central-1", "address": moto.url}
    section["access_key_id"] = key_id or moto.key_id
    return opener(section, {"secret_access_key": key or moto.key})


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ("erp#key", "canary-new"),
        ("cloud/erp#key", "canary-new"),
        ("erp@a1", "canary-old"),
        ("erp@z9", "version-absent"),
        ("erp#other", "field-absent"),
        ("nothing", "secret-absent"),
        ("off", "secret-deleted"),
        ("denied", "backend-denied"),
        ("large", "secret-too-large"),
        ("empty", "secret-empty"),
    ],
)
def test_a_key_vault_is_read_or_refused(
    reference: str, result: str, azure: AzureVault, pki: Pki
) -> None:
    assert azure_opener(azure, pki)(f"azure-secret:{reference}") == result


def test_a_federated_token_logs_in_to_a_key_vault(azure: AzureVault, pki: Pki) -> None:
    read = azure_opener(azure, pki, federated_token=azure.federated_token)
    assert read("azure-secret:erp#key") == "canary-new"


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ("erp#key", "canary-new"),
        ("erp@1", "canary-old"),
        ("erp@9", "version-absent"),
        ("nothing", "secret-absent"),
        ("off", "secret-deleted"),
        ("denied", "backend-denied"),
        ("bytes", "secret-not-text"),
        ("large", "secret-too-large"),
    ],
)
def test_secret_manager_is_read_or_refused(
    reference: str, result: str, google: GoogleSecrets, pki: Pki
) -> None:
    assert google_opener(google, pki)(f"gcp-secret:{reference}") == result
    # A token is signed here: nothing is sent to the token endpoint of the key file.
    assert "/token" not in {call.path for call in google.calls}


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ('ERP/Shop "A%2FB"#password', "canary-new"),
        (f"{VAULT}/{'i' * 26}#f1", "canary-new"),
        ("ERP/Twice#password", "secret-absent"),
        ("ERP/Nothing#password", "secret-absent"),
        ("Nothing/Shop#password", "secret-absent"),
        (f"{'w' * 26}/Shop#password", "backend-denied"),
        ("ERP/shop#number", "secret-not-text"),
        ("ERP/shop#large", "secret-too-large"),
        ("ERP/shop#other", "field-absent"),
    ],
)
def test_an_item_of_connect_is_read_or_refused(
    reference: str, result: str, connect: Connect, pki: Pki
) -> None:
    assert connect_opener(connect, pki)(f"op:{reference}") == result


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ("aws-secret:erp/db#password", "canary-aws-new"),
        ("aws-secret:erp/db#password@AWSPREVIOUS", "canary-aws-old"),
        ("aws-secret:erp/db#password@AWSPENDING", "version-absent"),
        ("aws-secret:nothing", "secret-absent"),
        ("aws-secret:bytes", "secret-not-text"),
        ("aws-secret:deleted", "secret-deleted"),
        ("aws-parameter:erp/key", "canary-ssm-new"),
        ("aws-parameter:erp/key@1", "canary-ssm-old"),
        ("aws-parameter:erp/key@9", "version-absent"),
        ("aws-parameter:alone", "canary-ssm-alone"),
        ("aws-parameter:nothing", "secret-absent"),
    ],
)
def test_aws_is_read_or_refused(reference: str, result: str, moto: Moto) -> None:
    assert aws_opener(moto)(reference) == result


def test_wrong_credentials_are_a_refused_log_in(
    azure: AzureVault, google: GoogleSecrets, connect: Connect, moto: Moto, pki: Pki
) -> None:
    other = json.dumps(GoogleSecrets().account())
    results = [
        azure_opener(azure, pki, client_secret=WRONG)("azure-secret:erp"),
        google_opener(google, pki, service_account=other)("gcp-secret:erp"),
        connect_opener(connect, pki, WRONG)("op:ERP/Shop#password"),
        aws_opener(moto, key=WRONG)("aws-secret:erp/db"),
        aws_opener(moto, "AKIAUNKNOWN000000000", WRONG)("aws-parameter:erp/key"),
    ]
    assert results == ["backend-login"] * len(results)


def test_a_user_without_rights_is_denied(moto: Moto) -> None:
    read = aws_opener(moto, moto.denied_id, moto.denied_key)
    assert read("aws-secret:erp/db") == "backend-denied"
    assert read("aws-parameter:erp/key") == "backend-denied"


@pytest.mark.parametrize(
    ("outage", "result"),
    [
        (Reply(429, {}), "backend-throttled"),
        (Reply(503, {}), "backend-unreachable"),
        (Reply(200, "canary: a page of a proxy"), "backend-unreachable"),
        (Reply(307, {}, {"Location": "https://localhost:1/"}), "RedirectBlocked"),
    ],
)
def test_an_outage_of_a_store_is_no_secret(
    outage: Reply, result: str, connect: Connect, google: GoogleSecrets, pki: Pki
) -> None:
    connect.outage = google.outage = outage
    try:
        results = {
            connect_opener(connect, pki)("op:ERP/shop#password"),
            google_opener(google, pki)("gcp-secret:erp"),
        }
    finally:
        connect.outage = google.outage = None
    assert results == {result}


def test_an_answer_about_something_else_is_not_used(
    azure: AzureVault,
    google: GoogleSecrets,
    connect: Connect,
    pki: Pki,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(azure, "lies", {"id": f"{azure.url}/secrets/off/b2"})
    monkeypatch.setattr(google, "lied_payload", {"dataCrc32c": "1"})
    monkeypatch.setattr(connect, "lies", {"title": "Another"})
    results = [
        azure_opener(azure, pki)("azure-secret:erp#key"),
        google_opener(google, pki)("gcp-secret:erp#key"),
        connect_opener(connect, pki)("op:ERP/shop#password"),
    ]
    monkeypatch.setattr(google, "lied_payload", {})
    monkeypatch.setattr(google, "lies", {"name": "projects/1/secrets/off/versions/2"})
    results.append(google_opener(google, pki)("gcp-secret:erp#key"))
    assert results == ["backend-unreachable"] * len(results)


def test_a_store_that_is_not_there_is_unreachable(pki: Pki) -> None:
    nowhere = Connect(url="https://127.0.0.1:9")
    assert connect_opener(nowhere, pki)("op:ERP/shop#x") == "backend-unreachable"


def test_a_link_local_address_is_refused_unasked(pki: Pki) -> None:
    metadata = Connect(url="https://169.254.169.254")
    read = connect_opener(metadata, pki)
    assert read("op:ERP/shop#x") == EgressDenied.__name__
