import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.configuration.reference import (
    Reference,
    Store,
    StorePlace,
    parse_place,
    parse_reference,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("vault:main/a/b#pass", StorePlace(("main", "a", "b"), "pass")),
        ("vault:a#p@7", StorePlace(("a",), "p", "7")),
        ("aws-secret:prod/db@AWSPENDING", StorePlace(("prod", "db"), "", "AWSPENDING")),
        ("aws-secret:prod#a.b", StorePlace(("prod",), "a.b")),
        ("gcp-secret:name@3", StorePlace(("name",), "", "3")),
        ("vault:a%23b%40c%25d#x%23y", StorePlace(("a#b@c%d",), "x#y")),
        ("op:Vault/A%2FB#user", StorePlace(("Vault", "A/B"), "user")),
    ],
)
def test_a_reference_into_a_store_is_read_by_its_parts(
    text: str, place: StorePlace
) -> None:
    assert parse_place(parse_reference(text, field="token"), field="token") == place


@pytest.mark.parametrize(
    "text",
    [
        "vault:a",
        "op:v/i",
        "op:v/i#f@1",
        "vault:a#",
        "vault:a#b@",
        "vault:a#b#c",
        "vault:a@1#b",
        "vault:a//b#c",
        "vault:/a#c",
        "vault:a/../b#c",
        "vault:a/%2e%2E/b#c",
        "vault:a/.#c",
        "vault:a%2f..%2fb#c",
        "vault:a%0Ab#c",
        "vault:a%ffb#c",
        "vault:a%zz#c",
        "vault:a#b@latest",
        "vault:a#b@0",
        "vault: #b",
        "aws-parameter:a@prod",
        "azure-secret:a@..",
        "azure-secret:a@b%2F..%2F..%2Fc",
        "vault:" + "a" * 2000 + "#b",
        "credential:a/b",
        "credential:..",
        "credential:a\nb",
    ],
)
def test_a_reference_that_could_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_reference(text, field="token")
    assert refusal.value.field == "token"


def test_only_stores_on_the_network_are_external() -> None:
    assert Reference(Store.VAULT, "a#b").is_external
    assert not Reference(Store.CREDENTIAL, "name").is_external
