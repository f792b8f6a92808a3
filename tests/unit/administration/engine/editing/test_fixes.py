"""What a diagnosis proposes is shown before it is done, and done as it was shown."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.fixes import (
    apply_fix,
    changed_field,
    difference,
    form_changes,
    permissions_for,
)
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.diagnosis.evidence import Fix
from outkey.sending.core.vault.voucher import Voucher, vouchable_facts
from outkey.testing import MemoryAudit, configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from outkey.testing.fakes.storage import memory_registry


class Store:
    """Keeps what is set in the fake world's secrets."""

    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def set_value(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        self._world.secrets.values[field] = secret.reveal()
        return SecretState(configuration.binding_of(field), set_by=by)

    def voucher(self, configuration: Configuration) -> Voucher:
        return Voucher(vouchable_facts(configuration))

    def refuse_unvouched(self, configuration: Configuration, field: str) -> None:
        """Nothing is stored."""

    def vouch(
        self,
        configuration: Configuration,
        changed: Collection[str],
        *,
        moves: bool = False,
    ) -> None:
        """Nothing is sealed here, so there is nothing to vouch for."""


def fixing(
    made: Configuration, fix: Fix, **secrets: str
) -> tuple[FakeWorld, Administration]:
    registry = memory_registry([made])
    world = fake_gateway(secrets=secrets, registry=registry)
    administration = Administration(registry, Store(world), MemoryAudit(), "alice")  # type: ignore[arg-type]  # set_value is all it needs
    apply_fix(administration, world.sender.context, "acme", fix)
    return world, administration


def test_a_difference_has_label_before_and_after() -> None:
    made = configuration(
        authentication_type="bearer", headers=(CustomHeader("X_Key", "", secret=True),)
    )
    fix = Fix(
        "Correct it", (("authentication_type", "basic"), ("headers[0].key", "X-Key"))
    )
    assert difference(made, fix) == [
        ("Authentication Type", "bearer", "basic"),
        ("Headers 1", "X_Key", "X-Key"),
    ]


@pytest.mark.parametrize(
    ("field", "label"),
    [("token", "Token"), ("header:X-Key", "X-Key"), ("password", "Password")],
)
def test_a_secret_is_described_and_never_shown(field: str, label: str) -> None:
    ((shown, before, after),) = difference(
        configuration(), Fix("Tidy it", tidied=field)
    )
    assert shown == label
    assert "entered" in before
    assert "without" in after


def test_fields_are_changed_and_nothing_else() -> None:
    made = configuration(authentication_type="bearer")
    _, administration = fixing(
        made, Fix("Use it", (("verification.test_path", "/me"),))
    )
    assert administration.registry.get("acme").verification.test_path == "/me"
    assert administration.registry.get("acme").authentication_type == "bearer"


def test_a_flag_is_switched() -> None:
    made = configuration(authentication_type="bearer")
    path = "verification.forbidden_means_expired"
    _, administration = fixing(made, Fix("Switch it on", ((path, "true"),)))
    assert (
        administration.registry.get("acme").verification.forbidden_means_expired is True
    )


def test_a_secret_is_tidied() -> None:
    made = configuration(authentication_type="bearer")
    world, _ = fixing(made, Fix("Tidy it", tidied="token"), token='"Bearer abc"')
    assert world.secrets.values["token"] == "abc"


@pytest.mark.parametrize(
    ("entered", "tidied"),
    [
        ("Bearer Bearer abc", "Bearer abc"),
        ("Authorization: Bearer abc", "Bearer abc"),
        ('"Token  token abc"', "token abc"),
        ("Authorization: abc", "abc"),
        ("\u200bBasic Basic YTpi", "Basic YTpi"),
    ],
)
def test_the_one_scheme_of_an_authorization_row_stays(
    entered: str, tidied: str
) -> None:
    rows = (CustomHeader("Authorization", "", secret=True),)
    field = "header:Authorization"
    world, _ = fixing(
        configuration(headers=rows), Fix("Tidy it", tidied=field), **{field: entered}
    )
    assert world.secrets.values[field] == tidied


def test_an_invisible_character_of_a_password_is_removed() -> None:
    stored = configuration(authentication_type="basic", username="alice")
    world, _ = fixing(
        stored, Fix("Tidy it", tidied="password"), password="open\u2066sesame"
    )
    assert world.secrets.values["password"] == "opensesame"


def test_a_header_is_renamed_with_its_secret() -> None:
    rows = (
        CustomHeader("X_Key", "", secret=True),
        CustomHeader("X-Tenant", "7", secret=False),
    )
    fix = Fix("Rename it", (("headers[0].key", "X-Key"),))
    world, administration = fixing(
        configuration(headers=rows), fix, **{"header:X_Key": "value"}
    )
    assert [row.key for row in administration.registry.get("acme").headers] == [
        "X-Key",
        "X-Tenant",
    ]
    assert world.secrets.values["header:X-Key"] == "value"


def test_a_value_behind_a_reference_is_not_changed() -> None:
    reference = parse_reference("env:ACME_TOKEN", field="token")
    state = SecretState("https://api.acme.example:443", reference)
    made = replace(
        configuration(authentication_type="bearer"), secrets={"token": state}
    )
    with pytest.raises(ConfigError, match="is a reference"):
        fixing(made, Fix("Tidy it", tidied="token"), token="abc")


@pytest.mark.parametrize(
    ("fix", "more"),
    [
        (Fix("Path", (("verification.test_path", "/me"),)), set()),
        (Fix("Tidy", tidied="token"), {Permission.SET_SECRET}),
        (Fix("Scheme", (("authentication_type", "basic"),)), {Permission.SET_SECRET}),
        (Fix("DPoP", (("oauth2.dpop", "true"),)), {Permission.SET_SECRET}),
        (Fix("Row", (("headers[0].key", "X-Key"),)), {Permission.SET_SECRET}),
        (
            Fix("Marker", (("verification.expired_marker", "x"),)),
            {Permission.SET_SECRET},
        ),
        (
            Fix("HTTPS", (("base_url", "https://api.acme.example"),)),
            {Permission.SET_SECRET, Permission.USE_INTERNAL_NETWORK},
        ),
    ],
)
def test_a_fix_needs_what_its_change_needs(fix: Fix, more: set[Permission]) -> None:
    made = configuration(
        base_url="http://api.acme.example",
        network="internal",
        authentication_type="bearer",
        headers=(CustomHeader("X_Key", "", secret=True),),
    )
    assert permissions_for(fix, made) == {Permission.CHANGE} | more


def test_a_fix_of_an_unsaved_form_names_the_inputs_it_changes() -> None:
    form = {
        "row-key-0": "X-Gone",
        "row-gone-0": "on",
        "row-key-2": "X_Key",
        "row-value-2": '"k"',
        "row-secret-2": "on",
        "query-key-1": "api_key",
        "query-value-1": '"q"',
        "query-secret-1": "on",
        "secret:token": '"t"',
        "lines:oauth2.client_secret": "c",
    }
    fix = Fix("Both", (("authentication_type", "basic"), ("headers[0].key", "X-Key")))
    changes = [("authentication_type", "basic"), ("row-key-2", "X-Key")]
    assert form_changes(fix, form) == changes
    for secret, mark in {
        "token": "tidy:token",
        "client_secret": "tidy:oauth2.client_secret",
        "header:X_Key": "row-tidy-2",
        "query:api_key": "query-tidy-1",
    }.items():
        assert form_changes(Fix("Tidy", tidied=secret), form) == [(mark, "on")]


@pytest.mark.parametrize("secret", ["password", "header:X-Other"])
def test_a_secret_that_is_not_in_the_form_is_not_tidied_there(secret: str) -> None:
    assert form_changes(Fix("Tidy", tidied=secret), {"secret:token": "t"}) == []


@pytest.mark.parametrize(
    ("fix", "field"),
    [
        (Fix("Path", (("verification.test_path", "/me"),)), "verification.test_path"),
        (Fix("Row", (("headers[0].key", "X-Key"),)), "headers"),
        (Fix("Tidy", tidied="client_secret"), "oauth2.client_secret"),
        (Fix("Tidy", tidied="header:X-Key"), "header:X-Key"),
    ],
)
def test_a_page_goes_to_the_field_that_a_fix_has_changed(fix: Fix, field: str) -> None:
    assert changed_field(fix) == field
