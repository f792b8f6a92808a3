import pytest

from outkey.foundation.core.errors import BackendUnknown, BlockedByPolicy, ConfigError
from outkey.sending.core.backends.settings import StoreKind, parse_backends
from outkey.sending.core.configuration.reference import parse_reference

VAULT = """
[backend.main]
store = "vault"
address = "https://vault.corp.example:8200"
token = "env:VAULT_TOKEN"
"""
AZURE = """
[backend.azure]
store = "azure"
address = "https://x.vault.azure.net"
tenant_id = "t"
client_id = "c"
federated_token = "file:/var/run/token"
"""


def test_a_section_has_the_documented_defaults() -> None:
    backend = parse_backends(VAULT).named("main")
    assert backend.store is StoreKind.VAULT
    assert (backend.kv, backend.text("mount"), backend.login) == (2, "secret", "token")
    assert (backend.cache_seconds, backend.stale_seconds) == (60, 0)
    assert backend.timeout_seconds == 10
    assert backend.shown_address == "https://vault.corp.example:8200"


def test_the_way_to_log_in_follows_from_the_keys_of_a_section() -> None:
    backend = parse_backends(AZURE).named("azure")
    assert backend.login == "federated_token"
    assert backend.text("authority") == "https://login.microsoftonline.com"


def test_a_store_with_regions_needs_no_address() -> None:
    text = """
        [backend.cloud]
        store = "aws"
        region = "eu-central-1"
        access_key_id = "AKIA"
        secret_access_key = "credential:aws"
    """
    backend = parse_backends(text).named("cloud")
    assert backend.address is None
    assert backend.shown_address == "eu-central-1"
    assert backend.login == "keys"


@pytest.mark.parametrize(
    "line",
    [
        "unknown = 1",
        'token = "s.canary-literal"',
        'token = "vault:a#b"',
        'token = "file:relative"',
        'secret_id = "env:X"',
        'store = "keepass"',
        "store = 1",
        'login = "ldap"',
        'address = "ftp://x"',
        'address = ""',
        'network = "lan"',
        "kv = 3",
        "private = 1",
        "cache_seconds = 3601",
        "stale_seconds = true",
        "timeout_seconds = 0",
        "paths = []",
        'paths = "a"',
        'ca_file = "ca.pem"',
        'mount = "a\\nb"',
        "mount = 1",
    ],
)
def test_what_is_wrong_in_a_section_is_refused_and_not_repeated(line: str) -> None:
    key = line.partition(" ")[0]
    lines = [text for text in VAULT.splitlines() if not text.startswith(f"{key} ")]
    with pytest.raises(ConfigError) as refusal:
        parse_backends("\n".join([*lines, line]))
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "= canary",
        "[other]\nx = 1",
        "backend = 1",
        "[backend]\nmain = 1",
        '[backend."a b"]\nstore = "vault"',
        '[backend.a]\nstore = "op"\naddress = "https://x.example"',
    ],
)
def test_a_file_that_is_not_one_of_backends_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_backends(text)
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize(
    ("reference", "name", "path"),
    [
        ("vault:main/a/b#p", "main", ("a", "b")),
        ("vault:second/a#p", "second", ("a",)),
    ],
)
def test_the_first_segment_names_the_backend(
    reference: str, name: str, path: tuple[str, ...]
) -> None:
    backends = parse_backends(VAULT + VAULT.replace("main", "second") + AZURE)
    backend, place = backends.find(parse_reference(reference, field="token"), "token")
    assert (backend.name, place.segments) == (name, path)


def test_without_a_name_the_only_backend_of_the_store_is_meant() -> None:
    backends = parse_backends(VAULT + AZURE)
    for text, segments in (("a/b#p", ("a", "b")), ("main#p", ("main",))):
        reference = parse_reference(f"vault:{text}", field="token")
        backend, place = backends.find(reference, "token")
        assert (backend.name, place.segments) == ("main", segments)


@pytest.mark.parametrize("text", ["vault:a/b#p", "op:v/i#p"])
def test_a_reference_without_a_backend_is_refused(text: str) -> None:
    backends = parse_backends(VAULT + VAULT.replace("main", "second"))
    with pytest.raises(BackendUnknown):
        backends.find(parse_reference(text, field="token"), "token")
    with pytest.raises(BackendUnknown):
        backends.named("third")


def test_a_slash_in_a_title_is_not_one_of_the_path() -> None:
    text = """
        [backend.op]
        store = "op"
        address = "https://connect.example"
        token = "env:T"
        paths = ["outkey/*"]
    """
    backends = parse_backends(text)
    for allowed in ("op:outkey/item#p", "op:outkey/a%2Fb#p"):
        backends.find(parse_reference(allowed, field="token"), "token")
    for other in ("op:outkey%2Fother/item#p", "op:outkey%2F/item#p"):
        with pytest.raises(BlockedByPolicy):
            backends.find(parse_reference(other, field="token"), "token")


def test_a_path_that_the_operator_does_not_list_is_refused() -> None:
    backends = parse_backends(VAULT + 'paths = ["outkey/*", "shared"]')
    for path in ("outkey/a", "outkey/a/b", "shared"):
        backends.find(parse_reference(f"vault:{path}#p", field="token"), "token")
    for path in ("other", "outkey", "shared/a"):
        with pytest.raises(BlockedByPolicy):
            backends.find(parse_reference(f"vault:{path}#p", field="token"), "token")
