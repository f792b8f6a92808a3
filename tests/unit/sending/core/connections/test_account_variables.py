"""Variables of an account: what they change, and what is refused before it is saved."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    EgressDenied,
    OutkeyError,
    VariableMissing,
)
from outkey.foundation.core.placeholders import NOWHERE, sample_of
from outkey.sending.core.configuration.checks import refuse_unsendable
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connect_checks import refuse_unusable_connections
from outkey.sending.core.connections.connection import Connection
from outkey.sending.core.request.assembly import Call

OAUTH = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2.grant": "authorization_code",
    "oauth2.authorization_url": "https://login.example/authorize",
    "oauth2.token_url": "https://{login}.books.example/token",
    "oauth2.client_id": "erp",
}
BOOKS: dict[str, object] = {
    "base_url": "{instance_url}/v2",
    "connections": "required",
    "allowed_origins": ["https://*.books.example", "https://api.books.example"],
    "connect.variables": {
        "instance_url": "token:instance_url",
        "tenant": "entered",
        "login": "entered",
    },
}
VALUES = {
    "instance_url": "https://eu.books.example",
    "tenant": "a/b",
    "login": "eu",
}


def books(
    headers: tuple[CustomHeader, ...] = (),
    query: tuple[QueryParameter, ...] = (),
    **changed: object,
) -> Configuration:
    values = BOOKS | {name.replace("__", "."): value for name, value in changed.items()}
    made = build("books", values, headers=headers, query=query)
    return replace(made, record="0" * 32)


def account(configuration: Configuration, **values: str) -> Configuration:
    connection = Connection("acme", "0" * 32, variables=VALUES | values)
    return with_account(configuration, connection, {})


def test_urls_paths_and_rows_have_the_values_of_the_account() -> None:
    view = account(
        books(
            (
                CustomHeader("X-Tenant", "t {tenant}", secret=False),
                CustomHeader("X-Key", "{tenant}", secret=True),
            ),
            (QueryParameter("company", "{tenant}", secret=False),),
            verification__test_path="/{tenant}/me",
            login__path="/in/{tenant}/{username}",
            **OAUTH,
        )
    )
    assert str(view.base) == "https://eu.books.example/v2"
    assert view.verification.test_path == "/a%2Fb/me"
    assert view.login.path == "/in/a%2Fb/{username}"
    assert view.oauth2.token_url == "https://eu.books.example/token"
    assert [row.value for row in view.rows] == ["t a/b", "{tenant}", "a/b"]
    refuse_unsendable(view)


def test_the_path_of_a_call_has_the_values_and_its_query_has_not() -> None:
    view = account(books())
    call = Call(view, "GET", "/{tenant}/{other}?x={tenant}")
    assert call.request().target == "/v2/a%2Fb/%7Bother%7D?x=%7Btenant%7D"
    unconnected = Call(books(connections="optional"), "GET", "/{tenant}")
    assert unconnected.request().target.endswith("/%7Btenant%7D")


def test_without_an_account_a_url_with_variables_leads_nowhere() -> None:
    optional = books(connections="optional")
    assert str(optional.base.origin) == NOWHERE
    with pytest.raises(VariableMissing) as caught:
        refuse_unsendable(optional)
    assert caught.value.field == "variables.instance_url"


def test_without_variables_a_placeholder_is_no_host() -> None:
    for path in ("base_url", "oauth2.token_url"):
        changed = {path: "https://{x}.books.example", "connect.variables": {}}
        values = BOOKS | {"base_url": "https://api.books.example"} | changed
        with pytest.raises(ConfigError) as caught:
            build("books", values)
        assert caught.value.field == path


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"instance_url": "https://evil.example"}, EgressDenied),
        ({"instance_url": "https://books.example"}, EgressDenied),
        ({"instance_url": "http://eu.books.example"}, EgressDenied),
        ({"instance_url": "https://eu.books.example:8443"}, EgressDenied),
        ({"login": "evil.example/"}, ConfigError),
        ({"tenant": ".."}, ConfigError),
    ],
)
def test_an_account_whose_values_lead_elsewhere_sends_nothing(
    values: dict[str, str], kind: type[OutkeyError]
) -> None:
    view = account(books(verification__test_path="/{tenant}", **OAUTH), **values)
    assert str(view.base.origin) == NOWHERE
    errors = []
    for _ in range(2):
        with pytest.raises(kind) as caught:
            refuse_unsendable(view)
        errors.append(caught.value)
    assert errors[0] is not errors[1]
    assert "evil" not in str(errors[0])


def test_a_value_that_is_missing_is_named() -> None:
    connection = Connection("acme", "0" * 32, variables={"tenant": "7"})
    with pytest.raises(VariableMissing) as caught:
        refuse_unsendable(with_account(books(), connection, {}))
    assert caught.value.field == "variables.instance_url"


def test_a_shared_secret_is_bound_to_all_allowed_origins_and_a_token_to_one() -> None:
    made = books(**OAUTH | {"oauth2.token_url": "https://login.example/token"})
    bound = "https://*.books.example:443,https://api.books.example:443"
    assert made.binding_of("client_secret") == f"https://login.example:443 {bound}"
    state = SecretState(made.binding_of("client_secret"))
    made = replace(made, secrets={"client_secret": state})
    view = account(made)
    view.refuse_unbound("client_secret")
    assert view.binding_of("client_secret") == state.origin
    own = "https://login.example:443 https://eu.books.example:443"
    assert view.token_binding == own
    assert view.binding_of("header:X-Key") == "https://eu.books.example:443"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"base_url": "https://{nobody}.books.example"}, "base_url"),
        ({"base_url": "https://api.books.example/{nobody}"}, "base_url"),
        ({"base_url": "https://{tenant}:1@api.books.example"}, "base_url"),
        ({"allowed_origins": []}, "allowed_origins"),
        ({"allowed_origins": ["https://*"]}, "allowed_origins[0]"),
        (
            {"allowed_origins": [f"https://*.{n}.books.example" for n in range(99)]},
            "allowed_origins",
        ),
        ({"verification.test_path": "/{nobody}"}, "verification.test_path"),
        ({"verification.test_path": "/a?b={tenant}"}, "verification.test_path"),
        ({"connect.account": "nobody"}, "connect.account"),
        ({"connect.request_url": "https://evil.example/"}, "connect.request_url"),
        (
            {"connect.variables": {"instance_url": "token:access_token"}},
            "connect.variables.instance_url",
        ),
        ({"connections": "none"}, "connect.variables"),
    ],
)
def test_what_no_account_could_be_used_with_is_not_saved(
    changed: dict[str, object], field: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_unusable_connections(books(**changed))
    assert caught.value.field == field


def test_an_undeclared_name_in_a_row_is_not_saved() -> None:
    row = CustomHeader("X-Tenant", "{nobody}", secret=False)
    with pytest.raises(ConfigError) as caught:
        refuse_unusable_connections(books((row,)))
    assert caught.value.field == "header:X-Tenant"


@pytest.mark.parametrize(
    "url", ["https://eu.books.example/tenants", "https://api.books.example/tenants"]
)
def test_a_request_after_connecting_goes_to_an_allowed_origin(url: str) -> None:
    refuse_unusable_connections(books(connect__request_url=url))
    own = {
        "base_url": "https://own.example",
        "connect.request_url": "https://own.example/",
    }
    refuse_unusable_connections(books(**own))


@pytest.mark.parametrize(
    ("template", "sample"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("{url}/v2/{a}", f"{NOWHERE}/v2/x"),
        ("https://{a}.example:8443/v2?b", f"{NOWHERE}/v2?b"),
        ("https://a.example/{b}", "https://a.example/x"),
        ("{ no }", "{ no }"),
    ],
)
def test_the_sample_of_a_url_leads_nowhere_if_a_value_would_change_its_origin(
    template: str, sample: str
) -> None:
    assert sample_of(template) == sample
